//! IKE_SAs whose replacement may have moved before it sent a message (RFC 4555): it is first seen
//! between other hosts, next to IKE_SAs that did not make it.

use std::collections::HashMap;
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

/// An IKE_SA of which a CREATE_CHILD_SA may have made another one.
#[derive(Debug, Clone)]
struct Departed {
    from: Moment,
    /// First packet of the IKE_SA with which all that may have departed were replaced.
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
            // Any host sends one packet with fresh SPIs: a product is one that both ends speak.
            if let (Origin::Rekey, Some(hosts), true) = (sa.origin, between.first(), is_answered(sa)) {
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
            // Nothing shows which of them a product replaced: all are accounted for once as many
            // have appeared.
            let (mut open, mut next, mut seen) = (Vec::new(), 0, 0);
            for product in products {
                while departed.get(next).is_some_and(|one| one.from.packet < product) {
                    open.push(next);
                    next += 1;
                }
                seen += usize::from(!open.is_empty());
                if seen == open.len() {
                    for replaced in open.drain(..) {
                        departed[replaced].until = product;
                    }
                    seen = 0;
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

fn is_answered(sa: &IkeSa) -> bool {
    let mut exchanges = sa.exchanges.iter();
    exchanges.any(|exchange| exchange.request.is_some() && exchange.response.is_some())
}

/// The beginning of an IKE_SA's last CREATE_CHILD_SA that may have made an IKE_SA.
fn last_rekey(sa: &IkeSa) -> Option<Moment> {
    let creates = sa.exchanges_of(ExchangeType::CREATE_CHILD_SA);
    let exchange = creates.filter(|exchange| may_make(exchange, SMALLEST_CREATE)).last()?;
    Some(exchange.response.or(exchange.request)?.first)
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
                if open.len() <= OPEN {
                    open.push(*next);
                }
                *next += 1;
            }
            // Beyond the bound the origin stays unknown for good.
            if open.len() > OPEN {
                return true;
            }
            open.retain(|&at| departed[at].until > sa.first.packet);
            let mut others = open.iter().map(|&at| &departed[at]).filter(|one| one.hosts != here);
            others.any(|one| one.last <= deleted && is_worse(one.ike))
        })
    }
}
