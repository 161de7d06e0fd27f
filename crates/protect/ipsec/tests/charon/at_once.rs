//! Simultaneous exchanges of both ends of a link.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use bartizan_ipsec::drive::{self, Rekey};

use super::named;
use crate::stage::*;

/// Number of rounds, and the delay that one of the ends gains in each: their requests cross in
/// other places.
const TIMES: u32 = 24;
const LATER: Duration = Duration::from_micros(200);

#[test]
fn both_ends_that_rekey_at_once_are_both_notified_that_it_is_done() {
    let stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    stage.near.client().command("initiate", named("e2")).expect("up");
    for what in [Rekey::Ike, Rekey::Children] {
        for time in 0..TIMES {
            let together = Barrier::new(2);
            thread::scope(|scope| {
                let ends = [(&stage.near, 0), (&stage.far, time)].map(|(end, later)| {
                    let together = &together;
                    scope.spawn(move || {
                        let mut client = end.client();
                        together.wait();
                        thread::sleep(LATER * later);
                        drive::rekey(&mut client, &["e2".to_owned()], what, PATIENCE)
                    })
                });
                for end in ends {
                    let late = end
                        .join()
                        .expect("no panic")
                        .unwrap_or_else(|error| panic!("{what:?}: {error}"));
                    assert!(late.is_empty(), "{what:?}: {late:?}");
                }
            });
        }
    }
}
