//! Reasons to issue a node's certificate again.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bartizan_deployment::Identity;

use crate::action::Why;
use crate::asked::lower;
use crate::objects::{Authority, Certificate, Circumstances, Secret};

/// The moment from which a certificate is renewed: a third of its lifetime before its end, or as
/// configured, and up to a quarter of that earlier, by the name of namespace and node, so that
/// certificates issued together are not renewed together.
pub fn renew_at(certificate: &Certificate, before: Option<Duration>, namespace: &str, node: &str) -> SystemTime {
    let lifetime = certificate
        .not_after
        .duration_since(certificate.not_before)
        .unwrap_or_default();
    // One that was just issued is never due, whatever is configured.
    let before = before.unwrap_or(lifetime / 3).min(lifetime * 2 / 3);
    let spread = before / 4;
    let earlier = spread.mul_f64(share(namespace, node));
    certificate
        .not_after
        .checked_sub(before + earlier)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A number from 0 to 1 that namespace and node always have (FNV-1a, its high bits).
fn share(namespace: &str, node: &str) -> f64 {
    let bytes = namespace.bytes().chain([b'/']).chain(node.bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // FNV's high bits depend little on the last byte: names mostly differ there.
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    f64::from(u32::try_from(hash >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// The reason why the Secret's certificate has to be issued again, if it has to.
#[must_use]
pub fn due(
    secret: &Secret,
    identity: &Identity,
    owner: Option<&str>,
    namespace: &str,
    node: &str,
    circumstances: &Circumstances<'_>,
) -> Option<Why> {
    let Some(certificate) = &secret.certificate else {
        return Some(Why::Unreadable);
    };
    if !certificate.key_matches {
        return Some(Why::AnotherKey);
    }
    if let Authority::Ready { root, revoked, .. } = circumstances.authority {
        if revoked.contains(&certificate.serial) && certificate.of_this_authority {
            return Some(Why::Revoked);
        }
        if !certificate.of_this_authority || secret.root.as_ref() != Some(root) {
            return Some(Why::AnotherAuthority);
        }
    }
    if let Authority::Elsewhere { root, .. } = circumstances.authority {
        let is_another = root.is_some() && secret.root != *root;
        if !certificate.of_this_authority || is_another {
            return Some(Why::AnotherAuthority);
        }
    }
    if lower(&certificate.names) != lower(&names(identity)) {
        return Some(Why::OtherNames);
    }
    if owner.is_some() && owner != secret.meta.owner.as_deref() {
        return Some(Why::AnotherOwner);
    }
    let at = renew_at(certificate, circumstances.settings.renew_before, namespace, node);
    (at <= circumstances.now).then_some(Why::Ends)
}

/// The names of a node, as certificates' are written.
pub fn names(identity: &Identity) -> BTreeSet<String> {
    identity.written(["DNS:", "IP:", "URI:"]).collect()
}
