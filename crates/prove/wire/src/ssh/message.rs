//! Messages of the key exchange (RFC 4253, sections 7.1 and 8; RFC 5656, section 4; RFC 4419, section 3).

use bartizan_registry::NamedGroup;

use crate::Side;
use crate::share::{self, NotAKey};

/// Message numbers.
pub(super) const DISCONNECT: u8 = 1;
pub(super) const KEX_INIT: u8 = 20;
pub(super) const NEW_KEYS: u8 = 21;
/// Numbers 30 to 49 belong to the method. Messages that only a client sends: its half of the
/// exchange, or its request for a group.
pub(super) const CLIENT_ONLY: [u8; 3] = [30, 32, 34];
/// The two of them that hold a half: the third asks for a group of its own (RFC 4419, section 5).
pub(super) const CLIENT_SHARES: [u8; 2] = [30, 32];
/// Messages of a server's reply: its half, its host key and its signature; in a group exchange 31
/// is the group.
pub(super) const REPLIES: [u8; 2] = [31, 33];

/// Messages of services, which must wait for the new keys (RFC 4253, section 7.1): from user authentication on.
pub(super) const SERVICES: u8 = 50;

const COOKIE: usize = 16;
/// Longest list of names kept.
const LIST: usize = 4096;
/// Longest name of an algorithm (RFC 4251, section 6).
pub(super) const NAME: usize = 64;

/// Algorithms of an end in the order it prefers: lists of names separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KexInit {
    /// Key exchange methods, with names that announce extensions (RFC 8308).
    pub key_exchange: Box<str>,
    /// Kinds of host keys.
    pub host_key: Box<str>,
    /// Ciphers from client to server.
    pub cipher_to_server: Box<str>,
    /// Ciphers from server to client.
    pub cipher_to_client: Box<str>,
}

impl KexInit {
    /// Reads the payload of the message behind its number; none where it is not one, or a list is longer than any.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let mut rest = payload.get(COOKIE..)?;
        let mut list = || {
            let text = string(&mut rest)?;
            let text = std::str::from_utf8(text).ok()?;
            (text.len() <= LIST && text.bytes().all(|byte| byte.is_ascii_graphic())).then_some(text)
        };
        let [key_exchange, host_key, cipher_to_server, cipher_to_client] = [list()?, list()?, list()?, list()?];
        // Message authentication, compression, languages: in both directions.
        for _ in 0..6 {
            list()?;
        }
        Some(Self {
            key_exchange: key_exchange.into(),
            host_key: host_key.into(),
            cipher_to_server: cipher_to_server.into(),
            cipher_to_client: cipher_to_client.into(),
        })
    }

    /// Bytes it holds on the heap.
    pub(super) fn held(&self) -> usize {
        self.key_exchange.len() + self.host_key.len() + self.cipher_to_server.len() + self.cipher_to_client.len()
    }
}

/// The key a server has, and what it signed the exchange with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostKey {
    /// Key type: `ssh-rsa`.
    pub key: String,
    /// Bits of an RSA key's modulus.
    pub bits: Option<u32>,
    /// Signature algorithm: `rsa-sha2-512`.
    pub signature: String,
}

/// The half that a client sends, from the payload behind its number: one string, or a multiple
/// precision integer, which has the same form. None where there is anything else.
pub(super) fn client_share(payload: &[u8]) -> Option<&[u8]> {
    let mut rest = payload;
    let share = string(&mut rest)?;
    rest.is_empty().then_some(share)
}

/// The same of a server's answer, where it stands behind its key.
pub(super) fn server_share(payload: &[u8]) -> Option<&[u8]> {
    let mut rest = payload;
    string(&mut rest)?;
    string(&mut rest)
}

/// The reason for which a half is no key: the length of one tells which hybrid it is of, ML-KEM's
/// part first (RFC 10042).
pub(super) fn share_fault(share: &[u8], side: Side) -> Option<NotAKey> {
    const MLKEM768: NamedGroup = NamedGroup::MLKEM768;
    let hybrids = [
        [MLKEM768, NamedGroup::X25519],
        [MLKEM768, NamedGroup::SECP256R1],
        [NamedGroup::MLKEM1024, NamedGroup::SECP384R1],
    ];
    hybrids.iter().find_map(|parts| share::of_parts(parts, side, share))
}

impl HostKey {
    /// Reads the payload of an answer behind its number: host key, the server's half, signature.
    /// None for anything else, a group included: its first number is no key.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let mut rest = payload;
        let (mut key, _half, mut signature) = (string(&mut rest)?, string(&mut rest)?, string(&mut rest)?);
        let name = name(&mut key)?;
        let bits = (name == "ssh-rsa").then(|| modulus_bits(key)).flatten();
        Some(Self {
            key: name,
            bits,
            signature: self::name(&mut signature)?,
        })
    }
}

/// Bits of an RSA key behind its name: exponent, modulus (RFC 4253, section 6.6).
fn modulus_bits(mut key: &[u8]) -> Option<u32> {
    string(&mut key)?;
    let modulus = string(&mut key)?;
    let start = modulus.iter().position(|byte| *byte != 0)?;
    let bits = (modulus.len() - start) as u64 * 8 - u64::from(modulus[start].leading_zeros());
    u32::try_from(bits).ok()
}

fn name(bytes: &mut &[u8]) -> Option<String> {
    let name = std::str::from_utf8(string(bytes)?).ok()?;
    let plain = (1..=NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then(|| name.to_owned())
}

/// Takes a string behind its length (RFC 4251, section 5).
fn string<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (taken, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(taken)
}
