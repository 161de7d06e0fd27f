//! Both ends of an IKE_SA, a script of what their owners ask for, and a path that loses, doubles,
//! delays and changes datagrams: in the end both have the same IKE_SA and the same CHILD_SA, or
//! none.
//!
//! Input: steps, each behind its length: what is done, at which end or for how long, and what the
//! path does or what arrives.

use std::sync::OnceLock;
use std::time::Duration;

use bartizan_ike::{Config, Event, IkeSa};

use super::link::{Algorithm, Authority, DELAY, Fate, HYBRID, Link, config};
use super::slices;

/// Steps that are played.
const STEPS: usize = 24;

/// Fate of each datagram in turn: nothing arrives, or a copy after so many times 8 ms; with the
/// highest bit a changed copy before it, with the next another after it.
fn path(fates: &[u8]) -> impl FnMut(usize, &[u8]) -> Fate {
    let mut fates = fates.iter().cycle();
    move |_, datagram| match fates.next() {
        None => vec![(DELAY, datagram.to_vec())],
        Some(0) => Vec::new(),
        Some(&fate) => {
            let delay = Duration::from_millis(u64::from(fate & 0x3f) * 8 + 1);
            let mut copies = vec![(delay, datagram.to_vec())];
            if fate & 0x80 != 0 {
                let mut changed = datagram.to_vec();
                let at = usize::from(fate) * 31 % changed.len();
                changed[at] ^= fate | 1;
                copies.push((delay / 2, changed));
            }
            if fate & 0x40 != 0 {
                copies.push((delay * 2, datagram.to_vec()));
            }
            copies
        }
    }
}

fn configs() -> [Config; 2] {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    let authority = AUTHORITY.get_or_init(|| Authority::new(Algorithm::Ed25519));
    [0, 1].map(|who| config(who, authority, &[HYBRID]))
}

/// Plays the script, and lets the path recover.
fn played(bytes: &[u8]) -> Link {
    let [one, other] = configs();
    let mut link = Link::new(one, other, 1);
    // Changes before anything is encrypted decide what is agreed on, if anything.
    link.run_well(Duration::from_secs(1));
    link.assert_settled();
    let mut fates = Vec::new();
    for step in slices(bytes).take(STEPS) {
        let [what, number, rest @ ..] = step else { continue };
        let (end, now) = (usize::from(number & 1), link.now);
        match (what % 8, link.current(end)) {
            (0, _) => link.run(Duration::from_millis(u64::from(*number) * 10), &mut path(&fates)),
            (1, _) => fates = rest.to_vec(),
            (2, _) => link.deliver(end, rest),
            (3, Some(sa)) => sa.rekey(now),
            (4, Some(sa)) => sa.make_child(now, 0),
            (5, Some(sa)) => {
                if let Some(spi) = sa.sending() {
                    sa.delete_child(now, spi);
                }
            }
            (6, Some(sa)) if *number > 0xf0 => sa.close(now),
            (_, Some(sa)) => {
                if let Some(spi) = sa.sending() {
                    sa.rekey_child(now, spi);
                }
            }
            (_, None) => {}
        }
    }
    link.run(Duration::from_secs(5), &mut path(&fates));
    // The path recovers, and an end that is left learns what the other knows.
    link.run_well(Duration::from_secs(400));
    link
}

pub(super) fn run(bytes: &[u8]) {
    let link = played(bytes);
    let open = [0, 1].map(|end| link.sas(end).filter(|sa| !IkeSa::is_closed(sa)).count());
    if open == [0, 0] {
        return;
    }
    assert_eq!(open, [1, 1], "{:?}", link.events);
    match [0, 1].map(|end| link.installed(end).len()) {
        [0, 0] => assert_eq!(link.open(0).spis(), link.open(1).spis()),
        _ => link.assert_settled(),
    }
}

/// Number of SAs of a script that took the place of others.
pub fn replaced_by_engine(bytes: &[u8]) -> usize {
    let link = played(bytes);
    let made = |event: &&Event| matches!(event, Event::Child(child) if child.replaces.is_some());
    link.events[0].iter().filter(made).count() + link.successors[0].len()
}
