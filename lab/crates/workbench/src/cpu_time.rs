//! Time on a processor.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::Error;

/// Processor time of this thread so far.
pub(crate) fn thread_time() -> Result<Duration, Error> {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.map(Duration::from).map_err(|errno| Error::Broken(errno.into()))
}
