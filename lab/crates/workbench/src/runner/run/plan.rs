//! The order of a run: every repetition of a part takes each of its combinations and twins once, in
//! random order by the recorded seed, so that whatever else happens on the machine meets all of
//! them alike. Parts follow each other.

use bartizan_estimators::{Random, shuffle};

use crate::runner::experiment::{Levels, Part};

/// One trial that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its number in the run, from 0.
    pub trial: u64,
    /// Index of its part.
    pub part: usize,
    /// From 0.
    pub repetition: usize,
    /// Its place in the repetition, from 0.
    pub position: usize,
    /// A level of each factor.
    pub levels: Levels,
    /// True if the combination's twin is measured.
    pub twin: bool,
    /// For whatever the trial leaves to chance.
    pub seed: u64,
}

/// All trials, in order. The same parts, repetitions and seed give the same plan for ever: a resumed run rests on that.
#[must_use]
pub fn plan<'a>(parts: impl IntoIterator<Item = (&'a Part, usize)>, seed: u64) -> Vec<Planned> {
    let mut plan: Vec<Planned> = Vec::new();
    for (index, (part, repetitions)) in parts.into_iter().enumerate() {
        // Each part has an order of its own, which does not depend on how long those before it are.
        let mut random = Random::seeded(seed.wrapping_add(index as u64));
        for repetition in 0..repetitions {
            let once = part.combinations.iter().map(|levels| (levels, false));
            let twins = part.controls.iter().map(|levels| (levels, true));
            let mut order: Vec<(&Levels, bool)> = once.chain(twins).collect();
            shuffle(&mut random, &mut order);
            for (position, (levels, twin)) in order.into_iter().enumerate() {
                plan.push(Planned {
                    trial: plan.len() as u64,
                    part: index,
                    repetition,
                    position,
                    levels: levels.clone(),
                    twin,
                    // Whole in every reader of JSON.
                    seed: random.below(1 << 53) as u64,
                });
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::runner::run::runner_part;

    fn part(combinations: usize) -> Part {
        Part {
            combinations: (0..combinations)
                .map(|level| Levels::default().with("level", &level.to_string()))
                .collect(),
            ..runner_part()
        }
    }

    #[test]
    fn a_seed_gives_the_same_order_for_ever() {
        // A change here makes files of records that cannot be resumed: they would need a new schema version.
        let part = part(4);
        let order: Vec<String> = plan([(&part, 2)], 7)
            .iter()
            .map(|trial| trial.levels.to_string())
            .collect();
        insta::assert_snapshot!(order.join(", "), @"level=2, level=1, level=3, level=0, level=0, level=2, level=3, level=1");
        assert_eq!(plan([(&part, 2)], 7), plan([(&part, 2)], 7));
        assert_ne!(plan([(&part, 2)], 7), plan([(&part, 2)], 8));
    }

    #[test]
    fn a_control_is_taken_twice_in_every_repetition_and_leaves_the_order_of_parts_without_one_as_it_was() {
        let mut with = part(3);
        with.controls = vec![with.combinations[1].clone()];
        let planned = plan([(&with, 40)], 7);
        for round in planned.chunks(4) {
            let twins: Vec<&Planned> = round.iter().filter(|trial| trial.twin).collect();
            assert_eq!(twins.len(), 1);
            assert_eq!(twins[0].levels, with.combinations[1]);
        }
        // The twin comes before its combination as often as after it.
        let before = planned.chunks(4).filter(|round| {
            let place = |twin| {
                round
                    .iter()
                    .position(|trial| trial.twin == twin && trial.levels == with.combinations[1])
            };
            place(true) < place(false)
        });
        assert!((10..=30).contains(&before.count()));
        // A resumed run depends on that.
        let without = plan([(&part(4), 2)], 7);
        assert!(without.iter().all(|trial| !trial.twin));
    }

    proptest! {
        #[test]
        fn every_repetition_takes_each_combination_once_before_the_next(
            sizes in prop::collection::vec((1usize..12, 1usize..6), 1..4),
            seed: u64,
        ) {
            let parts: Vec<(Part, usize)> = sizes.iter().map(|&(size, repetitions)| (part(size), repetitions)).collect();
            let plan = plan(parts.iter().map(|(part, repetitions)| (part, *repetitions)), seed);
            let numbers: Vec<u64> = plan.iter().map(|trial| trial.trial).collect();
            prop_assert_eq!(numbers, (0..plan.len() as u64).collect::<Vec<_>>());
            let mut rest = plan.as_slice();
            for (index, (part, repetitions)) in parts.iter().enumerate() {
                for repetition in 0..*repetitions {
                    let (round, after) = rest.split_at(part.combinations.len());
                    rest = after;
                    prop_assert!(round.iter().all(|trial| trial.part == index && trial.repetition == repetition));
                    let positions: Vec<usize> = round.iter().map(|trial| trial.position).collect();
                    prop_assert_eq!(positions, (0..round.len()).collect::<Vec<_>>());
                    let taken: BTreeSet<&Levels> = round.iter().map(|trial| &trial.levels).collect();
                    prop_assert_eq!(taken, part.combinations.iter().collect());
                }
            }
            prop_assert!(rest.is_empty());
        }
    }
}
