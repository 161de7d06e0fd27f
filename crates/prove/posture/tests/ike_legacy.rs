//! Old groups and ciphers of IKE are vulnerable and not unknown; IKEv1 is worth what phase 1 shows of it.

use bartizan_posture::{Answer, Ipsec, JudgedIkeSa, Kind, Ledgers, Verdict};
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::{Connection, Limits, Observer, Packet, Sink, Timestamp};

#[derive(Default)]
struct Gathered(Ipsec);

impl Sink for Gathered {
    fn connection(&mut self, _: Connection) {}

    fn ike_sa(&mut self, sa: IkeSa) {
        self.0.add_ike(sa);
    }
}

/// Judges datagrams on port 500, each with whether the initiator sent it.
fn judge(messages: &[(bool, Vec<u8>)]) -> JudgedIkeSa {
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    for (number, (from_initiator, message)) in messages.iter().enumerate() {
        let mut packet = vec![0x45, 0];
        packet.extend(u16::try_from(28 + message.len()).unwrap().to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, 17, 0, 0]);
        let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
        packet.extend(hosts[usize::from(!from_initiator)]);
        packet.extend(hosts[usize::from(*from_initiator)]);
        packet.extend([1, 0xf4, 1, 0xf4]);
        packet.extend(u16::try_from(8 + message.len()).unwrap().to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(message);
        let packet = Packet {
            number: number as u64 + 1,
            time: Timestamp(number as u64),
            link: LinkType::RAW,
            data: &packet,
            original_length: packet.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    let (mut ike, _) = gathered.0.judge(&Ledgers::default());
    assert_eq!(ike.len(), 1);
    ike.remove(0)
}

fn wrapped(next: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[next, 0][..], &length, body].concat()
}

fn header(responder: u8, next: u8, version: u8, exchange: u8, flags: u8, payloads: &[u8]) -> Vec<u8> {
    let mut message = vec![7; 8];
    message.extend([responder; 8]);
    message.extend([next, version, exchange, flags, 0, 0, 0, 0]);
    message.extend(u32::try_from(28 + payloads.len()).unwrap().to_be_bytes());
    message.extend(payloads);
    message
}

/// IKE_SA_INIT with one proposal and a KE payload of so many bytes.
fn init(response: bool, cipher: u16, group: u16, data: usize) -> Vec<u8> {
    let transform = |next: u8, kind: u8, id: u16| wrapped(next, &[&[kind, 0][..], &id.to_be_bytes()].concat());
    let transforms = [
        transform(3, 1, cipher),
        transform(3, 2, 2),
        transform(3, 3, 2),
        transform(0, 4, group),
    ]
    .concat();
    let proposal = wrapped(0, &[&[1, 1, 0, 4][..], &transforms].concat());
    let exchange = [&group.to_be_bytes()[..], &[0, 0], &vec![9; data]].concat();
    let payloads = [wrapped(34, &proposal), wrapped(40, &exchange), wrapped(0, &[5; 32])].concat();
    header(
        u8::from(response) * 8,
        33,
        0x20,
        34,
        if response { 0x20 } else { 0x08 },
        &payloads,
    )
}

#[test]
fn old_groups_and_ciphers_are_vulnerable_and_not_unknown() {
    for (cipher, group, data, because) in [
        (12, 1, 96, "768-bit MODP negotiated"),
        (12, 2, 128, "1024-bit MODP negotiated"),
        (12, 5, 192, "1536-bit MODP negotiated"),
        (2, 14, 256, "ENCR_DES"),
        (3, 14, 256, "ENCR_3DES"),
        (3, 36, 1184, "ENCR_3DES"),
        // A cipher of no registry makes a classical key exchange no better.
        (999, 14, 256, "2048-bit MODP"),
    ] {
        let answer = if group == 36 { 1088 } else { data };
        let judged = judge(&[
            (true, init(false, cipher, group, data)),
            (false, init(true, cipher, group, answer)),
        ]);
        let confidentiality = &judged.posture.confidentiality;
        assert_eq!(confidentiality.verdict(), Verdict::Vulnerable, "{cipher} {group}");
        assert!(
            confidentiality.because().contains(because),
            "{}",
            confidentiality.because()
        );
        assert_eq!(judged.posture.clear.answer(), Answer::No, "a weak cipher encrypts");
    }
}

/// Phase 1 with these transforms: cipher, proof, group.
fn phase_1(responder: u8, mode: u8, transforms: &[(u16, u16, u16)]) -> Vec<u8> {
    let all: Vec<u8> = transforms
        .iter()
        .enumerate()
        .flat_map(|(index, (cipher, proof, group))| {
            let next = if index + 1 < transforms.len() { 3 } else { 0 };
            let values = [(1, *cipher), (2, 2), (3, *proof), (4, *group)];
            let attributes =
                values.map(|(kind, value)| [(0x8000u16 | kind).to_be_bytes(), value.to_be_bytes()].concat());
            wrapped(next, &[&[1, 1, 0, 0][..], &attributes.concat()].concat())
        })
        .collect();
    let proposal = wrapped(
        0,
        &[&[1, 1, 0, u8::try_from(transforms.len()).unwrap()][..], &all].concat(),
    );
    let association = wrapped(0, &[&[0, 0, 0, 1, 0, 0, 0, 1][..], &proposal].concat());
    header(responder, 1, 0x10, mode, 0, &association)
}

#[test]
fn ikev1_with_a_shared_key_is_as_unobservable_as_tls_with_one() {
    let (aes, triple_des, shared, rsa) = (7, 5, 1, 3);
    for (offered, chosen, verdict, because) in [
        (
            vec![(aes, shared, 14)],
            Some((aes, shared, 14)),
            Verdict::NotObservable,
            "pre-shared key together with 2048-bit MODP",
        ),
        (
            vec![(aes, rsa, 14)],
            Some((aes, rsa, 14)),
            Verdict::Vulnerable,
            "IKEv1 with 2048-bit MODP",
        ),
        (
            vec![(triple_des, shared, 2)],
            Some((triple_des, shared, 2)),
            Verdict::Vulnerable,
            "3DES-CBC",
        ),
        // The choice is not in the capture.
        (
            vec![(aes, rsa, 14), (aes, shared, 14)],
            None,
            Verdict::NotSeen,
            "not in the capture",
        ),
        (
            vec![(aes, rsa, 14), (aes, rsa, 2)],
            None,
            Verdict::Vulnerable,
            "IKEv1 with",
        ),
        (
            vec![(aes, shared, 14), (aes, 65001, 14)],
            None,
            Verdict::NotObservable,
            "pre-shared key",
        ),
    ] {
        for mode in [2, 4] {
            let mut messages = vec![(true, phase_1(0, mode, &offered))];
            messages.extend(chosen.map(|chosen| (false, phase_1(8, mode, &[chosen]))));
            let judged = judge(&messages);
            let confidentiality = &judged.posture.confidentiality;
            assert_eq!(judged.posture.kind, Kind::IkeV1);
            assert_eq!((confidentiality.verdict(), mode), (verdict, mode), "{offered:?}");
            assert!(
                confidentiality.because().contains(because),
                "{}",
                confidentiality.because()
            );
            let initiator = judged.sa.initiator.ip().to_string();
            assert_eq!((initiator.as_str(), judged.sa.from_initiator.packets), ("10.0.0.1", 1));
        }
    }
    // A later message alone: nothing says how it was keyed.
    let judged = judge(&[(true, header(8, 8, 0x10, 2, 1, &[7; 60]))]);
    assert_eq!(judged.posture.confidentiality.verdict(), Verdict::NotSeen);
}
