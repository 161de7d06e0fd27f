//! Tests of one binary that run in a guest kernel: one boot for all of them. The first that asks
//! has them run there, each reads what came of it.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::{Guest, GuestKernel};
use bartizan_host::{Feature, Program, Support};

/// The tests of a binary that need a guest kernel.
#[derive(Debug)]
pub struct GuestTests {
    /// The kernel of the guest.
    pub kernel: GuestKernel,
    /// Beginnings of their names, as libtest prints them.
    pub tests: &'static [&'static str],
    /// Features that it must have: tried in the guest before each test.
    pub needs: &'static [Feature],
    /// A module of the kernel that is not found.
    pub without: Option<&'static str>,
    /// Number of tests that run at once.
    pub at_once: &'static str,
    /// Their outcome: filled in by the first that asks.
    pub results: Results,
}

/// Outcome of the one boot, and of a second where the first was cut short.
pub type Results = OnceLock<Ran>;

/// A guest's report of its tests.
#[derive(Debug, Default)]
pub struct Ran {
    /// Each test that has a verdict: whether it passed, and its output.
    verdicts: BTreeMap<String, (bool, String)>,
    /// The end of everything else, where not all of them have one.
    said: String,
    /// True where the kernel died before libtest had said what came of all, and none had failed.
    is_cut_short: bool,
}

/// Panics where the kernel lacks one of these. A try that took too long on a busy machine proves
/// nothing: the test goes on.
pub(crate) fn assert_has(features: &[Feature]) {
    for feature in features {
        if let Support::Absent(reason) = feature.tried() {
            panic!("this guest lacks {feature:?}: {reason}");
        }
    }
}

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_GUEST_TEST";
/// Time limit of all of them: minutes where nothing else runs, and half an hour at a load of 22 on
/// two processors. Below the limit that `scripts/run-tests full` has for a program.
const LONG: Duration = Duration::from_secs(3500);
/// Lines that are kept of tests that were cut short.
const SHOWN: usize = 150;
/// Before everything that the tests wrote, once more and in one piece: libtest writes a line in
/// pieces as tests end, and of an emulated machine some of them have come out of order.
const AGAIN: &str = "=== all of it again ===";
/// Shows what is written as it is written, and again at the end. Arguments: the mark between both,
/// the program, its own arguments. A thousand associations take two thousand descriptors.
const TWICE: &str = r#"ulimit -n 16384; mark=$1; shift; kept=$(mktemp) || exit; "$@" | tee "$kept"; printf '\n%s\n' "$mark"; cat "$kept"; rm -f "$kept""#;

impl GuestTests {
    /// Returns true if this is the guest, where the calling test is to be done. Elsewhere it has
    /// been done when this returns; panics where it failed.
    pub fn is_here(&self) -> bool {
        if env::var_os(INSIDE).is_some() {
            assert!(Guest::is_here(), "{INSIDE} is set elsewhere than in a guest");
            assert_has(self.needs);
            return true;
        }
        crate::needs_root();
        let name = own_name();
        let listed = self.tests.iter().any(|beginning| name.starts_with(beginning));
        assert!(listed, "{name} is none of the guest's tests {:?}", self.tests);
        let Ran { verdicts, said, .. } = self.results.get_or_init(|| self.run_all());
        match verdicts.get(&name) {
            Some((true, _)) => {}
            Some((false, said)) => panic!("in the guest:\n{said}"),
            None => panic!("{name} has no verdict of the guest:\n{said}"),
        }
        false
    }

    /// Boots once, and once more where the kernel died under tests of which none has failed.
    ///
    /// It does not panic: another test that asks would have all of them run again.
    fn run_all(&self) -> Ran {
        let first = self.boot();
        if !first.is_cut_short {
            return first;
        }
        // Past libtest, which shows what a test prints only where the test fails.
        let _ = writeln!(
            io::stderr(),
            "WARNING: the kernel of a guest died before its tests had ended; they run once more.\n{}",
            first.said
        );
        self.boot()
    }

    fn boot(&self) -> Ran {
        let finished = Guest::ensure(self.kernel, &mut |progress| eprintln!("{progress:?}")).and_then(|mut guest| {
            if let Some(module) = self.without {
                guest = guest.without(module);
            }
            let own = env::current_exe().expect("a path");
            // Those of this run: its arguments select them.
            let listing = Program::new(&own)
                .arguments(env::args_os().skip(1))
                .arguments(["--list", "--format", "terse"]);
            let chosen = chosen(&listing.run(LONG)?.text(), self.tests);
            let guest = guest
                .program("sh")
                .arguments(["-c", TWICE, "twice", AGAIN])
                .argument(own)
                // Standard output of a guest can be a terminal.
                .arguments(["--exact", "--test-threads", self.at_once, "--color=never"])
                .arguments(chosen)
                .environment(INSIDE, "1")
                .environment("RUST_BACKTRACE", "0");
            guest.start()?.finish(LONG)
        });
        match finished {
            Ok(finished) => Ran::read(&finished.text(), &String::from_utf8_lossy(&finished.stderr)),
            Err(error) => Ran {
                said: error.to_string(),
                ..Ran::default()
            },
        }
    }
}

/// The name of the test that calls, as libtest prints it: that of its thread.
pub(crate) fn own_name() -> String {
    let thread = thread::current();
    thread.name().expect("a test's own thread").to_owned()
}

/// Names in libtest's terse list that begin with one of these.
fn chosen(listing: &str, beginnings: &[&str]) -> Vec<String> {
    let names = listing.lines().filter_map(|line| line.strip_suffix(": test"));
    let of_it = names.filter(|name| beginnings.iter().any(|beginning| name.starts_with(beginning)));
    of_it.map(str::to_owned).collect()
}

impl Ran {
    /// Reads both outputs of the guest: libtest's line for each test, the output of failed tests,
    /// and the kernel's messages.
    fn read(text: &str, console: &str) -> Self {
        let all = text.rsplit_once(AGAIN).map_or(text, |(_, again)| again);
        let lines = all
            .lines()
            .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
        let mut verdicts: BTreeMap<_, _> = lines
            // The line of another test may have come in between.
            .filter(|(_, result)| ["ok", "FAILED"].contains(result))
            .map(|(name, result)| (name.to_owned(), (result == "ok", String::new())))
            .collect();
        for section in all.split("\n---- ").skip(1) {
            if let Some((name, said)) = section.split_once(" stdout ----")
                && let Some((_, kept)) = verdicts.get_mut(name)
            {
                said.clone_into(kept);
            }
        }
        if all.contains("\ntest result: ") {
            return Self {
                verdicts,
                ..Self::default()
            };
        }
        // The one fault of the emulator that is known; another panic may be the doing of what is tested.
        let died = console.contains("Kernel panic - not syncing") && console.contains("Oops: int3");
        Self {
            verdicts,
            said: tail(&format!("{text}\n{console}")),
            // A verdict is never asked for again.
            is_cut_short: died && !text.contains("FAILED"),
        }
    }
}

/// Its last lines.
fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Ran, chosen, own_name};

    #[test]
    fn tests_of_this_run_that_need_the_guest_run_there() {
        let listing = "as_root::a::b: test\nas_root::c: test\na: benchmark\ncounted::tests::d: test\n";
        assert_eq!(chosen(listing, &["as_root::"]), ["as_root::a::b", "as_root::c"]);
        assert_eq!(chosen(listing, &["as_root::a::", "e"]), ["as_root::a::b"]);
        assert!(own_name().ends_with("tests_of_this_run_that_need_the_guest_run_there"));
    }

    #[test]
    fn results_of_the_guest_are_read_by_name() {
        let text = "running 2 tests\ntest as_root::a ... ok\ntest as_root::b ... FAILED\n\nfailures:\n\n---- as_root::b stdout ----\n\
                    it went wrong\n\nfailures:\n    as_root::b\n\ntest result: FAILED. 1 passed; 1 failed\n";
        let ran = Ran::read(text, "");
        assert_eq!(ran.verdicts["as_root::a"], (true, String::new()));
        let (passed, said) = &ran.verdicts["as_root::b"];
        assert!(!passed && said.contains("it went wrong"), "{said}");
        assert_eq!((ran.said.as_str(), ran.is_cut_short), ("", false));
    }

    /// A kernel whose code was patched on one emulated processor while another ran what it was before.
    #[test]
    fn tests_run_again_where_the_kernel_died_before_any_had_failed_and_nowhere_else() {
        let died = "[62.4] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n[62.4] Kernel panic - not syncing: Fatal exception in interrupt\n";
        let begun = "running 2 tests\ntest as_root::a ... ok\n";
        let ran = Ran::read(begun, died);
        assert!(ran.is_cut_short && ran.said.contains("Oops: int3"), "{ran:?}");
        for (text, console) in [
            ("running 2 tests\ntest as_root::a ... FAILED\n", died),
            (
                "running 2 tests\ntest as_root::a ... test as_root::b ... FAILED\n",
                died,
            ),
            (
                "running 1 test\ntest as_root::a ... ok\n\ntest result: ok. 1 passed\n",
                died,
            ),
            (begun, "a program of the tests was killed\n"),
            (begun, "BUG: macsec\nKernel panic - not syncing: Fatal exception\n"),
        ] {
            assert!(!Ran::read(text, console).is_cut_short, "{text}");
        }
    }
}
