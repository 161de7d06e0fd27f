//! A run from its beginning to its end.

use std::fs;

use crate::stage::{Stage, lines, numbers, stderr, stdout, trials};

#[test]
fn a_quick_run_writes_a_record_of_each_trial_and_shows_what_they_say() {
    let stage = Stage::new(50, 1);
    let output = stage.run(&["--quick", "--seed", "7"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for expected in [
        "runner: round-trip, ",
        "empty: late, ",
        "quick: these figures are a look and prove nothing",
        "floor: 7 of 7 trials recorded, 0 failed; seed 7; records: results/floor/",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let file = stage.records_file();
    let runs = lines(&file, "bartizan-lab-run/1");
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (&runs[0]["seed"], &runs[0]["quick"], &runs[0]["trials"]),
        (&7.into(), &true.into(), &7.into())
    );
    let trials = trials(&file);
    assert_eq!(numbers(&trials), [0, 1, 2, 3, 4, 5, 6]);
    for trial in &trials {
        assert_eq!(
            (&trial["quick"], &trial["outcome"]),
            (&true.into(), &"measured".into()),
            "{trial}"
        );
        assert!(!trial["values"]["round-trip"].as_array().unwrap().is_empty(), "{trial}");
        let environment = &trial["environment"];
        assert_eq!(environment["kernel_kind"], "host");
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(environment["kernel"], release.trim());
        // As root it is isolated; without, it says why not.
        let root = nix::unistd::geteuid().is_root();
        assert_eq!(environment["namespace"] == "own", root, "{environment}");
        assert_eq!(environment["priority"] == "nice -20", root, "{environment}");
    }
    let parts: Vec<&str> = trials.iter().map(|trial| trial["part"].as_str().unwrap()).collect();
    assert_eq!(
        parts,
        ["runner", "runner", "runner", "runner", "runner", "empty", "empty"]
    );
}

#[test]
fn a_record_names_what_was_built_the_machine_and_how_fast_it_was_just_before() {
    let stage = Stage::new(2, 1);
    let output = stage.run(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    for trial in trials(&stage.records_file()) {
        let build = &trial["environment"]["build"];
        match build["commit"].as_str() {
            Some(commit) => assert!(
                commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{build}"
            ),
            // A copy without git, which says so.
            None => assert!(build["no_commit"].is_string(), "{build}"),
        }
        assert!(build["features"].is_array(), "{build}");
        for library in ["aws-lc-rs ", "rustls "] {
            let libraries = build["libraries"].as_array().unwrap();
            assert!(
                libraries.iter().any(|one| one.as_str().unwrap().starts_with(library)),
                "{library}: {build}"
            );
        }
        assert!(build["compiler"].as_str().unwrap().starts_with("rustc "), "{build}");
        let calibration = trial["calibration"].as_array().unwrap();
        let processors = trial["environment"]["processors"].as_array().unwrap();
        let mut ends = vec![&processors[0], &processors[processors.len() - 1]];
        ends.dedup();
        let calibrated: Vec<_> = calibration.iter().map(|one| &one["processor"]).collect();
        assert_eq!(calibrated, ends, "{trial}");
        for kind in ["arithmetic", "memory", "system"] {
            assert!(
                calibration.iter().all(|one| one[kind].as_f64().unwrap() > 0.0),
                "{trial}"
            );
        }
        let steal = &trial["steal"];
        assert!(
            steal["after"].as_f64().unwrap() >= steal["before"].as_f64().unwrap(),
            "{trial}"
        );
        // The worker stays where it was calibrated last.
        assert_eq!(
            trial["cores"].as_array().unwrap().as_slice(),
            std::slice::from_ref(ends[ends.len() - 1])
        );
    }
}

#[test]
fn a_combination_with_a_control_is_taken_twice_in_each_repetition_and_its_report_sets_the_two_side_by_side() {
    let stage = Stage::with(
        "id: floor\ntitle: The floor\nquestion: What does the lab take?\ninvalid: []\nparts:\n\
         \x20 - id: empty\n    workload: clock\n    parameters: { readings: 10, sleeps: 1 }\n    controls: [{}]\n\
         \x20   repetitions: 9\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [clock, late]\n",
    );
    let output = stage.run(&["--seed", "3"]);
    // On a machine that others use two of the same may differ, which is a finding.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let all = trials(&stage.records_file());
    assert!(
        all.iter().all(|trial| trial["outcome"] == "measured"),
        "{}",
        stderr(&output)
    );
    let own: Vec<_> = all.iter().filter(|trial| trial["part"] == "empty").collect();
    assert_eq!(own.len(), 18);
    for repetition in 0..9 {
        let round: Vec<_> = own.iter().filter(|trial| trial["repetition"] == repetition).collect();
        let twins = round.iter().filter(|trial| trial["twin"] == true).count();
        assert_eq!((round.len(), twins), (2, 1), "{round:?}");
    }
    // The order of the two is random.
    let first = own
        .iter()
        .filter(|trial| trial["position"] == 0 && trial["twin"] == true)
        .count();
    assert!((1..9).contains(&first), "{first}");
    let output = stage.lab(&["report", "floor", "--format", "json,md"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = fs::read_to_string(stage.path("results/floor/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let part = &report["parts"][0];
    assert_eq!(part["tables"][0]["rows"][0]["statistics"]["trials"], 9);
    let metrics: Vec<&str> = part["controls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["metric"].as_str().unwrap())
        .collect();
    assert_eq!(metrics, ["clock", "late"]);
    assert_eq!(part["controls"][0]["trials"], 9);
    let page = fs::read_to_string(stage.path("results/floor/report.md")).unwrap();
    assert!(
        page.contains("Two of the same, started alike and interleaved"),
        "{page}"
    );
    assert!(
        page.contains("target/release/bartizan lab run floor --seed 3"),
        "{page}"
    );
}

#[test]
fn the_closing_summary_says_what_the_report_of_the_same_records_says() {
    let stage = Stage::new(8, 2);
    let output = stage.run(&["--json"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let output = stage.lab(&["report", "floor", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = fs::read_to_string(stage.path("results/floor/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    for table in report["parts"][0]["tables"].as_array().unwrap() {
        let statistics = &table["rows"][0]["statistics"];
        let rows = said[0]["rows"].as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["part"] == "empty" && row["metric"] == table["metric"])
            .unwrap();
        for name in ["trials", "median", "interval", "dependence", "spread"] {
            assert_eq!(row[name], statistics[name], "{name} of {}", table["metric"]);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trials() {
    let seeds = |seed: &str| {
        let stage = Stage::new(3, 1);
        let output = stage.run(&["--seed", seed]);
        assert!(output.status.success(), "{}", stderr(&output));
        let trials = trials(&stage.records_file());
        trials
            .iter()
            .map(|trial| trial["seed"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let first = seeds("11");
    assert_eq!(first, seeds("11"));
    assert_ne!(first, seeds("12"));
}

#[test]
fn a_summary_is_there_as_json() {
    let stage = Stage::new(2, 1);
    let output = stage.run(&["--json", "--repetitions", "4", "--part", "empty"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said[0]["schema"], "bartizan-lab-summary/2");
    let rows = said[0]["rows"].as_array().unwrap();
    let late = rows
        .iter()
        .find(|row| row["part"] == "empty" && row["metric"] == "late")
        .unwrap();
    assert_eq!((&late["n"], &late["unit"]), (&4.into(), &"us".into()));
}

#[test]
fn experiments_are_listed() {
    let stage = Stage::new(50, 1);
    let output = stage.lab(&["list"]).output().unwrap();
    let said = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        said.contains("floor: The floor") && said.contains("1 experiments in experiments"),
        "{said}"
    );
    let output = stage.lab(&["list", "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["experiments"][0]["parts"][0]["repetitions"], 50);
    // Without a folder, the binary's own experiments are used.
    fs::remove_dir_all(stage.path("experiments")).unwrap();
    let output = stage.lab(&["list"]).output().unwrap();
    let said = stdout(&output);
    assert!(
        said.contains("peers: ") && said.contains("experiments in this binary"),
        "{said}"
    );
    assert!(
        said.contains("sa-setup: What ML-KEM does to the set-up of an IPsec SA on E2 (Perera et al. 2026)\n"),
        "{said}"
    );
}

#[test]
fn a_publication_is_listed_by_its_authors_or_refused_with_place_and_hint() {
    let source = |paper: &str| {
        let text = fs::read_to_string(Stage::new(1, 1).experiment()).unwrap();
        let source = format!("source: {{ paper: {paper}, title: T, where: table 1 }}\ninvalid");
        Stage::with(&text.replace("invalid", &source))
    };
    let output = source("Attema et al. 2025").lab(&["list", "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let entry = &said["experiments"][0];
    assert_eq!(
        (&entry["publication"], &entry["paper"]),
        (&"Attema et al. 2025".into(), &serde_json::Value::Null)
    );
    let output = source("9").lab(&["list"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(
        said.contains("experiments/floor/experiment.yaml:4")
            && said.contains("no publication has the number 9: name authors and year, such as `Faval et al. 2026`"),
        "{said}"
    );
}

#[test]
fn a_part_of_which_nothing_can_be_run_is_a_finding() {
    let stage = Stage::with(
        "id: floor\ntitle: An SA\nquestion: What does a set-up take?\ninvalid: []\nparts:\n\
         \x20 - id: set-up\n    workload: ipsec-set-up\n    factors:\n\
         \x20     - { name: key-exchange, levels: [x25519, mlkem768] }\n\
         \x20   repetitions: 2\n    quick: { repetitions: 1 }\n    bound: 60\n    metrics: [total]\n",
    );
    let mut command = stage.lab(&["run", "floor", "--json"]);
    // No lab root, and so no strongSwan.
    let output = command.env("BARTIZAN_CACHE", stage.path("empty")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(said[0]["not_run"], serde_json::json!(["set-up"]), "{said}");
    assert_eq!(said[0]["left_out"].as_array().map(Vec::len), Some(2), "{said}");
}

#[test]
fn a_lab_root_that_nobody_may_build_is_an_error_with_what_to_do() {
    let stage = Stage::new(1, 1);
    // A file is where the cache should be.
    fs::write(stage.path("cache"), "").unwrap();
    let mut command = stage.lab(&["root", "sid"]);
    let output = command.env("BARTIZAN_CACHE", stage.path("cache")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    let output = stage.lab(&["root", "woody"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
}

#[test]
fn a_proxy_that_is_not_there_is_named_and_the_rest_is_run() {
    let stage = Stage::with(
        "id: floor\ntitle: A pair\nquestion: What does a pair cost?\ninvalid: []\nparts:\n\
         \x20 - id: kept\n    workload: proxies-latency\n    factors:\n\
         \x20     - { name: proxy, levels: [direct, splice, haproxy] }\n\
         \x20     - { name: mode, levels: [clear, post-quantum] }\n\
         \x20   except: [ { proxy: direct, mode: post-quantum }, { proxy: splice, mode: clear }, { proxy: haproxy, mode: clear } ]\n\
         \x20   parameters: { requests: 5 }\n    repetitions: 2\n    quick: { repetitions: 1 }\n    bound: 60\n\
         \x20   metrics: [latency, cpu]\n",
    );
    let mut command = stage.lab(&["run", "floor"]);
    let output = command.env("BARTIZAN_CACHE", stage.path("empty")).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("left out haproxy: there is no lab root"), "{said}");
    assert!(said.contains("hint: as root: bartizan lab root"), "{said}");
    let file = stage.records_file();
    assert_eq!(lines(&file, "bartizan-lab-run/1")[0]["left_out"][0]["what"], "haproxy");
    let trials = trials(&file);
    let of = |proxy: &str| {
        let trials = trials.iter().filter(|trial| trial["levels"]["proxy"] == proxy);
        trials
            .map(|trial| trial["values"]["latency"].as_array().map_or(0, Vec::len))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of("direct"), of("splice"), of("haproxy")),
        (vec![5, 5], vec![5, 5], vec![])
    );
    let spliced = trials
        .iter()
        .find(|trial| trial["levels"]["proxy"] == "splice")
        .unwrap();
    assert!(
        spliced["environment"]["programs"][0]
            .as_str()
            .unwrap()
            .starts_with("bartizan "),
        "{spliced}"
    );
    assert_eq!(spliced["cores"].as_array().unwrap().len(), 1, "{spliced}");
}

#[test]
fn an_experiment_without_controls_becomes_one_of_two_of_the_same_when_it_is_asked_for_and_stays_one_when_it_goes_on() {
    let stage = Stage::with(
        "id: floor\ntitle: The floor\nquestion: What does the lab take?\ninvalid: []\nparts:\n\
         \x20 - id: empty\n    workload: clock\n    parameters: { readings: 10, sleeps: 1 }\n\
         \x20   repetitions: 3\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [clock, late]\n",
    );
    let output = stage.run(&["--seed", "3", "--controls", "all", "--json"]);
    // Three trials say nothing of any difference.
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let controls = summary[0]["controls"].as_array().unwrap();
    let named: Vec<_> = controls
        .iter()
        .map(|one| (one["metric"].as_str().unwrap(), one["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(named, [("clock", "too-few"), ("late", "too-few")]);
    let file = stage.records_file();
    assert_eq!(lines(&file, "bartizan-lab-run/1")[0]["controls"], "all");
    let own = |trials: &[serde_json::Value]| trials.iter().filter(|trial| trial["part"] == "empty").count();
    assert_eq!(own(&trials(&file)), 6);
    // The same plan finds the missing trials.
    let whole = fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = whole.lines().collect();
    fs::write(&file, kept[..kept.len() - 2].join("\n") + "\n").unwrap();
    let output = stage.lab(&["run", "floor", "--resume"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let again = trials(&file);
    assert_eq!(own(&again), 6);
    assert_eq!(again.iter().filter(|trial| trial["twin"] == true).count(), 3);
    let output = stage.lab(&["report", "floor", "--format", "md"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = fs::read_to_string(stage.path("results/floor/report.md")).unwrap();
    assert!(report.contains("twin less combination"), "{report}");
    assert!(report.contains("--controls all"), "{report}");
}
