//! One IKE_SA for each connection: where both ends begin at once, to set up or to authenticate anew, two come to stand.
//!
//! Two would go on side by side: charon compares none with the others. Packets then leave in the CHILD_SA that was installed last, which may
//! be another one at each end. The end that the file names as initiator deletes all but the one it sends in itself: the peer answers the deletion
//! after it has stopped to send in the others. Where they go on to stand, nobody watches there, and the other end does the same.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::{Notice, Watch, track};
use crate::sa::IkeSa;
use crate::vici::{Client, Error, Section};

/// How often it is looked at which one is to stay.
const AGAIN: Duration = Duration::from_secs(1);

/// How long the end that does not decide leaves it to the other: several times of what that takes.
const LEFT_TO_THE_OTHER: Duration = Duration::from_secs(4 * track::BESIDE.as_secs());

/// What is known of IKE_SAs that stand side by side.
#[derive(Debug, Default)]
pub(super) struct Doubled {
    deleted: HashSet<u32>,
    looked: Option<Instant>,
}

impl Doubled {
    /// Whether it is deleted for the sake of another.
    pub(super) fn is_deleted(&self, id: u32) -> bool {
        self.deleted.contains(&id)
    }
}

impl Watch<'_> {
    /// Deletes what stands beside another IKE_SA of its connection, where this end decides.
    pub(super) fn converge(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
        let mut doubled = self.tracked.doubled(track::BESIDE);
        let late = self.tracked.doubled(LEFT_TO_THE_OTHER);
        doubled.retain(|name| {
            let known = self.expectations.of(name);
            known.is_some_and(|known| known.decides || late.contains(name))
        });
        if doubled.is_empty() || self.doubled.looked.is_some_and(|looked| looked.elapsed() < AGAIN) {
            return Ok(());
        }
        self.doubled.looked = Some(Instant::now());
        let rows = commands.streamed("list-sas", "list-sa", Section::new())?;
        let sas: Vec<_> = rows.iter().flat_map(IkeSa::of_row).collect();
        self.doubled.deleted.retain(|id| sas.iter().any(|sa| sa.id == *id));
        for name in doubled {
            let of_it: Vec<_> = sas.iter().filter(|sa| sa.connection == name).collect();
            let children = self.expectations.of(&name).map_or(0, |known| known.children.len());
            let installed = |sa: &IkeSa, child: u32| self.tracked.installed(sa.id, child);
            let extra = extra(&of_it, children, &installed);
            for sa in &extra {
                if self.doubled.deleted.insert(sa.id) {
                    let message = Section::new().with("ike-id", sa.id.to_string()).with("timeout", "-1");
                    match commands.command("terminate", message) {
                        Ok(_) | Err(Error::Refused { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            if !extra.is_empty() {
                notice(Notice::Converges(&name));
            }
        }
        Ok(())
    }
}

/// Those of a connection that are not to stay: all but the one whose CHILD_SAs were installed last, once they stand undisturbed. None where none
/// has all the CHILD_SAs.
///
/// charon's numbers do not tell which that is: the end that begins counts a CHILD_SA when it asks for it, the other when it installs it.
fn extra<'a>(sas: &[&'a IkeSa], children: usize, installed: &dyn Fn(&IkeSa, u32) -> Option<Instant>) -> Vec<&'a IkeSa> {
    let settled = |sa: &&&IkeSa| sa.state == "ESTABLISHED" && sa.established_s >= track::BESIDE.as_secs();
    let standing: Vec<_> = sas.iter().filter(settled).copied().collect();
    let last = |sa: &IkeSa| {
        let standing = sa.children.iter().filter(|child| child.stands());
        standing
            .clone()
            .filter_map(|child| Some((installed(sa, child.id)?, child.id)))
            .max()
            .filter(|_| standing.count() >= children)
    };
    let Some((_, stays)) = standing.iter().filter_map(|sa| Some((last(sa)?, sa.id))).max() else {
        return Vec::new();
    };
    standing.into_iter().filter(|sa| sa.id != stays).collect()
}
