//! IP packets without a link header, one after another: each is behind its length in two bytes. Fragments, UDP, TCP,
//! SCTP, ESP and IKE are reached from here.
#![no_main]

use bartizan_fuzz::{Everything, packets};
use bartizan_wire::link::LinkType;
use bartizan_wire::{Limits, Observer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut observer = Observer::new(Limits::default());
    let mut everything = Everything::default();
    packets(bytes, LinkType::RAW, |packet| observer.observe(packet, &mut everything));
    observer.finish_into(&mut everything);
    everything.judge();
});
