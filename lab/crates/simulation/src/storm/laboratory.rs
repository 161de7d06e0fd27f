//! A storm as a laboratory makes it: one program plays all clients, one responder has a processor
//! for itself, and what a set-up takes each of them was measured a few at a time just before.

use crate::cost::ExchangePrimitives;
use crate::simulation::{
    Exchange, Message, Network, Procedure, Procedures, Retransmission, Scenario, Steady, Storm, StormKind, Timers,
    Variation,
};

/// Measurements before the storm, and timers.
#[derive(Debug, Clone)]
pub struct Laboratory {
    /// Set-ups of the storm.
    pub clients: u64,
    /// Microseconds of a processor that a set-up takes the end that plays all clients, a few at a time.
    pub client_us: f64,
    /// The same of the responder.
    pub responder_us: f64,
    /// Elapsed time of a single set-up beyond both processor times, in microseconds.
    pub beyond_us: f64,
    /// Microseconds within which the clients begin, evenly: one program begins one after the other.
    pub window_us: f64,
    /// The exchanges of a set-up, and which of them its primitives are in.
    pub exchanges: Vec<ExchangePrimitives>,
    /// Retransmission of requests, and the responder's threshold for cookies.
    pub timers: Timers,
}

/// TCP retransmits what was lost, not what waits for a thread: nothing is lost here.
const NEVER: u64 = 600 * 1_000_000_000;

impl Laboratory {
    /// The storm.
    ///
    /// Time that is no primitive's is divided evenly among the exchanges. If the primitives of
    /// another machine take longer than the measured time, they take shares of it.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let count = self.exchanges.len().max(1) as f64;
        let primitives = |of: fn(&ExchangePrimitives) -> f64| self.exchanges.iter().map(of).sum::<f64>();
        let divided = |all: f64, sum: f64, one: f64| {
            if sum > all {
                one * all / sum
            } else {
                one + (all - sum) / count
            }
        };
        let client = primitives(ExchangePrimitives::initiator_us);
        let responder = primitives(|exchange| exchange.responder_us);
        // An initiator handles an answer before its next request. It handles the last answer at the
        // end.
        let mut answered = 0.0;
        let mut exchanges = Vec::with_capacity(self.exchanges.len());
        for one in &self.exchanges {
            exchanges.push(exchange(
                one.name,
                divided(self.client_us, client, one.before_us + answered),
                divided(self.responder_us, responder, one.responder_us),
            ));
            answered = one.after_us;
        }
        let after_us = if client > self.client_us {
            answered * self.client_us / client
        } else {
            answered
        };
        let each_way = nanoseconds(self.beyond_us / count);
        let none = || procedure(vec![exchange("none", 0.0, 0.0)]);
        let is_tcp = self.timers == Timers::Tcp;
        let given = self.timers.retransmission();
        Scenario {
            network: Network {
                sites: self.clients,
                gateways: 1,
                cores: 1,
                round_trip_from_ns: each_way,
                round_trip_to_ns: each_way,
                loss_ppm: 0,
                site_rate: RATE,
                gateway_rate: RATE,
                site_cores: 1,
            },
            procedures: Procedures {
                set_up: Procedure {
                    exchanges,
                    after_ns: nanoseconds(after_us),
                },
                resume: None,
                dead_peer: none(),
                rekey_child: none(),
                rekey_ike: none(),
                renew: none(),
                fetch_list: none(),
            },
            retransmission: Retransmission {
                first_ns: if is_tcp { NEVER } else { given.first_ns },
                longest_ns: if is_tcp { NEVER } else { given.longest_ns },
                ..given
            },
            retry: self.timers.retry(),
            admission: crate::simulation::Admission {
                half_open_ns: NEVER,
                ..self.timers.admission(self.clients)
            },
            steady: Steady::default(),
            storm: Storm {
                kind: StormKind::Reattach,
                share_ppm: 1_000_000,
                window_ns: nanoseconds(self.window_us),
            },
            resumes: false,
            cost_permille: 1000,
            variation: Variation::Constant,
            horizon_ns: NEVER,
        }
    }
}

/// A hundred gigabits a second: a cable between two namespaces is memory.
const RATE: u64 = 100_000_000_000;

fn procedure(exchanges: Vec<Exchange>) -> Procedure {
    Procedure { exchanges, after_ns: 0 }
}

fn exchange(name: &str, site_us: f64, gateway_us: f64) -> Exchange {
    // Bytes take no time here that would be seen.
    let message = Message { bytes: 60, packets: 1 };
    Exchange {
        name: name.to_owned(),
        request: message,
        answer: message,
        site_ns: nanoseconds(site_us),
        gateway_ns: nanoseconds(gateway_us),
        keeps: true,
    }
}

fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds.clamp(0.0, 1e9) * 1e3).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Stop, run};

    fn laboratory(client_us: f64, responder_us: f64, timers: Timers) -> Laboratory {
        let exchange = |name, us| ExchangePrimitives {
            name,
            before_us: us,
            responder_us: us,
            after_us: us,
        };
        Laboratory {
            clients: 1000,
            client_us,
            responder_us,
            beyond_us: 100.0,
            window_us: 0.0,
            exchanges: vec![exchange("first", 50.0), exchange("second", 150.0)],
            timers,
        }
    }

    fn all_connected_s(laboratory: &Laboratory) -> f64 {
        let outcome = run(&laboratory.scenario(), 1, &mut |_| Stop::No).unwrap();
        outcome.reached(100).unwrap() as f64 / 1e9
    }

    #[test]
    fn a_storm_lasts_as_long_as_the_slower_end_is_busy() {
        for (client, responder) in [(1000.0, 400.0), (400.0, 1000.0)] {
            let lasts = all_connected_s(&laboratory(client, responder, Timers::Tcp));
            // 1000 set-ups of a millisecond; the other end adds what the first or the last takes.
            assert!((1.0..1.01).contains(&lasts), "{client} {responder}: {lasts}");
        }
    }

    #[test]
    fn primitives_that_take_longer_than_what_was_measured_do_not_make_it_longer() {
        // 200 us of primitives at the responder, and 150 were measured.
        let scenario = laboratory(500.0, 150.0, Timers::Tcp).scenario();
        let all: u64 = scenario
            .procedures
            .set_up
            .exchanges
            .iter()
            .map(|one| one.gateway_ns)
            .sum();
        assert_eq!(all, 150_000);
    }

    #[test]
    fn requests_that_wait_longer_than_a_timer_are_sent_again() {
        let laboratory = laboratory(1000.0, 2000.0, Timers::Bartizan);
        let outcome = run(&laboratory.scenario(), 1, &mut |_| Stop::No).unwrap();
        assert_eq!(outcome.done, 1000);
        assert!(outcome.counters.retransmissions > 0);
    }
}
