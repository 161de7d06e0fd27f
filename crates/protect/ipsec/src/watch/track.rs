//! The watch's state of established SAs, and the records it writes of them.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use bartizan_ledger as ledger;
use bartizan_ledger::{Cause, Direction, Key, SaClosed, Verdict, Why};

use super::ending::Name;
use super::expectation::Expectation;
use crate::sa::{ChildSa, IkeSa};

/// Longest overlap of two IKE_SAs in a re-authentication: the old one is deleted when the new one
/// stands.
pub(super) const OVERLAP: Duration = Duration::from_secs(3);

/// SAs by charon's numbers.
#[derive(Debug, Default)]
pub(super) struct Tracked(HashMap<u32, Ike>);

#[derive(Debug)]
struct Ike {
    key: Key,
    /// Its own record is written: charon may report a CHILD_SA first.
    recorded: bool,
    connection: String,
    peer_identity: Option<String>,
    /// As charon reported it first, without its CHILD_SAs.
    sa: IkeSa,
    verdict: Verdict,
    since: Instant,
    /// Time at which both ends authenticated each other. A rekey does not renew it.
    authenticated: SystemTime,
    /// The same by the monotonic clock.
    authenticated_at: Instant,
    children: HashMap<u32, Child>,
}

#[derive(Debug)]
struct Child {
    last: ChildSa,
    /// It took the place of another, or was made after its IKE_SA: fresh keys were asked for.
    rekeyed: bool,
    verdict: Verdict,
    since: Instant,
    installed: Instant,
}

impl Ike {
    fn is_to_peer_of(&self, connection: &str, identity: Option<&str>) -> bool {
        self.connection == connection && self.peer_identity.as_deref() == identity
    }
}

impl Tracked {
    /// Cause of an IKE_SA that charon reports, and of the CHILD_SAs set up with it: together with
    /// an older one to the same peer it is a re-authentication.
    pub(super) fn cause_of(&self, sa: &IkeSa) -> Cause {
        let mut others = self.0.iter().filter(|(id, _)| **id < sa.id);
        if others.any(|(_, known)| known.is_to_peer_of(&sa.connection, sa.peer_identity.as_deref())) {
            Cause::ReAuthentication
        } else {
            Cause::SetUp
        }
    }

    /// Reason of its end if another to the same peer stands: a newer one has taken its place, or
    /// they have stood side by side.
    pub(super) fn replaced(&self, id: u32) -> Option<Why> {
        let this = self.0.get(&id)?;
        let others = self.0.iter().filter(|(other, _)| **other != id);
        let same = others.filter(|(_, known)| known.is_to_peer_of(&this.connection, this.peer_identity.as_deref()));
        let (mut newer, mut overlaps) = (false, false);
        for (other, known) in same {
            newer |= *other > id;
            overlaps |= known.since.elapsed().min(this.since.elapsed()) >= OVERLAP;
        }
        match (overlaps, newer) {
            (true, _) => Some(Why::Duplicate),
            (false, true) => Some(Why::Replaced),
            (false, false) => None,
        }
    }

    /// Returns true if an IKE_SA of this connection stands, other than the one of this number.
    pub(super) fn has(&self, connection: &str, but: Option<u32>) -> bool {
        self.of(connection).any(|id| Some(id) != but)
    }

    /// The IKE_SAs of this connection, by their numbers.
    pub(super) fn of(&self, connection: &str) -> impl Iterator<Item = u32> {
        let known = self.0.iter().filter(move |(_, known)| known.connection == connection);
        known.map(|(id, _)| *id)
    }

    /// An IKE_SA that stands, as charon reported it first.
    pub(super) fn sa(&self, id: u32) -> Option<&IkeSa> {
        self.0.get(&id).map(|known| &known.sa)
    }

    /// When a CHILD_SA was installed, as charon reported it: to the second where it was found installed.
    pub(super) fn installed(&self, ike: u32, child: u32) -> Option<Instant> {
        let known = self.0.get(&ike)?.children.get(&child)?;
        Some(known.installed)
    }

    /// The connection of an IKE_SA.
    pub(super) fn connection(&self, id: u32) -> Option<&str> {
        self.0.get(&id).map(|known| known.connection.as_str())
    }

    /// Connections of which several IKE_SAs have stood side by side for so long.
    pub(super) fn doubled(&self, overlaps: Duration) -> Vec<String> {
        let old = self.0.values().filter(|known| known.since.elapsed() >= overlaps);
        let mut names: Vec<_> = old.map(|known| known.connection.clone()).collect();
        names.sort();
        let twice = names.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut twice: Vec<_> = twice.map(|pair| pair[0].clone()).collect();
        twice.dedup();
        twice
    }

    /// Takes note of an IKE_SA; true when it was not known.
    pub(super) fn is_new(&mut self, sa: &IkeSa, key: Key, verdict: &Verdict) -> bool {
        let ike = self.entry(sa, key, verdict);
        !std::mem::replace(&mut ike.recorded, true)
    }

    /// Takes note of a CHILD_SA; true when it was not known.
    pub(super) fn is_new_child(
        &mut self,
        sa: &IkeSa,
        child: &ChildSa,
        key: Key,
        rekeyed: bool,
        verdict: &Verdict,
    ) -> bool {
        let ike = self.entry(sa, key, verdict);
        let known = ike
            .children
            .get(&child.id)
            .is_some_and(|known| known.last.spi_in == child.spi_in);
        if !known {
            let now = Instant::now();
            let child = Child {
                last: child.clone(),
                rekeyed,
                verdict: verdict.clone(),
                since: now,
                installed: now.checked_sub(Duration::from_secs(child.installed_s)).unwrap_or(now),
            };
            ike.children.insert(child.last.id, child);
        }
        !known
    }

    /// Returns true if this very CHILD_SA was noted as rekeyed.
    pub(super) fn was_rekeyed(&self, ike: u32, child: &ChildSa) -> bool {
        let known = self.0.get(&ike).and_then(|ike| ike.children.get(&child.id));
        known.is_some_and(|known| known.rekeyed && known.last.spi_in == child.spi_in)
    }

    fn entry(&mut self, sa: &IkeSa, key: Key, verdict: &Verdict) -> &mut Ike {
        let fresh = || Ike {
            key,
            recorded: false,
            connection: sa.connection.clone(),
            peer_identity: sa.peer_identity.clone(),
            sa: IkeSa {
                children: Vec::new(),
                ..sa.clone()
            },
            verdict: verdict.clone(),
            since: Instant::now(),
            authenticated: {
                let age = Duration::from_secs(sa.authenticated_s.unwrap_or(sa.established_s));
                let now = SystemTime::now();
                now.checked_sub(age).unwrap_or(now)
            },
            authenticated_at: {
                let age = Duration::from_secs(sa.authenticated_s.unwrap_or(sa.established_s));
                let now = Instant::now();
                now.checked_sub(age).unwrap_or(now)
            },
            children: HashMap::new(),
        };
        let ike = self.0.entry(sa.id).or_insert_with(fresh);
        // A charon that was started again counts from 1 anew.
        if ike.key != key {
            *ike = fresh();
        }
        ike
    }

    /// Returns true if it is known to stand.
    pub(super) fn stands(&self, ike: u32, child: Option<u32>) -> bool {
        let known = self.0.get(&ike);
        known.is_some_and(|known| child.is_none_or(|child| known.children.contains_key(&child)))
    }

    /// Takes note of a verdict; true when it is another one than before.
    pub(super) fn judged(&mut self, ike: u32, child: Option<u32>, verdict: &Verdict) -> bool {
        let Some(ike) = self.0.get_mut(&ike) else { return false };
        let before = match child {
            None => &mut ike.verdict,
            Some(child) => match ike.children.get_mut(&child) {
                Some(child) => &mut child.verdict,
                None => return false,
            },
        };
        let other = before != verdict;
        before.clone_from(verdict);
        other
    }

    /// Takes note of what a CHILD_SA has carried.
    pub(super) fn count(&mut self, ike: u32, child: &ChildSa) {
        if let Some(known) = self.0.get_mut(&ike).and_then(|ike| ike.children.get_mut(&child.id)) {
            known.last = child.clone();
        }
    }

    /// Moves CHILD_SAs and the time of authentication to the IKE_SA that took the place of theirs.
    pub(super) fn hand_over(&mut self, old: u32, new: u32) {
        let old = self.0.get_mut(&old);
        let old = old.map(|old| {
            let authenticated = (old.authenticated, old.authenticated_at);
            (std::mem::take(&mut old.children), authenticated)
        });
        if let (Some((children, authenticated)), Some(new)) = (old, self.0.get_mut(&new)) {
            new.children.extend(children);
            (new.authenticated, new.authenticated_at) = authenticated;
        }
    }

    /// The IKE_SAs with their connections, and the time since both ends authenticated each other.
    pub(super) fn ages(&self) -> impl Iterator<Item = (u32, &str, Duration)> {
        let all = self.0.iter();
        all.map(|(id, known)| (*id, known.connection.as_str(), known.authenticated_at.elapsed()))
    }

    /// Time at which both ends of a connection authenticated each other: the earliest of its
    /// IKE_SAs.
    pub(super) fn authenticated(&self, connection: &str) -> Option<SystemTime> {
        let known = self.0.values().filter(|known| known.connection == connection);
        known.map(|known| known.authenticated).min()
    }

    /// Which of the known SAs are not among these.
    pub(super) fn missing(&self, sas: &[IkeSa]) -> Vec<(u32, Option<u32>)> {
        let mut missing = Vec::new();
        for (id, known) in &self.0 {
            match sas.iter().find(|sa| sa.id == *id && sa.key == Some(known.key)) {
                None => missing.push((*id, None)),
                Some(sa) => {
                    let stands = |child: &u32| sa.children.iter().any(|now| now.id == *child && now.stands());
                    let gone = known.children.keys().filter(|child| !stands(child));
                    missing.extend(gone.map(|child| (*id, Some(*child))));
                }
            }
        }
        missing
    }

    /// Forgets an SA, an IKE_SA with all it has, and says what ended.
    pub(super) fn close(&mut self, id: u32, child: Option<u32>, why: Why) -> Vec<(Option<Name>, SaClosed)> {
        let Some(ike) = self.0.get_mut(&id) else {
            return Vec::new();
        };
        let key = ike.key;
        let of_child = |child: &Child| {
            let name = Name {
                child: child.last.name.clone(),
                spi_in: child.last.spi_in,
                spi_out: child.last.spi_out,
            };
            let closed = SaClosed {
                key,
                spi_in: Some(child.last.spi_in),
                why,
                bytes: child.last.bytes,
                packets: child.last.packets,
                lasted_s: child.last.installed_s.max(child.since.elapsed().as_secs()),
                detail: None,
            };
            (Some(name), closed)
        };
        if let Some(child) = child {
            return ike.children.remove(&child).iter().map(of_child).collect();
        }
        let mut closed: Vec<_> = ike.children.values().map(of_child).collect();
        let whole = SaClosed {
            key,
            spi_in: None,
            why,
            bytes: ledger::Bytes::default(),
            packets: ledger::Bytes::default(),
            lasted_s: ike.since.elapsed().as_secs(),
            detail: None,
        };
        closed.push((None, whole));
        self.0.remove(&id);
        closed
    }

    /// The numbers of all IKE_SAs.
    pub(super) fn ids(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }

    /// Numbers of established IKE_SAs and CHILD_SAs.
    pub(super) fn established(&self) -> (usize, usize) {
        (self.0.len(), self.0.values().map(|ike| ike.children.len()).sum())
    }
}

pub(super) fn ike_record(
    sa: &IkeSa,
    key: Key,
    replaces: Option<&IkeSa>,
    expectation: Option<&Expectation>,
    set_up: Option<Duration>,
    cause: Cause,
    verdict: Verdict,
) -> ledger::IkeSa {
    let mut interfaces: Vec<_> = expectation
        .into_iter()
        .flat_map(|expectation| &expectation.children)
        .map(|child| child.interface.name().to_owned())
        .collect();
    interfaces.dedup();
    ledger::IkeSa {
        key,
        cause,
        replaces: replaces.and_then(|before| before.key),
        connection: sa.connection.clone(),
        interfaces,
        direction: if sa.initiator {
            Direction::Outbound
        } else {
            Direction::Inbound
        },
        peer: expectation.map(|expectation| expectation.peer.clone()),
        peer_identity: sa.peer_identity.clone(),
        local_address: sa.local,
        peer_address: sa.remote,
        key_exchanges: sa.key_exchanges.clone(),
        ppk: sa.ppk,
        encryption: sa.encryption.clone(),
        integrity: sa.integrity.clone(),
        prf: sa.prf.clone(),
        // Filled in when charon's log has come.
        authentication: None,
        messages: None,
        established_s: sa.established_s,
        set_up_us: set_up
            .filter(|_| cause != Cause::Found)
            .map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        verdict,
    }
}

pub(super) fn child_record(
    sa: &IkeSa,
    child: &ChildSa,
    key: Key,
    replaces: Option<&ChildSa>,
    (interface, peer): (Option<String>, Option<String>),
    cause: Cause,
    verdict: Verdict,
) -> ledger::ChildSa {
    ledger::ChildSa {
        key,
        spi_in: child.spi_in,
        spi_out: child.spi_out,
        cause,
        replaces: replaces.map(|before| before.spi_in),
        connection: sa.connection.clone(),
        child: child.name.clone(),
        interface,
        peer,
        mode: child.mode.clone(),
        protocol: child.protocol.clone(),
        udp: child.udp,
        extended_sequence_numbers: child.extended_sequence_numbers,
        key_exchanges: child.key_exchanges.clone(),
        encryption: child.encryption.clone(),
        integrity: child.integrity.clone(),
        local: child.local.clone(),
        remote: child.remote.clone(),
        installed_s: child.installed_s,
        verdict,
    }
}
