//! IKE_SAs that come to stand side by side, as both ends had begun at once.

use std::thread;

use bartizan_ipsec::vici::{Client, Section};
use bartizan_ledger::Why;

use super::lost::ends;
use crate::stage::*;

const LINK: &str = "cu--ric";

/// Both ends authenticate anew at once.
fn reauthenticate(stage: &Stage) {
    thread::scope(|scope| {
        for node in ["cu", "ric"] {
            let socket = stage.charon(node).join("charon.vici");
            scope.spawn(move || {
                let mut client = Client::connect(&socket, PATIENCE).expect("charon");
                let asked = Section::new().with("ike", LINK).with("reauth", "yes");
                client.command("rekey", asked).expect("it begins");
            });
        }
    });
}

fn ikes(stage: &Stage, node: &str) -> Option<usize> {
    let (_, report) = stage.try_json("status", node)?;
    report["links"][0]["ike"].as_array().map(Vec::len)
}

/// Authenticates anew until two stand side by side at both ends: where one end was done before the other began there is nothing to converge.
fn doubled(stage: &Stage) {
    eventually("two stand side by side", || {
        converged(stage);
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

/// Waits until one is left, the same at both ends.
fn converged(stage: &Stage) {
    for node in ["cu", "ric"] {
        eventually("one of two goes", || (ikes(stage, node) == Some(1)).then_some(()));
    }
    let spis = |node| stage.json("status", node, &[]).1["links"][0]["ike"][0]["spis"].clone();
    assert_eq!(spis("cu"), spis("ric"));
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
