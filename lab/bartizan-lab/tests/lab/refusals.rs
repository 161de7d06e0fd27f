//! Refused runs, and their messages.

use std::fs;

use crate::stage::{Stage, stderr};

fn refused(stage: &Stage, arguments: &[&str], expected: &[&str]) {
    let output = stage.lab(arguments).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{arguments:?}\n{said}");
    for expected in expected {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert!(!stage.path("results").exists(), "a refused run has left records");
}

#[test]
fn an_experiment_that_is_not_there_is_refused_with_what_is() {
    let stage = Stage::new(1, 1);
    refused(
        &stage,
        &["run", "flor"],
        &[
            "error: no experiment is called `flor`",
            "hint: did you mean `floor`? there are floor",
        ],
    );
}

#[test]
fn a_malformed_experiment_is_refused_with_file_line_and_hint() {
    let stage = Stage::new(1, 1);
    let text = fs::read_to_string(stage.experiment()).unwrap();
    fs::write(
        stage.experiment(),
        text.replace("metrics: [clock, late", "metrics: [clok, late"),
    )
    .unwrap();
    for command in ["run", "list"] {
        let arguments = if command == "run" {
            vec!["run", "floor"]
        } else {
            vec!["list"]
        };
        refused(
            &stage,
            &arguments,
            &[
                "error: experiments/floor/experiment.yaml:12:15: metric of clock `clok` is not known",
                "hint: did you mean `clock`? there are clock, late, round-trip",
            ],
        );
    }
}

#[test]
fn what_was_asked_for_must_be_there() {
    let stage = Stage::new(1, 1);
    refused(
        &stage,
        &["run", "floor", "--binary", "nothing"],
        &["there is no file nothing"],
    );
    refused(
        &stage,
        &["run", "floor", "--resume"],
        &["no run of floor is in results/floor", "hint: "],
    );
    refused(
        &stage,
        &["run", "floor", "--resume", "--seed", "1"],
        &["cannot be used with"],
    );
    refused(&stage, &["run", "floor", "--target-ca", "x"], &["--target"]);
}

#[test]
fn a_part_that_is_not_there_and_a_target_nobody_takes_leave_no_record() {
    let stage = Stage::new(1, 1);
    refused(
        &stage,
        &["run", "floor", "--part", "emty"],
        &[
            "error: floor has no part `emty`",
            "hint: did you mean `empty`? there are empty",
        ],
    );
    refused(
        &stage,
        &["run", "floor", "--target", "http://127.0.0.1:1"],
        &["error: part empty cannot be pointed at http://127.0.0.1:1"],
    );
    refused(
        &stage,
        &["run", "floor", "--target", "ftp://x"],
        &["neither http://HOST:PORT nor https://HOST:PORT"],
    );
}
