//! Links that MKA keys: wpa_supplicant of Debian 13 at both ends, under a CAK of the exchange or of a file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bartizan_host::{FrameSocket, Namespace, Program};
use bartizan_ledger::{Event, MacsecCak, MacsecCause, MacsecEnd, MacsecKey, MacsecOrigin, Verdict};
use bartizan_macsec::control::Question;
use bartizan_macsec::link::Status;
use bartizan_registry::ethertype::{EAPOL, ECPRI, LOCAL_EXPERIMENTAL, MACSEC};
use bartizan_testing::{Capture, Direction};

use crate::boot::is_here;
use crate::stage::{DEVICE, LONG, NODES, PORT, Stage, ethertype, frames, ip};
use crate::traffic::Load;

const MKA: &str = "keying: mka, cipher: gcm-aes-128";

fn keys(events: &[Event]) -> Vec<&MacsecKey> {
    let keys = events.iter().filter_map(|event| match event {
        Event::MacsecKey(key) => Some(&**key),
        _ => None,
    });
    keys.collect()
}

fn ckn(status: &Status) -> String {
    status.mka.as_ref().and_then(|mka| mka.ckn.clone()).unwrap_or_default()
}

fn key(status: &Status) -> String {
    status
        .sends
        .as_ref()
        .map(|sends| sends.key_id.clone())
        .unwrap_or_default()
}

fn kill(process: u32) {
    Program::new("kill")
        .arguments(["-KILL", &process.to_string()])
        .run(LONG)
        .expect("it runs");
}

/// Frames through the device of the second end until it is over: while wpa_supplicant begins, the device is down, and then nothing is sent.
fn send_whatever_comes(host: &Namespace, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let open = || FrameSocket::open(DEVICE, [2, 0, 0, 0, 9, 1], ECPRI);
        if let Ok(mut socket) = host.enter(open).expect("a namespace") {
            while !over.load(Ordering::Relaxed) && socket.send(&[7; 200]).is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Compares one end's key with the other's, in both directions.
fn same_key(stage: &Stage) -> String {
    let [one, other] = [0, 1].map(|end| {
        let secy = stage.secy(end);
        stage.hosts[end]
            .enter(|| secy.state().expect("a state"))
            .expect("a namespace")
    });
    let sends = one.transmit[&one.encoding].key;
    assert_eq!(other.transmit[&other.encoding].key, sends);
    for (state, peer) in [(&one, &other), (&other, &one)] {
        let channel = state.channel(peer.sci).expect("a channel of the peer");
        assert!(channel.associations.values().any(|sa| sa.key == sends), "{state:?}");
    }
    sends.to_string()
}

#[test]
fn cak_of_a_post_quantum_exchange_keys_the_link_and_is_replaced_with_the_device_and_its_address_as_they_were() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(MKA);
    let file = stage.path("whole.pcap");
    let capture = Capture::start(Some(&stage.hosts[0]), PORT, &file, Direction::Outbound).expect("a capture");
    stage.both_up();
    ip(&stage.hosts[0], &format!("address add 10.9.0.1/24 dev {DEVICE}\n"));
    let device = stage.secy(0).interface().index;
    let [first, other] = [0, 1].map(|end| stage.status(end));
    assert_eq!((ckn(&first).len(), ckn(&first)), (32, ckn(&other)));
    assert_eq!(key(&first), same_key(&stage));
    assert_eq!(
        (key(&first), first.sends.as_ref().and_then(|sends| sends.generation)),
        (key(&other), Some(1))
    );
    let exchange = first.exchange.clone().expect("an exchange");
    assert_eq!(
        (exchange.group.as_str(), first.suite.as_str()),
        ("X25519MLKEM768", "GCM-AES-128")
    );
    let load = Load::start(&stage, 0);
    std::thread::sleep(Duration::from_millis(500));
    load.end_without_loss(50);

    // The end that is the server of the exchange asks: the other begins one.
    stage.ask(1, Question::Rekey { fresh: true });
    for end in [0, 1] {
        stage.until(end, "another CAK and a key of it", |status| {
            status.up && ckn(status) != ckn(&first) && key(status) != key(&first)
        });
    }
    let second = stage.status(0);
    assert_eq!(key(&second), same_key(&stage));
    assert_eq!(stage.secy(0).interface().index, device, "the device is another");
    let addresses = Program::new("ip")
        .arguments(["address", "show", "dev", DEVICE])
        .inside(&stage.hosts[0]);
    let addresses = addresses.run(LONG).expect("it runs").text();
    assert!(addresses.contains("10.9.0.1/24"), "{addresses}");
    let load = Load::start(&stage, 1);
    std::thread::sleep(Duration::from_millis(500));
    load.end_without_loss(50);
    assert!(capture.stop().expect("captured").complete());
    let sent = frames(&file);
    let kinds: BTreeSet<u16> = sent.iter().map(|frame| ethertype(frame)).collect();
    assert_eq!(kinds, BTreeSet::from([EAPOL, LOCAL_EXPERIMENTAL, MACSEC]));
    // Each MKPDU carries the name of its CAK (IEEE 802.1X, clause 11.11.1): both are on the wire, and no other.
    for status in [&first, &second] {
        let octets: Vec<u8> = (0..16)
            .map(|at| u8::from_str_radix(&ckn(status)[2 * at..2 * at + 2], 16).expect("digits"))
            .collect();
        let named = sent
            .iter()
            .filter(|frame| ethertype(frame) == EAPOL && frame.windows(16).any(|part| part == octets));
        assert!(named.count() >= 2, "{}", ckn(status));
    }

    for end in [0, 1] {
        stage.kill(end);
    }
    let [one, other] = [0, 1].map(|end| stage.recorded(end));
    let (one, other) = (keys(&one), keys(&other));
    assert_eq!((one.len(), other.len()), (4, 4), "two keys in two directions: {one:#?}");
    for (sent, received) in one.iter().zip(&other).filter(|(sent, _)| sent.used_by == MacsecEnd::Us) {
        assert_eq!(
            (&sent.key_id, sent.an, sent.verdict.clone()),
            (&received.key_id, received.an, Verdict::Accepted)
        );
        let MacsecOrigin::Mka {
            ckn,
            cak: MacsecCak::Exchange { negotiated, chain, .. },
        } = &sent.origin
        else {
            panic!("{sent:?}")
        };
        assert_eq!(
            (negotiated.group.name.as_str(), chain.len(), ckn.len()),
            ("X25519MLKEM768", 1, 32)
        );
    }
    assert_eq!([one[0].cause, other[0].cause], [MacsecCause::Exchange; 2]);
    assert_eq!(one[2].cause, MacsecCause::Peer, "the other end asked for it");
    assert_eq!(other[2].cause, MacsecCause::Asked);
}

#[test]
fn controller_that_is_killed_has_a_successor_that_keeps_the_keys_and_loses_no_frame() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(MKA);
    stage.both_up();
    let before = stage.status(0);
    let load = Load::start(&stage, 0);
    stage.kill(0);
    std::thread::sleep(Duration::from_secs(1));
    stage.start(0);
    let after = stage.until(0, "the successor has the peer", |status| {
        status.peer_answers && status.up
    });
    assert_eq!((ckn(&after), key(&after)), (ckn(&before), key(&before)));
    assert_eq!(
        after.mka.and_then(|mka| mka.process),
        before.mka.as_ref().and_then(|mka| mka.process)
    );
    load.end_without_loss(1000);
    stage.kill(0);
    let recorded = stage.recorded(0);
    let last = *keys(&recorded).last().expect("keys");
    assert_eq!((last.cause, last.key_id.clone()), (MacsecCause::Peer, key(&before)));
    assert!(
        matches!(
            last.origin,
            MacsecOrigin::Mka {
                cak: MacsecCak::Earlier,
                ..
            }
        ),
        "{last:?}"
    );
}

#[test]
fn wpa_supplicant_that_is_killed_is_started_again_with_another_cak_and_nothing_unencrypted_leaves() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(MKA);
    stage.both_up();
    let before = stage.status(1);
    let sent = stage.leaving(1, || {
        kill(before.mka.as_ref().and_then(|mka| mka.process).expect("it runs"));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let host = &stage.hosts[1];
            scope.spawn(|| send_whatever_comes(host, &over));
            for end in [0, 1] {
                stage.until(end, "another CAK and a key of it", |status| {
                    status.up && status.peer_answers && ckn(status) != ckn(&before) && key(status) != key(&before)
                });
            }
            over.store(true, Ordering::Relaxed);
        });
    });
    same_key(&stage);
    let kinds: BTreeSet<u16> = sent.iter().map(|frame| ethertype(frame)).collect();
    assert!(
        kinds.is_subset(&BTreeSet::from([EAPOL, LOCAL_EXPERIMENTAL, MACSEC])),
        "{kinds:x?}"
    );
    let load = Load::start(&stage, 0);
    std::thread::sleep(Duration::from_millis(300));
    load.end_without_loss(20);
}

/// wpa_supplicant without Bartizan, as a switch would be: a device of its own making, and a CAK by hand.
struct Switch<'a> {
    stage: &'a Stage,
    process: Option<u32>,
}

impl Switch<'_> {
    fn start(&mut self, ckn: &str, cak: &str) {
        self.stop();
        let (file, pid) = (self.stage.path("switch.conf"), self.stage.path("switch.pid"));
        let text = format!(
            "eapol_version=3\nap_scan=0\nnetwork={{\nkey_mgmt=NONE\neapol_flags=0\nmacsec_policy=1\nmka_cak={cak}\nmka_ckn={ckn}\nmka_priority=1\n}}\n"
        );
        fs::write(&file, text).expect("a file");
        let program = Program::new(self.stage.path("wpa_supplicant")).inside(&self.stage.hosts[1]);
        let program = program
            .arguments(["-B", "-D", "macsec_linux", "-i", PORT, "-c"])
            .argument(&file);
        let daemon = program.argument("-P").argument(&pid).daemonize(&pid, LONG);
        self.process = Some(daemon.unwrap_or_else(|error| panic!("{error}")).id());
    }

    fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            Program::new("kill")
                .argument(process.to_string())
                .run(LONG)
                .expect("it runs");
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

fn write_cak(stage: &Stage, ckn: &str, cak: &str) {
    let file = stage.path("fh.cak");
    fs::write(&file, format!("ckn = {ckn}\ncak = {cak}\n")).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("rights");
}

#[test]
fn switch_with_a_cak_of_a_file_takes_part_and_a_file_that_changes_changes_the_key() {
    if !is_here() {
        return;
    }
    const LONGER: &str = "0102030405060708090a0b0c0d0e0f10";
    let other = "ab".repeat(32);
    let mut stage = Stage::new(&format!("{MKA}, cak: {{ odu: fh.cak }}"));
    stage.change = |setting| setting.terms.lifetime = Duration::from_secs(3);
    ip(&stage.hosts[1], &format!("link set {PORT} up\n"));
    write_cak(&stage, "01", LONGER);
    stage.start(0);
    let silent = stage.until(0, "wpa_supplicant runs", |status| ckn(status) == "01");
    assert!(
        !silent.up && !silent.peer_answers && silent.exchange.is_none(),
        "{silent:?}"
    );
    {
        let mut switch = Switch {
            stage: &stage,
            process: None,
        };
        let sent = stage.leaving(0, || {
            switch.start("01", LONGER);
            let up = stage.until(0, "the switch takes part", |status| status.up && status.peer_answers);
            assert_eq!(up.mka.as_ref().map(|mka| mka.cak.as_str()), Some("file"));
            let outlived = stage.until(0, "the key is older than it may be", |status| status.outlived);
            write_cak(&stage, "02", &other);
            switch.start("02", &other);
            stage.until(0, "another key", |status| {
                status.up && ckn(status) == "02" && key(status) != key(&outlived)
            });
        });
        let kinds: BTreeSet<u16> = sent.iter().map(|frame| ethertype(frame)).collect();
        assert!(kinds.is_subset(&BTreeSet::from([EAPOL, MACSEC])), "{kinds:x?}");
        // A file that others may read is not taken, and the key before stays.
        write_cak(&stage, "03", LONGER);
        fs::set_permissions(stage.path("fh.cak"), fs::Permissions::from_mode(0o644)).expect("rights");
        let refused = stage.until(0, "it is refused", |status| status.trouble.is_some());
        assert!(
            refused.up && refused.trouble.as_ref().is_some_and(|said| said.contains("0644")),
            "{refused:?}"
        );
        // The switch falls silent: nothing passes, and that is seen.
        switch.stop();
        let gone = stage.until(0, "MKA misses the switch", |status| !status.up);
        assert!(!gone.peer_answers, "{gone:?}");
    }
    stage.kill(0);
    let recorded = stage.recorded(0);
    let outlived = recorded
        .iter()
        .filter(|event| matches!(event, Event::MacsecOutlived(_)))
        .count();
    assert!(outlived >= 1, "{recorded:?}");
    for key in keys(&recorded) {
        let MacsecOrigin::Mka {
            cak: MacsecCak::File { path },
            ..
        } = &key.origin
        else {
            panic!("{key:?}")
        };
        assert!(
            path.ends_with("fh.cak") && matches!(key.verdict, Verdict::Excepted { .. }),
            "{key:?}"
        );
    }
}

#[test]
fn keys_of_256_bits_are_refused_where_wpa_supplicant_has_none_and_ends_that_key_otherwise_say_so() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new("keying: mka");
    stage.start(0);
    let refused = stage.until(0, "it is refused", |status| status.trouble.is_some());
    let said = refused.trouble.expect("a reason");
    assert!(
        said.contains("2.10 cannot key GCM-AES-256") && said.contains("hint: write `cipher: gcm-aes-128`"),
        "{said}"
    );
    stage.kill(0);

    let file = stage.path("ran.yaml");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, text.replace("keying: mka", MKA)).expect("a file");
    stage.start(0);
    fs::write(&file, text.replace("keying: mka", "cipher: gcm-aes-128")).expect("a file");
    stage.start(1);
    let deadline = Instant::now() + LONG;
    loop {
        let troubles = [0, 1].map(|end| stage.status(end).trouble.unwrap_or_default());
        if troubles.iter().all(|said| said.contains("their files differ")) {
            break;
        }
        assert!(Instant::now() < deadline, "{NODES:?}: {troubles:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A wpa_supplicant that nothing looks after went on to distribute keys that nothing ends.
#[test]
fn wpa_supplicant_ends_where_the_file_says_that_keys_come_from_elsewhere_now() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(MKA);
    stage.both_up();
    let processes = [0, 1].map(|end| stage.status(end).mka.and_then(|mka| mka.process).expect("it runs"));
    for end in [0, 1] {
        stage.kill(end);
    }
    let file = stage.path("ran.yaml");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, text.replacen("keying: mka", "keying: direct", 1)).expect("a file");
    stage.both_up();
    for process in processes {
        // A zombie has no command line.
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        assert!(words.is_empty(), "{}", String::from_utf8_lossy(&words));
    }
}
