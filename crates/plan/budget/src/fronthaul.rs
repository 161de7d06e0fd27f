//! Which pairs of O-DU and O-RU a fronthaul can join (O-RAN.WG4.CUS, annex B).

mod category;

use bartizan_registry::Header;
use serde::Serialize;
use thiserror::Error;

pub use category::{Category, Limit, O_DU, O_RU};

use crate::Source;
use crate::curve::{CurveError, DelayCurve};
use crate::delay::{self, Delay, Link};
use crate::overhead::{IpVersion, OverheadError, Protection};
use crate::unit::{Bytes, Microseconds, UnitError};

bartizan_registry::named! {
    /// Fronthaul protection modes, strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Mode, name {
        /// MACsec that encrypts.
        Encryption = "MACsec, encrypting",
        /// MACsec that authenticates alone.
        Integrity = "MACsec, integrity only",
        /// No MACsec.
        Unprotected = "no MACsec",
    }
}

/// Processing time of a frame by mode, both ends together. Modes without a measurement are absent.
#[derive(Debug, Clone, Serialize)]
pub struct Processing {
    /// With MACsec that encrypts.
    pub encryption: Option<DelayCurve>,
    /// With MACsec that authenticates alone.
    pub integrity: Option<DelayCurve>,
    /// Without MACsec.
    pub unprotected: Option<DelayCurve>,
}

impl Processing {
    /// The curve of a mode.
    pub const fn of(&self, mode: Mode) -> Option<&DelayCurve> {
        match mode {
            Mode::Encryption => self.encryption.as_ref(),
            Mode::Integrity => self.integrity.as_ref(),
            Mode::Unprotected => self.unprotected.as_ref(),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FronthaulError {
    /// A curve does not reach the frame.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// The frame is none.
    #[error(transparent)]
    Overhead(#[from] OverheadError),
    /// A quantity out of bounds.
    #[error(transparent)]
    Unit(#[from] UnitError),
}

/// One-way delay of a frame in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeDelay {
    /// The mode.
    pub mode: Mode,
    /// Bytes of the frame as sent, without check sequence.
    pub sent: Bytes,
    /// Its parts.
    pub delay: Delay,
    /// Origin of the processing delay.
    pub processing_from: Source,
}

/// Which modes fit which pairs.
#[derive(Debug, Clone, Serialize)]
pub struct Feasibility {
    /// Delays of the modes that a curve is known of, strongest first.
    pub modes: Vec<ModeDelay>,
    /// Which limit of a pair was taken.
    pub limit: Limit,
    /// For each O-RU category (row) and O-DU category (column): the limit, and the strongest mode that keeps it.
    pub pairs: Vec<Vec<Pair>>,
}

/// One pair of categories.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// Most microseconds that the transport may take.
    pub limit_us: u16,
    /// The strongest mode that keeps it, where any does.
    pub strongest: Option<Mode>,
}

/// The pairs of categories that a frame of this size (without check sequence) reaches in time, by the strongest protection that does.
///
/// A pair is feasible where queueing, propagation, transmission and processing are within its limit. The limit is of the transport between O-DU and O-RU;
/// both ends' MACsec is counted into it, as the publication does. Jitter is not modelled: a mean that just fits is late for half of the frames.
pub fn feasibility(
    link: &Link,
    frame: Bytes,
    protection: &Protection,
    processing: &Processing,
    limit: Limit,
) -> Result<Feasibility, FronthaulError> {
    let mut modes = Vec::new();
    for mode in Mode::ALL {
        let Some(curve) = processing.of(mode) else { continue };
        let sent = match mode {
            Mode::Unprotected => Protection::none().frame(frame, IpVersion::V4)?,
            // Integrity alone adds the same bytes as encryption (IEEE 802.1AE, clause 9).
            Mode::Encryption | Mode::Integrity => protection.frame(frame, IpVersion::V4)?,
        };
        let delay = delay::of(link, frame, sent.total(), curve.at(frame)?)?;
        modes.push(ModeDelay {
            mode,
            sent: sent.total(),
            delay,
            processing_from: curve.source().clone(),
        });
    }
    let strongest = |limit: u16| {
        let within = |of: &&ModeDelay| of.delay.total().value() <= f64::from(limit);
        modes.iter().find(within).map(|of| of.mode)
    };
    let pairs = O_RU
        .iter()
        .map(|radio| {
            O_DU.iter()
                .map(|distributed| {
                    let limit_us = limit.of(*distributed, *radio);
                    Pair {
                        limit_us,
                        strongest: strongest(limit_us),
                    }
                })
                .collect()
        })
        .collect();
    Ok(Feasibility { modes, limit, pairs })
}

/// The longest fibre, in whole metres, over which a frame is on time: what the limit leaves after all else, at 5 us per kilometre. `None` where all else takes too long already.
pub fn reach_metres(limit: Microseconds, without_fibre: Microseconds) -> Option<u64> {
    let left = limit.value() - without_fibre.value();
    (left >= 0.0).then(|| (left * 1e-6 * delay::IN_FIBRE).floor() as u64)
}

/// A frame of the fronthaul whose size is the largest that Groen et al. 2024 (section 3.2.1) observed.
pub fn observed_frame() -> Bytes {
    Bytes::from(OBSERVED_FRAME)
}

/// Printed in section 3.2.1 of Groen et al. 2024 and in figure 7's text.
const OBSERVED_FRAME: u16 = 7678;

/// The least frame there is, without check sequence.
pub fn least_frame() -> Bytes {
    Bytes::from(Header::ETHERNET_LEAST.bytes)
}

#[cfg(test)]
mod tests;
