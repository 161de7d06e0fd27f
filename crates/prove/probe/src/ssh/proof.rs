//! The server's signature on the exchange hash (RFC 4253, section 8; RFC 5656, section 4; RFC 8731;
//! RFC 10042): it proves that the server has its host key, and took part in this exchange.

use aws_lc_rs::digest::{self, Digest, SHA256, SHA384, SHA512};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::{Done, split, string};

impl Done {
    /// Returns true if the server's signature, of the algorithm that was negotiated, is right; none if
    /// the method or the algorithm is not implemented. `said` are both identifications and both
    /// SSH_MSG_KEXINIT.
    pub(super) fn is_signed(&self, said: [&[u8]; 4], method: &str, algorithm: &str) -> Option<bool> {
        if self.halves.is_empty() || algorithm == "ssh-rsa" {
            return None;
        }
        Some(self.verify(said, method, algorithm).is_some())
    }

    fn verify(&self, said: [&[u8]; 4], method: &str, algorithm: &str) -> Option<()> {
        let mut rest = self.reply.get(1..)?;
        let [host_key, answer, signature] = [split(&mut rest)?, split(&mut rest)?, split(&mut rest)?];
        let hash = self.exchange_hash(said, method, host_key, answer)?;
        is_by(algorithm, host_key, signature, hash.as_ref())
    }

    fn exchange_hash(&self, said: [&[u8]; 4], method: &str, host_key: &[u8], answer: &[u8]) -> Option<Digest> {
        let hash = match method {
            _ if method.ends_with("384") => &SHA384,
            _ if method.ends_with("p521") => &SHA512,
            _ => &SHA256,
        };
        let (mut secret, mut left) = (Vec::new(), answer);
        for (half, before, length) in &self.halves {
            let (data, behind) = left.split_at_checked(before + length)?;
            secret.extend_from_slice(&half.finish(&data[*before..]).ok()?);
            left = behind;
        }
        let mut hashed = Vec::new();
        for part in said.into_iter().chain([host_key, &self.share, answer]) {
            string(&mut hashed, part);
        }
        if self.halves.len() > 1 {
            string(&mut hashed, digest::digest(hash, &secret).as_ref());
        } else {
            // A number: without zeros before it, and positive.
            let number = trimmed(&secret);
            let sign: &[u8] = if number.first()? & 0x80 == 0 { &[] } else { &[0] };
            string(&mut hashed, &[sign, number].concat());
        }
        left.is_empty().then(|| digest::digest(hash, &hashed))
    }
}

fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    &number[zeros..]
}

/// A signature by a host key, both as SSH writes them.
fn is_by(algorithm: &str, mut key: &[u8], mut signature: &[u8], signed: &[u8]) -> Option<()> {
    let kind = if algorithm.starts_with("rsa-") {
        "ssh-rsa"
    } else {
        algorithm
    };
    let names = [split(&mut key)?, split(&mut signature)?];
    if names != [kind.as_bytes(), algorithm.as_bytes()] {
        return None;
    }
    let mut signature = split(&mut signature)?;
    let first = split(&mut key)?;
    let mut by_point = |name: &str, length: usize, curve: &'static _, mut key: &[u8]| {
        // Two numbers, each as long as the curve's.
        let mut numbers = vec![0; 2 * length];
        for half in numbers.chunks_mut(length) {
            let number = trimmed(split(&mut signature)?);
            half[length.checked_sub(number.len())?..].copy_from_slice(number);
        }
        let verified = UnparsedPublicKey::new(curve, split(&mut key)?).verify(signed, &numbers);
        verified.ok().filter(|()| first == name.as_bytes())
    };
    match algorithm {
        "ssh-ed25519" => UnparsedPublicKey::new(&ED25519, first).verify(signed, signature).ok(),
        "ecdsa-sha2-nistp256" => by_point("nistp256", 32, &ECDSA_P256_SHA256_FIXED, key),
        "ecdsa-sha2-nistp384" => by_point("nistp384", 48, &ECDSA_P384_SHA384_FIXED, key),
        "ecdsa-sha2-nistp521" => by_point("nistp521", 66, &ECDSA_P521_SHA512_FIXED, key),
        "rsa-sha2-256" | "rsa-sha2-512" => {
            let public = RsaPublicKeyComponents {
                e: trimmed(first),
                n: trimmed(split(&mut key)?),
            };
            let scheme = match algorithm {
                "rsa-sha2-256" => &RSA_PKCS1_2048_8192_SHA256,
                _ => &RSA_PKCS1_2048_8192_SHA512,
            };
            public.verify(scheme, signed, signature).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA512,
    };
    use bartizan_ike::{ExchangeFailed, Pending, Secret};

    use super::*;

    fn strings(parts: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|part| string(&mut out, part));
        out
    }

    #[test]
    fn a_signature_is_right_by_the_negotiated_algorithm_alone_and_for_what_was_signed() {
        let random = SystemRandom::new();
        let hash = [7; 32];
        let ed = Ed25519KeyPair::generate().unwrap();
        let ed = (
            "ssh-ed25519",
            strings(&[b"ssh-ed25519", ed.public_key().as_ref()]),
            strings(&[b"ssh-ed25519", ed.sign(&hash).as_ref()]),
        );
        let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let pair = ec.sign(&random, &hash).unwrap();
        // As numbers of SSH: a zero before the first bit that is set.
        let numbers: Vec<Vec<u8>> = pair.as_ref().chunks(32).map(|half| [&[0], half].concat()).collect();
        let name = b"ecdsa-sha2-nistp256";
        let ec = (
            "ecdsa-sha2-nistp256",
            strings(&[name, b"nistp256", ec.public_key().as_ref()]),
            strings(&[name, &strings(&[&numbers[0], &numbers[1]])]),
        );
        let key = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA512, &random, &hash, &mut signature).unwrap();
        let public = key.public_key();
        let (e, n) = (public.exponent(), public.modulus());
        let modulus = [&[0], n.big_endian_without_leading_zero()].concat();
        let rsa = (
            "rsa-sha2-512",
            strings(&[b"ssh-rsa", e.big_endian_without_leading_zero(), &modulus]),
            strings(&[b"rsa-sha2-512", &signature]),
        );
        for (algorithm, key, signature) in [&ed, &ec, &rsa] {
            assert!(is_by(algorithm, key, signature, &hash).is_some(), "{algorithm}");
            assert!(is_by(algorithm, key, signature, &[8; 32]).is_none(), "{algorithm}");
            for other in ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256", "rsa-sha2-512"] {
                let right = is_by(other, key, signature, &hash).is_some();
                assert_eq!(right, other == *algorithm, "{other} for {algorithm}");
            }
            for length in 0..signature.len() {
                assert!(is_by(algorithm, key, &signature[..length], &hash).is_none());
            }
        }
    }

    struct Fixed(&'static [u8]);

    impl Pending for Fixed {
        fn finish(&self, _: &[u8]) -> Result<Secret, ExchangeFailed> {
            Ok(self.0.to_vec().into())
        }
    }

    /// Computed by Python's hashlib; servers of OpenSSH and of Go's x/crypto sign the same.
    #[test]
    fn the_exchange_hash_has_all_that_was_said_and_the_secret_as_its_method_writes_it() {
        const TWO: [&[u8]; 2] = [&[1; 32], &[2; 32]];
        const HIGH: &[u8] = &[0, 0x81, 0x81];
        const LOW: &[u8] = &[0, 0, 0x71];
        let hash = |method: &str, secrets: &[&'static [u8]]| {
            let half = |secret: &&'static [u8]| -> (Box<dyn Pending>, usize, usize) { (Box::new(Fixed(secret)), 1, 1) };
            let done = Done {
                share: b"share".to_vec(),
                halves: secrets.iter().map(half).collect(),
                reply: Vec::new(),
            };
            let said: [&[u8]; 4] = [b"SSH-2.0-A", b"SSH-2.0-B", b"\x14client", b"\x14server"];
            let answer = &b"abcd"[..2 * secrets.len()];
            assert!(done.exchange_hash(said, method, b"key", b"abcde").is_none());
            let hash = done.exchange_hash(said, method, b"key", answer).unwrap();
            hash.as_ref()[..4]
                .iter()
                .map(|octet| format!("{octet:02x}"))
                .collect::<String>()
        };
        assert_eq!(hash("mlkem768x25519-sha256", &TWO), "52b59b3b");
        assert_eq!(hash("mlkem1024nistp384-sha384", &TWO), "c8f286b2");
        assert_eq!(hash("curve25519-sha256", &[HIGH]), "1ae08504");
        assert_eq!(hash("ecdh-sha2-nistp521", &[LOW]), "3e20c338");
    }
}
