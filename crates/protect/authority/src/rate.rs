//! Request rate limit per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bartizan_server::network;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// Upper bound of counted addresses. Beyond it, new addresses are refused until a minute has
/// passed.
const MOST: usize = 65_536;

/// A budget for each address, and for each /64 of IPv6, which one host has to itself; it fills again within a minute.
#[derive(Debug)]
pub(crate) struct Rate {
    per_minute: u32,
    spent: HashMap<IpAddr, (f64, Instant)>,
    /// Time of the latest look for addresses that can be forgotten.
    looked: Option<Instant>,
}

impl Rate {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self {
            per_minute,
            spent: HashMap::new(),
            looked: None,
        }
    }

    /// Returns true if one more request is served.
    pub(crate) fn admits(&mut self, from: IpAddr, now: Instant) -> bool {
        let from = network(from);
        let limit = f64::from(self.per_minute);
        if self.spent.len() >= MOST && !self.spent.contains_key(&from) {
            // A look at all of them for each request of a new address would be work without a bound.
            if self.looked.is_some_and(|looked| now.duration_since(looked) < SECOND) {
                return false;
            }
            self.looked = Some(now);
            self.spent.retain(|_, (_, last)| now.duration_since(*last) < MINUTE);
            if self.spent.len() >= MOST {
                return false;
            }
        }
        let (spent, last) = self.spent.entry(from).or_insert((0.0, now));
        let recovered = now.duration_since(*last).as_secs_f64() / MINUTE.as_secs_f64() * limit;
        *spent = (*spent - recovered).max(0.0);
        *last = now;
        if *spent + 1.0 > limit {
            return false;
        }
        *spent += 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_and_fills_again() {
        let (mut rate, start) = (Rate::new(3), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let served = (0..5).filter(|_| rate.admits(one, start)).count();
        assert_eq!(served, 3);
        assert!(rate.admits(other, start));
        assert!(!rate.admits(one, start + Duration::from_secs(10)));
        assert!(rate.admits(one, start + Duration::from_secs(31)));
    }

    #[test]
    fn a_host_of_ipv6_has_one_budget_and_an_address_of_ipv4_is_the_same_in_ipv6() {
        let (mut rate, now) = (Rate::new(1), Instant::now());
        assert!(rate.admits("fd00::1".parse().unwrap(), now));
        assert!(!rate.admits("fd00::2".parse().unwrap(), now));
        assert!(rate.admits("10.0.0.1".parse().unwrap(), now));
        assert!(!rate.admits("::ffff:10.0.0.1".parse().unwrap(), now));
    }

    #[test]
    fn addresses_are_bounded() {
        let (mut rate, now) = (Rate::new(1), Instant::now());
        for number in 0..u32::try_from(MOST).unwrap() {
            assert!(rate.admits(IpAddr::from((0x0a00_0000 + number).to_be_bytes()), now));
        }
        assert!(!rate.admits("192.0.2.1".parse().unwrap(), now));
        // Most requests of further addresses are refused without a look at all that are counted.
        assert_eq!(rate.looked, Some(now));
        assert!(!rate.admits("192.0.2.2".parse().unwrap(), now + SECOND / 2));
        assert_eq!(rate.looked, Some(now));
        assert!(rate.admits("192.0.2.1".parse().unwrap(), now + MINUTE));
    }
}
