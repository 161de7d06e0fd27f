//! A country in one process: 50,000 gNBs and 200 gateways for an hour of network time, all of which
//! come back at once; how long that took and the memory it needed.
//!
//! `cargo run --release --locked -p bartizan-plan --example country`

use std::time::Instant;

use bartizan_simulation::simulation::{
    Exchange, HOUR, MILLISECOND, Message, Network, Procedure, Procedures, SECOND, Scenario, Steady, Stop, Storm,
    StormKind, Timers, Variation, run,
};

/// Round figures: how long a run takes depends on the number of exchanges, hardly on what they cost.
fn procedure(exchanges: &[(&str, u32, u16, u64)]) -> Procedure {
    let exchange = |(name, bytes, packets, gateway_us): &(&str, u32, u16, u64)| {
        let message = Message {
            bytes: *bytes,
            packets: *packets,
        };
        Exchange {
            name: (*name).to_owned(),
            request: message,
            answer: message,
            site_ns: MILLISECOND,
            gateway_ns: gateway_us * 1000,
            keeps: true,
        }
    };
    Procedure {
        exchanges: exchanges.iter().map(exchange).collect(),
        after_ns: MILLISECOND,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario {
        network: Network {
            sites: 50_000,
            gateways: 200,
            cores: 4,
            round_trip_from_ns: 5 * MILLISECOND,
            round_trip_to_ns: 20 * MILLISECOND,
            loss_ppm: 1_000,
            site_rate: 100_000_000,
            gateway_rate: 10_000_000_000,
            site_cores: 0,
        },
        procedures: Procedures {
            set_up: procedure(&[
                ("IKE_SA_INIT", 300, 1, 700),
                ("IKE_INTERMEDIATE", 1_250, 2, 700),
                ("IKE_AUTH", 9_500, 8, 1_400),
            ]),
            resume: None,
            dead_peer: procedure(&[("INFORMATIONAL", 89, 1, 400)]),
            rekey_child: procedure(&[("CREATE_CHILD_SA", 300, 1, 700), ("IKE_FOLLOWUP_KE", 1_250, 2, 700)]),
            rekey_ike: procedure(&[("CREATE_CHILD_SA", 300, 1, 700), ("IKE_FOLLOWUP_KE", 1_250, 2, 700)]),
            renew: procedure(&[("certificate", 6_000, 5, 0)]),
            fetch_list: procedure(&[("CRL", 6_000, 5, 0)]),
        },
        retransmission: Timers::Bartizan.retransmission(),
        retry: Timers::Bartizan.retry(),
        admission: Timers::Bartizan.admission(250),
        steady: Steady {
            dead_peer_ns: 30 * SECOND,
            rekey_child_ns: HOUR,
            rekey_ike_ns: 4 * HOUR,
            reconnect_ns: 24 * HOUR,
            renew_ns: 720 * HOUR,
            fetch_list_ns: 24 * HOUR,
        },
        storm: Storm {
            kind: StormKind::Reattach,
            share_ppm: 1_000_000,
            window_ns: 10 * SECOND,
        },
        resumes: false,
        cost_permille: 1000,
        variation: Variation::Constant,
        horizon_ns: HOUR,
    };
    let began = Instant::now();
    let outcome = run(&scenario, 1, &mut |_| Stop::No)?;
    let took = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or("VmHWM: not known");
    println!("{} events in {took:.2} s; {peak}", outcome.counters.events);
    println!("{outcome:#?}");
    Ok(())
}
