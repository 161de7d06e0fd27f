//! Streams that do not move: found by looking at regular intervals, since nothing here has a clock.

use super::{Connection, IDLE_FRAMES_AT_MOST};
use crate::connection::stream::Past;
use crate::frame;

/// A stream moves on where its reader takes this much, or all that waits. A reader of a byte now
/// and then does not move.
const LEAST: usize = 16 * 1024;
/// Frames that carry nothing which time allows for, per sweep.
const IDLE_FRAMES_PER_SWEEP: u32 = 256;

/// After how many sweeps what has become of a stream is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweeps {
    /// Sweeps after which a stream whose reader has taken nothing counts as stalled.
    pub stalled: u32,
    /// Sweeps after which a refused rest of a message that has not ended is reset
    /// ([`Connection::refuse_rest`]).
    pub refused: u32,
}

impl<T> Connection<T> {
    /// Returns true if something here changes with time.
    #[must_use]
    pub fn needs_sweeps(&self) -> bool {
        self.idle_frames < IDLE_FRAMES_AT_MOST || self.faults > 0 || self.streams.waiting > 0
    }

    /// To be called at regular intervals. Gives the streams whose readers have not taken what waits
    /// for them in so many sweeps: they are the caller's to reset.
    pub fn sweep(&mut self, enough: Sweeps) -> Vec<u32> {
        self.idle_frames = (self.idle_frames + IDLE_FRAMES_PER_SWEEP).min(IDLE_FRAMES_AT_MOST);
        self.faults = self.faults.saturating_sub(1);
        let (mut stalled, mut unwanted) = (Vec::new(), Vec::new());
        for (id, stream) in self.streams.all() {
            if let Some(refusal) = &mut stream.refusal {
                refusal.still += 1;
                if refusal.still > enough.refused && stream.local_closed {
                    unwanted.push((id, refusal.code));
                }
            }
            let Some(held) = &mut stream.held else { continue };
            if held.moved >= LEAST {
                (held.still, held.moved) = (0, 0);
            } else {
                held.still += 1;
                if held.still > enough.stalled {
                    stalled.push(id);
                }
            }
        }
        for (id, code) in unwanted {
            self.streams.remove(id, Past::Reset);
            frame::put_number(&mut self.out, frame::RST_STREAM, id, code.0);
        }
        stalled
    }

    /// The stream that has waited for its reader for longest.
    pub fn longest_waiting(&mut self) -> Option<u32> {
        let waiting = self.streams.all().filter_map(|(id, stream)| {
            let held = stream.held.as_deref()?;
            Some((held.still, held.size(), id))
        });
        waiting.max().map(|(_, _, id)| id)
    }
}
