//! IKEv2 and ESP links: strongSwan, driven and watched through VICI.
#![forbid(unsafe_code)]

pub mod vici;
