//! Keys: SKEYSEED and what follows from it (RFC 7296, sections 2.13 to 2.17; RFC 9370, section 2.2.2).

use aws_lc_rs::hmac;
use bartizan_esp::Suite;
use bartizan_registry::{TransformKind, transform};
use zeroize::Zeroizing;

use crate::key_exchange::Secret;

/// A pseudorandom function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prf {
    /// PRF_HMAC_SHA2_256.
    HmacSha256,
    /// PRF_HMAC_SHA2_384.
    HmacSha384,
    /// PRF_HMAC_SHA2_512.
    HmacSha512,
}

impl Prf {
    /// By its number among the transforms; none where it is not implemented here.
    pub fn of(id: u16) -> Option<Self> {
        Some(match transform(TransformKind::PseudoRandomFunction, id)?.name {
            "PRF_HMAC_SHA2_256" => Self::HmacSha256,
            "PRF_HMAC_SHA2_384" => Self::HmacSha384,
            "PRF_HMAC_SHA2_512" => Self::HmacSha512,
            _ => return None,
        })
    }

    fn algorithm(self) -> hmac::Algorithm {
        match self {
            Self::HmacSha256 => hmac::HMAC_SHA256,
            Self::HmacSha384 => hmac::HMAC_SHA384,
            Self::HmacSha512 => hmac::HMAC_SHA512,
        }
    }

    /// Bytes of its output, and of the keys it is used with.
    pub fn length(self) -> usize {
        self.algorithm().tag_len()
    }

    /// Bytes that a nonce must have: half of the key (RFC 7296, section 2.10).
    pub(crate) fn shortest_nonce(self) -> usize {
        self.length() / 2
    }

    /// prf(key, parts one behind the other).
    pub(crate) fn prf(self, key: &[u8], parts: &[&[u8]]) -> Secret {
        let key = hmac::Key::new(self.algorithm(), key);
        let mut context = hmac::Context::with_key(&key);
        for part in parts {
            context.update(part);
        }
        Zeroizing::new(context.sign().as_ref().to_vec())
    }

    /// So many bytes of prf+(key, parts), of which 255 outputs are the most; no call here asks for a tenth of that.
    pub(crate) fn plus(self, key: &[u8], parts: &[&[u8]], length: usize) -> Secret {
        let mut bytes = Zeroizing::new(Vec::with_capacity(length + self.length()));
        let mut last = Zeroizing::new(Vec::new());
        for count in 1..=u8::MAX {
            if bytes.len() >= length {
                break;
            }
            let mut all = vec![&last[..]];
            all.extend(parts);
            let count = [count];
            all.push(&count);
            last = self.prf(key, &all);
            bytes.extend(&last[..]);
        }
        bytes.truncate(length);
        bytes
    }
}

/// Inputs of every step of the schedule besides a secret.
#[derive(Debug, Clone)]
pub(crate) struct Nonces {
    pub(crate) initiator: Vec<u8>,
    pub(crate) responder: Vec<u8>,
    /// Both SPIs, one behind the other.
    pub(crate) spis: [u8; 16],
}

impl Nonces {
    /// Those of initiator and responder, and their SPIs.
    pub(crate) fn new([initiator, responder]: [&[u8]; 2], ends: [u64; 2]) -> Self {
        let mut spis = [0; 16];
        spis[..8].copy_from_slice(&ends[0].to_be_bytes());
        spis[8..].copy_from_slice(&ends[1].to_be_bytes());
        Self {
            initiator: initiator.to_vec(),
            responder: responder.to_vec(),
            spis,
        }
    }
}

/// The keys of an IKE_SA, but those of its cipher, which are given to it.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) prf: Prf,
    pub(crate) derive: Secret,
    /// SK_pi and SK_pr.
    pub(crate) prove: [Secret; 2],
}

/// SK_e and SK_a of initiator and responder, as the suite takes them: encryption key, then integrity key.
pub(crate) type CipherKeys = [Secret; 2];

impl Keys {
    /// From the secret of IKE_SA_INIT.
    pub(crate) fn first(prf: Prf, suite: Suite, secret: &[u8], nonces: &Nonces) -> (Self, CipherKeys) {
        let key = Zeroizing::new([&nonces.initiator[..], &nonces.responder].concat());
        Self::expand(prf, suite, &prf.prf(&key, &[secret]), nonces)
    }

    /// From that of an additional key exchange (RFC 9370, section 2.2.2).
    pub(crate) fn next(&self, suite: Suite, secret: &[u8], nonces: &Nonces) -> (Self, CipherKeys) {
        let seed = self
            .prf
            .prf(&self.derive, &[secret, &nonces.initiator, &nonces.responder]);
        Self::expand(self.prf, suite, &seed, nonces)
    }

    fn expand(prf: Prf, suite: Suite, seed: &[u8], nonces: &Nonces) -> (Self, CipherKeys) {
        let (encryption, integrity) = suite.keys();
        let each = prf.length();
        let lengths = [each, integrity, integrity, encryption, encryption, each, each];
        let parts = [&nonces.initiator[..], &nonces.responder, &nonces.spis];
        let bytes = prf.plus(seed, &parts, lengths.iter().sum());
        let mut rest = &bytes[..];
        // SK_d, SK_ai, SK_ar, SK_ei, SK_er, SK_pi, SK_pr.
        let [derive, ai, ar, ei, er, pi, pr] = lengths.map(|length| {
            let (key, behind) = rest.split_at(length);
            rest = behind;
            key
        });
        let owned = |key: &[u8]| Zeroizing::new(key.to_vec());
        let pair = |encryption: &[u8], integrity: &[u8]| Zeroizing::new([encryption, integrity].concat());
        let keys = Self {
            prf,
            derive: owned(derive),
            prove: [owned(pi), owned(pr)],
        };
        (keys, [pair(ei, ai), pair(er, ar)])
    }

    /// Mixes a post-quantum pre-shared key into what is used from IKE_AUTH on (RFC 8784, section 3).
    pub(crate) fn mix(&mut self, ppk: &[u8]) {
        let [initiator, responder] = &mut self.prove;
        for key in [&mut self.derive, initiator, responder] {
            *key = self.prf.plus(ppk, &[&key[..]], key.len());
        }
    }

    /// Those behind an IKE_INTERMEDIATE in which both ends have named a post-quantum pre-shared key
    /// (RFC 9867, section 3.1).
    pub(crate) fn mixed(&self, suite: Suite, ppk: &[u8], nonces: &Nonces) -> (Self, CipherKeys) {
        let seed = self.prf.plus(ppk, &[&self.derive[..]], self.prf.length());
        Self::expand(self.prf, suite, &seed, nonces)
    }

    /// Those of an IKE_SA that replaces this one: its first seed by this one's prf, the rest by its
    /// own (RFC 7296, section 2.18; RFC 9370, section 2.2.4). The first secret is of
    /// CREATE_CHILD_SA, the others of IKE_FOLLOWUP_KE.
    pub(crate) fn replaced(&self, prf: Prf, suite: Suite, secrets: &[Secret], nonces: &Nonces) -> (Self, CipherKeys) {
        let parts = [&nonces.initiator[..], &nonces.responder];
        let seed = self.prf.prf(&self.derive, &around(secrets, parts));
        Self::expand(prf, suite, &seed, nonces)
    }

    /// The keys of a CHILD_SA, of both directions: first of what the end that asked for it sends
    /// (RFC 7296, section 2.17; RFC 9370, section 2.2.4). Nonces are of the exchange that makes it,
    /// as are secrets: none where it makes none.
    pub(crate) fn child(&self, suite: Suite, nonces: [&[u8]; 2], secrets: &[Secret]) -> CipherKeys {
        let each = suite.key_material();
        let bytes = self.prf.plus(&self.derive, &around(secrets, nonces), 2 * each);
        let (requester, answerer) = bytes.split_at(each);
        [requester, answerer].map(|keys| Zeroizing::new(keys.to_vec()))
    }
}

/// SK(0) | Ni | Nr | SK(1) | ... SK(n).
fn around<'a>(secrets: &'a [Secret], nonces: [&'a [u8]; 2]) -> Vec<&'a [u8]> {
    let split = secrets.len().min(1);
    let (first, additional) = secrets.split_at(split);
    let bytes = |secret: &'a Secret| &secret[..];
    let all = first.iter().map(bytes).chain(nonces);
    all.chain(additional.iter().map(bytes)).collect()
}

#[cfg(test)]
mod tests {
    mod published;
}
