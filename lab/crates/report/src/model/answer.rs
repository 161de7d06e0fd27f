//! The sentence that answers an experiment, its places filled.

use bartizan_workbench::runner::experiment::{Experiment, Piece};
use serde::Serialize;

use super::{Part, Samples, Statistics};
use crate::quantity::words;

/// A piece of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPiece {
    /// Words of the experiment.
    Text(String),
    /// A measured value.
    Measured(String),
    /// A value that has not been measured.
    Missing(String),
}

impl AnswerPiece {
    /// As it is read.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Text(words) | Self::Measured(words) | Self::Missing(words) => words,
        }
    }
}

pub(crate) fn of(experiment: &Experiment, samples: &Samples, parts: &[Part]) -> Vec<AnswerPiece> {
    let pieces = experiment.answer.iter().flat_map(|answer| &answer.pieces);
    pieces
        .map(|piece| match piece {
            Piece::Text(words) => AnswerPiece::Text(words.clone()),
            Piece::Median { part, metric, levels } => {
                let unit = experiment
                    .part(part)
                    .and_then(|part| part.metric(metric))
                    .map_or("", |metric| metric.unit);
                match Statistics::of(&samples.matching(part, levels, metric)) {
                    Some(statistics) => {
                        let shown = crate::quantity::for_values(unit, statistics.median);
                        AnswerPiece::Measured(shown.estimate(statistics.median, statistics.interval))
                    }
                    None => AnswerPiece::Missing("(not measured)".to_owned()),
                }
            }
            Piece::Comparison { part, id } => {
                let said: Vec<String> = parts
                    .iter()
                    .filter(|of| of.id == *part)
                    .flat_map(|part| part.comparisons.iter().filter(|comparison| comparison.id == *id))
                    .filter_map(|comparison| {
                        let sentence = comparison.sentence()?;
                        Some(if comparison.within.is_empty() {
                            sentence
                        } else {
                            format!("{sentence} ({})", words(&comparison.within))
                        })
                    })
                    .collect();
                if said.is_empty() {
                    AnswerPiece::Missing("(not measured)".to_owned())
                } else {
                    AnswerPiece::Measured(said.join(", "))
                }
            }
        })
        .collect()
}
