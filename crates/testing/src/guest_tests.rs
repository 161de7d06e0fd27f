//! Tests of one binary that run in a guest kernel: one boot for all of them. The first that asks has them run there, each reads what came of it.

use std::collections::BTreeMap;
use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use bartizan_host::{Facts, Feature, Guest, GuestKernel};

/// The tests of a binary that stand in its module `as_root` and need a guest kernel.
#[derive(Debug)]
pub struct GuestTests {
    /// Which kernel.
    pub kernel: GuestKernel,
    /// What it must have: tried in the guest before each test.
    pub needs: &'static [Feature],
    /// How many of them run at once.
    pub at_once: &'static str,
    /// How long all of them may take.
    pub patience: Duration,
    /// What came of each: filled in by the first that asks.
    pub results: Results,
}

/// Of each test whether it passed, and what it wrote.
pub type Results = OnceLock<BTreeMap<String, (bool, String)>>;

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_GUEST_TEST";
/// Before everything that the tests wrote, once more and in one piece: libtest writes a line in pieces as tests end, and of an emulated
/// machine some of them have come out of order.
const AGAIN: &str = "=== all of it again ===";
/// Shows what is written as it is written, and again at the end. Arguments: the mark between both, the program, its own arguments.
const TWICE: &str = r#"mark=$1; shift; kept=$(mktemp) || exit; "$@" | tee "$kept"; printf '\n%s\n' "$mark"; cat "$kept"; rm -f "$kept""#;

impl GuestTests {
    /// Whether this is the guest, where the test of this name is to be done. Elsewhere it has been done when this returns; panics where it failed.
    pub fn is_here(&self, name: &str) -> bool {
        if env::var_os(INSIDE).is_some() {
            assert!(Guest::is_here(), "{INSIDE} is set elsewhere than in a guest");
            for &feature in self.needs {
                assert!(feature.tried().present(), "this guest lacks {feature:?}");
            }
            return true;
        }
        assert!(
            Facts::gather().root,
            "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
        );
        let name = format!("as_root::{name}");
        match self.results.get_or_init(|| self.run_all()).get(&name) {
            Some((true, _)) => {}
            Some((false, said)) => panic!("in the guest:\n{said}"),
            None => panic!("{name} was not run in the guest"),
        }
        false
    }

    fn run_all(&self) -> BTreeMap<String, (bool, String)> {
        let guest = Guest::ensure(self.kernel, &mut |progress| eprintln!("{progress:?}"));
        let threads = format!("--test-threads={}", self.at_once);
        let finished = guest
            .unwrap_or_else(|error| panic!("{error}"))
            .program("sh")
            .arguments(["-c", TWICE, "twice", AGAIN])
            .argument(env::current_exe().expect("a path"))
            // Standard output of a guest can be a terminal.
            .arguments(["as_root::", &threads, "--color=never"])
            .arguments(skipped(env::args()))
            .environment(INSIDE, "1")
            .environment("RUST_BACKTRACE", "0")
            .start()
            .and_then(|guest| guest.finish(self.patience))
            .unwrap_or_else(|error| panic!("{error}"));
        let text = finished.text();
        let results = read(text.rsplit_once(AGAIN).map_or(text.as_str(), |(_, again)| again));
        assert!(
            !results.is_empty(),
            "{text}{}",
            String::from_utf8_lossy(&finished.stderr)
        );
        results
    }
}

/// The `--skip` arguments of this run, which hold in the guest too.
fn skipped(mut arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--skip" {
            kept.extend([argument].into_iter().chain(arguments.next()));
        }
    }
    kept
}

/// What libtest prints: a line for each test, and of those that failed what they wrote.
fn read(text: &str) -> BTreeMap<String, (bool, String)> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let mut results: BTreeMap<_, _> = lines
        .map(|(name, result)| (name.to_owned(), (result == "ok", String::new())))
        .collect();
    for section in text.split("\n---- ").skip(1) {
        if let Some((name, said)) = section.split_once(" stdout ----")
            && let Some((_, kept)) = results.get_mut(name)
        {
            said.clone_into(kept);
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::{read, skipped};

    #[test]
    fn tests_that_this_run_skips_are_skipped_in_the_guest() {
        let given = ["program", "as_root", "--skip", "a", "--color=never", "--skip", "b::c"];
        let kept = skipped(given.iter().map(|argument| (*argument).to_owned()));
        assert_eq!(kept, ["--skip", "a", "--skip", "b::c"]);
    }

    #[test]
    fn results_of_the_guest_are_read_by_name() {
        let text = "running 2 tests\ntest as_root::a ... ok\ntest as_root::b ... FAILED\n\nfailures:\n\n---- as_root::b stdout ----\n\
                    it went wrong\n\nfailures:\n    as_root::b\n";
        let results = read(text);
        assert_eq!(results["as_root::a"], (true, String::new()));
        let (passed, said) = &results["as_root::b"];
        assert!(!passed && said.contains("it went wrong"), "{said}");
    }
}
