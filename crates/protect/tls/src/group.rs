//! Key exchange groups: those of the provider, and two of our own that it lacks.

mod mlkem512;
mod secp384r1mlkem1024;

use bartizan_registry::NamedGroup;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;

use mlkem512::Mlkem512;
use secp384r1mlkem1024::Secp384r1Mlkem1024;

/// Every group this project can negotiate.
static USABLE: &[&dyn SupportedKxGroup] = &[
    kx_group::X25519MLKEM768,
    kx_group::SECP256R1MLKEM768,
    &Secp384r1Mlkem1024,
    &Mlkem512,
    kx_group::MLKEM768,
    kx_group::MLKEM1024,
    kx_group::X25519,
    kx_group::SECP256R1,
    kx_group::SECP384R1,
];

/// The implementation of a group, where there is one.
pub(crate) fn implementation(code: NamedGroup) -> Option<&'static dyn SupportedKxGroup> {
    USABLE.iter().copied().find(|group| u16::from(group.name()) == code.0)
}

#[cfg(test)]
mod tests;
