//! Processor time of set-ups that a user has measured, in place of a record's.

use std::str::FromStr;

use bartizan_budget::unit::Microseconds;
use bartizan_simulation::cost::Worked;

use super::network::nanoseconds;
use crate::Failure;

/// `[SUITE=]TIME`.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    suite: Option<String>,
    time: Microseconds,
}

impl FromStr for Handshake {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (suite, time) = match text.rsplit_once('=') {
            Some((suite, time)) => (Some(suite.trim().to_owned()), time),
            None => (None, text),
        };
        let time: Microseconds = time.trim().parse().map_err(|error| format!("{error}"))?;
        if time.value() <= 0.0 {
            return Err("a set-up takes some time".to_owned());
        }
        Ok(Self { suite, time })
    }
}

impl Handshake {
    /// The words that a suite is given by, without those that stand for defaults.
    fn is_for(&self, suite: &str) -> bool {
        let whole = |text: &str| text.strip_suffix("/1").unwrap_or(text).to_lowercase();
        self.suite.as_deref().is_none_or(|given| whole(given) == whole(suite))
    }
}

/// Refuses figures for suites that are not planned, and one for several.
pub(super) fn fit(handshakes: &[Handshake], suites: &[&str]) -> Result<(), Failure> {
    for handshake in handshakes {
        let planned = suites.iter().filter(|suite| handshake.is_for(suite)).count();
        match (&handshake.suite, planned) {
            (_, 1) => {}
            (Some(given), 0) => {
                return Err(Failure::usage(format!("--handshake {given}: no such suite is planned"))
                    .hint(format!("planned are {}", suites.join(", "))));
            }
            _ => {
                let first = suites.first().copied().unwrap_or_default();
                return Err(
                    Failure::usage("--handshake: several suites are planned, and a time is that of one").hint(format!(
                        "write --handshake {first}=0.8ms, or plan one by --suite {first}"
                    )),
                );
            }
        }
    }
    Ok(())
}

/// Replaces the gateway's processor time for a whole set-up. Its exchanges share it as they shared
/// the record's.
pub(super) fn replace(handshakes: &[Handshake], suite: &str, worked: &mut Worked) -> Option<String> {
    // The last one that is given wins.
    let handshake = handshakes.iter().rev().find(|handshake| handshake.is_for(suite))?;
    let set_up = &mut worked.procedures.set_up;
    let (given, before) = (nanoseconds(handshake.time), set_up.gateway_ns());
    let mut left = given;
    let last = set_up.exchanges.len().saturating_sub(1);
    for (number, exchange) in set_up.exchanges.iter_mut().enumerate() {
        let share = match before {
            0 => 0,
            _ => (u128::from(exchange.gateway_ns) * u128::from(given) / u128::from(before)) as u64,
        };
        exchange.gateway_ns = if number == last { left } else { share };
        left -= exchange.gateway_ns;
    }
    worked.measured = true;
    Some(format!(
        "set-up: {} ms of the gateway's processor by --handshake, {} ms by the record",
        given as f64 / 1e6,
        before as f64 / 1e6
    ))
}
