//! Policies: that traffic of a link leaves and is accepted in ESP alone.

use std::net::IpAddr;

use bartizan_host::netlink::{Family, Request};
use bartizan_ike::{Mode, Order, Selector};

use super::codes;
use super::layout::{self, Layout, Prefix, family};
use super::{Direction, Error, Path, refused};

/// Lower ones are asked first, so the most specific traffic has the lowest; those that charon makes up by itself lie above.
const PRIORITY: u32 = 1000;
/// Bytes of `xfrm_userpolicy_info`, `xfrm_userpolicy_id` and `xfrm_user_tmpl`.
const POLICY: usize = 168;
const NAME: usize = 64;
const TEMPLATE: usize = 64;
/// Offsets of a policy: the family of its selector, and its direction.
const FAMILY: usize = 40;
const DIRECTION: usize = 160;

/// Directions of policies, by the kernel's numbers.
const IN: u8 = 0;
const OUT: u8 = 1;
const FORWARDED: u8 = 2;

impl Path {
    /// Requires ESP of all traffic between these: of what leaves, arrives and is passed on. Required once, it stays so whether there is an SA or
    /// none.
    ///
    /// # Errors
    ///
    /// The kernel's error, and an error if it has no selector for that traffic.
    pub fn require(&self, mode: Mode, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        for Policy {
            selector,
            kind,
            priority,
        } in policies(mode, local, remote)?
        {
            let direction = if kind == OUT { Direction::Out } else { Direction::In };
            let policy = selector.lifetimes().u32(priority).u32(0).u8(kind).fill(POLICY);
            let request = Request::new(Family::Xfrm, codes::UPDATE_POLICY, &policy.bytes());
            let request = request.attribute(codes::TEMPLATE, &self.template(mode, direction));
            let made = request.order(codes::CREATE);
            made.map_err(refused("installing a policy of ESP"))?;
        }
        Ok(())
    }

    /// Ends the requirement, whatever the mode was: that traffic passes unencrypted from now on, unless something else forbids it.
    ///
    /// # Errors
    ///
    /// The kernel's error; the other policies go all the same.
    pub fn release(&self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let mut all = Ok(());
        for Policy { selector, kind, .. } in policies(Mode::Tunnel, local, remote)? {
            let name = selector.u32(0).u8(kind).fill(NAME).bytes();
            let request = Request::new(Family::Xfrm, codes::DELETE_POLICY, &name);
            match request.order(0) {
                // ENOENT: another program has deleted it.
                Err(gone) if gone.source.raw_os_error() == Some(libc::ENOENT) => {}
                done => all = all.and(done.map_err(refused("deleting a policy of ESP"))),
            }
        }
        all
    }

    /// `xfrm_user_tmpl`: any SA of this link, whatever its algorithms, but one there must be.
    fn template(&self, mode: Mode, direction: Direction) -> Vec<u8> {
        self.template_of(mode, direction, 0)
    }

    /// The same of the SA with this SPI, where it is not 0.
    fn template_of(&self, mode: Mode, direction: Direction, spi: u32) -> Vec<u8> {
        let (source, destination) = self.ends(direction);
        let template = Layout::new().id(destination, spi).u16(family(source)).u16(0);
        let template = template.address(source).u32(self.reqid).u8(layout::mode(mode)).fill(52);
        let any = u32::MAX;
        template.u32(any).u32(any).u32(any).fill(TEMPLATE).bytes()
    }
}

/// The policy of one socket with this address: its packets leave in the SA of this SPI and path, or
/// not at all.
pub(crate) fn of_socket(address: IpAddr, path: &Path, mode: Mode, spi: u32) -> Option<[u8; POLICY + TEMPLATE]> {
    let policy = Layout::new().fill(FAMILY).u16(family(address)).fill(DIRECTION).u8(OUT);
    let template = path.template_of(mode, Direction::Out, spi);
    [policy.fill(POLICY).bytes(), template].concat().try_into().ok()
}

/// Returns true if the kernel has the same policies for both kinds of traffic, each of this end and
/// of the peer: the second that is required takes the place of the first.
#[must_use]
pub fn is_same(one: (&Selector, &Selector), other: (&Selector, &Selector)) -> bool {
    let traffic = |(local, remote): (&Selector, &Selector)| {
        let protocol = local.protocol.max(remote.protocol);
        (local.addresses, local.ports, remote.addresses, remote.ports, protocol)
    };
    traffic(one) == traffic(other)
}

struct Policy {
    selector: Layout,
    kind: u8,
    priority: u32,
}

/// The priority of the policies of a whole CHILD_SA, where they can have but one.
pub(crate) fn priority_of(local: &[Selector], remote: &[Selector]) -> u32 {
    PRIORITY + Order::least_rank(local, remote)
}

fn policies(mode: Mode, local: &[Selector], remote: &[Selector]) -> Result<Vec<Policy>, Error> {
    const NONE: Error = Error::Unsupported("traffic that is no network of a port or of all");
    let order = Order::between(local, remote);
    let mut policies = Vec::new();
    for local in local {
        for remote in remote {
            let priority = PRIORITY + order.rank(local, remote);
            let [Some(local), Some(remote)] = [local, remote].map(Prefix::of) else {
                return Err(NONE);
            };
            // No packet has addresses of both families.
            if local.address.is_ipv4() != remote.address.is_ipv4() {
                continue;
            }
            let mut add = |from: &Prefix, to: &Prefix, kind| {
                policies.push(Policy {
                    selector: Layout::new().selector(from, to),
                    kind,
                    priority,
                });
            };
            add(&local, &remote, OUT);
            add(&remote, &local, IN);
            if mode == Mode::Tunnel {
                add(&remote, &local, FORWARDED);
            }
        }
    }
    Ok(policies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrafficSelector;

    fn selector(text: &str) -> Selector {
        TrafficSelector::parse(text).expect(text).negotiated()
    }

    #[test]
    fn of_two_policies_for_a_packet_the_more_specific_is_asked_first() {
        let ranked = [
            // From the port to the port both are asked.
            ("10.78.1.1/32[17/8805]", "10.78.2.1/32[17]"),
            ("10.78.1.1/32[17]", "10.78.2.1/32[17/8805]"),
            ("10.78.1.1/32[132]", "10.78.2.1/32[132]"),
            ("10.78.1.1/32", "10.78.2.1/32"),
            ("10.78.1.1/32[17]", "10.78.2.0/24[17/2152]"),
            ("10.78.0.0/16", "10.78.0.0/16"),
            ("0.0.0.0/0", "0.0.0.0/0"),
        ];
        let priorities = ranked.map(|(local, remote)| {
            let [local, remote] = [local, remote].map(|text| [selector(text)]);
            let priorities = policies(Mode::Tunnel, &local, &remote).expect("a policy");
            let priorities = priorities.iter().map(|policy| policy.priority);
            let seen_from_there = policies(Mode::Tunnel, &remote, &local).expect("a policy");
            assert!(
                seen_from_there
                    .iter()
                    .map(|policy| policy.priority)
                    .eq(priorities.clone())
            );
            priorities.max().expect("one")
        });
        assert!(priorities.is_sorted_by(|one, other| one < other), "{priorities:?}");
        assert!(priorities.iter().all(|priority| (PRIORITY..10_000).contains(priority)));
    }

    #[test]
    fn policies_are_the_same_where_the_kernel_takes_one_for_the_other() {
        let [all, sctp, port] = ["10.78.1.1/32", "10.78.1.1/32[132]", "10.78.1.1/32[132/38412]"].map(selector);
        assert!(is_same((&sctp, &all), (&all, &sctp)));
        assert!(is_same((&sctp, &port), (&all, &port)));
        assert!(!is_same((&all, &all), (&all, &sctp)));
        assert!(!is_same((&sctp, &port), (&port, &sctp)));
    }
}
