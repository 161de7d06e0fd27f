//! What an ESP security association is worth: its own packets show little, so it is judged by the IKE_SA that keyed
//! it, found by addresses and times.

use bartizan_wire::esp::EspSa;

use crate::ipsec::JudgedIkeSa;
use crate::{Answer, Judgement, Kind, Posture, Reply, Source, Verdict, ike};

/// What follows for the association that is the `order`-th of its direction between its hosts; `ike` are the IKE_SAs
/// between them, in the order of first packets; `named` is the one that a ledger says keyed it.
pub(crate) fn posture(sa: &EspSa, ike: &[&JudgedIkeSa], order: u64, named: Option<&JudgedIkeSa>) -> Posture {
    let all = vec![Source::between(sa.first, sa.last)];
    let keyed_by = named.map_or_else(|| keyed_by(sa, ike, order), Ok);
    let confidentiality = match (sa.in_clear, &keyed_by) {
        (Some(at), _) => Judgement::new(
            Verdict::Vulnerable,
            "sent in clear: ESP with NULL encryption",
            vec![Source::between(at, at)],
        ),
        (None, Ok(judged)) => by_ike(judged),
        (None, Err(because)) => Judgement::new(Verdict::NotObservable, *because, all.clone()),
    };
    let authenticity = match &keyed_by {
        Ok(judged) => {
            let judgement = &judged.posture.authenticity;
            let because = format!("of the IKE_SA between the same hosts: {}", judgement.because());
            Judgement::new(judgement.verdict(), because, judgement.sources().to_vec())
        }
        Err(because) => Judgement::new(Verdict::NotObservable, *because, all.clone()),
    };
    let reply = |of: fn(&Posture) -> &Reply| match &keyed_by {
        Ok(judged) => {
            let reply = of(&judged.posture);
            let because = format!("of the IKE_SA between the same hosts: {}", reply.because());
            Reply::new(reply.answer(), because, reply.sources().to_vec())
        }
        Err(because) => Reply::new(Answer::NotObservable, *because, all.clone()),
    };
    let clear = match sa.in_clear {
        Some(at) => Reply::new(Answer::Yes, "NULL encryption", vec![Source::between(at, at)]),
        None => Reply::new(Answer::No, "its first packets look encrypted", all.clone()),
    };
    let kind = if sa.in_clear.is_some() {
        Kind::EspInClear
    } else {
        Kind::Esp
    };
    Posture {
        key_exchanges: keyed_by
            .as_ref()
            .map_or_else(|_| Vec::new(), |judged| judged.posture.key_exchanges.clone()),
        offered: reply(|posture| &posture.offered),
        preferred: reply(|posture| &posture.preferred),
        negotiated: reply(|posture| &posture.negotiated),
        server_authenticated: reply(|posture| &posture.server_authenticated),
        client_authenticated: reply(|posture| &posture.client_authenticated),
        stayed: reply(|posture| &posture.stayed),
        clear,
        ..Posture::bare(kind, confidentiality, authenticity)
    }
}

/// The IKE_SA that keyed it, as far as addresses and times tell, or why none can be named.
fn keyed_by<'a>(sa: &EspSa, ike: &[&'a JudgedIkeSa], order: u64) -> Result<&'a JudgedIkeSa, &'static str> {
    if ike.is_empty() {
        return Err("no IKE was seen between its ends: how it was keyed is not shown");
    }
    if sa.first_sequence != 1 {
        return Err("it was there before its first packet in the capture: how it was keyed is not shown");
    }
    let candidates = ike.iter().filter(|judged| judged.sa.first.packet < sa.first.packet);
    let (mut made, mut newest) = (0, None);
    for &judged in candidates.clone() {
        let (count, last) = judged.keyed_before(sa.first.packet);
        made += count;
        if let Some(last) = last
            && newest.is_none_or(|(newest, _)| last > newest)
        {
            newest = Some((last, judged));
        }
    }
    let Some((_, newest)) = newest else {
        return Err("no IKE exchange that could have keyed it was seen before it");
    };
    if order > made {
        return Err("more ESP associations than the IKE seen between its ends can have keyed");
    }
    // An older IKE_SA that was still used when the newest began may have keyed it as well: the worse of them counts.
    let worst = candidates
        .copied()
        .filter(|judged| judged.sa.last.packet >= newest.sa.first.packet && judged.keyed_before(sa.first.packet).0 > 0)
        .fold(newest, |worst, next| {
            let verdict = |judged: &JudgedIkeSa| judged.posture.confidentiality.verdict();
            if verdict(worst).worse(verdict(next)) == verdict(worst) {
                worst
            } else {
                next
            }
        });
    Ok(worst)
}

fn by_ike(judged: &JudgedIkeSa) -> Judgement {
    let judgement = &judged.posture.confidentiality;
    let sources = judgement.sources().to_vec();
    if judgement.verdict() == Verdict::Vulnerable && ike::announces_ppk(&judged.sa) {
        let because = "keyed by an IKE_SA with a classical key exchange, whose ends announce a PPK: whether one was used is encrypted";
        return Judgement::new(Verdict::NotObservable, because, sources);
    }
    let because = format!("keyed by the IKE_SA between the same hosts: {}", judgement.because());
    Judgement::new(judgement.verdict(), because, sources)
}
