use proptest::prelude::*;

use super::*;
use crate::Timestamp;
use crate::link::LinkType;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// An Ethernet frame with a TCP segment of the client, or of the server.
fn frame(from_client: bool, sequence: u32, acknowledgement: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(u16::try_from(40 + payload.len()).unwrap().to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    let (source, destination) = if from_client {
        (CLIENT, SERVER)
    } else {
        (SERVER, CLIENT)
    };
    frame.extend(source);
    frame.extend(destination);
    let ports: [u16; 2] = if from_client { [40_000, 443] } else { [443, 40_000] };
    ports.iter().for_each(|port| frame.extend(port.to_be_bytes()));
    frame.extend(sequence.to_be_bytes());
    frame.extend(acknowledgement.to_be_bytes());
    frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend(payload);
    frame
}

fn timed(frames: &[(u64, Vec<u8>)]) -> Vec<Timed> {
    let mut timing = Timing::new(Limits::default());
    let mut all = Vec::new();
    for (index, (millisecond, data)) in frames.iter().enumerate() {
        let packet = Packet {
            number: index as u64 + 1,
            time: Timestamp(millisecond * 1_000_000),
            link: LinkType::ETHERNET,
            data,
            original_length: u32::try_from(data.len()).unwrap(),
            interface: 0,
        };
        timing.packet(&packet, |timed| all.push(timed));
    }
    timing.finish(|timed| all.push(timed));
    assert_eq!(timing.kept, 0);
    assert_eq!(timing.overview.connections, all.len() as u64);
    all
}

#[test]
fn a_copy_of_what_was_acknowledged_is_sent_again_and_a_hole_that_fills_soon_is_out_of_order() {
    const ACK: u8 = 0x10;
    let all = timed(&[
        (0, frame(true, 99, 0, 0x02, b"")),
        (10, frame(false, 199, 100, 0x12, b"")),
        (20, frame(true, 100, 200, ACK, b"")),
        (21, frame(true, 100, 200, ACK, b"one")),
        (22, frame(false, 200, 103, ACK, b"")),
        (300, frame(true, 100, 200, ACK, b"one")),
        (301, frame(true, 106, 200, ACK, b"three")),
        (302, frame(true, 103, 200, ACK, b"two")),
    ]);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(one.round_trip_ns, Some(20_000_000));
    assert_eq!(one.duration_ns(), 302_000_000);
    let sent = one.from_client;
    assert_eq!((sent.packets, sent.data_packets, sent.payload_bytes), (6, 4, 14));
    assert_eq!((sent.retransmitted, sent.out_of_order, sent.holes), (1, 1, 1));
    assert_eq!(one.handshake, Err(Untimed::Clear));
}

#[test]
fn a_new_connection_of_the_same_ports_begins_anew() {
    let all = timed(&[
        (0, frame(true, 99, 0, 0x02, b"")),
        (1, frame(true, 100, 0, 0x10, b"GET / HTTP/1.1\r\n")),
        (5, frame(true, 5_000_099, 0, 0x02, b"")),
        (6, frame(true, 5_000_100, 0, 0x10, b"GET / HTTP/1.1\r\n")),
    ]);
    assert_eq!(all.len(), 2);
    for one in &all {
        assert_eq!((one.from_client.packets, one.duration_ns()), (2, 1_000_000));
    }
}

#[test]
fn sizes_are_those_that_shares_of_packets_do_not_exceed() {
    let mut overview = Overview::default();
    for length in [60, 60, 60, 1514] {
        overview.packet(
            length,
            Moment {
                packet: 1,
                time: Timestamp(0),
            },
        );
    }
    assert_eq!(overview.size_quantile(0.5), Some(60));
    assert_eq!(overview.size_quantile(0.75), Some(60));
    assert_eq!(overview.size_quantile(0.76), Some(1514));
    assert_eq!(overview.size_quantile(1.0), Some(1514));
    assert_eq!(overview.size_quantile(0.0), None);
    assert_eq!(Overview::default().size_quantile(0.5), None);
}

proptest! {
    #[test]
    fn no_segments_make_it_panic_or_lose_a_packet(
        segments in prop::collection::vec((any::<bool>(), 0_u32..40, 0_u32..40, any::<u8>(), 0_usize..20), 0..60)
    ) {
        let frames: Vec<_> = segments
            .iter()
            .map(|(side, sequence, acknowledgement, flags, length)| {
                (0, frame(*side, sequence.wrapping_sub(20), *acknowledgement, *flags, &vec![b'x'; *length]))
            })
            .collect();
        for one in timed(&frames) {
            let sent = [one.from_client, one.from_server];
            let packets = one.connection.from_client.packets + one.connection.from_server.packets;
            prop_assert_eq!(sent.iter().map(|sent| sent.packets).sum::<u64>(), packets);
            for sent in sent {
                prop_assert!(sent.retransmitted + sent.out_of_order + sent.holes <= sent.packets);
            }
        }
    }
}
