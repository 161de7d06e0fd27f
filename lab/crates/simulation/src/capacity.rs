//! Resources that N sites need in steady state: closed forms, which tests compare with the
//! simulation.

use serde::Serialize;

use crate::simulation::{Exchange, Procedure, ProcedureKind, Rng, SECOND, Scenario, ScenarioError};
use crate::storm::{Range, Spread};

/// Load of one kind of duty on one gateway.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demand {
    /// Kind of the duty.
    pub duty: ProcedureKind,
    /// Rate per second.
    pub per_second: f64,
    /// Cores that they keep busy.
    pub cores: f64,
    /// Bits a second in both directions, with what is sent again because a packet was lost.
    pub bits_per_second: f64,
}

/// Load of N sites on their gateways.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// Sites of the gateway that has the most.
    pub sites_per_gateway: u64,
    /// By duty.
    pub demands: Vec<Demand>,
    /// Requests a second at that gateway.
    pub requests_per_second: f64,
    /// Cores that are busy on average: offered load in erlangs.
    pub erlangs: f64,
    /// Share of its cores that is.
    pub utilisation: f64,
    /// Cores with which the utilisation stays at or below the target.
    pub cores_needed: u64,
    /// Probability that a request waits for a core (Erlang C); 1 where the cores do not suffice.
    pub waits: f64,
    /// Mean time that a request waits, in microseconds, if service times were exponentially
    /// distributed; none where the cores do not suffice.
    pub mean_wait_us: Option<f64>,
    /// Bits a second in both directions.
    pub bits_per_second: f64,
    /// The longest that a whole set-up of every site at once keeps the cores busy, in seconds: no
    /// storm of all sites is over sooner.
    pub all_at_once_s: f64,
}

/// Load of a scenario's duties on the gateway with the most sites, whatever its storm is. `target`
/// is the share of the cores that may be busy.
///
/// Offered load `a = sum(rate * service)`, utilisation `a / c`, Erlang C for the probability of
/// waiting, mean wait `C(c, a) * s / (c - a)` with the mean service time `s` (Kleinrock, *Queueing
/// Systems*, volume 1, section 3.5). Arrivals of many sites with periods of their own are taken as
/// Poisson.
///
/// # Errors
/// The errors of [`Scenario::check`], and a target outside of 1 % to 100 %.
pub fn capacity(scenario: &Scenario, target_percent: u64) -> Result<Capacity, ScenarioError> {
    scenario.check()?;
    crate::simulation::Bounds::hold("target", target_percent, 1, 100, "%", "of the cores")?;
    let (network, steady, procedures) = (&scenario.network, &scenario.steady, &scenario.procedures);
    let sites = network.sites.div_ceil(network.gateways);
    let reconnects = if scenario.resumes {
        ProcedureKind::Resume
    } else {
        ProcedureKind::SetUp
    };
    // A rekey comes up to a tenth early, evenly: on average a twentieth.
    let duties = [
        (ProcedureKind::DeadPeer, steady.dead_peer_ns as f64),
        (ProcedureKind::RekeyChild, steady.rekey_child_ns as f64 * 0.95),
        (ProcedureKind::RekeyIke, steady.rekey_ike_ns as f64 * 0.95),
        (reconnects, steady.reconnect_ns as f64),
        (ProcedureKind::Renew, steady.renew_ns as f64),
        (ProcedureKind::FetchList, steady.fetch_list_ns as f64),
    ];
    let cost = scenario.cost_permille as f64 / 1000.0;
    let second = SECOND as f64;
    let mut requests_per_second = 0.0;
    let mut demands = Vec::new();
    for (duty, period) in duties {
        if period <= 0.0 {
            continue;
        }
        let per_second = sites as f64 * second / period;
        let mut done: Vec<&Procedure> = vec![procedures.of(duty)];
        if duty == ProcedureKind::Renew {
            // A new certificate is shown in a new authentication.
            done.push(&procedures.set_up);
        }
        let work: u64 = done.iter().map(|procedure| procedure.gateway_ns()).sum();
        let bytes: f64 = done
            .iter()
            .flat_map(|procedure| &procedure.exchanges)
            .map(|exchange| sent_bytes(exchange, network.loss_ppm))
            .sum();
        let exchanges: usize = done.iter().map(|procedure| procedure.exchanges.len()).sum();
        requests_per_second += per_second * exchanges as f64;
        demands.push(Demand {
            duty,
            per_second,
            cores: per_second * work as f64 * cost / second,
            bits_per_second: per_second * bytes * 8.0,
        });
    }
    let erlangs: f64 = demands.iter().map(|demand| demand.cores).sum();
    let cores = network.cores as f64;
    let waits = erlang_c(network.cores, erlangs);
    let target = target_percent as f64 / 100.0;
    Ok(Capacity {
        sites_per_gateway: sites,
        requests_per_second,
        erlangs,
        utilisation: erlangs / cores,
        cores_needed: ((erlangs / target).ceil() as u64).max(1),
        waits,
        mean_wait_us: mean_wait_us(network.cores, erlangs, requests_per_second),
        bits_per_second: demands.iter().map(|demand| demand.bits_per_second).sum(),
        all_at_once_s: sites as f64 * procedures.set_up.gateway_ns() as f64 * cost / second / cores,
        demands,
    })
}

/// Bytes of an exchange until its answer has arrived. Each packet is lost with this probability,
/// and a message that lacks one is sent again whole: a request of `a` packets and an answer of `b`
/// are sent `1 / (1 - p)^(a + b)` and `1 / (1 - p)^b` times on average. Fragments that arrived and
/// count are sent again here all the same, and no end gives up. So this is an upper bound, close
/// where losses are rare.
fn sent_bytes(exchange: &Exchange, loss_ppm: u64) -> f64 {
    let arrives = 1.0 - loss_ppm as f64 / 1e6;
    let answer = arrives.powi(i32::from(exchange.answer.packets));
    let both = answer * arrives.powi(i32::from(exchange.request.packets));
    f64::from(exchange.request.bytes) / both + f64::from(exchange.answer.bytes) / answer
}

/// Capacity under uncertain loss and cost: medians over draws of both, and the range that holds 95
/// of 100. A field is none if no draw has a finite value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacitySpread {
    /// Draws.
    pub draws: u32,
    /// Cores that are busy on average.
    pub erlangs: Option<Spread>,
    /// Share of the gateway's cores that is.
    pub utilisation: Option<Spread>,
    /// Cores with which the utilisation stays at or below the target.
    pub cores_needed: Option<Spread>,
    /// Mean time that a request waits, in microseconds, over the draws in which the cores suffice.
    pub mean_wait_us: Option<Spread>,
    /// Bits a second in both directions.
    pub bits_per_second: Option<Spread>,
    /// The shortest that a set-up of every site at once can take, in seconds.
    pub all_at_once_s: Option<Spread>,
}

/// Uncertain inputs: each value between two ends is as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unknowns {
    /// Probability that a packet is lost, in millionths.
    pub loss_ppm: Range,
    /// Factor for measured times, in thousandths.
    pub cost_permille: Range,
    /// The 95 % interval of the measured times, as shares of their medians; drawn besides.
    pub cost_interval: [f64; 2],
}

/// [`capacity`] over draws of what is not known exactly. The same seed gives the same spread.
///
/// # Errors
/// The errors of [`capacity`], and a number of draws outside of 1 to 1 000 000.
pub fn capacity_spread(
    scenario: &Scenario,
    target_percent: u64,
    unknowns: &Unknowns,
    draws: u32,
    seed: u64,
) -> Result<CapacitySpread, ScenarioError> {
    crate::simulation::Bounds::hold("draws", u64::from(draws), 1, 1_000_000, "draws", "closed forms of each")?;
    let mut chance = Rng::seeded(seed, 5);
    let mut drawn = Vec::with_capacity(draws as usize);
    for _ in 0..draws {
        let mut within = |range: Range| chance.between(range.from, range.to.saturating_add(1));
        let (loss_ppm, cost_permille) = (within(unknowns.loss_ppm), within(unknowns.cost_permille));
        let [low, high] = unknowns.cost_interval;
        let measured = low + (high - low) * chance.share();
        let mut one = scenario.clone();
        one.network.loss_ppm = loss_ppm;
        one.cost_permille = cost_permille;
        drawn.push((capacity(&one, target_percent)?, measured));
    }
    // Times of a scenario are whole nanoseconds by a factor in thousandths; the interval of a
    // measurement is finer, and all that depends on times is linear in it.
    let cores = scenario.network.cores;
    let target = target_percent as f64 / 100.0;
    let over = |value: &dyn Fn(&Capacity, f64) -> Option<f64>| {
        Spread::of(
            &drawn
                .iter()
                .map(|(of, measured)| value(of, *measured))
                .collect::<Vec<_>>(),
        )
    };
    let always = |value: &dyn Fn(&Capacity, f64) -> f64| over(&|of, measured| Some(value(of, measured)));
    Ok(CapacitySpread {
        draws,
        erlangs: always(&|of, measured| of.erlangs * measured),
        utilisation: always(&|of, measured| of.erlangs * measured / cores as f64),
        cores_needed: always(&|of, measured| (of.erlangs * measured / target).ceil().max(1.0)),
        mean_wait_us: over(&|of, measured| mean_wait_us(cores, of.erlangs * measured, of.requests_per_second)),
        bits_per_second: always(&|of, _| of.bits_per_second),
        all_at_once_s: always(&|of, measured| of.all_at_once_s * measured),
    })
}

/// Mean wait of M/M/c in microseconds; none where the cores do not suffice.
fn mean_wait_us(cores: u64, erlangs: f64, requests_per_second: f64) -> Option<f64> {
    let service_us = if requests_per_second > 0.0 {
        erlangs / requests_per_second * 1e6
    } else {
        0.0
    };
    (erlangs < cores as f64).then(|| erlang_c(cores, erlangs) * service_us / (cores as f64 - erlangs))
}

/// Probability that a request finds all of so many cores busy, with so many erlangs offered:
/// Erlang's second formula, by the recurrence of his first, `B(k) = a B(k-1) / (k + a B(k-1))`,
/// which neither overflows nor needs factorials. 1 where the load is no less than the cores.
#[must_use]
pub fn erlang_c(cores: u64, erlangs: f64) -> f64 {
    if erlangs >= cores as f64 {
        return 1.0;
    }
    let mut blocked = 1.0;
    for core in 1..=cores {
        blocked = erlangs * blocked / (core as f64 + erlangs * blocked);
    }
    let busy = erlangs / cores as f64;
    blocked / (1.0 - busy * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn erlangs_formula_gives_the_values_of_its_tables() {
        // One core is M/M/1: the probability of waiting is the load.
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        // Two cores: 2 rho^2 / (1 + rho) with rho = a / 2.
        let rho: f64 = 0.6;
        assert!((erlang_c(2, 1.2) - 2.0 * rho * rho / (1.0 + rho)).abs() < 1e-12);
        assert_eq!(erlang_c(4, 4.0), 1.0);
        assert_eq!(erlang_c(4, 0.0), 0.0);
    }

    proptest! {
        #[test]
        fn waiting_is_likelier_with_more_load_and_with_fewer_cores(cores in 1_u64..64, share in 0.0..0.98_f64) {
            let erlangs = cores as f64 * share;
            let here = erlang_c(cores, erlangs);
            prop_assert!((0.0..=1.0).contains(&here));
            prop_assert!(erlang_c(cores, erlangs * 1.01) >= here);
            prop_assert!(erlang_c(cores + 1, erlangs) <= here);
        }
    }
}
