//! The experiments that `bartizan bench` runs. Their records stay with the user, not next to their
//! files as those of published experiments do.

use std::path::Path;

use crate::runner::experiment::{Experiment, ExperimentError};

/// Id of what a pair of sidecars costs.
pub const SIDECAR: &str = "bench-sidecar";
/// Id of what hostile others do to requests that share sidecars with them.
pub const HOSTILE: &str = "bench-hostile";

/// Their texts.
const BUILT_IN: [(&str, &str); 2] = [
    (SIDECAR, include_str!("bench/sidecar.yaml")),
    (HOSTILE, include_str!("bench/hostile.yaml")),
];

/// The experiment of this id; `None` where the bench has none of it.
///
/// # Errors
/// Never of the texts that are built in: a test reads them.
pub fn experiment(id: &str) -> Option<Result<Experiment, ExperimentError>> {
    let (id, text) = BUILT_IN.into_iter().find(|(known, _)| *known == id)?;
    Some(Experiment::parse(text, &Path::new("(built in)").join(id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::proxies::{Hostility, Placement, Proxy, Route, What};

    #[test]
    fn what_can_be_asked_for_on_the_command_line_is_in_the_experiments() {
        let sidecar = experiment(SIDECAR).unwrap().unwrap();
        for what in What::ALL {
            assert!(sidecar.part(what.name()).is_some(), "{}", what.name());
        }
        let latency = sidecar.part("latency").unwrap();
        let has = |proxy: &str, placement: Placement| {
            let fits = |levels: &&crate::runner::experiment::Levels| {
                (levels.level("proxy"), levels.level("placement")) == (Some(proxy), Some(placement.name()))
            };
            latency.combinations.iter().filter(fits).count()
        };
        for placement in Placement::ALL {
            assert_eq!(has("direct", placement), 1);
            for proxy in Proxy::ALL {
                assert_eq!(has(proxy.name(), placement), 2, "{}", proxy.name());
            }
        }
        // Every combination is one that a worker can take.
        for part in sidecar.parts.iter().filter(|part| part.factor("proxy").is_some()) {
            for levels in &part.combinations {
                let route = Route::of(levels).unwrap();
                let pools = matches!(route, Route::Through(proxy, _) if proxy.always_pools().is_some());
                assert!(part.id != What::NewConnection.name() || !pools, "{levels}");
            }
        }
        let hostile = experiment(HOSTILE).unwrap().unwrap();
        let combinations = &hostile.parts[0].combinations;
        assert_eq!(combinations.len(), 2 * Hostility::ALL.len());
        assert!(experiment("other").is_none());
    }
}
