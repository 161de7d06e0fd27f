//! The six questions.

use bartizan_registry::{self as registry, NamedGroup, Safety};
use bartizan_wire::plaintext::Spoken;
use bartizan_wire::tls::{self, ClientHello, Version};
use bartizan_wire::{Content, Seen, Side};

use crate::confidentiality::{before_tls, not_agreed, stray_bytes};
use crate::negotiation::group_safety;
use crate::{Answer, Evidence, Reply, Source, Verdict, authenticity, confidentiality, ssh};

/// Answers that do not depend on TLS; `clear` is what to say where everything was sent unencrypted.
fn without_tls(evidence: &Evidence<'_>, clear: &str) -> Option<Reply> {
    let all = vec![Source::all(evidence.connection())];
    match &evidence.connection().content {
        Content::Nothing => Some(Reply::new(Answer::NotSeen, "no data was sent", all)),
        Content::Plaintext(Spoken { own: Some(_), .. }) => {
            let judged = confidentiality::judge(evidence);
            let answer = match judged.verdict() {
                Verdict::Vulnerable => Answer::No,
                _ => Answer::NotObservable,
            };
            Some(Reply::new(answer, judged.because(), all))
        }
        Content::Http2(_) | Content::Http1(_) | Content::Plaintext(_) => Some(Reply::new(Answer::No, clear, all)),
        Content::Proxy(_) => Some(match confidentiality::judge(evidence) {
            judged if judged.verdict() == Verdict::ReadableNow => Reply::new(Answer::No, clear, all),
            judged => Reply::new(Answer::NotObservable, judged.because(), all),
        }),
        Content::IkeInTcp(lost) => {
            let judged = confidentiality::in_tcp(*lost, all);
            Some(Reply::new(Answer::NotSeen, judged.because(), judged.sources().to_vec()))
        }
        Content::Unknown(_) => Some(Reply::new(Answer::NotObservable, "a protocol that is not read", all)),
        Content::Tls(_) | Content::Ssh(_) => None,
    }
}

/// The ClientHello, or why there is no telling without it.
fn hello<'a>(evidence: &'a Evidence<'_>) -> Result<&'a Seen<ClientHello>, Reply> {
    evidence.client_hello().ok_or_else(|| {
        let because = evidence.tls().map_or_else(String::new, |tls| not_agreed(evidence, tls));
        Reply::new(Answer::NotSeen, because, vec![Source::all(evidence.connection())])
    })
}

fn is_post_quantum(group: NamedGroup) -> bool {
    group_safety(group) == Some(Safety::QuantumSafe)
}

pub(crate) fn offered(evidence: &Evidence<'_>) -> Reply {
    if let Some(reply) = without_tls(evidence, "sent unencrypted") {
        return reply;
    }
    match hello(evidence) {
        Ok(hello) => offer(hello, Version::TLS13),
        Err(reply) => reply,
    }
}

/// Answers yes if a client offers a post-quantum group, and with it the version that has such
/// groups.
pub(crate) fn offer(hello: &Seen<ClientHello>, version: Version) -> Reply {
    let groups: Vec<String> = hello
        .value
        .supported_groups
        .iter()
        .filter(|group| is_post_quantum(**group))
        .map(NamedGroup::to_string)
        .collect();
    let source = vec![Source::seen(hello)];
    if !hello.value.offers_version(version) {
        return Reply::new(Answer::No, format!("the client does not offer {version}"), source);
    }
    if groups.is_empty() {
        return Reply::new(Answer::No, "no post-quantum group among those offered", source);
    }
    Reply::new(Answer::Yes, groups.join(", "), source)
}

pub(crate) fn preferred(evidence: &Evidence<'_>) -> Reply {
    if let Some(reply) = without_tls(evidence, "sent unencrypted") {
        return reply;
    }
    match hello(evidence) {
        Ok(hello) => preference(hello),
        Err(reply) => reply,
    }
}

/// First preference of a client.
pub(crate) fn preference(hello: &Seen<ClientHello>) -> Reply {
    let source = vec![Source::seen(hello)];
    let real = |group: &NamedGroup| !registry::is_grease(group.0);
    let group = hello.value.supported_groups.iter().copied().find(real);
    let share = hello.value.key_shares.iter().map(|share| share.group).find(real);
    match (group, share) {
        (Some(group), Some(share)) if is_post_quantum(group) && is_post_quantum(share) => Reply::new(
            Answer::Yes,
            format!("{group} stands first, with a key share of {share}"),
            source,
        ),
        (Some(group), Some(share)) => Reply::new(
            Answer::No,
            format!("{group} stands first, the first key share is {share}"),
            source,
        ),
        (Some(group), None) => Reply::new(
            Answer::No,
            format!("{group} stands first, and no key share is sent"),
            source,
        ),
        (None, _) => Reply::new(Answer::No, "no group is offered", source),
    }
}

pub(crate) fn negotiated(evidence: &Evidence<'_>) -> Reply {
    if let Some(reply) = without_tls(evidence, "sent unencrypted") {
        return reply;
    }
    if let Some(judgement) = evidence.hellos().and_then(|hellos| hellos.contradicted()) {
        return Reply::new(Answer::NotObservable, judgement.because(), judgement.sources().to_vec());
    }
    let judgement = confidentiality::judge(evidence);
    match evidence.group().filter(|_| evidence.refused().is_none()) {
        Some((group, source)) => {
            let answer = match group_safety(group) {
                Some(Safety::QuantumSafe) => Answer::Yes,
                Some(Safety::Vulnerable) => Answer::No,
                None => Answer::NotObservable,
            };
            Reply::new(answer, group.to_string(), vec![source])
        }
        None => {
            let answer = match judgement.verdict() {
                Verdict::Vulnerable | Verdict::ReadableNow => Answer::No,
                Verdict::NotSeen => Answer::NotSeen,
                Verdict::NotObservable | Verdict::QuantumSafe => Answer::NotObservable,
            };
            Reply::new(answer, judgement.because(), judgement.sources().to_vec())
        }
    }
}

pub(crate) fn authenticated(evidence: &Evidence<'_>, side: Side) -> Reply {
    if let Some(reply) = without_tls(evidence, "sent unencrypted") {
        return reply;
    }
    let Some(tls) = evidence.tls() else {
        return Reply::new(Answer::NotSeen, "no data was sent", Vec::new());
    };
    let end = authenticity::end(evidence, tls, side);
    Reply::new(
        end.authenticated,
        end.judgement.because(),
        end.judgement.sources().to_vec(),
    )
}

pub(crate) fn stayed(evidence: &Evidence<'_>) -> Reply {
    if let Some(reply) = without_tls(evidence, "sent unencrypted") {
        return reply;
    }
    let Some(hello) = evidence.server_hello() else {
        if evidence.is_joined_by_address()
            && let Some((group, source)) = evidence.group()
        {
            let (answer, because) = match is_post_quantum(group) {
                true => (
                    Answer::Yes,
                    "one handshake for its whole life: TLS 1.3 has no renegotiation",
                ),
                false => (Answer::No, "it was not post-quantum from the start"),
            };
            return Reply::new(answer, because, vec![source]);
        }
        let because = evidence.tls().map_or_else(String::new, |tls| not_agreed(evidence, tls));
        return Reply::new(Answer::NotSeen, because, vec![Source::all(evidence.connection())]);
    };
    let source = vec![Source::seen(hello)];
    if let Some(judgement) = evidence.refused() {
        return Reply::new(Answer::NotSeen, judgement.because(), judgement.sources().to_vec());
    }
    if hello.value.version < Version::TLS13 {
        let because = format!("{} is classical throughout", hello.value.version);
        return Reply::new(Answer::No, because, source);
    }
    if hello.value.version > Version::TLS13 {
        let because = format!("version {} is not known", hello.value.version);
        return Reply::new(Answer::NotObservable, because, source);
    }
    if let Some(judgement) = evidence.hellos().and_then(|hellos| hellos.contradicted()) {
        return Reply::new(Answer::NotObservable, judgement.because(), judgement.sources().to_vec());
    }
    let safe = evidence.group().is_some_and(|(group, _)| is_post_quantum(group));
    match (hello.value.pre_shared_key, hello.value.key_share, safe) {
        (Some(_), Some(share), true) => Reply::new(
            Answer::Yes,
            format!("resumed with a new {} exchange", share.group),
            source,
        ),
        (Some(_), Some(share), false) => Reply::new(
            Answer::No,
            format!("resumed with a new {} exchange", share.group),
            source,
        ),
        (Some(_), None, _) => Reply::new(Answer::NotObservable, "resumed without a key exchange", source),
        (None, _, true) => Reply::new(
            Answer::Yes,
            "one handshake for its whole life: TLS 1.3 has no renegotiation",
            source,
        ),
        (None, _, false) => Reply::new(Answer::No, "it was not post-quantum from the start", source),
    }
}

/// Plaintext before TLS.
fn behind(spoken: Spoken, all: Vec<Source>) -> Reply {
    let name = spoken.protocol.name();
    match spoken.credentials {
        Some(at) => {
            let because = format!("{name} up to STARTTLS, with what the client proves itself with");
            Reply::new(Answer::Yes, because, vec![Source::between(at, at)])
        }
        None => {
            let because = format!(
                "TLS records only, behind {} bytes of {name} that went over to it",
                spoken.bytes
            );
            Reply::new(Answer::No, because, all)
        }
    }
}

pub(crate) fn clear(evidence: &Evidence<'_>) -> Reply {
    let connection = evidence.connection();
    let all = vec![Source::all(connection)];
    match &connection.content {
        Content::Nothing => Reply::new(Answer::No, "no data was sent", all),
        Content::Http2(http2) => {
            let bytes = connection.from_client.stream.bytes + connection.from_server.stream.bytes;
            let requests = if http2.streams == 1 { "request" } else { "requests" };
            let because = format!("{} {requests} over HTTP/2, {bytes} bytes", http2.streams);
            Reply::new(Answer::Yes, because, all)
        }
        Content::Http1(_) => {
            let bytes = connection.from_client.stream.bytes + connection.from_server.stream.bytes;
            Reply::new(Answer::Yes, format!("HTTP/1, {bytes} bytes"), all)
        }
        Content::Plaintext(spoken) => {
            let because = match spoken.own {
                Some(_) => format!("{}, what precedes its own protection", spoken.protocol.name()),
                None => format!("{}, {} bytes", spoken.protocol.name(), spoken.bytes),
            };
            Reply::new(Answer::Yes, because, all)
        }
        Content::Proxy(hop) => {
            let bytes = connection.from_client.stream.bytes + connection.from_server.stream.bytes;
            Reply::new(Answer::Yes, format!("{}, {bytes} bytes", hop.protocol.name()), all)
        }
        Content::IkeInTcp(None) => Reply::new(Answer::No, "IKE and ESP in TCP", all),
        Content::IkeInTcp(Some(_)) | Content::Unknown(_) => {
            Reply::new(Answer::NotObservable, "a protocol that is not read", all)
        }
        Content::Ssh(carried) => ssh::posture(&connection.into(), carried).clear,
        Content::Tls(tls) => match &tls.server_hello {
            Some(hello) if tls::is_null_cipher(hello.value.cipher_suite) => Reply::new(
                Answer::Yes,
                "the cipher suite does not encrypt",
                vec![Source::seen(hello)],
            ),
            _ if let Some((because, source)) = before_tls(tls) => Reply::new(Answer::Yes, because, vec![source]),
            _ => match stray_bytes(tls) {
                Some(fault) => Reply::new(
                    Answer::NotObservable,
                    fault.value.to_string(),
                    vec![Source::seen(fault)],
                ),
                None => match tls.behind {
                    Some(spoken) => behind(spoken, all),
                    None => Reply::new(Answer::No, "TLS records only", all),
                },
            },
        },
    }
}
