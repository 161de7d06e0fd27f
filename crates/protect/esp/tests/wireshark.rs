//! Packets that this engine seals, read by Wireshark with the keys: every suite that it can open,
//! in IP and in UDP.

#[allow(dead_code)]
mod packets;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bartizan_esp::{Outbound, SequenceNumbers, Suite};
use bartizan_registry::{TransformKind, transform_named};
use bartizan_testing::Tshark;
use data_encoding::HEXLOWER;
use packets::{echo, ipv4, keys, outer, sealed};

const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const OUTER_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
];

/// ENCR, bits of its key, INTEG, and what Wireshark calls both. It has no ChaCha20-Poly1305 in ESP.
const SUITES: [(&str, u16, Option<&str>, &str, &str); 8] = [
    (
        "ENCR_AES_GCM_16",
        128,
        None,
        "AES-GCM with 16 octet ICV [RFC4106]",
        "NULL",
    ),
    (
        "ENCR_AES_GCM_16",
        192,
        None,
        "AES-GCM with 16 octet ICV [RFC4106]",
        "NULL",
    ),
    (
        "ENCR_AES_GCM_16",
        256,
        None,
        "AES-GCM with 16 octet ICV [RFC4106]",
        "NULL",
    ),
    (
        "ENCR_AES_CBC",
        128,
        Some("AUTH_HMAC_SHA2_256_128"),
        "AES-CBC [RFC3602]",
        "HMAC-SHA-256-128 [RFC4868]",
    ),
    (
        "ENCR_AES_CBC",
        192,
        Some("AUTH_HMAC_SHA2_384_192"),
        "AES-CBC [RFC3602]",
        "HMAC-SHA-384-192 [RFC4868]",
    ),
    (
        "ENCR_AES_CBC",
        256,
        Some("AUTH_HMAC_SHA2_256_128"),
        "AES-CBC [RFC3602]",
        "HMAC-SHA-256-128 [RFC4868]",
    ),
    (
        "ENCR_AES_CBC",
        256,
        Some("AUTH_HMAC_SHA2_384_192"),
        "AES-CBC [RFC3602]",
        "HMAC-SHA-384-192 [RFC4868]",
    ),
    (
        "ENCR_AES_CBC",
        256,
        Some("AUTH_HMAC_SHA2_512_256"),
        "AES-CBC [RFC3602]",
        "HMAC-SHA-512-256 [RFC4868]",
    ),
];

fn suite(encryption: &str, bits: u16, integrity: Option<&str>) -> Suite {
    let id = |kind, name| transform_named(kind, name).expect("registered").id;
    let integrity = integrity.map(|name| id(TransformKind::Integrity, name));
    Suite::of(id(TransformKind::Encryption, encryption), Some(bits), integrity).expect("implemented")
}

/// A capture of IP packets without a link layer (LINKTYPE_RAW).
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x4_0000, 101_u32] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        for word in [0, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// One SA's packets over IPv4 and IPv6, each in IP and in UDP.
fn protected(sa: &mut Outbound, sequence: &mut u16) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let [v4, v6] = [OUTER.map(IpAddr::from), OUTER_V6.map(IpAddr::from)];
    for [source, destination] in [v4, v6] {
        for (in_udp, least) in [(false, 0), (true, 0), (false, 1000)] {
            *sequence += 1;
            let inner = ipv4(INNER[0], INNER[1], 1, &echo(8, *sequence, 56));
            packets.push(outer(source, destination, in_udp, &sealed(sa, &inner, least)));
        }
    }
    packets
}

#[test]
fn wireshark_opens_and_proves_every_packet() {
    let place = tempfile::tempdir().expect("a directory");
    let (mut packets, mut associations, mut sequence) = (Vec::new(), Vec::new(), 0);
    let numbers = [
        (SequenceNumbers::Bits32, 0, r#""32-bit","0""#),
        (SequenceNumbers::Extended, 5_u64 << 32, r#""64-bit","5""#),
    ];
    let all = SUITES
        .into_iter()
        .flat_map(|suite| numbers.map(|numbers| (suite, numbers)));
    for (index, ((encryption, bits, integrity, cipher, proof), (numbers, after, counted))) in all.enumerate() {
        let suite = suite(encryption, bits, integrity);
        let (spi, keys) = (0x1000 + index as u32, keys(suite.key_material(), index as u8));
        let sa = Outbound::new(spi, suite, &keys, numbers).expect("an SA");
        let mut sa = sa.starting_after(after);
        packets.extend(protected(&mut sa, &mut sequence));
        // An AEAD's salt belongs to its key, a proof's key stands alone.
        let key = if integrity.is_some() {
            usize::from(bits) / 8
        } else {
            keys.len()
        };
        let [key, proved] = [&keys[..key], &keys[key..]].map(|key| format!("0x{}", HEXLOWER.encode(key)));
        let proved = if integrity.is_some() { proved } else { String::new() };
        for version in ["IPv4", "IPv6"] {
            associations.push(format!(
                r#"uat:esp_sa:"{version}","*","*","0x{spi:08x}","{cipher}","{key}","{proof}","{proved}",{counted}"#
            ));
        }
    }
    let file = place.path().join("esp.pcap");
    std::fs::write(&file, capture(&packets)).expect("written");
    let mut tshark = Tshark::new()
        .option("-o", "esp.enable_encryption_decode:TRUE")
        .option("-o", "esp.enable_authentication_check:TRUE")
        // Whole packets are looked at: no malformed one counts.
        .option("-o", "ip.check_checksum:TRUE")
        .option("-o", "udp.check_checksum:TRUE");
    for association in &associations {
        tshark = tshark.option("-o", association);
    }
    let fields = [
        "esp.icv_good",
        "icmp.seq",
        "icmp.checksum.status",
        "ip.checksum.status",
        "udp.checksum.status",
        "_ws.malformed",
    ];
    let rows = tshark.rows(&file, "esp", &fields);
    assert_eq!(rows.len(), SUITES.len() * 2 * 6);
    assert_eq!(packets.len(), rows.len());
    for (index, row) in rows.iter().enumerate() {
        // 1 is good, 3 not present: as UDP's is over IPv4.
        let all_are = |field: &str, good: &[&str]| row[field].iter().all(|value| good.contains(&value.as_str()));
        assert!(
            row["esp.icv_good"] == ["1"] || row["esp.icv_good"] == ["True"],
            "{row:?}"
        );
        assert_eq!(row["icmp.seq"], [(index + 1).to_string()], "{row:?}");
        assert!(
            all_are("ip.checksum.status", &["1"]) && all_are("icmp.checksum.status", &["1"]),
            "{row:?}"
        );
        assert!(all_are("udp.checksum.status", &["1", "3"]), "{row:?}");
        assert!(row["_ws.malformed"].is_empty(), "{row:?}");
    }
}
