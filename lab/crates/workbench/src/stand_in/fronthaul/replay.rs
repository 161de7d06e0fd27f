//! Frames of a capture, sent again at their own gaps.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bartizan_wire::CaptureReader;

use super::frame::{self, Plane};
use super::play::{Due, Recogniser, Script, Verdict};
use crate::Error;

/// Largest capture that is read, in bytes.
const LARGEST: u64 = 256 << 20;
/// Frames that may be missing between two that arrive.
const AHEAD: usize = 10_000;
/// EtherType and content of a VLAN tag behind the addresses.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// A capture of a fronthaul, read.
#[derive(Debug, Clone)]
pub struct Recording {
    frames: Arc<Vec<Recorded>>,
    /// Frames of the capture that are none of C-, U- and S-plane, or were cut: they are not sent.
    pub left_out: usize,
}

#[derive(Debug)]
struct Recorded {
    at: Duration,
    plane: Plane,
    bytes: Vec<u8>,
}

/// The frames to send.
pub(crate) struct Source {
    recording: Recording,
    next: usize,
    /// Gaps are divided by this.
    faster: f64,
}

/// The frames to expect.
pub(crate) struct Sink {
    recording: Recording,
    /// The place of the next frame, and how many of each plane there were before it.
    next: usize,
    before: [usize; 3],
    /// Those that were skipped lately.
    skipped: VecDeque<(usize, usize, usize)>,
}

impl Recording {
    /// Reads the frames of C-, U- and S-plane, those inside of an unencrypted VLAN included.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is no capture of Ethernet, or has no frames of these
    /// planes.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |what: String| Error::Configuration(format!("{}: {what}", path.display()));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(Error::file(path))?;
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(Error::file(path))?;
        if bytes.len() as u64 > LARGEST {
            return Err(wrong(format!("larger than {} MB", LARGEST >> 20)));
        }
        let mut reader = CaptureReader::new();
        reader.push(&bytes);
        let (mut frames, mut left_out, mut began) = (Vec::new(), 0, None);
        while let Some(packet) = reader.next_packet().map_err(|error| wrong(error.to_string()))? {
            let whole = packet.data.len() == packet.original_length as usize;
            match frame::plane(packet.data).filter(|_| whole) {
                Some(plane) => {
                    let began = *began.get_or_insert(packet.time.0);
                    frames.push(Recorded {
                        // A capture of several ports may go back a little.
                        at: Duration::from_nanos(packet.time.0.saturating_sub(began)),
                        plane,
                        bytes: packet.data.to_vec(),
                    });
                }
                None => left_out += 1,
            }
        }
        reader.finish().map_err(|error| wrong(error.to_string()))?;
        if frames.is_empty() {
            return Err(wrong(format!("no frame of C-, U- or S-plane among {left_out}")));
        }
        frames.sort_by_key(|frame| frame.at);
        Ok(Self {
            frames: Arc::new(frames),
            left_out,
        })
    }

    /// Lengths of its frames, in order.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.frames.iter().map(|frame| frame.bytes.len())
    }

    /// Both ends; gaps are divided by `faster`.
    pub(crate) fn ends(&self, faster: f64) -> (Source, Sink) {
        let source = Source {
            recording: self.clone(),
            next: 0,
            faster,
        };
        let sink = Sink {
            recording: self.clone(),
            next: 0,
            before: [0; 3],
            skipped: VecDeque::new(),
        };
        (source, sink)
    }
}

impl Script for Source {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        let recorded = self.recording.frames.get(self.next)?;
        self.next += 1;
        buffer.clear();
        buffer.extend(&recorded.bytes);
        Some(Due {
            at: recorded.at.div_f64(self.faster),
            lane: recorded.plane as usize,
        })
    }
}

impl Recogniser for Sink {
    /// By its bytes: the next frame of the recording that has them, else one that was skipped.
    fn recognise(&mut self, bytes: &[u8]) -> Verdict {
        let is = |recorded: &Recorded| same(&recorded.bytes, bytes);
        let frames = &self.recording.frames;
        let ahead = frames.iter().skip(self.next).take(AHEAD);
        if let Some(skipped) = ahead.into_iter().position(is) {
            let frames = Arc::clone(frames);
            for place in self.next..=self.next + skipped {
                let lane = frames[place].plane as usize;
                let number = self.before[lane];
                self.before[lane] += 1;
                if place == self.next + skipped {
                    self.next = place + 1;
                    return Verdict::Whole { lane, number };
                }
                self.skipped.push_back((place, lane, number));
                if self.skipped.len() > AHEAD {
                    self.skipped.pop_front();
                }
            }
        }
        let found = self.skipped.iter().position(|&(place, ..)| is(&frames[place]));
        match found.and_then(|at| self.skipped.remove(at)) {
            Some((_, lane, number)) => Verdict::Late { lane, number },
            None if frame::plane(bytes).is_some() => Verdict::Changed,
            None => Verdict::Foreign,
        }
    }
}

/// True if a frame that arrived is the one that was sent. The kernel removes a VLAN tag.
fn same(sent: &[u8], arrived: &[u8]) -> bool {
    if sent.len() == arrived.len() {
        return sent == arrived;
    }
    let is_tagged = sent.get(ADDRESSES..ADDRESSES + 2) == Some(&[0x81, 0]) && sent.len() == arrived.len() + TAG;
    is_tagged && sent[..ADDRESSES] == arrived[..ADDRESSES] && sent[ADDRESSES + TAG..] == arrived[ADDRESSES..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's MACsec, with and without encryption, and eCPRI past it; some frames are no fronthaul
    /// (see the README next to it).
    fn captured() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/prove/wire/tests/data/macsec.pcap")
    }

    #[test]
    fn frames_are_sent_in_order_at_their_gaps_and_recognised_when_some_are_missing() {
        let recording = Recording::read(&captured()).unwrap();
        assert!(recording.left_out > 0);
        let (mut source, mut sink) = recording.ends(2.0);
        let (mut buffer, mut sent) = (Vec::new(), Vec::new());
        while let Some(due) = source.next(&mut buffer) {
            sent.push((due, buffer.clone()));
        }
        assert_eq!(sent.len(), recording.lengths().count());
        assert!(sent.len() > 30, "{}", sent.len());
        assert!(sent.windows(2).all(|pair| pair[0].0.at <= pair[1].0.at));
        let mut numbers = [0; 3];
        let numbered: Vec<(usize, usize)> = sent
            .iter()
            .map(|(due, _)| {
                numbers[due.lane] += 1;
                (due.lane, numbers[due.lane] - 1)
            })
            .collect();
        // Every third is lost, the fourth overtakes the one behind it.
        for (place, (_, bytes)) in sent.iter().enumerate().filter(|(place, _)| place % 3 != 0) {
            let (lane, number) = numbered[place];
            let verdict = sink.recognise(bytes);
            // Frames that are alike byte for byte are distinguished by their order alone.
            let first = sent.iter().position(|(_, other)| other == bytes) == Some(place);
            if first {
                assert_eq!(verdict, Verdict::Whole { lane, number }, "{place}");
            }
        }
        assert_eq!(sink.recognise(&[0; 60]), Verdict::Foreign);
        let mut changed = sent[1].1.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(sink.recognise(&changed), Verdict::Changed);
    }

    #[test]
    fn a_file_that_is_no_capture_or_has_no_fronthaul_is_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let e2 = here.join("../../experiments/e2-kpm/e2.pcap");
        let error = Recording::read(&e2).unwrap_err().to_string();
        assert!(error.contains("no frame of C-, U- or S-plane"), "{error}");
        assert!(Recording::read(&here.join("Cargo.toml")).is_err());
        assert!(Recording::read(Path::new("/none")).is_err());
    }

    #[test]
    fn a_tag_that_the_kernel_took_off_makes_no_difference() {
        let tagged = [[1; 12].as_slice(), &[0x81, 0, 0, 2, 0xae, 0xfe, 9]].concat();
        let untagged = [[1; 12].as_slice(), &[0xae, 0xfe, 9]].concat();
        assert!(same(&tagged, &untagged) && same(&tagged, &tagged));
        assert!(!same(&untagged, &tagged));
        assert!(!same(&[&tagged[..], &[1]].concat(), &untagged));
    }
}
