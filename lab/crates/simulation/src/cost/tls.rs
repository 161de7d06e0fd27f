//! TLS 1.3 over TCP with both ends authenticated, as Bartizan's sidecars do it (RFC 9846; initial window of RFC 6928).
//!
//! Sizes are the registry's; what messages have next to them is the constant by which the
//! connections of the experiment scale (part chain, certificates ECDSA P-256, one certificate each)
//! exceed that sum. Acknowledgements without data are left out, some 4 % of the bytes.

use bartizan_registry::{TCP_INITIAL_SEGMENTS, group_named};

use super::engine::MeasuredSetUp;
use super::packets::{ACKNOWLEDGEMENT, SEGMENT, fetch, one, over_tcp};
use super::record::CryptoCost;
use super::suite::{self, Authentication, End, Suite, Worked, authentication_us, key_exchange_us, nanoseconds};
use super::{CostError, EngineCosts};
use crate::simulation::{Exchange, Message, Procedure, Procedures};
use bartizan_budget::Source;

/// SYN with options: IP, TCP, maximum segment size, timestamps, window scale (RFC 9293, section 3.2; RFC 7323).
const SYN: u32 = 60;

/// ClientHello beyond its key share; the server's flight beyond key share, certificates and
/// signature; the client's flight beyond certificates and signature.
const CLIENT_HELLO_BEYOND: u32 = 180;
const SERVER_BEYOND: u32 = 303;
const CLIENT_BEYOND: u32 = 100;
/// A certificate of Bartizan's authority beyond what [`Authentication::certificate`] has of strongSwan's.
const CERTIFICATE_MORE: u32 = 85;
/// Bytes that resumption adds to a ClientHello: identity of a ticket and binder (RFC 9846, section
/// 4.2.11), with a ticket of rustls.
const TICKET: u32 = 250;
/// The server's flight of a resumed session beyond its key share: ServerHello, EncryptedExtensions, Finished.
const RESUMED_BEYOND: u32 = 240;
/// The answer to the client's flight: two tickets, or data of the application.
const TICKETS: u32 = 2 * TICKET;

fn certificates(suite: &Suite) -> Result<u32, CostError> {
    Ok((suite.authentication.certificate()? + CERTIFICATE_MORE) * u32::from(suite.chain))
}

/// IKE's words for the parts of a group, by which their cost is found.
pub(super) fn parts(group: &str) -> Result<(u32, u32, Vec<&'static str>), CostError> {
    let known = group_named(group).ok_or_else(|| CostError::Unknown {
        what: "group",
        given: group.to_owned(),
        known: "X25519, secp256r1, secp384r1, MLKEM512, MLKEM768, MLKEM1024, X25519MLKEM768, SecP256r1MLKEM768, SecP384r1MLKEM1024".to_owned(),
    })?;
    let word = |name: &'static str| match name {
        "x25519" => Ok("x25519"),
        "secp256r1" => Ok("secp256r1"),
        "secp384r1" => Ok("secp384r1"),
        "MLKEM512" => Ok("mlkem512"),
        "MLKEM768" => Ok("mlkem768"),
        "MLKEM1024" => Ok("mlkem1024"),
        other => Err(CostError::Missing(format!("{other} key exchange"))),
    };
    let parts = if known.parts.is_empty() {
        vec![word(known.name)?]
    } else {
        let named = known.parts.iter().filter_map(|part| bartizan_registry::group(*part));
        named.map(|part| word(part.name)).collect::<Result<_, _>>()?
    };
    Ok((u32::from(known.client_share), u32::from(known.server_share), parts))
}

struct Primitives {
    site_hello: f64,
    gateway_hello: f64,
    sign: f64,
    verify: f64,
}

fn primitives(suite: &Suite, crypto: &CryptoCost, verified: u8) -> Result<Primitives, CostError> {
    let (_, _, parts) = parts(&suite.key_exchange)?;
    let sum = |end| {
        parts
            .iter()
            .map(|part| key_exchange_us(crypto, part, end))
            .sum::<Result<f64, _>>()
    };
    let (sign, verify) = authentication_us(crypto, suite.authentication, verified)?;
    Ok(Primitives {
        site_hello: sum(End::Initiator)?,
        gateway_hello: sum(End::Responder)?,
        sign,
        verify,
    })
}

/// The sidecar's own time of a handshake: what was measured less the primitives of that handshake.
/// The record's peers are the same each time, so that only CertificateVerify is verified: a
/// signature in a chain that is known is not verified again.
fn own_us(measured: &MeasuredSetUp, crypto: &CryptoCost, chain: u8) -> Result<f64, CostError> {
    let reference = Suite {
        engine: suite::Engine::Bartizan,
        key_exchange: measured.key_exchange.clone(),
        authentication: Authentication::named(&measured.authentication)?,
        chain,
        resumes: false,
    };
    let primitives = primitives(&reference, crypto, 1)?;
    let sum = primitives.gateway_hello + primitives.sign + primitives.verify;
    Ok((measured.responder_us - sum).max(0.0))
}

pub(super) fn worked(
    suite: &Suite,
    crypto: &CryptoCost,
    engines: &EngineCosts,
    entries: u32,
) -> Result<Worked, CostError> {
    let engine = engines.engine(suite.engine.name())?;
    let exact = engine
        .measured(&suite.key_exchange, suite.authentication.name)
        .filter(|_| suite.chain == 1 && !suite.resumes);
    let is_classical =
        |name: &str| bartizan_registry::primitive(name).is_some_and(|primitive| primitive.category.is_none());
    // The sidecar's own time grows with the bytes that it handles: that of a post-quantum handshake
    // where certificates are.
    let nearest = |set_up: &&MeasuredSetUp| {
        Authentication::named(&set_up.authentication).is_ok_and(|authentication| {
            is_classical(authentication.primitive) == is_classical(suite.authentication.primitive)
        })
    };
    let measured = exact
        .or_else(|| engine.set_ups.iter().find(nearest))
        .ok_or_else(|| CostError::NotMeasured {
            engine: suite.engine.name(),
            what: suite.authentication.name.to_owned(),
        })?;
    let own = own_us(measured, crypto, 1)? / 2.0;
    let (client_share, server_share, _) = parts(&suite.key_exchange)?;
    let set_up = whole(suite, crypto, own, client_share, server_share)?;
    let resume = suite
        .resumes
        .then(|| resumed(suite, crypto, own, client_share, server_share))
        .transpose()?;
    // PING of HTTP/2 in a record (RFC 9113, section 6.7): of no cost that was measured.
    let ping = exchange("PING", over_tcp(39), over_tcp(39), 0.0, 0.0);
    let sources = vec![
        Source::record(
            engine.record.clone(),
            format!("processor time of a handshake, {}", engine.processor),
        ),
        Source::record("record of primitives", crypto.described()),
        Source::standard(
            "RFC 9846, RFC 9293, RFC 6928",
            "messages, segments and initial window; sizes of keys and signatures from the registry",
        ),
        Source::formula(
            "time of a flight = (measured handshake - its primitives) / 2 + primitives of the flight; a site's own time is taken as the sidecar's",
        ),
    ];
    Ok(Worked {
        procedures: Procedures {
            set_up,
            resume,
            dead_peer: one(ping.clone()),
            rekey_child: one(ping.clone()),
            rekey_ike: one(ping),
            renew: one(fetch(
                "certificate",
                suite.authentication.spki()? + suite.authentication.signature()?,
                certificates(suite)?,
            )),
            fetch_list: one(fetch("CRL", 200, suite::list_bytes(suite.authentication, entries)?)),
        },
        sources,
        measured: exact.is_some(),
        cost_interval: measured.cost_interval(),
        memory: engine.memory(&suite.key_exchange, suite.authentication.name),
    })
}

fn whole(
    suite: &Suite,
    crypto: &CryptoCost,
    own: f64,
    client_share: u32,
    server_share: u32,
) -> Result<Procedure, CostError> {
    // At first contact with a peer every signature of its chain is verified.
    let costs = primitives(suite, crypto, 1 + suite.chain)?;
    let papers = certificates(suite)? + suite.authentication.signature()?;
    let mut exchanges = vec![syn()];
    exchanges.extend(flight(
        over_tcp(CLIENT_HELLO_BEYOND + client_share),
        SERVER_BEYOND + server_share + papers,
        costs.site_hello + own,
        costs.gateway_hello + costs.sign + own,
    ));
    exchanges.push(exchange(
        "Finished",
        over_tcp(CLIENT_BEYOND + papers),
        over_tcp(TICKETS),
        costs.verify + costs.sign + own,
        costs.verify + own,
    ));
    Ok(Procedure { exchanges, after_ns: 0 })
}

/// A session that is resumed with a new key exchange (psk_dhe_ke; RFC 9846, section 4.2.9): no
/// certificates and no signatures.
fn resumed(
    suite: &Suite,
    crypto: &CryptoCost,
    own: f64,
    client_share: u32,
    server_share: u32,
) -> Result<Procedure, CostError> {
    let costs = primitives(suite, crypto, 1)?;
    let mut exchanges = vec![syn()];
    exchanges.extend(flight(
        over_tcp(CLIENT_HELLO_BEYOND + TICKET + client_share),
        RESUMED_BEYOND + server_share,
        costs.site_hello + own,
        costs.gateway_hello + own,
    ));
    exchanges.push(exchange(
        "Finished",
        over_tcp(CLIENT_BEYOND),
        over_tcp(TICKETS),
        own,
        own,
    ));
    Ok(Procedure { exchanges, after_ns: 0 })
}

fn syn() -> Exchange {
    let message = Message { bytes: SYN, packets: 1 };
    exchange("TCP", message, message, 0.0, 0.0)
}

/// A request, and an answer that goes out by windows: a round trip more for each time it doubles.
fn flight(request: Message, answer: u32, site_us: f64, gateway_us: f64) -> Vec<Exchange> {
    let mut window = u32::from(TCP_INITIAL_SEGMENTS) * SEGMENT;
    let mut left = answer;
    let first = left.min(window);
    left -= first;
    let mut exchanges = vec![exchange("ClientHello", request, over_tcp(first), site_us, gateway_us)];
    let acknowledgement = Message {
        bytes: ACKNOWLEDGEMENT,
        packets: 1,
    };
    while left > 0 {
        window = window.saturating_mul(2);
        let next = left.min(window);
        left -= next;
        exchanges.push(exchange(
            "more of the server's flight",
            acknowledgement,
            over_tcp(next),
            0.0,
            0.0,
        ));
    }
    exchanges
}

fn exchange(name: &str, request: Message, answer: Message, site_us: f64, gateway_us: f64) -> Exchange {
    Exchange {
        name: name.to_owned(),
        request,
        answer,
        site_ns: nanoseconds(site_us),
        gateway_ns: nanoseconds(gateway_us),
        keeps: true,
    }
}
