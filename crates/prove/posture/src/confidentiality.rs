//! Can an attacker who records a connection today read it with a quantum computer?

use bartizan_registry::{NamedGroup, Safety};
use bartizan_wire::plaintext::Own;
use bartizan_wire::tls::{self, Fault, Tls, Version};
use bartizan_wire::{Content, Moment, Seen, Start};

use crate::established::Progress;
use crate::negotiation::{behind_early_data, by_group, unknown_suite};
use crate::{Evidence, Judged, Judgement, Source, Verdict, proxy, ssh};

pub(crate) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let connection = evidence.connection();
    let all = || vec![Source::all(connection)];
    match &connection.content {
        Content::Nothing => Judgement::new(Verdict::NotSeen, "no data was sent", all()),
        Content::Http2(http2) => {
            let source = http2
                .preface
                .map_or_else(|| Source::all(connection), |at| Source::between(at, at));
            Judgement::new(
                Verdict::ReadableNow,
                "sent unencrypted: HTTP/2 without TLS",
                vec![source],
            )
        }
        Content::Http1(_) => Judgement::new(Verdict::ReadableNow, "sent unencrypted: HTTP/1 without TLS", all()),
        Content::Plaintext(spoken) => {
            let name = spoken.protocol.name();
            if let Some((own, at)) = spoken.own {
                let (verdict, because) = own_protection(own);
                return Judgement::new(verdict, format!("{name} {because}"), vec![Source::between(at, at)]);
            }
            let because = match spoken.asked {
                Some(_) => format!("sent unencrypted: {name}, whose client asked for TLS and went on without it"),
                None => format!("sent unencrypted: {name} without TLS"),
            };
            Judgement::new(Verdict::ReadableNow, because, all())
        }
        Content::IkeInTcp(lost) => in_tcp(*lost, all()),
        Content::Unknown(_) => Judgement::new(Verdict::NotObservable, "a protocol that is not read", all()),
        Content::Proxy(hop) => proxy::confidentiality(connection, hop),
        Content::Tls(tls) => match before_tls(tls) {
            Some((because, source)) => Judgement::new(
                Verdict::ReadableNow,
                format!("sent unencrypted: {because}"),
                vec![source],
            ),
            None => judge_tls(evidence, tls),
        },
        Content::Ssh(carried) => ssh::posture(&connection.into(), carried).confidentiality,
    }
}

/// The judgement of a stream of IKE and ESP, which are judged by themselves as far as they could be
/// found in it.
pub(crate) fn in_tcp(lost: Option<Moment>, all: Vec<Source>) -> Judgement {
    match lost {
        Some(at) => {
            let because = "bytes of IKE and ESP in TCP are missing from the capture: what follows cannot be read";
            Judgement::new(Verdict::NotObservable, because, vec![Source::between(at, at)])
        }
        None => Judgement::new(Verdict::NotSeen, "IKE and ESP in TCP, judged by themselves", all),
    }
}

/// The worth of a protocol's protection of its own.
fn own_protection(own: Own) -> (Verdict, &'static str) {
    match own {
        Own::SecurityLayer => {
            let because = "in a security layer of SASL or GSSAPI: its keys, and whether it encrypts, are not shown";
            (Verdict::NotObservable, because)
        }
        Own::Rsa => (
            Verdict::Vulnerable,
            "with its own encryption: a secret that RSA transports",
        ),
        Own::NotShown => {
            let because = "without TLS: whether it encrypts by itself, with a secret that RSA transports, is not shown";
            (Verdict::NotObservable, because)
        }
    }
}

/// Plaintext before TLS, where it was more than TLS needs to begin.
pub(crate) fn before_tls(tls: &Tls) -> Option<(String, Source)> {
    let spoken = tls.behind?;
    let at = spoken.content?;
    Some((
        format!("{} before TLS", spoken.protocol.name()),
        Source::between(at, at),
    ))
}

fn judge_tls(evidence: &Evidence<'_>, tls: &Tls) -> Judgement {
    let Some(hello) = &tls.server_hello else {
        return match evidence.group() {
            // The ServerHello is missing from the capture, and a ledger knows it.
            Some((group, source)) => in_records(tls, doubted(evidence, by_ledger(evidence, group, source))),
            None => Judgement::new(
                Verdict::NotSeen,
                not_agreed(evidence, tls),
                vec![Source::all(evidence.connection())],
            ),
        };
    };
    let sources = vec![Source::seen(hello)];
    let progress = Progress::of(evidence, tls);
    if let Some(judgement) = progress.judgement(&Source::all(evidence.connection())) {
        return judgement;
    }
    let suite = hello.value.cipher_suite;
    match hello.value.version {
        Version::TLS13 => {}
        older if older < Version::TLS13 => {
            if tls::is_null_cipher(suite) {
                let because = format!("sent unencrypted: cipher suite 0x{suite:04x} does not encrypt");
                return Judgement::new(Verdict::ReadableNow, because, sources);
            }
            return judge_legacy(evidence, older, suite, sources);
        }
        unknown => {
            let because = format!("version {unknown} negotiated, which is not known");
            return Judgement::new(Verdict::NotObservable, because, sources);
        }
    }
    let judgement = match evidence.hellos() {
        Some(hellos) => hellos.judge(),
        None => Judgement::new(Verdict::NotSeen, not_agreed(evidence, tls), sources),
    };
    if judgement.verdict() != Verdict::QuantumSafe {
        return judgement;
    }
    let judgement = doubted(evidence, judgement);
    progress.limits(in_records(tls, judgement))
}

/// Lowers a judgement where bytes went outside of records: it is never safe.
fn in_records(tls: &Tls, judgement: Judgement) -> Judgement {
    match stray_bytes(tls) {
        Some(fault) if judgement.verdict() == Verdict::QuantumSafe => {
            let because = format!("{}: they may be in plaintext", fault.value);
            let sources = [judgement.sources(), &[Source::seen(fault)]].concat();
            Judgement::new(Verdict::NotObservable, because, sources)
        }
        _ => judgement,
    }
}

/// Judges a group that only a ledger names.
fn by_ledger(evidence: &Evidence<'_>, group: NamedGroup, source: Source) -> Judgement {
    let mut judgement = by_group(group, vec![source.clone()]);
    if judgement.verdict() == Verdict::QuantumSafe
        && let Some(hello) = evidence.client_hello()
        && let Some(early) = behind_early_data(group, hello, source)
    {
        return early;
    }
    let suites = evidence
        .entries()
        .filter_map(|entry| entry.handshake.negotiated.as_ref());
    let unknown = suites
        .filter_map(|negotiated| unknown_suite(negotiated.cipher.code))
        .next();
    if let Some(because) = unknown.filter(|_| judgement.verdict() == Verdict::QuantumSafe) {
        judgement = Judgement::new(Judged::UNKNOWN, because, judgement.sources().to_vec());
    }
    if !evidence.is_joined_by_address() {
        return judgement;
    }
    let because = format!(
        "{}, by the ledger's record of these addresses at that time: the ClientHello is not in the capture",
        judgement.because()
    );
    Judgement::new(judgement.judged(), because, judgement.sources().to_vec())
}

/// Lowers a judgement that packets contradict: it is never safe.
pub(crate) fn doubted(evidence: &Evidence<'_>, judgement: Judgement) -> Judgement {
    if judgement.verdict() != Verdict::QuantumSafe {
        return judgement;
    }
    match evidence.doubts().into_iter().next() {
        Some(doubt) => {
            let sources = [doubt.sources, judgement.sources().to_vec()].concat();
            Judgement::new(Verdict::NotObservable, doubt.what, sources)
        }
        None => judgement,
    }
}

/// Bytes between the records that belong to none: they are unprotected.
pub(crate) fn stray_bytes(tls: &Tls) -> Option<&Seen<Fault>> {
    tls.faults
        .iter()
        .find(|fault| matches!(fault.value, Fault::NotARecord { .. }))
}

/// No version before 1.3 has a post-quantum key exchange; a pre-shared key alone is another matter.
fn judge_legacy(evidence: &Evidence<'_>, version: Version, suite: u16, mut sources: Vec<Source>) -> Judgement {
    if is_psk(suite) && !is_broken(suite) {
        return Judgement::new(
            Verdict::NotObservable,
            format!("{version} keyed by a pre-shared key: {UNSHOWN_KEY}"),
            sources,
        );
    }
    let group = evidence.group().map(|(group, source)| {
        sources.push(source);
        format!(" ({group})")
    });
    let group = group.unwrap_or_default();
    let because = format!("{version} negotiated: its key exchange{group} is classical");
    by_older_suite(Some(suite), because, sources)
}

pub(crate) fn is_broken(suite: u16) -> bool {
    tls::older_cipher(suite) == Some(Safety::Vulnerable)
}

/// Judges a version without post-quantum key exchange by its cipher suite too, where it is shown. Its
/// reason begins otherwise than that of a classical key exchange: an accepted finding accepts no more.
pub(crate) fn by_older_suite(suite: Option<u16>, classical: String, sources: Vec<Source>) -> Judgement {
    let Some((suite, safety)) = suite.map(|suite| (suite, tls::older_cipher(suite))) else {
        return Judgement::new(Judged::CLASSICAL, classical, sources);
    };
    let what = match safety {
        Some(Safety::QuantumSafe) => return Judgement::new(Judged::CLASSICAL, classical, sources),
        Some(Safety::Vulnerable) => "can be broken without a quantum computer",
        None => "is not known",
    };
    let because = format!("the cipher of suite 0x{suite:04x} {what}; {classical}");
    Judgement::new(Verdict::Vulnerable, because, sources)
}

/// The rule for keys that packets do not show: where a key that both ends were given takes part, or
/// may without a trace, a recorder may lack it, and nothing shows that. So it is neither safe nor
/// vulnerable. WireGuard, IKEv1, TLS, SNMP and EAPOL follow it.
pub(crate) const UNSHOWN_KEY: &str = "how it was made is not shown here";

/// Suites of RFC 4279, 4785, 5487, 5489, 6209, 6367, 6655, 7905 and 8442 with a pre-shared key,
/// alone or with a key exchange.
pub(crate) fn is_psk(suite: u16) -> bool {
    matches!(
        suite,
        0x002c..=0x002e
            | 0x008a..=0x0095
            | 0x00a8..=0x00b9
            | 0xc033..=0xc03b
            | 0xc064..=0xc06f
            | 0xc070
            | 0xc071
            | 0xc08e..=0xc093
            | 0xc094..=0xc09b
            | 0xc0a4..=0xc0ab
            | 0xccab..=0xccae
            | 0xd001..=0xd003
            | 0xd005
    )
}

/// Why no ServerHello was seen, and why no ledger helps.
pub(crate) fn not_agreed(evidence: &Evidence<'_>, tls: &Tls) -> String {
    let because = not_shown(evidence, tls);
    match evidence.rivals() {
        Some(rivals) => format!(
            "{because}; ledgers have {rivals} handshakes of these addresses within an hour of it: it may be any"
        ),
        None => because,
    }
}

fn not_shown(evidence: &Evidence<'_>, tls: &Tls) -> String {
    if let Some(Seen { value: alert, .. }) = tls.alerts.first() {
        let name =
            tls::alert_name(alert.description).map_or_else(|| format!("alert {}", alert.description), str::to_owned);
        return format!("nothing was negotiated: the {} refused ({name})", alert.from);
    }
    let protected = tls.from_client.records + tls.from_server.records;
    if protected > 0 {
        return format!("the ServerHello is not in the capture, and {protected} encrypted records are");
    }
    let missing = tls
        .faults
        .iter()
        .find(|fault| !matches!(fault.value, Fault::Unexpected { .. }));
    if let Some(fault) = missing {
        return format!("no ServerHello was read: {}", fault.value);
    }
    if tls.client_hello.is_some() {
        return "the server did not answer the ClientHello".into();
    }
    if evidence.connection().start == Start::Midstream {
        return "the handshake was before the capture".into();
    }
    "no handshake was seen".into()
}
