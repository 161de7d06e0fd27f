//! Overheads against frames that kernels and daemons sent which this project did not write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use bartizan_budget::overhead::{IpVersion, Layout, Protection, Role};
use bartizan_budget::unit::Bytes;
use bartizan_wire::CaptureReader;

fn layout(name: &str, frame: u64) -> Layout {
    let protection: Protection = name.parse().unwrap();
    protection.frame(Bytes::new(frame).unwrap(), IpVersion::V4).unwrap()
}

/// The lab's protections, and how the planner names them.
const PROTECTIONS: [(&str, &str); 5] = [
    ("aes256-cbc-sha256", "esp:aes256-sha256"),
    ("aes128-cbc-sha256", "esp:aes128-sha256"),
    ("aes256-gcm", "esp:aes256gcm16"),
    ("aes256-ccm", "esp:aes256ccm16"),
    ("chacha20-poly1305", "esp:chacha20poly1305"),
];

/// Sizes of Linux's ESP recorded by the experiment e2-sizes, by protection and metric: sizes that
/// occurred.
fn recorded() -> BTreeMap<(String, String), BTreeSet<u64>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/e2-sizes/records");
    let mut sizes: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let mut text = String::new();
        let file = fs::File::open(entry.unwrap().path()).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
        for line in text.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            if record["part"] != "pairs" {
                continue;
            }
            let protection = record["levels"]["protection"].as_str().unwrap().to_owned();
            for (metric, values) in record["values"].as_object().unwrap() {
                let values = values
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|value| value.as_f64().unwrap() as u64);
                sizes
                    .entry((protection.clone(), metric.clone()))
                    .or_default()
                    .extend(values);
            }
        }
    }
    sizes
}

#[test]
fn esp_of_linux_has_the_sizes_that_the_lab_recorded() {
    let recorded = recorded();
    let one = |protection: &str, metric: &str| {
        let sizes = &recorded[&(protection.to_owned(), metric.to_owned())];
        assert_eq!(sizes.len(), 1, "{protection} {metric}");
        *sizes.first().unwrap()
    };
    let mut compared = 0;
    for message in ["sack", "short", "long"] {
        let plain = one("none", &format!("{message}-frame"));
        for (recorded, named) in PROTECTIONS {
            let layout = layout(named, plain);
            assert_eq!(
                layout.total().value(),
                one(recorded, &format!("{message}-frame")),
                "{named} {message}"
            );
            // The lab counts padding together with its length and the next header.
            let padding = layout
                .parts
                .iter()
                .filter(|part| part.role == Role::Padding || part.name == "ESP trailer");
            let padding: u64 = padding.map(|part| part.bytes.value()).sum();
            assert_eq!(
                padding,
                one(recorded, &format!("{message}-padding")),
                "{named} {message}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}

/// Frames of ESP in UDP in a capture, by the last but one octet of the source address.
fn esp_in_udp(capture: &[u8]) -> BTreeMap<u8, BTreeSet<u64>> {
    let mut reader = CaptureReader::new();
    reader.push(capture);
    let mut frames: BTreeMap<u8, BTreeSet<u64>> = BTreeMap::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        // Ethernet with IPv4 without options, UDP from port 4500, and not the four zero bytes of IKE.
        let is_esp = frame.get(12..15) == Some(&[8, 0, 0x45])
            && frame.get(23) == Some(&17)
            && frame.get(34..36) == Some(&4500_u16.to_be_bytes())
            && frame.get(42..46).is_some_and(|spi| spi != [0; 4])
            && frame.len() > 46;
        if is_esp {
            frames.entry(frame[28]).or_default().insert(frame.len() as u64);
        }
    }
    frames
}

#[test]
fn esp_in_udp_of_strongswan_has_the_sizes_that_were_captured() {
    let frames = esp_in_udp(include_bytes!(
        "../../../../crates/prove/wire/tests/data/strongswan-6.1.0.pcap"
    ));
    // An echo of 56 bytes: 14 + 20 + 8 + 56.
    let plain = 98;
    let mut compared = 0;
    for (situation, sizes) in frames {
        // Situation 11 has AES-256-CBC with HMAC-SHA-256, the others AES-256-GCM (tests/data/README.md of wire).
        let name = if situation == 11 {
            "esp:aes256-sha256,udp"
        } else {
            "esp:aes256gcm16,udp"
        };
        assert_eq!(
            sizes,
            BTreeSet::from([layout(name, plain).total().value()]),
            "situation {situation}"
        );
        compared += 1;
    }
    assert_eq!(compared, 12);
}

/// Lengths of the frames of an EtherType in a capture.
fn frames_of(capture: &[u8], ether_type: u16) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::new();
    reader.push(capture);
    let mut frames = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        if packet.data.get(12..14) == Some(&ether_type.to_be_bytes()) {
            frames.push(packet.data.to_vec());
        }
    }
    frames
}

#[test]
fn macsec_of_linux_has_the_sizes_that_were_captured() {
    // Offsets of the SecTAG's octet of flags and of its short length: octets of the user's data
    // below 48 (IEEE 802.1AE, clause 9).
    const FLAGS: usize = 14;
    const SHORT_LENGTH: usize = 15;
    const ADDRESSES: u64 = 12;
    let captures: [&[u8]; 2] = [
        include_bytes!("../../../../crates/prove/wire/tests/data/macsec.pcap"),
        include_bytes!("../../../../crates/prove/wire/tests/data/macsec-static.pcap"),
    ];
    let mut compared = 0;
    for capture in captures {
        for frame in frames_of(capture, 0x88e5) {
            assert_eq!(frame[FLAGS] & 0x20, 0x20, "Linux names its channel by default");
            let short = u64::from(frame[SHORT_LENGTH]);
            if short > 0 {
                let predicted = layout("macsec:gcm-aes-128", ADDRESSES + short).total().value();
                assert_eq!(predicted, frame.len() as u64, "{short} octets of data");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 42);
    // eCPRI was captured unprotected and then through MACsec.
    let plain: BTreeSet<u64> = frames_of(captures[0], 0xaefe)
        .iter()
        .map(|frame| frame.len() as u64)
        .collect();
    let sent: BTreeSet<u64> = frames_of(captures[0], 0x88e5)
        .iter()
        .map(|frame| frame.len() as u64)
        .collect();
    assert_eq!(plain, BTreeSet::from([38, 366]));
    for frame in plain {
        let predicted = layout("macsec:gcm-aes-128", frame).total().value();
        assert!(sent.contains(&predicted), "{frame}: {predicted} of {sent:?}");
    }
}
