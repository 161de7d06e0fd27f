//! Frames of eCPRI of any size, numbered: what is sent where a size or a rate is the question and not a plane.
//!
//! They have a VLAN tag, as C- and U-plane have. Without one a frame of 4200 bytes had no time of
//! departure through the MACsec of Linux 7.2.7 (one of 3500 bytes had).

use std::time::Duration;

use bartizan_registry::Header;
use bartizan_registry::ethertype::ECPRI;

use super::frame::{ADDRESSES, TAG};
use super::play::{Due, Recogniser, Script, Verdict};

/// eCPRI's generic data transfer (eCPRI 2.0, table 4), revision 1.
const HEADER: [u8; 2] = [0x10, 3];
/// Bytes of the fields after the eCPRI header: channel, sequence number, and our number.
const NUMBERED: usize = 4 + 4 + 8;
/// Bytes of the headers in front of eCPRI's.
const ETHERNET: usize = Header::ETHERNET.bytes as usize + TAG.len();
/// Bytes of the smallest.
pub const LEAST: usize = Header::ETHERNET_LEAST.bytes as usize + TAG.len();
/// Bytes of the largest: 9000 behind the header and the tag.
pub const MOST: usize = 9018;

/// Writes the frame of this number and size, towards the O-RU or back, in place of what `buffer` has.
pub fn write(channel: u8, number: u64, size: usize, back: bool, buffer: &mut Vec<u8>) {
    let size = size.clamp(LEAST, MOST);
    let [du, ru] = ADDRESSES;
    let (to, from) = if back { (du, ru) } else { (ru, du) };
    buffer.clear();
    buffer.extend(to);
    buffer.extend(from);
    buffer.extend(TAG);
    buffer.extend(ECPRI.to_be_bytes());
    buffer.extend(HEADER);
    let payload = size - ETHERNET - usize::from(Header::ECPRI.bytes);
    buffer.extend((payload as u16).to_be_bytes());
    buffer.extend([0, 0, 0, channel]);
    buffer.extend((number as u32).to_be_bytes());
    buffer.extend(number.to_be_bytes());
    // Neither all alike nor of chance: a byte that moved would show.
    let rest = payload - NUMBERED;
    buffer.extend((0..rest).map(|place| (place as u8) ^ (number as u8)));
}

/// Channel and number of a frame that is, byte for byte, one of these as it arrives: the kernel has taken its tag off.
#[must_use]
pub fn read(bytes: &[u8], back: bool, room: &mut Vec<u8>) -> Option<(u8, u64)> {
    let start = usize::from(Header::ETHERNET.bytes) + usize::from(Header::ECPRI.bytes);
    let numbered: &[u8; NUMBERED] = bytes.get(start..)?.first_chunk()?;
    let number = u64::from_be_bytes(*numbered.last_chunk()?);
    write(numbered[3], number, bytes.len() + TAG.len(), back, room);
    untag(room);
    (room == bytes).then_some((numbered[3], number))
}

/// Takes the tag off, as the kernel does.
fn untag(frame: &mut Vec<u8>) {
    let addresses = 2 * ADDRESSES[0].len();
    frame.drain(addresses..addresses + TAG.len());
}

/// Frames of one size at a rate, and of another one every so often: kind 0 and kind 1.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Bytes of a frame of the load.
    pub size: usize,
    /// Between two of them; none between where as many are sent as the kernel takes.
    pub gap: Duration,
    /// Bytes of a probe, and the time between two; none without probes.
    pub probe: Option<(usize, Duration)>,
    /// For how long.
    pub lasting: Duration,
}

/// It, as a script.
#[derive(Debug)]
pub(crate) struct Source {
    load: Load,
    numbers: [u64; 2],
    began: Option<std::time::Instant>,
}

/// Receiver of the load.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    next: [u64; 2],
    room: Vec<u8>,
}

impl Load {
    pub(crate) fn source(self) -> Source {
        Source {
            load: self,
            numbers: [0; 2],
            began: None,
        }
    }
}

impl Script for Source {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        let began = *self.began.get_or_insert_with(std::time::Instant::now);
        // Without a gap the load is always due: it is over when its time is.
        let load = match self.load.gap {
            Duration::ZERO => began.elapsed(),
            gap => gap.mul_f64(self.numbers[0] as f64),
        };
        let probe = self.load.probe.map(|(_, every)| every.mul_f64(self.numbers[1] as f64));
        let lane = usize::from(probe.is_some_and(|probe| probe <= load));
        let at = probe.filter(|_| lane == 1).unwrap_or(load);
        if at >= self.load.lasting {
            return None;
        }
        let size = match self.load.probe {
            Some((size, _)) if lane == 1 => size,
            _ => self.load.size,
        };
        write(lane as u8, self.numbers[lane], size, false, buffer);
        self.numbers[lane] += 1;
        Some(Due { at, lane })
    }

    /// A load is a rate, and its cost is a question; the delay of a probe is one where there are probes.
    fn is_exact(&self) -> bool {
        self.load.probe.is_some()
    }
}

impl Recogniser for Sink {
    fn recognise(&mut self, bytes: &[u8]) -> Verdict {
        let Some((channel, number)) = read(bytes, false, &mut self.room) else {
            let is_ecpri = bytes.get(12..14) == Some(&ECPRI.to_be_bytes()[..]);
            return if is_ecpri { Verdict::Changed } else { Verdict::Foreign };
        };
        let lane = usize::from(channel);
        let (Some(next), Ok(place)) = (self.next.get_mut(lane), usize::try_from(number)) else {
            return Verdict::Changed;
        };
        if number < *next {
            return Verdict::Late { lane, number: place };
        }
        *next = number + 1;
        Verdict::Whole { lane, number: place }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_size_is_read_back_and_a_changed_byte_is_seen(
            channel in 0u8..2, number: u64, size in LEAST..=MOST, back: bool, place: prop::sample::Index,
        ) {
            let (mut frame, mut room) = (Vec::new(), Vec::new());
            write(channel, number, size, back, &mut frame);
            prop_assert_eq!(frame.len(), size);
            untag(&mut frame);
            prop_assert_eq!(read(&frame, back, &mut room), Some((channel, number)));
            prop_assert_eq!(read(&frame, !back, &mut room), None);
            let place = place.index(frame.len());
            frame[place] ^= 1;
            prop_assert_ne!(read(&frame, back, &mut room), Some((channel, number)));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&bytes, false, &mut Vec::new());
            let _ = Sink::default().recognise(&bytes);
        }
    }

    #[test]
    fn probes_go_between_the_frames_of_the_load_and_both_keep_their_pace() {
        let load = Load {
            size: 1000,
            gap: Duration::from_micros(100),
            probe: Some((300, Duration::from_millis(1))),
            lasting: Duration::from_millis(10),
        };
        let (mut source, mut sink, mut buffer) = (load.source(), Sink::default(), Vec::new());
        let (mut lengths, mut before) = ([0; 2], Duration::ZERO);
        while let Some(due) = source.next(&mut buffer) {
            assert!(due.at >= before, "{due:?}");
            before = due.at;
            assert_eq!(buffer.len(), [1000, 300][due.lane]);
            untag(&mut buffer);
            let number = lengths[due.lane];
            assert_eq!(sink.recognise(&buffer), Verdict::Whole { lane: due.lane, number });
            lengths[due.lane] += 1;
        }
        assert_eq!(lengths, [100, 10]);
        assert_eq!(sink.recognise(&buffer), Verdict::Late { lane: 0, number: 99 });
    }

    #[test]
    fn a_load_without_a_gap_ends_with_its_time() {
        let load = Load {
            size: 64,
            gap: Duration::ZERO,
            probe: None,
            lasting: Duration::from_millis(300),
        };
        let (mut source, mut buffer) = (load.source(), Vec::new());
        assert!(std::iter::from_fn(|| source.next(&mut buffer)).count() > 10);
    }
}
