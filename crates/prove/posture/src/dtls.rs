//! Posture of DTLS, over UDP and in SCTP user messages.

use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_wire::Side;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::dtls::Dtls;
use bartizan_wire::sctp::Association;
use bartizan_wire::tls::{self, Version};

use crate::authenticity::{End, Unencrypted, both};
use crate::confidentiality::{by_older_suite, is_broken, is_psk};
use crate::established::Progress;
use crate::negotiation::{Hellos, by_group, has_post_quantum};
use crate::sctp::uniform;
use crate::{Answer, Judgement, Kind, Posture, Reply, Source, Verdict, questions, spread};

const NOT_READ: &str = "DTLS whose handshake was not seen or not read";

/// DTLS and what carries it.
struct Carried<'a> {
    dtls: &'a Dtls,
    /// Behind the version's name.
    over: &'static str,
    /// From the first packet to the last.
    all: Source,
    /// True if a version before 1.3 is proven: by the ServerHello, or by a record header that DTLS
    /// 1.3 gave up for encrypted records.
    older: bool,
}

/// Judges an association whose user messages are DTLS records.
pub(crate) fn association_posture(association: &Association, dtls: &Dtls) -> Posture {
    let older = match version(dtls) {
        Some(version) => version != Version::DTLS13,
        None => dtls.legacy_protected > 0,
    };
    let carried = Carried {
        dtls,
        over: " over SCTP",
        all: Source::between(association.first, association.last),
        older,
    };
    carried.judged(Kind::DtlsOverSctp)
}

/// Judges DTLS over UDP.
pub(crate) fn dtls_posture(datagrams: &Datagrams, dtls: &Dtls) -> Posture {
    let protected = dtls.protected[0] + dtls.protected[1];
    let kind = match version(dtls) {
        Some(_) if refused(dtls).is_some() => Kind::DtlsNotAgreed,
        Some(version) => Kind::Dtls(version),
        // An answer that is not in the capture may have been lost on its way to it.
        None if dtls.client_hello.is_some() && protected == 0 && dtls.refusal().is_some() => Kind::DtlsNotAgreed,
        None => Kind::DtlsNotSeen,
    };
    let carried = Carried {
        dtls,
        over: "",
        all: Source::between(datagrams.first, datagrams.last),
        // Missing packets prove no older version: a pre-shared key may have keyed it.
        older: version(dtls).is_some_and(|version| version != Version::DTLS13),
    };
    carried.judged(kind)
}

/// The judgement of a handshake that an end refused behind the ServerHello, before both showed a Finished.
fn refused(dtls: &Dtls) -> Option<Judgement> {
    let alert = dtls
        .refusal()
        .filter(|_| dtls.finished != [true; 2] && dtls.data_in_plaintext.is_none())?;
    // Early data were carried, whatever became of the handshake.
    let hellos = [&dtls.first_client_hello, &dtls.client_hello];
    if hellos.into_iter().flatten().any(|hello| hello.value.early_data) {
        return None;
    }
    let because = format!("not established: refused ({})", alert.value);
    dtls.server_hello.as_ref()?;
    Some(Judgement::new(Verdict::NotSeen, because, vec![Source::seen(alert)]))
}

fn version(dtls: &Dtls) -> Option<Version> {
    dtls.server_hello.as_ref().map(|seen| seen.value.version)
}

impl Carried<'_> {
    /// The posture, with what its records show in plaintext.
    fn judged(&self, kind: Kind) -> Posture {
        let (dtls, posture) = (self.dtls, self.posture(kind));
        let null = dtls
            .server_hello
            .as_ref()
            .filter(|seen| tls::is_null_cipher(seen.value.cipher_suite));
        let clear = match (dtls.data_in_plaintext, null) {
            (Some(at), _) => Some((
                "application data in records that are not encrypted",
                Source::between(at, at),
            )),
            (None, Some(hello)) => Some(("the cipher suite does not encrypt", Source::seen(hello))),
            (None, None) => None,
        };
        let Some((because, source)) = clear else {
            let mut posture = Posture {
                clear: Reply::new(Answer::No, "DTLS records only", vec![self.all.clone()]),
                ..posture
            };
            spread::doubt(dtls.looks_encrypted(), &self.all, &mut posture);
            return posture;
        };
        let judgement = Judgement::new(
            Verdict::ReadableNow,
            format!("sent unencrypted: {because}"),
            vec![source.clone()],
        );
        Posture {
            clear: Reply::new(Answer::Yes, because, vec![source]),
            confidentiality: judgement,
            ..posture
        }
    }

    fn posture(&self, kind: Kind) -> Posture {
        let dtls = self.dtls;
        let all = || vec![self.all.clone()];
        let source = dtls
            .server_hello
            .as_ref()
            .map_or_else(all, |seen| vec![Source::seen(seen)]);
        let confidentiality = match refused(dtls) {
            Some(judgement) => judgement,
            None => finished(dtls, confidentiality(self, &source)),
        };
        let answer = match confidentiality.verdict() {
            Verdict::QuantumSafe => Answer::Yes,
            Verdict::Vulnerable | Verdict::ReadableNow => Answer::No,
            Verdict::NotObservable => Answer::NotObservable,
            Verdict::NotSeen => Answer::NotSeen,
        };
        let [server, client] = [Side::Server, Side::Client].map(|side| end(self, side));
        let authenticity = both(&server.judgement, &client.judgement);
        let because = confidentiality.because().to_owned();
        let posture = Posture {
            group: group(dtls).filter(|_| refused(dtls).is_none()),
            refused_by_size: dtls.finished == [true; 2] && dtls.answered == Some(false),
            ..Posture::bare(kind, confidentiality, authenticity)
        };
        let posture = uniform(posture, answer, &because, &source);
        let (offered, preferred) = match &dtls.client_hello {
            Some(hello) => (questions::offer(hello, Version::DTLS13), questions::preference(hello)),
            None => {
                let because = "the ClientHello was not seen or not read";
                let reply = Reply::new(Answer::NotSeen, because, all());
                (reply.clone(), reply)
            }
        };
        let reply = |end: &End| {
            let judgement = &end.judgement;
            Reply::new(end.authenticated, judgement.because(), judgement.sources().to_vec())
        };
        // The two ends of an association are who began it and who answered: either may be the client of DTLS.
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
}

/// The group of the key exchange: DTLS 1.3 names it in the ServerHello, 1.2 in the ServerKeyExchange.
fn group(dtls: &Dtls) -> Option<NamedGroup> {
    let share = dtls.server_hello.as_ref().and_then(|seen| seen.value.key_share);
    let exchange = dtls.server_key_exchange.as_ref();
    share
        .map(|share| share.group)
        .or_else(|| exchange.and_then(|seen| seen.value.group))
}

/// The rest of a judgement that rests on both hellos alone: none is safe.
fn finished(dtls: &Dtls, judgement: Judgement) -> Judgement {
    match dtls.finished {
        [true, true] if dtls.answered != Some(false) => judgement,
        _ => Progress::NotSeen.limits(judgement),
    }
}

fn confidentiality(carried: &Carried<'_>, source: &[Source]) -> Judgement {
    let Carried { dtls, over, .. } = carried;
    match &dtls.server_hello {
        Some(server) if carried.older && is_psk(server.value.cipher_suite) && !is_broken(server.value.cipher_suite) => {
            let name = name(version(dtls));
            let because = format!("{name}{over} keyed by a pre-shared key: how it was made is not shown here");
            Judgement::new(Verdict::NotObservable, because, source.to_vec())
        }
        _ if carried.older => {
            let name = name(version(dtls));
            let with = group(dtls).map_or_else(String::new, |group| format!(" with {group}"));
            let because = format!(
                "{name}{over}{with}: quantum-vulnerable by construction, as no post-quantum key exchange is defined below \
                 DTLS 1.3"
            );
            let suite = dtls.server_hello.as_ref().map(|seen| seen.value.cipher_suite);
            by_older_suite(suite, because, source.to_vec())
        }
        Some(server) if has_post_quantum(server.value.version) => {
            let (first, retry) = (dtls.first_client_hello.as_ref(), dtls.hello_retry_request.as_ref());
            // A second one has another number: that the first was not seen follows from it.
            let judgement = Hellos::new(first, retry, dtls.client_hello.as_ref(), server, true).judge();
            match dtls.contradicted {
                Some(at) if judgement.verdict() == Verdict::QuantumSafe => {
                    let sources = vec![Source::seen(server), Source::between(at, at)];
                    let because = "two hellos under one number differ: which of them counts is not shown";
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
        None => Judgement::new(Verdict::NotSeen, not_seen(dtls), source.to_vec()),
    }
}

/// Why no ServerHello was seen.
fn not_seen(dtls: &Dtls) -> String {
    let refused = dtls.refusal().filter(|_| dtls.protected == [0; 2]);
    refused.map_or_else(
        || NOT_READ.to_owned(),
        |alert| format!("nothing was negotiated: {}", alert.value),
    )
}

fn name(version: Option<Version>) -> String {
    match version {
        Some(version @ (Version::DTLS12 | Version::DTLS10)) => version.to_string(),
        _ => "DTLS before 1.3".to_owned(),
    }
}

/// The scheme an end signed with, where it is unencrypted.
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
fn end(carried: &Carried<'_>, side: Side) -> End {
    let (dtls, all) = (carried.dtls, carried.all.clone());
    let version = version(dtls);
    if let Some(judgement) = refused(dtls) {
        return End {
            authenticated: Answer::NotSeen,
            judgement,
        };
    }
    if carried.older {
        let certificates = match side {
            Side::Server => &dtls.server_certificates,
            Side::Client => &dtls.client_certificates,
        };
        return Unencrypted {
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
        None => End::new(Answer::NotSeen, Verdict::NotSeen, not_seen(dtls), vec![all]),
    }
}
