//! Delivered messages, packets on the cable, and the fate of associations after faults.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Listener, Ordering, Streams};
use bartizan_host::{LabRoot, Program};
use bartizan_ledger::Direction;
use bartizan_testing::Impairment;
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{Tshark, eventually};

mod costs;
mod faults;
mod handover;
mod interfaces;
mod ngap;
mod outage;

use crate::boot::is_here;
use crate::function::{Function, Message, Seen, accept, listen, opening, poll};
use crate::recorded::{self, Speaker};
use crate::stage::{CARRIERS, PATIENCE, Stage, deployment, forward, listener, protocols};

const ANY: &str = "127.0.0.1:0";

fn message(stream: u16, protocol: u32, length: usize) -> Message {
    let octets = (0..length).map(|at| (at + usize::from(stream)) as u8).collect();
    (stream, protocol, Ordering::Ordered, octets)
}

#[test]
fn messages_pass_with_stream_ppid_order_and_boundaries_and_only_the_carrier_is_on_the_cable() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let capture = stage.capture();
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let function = Function::open(&stage.gnb, ANY, listener(), opening(30, 20));
        let other = accept(&waiting);
        // As many streams as the function asked for, of those that the other one has.
        let counts = |outbound, inbound| Streams { outbound, inbound };
        assert_eq!(function.streams(), counts(30, 20));
        assert_eq!(other.streams(), counts(20, 30));

        let mut there: Vec<Message> = (0..300)
            .map(|number| message(number % 30, 60, 19 + usize::from(number)))
            .collect();
        // E2 Setup of FlexRIC: no payload protocol identifier, and more than a packet.
        there.push(message(0, 0, 2809));
        there.push(message(29, u32::MAX, 200_000));
        there.push((7, 60, Ordering::Unordered, vec![7; 165]));
        for message in &there {
            function.send(message);
            assert_eq!(other.next(), Seen::Message(message.clone()));
        }
        let back: Vec<Message> = (0..100).map(|number| message(number % 20, 60, 1000)).collect();
        back.iter().for_each(|message| other.send(message));
        let mut received: Vec<Message> = (0..100)
            .map(|_| match function.next() {
                Seen::Message(message) => message,
                seen => panic!("{seen:?}"),
            })
            .collect();
        // Streams may overtake each other, messages of one may not.
        let key = |message: &Message| message.0;
        let mut expected = back.clone();
        expected.sort_by_key(key);
        received.sort_by_key(key);
        assert_eq!(received, expected);

        // While it lives: what has passed, and over which connection.
        let passed = "association_messages_total{side=\"outbound\",peer=\"amf\",direction=\"sent\"} 303";
        eventually("what has passed is counted", || {
            stage.admin("gnb", "/metrics")?.contains(passed).then_some(())
        });
        let shown = stage.admin("amf", "/connections").unwrap();
        let shown: serde_json::Value = serde_json::from_str(shown.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let shown = &shown["associations"][0];
        assert_eq!(
            (&shown["messages_received"], &shown["streams"]["outbound"]),
            (&303.into(), &30.into())
        );

        // An echo over a carrier of its own, next to the association.
        let status = Program::new(env!("CARGO_BIN_EXE_bartizan")).argument("status");
        let status = status
            .argument(stage.path("net.yaml"))
            .arguments(["--node", "gnb", "--probe", "--json"]);
        let finished = status.inside(&stage.gnb).start().unwrap().finish(PATIENCE).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&finished.stdout).unwrap();
        let (code, result) = if carrier == "quic" { (1, "none") } else { (0, "passed") };
        assert_eq!(finished.status.code(), Some(code), "{report}");
        assert_eq!(report["echoes"][0]["result"], result, "{report}");

        function.shut_down();
        assert_eq!(other.next(), Seen::ShutDown);
        let [ours, theirs] = ["gnb", "amf"].map(|node| stage.ended_after(node, 0));
        assert_eq!((ours.ending.as_str(), theirs.ending.as_str()), ("shutdown", "shutdown"));
        for ended in [&ours, &theirs] {
            let streams = ended.streams.as_ref().expect("known to the end");
            assert_eq!((streams.outbound, streams.inbound), (30, 20));
        }
        assert_eq!((ours.messages.sent, ours.messages.received), (303, 100));
        assert_eq!((theirs.messages.sent, theirs.messages.received), (100, 303));
        assert_eq!((ours.unacknowledged, ours.undelivered, theirs.undelivered), (0, 0, 0));
        assert_eq!(
            (ours.direction, theirs.direction),
            (Direction::Outbound, Direction::Inbound)
        );
        assert!(ours.key.is_some() && ours.key == theirs.key);
        let handshakes = stage.handshakes("gnb");
        let handshake = handshakes.iter().find(|one| one.key == ours.key).unwrap();
        let negotiated = handshake.negotiated.as_ref().unwrap();
        assert_eq!(
            (handshake.interface.as_str(), negotiated.group.name.as_str()),
            ("N2", "X25519MLKEM768")
        );
        assert_eq!(negotiated.peer_signature.as_ref().unwrap().name, "mldsa65");
        let metrics = stage.admin("gnb", "/metrics").unwrap();
        assert!(
            metrics
                .contains("bartizan_sidecar_associations_total{side=\"outbound\",peer=\"amf\",ending=\"shutdown\"} 1"),
            "{metrics}"
        );

        let path = capture.path().to_owned();
        assert!(capture.stop().unwrap().complete());
        let protocols = protocols(&path);
        let (seen, other) = if carrier == "quic" { (17, 6) } else { (6, 17) };
        assert!(protocols[&seen] > 100, "{protocols:?}");
        assert_eq!(protocols.get(&other), None, "{protocols:?}");
        assert_eq!(protocols.get(&132), None, "SCTP left a host unencrypted: {protocols:?}");

        // Evidence in the capture, without and with the ledger.
        let inspect = |more: &[&str]| {
            let program = Program::new(env!("CARGO_BIN_EXE_bartizan"));
            let program = program.arguments(["inspect", "--json"]).argument(&path).arguments(more);
            let finished = program.start().unwrap().finish(PATIENCE).unwrap();
            serde_json::from_slice::<serde_json::Value>(&finished.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&finished.stderr)))
        };
        let [ours, theirs] = ["gnb.jsonl", "amf.jsonl"].map(|ledger| stage.path(ledger).display().to_string());
        let report = inspect(&["--ledger", &ours, "--ledger", &theirs]);
        let link = &report["files"][0]["links"][0];
        assert_eq!(link["interface"]["name"], "N2");
        assert!(link["in_ledger"].as_u64() >= Some(2), "{link}");
        if carrier == "quic" {
            quic_is_judged(&report, &inspect(&[]), &path);
        }
    }
}

/// A capture of QUIC shows the group to any reader; the signature is known only with a ledger.
fn quic_is_judged(with_ledger: &serde_json::Value, without: &serde_json::Value, capture: &Path) {
    for (report, authenticity) in [(with_ledger, "quantum-safe"), (without, "not observable")] {
        let all = report["files"][0]["connections"].as_array().unwrap();
        let carriers: Vec<_> = all
            .iter()
            .filter(|one| one["datagrams"]["protocol"] == "QUIC")
            .collect();
        // The one that carried the association and the one that is ready for the next, or more
        // where that one was silent and replaced.
        assert!(carriers.len() >= 2, "{}", carriers.len());
        assert_eq!(
            all.len(),
            carriers.len(),
            "something is left over: {:?}",
            all.iter().map(|one| &one["kind"]).collect::<Vec<_>>()
        );
        let safe = |one: &&&serde_json::Value| one["confidentiality"]["verdict"] == "quantum-safe";
        assert!(carriers.iter().any(|one| safe(&one)), "{carriers:?}");
        for one in carriers {
            // Without a ledger one that was never used may have been refused.
            let unused = authenticity == "not observable" && one["confidentiality"]["verdict"] == "not seen";
            assert!(safe(&&one) || unused, "{one}");
            assert_eq!(one["authenticity"]["verdict"], authenticity, "{one}");
            assert_eq!(one["datagrams"]["quic"]["group"]["name"], "X25519MLKEM768", "{one}");
        }
    }
    // Another reader of the same packets: QUIC, in which it can name nothing without keys.
    let protocols = Tshark::new().values(capture, "udp", "_ws.col.protocol");
    assert!(
        protocols.len() > 100 && protocols.iter().all(|name| name == "QUIC"),
        "{protocols:?}"
    );
    assert_eq!(Tshark::new().values(capture, "sctp || ngap", "frame.number"), [""; 0]);
}

#[test]
fn recorded_exchanges_of_n2_and_e2_pass_byte_for_byte_with_their_streams_and_ppids() {
    // For socat, which the guest finds where it is.
    LabRoot::trixie().unwrap().ensure(&mut |_| {}).unwrap();
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        // Associations are the first worker's, however many there are.
        let start = |node| stage.start_with(node, "net.yaml", &["--workers", "3"]);
        let (_amf, _gnb) = (start("amf"), start("gnb"));
        let waiting = listen(&stage.amf, forward());
        for (number, (capture, port, protocol)) in [
            ("n2-free5gc-two-registrations.pcap", 38_412, 60),
            ("e2-flexric-kpm.pcap", 36_421, 0),
        ]
        .into_iter()
        .enumerate()
        {
            let messages = recorded::messages(capture, port);
            assert!(messages.len() >= 10, "{}", messages.len());
            assert!(messages.iter().all(|(_, message)| message.1 == protocol));
            let function = Function::open(&stage.gnb, ANY, listener(), opening(30, 30));
            let other = accept(&waiting);
            for (speaker, message) in &messages {
                let (says, hears) = match speaker {
                    Speaker::Initiator => (&function, &other),
                    Speaker::Responder => (&other, &function),
                };
                says.send(message);
                assert_eq!(hears.next(), Seen::Message(message.clone()));
            }
            function.shut_down();
            assert_eq!(other.next(), Seen::ShutDown);
            let ended = stage.ended_after("gnb", number);
            assert_eq!(ended.messages.sent + ended.messages.received, messages.len() as u64);
            assert_eq!((ended.ending.as_str(), ended.unacknowledged), ("shutdown", 0));
        }
        let open = || {
            (
                Function::open(&stage.gnb, ANY, listener(), opening(4, 4)),
                accept(&waiting),
            )
        };
        let several: Vec<_> = std::iter::repeat_with(open).take(6).collect();
        for round in 0..20 {
            for (function, other) in &several {
                function.send(&message(round % 4, 60, 100));
                assert_eq!(other.next(), Seen::Message(message(round % 4, 60, 100)));
                other.send(&message(1, 60, 200));
                assert_eq!(function.next(), Seen::Message(message(1, 60, 200)));
            }
        }
    }
}

#[test]
fn an_abort_a_restart_and_an_absent_function_reach_the_other_end() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));

        // No function listens behind the AMF's sidecar.
        Function::opens_in_vain(&stage.gnb, ANY, listener(), opening(10, 10));
        let ended = stage.ended_after("gnb", 0);
        assert_eq!(ended.ending, "peer-aborted");
        assert!(
            ended.detail.contains("127.0.0.5:38412 was not reached"),
            "{}",
            ended.detail
        );

        // An abort in the middle of a flood.
        let waiting = listen(&stage.amf, forward());
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        let other = accept(&waiting);
        let before = message(0, 60, 165);
        function.send(&before);
        assert_eq!(other.next(), Seen::Message(before));
        function.abort();
        assert_eq!(other.next(), Seen::Lost);
        assert_eq!(stage.ended_after("gnb", 1).ending, "aborted");
        assert_eq!(stage.ended_after("amf", 1).ending, "peer-aborted");

        // The other direction.
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        accept(&waiting).abort();
        assert_eq!(function.next(), Seen::Lost);

        // 65,535 streams are asked for, and fewer granted, as by any peer of SCTP; each end knows how many.
        let function = Function::open(&stage.gnb, ANY, listener(), opening(65_535, 65_535));
        let other = accept(&waiting);
        let granted = function.streams();
        assert!(granted.outbound >= 32 && granted.outbound < 1000, "{granted:?}");
        // One that the other function has not is not moved to another: both ends learn it.
        function.send(&message(granted.outbound - 1, 60, 20));
        assert_eq!(other.next(), Seen::Lost);
        assert_eq!(function.next(), Seen::Lost);
        let ended = stage.ended_after("amf", 3);
        assert_eq!(ended.ending, "no-stream");
    }
}

/// On a path of 1280 octets with loss and reordering, many streams at once.
#[test]
fn messages_arrive_once_and_in_order_on_a_narrow_path_that_loses_and_reorders() {
    const STREAMS: u16 = 30;
    const MESSAGES: u32 = 6000;
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::on_a_path_of(1280, carrier);
        // Jitter above the pause between packets: they overtake each other.
        let impairment = Impairment {
            delay: Duration::from_millis(2),
            jitter: Duration::from_millis(1),
            loss_percent: 1.0,
            ..Impairment::default()
        };
        for space in [&stage.gnb, &stage.amf] {
            space.impair("n2", &impairment).unwrap();
        }
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let function = Function::open(&stage.gnb, ANY, listener(), opening(STREAMS, STREAMS));
        let other = accept(&waiting);
        let mut next = vec![0_u32; usize::from(STREAMS)];
        let mut unordered = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..MESSAGES {
                    let stream = (number % u32::from(STREAMS)) as u16;
                    // The number, in a message of 19 to 1,900 octets, and now and then of more than 64 kB.
                    let length = if number % 1000 == 999 {
                        70_000
                    } else {
                        19 + (number as usize * 7) % 1881
                    };
                    let mut octets = number.to_be_bytes().to_vec();
                    octets.resize(length, stream as u8);
                    let order = if number % 10 == 3 {
                        Ordering::Unordered
                    } else {
                        Ordering::Ordered
                    };
                    function.send(&(stream, 60, order, octets));
                }
            });
            for _ in 0..MESSAGES {
                let (stream, protocol, order, octets) = match other.next() {
                    Seen::Message(message) => message,
                    seen => panic!("{seen:?}"),
                };
                let number = u32::from_be_bytes(octets[..4].try_into().unwrap());
                assert_eq!((protocol, number % u32::from(STREAMS)), (60, u32::from(stream)));
                match order {
                    Ordering::Ordered => {
                        let expected = &mut next[usize::from(stream)];
                        assert!(number >= *expected, "{number} after {expected} on stream {stream}");
                        *expected = number + 1;
                    }
                    Ordering::Unordered => unordered += 1,
                }
            }
        });
        assert_eq!(unordered, MESSAGES / 10);
        function.shut_down();
        assert_eq!(other.next(), Seen::ShutDown);
        let ended = stage.ended_after("gnb", 0);
        assert_eq!(
            (ended.ending.as_str(), ended.messages.sent, ended.unacknowledged),
            ("shutdown", u64::from(MESSAGES), 0)
        );
        // Each arrived once: as many as were sent, and none that came twice would be in order.
        assert_eq!(stage.ended_after("amf", 0).messages.received, u64::from(MESSAGES));
    }
}

#[test]
fn a_function_that_restarts_its_association_gets_a_new_one_at_the_other_end() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let from = "127.0.0.1:40000";
        let first = Function::open(&stage.gnb, from, listener(), opening(10, 10));
        let other = accept(&waiting);
        first.send(&message(0, 60, 100));
        assert!(matches!(other.next(), Seen::Message(_)));
        // Acknowledged as well: an acknowledgement that comes after the abort would be answered by another one.
        eventually("it is acknowledged", || first.is_acknowledged().then_some(()));
        // Its ABORT does not arrive: for the sidecar the association stands until INIT comes from the same port.
        let loopback = |state: &str| {
            let set = Program::new("ip").arguments(["link", "set", "lo", state]);
            set.inside(&stage.gnb).run(PATIENCE).unwrap();
        };
        loopback("down");
        first.abort();
        loopback("up");
        let second = Function::open(&stage.gnb, from, listener(), opening(4, 4));
        assert_eq!(other.next(), Seen::Lost);
        let again = accept(&waiting);
        assert_eq!(
            again.streams(),
            Streams {
                outbound: 4,
                inbound: 4
            }
        );
        let setup = message(3, 60, 165);
        second.send(&setup);
        assert_eq!(again.next(), Seen::Message(setup.clone()));
        again.send(&setup);
        assert_eq!(second.next(), Seen::Message(setup));
        assert!(stage.associations("gnb").is_empty(), "the carrier is the same");
    }
}

#[test]
fn a_flood_to_a_function_that_does_not_read_is_held_back_and_then_delivered_whole() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (amf, gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        let other = accept(&waiting);
        let flood = message(3, 60, 1000);
        let before = [&amf, &gnb].map(|node| bartizan_testing::resident(node.process.id()));
        let sent = function.flood(&flood);
        assert!(
            (100..20_000).contains(&sent),
            "{sent} messages of 1000 octets were taken"
        );
        let after = [&amf, &gnb].map(|node| bartizan_testing::resident(node.process.id()));
        for (before, after) in before.iter().zip(after) {
            assert!(after < before + 8 * 1024 * 1024, "from {before} to {after} octets");
        }
        // The other direction is not held up.
        let answer = message(1, 60, 20);
        other.send(&answer);
        assert_eq!(function.next(), Seen::Message(answer));
        for _ in 0..sent {
            assert_eq!(other.next(), Seen::Message(flood.clone()));
        }
        function.shut_down();
        assert_eq!(other.next(), Seen::ShutDown);
        let ended = stage.ended_after("gnb", 0);
        assert_eq!((ended.messages.sent, ended.unacknowledged), (sent as u64, 0));
    }
}

#[test]
fn a_peer_node_that_is_killed_or_silent_ends_associations_and_a_new_one_serves_again() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let patience = deployment("hybrid", carrier).replace("with: gateway", "with: gateway, patience: 9s");
        stage.write("net.yaml", &patience);
        let (mut amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let mut pair = (
            Function::open(&stage.gnb, ANY, listener(), opening(10, 10)),
            accept(&waiting),
        );
        // A message through it shows that both ends have opened it.
        let answer = message(0, 60, 165);
        pair.1.send(&answer);
        assert_eq!(pair.0.next(), Seen::Message(answer.clone()));
        amf.process.send(libc_signal::KILL);
        assert_eq!(pair.0.next(), Seen::Lost);
        // Its kernel ends the associations of a process that is gone.
        assert!(matches!(pair.1.next(), Seen::Lost | Seen::ShutDown));
        // TCP's end is seen at once; UDP has none, and nothing is heard.
        let ending = if carrier == "quic" { "silent" } else { "carrier-lost" };
        assert_eq!(stage.ended_after("gnb", 0).ending, ending);
        // Nothing leads there now, and no function waits for it.
        Function::opens_in_vain(&stage.gnb, ANY, listener(), opening(10, 10));
        let ending = stage.ended_after("gnb", 1).ending;
        // A connection that was kept ready may not be known to be dead yet: over QUIC by silence
        // alone, over TLS until its own end has been read.
        let known = ["no-carrier", "not-opened", "carrier-lost"];
        assert!(known.contains(&ending.as_str()), "{ending}");

        // Until it is gone it has its addresses.
        eventually("it is gone", || amf.process.ended().expect("a child of ours"));
        let amf = stage.start("amf");
        pair = again(&stage, &waiting);
        pair.1.send(&answer);
        assert_eq!(pair.0.next(), Seen::Message(answer));
        let mut amf = amf;
        amf.process.send(libc_signal::STOP);
        let began = Instant::now();
        assert_eq!(pair.0.next(), Seen::Lost);
        // Not before the stated time, in which a busy peer may be late.
        assert!(began.elapsed() > Duration::from_secs(5), "{:?}", began.elapsed());
        eventually("its ledger says why", || {
            let ended = stage.associations("gnb").into_iter().skip(2);
            ended.last().is_some_and(|one| one.ending == "silent").then_some(())
        });
        amf.process.send(libc_signal::CONTINUE);
        assert!(matches!(pair.1.next(), Seen::Lost | Seen::ShutDown));
    }
}

/// A new association through sidecars that have just been started: the first ones may come before
/// one has found the other.
fn again(stage: &Stage, waiting: &Listener) -> (Function, Function) {
    static ATTEMPTS: AtomicUsize = AtomicUsize::new(100);
    eventually("the association comes about", || {
        let function = Function::try_open(&stage.gnb, ANY, listener(), opening(10, 10))?;
        // An association left over from a failed attempt does not receive this message.
        let call = message(0, 60, ATTEMPTS.fetch_add(1, Relaxed));
        if !function.try_send(&call) {
            return None;
        }
        loop {
            if let Some(other) = poll(waiting)
                && other.next() == Seen::Message(call.clone())
            {
                return Some((function, other));
            }
            if function.next_within(Duration::from_millis(20)).is_some() {
                return None;
            }
        }
    })
}

/// Waits until a program listens where the AMF's sidecar looks for its function.
fn listens_behind_the_amf(stage: &Stage) {
    eventually("it listens", || {
        let read = || std::fs::read_to_string("/proc/thread-self/net/sctp/eps");
        let endpoints = stage.amf.enter(read).unwrap().ok()?;
        endpoints.contains("127.0.0.5").then_some(())
    });
}

/// Numbers of signal(7) on every architecture of ours.
mod libc_signal {
    pub(super) const RELOAD: i32 = 1;
    pub(super) const KILL: i32 = 9;
    pub(super) const STOP: i32 = 19;
    pub(super) const CONTINUE: i32 = 18;
}

#[test]
fn nothing_passes_to_a_peer_that_offers_classical_or_whose_certificate_was_or_is_revoked() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let mut stage = Stage::new(carrier);
        let mut amf = stage.start("amf");
        let waiting = listen(&stage.amf, forward());
        let capture = stage.capture();
        stage.write(
        "classical.yaml",
        &deployment(
            "{ profile: classical, lab: true, groups: [x25519], signatures: [mldsa65], chain-signatures: [mldsa65] }",
            carrier,
        ),
    );
        let gnb = stage.start_by("gnb", "classical.yaml");
        Function::opens_in_vain(&stage.gnb, ANY, listener(), opening(10, 10));
        assert_eq!(stage.ended_after("gnb", 0).ending, "no-carrier");
        refuses(&stage, "no-common-group");
        gnb.process.terminate(PATIENCE).unwrap();

        // One that is open when its peer's certificate is revoked ends with the reload of the list.
        let gnb = stage.start("gnb");
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        let other = accept(&waiting);
        let before = message(0, 60, 165);
        other.send(&before);
        assert_eq!(function.next(), Seen::Message(before));
        stage.revoke("gnb");
        amf.process.send(libc_signal::RELOAD);
        assert_eq!(function.next(), Seen::Lost);
        assert_eq!(other.next(), Seen::Lost);
        eventually("the ledger says why", || {
            let ended = stage.associations("amf").pop()?;
            (ended.ending == "dismissed").then_some(())
        });
        gnb.process.terminate(PATIENCE).unwrap();

        amf.process.terminate(PATIENCE).unwrap();
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        Function::opens_in_vain(&stage.gnb, ANY, listener(), opening(10, 10));
        refuses(&stage, "revoked");
        assert!(waiting.accept().is_err(), "an association reached the function");
        let path = capture.path().to_owned();
        assert!(capture.stop().unwrap().complete());
        assert_eq!(protocols(&path).get(&132), None);
    }
}

/// Waits until the AMF's ledger has a handshake refused for this reason.
fn refuses(stage: &Stage, wanted: &str) {
    eventually("a refusal is recorded", || {
        let mut reasons = stage.refusals("amf").into_iter();
        reasons.any(|reason| reason == wanted).then_some(())
    });
}

#[test]
fn programs_of_lksctp_tools_talk_through_two_sidecars() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let root = LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let sctp_test = || root.command("sctp_test").unwrap();
        let server = sctp_test()
            .arguments(["-H", "127.0.0.5", "-P", "38412", "-l", "-d", "1"])
            .inside(&stage.amf)
            .start()
            .unwrap();
        listens_behind_the_amf(&stage);
        // Ten messages of its first test case, in random sizes.
        let client = sctp_test()
            .arguments([
                "-H",
                "127.0.0.1",
                "-P",
                "40001",
                "-h",
                "127.0.0.1",
                "-p",
                "38412",
                "-s",
                "-x",
                "10",
                "-c",
                "1",
            ])
            .inside(&stage.gnb)
            .run(PATIENCE)
            .unwrap();
        let ended = stage.ended_after("gnb", 0);
        assert!(ended.messages.sent >= 10, "{ended:?} {}", client.text());
        assert_eq!(
            (ended.ending.as_str(), ended.unacknowledged),
            ("shutdown", 0),
            "{ended:?}"
        );
        let theirs = stage.ended_after("amf", 0);
        assert_eq!(theirs.messages.received, ended.messages.sent);
        assert_eq!(theirs.bytes.received, ended.bytes.sent);
        drop(server);
    }
}
