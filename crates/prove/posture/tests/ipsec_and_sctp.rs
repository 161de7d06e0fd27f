//! Verdicts on captures of strongSwan, FlexRIC and free5GC, and on the same captures made worse.

use std::cell::Cell;

use bartizan_posture::{
    Answer, Hint, Ipsec, JudgedEspSa, JudgedIkeSa, Kind, Ledgers, Posture, Verdict, association_posture,
};
use bartizan_registry::NamedGroup;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};
use proptest::prelude::*;

const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
const FLEXRIC: &[u8] = include_bytes!("../../wire/tests/data/e2-flexric-kpm.pcap");
const DTLS: &[u8] = include_bytes!("../../wire/tests/data/dtls-1.2-in-sctp.pcap");
const FREE5GC: &[u8] = include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap");

#[derive(Default)]
struct Gathered {
    ipsec: Ipsec,
    associations: Vec<Association>,
}

impl Sink for Gathered {
    fn connection(&mut self, _: Connection) {}

    fn association(&mut self, association: Association) {
        self.associations.push(association);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

fn gather(file: &[u8]) -> Gathered {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    gathered
}

fn judge(file: &[u8]) -> (Vec<JudgedIkeSa>, Vec<JudgedEspSa>) {
    gather(file).ipsec.judge(&Ledgers::default())
}

fn of_situation(sas: &[JudgedIkeSa], number: u8) -> Vec<&Posture> {
    let address = format!("10.77.{number}.1");
    let of = |judged: &&JudgedIkeSa| judged.sa.initiator.ip().to_string() == address;
    sas.iter().filter(of).map(|judged| &judged.posture).collect()
}

/// The file's records, as places: behind their headers.
fn records(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        records.push(at + 16..at + 16 + length);
        at += 16 + length;
    }
    records
}

fn keep(file: &[u8], wanted: impl Fn(usize, &[u8]) -> bool) -> Vec<u8> {
    let mut kept = file[..24].to_vec();
    for (index, record) in records(file).into_iter().enumerate() {
        if wanted(index + 1, &file[record.clone()]) {
            kept.extend(&file[record.start - 16..record.end]);
        }
    }
    kept
}

/// Returns true if a frame is IKE of an exchange type, on either port.
fn is_exchange(frame: &[u8], kind: u8) -> bool {
    let udp = frame.get(34..).filter(|_| frame[12..14] == [8, 0] && frame[23] == 17);
    udp.is_some_and(|udp| {
        let ike = if udp[8..12] == [0; 4] { &udp[12..] } else { &udp[8..] };
        let ports = [[udp[0], udp[1]], [udp[2], udp[3]]].map(u16::from_be_bytes);
        (ports.contains(&500) || udp[8..12] == [0; 4]) && ike.get(18) == Some(&kind)
    })
}

#[test]
fn every_situation_of_strongswan_gets_the_verdict_its_negotiation_deserves() {
    use Verdict::{NotSeen, QuantumSafe, Vulnerable};
    let (ike, _) = judge(STRONGSWAN);
    for (number, verdict, offered, preferred, stayed) in [
        (1, Vulnerable, Answer::No, Answer::No, Answer::No),
        (2, QuantumSafe, Answer::Yes, Answer::Yes, Answer::NotObservable),
        (3, QuantumSafe, Answer::Yes, Answer::Yes, Answer::Yes),
        (4, QuantumSafe, Answer::Yes, Answer::Yes, Answer::NotObservable),
        (5, QuantumSafe, Answer::Yes, Answer::Yes, Answer::No),
        (6, QuantumSafe, Answer::Yes, Answer::Yes, Answer::No),
        (7, QuantumSafe, Answer::Yes, Answer::No, Answer::Yes),
        (8, NotSeen, Answer::No, Answer::No, Answer::NotSeen),
        (9, Vulnerable, Answer::Yes, Answer::Yes, Answer::No),
        (10, QuantumSafe, Answer::Yes, Answer::Yes, Answer::Yes),
        (11, Vulnerable, Answer::No, Answer::No, Answer::No),
        (12, Vulnerable, Answer::No, Answer::No, Answer::No),
        (14, Vulnerable, Answer::No, Answer::No, Answer::No),
    ] {
        let posture = of_situation(&ike, number)[0];
        assert_eq!(posture.confidentiality.verdict(), verdict, "situation {number}");
        let answers = [&posture.offered, &posture.preferred, &posture.stayed].map(bartizan_posture::Reply::answer);
        assert_eq!(answers, [offered, preferred, stayed], "situation {number}");
        assert_eq!(posture.clear.answer(), Answer::No);
        // The proofs are in IKE_AUTH, encrypted.
        assert_ne!(posture.authenticity.verdict(), Verdict::QuantumSafe);
    }
}

#[test]
fn what_an_initiator_prefers_is_what_it_asked_for_before_it_learned_the_answer() {
    let (ike, _) = judge(STRONGSWAN);
    let preferred = &of_situation(&ike, 7)[0].preferred;
    assert_eq!(
        preferred.because(),
        "the first proposal begins with Curve25519, and the key exchange data are of Curve25519"
    );
    // Without its first request the preference is not known.
    let first = Cell::new(true);
    let later = keep(STRONGSWAN, |_, frame| {
        let asks = is_exchange(frame, 34) && frame[26..30] == [10, 77, 7, 1];
        !asks || !first.replace(false)
    });
    let (ike, _) = judge(&later);
    assert_eq!(of_situation(&ike, 7)[0].preferred.answer(), Answer::NotSeen);
}

#[test]
fn an_ike_sa_made_by_a_rekey_inherits_the_verdict_of_the_one_before() {
    let (ike, _) = judge(STRONGSWAN);
    for number in [1, 2, 3, 4, 5, 6, 10] {
        let [before, after] = of_situation(&ike, number)[..] else {
            panic!("situation {number}")
        };
        assert_eq!(after.confidentiality.verdict(), before.confidentiality.verdict());
        assert_eq!(after.key_exchanges, before.key_exchanges);
        assert_eq!(after.stayed.answer(), before.stayed.answer());
    }
    // Without its predecessor the verdict is not known.
    let (ike, _) = judge(&keep(STRONGSWAN, |number, _| number >= 105));
    let posture = of_situation(&ike, 3)[0];
    assert_eq!(
        (posture.kind, posture.confidentiality.verdict()),
        (Kind::Ike, Verdict::NotSeen)
    );
}

#[test]
fn esp_is_judged_by_the_ike_sa_between_its_hosts() {
    let (_, esp) = judge(STRONGSWAN);
    let verdict = |number: u8| {
        let address = format!("10.77.{number}.1");
        let mut verdicts: Vec<Verdict> = esp
            .iter()
            .filter(|judged| judged.sa.source.to_string() == address)
            .map(|judged| judged.posture.confidentiality.verdict())
            .collect();
        verdicts.dedup();
        verdicts
    };
    assert_eq!(verdict(1), [Verdict::Vulnerable]);
    assert_eq!(verdict(3), [Verdict::QuantumSafe]);
    assert_eq!(verdict(12), [Verdict::NotObservable], "a PPK may have keyed it");
}

#[test]
fn esp_without_the_ike_that_keyed_it_is_not_observable() {
    let only_esp = keep(STRONGSWAN, |_, frame| !(33..=44).any(|kind| is_exchange(frame, kind)));
    let (ike, esp) = judge(&only_esp);
    assert!(ike.iter().all(|judged| judged.sa.initiator.is_ipv6()));
    assert_eq!(esp.len(), 38);
    for judged in &esp {
        let posture = &judged.posture;
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
        assert_eq!(posture.negotiated.answer(), Answer::NotObservable);
    }
    // Picked up after its first packet, next to an IKE_SA that looks right.
    let late = keep(STRONGSWAN, |number, _| number != 79);
    let (_, esp) = judge(&late);
    let at = |judged: &&JudgedEspSa| judged.sa.source.to_string() == "10.77.3.1";
    let first = esp.iter().find(at).unwrap();
    assert_eq!(
        (first.sa.first_sequence, first.posture.confidentiality.verdict()),
        (2, Verdict::NotObservable)
    );
}

#[test]
fn a_hybrid_whose_intermediate_exchange_is_missing_is_never_called_safe() {
    let without = keep(STRONGSWAN, |_, frame| !is_exchange(frame, 43));
    let (ike, esp) = judge(&without);
    for number in [3, 5, 6, 10] {
        for posture in of_situation(&ike, number) {
            assert_ne!(
                posture.confidentiality.verdict(),
                Verdict::QuantumSafe,
                "situation {number}"
            );
        }
    }
    let hybrid = esp
        .iter()
        .filter(|judged| judged.sa.source.to_string().starts_with("10.77.3."));
    assert!(
        hybrid
            .into_iter()
            .all(|judged| judged.posture.confidentiality.verdict() != Verdict::QuantumSafe)
    );
}

#[test]
fn a_hybrid_rekey_without_its_follow_ups_is_no_longer_called_post_quantum() {
    let without = keep(STRONGSWAN, |_, frame| !is_exchange(frame, 44));
    let (ike, _) = judge(&without);
    for number in [3, 10] {
        for posture in of_situation(&ike, number) {
            assert_eq!(posture.stayed.answer(), Answer::No, "situation {number}");
        }
    }
}

#[test]
fn every_chosen_transform_turned_classical_makes_the_verdict_fall() {
    let (before, _) = judge(STRONGSWAN);
    let mut turned = STRONGSWAN.to_vec();
    let mut changed = 0;
    for record in records(STRONGSWAN) {
        let frame = &STRONGSWAN[record.clone()];
        // Answers to IKE_SA_INIT alone: a choice of ML-KEM becomes one of P-256.
        if !is_exchange(frame, 34) || frame[42 + 19] & 0x20 == 0 {
            continue;
        }
        for at in 42 + 28..frame.len().saturating_sub(4) {
            let transform = [6, 0, 0, 36];
            if frame[at..at + 4] == transform {
                turned[record.start + at + 3] = 19;
                changed += 1;
            }
        }
    }
    assert_eq!(changed, 4, "situations 3, 5, 6 and 10");
    let (after, _) = judge(&turned);
    for number in [3, 5, 6] {
        assert_eq!(
            of_situation(&before, number)[0].confidentiality.verdict(),
            Verdict::QuantumSafe
        );
        for posture in of_situation(&after, number) {
            assert_eq!(
                posture.confidentiality.verdict(),
                Verdict::Vulnerable,
                "situation {number}"
            );
        }
    }
}

#[test]
fn e2_and_n2_in_plaintext_are_named_and_vulnerable() {
    for (file, name, by) in [
        // FlexRIC sends PPID 0: the first message tells.
        (FLEXRIC, "E2", Hint::Content),
        (FREE5GC, "N2", Hint::PayloadProtocol),
    ] {
        let posture = association_posture(&gather(file).associations[0]);
        let interface = posture.interface.unwrap();
        assert_eq!((interface.name, interface.by), (name, by));
        assert_eq!(posture.kind, Kind::ClearSctp);
        assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
        assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
        assert_eq!(posture.clear.answer(), Answer::Yes);
        assert_eq!(posture.negotiated.answer(), Answer::No);
    }
}

/// The N2 capture with every user message in DTLS 1.2 records, of the PPID that announces them.
#[test]
fn dtls_over_sctp_is_vulnerable_by_construction() {
    let (mut sealed, mut bodies) = (FREE5GC.to_vec(), Vec::new());
    for record in records(FREE5GC) {
        let frame = &FREE5GC[record.clone()];
        // Ethernet 14, IPv4 20, SCTP 12, then chunks.
        let mut at = 14 + 20 + 12;
        while at + 4 <= frame.len() {
            let length = usize::from(u16::from_be_bytes([frame[at + 2], frame[at + 3]]));
            if length < 4 {
                break;
            }
            if frame[at] == 0 && length >= 16 + 13 {
                let place = record.start + at;
                sealed[place + 12..place + 16].copy_from_slice(&66u32.to_be_bytes());
                let body = (length - 16 - 13) as u16;
                let header = [23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 1];
                sealed[place + 16..place + 27].copy_from_slice(&header);
                sealed[place + 27..place + 29].copy_from_slice(&body.to_be_bytes());
                bodies.push(place + 29..place + length);
            }
            at += length.next_multiple_of(4);
        }
    }
    // The messages of NGAP under the header say that they are encrypted, and are not.
    let readable = association_posture(&gather(&sealed).associations[0]);
    assert_eq!(readable.clear.answer(), Answer::NotObservable);
    for body in bodies {
        let spread = (0..=u8::MAX).map(|byte| byte.wrapping_mul(167)).cycle();
        sealed[body].iter_mut().zip(spread).for_each(|(to, from)| *to = from);
    }
    let posture = association_posture(&gather(&sealed).associations[0]);
    assert_eq!(posture.kind, Kind::DtlsOverSctp);
    assert_eq!(posture.interface.unwrap().name, "N2");
    assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable);
    assert!(posture.confidentiality.because().contains("by construction"));
    assert_eq!(posture.clear.answer(), Answer::No);
}

#[test]
fn the_handshake_of_dtls_says_who_proved_what_and_changes_nothing_about_the_key_exchange() {
    let associations = gather(DTLS).associations;
    let expected = [
        ("N2", NamedGroup::X25519, Answer::No),
        ("Xn", NamedGroup::SECP256R1, Answer::Yes),
        ("F1", NamedGroup::SECP521R1, Answer::Yes),
        ("E1", NamedGroup::SECP384R1, Answer::Yes),
    ];
    assert_eq!(associations.len(), expected.len());
    for (association, (name, group, client)) in associations.iter().zip(expected) {
        let posture = association_posture(association);
        assert_eq!(posture.interface.map(|interface| interface.name), Some(name));
        assert_eq!((posture.kind, posture.group), (Kind::DtlsOverSctp, Some(group)));
        // Xn was set up by the server of DTLS: who asks there is the end that answered the association.
        let [asks, answers] = match name {
            "Xn" => [&posture.server_authenticated, &posture.client_authenticated],
            _ => [&posture.client_authenticated, &posture.server_authenticated],
        };
        assert_eq!((answers.answer(), asks.answer()), (Answer::Yes, client), "{name}");
        assert!(
            answers.because().starts_with("DTLS 1.2, signed with "),
            "{}",
            answers.because()
        );
        assert_eq!(posture.offered.because(), "the client does not offer DTLS 1.3");
        for judgement in [&posture.confidentiality, &posture.authenticity] {
            assert_eq!(judgement.verdict(), Verdict::Vulnerable, "{name}");
        }
        assert!(posture.confidentiality.because().contains("by construction"));
    }
}

#[test]
fn dtls_whose_handshake_is_not_in_the_capture_is_vulnerable_by_its_records_alone() {
    let count = records(DTLS).len();
    for from in 2..=count {
        let cut = keep(DTLS, |number, _| number >= from);
        for association in &gather(&cut).associations {
            let posture = association_posture(association);
            let verdict = posture.confidentiality.verdict();
            assert!(
                matches!(verdict, Verdict::Vulnerable | Verdict::NotSeen),
                "{from}: {verdict:?}"
            );
            if association
                .dtls
                .as_ref()
                .is_some_and(|dtls| dtls.client_hello.is_none())
            {
                assert_eq!(posture.offered.answer(), Answer::NotSeen, "{from}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Losing packets may take a verdict away; it never makes a classical link safe.
    #[test]
    fn packets_lost_never_make_a_classical_link_safe(lost in proptest::collection::vec(any::<prop::sample::Index>(), 0..80)) {
        let count = records(STRONGSWAN).len();
        let lost: Vec<usize> = lost.iter().map(|index| index.index(count) + 1).collect();
        let (ike, esp) = judge(&keep(STRONGSWAN, |number, _| !lost.contains(&number)));
        for number in [1u8, 9, 11, 12, 14] {
            for posture in of_situation(&ike, number) {
                prop_assert_ne!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
            }
            let address = format!("10.77.{number}.");
            for judged in esp.iter().filter(|judged| judged.sa.source.to_string().starts_with(&address)) {
                prop_assert_ne!(judged.posture.confidentiality.verdict(), Verdict::QuantumSafe);
            }
        }
    }
}
