//! ESP and rekeyed IKE_SAs are judged by the IKE_SA that made them, also where several stand between the same hosts: charons'
//! packets of two pairs of hosts, moved to one pair.

use std::cell::Cell;

use bartizan_posture::{Answer, Ipsec, JudgedEspSa, JudgedIkeSa, Kind, Ledgers, Verdict};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{ExchangeType, IkeSa, Origin};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

use crate::towards_classical::frame::{Capture, Frame, Packet};

const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
/// Situations of the capture: x25519 throughout, and x25519 with ML-KEM-768.
pub(crate) const CLASSICAL: u8 = 1;
pub(crate) const HYBRID: u8 = 3;

#[derive(Default)]
struct Gathered(Ipsec);

impl Sink for Gathered {
    fn connection(&mut self, _: Connection) {}

    fn ike_sa(&mut self, sa: IkeSa) {
        self.0.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.0.add_esp(sa);
    }
}

/// The packets of a situation, between one and the same pair of hosts.
pub(crate) fn situation(number: u8) -> Vec<Packet> {
    let packets = Capture::read(STRONGSWAN).packets.into_iter();
    let own = packets.filter(|packet| packet.bytes[12..14] == [8, 0] && packet.bytes[28] == number);
    own.map(|packet| {
        let mut bytes = packet.bytes.clone();
        (bytes[28], bytes[32]) = (99, 99);
        packet.with(bytes)
    })
    .collect()
}

pub(crate) fn judge(packets: Vec<Packet>) -> (Vec<JudgedIkeSa>, Vec<JudgedEspSa>) {
    let mut reader = CaptureReader::new();
    reader.push(&Capture::read(STRONGSWAN).with(packets).file());
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    while let Ok(Some(mut packet)) = reader.next_packet() {
        // A second apart, in the order in which they were put together.
        packet.time.0 = packet.number * 1_000_000_000;
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    gathered.0.judge(&Ledgers::default())
}

/// The IKE message in a packet, where there is one: its place in the frame.
pub(crate) fn ike_at(packet: &Packet) -> Option<usize> {
    let frame = Frame::read(&packet.bytes);
    match frame.payload() {
        [0, 0, 0, 0, ..] => Some(frame.payload.start + 4),
        _ if frame.is_on(500) => Some(frame.payload.start),
        _ => None,
    }
}

pub(crate) fn exchange(packet: &Packet) -> Option<u8> {
    ike_at(packet).map(|at| packet.bytes[at + 18])
}

pub(crate) fn is_response(packet: &Packet) -> bool {
    ike_at(packet).is_some_and(|at| packet.bytes[at + 19] & 0x20 != 0)
}

/// The IKE message of a packet cut to so many bytes, its lengths made right.
fn cut(packet: &Packet, length: usize) -> Packet {
    let at = ike_at(packet).unwrap();
    let frame = Frame::read(&packet.bytes);
    let mut payload = packet.bytes[frame.payload.start..at + length].to_vec();
    let header = at - frame.payload.start;
    payload[header + 24..header + 28].copy_from_slice(&(length as u32).to_be_bytes());
    packet.with(frame.with_payload(&payload))
}

/// The same message as another exchange.
fn renamed(packet: &Packet, kind: u8) -> Packet {
    let mut bytes = packet.bytes.clone();
    bytes[ike_at(packet).unwrap() + 18] = kind;
    packet.with(bytes)
}

/// The ESP packets of a capture, and the others.
pub(crate) fn apart(packets: Vec<Packet>) -> (Vec<Packet>, Vec<Packet>) {
    packets.into_iter().partition(|packet| ike_at(packet).is_none())
}

/// Up to the first CREATE_CHILD_SA: set-up, and what the first CHILD_SA carried.
pub(crate) fn set_up(number: u8) -> Vec<Packet> {
    let packets = situation(number).into_iter();
    packets.take_while(|packet| exchange(packet) != Some(36)).collect()
}

#[test]
fn esp_that_an_older_classical_ike_sa_may_have_keyed_is_not_given_to_a_newer_hybrid_one() {
    let (classical_esp, classical_ike) = apart(set_up(CLASSICAL));
    let (hybrid_esp, hybrid_ike) = apart(set_up(HYBRID));
    // Both are set up before either carries anything: which of them keyed what is not shown.
    let (_, esp) = judge([classical_ike.clone(), hybrid_ike.clone(), classical_esp.clone()].concat());
    assert_eq!(esp.len(), 2);
    for judged in &esp {
        let judgement = &judged.posture.confidentiality;
        assert_eq!(judgement.verdict(), Verdict::NotObservable, "{}", judgement.because());
        assert!(
            judgement
                .because()
                .contains("Curve25519 negotiated: a classical key exchange, or ")
        );
    }
    // Once as much has appeared as was made, what comes later is the newer one's.
    let all = [classical_ike, classical_esp, hybrid_ike, hybrid_esp].concat();
    let (_, esp) = judge(all);
    let verdicts: Vec<Verdict> = esp
        .iter()
        .map(|judged| judged.posture.confidentiality.verdict())
        .collect();
    use Verdict::{QuantumSafe, Vulnerable};
    assert_eq!(verdicts, [Vulnerable, Vulnerable, QuantumSafe, QuantumSafe]);
}

#[test]
fn of_more_esp_than_the_ike_seen_can_have_keyed_none_is_called_safe() {
    let (foreign, _) = apart(set_up(CLASSICAL));
    let (own, ike) = apart(set_up(HYBRID));
    for packets in [
        [ike.clone(), own.clone(), foreign.clone()].concat(),
        [ike.clone(), foreign, own].concat(),
    ] {
        let (_, esp) = judge(packets);
        let safe = esp
            .iter()
            .filter(|judged| judged.posture.confidentiality.verdict() == Verdict::QuantumSafe);
        // An ESP association that is alone at a time may be the IKE_SA's: nothing determines it.
        assert!(safe.count() <= 2);
        let last = &esp[esp.len() - 1].posture.confidentiality;
        assert_eq!(last.verdict(), Verdict::NotObservable, "{}", last.because());
    }
}

#[test]
fn an_ike_auth_that_was_refused_or_made_no_child_keyed_nothing() {
    // 28 bytes of header; SK with a vector of 8, a check of 16, and N(AUTHENTICATION_FAILED): 8 bytes.
    let refused = 28 + 4 + 8 + 8 + 1 + 16;
    // IDr of 12 bytes, AUTH of 40, and N(MOBIKE_SUPPORTED).
    let childless = 28 + 4 + 8 + 12 + 40 + 8 + 1 + 16;
    for length in [refused, childless] {
        let packets = set_up(HYBRID).into_iter().map(|packet| match exchange(&packet) {
            Some(35) if is_response(&packet) => cut(&packet, length),
            _ => packet,
        });
        let (_, esp) = judge(packets.collect());
        assert!(!esp.is_empty());
        for judged in &esp {
            let judgement = &judged.posture.confidentiality;
            assert_eq!(
                judgement.verdict(),
                Verdict::NotObservable,
                "{length}: {}",
                judgement.because()
            );
        }
    }
}

#[test]
fn the_ike_auths_of_eap_key_one_child_together() {
    // IKE_AUTH again, with the next number, as EAP asks for: two exchanges, one CHILD_SA.
    let mut packets = Vec::new();
    let (foreign, _) = apart(set_up(CLASSICAL));
    for packet in set_up(HYBRID) {
        packets.push(packet.clone());
        if exchange(&packet) == Some(35) && is_response(&packet) {
            let again = packets[packets.len() - 2..].to_vec();
            packets.extend(again.into_iter().map(|packet| {
                let mut bytes = packet.bytes.clone();
                let at = ike_at(&packet).unwrap();
                bytes[at + 23] += 1;
                packet.with(bytes)
            }));
        }
    }
    let (ike, _) = judge(packets.clone());
    let of_auth = ike[0].sa.exchanges_of(ExchangeType::IKE_AUTH).count();
    assert_eq!(of_auth, 2);
    packets.extend(foreign);
    let (_, esp) = judge(packets);
    let last = &esp[esp.len() - 1].posture.confidentiality;
    assert_eq!(last.verdict(), Verdict::NotObservable, "{}", last.because());
}

#[test]
fn a_resumed_session_is_no_rekey_and_inherits_nothing() {
    // The second IKE_SA of the hybrid situation, as if IKE_SESSION_RESUME had begun it.
    let first = Cell::new(None);
    let packets: Vec<Packet> = situation(HYBRID)
        .into_iter()
        .map(|packet| {
            let Some(at) = ike_at(&packet) else { return packet };
            let spi: [u8; 8] = packet.bytes[at..at + 8].try_into().unwrap();
            if first.get().is_none() {
                first.set(Some(spi));
            }
            match first.get() {
                Some(known) if known != spi => renamed(&packet, 38),
                _ => packet,
            }
        })
        .collect();
    let (ike, _) = judge(packets);
    let [_, resumed] = &ike[..] else { panic!("two IKE_SAs") };
    assert_eq!(resumed.sa.origin, Origin::Resumed);
    let judgement = &resumed.posture.confidentiality;
    assert_eq!(judgement.verdict(), Verdict::NotObservable, "{}", judgement.because());
}

#[test]
fn an_ike_sa_whose_rekey_was_before_the_capture_inherits_nothing_from_its_neighbour() {
    // The classical IKE_SA's rekeyed successor, together with a hybrid IKE_SA that rekeyed its
    // CHILD_SA.
    let classical = situation(CLASSICAL);
    let rekey = classical
        .iter()
        .rposition(|packet| exchange(packet) == Some(36))
        .unwrap();
    let hybrid = situation(HYBRID);
    let of_ike = hybrid.iter().rposition(|packet| exchange(packet) == Some(36)).unwrap();
    let before = hybrid[..of_ike]
        .iter()
        .rposition(|packet| exchange(packet) == Some(44))
        .unwrap();
    let beginning = hybrid[..=before].to_vec();
    let child = hybrid[before + 1..of_ike]
        .iter()
        .filter(|packet| ike_at(packet).is_none())
        .cloned();
    let packets = [beginning, child.collect(), classical[rekey + 1..].to_vec()].concat();
    let (ike, _) = judge(packets);
    let rekeyed: Vec<&JudgedIkeSa> = ike.iter().filter(|judged| judged.sa.origin == Origin::Rekey).collect();
    let [rekeyed] = rekeyed[..] else {
        panic!("one IKE_SA without its set-up")
    };
    assert_eq!(rekeyed.posture.kind, Kind::Ike);
    assert_ne!(rekeyed.posture.confidentiality.verdict(), Verdict::QuantumSafe);
}

#[test]
fn additional_key_exchanges_count_in_the_order_of_their_types_however_they_are_written() {
    // Situation 10: two additional methods. In the choice the later one is written first.
    let swapped = Cell::new(0);
    let packets = situation(10).into_iter().map(|packet| {
        if exchange(&packet) != Some(34) || !is_response(&packet) {
            return packet;
        }
        let (one, other) = ([8, 6, 0, 0, 36], [8, 7, 0, 0, 35]);
        let mut bytes = packet.bytes.clone();
        // A transform is eight bytes: its length ends at the fourth, then type, a reserved byte and identifier.
        let at = bytes.windows(5).position(|window| window == one).unwrap();
        let (next, behind) = bytes[at + 1..].split_at(8);
        assert_eq!((&next[..1], &behind[..1]), (&one[1..2], &other[1..2]));
        let (next, behind) = (next[..4].to_vec(), behind[..4].to_vec());
        bytes[at + 1..at + 5].copy_from_slice(&behind);
        bytes[at + 9..at + 13].copy_from_slice(&next);
        swapped.set(swapped.get() + 1);
        packet.with(bytes)
    });
    let (ike, _) = judge(packets.collect());
    assert_eq!(swapped.get(), 1);
    let posture = &ike[0].posture;
    assert_eq!(
        posture.confidentiality.verdict(),
        Verdict::QuantumSafe,
        "{}",
        posture.confidentiality.because()
    );
    assert_eq!(posture.negotiated.answer(), Answer::Yes);
}
