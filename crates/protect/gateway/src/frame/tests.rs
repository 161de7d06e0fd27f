use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn streams() -> impl Strategy<Value = Streams> {
    any::<(u16, u16)>().prop_map(|(outbound, inbound)| Streams { outbound, inbound })
}

fn delivery() -> impl Strategy<Value = Delivery> {
    any::<(u16, u32, bool)>().prop_map(|(stream, payload_protocol, ordered)| Delivery {
        stream,
        payload_protocol,
        order: if ordered { Order::Ordered } else { Order::Unordered },
    })
}

fn received() -> impl Strategy<Value = Received> {
    let lanes = btree_map((any::<u16>(), any::<bool>()), any::<u64>(), 0..20);
    (any::<u32>(), any::<u64>(), lanes).prop_map(|(restarts, life, lanes)| Received {
        restarts,
        life,
        lanes: lanes
            .into_iter()
            .map(|((stream, ordered), octets)| {
                let order = if ordered { Order::Ordered } else { Order::Unordered };
                (Lane { stream, order }, octets)
            })
            .collect(),
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    let fragment = (delivery(), vec(any::<u8>(), 0..300), any::<bool>());
    prop_oneof![
        (any::<u16>(), any::<[u8; 16]>(), streams()).prop_map(|(version, token, streams)| Frame::Open {
            version,
            token: Token(token),
            streams,
        }),
        (any::<u16>(), any::<[u8; 16]>(), any::<u32>(), received()).prop_map(|(version, token, attempt, received)| {
            let token = Token(token);
            let resume = Resume {
                token,
                attempt,
                received,
            };
            Frame::Resume { version, resume }
        }),
        received().prop_map(Frame::Resumed),
        Just(Frame::Unknown),
        Just(Frame::Move),
        (delivery(), any::<bool>(), any::<u64>()).prop_map(|(delivery, of_lane, octets)| Frame::Received {
            lane: of_lane.then_some(delivery.into()),
            octets,
        }),
        (any::<u32>(), streams()).prop_map(|(restarts, streams)| Frame::Opened { restarts, streams }),
        fragment.prop_map(|(delivery, bytes, last)| Frame::Message(Fragment { delivery, bytes, last })),
        any::<u32>().prop_map(Frame::Credit),
        any::<u64>().prop_map(Frame::Delivered),
        Just(Frame::Alive),
        Just(Frame::Shutdown),
        Just(Frame::Closed),
        (any::<u16>(), ".{0,300}").prop_map(|(code, text)| Frame::Abort(Cause::new(code, &text))),
        streams().prop_map(Frame::Restart),
        (0..PathState::ALL.len()).prop_map(|state| Frame::Path(PathState::ALL[state])),
        any::<(u16, u16)>().prop_map(|(stream, code)| Frame::SendFailed { stream, code }),
        (delivery(), any::<u32>()).prop_map(|(delivery, restarts)| Frame::Lane {
            lane: delivery.into(),
            restarts,
        }),
        any::<u64>().prop_map(Frame::ShutdownAfter),
    ]
}

proptest! {
    #[test]
    fn frames_are_read_as_they_were_written_however_the_stream_is_cut(
        frames in vec(frame(), 1..20),
        cuts in vec(1..400_usize, 1..20),
    ) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let (mut decoder, mut read, mut rest, mut cuts) = (Decoder::default(), Vec::new(), &bytes[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            rest = later;
            decoder.push(now);
            while let Some(frame) = decoder.next_frame().unwrap() {
                read.push(frame);
            }
        }
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_hold_more_than_a_frame(bytes in vec(any::<u8>(), 0..4096)) {
        let mut decoder = Decoder::default();
        for piece in bytes.chunks(100) {
            decoder.push(piece);
            while let Ok(Some(frame)) = decoder.next_frame() {
                let mut again = Vec::new();
                frame.encode(&mut again);
                let mut second = Decoder::default();
                second.push(&again);
                prop_assert_eq!(second.next_frame().unwrap(), Some(frame));
            }
        }
    }
}

#[test]
fn a_frame_that_names_more_than_a_fragment_is_refused_before_it_is_waited_for() {
    let mut decoder = Decoder::default();
    decoder.push(&[kind::MESSAGE, 0, 0, 0, 0, 0, 0x40, 5]);
    assert_eq!(
        decoder.next_frame(),
        Err(Malformed::Length {
            kind: kind::MESSAGE,
            length: 0x4005
        })
    );
}

#[test]
fn a_frame_of_an_unknown_type_is_refused() {
    let mut decoder = Decoder::default();
    // First bytes of an HTTP/2 client.
    decoder.push(b"PRI * HTTP/2.0");
    assert_eq!(decoder.next_frame(), Err(Malformed::Kind(b'P')));
}

#[test]
fn a_165_octet_message_takes_12_octets_more() {
    let mut bytes = Vec::new();
    let delivery = Delivery {
        stream: 0,
        payload_protocol: 60,
        order: Order::Ordered,
    };
    encode_fragment(&mut bytes, delivery, &[0; 165], true);
    assert_eq!(bytes.len(), 165 + 12);
}
