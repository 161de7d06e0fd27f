//! Runs that come to an early end, and what goes on from there.

use std::fs::{self, OpenOptions};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use crate::stage::{LONG, Stage, lines, numbers, processes_with, stderr, stdout, trials};

/// Milliseconds that a trial takes where a run is to be met before its end: those that are left take seconds together.
const TRIAL: usize = 400;

/// The trials of a run of ten, the runner's own twenty before them.
fn all() -> Vec<u64> {
    (0..30).collect()
}

#[test]
fn a_killed_runner_leaves_nothing_behind_and_its_run_goes_on() {
    let stage = Stage::new(10, TRIAL);
    let mut run = stage.start(&["--seed", "5"]);
    stage.wait_for_records(22);
    let worker = run.worker();
    run.signal(Signal::SIGKILL);
    run.0.wait().unwrap();
    let before = trials(&stage.records_file());
    assert!((22..30).contains(&before.len()), "{}", before.len());
    // The kernel ends the worker; the guard removes what the run had in its temporary folder, and ends.
    let began = Instant::now();
    let scratch = stage.path("tmp");
    while kill(worker, None).is_ok()
        && fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        || fs::read_dir(&scratch).unwrap().next().is_some()
        || !processes_with(&scratch.display().to_string()).is_empty()
    {
        assert!(began.elapsed() < LONG, "something is left");
        thread::sleep(Duration::from_millis(20));
    }
    let output = stage.run(&["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(&format!("30 trials, {} are there", before.len())),
        "{}",
        stderr(&output)
    );
    let file = stage.records_file();
    let after = trials(&file);
    assert_eq!(numbers(&after), all());
    assert_eq!(after[..before.len()], before[..], "what was recorded is as it was");
    assert_eq!(lines(&file, "bartizan-lab-run/1").len(), 2);
    // The remaining trials have the seeds of a run without an interruption.
    let whole = Stage::new(10, 1);
    assert!(whole.run(&["--seed", "5"]).status.success());
    let seeds = |trials: &[serde_json::Value]| trials.iter().map(|trial| trial["seed"].clone()).collect::<Vec<_>>();
    assert_eq!(seeds(&after), seeds(&trials(&whole.records_file())));
}

#[test]
fn a_killed_worker_is_a_failed_trial_and_a_new_one_goes_on() {
    let stage = Stage::new(10, TRIAL);
    let run = stage.start(&[]);
    stage.wait_for_records(22);
    kill(run.worker(), Signal::SIGKILL).unwrap();
    let output = run.end();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let trials = trials(&stage.records_file());
    assert_eq!(numbers(&trials), all());
    let failed: Vec<_> = trials.iter().filter(|trial| trial["outcome"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let error = failed[0]["error"].as_str().unwrap();
    assert!(error.contains("the worker ended (signal: 9 (SIGKILL))"), "{error}");
    assert!(
        stdout(&output).contains("30 of 30 trials recorded, 1 failed"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_worker_that_does_not_answer_is_killed_when_its_time_is_over() {
    let stage = Stage::new(10, TRIAL);
    let text = fs::read_to_string(stage.experiment()).unwrap();
    fs::write(stage.experiment(), text.replace("bound: 60", "bound: 10")).unwrap();
    let run = stage.start(&[]);
    stage.wait_for_records(22);
    let worker = run.worker();
    kill(worker, Signal::SIGSTOP).unwrap();
    let output = run.end();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let trials = trials(&stage.records_file());
    let failed: Vec<_> = trials.iter().filter(|trial| trial["outcome"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["error"], "no result within 10 s");
    assert!(kill(worker, None).is_err(), "the stopped worker is still there");
}

#[test]
fn ctrl_c_ends_after_the_trial_and_says_how_to_go_on() {
    let stage = Stage::new(10, TRIAL);
    let run = stage.start(&[]);
    stage.wait_for_records(21);
    run.signal(Signal::SIGINT);
    let output = run.end();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let file = stage.records_file();
    let recorded = trials(&file).len();
    assert!((21..30).contains(&recorded), "{recorded}");
    assert!(
        said.contains(&format!("error: interrupted after {recorded} of 30 trials")),
        "{said}"
    );
    let shown = file.strip_prefix(stage.path("")).unwrap().display().to_string();
    let resume = format!("bartizan lab run floor --resume={shown}");
    assert!(said.contains(&format!("hint: to go on: {resume}\n")), "{said}");
    let output = stage.run(&[&format!("--resume={shown}")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(numbers(&trials(&file)), all());
    // There is nothing left to do, which is no mistake.
    let output = stage.run(&["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(numbers(&trials(&file)), all());
}

#[test]
fn a_record_cut_in_half_is_put_aside_and_its_trial_done_again() {
    let stage = Stage::new(2, 1);
    assert!(stage.run(&["--seed", "3"]).status.success());
    let file = stage.records_file();
    let text = fs::read_to_string(&file).unwrap();
    OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(text.len() as u64 - 100)
        .unwrap();
    let output = stage.run(&["--resume"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("the last line was cut off; it is kept in results/floor/"),
        "{said}"
    );
    assert_eq!(numbers(&trials(&file)), (0..22).collect::<Vec<u64>>());
    let last = text.lines().last().unwrap();
    let aside = fs::read_to_string(file.with_extension("jsonl.cut")).unwrap();
    assert_eq!(aside.trim_end(), &last[..last.len() - 99]);
    // A line in the middle that is none is named, and stays where it is.
    let broken = fs::read_to_string(&file)
        .unwrap()
        .replacen("\"trial\":3,", "\"trial\":,", 1);
    fs::write(&file, broken).unwrap();
    let output = stage.run(&["--resume"]);
    assert!(
        stderr(&output).contains(".jsonl:5: it is no record: "),
        "{}",
        stderr(&output)
    );
    let mut done = numbers(&trials(&file));
    done.sort_unstable();
    assert_eq!(done, (0..22).collect::<Vec<u64>>());
}

#[test]
fn another_version_of_the_experiment_does_not_go_on_with_the_records_of_this() {
    let stage = Stage::new(2, 1);
    assert!(stage.run(&[]).status.success());
    let text = fs::read_to_string(stage.experiment()).unwrap();
    fs::write(stage.experiment(), text.replace("The floor", "Another floor")).unwrap();
    let output = stage.run(&["--resume"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(
        said.contains("was recorded by another version of experiment floor"),
        "{said}"
    );
    assert!(
        said.contains("hint: trials of two versions cannot be put together"),
        "{said}"
    );
}

#[test]
fn a_full_disk_is_named_and_what_was_recorded_is_kept() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!(
            "SKIPPED: mounting a small file system takes root; a unit test of the file of records covers the rest"
        );
        return;
    }
    let stage = Stage::new(40, 1);
    let small = stage.path("small");
    fs::create_dir(&small).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&small)
        .status();
    assert!(mount.unwrap().success());
    let output = stage.run(&["--out", "small"]);
    let folder = fs::read_dir(small.join("floor"))
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let text = fs::read_to_string(&folder).unwrap();
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let recorded = text
        .lines()
        .filter(|line| line.contains("bartizan-lab-trial/1"))
        .count();
    assert!(recorded > 3 && text.ends_with('\n'), "{recorded}");
    let expected = format!(".jsonl: No space left on device (os error 28); {recorded} of 60 trials are recorded");
    assert!(said.contains(&expected), "{expected}\n{said}");
    assert!(
        said.contains("hint: free some space, then go on with --resume"),
        "{said}"
    );
    assert!(
        said.contains("hint: to go on: bartizan lab run floor --resume=small/floor/"),
        "{said}"
    );
}
