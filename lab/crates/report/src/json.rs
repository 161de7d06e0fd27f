//! A report for other programs.

use serde_json::{Value, json};

use crate::model::{Measured, Part, PublishedValues, Report};

/// Name and version of the shape of a report.
pub const REPORT_SCHEMA: &str = "bartizan-lab-report/2";

/// Everything the report says but the plots; values in the metric's recorded unit.
#[must_use]
pub fn json(report: &Report) -> Value {
    let answer: String = report.answer.iter().map(crate::AnswerPiece::words).collect();
    json!({
        "schema": REPORT_SCHEMA,
        "made_by": concat!("Bartizan ", env!("CARGO_PKG_VERSION")),
        "experiment": report.heading,
        "source": report.heading.source.as_ref().map(|source| {
            json!({"paper": source.paper.number(), "publication": source.paper, "title": source.title, "where": source.place})
        }),
        "quick": report.quickness == crate::Quickness::Quick,
        "answer": (!answer.is_empty()).then_some(answer),
        "published": report.published.as_ref().map(published),
        "parts": report.parts.iter().map(part).collect::<Vec<_>>(),
        "warnings": report.warnings,
        "noise": report.noise,
        "repeat": report.repeat,
        "conditions": report.conditions.iter().map(|condition| {
            let values: Vec<Value> = condition.values.iter().map(|(value, trials)| json!({"value": value, "trials": trials})).collect();
            json!({"name": condition.name, "values": values})
        }).collect::<Vec<_>>(),
        "left_out": report.left_out,
        "files": report.files.iter().map(|(name, trials, damaged)| {
            json!({"name": name, "trials": trials, "damaged_lines": damaged})
        }).collect::<Vec<_>>(),
    })
}

fn published(published: &PublishedValues) -> Value {
    let values: Vec<Value> = published
        .rows
        .iter()
        .map(|row| {
            let value = &row.value;
            let measured = match &row.measured {
                Measured::Measured {
                    value,
                    interval,
                    n,
                    ratio,
                } => {
                    json!({"value": value, "interval": interval, "trials": n, "ratio": ratio})
                }
                Measured::Nothing { reason } => json!({"reason": reason}),
            };
            json!({
                "id": value.id, "part": value.part, "metric": value.metric, "levels": value.levels,
                "over": value.over, "statistic": row.statistic(), "value": value.value, "to": value.to, "unit": value.unit,
                "place": row.place(), "note": value.note, "result": row.result(), "bound": value.bound.map(|bound| format!("{bound:?}").to_lowercase()),
                "incomparable": row.incomparable, "measured": measured,
            })
        })
        .collect();
    let conflicts: Vec<Value> = published
        .conflicts
        .iter()
        .map(|conflict| json!({"values": conflict.values, "note": conflict.note}))
        .collect();
    json!({"paper": published.paper.number(), "publication": published.paper, "conditions": published.conditions,
           "values": values, "conflicts": conflicts})
}

fn part(part: &Part) -> Value {
    let tables: Vec<Value> = part
        .tables
        .iter()
        .map(|table| {
            let rows: Vec<Value> = table
                .rows
                .iter()
                .map(|cell| {
                    json!({
                        "levels": cell.levels, "floor": cell.floor, "failed": cell.failed,
                        "statistics": cell.statistics, "trial_medians": cell.trials,
                    })
                })
                .collect();
            json!({"metric": table.metric.name, "unit": table.metric.unit, "about": table.metric.about, "rows": rows})
        })
        .collect();
    let comparisons: Vec<Value> = part
        .comparisons
        .iter()
        .map(|comparison| {
            json!({
                "id": comparison.id, "metric": comparison.metric.name, "form": comparison.form.name(),
                "of": comparison.of, "over": comparison.over, "within": comparison.within,
                "trials": [comparison.n.0, comparison.n.1],
                "value": comparison.value, "interval": comparison.interval, "effect": comparison.effect,
                "fast": comparison.by_speed[0], "slow": comparison.by_speed[1],
            })
        })
        .collect();
    let controls: Vec<Value> = part
        .controls
        .iter()
        .map(|control| {
            json!({
                "levels": control.levels, "metric": control.metric.name, "trials": control.n, "value": control.value,
                "interval": control.interval, "effect": control.effect,
            })
        })
        .collect();
    json!({
        "id": part.id, "question": part.question, "workload": part.workload, "parameters": part.parameters,
        "repetitions": part.repetitions, "comparisons": comparisons, "controls": controls, "tables": tables,
    })
}
