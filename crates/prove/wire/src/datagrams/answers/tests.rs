use proptest::prelude::*;

use super::*;
use crate::end::End;
use crate::path::Path;
use crate::{Moment, Timestamp};

fn seen(protocol: DatagramProtocol, sent: &[(Side, &[u8])]) -> DatagramProtocol {
    let at = Moment {
        packet: 1,
        time: Timestamp(0),
    };
    let ends = ["10.0.0.1", "10.0.0.2"].map(|ip| End::Host(ip.parse().unwrap()));
    let mut seen = Datagrams::new(1, protocol, Path::default(), ends, at);
    let mut answers = Answers::of(protocol).unwrap();
    for (side, bytes) in sent {
        seen.sent(*side, bytes.len() as u64, at);
        answers.take(protocol, bytes, *side);
    }
    answers.judge(&mut seen);
    seen.protocol
}

/// A request of each protocol, its answer, and one that answers another request.
fn exchanges() -> Vec<(DatagramProtocol, [Vec<u8>; 3])> {
    let dns = |id: u8, flags: u8| vec![0, id, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let radius = |code: u8, id: u8| [&[code, id, 0, 20][..], &[0; 16]].concat();
    let ntp = |mode: u8, origin: u64, transmit: u64| {
        let times = [0, 0, 0, origin, 0, transmit].map(u64::to_be_bytes).concat();
        [&[0x20 | mode, 1, 6, 0xe9][..], &times[4..]].concat()
    };
    let snmp = |kind: u8, id: u8| vec![0x30, 14, 2, 1, 1, 4, 1, b'a', kind, 6, 2, 1, id, 2, 1, 0];
    let snmp3 = |id: u8| vec![0x30, 20, 2, 1, 3, 0x30, 10, 2, 1, id, 2, 1, 9, 4, 1, 3, 2, 1, 3];
    let pfcp = |kind: u8, id: u8| vec![0x20, kind, 0, 4, 0, 0, id, 0];
    let of_session = |kind: u8, id: u8| [&[0x21, kind, 0, 12][..], &[0; 8], &[0, 0, id, 0]].concat();
    let gtp_c = |kind: u8, id: u8| [&[0x48, kind, 0, 8][..], &[0; 4], &[0, 0, id, 0]].concat();
    let gtp_1 = |kind: u8, id: u8| [&[0x32, kind, 0, 4][..], &[0; 4], &[0, id, 0, 0]].concat();
    let gtp_prime = |kind: u8, id: u8| vec![0x0f, kind, 0, 0, 0, id];
    let of = DatagramProtocol::Named;
    vec![
        (of(Named::Dns), [dns(7, 1), dns(7, 0x81), dns(8, 0x81)]),
        (of(Named::Radius), [radius(1, 7), radius(2, 7), radius(2, 8)]),
        (of(Named::Ntp), [ntp(3, 0, 77), ntp(4, 77, 78), ntp(4, 76, 78)]),
        (of(Named::Snmp1), [snmp(0xa0, 7), snmp(0xa2, 7), snmp(0xa2, 8)]),
        (of(Named::Snmp2), [snmp(0xa5, 7), snmp(0xa2, 7), snmp(0xa2, 8)]),
        (of(Named::Snmp3), [snmp3(7), snmp3(7), snmp3(8)]),
        (of(Named::Snmp3Private), [snmp3(7), snmp3(7), snmp3(8)]),
        (DatagramProtocol::Pfcp, [pfcp(1, 7), pfcp(2, 7), pfcp(2, 8)]),
        (
            DatagramProtocol::Pfcp,
            [of_session(50, 7), of_session(51, 7), of_session(53, 7)],
        ),
        (DatagramProtocol::GtpC, [gtp_c(32, 7), gtp_c(33, 7), gtp_c(33, 8)]),
        (of(Named::Gtp1C), [gtp_1(16, 7), gtp_1(17, 7), gtp_1(17, 8)]),
        (
            of(Named::GtpPrime),
            [gtp_prime(240, 7), gtp_prime(241, 7), gtp_prime(241, 8)],
        ),
    ]
}

#[test]
fn name_is_believed_with_an_answer_to_a_request_and_not_with_another_one() {
    use Side::{Client, Server};
    for (protocol, [request, answer, other]) in exchanges() {
        let of = |sent: &[(Side, &[u8])]| seen(protocol, sent);
        assert_eq!(of(&[(Client, &request), (Server, &answer)]), protocol);
        assert_eq!(of(&[(Client, &request), (Server, &other), (Server, &answer)]), protocol);
        let unknown = DatagramProtocol::Udp;
        assert_eq!(of(&[(Client, &request), (Server, &other)]), unknown, "{protocol:?}");
        assert_eq!(
            of(&[(Server, &request), (Client, &request)]) == protocol,
            request == answer
        );
        // One end alone: the structure decides.
        let is_weak = matches!(protocol, DatagramProtocol::Named(named) if named.is_weak());
        let alone = if is_weak { unknown } else { protocol };
        assert_eq!(of(&[(Client, &request), (Client, &answer)]), alone, "{protocol:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(which in 0usize..12, sent in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..40)) {
        let (protocol, _) = exchanges()[which];
        let mut answers = Answers::of(protocol).unwrap();
        for (client, bytes) in sent {
            answers.take(protocol, &bytes, if client { Side::Client } else { Side::Server });
            prop_assert!(answers.held() < 2 * size_of::<u64>() * ASKED + 128);
        }
    }
}
