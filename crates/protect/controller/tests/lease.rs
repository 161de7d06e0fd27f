//! Leader election: case by case, and two processes whose requests are as late as they like.

use std::time::Duration;

use bartizan_controller::{Election, Lease, Step, Timing};
use proptest::prelude::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn lease(holder: &str, version: u64) -> Lease {
    Lease {
        holder: holder.into(),
        version: version.to_string(),
        transitions: 0,
    }
}

#[test]
fn a_lease_is_taken_when_it_was_seen_unchanged_for_its_duration_and_not_before() {
    let mut election = Election::new("b", Timing::default());
    election.observe(Some(&lease("a", 1)), seconds(100));
    assert_eq!(election.step(seconds(114)), Step::Wait);
    // It was renewed: the time begins again.
    election.observe(Some(&lease("a", 2)), seconds(114));
    election.observe(Some(&lease("a", 2)), seconds(120));
    assert_eq!(election.step(seconds(128)), Step::Wait);
    let taken = election.step(seconds(129));
    assert_eq!(
        taken,
        Step::Take {
            version: "2".into(),
            transitions: 1
        }
    );
    assert!(!election.is_leading(seconds(129)));
    election.stored(&lease("b", 3), seconds(129), seconds(130));
    assert!(election.is_leading(seconds(138)));
    assert!(!election.is_leading(seconds(139)));
    assert_eq!(
        election.step(seconds(138)),
        Step::Renew {
            version: "3".into(),
            transitions: 0
        }
    );
}

#[test]
fn a_released_lease_is_free_at_once_and_one_that_is_gone_is_created() {
    let mut election = Election::new("b", Timing::default());
    assert_eq!(election.step(seconds(0)), Step::Create);
    election.observe(Some(&lease("", 4)), seconds(1));
    assert_eq!(
        election.step(seconds(1)),
        Step::Take {
            version: "4".into(),
            transitions: 1
        }
    );
    election.stored(&lease("b", 5), seconds(1), seconds(2));
    election.observe(None, seconds(3));
    assert!(!election.is_leading(seconds(3)));
    assert_eq!(election.step(seconds(3)), Step::Create);
}

#[test]
fn whoever_finds_another_holder_stops_at_once() {
    let mut election = Election::new("a", Timing::default());
    election.stored(&lease("a", 1), seconds(0), seconds(0));
    assert!(election.is_leading(seconds(1)));
    election.observe(Some(&lease("b", 2)), seconds(2));
    assert!(!election.is_leading(seconds(2)));
    assert_eq!(election.step(seconds(2)), Step::Wait);
}

/// The API server's copy, written only over the version that was read.
struct Store(Lease, u64);

impl Store {
    fn write(&mut self, holder: &str, over: &str) -> Option<Lease> {
        (self.0.version == over).then(|| {
            self.1 += 1;
            self.0 = lease(holder, self.1);
            self.0.clone()
        })
    }
}

proptest! {
    #[test]
    fn two_processes_never_lead_at_once_however_late_answers_are(
        // For each attempt: which process, how long it pauses first, how late request and answer
        // are, in tenths of a second.
        attempts in proptest::collection::vec((0..2_usize, 0..60_u64, 0..80_u64, 0..80_u64), 1..120),
    ) {
        let mut store = Store(lease("", 0), 0);
        let mut elections = [Election::new("a", Timing::default()), Election::new("b", Timing::default())];
        // Processes' clocks have nothing to do with each other: one began an hour earlier.
        let mut clock = [Duration::ZERO, seconds(3_600)];
        let (mut wall, mut free) = (Duration::ZERO, [Duration::ZERO; 2]);
        for (who, pause, late, answer) in attempts {
            // The attempt begins when the process's last one has ended.
            let begins = (wall + Duration::from_millis(pause * 100)).max(free[who]);
            let reaches = begins + Duration::from_millis(late * 100);
            let ends = reaches + Duration::from_millis(answer * 100);
            let offset = clock[who];
            elections[who].observe(Some(&store.0.clone()), begins + offset);
            match elections[who].step(begins + offset) {
                Step::Take { version, .. } | Step::Renew { version, .. } => {
                    let me = elections[who].me.to_owned();
                    if let Some(stored) = store.write(&me, &version) {
                        elections[who].stored(&stored, begins + offset, ends + offset);
                    }
                }
                Step::Create | Step::Wait => {}
            }
            wall = reaches.max(wall);
            free[who] = ends;
            clock[who] = offset;
            let leading: Vec<bool> = (0..2).map(|at| elections[at].is_leading(wall + clock[at])).collect();
            prop_assert!(!(leading[0] && leading[1]), "both lead at {wall:?}");
        }
    }
}
