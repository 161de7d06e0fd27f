//! A whole capture, in pieces, to verdicts: nothing in it may panic, and a piece boundary decides nothing.

use bartizan_wire::{CaptureReader, Limits, Observer, Totals};

use super::Everything;

fn read(bytes: &[u8], piece: usize) -> (Totals, u64) {
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
    (observer.totals().clone(), given)
}

pub(super) fn run(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, 7));
}
