//! IKE_SAs whose replacement may have moved before it sent a message (RFC 4555): it is first seen
//! between other hosts, next to IKE_SAs that did not make it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use bartizan_wire::ike::{ExchangeType, IkeSa, Origin};
use bartizan_wire::path::Path;
use bartizan_wire::{Moment, Timestamp};

use super::{Hosts, SMALLEST_CREATE, host_pairs, may_make};

/// Nanoseconds after which a replaced IKE_SA is deleted, retransmissions included.
const DELETED: u64 = 600_000_000_000;
/// Open rekeys of one host that are compared. Beyond these the origin of a new IKE_SA stays
/// unknown.
const OPEN: usize = 1 << 14;

/// An IKE_SA whose last CREATE_CHILD_SA may have made another one.
#[derive(Debug, Clone)]
struct Departed {
    from: Moment,
    /// First packet of the IKE_SA that took its place between its hosts.
    until: u64,
    last: Timestamp,
    hosts: Hosts,
    ike: usize,
}

/// All of a capture, by host and in the order of their exchanges.
#[derive(Debug, Default)]
pub(crate) struct Departures(HashMap<(IpAddr, Path), Vec<Departed>>);

impl Departures {
    pub(crate) fn new(ike: &[IkeSa]) -> Self {
        let mut pairs: HashMap<Hosts, (Vec<Departed>, Vec<u64>)> = HashMap::new();
        for (index, sa) in ike.iter().enumerate().filter(|(_, sa)| sa.encapsulated) {
            let between = host_pairs(sa);
            if let (Origin::Rekey, Some(hosts)) = (sa.origin, between.first()) {
                pairs.entry(hosts.clone()).or_default().1.push(sa.first.packet);
            }
            let Some(from) = last_rekey(sa) else { continue };
            for hosts in between {
                let departed = Departed {
                    from,
                    until: u64::MAX,
                    last: sa.last.time,
                    hosts: hosts.clone(),
                    ike: index,
                };
                pairs.entry(hosts).or_default().0.push(departed);
            }
        }
        let mut by_host: HashMap<(IpAddr, Path), Vec<Departed>> = HashMap::new();
        for (hosts, (mut departed, mut products)) in pairs {
            departed.sort_by_key(|one| one.from.packet);
            products.sort_unstable();
            let (mut open, mut next) = (VecDeque::new(), 0);
            for product in products {
                while departed.get(next).is_some_and(|one| one.from.packet < product) {
                    open.push_back(next);
                    next += 1;
                }
                if let Some(replaced) = open.pop_front() {
                    departed[replaced].until = product;
                }
            }
            for host in [hosts.0, hosts.1] {
                let known = by_host.entry((host, hosts.2.clone())).or_default();
                known.extend(departed.iter().cloned());
            }
        }
        for known in by_host.values_mut() {
            known.sort_by_key(|one| (one.from.packet, one.ike));
        }
        Self(by_host)
    }
}

/// The beginning of an IKE_SA's last CREATE_CHILD_SA, if it may have made an IKE_SA.
fn last_rekey(sa: &IkeSa) -> Option<Moment> {
    let exchange = sa.exchanges_of(ExchangeType::CREATE_CHILD_SA).last()?;
    let began = exchange.response.or(exchange.request)?.first;
    may_make(&exchange, SMALLEST_CREATE).then_some(began)
}

/// The open ones by host, as far as the capture was followed.
#[derive(Debug, Default)]
pub(crate) struct Open(HashMap<(IpAddr, Path), (usize, Vec<usize>)>);

impl Open {
    /// True where an IKE_SA of one of the hosts and a third one may have become this one, and
    /// `is_worse`.
    pub(crate) fn may_have_become(&mut self, all: &Departures, sa: &IkeSa, is_worse: impl Fn(usize) -> bool) -> bool {
        let Some(here) = host_pairs(sa).into_iter().next().filter(|_| sa.encapsulated) else {
            return false;
        };
        let deleted = Timestamp(sa.first.time.0.saturating_add(DELETED));
        [here.0, here.1].into_iter().any(|host| {
            let key = (host, here.2.clone());
            let Some(departed) = all.0.get(&key) else { return false };
            let (next, open) = self.0.entry(key).or_default();
            while departed.get(*next).is_some_and(|one| one.from.packet < sa.first.packet) {
                open.push(*next);
                *next += 1;
            }
            open.retain(|&at| departed[at].until > sa.first.packet);
            let mut others = open.iter().map(|&at| &departed[at]).filter(|one| one.hosts != here);
            open.len() > OPEN || others.any(|one| one.last <= deleted && is_worse(one.ike))
        })
    }
}
