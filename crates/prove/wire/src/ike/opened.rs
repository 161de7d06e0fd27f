//! Decrypted content of an IKE_SA: identities of the ends, and the agreement of each exchange
//! behind IKE_SA_INIT.

use std::collections::VecDeque;

use super::{
    Arrival, Body, ExchangeType, Header, Kept, KeyExchangeData, KeyExchangeMethod, Message, NotifyType, Party,
    PayloadType, Proposal,
};
use crate::keys::{Certificate, IkeCandidate, Keys};
use crate::{Moment, Seen};

/// Messages of which some fragments are there and others are not.
const PARTIAL: usize = 4;
/// Bytes of the fragments of one message; strongSwan takes 10 000 and can be configured to take more.
const LONGEST: usize = 128 * 1024;
/// Messages remembered, so that one that comes twice counts once.
const DONE: usize = 16;
/// Key exchanges, security associations and deletions kept.
const KEPT: usize = 64;
/// Certificates kept of one end.
const CHAIN: usize = 10;

/// Decrypted content. It was encrypted on the wire: only a holder of the keys sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// KE payloads of IKE_INTERMEDIATE, both ends'.
    pub intermediate: Kept<Seen<(Party, KeyExchangeData)>>,
    /// Authentication of the initiator, and of the responder.
    pub proofs: [Proof; 2],
    /// CHILD_SAs and IKE_SAs that were agreed on, in their order.
    pub made: Kept<Seen<Made>>,
    /// Security associations that were deleted.
    pub deleted: u64,
    /// CREATE_CHILD_SA and IKE_FOLLOWUP_KE requests that were answered with an error, and the errors.
    pub refused: Kept<Seen<NotifyType>>,
    /// Messages opened of the initiator and of the responder.
    pub messages: [u64; 2],
    /// Messages that none of the keys given opens, and the first of them.
    pub unopened: u64,
    /// See [`unopened`](Self::unopened).
    pub first_unopened: Option<Moment>,
    /// Places where keys were given that open nothing here.
    pub wrong: Vec<String>,
}

/// Authentication of an end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// The method of its AUTH payload, by its number in the registry.
    pub method: Option<Seen<u8>>,
    /// Object identifier of the algorithm of a digital signature (RFC 7427).
    pub algorithm: Option<String>,
    /// Its certificates, as far as it sent any.
    pub certificates: Vec<Certificate>,
}

/// A security association that two ends agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The exchange that made it.
    pub by: ExchangeType,
    /// Party that requested it.
    pub requester: Party,
    /// The chosen proposal, with the SPI of the responding end.
    pub chosen: Proposal,
    /// The SPI of the end that asked.
    pub requester_spi: Vec<u8>,
    /// The key exchanges that took place for it, in their order.
    pub key_exchanges: Vec<KeyExchangeMethod>,
    /// True if it replaces another.
    pub is_rekey: bool,
}

/// `protocol` of a proposal for an IKE_SA (RFC 7296, section 3.3.1).
const IKE: u8 = 1;

impl Made {
    /// Returns true if it is an IKE_SA.
    #[must_use]
    pub fn is_ike(&self) -> bool {
        self.chosen.protocol == IKE
    }

    /// Protocol of the SA: `IKE`, `AH`, `ESP`.
    pub fn protocol(&self) -> &'static str {
        match self.chosen.protocol {
            IKE => "IKE",
            2 => "AH",
            3 => "ESP",
            _ => "unknown",
        }
    }

    /// Both SPIs, the requester's first; none where they are not those of an IKE_SA.
    pub fn ike_spis(&self) -> Option<(u64, u64)> {
        let spi = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
        Some((spi(&self.requester_spi)?, spi(&self.chosen.spi)?))
    }

    /// Both SPIs, the requester's first; none where they are not those of ESP.
    pub fn esp_spis(&self) -> Option<[u32; 2]> {
        let spi = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_be_bytes);
        Some([spi(&self.requester_spi)?, spi(&self.chosen.spi)?])
    }
}

/// A request for a security association that is not answered yet.
#[derive(Clone)]
struct Asked {
    message_id: u32,
    proposals: Vec<(u8, Vec<u8>)>,
    is_rekey: bool,
}

/// A message in the making.
#[derive(Clone)]
struct Partial {
    place: Place,
    first: Moment,
    total: u16,
    kind: PayloadType,
    parts: Vec<(u16, Vec<u8>)>,
}

/// A message among those of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    message_id: u32,
    requester: Party,
    is_response: bool,
}

/// Opens the messages of one IKE_SA.
pub(super) struct Opener {
    candidates: Vec<(IkeCandidate, bool)>,
    partial: VecDeque<Partial>,
    done: VecDeque<Place>,
    asked: [Option<Asked>; 2],
    shown: Opened,
}

/// A copy opens nothing more: keys cannot be copied.
impl Clone for Opener {
    fn clone(&self) -> Self {
        Self {
            candidates: Vec::new(),
            partial: self.partial.clone(),
            done: self.done.clone(),
            asked: self.asked.clone(),
            shown: Opened {
                wrong: self.wrong(),
                ..self.shown.clone()
            },
        }
    }
}

impl Opener {
    /// For the IKE_SA of this message, if there are keys of it.
    pub(super) fn new(header: &Header, keys: &dyn Keys) -> Option<Self> {
        let candidates = keys.ike(header.initiator_spi, header.responder_spi);
        let candidates: Vec<_> = candidates.into_iter().map(|candidate| (candidate, false)).collect();
        (!candidates.is_empty()).then(|| Self {
            candidates,
            partial: VecDeque::new(),
            done: VecDeque::new(),
            asked: [None, None],
            shown: Opened::default(),
        })
    }

    pub(super) fn outcome(mut self) -> Box<Opened> {
        let wrong = self.wrong();
        self.shown.wrong.extend(wrong);
        Box::new(self.shown)
    }

    /// Sources of keys that decrypted nothing.
    fn wrong(&self) -> Vec<String> {
        if self.shown.messages != [0, 0] || self.shown.unopened == 0 {
            return Vec::new();
        }
        let given = self.candidates.iter().map(|(candidate, _)| candidate.given.clone());
        given.collect()
    }

    /// Bytes it holds on the heap, about, and its own.
    pub(super) fn held(&self) -> usize {
        let parts = self.partial.iter().flat_map(|partial| &partial.parts);
        let shown = &self.shown;
        let certificates = shown.proofs.iter().flat_map(|proof| &proof.certificates);
        let keys = self.candidates.iter().map(|(candidate, _)| candidate.key.held());
        size_of::<Self>()
            + parts.map(|(_, bytes)| bytes.capacity()).sum::<usize>()
            + keys.sum::<usize>()
            + certificates.map(Certificate::held).sum::<usize>()
            + shown.made.first.len() * (size_of::<Seen<Made>>() + 256)
    }

    /// A message behind IKE_SA_INIT, all of it.
    pub(super) fn message(&mut self, header: &Header, message: &[u8], arrival: &Arrival, keys: &dyn Keys) {
        let requester = super::session::requester(header);
        let from = super::session::sender(header);
        let place = Place {
            message_id: header.message_id,
            requester,
            is_response: header.flags.is_response(),
        };
        if self.done.contains(&place) {
            return;
        }
        let Some(sealed) = sealed(header.next, message) else {
            return;
        };
        let Some(content) = self.open(from, &message[..sealed.end], sealed.start) else {
            self.shown.unopened += 1;
            self.shown.first_unopened.get_or_insert(arrival.at);
            return;
        };
        let Some((number, total)) = sealed.fragment else {
            let seen = (arrival.first, arrival.at);
            self.content(place, header.exchange, sealed.first, &content, seen, keys);
            return;
        };
        if let Some((kind, content, seen)) = self.part(place, (sealed.first, number, total), content, arrival) {
            self.content(place, header.exchange, kind, &content, (seen, arrival.at), keys);
        }
    }

    /// Decrypts a sealed payload with the key that fits.
    fn open(&mut self, from: Party, message: &[u8], start: usize) -> Option<Vec<u8>> {
        // The newest key most likely: each IKE_INTERMEDIATE makes another.
        for (candidate, used) in self.candidates.iter_mut().rev() {
            if let Some(content) = candidate.key.open(from, message, start) {
                *used = true;
                return Some(content);
            }
        }
        None
    }

    /// Takes a fragment; gives the whole once it is the last one missing.
    fn part(
        &mut self,
        place: Place,
        (kind, number, total): (PayloadType, u16, u16),
        content: Vec<u8>,
        arrival: &Arrival,
    ) -> Option<(PayloadType, Vec<u8>, Moment)> {
        let index = self.partial.iter().position(|partial| partial.place == place);
        let index = index.unwrap_or_else(|| {
            if self.partial.len() == PARTIAL {
                self.partial.pop_front();
            }
            self.partial.push_back(Partial {
                place,
                first: arrival.first,
                total,
                kind: PayloadType::NONE,
                parts: Vec::new(),
            });
            self.partial.len() - 1
        });
        let partial = &mut self.partial[index];
        // A sender may cut a message anew, into more fragments (RFC 7383, section 2.5.2).
        if total > partial.total {
            partial.total = total;
            partial.parts.clear();
        }
        let held: usize = partial.parts.iter().map(|(_, bytes)| bytes.len()).sum();
        let known = partial.parts.iter().any(|(known, _)| *known == number);
        if total < partial.total || known || held + content.len() > LONGEST {
            return None;
        }
        if number == 1 {
            partial.kind = kind;
        }
        partial.parts.push((number, content));
        if partial.parts.len() < usize::from(partial.total) {
            return None;
        }
        let mut whole = self.partial.remove(index)?;
        whole.parts.sort_unstable_by_key(|(number, _)| *number);
        let parts: Vec<Vec<u8>> = whole.parts.into_iter().map(|(_, bytes)| bytes).collect();
        Some((whole.kind, parts.concat(), whole.first))
    }

    /// Reads the payloads of a whole decrypted message.
    fn content(
        &mut self,
        place: Place,
        exchange: ExchangeType,
        first: PayloadType,
        content: &[u8],
        (began, at): (Moment, Moment),
        keys: &dyn Keys,
    ) {
        if self.done.len() == DONE {
            self.done.pop_front();
        }
        self.done.push_back(place);
        let from = if place.is_response {
            place.requester.other()
        } else {
            place.requester
        };
        self.shown.messages[index(from)] += 1;
        let Ok(message) = Message::read(first, content) else {
            return;
        };
        let seen = Seen::new((), began, at);
        match exchange {
            ExchangeType::IKE_INTERMEDIATE => {
                for payload in &message.payloads {
                    if let Body::KeyExchange { method, data } = payload.body {
                        let data = (from, KeyExchangeData::new(method, from, data));
                        self.shown.intermediate.push(Seen::new(data, began, at), KEPT);
                    }
                }
            }
            ExchangeType::IKE_AUTH => {
                self.proof(from, &message, &seen, keys);
                self.agreement(place, exchange, &message, &seen);
            }
            ExchangeType::CREATE_CHILD_SA => self.agreement(place, exchange, &message, &seen),
            ExchangeType::IKE_FOLLOWUP_KE if place.is_response => self.followed_up(place, &message, &seen),
            ExchangeType::INFORMATIONAL => {
                let deleted = message.payloads.iter().map(|payload| match payload.body {
                    Body::Delete { protocol: IKE, .. } => 1,
                    Body::Delete { count, .. } => u64::from(count),
                    _ => 0,
                });
                // Both ends name each: the request alone is counted.
                if !place.is_response {
                    self.shown.deleted += deleted.sum::<u64>();
                }
            }
            _ => {}
        }
    }

    fn proof(&mut self, from: Party, message: &Message<'_>, seen: &Seen<()>, keys: &dyn Keys) {
        let proof = &mut self.shown.proofs[index(from)];
        for payload in &message.payloads {
            match (payload.kind, &payload.body) {
                (_, Body::Authentication { method, data }) if proof.method.is_none() => {
                    proof.method = Some(Seen::new(*method, seen.first, seen.last));
                    proof.algorithm = algorithm(*method, data);
                }
                // Encoding 4 is an X.509 certificate.
                (PayloadType::CERT, Body::Certificate { encoding: 4, data }) if proof.certificates.len() < CHAIN => {
                    proof.certificates.push(keys.certificate(data));
                }
                _ => {}
            }
        }
    }

    /// Proposals asked for, or one of them chosen.
    fn agreement(&mut self, place: Place, by: ExchangeType, message: &Message<'_>, seen: &Seen<()>) {
        let asked = &mut self.asked[index(place.requester)];
        let proposals = message.payloads.iter().find_map(|payload| match &payload.body {
            Body::Proposals(proposals) => Some(proposals),
            _ => None,
        });
        if !place.is_response {
            let rekeys = |body: &Body<'_>| matches!(body, Body::Notify { kind, .. } if *kind == NotifyType::REKEY_SA);
            if let Some(proposals) = proposals {
                *asked = Some(Asked {
                    message_id: place.message_id,
                    proposals: proposals.iter().map(|one| (one.number, one.spi.clone())).collect(),
                    is_rekey: message.payloads.iter().any(|payload| rekeys(&payload.body)),
                });
            }
            return;
        }
        let Some(chosen) = proposals.and_then(|proposals| proposals.first()) else {
            if by == ExchangeType::CREATE_CHILD_SA {
                self.refusal(message, seen);
            }
            return;
        };
        // With EAP the proposals are in the first request of several.
        let answers = |asked: &Asked| by == ExchangeType::IKE_AUTH || asked.message_id == place.message_id;
        let asked = asked.take().filter(answers);
        let requester_spi = asked.as_ref().and_then(|asked| {
            let (_, spi) = asked.proposals.iter().find(|(number, _)| *number == chosen.number)?;
            Some(spi.clone())
        });
        let made = Made {
            by,
            requester: place.requester,
            is_rekey: chosen.protocol == IKE || asked.is_some_and(|asked| asked.is_rekey),
            chosen: chosen.clone(),
            requester_spi: requester_spi.unwrap_or_default(),
            key_exchanges: exchanged(message).collect(),
        };
        self.shown.made.push(Seen::new(made, seen.first, seen.last), KEPT);
    }

    /// An additional key exchange of the newest CREATE_CHILD_SA of the same end.
    fn followed_up(&mut self, place: Place, message: &Message<'_>, seen: &Seen<()>) {
        let newest = self
            .shown
            .made
            .first
            .iter_mut()
            .rev()
            .find(|made| made.value.by == ExchangeType::CREATE_CHILD_SA && made.value.requester == place.requester);
        let mut methods = exchanged(message).peekable();
        if methods.peek().is_none() {
            self.refusal(message, seen);
        } else if let Some(made) = newest {
            made.value.key_exchanges.extend(methods);
            made.last = seen.last;
        }
    }

    fn refusal(&mut self, message: &Message<'_>, seen: &Seen<()>) {
        for payload in &message.payloads {
            if let Body::Notify { kind, .. } = payload.body
                && kind.is_error()
            {
                self.shown.refused.push(Seen::new(kind, seen.first, seen.last), KEPT);
            }
        }
    }
}

/// Methods of the KE payloads of a message.
fn exchanged<'a>(message: &'a Message<'_>) -> impl Iterator<Item = KeyExchangeMethod> + 'a {
    message.payloads.iter().filter_map(|payload| match payload.body {
        Body::KeyExchange { method, .. } => Some(method),
        _ => None,
    })
}

/// An encrypted payload, or a fragment of one.
struct Sealed {
    /// Type of the first inner payload.
    first: PayloadType,
    /// Number and total of a fragment.
    fragment: Option<(u16, u16)>,
    /// Offset of the initialization vector in the message.
    start: usize,
    /// Offset of the payload's end.
    end: usize,
}

/// The payload that a message behind IKE_SA_INIT has; none where it is not encrypted or not whole.
fn sealed(next: PayloadType, message: &[u8]) -> Option<Sealed> {
    let (next, clear) = super::session::sealed(next, message.get(Header::LENGTH..)?);
    let begin = Header::LENGTH + clear;
    let [first, _, high, low] = *message.get(begin..)?.first_chunk::<4>()?;
    let end = begin + usize::from(u16::from_be_bytes([high, low]));
    let body = message.get(begin + 4..end)?;
    let (fragment, header) = match next {
        PayloadType::ENCRYPTED => (None, 4),
        PayloadType::ENCRYPTED_FRAGMENT => {
            let [a, b, c, d] = *body.first_chunk::<4>()?;
            let fragment = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            if fragment.0 == 0 || fragment.0 > fragment.1 {
                return None;
            }
            (Some(fragment), 8)
        }
        _ => return None,
    };
    Some(Sealed {
        first: PayloadType(first),
        fragment,
        start: begin + header,
        end,
    })
}

/// The algorithm in front of a signature of RFC 7427: a length, and an AlgorithmIdentifier in DER.
fn algorithm(method: u8, data: &[u8]) -> Option<String> {
    const DIGITAL_SIGNATURE: u8 = 14;
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    if method != DIGITAL_SIGNATURE {
        return None;
    }
    let (&length, rest) = data.split_first()?;
    let identifier = rest.get(..usize::from(length))?;
    // Lengths below 128 have one byte: an identifier is at most 255 bytes, those with parameters mostly 67.
    let inner = match identifier {
        [SEQUENCE, length, inner @ ..] if *length < 128 => inner,
        [SEQUENCE, 0x81, _, inner @ ..] => inner,
        _ => return None,
    };
    let [OBJECT_IDENTIFIER, length, inner @ ..] = inner else {
        return None;
    };
    dotted(inner.get(..usize::from(*length))?)
}

/// An object identifier in the form people read (X.690, section 8.19).
fn dotted(bytes: &[u8]) -> Option<String> {
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc = 0_u64;
    for &byte in bytes {
        arc = arc.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            arcs.push(std::mem::take(&mut arc));
        }
    }
    let (&first, rest) = arcs.split_first()?;
    let top = (first / 40).min(2);
    let all = [top, first - 40 * top].into_iter().chain(rest.iter().copied());
    Some(all.map(|arc| arc.to_string()).collect::<Vec<_>>().join("."))
}

fn index(party: Party) -> usize {
    super::session::index(party)
}

#[cfg(test)]
mod tests;
