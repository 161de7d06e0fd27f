//! Ethernet frames of one type.

use std::time::{Duration, Instant};

use bartizan_host::{FrameSocket, Namespace};
use bartizan_testing::{Port, connect};

#[test]
fn frames_of_one_ethertype_cross_a_cable_and_others_are_not_seen() {
    let (one, other) = (
        Namespace::create("frames-a").expect("NOT RUN: this test needs root"),
        Namespace::create("frames-b").unwrap(),
    );
    connect(&Port::new(&one, "eth0"), &Port::new(&other, "eth0"), 1500).unwrap();
    let open = |namespace: &Namespace, kind| {
        namespace
            .enter(|| FrameSocket::open("eth0", [2, 0, 0, 0, 0, 1], kind).unwrap())
            .unwrap()
    };
    let (mut a, mut elsewhere, mut b) = (open(&one, 0x88b5), open(&one, 0x88b6), open(&other, 0x88b5));
    elsewhere.send(b"other").unwrap();
    a.send(&[7; 1500]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let received = loop {
        if let Some(frame) = b.receive_from().unwrap() {
            assert_eq!(frame.source, [2, 0, 0, 0, 0, 1]);
            break frame.payload.to_vec();
        }
        assert!(Instant::now() < deadline);
    };
    assert_eq!(received, [7; 1500]);
    assert!(b.receive().unwrap().is_none());
    let error = a.send(&[7; 1501]).unwrap_err();
    assert!(error.to_string().contains("eth0"), "{error}");
    let missing = one
        .enter(|| FrameSocket::open("eth7", [0; 6], 0x88b5))
        .unwrap()
        .unwrap_err();
    assert!(missing.to_string().contains("eth7"), "{missing}");
}
