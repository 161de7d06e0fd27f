//! Faults of both ends at once, and in the middle of a message.

use bartizan_testing::eventually;

use super::{ANY, again, libc_signal, message};
use crate::boot::is_here;
use crate::function::{Function, Seen, accept, listen, opening};
use crate::stage::{CARRIERS, PATIENCE, Stage, forward, listener, protocols};

#[test]
fn two_nodes_that_are_killed_and_started_at_once_serve_again() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let capture = stage.capture();
        let mut nodes = [stage.start("amf"), stage.start("gnb")];
        let waiting = listen(&stage.amf, forward());
        let said = message(3, 60, 165);
        let mut ends = (
            Function::open(&stage.gnb, ANY, listener(), opening(10, 10)),
            accept(&waiting),
        );
        for _ in 0..3 {
            ends.0.send(&said);
            assert_eq!(ends.1.next(), Seen::Message(said.clone()));
            for node in &mut nodes {
                node.process.send(libc_signal::KILL);
            }
            // Each kernel ends the associations of its own.
            for end in [&ends.0, &ends.1] {
                assert!(matches!(end.next(), Seen::Lost | Seen::ShutDown));
            }
            // Until then they have their addresses.
            for node in &mut nodes {
                eventually("it is gone", || node.process.ended().expect("a child of ours"));
            }
            nodes = [stage.start("gnb"), stage.start("amf")];
            ends = again(&stage, &waiting);
        }
        ends.1.send(&said);
        assert_eq!(ends.0.next(), Seen::Message(said));
        for node in nodes {
            node.process.terminate(PATIENCE).unwrap();
        }
        let path = capture.path().to_owned();
        assert!(capture.stop().unwrap().complete());
        assert_eq!(protocols(&path).get(&132), None, "SCTP on the cable");
    }
}

#[test]
fn nothing_is_delivered_of_a_long_message_in_whose_middle_a_function_aborts() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let waiting = listen(&stage.amf, forward());
        let long = message(1, 60, 150_000);
        for number in 0..5 {
            let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
            let other = accept(&waiting);
            function.send(&long);
            function.abort();
            match other.next() {
                // It had passed as a whole.
                Seen::Message(whole) => {
                    assert_eq!(whole, long);
                    assert_eq!(other.next(), Seen::Lost);
                }
                seen => assert_eq!(seen, Seen::Lost),
            }
            assert_eq!(stage.ended_after("gnb", number).ending, "aborted");
            assert_eq!(stage.ended_after("amf", number).ending, "peer-aborted");
        }
    }
}
