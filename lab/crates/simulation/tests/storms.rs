//! Storms: nothing is lost from the books, more load takes longer, one seed gives one outcome,
//! absurd plans are refused.

use crate::network;
use bartizan_simulation::simulation::{Outcome, SECOND, Scenario, Stop, StormKind, run};
use network::scenario;
use proptest::prelude::*;

fn simulated(scenario: &Scenario, seed: u64) -> Outcome {
    run(scenario, seed, &mut |_| Stop::No).unwrap()
}

/// Invariants of every outcome.
fn accounted_for(scenario: &Scenario, outcome: &Outcome) {
    let counters = &outcome.counters;
    assert_eq!(
        counters.attempts,
        counters.completed + counters.failed + counters.under_way,
        "every set-up is completed, failed or under way: {counters:?}"
    );
    assert!(outcome.done <= outcome.concerned && outcome.concerned <= scenario.network.sites);
    assert!(outcome.up <= scenario.network.sites);
    assert!(outcome.reached_ns.is_sorted());
    assert_eq!(
        outcome.reached_ns.len() == 101,
        outcome.done == outcome.concerned && outcome.concerned > 0
    );
    assert!(outcome.most_half_open <= scenario.network.sites + counters.failed + counters.expired);
}

#[test]
fn all_sites_come_back_and_none_sooner_than_its_exchanges_allow() {
    let scenario = scenario(2_000, 4);
    let outcome = simulated(&scenario, 1);
    accounted_for(&scenario, &outcome);
    assert_eq!((outcome.concerned, outcome.done, outcome.up), (2_000, 2_000, 2_000));
    assert_eq!(outcome.counters.failed, 0);
    // Two round trips of 5 ms at least, two services, three times of the site.
    assert!(outcome.reached_ns[0] > 2 * 5_000_000 + 2_000_000 + 300_000);
    // No sooner than two cores are done with 500 set-ups of 2 ms.
    assert!(outcome.reached_ns[100] >= 500 * 2_000_000 / 2);
    assert_eq!(outcome.counters.gateway_ns, 2_000 * 2_000_000);
}

#[test]
fn a_network_that_drops_half_loses_no_site_from_its_books() {
    let mut scenario = scenario(300, 3);
    scenario.network.loss_ppm = 500_000;
    scenario.admission.queue = Some(5);
    scenario.admission.half_open_ns = 2 * SECOND;
    scenario.steady.dead_peer_ns = 5 * SECOND;
    scenario.steady.reconnect_ns = 60 * SECOND;
    let outcome = simulated(&scenario, 5);
    accounted_for(&scenario, &outcome);
    let counters = &outcome.counters;
    assert!(
        counters.failed > 0 && counters.retransmissions > 0 && counters.lost_packets > 0,
        "{counters:?}"
    );
    assert!(counters.lost_peers > 0 && counters.expired > 0, "{counters:?}");
}

#[test]
fn a_site_gives_up_when_strongswan_does() {
    // 4 s x (1 + 1.8 + 1.8^2 + ... + 1.8^5) = 165.06 s: strongSwan's documentation says 165 s.
    let again = scenario(1, 1).retransmission;
    let waits: Vec<f64> = (0..=5).map(|sending| again.wait(sending) as f64 / 1e9).collect();
    for (wait, published) in waits.iter().zip([4.0, 7.2, 12.96, 23.328, 41.9904, 75.58272]) {
        let expected = f64::min(published, 60.0);
        assert!((wait - expected).abs() < 1e-6, "{waits:?}");
    }
    let mut unlimited = again;
    unlimited.longest_ns = 600 * SECOND;
    assert!((unlimited.patience() as f64 / 1e9 - 165.06).abs() < 0.01);
}

#[test]
fn cookies_are_asked_for_above_the_threshold_and_cost_a_round_trip() {
    let mut without = scenario(1_000, 1);
    without.storm.window_ns = 0;
    without.admission.cookies_from = None;
    let mut with = without.clone();
    with.admission.cookies_from = Some(10);
    let (without, with) = (simulated(&without, 2), simulated(&with, 2));
    assert_eq!(without.counters.cookies, 0);
    assert!(with.counters.cookies > 900, "{}", with.counters.cookies);
    assert_eq!((with.done, without.done), (1_000, 1_000));
    assert!(with.counters.bytes_down > without.counters.bytes_down + 900 * 100);
}

#[test]
fn sites_that_share_a_core_come_back_no_sooner_than_it_is_done() {
    let mut scenario = scenario(1_000, 4);
    scenario.storm.window_ns = 0;
    scenario.network.site_cores = 1;
    let outcome = simulated(&scenario, 4);
    accounted_for(&scenario, &outcome);
    // Three pieces of work of 0.1 ms each.
    assert!(outcome.reached_ns[100] >= 1_000 * 300_000);
    scenario.network.site_cores = 0;
    assert!(simulated(&scenario, 4).reached_ns[0] < outcome.reached_ns[50]);
}

#[test]
fn revoked_sites_are_cut_off_until_they_have_a_new_certificate_and_others_fetch_the_list() {
    let mut scenario = scenario(1_000, 2);
    scenario.storm.kind = StormKind::Revocation;
    scenario.storm.share_ppm = 100_000;
    let outcome = simulated(&scenario, 3);
    accounted_for(&scenario, &outcome);
    assert_eq!((outcome.concerned, outcome.done, outcome.up), (100, 100, 1_000));
    // Each one either a certificate or a list.
    assert_eq!(outcome.counters.duties, 1_000);
    assert_eq!(outcome.counters.completed, 100);
}

#[test]
fn in_a_rollover_no_site_goes_down() {
    let mut scenario = scenario(1_000, 2);
    scenario.storm.kind = StormKind::Rollover;
    let mut least = u64::MAX;
    scenario.horizon_ns = 60 * SECOND;
    for seed in 0..3 {
        let outcome = simulated(&scenario, seed);
        accounted_for(&scenario, &outcome);
        least = least.min(outcome.up);
        assert_eq!((outcome.done, outcome.counters.completed), (1_000, 1_000));
    }
    assert_eq!(least, 1_000);
}

#[test]
fn a_run_that_is_asked_to_stop_stops() {
    let mut scenario = scenario(10_000, 1);
    scenario.steady.dead_peer_ns = SECOND;
    let stopped = run(&scenario, 0, &mut |_| Stop::Yes).unwrap_err();
    assert_eq!(stopped.to_string(), "interrupted");
}

#[test]
fn absurd_plans_are_refused_with_the_bound() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario(100, 10);
        change(&mut scenario);
        run(&scenario, 0, &mut |_| Stop::No).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|scenario| scenario.network.sites = 1_000_000_000_000),
        "sites: 1000000000000 sites, and it is between 1 and 1000000 sites (memory of one run; split a larger network by region)"
    );
    assert!(refused(&|scenario| scenario.network.gateways = 101).contains("between 1 and 100 gateways"));
    assert!(refused(&|scenario| scenario.network.gateways = 0).contains("between 1 and 100 gateways"));
    assert!(refused(&|scenario| scenario.network.cores = 0).contains("between 1 and 1024 cores"));
    assert!(refused(&|scenario| scenario.network.loss_ppm = 999_999).contains("between 0 and 500000"));
    assert!(refused(&|scenario| scenario.horizon_ns = u64::MAX).contains("a second to a day"));
    assert!(refused(&|scenario| scenario.retransmission.first_ns = 0).contains("a millisecond to ten minutes"));
    assert!(refused(&|scenario| scenario.procedures.set_up.exchanges.clear()).contains("no exchange"));
    assert!(refused(&|scenario| scenario.resumes = true).contains("no procedure that resumes"));
    let endless = |scenario: &mut Scenario| {
        scenario.network.sites = 1_000_000;
        scenario.steady.dead_peer_ns = 10_000_000;
    };
    assert!(refused(&endless).contains("events"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_seed_gives_one_outcome_and_every_outcome_is_accounted_for(
        seed in any::<u64>(), sites in 1_u64..400, gateways in 1_u64..5, loss in 0_u64..300_000, window in 0_u64..30,
        cookies in prop::option::of(0_u64..50), queue in prop::option::of(0_u64..20), dead in 0_u64..20,
    ) {
        let mut scenario = scenario(sites, gateways.min(sites));
        scenario.network.loss_ppm = loss;
        scenario.storm.window_ns = window * SECOND;
        scenario.admission.cookies_from = cookies;
        scenario.admission.queue = queue;
        scenario.steady.dead_peer_ns = dead * SECOND;
        scenario.horizon_ns = 120 * SECOND;
        let outcome = simulated(&scenario, seed);
        accounted_for(&scenario, &outcome);
        prop_assert_eq!(&outcome, &simulated(&scenario, seed));
    }

    #[test]
    fn slower_gateways_and_larger_messages_bring_no_site_back_sooner(
        seed in any::<u64>(), sites in 50_u64..400, slower in 1_u64..10, larger in 1_u32..10,
    ) {
        // Without loss, cookies and retransmissions that meet a queue, each site waits only for the
        // sites before it.
        let mut scenario = scenario(sites, 1);
        scenario.admission.cookies_from = None;
        let here = simulated(&scenario, seed);
        let mut slow = scenario.clone();
        slow.cost_permille = 1000 + slower * 300;
        let slow = simulated(&slow, seed);
        prop_assert!(slow.reached_ns[100] >= here.reached_ns[100]);
        prop_assert!(slow.counters.gateway_ns >= here.counters.gateway_ns);
        for exchange in &mut scenario.procedures.set_up.exchanges {
            exchange.answer.bytes *= 1 + larger;
        }
        let large = simulated(&scenario, seed);
        prop_assert!(large.reached_ns[50] >= here.reached_ns[50]);
        prop_assert!(large.counters.bytes_down >= here.counters.bytes_down);
    }
}
