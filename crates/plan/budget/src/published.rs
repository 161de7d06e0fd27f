//! The publication that several formulas and figures of the planner are from: Groen et al. 2024.
//!
//! The laboratory compares what it prints with what this crate computes (`bartizan plan published`).

use crate::Source;
use crate::curve::{CurveError, DelayCurve};
use crate::fronthaul::{Mode, least_frame};
use crate::unit::{Bytes, Microseconds};

/// The paper, as sources name it.
pub const PAPER: &str = "Groen et al. 2024";
/// Its title.
pub const TITLE: &str = "Securing O-RAN Open Interfaces";

/// Its authors.
pub const AUTHORS: &str = "Joshua Groen, Salvatore D'Oro, Utku Demir, Leonardo Bonati, Davide Villa, Michele Polese, Tommaso Melodia, Kaushik Chowdhury";

/// Returns the processing delay that MACsec adds, by size: the two values that section 5.1 prints
/// for each mode, and a straight line between.
///
/// "Small packets" is taken as the least Ethernet frame. Figure 11 has the points between; they stand in no text.
pub fn macsec_added(mode: Mode) -> Result<DelayCurve, CurveError> {
    let (small, large) = match mode {
        Mode::Unprotected => (0.0, 0.0),
        Mode::Integrity => (39.0, 153.0),
        Mode::Encryption => (39.0, 218.0),
    };
    let place = match mode {
        Mode::Unprotected => "section 5.1: what MACsec adds, none without it",
        Mode::Integrity => "section 5.1: 39 us added to small packets, 153 us at 9000 bytes, a straight line between",
        Mode::Encryption => "section 5.1: 39 us added to small packets, 218 us at 9000 bytes, a straight line between",
    };
    let points = vec![
        (least_frame(), Microseconds::new(small)?),
        (Bytes::from(9000_u32), Microseconds::new(large)?),
    ];
    DelayCurve::new(points, Source::paper(PAPER, place))
}
