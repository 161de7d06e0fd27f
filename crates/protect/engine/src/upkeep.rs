//! Work that is due without a message: traffic limits of SAs, reauthentication, peers that do not
//! answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bartizan_host::clock;
use bartizan_ike::{IkeSa, Port, SaId};

use crate::Daemon;
use crate::association::{ChildSa, Sa};
use bartizan_ipsec::xfrm::{Counted, Direction};

/// Interval of NAT keepalives (RFC 3948, section 4).
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Time between two attempts to authenticate a peer anew, at least.
const ATTEMPTS: Duration = Duration::from_secs(5);
/// Time that a CHILD_SA at its limit gets to be replaced before it is deleted.
const REPLACED: Duration = Duration::from_secs(10);
/// CHILD_SAs that are looked for in the kernel at once: all of them each second on most nodes, 4096
/// in a minute.
const LOOKED_FOR: usize = 64;
/// Replacements for another port in an interval: ports are not authenticated, so a sender on the path
/// can have each packet come from another. The second leads back, where one packet was sent from
/// elsewhere.
const MOVES: u8 = 2;
const FOLLOWED: Duration = Duration::from_secs(60);

impl Daemon {
    pub(crate) fn keep_up(&mut self, now: Instant) {
        self.end_receiving(now);
        self.keep_limits(now);
        self.replace_lost(now);
        self.follow_ports(now);
        self.begin_overdue(now);
        self.keep_alive(now);
        self.authenticate_anew(now);
    }

    /// Begins IKE_SAs that are to succeed those whose authentication is due. Failed attempts are
    /// repeated until the engine deletes the IKE_SA.
    pub(crate) fn authenticate_anew(&mut self, now: Instant) {
        let is_due = |(id, sa): &(&SaId, &Sa)| {
            let due = self.endpoint.sa(**id).and_then(IkeSa::authentication_due);
            let attempted = sa.attempted.map(|at| now.saturating_duration_since(at));
            sa.is_open() && due.is_some_and(|due| due <= now) && attempted.is_none_or(|since| since >= ATTEMPTS)
        };
        // These look through all IKE_SAs and connections, for the few that are due.
        let can_begin = |(id, sa): &(&SaId, &Sa)| {
            let is_under_way = self.sas.values().any(|other| other.succeeds == Some(**id));
            !is_under_way && self.connection(sa.connection()).is_some_and(|known| known.loaded)
        };
        let due = self.sas.iter().filter(is_due).filter(can_begin);
        let due: Vec<_> = due.map(|(id, sa)| (*id, sa.connection().to_owned())).collect();
        for (old, name) in due {
            if let Some(sa) = self.sas.get_mut(&old) {
                sa.attempted = Some(now);
            }
            let child = self.names_in(old).first().map(|&child| child.to_owned());
            // A connection that cannot begin now is tried again.
            let _ = self.begin(&name, child.as_deref(), Some(old));
        }
    }

    /// Removes what was replaced and has received for long enough.
    fn end_receiving(&mut self, now: Instant) {
        let mut said = Vec::new();
        let kept = self.installed.iter_mut().map(|((name, _), kernel)| (name, kernel));
        let retired = self.retired.iter_mut().map(|(name, kernel)| (&*name, kernel));
        for (name, kernel) in kept.chain(retired) {
            let before = kernel.left();
            let done = kernel.keep_up(Some(now));
            match (done, kernel.left()) {
                // It is said once, and tried again until it is done.
                (Err(error), left) if left > before => said.push((
                    name.clone(),
                    format!(
                        "removing SAs of a CHILD_SA from the kernel: {error}; {left} SAs STAY, and this is tried again"
                    ),
                )),
                (_, 0) if before > 0 => said.push((name.clone(), format!("{before} SAs that had stayed are removed"))),
                _ => {}
            }
        }
        self.retired.retain(|(_, kernel)| kernel.left() > 0);
        for (name, line) in said {
            self.say_of(&name, 0, &line);
        }
    }

    /// A NAT before this end forgets a mapping by which nothing passes.
    fn keep_alive(&mut self, now: Instant) {
        if now.saturating_duration_since(self.kept_alive) < KEEPALIVE {
            return;
        }
        self.kept_alive = now;
        for (id, sa) in self.sas.iter().filter(|(_, sa)| sa.is_open()) {
            if self.endpoint.sa(*id).is_some_and(IkeSa::is_behind_nat) {
                self.sockets.keep_alive(sa.ends);
            }
        }
    }

    /// Replaces CHILD_SAs whose peer is reached at another port than they were installed with.
    pub(crate) fn follow_ports(&mut self, now: Instant) {
        if !self.follows {
            return;
        }
        let mut ports = BTreeMap::new();
        for (id, sa) in self.endpoint.sas() {
            let port = sa.ends().to(Port::Nat).port();
            ports.extend(sa.children().map(|inbound| (inbound, (id, port))));
        }
        self.follows = false;
        let mut due = Vec::new();
        let carried = |child: &&mut ChildSa| child.in_udp && !child.superseded && !child.ending;
        for child in self.children.iter_mut().filter(carried) {
            let Some((id, port)) = ports.get(&child.inbound) else {
                continue;
            };
            if *port == child.remote_port {
                continue;
            }
            self.follows = true;
            if child.follow_at.is_none_or(|at| at <= now) {
                child.follow_at = Some(now + REPLACED);
                let recent = child.moves.filter(|(first, _)| now < *first + FOLLOWED);
                let (first, times) = recent.unwrap_or((now, 0));
                child.moves = Some((first, times.saturating_add(1)));
                due.push((*id, child.inbound));
            }
        }
        for (id, inbound) in due {
            self.endpoint.with(id, |sa| sa.rekey_child(now, inbound));
        }
    }

    /// Adds a CHILD_SA; returns the one that it replaces.
    pub(crate) fn add_child(&mut self, mut made: ChildSa, replaces: Option<u32>) -> Option<ChildSa> {
        let replaced = self.children.iter_mut().find(|known| Some(known.inbound) == replaces);
        let replaced = replaced.map(|known| {
            known.superseded = true;
            known.clone()
        });
        made.moves = replaced.as_ref().and_then(|known| known.moves);
        let often = made.moves.filter(|(_, times)| *times >= MOVES);
        made.follow_at = often.map(|(first, _)| first + FOLLOWED);
        self.children.push(made);
        replaced
    }

    /// Replaces CHILD_SAs that have carried what they may, and deletes those that could not be replaced.
    fn keep_limits(&mut self, now: Instant) {
        let mut full = Vec::new();
        for child in self.children.iter().filter(|child| !child.superseded && !child.ending) {
            let limits = child.of.limits;
            if !limits.any() {
                continue;
            }
            let counted = |spi, direction| self.data_path.counted(child.of.path, spi, direction);
            let most = [
                counted(child.inbound, Direction::In),
                counted(child.outbound, Direction::Out),
            ];
            let reaches = |(bytes, packets): (Option<u64>, Option<u64>)| {
                let reached = |counted: &Counted| {
                    bytes.is_some_and(|limit| counted.bytes >= limit)
                        || packets.is_some_and(|limit| counted.packets >= limit)
                };
                most.iter().flatten().any(reached)
            };
            match child.full {
                None if reaches(limits.rekey) => full.push((child.inbound, false)),
                // It was to be replaced, and was not.
                Some(since) if reaches(limits.life) && now.saturating_duration_since(since) >= REPLACED => {
                    full.push((child.inbound, true));
                }
                _ => {}
            }
        }
        for (inbound, is_over) in full {
            let Some(id) = self.holder(inbound) else { continue };
            let of_it = self.children.iter_mut().find(|child| child.inbound == inbound);
            of_it.into_iter().for_each(|child| child.full = Some(now));
            self.endpoint.with(id, |sa| match is_over {
                true => sa.delete_child(now, inbound),
                false => sa.rekey_child(now, inbound),
            });
        }
    }

    /// Replaces CHILD_SAs that are gone from the kernel: another program can delete its SAs, and a
    /// network card that does the work can go away with them.
    pub(crate) fn replace_lost(&mut self, now: Instant) {
        let count = self.children.len();
        let mut lost = Vec::new();
        for step in 0..count.min(LOOKED_FOR) {
            let child = &mut self.children[(self.looked + step) % count];
            let attempted = child.lost.map(|at| now.saturating_duration_since(at));
            if child.superseded || child.ending || attempted.is_some_and(|since| since < REPLACED) {
                continue;
            }
            let link = (child.connection.clone(), child.of.name.clone());
            if self.installed.get(&link).is_some_and(|link| link.lacks(child.inbound)) {
                child.lost = Some(now);
                lost.push((child.number, child.inbound));
            }
        }
        self.looked = (self.looked + LOOKED_FOR) % count.max(1);
        for (number, inbound) in lost {
            let Some(id) = self.holder(inbound) else { continue };
            self.say(
                id,
                &format!(
                    "SAs of CHILD_SA {{{number}}} are gone from the kernel: another program has deleted them, and it is \
                     replaced"
                ),
            );
            self.endpoint.with(id, |sa| sa.rekey_child(now, inbound));
        }
    }

    /// Says which peers do not answer, and which do again.
    pub(crate) fn report_silence(&mut self) {
        let now = clock::now();
        let counts = self.sas.iter().map(|(id, sa)| {
            let again = self.endpoint.sa(*id).map_or(0, IkeSa::sent_again);
            (*id, sa.sent_again, again)
        });
        let changed: Vec<(SaId, u32, u32)> = counts.filter(|(_, before, again)| before != again).collect();
        for (id, before, again) in changed {
            if let Some(sa) = self.sas.get_mut(&id) {
                sa.sent_again = again;
            }
            if again > before {
                let number = again;
                self.say(id, &format!("retransmit {number} of request"));
                self.alert(id, "retransmit-send", now);
            } else if self.sas.get(&id).is_some_and(Sa::is_open) {
                self.alert(id, "retransmit-send-cleared", now);
            }
        }
    }
}
