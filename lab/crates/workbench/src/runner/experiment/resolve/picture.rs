//! Plots: which fields each kind has, and that they name what the part has.

use serde_saphyr::Spanned;

use crate::runner::experiment::raw::{RawLimit, RawPart, RawPlot};
use crate::runner::experiment::resolve::{levels, metric, nothing_has, unknown};
use crate::runner::experiment::{Fault, Limit, Part, Place, Plot, PlotKind};
use crate::workload::MetricKind;

/// Kinds of plots with the fields that they need.
const KINDS: [(&str, &[&str]); 6] = [
    ("distribution", &["metric", "by"]),
    ("ecdf", &["metric", "by"]),
    ("bars", &["metric", "by"]),
    ("heat-map", &["metric", "rows", "columns"]),
    ("stacked", &["metrics", "by"]),
    ("lines", &["metric", "x", "by"]),
];

pub(super) fn plot(raw: &Spanned<RawPlot>, part: &Part) -> Result<Plot, Fault> {
    let (place, raw) = (Place::of(raw), &raw.value);
    let kind = KINDS.iter().find(|(name, _)| *name == raw.kind.value);
    let (name, needed) = kind.ok_or_else(|| unknown(&raw.kind, "plot", KINDS.iter().map(|(name, _)| *name)))?;
    let given = [
        ("metric", raw.metric.is_some()),
        ("metrics", raw.metrics.is_some()),
        ("by", raw.by.is_some()),
        ("rows", raw.rows.is_some()),
        ("columns", raw.columns.is_some()),
        ("x", raw.x.is_some()),
    ];
    for (field, given) in given {
        if given != needed.contains(&field) {
            let says = if given { "has no" } else { "needs the" };
            let hint = format!("{name} has the fields {}", needed.join(", "));
            return Err(Fault::new(place, format!("{name} {says} field `{field}`"), hint));
        }
    }
    if let Some(limit) = raw.limits.first().filter(|_| *name != "bars") {
        let hint = "bars are what a limit is drawn across";
        return Err(Fault::new(
            Place::of(limit),
            format!("{name} has no field `limits`"),
            hint,
        ));
    }
    if let Some(total) = raw.total.as_ref().filter(|_| *name != "stacked") {
        let hint = "stacked parts have one";
        return Err(Fault::new(
            Place::of(total),
            format!("{name} has no field `total`"),
            hint,
        ));
    }
    let missing = |field: &str| Fault::new(place, format!("{name} needs the field `{field}`"), needed.join(", "));
    let value = || metric(raw.metric.as_ref().ok_or_else(|| missing("metric"))?, part);
    let over = |field: &str, name: &Option<Spanned<String>>| factor(name.as_ref().ok_or_else(|| missing(field))?, part);
    let by = || over("by", &raw.by);
    let kind = match *name {
        "distribution" => PlotKind::Distribution {
            metric: value()?,
            by: by()?,
        },
        "ecdf" => PlotKind::Ecdf {
            metric: value()?,
            by: by()?,
        },
        "bars" => PlotKind::Bars {
            metric: value()?,
            by: by()?,
            limits: Vec::new(),
        },
        "heat-map" => PlotKind::HeatMap {
            metric: value()?,
            rows: over("rows", &raw.rows)?,
            columns: over("columns", &raw.columns)?,
        },
        "stacked" => PlotKind::Stacked {
            metrics: upon_each_other(raw.metrics.as_deref().unwrap_or_default(), part, place)?,
            total: whole(raw, part)?,
            by: by()?,
        },
        _ => PlotKind::Lines {
            metric: value()?,
            x: numbers(raw.x.as_ref().ok_or_else(|| missing("x"))?, part)?,
            by: by()?,
        },
    };
    let only = levels(&raw.only, &part.factors)?;
    if part.matching(&only).next().is_none() {
        return Err(nothing_has(place, &only));
    }
    Ok(Plot { kind, only })
}

/// The whole of stacked parts, in their unit.
fn whole(raw: &RawPlot, part: &Part) -> Result<Option<&'static MetricKind>, Fault> {
    let Some(name) = &raw.total else { return Ok(None) };
    let total = metric(name, part)?;
    let first = raw.metrics.iter().flatten().next();
    let first = first.map(|name| metric(name, part)).transpose()?;
    if first.is_some_and(|first| first.unit != total.unit || first.name == total.name) {
        let hint = "a whole is another metric in the unit of its parts";
        let cause = format!("{} is no whole of these parts", total.name);
        return Err(Fault::new(Place::of(name), cause, hint));
    }
    Ok(Some(total))
}

/// Fills in what bars are drawn against, which may be of any part.
pub(super) fn limits(raw: &[RawPart], parts: &mut [Part]) -> Result<(), Fault> {
    let known = parts.to_vec();
    for (raw, part) in raw.iter().zip(parts) {
        for (raw, plot) in raw.plots.iter().zip(&mut part.plots) {
            if let PlotKind::Bars { metric, by, limits } = &mut plot.kind {
                let resolved = raw.value.limits.iter().map(|raw| limit(raw, metric, by, &known));
                *limits = resolved.collect::<Result<_, _>>()?;
            }
        }
    }
    Ok(())
}

fn limit(raw: &Spanned<RawLimit>, drawn: &MetricKind, by: &str, parts: &[Part]) -> Result<Limit, Fault> {
    let (place, raw) = (Place::of(raw), &raw.value);
    let part = parts.iter().find(|part| part.id == raw.part.value);
    let part = part.ok_or_else(|| unknown(&raw.part, "part", parts.iter().map(|part| part.id.as_str())))?;
    let metric = metric(&raw.metric, part)?;
    if metric.unit != drawn.unit {
        let cause = format!(
            "{} is in {}, {} in {}",
            metric.name, metric.unit, drawn.name, drawn.unit
        );
        return Err(Fault::new(
            Place::of(&raw.metric),
            cause,
            "a limit has the unit of what it limits",
        ));
    }
    if part.factor(by).is_none() {
        let cause = format!("part {} does not vary {by}, by which the bars are", part.id);
        return Err(Fault::new(place, cause, "a limit is measured at the level of each bar"));
    }
    let only = levels(&raw.only, &part.factors)?;
    if part.matching(&only).next().is_none() {
        return Err(nothing_has(place, &only));
    }
    Ok(Limit {
        part: part.id.clone(),
        metric,
        only,
    })
}

fn factor(name: &Spanned<String>, part: &Part) -> Result<String, Fault> {
    let known = part.factors.iter().map(|factor| factor.name.as_str());
    match part.factor(&name.value) {
        Some(factor) => Ok(factor.name.clone()),
        None => Err(unknown(name, &format!("factor of part {}", part.id), known)),
    }
}

/// A factor whose levels can be put on an axis.
fn numbers(name: &Spanned<String>, part: &Part) -> Result<String, Fault> {
    let name_of = factor(name, part)?;
    let levels = part.factor(&name_of).map_or(&[][..], |factor| &factor.levels);
    match levels.iter().find(|level| level.parse::<f64>().is_err()) {
        None => Ok(name_of),
        Some(word) => Err(Fault::new(
            Place::of(name),
            format!("level `{word}` of {name_of} is no number"),
            "an axis takes a factor whose levels are numbers",
        )),
    }
}

/// Several metrics of one unit.
fn upon_each_other(names: &[Spanned<String>], part: &Part, place: Place) -> Result<Vec<&'static MetricKind>, Fault> {
    let metrics = names
        .iter()
        .map(|name| metric(name, part))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = metrics.first() else {
        return Err(Fault::new(place, "stacked without metrics", "name at least two"));
    };
    match metrics.iter().zip(names).find(|(metric, _)| metric.unit != first.unit) {
        None => Ok(metrics),
        Some((other, name)) => Err(Fault::new(
            Place::of(name),
            format!("{} is in {}, {} in {}", other.name, other.unit, first.name, first.unit),
            "only metrics of one unit can be put upon each other",
        )),
    }
}
