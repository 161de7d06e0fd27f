//! Schedule of the frames: slots and symbols at 30 kHz subcarrier spacing (3GPP TS 38.211, clause
//! 4.3.2), and Sync messages between them.

use std::time::Duration;

use super::frame::{Frame, Kind, Tagging};
use super::play::{Due, Recogniser, Script, Verdict};

/// Half a millisecond.
pub const SLOT: Duration = Duration::from_micros(500);
/// Symbols of a slot with a normal cyclic prefix.
pub const SYMBOLS: u8 = 14;

/// Contents of a slot, the same for every antenna.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// Antennas, each with frames of its own.
    pub antennas: u16,
    /// Symbols of a slot with all PRBs, from the first on.
    pub full: u8,
    /// Symbols with PRB 0 to 11, behind those.
    pub narrow: u8,
    /// Every so many slots one has data: a duty cycle, and how rates are scaled.
    pub every: u64,
    /// Sync messages of a second.
    pub syncs: u32,
    /// Presence of a VLAN tag in C- and U-plane frames.
    pub tagging: Tagging,
}

/// A frame, and when it is due since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// Time since the beginning.
    pub due: Duration,
    /// The frame to send.
    pub frame: Frame,
}

impl Mix {
    /// Returns the mix if it is valid, otherwise a description of the fault.
    ///
    /// # Errors
    /// More symbols than a slot has, or nothing to send.
    pub fn checked(self) -> Result<Self, String> {
        if u32::from(self.full) + u32::from(self.narrow) > u32::from(SYMBOLS) {
            return Err(format!(
                "{} and {} symbols are more than the {SYMBOLS} of a slot",
                self.full, self.narrow
            ));
        }
        if self.every == 0 || self.antennas == 0 {
            return Err("a mix without antennas or slots sends nothing".to_owned());
        }
        // Their sequence numbers have 16 bits, and a trial is to have each once.
        if self.syncs > 1000 {
            return Err("more than 1000 Sync messages of a second".to_owned());
        }
        Ok(self)
    }

    /// Frames of a kind in a slot that has data.
    #[must_use]
    pub fn in_a_slot(&self, kind: Kind) -> u64 {
        let of_antenna = match kind {
            Kind::Control => u8::from(self.full + self.narrow > 0),
            Kind::Full => self.full,
            Kind::Narrow => self.narrow,
            Kind::Sync => 0,
        };
        u64::from(self.antennas) * u64::from(of_antenna)
    }

    /// Rate of C- and U-plane on the wire without MACsec, in Mb/s.
    #[must_use]
    pub fn megabits(&self) -> f64 {
        let bytes = |kind: Kind| self.in_a_slot(kind) as f64 * kind.length(self.tagging) as f64;
        let slot = bytes(Kind::Control) + bytes(Kind::Full) + bytes(Kind::Narrow);
        8.0 * slot / (self.every as f64 * SLOT.as_secs_f64()) / 1e6
    }

    /// Every frame of so long, in the order in which they are due.
    pub fn frames(self, lasting: Duration) -> impl Iterator<Item = Scheduled> {
        let slots = lasting.as_nanos().div_ceil(SLOT.as_nanos()) as u64;
        let mut numbers = [0; Kind::ALL.len()];
        (0..slots)
            .flat_map(move |slot| self.of_slot(slot))
            .map(move |mut scheduled| {
                let number = &mut numbers[scheduled.frame.kind as usize];
                scheduled.frame.number = *number;
                *number += 1;
                scheduled
            })
    }

    /// Numbers are still missing.
    fn of_slot(self, slot: u64) -> impl Iterator<Item = Scheduled> {
        let begins = SLOT * slot as u32;
        let frame = move |kind, symbol: u8, antenna| Scheduled {
            due: begins + SLOT * u32::from(symbol) / u32::from(SYMBOLS),
            frame: Frame {
                kind,
                number: 0,
                slot,
                symbol,
                antenna,
            },
        };
        let with_data = slot.is_multiple_of(self.every) && self.full + self.narrow > 0;
        let antennas = if with_data { self.antennas } else { 0 };
        let control = (0..antennas).map(move |antenna| frame(Kind::Control, 0, antenna));
        let user = (0..self.full + self.narrow).flat_map(move |symbol| {
            let kind = if symbol < self.full { Kind::Full } else { Kind::Narrow };
            (0..antennas).map(move |antenna| frame(kind, symbol, antenna))
        });
        // So many in 2000 slots, evenly.
        let until = |slot: u64| slot * u64::from(self.syncs) / 2000;
        let sync = (until(slot) < until(slot + 1)).then(|| frame(Kind::Sync, 0, 0));
        // As the other planes do: in front of the samples of its slot, behind what announces them.
        control.chain(sync).chain(user)
    }
}

/// The mix as a script; a kind is its lane.
pub(crate) struct Source {
    frames: Box<dyn Iterator<Item = Scheduled> + Send>,
    tagging: Tagging,
}

/// Frames that the sink expects: for each kind, in order.
pub(crate) struct Sink {
    kinds: [Expected; Kind::ALL.len()],
    buffer: Vec<u8>,
}

struct Expected {
    frames: Box<dyn Iterator<Item = Frame> + Send>,
    /// Number of the next, and how many there are.
    next: u64,
    total: u64,
}

impl Mix {
    /// Both ends of so long.
    pub(crate) fn ends(self, lasting: Duration) -> (Source, Sink) {
        let source = Source {
            frames: Box::new(self.frames(lasting)),
            tagging: self.tagging,
        };
        let of = move |kind| {
            let frames = self.frames(lasting).map(|scheduled| scheduled.frame);
            frames.filter(move |frame: &Frame| frame.kind == kind)
        };
        let expected = |kind| Expected {
            frames: Box::new(of(kind)),
            next: 0,
            total: of(kind).count() as u64,
        };
        let sink = Sink {
            kinds: [Kind::Control, Kind::Narrow, Kind::Full, Kind::Sync].map(expected),
            buffer: Vec::new(),
        };
        (source, sink)
    }
}

impl Script for Source {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        let Scheduled { due, frame } = self.frames.next()?;
        frame.write(self.tagging, buffer);
        Some(Due {
            at: due,
            lane: frame.kind as usize,
        })
    }
}

impl Recogniser for Sink {
    fn recognise(&mut self, bytes: &[u8]) -> Verdict {
        let Some((kind, number)) = Frame::claim(bytes) else {
            return Verdict::Foreign;
        };
        let lane = kind as usize;
        let expected = &mut self.kinds[lane];
        if number >= expected.total {
            return Verdict::Changed;
        }
        // A skipped frame is lost, or late.
        let Some(skipped) = number.checked_sub(expected.next) else {
            return Verdict::Late {
                lane,
                number: number as usize,
            };
        };
        let Some(frame) = expected.frames.nth(skipped as usize) else {
            return Verdict::Changed;
        };
        expected.next = number + 1;
        frame.write(Tagging::Untagged, &mut self.buffer);
        match self.buffer == bytes {
            true => Verdict::Whole {
                lane,
                number: number as usize,
            },
            false => Verdict::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: Mix = Mix {
        antennas: 2,
        full: 3,
        narrow: 1,
        every: 4,
        syncs: 16,
        tagging: Tagging::Tagged,
    };

    #[test]
    fn a_second_has_its_slots_and_its_sync_messages_in_order_and_numbered() {
        let all: Vec<Scheduled> = MIX.frames(Duration::from_secs(1)).collect();
        let of = |kind| all.iter().filter(|one| one.frame.kind == kind).collect::<Vec<_>>();
        assert_eq!(of(Kind::Control).len(), 500 * 2);
        assert_eq!((of(Kind::Full).len(), of(Kind::Narrow).len()), (500 * 6, 500 * 2));
        assert_eq!(of(Kind::Sync).len(), 16);
        assert!(all.windows(2).all(|pair| pair[0].due <= pair[1].due));
        for kind in Kind::ALL {
            let numbers: Vec<u64> = of(kind).iter().map(|one| one.frame.number).collect();
            assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        }
        // A slot with data begins with what announces it.
        assert_eq!(all[0].frame.kind, Kind::Control);
        let bits: usize = all
            .iter()
            .filter(|one| one.frame.kind != Kind::Sync)
            .map(|one| 8 * one.frame.kind.length(MIX.tagging))
            .sum();
        assert!((bits as f64 / 1e6 - MIX.megabits()).abs() < 1e-9);
    }

    #[test]
    fn symbols_are_a_fourteenth_of_a_slot_apart() {
        let full = Mix {
            antennas: 1,
            full: 14,
            narrow: 0,
            every: 1,
            syncs: 0,
            ..MIX
        };
        let due: Vec<Duration> = full
            .frames(SLOT)
            .filter(|one| one.frame.kind == Kind::Full)
            .map(|one| one.due)
            .collect();
        assert_eq!(due.len(), 14);
        assert_eq!(due[13], Duration::from_nanos(13 * 500_000 / 14));
        // 4 antennas of it are what 100 MHz take at most: 14 symbols of 7678 bytes in half a millisecond, each.
        assert!((full.megabits() - 1720.8).abs() < 1.0, "{}", full.megabits());
    }

    #[test]
    fn a_mix_that_no_slot_holds_is_refused() {
        assert!(Mix { full: 14, ..MIX }.checked().is_err());
        assert!(Mix { every: 0, ..MIX }.checked().is_err());
        assert!(Mix { antennas: 0, ..MIX }.checked().is_err());
        assert!(Mix { syncs: 5000, ..MIX }.checked().is_err());
        assert_eq!(MIX.checked(), Ok(MIX));
        // Sync messages alone are a mix.
        let sync = Mix {
            full: 0,
            narrow: 0,
            ..MIX
        }
        .checked()
        .unwrap();
        assert!(
            sync.frames(Duration::from_secs(1))
                .all(|one| one.frame.kind == Kind::Sync)
        );
    }
}
