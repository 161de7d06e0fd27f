//! What an SCTP association is worth.

use bartizan_registry::Safety;
use bartizan_wire::sctp::{Association, Dtls};

use crate::confidentiality::group_safety;
use crate::{Answer, Hole, Interface, Judgement, Kind, Posture, Reply, Source, Verdict};

/// Version numbers of DTLS.
const DTLS13: u16 = 0xfefc;
const DTLS12: u16 = 0xfefd;

/// What follows for an association.
#[must_use]
pub fn association_posture(association: &Association) -> Posture {
    let interface = Interface::of(association);
    let sealed = association.from_initiator.dtls_chunks + association.from_responder.dtls_chunks;
    let messages = association.from_initiator.chunks + association.from_responder.chunks;
    let mut posture = match &association.dtls {
        _ if sealed > 0 => hidden(association, "DTLS chunks, which are not read"),
        None if messages == 0 => silent(association),
        None => plain(association),
        Some(_) if association.plain_messages > 0 => mixed(association),
        Some(dtls) => dtls_posture(association, dtls),
    };
    posture.interface = interface;
    posture.named_by = interface.map(|interface| interface.source(association));
    posture.beside = Hole::all(&association.beside);
    posture
}

fn all(association: &Association) -> Vec<Source> {
    vec![Source::between(association.first, association.last)]
}

/// The same answer to all questions but the last.
fn uniform(posture: Posture, answer: Answer, because: &str, sources: &[Source]) -> Posture {
    let reply = Reply::new(answer, because, sources.to_vec());
    Posture {
        offered: reply.clone(),
        preferred: reply.clone(),
        negotiated: reply.clone(),
        server_authenticated: reply.clone(),
        client_authenticated: reply.clone(),
        stayed: reply,
        ..posture
    }
}

fn silent(association: &Association) -> Posture {
    let because = if association.established {
        "no data was sent"
    } else {
        "no data was sent: the association was not established"
    };
    let judgement = Judgement::new(Verdict::NotSeen, because, all(association));
    let posture = Posture {
        clear: Reply::new(Answer::No, because, all(association)),
        ..Posture::bare(Kind::SctpSilent, judgement.clone(), judgement)
    };
    uniform(posture, Answer::NotSeen, because, &all(association))
}

fn plain(association: &Association) -> Posture {
    let confidentiality = Judgement::new(
        Verdict::Vulnerable,
        "sent in clear: SCTP without DTLS or IPsec",
        all(association),
    );
    let because = "none: sent in clear, neither end proves who it is";
    let authenticity = Judgement::new(Verdict::Vulnerable, because, all(association));
    let messages = association.from_initiator.messages + association.from_responder.messages;
    let bytes = association.from_initiator.bytes + association.from_responder.bytes;
    let posture = Posture {
        clear: Reply::new(
            Answer::Yes,
            format!("{messages} messages over SCTP, {bytes} bytes"),
            all(association),
        ),
        ..Posture::bare(Kind::ClearSctp, confidentiality, authenticity)
    };
    uniform(posture, Answer::No, "sent in clear", &all(association))
}

/// DTLS, and messages beside it that are none.
fn mixed(association: &Association) -> Posture {
    let first = association.first_plain;
    let sources = first.map_or_else(|| all(association), |at| vec![Source::between(at, at)]);
    let because = format!("sent in clear: {} messages beside the DTLS", association.plain_messages);
    let confidentiality = Judgement::new(Verdict::Vulnerable, because.clone(), sources.clone());
    let authenticity = Judgement::new(
        Verdict::Vulnerable,
        "what is sent in clear proves nothing",
        sources.clone(),
    );
    let posture = Posture {
        clear: Reply::new(Answer::Yes, because, sources),
        ..Posture::bare(Kind::ClearSctp, confidentiality, authenticity)
    };
    uniform(posture, Answer::No, "sent in clear in part", &all(association))
}

fn hidden(association: &Association, because: &str) -> Posture {
    let judgement = Judgement::new(Verdict::NotObservable, because, all(association));
    let posture = Posture {
        clear: Reply::new(Answer::NotObservable, because, all(association)),
        ..Posture::bare(Kind::DtlsChunks, judgement.clone(), judgement)
    };
    uniform(posture, Answer::NotObservable, because, &all(association))
}

fn dtls_posture(association: &Association, dtls: &Dtls) -> Posture {
    let hello = dtls.server_hello.as_ref();
    let source = hello.map_or_else(|| all(association), |seen| vec![Source::seen(seen)]);
    let version = hello.map(|seen| seen.value.version.0);
    let group = hello.and_then(|seen| seen.value.key_share).map(|share| share.group);
    // A record header that DTLS 1.3 gave up for encrypted records proves an older version without a ServerHello.
    let older = match version {
        Some(DTLS13) => false,
        Some(_) => true,
        None => dtls.legacy_protected > 0,
    };
    let confidentiality = if older {
        let name = match version {
            Some(DTLS12) => "DTLS 1.2",
            Some(0xfeff) => "DTLS 1.0",
            _ => "DTLS before 1.3",
        };
        let because = format!(
            "{name} over SCTP: quantum-vulnerable by construction, as no post-quantum key exchange is defined below DTLS 1.3"
        );
        Judgement::new(Verdict::Vulnerable, because, source.clone())
    } else {
        match (version, group, group.and_then(group_safety)) {
            (Some(_), Some(group), Some(Safety::QuantumSafe)) => {
                Judgement::new(Verdict::QuantumSafe, format!("{group} negotiated"), source.clone())
            }
            (Some(_), Some(group), Some(Safety::Vulnerable)) => {
                let because = format!("{group} negotiated: a classical key exchange");
                Judgement::new(Verdict::Vulnerable, because, source.clone())
            }
            (Some(_), _, _) => {
                let because = "DTLS 1.3 with a key exchange that cannot be told";
                Judgement::new(Verdict::NotObservable, because, source.clone())
            }
            (None, _, _) => {
                let because = "DTLS whose handshake was not seen or not read";
                Judgement::new(Verdict::NotSeen, because, source.clone())
            }
        }
    };
    let answer = match confidentiality.verdict() {
        Verdict::QuantumSafe => Answer::Yes,
        Verdict::Vulnerable => Answer::No,
        Verdict::NotObservable => Answer::NotObservable,
        Verdict::NotSeen => Answer::NotSeen,
    };
    let authenticity = if older {
        let because = "DTLS before 1.3 has no post-quantum signature";
        Judgement::new(Verdict::Vulnerable, because, source.clone())
    } else {
        let because = "DTLS 1.3 encrypts certificates, and no ledger tells of this handshake";
        Judgement::new(Verdict::NotObservable, because, source.clone())
    };
    let because = confidentiality.because().to_owned();
    let authenticated = Reply::new(
        Answer::NotObservable,
        "the certificates of DTLS are not read",
        source.clone(),
    );
    let posture = Posture {
        clear: Reply::new(Answer::No, "DTLS records only", all(association)),
        group,
        ..Posture::bare(Kind::DtlsOverSctp, confidentiality, authenticity)
    };
    let posture = uniform(posture, answer, &because, &source);
    // What a client of DTLS 1.3 offers is not read.
    let offered = if older { answer } else { Answer::NotObservable };
    Posture {
        offered: Reply::new(offered, because.clone(), source.clone()),
        preferred: Reply::new(offered, because, source),
        server_authenticated: authenticated.clone(),
        client_authenticated: authenticated,
        ..posture
    }
}
