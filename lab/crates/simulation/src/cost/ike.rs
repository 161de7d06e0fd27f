//! IKEv2 set-ups of strongSwan: exchanges of RFC 7296, IKE_INTERMEDIATE of RFC 9242, fragments of
//! RFC 7383, key exchanges of RFC 9370.
//!
//! Sizes are built from the registry's and from the headers below; what a message has next to them
//! (proposals, nonces, notifications, traffic selectors) is the constant by which the experiment
//! sa-setup's charons exceed that sum. The tests hold bytes and packets against all 14 combinations
//! of that record.

use bartizan_registry::{FRAGMENT_UNIT, Header};

use super::engine::MeasuredSetUp;
use super::packets::{IP, MTU, UDP, fetch, message, one};
use super::record::CryptoCost;
use super::suite::{self, End, Suite, Worked, authentication_us, key_exchange_us, nanoseconds, transform_bytes};
use super::{CostError, EngineCosts};
use crate::simulation::{Exchange, Message, Procedure, Procedures};
use bartizan_budget::Source;

/// On port 4500: everything after IKE_SA_INIT.
const MARKER: u32 = Header::NON_ESP_MARKER.bytes as u32;
const HEADER: u32 = Header::IKE.bytes as u32;
/// A Key Exchange payload has four bytes beyond its header (RFC 7296, section 3.4).
const KEY_EXCHANGE: u32 = Header::IKE_PAYLOAD.bytes as u32 + 4;
/// SK payload with AES-GCM: header, IV, length of padding, ICV (RFC 7296, section 3.14; RFC 5282, section 3).
const ENCRYPTED: u32 = Header::IKE_PAYLOAD.bytes as u32 + 8 + 1 + 16;
/// SKF payload: its number and that of all.
const FRAGMENT: u32 = ENCRYPTED + Header::IKE_FRAGMENT.bytes as u32;
/// Longest IP datagram of an encrypted message: strongSwan's `fragment_size`.
const FRAGMENT_SIZE: u32 = 1280;

/// IKE_SA_INIT beyond headers of IP, UDP and IKE and its Key Exchange payload: proposal, nonce,
/// notifications; request and answer alike.
const INIT_BEYOND: u32 = 163;
/// IKE_AUTH beyond headers, certificates and the signature: identities, proposal, traffic selectors, notifications.
const AUTHENTICATION_BEYOND: u32 = 345;
/// CREATE_CHILD_SA beyond headers and its Key Exchange payload.
const CHILD_BEYOND: u32 = 134;
/// A further key exchange in a proposal: one transform (RFC 7296, section 3.3.2).
const TRANSFORM: u32 = 8;
/// A notification without data (RFC 7296, section 3.10): INTERMEDIATE_EXCHANGE_SUPPORTED, and in a
/// rekey ADDITIONAL_KEY_EXCHANGE.
const NOTIFICATION: u32 = 8;
/// Data that links IKE_FOLLOWUP_KE to its rekey (RFC 9370, section 2.2.4): strongSwan's is a byte.
const LINK: u32 = 1;

/// An unencrypted message: one UDP datagram, in IP fragments where the path is smaller.
fn plain(payload: u32) -> Message {
    let datagram = UDP + HEADER + payload;
    let room = (MTU - IP) / u32::from(FRAGMENT_UNIT) * u32::from(FRAGMENT_UNIT);
    let packets = datagram.div_ceil(room).max(1);
    message(datagram + packets * IP, packets)
}

/// An encrypted message: one IKE message, or IKE fragments.
fn encrypted(payload: u32) -> Message {
    let around = IP + UDP + MARKER + HEADER;
    let whole = around + ENCRYPTED + payload;
    if whole <= FRAGMENT_SIZE {
        return message(whole, 1);
    }
    let around = around + FRAGMENT;
    let fragments = payload.div_ceil(FRAGMENT_SIZE - around);
    message(payload + fragments * around, fragments)
}

/// Bytes of both messages of an exchange before it is framed, the site's microseconds, and the gateway's.
struct Draft {
    name: &'static str,
    request: Message,
    answer: Message,
    site_us: f64,
    gateway_us: f64,
    keeps: bool,
}

impl Draft {
    fn exchange(self, site_share: f64, gateway_share: f64) -> Exchange {
        Exchange {
            name: self.name.to_owned(),
            request: self.request,
            answer: self.answer,
            site_ns: nanoseconds(self.site_us + site_share),
            gateway_ns: nanoseconds(self.gateway_us + gateway_share),
            keeps: self.keeps,
        }
    }
}

/// The parts of a key exchange as proposals write it: `x25519-ke1_mlkem768` are two.
pub(super) fn parts(key_exchange: &str) -> Vec<&str> {
    key_exchange
        .split('-')
        .map(|part| match part.split_once('_') {
            Some((place, rest)) if place.starts_with("ke") => rest,
            _ => part,
        })
        .collect()
}

/// The exchanges of a set-up with the primitives' time in them, and nothing of the engine.
fn drafts(suite: &Suite, crypto: &CryptoCost) -> Result<Vec<Draft>, CostError> {
    let authentication = suite.authentication;
    let parts = parts(&suite.key_exchange);
    let more = parts.len() as u32 - 1;
    let supported = if more > 0 { more * TRANSFORM + NOTIFICATION } else { 0 };
    let mut drafts = Vec::with_capacity(parts.len() + 1);
    for (index, part) in parts.iter().enumerate() {
        let (initiator, responder) = transform_bytes(part)?;
        let (request, answer) = if index == 0 {
            let payload = |share| plain(INIT_BEYOND + supported + KEY_EXCHANGE + share);
            (payload(initiator), payload(responder))
        } else {
            let payload = |share| encrypted(KEY_EXCHANGE + share);
            (payload(initiator), payload(responder))
        };
        drafts.push(Draft {
            name: if index == 0 { "IKE_SA_INIT" } else { "IKE_INTERMEDIATE" },
            request,
            answer,
            site_us: key_exchange_us(crypto, part, End::Initiator)?,
            gateway_us: key_exchange_us(crypto, part, End::Responder)?,
            // IP fragments of a message that is sent again are those of another datagram.
            keeps: index > 0,
        });
    }
    let (sign, verify) = authentication_us(crypto, authentication, 1 + suite.chain)?;
    let certificates = authentication.certificate()? * u32::from(suite.chain);
    let both = encrypted(AUTHENTICATION_BEYOND + certificates + authentication.signature()?);
    drafts.push(Draft {
        name: "IKE_AUTH",
        request: both,
        answer: both,
        site_us: sign,
        gateway_us: sign + verify,
        keeps: true,
    });
    Ok(drafts)
}

/// The engine's own time of a set-up, each end's: what was measured less the primitives of that set-up.
fn own_us(measured: &MeasuredSetUp, suite: &Suite, crypto: &CryptoCost) -> Result<(f64, f64), CostError> {
    let primitives = drafts(suite, crypto)?;
    let (_, verify) = authentication_us(crypto, suite.authentication, 1 + suite.chain)?;
    let site: f64 = primitives.iter().map(|draft| draft.site_us).sum::<f64>() + verify;
    let gateway: f64 = primitives.iter().map(|draft| draft.gateway_us).sum();
    let initiator = measured.initiator_us.unwrap_or(measured.responder_us);
    Ok(((initiator - site).max(0.0), (measured.responder_us - gateway).max(0.0)))
}

/// The exchanges of a suite. Where its authentication was not measured, the engine's own time is
/// that of the same key exchange with ECDSA P-256: it does not depend on who signs.
pub(super) fn worked(
    suite: &Suite,
    crypto: &CryptoCost,
    engines: &EngineCosts,
    entries: u32,
) -> Result<Worked, CostError> {
    const REFERENCE: &str = "ecdsa-p256";
    let engine = engines.engine(suite.engine.name())?;
    // The record's charons have certificates of one authority, without an intermediate.
    let exact = engine
        .measured(&suite.key_exchange, suite.authentication.name)
        .filter(|_| suite.chain == 1);
    let reference = Suite {
        authentication: suite::Authentication::named(REFERENCE)?,
        chain: 1,
        ..suite.clone()
    };
    let measured = match exact {
        Some(exact) => exact,
        None => engine
            .measured(&suite.key_exchange, REFERENCE)
            .ok_or_else(|| CostError::NotMeasured {
                engine: suite.engine.name(),
                what: suite.key_exchange.clone(),
            })?,
    };
    let (site_own, gateway_own) = own_us(measured, if exact.is_some() { suite } else { &reference }, crypto)?;
    let set_up = drafts(suite, crypto)?;
    let count = set_up.len() as f64;
    let (_, verify) = authentication_us(crypto, suite.authentication, 1 + suite.chain)?;
    let exchanges = set_up
        .into_iter()
        .map(|draft| draft.exchange(site_own / count, gateway_own / count))
        .collect();
    let set_up = Procedure {
        exchanges,
        after_ns: nanoseconds(verify),
    };
    let rekey = rekey(suite, crypto, measured)?;
    let plain_exchange = engine
        .measured("x25519", REFERENCE)
        .and_then(|measured| measured.rekey_us)
        .map(|rekey| rekey - key_exchange_us(crypto, "x25519", End::Responder).unwrap_or(0.0));
    let dead_peer = Exchange {
        name: "INFORMATIONAL".to_owned(),
        request: encrypted(0),
        answer: encrypted(0),
        site_ns: 0,
        gateway_ns: nanoseconds(plain_exchange.unwrap_or(0.0)),
        keeps: true,
    };
    let sources = vec![
        Source::record(
            engine.record.clone(),
            format!("processor time of set-ups, {}", engine.processor),
        ),
        Source::record("record of primitives", crypto.described()),
        Source::standard(
            "RFC 7296, RFC 7383, RFC 9242, RFC 9370",
            "headers, fragments and exchanges; sizes of keys and signatures from the registry",
        ),
        Source::formula(
            "time of an exchange = (measured set-up - its primitives) / exchanges + primitives of the exchange",
        ),
        Source::formula(
            "dead peer detection and rekey take a core no longer than a rekey takes on the wire (median of the record)",
        ),
    ];
    Ok(Worked {
        procedures: Procedures {
            set_up,
            resume: None,
            dead_peer: one(dead_peer),
            rekey_child: rekey.clone(),
            rekey_ike: rekey,
            renew: one(fetch(
                "certificate",
                suite.authentication.spki()? + suite.authentication.signature()?,
                suite.authentication.certificate()? * u32::from(suite.chain),
            )),
            fetch_list: one(fetch("CRL", 200, suite::list_bytes(suite.authentication, entries)?)),
        },
        sources,
        measured: exact.is_some(),
        cost_interval: measured.cost_interval(),
        memory: engine.memory(&suite.key_exchange, suite.authentication.name),
    })
}

/// CREATE_CHILD_SA with a key exchange, and IKE_FOLLOWUP_KE for each further one.
fn rekey(suite: &Suite, crypto: &CryptoCost, measured: &MeasuredSetUp) -> Result<Procedure, CostError> {
    let parts = parts(&suite.key_exchange);
    let more = parts.len() as u32 - 1;
    let primitives: f64 = parts
        .iter()
        .map(|part| key_exchange_us(crypto, part, End::Responder))
        .sum::<Result<f64, _>>()?;
    let own = (measured.rekey_us.unwrap_or(0.0) - primitives).max(0.0) / parts.len() as f64;
    let link = if more > 0 {
        more * TRANSFORM + NOTIFICATION + LINK
    } else {
        0
    };
    let mut exchanges = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let (initiator, responder) = transform_bytes(part)?;
        let beyond = if index == 0 { CHILD_BEYOND + link } else { 0 };
        exchanges.push(Exchange {
            name: if index == 0 {
                "CREATE_CHILD_SA"
            } else {
                "IKE_FOLLOWUP_KE"
            }
            .to_owned(),
            request: encrypted(beyond + KEY_EXCHANGE + initiator),
            answer: encrypted(beyond + KEY_EXCHANGE + responder),
            site_ns: nanoseconds(key_exchange_us(crypto, part, End::Initiator)?),
            gateway_ns: nanoseconds(own + key_exchange_us(crypto, part, End::Responder)?),
            keeps: true,
        });
    }
    Ok(Procedure { exchanges, after_ns: 0 })
}
