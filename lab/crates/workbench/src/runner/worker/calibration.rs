//! A fixed amount of work before each trial: on a virtual machine everything is now and then half
//! as slow again, and what a trial took says nothing without it.

use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::runner::trial::Calibration;

/// Number of repetitions of each kind of work. The median counts, so that a moment without the
/// processor does not.
const SLICES: usize = 5;
/// Rounds of arithmetic in a slice: a third of a millisecond of a processor of today.
const ROUNDS: u64 = 200_000;
/// Bytes that are copied at once, and how often in a slice.
const BLOCK: usize = 256 << 10;
const COPIES: usize = 4;
/// System calls in a slice that do nothing, and that pass a byte there and back: few, since those
/// of User-Mode Linux take 20 us each.
const CALLS: usize = 100;
const PASSES: usize = 25;

/// Buffers and sockets for the work.
pub(super) struct Calibrator {
    from: Vec<u8>,
    to: Vec<u8>,
    near: UnixStream,
    far: UnixStream,
}

impl Calibrator {
    pub(super) fn new() -> io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        Ok(Self {
            from: (0..BLOCK).map(|index| index as u8).collect(),
            to: vec![0; BLOCK],
            near,
            far,
        })
    }

    /// Does the work on the first and on the last of these processors; the thread stays on the last.
    pub(super) fn calibrate(&mut self, processors: &[usize]) -> io::Result<Vec<Calibration>> {
        let mut places: Vec<usize> = processors
            .first()
            .into_iter()
            .chain(processors.last())
            .copied()
            .collect();
        places.dedup();
        places.into_iter().map(|processor| self.on(processor)).collect()
    }

    fn on(&mut self, processor: usize) -> io::Result<Calibration> {
        bartizan_machine::pin_this_thread(&[processor]).map_err(io::Error::other)?;
        let mut taken = [const { Vec::new() }; 3];
        for _ in 0..SLICES {
            taken[0].push(timed(|| {
                arithmetic();
                Ok(())
            })?);
            taken[1].push(timed(|| {
                self.copies();
                Ok(())
            })?);
            taken[2].push(timed(|| self.system_calls())?);
        }
        let [arithmetic, memory, system] = taken.map(middle);
        Ok(Calibration {
            processor,
            arithmetic,
            memory,
            system,
        })
    }

    fn copies(&mut self) {
        for _ in 0..COPIES {
            black_box(&mut self.to).copy_from_slice(black_box(&self.from));
        }
    }

    fn system_calls(&mut self) -> io::Result<()> {
        for _ in 0..CALLS {
            black_box(nix::unistd::getppid());
        }
        let mut byte = [0; 64];
        for _ in 0..PASSES {
            self.near.write_all(&byte)?;
            self.far.read_exact(&mut byte)?;
        }
        Ok(())
    }
}

/// Shifts and exclusive ors in a register (Marsaglia, 2003), each of which waits for the one before.
fn arithmetic() {
    let mut state = black_box(88_172_645_463_325_252_u64);
    for _ in 0..ROUNDS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Microseconds.
fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_nanos() as f64 / 1e3)
}

fn middle(mut taken: Vec<f64>) -> f64 {
    taken.sort_by(f64::total_cmp);
    taken[taken.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_the_first_and_the_last_processor_and_takes_time_there() {
        let processors = bartizan_machine::processors().unwrap();
        let (first, last) = (processors[0], *processors.last().unwrap());
        // On a thread of its own: it is pinned.
        let done = std::thread::spawn(move || {
            let done = Calibrator::new().unwrap().calibrate(&processors).unwrap();
            (done, bartizan_machine::processors().unwrap())
        });
        let (done, stays) = done.join().unwrap();
        let places: Vec<usize> = done.iter().map(|one| one.processor).collect();
        let expected = if first == last { vec![first] } else { vec![first, last] };
        assert_eq!((places, stays), (expected, vec![last]));
        for one in done {
            assert!(one.arithmetic > 0.0 && one.memory > 0.0 && one.system > 0.0, "{one:?}");
        }
    }
}
