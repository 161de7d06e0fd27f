//! Post-quantum pre-shared keys, in IKE_AUTH (RFC 8784) and in IKE_INTERMEDIATE (RFC 9867).

use std::time::Duration;

use bartizan_ike::{Event, Failure, Ppk};
use bartizan_wire::ike::{ExchangeType, NotifyType};

use crate::link::{Algorithm, HYBRID, Link};
use crate::{SOON, both};

const NOT_USED: Failure = Failure::Authentication("it does not use the pre-shared key");

fn key(identity: &str, byte: u8, required: bool, early: bool) -> Option<Ppk> {
    Some(Ppk {
        identity: identity.into(),
        secret: vec![byte; 32].into(),
        required,
        early,
    })
}

fn link(proposals: &[&[&str]], [mine, theirs]: [Option<Ppk>; 2]) -> Link {
    let [mut one, mut other] = both(Algorithm::MlDsa65, proposals);
    (one.ppk, other.ppk) = (mine, theirs);
    let mut link = Link::new(one, other, 36);
    link.run_well(SOON);
    link
}

/// Returns true if the keys of both ends include it; both are established and agree.
fn is_mixed(link: &Link) -> bool {
    link.assert_settled();
    let [one, other] = [0, 1].map(|end| link.agreed(end).expect("established").ppk);
    assert_eq!(one, other);
    one
}

#[test]
fn where_it_is_required_it_goes_into_every_key_and_another_one_is_refused() {
    for early in [false, true] {
        let key = |identity, byte| key(identity, byte, true, early);
        let mut well = link(&[&["x25519"]], [key("ours", 1), key("ours", 1)]);
        assert!(is_mixed(&well));
        // Without an additional key exchange there is one IKE_INTERMEDIATE for it.
        assert_eq!(well.requests(0, ExchangeType::IKE_INTERMEDIATE), usize::from(early));
        // An IKE_SA that takes the place of this one follows from it too.
        let now = well.now;
        well.current(1).expect("an IKE_SA").rekey(now);
        well.run_well(SOON);
        well.assert_settled();
        let agreed = well.events[0].iter().rev().find_map(|event| match event {
            Event::Established { agreed, .. } => Some(agreed.ppk),
            _ => None,
        });
        assert_eq!(agreed, Some(true));
        // Both believe each other's certificates all the same.
        let signature = Failure::Authentication("its signature is wrong");
        for (mine, theirs, why) in [
            (
                key("ours", 1),
                key("ours", 2),
                if early { &NOT_USED } else { &signature },
            ),
            (key("ours", 1), key("theirs", 1), &NOT_USED),
            (None, key("ours", 1), &NOT_USED),
        ] {
            let link = link(&[&["x25519"]], [mine, theirs]);
            assert_eq!(link.closed(1), Some(why), "{early}");
            let refused = Failure::Refused(NotifyType::AUTHENTICATION_FAILED);
            assert_eq!(link.closed(0), Some(&refused));
        }
        // One that has none does not answer with one, which the initiator sees before it says who it is.
        let mut link = link(&[&["x25519"]], [key("ours", 1), None]);
        link.run_well(Duration::from_secs(300));
        let why = Failure::Unsupported("a post-quantum pre-shared key");
        assert_eq!(link.closed(0), Some(&Failure::Unauthenticated(Box::new(why))));
        assert_eq!(link.requests(0, ExchangeType::IKE_AUTH), 0);
    }
}

#[test]
fn in_an_ike_intermediate_it_comes_along_with_the_last_key_exchange() {
    let three = &["x25519", "mlkem768", "ecp256"][..];
    for proposal in [HYBRID, three] {
        let required = || key("ours", 1, true, true);
        let link = link(&[proposal], [required(), required()]);
        assert!(is_mixed(&link));
        assert_eq!(
            link.requests(0, ExchangeType::IKE_INTERMEDIATE),
            link.agreed(0).expect("established").additional.len()
        );
    }
}

#[test]
fn an_end_that_mixes_it_in_late_and_one_that_can_do_either_do_it_late() {
    for early in [[true, false], [false, true]] {
        let link = link(&[HYBRID], early.map(|early| key("ours", 1, true, early)));
        assert!(is_mixed(&link), "{early:?}");
    }
}

#[test]
fn where_neither_requires_it_ends_that_do_not_share_it_go_on_without() {
    for early in [false, true] {
        let mine = |byte| key("ours", byte, false, early);
        let other = || key("theirs", 1, false, early);
        for proposal in [HYBRID, &["x25519"]] {
            assert!(is_mixed(&link(&[proposal], [mine(1), mine(1)])));
            for (one, theirs) in [(mine(1), other()), (mine(1), None), (None, mine(1))] {
                assert!(!is_mixed(&link(&[proposal], [one, theirs])), "{early}");
            }
            // A key of the same name that is another one is known for one by a proof of having it
            // in IKE_INTERMEDIATE alone.
            let mistaken = link(&[proposal], [mine(1), mine(2)]);
            if early {
                assert!(!is_mixed(&mistaken));
            } else {
                let why = Failure::Authentication("its signature is wrong");
                assert_eq!(mistaken.closed(1), Some(&why));
            }
        }
    }
}

#[test]
fn one_that_is_required_by_one_end_is_not_done_without() {
    for early in [false, true] {
        let required = |is: bool, name| key(name, 1, is, early);
        // The responder requires it; the initiator has another, and would do without.
        let one = link(&[HYBRID], [required(false, "theirs"), required(true, "ours")]);
        assert_eq!(one.closed(1), Some(&NOT_USED));
        // The initiator requires it, and the responder would do without.
        let other = link(&[HYBRID], [required(true, "ours"), required(false, "theirs")]);
        assert!(other.closed(0).is_some() && other.agreed(0).is_none());
        assert!(is_mixed(&link(
            &[HYBRID],
            [required(false, "ours"), required(true, "ours")]
        )));
    }
}
