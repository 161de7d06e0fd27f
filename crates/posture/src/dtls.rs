//! What DTLS in SCTP user messages is worth.

use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_wire::Side;
use bartizan_wire::sctp::{Association, Dtls};
use bartizan_wire::tls::Version;

use crate::authenticity::{End, InClear, both};
use crate::negotiation::{Hellos, by_group, has_post_quantum};
use crate::sctp::{all, uniform};
use crate::{Answer, Judgement, Kind, Posture, Reply, Source, Verdict, questions};

const NOT_READ: &str = "DTLS whose handshake was not seen or not read";

/// What follows for an association whose user messages are DTLS records.
pub(crate) fn dtls_posture(association: &Association, dtls: &Dtls) -> Posture {
    let hello = dtls.server_hello.as_ref();
    let source = hello.map_or_else(|| all(association), |seen| vec![Source::seen(seen)]);
    let version = hello.map(|seen| seen.value.version);
    // A record header that DTLS 1.3 gave up for encrypted records proves an older version without a ServerHello.
    let older = match version {
        Some(Version::DTLS13) => false,
        Some(_) => true,
        None => dtls.legacy_protected > 0,
    };
    let confidentiality = confidentiality(dtls, older, &source);
    let answer = match confidentiality.verdict() {
        Verdict::QuantumSafe => Answer::Yes,
        Verdict::Vulnerable | Verdict::ReadableNow => Answer::No,
        Verdict::NotObservable => Answer::NotObservable,
        Verdict::NotSeen => Answer::NotSeen,
    };
    let [server, client] = [Side::Server, Side::Client].map(|side| end(association, dtls, older, side));
    let authenticity = both(&server.judgement, &client.judgement);
    let because = confidentiality.because().to_owned();
    let posture = Posture {
        clear: Reply::new(Answer::No, "DTLS records only", all(association)),
        group: group(dtls),
        ..Posture::bare(Kind::DtlsOverSctp, confidentiality, authenticity)
    };
    let posture = uniform(posture, answer, &because, &source);
    let (offered, preferred) = match &dtls.client_hello {
        Some(hello) => (questions::offer(hello, Version::DTLS13), questions::preference(hello)),
        None => {
            let because = "the ClientHello was not seen or not read";
            let reply = Reply::new(Answer::NotSeen, because, all(association));
            (reply.clone(), reply)
        }
    };
    let reply = |end: &End| {
        let judgement = &end.judgement;
        Reply::new(end.authenticated, judgement.because(), judgement.sources().to_vec())
    };
    // An association's two ends are who began it and who answered: either may be the client of DTLS.
    let (asks, answers) = match dtls.client {
        Some(1) => (Side::Server, Side::Client),
        _ => (Side::Client, Side::Server),
    };
    let of = |side| if side == Side::Server { &server } else { &client };
    Posture {
        offered,
        preferred,
        client_authenticated: reply(of(asks)),
        server_authenticated: reply(of(answers)),
        client_signature: scheme(dtls, asks).map(|(scheme, _)| scheme),
        server_signature: scheme(dtls, answers).map(|(scheme, _)| scheme),
        ..posture
    }
}

/// The group of the key exchange: DTLS 1.3 names it in the ServerHello, 1.2 in the ServerKeyExchange.
fn group(dtls: &Dtls) -> Option<NamedGroup> {
    let share = dtls.server_hello.as_ref().and_then(|seen| seen.value.key_share);
    let exchange = dtls.server_key_exchange.as_ref();
    share
        .map(|share| share.group)
        .or_else(|| exchange.and_then(|seen| seen.value.group))
}

fn confidentiality(dtls: &Dtls, older: bool, source: &[Source]) -> Judgement {
    let version = dtls.server_hello.as_ref().map(|seen| seen.value.version);
    match &dtls.server_hello {
        _ if older => {
            let name = name(version);
            let with = group(dtls).map_or_else(String::new, |group| format!(" with {group}"));
            let because = format!(
                "{name} over SCTP{with}: quantum-vulnerable by construction, as no post-quantum key exchange is defined below \
                 DTLS 1.3"
            );
            Judgement::new(Verdict::Vulnerable, because, source.to_vec())
        }
        Some(server) if has_post_quantum(server.value.version) => {
            let (first, retry) = (dtls.first_client_hello.as_ref(), dtls.hello_retry_request.as_ref());
            // A second one has another number: that the first was not seen is told by it.
            let judgement = Hellos::new(first, retry, dtls.client_hello.as_ref(), server, true).judge();
            match dtls.contradicted {
                Some(at) if judgement.verdict() == Verdict::QuantumSafe => {
                    let sources = vec![Source::seen(server), Source::between(at, at)];
                    let because =
                        "two ServerHellos of one handshake differ: which of them is the server's is not shown";
                    Judgement::new(Verdict::NotObservable, because, sources)
                }
                _ => judgement,
            }
        }
        Some(server) => match group(dtls) {
            Some(group) if by_group(group, Vec::new()).verdict().is_vulnerable() => by_group(group, source.to_vec()),
            _ => {
                let because = format!("version {} negotiated, which is not known", server.value.version);
                Judgement::new(Verdict::NotObservable, because, source.to_vec())
            }
        },
        None => Judgement::new(Verdict::NotSeen, NOT_READ, source.to_vec()),
    }
}

/// What a version before 1.3 is called.
fn name(version: Option<Version>) -> String {
    match version {
        Some(version @ (Version::DTLS12 | Version::DTLS10)) => version.to_string(),
        _ => "DTLS before 1.3".to_owned(),
    }
}

/// The scheme an end signed with, where it stands in clear.
fn scheme(dtls: &Dtls, side: Side) -> Option<(SignatureScheme, Source)> {
    match side {
        Side::Server => {
            let seen = dtls.server_key_exchange.as_ref()?;
            Some((seen.value.signature?, Source::seen(seen)))
        }
        Side::Client => {
            let seen = dtls.client_signature.as_ref()?;
            Some((seen.value, Source::seen(seen)))
        }
    }
}

/// One end alone: before version 1.3 what it showed, behind that nothing.
fn end(association: &Association, dtls: &Dtls, older: bool, side: Side) -> End {
    let version = dtls.server_hello.as_ref().map(|seen| seen.value.version);
    let all = Source::between(association.first, association.last);
    if older {
        let certificates = match side {
            Side::Server => &dtls.server_certificates,
            Side::Client => &dtls.client_certificates,
        };
        return InClear {
            version: name(version),
            signature: scheme(dtls, side),
            certificates: certificates.as_ref(),
            in_full: dtls.server_certificates.is_some(),
            all,
        }
        .end();
    }
    let because = "DTLS 1.3 encrypts certificates, and no ledger tells of this handshake";
    match version {
        Some(_) => End::new(Answer::NotObservable, Verdict::NotObservable, because, vec![all]),
        None => End::new(Answer::NotSeen, Verdict::NotSeen, NOT_READ, vec![all]),
    }
}
