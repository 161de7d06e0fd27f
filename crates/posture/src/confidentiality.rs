//! Can someone who records a connection today read it with a quantum computer?

use bartizan_registry::{self as registry, NamedGroup, Safety};
use bartizan_wire::tls::{self, ClientHello, Fault, KeyShare, ServerHello, Tls, Version};
use bartizan_wire::{Content, Seen, Start};

use crate::{Evidence, Judgement, Source, Verdict, ssh};

pub(crate) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let connection = evidence.connection();
    let all = || vec![Source::all(connection)];
    match &connection.content {
        Content::Nothing => Judgement::new(Verdict::NotSeen, "no data was sent", all()),
        Content::Http2(http2) => {
            let source = http2
                .preface
                .map_or_else(|| Source::all(connection), |at| Source::between(at, at));
            Judgement::new(Verdict::Vulnerable, "sent in clear: HTTP/2 without TLS", vec![source])
        }
        Content::Http1(_) => Judgement::new(Verdict::Vulnerable, "sent in clear: HTTP/1 without TLS", all()),
        Content::Unknown(_) => Judgement::new(Verdict::NotObservable, "a protocol that is not read", all()),
        Content::Tls(tls) => judge_tls(evidence, tls),
        Content::Ssh(carried) => ssh::posture(connection, carried).confidentiality,
    }
}

/// Whether a group withstands a recorder; none where the registry does not know it.
pub(crate) fn group_safety(group: NamedGroup) -> Option<Safety> {
    registry::group(group).map(|known| known.recording)
}

fn judge_tls(evidence: &Evidence<'_>, tls: &Tls) -> Judgement {
    let Some(hello) = &tls.server_hello else {
        return match evidence.group() {
            // The ServerHello is missing from the capture, and a ledger knows it.
            Some((group, source)) => by_group(group, vec![source]),
            None => Judgement::new(
                Verdict::NotSeen,
                not_agreed(evidence, tls),
                vec![Source::all(evidence.connection())],
            ),
        };
    };
    let sources = vec![Source::seen(hello)];
    let suite = hello.value.cipher_suite;
    if tls::is_null_cipher(suite) {
        return Judgement::new(
            Verdict::Vulnerable,
            format!("sent in clear: cipher suite 0x{suite:04x} does not encrypt"),
            sources,
        );
    }
    match hello.value.version {
        Version::TLS13 => {}
        older if older < Version::TLS13 => return judge_legacy(evidence, older, suite, sources),
        unknown => {
            let because = format!("version {unknown} negotiated, which is not known");
            return Judgement::new(Verdict::NotObservable, because, sources);
        }
    }
    if let Some(fault) = stray_bytes(tls) {
        let because = format!("{}: they may be in clear", fault.value);
        return Judgement::new(
            Verdict::NotObservable,
            because,
            vec![Source::seen(hello), Source::seen(fault)],
        );
    }
    let Some(share) = hello.value.key_share else {
        let because = if hello.value.pre_shared_key.is_some() {
            "keyed by a pre-shared key alone: as safe as the handshake that made it, which is not shown here"
        } else {
            "the ServerHello names no key exchange"
        };
        return Judgement::new(Verdict::NotObservable, because, sources);
    };
    if let Some(judgement) = not_borne_out(evidence) {
        return judgement;
    }
    let judgement = by_group(share.group, sources);
    if judgement.verdict() == Verdict::QuantumSafe {
        return early(evidence, hello, share.group).unwrap_or(judgement);
    }
    judgement
}

/// What early data makes of a connection that is safe from its handshake on: they were keyed by an earlier one, also those that
/// the server then did not take. Only the ClientHello says whether there were some.
fn early(evidence: &Evidence<'_>, hello: &Seen<ServerHello>, group: NamedGroup) -> Option<Judgement> {
    let Some(first) = evidence.client_hello() else {
        let because = format!("{group}, but the ClientHello is not in the capture: early data may have come before");
        return Some(Judgement::new(Verdict::NotSeen, because, vec![Source::seen(hello)]));
    };
    first.value.early_data.then(|| {
        let because =
            format!("{group}, but early data came before it, keyed by an earlier handshake that is not shown here");
        Judgement::new(
            Verdict::NotObservable,
            because,
            vec![Source::seen(first), Source::seen(hello)],
        )
    })
}

/// What is left of a post-quantum group in a ServerHello where the packets contradict it: a key share that is not as long
/// as the group's are, or an answer to what the client did not ask for. No two ends that follow RFC 9846 go on from there
/// (section 4.2.8), so that it is no evidence of the exchange it names.
pub(crate) fn not_borne_out(evidence: &Evidence<'_>) -> Option<Judgement> {
    let tls = evidence.tls()?;
    let hello = tls.server_hello.as_ref()?;
    let share = hello.value.key_share?;
    let known = registry::group(share.group).filter(|known| known.recording == Safety::QuantumSafe)?;
    let mut sources = vec![Source::seen(hello)];
    let group = share.group;
    let because = if share.length != known.server_share {
        let (length, needed) = (share.length, known.server_share);
        format!("{group} is named in the ServerHello, with {length} bytes of key exchange data instead of {needed}")
    } else {
        // With a HelloRetryRequest the second ClientHello is what is answered; it may be missing from the capture.
        let asked = match &tls.hello_retry_request {
            Some(_) => tls.second_client_hello.as_ref(),
            None => tls.client_hello.as_ref(),
        }?;
        sources.push(Source::seen(asked));
        let what = contradicted(&asked.value, share, known.client_share)?;
        format!("{group} is named in the ServerHello, and {what}")
    };
    Some(Judgement::new(Verdict::NotObservable, because, sources))
}

/// How a ClientHello contradicts the key share that answers it; `length` is that of the client's share in bytes.
fn contradicted(hello: &ClientHello, share: KeyShare, length: u16) -> Option<String> {
    // What Encrypted ClientHello hides may offer anything, and so may what is too long to be kept.
    if hello.encrypted_client_hello || hello.omitted > 0 {
        return None;
    }
    if !hello.offers_version(Version::TLS13) {
        return Some("the client does not offer TLS 1.3".into());
    }
    if !hello.supported_groups.contains(&share.group) {
        return Some("the client does not offer it".into());
    }
    let mut sent = hello.key_shares.iter();
    match sent.find(|sent| sent.group == share.group) {
        None => Some("the client sent no key share for it".into()),
        Some(sent) if sent.length != length => {
            let sent = sent.length;
            Some(format!("the client sent {sent} bytes for it instead of {length}"))
        }
        Some(_) => None,
    }
}

/// Bytes among the records that are none: nobody protects them.
pub(crate) fn stray_bytes(tls: &Tls) -> Option<&Seen<Fault>> {
    tls.faults
        .iter()
        .find(|fault| matches!(fault.value, Fault::NotARecord { .. }))
}

fn by_group(group: NamedGroup, sources: Vec<Source>) -> Judgement {
    match group_safety(group) {
        Some(Safety::QuantumSafe) => Judgement::new(Verdict::QuantumSafe, format!("{group} negotiated"), sources),
        Some(Safety::Vulnerable) => Judgement::new(
            Verdict::Vulnerable,
            format!("{group} negotiated: a classical key exchange"),
            sources,
        ),
        None => Judgement::new(
            Verdict::NotObservable,
            format!("group {group} negotiated, which the registry does not know"),
            sources,
        ),
    }
}

/// No version before 1.3 has a post-quantum key exchange; a pre-shared key alone is another matter.
fn judge_legacy(evidence: &Evidence<'_>, version: Version, suite: u16, mut sources: Vec<Source>) -> Judgement {
    if is_plain_psk(suite) {
        return Judgement::new(
            Verdict::NotObservable,
            format!("{version} keyed by a pre-shared key: how it was made is not shown here"),
            sources,
        );
    }
    let group = evidence.group().map(|(group, source)| {
        sources.push(source);
        format!(" ({group})")
    });
    let group = group.unwrap_or_default();
    Judgement::new(
        Verdict::Vulnerable,
        format!("{version} negotiated: its key exchange{group} is classical"),
        sources,
    )
}

/// Suites of RFC 4279, 5487, 6655, 6209, 6367 and 7905 whose only secret is the pre-shared key.
fn is_plain_psk(suite: u16) -> bool {
    matches!(
        suite,
        0x008a
            ..=0x008d
                | 0x00a8
                | 0x00a9
                | 0x00ae
                | 0x00af
                | 0xc064
                | 0xc065
                | 0xc06a
                | 0xc06b
                | 0xc08e
                | 0xc08f
                | 0xc094
                | 0xc095
                | 0xc0a4
                | 0xc0a5
                | 0xc0a8
                | 0xc0a9
                | 0xccab
    )
}

/// Why no ServerHello was seen.
pub(crate) fn not_agreed(evidence: &Evidence<'_>, tls: &Tls) -> String {
    if let Some(Seen { value: alert, .. }) = tls.alerts.first() {
        let name =
            tls::alert_name(alert.description).map_or_else(|| format!("alert {}", alert.description), str::to_owned);
        return format!("nothing was negotiated: the {} refused ({name})", alert.from);
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
