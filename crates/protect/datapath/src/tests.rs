use std::net::IpAddr;

use bartizan_esp::{Inbound, OpenError, Outbound, SequenceNumbers, Suite};
use bartizan_ike::Selector;
use bartizan_registry::{TransformKind, transform_named};
use bartizan_wire::ip::{NO_NEXT_HEADER, SCTP, TCP, UDP};
use proptest::prelude::*;

use super::*;

const CU: [u8; 4] = [10, 78, 0, 1];
const RIC: [u8; 4] = [10, 78, 0, 2];
const CU_6: [u8; 16] = [0xfd, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const RIC_6: [u8; 16] = [0xfd, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const SPI: u32 = 0x1000;

fn suite() -> Suite {
    let gcm = transform_named(TransformKind::Encryption, "ENCR_AES_GCM_16").unwrap();
    Suite::of(gcm.id, Some(256), None).unwrap()
}

fn sa(spi: u32, key: u8) -> (Outbound, Inbound) {
    let keys = [key; 36];
    let numbers = SequenceNumbers::Extended;
    (
        Outbound::new(spi, suite(), &keys, numbers).unwrap(),
        Inbound::new(spi, suite(), &keys, numbers, 64).unwrap(),
    )
}

fn host(address: [u8; 4], protocol: u8, ports: (u16, u16)) -> Selector {
    let address = IpAddr::from(address);
    Selector {
        protocol,
        ports,
        addresses: (address, address),
    }
}

/// From the CU, to a port of the RIC, or to any.
fn of_cu(protocol: u8, port: Option<u16>) -> Traffic {
    let any = (0, u16::MAX);
    Traffic {
        local: vec![host(CU, protocol, any)],
        remote: vec![host(RIC, protocol, port.map_or(any, |port| (port, port)))],
    }
}

/// The same seen from the RIC.
fn of_ric(traffic: &Traffic) -> Traffic {
    Traffic {
        local: traffic.remote.clone(),
        remote: traffic.local.clone(),
    }
}

/// An IPv4 packet between these hosts; `fragment` is the field of flags and offset.
fn packet(between: [[u8; 4]; 2], protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0xb8, 0, 0, 0, 7, 0, 0, 64, protocol, 0, 0];
    let length = 20 + payload.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet.extend(between.concat());
    packet.extend(payload);
    packet
}

fn ports(from: u16, to: u16) -> Vec<u8> {
    [&from.to_be_bytes()[..], &to.to_be_bytes(), b"some payload"].concat()
}

/// Seals a packet at the CU's end.
fn sealed(outgoing: &mut Outgoing<&'static str>, packet: &[u8]) -> Result<(Vec<u8>, u8, &'static str), Unsent> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    let mut send = |sealed: Sealed<'_, &'static str>| {
        all.push((sealed.packets.to_vec(), sealed.class, *sealed.way));
    };
    outgoing.seal(&mut packet.to_vec(), &Offload::default(), &mut batch, &mut send)?;
    batch.flush(&mut send);
    assert_eq!(all.len(), 1);
    Ok(all.remove(0))
}

/// Segments of TCP as one packet, of so many bytes of payload, as a device hands it over.
fn large(is_v6: bool, payload: usize) -> Vec<u8> {
    let mut tcp = vec![0_u8; 32];
    tcp[..4].copy_from_slice(&[0x9c, 0x40, 0x1b, 0x58]);
    tcp[4..8].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
    tcp[12..14].copy_from_slice(&[0x80, 0x18]);
    tcp[20..32].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    tcp.extend((0..payload).map(|at| (at % 251) as u8));
    if !is_v6 {
        return packet([CU, RIC], TCP, 0x4000, &tcp);
    }
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, TCP, 64];
    packet[4..6].copy_from_slice(&(tcp.len() as u16).to_be_bytes());
    packet.extend([CU_6, RIC_6].concat());
    packet.extend(tcp);
    packet
}

fn ends(traffic: &Traffic) -> (Outgoing<&'static str>, Incoming) {
    let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
    let (sender, receiver) = sa(SPI, 1);
    outgoing.add(SPI, sender, (7, traffic.clone()), "ric");
    assert!(incoming.add(SPI, receiver, (7, of_ric(traffic))));
    (outgoing, incoming)
}

#[test]
fn a_packet_of_the_link_arrives_as_it_was_sent_and_its_class_is_for_the_outer_header() {
    let (mut outgoing, mut incoming) = ends(&of_cu(SCTP, Some(36_421)));
    let sent = packet([CU, RIC], SCTP, 0, &ports(40_000, 36_421));
    let (mut esp, class, way) = sealed(&mut outgoing, &sent).unwrap();
    assert_eq!((class, way), (0xb8, "ric"));
    assert!(!esp.windows(4).any(|bytes| bytes == b"some"));
    assert_eq!(incoming.open(&mut esp.clone(), 0).unwrap(), &sent[..]);
    // A second time it is a replay.
    let again = incoming.open(&mut esp, 0).unwrap_err();
    assert_eq!(again, Refused::NotOpened(OpenError::Replayed(1)));
    let counted = incoming.counted(SPI).unwrap();
    assert_eq!(
        (counted.packets, counted.bytes, counted.replayed),
        (1, sent.len() as u64, 1)
    );
    assert_eq!(outgoing.counted(SPI, |way| *way == "ric").unwrap().packets, 1);
}

/// From a port to the same port, where each end has an SA for its own: the other end, if its ESP is
/// a kernel's, drops what comes by the other SA.
#[test]
fn of_two_sas_the_one_of_the_lower_end_carries_what_is_of_both_whichever_was_made_first() {
    let for_ric = of_cu(UDP, Some(8805));
    let for_cu = Traffic {
        local: vec![host(CU, UDP, (8805, 8805))],
        remote: vec![host(RIC, UDP, (0, u16::MAX))],
    };
    let wide = of_cu(0, None);
    let [by_ric, by_cu, by_all] = [0x1001, 0x1002, 0x1003];
    for order in [
        [by_ric, by_cu, by_all],
        [by_all, by_cu, by_ric],
        [by_cu, by_all, by_ric],
    ] {
        let mut outgoing = Outgoing::default();
        for spi in order {
            let traffic = [&for_ric, &for_cu, &wide][spi as usize - 0x1001];
            outgoing.add(spi, sa(spi, 1).0, (spi, traffic.clone()), "ric");
        }
        for (between, spi) in [
            ((8805, 8805), by_cu),
            ((9000, 8805), by_ric),
            ((8805, 9000), by_cu),
            ((1, 2), by_all),
        ] {
            let packet = packet([CU, RIC], UDP, 0, &ports(between.0, between.1));
            let (esp, _, _) = sealed(&mut outgoing, &packet).unwrap();
            assert_eq!(esp[..4], spi.to_be_bytes(), "{order:?} {between:?}");
        }
        // The next one of the same traffic takes its place.
        outgoing.add(0x2000, sa(0x2000, 1).0, (by_cu, for_cu.clone()), "ric");
        let packet = packet([CU, RIC], UDP, 0, &ports(8805, 8805));
        assert_eq!(sealed(&mut outgoing, &packet).unwrap().0[..4], 0x2000_u32.to_be_bytes());
    }
}

/// It left by the SA of the wider link, and was taken by it.
#[test]
fn a_packet_of_two_links_is_of_the_narrower_one_whether_that_has_an_sa_or_none() {
    let (wide, narrow) = (of_cu(0, None), of_cu(SCTP, Some(36_421)));
    let (mut outgoing, mut incoming) = ends(&wide);
    let [of_both, of_wide] = [36_421, 38_412].map(|port| packet([CU, RIC], SCTP, 0, &ports(40_000, port)));
    let (mut before, ..) = sealed(&mut outgoing, &of_both).unwrap();
    for link in [(7, &wide), (8, &narrow)] {
        outgoing.require(link.0, link.1);
        incoming.require(link.0, &of_ric(link.1));
    }
    assert_eq!(sealed(&mut outgoing, &of_both).unwrap_err(), Unsent::NoSa(8));
    assert_eq!(incoming.open(&mut before, 0).unwrap_err(), Refused::OtherTraffic);
    let (mut esp, ..) = sealed(&mut outgoing, &of_wide).unwrap();
    assert_eq!(incoming.open(&mut esp, 0).unwrap(), &of_wide[..]);
    let (sender, receiver) = sa(SPI + 1, 2);
    outgoing.add(SPI + 1, sender, (8, narrow.clone()), "ric");
    assert!(incoming.add(SPI + 1, receiver, (8, of_ric(&narrow))));
    let (mut esp, ..) = sealed(&mut outgoing, &of_both).unwrap();
    assert_eq!(esp[..4], (SPI + 1).to_be_bytes());
    assert_eq!(incoming.open(&mut esp, 0).unwrap(), &of_both[..]);
    // Without the narrower link they are the wider one's.
    outgoing.remove(SPI + 1, |_| true);
    outgoing.release(8, &narrow);
    incoming.release(8, &of_ric(&narrow));
    let (mut esp, ..) = sealed(&mut outgoing, &of_both).unwrap();
    assert_eq!(incoming.open(&mut esp, 0).unwrap(), &of_both[..]);
}

#[test]
fn a_dummy_packet_is_discarded_and_is_no_packet_that_was_not_opened() {
    let (_, mut incoming) = ends(&of_cu(0, None));
    let (mut sender, _) = sa(SPI, 1);
    let mut packet = vec![0; sender.suite().sealed_length(64)];
    sender.seal(&mut packet, 64, NO_NEXT_HEADER).unwrap();
    assert_eq!(incoming.open(&mut packet, 0).unwrap_err(), Refused::Dummy);
}

/// A link is released by the pairs of its selectors, and had been required as a whole.
#[test]
fn a_link_of_several_networks_is_released_pair_by_pair() {
    let mut both = of_cu(SCTP, Some(36_421));
    both.remote.push(host([10, 78, 0, 3], SCTP, (36_421, 36_421)));
    let mut outgoing = Outgoing::<&str>::default();
    outgoing.require(7, &both);
    for (place, remote) in [RIC, [10, 78, 0, 3]].into_iter().enumerate() {
        let asking = packet([CU, remote], SCTP, 0, &ports(40_000, 36_421));
        assert_eq!(sealed(&mut outgoing, &asking).unwrap_err(), Unsent::NoSa(7));
        let pair = Traffic {
            local: both.local.clone(),
            remote: vec![both.remote[place]],
        };
        outgoing.release(7, &pair);
        assert_eq!(sealed(&mut outgoing, &asking).unwrap_err(), Unsent::NoLink);
    }
}

#[test]
fn what_no_sa_is_for_is_not_sealed_and_of_a_link_without_one_its_number_is_said() {
    let traffic = of_cu(SCTP, Some(36_421));
    let (mut outgoing, _) = ends(&traffic);
    for other in [
        packet([RIC, CU], SCTP, 0, &ports(40_000, 36_421)),
        packet([CU, [10, 78, 0, 3]], SCTP, 0, &ports(40_000, 36_421)),
        packet([CU, RIC], TCP, 0, &ports(40_000, 36_421)),
        packet([CU, RIC], SCTP, 0, &ports(36_421, 36_422)),
        // Too short for ports.
        packet([CU, RIC], SCTP, 0, &[0]),
    ] {
        assert_eq!(sealed(&mut outgoing, &other).unwrap_err(), Unsent::NoLink);
    }
    assert_eq!(sealed(&mut outgoing, b"no packet").unwrap_err(), Unsent::NotIp);
    let asking = packet([CU, RIC], SCTP, 0, &ports(40_000, 36_421));
    outgoing.require(7, &traffic);
    assert!(outgoing.remove(SPI, |_| true));
    assert_eq!(sealed(&mut outgoing, &asking).unwrap_err(), Unsent::NoSa(7));
    outgoing.release(7, &traffic);
    assert_eq!(sealed(&mut outgoing, &asking).unwrap_err(), Unsent::NoLink);
}

#[test]
fn a_peer_that_sends_other_traffic_than_its_sa_is_for_is_refused() {
    let (_, mut incoming) = ends(&of_cu(SCTP, Some(36_421)));
    let (sender, _) = sa(SPI, 1);
    let mut peer = Outgoing::default();
    let everything = Selector::of([0; 4].into(), [255; 4].into());
    let all = Traffic {
        local: vec![everything],
        remote: vec![everything],
    };
    peer.add(SPI, sender, (7, all), "any");
    for other in [
        packet([CU, RIC], SCTP, 0, &ports(40_000, 22)),
        packet([CU, RIC], TCP, 0, &ports(40_000, 36_421)),
        packet([[10, 78, 0, 9], RIC], SCTP, 0, &ports(40_000, 36_421)),
        packet([CU, [10, 78, 0, 9]], SCTP, 0, &ports(40_000, 36_421)),
        // A later fragment whose first was never seen.
        packet([CU, RIC], SCTP, 2, &ports(40_000, 36_421)),
    ] {
        let (mut esp, ..) = sealed(&mut peer, &other).unwrap();
        assert_eq!(incoming.open(&mut esp, 0).unwrap_err(), Refused::OtherTraffic);
    }
    assert_eq!(incoming.counted(SPI).unwrap().packets, 0);
}

#[test]
fn later_fragments_go_where_their_first_went() {
    let (mut outgoing, mut incoming) = ends(&of_cu(UDP, Some(2152)));
    let first = packet([CU, RIC], UDP, 0x2000, &ports(2152, 2152));
    let second = packet([CU, RIC], UDP, 2, b"the rest of it");
    assert_eq!(sealed(&mut outgoing, &second).unwrap_err(), Unsent::NoLink);
    for part in [first, second] {
        let (mut esp, ..) = sealed(&mut outgoing, &part).unwrap();
        assert_eq!(incoming.open(&mut esp, 0).unwrap(), &part[..]);
    }
}

#[test]
fn a_new_sa_takes_over_and_what_is_on_its_way_by_the_old_one_still_arrives() {
    let traffic = of_cu(0, None);
    let (mut outgoing, mut incoming) = ends(&traffic);
    let sent = packet([CU, RIC], TCP, 0, &ports(1, 2));
    let (mut under_way, ..) = sealed(&mut outgoing, &sent).unwrap();
    let (sender, receiver) = sa(SPI + 1, 2);
    assert!(incoming.add(SPI + 1, receiver, (7, of_ric(&traffic))));
    outgoing.add(SPI + 1, sender, (7, traffic), "ric");
    let (mut by_new, ..) = sealed(&mut outgoing, &sent).unwrap();
    assert_eq!(by_new[..4], (SPI + 1).to_be_bytes());
    assert!(incoming.open(&mut under_way, 0).is_ok());
    assert!(incoming.open(&mut by_new, 0).is_ok());
    assert!(outgoing.remove(SPI, |way| *way == "ric") && incoming.remove(SPI));
    let (mut late, ..) = sealed(&mut ends(&of_cu(0, None)).0, &sent).unwrap();
    assert_eq!(incoming.open(&mut late, 0).unwrap_err(), Refused::NoSa);
    // An SPI that another peer has chosen too is another SA.
    assert!(!outgoing.remove(SPI + 1, |way| *way == "other"));
    // One that is there is not replaced.
    let (_, another) = sa(SPI + 1, 3);
    assert!(!incoming.add(SPI + 1, another, (7, of_cu(0, None))));
}

#[test]
fn an_sa_whose_numbers_are_used_up_sends_nothing_more() {
    let (sender, _) = sa(SPI, 1);
    let mut outgoing = Outgoing::default();
    outgoing.add(SPI, sender.starting_after(u64::MAX), (7, of_cu(0, None)), "ric");
    let sent = packet([CU, RIC], TCP, 0, &ports(1, 2));
    let refused = sealed(&mut outgoing, &sent).unwrap_err();
    assert_eq!(refused, Unsent::NotSealed(bartizan_esp::SealError::Exhausted));
}

#[test]
fn segments_of_one_packet_are_cut_sealed_opened_and_put_together_again() {
    let everything = |first: IpAddr, last: IpAddr| Selector::of(first, last);
    let all = vec![
        everything([0; 4].into(), [255; 4].into()),
        everything([0; 16].into(), [255; 16].into()),
    ];
    let traffic = Traffic {
        local: all.clone(),
        remote: all,
    };
    for (is_v6, payload, size) in [(false, 60_000, 1386_u16), (true, 50_001, 1366), (false, 1387, 1386)] {
        let (mut outgoing, mut incoming) = ends(&traffic);
        let sent = large(is_v6, payload);
        let ip = if is_v6 { 40 } else { 20 };
        let offload = Offload::of_segments(is_v6, [ip, 32], size);
        assert_eq!(Offload::read(&offload.encode()), Some(offload));
        let (mut datagrams, mut batch) = (Vec::new(), Batch::default());
        let mut send = |sealed: Sealed<'_, &'static str>| {
            assert!(sealed.packets.len() <= 65_000);
            datagrams.extend(sealed.packets.chunks(sealed.each).map(<[u8]>::to_vec));
        };
        outgoing
            .seal(&mut sent.clone(), &offload, &mut batch, &mut send)
            .unwrap();
        batch.flush(&mut send);
        assert_eq!(datagrams.len(), payload.div_ceil(size.into()));
        let mut together = Coalesced::new(true);
        for datagram in &mut datagrams {
            let inner = incoming.open(datagram, 0).unwrap();
            assert!(inner.len() <= ip + 32 + usize::from(size));
            assert!(together.take_in(inner));
        }
        let taken = together.take().unwrap();
        let (described, packet) = taken.split_first_chunk().unwrap();
        assert_eq!(Offload::read(described), Some(offload));
        // Sums are the device's to finish; everything else is as it was sent.
        let mut expected = sent.clone();
        if !is_v6 {
            expected[10..12].copy_from_slice(&packet[10..12]);
        }
        expected[ip + 16..ip + 18].copy_from_slice(&packet[ip + 16..ip + 18]);
        assert_eq!(packet, expected);
        let mut finished = packet.to_vec();
        assert!(crate::segments::finish(&mut finished, offload.checksum.unwrap()));
        let between = Flow::read(packet).map(|flow| (flow.source, flow.destination)).unwrap();
        let sum = bartizan_wire::checksum::over_addresses(between.0, between.1, TCP, &finished[ip..]);
        assert_eq!(sum, u16::MAX);
        assert_eq!(together.take(), None);
    }
}

/// A datagram of UDP with its checksum.
fn datagram(from: u16, payload: &[u8]) -> Vec<u8> {
    let mut udp = [from, 2152, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
    udp.extend(payload);
    let sum = bartizan_wire::checksum::over_addresses(CU.into(), RIC.into(), UDP, &udp);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    packet([CU, RIC], UDP, 0x4000, &udp)
}

#[test]
fn packets_of_one_length_leave_together_and_arrive_as_one() {
    let (mut outgoing, mut incoming) = ends(&of_cu(0, None));
    let (mut sends, mut batch) = (Vec::new(), Batch::default());
    let mut send = |sealed: Sealed<'_, &'static str>| sends.push((sealed.packets.to_vec(), sealed.each));
    let payloads = [&[1; 400][..], &[2; 400], &[3; 400], &[4; 100], &[5; 400]];
    for payload in payloads {
        let sealed = outgoing.seal(&mut datagram(7, payload), &Offload::default(), &mut batch, &mut send);
        sealed.unwrap();
    }
    batch.flush(&mut send);
    batch.flush(&mut send);
    // A shorter one is the last of its batch.
    let counts: Vec<usize> = sends.iter().map(|(bytes, each)| bytes.len().div_ceil(*each)).collect();
    assert_eq!(counts, [4, 1]);
    let mut together = Coalesced::new(true);
    for datagram in sends[0].0.clone().chunks_mut(sends[0].1) {
        assert!(together.take_in(incoming.open(datagram, 0).unwrap()));
    }
    let taken = together.take().unwrap().to_vec();
    let (described, arrived) = taken.split_first_chunk().unwrap();
    let offload = Offload::read(described).unwrap();
    assert_eq!(offload, Offload::of_datagrams(20, 400));
    // A packet that a device would hand over so is cut to the datagrams that were sent.
    let (mut cut, mut batch) = (Vec::new(), Batch::default());
    let mut send = |sealed: Sealed<'_, &'static str>| {
        cut.extend(sealed.packets.chunks(sealed.each).map(<[u8]>::to_vec));
    };
    outgoing
        .seal(&mut arrived.to_vec(), &offload, &mut batch, &mut send)
        .unwrap();
    batch.flush(&mut send);
    let opened = cut.iter_mut().map(|packet| incoming.open(packet, 0).unwrap().to_vec());
    for (opened, payload) in opened.zip(payloads) {
        let expected = datagram(7, payload);
        // Numbers of IPv4 follow each other, and its checksum is over them.
        assert_eq!((&opened[..4], &opened[12..]), (&expected[..4], &expected[12..]));
    }
    assert_eq!(cut.len(), 4);
    // Not without a device that takes them, or of two senders.
    assert!(!Coalesced::new(false).take_in(&datagram(7, b"one")));
    let mut together = Coalesced::new(true);
    assert!(together.take_in(&datagram(7, b"one")) && !together.take_in(&datagram(8, b"one")));
}

#[test]
fn what_was_found_for_a_flow_is_not_used_after_the_sas_have_changed() {
    let (mut outgoing, _) = ends(&of_cu(0, None));
    let sent = packet([CU, RIC], TCP, 0, &ports(1, 2));
    assert_eq!(sealed(&mut outgoing, &sent).unwrap().2, "ric");
    assert_eq!(sealed(&mut outgoing, &sent).unwrap().2, "ric");
    let (sender, _) = sa(SPI + 1, 2);
    outgoing.add(SPI + 1, sender, (7, of_cu(0, None)), "elsewhere");
    assert_eq!(sealed(&mut outgoing, &sent).unwrap().2, "elsewhere");
    assert!(outgoing.remove(SPI + 1, |_| true));
    assert_eq!(sealed(&mut outgoing, &sent).unwrap().2, "ric");
    assert!(outgoing.remove(SPI, |_| true));
    assert_eq!(sealed(&mut outgoing, &sent).unwrap_err(), Unsent::NoLink);
}

#[test]
fn what_does_not_follow_or_is_no_plain_segment_is_not_put_together() {
    let segment = |number: u32, flags: u8, payload: &[u8]| {
        let mut tcp = vec![0_u8; 20];
        tcp[..4].copy_from_slice(&[0x9c, 0x40, 0x1b, 0x58]);
        tcp[4..8].copy_from_slice(&number.to_be_bytes());
        tcp[12..14].copy_from_slice(&[0x50, flags]);
        tcp.extend(payload);
        let sum = bartizan_wire::checksum::over_addresses(CU.into(), RIC.into(), TCP, &tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        packet([CU, RIC], TCP, 0x4000, &tcp)
    };
    let mut wrong = segment(4, 0x10, b"next");
    *wrong.last_mut().unwrap() ^= 1;
    let mut other_class = segment(4, 0x10, b"next");
    other_class[1] = 0;
    for next in [
        wrong,
        other_class,
        segment(5, 0x10, b"next"),
        segment(4, 0x11, b"next"),
        segment(4, 0x10, b"longer"),
        segment(4, 0x10, b""),
        packet([CU, RIC], UDP, 0x4000, b"12345678next"),
        datagram(7, b"next"),
        packet([CU, RIC], TCP, 0x2000, b"12345678next"),
    ] {
        let mut together = Coalesced::new(true);
        assert!(together.take_in(&segment(0, 0x10, b"that")));
        assert!(!together.take_in(&next), "{next:?}");
        assert!(together.take().is_some_and(|taken| taken[..10] == [0; 10]));
    }
    // A shorter one, or one that is pushed, is the last.
    for last in [segment(4, 0x10, b"two"), segment(4, 0x18, b"next")] {
        let mut together = Coalesced::new(true);
        assert!(together.take_in(&segment(0, 0x10, b"that")) && together.take_in(&last));
        assert!(!together.take_in(&segment(8, 0x10, b"more")) && !together.take_in(&segment(7, 0x10, b"more")));
    }
}

proptest! {
    #[test]
    fn no_packet_of_a_device_makes_it_panic(
        described in any::<[u8; 10]>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        is_v6: bool,
    ) {
        let (mut outgoing, _) = ends(&of_cu(0, None));
        let packet = [&large(is_v6, 0)[..], &bytes].concat();
        if let Some(offload) = Offload::read(&described) {
            let mut batch = Batch::default();
            _ = outgoing.seal(&mut packet.clone(), &offload, &mut batch, &mut |_| {});
            batch.flush(&mut |_| {});
        }
        let mut together = Coalesced::new(is_v6);
        _ = together.take_in(&packet);
        _ = together.take_in(&bytes);
        _ = together.take();
    }
}

proptest! {
    #[test]
    fn no_bytes_are_opened_or_sealed_by_chance(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (mut outgoing, mut incoming) = ends(&of_cu(SCTP, Some(36_421)));
        let mut arrived = [&SPI.to_be_bytes()[..], &bytes].concat();
        prop_assert!(incoming.open(&mut arrived, 3).is_err());
        prop_assert!(sealed(&mut outgoing, &bytes).is_err());
    }
}
