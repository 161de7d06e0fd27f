//! Policies of the kernel's ESP that block what routing alone does not stop: IPv4 of sockets that are bound to a device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use bartizan_deployment::Network;
use bartizan_host::Error as Host;
use bartizan_host::netlink::{Family, Refused, Request, attributes};
use bartizan_host::routing;

use super::routing::refused;
use crate::Error;
use crate::plan::Plan;

/// The ranks of ours: behind every policy of an IKE daemon, whose numbers go up to a few millions. What is let pass comes first.
const PASSED: u32 = 7442 | 1 << 28;
const BLOCKED: u32 = 7443 | 1 << 28;
/// Times that policies are installed or removed before another program that changes them wins.
const TRIES: usize = 4;
/// TCP and SCTP by their numbers.
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// From linux/xfrm.h: messages, the direction, an action, the attribute with a policy's type.
const DELETE: u16 = 0x14;
const GET: u16 = 0x15;
const UPDATE: u16 = 0x19;
const OUT: u8 = 1;
const BLOCK: u8 = 1;
const TYPE: u16 = 16;
/// Bytes of `xfrm_selector`, `xfrm_userpolicy_info` and `xfrm_userpolicy_id`, and where lifetimes,
/// priority, index, direction, action and flags
/// are in the second.
const SELECTOR: usize = 56;
const INFO: usize = 168;
const ID: usize = 64;
const LIMITS: usize = 56;
const PRIORITY: usize = 152;
const INDEX: usize = 156;
const DIRECTION: usize = 160;
const ACTION: usize = 161;
const FLAGS: usize = 162;

/// A policy as the kernel has it, without its counts, times and number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Policy {
    priority: u32,
    selector: [u8; SELECTOR],
    direction: u8,
    action: u8,
    flags: u8,
    /// Templates, marks and whatever else ours do not have.
    more: BTreeMap<u16, Vec<u8>>,
}

impl Policy {
    /// For IPv4 packets of a protocol to a network.
    fn new(priority: u32, (to, bits): (Ipv4Addr, u8), protocol: u8) -> Self {
        let mut selector = [0; SELECTOR];
        selector[..4].copy_from_slice(&to.octets());
        selector[40..42].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        (selector[42], selector[44]) = (bits, protocol);
        Self {
            priority,
            selector,
            direction: OUT,
            action: if priority == BLOCKED { BLOCK } else { 0 },
            flags: 0,
            more: BTreeMap::new(),
        }
    }

    /// The same to a port.
    fn with_destination_port(mut self, port: u16) -> Self {
        self.selector[32..36].copy_from_slice(&[port.to_be_bytes(), [0xff; 2]].concat());
        self
    }

    /// The same from a port.
    fn with_source_port(mut self, port: u16) -> Self {
        self.selector[36..40].copy_from_slice(&[port.to_be_bytes(), [0xff; 2]].concat());
        self
    }

    fn update(&self) -> Result<(), Refused> {
        let mut info = [0; INFO];
        info[..SELECTOR].copy_from_slice(&self.selector);
        // No limit of bytes and packets.
        info[LIMITS..LIMITS + 32].fill(0xff);
        info[PRIORITY..PRIORITY + 4].copy_from_slice(&self.priority.to_ne_bytes());
        (info[DIRECTION], info[ACTION], info[FLAGS]) = (self.direction, self.action, self.flags);
        Request::new(Family::Xfrm, UPDATE, &info).order(0)
    }

    /// One of a listing with its number, where it is of our ranks.
    fn read(message: &[u8]) -> Option<(Self, u32)> {
        let (info, rest) = message.split_at_checked(INFO)?;
        let word = |at: usize| Some(u32::from_ne_bytes(*info.get(at..)?.first_chunk()?));
        let priority = word(PRIORITY).filter(|priority| [PASSED, BLOCKED].contains(priority))?;
        let more = attributes(rest).filter(|(kind, content)| *kind != TYPE || content.first() != Some(&0));
        let policy = Self {
            priority,
            selector: *info.first_chunk()?,
            direction: info[DIRECTION],
            action: info[ACTION],
            flags: info[FLAGS],
            more: more.map(|(kind, content)| (kind, content.to_vec())).collect(),
        };
        Some((policy, word(INDEX)?))
    }
}

/// Removes the policy of this number; one that is gone is no error.
fn delete(direction: u8, index: u32) -> Result<(), Refused> {
    let mut id = [0; ID];
    id[SELECTOR..SELECTOR + 4].copy_from_slice(&index.to_ne_bytes());
    id[SELECTOR + 4] = direction;
    match Request::new(Family::Xfrm, DELETE, &id).order(0) {
        Err(refused) if refused.source.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        deleted => deleted,
    }
}

impl fmt::Display for Policy {
    /// In the words of `ip xfrm policy`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let selector = &self.selector;
        let address = |at: usize| Ipv4Addr::from([selector[at], selector[at + 1], selector[at + 2], selector[at + 3]]);
        let (to, from) = (address(0), address(16));
        write!(
            f,
            "src {from}/{} dst {to}/{} proto {}",
            selector[43], selector[42], selector[44]
        )?;
        for (name, at) in [("sport", 36), ("dport", 32)] {
            let [port, mask] = [at, at + 2].map(|at| u16::from_be_bytes([selector[at], selector[at + 1]]));
            match mask {
                0 => {}
                u16::MAX => write!(f, " {name} {port}")?,
                mask => write!(f, " {name} {port}/{mask:#x}")?,
            }
        }
        match self.direction {
            OUT => f.write_str(" dir out")?,
            other => write!(f, " dir {other}")?,
        }
        if self.action == BLOCK {
            f.write_str(" action block")?;
        }
        self.more
            .iter()
            .try_for_each(|(kind, content)| write!(f, " attribute {kind} {content:02x?}"))
    }
}

/// The policies.
fn wanted(plan: &Plan) -> Vec<Policy> {
    let any = (Ipv4Addr::UNSPECIFIED, 0);
    let within = |address: IpAddr, bits: u8| match address {
        IpAddr::V4(address) => Some((address, bits)),
        IpAddr::V6(_) => None,
    };
    let host = |address: IpAddr| within(address, 32);
    let blocked = |to, protocol| Policy::new(BLOCKED, to, protocol);
    let gateway = &plan.gateway;
    let mut wanted = BTreeSet::new();
    for service in plan.addresses() {
        wanted.extend(host(service.ip()).map(|to| blocked(to, TCP).with_destination_port(service.port())));
    }
    wanted.extend(plan.ports.iter().map(|port| blocked(any, TCP).with_source_port(*port)));
    for service in gateway.services.keys() {
        wanted.extend(host(service.ip()).map(|to| blocked(to, SCTP).with_destination_port(service.port())));
    }
    wanted.extend(
        gateway
            .peers
            .iter()
            .filter_map(|peer| Some(blocked(host(*peer)?, SCTP))),
    );
    wanted.extend(
        gateway
            .ports
            .iter()
            .map(|port| blocked(any, SCTP).with_source_port(*port)),
    );
    let mut pass = |peer: &Network, ports: &BTreeSet<u16>, protocol| {
        let Some(to) = within(peer.address(), peer.bits()) else {
            return;
        };
        wanted.extend(
            ports
                .iter()
                .map(|port| Policy::new(PASSED, to, protocol).with_source_port(*port)),
        );
    };
    for unprotected in &plan.unprotected_peers {
        for peer in &unprotected.networks {
            pass(peer, &unprotected.ports, TCP);
        }
    }
    for (peer, ports) in &gateway.passed {
        pass(peer, ports, SCTP);
    }
    wanted.into_iter().collect()
}

pub(super) fn batch(plan: &Plan) -> String {
    let lines = wanted(plan).into_iter();
    lines
        .map(|policy| format!("xfrm policy update {policy} priority {}\n", policy.priority))
        .collect()
}

/// Installs them, where the kernel has such policies.
pub(super) fn install(plan: &Plan) -> Result<(), Error> {
    put(&wanted(plan))
}

pub(super) fn remove() -> Result<(), Error> {
    put(&[])
}

/// Makes these what is installed: those that are right already are not touched. What the kernel
/// then has is compared with what was asked for.
fn put(wanted: &[Policy]) -> Result<(), Error> {
    let mut left = 0;
    for _ in 0..TRIES {
        let Some(here) = listed()? else { return Ok(()) };
        let of_it = here.iter().map(|(policy, _)| policy.clone()).collect();
        let (missing, added) = routing::differences(wanted.to_vec(), of_it);
        left = missing.len() + added.len();
        if left == 0 {
            return Ok(());
        }
        for (policy, index) in here.iter().filter(|(policy, _)| added.binary_search(policy).is_ok()) {
            delete(policy.direction, *index).map_err(refused)?;
        }
        missing.iter().try_for_each(Policy::update).map_err(refused)?;
    }
    Err(Error::Host(Host::Unfit {
        what: "the XFRM policies of this network namespace".to_owned(),
        reason: format!("{left} of them are not as they were written, {TRIES} times: another program changes them"),
    }))
}

/// Returns true if any is installed, with their differences from the plan. A kernel without them
/// lacks none.
pub(super) fn differences(plan: &Plan) -> Result<(bool, Vec<String>), Error> {
    let Some(here) = listed()? else {
        return Ok((false, Vec::new()));
    };
    let any = !here.is_empty();
    let here = here.into_iter().map(|(policy, _)| policy).collect();
    let (missing, added) = routing::differences(wanted(plan), here);
    let missing = missing
        .iter()
        .map(|policy| format!("the XFRM policy {policy} is missing"));
    let added = added.iter().map(|policy| format!("an XFRM policy {policy} was added"));
    Ok((any, missing.chain(added).collect()))
}

/// Those of our ranks that the kernel has, with their numbers; none where it has no such policies
/// at all: what is left is in `docs/redirect.md`.
fn listed() -> Result<Option<Vec<(Policy, u32)>>, Error> {
    let mut policies = Vec::new();
    let listed = Request::new(Family::Xfrm, GET, &[0; ID]).list(&mut |message| policies.extend(Policy::read(message)));
    match listed {
        Ok(()) => Ok(Some(policies)),
        Err(error) if error.source.raw_os_error() == Some(libc::EPROTONOSUPPORT) => Ok(None),
        Err(error) => Err(refused(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_read_back_from_the_kernels_form_and_one_with_a_template_is_another() {
        let to = Ipv4Addr::new(10, 1, 0, 2);
        let policy = Policy::new(BLOCKED, (to, 32), TCP).with_destination_port(8000);
        assert_eq!(
            policy.to_string(),
            "src 0.0.0.0/0 dst 10.1.0.2/32 proto 6 dport 8000 dir out action block"
        );
        let mut message = vec![0; INFO];
        message[..SELECTOR].copy_from_slice(&policy.selector);
        message[PRIORITY..INDEX].copy_from_slice(&BLOCKED.to_ne_bytes());
        message[INDEX..DIRECTION].copy_from_slice(&9_u32.to_ne_bytes());
        (message[DIRECTION], message[ACTION]) = (OUT, BLOCK);
        // The type of a policy, which kernels with sub-policies print.
        message.extend([10, 0, TYPE as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Policy::read(&message), Some((policy.clone(), 9)));
        message.extend([8, 0, 5, 0, 1, 2, 3, 4]);
        let (other, _) = Policy::read(&message).unwrap();
        assert_ne!(other, policy);
        message[PRIORITY] = 0;
        assert_eq!(Policy::read(&message), None);
        assert_eq!(Policy::read(&message[..INFO - 1]), None);
    }
}
