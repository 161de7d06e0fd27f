//! IKEv2: IKE_SA_INIT alone. The responder names a group that it prefers before any IKE_SA is made
//! (INVALID_KE_PAYLOAD), so most questions leave nothing half-open behind.

use std::time::{Duration, Instant};

use bartizan_registry::{Safety, TRANSFORMS, TransformKind};
use bartizan_wire::ike::{
    Body, ExchangeType, Flags, Header, KeyExchangeMethod, Message, NotifyType, Payload, PayloadType, Proposal,
    Transform,
};

use crate::answer::eliminate;
use crate::session::{DATAGRAM, receive};
use crate::ssh::public;
use crate::{Answer, Error, Session};

/// Repetitions of a request, evenly within its timeout.
const SENT: u32 = 3;
/// Requests of one question: cookies and other groups are asked for.
const ROUNDS: usize = 4;

/// Answer of a responder.
enum Reply {
    Chosen(Proposal),
    /// It wants a key of this method, which it chose.
    Method(KeyExchangeMethod),
    Refused(NotifyType),
}

pub(crate) fn ask(session: &mut Session<'_>) -> Result<Vec<Answer>, Error> {
    let safety = |method: KeyExchangeMethod| method.safety();
    let known = TRANSFORMS
        .iter()
        .filter(|known| known.kind == TransformKind::KeyExchange);
    // Those of research are no ordinary client's, and neither are those without a length.
    let methods = known.filter(|known| known.initiator.is_some() && known.id < 1024);
    let mut methods: Vec<_> = methods.map(|known| KeyExchangeMethod(known.id)).collect();
    methods.sort_by_key(|&method| (safety(method) != Some(Safety::QuantumSafe), std::cmp::Reverse(method.0)));
    let mut last = None;
    let first = eliminate(&methods, |left| {
        match request(session, left, &[], left.last().copied())? {
            Reply::Chosen(proposal) => Ok(proposal
                .key_exchanges()
                .next()
                .inspect(|_| last = Some(proposal.clone()))),
            Reply::Method(method) => Ok::<_, Error>(Some(method)),
            Reply::Refused(kind) => {
                refused(kind)?;
                Ok(None)
            }
        }
    })?;
    let classical: Vec<_> = methods
        .iter()
        .copied()
        .filter(|&one| safety(one) != Some(Safety::QuantumSafe))
        .collect();
    let large: Vec<_> = methods.iter().copied().filter(|one| !classical.contains(one)).collect();
    let mut base = first.iter().copied().find(|one| classical.contains(one));
    let additional = eliminate(&large, |left| {
        let offered = base.map_or(classical.clone(), |base| vec![base]);
        let mut key = base.or(offered.last().copied());
        for _ in 0..2 {
            match request(session, &offered, left, key)? {
                Reply::Chosen(proposal) => {
                    base = base.or(proposal.key_exchanges().next());
                    let chosen = proposal.additional_key_exchanges().next().copied();
                    last = Some(proposal);
                    return Ok::<_, Error>(chosen.and_then(Transform::key_exchange));
                }
                Reply::Method(method) => key = Some(method),
                Reply::Refused(kind) => {
                    refused(kind)?;
                    return Ok(None);
                }
            }
        }
        Ok(None)
    })?;
    if first.is_empty() && additional.is_empty() {
        return Err(Error::Foreign("refuses every proposal (NO_PROPOSAL_CHOSEN)".to_owned()));
    }
    let is_safe = |one: &&KeyExchangeMethod| safety(**one) == Some(Safety::QuantumSafe);
    let safe = first.iter().any(|one| is_safe(&one)) || !additional.is_empty();
    let [mut methods, downgrade] = Answer::exchanges("key exchanges", &first, safety);
    // The additional ones count as well.
    methods.finding = None;
    let mut all = vec![methods.finding(!safe, "no post-quantum key exchange")];
    all.push(Answer::new("additional key exchanges (RFC 9370)", &additional));
    all.push(downgrade);
    if let Some(proposal) = last {
        let others = proposal.transforms.iter().filter(|one| one.key_exchange().is_none());
        all.push(Answer::new("ciphers chosen", others));
    }
    all.push(Answer::new("authentication", ["not asked: IKE_SA_INIT alone"]));
    Ok(all)
}

/// A refusal of the proposal is an answer; another is none.
fn refused(kind: NotifyType) -> Result<(), Error> {
    match kind {
        NotifyType::NO_PROPOSAL_CHOSEN => Ok(()),
        other => Err(Error::Foreign(format!("refuses IKE_SA_INIT: {other}"))),
    }
}

/// The proposals of ordinary initiators: with an AEAD, and without.
fn proposals(methods: &[KeyExchangeMethod], additional: &[KeyExchangeMethod]) -> Vec<Proposal> {
    let of = |kind: u8, id: u16, key_length| Transform { kind, id, key_length };
    let exchanges = methods.iter().map(|method| of(Transform::KE, method.0, None));
    let more = additional.iter().map(|method| of(6, method.0, None));
    let exchanges: Vec<_> = exchanges.chain(more).collect();
    let functions = [7, 6, 5, 2].map(|id| of(2, id, None));
    let sealed = [of(1, 20, Some(256)), of(1, 20, Some(128)), of(1, 28, None)].to_vec();
    let old = [of(1, 12, Some(256)), of(1, 12, Some(128)), of(1, 3, None)];
    let integrity = [14, 13, 12, 2].map(|id| of(3, id, None));
    let transforms = [[sealed].concat(), [&old[..], &integrity[..]].concat()];
    let proposal = |(number, transforms): (u8, Vec<Transform>)| Proposal {
        number,
        protocol: 1,
        spi: Vec::new(),
        transforms: [transforms, functions.to_vec(), exchanges.clone()].concat(),
    };
    (1..).zip(transforms).map(proposal).collect()
}

/// One IKE_SA_INIT, with a key of `key`.
fn request(
    session: &mut Session<'_>,
    methods: &[KeyExchangeMethod],
    additional: &[KeyExchangeMethod],
    key: Option<KeyExchangeMethod>,
) -> Result<Reply, Error> {
    let ours = || Error::Ours("IKE_SA_INIT cannot be made".to_owned());
    let method = key.ok_or_else(ours)?;
    let data = public(method.0).ok_or_else(ours)?;
    let mut random = [0; 40];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| ours())?;
    let (nonce, spi) = random.split_at(32);
    let initiator_spi = u64::from_be_bytes(spi.try_into().map_err(|_| ours())?) | 1;
    let proposals = proposals(methods, additional);
    let question = format!("{} methods, {} additional", methods.len(), additional.len());
    let mut cookie: Option<Vec<u8>> = None;
    let socket = session.socket()?;
    let own = socket.local_addr().map_err(Error::unreachable)?;
    for _ in 0..ROUNDS {
        let payload = |kind, body| Payload {
            kind,
            critical: false,
            body,
        };
        let notify = |kind, data| {
            let (protocol, spi) = (0, &[][..]);
            payload(
                PayloadType::NOTIFY,
                Body::Notify {
                    protocol,
                    spi,
                    kind,
                    data,
                },
            )
        };
        let mut payloads = Vec::new();
        payloads.extend(cookie.as_deref().map(|cookie| notify(NotifyType::COOKIE, cookie)));
        payloads.extend([
            payload(PayloadType::SA, Body::Proposals(proposals.clone())),
            payload(PayloadType::KE, Body::KeyExchange { method, data: &data }),
            payload(PayloadType::NONCE, Body::Nonce(nonce)),
            notify(NotifyType::IKEV2_FRAGMENTATION_SUPPORTED, &[]),
            notify(NotifyType::INTERMEDIATE_EXCHANGE_SUPPORTED, &[]),
        ]);
        let (next, body) = Message { payloads }.encode().ok_or_else(ours)?;
        let header = Header {
            initiator_spi,
            responder_spi: 0,
            next,
            major: 2,
            minor: 0,
            exchange: ExchangeType::IKE_SA_INIT,
            flags: Flags(Flags::INITIATOR),
            message_id: 0,
            length: (Header::LENGTH + body.len()) as u32,
        };
        let message = [&header.encode()[..], &body].concat();
        let deadline = session.begin(&question)?;
        let place = session.tape.place();
        let step = deadline.saturating_duration_since(Instant::now()) / SENT;
        let mut incoming = vec![0; DATAGRAM];
        let mut answer = None;
        'asking: for repeated in 1..=SENT {
            socket.send(&message).map_err(Error::unreachable)?;
            session.tape.datagram(own, session.server, &message);
            let until = deadline - step * (SENT - repeated);
            // Datagrams that are no answer to this request are passed over, as many as fit the time.
            while let Some(length) = receive(&socket, until, &mut incoming)? {
                let found = Header::read(&incoming[..length]);
                if found.is_ok_and(|found| found.initiator_spi == initiator_spi && found.flags.is_response()) {
                    answer = Some(length);
                    break 'asking;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let foreign = || Error::Foreign("does not answer as IKEv2".to_owned());
        let incoming = &incoming[..answer.ok_or(Error::Silent)?];
        session.tape.datagram(session.server, own, incoming);
        let header = Header::read(incoming).map_err(|_| foreign())?;
        let message = Message::read(header.next, &incoming[Header::LENGTH..]).map_err(|_| foreign())?;
        let mut reply = None;
        let mut next = None;
        for payload in message.payloads {
            match payload.body {
                Body::Proposals(mut chosen) if chosen.len() == 1 => reply = chosen.pop().map(Reply::Chosen),
                Body::Notify { kind, data, .. } if kind == NotifyType::COOKIE => next = Some(data.to_vec()),
                Body::Notify { kind, data, .. } if kind == NotifyType::INVALID_KE_PAYLOAD => {
                    let method = data.try_into().map_err(|_| foreign())?;
                    reply = Some(Reply::Method(KeyExchangeMethod(u16::from_be_bytes(method))));
                }
                Body::Notify { kind, .. } if kind.is_error() => reply = Some(Reply::Refused(kind)),
                _ => {}
            }
        }
        if !matches!(reply, Some(Reply::Chosen(_))) {
            // The inspector judges what was chosen.
            session.tape.forget(place);
        }
        match reply {
            Some(reply) => return Ok(reply),
            None if next.is_some() => cookie = next,
            None => return Err(foreign()),
        }
    }
    Err(Error::Foreign("asks for cookies without end".to_owned()))
}
