mod at_once;
mod breaches;
mod fragments;
mod kernel;
mod mismatch;
mod relay;
mod rendered;
mod watch;

use std::time::Duration;

use bartizan_ipsec::vici::{Client, Error, Section};

use crate::stage::*;

fn named(child: &str) -> Section {
    Section::new().with("child", child)
}

/// The IKE_SAs of a charon.
fn list_sas(client: &mut Client) -> Vec<Section> {
    let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("a list");
    let sas = rows.iter().flat_map(|row| row.sections().map(|(_, sa)| sa.clone()));
    sas.collect()
}

#[test]
fn a_hybrid_link_is_set_up_and_stays_hybrid_after_its_rekey_and_nothing_is_left() {
    let stage = Stage::set_up();
    stage.load(HYBRID, HYBRID);
    let mut client = stage.near.client();
    client.command("initiate", named("e2")).expect("up");
    let sas = list_sas(&mut client);
    assert_eq!(sas.len(), 1);
    assert_eq!(
        (sas[0].text("dh-group"), sas[0].text("ake1")),
        (Some("CURVE_25519"), Some("ML_KEM_768"))
    );

    client.command("rekey", named("e2")).expect("rekeyed");
    eventually("the CHILD_SA is keyed anew", || {
        let sas = list_sas(&mut client);
        let children = sas[0].section("child-sas")?;
        let mut rekeyed = children
            .sections()
            .filter(|(_, child)| child.text("ake1") == Some("ML_KEM_768"));
        rekeyed.next().map(drop)
    });

    let directories = [&stage.near, &stage.far].map(|end| end.socket().parent().expect("a directory").to_owned());
    let spaces = [&stage.near, &stage.far].map(|end| end.space.name().to_owned());
    drop(stage);
    for directory in directories {
        assert!(!directory.exists(), "{}", directory.display());
    }
    for space in spaces {
        assert!(!std::path::Path::new("/run/netns").join(space).exists());
    }
}

#[test]
fn a_charon_that_is_killed_and_started_again_is_absent_in_between_and_the_directory_is_its_own() {
    let mut stage = Stage::set_up();
    let mut client = stage.near.client();
    let directory = stage.near.socket();
    let taken = stage.near.start_another().expect_err("one charon per directory");
    assert!(taken.to_string().contains("belongs to another charon"), "{taken}");

    let charon = stage.near.charon.as_mut().expect("it runs");
    let process = charon.process().expect("it runs");
    process.send(libc::SIGKILL);
    eventually("it is gone", || process.ended().expect("a child of ours"));
    let error = client.request("version", Section::new()).expect_err("nobody answers");
    assert!(matches!(error, Error::Died(_)), "{error}");
    let error = Client::connect(&directory, PATIENCE).expect_err("nobody listens");
    assert!(matches!(error, Error::Absent(_)), "{error}");

    stage.near.charon = None;
    stage.near.start();
    let version = stage
        .near
        .client()
        .request("version", Section::new())
        .expect("an answer");
    assert_eq!(version.text("daemon"), Some("charon-systemd"));
}

#[test]
fn a_charon_that_is_stopped_by_a_signal_has_stalled() {
    let mut stage = Stage::set_up();
    let mut client = stage.near.client();
    let process = stage
        .near
        .charon
        .as_mut()
        .and_then(|charon| charon.process())
        .expect("it runs");
    process.send(libc::SIGSTOP);
    let tasks = format!("/proc/{}/task", process.id());
    // The signal is on its way when `send` returns; until the last thread has it, one may answer.
    eventually("every thread is stopped", || {
        let tasks = std::fs::read_dir(&tasks).expect("it is there");
        let stopped = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"));
        let mut stats = tasks.map(|task| std::fs::read_to_string(task.expect("an entry").path().join("stat")));
        stats.all(|stat| stat.is_ok_and(stopped)).then_some(())
    });
    let error = client
        .request_within("stats", Section::new(), Duration::from_millis(100))
        .expect_err("it does not run");
    process.send(libc::SIGCONT);
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
}
