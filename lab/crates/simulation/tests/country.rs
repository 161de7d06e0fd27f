//! A country: 50,000 sites and 200 gateways for an hour of network time, all duties of SAs
//! included, in a process of its own so that its memory can be read.

mod network;

use bartizan_simulation::simulation::{HOUR, SECOND, Stop, run};
use network::scenario;

/// The most that this process has had resident, in kilobytes (proc(5)).
fn most_resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn an_hour_of_50_000_sites_is_simulated_whole_within_two_gigabytes() {
    let mut scenario = scenario(50_000, 200);
    scenario.network.loss_ppm = 1_000;
    scenario.storm.window_ns = SECOND;
    scenario.horizon_ns = HOUR;
    let steady = &mut scenario.steady;
    steady.dead_peer_ns = 30 * SECOND;
    steady.rekey_child_ns = HOUR;
    steady.rekey_ike_ns = 4 * HOUR;
    steady.reconnect_ns = 24 * HOUR;
    steady.renew_ns = 720 * HOUR;
    steady.fetch_list_ns = 24 * HOUR;
    let outcome = run(&scenario, 1, &mut |_| Stop::No).unwrap();
    assert_eq!((outcome.concerned, outcome.done), (50_000, 50_000));
    let counters = &outcome.counters;
    assert_eq!(
        counters.attempts,
        counters.completed + counters.failed + counters.under_way
    );
    // Dead peer detection alone: 120 requests of each site, five events at least.
    assert!(counters.events > 25_000_000, "{counters:?}");
    assert!(
        counters.lost_packets > 0 && counters.retransmissions > 0,
        "{counters:?}"
    );
    let most = most_resident_kilobytes();
    assert!(most < 2_000_000, "{most} kB");
}
