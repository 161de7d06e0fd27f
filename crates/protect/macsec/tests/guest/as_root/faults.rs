//! Controllers that end in the middle, peers that are silent or have another identity, ports that
//! go.

use std::time::{Duration, Instant};

use bartizan_host::Program;
use bartizan_ledger::Event;
use bartizan_macsec::control::Question;
use bartizan_macsec::link::Status;

use crate::boot::is_here;
use crate::stage::{DEVICE, LONG, PORT, Stage, ip};
use crate::traffic::Load;

#[test]
fn controller_that_ends_in_the_middle_of_a_rekey_loses_no_frame_and_its_successor_takes_over() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let loads = [0, 1].map(|from| Load::start(&stage, from));
    for round in 0..6u32 {
        let end = (round % 2) as usize;
        // The question is answered before the peer has: the controller ends somewhere on the way.
        for asked in [0, 1] {
            stage.ask(asked, Question::Rekey { fresh: round % 3 == 2 });
        }
        std::thread::sleep(Duration::from_millis(u64::from(round)));
        stage.kill(end);
        std::thread::sleep(Duration::from_millis(300));
        stage.start(end);
        let status = stage.until(end, "the successor has keys of its own", |status| {
            status.keys >= 1 && status.up
        });
        // Its own; what the peer was asked for may have brought another.
        assert!(status.exchanges >= 1, "{status:?}");
        stage.until(1 - end, "the peer follows", |status| status.peer_answers);
    }
    for load in loads {
        load.end_without_loss(1000);
    }
}

#[test]
fn silent_peer_is_noticed_frames_go_on_and_end_with_a_key_that_outlives_its_policy() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.change = |setting| {
        setting.terms.rekey = Duration::from_secs(3);
        setting.terms.lifetime = Duration::from_secs(5);
    };
    stage.both_up();
    stage.kill(1);
    let load = Load::start(&stage, 0);
    let status = stage.until(0, "the key is older than it may be", |status| {
        status.outlived && !status.up && !status.peer_answers
    });
    assert!(status.trouble.is_some() && status.ends_s.is_none(), "{status:?}");
    let (sent, arrived) = load.end();
    assert!(arrived.frames > 0, "{sent} {arrived:?}");
    no_frame_passes(&stage);
    stage.start(1);
    stage.until_up();
    stage.until(0, "the key is another", |status| {
        !status.outlived && status.trouble.is_none()
    });
    stage.kill(0);
    let outlived = stage.recorded(0).into_iter().filter_map(|event| match event {
        Event::MacsecOutlived(outlived) => Some(*outlived),
        _ => None,
    });
    let outlived: Vec<_> = outlived.collect();
    assert_eq!(outlived.len(), 1, "{outlived:?}");
    assert!(outlived[0].age_s >= 5 && outlived[0].link.peer == "oru", "{outlived:?}");
}

/// The keys of the first end are gone.
fn no_frame_passes(stage: &Stage) {
    let secy = stage.secy(0);
    let state = stage.hosts[0].enter(|| secy.state()).expect("a namespace");
    assert!(!state.expect("a state").has_keys());
    let load = Load::start(stage, 0);
    load.until_sent(21);
    let (sent, arrived) = load.end();
    assert!(sent > 20 && arrived.frames == 0, "{sent} {arrived:?}");
}

#[test]
fn peer_whose_certificate_is_revoked_while_the_link_stands_loses_it_until_it_has_another() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let stood = stage.status(0);
    assert!(stood.authenticated_s.is_some() && stood.ends_s.is_some(), "{stood:?}");
    stage.revoke("oru");
    stage.reload(0);
    let status = stage.until(0, "the keys are gone", |status| !status.up && status.sends.is_none());
    assert!(
        status
            .trouble
            .as_deref()
            .is_some_and(|trouble| trouble.contains("on the revocation list")),
        "{status:?}"
    );
    no_frame_passes(&stage);
    stage.issue("oru", "oru");
    stage.kill(1);
    stage.start(1);
    stage.until_up();
    stage.kill(0);
    let refused = stage.recorded(0).into_iter().find_map(|event| match event {
        Event::MacsecRefused(refused) => Some(*refused),
        _ => None,
    });
    let refused = refused.expect("a record");
    assert_eq!(
        (refused.reason.as_str(), refused.link.peer.as_str()),
        ("revoked", "oru")
    );
    assert!(refused.chain[0].names.contains(&"dns:oru".to_owned()), "{refused:?}");
}

/// Keys that a controller found were kept for the life of one key, again at each start.
#[test]
fn successor_gives_keys_the_rest_of_their_time_and_removes_those_whose_record_does_not_stand() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let record = stage.path("run-odu").join(format!("{PORT}.keys.json"));
    let ends = |stage: &Stage| stage.status(0).ends_s.expect("a deadline");
    let has_keys = |stage: &Stage| {
        let secy = stage.secy(0);
        let state = stage.hosts[0].enter(|| secy.state()).expect("a namespace");
        state.expect("a state").has_keys()
    };
    let first = ends(&stage);
    stage.kill(1);
    for _ in 0..2 {
        stage.kill(0);
        stage.start(0);
        assert!(ends(&stage) <= first && has_keys(&stage), "{:?}", stage.status(0));
    }
    for fault in ["no record", "over", "revoked"] {
        stage.kill(0);
        let text = std::fs::read_to_string(&record).expect("a record");
        match fault {
            "no record" => std::fs::remove_file(&record).expect("removed"),
            "over" => {
                let (before, ends) = text.split_once("\"ends_s\":").expect("a deadline");
                let behind = ends.trim_start_matches(|digit: char| digit.is_ascii_digit());
                std::fs::write(&record, format!("{before}\"ends_s\":1{behind}")).expect("written");
            }
            _ => stage.revoke("oru"),
        }
        stage.start(0);
        assert_eq!(stage.status(0).ends_s, None, "{fault}");
        no_frame_passes(&stage);
        if fault == "revoked" {
            break;
        }
        stage.start(1);
        stage.until_up();
        stage.kill(1);
    }
    stage.kill(0);
    let refused = stage.recorded(0).into_iter().find_map(|event| match event {
        Event::MacsecRefused(refused) => Some(refused.reason.clone()),
        _ => None,
    });
    assert_eq!(refused.as_deref(), Some("revoked"));
}

#[test]
fn peer_with_another_name_gets_no_keys_and_no_frame_passes() {
    if !is_here() {
        return;
    }
    // The second is the peer of another port, and begins.
    for (name, options) in [("somebody-else", ""), ("oru2", "initiator: oru")] {
        let mut stage = Stage::new(options);
        stage.issue("oru", name);
        stage.start(0);
        stage.start(1);
        let status = stage.until(0, "it is refused", |status| status.trouble.is_some());
        assert!(!status.up && status.keys == 0, "{status:?}");
        let load = Load::start(&stage, 0);
        load.until_sent(21);
        let (sent, arrived) = load.end();
        assert!(sent > 20 && arrived.frames == 0, "{sent} {arrived:?}");
        stage.kill(0);
        let refused = stage.recorded(0).into_iter().find_map(|event| match event {
            Event::MacsecRefused(refused) => Some(*refused),
            _ => None,
        });
        let refused = refused.expect("a record");
        assert_eq!(
            (refused.reason.as_str(), refused.link.peer.as_str()),
            ("wrong-name", "oru")
        );
        assert!(refused.chain[0].names.contains(&format!("dns:{name}")), "{refused:?}");
    }
}

#[test]
fn port_that_goes_and_comes_back_has_its_link_again() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    ip(&stage.hosts[0], &format!("link delete {PORT}\n"));
    for end in [0, 1] {
        let status = stage.until(end, "the port is gone", |status| !status.up);
        assert!(
            status
                .trouble
                .as_deref()
                .is_some_and(|trouble| trouble.contains("eth0")),
            "{status:?}"
        );
    }
    let [one, other] = &stage.hosts;
    bartizan_testing::connect(
        &bartizan_testing::Port::new(one, PORT),
        &bartizan_testing::Port::new(other, PORT),
        9000,
    )
    .expect("a cable");
    stage.until_up();
    Load::start(&stage, 0).end();
    let load = Load::start(&stage, 1);
    std::thread::sleep(Duration::from_millis(300));
    load.end_without_loss(20);
}

#[test]
fn port_that_is_renamed_is_reported_loses_no_frame_and_has_its_link_again_under_its_name() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let (device, load) = (stage.secy(0).interface().index, Load::start(&stage, 0));
    ip(&stage.hosts[0], &format!("link set {PORT} name eth9\n"));
    let status = stage.until(0, "the port has another name", |status| !status.up);
    let trouble = status.trouble.unwrap_or_default();
    assert!(trouble.contains("eth0 is called eth9 now"), "{trouble}");
    // A successor says the same.
    stage.kill(0);
    stage.start(0);
    let status = stage.until(0, "the port has another name", |status| status.trouble.is_some());
    let trouble = status.trouble.unwrap_or_default();
    assert!(trouble.contains("hint: `ip link set eth9 name eth0`"), "{trouble}");
    ip(&stage.hosts[0], &format!("link set eth9 name {PORT}\n"));
    stage.until_up();
    stage.until(0, "keys are another", |status| status.keys >= 1);
    load.end_without_loss(500);
    assert_eq!(stage.secy(0).interface().index, device, "the device is another");
}

#[test]
fn exchange_that_nobody_took_begins_at_once_when_the_other_end_listens_and_no_more_than_once_a_second() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    ip(&stage.hosts[1], &format!("link set {PORT} up\n"));
    stage.start(0);
    let listen = || {
        let kind = bartizan_registry::ethertype::LOCAL_EXPERIMENTAL;
        let mut socket = bartizan_host::FrameSocket::open(PORT, [2, 0, 0, 0, 6, 6], kind).expect("a socket");
        // The last frame of a flight, where one comes in time.
        let flight = |socket: &mut bartizan_host::FrameSocket, within: Duration| {
            let (began, mut last) = (Instant::now(), None);
            while last.map_or(began.elapsed() < within, |last: Instant| {
                last.elapsed() < Duration::from_millis(60)
            }) {
                while socket.receive().expect("a socket").is_some() {
                    last = Some(Instant::now());
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            last
        };
        // Until the initiator tries again once a second.
        let mut before = flight(&mut socket, Duration::from_secs(20)).expect("it begins");
        loop {
            let next = flight(&mut socket, Duration::from_secs(20)).expect("it goes on");
            if next.duration_since(before) > Duration::from_millis(700) {
                break;
            }
            before = next;
        }
        let listens = bartizan_macsec::segment::Segment {
            from: bartizan_macsec::segment::From::Server,
            conversation: 0,
            sequence: 0,
            acknowledgement: 0,
            payload: &[],
        };
        // Its timer takes a second. An end that did not run just then is asked again, behind a flight of its timer.
        let begins_at_once = |socket: &mut bartizan_host::FrameSocket| {
            socket.send(&listens.write()).expect("sent");
            flight(socket, Duration::from_millis(500)).is_some()
        };
        let mut begun = begins_at_once(&mut socket);
        for _ in 0..20 {
            if begun {
                break;
            }
            flight(&mut socket, Duration::from_secs(20)).expect("it goes on");
            begun = begins_at_once(&mut socket);
        }
        assert!(begun, "it waits for its timer");
        // Answering every frame of any host with a flight would be an amplification.
        let (mut flights, began) = (0, Instant::now());
        while began.elapsed() < Duration::from_millis(900) {
            socket.send(&listens.write()).expect("sent");
            flights += usize::from(flight(&mut socket, Duration::from_millis(20)).is_some());
        }
        assert!(flights <= 5, "{flights} flights in a second");
    };
    stage.hosts[1].enter(listen).expect("a namespace");
    stage.start(1);
    stage.until_up();
}

#[test]
fn frames_of_anybody_cost_an_unauthenticated_exchange_and_not_the_link() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let load = Load::start(&stage, 0);
    let flood = || {
        let mut socket = bartizan_host::FrameSocket::open(
            PORT,
            [2, 0, 0, 0, 6, 6],
            bartizan_registry::ethertype::LOCAL_EXPERIMENTAL,
        )
        .expect("a socket");
        let deadline = Instant::now() + Duration::from_secs(2);
        let mut number = 0u64;
        while Instant::now() < deadline {
            let segment = bartizan_macsec::segment::Segment {
                from: bartizan_macsec::segment::From::Client,
                conversation: number,
                sequence: 0,
                acknowledgement: 0,
                payload: &[0x16; 200],
            };
            socket.send(&segment.write()).expect("sent");
            socket.send(&[0xff; 100]).expect("sent");
            number += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    // From the end that begins exchanges: the other takes them.
    stage.hosts[0].enter(flood).expect("a namespace");
    stage.ask(0, Question::Rekey { fresh: true });
    stage.until(0, "another exchange", |status| {
        status.exchanges == 2 && status.keys == 2
    });
    load.end_without_loss(100);
}

/// A device that lets anything in, or sends what it likes, passed for what the file asks for.
#[test]
fn device_that_another_program_changed_is_set_again_and_a_key_that_it_switched_off_is_replaced() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("");
    stage.both_up();
    let settings = stage.setting(0).device_settings;
    let state = |stage: &Stage| {
        let secy = stage.secy(0);
        stage.hosts[0]
            .enter(|| secy.state().expect("a state"))
            .expect("a namespace")
    };
    let change = |stage: &Stage, what: &str| {
        ip(&stage.hosts[0], &format!("link set {DEVICE} type macsec {what}\n"));
    };
    let changes = [
        "validate check",
        "protect off",
        "encrypt off",
        "send_sci off",
        "replay off",
    ];
    for what in changes {
        change(&stage, what);
        let deadline = Instant::now() + LONG;
        while let Some(difference) = state(&stage).difference(&settings) {
            assert!(Instant::now() < deadline, "{what}: {difference}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let state = state(&stage);
        assert!(
            state.protects && state.is_strict && state.sends_sci,
            "{what}: {state:?}"
        );
    }
    let before = stage.status(0);
    assert!(before.up && before.encrypted, "{before:?}");
    // As where its packet numbers are used up.
    let an = before.sends.as_ref().expect("a key").an;
    let program = Program::new("ip").arguments(["macsec", "set", DEVICE, "tx", "sa", &an.to_string(), "off"]);
    program.inside(&stage.hosts[0]).run(LONG).expect("it runs");
    stage.until(0, "another key", |status| status.up && status.keys > before.keys);
    let load = Load::start(&stage, 0);
    std::thread::sleep(Duration::from_millis(300));
    load.end_without_loss(30);

    // A successor takes over none of them.
    for what in ["validate disabled", "protect off"] {
        stage.kill(0);
        let device = stage.secy(0).interface().index;
        change(&stage, what);
        let setting = stage.setting(0);
        let found = stage.hosts[0].enter(|| Status::found(&setting)).expect("a namespace");
        let found = found.expect("a device");
        assert!(!found.up && found.trouble.is_some(), "{found:?}");
        stage.start(0);
        stage.until_up();
        assert_ne!(stage.secy(0).interface().index, device, "{what}");
        assert_eq!(state(&stage).difference(&settings), None, "{what}");
    }
}
