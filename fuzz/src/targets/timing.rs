//! The same packets, timed: what is given is what the observer gives.

use bartizan_wire::link::LinkType;
use bartizan_wire::timing::Timing;
use bartizan_wire::{Limits, Observer};

use super::packets;

pub(super) fn run(bytes: &[u8]) {
    let mut timing = Timing::new(Limits::default());
    let mut observer = Observer::new(Limits::default());
    let (mut timed, mut seen) = (Vec::new(), Vec::new());
    packets(bytes, LinkType::RAW, |packet| {
        timing.packet(packet, |one| timed.push(one.connection));
        observer.packet(packet, |one| seen.push(one));
    });
    timing.finish(|one| timed.push(one.connection));
    observer.finish(|one| seen.push(one));
    assert_eq!(timed, seen);
}
