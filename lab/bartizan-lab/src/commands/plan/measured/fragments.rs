//! Packets and fragments of IKEv2 set-ups: what an MTU makes of larger key shares.

use std::collections::BTreeMap;

use bartizan_budget::Source;
use bartizan_budget::mtu::{Certificates, Exchange, IkeHandshake, Port};
use bartizan_budget::overhead::IpVersion;
use bartizan_budget::unit::Bytes;
use bartizan_page::sheet::{Field, Grid, Section, Tone};
use bartizan_registry::{Transform, TransformKind, signature_named, transform_named};
use serde::Serialize;

use super::super::costs::Costs;
use super::{Compared, File, error_field, median, median_absolute};
use crate::Failure;
use bartizan_terminal::answer::number;

/// A set-up as the planner has it: proposals as strongSwan writes them, one certificate at each end.
pub(super) fn handshake(key_exchange: &str, authentication: &str, port: Port) -> Option<IkeHandshake> {
    let method = |(index, name): (usize, &str)| -> Option<&'static Transform> {
        let name = if index == 0 { name } else { name.split_once('_')?.1 };
        transform_named(TransformKind::KeyExchange, name)
    };
    let scheme = match authentication {
        "ecdsa-p256" => "ecdsa_secp256r1_sha256",
        other => other,
    };
    Some(IkeHandshake {
        key_exchanges: key_exchange.split('-').enumerate().map(method).collect::<Option<_>>()?,
        scheme: signature_named(scheme)?,
        certificates: Certificates {
            chain: 1,
            extra: Bytes::from(Certificates::CAPTURED_EXTRA),
        },
        fragment_size: Some(Bytes::from(IkeHandshake::FRAGMENT_SIZE)),
        port,
        ip: IpVersion::V4,
    })
}

/// Algorithms of a set-up, with MTU and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Combination {
    key_exchange: String,
    authentication: String,
    mtu: u64,
    /// libipsec does ESP in UDP, on port 4500 from the first encrypted message on.
    in_udp: bool,
}

#[derive(Default)]
struct Measured {
    bytes: Vec<f64>,
    packets: Vec<f64>,
    ip_fragments: Vec<f64>,
    ike_fragments: Vec<f64>,
}

/// A combination: measured, predicted.
#[derive(Serialize)]
struct Row {
    key_exchange: String,
    authentication: String,
    mtu: u64,
    port: Port,
    n: usize,
    packets: (f64, u64),
    ip_fragments: (f64, u64),
    ike_fragments: (f64, u64),
    bytes: (f64, u64),
    /// True if packets and fragments of both kinds are those predicted.
    agrees: bool,
    /// Relative error of the bytes.
    error: f64,
}

pub(super) fn compare(files: &[File], _: &Costs) -> Result<Option<Compared>, Failure> {
    let (measured, sources) = read(files);
    let rows: Vec<Row> = measured.iter().filter_map(|(of, values)| row(of, values)).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let agree = rows.iter().filter(|row| row.agrees).count();
    let errors: Vec<f64> = rows.iter().map(|row| row.error).collect();
    Ok(Some(Compared {
        what: "IKEv2 bytes by MTU",
        answer: format!(
            "Packets, IKE fragments and IP fragments of IKEv2 set-ups are those predicted in {agree} of {} combinations, their bytes within {} % (median).",
            rows.len(),
            number(median_absolute(&errors) * 100.0, 1)
        ),
        errors,
        sections: vec![section(&rows)],
        limits: Vec::new(),
        sources,
        rows: super::rows(&rows)?,
    }))
}

fn read(files: &[File]) -> (BTreeMap<Combination, Measured>, Vec<Source>) {
    let mut measured: BTreeMap<Combination, Measured> = BTreeMap::new();
    let mut sources = Vec::new();
    for file in files {
        let before = measured.len();
        for (record, values) in file.measured() {
            let (Some(key_exchange), Some(mtu)) = (record.levels.level("key-exchange"), file.fact(record, "mtu"))
            else {
                continue;
            };
            // A lost packet is sent again.
            if !values.contains_key("ike-fragments") || record.levels.level("loss").is_some_and(|loss| loss != "0") {
                continue;
            }
            let combination = Combination {
                key_exchange: key_exchange.to_owned(),
                authentication: record.levels.level("authentication").unwrap_or("ecdsa-p256").to_owned(),
                mtu: mtu.as_u64().unwrap_or(0),
                in_udp: file.fact(record, "esp").is_some_and(|esp| esp == "libipsec"),
            };
            let of = measured.entry(combination).or_default();
            for (metric, into) in [
                ("bytes", &mut of.bytes),
                ("packets", &mut of.packets),
                ("ip-fragments", &mut of.ip_fragments),
                ("ike-fragments", &mut of.ike_fragments),
            ] {
                into.extend(values.get(metric).into_iter().flatten());
            }
        }
        if measured.len() > before {
            sources.push(file.source("packets of strongSwan's set-ups"));
        }
    }
    sources.push(Source::standard("RFC 791, RFC 7383", "IP fragments and IKE fragments"));
    (measured, sources)
}

fn row(of: &Combination, values: &Measured) -> Option<Row> {
    let port = if of.in_udp { Port::P4500 } else { Port::P500 };
    let mtu = Bytes::new(of.mtu).ok()?;
    let exchanges = handshake(&of.key_exchange, &of.authentication, port)?.exchanges(mtu)?;
    let predicted = Predicted::of(&exchanges);
    let packets = median(&values.packets)?;
    let ip_fragments = median(&values.ip_fragments)?;
    let ike_fragments = median(&values.ike_fragments)?;
    // Bytes are not in every part's record.
    let bytes = median(&values.bytes)?;
    Some(Row {
        key_exchange: of.key_exchange.clone(),
        authentication: of.authentication.clone(),
        mtu: of.mtu,
        port,
        n: values.packets.len(),
        agrees: packets == predicted.packets as f64
            && ip_fragments == predicted.ip_fragments as f64
            && ike_fragments == predicted.ike_fragments as f64,
        packets: (packets, predicted.packets),
        ip_fragments: (ip_fragments, predicted.ip_fragments),
        ike_fragments: (ike_fragments, predicted.ike_fragments),
        bytes: (bytes, predicted.bytes),
        error: predicted.bytes as f64 / bytes - 1.0,
    })
}

/// A set-up in both directions, counted as a capture counts it.
#[derive(Default)]
struct Predicted {
    bytes: u64,
    packets: u64,
    ip_fragments: u64,
    ike_fragments: u64,
}

impl Predicted {
    fn of(exchanges: &[Exchange]) -> Self {
        let mut sum = Self::default();
        for exchange in exchanges {
            for message in [exchange.request, exchange.response] {
                sum.packets += message.packets;
                sum.bytes += message.ip_bytes.value();
                if message.ike_fragments > 1 {
                    sum.ike_fragments += message.ike_fragments;
                } else if message.packets > 1 {
                    sum.ip_fragments += message.packets;
                }
            }
        }
        sum
    }
}

fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("packets and fragments of IKEv2 set-ups");
    let mut grid = Grid::under(
        "of a set-up in both directions, measured (median) and predicted",
        [
            "key exchange",
            "authentication",
            "#MTU",
            "port",
            "#n",
            "#packets",
            "#predicted",
            "#IKE fragments",
            "#predicted",
            "#IP fragments",
            "#predicted",
            "agree",
            "#bytes",
            "#predicted",
            "#error %",
        ],
    );
    for row in rows {
        let mut fields = vec![
            Field::from(row.key_exchange.clone()),
            Field::from(row.authentication.clone()),
            Field::from(row.mtu.to_string()),
            Field::from(if row.port == Port::P4500 { "4500" } else { "500" }),
            Field::from(row.n.to_string()),
        ];
        for (measured, predicted) in [row.packets, row.ike_fragments, row.ip_fragments] {
            fields.push(Field::from(number(measured, 1)));
            fields.push(Field::from(predicted.to_string()));
        }
        fields.push(if row.agrees {
            Field::toned("yes", Tone::Good)
        } else {
            Field::toned("no", Tone::Bad)
        });
        fields.push(Field::from(number(row.bytes.0, 1)));
        fields.push(Field::from(row.bytes.1.to_string()));
        fields.push(error_field(row.error));
        grid.push(fields);
    }
    section.tables.push(grid);
    section
}
