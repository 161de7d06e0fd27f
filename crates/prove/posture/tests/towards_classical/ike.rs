//! IKEv2 and ESP turned towards classical: what stands in IKE_SA_INIT, which exchanges follow it, and how large they are.

use bartizan_posture::Posture;
use bartizan_registry::Safety;
use bartizan_wire::ike::{Body, ExchangeType, Header, KeyExchangeMethod, Message, NotifyType, Proposal, Transform};

use super::frame::Frame;
use super::judged::Subject;
use super::mutation::{Change, Mutation, Takes};

const P256: u16 = 19;
const X25519: u16 = 31;
const NULL: u16 = 11;

const INIT: ExchangeType = ExchangeType::IKE_SA_INIT;
const INTERMEDIATE: ExchangeType = ExchangeType::IKE_INTERMEDIATE;
const FOLLOW_UP: ExchangeType = ExchangeType::IKE_FOLLOWUP_KE;

/// Each with what it does.
pub(crate) fn mutations() -> Vec<Mutation> {
    let mutation = |name, reaches, takes, change| Mutation {
        name,
        change,
        reaches,
        takes,
    };
    let ipsec = |name, change| mutation(name, is_ipsec, Takes::Safety, change);
    let hybrid = |name, change| mutation(name, rests_on_additional, Takes::Safety, change);
    let first = |name, change| mutation(name, rests_on_first, Takes::Safety, change);
    let stay = |name, change| mutation(name, is_ike, Takes::Staying, change);
    vec![
        hybrid("additional key exchange to P-256", chosen(is_additional, P256)),
        hybrid(
            "additional key exchange to one nobody knows",
            chosen(is_additional, 999),
        ),
        hybrid("additional key exchange to none", chosen(is_additional, 0)),
        hybrid("additional key exchange dropped", answer(without_additional)),
        first("key exchange to P-256", chosen(|kind| kind == Transform::KE, P256)),
        first("key exchange and its data to x25519", answer(to_x25519)),
        ipsec("responder's key exchange data of x25519", answer(data_of_x25519)),
        ipsec("responder's key exchange data cut", answer(cut)),
        ipsec("initiator's key exchange data cut", request(cut)),
        hybrid(
            "post-quantum methods not proposed",
            request(|message| replaced(message, P256)),
        ),
        first(
            "post-quantum method not proposed",
            request(|message| replaced(message, P256)),
        ),
        ipsec("cipher to NULL", answer(null)),
        hybrid("responder silent on IKE_INTERMEDIATE", answer(silent)),
        hybrid("initiator silent on IKE_INTERMEDIATE", request(silent)),
        ipsec(
            "a classical answer before the other",
            Box::new(|frame| another(frame, Change::Before)),
        ),
        ipsec(
            "a classical answer behind the other",
            Box::new(|frame| another(frame, Change::Behind)),
        ),
        ipsec("IKE_SA_INIT dropped", dropped(|header| header.exchange == INIT)),
        ipsec(
            "answer to IKE_SA_INIT dropped",
            dropped(|header| header.exchange == INIT && header.flags.is_response()),
        ),
        hybrid(
            "IKE_INTERMEDIATE dropped",
            dropped(|header| header.exchange == INTERMEDIATE),
        ),
        hybrid(
            "IKE_INTERMEDIATE unanswered",
            dropped(|header| header.exchange == INTERMEDIATE && header.flags.is_response()),
        ),
        hybrid("IKE_INTERMEDIATE shrunk", shrunk(INTERMEDIATE)),
        stay(
            "IKE_FOLLOWUP_KE dropped",
            dropped(|header| header.exchange == FOLLOW_UP),
        ),
        mutation(
            "IKE_FOLLOWUP_KE shrunk",
            rests_on_additional,
            Takes::Staying,
            shrunk(FOLLOW_UP),
        ),
        ipsec("version to 1", Box::new(version_1)),
        mutation(
            "ESP in plaintext, IPv4 in it",
            is_esp,
            Takes::Safety,
            Box::new(|frame| cleared_esp(frame, ipv4)),
        ),
        mutation(
            "ESP in plaintext, IPv6 in it",
            is_esp,
            Takes::Safety,
            Box::new(|frame| cleared_esp(frame, ipv6)),
        ),
    ]
}

fn is_ipsec(subject: &Subject, _: &Posture) -> bool {
    !matches!(subject, Subject::Connection(..))
}

fn is_ike(subject: &Subject, _: &Posture) -> bool {
    matches!(subject, Subject::Ike(..))
}

fn is_esp(subject: &Subject, _: &Posture) -> bool {
    matches!(subject, Subject::Esp(..))
}

fn is_post_quantum(method: KeyExchangeMethod) -> bool {
    method.safety() == Some(Safety::QuantumSafe)
}

/// Its first key exchange is classical: only those that follow make it safe.
fn rests_on_additional(subject: &Subject, posture: &Posture) -> bool {
    let first = posture.key_exchanges.first();
    is_ipsec(subject, posture) && first.is_some_and(|&method| !is_post_quantum(method))
}

/// Its first key exchange is the only post-quantum one.
fn rests_on_first(subject: &Subject, posture: &Posture) -> bool {
    let mut methods = posture.key_exchanges.iter().copied();
    is_ipsec(subject, posture) && methods.next().is_some_and(is_post_quantum) && !methods.any(is_post_quantum)
}

fn is_additional(kind: u8) -> bool {
    Transform::ADDITIONAL_KE.contains(&kind)
}

/// The header of the IKE message in a frame, and where it begins in the payload.
fn ike(frame: &Frame<'_>) -> Option<(Header, usize)> {
    if frame.protocol != 17 || !(frame.is_on(500) || frame.is_on(4500)) {
        return None;
    }
    let marker = if frame.payload().starts_with(&[0; 4]) { 4 } else { 0 };
    if !frame.is_on(500) && marker == 0 {
        return None;
    }
    let header = Header::read(frame.payload().get(marker..)?).ok()?;
    Some((header, marker))
}

/// The frame with another IKE message of this header; its length is made right.
fn with_message(frame: &Frame<'_>, marker: usize, header: Header, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(Header::LENGTH + body.len()).unwrap();
    let mut payload = frame.payload()[..marker].to_vec();
    payload.extend(Header { length, ..header }.encode());
    payload.extend(body);
    frame.with_payload(&payload)
}

/// Changes the payloads of IKE_SA_INIT, where all of it is in the frame; the change says whether it was one.
fn init(frame: &Frame<'_>, response: bool, change: impl Fn(&mut Message<'_>) -> bool) -> Option<Vec<u8>> {
    let (header, marker) = ike(frame)?;
    if header.exchange != INIT || header.flags.is_response() != response {
        return None;
    }
    let mut message = Message::read(header.next, &frame.payload()[marker + Header::LENGTH..]).ok()?;
    if !change(&mut message) {
        return None;
    }
    let (next, body) = message.encode()?;
    Some(with_message(frame, marker, Header { next, ..header }, &body))
}

type Changing = Box<dyn Fn(&Frame<'_>) -> Change>;

fn answer(change: fn(&mut Message<'_>) -> bool) -> Changing {
    Box::new(move |frame| init(frame, true, change).map_or(Change::Keep, Change::Turn))
}

fn request(change: impl Fn(&mut Message<'_>) -> bool + 'static) -> Changing {
    Box::new(move |frame| init(frame, false, &change).map_or(Change::Keep, Change::Turn))
}

fn proposals<'a>(message: &'a mut Message<'_>) -> impl Iterator<Item = &'a mut Proposal> {
    let bodies = message.payloads.iter_mut().map(|payload| &mut payload.body);
    let lists = bodies.filter_map(|body| match body {
        Body::Proposals(proposals) => Some(proposals),
        _ => None,
    });
    lists.flatten()
}

fn without_additional(message: &mut Message<'_>) -> bool {
    let mut changed = false;
    for proposal in proposals(message) {
        let before = proposal.transforms.len();
        proposal
            .transforms
            .retain(|transform| !(transform.is_additional() && transform.key_exchange().is_some_and(is_post_quantum)));
        changed |= proposal.transforms.len() < before;
    }
    changed
}

/// Every post-quantum method, of any place.
fn replaced(message: &mut Message<'_>, to: u16) -> bool {
    let mut changed = false;
    for transform in proposals(message).flat_map(|proposal| &mut proposal.transforms) {
        if transform.key_exchange().is_some_and(is_post_quantum) {
            transform.id = to;
            changed = true;
        }
    }
    changed
}

fn data_of_x25519(message: &mut Message<'_>) -> bool {
    let mut changed = false;
    for payload in &mut message.payloads {
        if let Body::KeyExchange { method, data } = &mut payload.body {
            *data = &data[..data.len().min(32)];
            changed = method.0 != X25519;
            method.0 = X25519;
        }
    }
    changed
}

fn to_x25519(message: &mut Message<'_>) -> bool {
    data_of_x25519(message) && replaced(message, X25519)
}

/// Key exchange data of the method agreed on, and too short for it.
fn cut(message: &mut Message<'_>) -> bool {
    let mut changed = false;
    for payload in &mut message.payloads {
        if let Body::KeyExchange { data, .. } = &mut payload.body {
            *data = &data[..data.len().min(31)];
            changed = true;
        }
    }
    changed
}

fn null(message: &mut Message<'_>) -> bool {
    let mut changed = false;
    for transform in proposals(message).flat_map(|proposal| &mut proposal.transforms) {
        if transform.kind == 1 {
            *transform = Transform {
                id: NULL,
                key_length: None,
                ..*transform
            };
            changed = true;
        }
    }
    changed
}

fn silent(message: &mut Message<'_>) -> bool {
    let before = message.payloads.len();
    message.payloads.retain(|payload| {
        let supported = NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED;
        !matches!(payload.body, Body::Notify { kind, .. } if kind == supported)
    });
    message.payloads.len() < before
}

/// A second answer, which agrees to P-256 alone.
fn another(frame: &Frame<'_>, place: fn(Vec<u8>) -> Change) -> Change {
    let classical = |message: &mut Message<'_>| {
        let dropped = without_additional(message);
        replaced(message, P256) || dropped
    };
    init(frame, true, classical).map_or(Change::Keep, place)
}

/// Post-quantum transforms of these types in the answer, also of one whose rest is in another IP fragment: their places are
/// found by what they look like.
fn chosen(is_kind: fn(u8) -> bool, to: u16) -> Changing {
    Box::new(move |frame| {
        let Some((_, marker)) = ike(frame).filter(|(header, _)| header.exchange == INIT && header.flags.is_response())
        else {
            return Change::Keep;
        };
        let mut bytes = frame.bytes.to_vec();
        let start = frame.payload.start + marker + Header::LENGTH;
        for at in start..bytes.len().saturating_sub(8) {
            // Last or more, reserved, a length of 8; type, reserved, identifier (RFC 7296, section 3.3.2).
            let [0 | 3, 0, 0, 8, kind, 0, high, low] = bytes[at..at + 8] else {
                continue;
            };
            if is_kind(kind) && is_post_quantum(KeyExchangeMethod(u16::from_be_bytes([high, low]))) {
                bytes[at + 6..at + 8].copy_from_slice(&to.to_be_bytes());
            }
        }
        Change::to(frame, bytes)
    })
}

fn dropped(wanted: fn(&Header) -> bool) -> Changing {
    Box::new(move |frame| match ike(frame) {
        Some((header, _)) if wanted(&header) => Change::Drop,
        _ => Change::Keep,
    })
}

/// Messages of an exchange, or all of their fragments, with no room for a key.
fn shrunk(exchange: ExchangeType) -> Changing {
    /// Bytes left of each: a payload header, an IV, a check and a little between them.
    const LEFT: usize = 60;
    Box::new(move |frame| {
        let Some((header, marker)) = ike(frame).filter(|(header, _)| header.exchange == exchange) else {
            return Change::Keep;
        };
        let body = &frame.payload()[marker + Header::LENGTH..];
        if body.len() <= LEFT {
            return Change::Keep;
        }
        let mut body = body[..LEFT].to_vec();
        body[2..4].copy_from_slice(&u16::try_from(LEFT).unwrap().to_be_bytes());
        Change::Turn(with_message(frame, marker, header, &body))
    })
}

/// IKE_SA_INIT of IKEv1.
fn version_1(frame: &Frame<'_>) -> Change {
    match ike(frame) {
        Some((header, marker)) if header.exchange == INIT => Change::written(frame, marker + 17, &[0x10]),
        _ => Change::Keep,
    }
}

/// ESP's packets hold an IP packet that anyone can read, as with NULL encryption.
fn cleared_esp(frame: &Frame<'_>, write: fn(&mut [u8])) -> Change {
    let in_udp = frame.protocol == 17 && ike(frame).is_none() && frame.is_on(4500);
    let behind_header = match frame.protocol {
        50 => 0,
        _ if in_udp => 8,
        _ => return Change::Keep,
    };
    let mut inner = frame.payload().get(behind_header..).unwrap_or_default().to_vec();
    if inner.len() < 64 {
        return Change::Keep;
    }
    write(&mut inner);
    Change::written(frame, behind_header, &inner)
}

fn ipv4(inner: &mut [u8]) {
    let mut header = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    header[2..4].copy_from_slice(&(u16::try_from(inner.len()).unwrap() - 16).to_be_bytes());
    let sum = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    inner[..20].copy_from_slice(&header);
}

/// Behind it no padding, and a check of twelve bytes.
fn ipv6(inner: &mut [u8]) {
    let end = inner.len() - 12;
    inner[0] = 0x60;
    inner[4..6].copy_from_slice(&(u16::try_from(end).unwrap() - 2 - 40).to_be_bytes());
    inner[end - 2..end].copy_from_slice(&[0, 41]);
}
