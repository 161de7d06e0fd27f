//! Confidentiality of an IKE_SA by its choice, and packets that contradict it.

use bartizan_registry::{Safety, TransformKind, transform};
use bartizan_wire::blocks::Blocks;
use bartizan_wire::ike::{
    Exchange, ExchangeType, Fault, IkeSa, KeyExchangeData, KeyExchangeMethod, NotifyType, Origin, Party, Proposal,
    Transform,
};

use super::{Parent, accepts, all, refused_auth, source};
use crate::key_exchange::KeyExchangeClass;
use crate::{Contradiction, Judged, Judgement, Posture, Source, Verdict};

/// Can an attacker who records it read it with a quantum computer? By what was chosen, and whether it took place.
pub(super) fn judge(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    if let Some(seen) = sa.faults.first.iter().find(|seen| seen.value == Fault::NoncesReused) {
        return Judgement::new(Verdict::ReadableNow, seen.value.to_string(), vec![Source::seen(seen)]);
    }
    if let Some(judgement) = refused(sa) {
        return judgement;
    }
    let judgement = by_choice(sa, parent);
    let contradicted = if judgement.verdict() == Verdict::QuantumSafe {
        contradicted(sa)
    } else {
        None
    };
    let judgement = contradicted.unwrap_or(judgement);
    let last = sa
        .exchanges_of(ExchangeType::IKE_AUTH)
        .max_by_key(|auth| auth.message_id);
    let answered = last.is_some_and(|auth| accepts(sa, &auth));
    if judgement.verdict() == Verdict::QuantumSafe && sa.origin == Origin::Init && !answered {
        let because = format!(
            "{}, and no whole answer to IKE_AUTH that accepts is in the capture: it may have been refused",
            judgement.because()
        );
        return Judgement::new(Verdict::NotSeen, because, judgement.sources().to_vec());
    }
    judgement
}

/// The judgement of an IKE_SA whose IKE_AUTH was refused: it keyed nothing.
pub(super) fn refused(sa: &IkeSa) -> Option<Judgement> {
    let auth = refused_auth(sa).filter(|_| sa.origin == Origin::Init)?;
    let because = "not established: refused (the answer to IKE_AUTH has room for a notification alone, such as AUTHENTICATION_FAILED)";
    Some(Judgement::new(
        Verdict::NotSeen,
        because,
        source(&auth).into_iter().collect(),
    ))
}

/// Judgement on a choice that the packets contradict: one that the initiator did not propose, or an
/// IKE_INTERMEDIATE that an end does not understand. No two ends that follow the standards go on
/// from there.
fn contradicted(sa: &IkeSa) -> Option<Judgement> {
    if let Some(doubt) = doubts(sa).next() {
        return Some(Judgement::new(Verdict::NotObservable, doubt.what, doubt.sources));
    }
    let (chosen, offered) = (sa.chosen.as_ref()?, sa.offered.as_ref());
    let mut sources = vec![Source::seen(chosen)];
    sources.extend(offered.map(Source::seen));
    let transforms = &chosen.value.transforms;
    let is_in = |proposal: &Proposal| transforms.iter().all(|wanted| proposal.transforms.contains(wanted));
    if offered.is_some_and(|offered| !offered.value.iter().any(is_in)) {
        let because = format!("{} was chosen, and not proposed like that", names(sa));
        return Some(Judgement::new(Verdict::NotObservable, because, sources));
    }
    // The KE payload's method alone needs no other exchange, and what is not kept may have been said.
    let needed = primary(sa).is_ok_and(|method| method.safety() != Some(Safety::QuantumSafe));
    if !needed || sa.notified.omitted > 0 {
        return None;
    }
    let speakers = [(Party::Responder, true), (Party::Initiator, offered.is_some())];
    let says = |end| sa.has_notified(end, NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED);
    let (silent, _) = speakers.into_iter().find(|&(end, seen)| seen && !says(end))?;
    let because = format!(
        "{} was agreed on, and the {silent} does not announce IKE_INTERMEDIATE",
        names(sa)
    );
    Some(Judgement::new(Verdict::NotObservable, because, sources))
}

/// Messages that contradict each other: which of them an end took is not shown.
pub(super) fn doubts(sa: &IkeSa) -> impl Iterator<Item = Contradiction> {
    let doubtful = |fault: &Fault| {
        matches!(
            fault,
            Fault::TwoAnswers
                | Fault::TwoRequests
                | Fault::TwoMessages
                | Fault::NonceReused
                | Fault::NoncesReused
                | Fault::Corrupt
                | Fault::Unencrypted
        )
    };
    // An answer that was captured in part may have asked for another request.
    let snapped = sa.chosen.is_none() && sa.faults.first.iter().any(|seen| seen.value == Fault::Snapped);
    let asked = move |fault: &Fault| snapped && *fault == Fault::TwoRequests;
    let faults = sa.faults.first.iter();
    let faults = faults.filter(move |seen| doubtful(&seen.value) && !asked(&seen.value));
    let doubts = faults.map(|seen| Contradiction {
        what: seen.value.to_string(),
        sources: vec![Source::seen(seen)],
    });
    doubts.chain(two_kinds(sa)).chain(no_key(sa))
}

/// Key exchange data that are as long as the method's, and no key.
fn no_key(sa: &IkeSa) -> impl Iterator<Item = Contradiction> {
    let chosen = sa.chosen.as_ref();
    let ends = [
        (
            "initiator",
            sa.offered_key_exchange,
            sa.offered.as_ref().map(Source::seen),
        ),
        ("responder", sa.chosen_key_exchange, chosen.map(Source::seen)),
    ];
    let fault = move |(side, data, source): (&str, Option<KeyExchangeData>, Option<Source>)| {
        let data = data.filter(|_| chosen.is_some())?;
        Some(Contradiction {
            what: format!("what the {side} sent for {} is no key: {}", data.method, data.fault?),
            sources: source.into_iter().collect(),
        })
    };
    ends.into_iter().filter_map(fault)
}

/// A number has one exchange: an IKE_INTERMEDIATE and an IKE_AUTH in its place cannot both have been.
fn two_kinds(sa: &IkeSa) -> Option<Contradiction> {
    let intermediates = sa.exchanges_of(ExchangeType::IKE_INTERMEDIATE);
    let both = intermediates.into_iter().find_map(|one| {
        let mut auths = sa.exchanges_of(ExchangeType::IKE_AUTH);
        let other = auths.find(|other| (other.message_id, other.requester) == (one.message_id, one.requester))?;
        Some([one, other])
    })?;
    Some(Contradiction {
        what: format!("IKE_INTERMEDIATE and IKE_AUTH have one number, {}", both[0].message_id),
        sources: both.iter().filter_map(source).collect(),
    })
}

fn by_choice(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    let fault = |wanted: Fault| sa.faults.first.iter().find(|seen| seen.value == wanted);
    if let Some(seen) = fault(Fault::TwoAnswers) {
        let because = format!("{}: which of them counts is encrypted", seen.value);
        return Judgement::new(Verdict::NotObservable, because, vec![Source::seen(seen)]);
    }
    let Some(chosen) = &sa.chosen else {
        return without_choice(sa, parent);
    };
    let sources = vec![Source::seen(chosen)];
    let key_exchange = || by_key_exchange(sa, sources.clone());
    match cipher(&chosen.value.transforms, &sources) {
        None => key_exchange(),
        Some(broken) if broken.verdict().is_vulnerable() => broken,
        // A classical key exchange is worse than a cipher of which nothing is known.
        Some(unknown) => match key_exchange() {
            classical if classical.verdict().is_vulnerable() => {
                let because = format!("{}; {}", unknown.because(), classical.because());
                Judgement::new(Verdict::Vulnerable, because, sources)
            }
            _ => unknown,
        },
    }
}

fn by_key_exchange(sa: &IkeSa, mut sources: Vec<Source>) -> Judgement {
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
            return Judgement::new(Judged::CLASSICAL, because, sources);
        }
        Additional::TooSmall(method, exchange) => {
            sources.extend(source(&exchange));
            let because = format!("{method} was agreed on, and its IKE_INTERMEDIATE has no room for it");
            return Judgement::new(Judged::CLASSICAL, because, sources);
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
            Judgement::new(Judged::CLASSICAL, because, sources)
        }
        _ => {
            let because = format!("{} negotiated, which the registry does not know", names(sa));
            Judgement::new(Judged::UNKNOWN, because, sources)
        }
    }
}

/// Returns true if both ends announce that a post-quantum pre-shared key may be mixed into the keys
/// of the IKE_SA (RFC 8784).
pub(crate) fn announces_ppk(sa: &IkeSa) -> bool {
    [Party::Initiator, Party::Responder]
        .iter()
        .all(|&end| sa.has_notified(end, NotifyType::USE_PPK))
}

/// Reason why the inheritance of a rekeyed IKE_SA is undetermined, if several may have made it.
pub(super) fn unclear(sa: &IkeSa, parent: Parent<'_>) -> Option<Judgement> {
    let (because, sources) = match parent {
        Parent::Either([one, other]) => {
            let [one, other] = [one, other].map(|posture| &posture.confidentiality);
            let because = format!(
                "made by a rekey of one of several IKE_SAs between the same hosts, and of which is not shown: {}, or {}",
                one.because(),
                other.because()
            );
            (because, [one.sources(), other.sources()].concat())
        }
        Parent::Doubtful => {
            let because =
                "made by a rekey, and more was made between these hosts than the exchanges in the capture can have";
            (because.to_owned(), Vec::new())
        }
        Parent::None | Parent::Known(_) => return None,
    };
    let sources = [sources, all(sa)].concat();
    Some(Judgement::new(Verdict::NotObservable, because, sources))
}

/// The rest of a judgement by the key exchange alone, where lengths show what the cipher may be.
pub(crate) fn unless_of_64_bits(blocks: Blocks, judgement: Judgement) -> Judgement {
    if judgement.verdict() != Verdict::QuantumSafe || !blocks.are_of_64_bits() {
        return judgement;
    }
    let because = format!(
        "{}, but the lengths are those of a cipher with blocks of 64 bits, such as 3DES",
        judgement.because()
    );
    Judgement::new(Judged::UNKNOWN, because, judgement.sources().to_vec())
}

/// Why no choice of the responder was seen, or whose choice it inherits.
pub(super) fn without_choice(sa: &IkeSa, parent: Option<&Posture>) -> Judgement {
    match (sa.origin, parent) {
        (Origin::Rekey, Some(parent)) => {
            let judgement = &parent.confidentiality;
            let because = format!(
                "made by a rekey of an IKE_SA between the same hosts: {}",
                judgement.because()
            );
            let sources = [judgement.sources(), &all(sa)].concat();
            let judgement = Judgement::new(judgement.judged().of_keys(), because, sources);
            unless_of_64_bits(sa.blocks(), judgement)
        }
        (Origin::Rekey, None) => {
            let because = "made by a rekey of an IKE_SA that is not in the capture";
            Judgement::new(Verdict::NotSeen, because, all(sa))
        }
        (Origin::Resumed, _) => {
            let because = "resumed from an IKE_SA that is not shown here: its keys are as safe as those of that one";
            Judgement::new(Verdict::NotObservable, because, all(sa))
        }
        (Origin::Midstream, _) => {
            let because = match sa.responder_first {
                true => "no message shows whether it was set up before the capture, or by a rekey in it",
                false => "its IKE_SA_INIT was before the capture",
            };
            Judgement::new(Verdict::NotSeen, because, all(sa))
        }
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

/// Judgement by the cipher of the IKE_SA, before any key exchange counts.
pub(super) fn cipher(transforms: &[Transform], sources: &[Source]) -> Option<Judgement> {
    let code = TransformKind::Encryption.code();
    let Some(cipher) = transforms.iter().find(|transform| transform.kind == code) else {
        let because = "the responder's choice names no cipher";
        return Some(Judgement::new(Judged::UNKNOWN, because, sources.to_vec()));
    };
    let known = transform(TransformKind::Encryption, cipher.id);
    match known.and_then(|known| Some((known.recording?, known.encrypts()))) {
        Some((Safety::QuantumSafe, _)) => None,
        Some((Safety::Vulnerable, encrypts)) => {
            let (verdict, because) = match encrypts {
                true => {
                    let because = format!("{cipher} can be broken without a quantum computer");
                    (Verdict::Vulnerable, because)
                }
                false => {
                    let because =
                        format!("sent unencrypted: {cipher} does not encrypt, identities in IKE_AUTH included");
                    (Verdict::ReadableNow, because)
                }
            };
            Some(Judgement::new(verdict, because, sources.to_vec()))
        }
        _ => {
            let because = format!("cipher {cipher}, which the registry does not know");
            Some(Judgement::new(Judged::UNKNOWN, because, sources.to_vec()))
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
        if length.is_some_and(|length| length != data.length) {
            return Err(format!("the {side} sent {} bytes for {method}", data.length));
        }
    }
    Ok(method)
}

/// State of the negotiated post-quantum additional key exchanges.
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

fn names(sa: &IkeSa) -> String {
    let names: Vec<String> = sa.key_exchanges().map(|method| method.to_string()).collect();
    if names.is_empty() {
        "no key exchange".into()
    } else {
        names.join(" + ")
    }
}
