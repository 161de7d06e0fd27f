//! Processor time of a program at three sizes.

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// Usage is that of all children: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Exponent of growth that no operation may exceed.
const MOST: f64 = 1.5;

/// Processor seconds of `bartizan` with these arguments, and its exit code. The faster of two runs.
fn seconds(arguments: &[&str], _alone: &MutexGuard<'_, ()>) -> (f64, Option<i32>) {
    let once = || {
        let before = children();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        let status = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        let code = status.expect("bartizan runs").code();
        ((children() - before).as_secs_f64(), code)
    };
    let (first, code) = once();
    (first.min(once().0), code)
}

fn children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage of children");
    [usage.user_time(), usage.system_time()]
        .map(|time| Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).expect("a time")))
        .iter()
        .sum()
}

/// Runs `bartizan` with the arguments of `n`, 4 `n` and 16 `n` objects; a run ends with one of `codes`.
///
/// # Panics
/// If the time grows by more than an exponent of 1.5.
pub(crate) fn grows_with(what: &str, n: usize, codes: &[i32], mut arguments: impl FnMut(usize) -> Vec<String>) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let sizes = [n, 4 * n, 16 * n];
    let times = sizes.map(|size| {
        let given = arguments(size);
        let given: Vec<_> = given.iter().map(String::as_str).collect();
        let (seconds, code) = self::seconds(&given, &alone);
        assert!(
            code.is_some_and(|code| codes.contains(&code)),
            "{what} of {size}: {code:?}"
        );
        seconds
    });
    let exponent = (times[2] / times[1]).ln() / 4_f64.ln();
    println!("{what}: {sizes:?}: {times:.2?} s, exponent {exponent:.2}");
    assert!(
        exponent < MOST,
        "{what}: {sizes:?} take {times:.2?} s: exponent {exponent:.2}"
    );
}
