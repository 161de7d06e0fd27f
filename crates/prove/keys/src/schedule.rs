//! From secrets to keys: HKDF-Expand-Label of TLS 1.3 (RFC 9846, section 7.1), the PRF of TLS 1.2
//! (RFC 5246, section 5).

use aws_lc_rs::hkdf::{self, KeyType, Prk};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

/// The hash of a cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
}

impl Hash {
    /// Bytes of its output.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// `HKDF-Expand-Label(secret, label, "", length)`; none where the secret is not one of the hash.
pub(crate) fn expand_label(hash: Hash, secret: &[u8], label: &str, length: usize) -> Option<Zeroizing<Vec<u8>>> {
    if secret.len() != hash.length() {
        return None;
    }
    let algorithm = match hash {
        Hash::Sha256 => hkdf::HKDF_SHA256,
        Hash::Sha384 => hkdf::HKDF_SHA384,
    };
    expand(&Prk::new_less_safe(algorithm, secret), label, length)
}

/// The same of a key that was extracted.
pub(crate) fn expand(prk: &Prk, label: &str, length: usize) -> Option<Zeroizing<Vec<u8>>> {
    let mut info = u16::try_from(length).ok()?.to_be_bytes().to_vec();
    info.push(u8::try_from(label.len() + 6).ok()?);
    info.extend(b"tls13 ");
    info.extend(label.as_bytes());
    // No context.
    info.push(0);
    let mut output = Zeroizing::new(vec![0; length]);
    prk.expand(&[&info], Length(length)).ok()?.fill(&mut output).ok()?;
    Some(output)
}

/// `PRF(secret, label, seed)` of TLS 1.2, this long.
pub(crate) fn prf(hash: Hash, secret: &[u8], label: &str, seed: &[&[u8]], length: usize) -> Zeroizing<Vec<u8>> {
    let algorithm = match hash {
        Hash::Sha256 => hmac::HMAC_SHA256,
        Hash::Sha384 => hmac::HMAC_SHA384,
    };
    let key = hmac::Key::new(algorithm, secret);
    let mac = |parts: &[&[u8]]| {
        let mut context = hmac::Context::with_key(&key);
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    };
    let label_and_seed = [&[label.as_bytes()], seed].concat();
    let mut output = Zeroizing::new(Vec::with_capacity(length + hash.length()));
    let mut a = mac(&label_and_seed);
    while output.len() < length {
        let block = mac(&[&[a.as_ref()], &label_and_seed[..]].concat());
        output.extend_from_slice(block.as_ref());
        a = mac(&[a.as_ref()]);
    }
    output.truncate(length);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Zeroizing<Vec<u8>> {
        crate::key_log::hexadecimal(hex.as_bytes()).unwrap()
    }

    /// RFC 8448, section 3: the server's handshake traffic secret, and the key and IV made of it.
    #[test]
    fn the_example_of_rfc_8448_is_reproduced() {
        let secret = bytes("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let key = expand_label(Hash::Sha256, &secret, "key", 16).unwrap();
        let iv = expand_label(Hash::Sha256, &secret, "iv", 12).unwrap();
        assert_eq!(*key, *bytes("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(*iv, *bytes("5d313eb2671276ee13000b30"));
        assert!(expand_label(Hash::Sha384, &secret, "key", 16).is_none());
    }

    /// The vector for SHA-256 that the TLS working group's list gave out when TLS 1.2 was new.
    #[test]
    fn the_prf_of_tls_1_2_gives_the_published_vector() {
        let secret = bytes("9bbe436ba940f017b17652849a71db35");
        let seed = bytes("a0ba9f936cda311827a6f796ffd5198c");
        let output = prf(Hash::Sha256, &secret, "test label", &[&seed], 100);
        let expected = "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a\
                        6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab\
                        4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff701\
                        87347b66";
        assert_eq!(*output, *bytes(expected));
    }
}
