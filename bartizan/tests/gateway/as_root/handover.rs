//! Associations that outlive a planned restart of a sidecar.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use bartizan_testing::eventually;

use super::{ANY, message};
use crate::boot::is_here;
use crate::function::{Function, Message, Seen, accept, listen, opening};
use crate::stage::{CARRIERS, Node, Stage, forward, listener};

/// Starts a sidecar that takes over from the one that runs, if one does.
fn start(stage: &Stage, node: &str, file: &str) -> Node {
    let socket = stage.path(&format!("{node}.sock"));
    stage.start_with(node, file, &["--hand-over", socket.to_str().unwrap()])
}

/// Messages that a function receives until so many are there, by stream and in order.
fn arrived(function: &Function, count: usize) -> BTreeMap<u16, Vec<Message>> {
    let mut by_stream = BTreeMap::<_, Vec<_>>::new();
    for _ in 0..count {
        match function.next() {
            Seen::Message(message) => by_stream.entry(message.0).or_default().push(message),
            seen => panic!("{seen:?}"),
        }
    }
    by_stream
}

#[test]
fn an_association_outlives_a_planned_restart_of_either_sidecar() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        // A move takes as long as the machine does; its bound is not what is shown here.
        let text = std::fs::read_to_string(stage.path("net.yaml")).unwrap();
        stage.write("net.yaml", &text.replace("drain: 1s", "drain: 20s"));
        let mut nodes: BTreeMap<_, _> = ["amf", "gnb"]
            .map(|node| (node, start(&stage, node, "net.yaml")))
            .into();
        let waiting = listen(&stage.amf, forward());
        let ends = [
            Function::open(&stage.gnb, ANY, listener(), opening(10, 10)),
            accept(&waiting),
        ];
        let sent = Cell::new(0_u16);
        for node in ["gnb", "amf", "amf", "gnb"] {
            let mut expected = BTreeMap::<_, Vec<_>>::new();
            let before = sent.get();
            let mut speak = |length: usize| {
                let said = message(sent.get() % 3, sent.get().into(), length);
                ends.iter().for_each(|end| end.send(&said));
                expected.entry(said.0).or_default().push(said);
                sent.set(sent.get() + 1);
            };
            speak(30_000);
            let next = start(&stage, node, "net.yaml");
            let mut former = nodes.insert(node, next).unwrap();
            eventually("the process before has ended", || {
                if sent.get() - before < 500 {
                    speak(100);
                }
                sleep(Duration::from_millis(5));
                former.process.ended().unwrap()
            });
            // A peer that hears of no move keeps its connection until draining is over.
            let said = former.process.stderr();
            assert!(!said.contains("had not ended in time"), "{carrier}, {node}: {said}");
            speak(30_000);
            for end in &ends {
                assert_eq!(
                    arrived(end, usize::from(sent.get() - before)),
                    expected,
                    "{carrier}, {node}"
                );
            }
            let taken = format!(
                "association_takeovers_total{{side=\"{}\",peer=\"{}\",reason=\"taken\"}} 1",
                if node == "gnb" { "outbound" } else { "inbound" },
                if node == "gnb" { "amf" } else { "gnb" },
            );
            assert!(
                stage.admin(node, "/metrics").unwrap().contains(&taken),
                "{carrier}, {node}"
            );
            // All that has passed, also before.
            let all = format!("\"messages_received\": {},", sent.get());
            eventually("the new process shows the association", || {
                stage.admin(node, "/connections")?.contains(&all).then_some(())
            });
        }
        assert!(stage.associations("gnb").is_empty() && stage.associations("amf").is_empty());
        ends[0].shut_down();
        assert_eq!(ends[1].next(), Seen::ShutDown);
        for node in ["gnb", "amf"] {
            let ended = stage.ended_after(node, 0);
            assert_eq!(
                (ended.ending.as_str(), ended.unacknowledged, ended.undelivered),
                ("shutdown", 0, 0)
            );
            assert_eq!(
                (ended.messages.sent, ended.messages.received),
                (sent.get().into(), sent.get().into())
            );
            assert_eq!(stage.associations(node).len(), 1, "a second record of it");
        }
        // The listeners are the new processes'.
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        let said = message(1, 60, 165);
        function.send(&said);
        assert_eq!(accept(&waiting).next(), Seen::Message(said));
    }
}

#[test]
fn an_association_that_is_not_taken_over_ends_with_shutdown() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let text = std::fs::read_to_string(stage.path("net.yaml")).unwrap();
        stage.write("moved.yaml", &text.replace("127.0.0.5:38412", "127.0.0.6:38412"));
        let (_gnb, mut amf) = (start(&stage, "gnb", "net.yaml"), start(&stage, "amf", "net.yaml"));
        let waiting = listen(&stage.amf, forward());
        let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
        let other = accept(&waiting);
        let said = message(1, 60, 165);
        function.send(&said);
        assert_eq!(other.next(), Seen::Message(said));
        eventually("all is acknowledged", || {
            stage
                .admin("gnb", "/connections")?
                .contains("\"unacknowledged\": 0")
                .then_some(())
        });
        let _new = start(&stage, "amf", "moved.yaml");
        assert_eq!(
            [function.next(), other.next()],
            [Seen::ShutDown, Seen::ShutDown],
            "{carrier}"
        );
        eventually("the process before has ended", || amf.process.ended().unwrap());
        let refused = "takeovers_total{side=\"inbound\",peer=\"gnb\",reason=\"no-listener\"} 1";
        assert!(stage.admin("amf", "/metrics").unwrap().contains(refused));
        assert_eq!(stage.ended_after("amf", 0).ending, "shutdown");
    }
}
