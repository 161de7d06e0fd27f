//! Tables for other programs: comma-separated, quoted where needed, units as recorded.

use std::collections::BTreeSet;

use bartizan_estimators::Interval;
use bartizan_workbench::runner::experiment::Levels;
use bartizan_workbench::runner::trial::{Calibration, Outcome};

use crate::model::{Quickness, Report};

/// One row for each combination and metric: trials, median with interval, quartiles, Student's
/// interval, quantiles of all samples. Factors are columns of their own.
#[must_use]
pub fn summary_csv(report: &Report) -> String {
    let factors = factors(
        report
            .parts
            .iter()
            .flat_map(|part| &part.tables)
            .flat_map(|table| table.factors.iter().map(String::as_str)),
    );
    let mut rows = Rows::default();
    rows.row(
        ["experiment", "quick", "part", "metric", "unit"]
            .into_iter()
            .chain(factors.iter().copied())
            .chain([
                "trials",
                "failed",
                "samples",
                "median",
                "median_low",
                "median_high",
                "quartile_low",
                "quartile_high",
                "mean_of_medians",
                "student_low",
                "student_high",
                "p5",
                "p25",
                "p50",
                "p75",
                "p95",
                "p99",
                "dependence",
                "fast_trials",
                "fast_median",
                "fast_low",
                "fast_high",
                "slow_trials",
                "slow_median",
                "slow_low",
                "slow_high",
            ]),
    );
    let quick = if report.quickness == Quickness::Quick {
        "true"
    } else {
        "false"
    };
    for part in &report.parts {
        for table in &part.tables {
            for cell in &table.rows {
                let mut row: Vec<String> = [
                    report.heading.id.as_str(),
                    quick,
                    &part.id,
                    table.metric.name,
                    table.metric.unit,
                ]
                .map(str::to_owned)
                .to_vec();
                row.extend(levels(&factors, &cell.levels));
                let failed = cell.failed.to_string();
                match &cell.statistics {
                    None => row.extend(["0".to_owned(), failed, "0".to_owned()]),
                    Some(statistics) => {
                        row.extend([statistics.trials.to_string(), failed, statistics.samples.to_string()]);
                        row.push(statistics.median.to_string());
                        row.extend(ends(statistics.interval));
                        row.extend(ends(Some(statistics.quartiles)));
                        row.push(
                            statistics
                                .student
                                .map_or(String::new(), |student| student.value.to_string()),
                        );
                        row.extend(ends(statistics.student.map(|student| student.interval)));
                        row.extend(
                            statistics
                                .spread
                                .map(|value| value.map_or(String::new(), |value| value.to_string())),
                        );
                        row.push(statistics.dependence.map_or(String::new(), |factor| factor.to_string()));
                        for mode in [statistics.fast, statistics.slow] {
                            row.push(mode.map_or(String::new(), |mode| mode.trials.to_string()));
                            row.push(mode.map_or(String::new(), |mode| mode.median.to_string()));
                            row.extend(ends(mode.and_then(|mode| mode.interval)));
                        }
                    }
                }
                rows.row(row.iter().map(String::as_str));
            }
        }
    }
    rows.text
}

/// One row for each sample of each trial, in the order they were taken.
#[must_use]
pub fn samples_csv(report: &Report) -> String {
    let factors = factors(
        report
            .trials
            .iter()
            .flat_map(|record| record.levels.iter().map(|(factor, _)| factor)),
    );
    let mut rows = Rows::default();
    rows.row(
        [
            "experiment",
            "run",
            "quick",
            "part",
            "trial",
            "repetition",
            "position",
            "twin",
            "began",
            "load",
            "steal_ms",
            "calibration_us",
        ]
        .into_iter()
        .chain(factors.iter().copied())
        .chain(["metric", "sample", "value", "error"]),
    );
    for record in &report.trials {
        let mut head: Vec<String> = vec![
            record.experiment.clone(),
            record.run.clone(),
            record.quick.to_string(),
            record.part.clone(),
            record.trial.to_string(),
            record.repetition.to_string(),
            record.position.to_string(),
            record.twin.to_string(),
            record.began.clone(),
            record.load.to_string(),
            record.steal.map_or(String::new(), |steal| steal.during().to_string()),
            calibration(&record.calibration),
        ];
        head.extend(levels(&factors, &record.levels));
        let head = || head.iter().map(String::as_str);
        match &record.outcome {
            Outcome::Failed { error } => rows.row(head().chain(["", "", "", error])),
            Outcome::Measured { values, .. } => {
                for (metric, values) in values {
                    for (index, value) in values.iter().enumerate() {
                        rows.row(head().chain([metric.as_str(), &index.to_string(), &value.to_string(), ""]));
                    }
                }
            }
        }
    }
    rows.text
}

fn factors<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    names.collect::<BTreeSet<&str>>().into_iter().collect()
}

fn levels<'a>(factors: &'a [&str], levels: &'a Levels) -> impl Iterator<Item = String> + 'a {
    factors
        .iter()
        .map(|factor| levels.level(factor).unwrap_or_default().to_owned())
}

/// The pace of each processor, by its number: `0=41.2 1=40.8`.
fn calibration(calibration: &[Calibration]) -> String {
    let paces = calibration
        .iter()
        .map(|one| format!("{}={:.3}", one.processor, one.pace()));
    paces.collect::<Vec<_>>().join(" ")
}

fn ends(interval: Option<Interval>) -> [String; 2] {
    interval.map_or_else(Default::default, |interval| {
        [interval.low.to_string(), interval.high.to_string()]
    })
}

#[derive(Default)]
struct Rows {
    text: String,
}

impl Rows {
    fn row<'a>(&mut self, fields: impl Iterator<Item = &'a str>) {
        for (index, field) in fields.enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.field(field);
        }
        self.text.push('\n');
    }

    /// As RFC 4180 quotes it; a leading sign of a formula is defused, because such files are opened by spreadsheets.
    fn field(&mut self, field: &str) {
        let formula = field.starts_with(['=', '+', '@']) || (field.starts_with('-') && field.parse::<f64>().is_err());
        if formula || field.contains([',', '"', '\n', '\r']) {
            self.text.push('"');
            if formula {
                self.text.push('\'');
            }
            self.text.push_str(&field.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_need_it_and_formulas_are_text() {
        let mut rows = Rows::default();
        rows.row(["a", "b,c", "say \"no\"", "=1+1", "-1.5", "-x"].into_iter());
        assert_eq!(rows.text, "a,\"b,c\",\"say \"\"no\"\"\",\"'=1+1\",-1.5,\"'-x\"\n");
    }
}
