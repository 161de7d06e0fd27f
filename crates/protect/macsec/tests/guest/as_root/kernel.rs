//! The kernel's MACsec by netlink, judged by frames and by a cipher of another make.

use std::time::{Duration, Instant};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bartizan_host::FrameSocket;
use bartizan_macsec::derive::{Direction, SECRET, Secret};
use bartizan_macsec::kernel::{Confidentiality, Replay, SecY, Settings, interface, set_up};
use bartizan_macsec::{An, Error, Sak};
use bartizan_registry::ethertype::{ECPRI, MACSEC};
use bartizan_registry::{MacsecSuite, macsec_suite_named};
use zeroize::Zeroizing;

use crate::boot::is_here;
use crate::stage::{DEVICE, LONG, PORT, Stage, ethertype, ip};

fn suite(name: &str) -> &'static MacsecSuite {
    macsec_suite_named(name).expect("a suite")
}

fn settings(name: &str, confidentiality: Confidentiality) -> Settings {
    Settings {
        suite: suite(name),
        confidentiality,
        replay: Replay::Window(0),
    }
}

fn sak(name: &str, an: An, secy: &SecY) -> Sak {
    let sci = secy.state().expect("a state").sci;
    Secret::new(Zeroizing::new([9; SECRET]))
        .chain(Direction::FromClient, suite(name))
        .take(an, sci)
}

/// A device at each end, and a key from the first to the second.
fn one_way(stage: &Stage, settings: &Settings, an: An) -> Sak {
    let make = |end: usize| {
        let make = || {
            SecY::create(DEVICE, &interface(PORT).expect("a port"), settings).unwrap_or_else(|error| panic!("{error}"))
        };
        stage.hosts[end].enter(make).expect("a namespace")
    };
    let (from, to) = (make(0), make(1));
    let sak = stage.hosts[0]
        .enter(|| sak(settings.suite.name, an, &from))
        .expect("a namespace");
    let sci = stage.hosts[0]
        .enter(|| from.state().expect("a state").sci)
        .expect("a namespace");
    let receive = || {
        set_up(to.interface()).expect("up");
        to.install_receive(sci, an, &sak)
            .unwrap_or_else(|error| panic!("{error}"));
    };
    stage.hosts[1].enter(receive).expect("a namespace");
    let transmit = || {
        set_up(from.interface()).expect("up");
        from.install_transmit(an, &sak)
            .unwrap_or_else(|error| panic!("{error}"));
        from.transmit_with(an).unwrap_or_else(|error| panic!("{error}"));
    };
    stage.hosts[0].enter(transmit).expect("a namespace");
    sak
}

fn send(stage: &Stage, payloads: &[&[u8]]) {
    let send = || {
        let mut socket = FrameSocket::open(DEVICE, [2, 0, 0, 0, 9, 9], ECPRI).expect("a socket");
        for payload in payloads {
            socket.send(payload).expect("sent");
        }
    };
    stage.hosts[0].enter(send).expect("a namespace");
}

fn state(stage: &Stage, end: usize) -> bartizan_macsec::kernel::State {
    let secy = stage.secy(end);
    stage.hosts[end]
        .enter(|| secy.state().expect("a state"))
        .expect("a namespace")
}

#[test]
fn frames_open_with_the_key_that_was_derived_and_by_a_cipher_that_is_not_the_kernel_s() {
    if !is_here() {
        return;
    }
    let stage = Stage::new("");
    let an = An::ALL[2];
    let sak = one_way(&stage, &settings("GCM-AES-256", Confidentiality::Encrypted), an);
    let sent: Vec<Vec<u8>> = (1..=5u8).map(|number| vec![number; 100]).collect();
    let frames = stage.leaving(0, || send(&stage, &sent.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    assert_eq!(frames.len(), 5);
    for (number, (frame, payload)) in frames.iter().zip(&sent).enumerate() {
        assert_eq!(ethertype(frame), MACSEC);
        // Addresses and SecTAG with SCI are authenticated; SCI and packet number make the nonce (IEEE 802.1AE, clauses 14.5 and 14.6).
        let (head, body) = frame.split_at(12 + 16);
        assert_eq!(head[14] & 3, an.number());
        assert_eq!(head[16..20], (number as u32 + 1).to_be_bytes());
        let nonce: [u8; 12] = [&head[20..28], &head[16..20]]
            .concat()
            .try_into()
            .expect("twelve octets");
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &sak.key).expect("a key"));
        let mut body = body.to_vec();
        let opened = key
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(head), &mut body)
            .expect("it opens");
        assert_eq!(opened[..2], ECPRI.to_be_bytes());
        assert_eq!(opened[2..], payload[..]);
    }
    let (from, to) = (state(&stage, 0), state(&stage, 1));
    assert_eq!(from.counters.sent_encrypted, 5);
    assert_eq!(to.counters.received, 5, "{to:?}");
    assert_eq!((from.transmit[&an].next_packet, from.transmit[&an].key), (6, sak.id));
    assert_eq!(to.channel(from.sci).expect("a channel").associations[&an].key, sak.id);
}

#[test]
fn every_suite_carries_frames_and_integrity_alone_leaves_them_readable() {
    if !is_here() {
        return;
    }
    for name in ["GCM-AES-128", "GCM-AES-256", "GCM-AES-XPN-128", "GCM-AES-XPN-256"] {
        for confidentiality in [Confidentiality::Encrypted, Confidentiality::IntegrityOnly] {
            let stage = Stage::new("");
            let settings = settings(name, confidentiality);
            one_way(&stage, &settings, An::ALL[0]);
            let frames = stage.leaving(0, || send(&stage, &[&[7; 64]]));
            let readable = frames[0].windows(64).any(|part| part == [7; 64]);
            assert_eq!(readable, confidentiality == Confidentiality::IntegrityOnly, "{name}");
            assert_eq!(ethertype(&frames[0]), MACSEC);
            let (from, to) = (state(&stage, 0), state(&stage, 1));
            assert_eq!(to.counters.received, 1, "{name}: {to:?}");
            assert_eq!(from.difference(&settings), None, "{name}: {from:?}");
            let other = Settings {
                replay: Replay::Window(64),
                ..settings
            };
            assert_eq!(from.difference(&other), Some("its replay protection"));
        }
    }
}

#[test]
fn replayed_and_forged_frames_and_those_without_a_key_are_dropped_and_counted() {
    if !is_here() {
        return;
    }
    let stage = Stage::new("");
    one_way(&stage, &settings("GCM-AES-256", Confidentiality::Encrypted), An::ALL[0]);
    let frames = stage.leaving(0, || send(&stage, &[&[1; 64], &[2; 64], &[3; 64]]));
    let inject = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = frames[0].clone();
        change(&mut frame);
        let source = frame[6..12].try_into().expect("an address");
        let before = state(&stage, 1).counters;
        let send = || {
            let mut socket = FrameSocket::open(PORT, source, ethertype(&frame)).expect("a socket");
            socket.send(&frame[14..]).expect("sent");
        };
        stage.hosts[0].enter(send).expect("a namespace");
        let deadline = Instant::now() + LONG;
        while state(&stage, 1).counters == before {
            assert!(Instant::now() < deadline, "it is not counted: {before:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
        state(&stage, 1).counters
    };
    assert_eq!(inject(&|_| ()).late, 1);
    // A packet number of the future: the sender would have to know the key.
    let forged = inject(&|frame| frame[19] = 200);
    assert_eq!((forged.not_valid, forged.late), (1, 1));
    let changed = inject(&|frame| (frame[19], frame[30]) = (201, frame[30] ^ 1));
    assert_eq!(changed.not_valid, 2);
    let without_key = inject(&|frame| (frame[14], frame[19]) = (frame[14] | 1, 202));
    assert_eq!(without_key.no_association, 1, "{without_key:?}");
    let unknown = inject(&|frame| frame[20] ^= 0xff);
    assert_eq!(unknown.unknown_channel, 1, "{unknown:?}");
    let plain = inject(&|frame| frame[12..14].copy_from_slice(&ECPRI.to_be_bytes()));
    assert_eq!((plain.no_tag, plain.received), (1, 3), "{plain:?}");
}

#[test]
fn keys_are_replaced_and_removed_and_what_is_wrong_says_so() {
    if !is_here() {
        return;
    }
    let stage = Stage::new("");
    let settings = settings("GCM-AES-256", Confidentiality::Encrypted);
    one_way(&stage, &settings, An::ALL[0]);
    let work = || {
        let secy = SecY::open(DEVICE, &interface(PORT).expect("a port"))
            .expect("a device")
            .expect("it is there");
        for an in An::ALL {
            let sak = sak("GCM-AES-256", an, &secy);
            secy.install_transmit(an, &sak)
                .unwrap_or_else(|error| panic!("{an}: {error}"));
            secy.transmit_with(an).expect("switched");
        }
        assert_eq!(secy.state().expect("a state").transmit.len(), 4);
        assert_eq!(secy.state().expect("a state").encoding, An::ALL[3]);
        for an in [An::ALL[0], An::ALL[1], An::ALL[1]] {
            secy.remove_transmit(an).unwrap_or_else(|error| panic!("{an}: {error}"));
        }
        assert_eq!(secy.state().expect("a state").transmit.len(), 2);
        let port = interface(PORT).expect("a port");
        let taken = SecY::create(DEVICE, &port, &settings).expect_err("it is there");
        assert!(matches!(taken, Error::DeviceTaken { .. }), "{taken}");
        let no_device = SecY::open("lo", &port).expect_err("no MACsec");
        assert_eq!(
            no_device.to_string(),
            "the interface lo is there and is no MACsec device"
        );
        assert!(SecY::open("none", &port).expect("asked").is_none());
        secy.clone().remove().expect("removed");
        let gone = secy.state().expect_err("gone");
        assert!(matches!(gone, Error::NoInterface(_)), "{gone}");
    };
    stage.hosts[0].enter(work).expect("a namespace");
    ip(&stage.hosts[1], &format!("link set {PORT} mtu 1500\n"));
    let small = || SecY::mtu_on(&interface(PORT).expect("a port"), Some(1500)).expect_err("too small");
    let small = stage.hosts[1].enter(small).expect("a namespace");
    assert!(small.to_string().contains("leaves 1468"), "{small}");
}
