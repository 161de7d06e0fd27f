//! AEADs at each size of packet.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::hint::black_box;

use super::{CalibrationError, SIZES, Subject, Work};

/// Additional authenticated data of ESP: its header (RFC 4106, section 5).
const HEADER: [u8; 8] = [0x20; 8];

pub(super) fn all(add: &mut dyn FnMut(Subject, Work)) -> Result<(), CalibrationError> {
    for (name, algorithm, length) in [
        ("AES-128-GCM", &AES_128_GCM, 16),
        ("AES-256-GCM", &AES_256_GCM, 32),
        ("ChaCha20-Poly1305", &CHACHA20_POLY1305, 32),
    ] {
        for bytes in SIZES {
            // Any key will do: no secret is encrypted, and the time does not depend on it.
            let key = UnboundKey::new(algorithm, &[0x42; 32][..length])
                .map(LessSafeKey::new)
                .map_err(|_| CalibrationError::Library(name.to_owned()))?;
            let mut packet = vec![0x42; bytes as usize];
            let work = move || {
                let nonce = Nonce::assume_unique_for_key([0x42; 12]);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(HEADER), &mut packet)?;
                let _ = black_box(tag);
                Ok(())
            };
            add(Subject::Cipher(name, bytes), Box::new(work));
        }
    }
    Ok(())
}
