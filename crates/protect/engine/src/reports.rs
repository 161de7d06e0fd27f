//! The engine's reports: applied to the kernel, and sent to listening clients.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_host::clock;
use bartizan_ike::{Agreed, Child, Ends, Event, IkeSa, Port, Report, Requester, SaId};
use bartizan_wire::ike::NotifyType;
use bartizan_wire::udp::IKE_NAT;

use crate::association::{ChildSa, Sa, Stage};
use crate::connection::Protected;
use crate::{Daemon, trust, vici_reports};
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::xfrm::{Direction, Installed};

/// IKE_SAs of one connection at a time: one, another while both ends begin at once or authenticate each other anew, and those that wait for their
/// deletion by the peer. A peer that is authenticated could make more without end.
const OF_ONE: usize = 8;
/// An IKE_SA that is younger was not set up before the peer's last start.
const YOUNG: Duration = Duration::from_secs(3);

impl Daemon {
    pub(crate) fn report(&mut self, now: Instant, report: Report) {
        match report {
            Report::Admitted(id, ends) => self.admitted(id, ends),
            Report::Rekeyed { old, new } => self.rekeyed(old, new),
            Report::Event(id, event) => {
                let Some(sa) = self.sas.get_mut(&id) else { return };
                // The first events of a peer that is authenticated.
                sa.belongs |= matches!(event, Event::InitialContact | Event::Established { .. });
                match event {
                    Event::InitialContact => self.initial_contact(now, id),
                    Event::Established {
                        agreed,
                        proofs,
                        certificates,
                        ..
                    } => self.established(now, id, agreed, (&proofs, &certificates)),
                    Event::Child(child) => self.child_made(now, id, &child),
                    Event::ChildRefused { place, requester, kind } => self.child_refused(id, place, requester, kind),
                    Event::ChildDeleted { inbound } => self.child_deleted(now, id, inbound),
                    Event::NotReplaced { inbound, kind } => self.not_replaced(id, inbound, kind),
                    Event::Moved(ends) => self.moved(id, ends),
                    Event::Closed(failure) => self.closed(now, id, &failure),
                    // Reported as `Report::Rekeyed`.
                    Event::Rekeyed(_) => {}
                }
            }
        }
    }

    /// A number for an IKE_SA of this connection that begins now, with these CHILD_SAs.
    pub(crate) fn track(
        &mut self,
        id: SaId,
        (connection, children): (&str, Vec<Arc<Protected>>),
        initiator: bool,
        ends: Ends,
    ) {
        self.numbers.0 += 1;
        let spis = self.endpoint.sa(id).map_or((0, 0), IkeSa::spis);
        let sa = Sa {
            number: self.numbers.0,
            addressed: connection.to_owned(),
            belongs: true,
            children,
            first: 0,
            initiator,
            ends,
            spis,
            agreed: None,
            established: None,
            stage: Stage::Current,
            replaces: None,
            succeeds: None,
            attempted: None,
            sent_again: 0,
            proven: Arc::default(),
        };
        self.sas.insert(id, sa);
    }

    fn admitted(&mut self, id: SaId, ends: Ends) {
        let of = |local: &Ends| (local.local.ip(), local.remote.ip());
        let mut loaded = self.connections.iter().filter(|known| known.loaded);
        let Some((name, children)) = loaded
            .find(|known| of(&known.ends) == of(&ends))
            .map(|known| (known.name.clone(), known.children.clone()))
        else {
            self.endpoint.with(id, IkeSa::discard);
            return;
        };
        self.track(id, (&name, children), false, ends);
        self.sas.get_mut(&id).into_iter().for_each(|sa| sa.belongs = false);
        self.say(id, &format!("{} is initiating an IKE_SA", ends.remote.ip()));
    }

    /// Begins an IKE_SA of a connection, with this CHILD_SA where one is named, and in the place of that IKE_SA where there is one.
    pub(crate) fn begin(&mut self, name: &str, child: Option<&str>, succeeds: Option<SaId>) -> Result<SaId, String> {
        let connection = self.connection(name).ok_or("no such connection")?;
        let (config, ends, children) = (connection.config.clone(), connection.ends, connection.children.clone());
        let first = child.or(connection.wanted.first().map(String::as_str));
        let first = first.and_then(|child| connection.place(child)).unwrap_or(0);
        let begun = self.endpoint.initiate(config, ends, &mut crate::random, clock::now());
        let id = begun.map_err(|failure| failure.to_string())?;
        self.endpoint.with(id, |sa| sa.begin_with(first));
        let is_alone = !self.sas.values().any(|sa| sa.is_of(name) && sa.established.is_some());
        if is_alone {
            self.endpoint.with(id, IkeSa::announce_initial_contact);
        }
        self.track(id, (name, children), true, ends);
        if let Some(sa) = self.sas.get_mut(&id) {
            (sa.succeeds, sa.first) = (succeeds, first);
        }
        let number = self.sas.get(&id).map_or(0, |sa| sa.number);
        self.say(
            id,
            &format!("initiating IKE_SA {name}[{number}] to {}", ends.remote.ip()),
        );
        Ok(id)
    }

    /// The place of a CHILD_SA in an IKE_SA; none where that was configured without.
    pub(crate) fn place_in(&self, id: SaId, child: &str) -> Option<usize> {
        let mut children = self.sas.get(&id)?.children.iter();
        children.position(|known| known.name == child)
    }

    /// Has an IKE_SA make all CHILD_SAs that this end has been asked to set up and that it has not, but the one that its IKE_AUTH was for.
    pub(crate) fn make_wanted(&mut self, now: Instant, id: SaId, except: Option<usize>) {
        let Some(connection) = self.sas.get(&id).map(|sa| sa.connection().to_owned()) else {
            return;
        };
        let Some(wanted) = self.connection(&connection).map(|known| known.wanted.clone()) else {
            return;
        };
        let before = self.sas.get(&id).and_then(|sa| sa.succeeds);
        let before = before.map(|before| self.names_in(before)).unwrap_or_default();
        let wanted = wanted.iter().map(String::as_str).chain(before);
        let places = wanted.filter_map(|child| self.place_in(id, child));
        let places: Vec<usize> = places.filter(|place| Some(*place) != except).collect();
        for place in places {
            // Existing CHILD_SAs are not made twice.
            self.endpoint.with(id, |sa| sa.make_child(now, place));
        }
    }

    /// The names of the CHILD_SAs that an IKE_SA has.
    pub(crate) fn names_in(&self, id: SaId) -> BTreeSet<&str> {
        let held: Vec<u32> = self.endpoint.sa(id).into_iter().flat_map(IkeSa::children).collect();
        let children = self.children.iter().filter(|child| held.contains(&child.inbound));
        children.map(|child| child.of.name.as_str()).collect()
    }

    fn rekeyed(&mut self, old: SaId, new: SaId) {
        let Some(before) = self.sas.get(&old) else {
            self.endpoint.with(new, IkeSa::discard);
            return;
        };
        let (name, ends, attempted) = (before.connection().to_owned(), before.ends, before.attempted);
        let (children, proven) = (before.children.clone(), Arc::clone(&before.proven));
        // After a simultaneous rekey one of the two new SAs is redundant and is about to end.
        let made = self.endpoint.sa(new).map(|sa| (sa.is_established(), sa.is_initiator()));
        let (is_current, initiator) = made.unwrap_or((false, false));
        self.track(new, (&name, children), initiator, ends);
        if let Some(sa) = self.sas.get_mut(&new) {
            (sa.attempted, sa.proven) = (attempted, proven);
            if is_current {
                sa.replaces = Some(old);
            } else {
                sa.stage = Stage::Replaced;
            }
        }
        if is_current && let Some(before) = self.sas.get_mut(&old) {
            before.stage = Stage::Replaced;
            // An attempt to authenticate both ends anew goes on.
            let attempts = self.sas.values_mut().filter(|sa| sa.succeeds == Some(old));
            attempts.for_each(|sa| sa.succeeds = Some(new));
        }
        self.bound(&name, new);
    }

    /// Drops surplus IKE_SAs of a connection: those that are not established, then the oldest.
    pub(crate) fn bound(&mut self, name: &str, newest: SaId) {
        let of_it = self.sas.iter().filter(|(id, sa)| sa.is_of(name) && **id != newest);
        let mut of_it: Vec<_> = of_it.map(|(id, sa)| (sa.is_open(), *id)).collect();
        of_it.sort_unstable();
        let surplus = (of_it.len() + 1).saturating_sub(OF_ONE);
        for (_, id) in of_it.into_iter().take(surplus) {
            self.say(id, "dropping the IKE_SA: the peer has too many");
            self.endpoint.with(id, IkeSa::discard);
        }
    }

    /// The peer has forgotten what it had.
    fn initial_contact(&mut self, now: Instant, id: SaId) {
        let Some(name) = self.sas.get(&id).map(|sa| sa.connection().to_owned()) else {
            return;
        };
        let Some(peer) = self.connection(&name).map(|known| known.identities[1].clone()) else {
            return;
        };
        // After a simultaneous start each end sends INITIAL_CONTACT, which would destroy the
        // other's IKE_SA: one that was established a moment ago is kept.
        let is_old = |sa: &Sa| {
            let age = sa.established.map(|since| now.saturating_duration_since(since));
            age.is_some_and(|age| age >= YOUNG)
        };
        let others = self
            .sas
            .iter()
            .filter(|(other, sa)| **other != id && sa.is_of(&name) && is_old(sa));
        let others: Vec<SaId> = others.map(|(other, _)| *other).collect();
        for other in others {
            self.say(
                other,
                &format!("destroying duplicate IKE_SA for peer '{peer}', received INITIAL_CONTACT"),
            );
            self.endpoint.with(other, IkeSa::discard);
        }
    }

    fn established(
        &mut self,
        now: Instant,
        id: SaId,
        agreed: Agreed,
        (proofs, certificates): (&[Vec<u8>; 2], &[Vec<u8>]),
    ) {
        let spis = self.endpoint.sa(id).map(IkeSa::spis);
        let by_nat = self.endpoint.sa(id).is_some_and(IkeSa::is_translated);
        let ends = self.endpoint.sa(id).map(IkeSa::ends);
        let Some(sa) = self.sas.get_mut(&id) else { return };
        sa.ends = ends.unwrap_or(sa.ends);
        if by_nat {
            sa.ends.remote = sa.ends.to(Port::Nat);
            sa.ends.local.set_port(IKE_NAT);
        }
        sa.agreed = Some(agreed);
        sa.established = Some(now);
        // A rekey carries no certificates: the successor has those of the IKE_SA before it.
        if !certificates.is_empty() {
            sa.proven = certificates.into();
        }
        sa.spis = spis.unwrap_or(sa.spis);
        let (name, number, replaces, is_current) = (
            sa.connection().to_owned(),
            sa.number,
            sa.replaces,
            sa.stage == Stage::Current,
        );
        let Some(connection) = self.connection(&name) else {
            self.close(id);
            return;
        };
        let identities = connection.identities.clone();
        let ours = trust::signed(&connection.config.certificates);
        if !is_current {
            return;
        }
        if !connection.loaded && replaces.is_none() {
            // It was unloaded while both ends authenticated each other.
            self.close(id);
            return;
        }
        let Some(old) = replaces else {
            // Its peer was verified under the configuration of its begin, which may have been loaded
            // anew since: with other roots, or another list of revoked certificates.
            if self.is_of_earlier_load(id) {
                self.judge_again(&name);
                if !self.sas.contains_key(&id) {
                    return;
                }
            }
            let [own, peer] = &identities;
            let [by_own, by_peer] = proofs.each_ref().map(|proof| trust::name(proof));
            let line = format!("IKE_SA {name}[{number}] established between {own} and {peer}");
            let theirs = trust::signed(certificates);
            self.say(id, &format!("certificates of '{own}' (myself) are signed with {ours}"));
            self.say(id, &format!("certificates of '{peer}' are signed with {theirs}"));
            self.say(
                id,
                &format!("authentication of '{own}' (myself) with {by_own} successful"),
            );
            self.say(id, &format!("authentication of '{peer}' with {by_peer} successful"));
            self.say(id, &line);
            self.bound(&name, id);
            let section = self.section(id, now);
            self.control.event("ike-updown", &up(true, &name, section));
            if self.sas.get(&id).is_some_and(|sa| sa.initiator) {
                let first = self.sas.get(&id).map(|sa| sa.first);
                self.make_wanted(now, id, first);
            }
            return;
        };
        self.say(
            id,
            &format!(
                "IKE_SA {name}[{number}] rekeyed between {} and {}",
                identities[0], identities[1]
            ),
        );
        let pair = Section::new()
            .with_section("old", self.section(old, now))
            .with_section("new", self.section(id, now));
        self.control
            .event("ike-rekey", &Section::new().with_section(&name, pair));
    }

    /// Returns true if the connection of an IKE_SA was loaded anew since its begin.
    fn is_of_earlier_load(&self, id: SaId) -> bool {
        let Some(sa) = self.sas.get(&id) else { return false };
        let children = self.connection(sa.connection()).map(|known| &known.children[..]);
        // Each load makes them anew.
        let of = |children: &[Arc<Protected>]| children.first().map(Arc::as_ptr);
        children.and_then(of) != of(&sa.children)
    }

    /// The peer's port for ESP in UDP.
    pub(crate) fn nat_port(&self, id: SaId) -> Option<u16> {
        self.endpoint.sa(id).map(|sa| sa.ends().to(Port::Nat).port())
    }

    /// The peer is reached at another port, and its CHILD_SAs are to follow.
    fn moved(&mut self, id: SaId, ends: Ends) {
        let Some(sa) = self.sas.get_mut(&id) else { return };
        let before = std::mem::replace(&mut sa.ends, ends).remote;
        self.follows = true;
        self.say(
            id,
            &format!("NAT mapping of the peer changed from {before} to {}", ends.remote),
        );
    }

    fn child_made(&mut self, now: Instant, id: SaId, child: &Child) {
        // CHILD_SAs of an unwanted IKE_SA go with it.
        let Some((name, of)) = self.sas.get(&id).filter(|sa| sa.stage != Stage::Ending).and_then(|sa| {
            let of = sa.children.get(child.place)?;
            Some((sa.connection().to_owned(), Arc::clone(of)))
        }) else {
            return;
        };
        let inbound = child.inbound.0;
        let (mut path, child_name) = (of.path, of.name.clone());
        if child.in_udp {
            path.remote_port = self.nat_port(id).unwrap_or(path.remote_port);
        }
        if !of.is_covered([&child.local, &child.remote]) {
            self.say(
                id,
                "traffic selectors of the peer are fewer than those of this end: the CHILD_SA is deleted",
            );
            self.alert(id, "ts-mismatch", now);
            self.endpoint.with(id, |sa| sa.delete_child(now, inbound));
            self.fail_waiting(&name, Some(&child_name), "the peer takes fewer packets");
            return;
        }
        let made = self.data_path.associations(path).and_then(|associations| {
            let key = (name.clone(), child_name.clone());
            match self.installed.entry(key) {
                Entry::Vacant(none) => none.insert(Installed::new(associations)).made(child),
                Entry::Occupied(mut installed) => {
                    installed.get_mut().follow(associations);
                    installed.get_mut().made(child)
                }
            }
        });
        if let Err(error) = made {
            self.say(id, &format!("unable to install IPsec SAs (SAD) in kernel: {error}"));
            self.alert(id, "install-child-sa-failed", now);
            self.endpoint.with(id, |sa| sa.delete_child(now, inbound));
            self.fail_waiting(&name, Some(&child_name), &error.to_string());
            return;
        }
        self.numbers.1 += 1;
        let made = ChildSa::new(self.numbers.1, (&name, of), (child, path.remote_port), now);
        let line = format!(
            "CHILD_SA {child_name}{{{}}} established with SPIs {inbound:08x}_i {:08x}_o",
            made.number, made.outbound
        );
        self.say(id, &line);
        let new = self.child_section(&made, now);
        let key = format!("{child_name}-{}", made.number);
        let replaced = self.add_child(made, child.replaces);
        let mut section = self.section(id, now);
        match replaced {
            Some(old) => {
                let old = self.child_section(&old, now);
                let pair = Section::new().with_section("old", old).with_section("new", new);
                section = section.with_section("child-sas", Section::new().with_section(key, pair));
                self.control
                    .event("child-rekey", &Section::new().with_section(&name, section));
            }
            None => {
                section = section.with_section("child-sas", Section::new().with_section(key, new));
                self.control.event("child-updown", &up(true, &name, section));
                self.succeed_waiting(&name, &child_name);
            }
        }
        // Both ends have authenticated each other anew: what was there before ends, once all of it is here.
        let before = self.sas.get(&id).and_then(|sa| sa.succeeds);
        if let Some(before) = before.filter(|before| self.names_in(*before).is_subset(&self.names_in(id))) {
            if let Some(sa) = self.sas.get_mut(&id) {
                sa.succeeds = None;
            }
            self.close(before);
        }
    }

    pub(crate) fn child_refused(&mut self, id: SaId, place: usize, requester: Requester, kind: NotifyType) {
        let Some(sa) = self.sas.get(&id) else { return };
        let (name, initiator) = (sa.connection().to_owned(), sa.initiator);
        let child = sa
            .children
            .get(place)
            .map(|child| child.name.clone())
            .unwrap_or_default();
        let alert = match kind {
            NotifyType::TS_UNACCEPTABLE => "ts-mismatch",
            _ => "proposal-mismatch-child",
        };
        let line = match requester {
            Requester::ThisEnd => format!("received {kind} notify, no CHILD_SA built"),
            Requester::Peer => format!("the peer asks for a CHILD_SA that is refused: {kind}"),
        };
        self.say(id, &line);
        self.alert(id, alert, clock::now());
        if requester == Requester::Peer {
            return;
        }
        self.fail_waiting(&name, Some(&child), &line);
        let is_bare = self.endpoint.sa(id).is_some_and(|sa| sa.children().next().is_none());
        if initiator && is_bare && !self.is_waited_for(&name) {
            // Without a CHILD_SA it is of no use, and the next attempt begins with one that may have it.
            self.close(id);
        }
    }

    fn child_deleted(&mut self, now: Instant, id: SaId, inbound: u32) {
        let Some(child) = self.forget_child(id, inbound, now) else {
            return;
        };
        let is_loaded = self.connection(&child.connection).is_some_and(|known| known.loaded);
        let mut children = self.children.iter();
        let is_last = !children.any(|known| known.connection == child.connection && known.of.name == child.of.name);
        let wanted = is_loaded && child.of.again[0] && is_last && !child.ending;
        if wanted && self.sas.get(&id).is_some_and(Sa::is_open) && self.may_begin_again(&child.connection, now) {
            let place = self.place_in(id, &child.of.name).unwrap_or(0);
            self.endpoint.with(id, |sa| sa.make_child(now, place));
        }
    }

    /// Removes a CHILD_SA from the kernel, and reports that it is no more.
    pub(crate) fn forget_child(&mut self, id: SaId, inbound: u32, now: Instant) -> Option<ChildSa> {
        // SPIs are drawn for each IKE_SA: one of another connection may have the same.
        let connection = self.sas.get(&id).map(Sa::connection);
        let is_it = |known: &ChildSa| {
            known.inbound == inbound && connection.is_none_or(|connection| connection == known.connection)
        };
        let place = self.children.iter().position(is_it)?;
        let child = self.children.remove(place);
        let child_name = child.of.name.clone();
        let lifetime = self
            .connection(&child.connection)
            .and_then(|known| known.config.timing.child);
        let is_expired =
            lifetime.is_some_and(|lifetime| now.saturating_duration_since(child.installed) >= lifetime.expire);
        let section = self.child_section(&child, now);
        if let Some(Err(error)) = self
            .installed
            .get_mut(&(child.connection.clone(), child_name.clone()))
            .map(|kernel| kernel.deleted(now, inbound))
        {
            self.say(id, &format!("removing SAs of a CHILD_SA from the kernel: {error}"));
        }
        if !child.superseded {
            if is_expired {
                let (number, outbound) = (child.number, child.outbound);
                self.say(
                    id,
                    &format!(
                        "closing expired CHILD_SA {child_name}{{{number}}} with SPIs {inbound:08x}_i {outbound:08x}_o"
                    ),
                );
            } else if !child.ending && self.sas.get(&id).is_some_and(Sa::is_open) {
                self.say(
                    id,
                    &format!("received DELETE for ESP CHILD_SA with SPI {:08x}", child.outbound),
                );
            }
            let key = format!("{child_name}-{}", child.number);
            let whole = self.section(id, now);
            let whole = whole.with_section("child-sas", Section::new().with_section(key, section));
            self.control.event("child-updown", &up(false, &child.connection, whole));
        }
        Some(child)
    }

    fn not_replaced(&mut self, id: SaId, inbound: Option<u32>, kind: NotifyType) {
        let what = if inbound.is_some() { "CHILD_SA" } else { "IKE_SA" };
        self.say(id, &format!("received {kind} notify error"));
        let seconds = self.sas.get(&id).and_then(|sa| self.connection(sa.connection()));
        let seconds = seconds.map_or(0, |known| known.config.timing.again.as_secs());
        self.say(
            id,
            &format!("{what} rekeying failed, trying again in {seconds} seconds"),
        );
    }

    /// An IKE_SA without its CHILD_SAs.
    pub(crate) fn section(&self, id: SaId, now: Instant) -> Section {
        let Some(sa) = self.sas.get(&id) else {
            return Section::new();
        };
        let mut section = vici_reports::ike(sa, self.connection(sa.connection()), now);
        if let Some(since) = self.endpoint.sa(id).and_then(IkeSa::authenticated) {
            let age = now.saturating_duration_since(since).as_secs();
            section.set("authenticated", age.to_string());
        }
        section
    }

    pub(crate) fn child_section(&self, child: &ChildSa, now: Instant) -> Section {
        let counted = |spi: u32, direction| self.data_path.counted(child.of.path, spi, direction);
        let both = [
            counted(child.inbound, Direction::In),
            counted(child.outbound, Direction::Out),
        ];
        vici_reports::child(child, &child.of.name, both, now)
    }

    /// One of charon's alerts about an IKE_SA.
    pub(crate) fn alert(&mut self, id: SaId, kind: &str, now: Instant) {
        let Some(name) = self.sas.get(&id).map(|sa| sa.connection().to_owned()) else {
            return;
        };
        let sa = Section::new().with_section(name, self.section(id, now));
        let message = Section::new().with("type", kind).with_section("ike-sa", sa);
        self.control.event("alert", &message);
    }
}

/// The message of `ike-updown` and `child-updown`.
pub(crate) fn up(is_up: bool, connection: &str, section: Section) -> Section {
    let mut message = Section::new();
    if is_up {
        message.set("up", "yes");
    }
    message.with_section(connection, section)
}
