use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use super::*;
use crate::Program;

fn shell(script: &str) -> Program {
    Program::new("sh").arguments(["-c", script])
}

const LONG: Duration = Duration::from_secs(240);

#[test]
fn failed_program_is_reported_with_its_last_lines() {
    let error = shell("echo one >&2; echo two >&2; exit 3").run(LONG).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`sh -c echo one >&2; echo two >&2; exit 3` ended with exit status: 3\n    one\n    two"
    );
}

#[test]
fn both_streams_are_kept_apart_and_copied_to_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let finished = shell("echo out; echo err >&2").log(&log).run(LONG).unwrap();
    assert_eq!(finished.text(), "out\n");
    assert_eq!(finished.stderr, b"err\n");
    let logged = fs::read_to_string(log).unwrap();
    assert!(logged.contains("out\n") && logged.contains("err\n"), "{logged}");
}

#[test]
fn missing_program_is_named_with_its_package() {
    let error = Program::new("no-such-program")
        .package("no-such-package")
        .start()
        .unwrap_err();
    assert!(matches!(error, Error::MissingProgram { .. }), "{error:?}");
    assert_eq!(error.hint().as_deref(), Some("apt-get install no-such-package"));
}

#[test]
fn program_that_never_ends_is_killed_with_what_it_started() {
    let mut process = shell("sleep 1000 & echo started $!; wait").start().unwrap();
    process.wait_for_line("started", LONG).unwrap();
    let grandchild: u32 = process.stdout().trim().rsplit(' ').next().unwrap().parse().unwrap();
    let error = process.finish(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, Error::Late { .. }), "{error:?}");
    wait_until_gone(grandchild);
}

#[test]
fn program_that_ends_takes_with_it_what_it_started() {
    // The grandchild keeps the pipes open and does not listen to SIGTERM.
    let finished = shell("(trap '' TERM; exec sleep 1000) & echo $!").run(LONG).unwrap();
    wait_until_gone(finished.text().trim().parse().unwrap());
}

#[test]
fn dropping_ends_a_program_that_ignores_the_request() {
    let mut process = shell("trap '' TERM; echo ready; while :; do sleep 1; done")
        .start()
        .unwrap();
    process.wait_for_line("ready", LONG).unwrap();
    let id = process.id();
    drop(process);
    wait_until_gone(id);
}

#[test]
fn terminated_program_can_clean_up() {
    let mut process = shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
        .start()
        .unwrap();
    process.wait_for_line("ready", LONG).unwrap();
    assert_eq!(process.terminate(LONG).unwrap().code(), Some(7));
}

/// Its end may be seen before its last words are read.
#[test]
fn tail_of_a_program_that_has_ended_has_its_last_words() {
    for round in 0..200 {
        let mut process = shell("echo last words >&2; exit 1").start().unwrap();
        while process.ended().unwrap().is_none() {
            thread::yield_now();
        }
        assert_eq!(process.stderr(), "last words\n", "round {round}");
        assert_eq!(process.tail(), "last words", "round {round}");
    }
}

#[test]
fn child_outlives_the_thread_that_asked_for_it() {
    let mut process = thread::spawn(|| shell("sleep 1000").start().unwrap()).join().unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(process.ended().unwrap(), None);
    assert_eq!(process.terminate(LONG).unwrap().signal(), Some(libc::SIGTERM));
}

fn wait_until_gone(pid: u32) {
    let begun = Instant::now();
    let runs = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(begun.elapsed() < LONG, "process {pid} is still there");
        thread::sleep(POLL);
    }
}
