//! A link in the report.

use bartizan_ipsec::drive::LinkStatus;
use bartizan_ipsec::drops::Drops;
use bartizan_ipsec::sa::{ChildSa, IkeSa};
use bartizan_ipsec::watch::{Ended, Refused};
use bartizan_ledger::{Authentication, Verdict};
use serde::Serialize;

use crate::commands::ipsec::probing::Probed;

/// An IKE connection.
#[derive(Serialize)]
pub(in crate::commands::ipsec) struct Link {
    pub(super) connection: String,
    pub(super) peer: String,
    pub(super) loaded: bool,
    /// Since when the peer gives no answer, in microseconds since 1970.
    pub(super) no_answer_since_us: Option<u64>,
    /// Last refusal, at this end or the other.
    pub(super) last_refusal: Option<Refused>,
    /// Last end of an SA of the link, other than by a rekey.
    pub(super) last_end: Option<Ended>,
    /// Authentication methods of both ends; known while a watch runs that saw the set-up.
    pub(super) authentication: Option<Authentication>,
    pub(super) ike: Vec<Ike>,
    pub(super) children: Vec<Child>,
}

#[derive(Serialize)]
pub(super) struct Ike {
    #[serde(flatten)]
    pub(super) sa: IkeSa,
    /// The policy's verdict. Absent unless it is established.
    pub(super) verdict: Option<Verdict>,
}

#[derive(Serialize)]
pub(super) struct Child {
    pub(super) name: String,
    pub(super) interface: &'static str,
    /// Established CHILD_SAs; more than one for a moment during a rekey.
    pub(super) sas: Vec<Sa>,
    /// Result of the echo through them; absent without --probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) echo: Option<Probed>,
}

/// A CHILD_SA of a link.
#[derive(Serialize)]
pub(super) struct Sa {
    #[serde(flatten)]
    pub(super) sa: ChildSa,
    /// Packets that arrived in it and that the kernel dropped; absent where charon does ESP itself, or the kernel was not asked.
    pub(super) dropped: Option<Drops>,
    pub(super) verdict: Verdict,
}

impl From<LinkStatus> for Link {
    fn from(status: LinkStatus) -> Self {
        let unasked = |(sa, verdict)| Sa {
            sa,
            dropped: None,
            verdict,
        };
        let children = status.children.into_iter().map(|child| Child {
            name: child.name,
            interface: child.interface,
            sas: child.sas.into_iter().map(unasked).collect(),
            echo: None,
        });
        let ike = status.ike.into_iter();
        Self {
            connection: status.connection,
            peer: status.peer,
            loaded: status.loaded,
            no_answer_since_us: None,
            last_refusal: None,
            last_end: None,
            authentication: None,
            ike: ike.map(|(sa, verdict)| Ike { sa, verdict }).collect(),
            children: children.collect(),
        }
    }
}
