//! The shape of an experiment's file, before anything in it is looked up.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::runner::experiment::Source;

pub(super) type RawLevels = BTreeMap<String, Spanned<String>>;
pub(super) type RawParameters = BTreeMap<String, Spanned<Value>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExperiment {
    pub(super) id: Spanned<String>,
    pub(super) title: String,
    pub(super) question: String,
    pub(super) source: Option<Source>,
    pub(super) invalid: Vec<String>,
    pub(super) parts: Spanned<Vec<RawPart>>,
    pub(super) answer: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawPart {
    pub(super) id: Spanned<String>,
    pub(super) question: Option<String>,
    pub(super) workload: Spanned<String>,
    #[serde(default)]
    pub(super) factors: Vec<RawFactor>,
    #[serde(default)]
    pub(super) except: Vec<Spanned<RawLevels>>,
    #[serde(default)]
    pub(super) parameters: RawParameters,
    pub(super) repetitions: Spanned<usize>,
    pub(super) warm_up: Option<usize>,
    pub(super) quick: RawQuick,
    pub(super) bound: Spanned<f64>,
    pub(super) metrics: Spanned<Vec<Spanned<String>>>,
    pub(super) floor: Option<Spanned<RawLevels>>,
    #[serde(default)]
    pub(super) controls: Vec<Spanned<RawLevels>>,
    #[serde(default)]
    pub(super) comparisons: Vec<RawComparison>,
    #[serde(default)]
    pub(super) plots: Vec<Spanned<RawPlot>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFactor {
    pub(super) name: Spanned<String>,
    pub(super) levels: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQuick {
    pub(super) repetitions: Spanned<usize>,
    #[serde(default)]
    pub(super) parameters: RawParameters,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawComparison {
    pub(super) id: Spanned<String>,
    pub(super) metric: Spanned<String>,
    pub(super) of: Spanned<RawLevels>,
    pub(super) over: Spanned<RawLevels>,
    #[serde(rename = "as")]
    pub(super) form: Spanned<String>,
}

/// Fields of every kind of plot: which belong to which is looked up later, so that a message can name the place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPlot {
    pub(super) kind: Spanned<String>,
    pub(super) metric: Option<Spanned<String>>,
    pub(super) metrics: Option<Vec<Spanned<String>>>,
    pub(super) by: Option<Spanned<String>>,
    pub(super) rows: Option<Spanned<String>>,
    pub(super) columns: Option<Spanned<String>>,
    pub(super) x: Option<Spanned<String>>,
    pub(super) total: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) limits: Vec<Spanned<RawLimit>>,
    #[serde(default)]
    pub(super) only: RawLevels,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimit {
    pub(super) part: Spanned<String>,
    pub(super) metric: Spanned<String>,
    #[serde(default)]
    pub(super) only: RawLevels,
}
