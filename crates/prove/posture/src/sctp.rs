//! Posture of an SCTP association.

use bartizan_wire::datagrams::DatagramProtocol;
use bartizan_wire::ip;
use bartizan_wire::plaintext::Plaintext;
use bartizan_wire::sctp::{Association, Named};

use crate::{Answer, Contradiction, Hole, Interface, Judgement, Kind, Posture, Reply, Source, Verdict, dtls, ssh};

const UNREAD: &str = "chunks were not read: of a type that nobody knows, cut short, or in no window";

/// Judges an association.
#[must_use]
pub fn association_posture(association: &Association) -> Posture {
    let interface = Interface::of(association);
    let sealed = association.from_initiator.dtls_chunks + association.from_responder.dtls_chunks;
    let messages = association.from_initiator.chunks + association.from_responder.chunks;
    let unread = association.from_initiator.unread + association.from_responder.unread;
    let mut posture = match &association.dtls {
        _ if sealed > 0 => hidden(association, Kind::DtlsChunks, "DTLS chunks, which are not read"),
        None if messages == 0 && unread > 0 => {
            hidden(association, Kind::NotRead(DatagramProtocol::Ip(ip::SCTP)), UNREAD)
        }
        None if messages == 0 => silent(association),
        None => match association.named() {
            Some(Named::Ssh) => ssh_posture(association),
            named => plain(association, named),
        },
        Some(_) if association.plain_messages > 0 => mixed(association),
        Some(dtls) => dtls::association_posture(association, dtls),
    };
    if unread > 0 && posture.confidentiality.verdict() == Verdict::QuantumSafe {
        posture.confidentiality = Judgement::new(Verdict::NotObservable, UNREAD, all(association));
    }
    posture.interface = interface;
    posture.named_by = interface.map(|interface| interface.source(association));
    posture.holes = Hole::all(&association.exposed);
    doubt(association, &mut posture);
    posture
}

/// SSH is judged as over TCP. Anything else in the association is unprotected.
fn ssh_posture(association: &Association) -> Posture {
    let Some(carried) = &association.ssh else {
        let because = "SSH in SCTP, and messages on other streams that are not read";
        return hidden(association, Kind::SshOverSctp, because);
    };
    let mut posture = ssh::posture(&association.into(), carried);
    if posture.kind == Kind::Ssh {
        posture.kind = Kind::SshOverSctp;
    }
    if let Some((what, source)) = ssh::contradicted(carried) {
        let sources = source.map_or_else(|| all(association), |source| vec![source]);
        posture.contradictions.push(Contradiction { what, sources });
    }
    posture
}

/// Packets that contradict others of their association: which of them the other end took is not shown.
fn doubt(association: &Association, posture: &mut Posture) {
    let sent = [&association.from_initiator, &association.from_responder];
    if sent.iter().any(|sent| sent.corrupt > 0) {
        // They were not read: nothing rests on them.
        posture.contradictions.push(Contradiction {
            what: "a checksum is wrong among right ones: forged, or damaged on the way".into(),
            sources: all(association),
        });
    }
    let again = sent.iter().find_map(|sent| sent.contradicted);
    let (what, sources) = if let Some(at) = again {
        (
            "chunks of SCTP were sent again with other bytes",
            vec![Source::between(at, at)],
        )
    } else if sent.iter().any(|sent| sent.sums_changed) {
        let what = "checksums are wrong in packets that were read, and right in others of the same end";
        (what, all(association))
    } else {
        return;
    };
    if posture.confidentiality.verdict() == Verdict::QuantumSafe {
        posture.confidentiality = Judgement::new(Verdict::NotObservable, what, sources.clone());
    }
    posture.contradictions.push(Contradiction {
        what: what.into(),
        sources,
    });
}

pub(crate) fn all(association: &Association) -> Vec<Source> {
    vec![Source::between(association.first, association.last)]
}

/// The same answer to all questions but the last.
pub(crate) fn uniform(posture: Posture, answer: Answer, because: &str, sources: &[Source]) -> Posture {
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

fn plain(association: &Association, named: Option<Named>) -> Posture {
    let kind = match named {
        Some(Named::Diameter) => Kind::Plaintext(Plaintext::Diameter),
        Some(Named::Sip) => Kind::Plaintext(Plaintext::Sip),
        Some(Named::Ssh) | None => Kind::ClearSctp,
    };
    let of = named.map_or_else(String::new, |named| format!("{} in ", named.name()));
    let confidentiality = Judgement::new(
        Verdict::ReadableNow,
        format!("sent unencrypted: {of}SCTP without DTLS or IPsec"),
        all(association),
    );
    let because = "none: sent unencrypted, neither end proves who it is";
    let authenticity = Judgement::new(Verdict::Vulnerable, because, all(association));
    let messages = association.from_initiator.messages + association.from_responder.messages;
    let bytes = association.from_initiator.bytes + association.from_responder.bytes;
    let posture = Posture {
        clear: Reply::new(
            Answer::Yes,
            format!("{messages} messages over SCTP, {bytes} bytes"),
            all(association),
        ),
        ..Posture::bare(kind, confidentiality, authenticity)
    };
    uniform(posture, Answer::No, "sent unencrypted", &all(association))
}

/// DTLS, and messages outside it.
fn mixed(association: &Association) -> Posture {
    let first = association.first_plain;
    let sources = first.map_or_else(|| all(association), |at| vec![Source::between(at, at)]);
    let because = format!(
        "sent unencrypted: {} messages outside the DTLS",
        association.plain_messages
    );
    let confidentiality = Judgement::new(Verdict::ReadableNow, because.clone(), sources.clone());
    let authenticity = Judgement::new(
        Verdict::Vulnerable,
        "what is sent unencrypted proves nothing",
        sources.clone(),
    );
    let posture = Posture {
        clear: Reply::new(Answer::Yes, because, sources),
        ..Posture::bare(Kind::ClearSctp, confidentiality, authenticity)
    };
    uniform(posture, Answer::No, "sent unencrypted in part", &all(association))
}

fn hidden(association: &Association, kind: Kind, because: &str) -> Posture {
    let judgement = Judgement::new(Verdict::NotObservable, because, all(association));
    let posture = Posture {
        clear: Reply::new(Answer::NotObservable, because, all(association)),
        ..Posture::bare(kind, judgement.clone(), judgement)
    };
    uniform(posture, Answer::NotObservable, because, &all(association))
}
