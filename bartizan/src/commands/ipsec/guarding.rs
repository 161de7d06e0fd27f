//! The guard as the commands speak of it.

use bartizan_host::Error;
use bartizan_ipsec::guard::{Guard, Standing};
use serde::Serialize;

use crate::Failure;

/// What becomes of packets of the links that no SA protects.
#[derive(Serialize)]
pub(super) struct ClearText {
    /// `in-force`, `other` (rules of another state of the file, or some were taken out), `absent` or `unknown`.
    pub(super) guard: &'static str,
    /// Packets dropped on their way out since it stands.
    dropped_leaving: Option<u64>,
    /// Packets dropped on their way in.
    dropped_arriving: Option<u64>,
}

impl ClearText {
    /// As the kernel has it now.
    pub(super) fn of(guard: &Guard) -> Result<Self, Failure> {
        let standing = guard.standing().map_err(failed)?;
        let (guard, dropped) = match standing {
            Standing::InForce(dropped) => ("in-force", Some(dropped)),
            Standing::Other => ("other", None),
            Standing::Absent => ("absent", None),
        };
        Ok(Self {
            guard,
            dropped_leaving: dropped.map(|dropped| dropped.leaving),
            dropped_arriving: dropped.map(|dropped| dropped.arriving),
        })
    }

    /// The same, where the kernel does not say.
    pub(super) fn of_or_unknown(guard: &Guard) -> Self {
        Self::of(guard).unwrap_or(Self {
            guard: "unknown",
            dropped_leaving: None,
            dropped_arriving: None,
        })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.guard == "in-force"
    }

    /// In a line.
    pub(super) fn text(&self) -> String {
        match (self.guard, self.dropped_leaving, self.dropped_arriving) {
            (_, Some(leaving), Some(arriving)) => {
                format!("clear text is dropped: {leaving} packets leaving, {arriving} arriving so far")
            }
            ("other", ..) => {
                "CLEAR TEXT MAY PASS: the guard is not that of this file; `bartizan up` puts it in force".to_owned()
            }
            ("unknown", ..) => "whether clear text passes is not known: nftables does not say".to_owned(),
            _ => "CLEAR TEXT PASSES where no SA is: no guard stands; `bartizan up` puts it in force".to_owned(),
        }
    }
}

/// Why the guard could not be read or changed.
pub(super) fn failed(error: Error) -> Failure {
    let failure = Failure::new(format!("the guard against clear text: {error}"));
    let failure = match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure.hint("the kernel needs nf_tables with inet support and nftables 0.9.8 or later"),
    };
    failure.hint("--no-guard does without: what no SA protects may then leave in clear")
}
