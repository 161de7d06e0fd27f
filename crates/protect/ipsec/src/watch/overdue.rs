//! IKE_SAs whose peers were authenticated under roots or revocation lists of before.
//!
//! charon judges nothing that stands. It is asked to authenticate peers anew, and what was not
//! replaced in time is taken down. A rekey authenticates no peer: its IKE_SA is due when the old
//! one was. So is one whose peer was not authenticated anew in the time of the deployment file:
//! charon's own timer begins anew where the peer rekeys after it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bartizan_deployment::Breach;
use bartizan_ledger::Cause;

use super::taking_down::Condemned;
use super::{Notice, Sighting, Watch};
use crate::judge::{self, Violation};
use crate::sa::IkeSa;

/// IKE_SAs that have to be replaced, by charon's numbers.
#[derive(Debug, Default)]
pub struct Overdue(Mutex<HashMap<u32, Due>>);

/// Time for charon to end by itself, a tenth after its time, an IKE_SA that was not authenticated
/// anew.
const ITS_OWN: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
struct Due {
    connection: String,
    at: Instant,
}

impl Overdue {
    /// Has these IKE_SAs replaced within this time, or taken down.
    pub fn replace(&self, sas: &[IkeSa], within: Duration) {
        let at = Instant::now() + within;
        let mut all = self.all();
        for sa in sas {
            let connection = sa.connection.clone();
            // One that is due already is not put off.
            all.entry(sa.id)
                .and_modify(|due| due.at = due.at.min(at))
                .or_insert(Due { connection, at });
        }
    }

    /// The numbers of those whose time is over.
    fn due(&self, now: Instant) -> Vec<u32> {
        let all = self.all();
        let due = all.iter().filter(|(_, due)| due.at <= now);
        due.map(|(id, _)| *id).collect()
    }

    pub(super) fn rekeyed(&self, old: u32, new: u32) {
        let mut all = self.all();
        if let Some(due) = all.remove(&old) {
            all.insert(new, due);
        }
    }

    /// An IKE_SA was found whose set-up was not seen: it may be one of them, rekeyed.
    pub(super) fn found(&self, sa: &IkeSa) {
        let mut all = self.all();
        let of_it = all.values().filter(|due| due.connection == sa.connection);
        if let Some(due) = of_it.min_by_key(|due| due.at).cloned() {
            all.entry(sa.id).or_insert(due);
        }
    }

    pub(super) fn gone(&self, id: u32) {
        self.all().remove(&id);
    }

    pub(super) fn all_gone(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u32, Due>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch<'_> {
    /// Condemns the IKE_SAs whose time is over.
    pub(super) fn condemn_overdue(&mut self, notice: &mut dyn FnMut(Notice<'_>)) {
        let due = self
            .overdue
            .map(|overdue| overdue.due(Instant::now()))
            .unwrap_or_default();
        const BEFORE: &str = "its peer was authenticated under roots or revocation lists of before, and not anew since";
        const LATE: &str = "its peer was not authenticated anew in time (`reauth`)";
        let is_late = |(_, connection, age): &(u32, &str, Duration)| {
            let limit = self
                .expectations
                .of(connection)
                .and_then(|known| known.reauthentication);
            limit.is_some_and(|limit| *age > limit + limit / 10 + ITS_OWN)
        };
        let late: Vec<_> = self.tracked.ages().filter(is_late).map(|(id, ..)| (id, LATE)).collect();
        for (id, detail) in due.into_iter().map(|id| (id, BEFORE)).chain(late) {
            let is_condemned = |known: &Condemned| known.ike == id && known.child.is_none();
            let Some(sa) = self.tracked.sa(id) else { continue };
            if self.condemned.iter().any(is_condemned) {
                continue;
            }
            let expectation = self.expectations.of(&sa.connection);
            let sighting = Sighting {
                connection: sa.connection.clone(),
                child: None,
                peer: expectation.map(|expectation| expectation.peer.clone()),
                cause: Cause::ReAuthentication,
                keyed_by: judge::shown(&sa.key_exchanges),
                verdict: judge::refused(Violation::NotAuthenticatedAnew, detail.to_owned()),
            };
            self.metrics.breach(&sighting);
            notice(Notice::Breach(&sighting, Breach::Down));
            self.condemned.push(Condemned::new(id, None, sighting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vici::Section;

    fn sa(connection: &str, id: u32) -> IkeSa {
        let section = Section::new()
            .with("uniqueid", id.to_string())
            .with("state", "ESTABLISHED");
        IkeSa::read(connection, &section).unwrap()
    }

    #[test]
    fn a_rekey_does_not_put_off_what_is_due_and_nor_does_another_list() {
        let overdue = Overdue::default();
        let (begun, minute) = (Instant::now(), Duration::from_secs(60));
        overdue.replace(&[sa("cu--ric", 1), sa("cu--du", 2)], minute);
        assert!(overdue.due(begun).is_empty());
        overdue.rekeyed(1, 7);
        overdue.replace(&[sa("cu--ric", 7)], 10 * minute);
        // It was authenticated anew.
        overdue.gone(2);
        assert_eq!(overdue.due(Instant::now() + minute), [7]);
        // A rekey that was not heard of.
        overdue.found(&sa("cu--ric", 8));
        overdue.found(&sa("cu--du", 9));
        let mut due = overdue.due(Instant::now() + minute);
        due.sort_unstable();
        assert_eq!(due, [7, 8]);
        overdue.replace(&[sa("cu--du", 9)], Duration::ZERO);
        assert_eq!(overdue.due(Instant::now()), [9]);
        overdue.all_gone();
        assert!(overdue.due(Instant::now() + minute).is_empty());
    }
}
