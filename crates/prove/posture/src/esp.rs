//! Posture of an ESP security association: its own packets show little, so it is judged by the
//! IKE_SA that keyed it.

use bartizan_wire::Reuse;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::Fault;

use crate::ipsec::JudgedIkeSa;
use crate::keying::Made;
use crate::{Answer, Contradiction, Judgement, Kind, Posture, Reply, Source, Verdict, ike, spread};

/// Judges an association by what keyed it; `ike` are the IKE_SAs of the capture, and `made` names the
/// ones that may have. [`doubt`] comes last, behind keys and ledgers. Its cipher is shown by keys alone.
pub(crate) fn posture(sa: &EspSa, made: Made, ike: &[JudgedIkeSa], cipher_is_shown: bool) -> Posture {
    let all = vec![Source::between(sa.first, sa.last)];
    let keyed_by = keyed_by(made, ike);
    let confidentiality = match (sa.in_plaintext(), &keyed_by) {
        (Some(at), _) => Judgement::new(
            Verdict::ReadableNow,
            "sent unencrypted: ESP with NULL encryption",
            vec![Source::between(at, at)],
        ),
        (None, Ok(judged)) if cipher_is_shown => by_ike(judged),
        (None, Ok(judged)) => ike::unless_of_64_bits(sa.blocks, by_ike(judged)),
        (None, Err((because, sources))) => {
            let sources = [sources.clone(), all.clone()].concat();
            Judgement::new(Verdict::NotObservable, because.clone(), sources)
        }
    };
    let authenticity = match &keyed_by {
        Ok(judged) => {
            let judgement = &judged.posture.authenticity;
            let because = format!("of the IKE_SA between the same hosts: {}", judgement.because());
            Judgement::new(judgement.judged(), because, judgement.sources().to_vec())
        }
        Err((because, _)) => Judgement::new(Verdict::NotObservable, because.clone(), all.clone()),
    };
    let reply = |of: fn(&Posture) -> &Reply| match &keyed_by {
        Ok(judged) => {
            let reply = of(&judged.posture);
            let because = format!("of the IKE_SA between the same hosts: {}", reply.because());
            Reply::new(reply.answer(), because, reply.sources().to_vec())
        }
        Err((because, _)) => Reply::new(Answer::NotObservable, because.clone(), all.clone()),
    };
    let clear = match sa.in_plaintext() {
        Some(at) => Reply::new(Answer::Yes, "NULL encryption", vec![Source::between(at, at)]),
        None => Reply::new(Answer::No, "nothing in its packets can be read", all.clone()),
    };
    let kind = if sa.in_plaintext().is_some() {
        Kind::EspUnencrypted
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

/// Applies what the association's own packets show against it: no key exchange outweighs it, whether
/// packets, keys or a ledger show that.
pub(crate) fn doubt(sa: &EspSa, posture: &mut Posture) {
    let all = [Source::between(sa.first, sa.last)];
    spread::doubt(sa.looks_encrypted(), &all[0], posture);
    let reused = sa.reuses_nonce().filter(|_| sa.in_plaintext().is_none());
    let (confidentiality, first) = nonces(reused, posture.confidentiality.clone());
    let again = (sa.begins_again() && first.is_none()).then_some(&all[..]);
    let (confidentiality, second) = shared(again, confidentiality);
    posture.confidentiality = confidentiality;
    posture.contradictions.extend(first.into_iter().chain(second));
}

/// The rest of a judgement of packets that have a sequence number twice: two IKE_SAs may have keyed
/// them.
fn shared(again: Option<&[Source]>, judgement: Judgement) -> (Judgement, Option<Contradiction>) {
    let Some(sources) = again else {
        return (judgement, None);
    };
    let what = "two packets of one SPI and sequence number differ: another association has the SPI, or one of them was \
                injected";
    let judgement = match judgement.verdict() {
        Verdict::QuantumSafe => Judgement::new(Verdict::NotObservable, what, sources.to_vec()),
        _ => judgement,
    };
    let contradiction = Contradiction {
        what: what.to_owned(),
        sources: sources.to_vec(),
    };
    (judgement, Some(contradiction))
}

/// The rest of a judgement of packets that share nonces, whatever made their key: two nonces or
/// more used twice are their sender's doing, and one alone may be an injected packet's.
pub(crate) fn nonces(reuse: Option<Reuse>, judgement: Judgement) -> (Judgement, Option<Contradiction>) {
    let Some(reuse) = reuse else {
        return (judgement, None);
    };
    let fault = if reuse.several {
        Fault::NoncesReused
    } else {
        Fault::NonceReused
    };
    let (what, sources) = (fault.to_string(), vec![Source::between(reuse.first, reuse.first)]);
    let judgement = match judgement.verdict() {
        _ if reuse.several => return (Judgement::new(Verdict::ReadableNow, what, sources), None),
        Verdict::QuantumSafe => Judgement::new(Verdict::NotObservable, what.as_str(), sources.clone()),
        _ => judgement,
    };
    (judgement, Some(Contradiction { what, sources }))
}

/// The IKE_SA that keyed it, or why none can be named.
fn keyed_by(made: Made, ike: &[JudgedIkeSa]) -> Result<&JudgedIkeSa, (String, Vec<Source>)> {
    let unknown = |because: &str| Err((because.to_owned(), Vec::new()));
    match made {
        Made::By(index) => Ok(&ike[index]),
        Made::ByEither(one, other) => {
            let [one, other] = [one, other].map(|index| &ike[index].posture.confidentiality);
            let because = format!(
                "one of several IKE_SAs between the same hosts keyed it, and which of them is not shown: {}, or {}",
                one.because(),
                other.because()
            );
            Err((because, [one.sources(), other.sources()].concat()))
        }
        Made::PerhapsAnew(index) => {
            let judgement = &ike[index].posture.confidentiality;
            let because = format!(
                "keyed by the IKE_SA between the same hosts, {}, and perhaps by a key exchange of its own: CREATE_CHILD_SA has room for \
                 a post-quantum one",
                judgement.because()
            );
            Err((because, judgement.sources().to_vec()))
        }
        Made::Before => unknown("it was there before its first packet in the capture: how it was keyed is not shown"),
        Made::Doubtful => unknown("more ESP associations than the IKE seen between its ends can have keyed"),
        Made::Nothing => unknown("no IKE exchange that could have keyed it was seen before it"),
    }
}

fn by_ike(judged: &JudgedIkeSa) -> Judgement {
    let judgement = &judged.posture.confidentiality;
    let sources = judgement.sources().to_vec();
    if judgement.verdict().is_vulnerable() && ike::announces_ppk(&judged.sa) {
        let because = "keyed by an IKE_SA with a classical key exchange, whose ends announce a PPK: whether one was used is encrypted";
        return Judgement::new(Verdict::NotObservable, because, sources);
    }
    let because = format!("keyed by the IKE_SA between the same hosts: {}", judgement.because());
    Judgement::new(judgement.judged().of_keys(), because, sources)
}
