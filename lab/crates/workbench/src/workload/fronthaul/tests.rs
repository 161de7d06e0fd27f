//! Every workload over a link that MACsec protects, one short trial of each; no time is judged.

use super::*;
use crate::workload::Observation;

mod as_root {
    use std::time::Duration;

    use bartizan_host::Namespace;
    use bartizan_machine::{Departures, EthernetSocket, Handed, Receives};
    use bartizan_testing::{Capture, Direction};
    use bartizan_wire::CaptureReader;

    use super::*;
    use crate::stand_in::fronthaul::frame::Tagging;
    use crate::stand_in::fronthaul::link::PORT;
    use crate::stand_in::fronthaul::{Frame, Kind as FrameKind};
    use crate::workload::trials::{trials, trials_with};

    const LONG: Duration = Duration::from_secs(300);
    const ALL: [&[(&str, &str)]; 5] = [
        &[("protection", "none")],
        &[("protection", "integrity-128")],
        &[("protection", "integrity-256")],
        &[("protection", "encrypted-128")],
        &[("protection", "encrypted-256")],
    ];

    /// The test runs itself again in a guest, whose kernel has MACsec.
    #[test]
    fn workloads_run_over_a_link_that_macsec_protects() {
        if !bartizan_testing::in_a_guest(&[]) {
            inside();
        }
    }

    fn inside() {
        every_frame_has_the_size_of_the_standard_and_arrives();
        a_capture_is_replayed_and_every_frame_of_it_arrives();
        times_of_frames_through_a_macsec_device_are_those_of_the_ports();
        frames_of_every_size_return();
        a_load_arrives_and_probes_between_its_frames();
        a_transfer_passes_by_every_mtu();
        every_datagram_has_the_size_of_esp_and_arrives();
        no_frame_is_lost_while_keys_change();
        daemons_change_the_key_by_interrupting_the_link();
        every_way_to_key_ends_with_a_protected_frame();
    }

    fn one(observation: &Observation, metric: &str) -> f64 {
        let [value] = observation.values[metric][..] else {
            panic!("{metric}: {:?}", observation.values[metric]);
        };
        value
    }

    /// A frame that left with another size, or readable, fails its trial.
    fn every_frame_has_the_size_of_the_standard_and_arrives() {
        let all = trials(&MIX, &[("lasting", 100), ("syncs", 100)], &with(&ALL, ("every", "8")));
        for (number, observation) in all.iter().enumerate() {
            let added = if number == 0 { 0.0 } else { 32.0 };
            for (metric, length) in [
                ("control-frame", 64.0),
                ("narrow-frame", 370.0),
                ("full-frame", 7678.0),
                ("sync-frame", 60.0),
            ] {
                assert_eq!(one(observation, metric), length + added, "{metric}");
            }
            // 25 slots with data, of 15 frames; 10 messages of PTP.
            assert_eq!(observation.values["frame"].len(), 25 * 15 + 10);
            for metric in ["control-lost", "user-lost", "sync-lost", "unprotected-frames"] {
                assert_eq!(one(observation, metric), 0.0, "{metric}");
            }
            for metric in [
                "control-delay",
                "user-delay",
                "sync-delay",
                "user-out",
                "user-wire",
                "user-in",
                "lag",
            ] {
                assert!(!observation.values[metric].is_empty(), "{metric}");
                assert!(observation.values[metric].iter().all(|value| *value >= 0.0), "{metric}");
            }
        }
    }

    /// A frame that returns changed fails its trial.
    fn frames_of_every_size_return() {
        for size in ["64", "7678", "9000"] {
            for observation in trials(&ECHO, &[("frames", 5)], &with(&ALL, ("size", size))) {
                for metric in ["half-round-trip", "one-way", "out", "wire", "in"] {
                    let values = &observation.values[metric];
                    assert!(
                        values.len() == 5 && values.iter().all(|value| *value >= 0.0),
                        "{size} {metric}: {values:?}"
                    );
                }
            }
        }
    }

    fn a_load_arrives_and_probes_between_its_frames() {
        let levels: [&[(&str, &str)]; 3] = [
            &[("protection", "none"), ("offered", "50"), ("probe", "300")],
            &[("protection", "encrypted-128"), ("offered", "50"), ("probe", "8172")],
            &[("protection", "encrypted-256"), ("offered", "0")],
        ];
        let [unprotected, encrypted, most] = &trials(&LOAD, &[("lasting", 300)], &levels)[..] else {
            panic!("one of each");
        };
        for observation in [unprotected, encrypted] {
            assert_eq!((one(observation, "lost"), one(observation, "probes-lost")), (0.0, 0.0));
            assert!(observation.values["probe-delay"].len() > 50);
            assert!(one(observation, "achieved") > 0.0 && one(observation, "cpu") > 0.0);
        }
        assert!(!most.values.contains_key("probe-delay"));
        assert!(one(most, "achieved") > 0.0);
    }

    fn a_transfer_passes_by_every_mtu() {
        let given = vec![("megabytes", 0.5.into())];
        for mtu in ["1400", "9000"] {
            for observation in trials_with(&TRANSFER, given.clone(), &with(&ALL, ("mtu", mtu))) {
                assert!(one(&observation, "time") > 0.0 && one(&observation, "throughput") > 0.0);
            }
        }
    }

    /// A packet that leaves with another size than that of RFC 4303 fails its trial.
    fn every_datagram_has_the_size_of_esp_and_arrives() {
        let names = ["none", "aes128-cbc-sha512", "aes192-cbc-sha384", "aes256-gcm"];
        let levels = names.map(|name| [("protection", name), ("every", "16")]);
        let levels = levels.each_ref().map(|levels| &levels[..]);
        for observation in trials(&IPSEC, &[("lasting", 200)], &levels) {
            assert_eq!(
                (one(&observation, "lost"), one(&observation, "unprotected-packets")),
                (0.0, 0.0)
            );
            // 25 slots with data, each with 3 narrow frames and 11 full ones, of which a tenth warms up.
            assert_eq!(observation.values["user-delay"].len(), (75 - 7) + (275 - 27));
            assert!(one(&observation, "achieved") > 10.0 && one(&observation, "jitter") >= 0.0);
        }
        // As many as the kernel takes, keyed by two charons.
        let levels: [&[(&str, &str)]; 1] = [&[("protection", "ike-x25519-ke1_mlkem768"), ("every", "0")]];
        let flood = trials(&IPSEC, &[("lasting", 200)], &levels).remove(0);
        assert!(one(&flood, "achieved") > 10.0 && one(&flood, "unprotected-packets") == 0.0);
        let keys = flood.facts["keys"].as_str().unwrap();
        assert!(keys.contains("x25519-ke1_mlkem768"), "{keys}");
    }

    fn no_frame_is_lost_while_keys_change() {
        let given = [("rekeys", 3), ("lasting", 1500), ("gap", 2000)];
        let levels: [&[(&str, &str)]; 3] = [&[("rekeys", "none")], &[("rekeys", "derived")], &[("rekeys", "fresh")]];
        // One exchange for the first key, and for each of `fresh` another.
        let expected = [(0, 1), (3, 1), (3, 4)];
        for (observation, (rekeys, exchanges)) in trials(&REKEY, &given, &levels).iter().zip(expected) {
            for metric in ["lost", "out-of-order", "unprotected-frames"] {
                assert_eq!(one(observation, metric), 0.0, "{metric}");
            }
            assert_eq!(one(observation, "rekeys"), f64::from(rekeys));
            assert_eq!(observation.facts["exchanges"], exchanges);
            assert_eq!(observation.values["interruption"].len(), rekeys as usize);
            assert!(observation.values["delay"].len() > 500);
            let keys = observation.facts["keys"].as_str().unwrap();
            assert!(keys.contains("X25519MLKEM768"), "{keys}");
        }
    }

    /// wpa_supplicant begins anew for every key: frames are lost for some seconds, and none leaves
    /// unprotected. Both ways at once, for they wait for clocks.
    fn daemons_change_the_key_by_interrupting_the_link() {
        let changed = |keying| {
            let levels: [&[(&str, &str)]; 1] = [&[("rekeys", "fresh"), ("keying", keying)]];
            trials(&REKEY, &[("rekeys", 1), ("lasting", 0), ("gap", 2000)], &levels).remove(0)
        };
        let [mka, eap] = std::thread::scope(|scope| {
            let both = ["mka", "eap-tls"].map(|keying| scope.spawn(move || changed(keying)));
            both.map(|trial| trial.join().unwrap())
        });
        for observation in [&mka, &eap] {
            let (lost, interruption) = (one(observation, "lost"), one(observation, "interruption"));
            assert!(one(observation, "rekeys") >= 1.0 && one(observation, "unprotected-frames") == 0.0);
            assert!(lost > 0.0 && interruption > 100.0, "{lost} {interruption}");
            assert!(!observation.values["delay"].is_empty());
            assert_eq!(observation.facts["keys"], "X25519MLKEM768, mldsa65");
            println!("{lost} lost, {interruption} ms: {:?}", observation.facts);
        }
        assert!(!mka.facts.contains_key("not-rekeyed") && eap.facts.contains_key("not-rekeyed"));
    }

    fn every_way_to_key_ends_with_a_protected_frame() {
        let levels: [&[(&str, &str)]; 4] = [
            &[("keying", "direct"), ("algorithms", "hybrid"), ("round-trip", "10")],
            &[("keying", "direct"), ("algorithms", "classical"), ("round-trip", "0")],
            &[("keying", "mka"), ("algorithms", "hybrid"), ("round-trip", "0")],
            &[("keying", "eap-tls"), ("algorithms", "hybrid"), ("round-trip", "0")],
        ];
        let all = trials(&KEYING, &[], &levels);
        for (observation, levels) in all.iter().zip(&levels) {
            assert_eq!(one(observation, "unprotected-frames"), 0.0, "{levels:?}");
            let keys = observation.facts["keys"].as_str().unwrap();
            let expected = match levels[1].1 {
                "hybrid" => "X25519MLKEM768, mldsa65",
                _ => "x25519, ecdsa_secp256r1_sha256",
            };
            assert_eq!(keys, expected, "{levels:?}");
            println!("{levels:?}: {:?}", observation.values);
        }
        let [delayed, classical, mka, eap] = &all[..] else {
            panic!("one of each");
        };
        // Two round trips of TLS, and the installation of the key, which is confirmed.
        assert!(one(delayed, "first-protected") >= 20.0);
        assert!(one(classical, "keying-bytes") < one(delayed, "keying-bytes"));
        // Two chains of ML-DSA-65, two signatures: each fragment is answered.
        assert!(one(eap, "keying-bytes") > 15_000.0 && one(eap, "round-trips") > 10.0);
        assert!(one(mka, "keying-frames") > 4.0);
    }

    /// The capture is of a link of wpa_supplicant and ptp4l: eCPRI outside of MACsec, and PTP.
    fn a_capture_is_replayed_and_every_frame_of_it_arrives() {
        let file =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/prove/wire/tests/data/macsec.pcap");
        let given = vec![("capture", file.to_str().unwrap().into()), ("faster", 1000.into())];
        for observation in trials_with(&REPLAY, given, &ALL[..4]) {
            for metric in ["control-lost", "user-lost", "sync-lost", "unprotected-frames"] {
                assert_eq!(one(&observation, metric), 0.0, "{metric}");
            }
            assert!(observation.values["frame"].len() > 30);
            assert!(observation.values["control-delay"].len() > 5);
        }
    }

    /// A frame leaves its port encrypted and comes in encrypted: what the kernel says of both
    /// moments has no cipher in between.
    fn times_of_frames_through_a_macsec_device_are_those_of_the_ports() {
        let folder = tempfile::tempdir().unwrap();
        let mut link = Link::make(PORT_MTU).unwrap();
        link.protect(Protection::named("encrypted-256").unwrap()).unwrap();
        let [leaving, coming] = [
            ("leaving", link.du(), Direction::Outbound),
            ("coming", link.ru(), Direction::Inbound),
        ]
        .map(|(name, end, direction)| Capture::start(Some(end), PORT, folder.path().join(name), direction).unwrap());
        let open = |end: &Namespace, receives, departures| {
            let open = || EthernetSocket::open(link.interface(), receives, departures);
            end.enter(open).unwrap().unwrap()
        };
        let source = open(link.du(), Receives::Nothing, Departures::Stamped);
        let sink = open(link.ru(), Receives::All, Departures::Unstamped);
        let (mut frame, mut buffer, mut times) = (Vec::new(), vec![0; 10_000], Vec::new());
        for number in 0..20 {
            let one = Frame {
                kind: FrameKind::Full,
                number,
                slot: 0,
                symbol: 0,
                antenna: 0,
            };
            one.write(Tagging::Tagged, &mut frame);
            assert_eq!(source.send(&frame).unwrap(), Handed::Taken);
            let arrival = sink.receive(&mut buffer, LONG).unwrap().expect("it arrives");
            let departure = source.departure().unwrap().expect("it has left");
            times.push((departure.at, arrival.at.expect("a capture has the kernel take times")));
        }
        let [left, arrivals] = [leaving, coming].map(|capture| {
            let path = capture.path().to_owned();
            assert!(capture.stop().unwrap().complete());
            let (mut reader, mut seen) = (CaptureReader::new(), Vec::new());
            reader.push(&std::fs::read(path).unwrap());
            while let Some(packet) = reader.next_packet().unwrap() {
                assert_eq!(
                    (packet.original_length, &packet.data[12..14]),
                    (7678 + 32, &[0x88, 0xe5][..])
                );
                seen.push(Duration::from_nanos(packet.time.0));
            }
            seen
        });
        assert_eq!((left.len(), arrivals.len()), (times.len(), times.len()));
        for ((departed, arrived), (left, reached)) in times.iter().zip(left.iter().zip(&arrivals)) {
            assert_eq!(arrived, reached, "the port's arrival, to the nanosecond");
            assert!(
                left <= departed && departed <= reached,
                "{left:?} {departed:?} {reached:?}"
            );
        }
    }

    /// Each combination with one more level.
    fn with(
        all: &[&'static [(&'static str, &'static str)]],
        more: (&'static str, &'static str),
    ) -> Vec<&'static [(&'static str, &'static str)]> {
        all.iter()
            .map(|levels| -> &'static [_] { levels.iter().copied().chain([more]).collect::<Vec<_>>().leak() })
            .collect()
    }
}

#[test]
fn every_protection_has_a_suite_or_is_none() {
    for name in protection::NAMES {
        let known = Protection::named(name).unwrap();
        assert_eq!(known.suite().is_none(), *name == "none", "{name}");
        let added = known.on_the_wire(7678).unwrap() - 7678;
        assert_eq!(added, if *name == "none" { 0 } else { 32 });
    }
    assert_eq!(Protection::named("gcm"), None);
}
