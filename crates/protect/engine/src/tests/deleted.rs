//! SAs that another program deletes from the kernel.

use super::moved::Hidden;
use super::*;

/// `ip xfrm state flush` left it INSTALLED, and nothing passed until its rekey.
#[test]
fn a_child_sa_that_is_gone_from_the_kernel_is_reported_and_replaced() {
    let (mut hidden, _, now) = Hidden::established();
    let before = hidden.daemon.children[0].inbound;
    let state = |hidden: &Hidden| {
        let [child] = &hidden.daemon.children[..] else {
            panic!("one CHILD_SA");
        };
        let section = hidden.daemon.child_section(child, now);
        (child.inbound == before, section.text("state").unwrap().to_owned())
    };
    hidden.daemon.replace_lost(now);
    hidden.talk(now);
    assert_eq!((hidden.asked, state(&hidden)), (0, (true, "INSTALLED".to_owned())));
    hidden.flushed.set(true);
    // Asked for once, as long as the peer has time to answer.
    for seconds in [0, 9] {
        hidden.daemon.replace_lost(now + Duration::from_secs(seconds));
        assert_eq!(state(&hidden), (true, "DELETED".to_owned()));
    }
    hidden.flushed.set(false);
    hidden.talk(now);
    assert_eq!((hidden.asked, state(&hidden)), (1, (false, "INSTALLED".to_owned())));
}

/// Each look costs the kernel two questions.
#[test]
fn child_sas_are_looked_for_in_turns() {
    let (mut hidden, _, now) = Hidden::established();
    let last = hidden.daemon.children.remove(0);
    let other = |number| {
        let mut other = last.clone();
        (other.number, other.superseded) = (number, true);
        other
    };
    hidden.daemon.children = (0..200).map(other).chain([last.clone()]).collect();
    hidden.flushed.set(true);
    let turns = (0..9).take_while(|_| {
        hidden.daemon.replace_lost(now);
        hidden.daemon.children[200].lost.is_none()
    });
    assert_eq!(turns.count(), 3);
}
