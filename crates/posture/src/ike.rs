//! What an IKE_SA is worth.

use bartizan_registry::{Safety, TransformKind, transform};
use bartizan_wire::ike::{
    Exchange, ExchangeType, Fault, IkeSa, KeyExchangeMethod, NotifyType, Origin, Party, Transform,
};

use crate::key_exchange::{KeyExchangeClass, Room};
use crate::{Answer, Judgement, Kind, Posture, Reply, Source, Verdict};

/// What follows for an IKE_SA; `parent` is what is known of the IKE_SA whose rekey made it.
pub(crate) fn posture(sa: &IkeSa, parent: Option<&Posture>) -> Posture {
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
        ..Posture::bare(kind(sa), confidentiality, authenticity)
    }
}

fn all(sa: &IkeSa) -> Vec<Source> {
    vec![Source::between(sa.first, sa.last)]
}

fn kind(sa: &IkeSa) -> Kind {
    match (sa.version.0, sa.origin) {
        (1, _) => Kind::IkeV1,
        (_, Origin::Init) if sa.chosen.is_none() => Kind::IkeNotAgreed,
        (_, Origin::Midstream) => Kind::IkeNotSeen,
        _ => Kind::Ike,
    }
}

fn judge(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    if sa.version.0 == 1 {
        let because = "IKEv1: no post-quantum key exchange exists for it";
        return Judgement::new(Verdict::Vulnerable, because, all(sa));
    }
    let fault = |wanted: Fault| sa.faults.first.iter().find(|seen| seen.value == wanted);
    if let Some(seen) = fault(Fault::TwoAnswers) {
        let because = format!("{}: which of them counts is encrypted", seen.value);
        return Judgement::new(Verdict::NotObservable, because, vec![Source::seen(seen)]);
    }
    let Some(chosen) = &sa.chosen else {
        return without_choice(sa, parent);
    };
    let mut sources = vec![Source::seen(chosen)];
    if let Some(judgement) = cipher(&chosen.value.transforms, &sources) {
        return judgement;
    }
    let primary = match primary(sa) {
        Ok(method) => method,
        Err(because) => return Judgement::new(Verdict::NotObservable, because, sources),
    };
    if primary.safety() == Some(Safety::QuantumSafe) {
        return Judgement::new(Verdict::QuantumSafe, format!("{} negotiated", names(sa)), sources);
    }
    match additional(sa) {
        Additional::None => {}
        Additional::Done(exchange) => {
            sources.extend(source(&exchange));
            return Judgement::new(Verdict::QuantumSafe, format!("{} negotiated", names(sa)), sources);
        }
        Additional::Skipped(method, exchange) => {
            sources.extend(source(&exchange));
            let because = format!("{method} was agreed on and not exchanged: no IKE_INTERMEDIATE came before IKE_AUTH");
            return Judgement::new(Verdict::Vulnerable, because, sources);
        }
        Additional::TooSmall(method, exchange) => {
            sources.extend(source(&exchange));
            let because = format!("{method} was agreed on, and its IKE_INTERMEDIATE has no room for it");
            return Judgement::new(Verdict::Vulnerable, because, sources);
        }
        Additional::NotSeen(method) => {
            let because = format!("{method} was agreed on, and its IKE_INTERMEDIATE is not in the capture");
            return Judgement::new(Verdict::NotSeen, because, sources);
        }
    }
    match KeyExchangeClass::of(sa.key_exchanges()) {
        Some(KeyExchangeClass::Classical) => {
            let both = |kind| [Party::Initiator, Party::Responder].map(|end| sa.has_notified(end, kind)) == [true; 2];
            if both(NotifyType::USE_PPK_INT) {
                let because = format!(
                    "{} negotiated, and both ends announce a PPK in IKE_INTERMEDIATE: whether one was used is encrypted",
                    names(sa)
                );
                return Judgement::new(Verdict::NotObservable, because, sources);
            }
            let ppk = if announces_ppk(sa) {
                "; the PPK both ends announce would protect what it keys, not the IKE_SA itself"
            } else {
                ""
            };
            let because = format!("{} negotiated: a classical key exchange{ppk}", names(sa));
            Judgement::new(Verdict::Vulnerable, because, sources)
        }
        _ => {
            let because = format!("{} negotiated, which the registry does not know", names(sa));
            Judgement::new(Verdict::NotObservable, because, sources)
        }
    }
}

/// Whether both ends announce that a post-quantum pre-shared key may be mixed into what the IKE_SA keys (RFC 8784).
pub(crate) fn announces_ppk(sa: &IkeSa) -> bool {
    [Party::Initiator, Party::Responder]
        .iter()
        .all(|&end| sa.has_notified(end, NotifyType::USE_PPK))
}

/// Why no choice of the responder was seen, or whose choice it inherits.
fn without_choice(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    match (sa.origin, parent) {
        (Origin::Rekey, Some(parent)) => {
            let judgement = &parent.confidentiality;
            let because = format!(
                "made by a rekey of an IKE_SA between the same hosts: {}",
                judgement.because()
            );
            let sources = [judgement.sources(), &all(sa)].concat();
            Judgement::new(judgement.verdict(), because, sources)
        }
        (Origin::Rekey, None) => {
            let because = "made by a rekey of an IKE_SA that is not in the capture";
            Judgement::new(Verdict::NotSeen, because, all(sa))
        }
        (Origin::Midstream, _) => Judgement::new(Verdict::NotSeen, "its IKE_SA_INIT was before the capture", all(sa)),
        (Origin::Init, _) => Judgement::new(Verdict::NotSeen, not_agreed(sa), all(sa)),
    }
}

fn not_agreed(sa: &IkeSa) -> String {
    if let Some(refused) = &sa.refused {
        return format!("nothing was negotiated: the responder refused ({})", refused.value);
    }
    match (sa.faults.first.first(), sa.retries.first.last()) {
        (Some(fault), _) => format!("no choice of the responder was read: {}", fault.value),
        (None, Some(_)) => "the responder asked for another IKE_SA_INIT, and no answer to one was seen".into(),
        (None, None) => "no answer to IKE_SA_INIT was seen".into(),
    }
}

/// What the cipher of the IKE_SA makes of it before any key exchange counts.
fn cipher(transforms: &[Transform], sources: &[Source]) -> Option<Judgement> {
    let code = TransformKind::Encryption.code();
    let Some(cipher) = transforms.iter().find(|transform| transform.kind == code) else {
        let because = "the responder's choice names no cipher";
        return Some(Judgement::new(Verdict::NotObservable, because, sources.to_vec()));
    };
    match transform(TransformKind::Encryption, cipher.id).map(|known| known.recording) {
        Some(Some(Safety::QuantumSafe)) => None,
        Some(Some(Safety::Vulnerable)) => {
            let because = format!("sent in clear: {cipher} does not encrypt");
            Some(Judgement::new(Verdict::Vulnerable, because, sources.to_vec()))
        }
        _ => {
            let because = format!("cipher {cipher}, which the registry does not know");
            Some(Judgement::new(Verdict::NotObservable, because, sources.to_vec()))
        }
    }
}

/// The method of the KE payloads, if both are of the method chosen and as long as it asks.
fn primary(sa: &IkeSa) -> Result<KeyExchangeMethod, String> {
    let chosen = sa.chosen.iter().flat_map(|chosen| &chosen.value.transforms);
    let mut methods = chosen.filter(|transform| transform.kind == Transform::KE);
    let (Some(method), None) = (methods.next(), methods.next()) else {
        return Err("the responder's choice names not one key exchange method".into());
    };
    let method = KeyExchangeMethod(method.id);
    let Some(answer) = sa.chosen_key_exchange else {
        return Err("the responder sent no key exchange data".into());
    };
    let known = method.known();
    let sides = [
        (
            "initiator",
            sa.offered_key_exchange,
            known.and_then(|known| known.initiator),
        ),
        ("responder", Some(answer), known.and_then(|known| known.responder)),
    ];
    for (side, data, length) in sides {
        // The capture may lack the request; what the responder answers with is what counts.
        let Some(data) = data else { continue };
        if data.method != method {
            return Err(format!("{method} was agreed on, and the {side} sent {}", data.method));
        }
        if length.is_some_and(|length| usize::from(length) != data.length) {
            return Err(format!("the {side} sent {} bytes for {method}", data.length));
        }
    }
    Ok(method)
}

/// What became of the post-quantum additional key exchanges that were agreed on.
enum Additional {
    /// None was.
    None,
    /// At least one was made.
    Done(Exchange),
    /// None was made: IKE_AUTH, given here, has a number that leaves no room for an IKE_INTERMEDIATE.
    Skipped(KeyExchangeMethod, Exchange),
    /// The exchange in its place is too small.
    TooSmall(KeyExchangeMethod, Exchange),
    /// The exchange in its place was not seen whole.
    NotSeen(KeyExchangeMethod),
}

fn additional(sa: &IkeSa) -> Additional {
    let chosen = sa
        .chosen
        .iter()
        .flat_map(|chosen| chosen.value.additional_key_exchanges());
    let mut found = Additional::None;
    for (place, transform) in chosen.enumerate() {
        let method = KeyExchangeMethod(transform.id);
        if method.safety() != Some(Safety::QuantumSafe) {
            continue;
        }
        let Some((initiator, responder)) = method
            .known()
            .and_then(|known| Some((known.initiator?, known.responder?)))
        else {
            continue;
        };
        // Message 0 is IKE_SA_INIT; each additional exchange has the next number, in the order of the transforms'
        // types (RFC 9370, section 2.2.2).
        let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
        let at = |kind| {
            sa.exchanges_of(kind)
                .find(|exchange| exchange.message_id == number && exchange.requester == Party::Initiator)
        };
        let (intermediate, auth) = (at(ExchangeType::IKE_INTERMEDIATE), at(ExchangeType::IKE_AUTH));
        match (intermediate, intermediate.as_ref().and_then(Exchange::capacity), auth) {
            (Some(exchange), Some((request, response)), _) => {
                if request >= u64::from(initiator) && response >= u64::from(responder) {
                    return Additional::Done(exchange);
                }
                found = Additional::TooSmall(method, exchange);
            }
            (None, _, Some(auth)) => found = Additional::Skipped(method, auth),
            _ => found = Additional::NotSeen(method),
        }
    }
    found
}

fn source(exchange: &Exchange) -> Option<Source> {
    Some(Source::between(exchange.first()?, exchange.last()?))
}

fn names(sa: &IkeSa) -> String {
    let names: Vec<String> = sa.key_exchanges().map(|method| method.to_string()).collect();
    if names.is_empty() {
        "no key exchange".into()
    } else {
        names.join(" + ")
    }
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

fn v1(sa: &IkeSa) -> Option<Reply> {
    (sa.version.0 == 1).then(|| Reply::new(Answer::No, "IKEv1 has no post-quantum key exchange", all(sa)))
}

fn offered(sa: &IkeSa, parent: Option<&Posture>) -> Reply {
    if let Some(reply) = v1(sa) {
        return reply;
    }
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
    if let Some(reply) = v1(sa) {
        return reply;
    }
    let Some(offered) = &sa.offered else {
        return inherited(sa, parent, |posture| &posture.preferred);
    };
    let source = vec![Source::seen(offered)];
    let Some(first) = offered.value.first() else {
        return Reply::new(Answer::No, "nothing is proposed", source);
    };
    // Of each type the first alternative; that no exchange is wanted more than one may stand first too.
    let mut wanted: Vec<&Transform> = Vec::new();
    for transform in &first.transforms {
        if transform.key_exchange().is_some() && !wanted.iter().any(|known| known.kind == transform.kind) {
            wanted.push(transform);
        }
    }
    let is_safe = |method: KeyExchangeMethod| method.safety() == Some(Safety::QuantumSafe);
    // The KE payload is made for the method wanted most (RFC 7296, section 1.2).
    let payload = sa.offered_key_exchange.is_some_and(|data| is_safe(data.method));
    let additional = wanted
        .iter()
        .any(|transform| transform.is_additional() && transform.key_exchange().is_some_and(is_safe));
    let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let because = format!(
        "the first proposal begins with {}, and the key exchange data are of {}",
        names.join("/"),
        sa.offered_key_exchange
            .map_or_else(|| "nothing".to_owned(), |data| data.method.to_string())
    );
    let answer = if payload || additional { Answer::Yes } else { Answer::No };
    Reply::new(answer, because, source)
}

fn negotiated(sa: &IkeSa, judgement: &Judgement, parent: Option<&Posture>) -> Reply {
    if sa.chosen.is_none() && sa.version.0 != 1 {
        return match sa.origin {
            Origin::Rekey => inherited(sa, parent, |posture| &posture.negotiated),
            _ => Reply::new(Answer::NotSeen, judgement.because(), judgement.sources().to_vec()),
        };
    }
    let answer = match judgement.verdict() {
        Verdict::QuantumSafe => Answer::Yes,
        // A cipher that does not encrypt says nothing of the key exchange.
        Verdict::Vulnerable if KeyExchangeClass::of(sa.key_exchanges()) == Some(KeyExchangeClass::PostQuantum) => {
            Answer::Yes
        }
        Verdict::Vulnerable => Answer::No,
        Verdict::NotObservable => Answer::NotObservable,
        Verdict::NotSeen => Answer::NotSeen,
    };
    Reply::new(answer, judgement.because(), judgement.sources().to_vec())
}

/// Each CREATE_CHILD_SA by its room for key exchange data. What none of them exchanges is keyed from the IKE_SA: still
/// secret from a recorder, and no longer from whoever learns that one key.
fn stayed(sa: &IkeSa, judgement: &Judgement, parent: Option<&Posture>) -> Reply {
    if let Some(reply) = v1(sa) {
        return reply;
    }
    match judgement.verdict() {
        Verdict::QuantumSafe => {}
        Verdict::Vulnerable => {
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
    let fault = sa.faults.first.iter().find(|seen| seen.value == Fault::Clear);
    if let Some(seen) = fault.filter(|_| sa.version.0 == 2) {
        return Reply::new(Answer::Yes, seen.value.to_string(), vec![Source::seen(seen)]);
    }
    let null = sa.chosen.as_ref().and_then(|chosen| {
        let judgement = cipher(&chosen.value.transforms, &[])?;
        (judgement.verdict() == Verdict::Vulnerable).then(|| judgement.because().to_owned())
    });
    match null {
        Some(because) => Reply::new(Answer::Yes, because, all(sa)),
        None if sa.version.0 == 1 => Reply::new(Answer::NotObservable, "IKEv1 is not read", all(sa)),
        None => Reply::new(Answer::No, "only IKE_SA_INIT, which must be", all(sa)),
    }
}

fn authenticity(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    if sa.version.0 == 1 {
        return Judgement::new(Verdict::NotObservable, "IKEv1 is not read", all(sa));
    }
    if let Some(parent) = parent.filter(|_| sa.origin == Origin::Rekey) {
        let because = format!("of the IKE_SA it was made from: {}", parent.authenticity.because());
        return Judgement::new(
            parent.authenticity.verdict(),
            because,
            parent.authenticity.sources().to_vec(),
        );
    }
    let auth = sa.exchanges_of(ExchangeType::IKE_AUTH).next();
    match auth.as_ref().and_then(source) {
        Some(source) => {
            let because = "IKE_AUTH encrypts how each end proves who it is, and no ledger tells of it";
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
