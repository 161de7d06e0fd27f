//! Processor time and memory of a program at three sizes.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use nix::sys::resource::{Usage, UsageWho, getrusage};

/// Usage is that of all children: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Exponent of growth that no operation may exceed.
const MOST: f64 = 1.2;

/// Runs of each size at most, of which the cheapest counts. Other work of the machine makes a run
/// dearer, and none cheaper: a quadratic operation stays one however often it is run.
const RUNS: usize = 8;

/// Work of a run and of the programs that it started.
#[derive(Debug, Clone, Copy)]
struct Work {
    seconds: f64,
    /// Pages of memory that were touched first.
    pages: f64,
}

impl Work {
    fn of_children() -> Self {
        let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage of children");
        let micros = [usage.user_time(), usage.system_time()].map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
        Self {
            seconds: micros.iter().sum::<i64>() as f64 / 1e6,
            pages: usage.minor_page_faults() as f64,
        }
    }

    const MOST: Self = Self {
        seconds: f64::INFINITY,
        pages: f64::INFINITY,
    };

    fn least(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.min(other.seconds),
            pages: self.pages.min(other.pages),
        }
    }
}

/// Work of a program, and its exit code.
fn work(mut command: Command) -> (Work, Option<i32>) {
    let before = Work::of_children();
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let code = quiet.status().expect("the program runs").code();
    let after = Work::of_children();
    let work = Work {
        seconds: after.seconds - before.seconds,
        pages: after.pages - before.pages,
    };
    (work, code)
}

/// Runs `bartizan` with the arguments of `n`, 4 `n` and 16 `n` objects; a run ends with one of `codes`.
///
/// # Panics
/// As [`grows`].
pub(crate) fn grows_with(what: &str, n: usize, codes: &[i32], mut arguments: impl FnMut(usize) -> Vec<String>) {
    grows(what, n, codes, |size| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        command.args(arguments(size));
        command
    });
}

/// The same of any program.
///
/// # Panics
/// If time or memory grow by more than the exponent that is allowed.
pub(crate) fn grows(what: &str, n: usize, codes: &[i32], mut command: impl FnMut(usize) -> Command) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let sizes = [n, 4 * n, 16 * n];
    let mut least = [Work::MOST; 3];
    let mut exponents = [f64::INFINITY; 2];
    for run in 1..=RUNS {
        for (size, least) in sizes.iter().zip(&mut least) {
            let (work, code) = work(command(*size));
            assert!(
                code.is_some_and(|code| codes.contains(&code)),
                "{what} of {size}: {code:?}"
            );
            *least = least.least(work);
        }
        // The start of the program is in all three: only what is added grows.
        let of = |work: fn(&Work) -> f64| {
            let [first, second, third] = [0, 1, 2].map(|size: usize| work(&least[size]));
            ((third - second) / (second - first)).ln() / 4_f64.ln()
        };
        exponents = [of(|work| work.seconds), of(|work| work.pages)];
        if run > 1 && exponents.iter().all(|exponent| *exponent < MOST) {
            break;
        }
    }
    println!("{what}: {sizes:?}: {least:.2?}, exponents {exponents:.2?}");
    assert!(
        exponents.iter().all(|exponent| *exponent < MOST),
        "{what}: {sizes:?} take {least:.2?}: exponents {exponents:.2?}"
    );
}
