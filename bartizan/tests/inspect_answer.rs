//! The answer before all the rest: links, share of bytes judged, what is wrong and what to do about
//! it, in lines that fit.

#[allow(dead_code, reason = "each test program uses its own part")]
mod follow_stage;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use follow_stage::only_port;
use serde_json::Value;

const CAPTURES: [&str; 5] = [
    "openssl-3.5.7.pcap",
    "strongswan-6.1.0.pcap",
    "sbi-free5gc-two-registrations.pcap",
    "n2-free5gc-two-registrations.pcap",
    "e2-flexric-kpm.pcap",
];

fn inspect(arguments: &[&str], columns: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command.arg("inspect").args(arguments).env_remove("COLUMNS");
    command.envs(columns.map(|columns| ("COLUMNS", columns)));
    command.current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data"));
    command.output().unwrap()
}

fn text(arguments: &[&str], columns: Option<&str>) -> String {
    String::from_utf8(inspect(arguments, columns).stdout).unwrap()
}

fn json(capture: &str) -> Value {
    let report: Value = serde_json::from_slice(&inspect(&["--json", capture], None).stdout).unwrap();
    report["files"][0].clone()
}

/// The cells of a line of comma-separated values, without their quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

#[test]
fn every_line_fits_80_columns_where_nothing_says_how_wide_they_are() {
    for capture in CAPTURES {
        for detail in [&[capture][..], &[capture, "--all"], &[capture, "--alike"]] {
            for (columns, width) in [(None, 80), (Some("60"), 60), (Some("132"), 132)] {
                let text = text(detail, columns);
                let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
                assert!(widest.chars().count() <= width, "{detail:?} {columns:?}: {widest}");
            }
        }
    }
}

#[test]
fn a_table_of_80_columns_reads_as_documented() {
    insta::assert_snapshot!("answer_80", text(&["n2-free5gc-two-registrations.pcap"], None));
}

#[test]
fn the_answer_comes_before_findings_and_these_before_links() {
    for capture in CAPTURES {
        let text = text(&[capture], None);
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{capture}: {what}"));
        assert!(
            at("\nanswer\n") < at("\nfindings, ") && at("\nfindings, ") < at("\nsummary\n"),
            "{text}"
        );
        assert!(at(" judged") < at("  do first  "), "{text}");
    }
}

#[test]
fn each_finding_has_a_severity_and_a_remedy_of_one_line_the_worst_first() {
    for capture in CAPTURES {
        let report = json(capture);
        let mut rank = 0;
        for finding in report["findings"].as_array().unwrap() {
            let remedy = finding["remedy"].as_str().unwrap();
            assert!(
                !remedy.is_empty() && remedy.len() < 70 && !remedy.contains('\n'),
                "{remedy}"
            );
            let severity = ["critical", "high", "medium"];
            let place = severity.iter().position(|name| finding["severity"] == **name).unwrap();
            assert!(place >= rank, "{capture}: {finding}");
            rank = place;
        }
    }
}

#[test]
fn a_finding_names_the_file_the_command_and_who_asks_in_text_and_json_and_sarif() {
    let scratch = tempfile::tempdir().unwrap();
    let sarif = scratch.path().join("findings.sarif");
    let (mut with_change, mut with_command, mut asked) = (0, 0, 0);
    for capture in CAPTURES {
        let output = inspect(&[capture, "--sarif", sarif.to_str().unwrap()], Some("400"));
        let text = String::from_utf8(output.stdout).unwrap();
        let report = json(capture);
        let findings = report["findings"].as_array().unwrap();
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).unwrap()).unwrap();
        let run = &document["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(
            (results.len(), output.status.code()),
            (findings.len(), Some(1)),
            "{capture}"
        );
        let fingerprints = results
            .iter()
            .map(|result| result["partialFingerprints"]["bartizan/v1"].to_string());
        assert_eq!(fingerprints.collect::<BTreeSet<_>>().len(), results.len(), "{capture}");
        for severity in ["critical", "high", "medium", "low"] {
            let upto = |finding: &Value| {
                let order = ["critical", "high", "medium", "low"];
                let place = |name: &str| order.iter().position(|known| *known == name);
                place(finding["severity"].as_str().unwrap()) <= place(severity)
            };
            let quiet = inspect(&[capture, "--fail-on", severity, "-q"], None);
            let code = i32::from(findings.iter().any(upto));
            assert_eq!(
                (quiet.status.code(), quiet.stdout.len()),
                (Some(code), 0),
                "{capture}: {severity}"
            );
        }
        for (finding, result) in findings.iter().zip(results) {
            let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], finding["concern"].as_str().unwrap().replace(' ', "-"));
            let location = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert_eq!((&result["ruleId"], location), (&rule["id"], &Value::from(capture)));
            assert!(
                result["message"]["text"]
                    .as_str()
                    .unwrap()
                    .contains(finding["because"].as_str().unwrap())
            );
            for field in ["severity", "remedy", "changes", "command", "frameworks"] {
                assert_eq!(result["properties"][field], finding[field], "{capture}: {field}");
            }
            for change in finding["changes"].as_array().unwrap() {
                let (file, entry) = (change["file"].as_str().unwrap(), change["entry"].as_str().unwrap());
                assert!(text.contains(&format!("    in {file}: {entry}\n")), "{text}");
                with_change += 1;
            }
            if let Some(command) = finding["command"].as_str() {
                assert!(text.contains(&format!("    command: {command}\n")), "{text}");
                with_command += 1;
            }
            let names: Vec<_> = finding["frameworks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["name"].as_str().unwrap())
                .collect();
            for one in finding["frameworks"].as_array().unwrap() {
                let field = |name: &str| one[name].as_str().unwrap().to_owned();
                let said = format!("{} ({}, {})", field("name"), field("edition"), field("place"));
                assert!(text.contains(&said), "{said}: {text}");
            }
            let names_of = |side: &Value| {
                let names = side.as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
                names.collect::<Vec<_>>().join(", ")
            };
            if let Value::Array(sides) = &finding["meets"] {
                let said = format!(
                    "    this remedy meets {}; not {}\n",
                    names_of(&sides[0]),
                    names_of(&sides[1])
                );
                assert!(text.contains(&said), "{said}: {text}");
            }
            if let Some(clause) = finding["clause"].as_str() {
                assert!(text.contains(&format!("    asked by: {clause}\n")), "{text}");
                assert!(names.is_empty(), "what is in plaintext: {names:?}");
            }
            asked += usize::from(names.contains(&"CNSA 2.0"));
        }
    }
    assert!(
        with_change > 5 && with_command > 5 && asked > 5,
        "{with_change} {with_command} {asked}"
    );
}

#[test]
fn what_is_sent_unencrypted_is_distinguished_from_what_a_quantum_computer_reads_later() {
    let plain = json("n2-free5gc-two-registrations.pcap");
    assert_eq!(plain["answer"]["confidentiality"]["readable_now"], 1);
    assert_eq!(plain["answer"]["confidentiality"]["vulnerable"], 0);
    assert_eq!(plain["findings"][0]["severity"], "critical");
    let classical = json("strongswan-6.1.0.pcap");
    assert_eq!(classical["answer"]["confidentiality"]["readable_now"], 0);
    assert!(classical["answer"]["confidentiality"]["vulnerable"].as_u64() > Some(0));
    assert_eq!(classical["findings"][0]["severity"], "high");
}

#[test]
fn coverage_lists_every_conversation_and_its_bytes_are_those_of_the_capture() {
    for capture in CAPTURES {
        let report = json(capture);
        let table = text(&["--coverage", capture], None);
        let mut lines = table.lines();
        let headings: Vec<&str> = lines.next().unwrap().split(',').collect();
        let place = |name: &str| headings.iter().position(|heading| *heading == name).unwrap();
        let (mut bytes, mut judged, mut conversations) = (0, 0, 0);
        for line in lines {
            let cells = cells(line);
            assert_eq!(cells.len(), headings.len(), "{line}");
            let of: u64 = cells[place("bytes")].parse().unwrap_or_else(|_| panic!("{line}"));
            bytes += of;
            conversations += u64::from(!cells[place("number")].is_empty());
            judged += if cells[place("outcome")] == "judged" { of } else { 0 };
            assert!(!cells[place("because")].is_empty(), "{line}");
        }
        assert_eq!(report["bytes"], bytes, "{capture}");
        assert_eq!(report["answer"]["bytes"]["judged"], judged, "{capture}");
        assert_eq!(report["summary"]["connections"], conversations, "{capture}");
    }
}

/// A capture of one TCP segment for each of these payloads, each of a connection that was there before.
fn midstream(payloads: &[(u16, &[u8])]) -> Vec<u8> {
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        capture.extend(word.to_le_bytes());
    }
    for (port, payload) in payloads {
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0,
        ];
        packet.extend(port.to_be_bytes());
        packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(*payload);
        let length = u16::try_from(packet.len()).unwrap();
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        for word in [1_763_000_000_u32, 0, u32::from(length), u32::from(length)] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    capture
}

#[test]
fn ledgers_are_offered_only_where_one_can_know_and_a_late_capture_says_how_to_see_handshakes() {
    let scratch = tempfile::tempdir().unwrap();
    let written = |name: &str, capture: Vec<u8>| {
        let path = scratch.path().join(name);
        std::fs::write(&path, capture).unwrap();
        text(&[path.to_str().unwrap()], Some("400"))
    };
    // OP_MSG of MongoDB: nothing of ours ever negotiates there.
    let message = [
        40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 0,
    ];
    let database = written("database.pcap", midstream(&[(27017, &message)]));
    assert!(!database.contains("--ledger"), "{database}");
    let record = [
        0x17, 3, 3, 0, 32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
        26, 27, 28, 29, 30, 31, 32,
    ];
    let late = written("late.pcap", midstream(&[(8443, &record)]));
    assert!(
        late.contains("set up before the capture began: restart an end, or its sidecar"),
        "{late}"
    );
    assert!(
        late.contains("remedy: restart an end, or its sidecar, to see handshakes"),
        "{late}"
    );
}

#[test]
fn coverage_of_what_is_followed_is_refused_with_the_reason() {
    let refused = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--coverage", "--follow", "capture.pcap"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--coverage") && said.contains("--follow"), "{said}");
}

#[test]
fn a_folder_of_ledgers_tells_what_its_ledgers_tell() {
    let with = |ledgers: &[&str]| {
        let mut arguments = vec!["inspect", "sidecar-hybrid.pcap", "--all"];
        ledgers
            .iter()
            .for_each(|ledger| arguments.extend(["--ledger", *ledger]));
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/prove/wire/tests/data"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let named = with(&["sidecar-hybrid.consumers.jsonl", "sidecar-hybrid.nrf.jsonl"]);
    assert_eq!(with(&["."]), named);
}

#[test]
fn a_document_never_replaces_a_capture_or_a_deployment_file() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, deployment) = (folder.path().join("a.pcap"), folder.path().join("a.yaml"));
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data");
    std::fs::copy(data.join(CAPTURES[0]), &capture).unwrap();
    std::fs::write(&deployment, "nodes: {}\n").unwrap();
    let before = std::fs::read(&capture).unwrap();
    let run = |command: &str, option: &str, out: &PathBuf, more: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        program.arg(command).args(more).arg(option).arg(out).output().unwrap()
    };
    let [a_capture, a_deployment] = [&capture, &deployment].map(|path| path.to_str().unwrap());
    for option in ["--html", "--sarif", "--oscal", "--cbom"] {
        for out in [&capture, &deployment] {
            let ended = run("inspect", option, out, &[a_capture]);
            assert!(!matches!(ended.status.code(), Some(0 | 1)), "{option}: {ended:?}");
        }
    }
    for option in ["--html", "--sarif"] {
        let ended = run("check", option, &deployment, &[a_deployment, "--interfaces"]);
        assert!(!matches!(ended.status.code(), Some(0 | 1)), "{option}: {ended:?}");
    }
    let page = folder.path().join("page");
    let two = run(
        "inspect",
        "--oscal",
        &page,
        &[a_capture, "--sarif", page.to_str().unwrap()],
    );
    assert_eq!(two.status.code(), Some(64), "{two:?}");
    for _ in 0..2 {
        let ended = run("inspect", "--html", &page, &[a_capture]);
        assert!(page.exists() && matches!(ended.status.code(), Some(0 | 1)), "{ended:?}");
    }
    assert_eq!(std::fs::read(&capture).unwrap(), before);
    assert_eq!(std::fs::read_to_string(&deployment).unwrap(), "nodes: {}\n");
}

/// A limit of the evidence is no note that only a person reads.
#[test]
fn frames_without_their_tags_are_a_finding_in_every_output_and_in_the_exit_code() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/inspect/tests/data");
    let capture = here.join("vlan-two-networks-sll2.pcap");
    let capture = capture.to_str().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let out = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let documents = ["cbom", "sarif", "oscal", "html"];
    let options = documents.map(|kind| [format!("--{kind}"), out(kind)]);
    let options: Vec<&str> = options.iter().flatten().map(String::as_str).collect();
    let output = inspect(&[&["-q", capture][..], &options].concat(), None);
    assert_eq!(output.status.code(), Some(1));
    for kind in documents {
        let document = std::fs::read_to_string(out(kind)).unwrap();
        assert!(document.contains("loses VLAN tags"), "{kind}");
    }
    let cbom: Value = serde_json::from_slice(&std::fs::read(out("cbom")).unwrap()).unwrap();
    assert_eq!(cbom["compositions"][0]["aggregate"], "incomplete");
    for arguments in [
        &[capture][..],
        &["--json", capture],
        &["--fail-on", "critical", capture],
    ] {
        let output = inspect(arguments, Some("400"));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("loses VLAN tags"), "{text}");
    }
}

/// Before, a capture that is cut looked in SARIF, OSCAL and a bill of materials like a whole one, and
/// one that is none was in no document. Two captures with one finding had one fingerprint.
#[test]
fn documents_name_what_was_not_read_and_tell_two_captures_apart() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data");
    let whole = std::fs::read(data.join(CAPTURES[0])).unwrap();
    let (cut, none) = (path("cut.pcap"), path("none.pcap"));
    std::fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    std::fs::write(&none, "no capture").unwrap();
    let documents = ["cbom", "sarif", "oscal", "html"];
    let options = documents.map(|kind| [format!("--{kind}"), path(kind)]);
    let options: Vec<&str> = options.iter().flatten().map(String::as_str).collect();
    let output = inspect(&[&["-q", CAPTURES[0], &cut, &none][..], &options].concat(), None);
    assert_eq!(output.status.code(), Some(2));
    let read = |kind: &str| std::fs::read_to_string(path(kind)).unwrap();
    for kind in documents {
        for name in ["cut.pcap: ", "none.pcap: "] {
            assert!(read(kind).contains(name), "{kind}: {name}");
        }
    }
    let cbom: Value = serde_json::from_str(&read("cbom")).unwrap();
    assert_eq!(cbom["compositions"][0]["aggregate"], "incomplete");
    let sarif: Value = serde_json::from_str(&read("sarif")).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let results = run["results"].as_array().unwrap();
    let fingerprints = results
        .iter()
        .map(|result| result["partialFingerprints"]["bartizan/v1"].to_string());
    assert_eq!(fingerprints.collect::<BTreeSet<_>>().len(), results.len());
    // A page that cannot be written hides no other failure.
    let output = inspect(&["-q", &none, "--html", &cut], None);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("none.pcap: ") && said.contains("is not replaced"),
        "{said}"
    );
}

#[test]
fn a_capture_that_is_given_twice_counts_once() {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy.pcap");
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/prove/wire/tests/data")
        .join(CAPTURES[4]);
    std::fs::copy(from, &copy).unwrap();
    let copy = copy.to_str().unwrap();
    let once = json(CAPTURES[4]);
    for again in [CAPTURES[4], copy] {
        let output = inspect(&["--json", CAPTURES[4], again], None);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["files"].as_array().unwrap().len(), 1);
        assert_eq!(report["files"][0]["links"], once["links"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("it counts once"));
        let timed = inspect(&["--timing", "--csv", CAPTURES[0], CAPTURES[0]], None);
        assert_eq!(timed.stdout, inspect(&["--timing", "--csv", CAPTURES[0]], None).stdout);
    }
}

/// An accepted finding stays in each document, no verdict changes, and the exit code alone leaves it
/// out.
#[test]
fn accepted_findings_are_marked_in_each_document_and_verdicts_stay() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (accepted, sarif, html) = (path("accepted.yaml"), path("found.sarif"), path("page.html"));
    for capture in CAPTURES {
        let plain = json(capture);
        let findings = plain["findings"].as_array().unwrap();
        let write = |findings: &[Value], less: u64| {
            let mut counts = std::collections::BTreeMap::<String, u64>::new();
            for finding in findings {
                let word = |name: &str| finding[name].as_str().unwrap();
                // Two interfaces have two remedies.
                let line = format!("{}: {}", word("concern"), word("because"));
                *counts.entry(line).or_default() += finding["count"].as_u64().unwrap();
            }
            let entries = counts.into_iter().map(|(line, count)| {
                serde_json::json!({
                    "finding": line, "reason": "a reason", "expires": "2099-12-31", "up-to": count - less,
                })
            });
            let entries: Vec<Value> = entries.collect();
            std::fs::write(&accepted, serde_json::json!({ "accepted": entries }).to_string()).unwrap();
        };
        write(findings, 0);
        let with = |more: &[&str]| inspect(&[&["--accept", &accepted, capture], more].concat(), Some("400"));
        let output = with(&["--sarif", &sarif, "--html", &html]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{capture}: {text}");
        let marks = |text: &str| text.matches("accepted until 2099-12-31: a reason").count();
        assert_eq!(marks(&text), findings.len(), "{text}");
        assert_eq!(marks(&std::fs::read_to_string(&html).unwrap()), findings.len());
        let report: Value = serde_json::from_slice(&with(&["--json"]).stdout).unwrap();
        assert_eq!(report["files"][0], plain, "{capture}");
        assert_eq!(report["accepted"].as_array().unwrap().len(), findings.len());
        // The links that an entry without a link has accepted are named.
        for fact in report["accepted"].as_array().unwrap() {
            let links = fact["links"].as_array().unwrap();
            assert!(!links.is_empty() || fact["concern"] == "unproven", "{fact}");
            for link in links.iter().filter(|_| fact["has_further_links"] == false) {
                assert!(text.contains(link.as_str().unwrap()), "{link} in {text}");
            }
        }
        assert_eq!(report["accept_faults"], serde_json::json!([]));
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).unwrap()).unwrap();
        for result in document["runs"][0]["results"].as_array().unwrap() {
            assert_eq!(result["suppressions"][0]["kind"], "external");
        }
        // A finding that is not named, and one more link than an entry accepts.
        write(&findings[1..], 0);
        assert_eq!(with(&["-q"]).status.code(), Some(1), "{capture}");
        write(&findings[..1], 1);
        let more = String::from_utf8(with(&[]).stdout).unwrap();
        assert!(more.contains("and there are more"), "{more}");
    }
}

/// Before, the exit code was that of a clean network: what a file's evidence is limited by was no finding.
#[test]
fn a_run_that_saw_nothing_or_lost_records_does_not_end_clean() {
    let directory = tempfile::tempdir().unwrap();
    let capture = only_port(4401);
    let lost = "{\"v\":1,\"at_us\":1,\"node\":\"amf\",\"event\":\"lost\",\"records\":3}\n";
    fs::write(directory.path().join("amf.ledger"), lost).unwrap();
    fs::write(directory.path().join("nothing"), &capture[..24]).unwrap();
    fs::write(directory.path().join("safe"), &capture).unwrap();
    for (name, more, because) in [
        ("safe", &[][..], None),
        ("safe", &["--ledger", "amf.ledger"], Some("lost by the ledgers")),
        ("nothing", &[], Some("nothing was seen that carries data")),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["inspect", "--follow", "--json", "-"])
            .args(more)
            .current_dir(directory.path())
            .stdin(fs::File::open(directory.path().join(name)).unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(i32::from(because.is_some())), "{said}");
        let found = |line: &str| line.contains("\"event\":\"finding\"") && line.contains(because.unwrap_or_default());
        assert_eq!(said.lines().any(found), because.is_some(), "{said}");
    }
}
