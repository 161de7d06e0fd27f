//! Packets of interfaces that come and go.

use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, channel};

use std::time::{Duration, Instant};

use bartizan_host::{Fed, Feed, FrameSocket, Namespace, Side};
use bartizan_testing::{Capture, Direction, Port, connect};

/// `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;

/// Generous: these waits end with what is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

const PAYLOAD: &[u8] = b"a datagram that is looked for";

/// The namespaces' ends of a veth pair: `left` is .1, `right` .2.
fn join(left: &Namespace, right: &Namespace) {
    let ends = [(left, "left", "10.9.8.1/24"), (right, "right", "10.9.8.2/24")];
    let [one, other] = ends.map(|(namespace, name, address)| Port::new(namespace, name).address(address).unwrap());
    connect(&one, &other, 1500).unwrap();
}

/// Two namespaces joined by `left` and `right`, with addresses 10.9.8.1 and .2.
fn joined() -> (Namespace, Namespace) {
    let left = Namespace::create("feed-left").expect("NOT RUN: this test needs root");
    let right = Namespace::create("feed-right").unwrap();
    join(&left, &right);
    (left, right)
}

fn feed(namespace: &Namespace, interface: &'static str) -> (Feed, Receiver<Fed>) {
    let (give, fed) = channel();
    let feed = namespace
        .enter(|| Feed::start(interface, move |piece| give.send(piece).is_ok()))
        .unwrap()
        .unwrap();
    (feed, fed)
}

/// Waits for `PAYLOAD` in a packet; gives its direction.
fn arrived(fed: &Receiver<Fed>) -> Side {
    loop {
        let Fed::Packets(batch) = fed.recv_timeout(PATIENCE).unwrap() else {
            panic!("another event");
        };
        assert_eq!(batch.dropped, 0);
        for frame in batch.frames() {
            assert_eq!(frame.link, ETHERNET);
            assert_eq!(frame.length as usize, frame.bytes.len());
            if frame.bytes.ends_with(PAYLOAD) {
                return frame.side;
            }
        }
    }
}

fn send(from: &Namespace, to: &str) {
    let to = to.to_owned();
    from.enter(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.send_to(PAYLOAD, (to.as_str(), 9)).unwrap();
    })
    .unwrap();
}

#[test]
fn vlan_tag_that_the_kernel_takes_out_is_put_back_with_its_type_and_the_tags_behind_it() {
    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];
    let (left, right) = joined();
    let file = std::env::temp_dir().join(format!("tagged-{}.pcap", std::process::id()));
    let capture = Capture::start(Some(&left), "left", &file, Direction::Inbound).unwrap();
    let (_feed, fed) = feed(&left, "left");
    // 802.1Q 42; 802.1ad 100 around 802.1Q 42.
    let customer = [&[0, 42, 0x08, 0x00][..], PAYLOAD].concat();
    let provider = [&[0, 100, 0x81, 0x00][..], &customer].concat();
    for (kind, behind) in [(0x8100, &customer), (0x88a8, &provider)] {
        right
            .enter(|| FrameSocket::open("right", STATION, kind).unwrap().send(behind).unwrap())
            .unwrap();
    }
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let Fed::Packets(batch) = fed.recv_timeout(PATIENCE).unwrap() else {
            panic!("another event");
        };
        for frame in batch.frames().filter(|frame| frame.bytes[6..12] == STATION) {
            assert_eq!(frame.length as usize, frame.bytes.len());
            seen.push(frame.bytes[12..].to_vec());
        }
    }
    let wanted = [
        [&[0x81, 0x00][..], &customer].concat(),
        [&[0x88, 0xa8][..], &provider].concat(),
    ];
    assert_eq!(seen, wanted);
    capture.stop().unwrap();
    let written = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    for frame in wanted {
        let frame = [&STATION[..], &frame].concat();
        assert!(
            written.windows(frame.len()).any(|bytes| bytes == frame),
            "the file has the tags as well"
        );
    }
}

#[test]
fn packets_come_with_their_direction_and_the_end_comes_last() {
    let (left, right) = joined();
    let (feed, fed) = feed(&left, "left");
    send(&left, "10.9.8.2");
    assert_eq!(arrived(&fed), Side::Outbound);
    send(&right, "10.9.8.1");
    assert_eq!(arrived(&fed), Side::Inbound);
    feed.stop();
    loop {
        match fed.recv_timeout(PATIENCE).unwrap() {
            Fed::Ended(ended) => break ended.unwrap(),
            Fed::Packets(_) => {}
            Fed::Down => panic!("nobody took it down"),
        }
    }
    assert!(fed.recv().is_err(), "nothing comes behind the end");
}

#[test]
fn an_interface_that_vanishes_is_reported_and_one_of_its_name_is_captured_next() {
    let (left, right) = joined();
    let (_feed, fed) = feed(&left, "left");
    send(&right, "10.9.8.1");
    assert_eq!(arrived(&fed), Side::Inbound);
    // The veth pair goes with one of its ends' namespaces.
    drop(right);
    loop {
        match fed.recv_timeout(PATIENCE).unwrap() {
            Fed::Down => break,
            Fed::Packets(_) => {}
            Fed::Ended(ended) => panic!("{ended:?}"),
        }
    }
    let right = Namespace::create("feed-again").unwrap();
    join(&left, &right);
    // Until the feed has found the new one packets pass unseen.
    let begun = Instant::now();
    loop {
        send(&right, "10.9.8.1");
        match fed.recv_timeout(Duration::from_millis(200)) {
            Ok(Fed::Packets(batch)) if batch.frames().any(|frame| frame.bytes.ends_with(PAYLOAD)) => break,
            Ok(Fed::Ended(ended)) => panic!("{ended:?}"),
            _ => assert!(begun.elapsed() < PATIENCE, "the new interface is not found"),
        }
    }
}

#[test]
fn a_feed_that_nobody_takes_from_ends() {
    let (left, right) = joined();
    let (feed, fed) = feed(&left, "left");
    drop(fed);
    send(&right, "10.9.8.1");
    drop(feed);
}
