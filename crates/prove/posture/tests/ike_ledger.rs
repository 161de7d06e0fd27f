//! IKE_SAs and CHILD_SAs joined with ledgers: what packets encrypt, a ledger tells, and it never outweighs a packet.

use bartizan_ledger::Record;
use bartizan_posture::{Answer, Ipsec, JudgedEspSa, JudgedIkeSa, Ledgers, Verdict};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};
use serde_json::{Value, json};

const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");

/// When the recording was made, in microseconds.
const RECORDED: u64 = 1_795_252_095_000_000;

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

/// The IKE_SAs and ESP security associations of a situation, by the packets from `first` on.
pub(crate) fn situation(number: u8, first: u64, records: &[Value]) -> (Vec<JudgedIkeSa>, Vec<JudgedEspSa>) {
    situation_of(STRONGSWAN, number, first, records)
}

/// The same of a changed recording.
fn situation_of(recording: &[u8], number: u8, first: u64, records: &[Value]) -> (Vec<JudgedIkeSa>, Vec<JudgedEspSa>) {
    let mut reader = CaptureReader::new();
    reader.push(recording);
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        if packet.number >= first {
            observer.observe(&packet, &mut gathered);
        }
    }
    observer.finish_into(&mut gathered);
    let mut ledgers = Ledgers::default();
    for record in records {
        let record: Record = serde_json::from_value(record.clone()).unwrap();
        ledgers.add(record);
    }
    let address = format!("10.77.{number}.");
    let (mut ike, mut esp) = gathered.0.judge(&ledgers);
    ike.retain(|judged| judged.sa.initiator.ip().to_string().starts_with(&address));
    esp.retain(|judged| judged.sa.source.to_string().starts_with(&address));
    (ike, esp)
}

fn key(sa: &IkeSa) -> Value {
    json!({
        "protocol": "ike",
        "initiator_spi": format!("{:016x}", sa.initiator_spi),
        "responder_spi": format!("{:016x}", sa.responder_spi),
    })
}

fn method(code: u16) -> Value {
    json!({ "code": code, "name": "as the daemon says" })
}

fn ike_record(key: &Value, replaces: &Value, methods: &[u16], forgery: &str) -> Value {
    let methods: Vec<Value> = methods.iter().copied().map(method).collect();
    json!({
        "v": 1, "at_us": RECORDED, "node": "cu", "event": "ike-sa", "key": key, "replaces": replaces,
        "cause": if replaces.is_null() { "set-up" } else { "rekey" },
        "connection": "ric", "interfaces": ["E2"], "direction": "outbound", "peer": "ric", "peer_identity": "ric",
        "local_address": "10.77.3.1:500", "peer_address": "10.77.3.2:500", "key_exchanges": methods, "ppk": false,
        "encryption": { "code": 20, "name": "ENCR_AES_GCM_16", "bits": 256 }, "integrity": null, "prf": null,
        "authentication": { "local": "ECDSA_WITH_SHA256_DER", "peer": "ECDSA_WITH_SHA256_DER", "forgery": forgery },
        "messages": null, "established_s": 0, "set_up_us": null, "verdict": { "verdict": "accepted" },
    })
}

fn child_record(key: &Value, spis: [u32; 2], cause: &str, methods: &[u16], cipher: u16) -> Value {
    let methods: Vec<Value> = methods.iter().copied().map(method).collect();
    json!({
        "v": 1, "at_us": RECORDED + 1, "node": "cu", "event": "child-sa", "key": key, "spi_in": format!("{:08x}", spis[0]),
        "spi_out": format!("{:08x}", spis[1]), "cause": cause, "replaces": null, "connection": "ric", "child": "e2",
        "interface": "E2", "peer": "ric", "mode": "TUNNEL", "udp": false, "extended_sequence_numbers": false,
        "key_exchanges": methods, "encryption": { "code": cipher, "name": "cipher" }, "integrity": null,
        "local": [], "remote": [], "installed_s": 0, "verdict": { "verdict": "accepted" },
    })
}

/// Situation 3 from behind its IKE_SA_INIT: a rekeyed IKE_SA whose predecessor is not in the capture.
const BEHIND: u64 = 105;

#[test]
fn an_ike_sa_whose_set_up_is_not_in_the_capture_is_judged_by_its_ledger() {
    let (ike, _) = situation(3, BEHIND, &[]);
    let sa = &ike.last().unwrap().sa;
    assert_eq!(ike.last().unwrap().posture.confidentiality.verdict(), Verdict::NotSeen);
    let before = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    for (own, earlier, verdict) in [
        (&[31, 36][..], &[31, 36][..], Verdict::QuantumSafe),
        // One of the two is enough: the older secret goes into the newer.
        (&[31], &[31, 36], Verdict::QuantumSafe),
        (&[31, 36], &[31], Verdict::QuantumSafe),
        (&[31], &[31], Verdict::Vulnerable),
        (&[], &[31], Verdict::Vulnerable),
        (&[31], &[999], Verdict::NotSeen),
    ] {
        let records = [
            ike_record(&before, &Value::Null, earlier, "unknown"),
            ike_record(&key(sa), &before, own, "unknown"),
        ];
        let (ike, _) = situation(3, BEHIND, &records);
        let posture = &ike.last().unwrap().posture;
        assert_eq!(posture.confidentiality.verdict(), verdict, "{own:?} after {earlier:?}");
        assert!(posture.in_ledger);
    }
    // Rekeyed from an IKE_SA that no ledger records: not known.
    let (ike, _) = situation(3, BEHIND, &[ike_record(&key(sa), &before, &[31], "unknown")]);
    assert_eq!(ike.last().unwrap().posture.confidentiality.verdict(), Verdict::NotSeen);
}

#[test]
fn rekeys_that_sizes_do_not_decide_are_decided_by_the_ledger() {
    // Situation 2: ML-KEM-768 alone, rekeyed with data whose size says nothing.
    let (ike, _) = situation(2, 0, &[]);
    let [first, second] = &ike[..] else {
        panic!("set up and rekeyed")
    };
    assert_eq!(first.posture.stayed.answer(), Answer::NotObservable);
    let keys = [key(&first.sa), key(&second.sa)];
    let set_up = ike_record(&keys[0], &Value::Null, &[36], "unknown");
    let rekeyed = |methods: &[u16]| ike_record(&keys[1], &keys[0], methods, "unknown");
    let child = |spi: u32, methods: &[u16]| child_record(&keys[0], [spi, spi + 1], "rekey", methods, 20);
    for (records, answer) in [
        (vec![set_up.clone(), rekeyed(&[36]), child(0x1000, &[36])], Answer::Yes),
        (vec![set_up.clone(), rekeyed(&[36]), child(0x1000, &[31])], Answer::No),
        (vec![set_up.clone(), rekeyed(&[36]), child(0x1000, &[])], Answer::No),
        (vec![set_up.clone(), rekeyed(&[31]), child(0x1000, &[36])], Answer::No),
        // A rekey that packets show and the ledger does not tell of.
        (vec![set_up.clone(), rekeyed(&[36])], Answer::NotObservable),
    ] {
        let (ike, _) = situation(2, 0, &records);
        let reply = &ike[0].posture.stayed;
        assert_eq!(reply.answer(), answer, "{}", reply.because());
    }
}

#[test]
fn a_ledger_never_makes_safe_what_packets_show_to_be_classical() {
    let (ike, _) = situation(1, 0, &[]);
    let records = [ike_record(&key(&ike[0].sa), &Value::Null, &[31, 36], "not-known")];
    let (ike, _) = situation(1, 0, &records);
    let posture = &ike[0].posture;
    assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable);
    assert_eq!(posture.contradictions.len(), 1);
}

#[test]
fn how_the_ends_proved_themselves_is_the_ledgers_word() {
    let (ike, _) = situation(3, 0, &[]);
    for (forgery, verdict) in [
        ("possible-later", Verdict::Vulnerable),
        ("not-known", Verdict::NotObservable),
        ("as-secret-as-the-key", Verdict::NotObservable),
        ("unknown", Verdict::NotObservable),
    ] {
        let records = [ike_record(&key(&ike[0].sa), &Value::Null, &[31, 36], forgery)];
        let (ike, _) = situation(3, 0, &records);
        let posture = &ike[0].posture;
        assert_eq!(posture.authenticity.verdict(), verdict, "{forgery}");
        assert_eq!(posture.server_authenticated.answer(), Answer::Yes);
        assert_eq!(posture.client_authenticated.answer(), Answer::Yes);
        assert!(posture.server_authenticated.because().contains("ECDSA"));
    }
}

#[test]
fn esp_belongs_to_the_ike_sa_that_the_ledger_names() {
    // Situation 3 without its IKE_SA_INIT; the ESP is reported, and the IKE_SA that keyed it.
    let (_, esp) = situation(3, 79, &[]);
    let spi = esp[0].sa.spi;
    assert_eq!(esp[0].posture.confidentiality.verdict(), Verdict::NotSeen);
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    for (methods, own, cipher, verdict) in [
        (&[31, 36][..], &[][..], 20, Verdict::QuantumSafe),
        (&[31], &[], 20, Verdict::Vulnerable),
        (&[31], &[36], 20, Verdict::QuantumSafe),
        (&[31, 36], &[36], 11, Verdict::ReadableNow),
    ] {
        let records = [
            ike_record(&other, &Value::Null, methods, "unknown"),
            child_record(&other, [7, spi], "set-up", own, cipher),
        ];
        let (_, esp) = situation(3, 79, &records);
        let posture = &esp[0].posture;
        assert_eq!(
            posture.confidentiality.verdict(),
            verdict,
            "{methods:?} {own:?} {cipher}"
        );
        assert!(posture.in_ledger && posture.confidentiality.because().contains("ledger of cu"));
    }
}

/// The recording with each packet of an ESP association given to a function, which may change it and say that its former state
/// comes once more.
pub(crate) fn changed(spi: u32, mut change: impl FnMut(&mut [u8]) -> bool) -> Vec<u8> {
    let (mut file, mut again, mut rest) = (STRONGSWAN[..24].to_vec(), Vec::new(), &STRONGSWAN[24..]);
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (packet, next) = behind.split_at(length);
        let mut changed = packet.to_vec();
        let at = packet.windows(4).position(|window| window == spi.to_be_bytes());
        // Behind the headers of Ethernet, IP and UDP at most.
        if let Some(at) = at.filter(|at| *at <= 42)
            && change(&mut changed[at..])
        {
            again.extend([header, packet].concat());
        }
        file.extend([header, &changed[..]].concat());
        rest = next;
    }
    [file, again].concat()
}

/// A NULL cipher of the data plane under an SA that charon calls AES, and a counter that starts again.
#[test]
fn a_ledger_never_makes_safe_esp_that_its_packets_speak_against() {
    let (_, esp) = situation(3, 79, &[]);
    let spi = esp[0].sa.spi;
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    let judged = |recording: &[u8], own: &[u16]| {
        let records = [
            ike_record(&other, &Value::Null, &[31, 36], "unknown"),
            child_record(&other, [7, spi], "set-up", own, 20),
        ];
        let (_, esp) = situation_of(recording, 3, 79, &records);
        let judged = esp.into_iter().find(|judged| judged.sa.spi == spi).unwrap();
        (
            judged.posture.confidentiality.verdict(),
            judged.posture.contradictions.len(),
        )
    };
    let as_it_is = changed(spi, |_| false);
    assert_eq!(as_it_is, STRONGSWAN);
    let text = changed(spi, |esp| {
        let text = b"subscriber imsi-001010000000001 attached at cell 12; ".iter().cycle();
        esp[8..].iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        false
    });
    let twice = |mut count: usize| {
        changed(spi, |esp| {
            let is_one = count > 0;
            count = count.saturating_sub(1);
            *esp.last_mut().unwrap() ^= u8::from(is_one);
            is_one
        })
    };
    for own in [&[][..], &[36]] {
        assert_eq!(judged(&as_it_is, own), (Verdict::QuantumSafe, 0));
        assert_eq!(judged(&text, own).0, Verdict::NotObservable);
        assert_eq!(judged(&twice(1), own), (Verdict::NotObservable, 1));
        assert_eq!(judged(&twice(9), own).0, Verdict::ReadableNow);
    }
}

/// An SPI is 32 bits of the receiver's choice: gear that counts from 0x100 has those of many.
#[test]
fn a_record_of_other_ends_or_of_the_other_direction_is_none_of_this_sa() {
    let (_, esp) = situation(3, 79, &[]);
    let (spi, [source, destination]) = (esp[0].sa.spi, [esp[0].sa.source, esp[0].sa.destination]);
    assert_eq!(
        [source, destination].map(|end| end.to_string()),
        ["10.77.3.1", "10.77.3.2"]
    );
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    let judged = |spis: [u32; 2], ends: [&str; 2], udp: bool| {
        let mut record = ike_record(&other, &Value::Null, &[31, 36], "unknown");
        record["local_address"] = ends[0].into();
        record["peer_address"] = ends[1].into();
        let mut child = child_record(&other, spis, "set-up", &[], 20);
        child["udp"] = udp.into();
        let (_, esp) = situation(3, 79, &[record, child]);
        esp[0].posture.confidentiality.verdict()
    };
    let [near, far, else_near, else_far] = ["10.77.3.1:500", "10.77.3.2:500", "192.0.2.7:500", "192.0.2.8:500"];
    for (spis, ends, udp, is_this) in [
        ([7, spi], [near, far], false, true),
        ([spi, 7], [far, near], false, true),
        ([spi, 7], [near, far], false, false),
        ([7, spi], [else_near, else_far], false, false),
        ([7, spi], [else_near, else_far], true, false),
        // Behind a translation of addresses one end is known, and ESP is in UDP.
        ([7, spi], [else_near, far], true, true),
        ([7, spi], [else_near, far], false, false),
        ([spi, 7], [else_far, near], true, true),
    ] {
        let verdict = judged(spis, ends, udp);
        assert_eq!(verdict == Verdict::QuantumSafe, is_this, "{spis:x?} {ends:?} {udp}");
    }
    // An IKE_SA without a record has no ends.
    let child = child_record(&other, [7, spi], "set-up", &[36], 20);
    let (_, esp) = situation(3, 79, &[child]);
    assert_eq!(esp[0].posture.confidentiality.verdict(), Verdict::NotSeen);
}

#[test]
fn a_key_exchange_of_its_own_that_packets_have_no_room_for_raises_no_esp() {
    // Situation 1: classical, and the CHILD_SA is made by IKE_AUTH.
    let (ike, esp) = situation(1, 0, &[]);
    assert_eq!(esp[0].posture.confidentiality.verdict(), Verdict::Vulnerable);
    let mut record = ike_record(&key(&ike[0].sa), &Value::Null, &[31], "unknown");
    record["local_address"] = "10.77.1.1:500".into();
    record["peer_address"] = "10.77.1.2:500".into();
    let child = child_record(&key(&ike[0].sa), [7, esp[0].sa.spi], "set-up", &[36], 20);
    let (_, esp) = situation(1, 0, &[record, child]);
    let posture = &esp[0].posture;
    assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable);
    assert_eq!(posture.contradictions.len(), 1);
}

/// A cipher of no registry may not encrypt, whether packets or a ledger name it.
#[test]
fn a_ledger_makes_nothing_safe_whose_cipher_the_registry_does_not_know() {
    let (_, esp) = situation(3, 79, &[]);
    let spi = esp[0].sa.spi;
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    let (ike, _) = situation(3, BEHIND, &[]);
    let behind = key(&ike.last().unwrap().sa);
    let unnamed = json!({ "code": null, "name": "OWN_CIPHER" });
    for cipher in [json!({ "code": 999, "name": "cipher" }), unnamed, Value::Null] {
        let mut of_ike = ike_record(&behind, &Value::Null, &[31, 36], "unknown");
        of_ike["encryption"] = cipher.clone();
        let (ike, _) = situation(3, BEHIND, &[of_ike]);
        let judgement = &ike.last().unwrap().posture.confidentiality;
        assert_eq!(
            judgement.verdict(),
            Verdict::NotObservable,
            "{cipher}: {}",
            judgement.because()
        );
        // A cipher of no registry makes no classical key exchange better.
        let mut of_ike = ike_record(&behind, &Value::Null, &[31], "unknown");
        of_ike["encryption"] = cipher.clone();
        let (ike, _) = situation(3, BEHIND, &[of_ike]);
        let judgement = &ike.last().unwrap().posture.confidentiality;
        assert_eq!(
            judgement.verdict(),
            Verdict::Vulnerable,
            "{cipher}: {}",
            judgement.because()
        );
        if cipher.is_null() {
            continue;
        }
        // Both by the IKE_SA of the capture and by one that the ledger names.
        for first in [0, 79] {
            for own in [&[][..], &[36][..]] {
                let mut child = child_record(&other, [7, spi], "set-up", own, 20);
                child["encryption"] = cipher.clone();
                let records = [ike_record(&other, &Value::Null, &[31, 36], "unknown"), child];
                let (_, esp) = situation(3, first, &records);
                let judged = esp.into_iter().find(|judged| judged.sa.spi == spi).unwrap();
                let judgement = judged.posture.confidentiality;
                assert_eq!(
                    judgement.verdict(),
                    Verdict::NotObservable,
                    "{cipher}: {}",
                    judgement.because()
                );
            }
        }
    }
}

/// The recording with packets of these lengths, from number 1 on, in the place of those of one SPI.
fn of_lengths(spi: u32, lengths: &[usize]) -> Vec<u8> {
    let (mut file, mut rest, mut written) = (STRONGSWAN[..24].to_vec(), &STRONGSWAN[24..], false);
    let mut random = 1u64;
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (packet, next) = behind.split_at(length);
        rest = next;
        let at = packet.windows(4).position(|window| window == spi.to_be_bytes());
        let Some(at) = at.filter(|at| *at <= 42) else {
            file.extend([header, packet].concat());
            continue;
        };
        for (number, length) in (1u32..).zip(lengths).filter(|_| !written) {
            let mut sent = packet[..at + 4].to_vec();
            sent.extend(number.to_be_bytes());
            sent.resize_with(at + length, || {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) as u8
            });
            let whole = u16::try_from(sent.len() - 14).unwrap();
            sent[16..18].copy_from_slice(&whole.to_be_bytes());
            if sent[23] == 17 {
                sent[38..40].copy_from_slice(&(whole - 20).to_be_bytes());
                sent[40..42].fill(0);
            }
            let size = u32::try_from(sent.len()).unwrap().to_le_bytes();
            file.extend([&header[..8], &size, &size, &sent[..]].concat());
        }
        written = true;
    }
    file
}

/// 3DES below a hybrid IKE_SA: its lengths show blocks of 64 bits, and the IKE_SA's key exchange does
/// not outweigh them.
#[test]
fn esp_with_the_lengths_of_3des_is_not_safe_by_its_ike_sa() {
    let (_, esp) = situation(3, 0, &[]);
    let sa = &esp[0].sa;
    assert_eq!(esp[0].posture.confidentiality.verdict(), Verdict::QuantumSafe);
    // Header, vector and check, and blocks behind them; without blocks padding is up to four bytes.
    let judged = |vector: usize, block: usize, records: &[Value]| {
        let lengths: Vec<usize> = (0..20)
            .map(|number| 24 + vector + (62 + number * 13usize).next_multiple_of(block))
            .collect();
        let (_, esp) = situation_of(&of_lengths(sa.spi, &lengths), 3, 0, records);
        let judged = esp.into_iter().find(|one| one.sa.spi == sa.spi).unwrap();
        assert_eq!(judged.sa.packets, 20);
        judged.posture.confidentiality
    };
    for (vector, block) in [(8, 4), (16, 16)] {
        let judgement = judged(vector, block, &[]);
        assert_eq!(judgement.verdict(), Verdict::QuantumSafe, "{}", judgement.because());
    }
    let doubted = judged(8, 8, &[]);
    assert_eq!(doubted.verdict(), Verdict::NotObservable, "{}", doubted.because());
    assert!(doubted.because().contains("blocks of 64 bits"), "{}", doubted.because());
}

#[test]
fn ledgers_that_disagree_make_nothing_safe() {
    let (_, esp) = situation(3, 79, &[]);
    let spi = esp[0].sa.spi;
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    let of = |node: &str, mut record: Value| {
        record["node"] = node.into();
        record
    };
    let ike = |node, methods: &[u16]| of(node, ike_record(&other, &Value::Null, methods, "unknown"));
    let child = |node, methods: &[u16]| of(node, child_record(&other, [7, spi], "set-up", methods, 20));
    for records in [
        vec![ike("cu", &[31, 36]), ike("ric", &[31]), child("cu", &[])],
        vec![
            ike("cu", &[31]),
            ike("ric", &[31]),
            child("cu", &[36]),
            child("ric", &[]),
        ],
    ] {
        let (_, esp) = situation(3, 79, &records);
        let judgement = &esp[0].posture.confidentiality;
        assert_eq!(judgement.verdict(), Verdict::NotObservable, "{}", judgement.because());
        assert!(judgement.because().contains("tell different things"));
    }
    // The same of an IKE_SA whose set-up is not in the capture.
    let (sas, _) = situation(3, BEHIND, &[]);
    let key = key(&sas.last().unwrap().sa);
    let one = of("cu", ike_record(&key, &Value::Null, &[31, 36], "unknown"));
    let two = of("ric", ike_record(&key, &Value::Null, &[31], "unknown"));
    let (sas, _) = situation(3, BEHIND, &[one, two]);
    let posture = &sas.last().unwrap().posture;
    assert_ne!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
    assert_eq!(posture.contradictions.len(), 1);
}

#[test]
fn a_child_sa_of_ah_in_a_ledger_protects_nothing() {
    let (_, esp) = situation(3, 79, &[]);
    let spi = esp[0].sa.spi;
    let other = json!({ "protocol": "ike", "initiator_spi": "0000000000000001", "responder_spi": "0000000000000002" });
    let ike = ike_record(&other, &Value::Null, &[31, 36], "unknown");
    let no_cipher = |protocol: &str| {
        let mut child = child_record(&other, [7, spi], "set-up", &[31, 36], 20);
        child["encryption"] = Value::Null;
        child["protocol"] = protocol.into();
        child
    };
    let mut with_a_cipher = no_cipher("AH");
    with_a_cipher["encryption"] = json!({ "code": 20, "name": "cipher" });
    for child in [no_cipher("AH"), no_cipher("ESP"), with_a_cipher] {
        let (_, esp) = situation(3, 79, &[ike.clone(), child.clone()]);
        assert_eq!(
            esp[0].posture.confidentiality.verdict(),
            Verdict::ReadableNow,
            "{child}"
        );
    }
}

#[test]
fn a_record_of_another_time_is_none_of_this_sa() {
    const DAY: u64 = 86_400_000_000;
    // Situation 3 shows how its IKE_SA was made; behind its IKE_SA_INIT it does not.
    let (whole, _) = situation(3, 0, &[]);
    let (behind, _) = situation(3, BEHIND, &[]);
    let (made, stood) = (&whole[0].sa, &behind.last().unwrap().sa);
    let at = |sa: &IkeSa, at_us: u64| {
        let mut record = ike_record(&key(sa), &Value::Null, &[31, 36], "unknown");
        record["at_us"] = at_us.into();
        record
    };
    let other = |judged: &JudgedIkeSa| {
        let mut reported = judged.posture.contradictions.iter();
        reported.any(|one| one.what.ends_with("at another time"))
    };
    for (sa, first, at_us, is_other) in [
        (made, 0, RECORDED, false),
        (made, 0, RECORDED - DAY, true),
        (made, 0, RECORDED + DAY, true),
        (stood, BEHIND, RECORDED, false),
        // It may have stood for days before the capture.
        (stood, BEHIND, RECORDED - DAY, false),
        (stood, BEHIND, RECORDED + DAY, true),
    ] {
        let (ike, _) = situation(3, first, &[at(sa, at_us)]);
        let judged = ike
            .iter()
            .find(|judged| judged.sa.initiator_spi == sa.initiator_spi)
            .unwrap();
        assert_eq!(other(judged), is_other, "from packet {first}, recorded at {at_us}");
        let safe = judged.posture.confidentiality.verdict() == Verdict::QuantumSafe;
        assert!(
            !is_other || first == 0 || !safe,
            "a record of another time makes it safe"
        );
    }
    // One that its ledger saw end before the packets came, and one that was found established, by a watch begun a day later.
    let ended = json!({
        "v": 1, "at_us": RECORDED - DAY, "node": "cu", "event": "sa-closed", "key": key(stood), "spi_in": null,
        "why": "deleted", "bytes": { "sent": 0, "received": 0 }, "packets": { "sent": 0, "received": 0 }, "lasted_s": 9,
    });
    let (ike, _) = situation(3, BEHIND, &[at(stood, RECORDED - DAY - 9), ended]);
    assert!(other(ike.last().unwrap()));
    let mut found = at(stood, RECORDED + DAY);
    found["established_s"] = (DAY / 1_000_000 + 60).into();
    let (ike, _) = situation(3, BEHIND, &[found]);
    assert!(!other(ike.last().unwrap()), "it was established before the capture");
}

#[test]
fn an_ike_sa_whose_both_ends_proved_themselves_by_ml_dsa_and_chains_of_it_is_quantum_safe_by_both_ledgers() {
    let (ike, _) = situation(3, 0, &[]);
    let record = |direction: &str, method: &str, chain: &[&str]| {
        let mut record = ike_record(&key(&ike[0].sa), &Value::Null, &[31, 36], "not-known");
        record["direction"] = json!(direction);
        // The other end's, from the other end's ledger.
        if direction == "inbound" {
            record["node"] = json!("ric");
        }
        record["authentication"]["peer"] = json!(method);
        record["authentication"]["peer_chain"] = json!(chain);
        record
    };
    let both = |chain: &[&str], other: &[&str]| {
        let records = ["outbound", "inbound"].into_iter().zip([chain, other]);
        records
            .map(|(direction, chain)| record(direction, "ML_DSA_65", chain))
            .collect::<Vec<_>>()
    };
    let safe = ["id-ml-dsa-65", "id-ml-dsa-87"];
    let own = |chain: &[&str]| {
        let mut record = record("outbound", "ML_DSA_65", &safe);
        record["authentication"]["local"] = json!("ML_DSA_65");
        record["authentication"]["local_chain"] = json!(chain);
        record
    };
    for (records, verdict) in [
        (both(&safe, &safe[..1]), Verdict::QuantumSafe),
        (
            both(&safe, &["id-ml-dsa-65", "ecdsa-with-SHA384"]),
            Verdict::NotObservable,
        ),
        (both(&safe, &["of-a-kind-that-nobody-knows"]), Verdict::NotObservable),
        (both(&safe, &[]), Verdict::NotObservable),
        (vec![record("outbound", "ML_DSA_65", &safe)], Verdict::NotObservable),
        // One end's ledger, with what it sent itself.
        (vec![own(&safe)], Verdict::QuantumSafe),
        (vec![own(&["ecdsa-with-SHA384"])], Verdict::NotObservable),
        // The other end's ledger outweighs that.
        (
            vec![
                own(&safe),
                record("inbound", "ML_DSA_65", &["id-ml-dsa-65", "ecdsa-with-SHA384"]),
            ],
            Verdict::NotObservable,
        ),
    ] {
        let (ike, _) = situation(3, 0, &records);
        let judged = &ike[0].posture.authenticity;
        assert_eq!(judged.verdict(), verdict, "{records:?}: {}", judged.because());
    }
}
