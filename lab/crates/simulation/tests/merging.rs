//! Parts of a plan merge to the bytes of one run, however they were cut and in whatever order they come.

use crate::network;
use bartizan_simulation::simulation::{SECOND, Stop};
use bartizan_simulation::storm::{MergeError, Part, Plan, Range, Seeds, Variant, merge, summary};
use network::scenario;
use proptest::prelude::*;

fn plan() -> Plan {
    let mut slow = scenario(60, 3);
    slow.horizon_ns = 60 * SECOND;
    slow.storm.window_ns = SECOND;
    let mut fast = slow.clone();
    fast.procedures.set_up.exchanges[1].gateway_ns /= 3;
    let variant = |name: &str, scenario| Variant {
        name: name.to_owned(),
        sources: vec!["a test".to_owned()],
        scenario,
    };
    Plan {
        variants: vec![variant("slow", slow), variant("fast", fast)],
        loss_ppm: Range { from: 0, to: 50_000 },
        cost_permille: Range { from: 800, to: 1_300 },
    }
}

fn part(plan: Plan, from: u64, to: u64) -> Part {
    Part::run(plan, Seeds { from, to }, &mut |_, _, _| Stop::No).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn parts_of_random_cuts_in_random_order_merge_to_the_bytes_of_one_run(
        from in 0_u64..1000, cuts in prop::collection::btree_set(1_u64..12, 0..6), turn in any::<prop::sample::Index>(),
    ) {
        let whole = part(plan(), from, from + 12);
        let mut ends: Vec<u64> = cuts.into_iter().map(|cut| from + cut).collect();
        ends.push(from + 12);
        let mut begin = from;
        let mut parts = Vec::new();
        for end in ends {
            // Through a file, as other machines hand them over.
            let text = part(plan(), begin, end).text().unwrap();
            parts.push(Part::parse(&text).unwrap());
            begin = end;
        }
        let length = parts.len();
        parts.rotate_left(turn.index(length));
        if length > 2 {
            parts.swap(0, length - 1);
        }
        let merged = merge(parts).unwrap();
        prop_assert_eq!(merged.text().unwrap(), whole.text().unwrap());
        prop_assert_eq!(
            serde_json::to_string(&summary(&merged)).unwrap(),
            serde_json::to_string(&summary(&whole)).unwrap()
        );
    }
}

#[test]
fn overlapping_missing_and_foreign_parts_are_refused() {
    let one = part(plan(), 0, 3);
    let overlapping = merge(vec![one.clone(), part(plan(), 2, 4)]).unwrap_err();
    assert_eq!(overlapping.to_string(), "seeds 0..3 and 2..4 overlap");
    let gap = merge(vec![one.clone(), part(plan(), 5, 6)]).unwrap_err();
    assert_eq!(gap.to_string(), "seeds 3..5 are in no part");
    let mut other = plan();
    other.variants[1].scenario.network.cores = 3;
    let foreign = merge(vec![one.clone(), part(other, 3, 4)]).unwrap_err();
    assert_eq!(
        foreign.to_string(),
        "part 2 is of another plan than part 1: numbers of variant fast"
    );
    let mut wider = plan();
    wider.loss_ppm.to += 1;
    assert!(matches!(
        merge(vec![one.clone(), part(wider, 3, 4)]),
        Err(MergeError::Foreign { .. })
    ));
    assert_eq!(merge(Vec::new()), Err(MergeError::None));
    // The same part twice is seeds twice.
    assert!(matches!(merge(vec![one.clone(), one]), Err(MergeError::Overlap { .. })));
}

#[test]
fn a_part_whose_runs_are_not_those_of_its_seeds_is_refused() {
    let whole = part(plan(), 4, 6);
    let change = |change: &dyn Fn(&mut Part)| {
        let mut part = whole.clone();
        change(&mut part);
        Part::parse(&part.text().unwrap()).unwrap_err().to_string()
    };
    assert!(change(&|part| part.runs.truncate(1)).contains("its runs are others"));
    assert!(change(&|part| part.runs[0].seed = 9).contains("its runs are others"));
    assert!(change(&|part| part.runs[1].drawn.loss_ppm += 1).contains("its runs are others"));
    assert!(change(&|part| drop(part.runs[1].outcomes.pop())).contains("its runs are others"));
    assert!(change(&|part| part.plan.variants.clear()).contains("without a variant"));
    assert!(
        change(&|part| part.plan.variants[0].scenario.network.sites = 1 << 40).contains("between 1 and 1000000 sites")
    );
    assert!(change(&|part| part.seeds.to = u64::MAX).contains("write A..B"));
}

#[test]
fn every_seed_draws_within_the_ranges_and_the_same_for_all_variants() {
    let whole = part(plan(), 0, 12);
    for run in &whole.runs {
        assert!(run.drawn.loss_ppm <= 50_000 && (800..=1_300).contains(&run.drawn.cost_permille));
        assert_eq!(run.outcomes.len(), 2);
    }
    let losses: std::collections::BTreeSet<u64> = whole.runs.iter().map(|run| run.drawn.loss_ppm).collect();
    assert!(losses.len() > 9, "{losses:?}");
    let said = summary(&whole);
    let all = |variant: usize| said.variants[variant].quantities[3].spread.unwrap();
    assert!(all(1).median <= all(0).median && all(0).low <= all(0).high);
}
