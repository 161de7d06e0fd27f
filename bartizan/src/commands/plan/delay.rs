//! `bartizan plan delay`.

use bartizan_budget::delay::{Delay, Link, of};
use bartizan_budget::fronthaul::Mode;
use bartizan_budget::overhead::{IpVersion, Layout, Protection, Role};
use bartizan_budget::queue::Service;
use bartizan_budget::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share};
use bartizan_budget::{Source, published};
use bartizan_page::grid;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Section, Sheet};
use bartizan_registry::object;
use serde::Serialize;

use super::answer::{Form, again, cited, give, us};
use super::curves::{Curves, lab_word, word};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-delay/1";

/// Predict the delay of a packet by its parts: queueing, propagation, transmission, processing.
///
/// The model has one hop and one queue with Poisson arrivals (Groen et al. 2024, equation 1). What a protection adds to a frame is derived byte for byte
/// from the standards; what it adds to processing is measured: give a time or a curve.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan delay --size 1425 --distance 20km --protect esp:aes256gcm16\n  \
    bartizan plan delay --size 62 --protect esp:aes256-cbc-sha256 --delay-curve lab/experiments/e2-delay-by-size/records/2026-11-25T032609Z.jsonl.gz\n  \
    bartizan plan delay --size 7678 --protect macsec:gcm-aes-128 --delay-curve published --out plan\n  \
    bartizan plan delay --size 1425 --rate 1Gb/s --load 40% --processing 82us --json | jq .rows")]
pub(crate) struct Args {
    /// Bytes of the frame with its Ethernet header, without check sequence.
    #[arg(long, value_name = "BYTES", default_value = "1425")]
    size: Bytes,
    /// Protection: `none`, `esp:PROPOSAL[,transport][,udp][,ipv6]`, `macsec:SUITE[,no-sci]`,
    /// `tls:SUITE`; may be repeated.
    #[arg(long, value_name = "PROTECTION", default_values = ["esp:aes256-sha256", "esp:aes256gcm16", "macsec:gcm-aes-128"])]
    protect: Vec<Protection>,
    /// Rate of the line.
    #[arg(long, value_name = "RATE", default_value = "10Gb/s", allow_hyphen_values = true)]
    rate: BitsPerSecond,
    /// Length of the fibre.
    #[arg(long, value_name = "DISTANCE", default_value = "100m", allow_hyphen_values = true)]
    distance: Metres,
    /// Share of the rate that other traffic takes, without protection.
    #[arg(long, value_name = "SHARE", default_value = "0%", allow_hyphen_values = true)]
    load: Share,
    /// Distribution of packet sizes of that traffic.
    #[arg(long, value_enum, default_value_t = Sizes::Varied)]
    sizes: Sizes,
    /// Processing time of both ends together, independent of the protection; added to the value of
    /// a curve.
    #[arg(long, value_name = "TIME", default_value = "0us", allow_hyphen_values = true)]
    processing: Microseconds,
    /// Processing delay by size: `published`, a table of commas, or records of e2-delay-by-size.
    #[arg(long, value_name = "FILE")]
    delay_curve: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sizes {
    /// Exponentially: M/M/1.
    Varied,
    /// All alike: M/D/1.
    Alike,
}

bartizan_registry::made! {
    #[derive(Serialize)]
    struct Row, of(protection: &Protection, layout: Layout, delay: Delay, processing_from: Source) {
        protection: String = protection.name().to_owned(),
        sent_bytes: Bytes = layout.total(),
        overhead_bytes: Bytes = layout.overhead(),
        layout: Layout = layout,
        delay: Delay = delay,
        total_us: Microseconds = delay.total(),
        /// By the protection in all; none where its processing is not known.
        added_us: Option<Microseconds> = None,
        /// By its bytes alone: queueing and transmission.
        added_by_bytes_us: Microseconds = Microseconds::ZERO,
        processing_from: Source = processing_from,
    }
}

impl Row {
    /// Delay by the bytes of the frame.
    fn on_the_line(&self) -> Microseconds {
        self.delay.queueing_us + self.delay.transmission_us
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let link = Link {
        rate: args.rate,
        distance: args.distance,
        load: args.load,
        service: match args.sizes {
            Sizes::Varied => Service::Exponential,
            Sizes::Alike => Service::Constant,
        },
    };
    let curves = args.delay_curve.as_deref().map(Curves::read).transpose()?;
    let mut protections = vec![Protection::none()];
    protections.extend(args.protect.iter().filter(|protection| !protection.is_none()).cloned());
    let mut rows: Vec<Row> = Vec::new();
    for protection in &protections {
        let mut row = row(args, &link, protection, args.size, curves.as_ref())?;
        let (plain, line) = rows.first().map_or((row.total_us, row.on_the_line()), |plain| {
            (plain.total_us, plain.on_the_line())
        });
        row.added_us = curves.is_some().then(|| row.total_us.beyond(plain));
        row.added_by_bytes_us = row.on_the_line().beyond(line);
        rows.push(row);
    }
    let mut sources = vec![
        Source::paper(published::PAPER, "section 2.3, equation 1"),
        Source::formula("propagation: distance / 2e8 m/s"),
        Source::formula("transmission: bits of the frame / rate"),
        Source::formula(
            "queueing: transmission * load / (1 - load), half of it where sizes are alike; the load grows as the frame does",
        ),
    ];
    sources.extend(rows.iter().map(|row| row.processing_from.clone()));
    let sheet = sheet(args, &protections, &link, &rows, curves.as_ref(), &sources);
    let report = object!(Report {
        schema: SCHEMA,
        size_bytes: args.size,
        link,
        rows,
        sources,
    });
    give("delay", &sheet, &report, &args.form)?;
    Ok(Outcome::Clean)
}

fn row(
    args: &Args,
    link: &Link,
    protection: &Protection,
    size: Bytes,
    curves: Option<&Curves>,
) -> Result<Row, Failure> {
    let layout = protection.frame(size, IpVersion::V4).map_err(Failure::usage)?;
    let (measured, from) = match curves {
        None => (Microseconds::ZERO, Source::input("--processing")),
        Some(curves) => {
            let name = protection.name();
            let cipher = name.split_once(':').map_or(name, |(_, cipher)| cipher);
            let names: &[&str] = match name {
                _ if protection.is_none() => &["none"],
                _ if name.starts_with("macsec:") => &[
                    name,
                    cipher,
                    word(Mode::Encryption),
                    lab_word(Mode::Encryption, name.contains("256")),
                    "delay",
                ],
                _ => &[name, cipher, "delay"],
            };
            match curves.named(names) {
                // A table of one column says nothing of unprotected packets.
                None if protection.is_none() => (Microseconds::ZERO, Source::input("--processing")),
                _ => {
                    let curve = curves.needed(names)?;
                    (curve.at(size).map_err(Failure::usage)?, curve.source().clone())
                }
            }
        }
    };
    let delay = of(link, size, layout.total(), args.processing + measured).map_err(Failure::usage)?;
    Ok(Row::of(protection, layout, delay, from))
}

fn sheet(
    args: &Args,
    protections: &[Protection],
    link: &Link,
    rows: &[Row],
    curves: Option<&Curves>,
    sources: &[Source],
) -> Sheet {
    let mut parts = Section::new("delay by its parts");
    parts.tables.push(
        grid! { "microseconds, one way", row in rows, { let delay = &row.delay; };
            "protection": row.protection.clone(),
            "#frame": row.sent_bytes.value().to_string(),
            "#more": row.overhead_bytes.value().to_string(),
            "#queueing": us(delay.queueing_us),
            "#propagation": us(delay.propagation_us),
            "#transmission": us(delay.transmission_us),
            "#processing": us(delay.processing_us),
            "#total": us(row.total_us),
            "#added by bytes": us(row.added_by_bytes_us),
            "#added in all": row.added_us.map_or_else(|| "not known".to_owned(), us),
            "processing from": row.processing_from.to_string(),
        },
    );
    if let Some(drawing) = by_size(args, link, protections, curves) {
        parts.drawings.push((
            drawing,
            "Total delay one way by the size of the unprotected frame, all else as above. Steps are blocks that padding fills.".to_owned(),
        ));
    }
    let mut bytes = Section::new("every byte that is added");
    for row in rows.iter().skip(1) {
        bytes
            .tables
            .push(grid! { row.protection.clone(), part in &row.layout.parts;
                "part": part.name.to_string(),
                "#bytes": part.bytes.value().to_string(),
                "": match part.role {
                    Role::Payload => "as before",
                    Role::Added => "added",
                    Role::Padding => "padding",
                },
                "defined by": part.document.to_string(),
            });
    }
    let plain = rows.first().map_or(Microseconds::ZERO, |row| row.total_us);
    let added = |row: &Row| row.added_us.unwrap_or(row.added_by_bytes_us).value();
    let most = rows.iter().skip(1).max_by(|a, b| added(a).total_cmp(&added(b)));
    let answer = match most.map(|row| (row, row.added_us)) {
        Some((row, Some(added))) => format!(
            "A frame of {} takes {} us unprotected, and {} us more with {}, where that is most.",
            args.size,
            us(plain),
            us(added),
            row.protection
        ),
        Some((row, None)) => format!(
            "A frame of {} grows by at most {} ({}), which takes {} us on this line. What a protection adds to processing is not known and mostly \
             more: give a measured curve by --delay-curve.",
            args.size,
            row.overhead_bytes,
            row.protection,
            us(row.added_by_bytes_us)
        ),
        None => format!("A frame of {} takes {} us unprotected.", args.size, us(plain)),
    };
    Sheet {
        command: "bartizan plan delay".to_owned(),
        title: format!(
            "Delay of a frame of {} over {} m at {} Gb/s",
            args.size,
            link.distance.value(),
            link.rate.value() / 1e9
        ),
        question: "What does protection add to the delay of a packet, and where?".to_owned(),
        answer,
        sections: vec![parts, bytes],
        limits: vec![
            "One hop and one queue; switches, and what shares a link in bursts, are not in it.".to_owned(),
            "Queueing is a mean with Poisson arrivals; a percentile is not given.".to_owned(),
            "Processing is what was measured or given: the model adds none of its own.".to_owned(),
            "Preamble, gap and check sequence of Ethernet (24 bytes a frame) are not counted, as in the publication."
                .to_owned(),
        ],
        sources: cited(sources.iter().cloned()),
        again: again(),
    }
}

/// Total delay by size, for the sizes that every curve reaches.
fn by_size(
    args: &Args,
    link: &Link,
    protections: &[Protection],
    curves: Option<&Curves>,
) -> Option<bartizan_page::plot::Drawing> {
    let most = args.size.value().max(1514);
    let sizes: Vec<u64> = (0..=30).map(|step| 64 + step * (most - 64) / 30).collect();
    let line = |(tone, protection): (usize, &Protection)| {
        let points = sizes.iter().filter_map(|size| {
            let total = row(args, link, protection, Bytes::new(*size).ok()?, curves)
                .ok()?
                .total_us;
            Some(Point::at(*size as f64, total.value()))
        });
        Line {
            name: protection.name().to_owned(),
            tone,
            points: points.collect(),
        }
    };
    let items: Vec<Line> = protections
        .iter()
        .enumerate()
        .map(line)
        .filter(|line| !line.points.is_empty())
        .collect();
    let axis = Axis {
        quantity: "delay".to_owned(),
        unit: Shown::in_unit("µs"),
    };
    (!items.is_empty()).then(|| {
        lines(
            "Delay by size",
            &axis,
            "bytes of the unprotected frame",
            &[Panel { heading: None, items }],
        )
    })
}
