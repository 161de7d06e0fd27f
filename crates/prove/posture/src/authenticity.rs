//! Can an attacker with a quantum computer pass for one of the ends?

use std::sync::Arc;

use bartizan_ledger::{Certificate, Code, Direction, Handshake, Verdict as PolicyVerdict};
use bartizan_registry::{self as registry, Safety, SignatureScheme};
use bartizan_wire::plaintext::Spoken;
use bartizan_wire::tls::{Certificates, ClientHello, Opened, Tls, Version, alert_name};
use bartizan_wire::{Content, Seen, Side, keys};

use crate::confidentiality::{in_tcp, not_agreed};
use crate::evidence::disputed;
use crate::ledgers::Entry;
use crate::{Answer, Evidence, Judged, Judgement, Source, Verdict, ssh};

bartizan_registry::made! {
    /// One end: its authentication, and the judgement on forging it.
    pub(crate) struct End,
    pub(crate) new(authenticated: Answer, verdict: Verdict, because: impl Into<Arc<str>>, sources: Vec<Source>) {
        // An end that proves nothing has no signature that an exception could excuse.
        let judged = match (verdict, authenticated) {
            (Verdict::Vulnerable, answer) if answer != Answer::No => Judged::CLASSICAL,
            _ => verdict.into(),
        };
        pub(crate) authenticated: Answer,
        pub(crate) judgement: Judgement = Judgement::new(judged, because, sources),
    }
}

/// Both ends together: an attacker needs only one of them.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let connection = evidence.connection();
    let all = || vec![Source::all(connection)];
    match &connection.content {
        Content::Nothing => Judgement::new(Verdict::NotSeen, "no data was sent", all()),
        Content::Plaintext(Spoken { own: Some(_), .. }) => {
            Judgement::new(Verdict::NotObservable, "its own protection is not read", all())
        }
        Content::Http2(_) | Content::Http1(_) | Content::Plaintext(_) | Content::Proxy(_) => {
            let because = "none: sent unencrypted, neither end proves who it is";
            Judgement::new(Verdict::Vulnerable, because, all())
        }
        Content::IkeInTcp(lost) => in_tcp(*lost, all()),
        Content::Unknown(_) => Judgement::new(Verdict::NotObservable, "a protocol that is not read", all()),
        Content::Ssh(carried) => ssh::posture(&connection.into(), carried).authenticity,
        Content::Tls(tls) => refused(evidence).unwrap_or_else(|| {
            let server = end(evidence, tls, Side::Server).judgement;
            let client = end(evidence, tls, Side::Client).judgement;
            both(&server, &client)
        }),
    }
}

pub(crate) fn both(server: &Judgement, client: &Judgement) -> Judgement {
    let because = if server.because() == client.because() {
        server.because().to_owned()
    } else {
        format!("server: {}; client: {}", server.because(), client.because())
    };
    let sources = [server.sources(), client.sources()].concat();
    let judgement = Judgement::new(server.judged().worse(client.judged()), because, sources);
    match [server.algorithms(), client.algorithms()] {
        [[], _] | [_, []] => judgement,
        both => judgement.with_algorithms(both.concat()),
    }
}

/// Bytes that either end has sent at most where one refused the other: the longest chains.
const REFUSED: u64 = 64 << 10;

/// A handshake that an end refused protects nothing and endangers nothing. Whether it was refused is a ledger's word: packets that go
/// on outweigh it.
fn refused(evidence: &Evidence<'_>) -> Option<Judgement> {
    let (entry, reason) = evidence.entries().find_map(|entry| match &entry.handshake.verdict {
        PolicyVerdict::Refused { reason, .. } => Some((entry, reason)),
        PolicyVerdict::Accepted | PolicyVerdict::Excepted { .. } => None,
    })?;
    if went_on(evidence) {
        return None;
    }
    Some(not_admitted(entry, reason))
}

/// The judgement of what an end refused.
fn not_admitted(entry: &Entry, reason: &str) -> Judgement {
    Judgement::new(
        Verdict::NotSeen,
        format!("refused ({reason}), by the ledger of {}", entry.node()),
        vec![entry.source()],
    )
}

/// The same by records alone, of a connection whose ends have sent this many bytes.
pub(crate) fn refused_by_records(entries: &[&Entry], sent: [u64; 2]) -> Option<Judgement> {
    let refusal = entries.iter().find_map(|entry| match &entry.handshake.verdict {
        PolicyVerdict::Refused { reason, .. } => Some(not_admitted(entry, reason)),
        PolicyVerdict::Accepted | PolicyVerdict::Excepted { .. } => None,
    });
    refusal.filter(|_| sent.iter().all(|sent| *sent <= REFUSED))
}

/// Returns true if a connection carried more bytes than a refused one can.
pub(crate) fn went_on(evidence: &Evidence<'_>) -> bool {
    let connection = evidence.connection();
    let sent = [connection.from_client, connection.from_server].map(|traffic| traffic.stream.sent());
    sent.iter().any(|sent| *sent > REFUSED)
}

/// One end alone.
pub(crate) fn end(evidence: &Evidence<'_>, tls: &Tls, side: Side) -> End {
    let Some(hello) = &tls.server_hello else {
        if evidence.is_joined_by_address()
            && let Some(end) = by_ledger(evidence, side)
        {
            return end;
        }
        let sources = vec![Source::all(evidence.connection())];
        return End::new(Answer::NotSeen, Verdict::NotSeen, not_agreed(evidence, tls), sources);
    };
    if let Some(judgement) = evidence.refused() {
        return End {
            authenticated: Answer::NotSeen,
            judgement,
        };
    }
    match hello.value.version {
        Version::TLS13 => {}
        older if older < Version::TLS13 => return legacy(evidence, tls, side, older),
        unknown => {
            let because = format!("version {unknown} negotiated, which is not known");
            let sources = vec![Source::seen(hello)];
            return End::new(Answer::NotObservable, Verdict::NotObservable, because, sources);
        }
    }
    if let Some(end) = by_keys(tls, side).or_else(|| by_ledger(evidence, side)) {
        return end;
    }
    let resumed = hello.value.pre_shared_key.is_some();
    if side == Side::Server
        && !resumed
        && let Some(end) = evidence.client_hello().and_then(by_offer)
    {
        return end;
    }
    let because = if resumed {
        "resumed: authenticated by an earlier handshake that no ledger tells of"
    } else {
        "TLS 1.3 encrypts certificates, and no ledger tells of this handshake"
    };
    let sources = vec![Source::seen(hello)];
    End::new(Answer::NotObservable, Verdict::NotObservable, because, sources)
}

/// A server must sign with a scheme the client offers (RFC 9846, section 4.4.3): where all of those are classical, so
/// is its signature.
pub(crate) fn by_offer(hello: &Seen<ClientHello>) -> Option<End> {
    let offered = &hello.value.signature_algorithms;
    let classical =
        |scheme: &SignatureScheme| registry::is_grease(scheme.0) || forgery(*scheme) == Some(Safety::Vulnerable);
    if offered.is_empty() || hello.value.omitted > 0 || !offered.iter().all(classical) {
        return None;
    }
    let because = "the client offers classical signature schemes only";
    Some(End::new(
        Answer::NotObservable,
        Verdict::Vulnerable,
        because,
        vec![Source::seen(hello)],
    ))
}

/// TLS 1.2 and older: signatures and certificates are unencrypted.
fn legacy(evidence: &Evidence<'_>, tls: &Tls, side: Side, version: Version) -> End {
    let certificates = match side {
        Side::Server => &tls.server_certificates,
        Side::Client => &tls.client_certificates,
    };
    Unencrypted {
        version: version.to_string(),
        signature: scheme(evidence, side),
        certificates: certificates.as_ref(),
        // Without a full handshake in sight nothing says that there was no certificate.
        in_full: tls.server_certificates.is_some(),
        all: Source::all(evidence.connection()),
    }
    .end()
}

/// Evidence of an end before TLS 1.3, where no post-quantum signature is defined.
pub(crate) struct Unencrypted<'a> {
    pub(crate) version: String,
    pub(crate) signature: Option<(SignatureScheme, Source)>,
    pub(crate) certificates: Option<&'a Seen<Certificates>>,
    /// True if a certificate, had there been one, would have been seen.
    pub(crate) in_full: bool,
    pub(crate) all: Source,
}

impl Unencrypted<'_> {
    pub(crate) fn end(self) -> End {
        let version = self.version;
        let shown = self.certificates.filter(|seen| seen.value.count > 0);
        let certified = shown.and_then(|seen| seen.value.chain.first()).map(|leaf| {
            let (key, signature) = (&leaf.public_key, &leaf.signature);
            format!("a key of {key} that is certified with {signature}")
        });
        let mut sources: Vec<Source> = shown.into_iter().map(Source::seen).collect();
        if let Some((scheme, source)) = self.signature {
            let with = certified.map_or_else(String::new, |key| format!(", with {key}"));
            let because = format!("{version}, signed with {scheme}{with}");
            sources.push(source);
            return End::new(Answer::Yes, Verdict::Vulnerable, because, sources);
        }
        let (authenticated, because) = match (shown, self.in_full) {
            (Some(_), _) => {
                let with = certified.map_or_else(String::new, |key| format!("; it has {key}"));
                (Answer::Yes, format!("{version} has no post-quantum signature{with}"))
            }
            (None, false) => (Answer::NotSeen, format!("{version} has no post-quantum signature")),
            (None, true) => (Answer::No, "not authenticated: it sent no certificate".to_owned()),
        };
        if sources.is_empty() {
            sources.push(self.all);
        }
        End::new(authenticated, Verdict::Vulnerable, because, sources)
    }
}

/// Judges one end by its decrypted handshake: packets are the evidence, given the keys.
pub(crate) fn by_keys(tls: &Tls, side: Side) -> Option<End> {
    const BY: &str = "as the keys given show";
    let opened = tls.opened.as_deref()?;
    if let Some(alert) = tls.refusal() {
        let name = alert_name(alert.value.description).unwrap_or("an alert");
        let because = format!("refused by the {} ({name})", alert.value.from);
        return Some(End::new(
            Answer::NotSeen,
            Verdict::NotSeen,
            because,
            vec![Source::seen(alert)],
        ));
    }
    let (signature, certificates) = match side {
        Side::Server => (&opened.server_signature, &opened.server_certificates),
        Side::Client => (&opened.client_signature, &opened.client_certificates),
    };
    let Some(scheme) = signature else {
        return unsigned(tls, opened, side);
    };
    let sources = || {
        let chain = certificates.iter().map(Source::seen);
        chain.chain([Source::seen(scheme)]).collect()
    };
    let how = format!("signed with {}, {BY}", scheme.value);
    Some(match forgery(scheme.value) {
        Some(Safety::QuantumSafe) => match certificates {
            Some(chain) if !chain.value.is_empty() => {
                let links = chain.value.iter().map(Shown::opened);
                by_chain(&how, links, sources())
            }
            _ => {
                let because = format!("{how}; its certificates were not opened");
                End::new(Answer::Yes, Verdict::NotObservable, because, sources())
            }
        },
        Some(Safety::Vulnerable) => End::new(Answer::Yes, Verdict::Vulnerable, how, sources()),
        None => {
            let because = format!("{how}; the registry does not know it");
            End::new(Answer::Yes, Verdict::NotObservable, because, sources())
        }
    })
}

/// An end of which keys opened no signature: it gave none where all of its handshake was opened.
fn unsigned(tls: &Tls, opened: &Opened, side: Side) -> Option<End> {
    let finished = match side {
        Side::Server => opened.server_finished.as_ref()?,
        Side::Client => opened.client_finished.as_ref()?,
    };
    let sources = vec![Source::seen(finished)];
    if tls.server_hello.as_ref()?.value.pre_shared_key.is_some() {
        // The end that made the key was authenticated then, or was not.
        return None;
    }
    let because = match (side, &opened.server_finished, &opened.certificate_request) {
        (Side::Client, Some(_), None) => "not authenticated: the server did not ask it to be, as the keys given show",
        _ => "not authenticated: it sent no certificate, as the keys given show",
    };
    Some(End::new(Answer::No, Verdict::Vulnerable, because, sources))
}

bartizan_registry::made! {
    /// A certificate of a chain, from packets or from a ledger.
    pub(crate) struct Shown<'a>, pub(crate) opened(certificate: &'a keys::Certificate) {
        subject: &'a str = &certificate.subject,
        public_key: &'a str = &certificate.public_key,
        signature: &'a str = &certificate.signature,
    }
}

/// The word of ledgers on one end: its signature and its chain from either end's record.
fn by_ledger(evidence: &Evidence<'_>, side: Side) -> Option<End> {
    let entries: Vec<&Entry> = evidence.entries().collect();
    by_records(&entries, scheme(evidence, side), side)
}

/// The same of one handshake's records, with the scheme that the end signed with.
pub(crate) fn by_records(entries: &[&Entry], signed: Option<(SignatureScheme, Source)>, side: Side) -> Option<End> {
    let reported: Vec<(&Entry, bool)> = entries
        .iter()
        .filter_map(|entry| Some((*entry, entry.handshake.negotiated.as_ref()?.resumed)))
        .collect();
    if reported.is_empty() {
        return None;
    }
    if let Some(dispute) = disputed(entries.iter().copied()) {
        let because = dispute.what;
        return Some(End::new(
            Answer::NotObservable,
            Verdict::NotObservable,
            because,
            dispute.sources,
        ));
    }
    let sources: Vec<Source> = reported.iter().map(|(entry, _)| entry.source()).collect();
    let resumed = reported.iter().any(|(_, resumed)| *resumed);
    let witness = reported
        .iter()
        .map(|(entry, _)| entry)
        .find(|entry| is_peer(&entry.handshake, side));
    let how = match signed {
        Some((scheme, _)) => match forgery(scheme) {
            Some(Safety::QuantumSafe) => format!("signed with {scheme}"),
            Some(Safety::Vulnerable) => {
                return Some(End::new(
                    Answer::Yes,
                    Verdict::Vulnerable,
                    format!("signed with {scheme}"),
                    sources,
                ));
            }
            None => {
                let because = format!("signed with {scheme}, which the registry does not know");
                return Some(End::new(Answer::Yes, Verdict::NotObservable, because, sources));
            }
        },
        None if resumed => "resumed".to_owned(),
        None => {
            return Some(match witness {
                Some(_) => {
                    let because = "not authenticated: it sent no certificate";
                    End::new(Answer::No, Verdict::Vulnerable, because, sources)
                }
                None => {
                    let because = "no ledger tells how it was authenticated";
                    End::new(Answer::NotObservable, Verdict::NotObservable, because, sources)
                }
            });
        }
    };
    let received = witness.map_or(&[][..], |entry| &entry.handshake.chain);
    let own = reported.iter().filter(|(entry, _)| !is_peer(&entry.handshake, side));
    let sent = own.map(|(entry, _)| entry.handshake.local_chain.as_slice());
    let sent = sent
        .filter(|_| !resumed && witness.is_none_or(|entry| !entry.handshake.chain.is_empty()))
        .find(|chain| !chain.is_empty())
        .unwrap_or(&[]);
    let leaf = |chain: &[Certificate]| chain.first().map(|leaf| leaf.sha256.clone());
    if !received.is_empty() && !sent.is_empty() && leaf(received) != leaf(sent) {
        let because = format!("{how}; the ledgers of both ends name different certificates for it");
        return Some(End::new(Answer::Yes, Verdict::NotObservable, because, sources));
    }
    Some(match if received.is_empty() { sent } else { received } {
        chain if !chain.is_empty() => by_chain(&how, chain.iter().map(Shown::recorded), sources),
        _ => {
            let because = format!("{how}; its certificates are in no ledger given");
            End::new(Answer::Yes, Verdict::NotObservable, because, sources)
        }
    })
}

/// Every key and every signature in the chain must hold; the root is not sent, and trusted by being known.
pub(crate) fn by_chain<'a>(how: &str, chain: impl Iterator<Item = Shown<'a>>, sources: Vec<Source>) -> End {
    let (mut unknown, mut leaf, mut algorithms) = (None, None, Vec::new());
    for certificate in chain {
        leaf.get_or_insert(certificate.public_key);
        for (algorithm, part) in [
            (certificate.public_key, "has a key of"),
            (certificate.signature, "is signed with"),
        ] {
            let statement = || {
                format!(
                    "{how}, but the certificate of {} {part} {algorithm}",
                    certificate.subject
                )
            };
            let known = certified(algorithm);
            algorithms.extend(known.map(|known| known.name));
            match known.map(|known| known.safety) {
                Some(Safety::QuantumSafe) => {}
                Some(Safety::Vulnerable) => return End::new(Answer::Yes, Verdict::Vulnerable, statement(), sources),
                None => unknown = Some(format!("{}, which the registry does not know", statement())),
            }
        }
    }
    match unknown {
        Some(because) => End::new(Answer::Yes, Verdict::NotObservable, because, sources),
        None => {
            let because = format!("{how}, with a certified key of {}", leaf.unwrap_or_default());
            let mut end = End::new(Answer::Yes, Verdict::QuantumSafe, because, sources);
            end.judgement = end.judgement.with_algorithms(algorithms);
            end
        }
    }
}

impl<'a> Shown<'a> {
    fn recorded(certificate: &'a Certificate) -> Self {
        Self {
            subject: &certificate.subject,
            public_key: &certificate.public_key,
            signature: &certificate.signature,
        }
    }
}

/// The scheme an end signed with, and who says so: the packets of TLS 1.2, what keys opened, or else a ledger.
pub(crate) fn scheme(evidence: &Evidence<'_>, side: Side) -> Option<(SignatureScheme, Source)> {
    let tls = evidence.tls()?;
    let seen = match side {
        Side::Server => tls
            .server_key_exchange
            .as_ref()
            .and_then(|seen| Some((seen.value.signature?, Source::seen(seen)))),
        Side::Client => tls
            .client_signature
            .as_ref()
            .map(|seen| (seen.value, Source::seen(seen))),
    };
    let opened = tls.opened.as_deref();
    let opened = opened.and_then(|opened| match side {
        Side::Server => opened.server_signature.as_ref(),
        Side::Client => opened.client_signature.as_ref(),
    });
    let opened = opened.map(|seen| (seen.value, Source::seen(seen)));
    seen.or(opened).or_else(|| recorded_scheme(evidence.entries(), side))
}

/// The scheme an end signed with, as ledgers say.
pub(crate) fn recorded_scheme<'a>(
    mut entries: impl Iterator<Item = &'a Entry>,
    side: Side,
) -> Option<(SignatureScheme, Source)> {
    entries.find_map(|entry| {
        let code = signature_of(&entry.handshake, side)?;
        Some((SignatureScheme(code.code), entry.source()))
    })
}

/// The scheme with which `side` signed, in a record that either end may have written.
pub(crate) fn signature_of(handshake: &Handshake, side: Side) -> Option<&Code> {
    let negotiated = handshake.negotiated.as_ref()?;
    if is_peer(handshake, side) {
        negotiated.peer_signature.as_ref()
    } else {
        negotiated.local_signature.as_ref()
    }
}

/// Returns true if `side` is the peer of the record's writer.
fn is_peer(handshake: &Handshake, side: Side) -> bool {
    matches!(
        (handshake.direction, side),
        (Direction::Outbound, Side::Server) | (Direction::Inbound, Side::Client)
    )
}

fn forgery(scheme: SignatureScheme) -> Option<Safety> {
    registry::signature_safety(scheme)
}

/// An algorithm of a certificate, by the name or the object identifier that a ledger has for it.
fn certified(name: &str) -> Option<&'static registry::X509Algorithm> {
    registry::x509_algorithm_named(name).or_else(|| registry::x509_algorithm(name, None))
}
