//! Packets that RFCs and the draft behind AES-GCM's print, whole.

use bartizan_registry::{TransformKind, transform_named};
use data_encoding::HEXLOWER_PERMISSIVE;

use crate::{Inbound, Outbound, SequenceNumbers, Suite};

fn bytes(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap()
}

fn suite(encryption: &str, bits: Option<u16>, integrity: Option<&str>) -> Suite {
    let encryption = transform_named(TransformKind::Encryption, encryption).unwrap().id;
    let integrity = integrity.map(|name| transform_named(TransformKind::Integrity, name).unwrap().id);
    Suite::of(encryption, bits, integrity).unwrap()
}

/// An AEAD's packet: sealed it is the published one, and opened what was in it. `content` has padding and trailer.
struct Published {
    suite: Suite,
    numbers: SequenceNumbers,
    keys: Vec<u8>,
    spi: u32,
    sequence: u64,
    vector: Vec<u8>,
    content: Vec<u8>,
    sealed: Vec<u8>,
}

impl Published {
    fn holds(&self) {
        let (&[padding, next], _) = self
            .content
            .split_last_chunk::<2>()
            .map(|(rest, last)| (last, rest))
            .unwrap();
        let payload = &self.content[..self.content.len() - 2 - usize::from(padding)];
        let sa = Outbound::new(self.spi, self.suite, &self.keys, self.numbers).unwrap();
        let begin = self.suite.headroom();
        let mut packet = vec![0; self.suite.sealed_length(payload.len())];
        packet[begin..begin + payload.len()].copy_from_slice(payload);
        sa.seal_as(&mut packet, payload.len(), next, self.sequence, &self.vector);
        assert_eq!(packet[8..begin], self.vector);
        assert_eq!(packet[begin..], self.sealed);

        let sa = Inbound::new(self.spi, self.suite, &self.keys, self.numbers, 64).unwrap();
        let mut sa = sa.starting_after(self.sequence - 1);
        let opened = sa.open(&mut packet).unwrap();
        assert_eq!((opened.next_header, opened.sequence), (next, self.sequence));
        assert_eq!(opened.payload, payload);
    }
}

#[test]
fn a_packet_of_chacha20_poly1305_is_that_of_rfc_7634_appendix_a() {
    let published = Published {
        suite: suite("ENCR_CHACHA20_POLY1305", None, None),
        numbers: SequenceNumbers::Bits32,
        keys: (0x80..=0xa3).collect(),
        spi: 0x0102_0304,
        sequence: 5,
        vector: (0x10..=0x17).collect(),
        content: bytes(
            "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec10000736270809
             0a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f
             303132333435363701020204",
        ),
        sealed: bytes(
            "24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d528
             44eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb
             94e664da9165b82829f641e076aaa8266b7fb0f7b11b369907e1ad43",
        ),
    };
    published.holds();
}

#[test]
fn packets_of_aes_gcm_are_those_of_draft_mcgrew_gcm_test_01() {
    let cases = [
        // Extended sequence numbers.
        (
            128,
            SequenceNumbers::Extended,
            "4c80cdefbb5d10da906ac73c3613a634 2e443b68",
            (0x4321, 0x8765_4321_0000_0000),
            "4956ed7e3b244cfe",
            "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f736970
             045f756470037369700963796265726369747902646b000021000101020201",
            "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65
             925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732459018148f6cbe722fd0
             4796562dfdb4",
        ),
        (
            128,
            SequenceNumbers::Bits32,
            "feffe9928665731c6d6a8f9467308308 cafebabe",
            (0xa5f8, 10),
            "facedbaddecaf888",
            "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d001000001000000000000037369
             700963796265726369747902646b00000100010001",
            "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c3de81827c10e9a4f51330d
             0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd183b70d3aa8bc6ee4c309e9d85a41ad4a",
        ),
        (
            192,
            SequenceNumbers::Bits32,
            "feffe9928665731c6d6a8f9467308308feffe9928665731c cafebabe",
            (0xa5f8, 10),
            "facedbaddecaf888",
            "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e501016d075680001",
            "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0315b27452144cc77
             95457b9652037f5318027b5b4cd7a636",
        ),
        (
            256,
            SequenceNumbers::Bits32,
            "abbccddef00112233445566778899aababbccddef00112233445566778899aab 11223344",
            (0x4a2c_bfe3, 2),
            "0102030405060708",
            "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000020405
             b40101040201020201",
            "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d347f0545
             659f14e99def842d8eb335f4eecfdbf831824b4c4915956c96",
        ),
    ];
    for (bits, numbers, keys, (spi, sequence), vector, content, sealed) in cases {
        let published = Published {
            suite: suite("ENCR_AES_GCM_16", Some(bits), None),
            numbers,
            keys: bytes(keys),
            spi,
            sequence,
            vector: bytes(vector),
            content: bytes(content),
            sealed: bytes(sealed),
        };
        published.holds();
    }
}

/// The packets have no integrity check value there, which ends ours.
#[test]
fn what_aes_cbc_encrypts_is_that_of_rfc_3602_section_4() {
    let cases = [
        // Case 5.
        (
            1,
            "e96e8c08ab465763fd098d45dd3ff893",
            "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223
             2425262728292a2b2c2d2e2f3031323334353637",
            "0000432100000001e96e8c08ab465763fd098d45dd3ff893f663c25d325c18c6a9453e194e120849a4870b66
             cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874a
             a269add047ad2d5913ac19b7cfbad4a6",
        ),
        // Case 6.
        (
            8,
            "69d08df7d203329db093fc4924e5bd80",
            "0800b5e8a80a0500a69c083d0b660e00777777777777777777777777",
            "000043210000000869d08df7d203329db093fc4924e5bd80f51995881ec4e0c4488987ce742e8109689bb379
             d2d750c0d915dca346a89f75",
        ),
    ];
    let suite = suite("ENCR_AES_CBC", Some(128), Some("AUTH_HMAC_SHA2_256_128"));
    let mut keys = bytes("90d382b410eeba7ad938c46cec1a82bf");
    keys.extend([0; 32]);
    for (sequence, vector, payload, sealed) in cases {
        let payload = bytes(payload);
        let mut sa = Outbound::new(0x4321, suite, &keys, SequenceNumbers::Bits32).unwrap();
        let mut packet = vec![0; suite.sealed_length(payload.len())];
        packet[suite.headroom()..][..payload.len()].copy_from_slice(&payload);
        sa.seal_as(&mut packet, payload.len(), 1, sequence, &bytes(vector));
        assert_eq!(packet[..packet.len() - 16], bytes(sealed));
        // In use no vector comes twice, and none is a number that can be known before.
        let seal = |sa: &mut Outbound| {
            let mut packet = vec![0; suite.sealed_length(0)];
            sa.seal(&mut packet, 0, 1).unwrap();
            packet[8..24].to_vec()
        };
        let (one, other) = (seal(&mut sa), seal(&mut sa));
        assert!(one != other && !one.starts_with(&[0; 7]) && !one.ends_with(&[0; 7]));
    }
}
