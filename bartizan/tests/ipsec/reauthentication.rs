//! Both ends of the link of [`Stage`] authenticate anew at once, and come to one IKE_SA again.

use std::thread;

use bartizan_ipsec::vici::{Client, Section};

use crate::stage::*;

const LINK: &str = "cu--ric";

/// Both ends authenticate anew at once.
pub(crate) fn reauthenticate(stage: &Stage) {
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

pub(crate) fn ikes(stage: &Stage, node: &str) -> Option<usize> {
    let (_, report) = stage.try_json("status", node)?;
    report["links"][0]["ike"].as_array().map(Vec::len)
}

/// Waits until one is left, the same at both ends: one end is done before the other.
pub(crate) fn converged(stage: &Stage) {
    stage.settled();
}
