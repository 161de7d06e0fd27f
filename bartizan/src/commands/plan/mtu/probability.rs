//! Probability that a set-up ends within the deadline.

use bartizan_budget::mtu::{Leg, Retransmission, SetUp, Within, set_up_within};
use bartizan_budget::unit::{Microseconds, Share};
use bartizan_page::grid;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::Section;
use serde::Serialize;

use super::Args;
use super::handshakes::{IkeRow, TlsRow};
use crate::Failure;
use crate::commands::plan::answer::number;

/// One protocol with one choice of algorithms.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) protocol: &'static str,
    pub(super) key_exchange: String,
    pub(super) signature: &'static str,
    pub(super) chain: u8,
    pub(super) within: Within,
    #[serde(skip)]
    set_up: SetUp,
}

fn packets(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// TCP's timer once it knows the round trip: SRTT and four times half of it, a second at least (RFC 6298, sections 2.2 to 2.4).
fn after_sample(round_trip: Microseconds) -> Result<Retransmission, Failure> {
    let timer = (3.0 * round_trip.value()).max(Retransmission::TCP_RTO_LEAST);
    Retransmission::new((timer, 2.0, Retransmission::TCP_SYN.2)).map_err(Failure::usage)
}

pub(super) fn rows(args: &Args, tls: &[TlsRow], ike: &[IkeRow]) -> Result<Vec<Row>, Failure> {
    let round_trip_us = args.round_trip;
    let syn = Retransmission::new(Retransmission::TCP_SYN).map_err(Failure::usage)?;
    let rto = after_sample(round_trip_us)?;
    let first = Retransmission::new((Retransmission::QUIC_PTO_FIRST, 2.0, Retransmission::TCP_SYN.2))
        .map_err(Failure::usage)?;
    // With a sample: SRTT and four times half of it (RFC 9002, section 6.2.1), of handshake packets without a delay for acknowledgements.
    let probe =
        Retransmission::new((3.0 * round_trip_us.value(), 2.0, Retransmission::TCP_SYN.2)).map_err(Failure::usage)?;
    let strongswan = Retransmission::new(Retransmission::STRONGSWAN).map_err(Failure::usage)?;
    let most = Microseconds::new(Retransmission::OURS_MOST).map_err(Failure::usage)?;
    let ours = Retransmission::new(Retransmission::OURS)
        .map_err(Failure::usage)?
        .no_longer_than(most);
    let flight = |packets, rounds, timer| Leg::Flight { packets, rounds, timer };
    let mut rows = Vec::new();
    let mut add = |protocol, key_exchange: &str, signature, chain, legs: Vec<Leg>| -> Result<(), Failure> {
        let set_up = SetUp { legs, round_trip_us };
        let within =
            set_up_within(&set_up, args.loss, args.deadline, args.trials, args.seed).map_err(Failure::usage)?;
        rows.push(Row {
            protocol,
            key_exchange: key_exchange.to_owned(),
            signature,
            chain,
            within,
            set_up,
        });
        Ok(())
    };
    for row in tls {
        let of = |flight_of: &bartizan_budget::mtu::Flight| flight(packets(flight_of.segments), flight_of.rounds, rto);
        let shake = Leg::Exchange {
            request: 1,
            response: 1,
            timer: syn,
        };
        add(
            "TLS over TCP",
            row.group,
            row.signature,
            row.chain,
            vec![shake, of(&row.client_hello), of(&row.server), of(&row.client)],
        )?;
    }
    for row in tls {
        let [hello, server, client] = row.quic_datagrams;
        let legs = vec![
            flight(hello, 1, first),
            flight(server, row.quic_rounds, probe),
            flight(client, 1, probe),
        ];
        add("QUIC", row.group, row.signature, row.chain, legs)?;
    }
    for (protocol, timer) in [
        ("IKEv2, strongSwan's timers", strongswan),
        ("IKEv2, bartizan up's timers", ours),
    ] {
        for row in ike {
            let legs = row.exchanges.iter().map(|exchange| Leg::Exchange {
                request: packets(exchange.request.packets),
                response: packets(exchange.response.packets),
                timer,
            });
            add(protocol, &row.key_exchange, row.signature, row.chain, legs.collect())?;
        }
    }
    Ok(rows)
}

pub(super) fn section(args: &Args, rows: &[Row]) -> Section {
    let mut section = Section::new("how likely a set-up ends in time");
    let ms =
        |time: Option<Microseconds>| time.map_or_else(|| "given up".to_owned(), |time| number(time.value() / 1e3, 1));
    let caption = format!(
        "within {} ms at {} % loss and a round trip of {} ms: {} trials by seed {}, interval by Wilson",
        number(args.deadline.value() / 1e3, 1),
        number(args.loss.value() * 100.0, 3),
        number(args.round_trip.value() / 1e3, 3),
        args.trials,
        args.seed
    );
    section
        .tables
        .push(grid! { caption, row in rows, { let within = &row.within; };
            "protocol": row.protocol,
            "key exchange": row.key_exchange.clone(),
            "signature": row.signature,
            "#chain": row.chain.to_string(),
            "#in time": format!("{:.4}", within.probability),
            "#95 %": format!("{:.4}-{:.4}", within.low, within.high),
            "#median ms": ms(within.median_us),
            "#99 % ms": ms(within.p99_us),
        });
    section.drawings.extend(by_loss(args, rows));
    section
}

/// For each protocol, the row with most packets by loss.
fn by_loss(args: &Args, rows: &[Row]) -> Option<(bartizan_page::plot::Drawing, String)> {
    let mut protocols: Vec<&Row> = Vec::new();
    for row in rows {
        match protocols.iter_mut().find(|known| known.protocol == row.protocol) {
            // Later rows have larger signatures and longer chains where they are given in that order.
            Some(known) if row.within.probability <= known.within.probability => *known = row,
            Some(_) => {}
            None => protocols.push(row),
        }
    }
    let losses = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
    let mut items = Vec::new();
    for (tone, row) in protocols.into_iter().enumerate() {
        let points = losses.iter().filter_map(|loss| {
            let within = set_up_within(
                &row.set_up,
                Share::new(*loss).ok()?,
                args.deadline,
                args.trials.min(5000),
                args.seed,
            )
            .ok()?;
            Some(Point::at(loss * 100.0, within.probability))
        });
        items.push(Line {
            name: format!(
                "{}: {}, {}, chain of {}",
                row.protocol, row.key_exchange, row.signature, row.chain
            ),
            tone,
            points: points.collect(),
        });
    }
    let axis = Axis {
        quantity: "share that ends in time".to_owned(),
        unit: Shown::bare(),
    };
    (!items.is_empty()).then(|| {
        (
            lines(
                "Set-up in time by loss",
                &axis,
                "per cent of packets lost",
                &[Panel { heading: None, items }],
            ),
            format!(
                "For each protocol the choice that is least likely to end within {} ms, by loss.",
                number(args.deadline.value() / 1e3, 1)
            ),
        )
    })
}
