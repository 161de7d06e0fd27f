//! Posture of an IKE_SA with given keys: the proofs of both ends, and the key exchanges of rekeys
//! of it and of its CHILD_SAs.

use bartizan_registry::{Safety, Transform, TransformKind, authentication_method, transform, x509_algorithm};
use bartizan_wire::Seen;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{ExchangeType, IkeSa, KeyExchangeMethod, Made, Opened, Party, Proof};

use crate::authenticity::{End, Shown, both, by_chain};
use crate::key_exchange::KeyExchangeClass;
use crate::keying;
use crate::{Answer, Contradiction, Judged, Judgement, Posture, Reply, Source, Verdict};

/// The mark of a statement that rests on keys.
const BY: &str = "as the keys given show";
/// NULL authentication (RFC 7619).
const NULL: u8 = 13;

/// Refines an IKE_SA's posture by keys; `made` is the exchange that made it from another IKE_SA, as
/// the keys show it, with the posture of that IKE_SA.
pub(crate) fn refine(sa: &IkeSa, made: Option<(&Seen<Made>, &Posture)>, posture: &mut Posture) {
    if let Some((made, parent)) = made {
        rekeyed(made, parent, posture);
    }
    let Some(opened) = sa.opened.as_deref() else { return };
    for given in &opened.wrong {
        posture.contradictions.push(Contradiction {
            what: format!("the keys in {given} open none of its messages"),
            sources: vec![Source::between(sa.first, sa.last)],
        });
    }
    authenticate(opened, posture);
    if posture.confidentiality.verdict() == Verdict::QuantumSafe
        && let Some(reply) = stayed(sa, opened)
    {
        posture.stayed = reply;
    }
}

pub(crate) fn names(methods: &[KeyExchangeMethod]) -> String {
    let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
    names.join(" + ")
}

/// Returns true if any of them withstands a recorder: their secrets are mixed.
pub(crate) fn withstand(methods: &[KeyExchangeMethod]) -> bool {
    let class = KeyExchangeClass::of(methods.iter().copied());
    matches!(class, Some(KeyExchangeClass::PostQuantum | KeyExchangeClass::Hybrid))
}

/// An IKE_SA that a rekey made. Each secret goes into the next (RFC 7296, section 2.18): one that holds is enough.
fn rekeyed(made: &Seen<Made>, parent: &Posture, posture: &mut Posture) {
    let methods = &made.value.key_exchanges;
    let sources = vec![Source::seen(made)];
    let how = format!("made by a rekey with {}, {BY}", names(methods));
    posture.key_exchanges.clone_from(methods);
    let before = &parent.confidentiality;
    posture.confidentiality = if let Some(cipher) = broken(&made.value) {
        let because = format!("{}, {BY}", weakness(cipher));
        Judgement::new(worth(cipher), because, sources)
    } else if withstand(methods) {
        Judgement::new(Verdict::QuantumSafe, how, sources)
    } else {
        let because = format!("{how}; of the IKE_SA it was made from: {}", before.because());
        Judgement::new(
            before.judged().of_keys(),
            because,
            [sources, before.sources().to_vec()].concat(),
        )
    };
    if posture.confidentiality.verdict() == Verdict::QuantumSafe
        && let Some(because) = unknown(&made.value)
    {
        posture.confidentiality = Judgement::new(Judged::UNKNOWN, because, vec![Source::seen(made)]);
    }
    let answer = if withstand(methods) { Answer::Yes } else { Answer::No };
    let because = format!("{}, {BY}", names(methods));
    posture.negotiated = Reply::new(answer, because, vec![Source::seen(made)]);
    // An end with the keys of the previous IKE_SA holds this one too: a rekey authenticates no end
    // again (RFC 7296, section 2.8).
    posture.authenticity = parent.authenticity.clone();
    posture.client_authenticated = parent.client_authenticated.clone();
    posture.server_authenticated = parent.server_authenticated.clone();
}

/// A cipher among those chosen that hides nothing for long, if there is one.
fn broken(made: &Made) -> Option<&'static Transform> {
    let code = TransformKind::Encryption.code();
    let ciphers = made.chosen.transforms.iter().filter(|transform| transform.kind == code);
    let mut known = ciphers.filter_map(|cipher| transform(TransformKind::Encryption, cipher.id));
    known.find(|known| known.recording == Some(Safety::Vulnerable))
}

/// The cipher chosen, where there is none that the registry knows.
fn unknown(made: &Made) -> Option<String> {
    let code = TransformKind::Encryption.code();
    let mut ciphers = made.chosen.transforms.iter().filter(|transform| transform.kind == code);
    match ciphers.next() {
        Some(cipher) if is_known_cipher(cipher.id) => None,
        Some(cipher) => Some(format!("cipher {cipher}, which the registry does not know, {BY}")),
        None => Some(format!("no cipher was chosen, {BY}")),
    }
}

/// Returns true if the registry says what a cipher of this number is worth.
pub(crate) fn is_known_cipher(id: u16) -> bool {
    transform(TransformKind::Encryption, id).is_some_and(|known| known.recording.is_some())
}

/// Confidentiality under such a cipher.
pub(crate) fn worth(cipher: &Transform) -> Verdict {
    match cipher.encrypts() {
        true => Verdict::Vulnerable,
        false => Verdict::ReadableNow,
    }
}

/// The weakness of such a cipher, in words.
pub(crate) fn weakness(cipher: &Transform) -> String {
    match cipher.encrypts() {
        true => format!("its cipher {} can be broken without a quantum computer", cipher.name),
        false => "sent unencrypted: its cipher does not encrypt".to_owned(),
    }
}

fn authenticate(opened: &Opened, posture: &mut Posture) {
    let [initiator, responder] = &opened.proofs;
    let (client, server) = (end(initiator), end(responder));
    for (place, end) in [
        (&mut posture.client_authenticated, &client),
        (&mut posture.server_authenticated, &server),
    ] {
        if let Some(end) = end {
            let judgement = &end.judgement;
            *place = Reply::new(end.authenticated, judgement.because(), judgement.sources().to_vec());
        }
    }
    posture.authenticity = match (server, client) {
        (Some(server), Some(client)) => both(&server.judgement, &client.judgement),
        // One of them that can be forged is enough.
        (Some(one), None) | (None, Some(one)) if one.judgement.verdict().is_vulnerable() => one.judgement,
        _ => return,
    };
}

/// Judges an end by its AUTH payload; none if none was opened.
fn end(proof: &Proof) -> Option<End> {
    let method = proof.method.as_ref()?;
    let sources = vec![Source::seen(method)];
    let known = authentication_method(method.value);
    let (name, forgery) = match &proof.algorithm {
        Some(oid) => {
            let known = x509_algorithm(oid, None);
            let name = known.map_or(oid.as_str(), |known| known.name);
            (format!("signed with {name}"), known.map(|known| known.safety))
        }
        None => match known {
            Some(known) => (format!("by {}", known.name), known.forgery),
            None => (format!("by method {}", method.value), None),
        },
    };
    let how = format!("{name}, {BY}");
    Some(match forgery {
        // NULL (RFC 7619) proves nothing at all.
        Some(Safety::Vulnerable) if method.value == NULL => End::new(Answer::No, Verdict::Vulnerable, how, sources),
        Some(Safety::Vulnerable) => End::new(Answer::Yes, Verdict::Vulnerable, how, sources),
        Some(Safety::QuantumSafe) if !proof.certificates.is_empty() => {
            by_chain(&how, proof.certificates.iter().map(Shown::opened), sources)
        }
        Some(Safety::QuantumSafe) => {
            let because = format!("{how}; it sent no certificate");
            End::new(Answer::Yes, Verdict::NotObservable, because, sources)
        }
        None => {
            let note = known
                .and_then(|known| known.note)
                .unwrap_or("not known to the registry");
            End::new(Answer::Yes, Verdict::NotObservable, format!("{how}: {note}"), sources)
        }
    })
}

/// Answers yes if each CREATE_CHILD_SA had a post-quantum exchange of its own.
fn stayed(sa: &IkeSa, opened: &Opened) -> Option<Reply> {
    let created = || {
        let made = opened.made.first.iter();
        made.filter(|made| made.value.by == ExchangeType::CREATE_CHILD_SA)
    };
    if let Some(weak) = created().find(|made| !withstand(&made.value.key_exchanges)) {
        let what = if weak.value.is_rekey {
            "rekeyed"
        } else {
            "keyed another CHILD_SA"
        };
        let with = if weak.value.key_exchanges.is_empty() {
            "without a key exchange".to_owned()
        } else {
            format!("with {}", names(&weak.value.key_exchanges))
        };
        let because = format!("{what} {with}, {BY}: its keys rest on the IKE_SA's alone");
        return Some(Reply::new(Answer::No, because, vec![Source::seen(weak)]));
    }
    let last = created().next_back()?;
    let reported = created().count() as u64 + opened.refused.count();
    // Each that packets show must have been opened.
    let all = opened.made.omitted == 0 && reported >= sa.rekeys + sa.unseen_rekeys;
    all.then(|| {
        let because = format!(
            "each CREATE_CHILD_SA ({}) had a post-quantum key exchange ({}), {BY}",
            created().count(),
            names(&last.value.key_exchanges)
        );
        Reply::new(Answer::Yes, because, created().map(Source::seen).collect())
    })
}

/// Returns true if an ESP association is the direction of a CHILD_SA whose receiver chose its SPI.
pub(crate) fn is_received(sa: &EspSa, ike: &IkeSa, made: &Made) -> bool {
    let Some(spis) = made.esp_spis() else { return false };
    keying::ends(ike).any(|[initiator, responder]| {
        let to_initiator = match (sa.source, sa.destination) {
            ends if ends == (responder, initiator) => true,
            ends if ends == (initiator, responder) => false,
            _ => return false,
        };
        let receiver = match (made.requester, to_initiator) {
            (Party::Initiator, true) | (Party::Responder, false) => 0,
            _ => 1,
        };
        spis[receiver] == sa.spi
    })
}

/// Refines the posture of an ESP association by such a CHILD_SA.
pub(crate) fn refine_esp(made: &Seen<Made>, posture: &mut Posture) {
    let sources = vec![Source::seen(made)];
    let methods = &made.value.key_exchanges;
    if let Some(cipher) = broken(&made.value) {
        let because = format!("{}, {BY}", weakness(cipher));
        if !cipher.encrypts() {
            posture.clear = Reply::new(Answer::Yes, because.clone(), sources.clone());
        }
        posture.confidentiality = Judgement::new(worth(cipher), because, sources);
    } else if let Some(because) = unknown(&made.value) {
        if !posture.confidentiality.verdict().is_vulnerable() {
            posture.confidentiality = Judgement::new(Judged::UNKNOWN, because, sources);
        }
    } else if posture.clear.answer() != Answer::Yes && withstand(methods) {
        let because = format!("{} of its own, {BY}", names(methods));
        posture.key_exchanges.clone_from(methods);
        posture.negotiated = Reply::new(Answer::Yes, because.clone(), sources.clone());
        posture.confidentiality = Judgement::new(Verdict::QuantumSafe, because, sources);
    }
}
