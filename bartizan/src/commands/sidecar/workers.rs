//! `--workers`: how many threads carry requests.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use crate::Failure;

/// More would be a mistake: each has event loops, pools and connections of its own.
const AT_MOST: usize = 256;

/// # Errors
/// The value is neither `auto` nor a number from 1 to [`AT_MOST`].
pub(super) fn parse(workers: &str) -> Result<NonZeroUsize, Failure> {
    // Affinity and the quota of a control group count: a container of half a core gets one worker.
    let processors = available_parallelism().ok();
    if workers == "auto" {
        let most = NonZeroUsize::MIN.saturating_add(AT_MOST - 1);
        return Ok(processors.unwrap_or(NonZeroUsize::MIN).min(most));
    }
    let asked = workers
        .parse::<NonZeroUsize>()
        .ok()
        .filter(|asked| asked.get() <= AT_MOST);
    let Some(asked) = asked else {
        return Err(
            Failure::usage(format!("--workers {workers}: no number from 1 to {AT_MOST}"))
                .hint("write 1, 2 or another number of threads, or auto for as many as the process may use processors"),
        );
    };
    if let Some(processors) = processors
        && asked > processors
    {
        tracing::warn!(
            workers = asked,
            processors,
            hint = "write --workers auto",
            "there are more workers than processors for them: they wait for each other"
        );
    }
    Ok(asked)
}
