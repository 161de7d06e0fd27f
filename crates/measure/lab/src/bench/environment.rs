//! What a reader must know about where a trial was taken.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_host::{Error, Priority};
use serde::Serialize;

/// The machine and the precedence of the run; the same in every record of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Environment {
    /// Version of Bartizan.
    pub bartizan: String,
    /// Kernel release.
    pub kernel: String,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Processors the run may use, by number.
    pub processors: Vec<usize>,
    /// Whether ours were run before other programs (nice and autogroup -20, as root), or why not.
    pub priority: String,
    /// The autogroup's precedence; absent where the scheduler does not group by session.
    pub autogroup: Option<i32>,
    /// Names and versions of the programs in the run.
    pub programs: Vec<String>,
}

impl Environment {
    /// Raises the priority and looks.
    pub(super) fn enter(programs: Vec<String>) -> Result<(Self, Option<Priority>), Error> {
        let raised = Priority::highest();
        let priority = match &raised {
            Ok(_) => "nice -20".to_owned(),
            Err(error) => format!("not raised: {error}"),
        };
        let facts = bartizan_host::Facts::gather();
        let raised = raised.ok();
        let environment = Self {
            bartizan: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: facts.kernel,
            cpu: facts.cpu,
            processors: bartizan_host::processors()?,
            priority,
            autogroup: raised.as_ref().and_then(Priority::autogroup),
            programs,
        };
        Ok((environment, raised))
    }
}

/// Load average over a minute; absent where the kernel does not tell.
#[must_use]
pub fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg")
        .ok()?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// Microseconds since 1970-01-01T00:00:00Z.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
