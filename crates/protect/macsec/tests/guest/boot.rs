//! One boot for every test of this binary: the first that asks has them all run there, each reads what came of it.

use std::collections::BTreeMap;
use std::env;
use std::sync::LazyLock;
use std::time::Duration;

use bartizan_host::{Facts, Feature, Guest, GuestKernel};

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_MACSEC_TEST";
/// All of them take a minute where nothing else runs.
const LONG: Duration = Duration::from_secs(900);

/// What came of a test: whether it passed, and what it wrote.
static RESULTS: LazyLock<BTreeMap<String, (bool, String)>> = LazyLock::new(run_all);

/// Whether this is the guest, where the test of this name is to be done. Elsewhere it has been done when this returns; panics where it failed.
pub(crate) fn is_here(name: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        assert!(Guest::is_here() && Feature::Macsec.tried().present());
        return true;
    }
    assert!(
        Facts::gather().root,
        "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
    );
    let name = format!("as_root::{name}");
    match RESULTS.get(&name) {
        Some((true, _)) => {}
        Some((false, said)) => panic!("in the guest:\n{said}"),
        None => panic!("{name} was not run in the guest"),
    }
    false
}

fn run_all() -> BTreeMap<String, (bool, String)> {
    let guest = Guest::ensure(GuestKernel::UserMode, &mut |progress| eprintln!("{progress:?}"));
    let finished = guest
        .unwrap_or_else(|error| panic!("{error}"))
        .program(env::current_exe().expect("a path"))
        // Standard output of this guest is a terminal.
        .arguments(["as_root::", "--test-threads=1", "--color=never"])
        .environment(INSIDE, "1")
        .environment("RUST_BACKTRACE", "0")
        .start()
        .and_then(|guest| guest.finish(LONG))
        .unwrap_or_else(|error| panic!("{error}"));
    let text = finished.text();
    let results = read(&text);
    assert!(
        !results.is_empty(),
        "{text}{}",
        String::from_utf8_lossy(&finished.stderr)
    );
    results
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

#[test]
fn results_of_the_guest_are_read_by_name() {
    let text = "running 2 tests\ntest as_root::a ... ok\ntest as_root::b ... FAILED\n\nfailures:\n\n---- as_root::b stdout ----\n\
                it went wrong\n\nfailures:\n    as_root::b\n";
    let results = read(text);
    assert_eq!(results["as_root::a"], (true, String::new()));
    let (passed, said) = &results["as_root::b"];
    assert!(!passed && said.contains("it went wrong"), "{said}");
}
