//! Verification of a peer's chain: roots, dates, usage, revocation, then names.

use rustls::pki_types::{SignatureVerificationAlgorithm, UnixTime};
use webpki::{
    EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth, RevocationOptions, RevocationOptionsBuilder,
    UnknownStatusPolicy,
};

use bartizan_deployment::{InterfaceKind, Revocation};
use bartizan_pki::Untrusted;

use crate::cause::Cause;
use crate::certificate::Leaf;
use crate::chain::Chain;
use crate::credentials::RevocationList;
use crate::proven::{Proven, Remembering};
use crate::terms::Terms;
use crate::{Credentials, Peer, Reason, identity};

/// Usage of a leaf (RFC 5280, section 4.2.1.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// The peer is the TLS server.
    Server,
    /// The peer is the TLS client.
    Client,
}

/// A chain as it was presented.
pub(crate) struct Presented<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) usage: Usage,
    pub(crate) now: UnixTime,
}

/// Reads the leaf, and refuses one that must not sign.
pub(crate) fn leaf(chain: &Chain) -> Result<&Leaf, Cause> {
    let unusable = |cause: &str| {
        let hint = "reissue the peer's certificate: `bartizan ca issue --dns NAME`";
        Cause::new(Reason::BadCertificate, format!("the peer's certificate {cause}"), hint)
    };
    let leaf = chain.leaf().map_err(unusable)?;
    if leaf.signs {
        Ok(leaf)
    } else {
        Err(unusable("is not for signing: its key usage lacks digitalSignature"))
    }
}

/// Checks that the chain leads to a root that is trusted, today, in schemes the terms name, with
/// nothing revoked on it. All of it is judged anew each time, but for signatures that were found
/// valid before.
pub(crate) fn chain(
    presented: &Presented<'_>,
    credentials: &Credentials,
    proven: &Proven,
    terms: &Terms,
) -> Result<(), Cause> {
    let refuse = |error: webpki::Error| Cause::of_chain(&error, terms);
    let leaf = EndEntityCert::try_from(presented.chain.leaf_der()).map_err(refuse)?;
    // A list of the future is obeyed as one that is out of date is; where a current one is required
    // it is none.
    let counts = |list: &&RevocationList| terms.revocation == Revocation::IfPresent || list.has_begun(presented.now);
    let lists: Vec<_> = credentials.lists().iter().filter(counts).collect();
    let lists: Vec<_> = lists.into_iter().map(RevocationList::verifiable).collect();
    if terms.revocation == Revocation::IfPresent {
        credentials
            .lists()
            .iter()
            .for_each(|list| list.warn_if_stale(presented.now));
    }
    let revocation = match (RevocationOptionsBuilder::new(&lists), terms.revocation) {
        (Ok(builder), strictness) => Some(checked(builder, strictness)),
        (Err(_), Revocation::IfPresent) => None,
        (Err(_), Revocation::Require) => return Err(refuse(webpki::Error::UnknownRevocationStatus)),
    };
    let usage = match presented.usage {
        Usage::Server => KeyUsage::server_auth(),
        Usage::Client => KeyUsage::client_auth(),
    };
    let codes = terms.chain_signatures.iter();
    let remembering: Vec<_> = codes.filter_map(|&code| Remembering::new(code, proven)).collect();
    let algorithms = remembering.iter().map(|one| one as &dyn SignatureVerificationAlgorithm);
    let path = credentials.anchors.verify(
        &leaf,
        &algorithms.collect::<Vec<_>>(),
        presented.chain.intermediates(),
        presented.now,
        usage,
        revocation,
    );
    path.map_err(|untrusted| match untrusted {
        Untrusted::RootOutsideDates => Cause::new(
            Reason::Expired,
            "the root behind the peer's chain is outside its dates",
            "check the clock of this host; if it is right, replace the root: `bartizan ca rollover publish-root`",
        ),
        Untrusted::Path(error) => refuse(error),
    })
}

pub(crate) fn checked(builder: RevocationOptionsBuilder<'_>, strictness: Revocation) -> RevocationOptions<'_> {
    let (unknown, stale) = match strictness {
        Revocation::Require => (UnknownStatusPolicy::Deny, ExpirationPolicy::Enforce),
        Revocation::IfPresent => (UnknownStatusPolicy::Allow, ExpirationPolicy::Ignore),
    };
    builder
        .with_depth(RevocationCheckDepth::Chain)
        .with_status_policy(unknown)
        .with_expiration_policy(stale)
        .build()
}

/// The peers whose names a leaf carries, by their place among `peers`.
pub(crate) fn matching(leaf: &Leaf, peers: &[Peer]) -> Vec<usize> {
    let carried = |peer: &Peer| identity::carries(&leaf.names, &peer.identity);
    let found = peers.iter().enumerate().filter(|(_, peer)| carried(peer));
    found.map(|(index, _)| index).collect()
}

/// The refusal of a leaf that carries the names of no permitted peer, or not of the one asked for.
pub(crate) fn wrong_name(leaf: &Leaf, asked: Option<&Peer>, interface: InterfaceKind) -> Cause {
    let carried = leaf.names.in_words();
    match asked {
        Some(peer) => Cause::new(
            Reason::WrongName,
            format!(
                "the peer's certificate carries {carried}, and {} is known by {}",
                peer.node,
                identity::wanted(&peer.identity)
            ),
            format!(
                "check cable and address if it is another node's; otherwise issue {} a certificate that has them: `bartizan ca issue --name {}{}`",
                peer.node,
                peer.node,
                identity::issue_options(&peer.identity)
            ),
        ),
        None => Cause::new(
            Reason::WrongName,
            format!(
                "the peer's certificate carries {carried}, and no node joined to this one by {} is known by that",
                interface.name()
            ),
            "join the two by such an interface in the deployment file, or issue the peer a certificate with its node's names",
        ),
    }
}
