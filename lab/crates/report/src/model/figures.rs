//! The plots of a part, filled from its tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bartizan_estimators::{Confidence, Interval, Sample, serial_median};
use bartizan_workbench::runner::experiment::{self, Levels, Limit, Plot, PlotKind};
use bartizan_workbench::runner::published::Statistic;

use super::{Cell, PublishedValues, Samples, Statistics, Table};
use crate::quantity::{convert, words};
use bartizan_page::plot::{Axis, Drawing, Line, Panel, Point, lines};

use crate::plot::{Bar, Cloud, Curve, Stack, bars, distribution, ecdf, heat_map, line_of, stacked};

/// The colour of the path without anything.
const FLOOR: usize = 6;
/// Colours that can be distinguished, without that one.
const MOST_COLOURS: usize = 7;

/// A plot with what explains it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Name for requests: `bars`, or `latency-bars` if a part has several of a kind.
    pub kind: &'static str,
    /// Name of the metric, or of the first of several.
    pub metric: &'static str,
    /// Explanation for a reader.
    pub caption: String,
    /// The picture.
    pub drawing: Drawing,
}

/// The plot, where anything of it was measured.
pub(crate) fn of(
    part: &experiment::Part,
    plot: &Plot,
    tables: &[Table],
    samples: &Samples,
    published: Option<&PublishedValues>,
) -> Option<Figure> {
    let mut figure = draw(part, plot, tables, samples, published)?;
    if !plot.only.is_empty() {
        figure.drawing.title = format!("{} ({})", figure.drawing.title, words(&plot.only));
    }
    Some(figure)
}

fn draw(
    part: &experiment::Part,
    plot: &Plot,
    tables: &[Table],
    samples: &Samples,
    published: Option<&PublishedValues>,
) -> Option<Figure> {
    let table = |metric: &str| tables.iter().find(|table| table.metric.name == metric);
    let view = |along: &[&str]| View::of(part, &plot.only, along, published);
    match &plot.kind {
        PlotKind::Distribution { metric, by } => view(&[by]).distribution(table(metric.name)?, by),
        PlotKind::Ecdf { metric, by } => view(&[by]).ecdf(table(metric.name)?, by),
        PlotKind::Bars { metric, by, limits } => {
            let limits = Limits { limits, samples };
            view(&[by]).bars(table(metric.name)?, by, &limits)
        }
        PlotKind::HeatMap { metric, rows, columns } => {
            view(&[rows, columns]).heat_map(table(metric.name)?, rows, columns)
        }
        PlotKind::Stacked { metrics, by, total } => {
            let tables: Vec<&Table> = metrics.iter().filter_map(|metric| table(metric.name)).collect();
            let total = total.and_then(|metric| table(metric.name));
            view(&[by]).stacked(&tables, total, by, samples)
        }
        PlotKind::Lines { metric, x, by } => view(&[x, by]).lines(table(metric.name)?, x, by),
    }
}

/// Combinations of a part in panels: one for every combination of the factors that the plot does not draw.
struct View<'a> {
    part: &'a experiment::Part,
    panels: Vec<(Option<String>, Vec<&'a Levels>)>,
    published: Option<&'a PublishedValues>,
}

impl<'a> View<'a> {
    fn of(part: &'a experiment::Part, only: &Levels, along: &[&str], published: Option<&'a PublishedValues>) -> Self {
        let shown: Vec<&Levels> = part.matching(only).collect();
        // A factor with one level left needs no heading.
        let varies = |factor: &&experiment::Factor| {
            let first = shown.first().and_then(|levels| levels.level(&factor.name));
            !along.contains(&factor.name.as_str()) && shown.iter().any(|levels| levels.level(&factor.name) != first)
        };
        let others: Vec<&experiment::Factor> = part.factors.iter().filter(varies).collect();
        let mut panels: Vec<(Option<String>, Vec<&Levels>)> = Vec::new();
        for levels in shown {
            let words: Vec<String> = others
                .iter()
                .filter_map(|factor| Some(format!("{}: {}", factor.name, levels.level(&factor.name)?)))
                .collect();
            let heading = (!words.is_empty()).then(|| words.join(", "));
            match panels.iter_mut().find(|(other, _)| *other == heading) {
                Some((_, members)) => members.push(levels),
                None => panels.push((heading, vec![levels])),
            }
        }
        Self {
            part,
            panels,
            published,
        }
    }

    /// Published medians and means for the trials of a cell, if they can be compared.
    fn published(&self, table: &Table, cell: &Cell) -> Vec<f64> {
        let rows = self.published.map_or(&[][..], |published| &published.rows);
        let rows = rows.iter().filter(|row| row.incomparable.is_none());
        let of_cell = rows.map(|row| &row.value).filter(|value| {
            let subject = (value.part.as_deref(), value.metric.as_deref());
            subject == (Some(self.part.id.as_str()), Some(table.metric.name))
                && matches!(value.statistic, Statistic::Median | Statistic::Mean)
                && value.range().is_none()
                && value.paper.is_none()
                && cell.levels.matches(&value.levels)
        });
        let mut marks: Vec<f64> = of_cell
            .filter_map(|value| convert(value.value, &value.unit, table.metric.unit))
            .collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        marks
    }

    /// Meaning of grey in plots whose curves have their own key.
    fn explained_floor(&self, table: &Table) -> &'static str {
        let shown = self.panels.iter().flat_map(|(_, members)| members);
        match shown.filter_map(|levels| table.row(levels)).any(|cell| cell.floor) {
            true => " Grey: the path without anything.",
            false => "",
        }
    }

    /// Meaning of a plot's colours and marks, unless names next to it explain them.
    fn explained(&self, table: &Table, by: &str, named: bool) -> String {
        let mut words = String::new();
        let cells = || {
            let shown = self.panels.iter().flat_map(|(_, members)| members);
            shown
                .filter_map(|levels| table.row(levels))
                .filter(|cell| cell.statistics.is_some())
        };
        let many = self
            .part
            .factor(by)
            .is_some_and(|factor| factor.levels.len() > MOST_COLOURS);
        if named && many {
            words.push_str(" Blue: what the comparisons are about; grey: what it is set against.");
        } else if cells().any(|cell| cell.floor) {
            words.push_str(" Grey: the path without anything.");
        }
        if let Some(published) = self.published
            && cells().any(|cell| !self.published(table, cell).is_empty())
        {
            let _ = write!(
                words,
                " Diamonds: what {} printed; an arrow where that lies beyond the axis.",
                published.paper
            );
        }
        words
    }

    /// The colour of a level: its place in the factor. Where names stand next to it and there are
    /// more levels than colours, those that the part's comparisons are about have one colour and
    /// all others grey.
    fn tone(&self, by: &str, cell: &Cell, named: bool) -> usize {
        let levels = self.part.factor(by).map_or(&[][..], |factor| &factor.levels);
        let own = cell.levels.level(by);
        if cell.floor {
            return FLOOR;
        }
        if named && levels.len() > MOST_COLOURS {
            let mut compared = self.part.comparisons.iter().map(|comparison| comparison.of.level(by));
            return if compared.any(|level| level == own) { 0 } else { FLOOR };
        }
        let place = levels.iter().position(|level| Some(level.as_str()) == own).unwrap_or(0);
        // The floor's colour is kept for it.
        if self.part.floor.is_some() && place >= FLOOR {
            place + 1
        } else {
            place
        }
    }

    /// The measured cells of each panel, made into what a plot draws.
    fn panels<T>(&self, table: &Table, mut make: impl FnMut(&Cell, &Statistics) -> Option<T>) -> Option<Vec<Panel<T>>> {
        let panels: Vec<Panel<T>> = self
            .panels
            .iter()
            .map(|(heading, members)| Panel {
                heading: heading.clone(),
                items: members
                    .iter()
                    .filter_map(|levels| {
                        let cell = table.row(levels)?;
                        make(cell, cell.statistics.as_ref()?)
                    })
                    .collect(),
            })
            .filter(|panel: &Panel<T>| !panel.items.is_empty())
            .collect();
        (!panels.is_empty()).then_some(panels)
    }

    fn distribution(&self, table: &Table, by: &str) -> Option<Figure> {
        let panels = self.panels(table, |cell, statistics| {
            Some(Cloud {
                name: level(cell, by),
                tone: self.tone(by, cell, true),
                samples: cell.samples.clone()?,
                trials: cell.trials.iter().copied().zip(cell.slow.iter().copied()).collect(),
                median: statistics.median,
                interval: statistics.interval,
                published: self.published(table, cell),
                note: note(statistics),
            })
        })?;
        let slow = self.panels.iter().flat_map(|(_, members)| members);
        let slow = slow
            .filter_map(|levels| table.row(levels))
            .any(|cell| cell.slow.contains(&true));
        let caption = format!(
            "Density and box (quartiles, whiskers from 5 to 95 %, or over everything where that is fewer than 100) of all samples; a dot \
             for the median of each trial{}. Numbers: median of the trials' medians and its 95 % interval.{}",
            if slow {
                ", empty where the machine was in its slow mode"
            } else {
                ""
            },
            self.explained(table, by, true)
        );
        Some(figure(
            "distribution",
            table,
            &caption,
            distribution(&format!("Distribution of {}", title(table, by)), &axis(table), &panels),
        ))
    }

    fn ecdf(&self, table: &Table, by: &str) -> Option<Figure> {
        let panels = self.panels(table, |cell, _| {
            Some(Curve {
                name: level(cell, by),
                tone: self.tone(by, cell, false),
                samples: cell.samples.clone()?,
            })
        })?;
        let caption = format!(
            "Share of all samples that are at most this large; drawn to 99.5 %.{}",
            self.explained_floor(table)
        );
        Some(figure(
            "ecdf",
            table,
            &caption,
            ecdf(
                &format!("Share of samples up to each {}", title(table, by)),
                &axis(table),
                &panels,
            ),
        ))
    }

    fn bars(&self, table: &Table, by: &str, limits: &Limits<'_>) -> Option<Figure> {
        let panels = self.panels(table, |cell, statistics| {
            Some(Bar {
                name: level(cell, by),
                tone: self.tone(by, cell, true),
                value: statistics.median,
                interval: statistics.interval,
                limits: limits.at(by, &level(cell, by)),
                published: self.published(table, cell),
                note: note(statistics),
            })
        })?;
        let direction = match table.direction() {
            "" => String::new(),
            words => format!("; {words}"),
        };
        let caption = format!(
            "Median of the trials' medians with its 95 % interval{direction}.{}{}",
            limits.sentence(),
            self.explained(table, by, true)
        );
        Some(figure(
            "bars",
            table,
            &caption,
            bars(&format!("Median {}", title(table, by)), &axis(table), &panels),
        ))
    }

    fn heat_map(&self, table: &Table, rows: &str, columns: &str) -> Option<Figure> {
        let across: &[String] = self.part.factor(columns).map(|factor| factor.levels.as_slice())?;
        let down: &[String] = self.part.factor(rows).map(|factor| factor.levels.as_slice())?;
        let value = |members: &[&Levels], row: &str, column: &str| {
            let levels = members
                .iter()
                .find(|levels| levels.level(rows) == Some(row) && levels.level(columns) == Some(column))?;
            Some(table.row(levels)?.statistics?.median)
        };
        let panels: Vec<Panel<(String, Vec<Option<f64>>)>> = self
            .panels
            .iter()
            .map(|(heading, members)| Panel {
                heading: heading.clone(),
                items: down
                    .iter()
                    .map(|row| {
                        let values = across.iter().map(|column| value(members, row, column)).collect();
                        (row.clone(), values)
                    })
                    .filter(|(_, values): &(String, Vec<Option<f64>>)| values.iter().any(Option::is_some))
                    .collect(),
            })
            .filter(|panel| !panel.items.is_empty())
            .collect();
        if panels.is_empty() {
            return None;
        }
        let caption = format!("Median of the trials' medians; {rows} down, {columns} across.");
        let title = format!("Median {} by {rows} and {columns}", table.metric.name);
        Some(figure(
            "heat-map",
            table,
            &caption,
            heat_map(&title, &axis(table), across, &panels),
        ))
    }

    /// Each stack is as long as the median of the whole, and parted by the mean shares that the
    /// parts have of their trial: so they add up.
    fn stacked(&self, tables: &[&Table], total: Option<&Table>, by: &str, samples: &Samples) -> Option<Figure> {
        // Lengths of different units do not add up.
        let first = *tables.first()?;
        let tables: Vec<&Table> = tables
            .iter()
            .copied()
            .filter(|table| table.metric.unit == first.metric.unit)
            .collect();
        let mut names: Vec<String> = tables.iter().map(|table| table.metric.name.to_owned()).collect();
        names.extend(total.map(|total| format!("rest of {}", total.metric.name)));
        let panels: Vec<Panel<Stack>> = self
            .panels
            .iter()
            .map(|(heading, members)| Panel {
                heading: heading.clone(),
                items: members
                    .iter()
                    .filter_map(|levels| {
                        let whole = Whole::of(&self.part.id, levels, &tables, total, samples)?;
                        Some(Stack {
                            name: levels.level(by).unwrap_or_default().to_owned(),
                            parts: names.iter().cloned().zip(whole.parts).collect(),
                            interval: whole.interval,
                        })
                    })
                    .collect(),
            })
            .filter(|panel| !panel.items.is_empty())
            .collect();
        let sums = panels
            .iter()
            .flat_map(|panel| &panel.items)
            .map(|stack| stack.parts.iter().filter_map(|(_, value)| *value).sum());
        let typical = Sample::new(sums).ok()?.median();
        let whole = total.map_or("sum", |total| total.metric.name);
        let axis = Axis {
            quantity: whole.to_owned(),
            unit: crate::quantity::for_values(first.metric.unit, typical),
        };
        let caption = format!(
            "Each bar is as long as the median {whole}{}; its parts have the mean shares that they have of it in each trial, and add up to it.",
            if total.is_some() {
                ""
            } else {
                " of the parts in a trial"
            }
        );
        let title = format!("What {} add up to by {by}", names[..tables.len()].join(" and "));
        Some(figure(
            "stacked",
            first,
            &caption,
            stacked(&title, &axis, &names, &panels),
        ))
    }

    fn lines(&self, table: &Table, x: &str, by: &str) -> Option<Figure> {
        let panels: Vec<Panel<Line>> = self
            .panels
            .iter()
            .map(|(heading, members)| {
                let mut items: Vec<Line> = Vec::new();
                for levels in members {
                    let Some(cell) = table.row(levels) else { continue };
                    let at = levels.level(x).and_then(|level| level.parse::<f64>().ok());
                    let (Some(at), Some(statistics)) = (at, cell.statistics) else {
                        continue;
                    };
                    let point = Point {
                        x: at,
                        value: statistics.median,
                        interval: statistics.interval,
                        published: self.published(table, cell),
                    };
                    let name = level(cell, by);
                    match items.iter_mut().find(|line| line.name == name) {
                        Some(line) => line.points.push(point),
                        None => items.push(Line {
                            name,
                            tone: self.tone(by, cell, false),
                            points: vec![point],
                        }),
                    }
                }
                for line in &mut items {
                    line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
                }
                Panel {
                    heading: heading.clone(),
                    items,
                }
            })
            .filter(|panel| !panel.items.is_empty())
            .collect();
        if panels.is_empty() {
            return None;
        }
        let caption = format!(
            "Median of the trials' medians with its 95 % interval at each level.{}",
            self.explained(table, by, false)
        );
        let title = format!("Median {} over {x} by {by}", table.metric.name);
        Some(figure(
            "lines",
            table,
            &caption,
            lines(&title, &axis(table), x, &panels),
        ))
    }
}

/// A whole with its parts.
struct Whole {
    /// Value of each metric, and of the rest if there is one.
    parts: Vec<Option<f64>>,
    interval: Option<Interval>,
}

impl Whole {
    /// The whole of a combination, from trials that have it, or all parts if it is their sum. A
    /// metric that the combination never has counts as zero.
    fn of(part: &str, levels: &Levels, tables: &[&Table], total: Option<&Table>, samples: &Samples) -> Option<Self> {
        let by_repetition = |table: &Table| -> BTreeMap<(String, usize), f64> {
            let trials = samples.trials(part, levels, table.metric.name).iter();
            trials.map(|trial| (trial.repetition.clone(), trial.median)).collect()
        };
        let measured: Vec<_> = tables.iter().map(|table| by_repetition(table)).collect();
        let wholes = total.map(by_repetition);
        let repetitions: Vec<&(String, usize)> = match &wholes {
            Some(wholes) => wholes.keys().collect(),
            None => measured.iter().find(|values| !values.is_empty())?.keys().collect(),
        };
        let mut shares = vec![0.0; tables.len()];
        let mut lengths = Vec::new();
        for repetition in repetitions {
            let values: Option<Vec<f64>> = measured
                .iter()
                .map(|values| match values.is_empty() {
                    true => Some(0.0),
                    false => values.get(repetition).map(|value| value.max(0.0)),
                })
                .collect();
            let Some(values) = values else { continue };
            let sum: f64 = values.iter().sum();
            // Parts that overlap are more than their whole: then they are all of it.
            let whole = wholes.as_ref().map_or(sum, |wholes| wholes[repetition]).max(sum);
            if whole <= 0.0 {
                continue;
            }
            for (share, value) in shares.iter_mut().zip(values) {
                *share += value / whole;
            }
            lengths.push(wholes.as_ref().map_or(sum, |wholes| wholes[repetition]));
        }
        let count = lengths.len() as f64;
        let interval = serial_median(&lengths, Confidence::P95).ok();
        let length = Sample::new(lengths).ok()?.median();
        let mut parts: Vec<Option<f64>> = shares
            .iter()
            .zip(&measured)
            .map(|(share, values)| (!values.is_empty()).then_some(share / count * length))
            .collect();
        if total.is_some() {
            let rest = 1.0 - shares.iter().sum::<f64>() / count;
            parts.push(Some((rest * length).max(0.0)));
        }
        Some(Self {
            parts,
            interval: interval.map(|serial| serial.estimate.interval),
        })
    }
}

/// Note for a reader of a row.
fn note(statistics: &Statistics) -> Option<String> {
    statistics.modes.is_some().then(|| "two modes".to_owned())
}

/// Limits that bars are drawn against.
struct Limits<'a> {
    limits: &'a [Limit],
    samples: &'a Samples,
}

impl Limits<'_> {
    /// The median of each at the level of a bar, where it was measured.
    fn at(&self, by: &str, level: &str) -> Vec<Option<f64>> {
        let of = |limit: &Limit| {
            let levels = limit.only.clone().with(by, level);
            let trials = self.samples.matching(&limit.part, &levels, limit.metric.name);
            Some(Statistics::of(&trials)?.median)
        };
        self.limits.iter().map(of).collect()
    }

    fn sentence(&self) -> String {
        let named = |(index, limit): (usize, &Limit)| {
            let only = match limit.only.is_empty() {
                true => String::new(),
                false => format!(" ({})", words(&limit.only)),
            };
            format!(
                " {}: median {} of part {}{only}.",
                line_of(index),
                limit.metric.name,
                limit.part
            )
        };
        self.limits.iter().enumerate().map(named).collect()
    }
}

fn figure(kind: &'static str, table: &Table, caption: &str, drawing: Drawing) -> Figure {
    Figure {
        kind,
        metric: table.metric.name,
        caption: caption.to_owned(),
        drawing,
    }
}

fn level(cell: &Cell, by: &str) -> String {
    cell.levels.level(by).unwrap_or_default().to_owned()
}

fn title(table: &Table, by: &str) -> String {
    format!("{} by {by}", table.metric.name)
}

fn axis(table: &Table) -> Axis {
    Axis {
        quantity: table.metric.name.to_owned(),
        unit: table.shown.clone(),
    }
}
