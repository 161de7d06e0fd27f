//! Posture of an IKE_SA.

mod choice;
mod v1;

use bartizan_registry::{Safety, TransformKind, esp_encryption, esp_integrity, transform};
use bartizan_wire::ike::{Exchange, ExchangeType, Fault, Half, IkeSa, KeyExchangeMethod, Origin, Retry, Transform};

use crate::key_exchange::{KeyExchangeClass, Room};
use crate::{Answer, Judgement, Kind, Posture, Reply, Source, Verdict};
use choice::{judge, without_choice};

pub(crate) use choice::{announces_ppk, unless_of_64_bits};

/// Knowledge of the IKE_SA whose rekey made another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parent<'a> {
    /// It was none, or is not in the capture.
    None,
    /// It is this one, or others that are worth the same.
    Known(&'a Posture),
    /// It is one of these, and which is not shown.
    Either([&'a Posture; 2]),
    /// More was made than the exchanges in the capture can have.
    Doubtful,
}

/// Judges an IKE_SA; `parent` describes the IKE_SA whose rekey made it.
pub(crate) fn posture(sa: &IkeSa, parent: Parent<'_>) -> Posture {
    if sa.version.0 == 1 {
        return v1::posture(sa);
    }
    let unclear = choice::unclear(sa, parent);
    let parent = match parent {
        Parent::Known(posture) => Some(posture),
        _ => None,
    };
    let posture = of_parent(sa, parent);
    match unclear {
        Some(judgement) if sa.chosen.is_none() => {
            let answer = |answer| Reply::new(answer, judgement.because(), judgement.sources().to_vec());
            Posture {
                negotiated: answer(Answer::NotObservable),
                stayed: answer(Answer::NotObservable),
                confidentiality: judgement,
                ..posture
            }
        }
        _ => posture,
    }
}

fn of_parent(sa: &IkeSa, parent: Option<&Posture>) -> Posture {
    let confidentiality = judge(sa, parent);
    let authenticity = authenticity(sa, parent);
    let authenticated = Reply::new(
        match authenticity.verdict() {
            Verdict::NotSeen => Answer::NotSeen,
            _ => Answer::NotObservable,
        },
        authenticity.because(),
        authenticity.sources().to_vec(),
    );
    let key_exchanges: Vec<KeyExchangeMethod> = match parent {
        Some(parent) if sa.chosen.is_none() => parent.key_exchanges.clone(),
        _ if refused_auth(sa).is_some() => Vec::new(),
        _ => sa.key_exchanges().collect(),
    };
    Posture {
        key_exchanges,
        offered: offered(sa, parent),
        preferred: preferred(sa, parent),
        negotiated: negotiated(sa, &confidentiality, parent),
        server_authenticated: authenticated.clone(),
        client_authenticated: authenticated,
        stayed: stayed(sa, &confidentiality, parent),
        clear: clear(sa),
        contradictions: choice::doubts(sa).collect(),
        ..Posture::bare(kind(sa), confidentiality, authenticity)
    }
}

fn all(sa: &IkeSa) -> Vec<Source> {
    vec![Source::between(sa.first, sa.last)]
}

fn kind(sa: &IkeSa) -> Kind {
    match sa.origin {
        // An answer may follow after the end of the capture.
        Origin::Init if sa.chosen.is_none() && was_refused(sa) => Kind::IkeNotAgreed,
        Origin::Init if sa.chosen.is_none() => Kind::IkeNotSeen,
        Origin::Init if refused_auth(sa).is_some() => Kind::IkeNotAgreed,
        Origin::Midstream => Kind::IkeNotSeen,
        _ => Kind::Ike,
    }
}

/// Returns true if packets show that nothing was agreed on: the responder said so, and nothing
/// followed.
fn was_refused(sa: &IkeSa) -> bool {
    let went_on = sa
        .exchanges
        .iter()
        .any(|exchange| exchange.kind != ExchangeType::IKE_SA_INIT);
    sa.refused.is_some() && !went_on && sa.faults.first.is_empty()
}

/// The IKE_AUTH that the responder refused: its answer has room for one notification alone, such as AUTHENTICATION_FAILED (RFC 7296,
/// section 2.21.2), and nothing followed. An answer that accepts has at least an identity and AUTH.
fn refused_auth(sa: &IkeSa) -> Option<Exchange> {
    let mut auths = sa.exchanges_of(ExchangeType::IKE_AUTH);
    let (auth, None) = (auths.next()?, auths.next()) else {
        return None;
    };
    let (_, response) = auth.capacity()?;
    let alone = sa.rekeys == 0 && sa.unseen_rekeys == 0 && sa.informational == 0 && sa.faults.first.is_empty();
    (alone && response <= notification(sa)?).then_some(auth)
}

/// True where the whole answer to an IKE_AUTH is in the capture, and has room for more than a notification.
fn accepts(sa: &IkeSa, auth: &Exchange) -> bool {
    let response = auth.response.filter(Half::is_complete);
    response.is_some_and(|response| notification(sa).is_none_or(|refusal| response.capacity() > refusal))
}

/// Bytes of encrypted payloads that have room for one notification alone, as far as the algorithms are known.
fn notification(sa: &IkeSa) -> Option<u64> {
    /// A notification without data, and the padding to a block of 16 octets.
    const NOTIFICATION: u64 = 16;
    let transforms = &sa.chosen.as_ref()?.value.transforms;
    let id = |kind: TransformKind| transforms.iter().find(|one| one.kind == kind.code()).map(|one| one.id);
    let cipher = esp_encryption(id(TransformKind::Encryption)?)?;
    let integrity = || {
        id(TransformKind::Integrity)
            .and_then(esp_integrity)
            .map(|known| known.icv)
    };
    Some(NOTIFICATION + u64::from(cipher.iv) + u64::from(cipher.icv.or_else(integrity)?))
}

fn source(exchange: &Exchange) -> Option<Source> {
    Some(Source::between(exchange.first()?, exchange.last()?))
}

/// The reply of the IKE_SA this one was made from, or that there is none to ask.
fn inherited(sa: &IkeSa, parent: Option<&Posture>, of: fn(&Posture) -> &Reply) -> Reply {
    match parent.filter(|_| sa.origin == Origin::Rekey) {
        Some(parent) => {
            let reply = of(parent);
            let because = format!("of the IKE_SA it was made from: {}", reply.because());
            Reply::new(reply.answer(), because, reply.sources().to_vec())
        }
        None => {
            let judgement = without_choice(sa, None);
            Reply::new(Answer::NotSeen, judgement.because(), judgement.sources().to_vec())
        }
    }
}

fn offered(sa: &IkeSa, parent: Option<&Posture>) -> Reply {
    let Some(offered) = &sa.offered else {
        return inherited(sa, parent, |posture| &posture.offered);
    };
    let mut names = Vec::new();
    for transform in offered.value.iter().flat_map(|proposal| &proposal.transforms) {
        let safe = transform.key_exchange().and_then(KeyExchangeMethod::safety) == Some(Safety::QuantumSafe);
        let name = transform.to_string();
        if safe && !names.contains(&name) {
            names.push(name);
        }
    }
    let source = vec![Source::seen(offered)];
    if names.is_empty() {
        return Reply::new(Answer::No, "no post-quantum key exchange among those proposed", source);
    }
    Reply::new(Answer::Yes, names.join(", "), source)
}

fn preferred(sa: &IkeSa, parent: Option<&Posture>) -> Reply {
    // A request repeated after a refusal shows no preference: the first request counts (RFC 7296,
    // section 1.2).
    let (offered, data) = match (&sa.first_offer, &sa.offered) {
        (Some(first), _) => (&first.proposals, first.key_exchange),
        (None, Some(offered)) => (offered, sa.offered_key_exchange),
        (None, None) => return inherited(sa, parent, |posture| &posture.preferred),
    };
    let source = vec![Source::seen(offered)];
    let reported = sa
        .retries
        .first
        .iter()
        .find(|retry| matches!(retry.value, Retry::KeyExchange(_)));
    if let (None, Some(reported)) = (&sa.first_offer, reported) {
        let because = "what it asked for before it learned what to ask for is missing from the capture";
        return Reply::new(Answer::NotSeen, because, vec![Source::seen(reported)]);
    }
    let Some(first) = offered.value.first() else {
        return Reply::new(Answer::No, "nothing is proposed", source);
    };
    // The first alternative of each type; a preference for no additional exchange may come first
    // too.
    let mut wanted: Vec<&Transform> = Vec::new();
    for transform in &first.transforms {
        if transform.key_exchange().is_some() && !wanted.iter().any(|known| known.kind == transform.kind) {
            wanted.push(transform);
        }
    }
    let is_safe = |method: KeyExchangeMethod| method.safety() == Some(Safety::QuantumSafe);
    // The KE payload is made for the method wanted most (RFC 7296, section 1.2).
    let payload = data.is_some_and(|data| is_safe(data.method));
    let additional = wanted
        .iter()
        .any(|transform| transform.is_additional() && transform.key_exchange().is_some_and(is_safe));
    let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let because = format!(
        "the first proposal begins with {}, and the key exchange data are of {}",
        names.join("/"),
        data.map_or_else(|| "nothing".to_owned(), |data| data.method.to_string())
    );
    let answer = if payload || additional { Answer::Yes } else { Answer::No };
    Reply::new(answer, because, source)
}

fn negotiated(sa: &IkeSa, judgement: &Judgement, parent: Option<&Posture>) -> Reply {
    if sa.chosen.is_none() {
        return match sa.origin {
            Origin::Rekey => inherited(sa, parent, |posture| &posture.negotiated),
            _ => Reply::new(Answer::NotSeen, judgement.because(), judgement.sources().to_vec()),
        };
    }
    let answer = match judgement.verdict() {
        Verdict::QuantumSafe => Answer::Yes,
        // A cipher that does not encrypt says nothing of the key exchange.
        Verdict::Vulnerable | Verdict::ReadableNow
            if KeyExchangeClass::of(sa.key_exchanges()) == Some(KeyExchangeClass::PostQuantum) =>
        {
            Answer::Yes
        }
        Verdict::Vulnerable | Verdict::ReadableNow => Answer::No,
        Verdict::NotObservable => Answer::NotObservable,
        Verdict::NotSeen => Answer::NotSeen,
    };
    Reply::new(answer, judgement.because(), judgement.sources().to_vec())
}

/// Judges each CREATE_CHILD_SA by its room for key exchange data. A CHILD_SA without an exchange of
/// its own is keyed from the IKE_SA: still secret from a recorder, and readable to an attacker who
/// learns that one key.
fn stayed(sa: &IkeSa, judgement: &Judgement, parent: Option<&Posture>) -> Reply {
    match judgement.verdict() {
        Verdict::QuantumSafe => {}
        Verdict::Vulnerable | Verdict::ReadableNow => {
            return Reply::new(
                Answer::No,
                "it was not post-quantum from the start",
                judgement.sources().to_vec(),
            );
        }
        Verdict::NotObservable => {
            return Reply::new(Answer::NotObservable, judgement.because(), judgement.sources().to_vec());
        }
        Verdict::NotSeen => {
            return Reply::new(Answer::NotSeen, judgement.because(), judgement.sources().to_vec());
        }
    }
    let before = parent
        .filter(|_| sa.origin == Origin::Rekey)
        .map(|parent| &parent.stayed);
    if let Some(before) = before
        && before.answer() != Answer::Yes
    {
        let because = format!("before it was made: {}", before.because());
        return Reply::new(before.answer(), because, before.sources().to_vec());
    }
    let count = sa.rekeys;
    let tightest = sa
        .tightest_rekey
        .as_ref()
        .and_then(|rekey| Some((rekey, rekey.capacity()?)));
    if let Some((rekey, capacity)) = tightest {
        let sources = vec![Source::between(rekey.first, rekey.last)];
        match Room::of(capacity) {
            Room::NoPostQuantum => {
                let because = format!(
                    "a CREATE_CHILD_SA has no post-quantum key exchange: its {} and {} bytes have no room for one; its keys rest on the IKE_SA's alone",
                    capacity.0, capacity.1
                );
                return Reply::new(Answer::No, because, sources);
            }
            Room::Either => {
                let because = format!(
                    "CREATE_CHILD_SA is encrypted, and {} and {} bytes have room for a post-quantum key exchange as for a classical one",
                    capacity.0, capacity.1
                );
                return Reply::new(Answer::NotObservable, because, sources);
            }
            Room::PostQuantum if sa.unseen_rekeys == 0 => {
                let because = if rekey.follow_ups == 0 {
                    // Large data of another kind, a list of proposals, would look alike.
                    let because = format!(
                        "CREATE_CHILD_SA is encrypted; its {} and {} bytes suit a post-quantum key exchange",
                        capacity.0, capacity.1
                    );
                    return Reply::new(Answer::NotObservable, because, sources);
                } else {
                    format!(
                        "each CREATE_CHILD_SA ({count}) has an IKE_FOLLOWUP_KE larger than any classical key exchange"
                    )
                };
                return Reply::new(Answer::Yes, because, sources);
            }
            Room::PostQuantum => {}
        }
    }
    if sa.unseen_rekeys > 0 {
        let because = format!(
            "CREATE_CHILD_SA that are not in the capture as a whole: {}",
            sa.unseen_rekeys
        );
        return Reply::new(Answer::NotSeen, because, all(sa));
    }
    Reply::new(
        Answer::Yes,
        "one key exchange for its whole life: no CREATE_CHILD_SA",
        all(sa),
    )
}

fn clear(sa: &IkeSa) -> Reply {
    let clear = |fault: &Fault| matches!(fault, Fault::Clear | Fault::Unencrypted);
    let fault = sa.faults.first.iter().find(|seen| clear(&seen.value));
    if let Some(seen) = fault {
        return Reply::new(Answer::Yes, seen.value.to_string(), vec![Source::seen(seen)]);
    }
    let chosen = sa.chosen.iter().flat_map(|chosen| &chosen.value.transforms);
    let mut ciphers = chosen.filter(|transform| transform.kind == TransformKind::Encryption.code());
    let null =
        ciphers.find(|cipher| transform(TransformKind::Encryption, cipher.id).is_some_and(|known| !known.encrypts()));
    match null {
        Some(cipher) => Reply::new(
            Answer::Yes,
            format!("sent unencrypted: {cipher} does not encrypt, identities in IKE_AUTH included"),
            all(sa),
        ),
        None => Reply::new(Answer::No, "only IKE_SA_INIT, which must be", all(sa)),
    }
}

fn authenticity(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    if let Some(parent) = parent.filter(|_| sa.origin == Origin::Rekey) {
        let because = format!("of the IKE_SA it was made from: {}", parent.authenticity.because());
        return Judgement::new(
            parent.authenticity.judged(),
            because,
            parent.authenticity.sources().to_vec(),
        );
    }
    if let Some(judgement) = choice::refused(sa) {
        return judgement;
    }
    let auth = sa.exchanges_of(ExchangeType::IKE_AUTH).next();
    match auth.as_ref().and_then(source) {
        Some(source) => {
            let because = match sa
                .chosen
                .as_ref()
                .and_then(|chosen| choice::cipher(&chosen.value.transforms, &[]))
            {
                Some(judgement) if judgement.verdict() == Verdict::ReadableNow => {
                    "IKE_AUTH is not encrypted, and how each end proves who it is in it is not read"
                }
                _ => "IKE_AUTH encrypts how each end proves who it is, and no ledger tells of it",
            };
            Judgement::new(Verdict::NotObservable, because, vec![source])
        }
        None => {
            let because = if sa.origin == Origin::Init {
                "no IKE_AUTH was seen"
            } else {
                "its IKE_AUTH was before the capture"
            };
            Judgement::new(Verdict::NotSeen, because, all(sa))
        }
    }
}
