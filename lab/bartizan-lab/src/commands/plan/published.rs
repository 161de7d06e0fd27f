//! `bartizan plan published`.

use bartizan_budget::fronthaul::{O_DU, O_RU};
use bartizan_budget::mtu::Filling;
use bartizan_budget::network::{REQUIREMENTS, Requirement, TABLE_1_HEADINGS, TABLE_1_NOTE};
use bartizan_budget::published::{PAPER, TITLE};
use bartizan_budget::unit::Bytes;
use bartizan_page::plot::{Axis, Line, Panel, Point, lines};
use bartizan_page::quantity::Shown;
use bartizan_page::sheet::{Column, Field, Grid, Section, Sheet, Tone};
use bartizan_simulation::published::{
    self, FIGURE_15_MTUS, MtuPoint, PublishedError, TABLE_4, Table4Cell, Value, Verdict, figure_8, figure_15,
    section_2_3, table_2, table_4,
};
use bartizan_terminal::answer::{Form, again, cited, give, number};
use serde::Serialize;

use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-published/1";

/// Compare what the planner computes with what Groen et al. 2024 print: tables 1, 2 and 4, figures 8 and 15.
///
/// Every value is one of the paper's text or tables; none is read off a picture. Where a printed value cannot be right, a sentence says why.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan published\n  \
    bartizan plan published --out plan\n  \
    bartizan plan published --json | jq '.values[] | select(.verdict.is != \"agrees\")'")]
pub(crate) struct Args {
    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    paper: &'static str,
    title: &'static str,
    /// Interfaces of table 1: what is printed, and what the standards ask.
    table_1: Vec<&'static Requirement>,
    values: Vec<Value>,
    table_4: Vec<Table4Cell>,
    figure_15: Vec<MtuPoint>,
    figure_15_even: Vec<MtuPoint>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let report = report().map_err(Failure::new)?;
    give("published", &sheet(&report), &report, &args.form)?;
    Ok(Outcome::Clean)
}

fn report() -> Result<Report, PublishedError> {
    let points = |filling| {
        FIGURE_15_MTUS
            .iter()
            .filter_map(|mtu| figure_15(Bytes::from(*mtu), filling).transpose())
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(Report {
        schema: SCHEMA,
        paper: PAPER,
        title: TITLE,
        table_1: REQUIREMENTS.iter().filter(|asked| asked.published.is_some()).collect(),
        values: [published::table_1()?, table_2()?, section_2_3()?, figure_8()?].concat(),
        table_4: table_4(),
        figure_15: points(Filling::Full)?,
        figure_15_even: points(Filling::Even)?,
    })
}

fn sheet(report: &Report) -> Sheet {
    let wrong = report
        .values
        .iter()
        .filter(|value| matches!(value.verdict, Verdict::CannotBeRight(_)))
        .count();
    let agree = report
        .values
        .iter()
        .filter(|value| value.verdict == Verdict::Agrees)
        .count();
    let cells = report
        .table_4
        .iter()
        .filter(|cell| cell.printed == cell.computed)
        .count();
    Sheet {
        command: "bartizan plan published".to_owned(),
        title: format!("{TITLE}, next to what the planner computes"),
        question: "Do formulas and standards give what the paper prints?".to_owned(),
        answer: format!(
            "{agree} of {} printed values agree to their digits and {wrong} cannot be right; {cells} of {} cells of table 4 agree.",
            report.values.len(),
            report.table_4.len()
        ),
        sections: vec![table_1(), values(report), cells_of_table_4(report), figure(report)],
        limits: vec![
            "Figures 9 to 14 are pictures whose points stand in no text: nothing is compared with them.".to_owned(),
            "Figure 15 rests on figure 11, of whose curve the text prints two points; between them a straight line is taken.".to_owned(),
        ],
        sources: cited(report.values.iter().map(|value| value.source.clone())),
        again: again(),
    }
}

fn values(report: &Report) -> Section {
    let mut section = Section::new("tables 1 and 2, sections 2 to 4, figure 8");
    let mut grid = Grid::under("", ["what", "place", "#printed", "#computed", "unit", "verdict"]);
    for value in &report.values {
        let (words, tone) = match value.verdict {
            Verdict::Agrees => ("agrees", Tone::Good),
            Verdict::WithinBound => ("within the bound", Tone::Good),
            Verdict::CannotBeRight(_) => ("cannot be right", Tone::Bad),
            Verdict::NotDetermined(_) => ("not determined", Tone::Faint),
        };
        grid.push([
            Field::from(value.what.clone()),
            Field::from(value.source.place.to_string()),
            Field::from(number(value.printed, 4)),
            Field::from(
                value
                    .computed
                    .map_or_else(|| "-".to_owned(), |computed| number(computed, 5)),
            ),
            Field::from(value.unit),
            Field::toned(words, tone),
        ]);
    }
    section.tables.push(grid);
    let mut why = Grid::under("why a printed value cannot be right", ["what", "because"]);
    for value in &report.values {
        if let Verdict::CannotBeRight(because) | Verdict::NotDetermined(because) = value.verdict {
            why.push([value.what.clone(), because.to_owned()]);
        }
    }
    section.tables.push(why);
    section
}

/// Table 1 of the paper next to what was read in the standards.
fn table_1() -> Section {
    let mut section = Section::new("table 1 of Groen et al. 2024 next to the standards");
    section.text.push(TABLE_1_NOTE.to_owned());
    let mut grid = Grid::under("", TABLE_1_HEADINGS);
    REQUIREMENTS
        .iter()
        .filter_map(Requirement::next_to_table_1)
        .for_each(|row| grid.push(row));
    section.tables.push(grid);
    section
}

fn cells_of_table_4(report: &Report) -> Section {
    let mut section = Section::new("table 4");
    section.text.push(
        "Most microseconds of transport by category: the high end of the O-DU less the low end of the O-RU (O-RAN.WG4.CUS, annex B). Where the printed value is another, it stands behind."
            .to_owned(),
    );
    let mut grid = Grid {
        caption: "rows: O-RU categories, columns: O-DU categories".to_owned(),
        ..Grid::default()
    };
    let column = |heading: String, is_number| Column { heading, is_number };
    grid.columns.push(column("O-RU".to_owned(), false));
    grid.columns
        .extend(O_DU.iter().map(|category| column(category.letter.to_string(), true)));
    for (radio, cells) in O_RU.iter().zip(report.table_4.chunks(TABLE_4[0].len())) {
        let mut row = vec![Field::from(radio.letter.to_string())];
        row.extend(cells.iter().map(|cell| {
            if cell.printed == cell.computed {
                Field::from(cell.computed.to_string())
            } else {
                Field::toned(format!("{} ({})", cell.computed, cell.printed), Tone::Bad)
            }
        }));
        grid.push(row);
    }
    section.tables.push(grid);
    section
}

fn figure(report: &Report) -> Section {
    let mut section = Section::new("figure 15: 8192 bytes of eCPRI payload by MTU");
    section.text.push(
        "The text says that 9000 bytes are best and that 5000 are better than 8000. The first follows. On a straight line between the two delays that the text prints, \
         two frames take the same time together however the payload is split: 5000 is better only on a curve that steepens, or where frames are processed at the same time, \
         so that the longest counts; then equal halves are best at every MTU."
            .to_owned(),
    );
    let mut grid = Grid::under(
        "",
        [
            "#MTU",
            "#frames",
            "#bytes sent",
            "#us, one after the other",
            "#us, the longest",
            "#Mb/s",
            "#equal parts: us",
            "#equal parts: the longest",
        ],
    );
    for (full, even) in report.figure_15.iter().zip(&report.figure_15_even) {
        grid.push([
            full.mtu.value().to_string(),
            full.fragments.to_string(),
            full.sent.value().to_string(),
            number(full.delay_us.value(), 1),
            number(full.longest_us.value(), 1),
            number(full.throughput_mbps, 0),
            number(even.delay_us.value(), 1),
            number(even.longest_us.value(), 1),
        ]);
    }
    section.tables.push(grid);
    let line = |name: &str, tone, of: &dyn Fn(usize) -> f64| Line {
        name: name.to_owned(),
        tone,
        points: (0..report.figure_15.len())
            .map(|index| Point {
                x: report.figure_15[index].mtu.value() as f64,
                value: of(index),
                interval: None,
                published: Vec::new(),
            })
            .collect(),
    };
    let items = vec![
        line("all frames, one after the other", 1, &|index| {
            report.figure_15[index].delay_us.value()
        }),
        line("the longest frame", 6, &|index| {
            report.figure_15[index].longest_us.value()
        }),
        line("the longest of equal parts", 0, &|index| {
            report.figure_15_even[index].longest_us.value()
        }),
    ];
    let axis = Axis {
        quantity: "delay".to_owned(),
        unit: Shown::in_unit("µs"),
    };
    section.drawings.push((
        lines("Delay by MTU", &axis, "MTU in bytes", &[Panel { heading: None, items }]),
        "Delay of 8192 bytes of payload with MACsec that encrypts, 10 Gb/s, 100 m.".to_owned(),
    ));
    let items = vec![
        line("filled to the brim", 1, &|index| {
            report.figure_15[index].throughput_mbps
        }),
        line("equal parts", 0, &|index| report.figure_15_even[index].throughput_mbps),
    ];
    let axis = Axis {
        quantity: "throughput".to_owned(),
        unit: Shown::in_unit("Mb/s"),
    };
    section.drawings.push((
        lines(
            "Throughput by MTU",
            &axis,
            "MTU in bytes",
            &[Panel { heading: None, items }],
        ),
        "All bits sent over the delay of all frames, one after the other, as the paper's model has it.".to_owned(),
    ));
    section
}
