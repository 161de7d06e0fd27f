//! The authenticator with a peer that follows RFC 5216 and RFC 9190, one with another identity, and
//! one that sends nothing of use.

use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::Deployment;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_tls::{Credentials, Endpoint};
use proptest::prelude::*;

use super::*;
use crate::link::endpoint;

const NODES: [&str; 2] = ["odu", "oru"];
const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEERS: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Both ends of a link; the second has a certificate with this name.
fn endpoints(place: &Path, name: &str) -> [Endpoint; 2] {
    let now = SystemTime::now();
    let ca = place.join("ca");
    let mut authority = Authority::init(&ca, InitOptions::new(Algorithm::MlDsa65), now).unwrap();
    for (node, name) in [("odu", "odu"), ("oru", name), ("oru2", "oru2")] {
        let leaf = Leaf::new(node)
            .unwrap()
            .dns(name)
            .unwrap()
            .algorithm(Algorithm::MlDsa65);
        let issued = authority.issue(&leaf, now).unwrap();
        issued.write_to(&place.join(node), Overwrite::Replace).unwrap();
    }
    let text = "policy: hybrid\ntrust: { roots: ca/root.crt.pem }\nnodes:\n  \
                odu: { function: O-DU, address: 10.0.0.1, certificate: odu/odu.crt.pem, key: odu/odu.key.pem }\n  \
                oru: { function: O-RU, address: 10.0.0.2, certificate: oru/oru.crt.pem, key: oru/oru.key.pem }\n  \
                oru2: { function: O-RU, address: 10.0.0.3, certificate: oru2/oru2.crt.pem, key: oru2/oru2.key.pem }\ninterfaces:\n  \
                - { kind: FH, between: [odu, oru], with: macsec, macsec: { keying: eap-tls, port: { odu: eth0, oru: eth0 } } }\n  \
                - { kind: FH, between: [odu, oru2], with: macsec, macsec: { keying: eap-tls, port: { odu: eth1, oru2: eth0 }, \
                device: { odu: macsec1, oru2: macsec0 } } }\n";
    let deployment = Deployment::parse(text, "fh.yaml", place).unwrap_or_else(|error| panic!("{error}"));
    NODES.map(|node| {
        let files = deployment.node(node).unwrap().files.clone().unwrap();
        endpoint(&deployment, node, Credentials::load(&files).unwrap()).unwrap()
    })
}

/// The peer: what it answers, frame by frame.
struct Peer {
    tls: Tls,
    incoming: Incoming,
    outgoing: Outgoing,
    succeeded: Option<bool>,
    /// Answers the end of the handshake by an alert.
    refuses_end: bool,
}

impl Peer {
    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        let packet = Packet::read(pdu(request).unwrap().body).unwrap();
        match packet.code {
            SUCCESS | FAILURE => {
                self.succeeded = Some(packet.code == SUCCESS);
                return None;
            }
            code => assert_eq!(code, REQUEST),
        }
        let (method, data) = packet.method.unwrap();
        if method == IDENTITY {
            return Some(frame(RESPONSE, packet.identifier, b"\x01oru"));
        }
        let acknowledgement = || frame(RESPONSE, packet.identifier, &[EAP_TLS, 0]);
        if data[0] & BEGINS != 0 {
            self.outgoing = Outgoing::new(self.tls.outgoing());
        } else if self.outgoing.is_sent() {
            let Part::Whole(message) = self.incoming.take(data) else {
                return Some(acknowledgement());
            };
            let mut fresh = message.as_slice();
            while !fresh.is_empty() {
                if self.tls.take(&mut fresh).is_err() {
                    break;
                }
            }
            self.outgoing = Outgoing::new(self.tls.outgoing());
            if self.outgoing.is_sent() && self.refuses_end {
                let alert = [EAP_TLS, 0, 21, 3, 3, 0, 2, 2, 40];
                return Some(frame(RESPONSE, packet.identifier, &alert));
            }
            if self.outgoing.is_sent() {
                return Some(acknowledgement());
            }
        }
        let (flags, data) = self.outgoing.next();
        Some(frame(
            RESPONSE,
            packet.identifier,
            &[&[EAP_TLS, flags][..], &data].concat(),
        ))
    }
}

struct Stage {
    authenticator: Authenticator,
    peer: Peer,
    now: Instant,
    asked: u32,
    /// Which frames of the authenticator are lost.
    loses: fn(u32) -> bool,
}

impl Stage {
    fn new(endpoints: &[Endpoint; 2]) -> Self {
        let interface = endpoints[0].peers()[0].interface;
        let (now, mut authenticator) = (Instant::now(), Authenticator::new(OURS));
        authenticator.begin(endpoints[0].accept("oru", interface).unwrap(), now);
        Self {
            authenticator,
            peer: Peer {
                tls: Tls::connect(endpoints[1].connect("odu", interface).unwrap()).unwrap(),
                incoming: Incoming::default(),
                outgoing: Outgoing::default(),
                succeeded: None,
                refuses_end: false,
            },
            now,
            asked: 0,
            loses: |_| false,
        }
    }

    /// Until something happens, or the run is over.
    fn run(&mut self) -> Option<Happened> {
        for _ in 0..500 {
            let mut sent = Vec::new();
            let happened = self
                .authenticator
                .poll(self.now, &mut |frame| sent.push(frame.to_vec()));
            if happened.is_some() {
                return happened;
            }
            if sent.is_empty() {
                self.now = self.authenticator.wake()?;
            }
            for request in sent {
                self.asked += 1;
                if (self.loses)(self.asked) {
                    continue;
                }
                let Some(answer) = self.peer.answer(&request) else {
                    continue;
                };
                if let Some(happened) = self.authenticator.receive(PEERS, &answer) {
                    return Some(happened);
                }
                // One that comes twice changes nothing.
                assert!(self.authenticator.receive(PEERS, &answer).is_none());
            }
        }
        panic!("it never ends: {:?}", self.authenticator);
    }
}

#[test]
fn peer_that_proves_who_it_is_has_the_same_cak_also_where_frames_are_lost() {
    let place = tempfile::tempdir().unwrap();
    let endpoints = endpoints(place.path(), "oru");
    for loses in [(|_| false) as fn(u32) -> bool, |number| number % 7 == 3] {
        let mut stage = Stage::new(&endpoints);
        stage.loses = loses;
        let Some(Happened::Authenticated(authenticated)) = stage.run() else {
            panic!("{:?}", stage.authenticator)
        };
        let negotiated = &authenticated.established.negotiated;
        assert_eq!(authenticated.established.peer.as_str(), "oru");
        assert_eq!(negotiated.group.name, "X25519MLKEM768");
        assert_eq!(negotiated.peer_signature.as_ref().unwrap().name, "mldsa65");
        assert!(!negotiated.resumed && authenticated.frames > 20, "{authenticated:?}");
        assert_eq!(cak(&stage.peer.tls, [PEERS, OURS]).unwrap(), authenticated.cak);
        // It has confirmed the commitment (RFC 9190, section 2.5) before.
        let mut commitment = [9; 2];
        assert_eq!(stage.peer.tls.read(&mut commitment).unwrap(), 1);
        assert_eq!(commitment[0], 0);
        assert!(stage.run().is_none() && stage.peer.succeeded.is_none());
        stage.authenticator.succeed();
        assert!(stage.run().is_none() && !stage.authenticator.is_busy());
        assert_eq!(stage.peer.succeeded, Some(true));
    }
}

#[test]
fn peer_with_the_certificate_of_somebody_else_is_refused_by_an_alert_and_a_failure() {
    // The second is the peer of another port.
    for name in ["somebody-else", "oru2"] {
        let place = tempfile::tempdir().unwrap();
        let mut stage = Stage::new(&endpoints(place.path(), name));
        let Some(Happened::Refused(refused)) = stage.run() else {
            panic!("{:?}", stage.authenticator)
        };
        assert_eq!(refused.reason.to_string(), "wrong-name");
        assert!(stage.run().is_none());
        assert_eq!(
            (stage.peer.succeeded, stage.authenticator.is_busy()),
            (Some(false), false)
        );
    }
}

#[test]
fn peer_that_proves_who_it_is_and_refuses_the_end_gets_a_failure_and_no_cak_comes_of_it() {
    let place = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(&endpoints(place.path(), "oru"));
    stage.peer.refuses_end = true;
    let happened = stage.run();
    assert!(matches!(happened, Some(Happened::Refused(_))), "{happened:?}");
    assert!(stage.run().is_none());
    assert_eq!(
        (stage.peer.succeeded, stage.authenticator.is_busy()),
        (Some(false), false)
    );
}

#[test]
fn peer_that_says_nothing_is_asked_again_and_then_given_up() {
    let place = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(&endpoints(place.path(), "oru"));
    stage.loses = |_| true;
    assert!(matches!(stage.run(), Some(Happened::Silent)));
    assert_eq!(stage.asked, TIMES);
    assert!(!stage.authenticator.is_busy());
    // In the middle of a handshake it is a refusal, which is recorded.
    let place = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(&endpoints(place.path(), "oru"));
    stage.loses = |number| number > 6;
    let Some(Happened::Refused(refused)) = stage.run() else {
        panic!("{:?}", stage.authenticator)
    };
    assert_eq!(refused.reason.to_string(), "timed-out");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_frame_without_a_handshake_ends_a_run_well_or_panics(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..20)) {
        let place = tempfile::tempdir().unwrap();
        let endpoints = shared(place.path());
        let mut stage = Stage::new(endpoints);
        let mut sent = 0;
        for mut frame in frames {
            let _ = stage.authenticator.poll(stage.now, &mut |_| sent += 1);
            // As a response of EAP to what was asked, so that it is read at all.
            if frame.len() > 9 {
                let length = u16::try_from(frame.len() - 4).unwrap().to_be_bytes();
                frame[..2].copy_from_slice(&[3, kind::EAP]);
                frame[2..4].copy_from_slice(&length);
                frame[4..6].copy_from_slice(&[RESPONSE, stage.authenticator.identifier]);
                frame[6..8].copy_from_slice(&length);
            }
            let happened = stage.authenticator.receive(PEERS, &frame);
            prop_assert!(!matches!(happened, Some(Happened::Authenticated(_))));
        }
    }
}

/// Keys take time to make: one pair for all of the cases.
fn shared(place: &Path) -> &'static [Endpoint; 2] {
    static SHARED: std::sync::OnceLock<[Endpoint; 2]> = std::sync::OnceLock::new();
    SHARED.get_or_init(|| endpoints(place, "oru"))
}
