//! IPsec links of a node: `bartizan up`, `down`, `status`, `rekey` and `watch`.

mod counting;
pub(crate) mod down;
pub(crate) mod engine;
pub(crate) mod guarding;
mod keeping;
mod messages;
mod monitor;
pub(crate) mod node;
mod own;
mod probing;
pub(crate) mod rekey;
mod reloading;
mod report;
pub(crate) mod status;
pub(crate) mod up;
mod validity;
pub(crate) mod watch;

use std::time::Duration;

use bartizan_ipsec::vici;

use crate::Failure;
use crate::commands::show;
pub(super) use monitor::start_log;
pub(crate) use node::NodeArgs;

/// Timeout of charon's answer to a question.
const PATIENCE: Duration = Duration::from_secs(10);

/// Timeout of waiting for another command that changes the same charon.
const TURN: Duration = Duration::from_secs(120);

/// Describes a failed request to charon, with a hint.
fn failed(error: &vici::Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        vici::Error::Absent(_) => failure
            .hint("start it (`systemctl start strongswan`), or let `bartizan up` run one of its own: leave `vici` out of the file")
            .hint("give its socket with --vici"),
        vici::Error::Socket { .. } => failure.hint("VICI takes commands from root alone"),
        vici::Error::Stalled { .. } => failure.hint("the IKE engine runs and does not serve its socket: see its log"),
        vici::Error::Died(_) => failure.hint("see its log; `bartizan status` says what is left"),
        vici::Error::Nonsense { .. } => failure.hint("is this the socket of an IKE engine? strongSwan's default is /run/charon.vici"),
        vici::Error::Refused { .. } => failure.hint("the log of the IKE engine says more"),
        vici::Error::Unknown(_) => failure.hint("strongSwan 6.1.0 or later is needed"),
        _ => failure,
    }
}
