//! `bartizan inspect --part` and `--merge`: parts of captures give the report of the whole in every
//! form, and others are refused.

mod inspect_stage;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output};

use aws_lc_rs::digest::{SHA256, digest};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use serde_json::{Value, json};

use inspect_stage::{data, inspect};

const FORMS: [&[&str]; 5] = [&[], &["--all"], &["--alike"], &["--json"], &["--coverage"]];
const DOCUMENTS: [&str; 3] = ["cbom", "html", "sarif"];
/// Length of the first line of evidence, and of the checksum at its end.
const MAGIC: usize = b"bartizan-evidence/1\n".len();
const DIGEST: usize = 32;

/// A folder with these captures of the tree.
fn folder(captures: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in captures {
        fs::copy(data().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// Writes the evidence of a part of these captures.
fn part(folder: &Path, number: &str, captures: &[&str]) -> String {
    let name = format!("{}.evidence", number.replace('/', "-of-"));
    let arguments = [&["--part", number, "--evidence", &name], captures].concat();
    let output = inspect(folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    name
}

fn parts(folder: &Path, count: u32, captures: &[&str]) -> Vec<String> {
    let number = |number| part(folder, &format!("{number}/{count}"), captures);
    (1..=count).map(number).collect()
}

fn merge(folder: &Path, options: &[&str], parts: &[String]) -> Output {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    inspect(folder, &[options, &["--merge"], &parts].concat())
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A merge of these is refused, with nothing on standard output and these words.
#[track_caller]
fn refused(folder: &Path, parts: &[String], words: &str) {
    let output = merge(folder, &[], parts);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    assert!(said.contains(words) && said.contains("hint"), "{said}");
}

#[test]
fn parts_give_the_report_of_the_whole_in_every_form() {
    let packed = "sbi.pcap.gz";
    let captures = [
        "openssl-3.5.7.pcap",
        "sidecar-hybrid.pcap",
        packed,
        "strongswan-6.1.0.pcap",
    ];
    let folder = folder(&[captures[0], captures[1], captures[3]]);
    let folder = folder.path();
    let sbi = fs::read(data().join("sbi-free5gc-two-registrations.pcap")).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&sbi).unwrap();
    fs::write(folder.join(packed), gzip.finish().unwrap()).unwrap();
    for count in [1, 5] {
        let mut parts = parts(folder, count, &captures);
        parts.reverse();
        for form in FORMS {
            let whole = inspect(folder, &[form, &captures].concat());
            let merged = merge(folder, form, &parts);
            assert!(!whole.stdout.is_empty());
            assert!(merged == whole, "{form:?} of {count}: {}", stderr(&merged));
        }
        for document in DOCUMENTS {
            let option = format!("--{document}");
            inspect(folder, &[&[&option, "whole"], &captures[..]].concat());
            merge(folder, &[&option, "merged"], &parts);
            let [whole, merged] = ["whole", "merged"].map(|name| fs::read(folder.join(name)).unwrap());
            assert!(merged == whole && !whole.is_empty(), "{document} of {count}");
        }
    }
}

#[test]
fn a_capture_that_is_cut_or_damaged_is_reported_as_when_it_is_read() {
    let folder = folder(&["openssl-3.5.7.pcap"]);
    let folder = folder.path();
    let whole = fs::read(folder.join("openssl-3.5.7.pcap")).unwrap();
    fs::write(folder.join("cut.pcap"), &whole[..whole.len() - 7]).unwrap();
    let mut damaged = whole;
    let at = record(&damaged, damaged.len() / 2);
    damaged[at + 8..at + 12].fill(0xff);
    fs::write(folder.join("damaged.pcap"), damaged).unwrap();
    for name in ["cut.pcap", "damaged.pcap"] {
        let parts = parts(folder, 3, &[name]);
        let whole = inspect(folder, &[name]);
        assert_eq!(whole.status.code(), Some(2));
        let merged = merge(folder, &[], &parts);
        assert!(merged == whole, "{name}: {} not {}", stderr(&merged), stderr(&whole));
    }
}

/// Offset of the first record from here on.
fn record(capture: &[u8], from: usize) -> usize {
    let mut at = 24;
    while at < from {
        at += 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    at
}

#[test]
fn parts_that_are_missing_twice_or_of_something_else_are_refused() {
    let captures = ["openssl-3.5.7.pcap"];
    let folder = folder(&["openssl-3.5.7.pcap", "sidecar-hybrid.pcap"]);
    let folder = folder.path();
    let all = parts(folder, 3, &captures);
    let [one, two, three] = [0, 1, 2].map(|part| all[part].clone());
    refused(folder, &[one.clone(), three.clone()], "part 2 is missing");
    refused(folder, std::slice::from_ref(&two), "parts 1, 3 are missing");
    refused(
        folder,
        &[one.clone(), two.clone(), one.clone(), three.clone()],
        "the same part as",
    );
    let other = part(folder, "2/4", &captures);
    refused(folder, &[one.clone(), other, three.clone()], "another number of parts");
    fs::rename(folder.join(&two), folder.join("kept")).unwrap();
    let other = part(folder, "2/3", &["sidecar-hybrid.pcap"]);
    refused(folder, &[one.clone(), other, three.clone()], "of other captures than");
    // Another of the same name and size.
    let path = folder.join(captures[0]);
    let mut capture = fs::read(&path).unwrap();
    let at = record(&capture, 0);
    capture[at + 20] ^= 1;
    fs::write(&path, capture).unwrap();
    let other = part(folder, "2/3", &captures);
    refused(
        folder,
        &[one.clone(), other.clone(), three.clone()],
        "was changed between",
    );
    fs::rename(folder.join("kept"), folder.join(&two)).unwrap();
    assert_eq!(merge(folder, &[], &all).status.code(), Some(1));
}

/// A merge that held all parts open found no descriptor for more than some hundred of them.
#[test]
fn there_may_be_more_parts_than_a_process_may_have_files() {
    let captures = ["sidecar-hybrid.pcap"];
    let folder = folder(&captures);
    let folder = folder.path();
    parts(folder, 40, &captures);
    let bartizan = env!("CARGO_BIN_EXE_bartizan");
    let limited = |arguments: &str| {
        let script = format!("ulimit -n 24 && exec {bartizan} inspect --json {arguments}");
        Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder)
            .output()
            .unwrap()
    };
    let (whole, merged) = (limited(captures[0]), limited("--merge ."));
    assert_eq!(merged.status.code(), whole.status.code(), "{}", stderr(&merged));
    assert!(merged.stdout == whole.stdout);
}

#[test]
fn evidence_that_is_cut_changed_or_none_is_refused() {
    let captures = ["sidecar-hybrid.pcap"];
    let folder = folder(&captures);
    let folder = folder.path();
    let parts = parts(folder, 2, &captures);
    let path = folder.join(&parts[1]);
    let evidence = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        fs::write(&path, bytes).unwrap();
        refused(folder, &parts, words);
    };
    for length in [evidence.len() - 1, evidence.len() / 2, MAGIC + DIGEST, MAGIC] {
        refused(&evidence[..length], "cut or damaged");
    }
    for at in [MAGIC + 20, evidence.len() / 2, evidence.len() - 1] {
        let mut changed = evidence.clone();
        changed[at] ^= 1;
        refused(&changed, "cut or damaged");
    }
    refused(&[&evidence[..], b"more"].concat(), "cut or damaged");
    refused(b"", "no evidence");
    refused(&fs::read(folder.join(captures[0])).unwrap(), "no evidence");
    // A checksum that is right does not make it any other evidence.
    refused(
        &sealed(&evidence, |text| text.truncate(text.len() / 2)),
        "cut or damaged",
    );
    let version = format!("bartizan {}", env!("CARGO_PKG_VERSION"));
    let other = sealed(&evidence, |text| {
        let at = text
            .windows(version.len())
            .position(|window| window == version.as_bytes());
        let last = at.unwrap() + version.len() - 1;
        text[last] = if text[last] == b'9' { b'8' } else { b'9' };
    });
    refused(&other, "and this is bartizan");
}

/// The same evidence with another text in it, and the checksum of that.
fn sealed(evidence: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut text = Vec::new();
    let packed = &evidence[MAGIC..evidence.len() - DIGEST];
    GzDecoder::new(packed).read_to_end(&mut text).unwrap();
    change(&mut text);
    let mut gzip = GzEncoder::new(evidence[..MAGIC].to_vec(), Compression::fast());
    gzip.write_all(&text).unwrap();
    let mut bytes = gzip.finish().unwrap();
    bytes.extend_from_slice(digest(&SHA256, &bytes).as_ref());
    bytes
}

#[test]
fn evidence_is_written_whole_or_not_at_all() {
    let folder = folder(&["sidecar-hybrid.pcap"]);
    let folder = folder.path();
    fs::write(folder.join("text"), "no capture at all").unwrap();
    let kept = "bartizan-evidence/1\nkept";
    fs::write(folder.join("old"), kept).unwrap();
    let files = || fs::read_dir(folder).unwrap().count();
    let before = files();
    for arguments in [
        &["--part", "1/1", "--evidence", "old", "sidecar-hybrid.pcap", "text"][..],
        &["--part", "1/1", "--evidence", "none/new", "sidecar-hybrid.pcap"],
        &["--part", "1/2", "--evidence", "new", "absent.pcap"],
    ] {
        let output = inspect(folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("hint"));
    }
    assert_eq!(files(), before);
    assert_eq!(fs::read_to_string(folder.join("old")).unwrap(), kept);
    // Before, a capture whose name was given by mistake was gone.
    let output = inspect(
        folder,
        &[
            "--part",
            "1/1",
            "--evidence",
            "sidecar-hybrid.pcap",
            "sidecar-hybrid.pcap",
        ],
    );
    assert!(stderr(&output).contains("is another kind of file and is not replaced"));
    // Standard output gets the same bytes.
    let output = inspect(folder, &["--part", "1/1", "sidecar-hybrid.pcap"]);
    let name = part(folder, "1/1", &["sidecar-hybrid.pcap"]);
    assert!(output.stdout == fs::read(folder.join(name)).unwrap());
}

/// Before, a file took their place: root could lose `/dev/null` or `/dev/stdout`, for every program of the host.
#[test]
fn a_device_a_pipe_and_a_link_stay_what_they_are() {
    let folder = folder(&["sidecar-hybrid.pcap"]);
    let folder = folder.path();
    let evidence = inspect(folder, &["--part", "1/1", "sidecar-hybrid.pcap"]).stdout;
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reading = std::thread::spawn(move || fs::read(pipe).unwrap());
    part_to(folder, "pipe");
    assert!(reading.join().unwrap() == evidence);
    fs::write(folder.join("file"), "bartizan-evidence/1\nold").unwrap();
    for (target, link) in [("file", "link"), ("/dev/null", "device")] {
        std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
        part_to(folder, link);
        assert_eq!(fs::read_link(folder.join(link)).unwrap(), Path::new(target));
    }
    assert!(fs::read(folder.join("file")).unwrap() == evidence);
    // Neither can be merged, nor is it waited for.
    for name in ["pipe", "device"] {
        refused(folder, &[name.to_owned()], "it is no file");
    }
}

fn part_to(folder: &Path, out: &str) {
    let output = inspect(folder, &["--part", "1/1", "--evidence", out, "sidecar-hybrid.pcap"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_pod_of_an_indexed_job_has_the_part_of_its_number() {
    let folder = folder(&["sidecar-hybrid.pcap"]);
    let folder = folder.path();
    let of_pod = |index: &str| {
        Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["inspect", "--part", "job/3", "sidecar-hybrid.pcap"])
            .env("JOB_COMPLETION_INDEX", index)
            .current_dir(folder)
            .output()
            .unwrap()
    };
    let second = part(folder, "2/3", &["sidecar-hybrid.pcap"]);
    assert!(of_pod("1").stdout == fs::read(folder.join(second)).unwrap());
    assert_eq!(of_pod("3").status.code(), Some(64));
}

/// The arguments of a Job's container, with these folders for those of its volumes.
fn arguments(job: &Value, folder: &Path) -> Vec<String> {
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["bartizan", "inspect"]));
    let arguments = container["args"].as_array().unwrap().iter();
    let here = |argument: &Value| {
        let mut argument = argument.as_str().unwrap().to_owned();
        for volume in ["/captures", "/parts"] {
            argument = argument.replace(volume, &format!("{}{volume}", folder.display()));
        }
        argument
    };
    arguments.map(here).collect()
}

#[test]
fn the_jobs_for_kubernetes_give_the_report_of_the_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kubernetes/inspect-parts.yaml");
    let text = fs::read_to_string(path).unwrap();
    let jobs = text.split("\n---\n").map(|job| serde_saphyr::from_str(job).unwrap());
    let jobs: Vec<Value> = jobs.collect();
    let [parts, merge] = &jobs[..] else {
        panic!("{} jobs", jobs.len())
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["captures", "parts"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let captures = ["captures/monday.pcap", "captures/tuesday.pcap"];
    for (name, capture) in captures
        .iter()
        .zip(["openssl-3.5.7.pcap", "n2-free5gc-two-registrations.pcap"])
    {
        fs::copy(data().join(capture), folder.join(name)).unwrap();
    }
    let run = |arguments: &[String], index: &str| {
        let expanded = arguments
            .iter()
            .map(|argument| argument.replace("$(JOB_COMPLETION_INDEX)", index));
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        command.arg("inspect").args(expanded).env("JOB_COMPLETION_INDEX", index);
        command.output().unwrap()
    };
    let arguments_of_part = arguments(parts, folder);
    for index in 0..parts["spec"]["completions"].as_u64().unwrap() {
        let output = run(&arguments_of_part, &index.to_string());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let merged = run(&arguments(merge, folder), "");
    let captures = captures.map(|name| folder.join(name).display().to_string());
    let whole = inspect(folder, &["--json", &captures[0], &captures[1]]);
    assert!(merged == whole, "{}", stderr(&merged));
}

#[test]
fn secrets_in_a_capture_are_in_no_evidence() {
    let secrets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/secrets");
    let output = inspect(&secrets, &["--part", "1/1", "tls13.pcapng"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("it holds secrets of TLS"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn standard_input_has_no_parts() {
    let output = inspect(&data(), &["--part", "1/2", "-"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("standard input: it is no file of a known size"), "{said}");
}
