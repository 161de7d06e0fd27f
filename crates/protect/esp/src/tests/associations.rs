//! Packets that one end seals and the other opens, once; and anything else, which neither opens.

use bartizan_registry::{ESP_ENCRYPTIONS, ESP_INTEGRITIES};
use bartizan_wire::ip::{NO_NEXT_HEADER, TCP};
use proptest::prelude::*;

use crate::{Associated, Inbound, OpenError, Outbound, SealError, Sealing, SequenceNumbers, Suite, Unusable, tunnel};

use SequenceNumbers::{Bits32, Extended};

const SPI: u32 = 0xc0de_0001;

/// Every suite that can be made of registered transforms.
fn suites() -> Vec<Suite> {
    let mut suites = Vec::new();
    for encryption in ESP_ENCRYPTIONS {
        for bits in [None, Some(128), Some(192), Some(256)] {
            for integrity in std::iter::once(None).chain(ESP_INTEGRITIES.iter().map(|known| Some(known.id))) {
                suites.extend(Suite::of(encryption.id, bits, integrity));
            }
        }
    }
    suites
}

fn pair(suite: Suite, numbers: SequenceNumbers, after: u64) -> (Outbound, Inbound) {
    let keys: Vec<u8> = (0..suite.key_material()).map(|byte| byte as u8).collect();
    let sender = Outbound::new(SPI, suite, &keys, numbers).unwrap();
    let receiver = Inbound::new(SPI, suite, &keys, numbers, 64).unwrap();
    (sender.starting_after(after), receiver.starting_after(after))
}

fn gcm() -> Suite {
    let id = bartizan_registry::transform_named(bartizan_registry::TransformKind::Encryption, "ENCR_AES_GCM_16")
        .unwrap()
        .id;
    Suite::of(id, Some(256), None).unwrap()
}

fn seal(sender: &mut Outbound, payload: &[u8], next_header: u8) -> Vec<u8> {
    let mut packet = vec![0; sender.suite().sealed_length(payload.len())];
    packet[sender.headroom()..][..payload.len()].copy_from_slice(payload);
    let length = sender.seal(&mut packet, payload.len(), next_header).unwrap();
    assert_eq!(length, packet.len());
    packet
}

/// IPv4 or IPv6 with this traffic class and payload.
fn ip(v6: bool, class: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = if v6 {
        let mut header = vec![0x60 | class >> 4, class << 4, 0, 0, 0, 0, protocol, 64];
        header[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        header.extend([0xfd; 32]);
        header
    } else {
        let mut header = vec![
            0x45, class, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 1, 0, 1, 10, 2, 0, 2,
        ];
        header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
        crate::ip::write_checksum(&mut header);
        header
    };
    packet.extend(payload);
    packet
}

#[test]
fn the_suites_are_those_that_say_so() {
    // AES-GCM, AES-CCM and AES-CBC with three keys each, CCM with three lengths of check values,
    // CBC with three proofs, and ChaCha20-Poly1305.
    assert_eq!(suites().len(), 3 + 3 * 3 + 3 * 3 + 1);
    let of = |name, bits, integrity| {
        let id = bartizan_registry::transform_named(bartizan_registry::TransformKind::Encryption, name)
            .unwrap()
            .id;
        Suite::of(id, bits, integrity).unwrap_err()
    };
    assert_eq!(of("ENCR_AES_GCM_16", None, None), Unusable::KeyLength { bits: 0 });
    assert_eq!(of("ENCR_AES_GCM_16", Some(256), Some(12)), Unusable::Combination);
    assert_eq!(of("ENCR_AES_CCM_16", None, None), Unusable::KeyLength { bits: 0 });
    assert_eq!(of("ENCR_AES_CCM_16", Some(256), Some(12)), Unusable::Combination);
    assert_eq!(of("ENCR_AES_CBC", Some(256), None), Unusable::Combination);
    assert_eq!(of("ENCR_AES_CBC", Some(256), Some(2)), Unusable::Integrity(2));
    assert_eq!(of("ENCR_AES_GCM_8", Some(256), None), Unusable::Encryption(18));
    // NULL encryption does not protect: it cannot be chosen by a mistake.
    assert_eq!(of("ENCR_NULL", None, Some(12)), Unusable::Encryption(11));
}

#[test]
fn keys_and_spis_that_cannot_be_right_are_refused() {
    for suite in suites() {
        let needed = suite.key_material();
        let given = needed - 1;
        let wrong = Unusable::KeyMaterial { given, needed };
        assert_eq!(Outbound::new(SPI, suite, &vec![0; given], Bits32).err(), Some(wrong));
        assert_eq!(Inbound::new(SPI, suite, &vec![0; given], Bits32, 64).err(), Some(wrong));
        let reserved = Outbound::new(255, suite, &vec![0; needed], Bits32);
        assert_eq!(reserved.err(), Some(Unusable::ReservedSpi(255)));
    }
}

#[test]
fn numbers_that_are_used_up_end_the_sa() {
    for (numbers, last) in [(Bits32, u64::from(u32::MAX)), (Extended, u64::MAX)] {
        let (mut sender, mut receiver) = pair(gcm(), numbers, last - 1);
        let mut packet = seal(&mut sender, b"the last", TCP);
        assert_eq!(receiver.open(&mut packet).unwrap().sequence, last);
        assert_eq!(sender.remaining(), 0);
        assert_eq!(sender.seal(&mut [0; 100], 8, TCP), Err(SealError::Exhausted));
        assert_eq!(sender.sent(), last);
    }
}

#[test]
fn extended_numbers_go_on_behind_32_bits() {
    for suite in suites() {
        let (mut sender, mut receiver) = pair(suite, Extended, (1 << 32) - 3);
        let packets: Vec<_> = (0..6_u8).map(|byte| seal(&mut sender, &[byte], TCP)).collect();
        // Out of order, over the wrap.
        for index in [3, 0, 5, 1, 4, 2] {
            let mut packet = packets[index].clone();
            let opened = receiver.open(&mut packet).unwrap();
            assert_eq!(opened.sequence, (1 << 32) - 2 + index as u64);
            assert_eq!(opened.payload, [index as u8]);
            let mut again = packets[index].clone();
            let again = receiver.open(&mut again);
            assert_eq!(again, Err(OpenError::Replayed((1 << 32) - 2 + index as u64)));
        }
        // The upper half is proven although it is not sent.
        let (mut sender, mut receiver) = pair(suite, Extended, 5 << 32);
        let mut packet = seal(&mut sender, b"of another time", TCP);
        receiver = receiver.starting_after(6 << 32);
        assert_eq!(receiver.open(&mut packet), Err(OpenError::Integrity));
    }
}

#[test]
fn a_packet_that_is_not_proven_does_not_move_the_window() {
    let (mut sender, mut receiver) = pair(gcm(), Bits32, 0);
    let early = seal(&mut sender, b"early", TCP);
    let mut forged = early.clone();
    // Far ahead: taken, it would put all that follows behind the window.
    forged[4..8].copy_from_slice(&[0xff; 4]);
    assert_eq!(receiver.open(&mut forged), Err(OpenError::Integrity));
    assert_eq!(receiver.highest(), 0);
    assert_eq!(receiver.open(&mut early.clone()).unwrap().payload, b"early");
}

#[test]
fn dummy_packets_and_wrong_padding_are_named() {
    for suite in suites() {
        let (mut sender, mut receiver) = pair(suite, Bits32, 0);
        let mut dummy = seal(&mut sender, &[0; 100], NO_NEXT_HEADER);
        assert_eq!(receiver.open(&mut dummy), Err(OpenError::Dummy));
        // A payload that is read as a trailer with wrong padding: sealed by the right keys, and wrong.
        let block = suite.sealed_length(0) - suite.headroom() - suite.icv;
        for trailer in [[9, 9, 2, TCP], [1, 2, 255, TCP]] {
            let mut packet = vec![0; suite.sealed_length(2 * block - 2)];
            let end = packet.len() - suite.icv;
            packet[end - 4..end].copy_from_slice(&trailer);
            packet[..4].copy_from_slice(&SPI.to_be_bytes());
            packet[7] = if trailer[2] == 2 { 2 } else { 3 };
            let keys: Vec<u8> = (0..suite.key_material()).map(|byte| byte as u8).collect();
            let key = Sealing::new(suite, &keys).unwrap();
            let (header, behind) = packet.split_at_mut(8);
            key.seal(Associated { header, upper: None }, behind).unwrap();
            assert_eq!(receiver.open(&mut packet), Err(OpenError::Padding));
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_costs_no_number() {
    let (mut sender, _) = pair(gcm(), Bits32, 0);
    let needed = gcm().sealed_length(50);
    let mut buffer = vec![0; needed - 1];
    let given = needed - 1;
    assert_eq!(
        sender.seal(&mut buffer, 50, TCP),
        Err(SealError::Buffer { given, needed })
    );
    assert_eq!(sender.seal(&mut buffer, usize::MAX, TCP), Err(SealError::TooLong));
    assert_eq!(sender.sent(), 0);
}

/// Traffic classes of inner packet and outer header, and that of the packet that goes on; none where it is dropped.
#[test]
fn congestion_is_passed_on_as_rfc_6040_says() {
    for (own, outer, expected) in [
        (0b00, 0b00, Some(0b00)),
        (0b00, 0b01, Some(0b00)),
        (0b00, 0b10, Some(0b00)),
        (0b00, 0b11, None),
        (0b10, 0b00, Some(0b10)),
        (0b10, 0b01, Some(0b01)),
        (0b10, 0b10, Some(0b10)),
        (0b10, 0b11, Some(0b11)),
        (0b01, 0b00, Some(0b01)),
        (0b01, 0b01, Some(0b01)),
        (0b01, 0b10, Some(0b01)),
        (0b01, 0b11, Some(0b11)),
        (0b11, 0b00, Some(0b11)),
        (0b11, 0b11, Some(0b11)),
    ] {
        for v6 in [false, true] {
            let (mut sender, mut receiver) = pair(gcm(), Bits32, 0);
            // With a DSCP, which is not changed.
            let inner = ip(v6, 0xb8 | own, TCP, b"payload");
            let mut buffer = vec![0; 200];
            buffer[sender.headroom()..][..inner.len()].copy_from_slice(&inner);
            let length = tunnel::seal(&mut sender, &mut buffer, inner.len(), 0).unwrap();
            let opened = tunnel::open(&mut receiver, &mut buffer[..length], 0x20 | outer);
            match expected {
                Some(class) => assert_eq!(opened.unwrap(), ip(v6, 0xb8 | class, TCP, b"payload")),
                None => assert_eq!(opened, Err(OpenError::Congestion)),
            }
        }
    }
}

#[test]
fn what_hides_the_length_of_a_packet_is_taken_off() {
    for v6 in [false, true] {
        let (mut sender, mut receiver) = pair(gcm(), Bits32, 0);
        let inner = ip(v6, 0, TCP, b"short");
        let mut buffer = vec![0xee; 1600];
        buffer[sender.headroom()..][..inner.len()].copy_from_slice(&inner);
        let length = tunnel::seal(&mut sender, &mut buffer, inner.len(), 1400).unwrap();
        assert_eq!(length, gcm().sealed_length(1400));
        assert_eq!(tunnel::open(&mut receiver, &mut buffer[..length], 0).unwrap(), inner);
    }
}

proptest! {
    #[test]
    fn what_is_sealed_is_opened_in_every_suite(
        suite in prop::sample::select(suites()),
        extended in any::<bool>(),
        after in prop_oneof![0_u64..1 << 31, Just((1 << 32) - 2)],
        v6 in any::<bool>(),
        class in any::<u8>(),
        least in 0_usize..200,
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let after = if extended { after } else { after & 0x7fff_ffff };
        let (mut sender, mut receiver) = pair(suite, if extended { Extended } else { Bits32 }, after);
        let inner = ip(v6, class, 253, &payload);
        let mut buffer = vec![0xaa; 1000];
        buffer[sender.headroom()..][..inner.len()].copy_from_slice(&inner);
        let length = tunnel::seal(&mut sender, &mut buffer, inner.len(), least).unwrap();
        prop_assert_eq!(length, suite.sealed_length(inner.len().max(least)));
        let opened = tunnel::open(&mut receiver, &mut buffer[..length], 0).unwrap().to_vec();
        prop_assert_eq!(opened, inner);
        prop_assert_eq!(receiver.highest(), after + 1);
    }

    #[test]
    fn a_packet_that_was_changed_is_refused(
        suite in prop::sample::select(suites()),
        extended in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut sender, mut receiver) = pair(suite, if extended { Extended } else { Bits32 }, 0);
        let whole = seal(&mut sender, &payload, TCP);
        let mut changed = whole.clone();
        changed[at.index(whole.len())] ^= 1 << bit;
        prop_assert!(receiver.open(&mut changed).is_err());
        let mut cut = whole[..cut.index(whole.len())].to_vec();
        prop_assert!(receiver.open(&mut cut).is_err());
        prop_assert_eq!(receiver.highest(), 0);
        let mut whole = whole;
        prop_assert_eq!(&*receiver.open(&mut whole).unwrap().payload, &payload[..]);
    }

    #[test]
    fn no_bytes_make_it_panic(
        suite in prop::sample::select(suites()),
        extended in any::<bool>(),
        ours in any::<bool>(),
        mut packet in prop::collection::vec(any::<u8>(), 0..200),
        length in 0_usize..300,
        least in 0_usize..300,
    ) {
        let (mut sender, mut receiver) = pair(suite, if extended { Extended } else { Bits32 }, 0);
        if ours && packet.len() >= 4 {
            packet[..4].copy_from_slice(&SPI.to_be_bytes());
        }
        let _ = receiver.open(&mut packet.clone());
        let _ = tunnel::open(&mut receiver, &mut packet.clone(), 3);
        let _ = sender.seal(&mut packet.clone(), length, 6);
        let _ = tunnel::seal(&mut sender, &mut packet.clone(), length, least);
    }

    /// As before, behind headers that are right, and proven: what a peer with the keys can send.
    #[test]
    fn no_proven_content_makes_it_panic(
        next in prop_oneof![Just(4_u8), Just(41), any::<u8>()],
        content in prop::collection::vec(any::<u8>(), 0..100),
        version in 0..=15_u8,
        class in any::<u8>(),
    ) {
        let (mut sender, mut receiver) = pair(gcm(), Bits32, 0);
        let mut content = content;
        if let Some(first) = content.first_mut() {
            *first = version << 4 | *first & 0x0f;
        }
        let mut packet = seal(&mut sender, &content, next);
        let _ = tunnel::open(&mut receiver, &mut packet, class);
    }
}
