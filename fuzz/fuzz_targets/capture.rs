//! A whole capture, in pieces, to verdicts: nothing in it may panic, and a piece boundary decides nothing.
#![no_main]

use bartizan_fuzz::Everything;
use bartizan_wire::{CaptureReader, Limits, Observer};
use libfuzzer_sys::fuzz_target;

fn count(bytes: &[u8], piece: usize) -> (u64, u64) {
    let mut reader = CaptureReader::new();
    let mut observer = Observer::new(Limits::default());
    let mut everything = Everything::default();
    'file: for piece in bytes.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_packet() {
                Ok(Some(packet)) => observer.observe(&packet, &mut everything),
                Ok(None) => break,
                Err(_) => break 'file,
            }
        }
    }
    observer.finish_into(&mut everything);
    let given = everything.judge();
    (observer.totals().packets, given)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = count(bytes, bytes.len().max(1));
    assert_eq!(whole, count(bytes, 7));
});
