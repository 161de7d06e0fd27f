//! Can someone with a quantum computer pass for one of the ends?

use bartizan_ledger::{Certificate, Code, Direction, Handshake, Verdict as PolicyVerdict};
use bartizan_registry::{self as registry, Safety, SignatureScheme};
use bartizan_wire::tls::{Tls, Version};
use bartizan_wire::{Content, Side};

use crate::confidentiality::not_agreed;
use crate::ledgers::Entry;
use crate::{Evidence, Judgement, Source, Verdict};

/// Both ends together: an attacker needs only one of them.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let connection = evidence.connection();
    let all = || vec![Source::all(connection)];
    match &connection.content {
        Content::Nothing => Judgement::new(Verdict::NotSeen, "no data was sent", all()),
        Content::Http2(_) | Content::Http1 => Judgement::new(
            Verdict::Vulnerable,
            "none: sent in clear, neither end proves who it is",
            all(),
        ),
        Content::Unknown(_) => Judgement::new(Verdict::NotObservable, "a protocol that is not read", all()),
        Content::Tls(tls) => {
            if let Some(refused) = refused(evidence) {
                return refused;
            }
            let (server, client) = (side(evidence, tls, Side::Server), side(evidence, tls, Side::Client));
            let verdict = server.verdict().worse(client.verdict());
            if server.because() == client.because() {
                return server;
            }
            let because = format!("server: {}; client: {}", server.because(), client.because());
            let mut sources = server.sources().to_vec();
            sources.extend(
                client
                    .sources()
                    .iter()
                    .filter(|source| !server.sources().contains(source))
                    .cloned(),
            );
            Judgement::new(verdict, because, sources)
        }
    }
}

/// The schemes server and client signed with, as far as packets or ledgers tell.
pub(crate) fn schemes(evidence: &Evidence<'_>) -> (Option<SignatureScheme>, Option<SignatureScheme>) {
    [Side::Server, Side::Client]
        .map(|side| scheme(evidence, side).map(|(scheme, _)| scheme))
        .into()
}

/// One end alone.
pub(crate) fn side(evidence: &Evidence<'_>, tls: &Tls, side: Side) -> Judgement {
    let Some(hello) = &tls.server_hello else {
        return Judgement::new(
            Verdict::NotSeen,
            not_agreed(evidence, tls),
            vec![Source::all(evidence.connection())],
        );
    };
    if hello.value.version != Version::TLS13 {
        return legacy(evidence, tls, side, hello.value.version);
    }
    if let Some(judgement) = by_ledger(evidence, side) {
        return judgement;
    }
    let resumed = hello.value.pre_shared_key.is_some();
    // A server must sign with a scheme the client offers (RFC 9846, section 4.4.3).
    if let Some(first) = evidence.client_hello()
        && side == Side::Server
        && !resumed
    {
        let offered = &first.value.signature_algorithms;
        if first.value.omitted == 0
            && !offered.is_empty()
            && offered
                .iter()
                .all(|scheme| forgery(*scheme) == Some(Safety::Vulnerable) || registry::is_grease(scheme.0))
        {
            return Judgement::new(
                Verdict::Vulnerable,
                "the client offers classical signature schemes only",
                vec![Source::seen(first)],
            );
        }
    }
    let because = if resumed {
        "resumed: authenticated by an earlier handshake that no ledger tells of"
    } else {
        "TLS 1.3 encrypts certificates, and no ledger tells of this handshake"
    };
    Judgement::new(Verdict::NotObservable, because, vec![Source::seen(hello)])
}

/// A handshake that an end refused protects nothing and endangers nothing.
fn refused(evidence: &Evidence<'_>) -> Option<Judgement> {
    evidence
        .entries()
        .iter()
        .find_map(|entry| match &entry.handshake.verdict {
            PolicyVerdict::Refused { reason, .. } => Some(Judgement::new(
                Verdict::NotSeen,
                format!("refused ({reason}), by the ledger of {}", entry.node()),
                vec![entry.source()],
            )),
            PolicyVerdict::Accepted | PolicyVerdict::Excepted { .. } => None,
        })
}

/// TLS 1.2 and older: signatures stand in clear, and none is post-quantum.
fn legacy(evidence: &Evidence<'_>, tls: &Tls, side: Side, version: Version) -> Judgement {
    if side == Side::Client
        && tls
            .client_certificates
            .as_ref()
            .is_none_or(|seen| seen.value.count == 0)
    {
        let because = "not authenticated: it sent no certificate";
        return Judgement::new(Verdict::Vulnerable, because, vec![Source::all(evidence.connection())]);
    }
    match scheme(evidence, side) {
        Some((scheme, source)) => Judgement::new(
            Verdict::Vulnerable,
            format!("{version}, signed with {scheme}"),
            vec![source],
        ),
        None => Judgement::new(
            Verdict::Vulnerable,
            format!("{version} has no post-quantum signature"),
            vec![Source::all(evidence.connection())],
        ),
    }
}

fn scheme(evidence: &Evidence<'_>, side: Side) -> Option<(SignatureScheme, Source)> {
    let tls = evidence.tls()?;
    match side {
        Side::Server => {
            if let Some(seen) = &tls.server_key_exchange {
                return Some((seen.value.signature?, Source::seen(seen)));
            }
        }
        Side::Client => {
            if let Some(seen) = &tls.client_signature {
                return Some((seen.value, Source::seen(seen)));
            }
        }
    }
    evidence.entries().iter().find_map(|entry| {
        let code = signature_of(&entry.handshake, side)?;
        Some((SignatureScheme(code.code), entry.source()))
    })
}

/// The scheme with which `side` signed, in a record that either end may have written.
fn signature_of(handshake: &Handshake, side: Side) -> Option<&Code> {
    let negotiated = handshake.negotiated.as_ref()?;
    if is_peer(handshake, side) {
        negotiated.peer_signature.as_ref()
    } else {
        negotiated.local_signature.as_ref()
    }
}

/// Whether `side` is the other end for the writer of the record.
fn is_peer(handshake: &Handshake, side: Side) -> bool {
    matches!(
        (handshake.direction, side),
        (Direction::Outbound, Side::Server) | (Direction::Inbound, Side::Client)
    )
}

/// What ledgers know of one end: its signature from either end's record, its chain from the other end's only.
fn by_ledger(evidence: &Evidence<'_>, side: Side) -> Option<Judgement> {
    let told: Vec<&Entry> = evidence
        .entries()
        .iter()
        .filter(|entry| entry.handshake.negotiated.is_some())
        .collect();
    if told.is_empty() {
        return None;
    }
    let sources: Vec<Source> = told.iter().map(|entry| entry.source()).collect();
    let scheme = scheme(evidence, side).map(|(scheme, _)| scheme);
    let witness = told.iter().find(|entry| is_peer(&entry.handshake, side));
    let chain: Option<&[Certificate]> = witness.map(|entry| entry.handshake.chain.as_slice());
    let resumed = told.iter().any(|entry| {
        entry
            .handshake
            .negotiated
            .as_ref()
            .is_some_and(|negotiated| negotiated.resumed)
    });
    let how = match (scheme, resumed) {
        (Some(scheme), _) => format!("signed with {scheme}"),
        (None, true) => "resumed".into(),
        (None, false) => "did not sign".to_owned(),
    };
    if scheme.is_none() && !resumed {
        return Some(match witness {
            Some(_) => Judgement::new(
                Verdict::Vulnerable,
                "not authenticated: it sent no certificate",
                sources,
            ),
            None => Judgement::new(
                Verdict::NotObservable,
                "no ledger tells how it was authenticated",
                sources,
            ),
        });
    }
    if let Some(scheme) = scheme {
        match forgery(scheme) {
            Some(Safety::QuantumSafe) => {}
            Some(Safety::Vulnerable) => return Some(Judgement::new(Verdict::Vulnerable, how, sources)),
            None => {
                let because = format!("{how}, which the registry does not know");
                return Some(Judgement::new(Verdict::NotObservable, because, sources));
            }
        }
    }
    let Some(chain) = chain.filter(|chain| !chain.is_empty()) else {
        let because = format!("{how}; its certificates are in the other end's ledger only");
        return Some(Judgement::new(Verdict::NotObservable, because, sources));
    };
    Some(by_chain(&how, chain, sources))
}

/// The leaf's key and every signature in the chain must hold; the root is not sent, and trusted by being known.
fn by_chain(how: &str, chain: &[Certificate], sources: Vec<Source>) -> Judgement {
    let keys = chain
        .iter()
        .map(|certificate| (certificate.public_key.as_str(), "has a key of", certificate));
    let signatures = chain
        .iter()
        .map(|certificate| (certificate.signature.as_str(), "is signed with", certificate));
    let mut unknown = None;
    for (algorithm, verb, certificate) in keys.chain(signatures) {
        match named_forgery(algorithm) {
            Some(Safety::QuantumSafe) => {}
            Some(Safety::Vulnerable) => {
                let because = format!(
                    "{how}, but the certificate {:?} {verb} {algorithm}",
                    certificate.subject
                );
                return Judgement::new(Verdict::Vulnerable, because, sources);
            }
            None => {
                unknown = Some(format!(
                    "{how}; the certificate {:?} {verb} {algorithm}, which the registry does not know",
                    certificate.subject
                ));
            }
        }
    }
    if let Some(because) = unknown {
        return Judgement::new(Verdict::NotObservable, because, sources);
    }
    let leaf = &chain[0].public_key;
    Judgement::new(Verdict::QuantumSafe, format!("{how}, certified under {leaf}"), sources)
}

pub(crate) fn forgery(scheme: SignatureScheme) -> Option<Safety> {
    registry::signature(scheme).map(|known| known.forgery)
}

/// The same by the name a ledger has for a certificate's algorithm. Key types (`P-256`, `RSA`) are no signature schemes, so classical ones are known by their families.
fn named_forgery(name: &str) -> Option<Safety> {
    const CLASSICAL: [&str; 10] = [
        "ec",
        "rsa",
        "ed25519",
        "ed448",
        "p-",
        "secp",
        "prime256v1",
        "id-ec",
        "sha",
        "dsa",
    ];
    if let Some(known) = registry::signature_named(name) {
        return Some(known.forgery);
    }
    let folded = name.to_ascii_lowercase();
    CLASSICAL
        .iter()
        .any(|family| folded.starts_with(family))
        .then_some(Safety::Vulnerable)
}
