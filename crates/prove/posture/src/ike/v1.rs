//! Posture of an IKE_SA of IKEv1: phase 1 names cipher, group and proof, and no post-quantum key
//! exchange exists for it.

use bartizan_registry::{IKEV1_AUTHENTICATION, IKEV1_CIPHERS, Ikev1Value, Safety, ikev1_value};
use bartizan_wire::Seen;
use bartizan_wire::ike::{IkeSa, KeyExchangeMethod, Phase1};

use super::all;
use crate::{Answer, Judged, Judgement, Kind, Posture, Reply, Source, Verdict};

pub(super) fn posture(sa: &IkeSa) -> Posture {
    let confidentiality = confidentiality(sa);
    let authenticity = authenticity(sa);
    let authenticated = Reply::new(
        match authenticity.verdict() {
            Verdict::Vulnerable => Answer::Yes,
            Verdict::NotSeen => Answer::NotSeen,
            _ => Answer::NotObservable,
        },
        authenticity.because(),
        authenticity.sources().to_vec(),
    );
    let none = Reply::new(Answer::No, "IKEv1 has no post-quantum key exchange", all(sa));
    let group = chosen(sa).and_then(|seen| seen.value.group);
    Posture {
        key_exchanges: group.map(KeyExchangeMethod).into_iter().collect(),
        offered: none.clone(),
        preferred: none.clone(),
        negotiated: none.clone(),
        server_authenticated: authenticated.clone(),
        client_authenticated: authenticated,
        stayed: none,
        clear: Reply::new(Answer::No, "only what phase 1 must send before it encrypts", all(sa)),
        ..Posture::bare(Kind::IkeV1, confidentiality, authenticity)
    }
}

fn chosen(sa: &IkeSa) -> Option<&Seen<Phase1>> {
    sa.phase_1.as_ref()?.chosen.as_ref()
}

/// Candidates for phase 1: the responder's choice, or all that it could choose from; with their
/// source.
fn candidates(sa: &IkeSa) -> (Vec<Phase1>, Source) {
    let offered = sa.phase_1.as_ref().and_then(|phase_1| phase_1.offered.as_ref());
    match (chosen(sa), offered) {
        (Some(chosen), _) => (vec![chosen.value], Source::seen(chosen)),
        (None, Some(offered)) => (offered.value.clone(), Source::seen(offered)),
        (None, None) => (Vec::new(), Source::between(sa.first, sa.last)),
    }
}

fn confidentiality(sa: &IkeSa) -> Judgement {
    let (candidates, source) = candidates(sa);
    let sources = vec![source];
    let group = |one: &Phase1| {
        one.group
            .map_or_else(|| "no group".to_owned(), |group| KeyExchangeMethod(group).to_string())
    };
    let weak =
        |one: &Phase1| known(IKEV1_CIPHERS, one.encryption).filter(|known| known.safety == Some(Safety::Vulnerable));
    if candidates.is_empty() {
        let because = "IKEv1 whose phase 1 is not in the capture";
        return Judgement::new(Verdict::NotSeen, because, sources);
    }
    // The choice is one of several candidates.
    if let Some(cipher) = candidates.iter().map(weak).collect::<Option<Vec<_>>>() {
        let because = format!(
            "IKEv1 with {}, which can be broken without a quantum computer",
            cipher[0].name
        );
        return Judgement::new(Verdict::Vulnerable, because, sources);
    }
    if candidates.iter().all(Phase1::is_keyed_by_shared_key) {
        let because = format!(
            "IKEv1 keyed by a pre-shared key together with {}: how the key was made is not shown here",
            group(&candidates[0])
        );
        return Judgement::new(Verdict::NotObservable, because, sources);
    }
    if candidates.iter().any(Phase1::is_keyed_by_shared_key) {
        let because = "IKEv1 whose responder's choice is not in the capture: a pre-shared key may be part of it";
        return Judgement::new(Verdict::NotSeen, because, sources);
    }
    let because = format!(
        "IKEv1 with {}: no post-quantum key exchange exists for it",
        group(&candidates[0])
    );
    Judgement::new(Judged::CLASSICAL, because, sources)
}

fn authenticity(sa: &IkeSa) -> Judgement {
    let (candidates, source) = candidates(sa);
    let sources = vec![source];
    let proofs: Vec<_> = candidates
        .iter()
        .map(|one| known(IKEV1_AUTHENTICATION, one.authentication))
        .collect();
    let broken = |proof: &Option<&Ikev1Value>| proof.is_some_and(|known| known.safety == Some(Safety::Vulnerable));
    let (judged, because) = match proofs.first() {
        None => (
            Verdict::NotSeen.into(),
            "IKEv1 whose phase 1 is not in the capture".to_owned(),
        ),
        Some(Some(proof)) if proofs.iter().all(broken) => (Judged::CLASSICAL, format!("IKEv1 by {}", proof.name)),
        Some(Some(proof)) if chosen(sa).is_some() => {
            let because = format!("IKEv1 by {}: as strong as the key is hard to guess", proof.name);
            (Verdict::NotObservable.into(), because)
        }
        Some(None) if chosen(sa).is_some() => {
            let because = "IKEv1 by a proof that the registry does not know".to_owned();
            (Verdict::NotObservable.into(), because)
        }
        Some(_) => (
            Verdict::NotSeen.into(),
            "IKEv1 whose responder's choice is not in the capture".to_owned(),
        ),
    };
    Judgement::new(judged, because, sources)
}

fn known(table: &'static [Ikev1Value], id: Option<u16>) -> Option<&'static Ikev1Value> {
    ikev1_value(table, id?)
}
