//! An independent AMF behind the AMF's sidecar: pycrate's core, which reads streams and
//! identifiers, and answers by the messages that it decodes.

use std::path::Path;

use bartizan_host::Program;
use bartizan_host::sctp::Ordering;

use super::{ANY, listens_behind_the_amf};
use crate::boot::{PYCRATE, is_here};
use crate::function::{Function, Seen, opening};
use crate::recorded::{self, Speaker};
use crate::stage::{CARRIERS, Stage, listener};

/// Successful outcome of procedure 21 (TS 38.413, clause 9.4).
const NG_SETUP_RESPONSE: [u8; 2] = [0x20, 21];

#[test]
fn an_amf_by_pycrate_answers_the_ng_setup_of_a_recorded_gnb() {
    if !is_here() {
        return;
    }
    let pycrate = PYCRATE.as_ref().unwrap_or_else(|error| panic!("{error}"));
    let messages = recorded::messages("n2-free5gc-two-registrations.pcap", 38_412);
    let (speaker, request) = &messages[0];
    assert_eq!(*speaker, Speaker::Initiator);
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/ngap_server.py");
        let server = Program::new("python3")
            .argument(server)
            .arguments(["127.0.0.5", "38412"])
            .environment("PYTHONPATH", pycrate)
            .inside(&stage.amf)
            .start()
            .unwrap();
        listens_behind_the_amf(&stage);
        // One after the other: it takes a gNB back that has gone.
        for number in 0..2 {
            let function = Function::open(&stage.gnb, ANY, listener(), opening(2, 2));
            function.send(request);
            let Seen::Message((stream, protocol, ordering, octets)) = function.next() else {
                panic!("no answer: {}", server.tail());
            };
            // Both pycrate and its binding turn the identifier round, which other functions do as
            // well: it is carried as it was said.
            assert_eq!(
                (stream, protocol, ordering),
                (request.0, 60_u32.swap_bytes(), Ordering::Ordered)
            );
            assert!(octets.starts_with(&NG_SETUP_RESPONSE), "{octets:?} {}", server.tail());
            // Its name.
            assert!(octets.windows(10).any(|name| name == b"CorenetAMF"), "{octets:?}");
            function.shut_down();
            let ended = stage.ended_after("gnb", number);
            assert_eq!((ended.ending.as_str(), ended.unacknowledged), ("shutdown", 0));
        }
    }
}
