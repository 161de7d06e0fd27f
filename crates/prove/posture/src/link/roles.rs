//! Roles of hosts, recognised by their other links: a role names GTP-U, which several interfaces
//! share.

use bartizan_wire::Address;
use bartizan_wire::datagrams::{self, DatagramProtocol};
use std::collections::{BTreeSet, HashMap};

use super::part::Carrier;
use crate::port::FRONTHAUL;
use crate::{Hint, Interface};

/// Known role of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Role {
    /// It began an N2 association.
    Gnb,
    /// It began an F1 association.
    Du,
    /// It answered one, or speaks E1.
    Cu,
    /// PFCP establishes sessions in it.
    Upf,
    /// It speaks eCPRI.
    Fronthaul,
}

/// Roles of hosts; one host may have several.
#[derive(Debug, Default)]
pub(super) struct Roles(HashMap<Address, BTreeSet<Role>>);

impl Roles {
    /// Takes what an interface tells of its ends; `asks` is the one that began it, or, of N4, the one in control.
    pub(super) fn learn(&mut self, interface: Interface, asks: Address, answers: Address) {
        let roles: &[(Address, Role)] = match interface.name {
            "N2" => &[(asks, Role::Gnb)],
            "F1" => &[(asks, Role::Du), (answers, Role::Cu)],
            "E1" => &[(asks, Role::Cu), (answers, Role::Cu)],
            "N4" => &[(answers, Role::Upf)],
            FRONTHAUL => &[(asks, Role::Fronthaul), (answers, Role::Fronthaul)],
            _ => &[],
        };
        for &(address, role) in roles {
            self.0.entry(address).or_default().insert(role);
        }
    }

    /// The open fronthaul, where a station that speaks eCPRI sends or receives what else it consists of: PTP, MACsec and its keying.
    pub(super) fn fronthaul(&self, carrier: Carrier, ends: [Address; 2]) -> Option<Interface> {
        use DatagramProtocol::{Eapol, MacSec, Mka, Named};
        let is_of_it = matches!(
            carrier,
            Carrier::Udp(Eapol | Mka | MacSec | Named(datagrams::Named::Ptp))
        );
        let is_known = |address: &Address| {
            let roles = self.0.get(address);
            matches!(address, Address::Station(_)) && roles.is_some_and(|roles| roles.contains(&Role::Fronthaul))
        };
        (is_of_it && ends.iter().any(is_known)).then_some(Interface {
            name: FRONTHAUL,
            by: Hint::PeerRole,
        })
    }

    /// Which of the interfaces that GTP-U serves stands between two hosts, where their roles leave one.
    pub(super) fn tunnels(&self, [one, other]: [Address; 2]) -> Option<Interface> {
        let has = |address, role| self.0.get(&address).is_some_and(|roles| roles.contains(&role));
        let between = |a, b| (has(one, a) && has(other, b)) || (has(one, b) && has(other, a));
        let found: Vec<&'static str> = [
            ("N3", between(Role::Gnb, Role::Upf)),
            ("N9", between(Role::Upf, Role::Upf)),
            ("F1-U", between(Role::Du, Role::Cu)),
            ("Xn", between(Role::Gnb, Role::Gnb)),
        ]
        .into_iter()
        .filter_map(|(name, fits)| fits.then_some(name))
        .collect();
        match found[..] {
            [name] => Some(Interface {
                name,
                by: Hint::PeerRole,
            }),
            _ => None,
        }
    }
}
