//! Answers that no charon of today gives: one too old, one that knows less than it should, one that
//! answers something else or not at all.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Mutex;

use bartizan_host::Finished;
use bartizan_ipsec::vici::{Frames, Packet, Section, framed};

use super::stderr;
use crate::stage::*;

/// Response to a command.
type Answer = fn(&str) -> Option<Packet>;

/// Runs `bartizan COMMAND` against a socket that answers so; its exit code, what it said, and the commands that came.
fn reported(stage: &Stage, command: &str, more: &[&str], answer: Answer) -> (Option<i32>, String, Vec<String>) {
    let (finished, asked) = run_against(stage, command, more, answer, None);
    (finished.status.code(), stderr(&finished), asked)
}

/// The same, with a row of `list-sas`; how it ended, and the commands that came.
fn run_against(
    stage: &Stage,
    command: &str,
    more: &[&str],
    answer: Answer,
    row: Option<&Section>,
) -> (Finished, Vec<String>) {
    let directory = stage.charon("cu");
    std::fs::create_dir_all(&directory).expect("a directory");
    let socket = directory.join("charon.vici");
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).expect("a socket");
    let asked = Mutex::new(Vec::new());
    let finished = std::thread::scope(|scope| {
        let asked = &asked;
        let (done, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            scope.spawn(move || {
                // Ends with the last connection, which the end of the command below makes.
                for stream in listener.incoming() {
                    let stream = stream.expect("a client");
                    if ended.try_recv().is_ok() {
                        return;
                    }
                    scope.spawn(move || serve(stream, asked, answer, row));
                }
            });
        });
        let vici = ["--vici", socket.to_str().expect("UTF-8")];
        let program = stage.bartizan_at(command, "cu", &[&vici, more].concat());
        let finished = program.start().expect("it starts").finish(PATIENCE).expect("it ends");
        done.send(()).expect("it listens");
        drop(UnixStream::connect(&socket).expect("it listens"));
        finished
    });
    (finished, asked.into_inner().expect("not poisoned"))
}

fn serve(mut stream: UnixStream, asked: &Mutex<Vec<String>>, answer: Answer, row: Option<&Section>) {
    let (mut frames, mut buffer) = (Frames::default(), [0; 4096]);
    loop {
        while let Some(packet) = frames.next_packet().expect("a packet") {
            let answer = match packet {
                Packet::Request { command, .. } => {
                    let answer = answer(&command);
                    if let Some(row) = row.filter(|_| command == "list-sas") {
                        let event = Packet::Event {
                            name: "list-sa".to_owned(),
                            message: row.clone(),
                        };
                        stream.write_all(&framed(&event).expect("it fits")).expect("a client");
                    }
                    asked.lock().expect("not poisoned").push(command);
                    answer
                }
                Packet::Register(_) | Packet::Unregister(_) => Some(Packet::Confirm),
                other => panic!("{other:?}"),
            };
            if let Some(packet) = answer
                && stream.write_all(&framed(&packet).expect("it fits")).is_err()
            {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => frames.push(&buffer[..read]),
        }
    }
}

fn version(number: &str) -> Option<Packet> {
    let said = Section::new().with("daemon", "charon-systemd").with("version", number);
    Some(Packet::Response(said))
}

/// A release with everything that the policy asks for, but for what its number says.
fn able(number: &str, command: &str) -> Option<Packet> {
    let with = |names: &[&str]| {
        names
            .iter()
            .fold(Section::new(), |all, name| all.with(*name, "openssl"))
    };
    match command {
        "version" => version(number),
        "stats" => Some(Packet::Response(
            Section::new().with_list("plugins", ["openssl", "kernel-netlink"]),
        )),
        "get-algorithms" => {
            let algorithms = Section::new()
                .with_section("ke", with(&["CURVE_25519", "ML_KEM_768"]))
                .with_section("aead", with(&["AES_GCM_16"]))
                .with_section("prf", with(&["PRF_HMAC_SHA2_384"]));
            Some(Packet::Response(algorithms))
        }
        "list-sas" | "list-conns" => Some(Packet::Response(Section::new())),
        _ => Some(Packet::Response(Section::new().with("success", "yes"))),
    }
}

#[test]
fn a_charon_too_old_is_refused_before_anything_is_loaded() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (code, said, asked) = reported(&stage, "up", &[], |command| able("5.9.14", command));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("strongSwan 5.9.14 knows no additional key exchanges"),
        "{said}"
    );
    assert!(asked.iter().all(|command| !command.starts_with("load")), "{asked:?}");

    // The same with a number of today is loaded: it is the version that is refused.
    let (code, said, asked) = reported(&stage, "up", &[], |command| able("6.1.0", command));
    assert_eq!(code, Some(0), "{said}");
    assert!(asked.iter().any(|command| command == "load-conn"), "{asked:?}");
}

#[test]
fn a_charon_that_lacks_a_command_or_answers_something_else_is_reported_by_name() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let lacks = |command: &str| match command {
        "get-algorithms" => Some(Packet::UnknownCommand),
        other => able("6.1.0", other),
    };
    let (code, said, _) = reported(&stage, "up", &[], lacks);
    assert_eq!(code, Some(2));
    let wanted = "error: this charon has no `get-algorithms`\nhint: strongSwan 6.1.0 or later is needed\n";
    let stays = "hint: the guard of cu is installed and stays";
    assert!(said.starts_with(wanted) && said.contains(stays), "{said}");

    for command in ["status", "rekey", "up"] {
        let (code, said, _) = reported(&stage, command, &[], |_| Some(Packet::Confirm));
        assert_eq!(code, Some(2), "{command}");
        assert!(
            said.starts_with("error: what answers version is no charon: "),
            "{command}: {said}"
        );
    }

    // A version that is none: what it can do is asked of it all the same, and what it cannot is refused.
    let (code, said, asked) = reported(&stage, "up", &[], |command| match command {
        "version" => Some(Packet::Response(Section::new())),
        "get-algorithms" => Some(Packet::Response(Section::new())),
        other => able("", other),
    });
    assert_eq!(code, Some(2));
    assert!(
        said.contains("no plugin that strongSwan unknown has loaded knows"),
        "{said}"
    );
    assert!(asked.iter().all(|command| !command.starts_with("load")), "{asked:?}");
}

#[test]
fn a_charon_that_stalls_in_the_middle_of_a_set_up_is_reported_within_the_time_asked_for() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (code, said, asked) = reported(&stage, "up", &["--timeout", "1"], |command| match command {
        "initiate" => None,
        other => able("6.1.0", other),
    });
    assert_eq!(code, Some(2));
    assert!(asked.iter().any(|command| command == "initiate"), "{asked:?}");
    assert!(
        said.contains("error: charon did not answer initiate within 11s\nhint: "),
        "{said}"
    );
}

#[test]
fn an_ike_sa_that_does_not_stand_has_no_verdict_in_any_output_and_is_a_finding_of_status() {
    let stage = Stage::set_up("hybrid", "hybrid");
    for state in ["CREATED", "CONNECTING", "DELETING", "REKEYED"] {
        // It would be accepted if its peer had proven who it is.
        let sa = Section::new()
            .with("uniqueid", "1")
            .with("state", state)
            .with("remote-id", "ric.test")
            .with("initiator-spi", "9f815c2206ce1954")
            .with("responder-spi", "eef74d6b20dd86e3")
            .with("encr-alg", "AES_GCM_16")
            .with("encr-keysize", "256")
            .with("dh-group", "CURVE_25519")
            .with("ake1", "ML_KEM_768");
        let row = Section::new().with_section("cu--ric", sa);
        let run = |command: &str, more: &[&str]| {
            let answer: Answer = |command| able("6.1.0", command);
            let (finished, _) = run_against(&stage, command, &[&["--no-guard"], more].concat(), answer, Some(&row));
            (finished.status.code(), finished.text())
        };
        // `up` goes by the daemon's word that the link is set up.
        for (command, wanted) in [("status", 1), ("up", 0)] {
            let (code, text) = run(command, &[]);
            assert_eq!(code, Some(wanted), "{command} {state}: {text}");
            assert!(
                text.contains(&format!("cu--ric (to ric): {state}\n")),
                "{command}: {text}"
            );
            assert!(
                !text.contains("stays secret as the policy asks"),
                "{command} {state}: {text}"
            );
            let (code, text) = run(command, &["--json"]);
            let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!((code, &report["well"]), (Some(wanted), &false.into()), "{report}");
            let ike = &report["links"][0]["ike"][0];
            assert_eq!(
                (&ike["state"], &ike["verdict"]),
                (&state.into(), &serde_json::Value::Null)
            );
        }
    }
}
