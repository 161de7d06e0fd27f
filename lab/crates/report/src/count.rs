//! The values that papers print, counted by what became of their comparison.

use std::fmt::{self, Write as _};

use bartizan_workbench::Published;
use bartizan_workbench::runner::experiment::{Experiment, Publication};
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{ComparisonResult, File, PublishedValues};

/// The values of all papers, each once although several experiments may measure it.
#[derive(Debug, Clone, Default)]
pub struct Count {
    values: Vec<CountedValue>,
}

/// One printed value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedValue {
    /// The paper that prints it.
    pub paper: Publication,
    /// Its name in the experiment's file.
    pub id: String,
    /// As printed, with its unit.
    pub printed: String,
    /// Section, table or figure.
    pub place: String,
    /// The best result of the experiments that have the value.
    pub result: ComparisonResult,
    /// The experiment with that result.
    pub experiment: String,
    /// Our measurement, in the paper's unit.
    pub measured: Option<String>,
    /// Measured over published, in words.
    pub relation: Option<String>,
    /// One sentence: what a comparison needs.
    pub needs: Option<String>,
}

/// Numbers of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Printed values.
    pub values: usize,
    /// Compared with a record.
    pub compared: usize,
    /// Measured under other terms.
    pub not_comparable: usize,
    /// Without a record.
    pub not_measured: usize,
}

impl Count {
    /// Adds the published values of an experiment, set against its records.
    pub fn add(&mut self, experiment: &Experiment, published: &Published, files: &[File]) {
        let published = PublishedValues::of_files(experiment, published, files);
        for row in &published.rows {
            let value = CountedValue {
                paper: row.value.paper.clone().unwrap_or_else(|| published.paper.clone()),
                id: row.value.id.clone(),
                printed: row.printed(),
                place: row.value.place.clone(),
                result: row.result(),
                experiment: experiment.id.clone(),
                measured: row.measured(),
                relation: row.relation(),
                needs: row.incomparable.clone(),
            };
            let same = |other: &&mut CountedValue| {
                (&other.paper, &other.id, &other.printed) == (&value.paper, &value.id, &value.printed)
            };
            match self.values.iter_mut().find(same) {
                Some(known) if known.result < value.result => *known = value,
                Some(_) => (),
                None => self.values.push(value),
            }
        }
        self.values.sort_by_key(|value| value.paper.number());
    }

    /// Every value, by paper.
    #[must_use]
    pub fn values(&self) -> &[CountedValue] {
        &self.values
    }

    /// Numbers of the values of a paper, or of all.
    #[must_use]
    pub fn tally(&self, paper: Option<&Publication>) -> Tally {
        let mut tally = Tally::default();
        for value in &self.values {
            if paper.is_none_or(|paper| *paper == value.paper) {
                tally.values += 1;
                match value.result {
                    ComparisonResult::Compared => tally.compared += 1,
                    ComparisonResult::NotComparable => tally.not_comparable += 1,
                    ComparisonResult::NotMeasured => tally.not_measured += 1,
                }
            }
        }
        tally
    }

    fn papers(&self) -> Vec<&Publication> {
        let mut papers: Vec<&Publication> = self.values.iter().map(|value| &value.paper).collect();
        papers.dedup();
        papers
    }

    /// For a terminal: the numbers, then every value with its comparison or what it needs.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("all papers: {}\n", self.tally(None));
        for paper in self.papers() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{paper}: {}", self.tally(Some(paper)));
            for value in self.values.iter().filter(|value| value.paper == *paper) {
                let result = match (value.result, &value.measured, &value.relation) {
                    (ComparisonResult::Compared, Some(measured), relation) => {
                        let relation = relation.as_ref().map_or(String::new(), |words| format!(", {words}"));
                        format!("{measured} here{relation}")
                    }
                    _ => format!("{}: {}", value.result, value.needs.as_deref().unwrap_or("no trial")),
                };
                let _ = writeln!(
                    text,
                    "  {} ({}, {}): {}; {result}",
                    value.id, value.place, value.experiment, value.printed
                );
            }
        }
        text
    }

    /// For a page: the numbers in a table, then what the values that are not compared need.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = "| paper | values | compared | not comparable | not measured |\n\
                        | --- | ---: | ---: | ---: | ---: |\n"
            .to_owned();
        let papers = self.papers();
        let all = papers.iter().map(|paper| (paper.to_string(), self.tally(Some(paper))));
        for (name, tally) in all.chain([("all".to_owned(), self.tally(None))]) {
            let Tally {
                values,
                compared,
                not_comparable,
                not_measured,
            } = tally;
            let _ = writeln!(
                text,
                "| {name} | {values} | {compared} | {not_comparable} | {not_measured} |"
            );
        }
        for paper in papers {
            let mut needs: Vec<(&str, Vec<String>)> = Vec::new();
            for value in self.values.iter().filter(|value| value.paper == *paper) {
                if value.result == ComparisonResult::Compared {
                    continue;
                }
                let sentence = value.needs.as_deref().unwrap_or("no trial was measured");
                let name = format!("`{}` {} ({})", value.id, value.printed, value.place);
                match needs.iter_mut().find(|(known, _)| *known == sentence) {
                    Some((_, names)) => names.push(name),
                    None => needs.push((sentence, vec![name])),
                }
            }
            if needs.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\nNot compared of {paper}:\n");
            for (sentence, names) in needs {
                let _ = writeln!(text, "- {}: {sentence}.", names.join("; "));
            }
        }
        text
    }

    /// For other programs, by the schema `bartizan-lab-published/1`.
    #[must_use]
    pub fn json(&self) -> Value {
        let papers: Vec<Value> = self
            .papers()
            .into_iter()
            .map(|paper| json!({"paper": paper.number(), "publication": paper, "count": self.tally(Some(paper))}))
            .collect();
        json!({
            "schema": "bartizan-lab-published/1",
            "count": self.tally(None),
            "papers": papers,
            "values": self.values,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} values, {} compared, {} not comparable, {} not measured",
            self.values, self.compared, self.not_comparable, self.not_measured
        )
    }
}

impl fmt::Display for ComparisonResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Compared => "compared",
            Self::NotComparable => "not comparable",
            Self::NotMeasured => "not measured",
        })
    }
}
