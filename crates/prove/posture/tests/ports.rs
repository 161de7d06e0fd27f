//! EAP, MKA and MACsec at a port, and the planes of the open fronthaul: as hostapd, wpa_supplicant, ptp4l and Linux speak them (see the
//! captures' README in crates/prove/wire/tests/data), and with frames lost or changed. Groups and versions are those that tshark reads.

use bartizan_posture::{Hint, Kind, Ledgers, Link, Links, Network, Part, Posture, Verdict, datagrams_posture};
use bartizan_wire::datagrams::{Datagrams, Named, Port};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Sink};

const EAP: &[u8] = include_bytes!("../../wire/tests/data/eap.pcap");
const MACSEC: &[u8] = include_bytes!("../../wire/tests/data/macsec.pcap");
const STATIC: &[u8] = include_bytes!("../../wire/tests/data/macsec-static.pcap");

#[derive(Default)]
struct Seen {
    links: Links,
    all: Vec<(Datagrams, Posture)>,
}

impl Sink for Seen {
    fn connection(&mut self, connection: Connection) {
        unreachable!("no TCP: {connection:?}");
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.links.add(&Part::datagrams(&datagrams, &posture));
        self.all.push((datagrams, posture));
    }
}

/// All of a capture, with each frame as `change` leaves it, or without it.
fn seen(file: &[u8], mut change: impl FnMut(u64, &[u8]) -> Option<Vec<u8>>) -> Seen {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(Limits::default());
    let mut seen = Seen::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        if let Some(frame) = change(packet.number, packet.data) {
            let packet = Packet { data: &frame, ..packet };
            observer.observe(&packet, &mut seen);
        }
    }
    observer.finish_into(&mut seen);
    assert!(observer.totals().unread.values().all(|one| one.packets < 100));
    seen.all.sort_by_key(|(datagrams, _)| datagrams.number);
    seen
}

fn whole(file: &[u8]) -> Seen {
    seen(file, |_, frame| Some(frame.to_vec()))
}

fn network(seen: Seen) -> Network {
    seen.links.finish(None)
}

fn link(network: &Network, kind: Kind) -> &Link {
    let mut found = network.links.iter().filter(|link| link.by_kind.contains_key(&kind));
    let link = found
        .next()
        .unwrap_or_else(|| panic!("{kind:?} in {:#?}", network.links));
    assert!(found.next().is_none(), "one link with {kind:?}");
    link
}

#[test]
fn each_run_of_eap_is_judged_by_the_handshake_in_it() {
    use Verdict::{NotObservable, NotSeen, QuantumSafe, Vulnerable};
    let all = whole(EAP).all;
    let found: Vec<_> = all
        .iter()
        .map(|(_, posture)| {
            let key_exchange = posture.key_exchange().unwrap_or_default();
            (posture.kind, key_exchange, posture.confidentiality.verdict())
        })
        .collect();
    let expected = [
        (Kind::EapTls, "X25519MLKEM768", QuantumSafe),
        // The supplicant had TLS 1.2 alone, the authenticator 1.3.
        (Kind::EapTlsNotAgreed, "", NotSeen),
        (Kind::EapTls, "x25519", Vulnerable),
        (Kind::EapTls, "x25519", Vulnerable),
        (Kind::Eap, "", NotObservable),
    ];
    assert_eq!(
        found,
        expected.map(|(kind, group, verdict)| (kind, group.to_owned(), verdict))
    );
    let because = |place: usize| all[place].1.confidentiality.because();
    assert_eq!(because(0), "X25519MLKEM768 negotiated");
    assert_eq!(because(1), "the server did not answer the ClientHello");
    assert!(because(3).starts_with("TLS 1.2 negotiated"), "{}", because(3));
    assert_eq!(because(4), "EAP with EAP-MD5, which is not read");
    for (datagrams, posture) in &all {
        // The supplicant, whichever end spoke first, is the client.
        assert_eq!(datagrams.client.to_string(), "02:00:5e:10:00:02");
        assert_eq!(datagrams.server.to_string(), "02:00:5e:10:00:01");
        assert!(posture.kind.verdicts().contains(&posture.confidentiality.verdict()));
    }
    let network = network(whole(EAP));
    let [link] = &network.links[..] else {
        panic!("{:#?}", network.links)
    };
    assert_eq!(link.confidentiality.verdict(), Vulnerable);
    assert!(link.authenticity.verdict() == Vulnerable);
}

#[test]
fn without_any_one_of_its_frames_a_handshake_in_eap_is_never_called_safer() {
    let mut fell = 0;
    for missing in 1..=60 {
        let all = seen(EAP, |number, frame| (number != missing).then(|| frame.to_vec())).all;
        let safe = |one: &&(Datagrams, Posture)| one.1.confidentiality.verdict() == Verdict::QuantumSafe;
        assert!(all.iter().filter(safe).count() <= 1, "without frame {missing}");
        fell += u32::from(!all.iter().any(|one| safe(&one)));
        // The classical runs stay what they are, or are not seen.
        assert!(all.iter().skip(2).all(|one| !safe(&one)), "without frame {missing}");
    }
    assert!(fell >= 4, "{fell}");
}

#[test]
fn a_run_of_eap_that_authenticates_and_ends_in_failure_leaves_no_key_and_hides_no_bad_one() {
    let mut failures = 0;
    let all = seen(EAP, |_, frame| {
        let mut frame = frame.to_vec();
        // EAP in EAPOL, and EAP-Success in it (RFC 3748, section 4.2).
        if frame[12..14] == [0x88, 0x8e] && frame[15] == 0 && frame[18] == 3 {
            frame[18] = 4;
            failures += 1;
        }
        Some(frame)
    })
    .all;
    assert!(failures >= 3, "{failures}");
    let (_, first) = &all[0];
    assert_eq!(
        (
            first.kind,
            first.confidentiality.verdict(),
            first.authenticity.verdict()
        ),
        (Kind::EapTlsNotAgreed, Verdict::NotSeen, Verdict::NotSeen)
    );
    assert_eq!(
        first.confidentiality.because(),
        "not established: refused (EAP-Failure)"
    );
    assert!(first.key_exchange().is_none() || first.key_exchange() == Some(String::new()));
    for (_, posture) in &all[2..4] {
        assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable);
    }
}

#[test]
fn a_frame_of_eap_that_is_sent_again_with_other_bytes_supports_no_safe() {
    // The fragment with the end of the ServerHello: the first one from the authenticator that is full.
    let mut reader = CaptureReader::new();
    reader.push(EAP);
    let mut file = EAP[..24].to_vec();
    let mut doubled = false;
    while let Ok(Some(packet)) = reader.next_packet() {
        let mut copies = vec![packet.data.to_vec()];
        if !doubled && packet.data[6..12] == [2, 0, 0x5e, 0x10, 0, 1] && packet.data.len() > 1300 {
            let mut forged = packet.data.to_vec();
            *forged.last_mut().unwrap() ^= 0x55;
            copies.push(forged);
            doubled = true;
        }
        for copy in copies {
            file.extend([0; 8]);
            file.extend((copy.len() as u32).to_le_bytes());
            file.extend((copy.len() as u32).to_le_bytes());
            file.extend(copy);
        }
    }
    assert!(doubled);
    let (_, posture) = &whole(&file).all[0];
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
    assert_eq!(posture.contradictions.len(), 1);
}

#[test]
fn macsec_keyed_by_mka_is_unproven_by_the_name_of_its_cak() {
    // Next to eCPRI without MACsec between the same stations all of the fronthaul is readable.
    let whole_network = network(whole(MACSEC));
    let mixed = link(&whole_network, Kind::MacSec);
    assert_eq!(
        (mixed.name(), mixed.confidentiality.verdict()),
        ("FH", Verdict::ReadableNow)
    );
    let without_ecpri = |_, frame: &[u8]| (frame[12..14] != [0xae, 0xfe]).then(|| frame.to_vec());
    let alone = network(seen(MACSEC, without_ecpri));
    let alone = link(&alone, Kind::MacSec);
    assert_eq!(alone.confidentiality.verdict(), Verdict::NotObservable);
    let all = whole(MACSEC).all;
    let mka: Vec<_> = all.iter().filter(|(_, posture)| posture.kind == Kind::Mka).collect();
    let [(datagrams, posture)] = mka[..] else {
        panic!("{mka:#?}")
    };
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
    let Some(Port::Mka(mka)) = datagrams.port.as_deref() else {
        panic!("{datagrams:#?}")
    };
    let names: Vec<String> = mka.ends[0].names.iter().map(|(name, _)| name.to_string()).collect();
    // Both runs, as they were configured.
    assert_eq!(
        names,
        ["6162636465666768696a6b6c6d6e6f70", "7172737475767778797a414243444546"]
    );
    let given: Vec<_> = mka.ends.iter().flat_map(|end| &end.distributed).collect();
    assert_eq!(given.len(), 2, "{given:#?}");
    let server = mka.ends.iter().find(|end| !end.distributed.is_empty()).unwrap();
    // The lesser number wins.
    assert!(server.key_server && server.priority == 10 && server.distributed.len() == 2);
    assert_eq!(
        (given[0].suite, given[0].confidentiality_offset),
        (0x0080_c200_0100_0001, Some(0))
    );
    assert_eq!(given[1].confidentiality_offset, None, "integrity only");
    let macsec = all.iter().find(|(_, posture)| posture.kind == Kind::MacSec).unwrap();
    let because = macsec.1.confidentiality.because();
    assert!(
        because.starts_with("MACsec with GCM-AES-128, keyed by MKA: its CAK is pre-shared"),
        "{because}"
    );
    let Some(Port::MacSec(shown)) = macsec.0.port.as_deref() else {
        panic!()
    };
    assert!(shown.encrypted > 20 && shown.irregular == 0 && !shown.is_readable());
    assert!(
        shown
            .associations
            .iter()
            .all(|known| known.first_number == 1 && known.late == 0)
    );
}

#[test]
fn macsec_without_its_keying_in_the_capture_says_so() {
    let all = whole(STATIC).all;
    // Between the two, and to all.
    assert_eq!(all.len(), 2);
    for (_, posture) in &all {
        assert_eq!(
            posture.confidentiality.because(),
            "MACsec whose keying is not in the capture"
        );
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
    }
}

#[test]
fn frames_that_claim_to_be_encrypted_and_are_not_are_readable_now() {
    // The data after the tag and its channel, 28 octets into the frame, begins as an IPv4 packet
    // does.
    let forged = seen(STATIC, |_, frame| {
        let mut frame = frame.to_vec();
        if frame[12..14] == [0x88, 0xe5] {
            frame[28..31].copy_from_slice(&[0x08, 0x00, 0x45]);
        }
        Some(frame)
    });
    let (_, posture) = &forged.all[0];
    assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
}

#[test]
fn the_open_fronthaul_is_named_with_its_planes_and_integrity_alone_hides_nothing() {
    let seen_all = whole(MACSEC).all;
    let ecpri: Vec<_> = seen_all
        .iter()
        .filter(|(_, posture)| posture.kind == Kind::Named(Named::Ecpri))
        .collect();
    let because: Vec<&str> = ecpri
        .iter()
        .map(|(_, posture)| posture.confidentiality.because())
        .collect();
    let expected = [
        "sent unencrypted: eCPRI in MACsec without encryption (C-plane 8, U-plane 16)",
        "sent unencrypted: eCPRI without MACsec (C-plane 8, U-plane 16)",
    ];
    assert_eq!(because, expected);
    for ((_, posture), forgery) in ecpri.iter().zip([Verdict::NotObservable, Verdict::Vulnerable]) {
        assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
        assert_eq!(
            posture.authenticity.verdict(),
            forgery,
            "{}",
            posture.authenticity.because()
        );
    }
    let network = network(whole(MACSEC));
    let ecpri = network
        .links
        .iter()
        .filter(|link| link.by_kind.contains_key(&Kind::Named(Named::Ecpri)));
    for link in ecpri {
        let interface = link.interface.unwrap();
        assert_eq!((interface.name, interface.by), ("FH", Hint::Content));
    }
    let ptp = seen_all
        .iter()
        .filter(|(_, posture)| posture.kind == Kind::Named(Named::Ptp));
    let ptp: Vec<&str> = ptp.map(|(_, posture)| posture.confidentiality.because()).collect();
    assert!(!ptp.is_empty());
    for because in ptp {
        assert!(
            because.starts_with("sent unencrypted: PTP without MACsec (S-plane, "),
            "{because}"
        );
    }
    let planes = network
        .links
        .iter()
        .filter(|link| link.by_kind.contains_key(&Kind::Named(Named::Ptp)));
    for link in planes {
        let interface = link.interface.unwrap();
        assert_eq!((interface.name, interface.by), ("FH", Hint::PeerRole));
    }
}
