use proptest::prelude::*;

use super::frame::{Carried, Payload, reach};
use super::*;
use crate::frames::FrameProtocol;
use crate::ip;

#[test]
fn a_bottom_label_counts_and_an_entropy_label_does_not() {
    let stack = |labels: &[u32]| {
        let mut bytes = Vec::new();
        for (index, label) in labels.iter().enumerate() {
            bytes.extend((label << 12 | u32::from(index + 1 == labels.len()) << 8).to_be_bytes());
        }
        bytes.extend([0x45; 20]);
        let mut layers = Vec::new();
        reach(Carried::Typed(MPLS_UNICAST, &bytes), &mut layers);
        layers[0].number
    };
    assert_eq!(stack(&[16, 17]), Some(17));
    assert_eq!(stack(&[99, 17]), Some(17), "another way through the network");
    assert_eq!(stack(&[16, 17, 7, 1234]), Some(17));
    assert_eq!(stack(&[16, 17, 7, 4321]), Some(17));
}

#[test]
fn macsec_that_encrypts_and_storms_of_tags_lead_nowhere() {
    let mut layers = Vec::new();
    let encrypted = reach(Carried::Typed(0x88e5, &[0x0c; 40]), &mut layers);
    assert!(matches!(encrypted, Payload::Other(FrameProtocol::Type(0x88e5), ..)));
    let storm = [0x88, 0xe7].repeat(700);
    assert!(matches!(
        reach(Carried::Typed(BACKBONE, &[&[0; 4][..], &storm].concat()), &mut layers),
        Payload::Other(..)
    ));
    assert!(layers.len() <= DEPTH);
}

proptest! {
    #[test]
    fn any_bytes_lead_somewhere_within_bounds(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        kind in prop::sample::select(vec![
            0x0800u16, 0x86dd, 0x8100, 0x8847, 0x8864, 0x88e7, 0x8926, 0x894f, 0xf1c1, 0x22f3, 0x88e5, 0x6558, 0x1234, 0x0040,
        ]),
        protocol in any::<u8>(),
        port in prop::sample::select(vec![4789u16, 8472, 4790, 6081, 6080, 6635, 1701, 4341, 3544, 37008, 2152]),
        missing in 0usize..10,
    ) {
        for carried in [
            Carried::Typed(kind, &bytes),
            Carried::Ethernet(&bytes),
            Carried::Llc(&bytes),
            Carried::Ppp(&bytes),
        ] {
            let mut layers = Vec::new();
            reach(carried, &mut layers);
            prop_assert!(layers.len() <= DEPTH);
        }
        let datagram = |protocol, payload| ip::Datagram {
            source: "192.0.2.1".parse().unwrap(),
            destination: "2001:db8::1".parse().unwrap(),
            protocol,
            payload,
            missing,
            length: 20 + bytes.len() + missing,
            fragment: ip::Fragment::Whole,
        };
        opens(&datagram(protocol, &bytes));
        ip::behind_authentication(&datagram(ip::AH, &bytes));
        let mut udp = vec![1, 2];
        udp.extend(port.to_be_bytes());
        udp.extend([0, 0, 0, 0]);
        udp.extend(&bytes);
        opens(&datagram(ip::UDP, &udp));
    }
}
