//! The guard as the commands speak of it.

use bartizan_host::Error;
use bartizan_ipsec::guard::{Dropped, Guard, Standing};
use serde::Serialize;

use crate::Failure;

/// What becomes of packets of the links that no SA protects.
#[derive(Serialize)]
pub(super) struct ClearText {
    /// `in-force`, `other` (rules of another state of the file, or some were taken out), `absent` or `unknown`.
    pub(super) guard: &'static str,
    /// What drops them: `nftables`, or `xfrm`, the policies of the kernel's ESP.
    by: Option<&'static str>,
    /// Packets dropped on their way out: by nftables since the guard stands, by XFRM all that any policy has blocked.
    dropped_leaving: Option<u64>,
    /// Packets dropped on their way in.
    dropped_arriving: Option<u64>,
}

impl ClearText {
    /// As the kernel has it now.
    pub(super) fn of(guard: &Guard) -> Result<Self, Failure> {
        let standing = guard.standing().map_err(failed)?;
        let (guard, by, dropped) = match standing {
            Standing::InForce(by, dropped) => ("in-force", Some(by.name()), dropped),
            Standing::Other => ("other", None, Dropped::default()),
            Standing::Absent => ("absent", None, Dropped::default()),
        };
        Ok(Self {
            guard,
            by,
            dropped_leaving: dropped.leaving,
            dropped_arriving: dropped.arriving,
        })
    }

    /// The same, where the kernel does not say.
    pub(super) fn of_or_unknown(guard: &Guard) -> Self {
        Self::of(guard).unwrap_or(Self {
            guard: "unknown",
            by: None,
            dropped_leaving: None,
            dropped_arriving: None,
        })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.guard == "in-force"
    }

    /// In a line.
    pub(super) fn text(&self) -> String {
        let by_xfrm = match self.by {
            Some("xfrm") => " (XFRM policies; routes that found no SA, packets that any of them blocked)",
            _ => "",
        };
        match (self.guard, self.dropped_leaving, self.dropped_arriving) {
            ("in-force", Some(leaving), Some(arriving)) => {
                format!("clear text is dropped: {leaving} packets leaving, {arriving} arriving so far{by_xfrm}")
            }
            ("in-force", ..) => "clear text is dropped (XFRM policies; this kernel does not count)".to_owned(),
            ("other", ..) => {
                "CLEAR TEXT MAY PASS: the guard is not that of this file; `bartizan up` puts it in force".to_owned()
            }
            ("unknown", ..) => "whether clear text passes is not known: neither nftables nor XFRM says".to_owned(),
            _ => "CLEAR TEXT PASSES where no SA is: no guard stands; `bartizan up` puts it in force".to_owned(),
        }
    }
}

/// Why the guard could not be read or changed.
pub(super) fn failed(error: Error) -> Failure {
    let failure = Failure::new(format!("the guard against clear text: {error}"));
    let failure = match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure.hint(
            "the kernel needs nf_tables with inet support and nftables 0.9.8 or later, or to do ESP for charon itself",
        ),
    };
    failure.hint("--no-guard does without: what no SA protects may then leave in clear")
}
