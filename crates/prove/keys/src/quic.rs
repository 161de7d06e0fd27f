//! Keys of QUIC's packets (RFC 9001, section 5; RFC 9369, section 3.3).

use std::ops::Range;

use aws_lc_rs::aead::quic::{
    AES_128 as HEADER_AES_128, AES_256 as HEADER_AES_256, CHACHA20 as HEADER_CHACHA20, HeaderProtectionKey,
};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use bartizan_registry::{QuicVersion, cipher};
use bartizan_wire::Side;
use bartizan_wire::keys::{InitialKeys, TlsDirection};

use crate::record::Suite;
use crate::schedule::{Hash, expand, expand_label};

/// Bytes of a nonce.
const NONCE: usize = 12;
/// Place of the sample for header protection, behind the longest packet number (RFC 9001, section
/// 5.4.2).
const SAMPLE: Range<usize> = 4..20;

/// Keys of both directions.
pub(crate) struct Initial([Direction; 2]);

bartizan_registry::made! {
    struct Direction, new(version: &QuicVersion, suite: Suite, secret: &[u8]) -> Option<Self> {
        let part = |what, length| {
            let label = format!("{} {what}", version.label);
            expand_label(suite.hash, secret, &label, length)
        };
        let header = match suite.aead {
            aead if *aead == AES_128_GCM => &HEADER_AES_128,
            aead if *aead == AES_256_GCM => &HEADER_AES_256,
            _ => &HEADER_CHACHA20,
        };
        let length = suite.aead.key_len();
        key: LessSafeKey = LessSafeKey::new(UnboundKey::new(suite.aead, &part("key", length)?).ok()?),
        iv: [u8; NONCE] = *part("iv", NONCE)?.first_chunk()?,
        header: HeaderProtectionKey = HeaderProtectionKey::new(header, &part("hp", length)?).ok()?,
    }
}

impl Initial {
    /// Keys of a connection whose client first sent to this connection identifier.
    pub(crate) fn new(version: &QuicVersion, destination: &[u8]) -> Option<Self> {
        let initial = Salt::new(HKDF_SHA256, &version.salt).extract(destination);
        let direction = |label| {
            let secret = expand(&initial, label, Hash::Sha256.length())?;
            let suite = Suite {
                aead: &AES_128_GCM,
                hash: Hash::Sha256,
            };
            Direction::new(version, suite, &secret)
        };
        Some(Self([direction("client in")?, direction("server in")?]))
    }
}

impl InitialKeys for Initial {
    fn open(&self, from: Side, packet: &mut [u8], number: usize, expected: u64) -> Option<(u64, Range<usize>)> {
        let direction = match from {
            Side::Client => &self.0[0],
            Side::Server => &self.0[1],
        };
        direction.open(packet, number, expected)
    }
}

/// Keys of one direction, from a secret of its TLS.
pub(crate) struct Protected(Direction);

impl Protected {
    /// None where the cipher suite is not opened or the secret is none of its hash.
    pub(crate) fn new(version: &QuicVersion, wanted: &TlsDirection<'_>, secret: &[u8]) -> Option<Self> {
        let suite = Suite::of(cipher(wanted.cipher_suite)?)?;
        Some(Self(Direction::new(version, suite, secret)?))
    }
}

impl InitialKeys for Protected {
    fn open(&self, _: Side, packet: &mut [u8], number: usize, expected: u64) -> Option<(u64, Range<usize>)> {
        self.0.open(packet, number, expected)
    }
}

impl Direction {
    fn open(&self, packet: &mut [u8], number: usize, expected: u64) -> Option<(u64, Range<usize>)> {
        let direction = self;
        let sample = packet.get(number..)?.get(SAMPLE)?;
        let mask = direction.header.new_mask(sample).ok()?;
        // In a short header five bits are protected.
        packet[0] ^= mask[0] & if packet[0] & 0x80 != 0 { 0x0f } else { 0x1f };
        let length = usize::from(packet[0] & 0x03) + 1;
        let mut truncated = 0;
        for (byte, mask) in packet[number..number + length].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
            truncated = truncated << 8 | u64::from(*byte);
        }
        let whole = restored(truncated, 8 * length as u32, expected);
        let mut nonce = direction.iv;
        for (byte, other) in nonce[NONCE - 8..].iter_mut().zip(whole.to_be_bytes()) {
            *byte ^= other;
        }
        let start = number + length;
        let (header, body) = packet.split_at_mut(start);
        let opened = direction
            .key
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(&*header), body)
            .ok()?;
        Some((whole, start..start + opened.len()))
    }
}

/// A packet number of which the lowest bits are sent: the one nearest to that expected (RFC 9000, appendix A.3).
fn restored(truncated: u64, bits: u32, expected: u64) -> u64 {
    let window = 1 << bits;
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use bartizan_registry::quic_version;

    use super::*;

    #[test]
    fn packet_numbers_are_restored_as_in_rfc_9000() {
        assert_eq!(restored(0x9b32, 16, 0xa82f_30eb), 0xa82f_9b32);
        assert_eq!(restored(0, 8, 0), 0);
        assert_eq!(restored(0xff, 8, 0x100), 0xff);
        assert_eq!(restored(0x01, 8, 0x1ff), 0x201);
    }

    /// RFC 9001, appendix A.3, and RFC 9369, appendix A.3: the server's Initial packet.
    #[test]
    fn the_server_packets_of_rfc_9001_and_rfc_9369_are_opened() {
        let examples = [
            (
                1,
                "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
            ),
            (
                0x6b33_43cf,
                "dc6b3343cf0008f067a5502a4262b5004075d92faaf16f05d8a4398c47089698baeea26b91eb761d9b89237bbf87263017915358230035f7fd3945d88965cf17f9af6e16886c61bfc703106fbaf3cb4cfa52382dd16a393e42757507698075b2c984c707f0a0812d8cd5a6881eaf21ceda98f4bd23f6fe1a3e2c43edd9ce7ca84bed8521e2e140",
            ),
        ];
        for (version, hex) in examples {
            let mut packet = crate::key_log::hexadecimal(hex.as_bytes()).unwrap();
            let keys = Initial::new(quic_version(version).unwrap(), b"\x83\x94\xc8\xf0\x3e\x51\x57\x08").unwrap();
            let number = 18;
            let mut other = packet.clone();
            assert_eq!(keys.open(Side::Client, &mut other, number, 0), None);
            let (packet_number, frames) = keys.open(Side::Server, &mut packet, number, 0).unwrap();
            assert_eq!(packet_number, 1);
            // An acknowledgement, and the ServerHello.
            assert_eq!(
                packet[frames.clone()][..13],
                *b"\x02\x00\x00\x00\x00\x06\x00\x40\x5a\x02\x00\x00\x56"
            );
            assert_eq!(frames.len(), 99);
        }
    }

    #[test]
    fn packets_without_room_for_a_sample_are_not_opened() {
        let keys = Initial::new(quic_version(1).unwrap(), b"").unwrap();
        for length in 0..24 {
            assert_eq!(keys.open(Side::Client, &mut vec![0xc0; length], 4, 0), None);
        }
    }
}
