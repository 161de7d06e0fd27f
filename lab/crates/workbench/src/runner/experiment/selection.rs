//! Selection of an experiment's parts and settings for a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::runner::experiment::{Levels, Parameters, Part};

/// Selected settings by the id of the part. A part that is not named runs as in the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selection(BTreeMap<String, Chosen>);

/// Selected settings of one part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Repetitions of a run that is no quick one, where they are others than the part's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
    /// Levels of a factor, where they are not all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// Parameters that differ from the part's.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
}

impl Selection {
    /// True if nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The part with what is taken of it.
    #[must_use]
    pub(crate) fn of(&self, part: &Part) -> Part {
        let mut part = part.clone();
        let Some(chosen) = self.0.get(&part.id) else {
            return part;
        };
        let taken = |levels: &Levels| {
            chosen.levels.iter().all(|(factor, wanted)| {
                let level = levels.level(factor);
                level.is_none_or(|level| wanted.iter().any(|one| one == level))
            })
        };
        part.combinations.retain(taken);
        part.controls.retain(taken);
        part.parameters.replace(&chosen.parameters);
        part.quick.parameters.replace(&chosen.parameters);
        part.repetitions = chosen.repetitions.unwrap_or(part.repetitions);
        part
    }
}

impl FromIterator<(String, Chosen)> for Selection {
    fn from_iter<I: IntoIterator<Item = (String, Chosen)>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::runner::run::runner_part;

    fn part() -> Part {
        let levels = |proxy: &str, mode: &str| Levels::default().with("proxy", proxy).with("mode", mode);
        let combinations = [("direct", "none"), ("one", "a"), ("one", "b"), ("other", "a")];
        let combinations: Vec<Levels> = combinations.map(|(proxy, mode)| levels(proxy, mode)).into();
        Part {
            id: "latency".to_owned(),
            controls: combinations[1..].to_vec(),
            combinations,
            ..runner_part()
        }
    }

    #[test]
    fn combinations_are_those_of_the_levels_that_are_chosen_and_a_factor_that_is_not_named_keeps_all() {
        let levels = [("proxy".to_owned(), vec!["direct".to_owned(), "one".to_owned()])];
        let chosen = Chosen {
            levels: levels.into(),
            repetitions: Some(7),
            parameters: Parameters::from_iter([("sleeps".to_owned(), Value::from(2))]),
        };
        let selection = Selection::from_iter([("latency".to_owned(), chosen)]);
        let taken = selection.of(&part());
        let named: Vec<String> = taken.combinations.iter().map(Levels::to_string).collect();
        assert_eq!(
            named,
            ["mode=none proxy=direct", "mode=a proxy=one", "mode=b proxy=one"]
        );
        assert_eq!((taken.controls.len(), taken.repetitions), (2, 7));
        for parameters in [&taken.parameters, &taken.quick.parameters] {
            assert_eq!(parameters.count("sleeps").unwrap(), 2);
            // A parameter that is not named stays.
            assert_eq!(parameters.count("readings").unwrap(), 100);
        }
        let text = serde_json::to_string(&selection).unwrap();
        assert_eq!(serde_json::from_str::<Selection>(&text).unwrap(), selection);
    }

    #[test]
    fn a_part_that_is_not_named_is_taken_as_it_is() {
        assert_eq!(Selection::default().of(&part()), part());
        assert!(Selection::default().is_empty());
    }
}
