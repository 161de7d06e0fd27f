//! Links keyed by MKA after EAP-TLS: this project's authenticator at one end, wpa_supplicant of Debian 13 with OpenSSL 3.5 at the other, judged by captures.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use bartizan_host::{FrameSocket, Program};
use bartizan_ledger::{Event, MacsecCak, MacsecCause, MacsecEnd, MacsecKey, MacsecOrigin, Verdict};
use bartizan_macsec::control::Question;
use bartizan_macsec::eap::{Authenticator, Happened};
use bartizan_macsec::kernel::{ethernet_address, interface};
use bartizan_macsec::link::Status;
use bartizan_posture::{Kind, Ledgers, Posture, datagrams_posture};
use bartizan_registry::ethertype::{EAPOL, MACSEC};
use bartizan_testing::{Capture, Direction};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

use crate::boot::is_here;
use crate::stage::{LONG, PORT, Stage, ethertype, frames, ip};
use crate::traffic::Load;

const EAP: &str = "keying: eap-tls, cipher: gcm-aes-128";
/// The authenticator's end, and the peer's.
const AUTHENTICATOR: usize = 0;
const PEER: usize = 1;

fn keys(events: &[Event]) -> Vec<&MacsecKey> {
    let keys = events.iter().filter_map(|event| match event {
        Event::MacsecKey(key) => Some(&**key),
        _ => None,
    });
    keys.collect()
}

fn key(status: &Status) -> String {
    status
        .sends
        .as_ref()
        .map(|sends| sends.key_id.clone())
        .unwrap_or_default()
}

fn ckn(status: &Status) -> String {
    status.mka.as_ref().and_then(|mka| mka.ckn.clone()).unwrap_or_default()
}

/// Waits until both ends have a key that is another than this, and the same. Where both begin at once there are two authentications, of which
/// the second replaces the key of the first at one end before the other.
fn another(stage: &Stage, before: &str) -> String {
    let keyed = |status: &Status| status.up && status.peer_answers && !key(status).is_empty() && key(status) != before;
    let deadline = Instant::now() + LONG;
    loop {
        let both = [AUTHENTICATOR, PEER].map(|end| stage.status(end));
        let [one, other] = both.each_ref().map(key);
        if one == other && both.iter().all(keyed) {
            return one;
        }
        assert!(Instant::now() < deadline, "another key of both: {both:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Frames that pass in one direction, all of them.
fn passes(stage: &Stage, from: usize) {
    let load = Load::start(stage, from);
    std::thread::sleep(Duration::from_millis(500));
    load.end_without_loss(50);
}

#[derive(Default)]
struct Runs(Vec<Posture>);

impl Sink for Runs {
    fn connection(&mut self, connection: Connection) {
        unreachable!("no TCP: {connection:?}");
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.0.push(datagrams_posture(&datagrams, &Ledgers::default()));
    }
}

/// The groups of the handshakes of EAP-TLS in a capture, as the project's own reader has them.
fn groups(file: &std::path::Path) -> Vec<String> {
    let mut reader = CaptureReader::new();
    reader.push(&fs::read(file).expect("a capture"));
    let (mut observer, mut runs) = (Observer::new(Limits::default()), Runs::default());
    while let Some(packet) = reader.next_packet().expect("whole") {
        observer.observe(&packet, &mut runs);
    }
    observer.finish_into(&mut runs);
    let handshakes = runs.0.iter().filter(|posture| posture.kind == Kind::EapTls);
    handshakes
        .map(|posture| posture.key_exchange().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn port_is_keyed_after_post_quantum_eap_tls_and_its_key_changes_when_either_end_asks() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(EAP);
    let file = stage.path("whole.pcap");
    let capture = Capture::start(Some(&stage.hosts[AUTHENTICATOR]), PORT, &file, Direction::Both).expect("a capture");
    stage.both_up();
    let first = another(&stage, "");
    let [authenticator, peer] = [AUTHENTICATOR, PEER].map(|end| stage.status(end));
    let exchange = authenticator.exchange.as_ref().expect("a handshake");
    assert_eq!(
        (exchange.group.as_str(), exchange.peer_signature.as_deref()),
        ("X25519MLKEM768", Some("mldsa65"))
    );
    let seen = peer.eap.as_ref().expect("EAP");
    assert_eq!(
        (seen.end.as_str(), seen.group.as_deref(), seen.not_rekeyed),
        ("peer", Some("X25519MLKEM768"), 0)
    );
    assert_eq!(authenticator.keying, "eap-tls");
    for from in [AUTHENTICATOR, PEER] {
        passes(&stage, from);
    }

    // Each end in turn: another authentication, another CAK, another key.
    let mut before = first;
    for end in [AUTHENTICATOR, PEER] {
        let began = Instant::now();
        stage.ask(end, Question::Rekey { fresh: true });
        before = another(&stage, &before);
        println!("rekeyed by end {end} in {:?}", began.elapsed());
        passes(&stage, end);
    }
    let last = [AUTHENTICATOR, PEER].map(|end| stage.status(end));
    assert_ne!(ckn(&last[0]), ckn(&authenticator));
    assert!(capture.stop().expect("captured").complete());

    let kinds: BTreeSet<u16> = frames(&file).iter().map(|frame| ethertype(frame)).collect();
    assert_eq!(kinds, BTreeSet::from([EAPOL, MACSEC]));
    let groups = groups(&file);
    assert!(groups.len() >= 3, "{groups:?}");
    assert!(groups.iter().all(|group| group == "X25519MLKEM768"), "{groups:?}");

    for end in [AUTHENTICATOR, PEER] {
        stage.kill(end);
    }
    let [of_authenticator, of_peer] = [AUTHENTICATOR, PEER].map(|end| stage.recorded(end));
    let (of_authenticator, of_peer) = (keys(&of_authenticator), keys(&of_peer));
    for recorded in [&of_authenticator, &of_peer] {
        let sent = recorded.iter().filter(|key| key.used_by == MacsecEnd::Us);
        let names: BTreeSet<&str> = sent.map(|key| key.key_id.as_str()).collect();
        assert!(names.len() >= 3 && names.contains(before.as_str()), "{names:?}");
        assert!(recorded.iter().all(|key| key.verdict == Verdict::Accepted));
    }
    for key in &of_authenticator {
        let MacsecOrigin::Mka {
            ckn,
            cak: MacsecCak::EapTls {
                negotiated, chain, key, ..
            },
        } = &key.origin
        else {
            panic!("{key:?}")
        };
        assert_eq!(
            (negotiated.group.name.as_str(), ckn.len(), key.is_some()),
            ("X25519MLKEM768", 32, true)
        );
        // OpenSSL adds the root by itself.
        assert!(chain[0].names.contains(&"dns:oru".to_owned()), "{chain:?}");
    }
    for key in &of_peer {
        let MacsecOrigin::Mka {
            cak: MacsecCak::EapTlsPeer { groups },
            ..
        } = &key.origin
        else {
            panic!("{key:?}")
        };
        // OpenSSL's own bound: no frame decides what is recorded.
        assert!(groups.iter().any(|group| group.code == 0x11ec), "{groups:?}");
    }
    // Whichever end was first.
    assert!(
        matches!(of_authenticator[0].cause, MacsecCause::Exchange | MacsecCause::Peer),
        "{:?}",
        of_authenticator[0]
    );
}

/// Authenticates the peer once, as an authenticator does that leaves MKA as it is.
fn authenticate(stage: &Stage) {
    let (endpoint, setting) = (stage.endpoint(AUTHENTICATOR), stage.setting(AUTHENTICATOR));
    let run = || {
        let address = interface(PORT)
            .and_then(|port| ethernet_address(&port))
            .expect("a port");
        let mut socket = FrameSocket::open(PORT, address, EAPOL).expect("a socket");
        let mut authenticator = Authenticator::new(address);
        let accepting = endpoint.accept(&setting.peer, setting.interface).expect("a peer");
        authenticator.begin(accepting, Instant::now());
        let deadline = Instant::now() + LONG;
        while authenticator.is_busy() {
            assert!(Instant::now() < deadline, "{authenticator:?}");
            while let Some(frame) = socket.receive_from().expect("received") {
                match authenticator.receive(frame.source, frame.payload) {
                    Some(Happened::Authenticated(_)) => authenticator.succeed(),
                    Some(Happened::Refused(refused)) => panic!("{refused:?}"),
                    _ => {}
                }
            }
            let mut frames = Vec::new();
            let happened = authenticator.poll(Instant::now(), &mut |frame| frames.push(frame.to_vec()));
            assert!(happened.is_none(), "{happened:?}");
            for frame in frames {
                socket.send(&frame).expect("sent");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The frame that says so.
        let _ = authenticator.poll(Instant::now(), &mut |frame| socket.send(frame).expect("sent"));
    };
    stage.hosts[AUTHENTICATOR].enter(run).expect("a namespace");
}

#[test]
fn authentication_after_which_the_key_stays_the_same_is_reported_and_the_peer_begins_anew() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(EAP);
    stage.both_up();
    let first = another(&stage, "");
    // Its wpa_supplicant goes on with MKA under the CAK that it has.
    stage.kill(AUTHENTICATOR);
    // More than one where both have begun.
    let before = stage.status(PEER).exchanges;
    let load = Load::start(&stage, PEER);
    authenticate(&stage);
    stage.until(PEER, "it is authenticated once more", |status| {
        status.exchanges > before
    });
    // wpa_supplicant 2.10 derives another CAK, says so, and the key stays: this is what the report is about.
    std::thread::sleep(Duration::from_secs(10));
    let status = stage.status(PEER);
    assert_eq!(
        (key(&status), status.exchanges),
        (first.clone(), before + 1),
        "{status:?}"
    );
    load.end_without_loss(1000);
    let status = stage.until(PEER, "it is reported", |status| {
        status.eap.as_ref().is_some_and(|eap| eap.not_rekeyed == 1)
    });
    assert!(status.trouble.is_some(), "{status:?}");
    stage.start(AUTHENTICATOR);
    let next = another(&stage, &first);
    assert_ne!(next, first);
    passes(&stage, PEER);
    stage.kill(PEER);
    let recorded = stage.recorded(PEER);
    let reported: Vec<_> = recorded
        .iter()
        .filter_map(|event| match event {
            Event::MacsecNotRekeyed(reported) => Some(reported.key_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(reported, [first]);
}

/// A frame of EAP without content, or of EAPOL.
fn forged(kind: u8, eap: &[u8]) -> Vec<u8> {
    let [high, low] = (eap.len() as u16).to_be_bytes();
    [&[2, kind, high, low], eap].concat()
}

#[test]
fn forged_frames_neither_end_nor_change_the_key_of_an_authenticated_port() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(EAP);
    stage.both_up();
    let first = another(&stage, "");
    let before = [AUTHENTICATOR, PEER].map(|end| stage.status(end));
    let load = Load::start(&stage, PEER);
    // EAPOL-Start, EAPOL-Logoff, EAP-Success, EAP-Failure and EAP-Request/Identity (RFC 3748,
    // section 4).
    let (start, logoff) = (forged(1, &[]), forged(2, &[]));
    let of_eap = |code: u8, identifier: u8| match code {
        1 => forged(0, &[1, identifier, 0, 5, 1]),
        _ => forged(0, &[code, identifier, 0, 4]),
    };
    let began = Instant::now();
    for identifier in 0..28 {
        for from in [AUTHENTICATOR, PEER] {
            let send = || {
                let address = interface(PORT)
                    .and_then(|port| ethernet_address(&port))
                    .expect("a port");
                let mut socket = FrameSocket::open(PORT, address, EAPOL).expect("a socket");
                for frame in [
                    &start,
                    &logoff,
                    &of_eap(3, identifier),
                    &of_eap(4, identifier),
                    &of_eap(1, identifier),
                ] {
                    socket.send(frame).expect("sent");
                }
            };
            stage.hosts[from].enter(send).expect("a namespace");
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    println!("forged frames for {:?}", began.elapsed());
    load.end_without_loss(1000);
    for (end, before) in before.iter().enumerate() {
        let status = stage.status(end);
        let process = |status: &Status| status.mka.as_ref().and_then(|mka| mka.process);
        assert_eq!(
            (key(&status), process(&status), status.exchanges),
            (first.clone(), process(before), before.exchanges),
            "{status:?}"
        );
        assert!(
            status.up && status.peer_answers && status.trouble.is_none(),
            "{status:?}"
        );
    }
    assert_eq!(stage.status(PEER).eap.map(|eap| eap.not_rekeyed), Some(0));
}

#[test]
fn peer_and_authenticator_with_another_name_get_no_keys() {
    if !is_here() {
        return;
    }
    let another = Some("somebody-else");
    for (node, dns, reason) in [
        ("oru", another, Some("wrong-name")),
        ("odu", another, None),
        ("odu", None, None),
    ] {
        let mut stage = Stage::new(EAP);
        match dns {
            Some(name) => stage.issue(node, name),
            None => stage.issue_without_dns(node),
        }
        for end in [AUTHENTICATOR, PEER] {
            stage.start(end);
        }
        let status = stage.until(AUTHENTICATOR, "it is refused", |status| status.trouble.is_some());
        assert!(!status.up && status.keys == 0, "{status:?}");
        let refused = |stage: &Stage| {
            let recorded = stage.recorded(AUTHENTICATOR).into_iter();
            let mut refused = recorded.filter_map(|event| match event {
                Event::MacsecRefused(refused) => Some(*refused),
                _ => None,
            });
            refused.next()
        };
        let deadline = Instant::now() + LONG;
        let refused = loop {
            match refused(&stage) {
                Some(refused) => break refused,
                None => assert!(Instant::now() < deadline, "{:?}", stage.status(AUTHENTICATOR)),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        match reason {
            Some(reason) => assert_eq!(refused.reason, reason, "{refused:?}"),
            // wpa_supplicant refuses it, and its alert says so.
            None => assert!(refused.detail.contains("alert"), "{refused:?}"),
        }
        assert!(!stage.status(PEER).up);
    }
}

#[test]
fn peer_with_classical_groups_alone_is_refused() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(EAP);
    ip(&stage.hosts[PEER], &format!("link set {PORT} up\n"));
    stage.start(AUTHENTICATOR);
    let (conf, openssl, pid) = (
        stage.path("by-hand.conf"),
        stage.path("openssl.cnf"),
        stage.path("by-hand.pid"),
    );
    let at = |file: &str| stage.path(file).display().to_string();
    let text = format!(
        "eapol_version=3\nap_scan=0\nfast_reauth=0\nnetwork={{\nkey_mgmt=IEEE8021X\neapol_flags=0\nmacsec_policy=1\neap=TLS\nidentity=\"oru\"\n\
         ca_cert=\"{}\"\nclient_cert=\"{}\"\nprivate_key=\"{}\"\nphase1=\"tls_disable_tlsv1_3=0\"\n}}\n",
        at("ca/root.crt.pem"),
        at("oru/oru.crt.pem"),
        at("oru/oru.key.pem"),
    );
    fs::write(&conf, text).expect("a file");
    let classical = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nGroups = X25519:P-256\n";
    fs::write(&openssl, classical).expect("a file");
    let program = Program::new(stage.path("wpa_supplicant"))
        .environment("OPENSSL_CONF", &openssl)
        .inside(&stage.hosts[PEER])
        .arguments(["-B", "-D", "macsec_linux", "-i", PORT, "-c"])
        .argument(&conf)
        .argument("-P")
        .argument(&pid);
    let daemon = program.daemonize(&pid, LONG).unwrap_or_else(|error| panic!("{error}"));
    let status = stage.until(AUTHENTICATOR, "it is refused", |status| {
        status.trouble.as_ref().is_some_and(|said| said.contains("offers"))
    });
    daemon.end(Duration::from_secs(3));
    assert!(!status.up && status.exchanges == 0, "{status:?}");
    stage.kill(AUTHENTICATOR);
    let recorded = stage.recorded(AUTHENTICATOR);
    let refused = recorded.iter().find_map(|event| match event {
        Event::MacsecRefused(refused) => Some(refused),
        _ => None,
    });
    assert_eq!(refused.map(|refused| refused.reason.as_str()), Some("no-common-group"));
}

#[test]
fn controllers_that_are_killed_have_successors_that_keep_the_keys_and_lose_no_frame() {
    if !is_here() {
        return;
    }
    let mut stage = Stage::new(EAP);
    stage.both_up();
    let before = another(&stage, "");
    let processes = [AUTHENTICATOR, PEER].map(|end| stage.status(end).mka.and_then(|mka| mka.process));
    let load = Load::start(&stage, AUTHENTICATOR);
    for end in [AUTHENTICATOR, PEER] {
        stage.kill(end);
        std::thread::sleep(Duration::from_secs(1));
        stage.start(end);
        let after = stage.until(end, "the successor has the key", |status| {
            status.peer_answers && status.up
        });
        assert_eq!(
            (key(&after), after.mka.and_then(|mka| mka.process)),
            (before.clone(), processes[end])
        );
    }
    load.end_without_loss(1000);
    // A killed wpa_supplicant is started again.
    let process = stage.status(PEER).mka.and_then(|mka| mka.process).expect("it runs");
    Program::new("kill")
        .arguments(["-KILL", &process.to_string()])
        .run(LONG)
        .expect("it runs");
    another(&stage, &before);
    passes(&stage, PEER);
}
