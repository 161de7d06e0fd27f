//! Cost of each primitive and each cipher on this machine, in the library of this binary (AWS-LC).
//!
//! Processor time of one thread, so that waiting for other programs does not count; what they do to
//! caches and clock frequency does. Operations take turns, in an order that is random by a seed, so
//! that a machine that becomes slower on the way does so for all of them.

mod ciphers;
mod primitives;

use std::time::Duration;

use aws_lc_rs::error::Unspecified;
use bartizan_estimators::{Random, Summary, shuffle};
use bartizan_simulation::cost::{CipherCost, Operation, PrimitiveCost, Timed};
use nix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// Sizes of packets that ciphers are measured at, in bytes: from the least of Ethernet to a jumbo frame.
pub const SIZES: [u32; 9] = [64, 128, 256, 512, 1024, 1280, 1500, 4096, 9000];

/// Minimum duration of a sample, reached by repeating the operation: long compared with the two
/// system calls around it.
const SAMPLE: Duration = Duration::from_micros(100);
/// Most operations of a sample.
const TOGETHER: u32 = 4096;

/// Reason why nothing was measured.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// The library refused.
    #[error("{0}: the library failed")]
    Library(String),
    /// The clock of a thread cannot be read.
    #[error("processor time of this thread: {0}")]
    Clock(std::io::Error),
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Subject of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Primitive(&'static str, Operation),
    Cipher(&'static str, u32),
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Self::Primitive(primitive, operation) => format!("{primitive} {}", operation.name()),
            Self::Cipher(cipher, bytes) => format!("{cipher} of {bytes} bytes"),
        }
    }
}

type Work = Box<dyn FnMut() -> Result<(), Unspecified>>;

struct Measured {
    subject: Subject,
    work: Work,
    together: u32,
    samples: Vec<f64>,
}

/// Measures everything with so many samples each; `watch` receives how many rounds are done, and says whether to go on.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(
    samples: u32,
    seed: u64,
    watch: &mut dyn FnMut(u32) -> bool,
) -> Result<(Vec<PrimitiveCost>, Vec<CipherCost>), CalibrationError> {
    let mut all = Vec::new();
    let mut add = |subject: Subject, work: Work| {
        all.push(Measured {
            subject,
            work,
            together: 1,
            samples: Vec::new(),
        });
    };
    primitives::all(&mut add)?;
    ciphers::all(&mut add)?;
    for measured in &mut all {
        measured.warm_up()?;
    }
    let mut random = Random::seeded(seed);
    let mut order: Vec<usize> = (0..all.len()).collect();
    for round in 0..samples.max(1) {
        if !watch(round) {
            return Err(CalibrationError::Interrupted);
        }
        shuffle(&mut random, &mut order);
        for index in &order {
            all[*index].sample()?;
        }
    }
    let (mut primitives, mut ciphers) = (Vec::new(), Vec::new());
    for measured in all {
        let Some(time) = measured.timed() else { continue };
        match measured.subject {
            Subject::Primitive(primitive, operation) => primitives.push(PrimitiveCost {
                primitive: primitive.to_owned(),
                operation,
                time,
            }),
            Subject::Cipher(cipher, bytes) => ciphers.push(CipherCost {
                cipher: cipher.to_owned(),
                bytes,
                time,
            }),
        }
    }
    Ok((primitives, ciphers))
}

impl Measured {
    /// Fills caches and finds how many operations make a sample.
    fn warm_up(&mut self) -> Result<(), CalibrationError> {
        while self.together < TOGETHER && self.once()? < SAMPLE {
            self.together *= 2;
        }
        Ok(())
    }

    fn sample(&mut self) -> Result<(), CalibrationError> {
        let took = self.once()?;
        self.samples.push(took.as_secs_f64() * 1e6 / f64::from(self.together));
        Ok(())
    }

    fn once(&mut self) -> Result<Duration, CalibrationError> {
        let began = thread_time()?;
        for _ in 0..self.together {
            (self.work)().map_err(|_| CalibrationError::Library(self.subject.name()))?;
        }
        Ok(thread_time()?.saturating_sub(began))
    }

    fn timed(&self) -> Option<Timed> {
        let summary = Summary::of(self.samples.iter().copied())?;
        // A nanosecond is what the clock can tell; a hundredth of it is what many operations together can.
        let rounded = |value: f64| (value * 1e5).round() / 1e5;
        Some(Timed {
            n: u32::try_from(summary.n).unwrap_or(u32::MAX),
            together: self.together,
            lower_quartile_us: rounded(summary.lower_quartile),
            median_us: rounded(summary.median),
            upper_quartile_us: rounded(summary.upper_quartile),
        })
    }
}

/// Time this thread has spent on a processor.
fn thread_time() -> Result<Duration, CalibrationError> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map(Duration::from)
        .map_err(|errno| CalibrationError::Clock(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_primitive_of_a_plan_and_every_size_is_measured_and_takes_time() {
        let (primitives, ciphers) = calibrate(3, 1, &mut |_| true).unwrap();
        let has = |name: &str, operation| {
            primitives
                .iter()
                .any(|cost| cost.primitive == name && cost.operation == operation && cost.time.median_us > 0.0)
        };
        for kem in ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"] {
            for operation in [
                Operation::KeyGeneration,
                Operation::Encapsulation,
                Operation::Decapsulation,
            ] {
                assert!(has(kem, operation), "{kem} {operation:?}");
            }
        }
        for agreement in ["X25519", "ECDH P-256", "ECDH P-384"] {
            assert!(
                has(agreement, Operation::KeyGeneration) && has(agreement, Operation::Agreement),
                "{agreement}"
            );
        }
        for signature in [
            "ECDSA P-256",
            "ECDSA P-384",
            "Ed25519",
            "ML-DSA-44",
            "ML-DSA-65",
            "ML-DSA-87",
        ] {
            assert!(
                has(signature, Operation::Signing) && has(signature, Operation::Verification),
                "{signature}"
            );
        }
        assert!(has("RSA-2048", Operation::Verification) && has("SHA-256", Operation::Hashing));
        assert_eq!(ciphers.len(), 3 * SIZES.len());
        assert!(ciphers.iter().all(|cost| cost.time.n == 3 && cost.time.median_us > 0.0));
    }

    #[test]
    fn who_is_asked_to_stop_stops() {
        let stopped = calibrate(100, 1, &mut |_| false).unwrap_err();
        assert!(matches!(stopped, CalibrationError::Interrupted));
    }
}
