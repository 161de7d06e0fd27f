//! Manifest of evidence: its part of its captures.

use bartizan_wire::CaptureError;
use serde::{Deserialize, Serialize};

/// The part of the captures that evidence is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The program, with its version.
    pub program: String,
    /// Number of the part, from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// True if its packets are whole.
    pub whole: bool,
    /// All captures, in order.
    pub files: Vec<Source>,
}

/// One capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name in the report.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// True if it is packed: then it is in one part.
    pub packed: bool,
}

/// Item before the packets of a slice of one capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Index of the capture, from 0.
    pub file: usize,
    /// Bytes of it before the slice.
    pub from: u64,
    /// Bytes up to the end of the slice.
    pub to: u64,
    /// Packets before it.
    pub packets: u64,
    /// SHA-256 of the bytes before it.
    pub sha256: String,
}

/// Item behind them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Packets of the capture up to the end of the slice.
    pub packets: u64,
    /// SHA-256 of all bytes up to the end of the slice.
    pub sha256: String,
    /// Packets that the capturing host dropped, as far as the capture has said so.
    pub dropped: u64,
    /// Place at which the capture is cut or damaged, if that is its last slice.
    pub damage: Option<Damage>,
    /// SHA-256 of the file, if that is its last slice.
    pub file_sha256: Option<String>,
}

/// Place at which a capture is cut or damaged behind a good beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// [`CaptureError::Damaged`].
    Damaged {
        /// Bytes before it.
        offset: u64,
        /// The fault.
        what: String,
    },
    /// [`CaptureError::Cut`].
    Cut {
        /// Beginning of the incomplete record.
        offset: u64,
        /// Bytes in the file.
        end: u64,
    },
}

impl Damage {
    /// The same; none for what is no capture at all.
    pub fn of(error: &CaptureError) -> Option<Self> {
        match error {
            CaptureError::Damaged { offset, what } => Some(Self::Damaged {
                offset: *offset,
                what: what.clone(),
            }),
            CaptureError::Cut { offset, end } => Some(Self::Cut {
                offset: *offset,
                end: *end,
            }),
            _ => None,
        }
    }
}

impl From<Damage> for CaptureError {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::Damaged { offset, what } => Self::Damaged { offset, what },
            Damage::Cut { offset, end } => Self::Cut { offset, end },
        }
    }
}
