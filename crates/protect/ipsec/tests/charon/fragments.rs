//! IKE fragments that are lost or come in another order (RFC 7383): the SA is set up all the same, and as what was asked for.

use super::relay::{Relay, Tampering};
use super::{list_sas, named};
use crate::stage::*;

fn set_up_and_rekeyed_through(tampering: Tampering) {
    let mut relay = None;
    let stage = Stage::joined(engine(), |near, far| {
        relay = Some(Relay::between(near, far, tampering));
    });
    let relay = relay.expect("it was made");
    stage.load(HYBRID, HYBRID);
    let mut client = stage.near.client();
    client.command("initiate", named("e2")).expect("up");
    let tampered = relay.tampered();
    // The request of IKE_INTERMEDIATE at least is in fragments.
    assert!(tampered >= 1, "no fragment of a set-up");
    let sas = list_sas(&mut client);
    assert_eq!(sas.len(), 1);
    assert_eq!(
        (sas[0].text("dh-group"), sas[0].text("ake1")),
        (Some("CURVE_25519"), Some("ML_KEM_768"))
    );

    client.command("rekey", named("e2")).expect("rekeyed");
    eventually("the CHILD_SA is keyed anew by both", || {
        let sas = list_sas(&mut client);
        let children = sas.first()?.section("child-sas")?;
        let mut rekeyed = children
            .sections()
            .filter(|(_, child)| child.text("ake1") == Some("ML_KEM_768"));
        rekeyed.next().map(drop)
    });
    assert!(relay.tampered() > tampered, "no fragment of a rekey");
}

#[test]
fn a_hybrid_link_whose_fragments_are_lost_is_set_up_and_rekeyed_hybrid() {
    set_up_and_rekeyed_through(Tampering::Loses);
}

#[test]
fn a_hybrid_link_whose_fragments_are_reordered_is_set_up_and_rekeyed_hybrid() {
    set_up_and_rekeyed_through(Tampering::Reorders);
}
