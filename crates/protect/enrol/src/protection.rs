//! Protection of a message: a MAC keyed by a secret, or a signature (RFC 9810, section 5.1.3).

use std::num::NonZeroU32;
use std::time::SystemTime;

use aws_lc_rs::digest::{self, digest};
use aws_lc_rs::{hmac, pbkdf2};
use bartizan_pki::{Certificate, NoChain, PrivateKey, Profile, RevocationList, Signed, signed_by, trusted_chain};
use der::Tag;
use der::asn1::{AnyRef, ObjectIdentifier};
use zeroize::Zeroizing;

use crate::Error;
use crate::encoding::{self, Fields};
use crate::message::{Draft, Message};
use crate::oid;

/// Rounds of the hash that are computed for others: OpenSSL uses 500, and what is more than this is
/// an attack on our processor.
const ROUNDS: std::ops::RangeInclusive<i64> = 100..=50_000;
/// Rounds of PBKDF2 times blocks of the key. Siemens' client asks for 10,000 rounds.
const WORK: i64 = 20_000;
/// Octets of a key by PBKDF2. Shorter ones are easier to guess than the secret.
const KEY: std::ops::RangeInclusive<i64> = 16..=64;
/// Rounds of our own messages. Secrets have 160 bits: rounds add nothing to them.
const OWN_ROUNDS: i64 = 1000;
/// Longest salt.
const SALT: usize = 128;
/// Octets of nonces, salts and identifiers that are made here (RFC 9810, section 5.1.1).
pub(crate) const NONCE: usize = 16;

/// Fresh octets.
pub(crate) fn nonce() -> Result<Vec<u8>, Error> {
    let mut octets = vec![0; NONCE];
    aws_lc_rs::rand::fill(&mut octets).map_err(bartizan_pki::Error::from)?;
    Ok(octets)
}

bartizan_registry::made! {
    /// A password-based MAC with its parameters: PasswordBasedMac or PBMAC1 (RFC 9481, section 6.1).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct PasswordMac,
    /// Parameters of a message of ours, with a fresh salt.
    pub(crate) fresh() -> Result<Self, Error> {
        salt: Vec<u8> = nonce()?,
        derivation: Derivation = Derivation::Hash(oid::SHA256),
        rounds: i64 = OWN_ROUNDS,
        mac: ObjectIdentifier = oid::HMAC_SHA256,
    }
}

/// The way from the secret to the MAC's key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Derivation {
    /// PasswordBasedMac: a hash of secret and salt, hashed again and again.
    Hash(ObjectIdentifier),
    /// PBMAC1: PBKDF2 with an HMAC (RFC 8018, section 5.2).
    Pbkdf2 {
        /// Identifier of PBKDF2, or that of PBES2, which Bouncy Castle 1.84 writes in its place.
        named: ObjectIdentifier,
        hmac: ObjectIdentifier,
        /// Octets of the key, if they are given.
        length: Option<i64>,
    },
}

#[cfg(test)]
impl Derivation {
    fn pbkdf2(hmac: ObjectIdentifier, length: Option<i64>) -> Self {
        let named = oid::PBKDF2;
        Self::Pbkdf2 { named, hmac, length }
    }
}

/// Reason why a MAC cannot be computed or is not right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// Its algorithm or a parameter is not accepted.
    Algorithm(String),
    /// It is not the one that the secret gives.
    Value,
}

#[cfg(test)]
thread_local! {
    /// Number of keys that this thread has derived.
    pub(crate) static DERIVED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl PasswordMac {
    /// PBMAC1 as Siemens' CmpRaComponent has it by default.
    #[cfg(test)]
    pub(crate) fn pbmac1() -> Self {
        Self {
            salt: nonce().unwrap(),
            derivation: Derivation::pbkdf2(oid::HMAC_SHA256, Some(32)),
            rounds: 10_000,
            mac: oid::HMAC_SHA256,
        }
    }

    /// The same hash and MAC with a fresh salt: what the other end can do, it shows.
    pub(crate) fn answering(&self) -> Result<Self, Error> {
        Ok(Self {
            salt: nonce()?,
            ..self.clone()
        })
    }

    /// Reads a protection by a secret. None if the algorithm is of another kind.
    pub(crate) fn read(algorithm: ObjectIdentifier, parameters: Option<AnyRef<'_>>) -> Result<Option<Self>, Error> {
        if ![oid::PASSWORD_BASED_MAC, oid::PBMAC1].contains(&algorithm) {
            return Ok(None);
        }
        let place = "parameters of the MAC";
        let parameters = parameters.ok_or_else(|| Error::malformed(place, "they are missing"))?;
        let mut fields = Fields::within(place, parameters)?;
        if algorithm == oid::PBMAC1 {
            return Self::read_pbmac1(place, fields).map(Some);
        }
        let salt = encoding::octets(place, fields.next("salt")?)?.to_vec();
        let (hash, _) = encoding::algorithm(place, fields.next("hash")?)?;
        let rounds = encoding::integer(place, fields.next("number of rounds")?)?;
        let (mac, _) = encoding::algorithm(place, fields.next("MAC")?)?;
        Ok(Some(Self {
            salt,
            derivation: Derivation::Hash(hash),
            rounds,
            mac,
        }))
    }

    /// PBMAC1-params (RFC 8018, appendix A.5).
    fn read_pbmac1(place: &'static str, mut fields: Fields<'_>) -> Result<Self, Error> {
        let (named, parameters) = encoding::algorithm(place, fields.next("key derivation")?)?;
        let (mac, _) = encoding::algorithm(place, fields.next("MAC")?)?;
        if ![oid::PBKDF2, oid::PBES2].contains(&named) {
            let what = format!("key derivation {named}; PBKDF2 is accepted");
            return Err(Error::malformed(place, what));
        }
        let parameters = parameters.ok_or_else(|| Error::malformed(place, "PBKDF2 without parameters"))?;
        let mut fields = Fields::within(place, parameters)?;
        let salt = encoding::octets(place, fields.next("salt")?)?.to_vec();
        let rounds = encoding::integer(place, fields.next("number of rounds")?)?;
        let length = fields.next_if(Tag::Integer)?;
        let length = length.map(|length| encoding::integer(place, length)).transpose()?;
        let hmac = match fields.next_if(Tag::Sequence)? {
            Some(prf) => encoding::algorithm(place, prf)?.0,
            // DEFAULT of RFC 8018, which is refused with its name.
            None => oid::HMAC_SHA1,
        };
        Ok(Self {
            salt,
            derivation: Derivation::Pbkdf2 { named, hmac, length },
            rounds,
            mac,
        })
    }

    /// The AlgorithmIdentifier, DER.
    pub(crate) fn identifier(&self) -> Result<Vec<u8>, Error> {
        let salt = encoding::octet_string(&self.salt)?;
        let rounds = encoding::number(self.rounds)?;
        match &self.derivation {
            Derivation::Hash(hash) => {
                let hash = encoding::algorithm_identifier(*hash, None)?;
                let mac = encoding::algorithm_identifier(self.mac, None)?;
                let parameters = encoding::sequence(&[&salt, &hash, &rounds, &mac])?;
                encoding::algorithm_identifier(oid::PASSWORD_BASED_MAC, Some(&parameters))
            }
            Derivation::Pbkdf2 { named, hmac, length } => {
                // HMAC has parameters of NULL there (RFC 8018, appendix B.1.2).
                let null = encoding::element(Tag::Null, &[])?;
                let length = length.map(encoding::number).transpose()?.unwrap_or_default();
                let hmac = encoding::algorithm_identifier(*hmac, Some(&null))?;
                let parameters = encoding::sequence(&[&salt, &rounds, &length, &hmac])?;
                let derivation = encoding::algorithm_identifier(*named, Some(&parameters))?;
                let mac = encoding::algorithm_identifier(self.mac, Some(&null))?;
                let parameters = encoding::sequence(&[&derivation, &mac])?;
                encoding::algorithm_identifier(oid::PBMAC1, Some(&parameters))
            }
        }
    }

    fn key(&self, secret: &str) -> Result<hmac::Key, Mismatch> {
        #[cfg(test)]
        DERIVED.set(DERIVED.get() + 1);
        let refuse = |what: String| Err(Mismatch::Algorithm(what));
        let is_pbmac1 = matches!(self.derivation, Derivation::Pbkdf2 { .. });
        let mac = match self.mac {
            oid::HMAC_SHA1 | oid::HMAC_SHA1_PKIX if !is_pbmac1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            oid::HMAC_SHA256 => hmac::HMAC_SHA256,
            oid::HMAC_SHA384 => hmac::HMAC_SHA384,
            oid::HMAC_SHA512 => hmac::HMAC_SHA512,
            other => {
                let sha1 = if is_pbmac1 { "" } else { "SHA-1, " };
                return refuse(format!(
                    "MAC {other}; HMAC with {sha1}SHA-256, 384 and 512 are accepted"
                ));
            }
        };
        if !ROUNDS.contains(&self.rounds) {
            return refuse(format!(
                "{} rounds; from {} to {} are accepted",
                self.rounds,
                ROUNDS.start(),
                ROUNDS.end()
            ));
        }
        if self.salt.len() > SALT {
            return refuse(format!("a salt of {} octets", self.salt.len()));
        }
        match &self.derivation {
            Derivation::Hash(hash) => {
                let hash = match *hash {
                    oid::SHA256 => &digest::SHA256,
                    oid::SHA384 => &digest::SHA384,
                    oid::SHA512 => &digest::SHA512,
                    other => {
                        return refuse(format!(
                            "hash {other} of the MAC's key; SHA-256, 384 and 512 are accepted"
                        ));
                    }
                };
                let first = Zeroizing::new([secret.as_bytes(), self.salt.as_slice()].concat());
                let mut key = Zeroizing::new(digest(hash, &first).as_ref().to_vec());
                for _ in 1..self.rounds {
                    let next = digest(hash, &key);
                    key.copy_from_slice(next.as_ref());
                }
                Ok(hmac::Key::new(mac, &key))
            }
            Derivation::Pbkdf2 { hmac: prf, length, .. } => {
                let (algorithm, block) = match *prf {
                    oid::HMAC_SHA256 => (pbkdf2::PBKDF2_HMAC_SHA256, 32),
                    oid::HMAC_SHA384 => (pbkdf2::PBKDF2_HMAC_SHA384, 48),
                    oid::HMAC_SHA512 => (pbkdf2::PBKDF2_HMAC_SHA512, 64),
                    other => {
                        return refuse(format!(
                            "PBKDF2 with {other}; HMAC with SHA-256, 384 and 512 are accepted"
                        ));
                    }
                };
                let own = i64::try_from(mac.digest_algorithm().output_len()).unwrap_or_default();
                let length = length.unwrap_or(own);
                let octets = usize::try_from(length).ok().filter(|_| KEY.contains(&length));
                let rounds = u32::try_from(self.rounds).ok().and_then(NonZeroU32::new);
                let (Some(octets), Some(rounds)) = (octets, rounds) else {
                    return refuse(format!(
                        "a key of {length} octets; from {} to {} are accepted",
                        KEY.start(),
                        KEY.end()
                    ));
                };
                let blocks = octets.div_ceil(block);
                if i64::try_from(blocks).unwrap_or(i64::MAX).saturating_mul(self.rounds) > WORK {
                    return refuse(format!(
                        "{} rounds for each of {blocks} blocks of the key; {WORK} together are accepted",
                        self.rounds
                    ));
                }
                let mut key = Zeroizing::new(vec![0; octets]);
                pbkdf2::derive(algorithm, rounds, &self.salt, secret.as_bytes(), &mut key);
                Ok(hmac::Key::new(mac, &key))
            }
        }
    }

    /// The MAC with its key by this secret.
    pub(crate) fn keyed(&self, secret: &str) -> Result<KeyedMac, Mismatch> {
        let unencodable = |error: Error| Mismatch::Algorithm(error.to_string());
        Ok(KeyedMac {
            identifier: self.identifier().map_err(unencodable)?,
            key: self.key(secret)?,
        })
    }

    #[cfg(test)]
    fn compute(&self, secret: &str, message: &[u8]) -> Result<Vec<u8>, Mismatch> {
        Ok(hmac::sign(&self.key(secret)?, message).as_ref().to_vec())
    }

    /// Compares in constant time.
    pub(crate) fn verify(&self, secret: &str, message: &[u8], value: &[u8]) -> Result<(), Mismatch> {
        hmac::verify(&self.key(secret)?, message, value).map_err(|_| Mismatch::Value)
    }
}

/// A signer of messages: a key, and the certificates by which it is known, its own first and the
/// root left out.
#[derive(Debug)]
pub struct Identity {
    key: PrivateKey,
    chain: Vec<Certificate>,
}

impl Identity {
    /// The key must be the one that the first certificate certifies.
    pub fn new(key: PrivateKey, chain: Vec<Certificate>) -> Result<Self, Error> {
        if chain.first().map(Certificate::public_key) != Some(key.public_key()) {
            return Err(Error::Untrusted("the key is not that of the certificate".to_owned()));
        }
        Ok(Self { key, chain })
    }

    /// The certificate of the key.
    pub fn certificate(&self) -> &Certificate {
        &self.chain[0]
    }

    /// Puts signature, key identifier and certificates to a message.
    pub(crate) fn sign(&self, mut draft: Draft) -> Result<Vec<u8>, Error> {
        draft.header.protection = Some(encoding::algorithm_identifier(
            self.key.algorithm().signature_oid(),
            None,
        )?);
        draft.header.sender_key = Some(self.key.public_key().identifier());
        let own: Vec<Vec<u8>> = self.chain.iter().map(|above| above.der().to_vec()).collect();
        let others = std::mem::take(&mut draft.certificates);
        draft.certificates = own;
        for other in others {
            if !draft.certificates.contains(&other) {
                draft.certificates.push(other);
            }
        }
        draft.protect(|protected| Ok(self.key.sign(protected)?))
    }
}

/// Puts a MAC to a message.
pub(crate) fn authenticate(draft: Draft, mac: &PasswordMac, reference: &str, secret: &str) -> Result<Vec<u8>, Error> {
    let keyed = mac.keyed(secret);
    let keyed = keyed.map_err(|mismatch| Error::Untrusted(format!("{mismatch:?}")))?;
    keyed.authenticate(draft, reference)
}

/// A MAC with its key, which takes up to 50,000 rounds to derive.
#[derive(Debug)]
pub(crate) struct KeyedMac {
    identifier: Vec<u8>,
    key: hmac::Key,
}

impl KeyedMac {
    /// The message with this MAC.
    pub(crate) fn authenticate(&self, mut draft: Draft, reference: &str) -> Result<Vec<u8>, Error> {
        draft.header.protection = Some(self.identifier.clone());
        draft.header.sender_key = Some(reference.as_bytes().to_vec());
        draft.protect(|protected| Ok(hmac::sign(&self.key, protected).as_ref().to_vec()))
    }
}

bartizan_registry::made! {
    /// Authorities whose signatures are believed.
    #[derive(Debug, Clone)]
    pub struct Trust,
    /// Any of these roots: while one takes another's place there are two.
    pub new(roots: Vec<Certificate>) {
        /// The trust anchors.
        pub roots: Vec<Certificate>,
        lists: Vec<RevocationList> = Vec::new(),
    }
}

impl Trust {
    /// Adds revocation lists, those signed last first.
    #[must_use]
    pub fn revoking(mut self, lists: Vec<RevocationList>) -> Self {
        self.lists = lists;
        self
    }

    /// The same lists, and other roots.
    pub(crate) fn with_roots(&self, roots: Vec<Certificate>) -> Self {
        Self {
            roots,
            lists: self.lists.clone(),
        }
    }

    /// The certificates from `leaf` up to, but without, a root, of those at hand.
    pub(crate) fn chain(
        &self,
        leaf: Certificate,
        at_hand: &[Vec<u8>],
        now: SystemTime,
    ) -> Result<Vec<Certificate>, Error> {
        let is_valid = |one: &Certificate| one.not_before() <= now && now <= one.not_after();
        let outdated = |one: &Certificate| Error::Untrusted(format!("{} is not valid now", one.subject()));
        if !is_valid(&leaf) {
            return Err(outdated(&leaf));
        }
        let read = |der: &Vec<u8>| Certificate::from_der(der, "extraCerts").ok();
        let authorities: Vec<_> = at_hand
            .iter()
            .filter_map(read)
            .filter(Certificate::is_authority)
            .collect();
        let [at_hand, roots] =
            [&authorities, &self.roots].map(|all| all.iter().map(Certificate::der).collect::<Vec<_>>());
        let refusal = match trusted_chain(leaf.der(), &at_hand, &roots, &self.lists, now) {
            Ok(places) => {
                let above = places.into_iter().map(|above| authorities[above].clone());
                return Ok(std::iter::once(leaf.clone()).chain(above).collect());
            }
            Err(refusal) => refusal,
        };
        Err(match (refusal, authorities.iter().find(|one| !is_valid(one))) {
            (NoChain::Unknown, Some(old)) => outdated(old),
            (NoChain::Unknown, None) => {
                let roots: Vec<_> = self.roots.iter().map(Certificate::subject).collect();
                Error::Untrusted(format!(
                    "no way from {} to the root {}",
                    leaf.subject(),
                    roots.join(" or ")
                ))
            }
            (refusal, _) => Error::Untrusted(format!("{}: {refusal}", leaf.subject())),
        })
    }

    /// Returns true if a root is one of these, or one of these has signed its name and key
    /// (newWithOld, RFC 9810, section 4.4) in a certificate at hand that no list revokes.
    pub(crate) fn vouches_for(&self, root: &Certificate, at_hand: &[Vec<u8>], now: SystemTime) -> bool {
        let is_valid = |one: &Certificate| one.not_before() <= now && now <= one.not_after();
        let is_held = self.roots.iter().any(|held| held.der() == root.der());
        let across = at_hand
            .iter()
            .filter_map(|der| Certificate::from_der(der, "extraCerts").ok());
        let mut across = across.filter(|one| {
            one.is_authority()
                && one.subject() == root.subject()
                && one.public_key() == root.public_key()
                && is_valid(one)
                && !self.lists.iter().any(|list| list.revokes(one.der()))
        });
        is_held
            || across.any(|one| {
                let mut held = self.roots.iter().filter(|held| is_valid(held));
                held.any(|held| signed_by(one.der(), held.der()) == Signed::Yes)
            })
    }

    /// Checks that a message is signed by an authority's responder under one of the roots. Gives
    /// the responder's certificate and those above it.
    pub(crate) fn verify(&self, message: &Message, now: SystemTime) -> Result<Vec<Certificate>, Error> {
        let refuse = |reason: &str| Error::Untrusted(reason.to_owned());
        let (Some((algorithm, _)), Some(signature)) = (message.header.protection()?, &message.protection) else {
            return Err(refuse("it is not protected"));
        };
        let signer = message
            .certificates
            .first()
            .ok_or_else(|| refuse("it has no certificate of who signed it"))?;
        let signer = Certificate::from_der(signer, "extraCerts")?;
        if !signer.public_key().has_signed(algorithm, &message.protected, signature) {
            return Err(refuse("its signature does not verify"));
        }
        // A network function has a certificate of the same root: it is no authority by that.
        if signer.profile() != Profile::Responder {
            return Err(refuse(
                "who signed it is not meant to answer for the authority: id-kp-cmcRA is missing in its certificate",
            ));
        }
        self.chain(signer, &message.certificates, now)
    }
}

#[cfg(test)]
mod tests {
    use der::Decode as _;

    use super::*;

    #[test]
    fn rounds_hashes_and_macs_are_bounded() {
        let mac = PasswordMac::fresh().unwrap();
        let value = mac.compute("secret", b"message").unwrap();
        assert_eq!(mac.verify("secret", b"message", &value), Ok(()));
        assert_eq!(mac.verify("Secret", b"message", &value), Err(Mismatch::Value));
        assert_eq!(mac.verify("secret", b"massage", &value), Err(Mismatch::Value));
        for wrong in [
            PasswordMac {
                rounds: 50_001,
                ..mac.clone()
            },
            PasswordMac {
                rounds: 1,
                ..mac.clone()
            },
            PasswordMac {
                derivation: Derivation::Hash(oid::HMAC_SHA1),
                ..mac.clone()
            },
            PasswordMac {
                mac: oid::SHA256,
                ..mac.clone()
            },
            PasswordMac {
                salt: vec![0; 129],
                ..mac.clone()
            },
        ] {
            assert!(matches!(
                wrong.compute("secret", b"message"),
                Err(Mismatch::Algorithm(_))
            ));
        }
    }

    /// The key is the hash of secret and salt, hashed again for each further round: computed by hand for two rounds.
    #[test]
    fn the_key_is_hashed_as_often_as_there_are_rounds() {
        let mac = PasswordMac {
            salt: b"salt".to_vec(),
            derivation: Derivation::Hash(oid::SHA256),
            rounds: 100,
            mac: oid::HMAC_SHA256,
        };
        let mut key = digest(&digest::SHA256, b"passsalt").as_ref().to_vec();
        for _ in 0..99 {
            key = digest(&digest::SHA256, &key).as_ref().to_vec();
        }
        let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), b"text");
        assert_eq!(mac.compute("pass", b"text").unwrap(), expected.as_ref());
    }

    /// PBMAC1-params with a key of 64 octets and no NULL of the MAC: lengths and NULLs differ between
    /// implementations.
    #[test]
    fn pbmac1_is_read_computed_and_answered_with() {
        let wanted = PasswordMac {
            salt: b"saltsalt".to_vec(),
            derivation: Derivation::pbkdf2(oid::HMAC_SHA256, Some(20)),
            rounds: 10_000,
            mac: oid::HMAC_SHA512,
        };
        let read = |der: &[u8]| {
            let (algorithm, parameters) = encoding::algorithm("", AnyRef::from_der(der).unwrap()).unwrap();
            PasswordMac::read(algorithm, parameters).unwrap().unwrap()
        };
        assert_eq!(read(&wanted.identifier().unwrap()), wanted);
        let mut key = [0; 20];
        let rounds = NonZeroU32::new(10_000).unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, b"saltsalt", b"pass", &mut key);
        let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, &key), b"text");
        assert_eq!(wanted.compute("pass", b"text").unwrap(), expected.as_ref());

        let answer = read(&wanted.answering().unwrap().identifier().unwrap());
        assert_ne!(answer.salt, wanted.salt);
        let salt = wanted.salt.clone();
        assert_eq!(PasswordMac { salt, ..answer }, wanted);
        // Bouncy Castle's is read, and answered by that name.
        let (named, hmac, length) = (oid::PBES2, oid::HMAC_SHA256, Some(20));
        let derivation = Derivation::Pbkdf2 { named, hmac, length };
        let of_it = PasswordMac {
            derivation,
            ..wanted.clone()
        };
        assert_eq!(read(&of_it.identifier().unwrap()), of_it);
        assert_eq!(of_it.compute("pass", b"text"), wanted.compute("pass", b"text"));
        // Without a length the key is as long as the MAC (RFC 8018, appendix A.2).
        let derivation = Derivation::pbkdf2(oid::HMAC_SHA256, None);
        let without = PasswordMac {
            derivation,
            ..wanted.clone()
        };
        assert_eq!(read(&without.identifier().unwrap()), without);
        let derivation = Derivation::pbkdf2(oid::HMAC_SHA256, Some(64));
        let with = PasswordMac {
            derivation,
            ..wanted.clone()
        };
        assert_eq!(without.compute("pass", b"text"), with.compute("pass", b"text"));

        let of = |derivation| PasswordMac {
            derivation,
            ..wanted.clone()
        };
        for wrong in [
            of(Derivation::pbkdf2(oid::HMAC_SHA1, Some(20))),
            of(Derivation::pbkdf2(oid::HMAC_SHA256, Some(8))),
            of(Derivation::pbkdf2(oid::HMAC_SHA256, Some(1 << 30))),
            of(Derivation::pbkdf2(oid::HMAC_SHA256, Some(-1))),
            PasswordMac {
                rounds: 10_001,
                ..of(Derivation::pbkdf2(oid::HMAC_SHA256, Some(64)))
            },
            PasswordMac {
                mac: oid::HMAC_SHA1,
                ..wanted.clone()
            },
            PasswordMac {
                rounds: 50_001,
                ..wanted.clone()
            },
            PasswordMac {
                rounds: 0,
                ..wanted.clone()
            },
        ] {
            let refused = wrong.compute("pass", b"text");
            assert!(matches!(refused, Err(Mismatch::Algorithm(_))), "{wrong:?}");
        }
    }
}
