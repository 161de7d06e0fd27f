//! Inbound packets that the kernel's ESP drops: of each SA, of each link over the lives of its SAs,
//! and of the whole host.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::net::IpAddr;
use std::ops::{Add, Sub};
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Program};
use bartizan_ledger::EspSpi;
use serde::Serialize;

use crate::reqid;
use crate::traffic::pairs;

/// Time limit of `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

/// The kernel's counters of this network namespace, for every SA, policy or none.
const OF_HOST: &str = "/proc/thread-self/net/xfrm_stat";

/// Packets that an SA received and did not let through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// They had come before (RFC 4303, section 3.4.3).
    pub replayed: u64,
    /// They were so late that whether they had come before is not known any more: further behind than the replay window.
    pub outside_window: u64,
    /// Their check value was wrong.
    pub integrity: u64,
}

impl Drops {
    /// Returns true if there are none.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Each by its name in metrics.
    pub const fn named(&self) -> [(&'static str, u64); 3] {
        [
            ("replayed", self.replayed),
            ("outside-window", self.outside_window),
            ("integrity", self.integrity),
        ]
    }
}

impl Add for Drops {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            replayed: self.replayed.saturating_add(other.replayed),
            outside_window: self.outside_window.saturating_add(other.outside_window),
            integrity: self.integrity.saturating_add(other.integrity),
        }
    }
}

impl Sub for Drops {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            replayed: self.replayed.saturating_sub(other.replayed),
            outside_window: self.outside_window.saturating_sub(other.outside_window),
            integrity: self.integrity.saturating_sub(other.integrity),
        }
    }
}

/// An SA of ESP as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    destination: IpAddr,
    spi: EspSpi,
    reqid: u32,
    drops: Drops,
}

/// The SAs of ESP of this network namespace; none where the kernel does no ESP. Their keys are not asked for.
///
/// # Errors
///
/// Fails if `ip` is missing or lacks the permission.
pub fn of_sas() -> Result<Option<Vec<State>>, Error> {
    let listed = Program::new("ip")
        .package("iproute2")
        .environment("LC_ALL", "C")
        .arguments(["-s", "xfrm", "state", "list", "nokeys"])
        .run(PATIENCE);
    match listed {
        Ok(listed) => Ok(Some(read(&listed.text()))),
        Err(Error::Failed { tail, .. }) if tail.contains("Protocol not supported") => Ok(None),
        Err(error) => Err(error),
    }
}

/// The kernel's number that joins the SA of this destination and SPI with its policies.
pub(crate) fn reqid(states: &[State], destination: IpAddr, spi: EspSpi) -> Option<u32> {
    let found = states
        .iter()
        .find(|state| state.destination == destination && state.spi == spi);
    found.map(|state| state.reqid)
}

/// Drops of the SAs by SPI.
pub fn by_spi(states: &[State]) -> HashMap<EspSpi, Drops> {
    let mut drops = HashMap::<_, Drops>::new();
    for state in states {
        // The peer chooses the SPIs of what leaves, and may choose the same: such an SA receives nothing.
        let of_it = drops.entry(state.spi).or_default();
        *of_it = *of_it + state.drops;
    }
    drops
}

/// The kernel's own counters of this network namespace (`XfrmInNoStates` ...), those that are not 0; none where it does not count.
pub fn of_host() -> Option<BTreeMap<String, u64>> {
    let text = fs::read_to_string(OF_HOST).ok()?;
    let counts = text.lines().filter_map(|line| {
        let (name, count) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    });
    Some(counts.filter(|(_, count)| *count > 0).collect())
}

/// Parses `ip -s xfrm state`: for each SA a line of its ends, one of its SPI, and `stats:` with its
/// counters below.
fn read(text: &str) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    // The current SA's destination, and true if it is an ESP SA.
    let (mut destination, mut is_esp) = (None, false);
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let after = |word: &str| {
            let place = words.iter().position(|known| *known == word)?;
            words.get(place + 1).copied()
        };
        match words.as_slice() {
            ["src", _, "dst", to, ..] => (destination, is_esp) = (to.parse().ok(), false),
            ["proto", "esp", ..] => {
                let spi = after("spi")
                    .and_then(|spi| u32::from_str_radix(spi.split('(').next()?.trim_start_matches("0x"), 16).ok());
                let reqid = after("reqid").and_then(|reqid| reqid.split('(').next()?.parse().ok());
                if let (Some(destination), Some(spi)) = (destination.take(), spi) {
                    is_esp = true;
                    states.push(State {
                        destination,
                        spi: EspSpi(spi),
                        reqid: reqid.unwrap_or_default(),
                        drops: Drops::default(),
                    });
                }
            }
            // Another line begins with the same word and has no count of what failed.
            ["replay-window", outside, "replay", replayed, "failed", failed] => {
                if let Some(state) = states.last_mut().filter(|_| is_esp) {
                    let number = |text: &str| text.parse().unwrap_or_default();
                    state.drops = Drops {
                        replayed: number(replayed),
                        outside_window: number(outside),
                        integrity: number(failed),
                    };
                }
            }
            _ => {}
        }
    }
    states
}

bartizan_registry::made! {
    /// Drops of a node's links over the lives of their SAs, as far as they were read: an SA's
    /// counters vanish with it.
    #[derive(Debug)]
    pub struct Counted,
    /// Nothing yet, of every IPsec link of `node`.
    pub of(deployment: &Deployment, node: &str) {
        let links = deployment.ipsec_links(node).map(|(peer, interface, link)| Link {
            peer: peer.name.to_string(),
            interface: interface.kind.name(),
            drops: Drops::default(),
            reqids: (0..pairs(node, link).len())
                .map(|index| reqid::of(interface, index))
                .collect(),
        });
        links: Vec<Link> = links.collect(),
        seen: HashMap<(IpAddr, EspSpi), Drops> = HashMap::new(),
    }
}

/// A link, and what was dropped of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The node at the other end.
    pub peer: String,
    /// Its interface.
    pub interface: &'static str,
    /// Dropped packets.
    pub drops: Drops,
    /// Kernel reqids of its CHILD_SAs.
    reqids: Vec<u32>,
}

impl Counted {
    /// Adds what is new in these, and says what that makes.
    pub fn look(&mut self, states: &[State]) -> &[Link] {
        let mut seen = HashMap::new();
        for state in states {
            let name = (state.destination, state.spi);
            let before = self.seen.get(&name).copied().unwrap_or_default();
            if let Some(link) = self.links.iter_mut().find(|link| link.reqids.contains(&state.reqid)) {
                link.drops = link.drops + (state.drops - before);
            }
            seen.insert(name, state.drops);
        }
        self.seen = seen;
        &self.links
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn listing(reqid: u32, [window, replay, failed]: [u32; 3]) -> String {
        format!(
            "src 10.0.0.1 dst 10.0.0.2\n\tproto esp spi 0xc7a4f3a1(3349476257) reqid {reqid}(0x{reqid:08x}) mode tunnel\n\t\
             replay-window 32 seq 0x00000000 flag af-unspec (0x00100000)\n\taead rfc4106(gcm(aes)) <<Keys hidden>> 128\n\t\
             anti-replay context: seq 0x5, oseq 0x0, bitmap 0x0000001f\n\tlifetime config:\n\t  limit: soft (INF)(bytes), hard (INF)(bytes)\n\t\
             lifetime current:\n\t  540(bytes), 5(packets)\n\t  add 2026-11-22 22:00:00 use 2026-11-22 22:00:01\n\tstats:\n\t  \
             replay-window {window} replay {replay} failed {failed}\n\
             src 10.0.0.2 dst 10.0.0.1\n\tproto comp spi 0x00000003(3) reqid 0(0x00000000) mode transport\n\tstats:\n\t  \
             replay-window 0 replay 0 failed 0\n"
        )
    }

    #[test]
    fn what_is_counted_of_an_sa_is_that_of_its_link_and_stays_when_the_sa_goes() {
        let text = "policy: hybrid\nnodes:\n  cu: { function: O-CU-CP, address: 10.0.0.1 }\n  \
                    ric: { function: near-RT RIC, address: 10.0.0.2 }\ninterfaces:\n  \
                    - { kind: E2, between: [cu, ric], with: ipsec, ipsec: { inner: { cu: [10.78.1.1], ric: [10.78.2.0/24] } } }\n";
        let deployment = Deployment::parse(text, "e2.yaml", Path::new("/")).expect("a deployment");
        let mut counted = Counted::of(&deployment, "ric");
        let ours = counted.links[0].reqids[0];
        let first = read(&listing(ours, [1, 2, 3]));
        assert_eq!(first.len(), 1, "ESP alone");
        let drops = Drops {
            replayed: 2,
            outside_window: 1,
            integrity: 3,
        };
        assert_eq!(by_spi(&first).get(&EspSpi(0xc7a4_f3a1)), Some(&drops));
        assert_eq!(by_spi(&first).get(&EspSpi(1)), None);
        assert_eq!(counted.look(&first)[0].drops, drops);
        assert_eq!(counted.look(&first)[0].drops, drops, "nothing is counted twice");
        let more = read(&listing(ours, [1, 5, 3]));
        assert_eq!(counted.look(&more)[0].drops.replayed, 5);
        // A rekey, a counter that begins anew, and an SA of another link.
        assert_eq!(counted.look(&[])[0].drops.replayed, 5);
        assert_eq!(counted.look(&first)[0].drops.replayed, 7);
        assert_eq!(counted.look(&read(&listing(7, [9, 9, 9])))[0].drops.replayed, 7);
    }
}
