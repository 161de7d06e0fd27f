//! IKE_SAs that come to stand side by side, as both ends had begun at once.

use bartizan_ledger::{Event, Why};

use super::reauthentication::{converged, ikes, reauthenticate};
use crate::stage::*;

/// Authenticates anew until two stand side by side at both ends: where one end was done before the
/// other began there is nothing to converge.
fn doubled(stage: &Stage) {
    eventually("two stand side by side", || {
        converged(stage);
        // The end of what went is recorded some time after: it would be taken for that of what is replaced next.
        eventually("the ledger says that one stands", || {
            (stand(stage, "cu") == Some(1)).then_some(())
        });
        let before = ends(stage, "cu").len();
        reauthenticate(stage);
        eventually("what stood is replaced", || {
            (ends(stage, "cu").len() > before).then_some(())
        });
        let two = ["cu", "ric"].iter().all(|node| ikes(stage, node) == Some(2));
        let still = ends(stage, "cu").len() == before + 1;
        (two && still).then_some(())
    });
}

/// Number of established IKE_SAs by the node's ledger.
fn stand(stage: &Stage, node: &str) -> Option<usize> {
    let begun = |event: &Event| matches!(event, Event::IkeSa(_));
    let begun = events(stage, node).iter().filter(|event| begun(event)).count();
    begun.checked_sub(ends(stage, node).len())
}

#[test]
fn two_ends_that_authenticate_anew_at_once_come_to_one_ike_sa_and_both_ledgers_say_so() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    doubled(&stage);
    for node in ["cu", "ric"] {
        eventually("one of two goes", || {
            ends(&stage, node).contains(&Why::Duplicate).then_some(())
        });
    }
    converged(&stage);
}
