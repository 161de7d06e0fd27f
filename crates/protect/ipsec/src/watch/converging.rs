//! One IKE_SA for each connection: when both ends begin at once, to set up or to authenticate anew,
//! or when a peer has forgotten one and does not say so (`unique` of the connection is `never`),
//! two come to stand.
//!
//! Two would go on side by side: charon compares none with the others. Packets then leave in the
//! CHILD_SA that was installed last, which may be another one at each end. The end that the file
//! names as initiator deletes all but the one it sends in itself: the peer answers the deletion
//! after it has stopped to send in the others. If they go on to stand, no watch runs there, or the
//! peer has forgotten them, and the other end does the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use bartizan_ledger::Why;

use super::{Notice, Watch, ending, track};
use crate::sa::IkeSa;
use crate::vici::{Client, Error, Section};

/// Interval between checks which one is to stay.
const AGAIN: Duration = Duration::from_secs(1);

/// Time that the end that does not decide leaves to the other: several times the time that it
/// needs.
const LEFT_TO_THE_OTHER: Duration = Duration::from_secs(4 * track::OVERLAP.as_secs());

/// Time limit of the peer's answer to the deletion: it answers in the IKE_SA that stays, and if it
/// does not in this one it has forgotten it.
const FORGOTTEN: Duration = Duration::from_secs(3);

/// State of IKE_SAs that stand side by side.
#[derive(Debug, Default)]
pub(super) struct Doubled {
    deleted: HashMap<u32, Deletion>,
    looked: Option<Instant>,
}

#[derive(Debug)]
struct Deletion {
    since: Instant,
    /// The peer has not answered it: the IKE_SA is destroyed at this end alone.
    forced: bool,
}

impl Doubled {
    /// Why an IKE_SA that is deleted for the sake of another ends; of one that the peer has forgotten it is noted with charon's log.
    pub(super) fn why(&self, id: u32) -> Option<Why> {
        let deletion = self.deleted.get(&id)?;
        Some(if deletion.forced { Why::Deleted } else { Why::Duplicate })
    }

    /// It is no more: a charon that is started again gives its number to another.
    pub(super) fn forget(&mut self, id: u32) {
        self.deleted.remove(&id);
    }
}

impl Watch<'_> {
    /// Deletes the surplus IKE_SAs of a connection, where this end decides.
    pub(super) fn converge(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
        let mut doubled = self.tracked.doubled(track::OVERLAP);
        let late = self.tracked.doubled(LEFT_TO_THE_OTHER);
        doubled.retain(|name| {
            let known = self.expectations.of(name);
            known.is_some_and(|known| known.decides || late.contains(name) || self.is_partly_silent(name))
        });
        if doubled.is_empty() || self.doubled.looked.is_some_and(|looked| looked.elapsed() < AGAIN) {
            return Ok(());
        }
        self.doubled.looked = Some(Instant::now());
        let rows = commands.streamed("list-sas", "list-sa", Section::new())?;
        let sas: Vec<_> = rows.iter().flat_map(IkeSa::of_row).collect();
        self.doubled.deleted.retain(|id, _| sas.iter().any(|sa| sa.id == *id));
        let unanswered = self.doubled.deleted.iter_mut();
        for (id, deletion) in unanswered.filter(|(_, deletion)| deletion.since.elapsed() >= FORGOTTEN) {
            let connection = self.tracked.connection(*id).unwrap_or_default();
            // A peer that answers in none is lost, and charon's to give up.
            if self.silences.is_answered(connection, &self.tracked) {
                if !std::mem::replace(&mut deletion.forced, true) {
                    self.logged.note(*id, ending::FORGOTTEN);
                }
                terminate(commands, *id, "yes")?;
            }
        }
        for name in doubled {
            let of_it: Vec<_> = sas.iter().filter(|sa| sa.connection == name).collect();
            let children = self.expectations.of(&name).map_or(0, |known| known.children.len());
            let installed = |sa: &IkeSa, child: u32| self.tracked.installed(sa.id, child);
            let is_silent = |sa: &IkeSa| self.silences.is_silent(sa.id);
            let mut begun = false;
            for sa in extra(&of_it, children, &installed, &is_silent) {
                if let Entry::Vacant(vacant) = self.doubled.deleted.entry(sa.id) {
                    vacant.insert(Deletion {
                        since: Instant::now(),
                        forced: false,
                    });
                    terminate(commands, sa.id, "no")?;
                    begun = true;
                }
            }
            if begun {
                notice(Notice::Converges(&name));
            }
        }
        Ok(())
    }

    /// Returns true if the peer answers in one IKE_SA of a connection, and not in another: it will
    /// not delete an SA that it does not know any more.
    fn is_partly_silent(&self, connection: &str) -> bool {
        let mut ids = self.tracked.of(connection);
        self.silences.is_answered(connection, &self.tracked) && ids.any(|id| self.silences.is_silent(id))
    }
}

/// Has charon delete an IKE_SA, without the peer where it is forced. It answers at once, and its events say when that is done.
fn terminate(commands: &mut Client, id: u32, force: &str) -> Result<(), Error> {
    let message = Section::new().with("ike-id", id.to_string()).with("force", force);
    match commands.command("terminate", message.with("timeout", "-1")) {
        Ok(_) | Err(Error::Refused { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Those of a connection that are not to stay: all but the one whose CHILD_SAs were installed last, once they stand undisturbed. None where none
/// has all the CHILD_SAs. One in which the peer is silent stays only where it is silent in all.
///
/// charon's numbers do not show which that is: the end that begins counts a CHILD_SA when it asks for it, the other when it installs it.
fn extra<'a>(
    sas: &[&'a IkeSa],
    children: usize,
    installed: &dyn Fn(&IkeSa, u32) -> Option<Instant>,
    is_silent: &dyn Fn(&IkeSa) -> bool,
) -> Vec<&'a IkeSa> {
    let settled = |sa: &&&IkeSa| sa.state == "ESTABLISHED" && sa.established_s >= track::OVERLAP.as_secs();
    let established: Vec<_> = sas.iter().filter(settled).copied().collect();
    let last = |sa: &IkeSa| {
        let established = sa.children.iter().filter(|child| child.stands());
        established
            .clone()
            .filter_map(|child| Some((installed(sa, child.id)?, child.id)))
            .max()
            .filter(|_| established.count() >= children)
    };
    let complete = established
        .iter()
        .filter_map(|sa| Some((!is_silent(sa), last(sa)?, sa.id)));
    let Some((.., stays)) = complete.max() else {
        return Vec::new();
    };
    established.into_iter().filter(|sa| sa.id != stays).collect()
}
