//! `bartizan plan fronthaul`.

use bartizan_budget::curve::DelayCurve;
use bartizan_budget::delay::Link;
use bartizan_budget::fronthaul::{
    Feasibility, Limit, Mode, O_DU, O_RU, Processing, feasibility, observed_frame, reach_metres,
};
use bartizan_budget::overhead::Protection;
use bartizan_budget::queue::Service;
use bartizan_budget::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share};
use bartizan_budget::{Source, published};
use bartizan_page::grid;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Field, Grid, Section, Sheet, Tone};
use bartizan_registry::object;
use serde::Serialize;

use super::answer::{Form, again, cited, give, number, us};
use super::curves::{Curves, PUBLISHED, lab_word, word};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-fronthaul/1";

/// One-way delay classes of O-RAN WG9 (XTRP-REQ, table 3) for user plane, in microseconds.
const CLASSES: [(u16, &str); 5] = [
    (25, "class 25 us"),
    (75, "class 75 us"),
    (100, "class 100 us"),
    (200, "class 200 us"),
    (500, "class 500 us"),
];

/// Say which pairs of O-DU and O-RU a fronthaul can join with MACsec that encrypts, with integrity alone, or only without.
///
/// A pair is feasible where queueing, propagation, transmission and processing are within the limit of its delay categories (O-RAN.WG4.CUS, annex B; table 4 of
/// Groen et al. 2024). The published curve is what MACsec in software added on their two machines; what processing takes without MACsec stands in no text of theirs:
/// give it by --processing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan fronthaul\n  \
    bartizan plan fronthaul --distance 10km --processing 20us --out plan\n  \
    bartizan plan fronthaul --delay-curve switch.csv --limit guaranteed --json | jq .feasible\n\n\
A table of a delay curve has a heading and microseconds by size:\n  \
    size,none,integrity,encryption\n  \
    64,4,5,5\n  \
    9000,11,14,14")]
pub(crate) struct Args {
    /// Bytes of the largest frame with its Ethernet header, without check sequence [default: 7678, as Groen et al. 2024 observed].
    #[arg(long, value_name = "BYTES")]
    size: Option<Bytes>,
    /// Rate of the line.
    #[arg(long, value_name = "RATE", default_value = "10Gb/s", allow_hyphen_values = true)]
    rate: BitsPerSecond,
    /// Length of the fibre.
    #[arg(long, value_name = "DISTANCE", default_value = "100m", allow_hyphen_values = true)]
    distance: Metres,
    /// Share of the rate that other traffic takes.
    #[arg(long, value_name = "SHARE", default_value = "0%", allow_hyphen_values = true)]
    load: Share,
    /// The MACsec suite: macsec:SUITE[,no-sci].
    #[arg(long, value_name = "PROTECTION", default_value = "macsec:gcm-aes-128")]
    protect: Protection,
    /// Processing of both ends and all switches without MACsec; added to what the curve says.
    #[arg(long, value_name = "TIME", default_value = "0us", allow_hyphen_values = true)]
    processing: Microseconds,
    /// Processing delay by size: `published`, a table of commas, or records of the lab.
    #[arg(long, value_name = "FILE", default_value = PUBLISHED)]
    delay_curve: String,
    /// Which limit of a pair counts.
    #[arg(long, value_enum, default_value_t = Which::Best)]
    limit: Which,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Best units of the two categories, as table 4 prints.
    Best,
    /// Values that every unit of the two categories meets.
    Guaranteed,
}

#[derive(Serialize)]
struct Count {
    mode: Mode,
    /// Pairs for which this is the strongest.
    strongest: usize,
    /// Pairs that it fits.
    fits: usize,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    // Feasibility has three modes of MACsec; ESP and TLS need IP, which the frames have not.
    if !args.protect.is_macsec() {
        let name = args.protect.name();
        return Err(
            Failure::usage(format!("--protect {name}: frames of the open fronthaul are protected by MACsec alone"))
                .hint("give macsec:gcm-aes-128 or another suite of `bartizan algorithms --kind macsec`; every answer has the pairs without protection too")
                .hint(format!("for a link of IP packets: `bartizan plan delay --protect {name}`")),
        );
    }
    let size = args.size.unwrap_or_else(observed_frame);
    let curves = Curves::read(&args.delay_curve)?;
    let processing = processing(args, &curves)?;
    let link = link(args, args.distance);
    let limit = match args.limit {
        Which::Best => Limit::Best,
        Which::Guaranteed => Limit::Guaranteed,
    };
    let at = |link: &Link| feasibility(link, size, &args.protect, &processing, limit).map_err(Failure::usage);
    let found = at(&link)?;
    let counts = counts(&found);
    let mut sources = vec![
        Source::standard("O-RAN.WG4.CUS", "annex B, tables B.2-2 and B.2-3: delay categories"),
        Source::paper(published::PAPER, "table 4"),
        Source::standard("O-RAN.WG9.XTRP-REQ v01", "table 3: one-way delay classes"),
    ];
    sources.extend(
        Mode::ALL
            .iter()
            .filter_map(|mode| processing.of(*mode))
            .map(|curve| curve.source().clone()),
    );
    if args.processing != Microseconds::ZERO {
        sources.push(Source::input("--processing"));
    }
    let mut sheet = sheet(args, size, &found, &counts, &sources);
    if let Some(section) = sheet.sections.first_mut() {
        section.drawings.extend(by_distance(args, &at));
    }
    let report = object!(Report {
        schema: SCHEMA,
        size_bytes: size,
        link,
        feasibility: found,
        // Pairs by the strongest mode that fits.
        feasible: counts,
        sources,
    });
    give("fronthaul", &sheet, &report, &args.form)?;
    Ok(Outcome::Clean)
}

fn link(args: &Args, distance: Metres) -> Link {
    Link {
        rate: args.rate,
        distance,
        load: args.load,
        service: Service::Exponential,
    }
}

fn processing(args: &Args, curves: &Curves) -> Result<Processing, Failure> {
    let more = |curve: &DelayCurve| {
        let points = curve
            .points()
            .iter()
            .map(|(size, delay)| (*size, *delay + args.processing));
        DelayCurve::new(points.collect(), curve.source().clone()).map_err(Failure::usage)
    };
    let of = |names: &[&str]| curves.named(names).map(more).transpose();
    let is_256 = args.protect.name().contains("256");
    let lab = |mode| lab_word(mode, is_256);
    let encryption = of(&[
        word(Mode::Encryption),
        args.protect.name(),
        lab(Mode::Encryption),
        "delay",
    ])?;
    if encryption.is_none() {
        curves.needed(&[word(Mode::Encryption), lab(Mode::Encryption), "delay"])?;
    }
    Ok(Processing {
        encryption,
        integrity: of(&[word(Mode::Integrity), lab(Mode::Integrity)])?,
        unprotected: of(&[word(Mode::Unprotected)])?,
    })
}

fn counts(found: &Feasibility) -> Vec<Count> {
    let pairs = || found.pairs.iter().flatten().filter_map(|pair| pair.strongest);
    let modes = found.modes.iter().map(|of| of.mode);
    modes
        .map(|mode| Count {
            mode,
            strongest: pairs().filter(|strongest| *strongest == mode).count(),
            fits: pairs().filter(|strongest| *strongest <= mode).count(),
        })
        .collect()
}

fn sheet(args: &Args, size: Bytes, found: &Feasibility, counts: &[Count], sources: &[Source]) -> Sheet {
    let all = O_DU.len() * O_RU.len();
    let said: Vec<String> = counts
        .iter()
        .map(|count| format!("{} with {}", count.fits, count.mode.name()))
        .collect();
    let mut delays = Section::new("delay of the largest frame");
    let fits = |mode| {
        counts
            .iter()
            .find(|count| count.mode == mode)
            .map_or(0, |count| count.fits)
    };
    delays.tables.push(grid! { "microseconds, one way", of in &found.modes;
        "mode": of.mode.name(),
        "#frame": of.sent.value().to_string(),
        "#queueing": us(of.delay.queueing_us),
        "#propagation": us(of.delay.propagation_us),
        "#transmission": us(of.delay.transmission_us),
        "#processing": us(of.delay.processing_us),
        "#total": us(of.delay.total()),
        "#pairs": fits(of.mode).to_string(),
        "processing from": of.processing_from.to_string(),
    });
    delays.tables.push(reach(found));
    Sheet {
        command: "bartizan plan fronthaul".to_owned(),
        title: format!("Fronthaul: frames of {size} over {} km at {} Gb/s", number(args.distance.value() / 1e3, 3), number(args.rate.value() / 1e9, 3)),
        question: "Which O-DU and O-RU can be joined, and with how much protection?".to_owned(),
        answer: format!("Pairs of delay categories that fit, of {all}: {}.", said.join(", ")),
        sections: vec![delays, regions(found)],
        limits: vec![
            "A mean is held against a limit that every frame must keep: jitter, bursts and competing slices come on top.".to_owned(),
            "Switches between the ends are not in it; add theirs to --processing.".to_owned(),
            "The published curve adds what MACsec in software cost on two desktop processors; a port that does MACsec itself adds less. Between its two printed sizes it is a straight line.".to_owned(),
        ],
        sources: cited(sources.iter().cloned()),
        again: again(),
    }
}

/// Longest fibre for each delay class, by mode.
fn reach(found: &Feasibility) -> Grid {
    let mut grid = Grid::under(
        "longest fibre in km for one-way delay classes of O-RAN WG9 (XTRP-REQ, table 3), at 5 us per km",
        ["mode", "#25 us", "#75 us", "#100 us", "#200 us", "#500 us"],
    );
    for of in &found.modes {
        let without = of.delay.queueing_us + of.delay.transmission_us + of.delay.processing_us;
        let mut row = vec![of.mode.name().to_owned()];
        for (limit, _) in CLASSES {
            let far = Microseconds::new(f64::from(limit))
                .ok()
                .and_then(|limit| reach_metres(limit, without));
            row.push(far.map_or_else(|| "none".to_owned(), |metres| number(metres as f64 / 1e3, 1)));
        }
        grid.push(row);
    }
    grid
}

/// Table 4 with its regions.
fn regions(found: &Feasibility) -> Section {
    let mut section = Section::new("regions");
    section.text.push(
        "Microseconds that the transport may take, and the strongest protection that keeps them: E MACsec that encrypts (red), I integrity alone (grey), N none (blue), - not feasible."
            .to_owned(),
    );
    let mut grid = Grid {
        caption: "rows: O-RU categories, columns: O-DU categories".to_owned(),
        ..Grid::default()
    };
    let column = |heading: String, is_number| bartizan_page::sheet::Column { heading, is_number };
    grid.columns.push(column("O-RU".to_owned(), false));
    grid.columns
        .extend(O_DU.iter().map(|category| column(category.letter.to_string(), true)));
    for (radio, pairs) in O_RU.iter().zip(&found.pairs) {
        let mut row = vec![Field::from(radio.letter.to_string())];
        row.extend(pairs.iter().map(|pair| {
            let (letter, tone) = match pair.strongest {
                Some(Mode::Encryption) => ('E', Tone::Red),
                Some(Mode::Integrity) => ('I', Tone::Grey),
                Some(Mode::Unprotected) => ('N', Tone::Blue),
                None => ('-', Tone::Faint),
            };
            Field::toned(format!("{} {letter}", pair.limit_us), tone)
        }));
        grid.push(row);
    }
    section.tables.push(grid);
    section
}

/// Number of pairs that fit, by distance.
fn by_distance(
    args: &Args,
    at: &impl Fn(&Link) -> Result<Feasibility, Failure>,
) -> Option<(bartizan_page::plot::Drawing, String)> {
    // Table 4's widest limits but those of category A end at 399 us: 80 km.
    let kilometres: Vec<u32> = (0..=40).map(|step| step * 2).collect();
    let mut items: Vec<Line> = Vec::new();
    for kilometre in kilometres {
        let found = at(&link(args, Metres::new(f64::from(kilometre) * 1e3).ok()?)).ok()?;
        for (index, count) in counts(&found).iter().enumerate() {
            if items.len() <= index {
                items.push(Line {
                    name: count.mode.name().to_owned(),
                    tone: [1, 6, 0][index.min(2)],
                    points: Vec::new(),
                });
            }
            items[index]
                .points
                .push(Point::at(f64::from(kilometre), count.fits as f64));
        }
    }
    let axis = Axis {
        quantity: "feasible pairs of 168".to_owned(),
        unit: Shown::bare(),
    };
    let drawing = lines(
        "Feasible pairs by distance",
        &axis,
        "kilometres of fibre",
        &[Panel { heading: None, items }],
    );
    Some((
        drawing,
        "How many of the 168 pairs of delay categories each mode fits, by the length of the fibre.".to_owned(),
    ))
}
