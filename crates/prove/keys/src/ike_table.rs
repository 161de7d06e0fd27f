//! The table of IKE keys that Wireshark calls `ikev2_decryption_table` and strongSwan's `save-keys`
//! plugin writes: in each line, separated by commas, both SPIs, SK_ei, SK_er, the cipher's name,
//! SK_ai, SK_ar, and the name of what proves that messages are whole. Names stand in quotation
//! marks.

use zeroize::Zeroizing;

use crate::ike::{Cipher, Integrity, Tag};
use crate::key_log::hexadecimal;

/// Keys with which one end encrypts, and proves that messages are whole.
type Pair = (Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>);

/// Keys of one IKE_SA, of the time between two key exchanges.
#[derive(PartialEq, Eq)]
pub(crate) struct IkeSecret {
    pub(crate) spis: (u64, u64),
    pub(crate) cipher: Cipher,
    /// SK_ei and SK_ai, SK_er and SK_ar.
    pub(crate) keys: [Pair; 2],
}

/// A line's keys; none in a comment and an empty line.
pub(crate) fn read(line: &[u8]) -> Result<Option<IkeSecret>, &'static str> {
    let line = line.trim_ascii();
    if line.is_empty() || line[0] == b'#' {
        return Ok(None);
    }
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b',').map(unquoted).collect();
    let [initiator_spi, responder_spi, ei, er, cipher, ai, ar, integrity] = fields[..] else {
        return Err("not eight fields: both SPIs, SK_ei, SK_er, cipher, SK_ai, SK_ar, integrity");
    };
    let spi = |field: &[u8]| {
        let bytes = hexadecimal(field)?;
        Some(u64::from_be_bytes(bytes.as_slice().try_into().ok()?))
    };
    let (Some(initiator_spi), Some(responder_spi)) = (spi(initiator_spi), spi(responder_spi)) else {
        return Err("its SPIs are not 16 hexadecimal digits each");
    };
    let cipher = named(cipher, integrity)?;
    let key = |field: &[u8]| hexadecimal(field).ok_or("a key in it is not hexadecimal");
    let keys = [(key(ei)?, key(ai)?), (key(er)?, key(ar)?)];
    let fits = |(encryption, integrity): &Pair| cipher.fits(encryption.len(), integrity.len());
    if !keys.iter().all(fits) {
        return Err(
            "a key in it has another length than its algorithm's (with an AEAD the salt belongs to it: of four bytes, of AES-CCM three)",
        );
    }
    Ok(Some(IkeSecret {
        spis: (initiator_spi, responder_spi),
        cipher,
        keys,
    }))
}

fn unquoted(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
    inner.unwrap_or(field)
}

/// By the names of Wireshark: `AES-GCM-256 with 16 octet ICV [RFC5282]`, `AES-CBC-256 [RFC3602]`,
/// `HMAC_SHA2_256_128 [RFC4868]`. Key lengths follow from the keys.
fn named(cipher: &[u8], integrity: &[u8]) -> Result<Cipher, &'static str> {
    let upper = |name: &[u8]| String::from_utf8_lossy(name).to_ascii_uppercase();
    let (cipher, integrity) = (upper(cipher), upper(integrity));
    let short_tag = [" 8 OCTET", " 12 OCTET", "GCM-8 ", "GCM-12 "];
    if cipher.starts_with("AES-GCM") && !short_tag.iter().any(|tag| cipher.contains(tag)) {
        return Ok(Cipher::AesGcm);
    }
    if cipher.starts_with("AES-CCM") {
        // Wireshark writes `AES-CCM-256 with 8 octet ICV`, strongSwan's table `AES-CCM-8 with 256 bit key`.
        let has = |words: [&str; 2]| words.iter().any(|word| cipher.contains(word));
        return Ok(Cipher::AesCcm(match () {
            () if has([" 8 OCTET", "CCM-8 "]) => Tag::Eight,
            () if has([" 12 OCTET", "CCM-12 "]) => Tag::Twelve,
            () => Tag::Sixteen,
        }));
    }
    if cipher.starts_with("CHACHA20") {
        return Ok(Cipher::ChaCha20Poly1305);
    }
    if !cipher.starts_with("AES-CBC") {
        return Err(
            "its cipher is not one that is opened: AES-GCM with 16 octet ICV, AES-CCM, AES-CBC, ChaCha20-Poly1305",
        );
    }
    let known = [
        ("HMAC_SHA1_96", Integrity::HmacSha1_96),
        ("HMAC_SHA2_256_128", Integrity::HmacSha256_128),
        ("HMAC_SHA2_384_192", Integrity::HmacSha384_192),
        ("HMAC_SHA2_512_256", Integrity::HmacSha512_256),
    ];
    let found = known.into_iter().find(|(name, _)| integrity.starts_with(name));
    let (_, integrity) = found.ok_or("its integrity algorithm is not one that is opened: HMAC with SHA-1 or SHA-2")?;
    Ok(Cipher::AesCbc(integrity))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(cipher: &str, encryption: usize, check: usize, integrity: &str) -> String {
        let (key, check) = ("5e".repeat(encryption), "7a".repeat(check));
        format!("00112233445566AA,8899aabbccddeeff,{key},{key},\"{cipher}\",{check},{check},\"{integrity}\"")
    }

    #[test]
    fn lines_of_wireshark_and_strongswan_are_read() {
        for (cipher, encryption, check, integrity, expected) in [
            (
                "AES-GCM-256 with 16 octet ICV [RFC5282]",
                36,
                0,
                "NONE [RFC4306]",
                Cipher::AesGcm,
            ),
            ("AES-GCM-16 with 256 bit key [RFC5282]", 36, 0, "NONE", Cipher::AesGcm),
            ("AES-GCM-128 with 16 octet ICV [RFC5282]", 20, 0, "NONE", Cipher::AesGcm),
            ("ChaCha20-Poly1305 [RFC7634]", 36, 0, "NONE", Cipher::ChaCha20Poly1305),
            (
                "AES-CCM-256 with 8 octet ICV [RFC5282]",
                35,
                0,
                "NONE",
                Cipher::AesCcm(Tag::Eight),
            ),
            (
                "AES-CCM-12 with 192 bit key [RFC5282]",
                27,
                0,
                "NONE",
                Cipher::AesCcm(Tag::Twelve),
            ),
            (
                "AES-CCM-128 with 16 octet ICV [RFC5282]",
                19,
                0,
                "NONE",
                Cipher::AesCcm(Tag::Sixteen),
            ),
            (
                "AES-CBC-256 [RFC3602]",
                32,
                32,
                "HMAC_SHA2_256_128 [RFC4868]",
                Cipher::AesCbc(Integrity::HmacSha256_128),
            ),
        ] {
            let read = read(line(cipher, encryption, check, integrity).as_bytes())
                .unwrap()
                .unwrap();
            assert_eq!(
                (read.cipher, read.spis),
                (expected, (0x0011_2233_4455_66aa, 0x8899_aabb_ccdd_eeff))
            );
        }
        assert!(read(b"# a comment").unwrap().is_none());
    }

    #[test]
    fn lines_that_are_none_say_what_is_wrong() {
        for (text, what) in [
            (
                line("AES-GCM-256 with 8 octet ICV [RFC5282]", 36, 0, "NONE"),
                "its cipher",
            ),
            (
                line("AES-GCM-12 with 256 bit key [RFC5282]", 36, 0, "NONE"),
                "its cipher",
            ),
            (
                line("AES-GCM-128 with 12 octet ICV [RFC5282]", 20, 0, "NONE"),
                "its cipher",
            ),
            (line("3DES [RFC2451]", 24, 20, "HMAC_SHA1_96"), "its cipher"),
            (line("AES-CBC-128 [RFC3602]", 16, 16, "AES_XCBC_96"), "its integrity"),
            (
                line("AES-CBC-128 [RFC3602]", 16, 16, "HMAC_SHA2_256_128"),
                "another length",
            ),
            (line("AES-GCM-256 with 16 octet ICV", 32, 0, "NONE"), "another length"),
            (line("AES-CCM-256 with 16 octet ICV", 36, 0, "NONE"), "another length"),
            (
                line("AES-GCM-256 with 16 octet ICV", 36, 0, "NONE")[1..].to_owned(),
                "its SPIs",
            ),
            ("a,b,c".to_owned(), "not eight fields"),
        ] {
            let reported = read(text.as_bytes()).err().unwrap();
            assert!(reported.starts_with(what) || reported.contains(what), "{reported}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&line);
        }

        #[test]
        fn no_fields_make_it_panic(fields in prop::collection::vec("[0-9a-f]{0,80}|\"[A-Z0-9-]{0,30}\"", 0..12)) {
            let _ = read(fields.join(",").as_bytes());
        }
    }
}
