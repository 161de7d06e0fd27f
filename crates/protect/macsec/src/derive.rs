//! From the secret of an exchange to the keys of associations.
//!
//! All of it is HKDF-Expand of RFC 5869 with SHA-384. The first secret is the exporter of a TLS 1.3 connection (RFC 8446, section 7.5) with the
//! label [`LABEL`] and the context that [`Binding::context`] gives: the names of both ends, of the interface and of both ports, and the
//! cipher suite. Ends that differ in one of them have no key in common.
//!
//! ```text
//! exporter secret ──"chain", direction──▶ chain 0 ──"next"──▶ chain 1 ──"next"──▶ ...
//!                                           │                   │
//!                                  "sak", "key id", "salt", each with direction, generation, association number, SCI
//! ```
//!
//! If MKA distributes the keys, the same secret gives its CAK (label "mka cak") and the name of
//! that (label "mka ckn"), both without context.
//!
//! Each direction has a chain of its own, and a chain that has given its key is wiped when the next
//! begins: an attacker that takes over an end learns neither what was sent before (the chain goes
//! one way) nor, from the next exchange on, what is sent after.

use std::fmt;

use aws_lc_rs::hkdf::{HKDF_SHA384, KeyType, Prk};
use bartizan_registry::{MACSEC_KEY_ID, MACSEC_SALT, MacsecSuite};
use zeroize::Zeroizing;

use crate::mka::{self, Cak};
use crate::{An, KeyId, Sak, Sci};

/// The label of the TLS exporter.
pub const LABEL: &[u8] = b"EXPORTER-Bartizan-MACsec-1";
/// Octets of the exporter's secret and of a chain's: as many as the hash gives.
pub const SECRET: usize = 48;

/// Context of an exchange's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The end that began the exchange, by its name in the deployment file.
    pub client: String,
    /// The other end.
    pub server: String,
    /// The interface of the standards: `FH`.
    pub interface: String,
    /// The port of each, in the same order.
    pub ports: [String; 2],
    /// The cipher suite.
    pub suite: &'static MacsecSuite,
}

impl Binding {
    /// The context of the exporter: each name behind its length in two octets, then the identifier of the suite.
    pub fn context(&self) -> Vec<u8> {
        let mut context = Vec::new();
        let [client_port, server_port] = &self.ports;
        for name in [&self.client, &self.server, &self.interface, client_port, server_port] {
            append(&mut context, name.as_bytes());
        }
        context.extend(self.suite.id.to_be_bytes());
        context
    }
}

/// The sending end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The end that began the exchange.
    FromClient,
    /// The other.
    FromServer,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::FromClient => Self::FromServer,
            Self::FromServer => Self::FromClient,
        }
    }

    const fn octet(self) -> u8 {
        match self {
            Self::FromClient => 1,
            Self::FromServer => 2,
        }
    }
}

/// The secret of an exchange.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; SECRET]>);

impl Secret {
    /// Takes the exporter's output.
    pub fn new(exported: Zeroizing<[u8; SECRET]>) -> Self {
        Self(exported)
    }

    /// The CAK with its name, where MKA distributes the keys.
    pub fn cak(&self) -> Cak {
        let key: Zeroizing<[u8; mka::CAK]> = expand(&self.0, b"mka cak", &[]);
        Cak::of(&key, *expand::<{ mka::CKN }>(&self.0, b"mka ckn", &[]))
    }

    /// The chain of one direction, at its beginning.
    #[must_use]
    pub fn chain(&self, direction: Direction, suite: &'static MacsecSuite) -> Chain {
        Chain {
            secret: expand(&self.0, b"chain", &[direction.octet()]),
            direction,
            generation: 0,
            suite,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The keys of one direction, one after the other.
#[derive(Clone)]
pub struct Chain {
    secret: Zeroizing<[u8; SECRET]>,
    direction: Direction,
    generation: u64,
    suite: &'static MacsecSuite,
}

impl Chain {
    /// The number of the key that [`Chain::take`] gives next, from 0.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The next key, for an association number of a channel. It cannot be had a second time.
    #[must_use]
    pub fn take(&mut self, an: An, sci: Sci) -> Sak {
        let mut context = vec![self.direction.octet()];
        context.extend(self.generation.to_be_bytes());
        context.push(an.number());
        context.extend(sci.0);
        let key: Zeroizing<[u8; 32]> = expand(&self.secret, b"sak", &context);
        let sak = Sak {
            key: Zeroizing::new(key[..usize::from(self.suite.key)].to_vec()),
            id: KeyId(*expand::<MACSEC_KEY_ID>(&self.secret, b"key id", &context)),
            salt: expand::<MACSEC_SALT>(&self.secret, b"salt", &context),
            ssci: u32::from(self.direction.octet()),
        };
        self.secret = expand(&self.secret, b"next", &[]);
        self.generation += 1;
        sak
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({:?}, {})", self.direction, self.generation)
    }
}

/// HKDF-Expand with a label of ours and a context, each behind its length.
fn expand<const N: usize>(secret: &[u8; SECRET], label: &[u8], context: &[u8]) -> Zeroizing<[u8; N]> {
    let mut info = b"bartizan macsec 1".to_vec();
    append(&mut info, label);
    append(&mut info, context);
    let mut output = Zeroizing::new([0; N]);
    let info = [info.as_slice()];
    let secret = Prk::new_less_safe(HKDF_SHA384, secret);
    secret
        .expand(&info, Length(N))
        .and_then(|expanded| expanded.fill(output.as_mut_slice()))
        .expect("HKDF-SHA384 gives at most 255 * 48 octets and 48 are asked for");
    output
}

fn append(list: &mut Vec<u8>, part: &[u8]) {
    list.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
    list.extend(part);
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bartizan_registry::macsec_suite_named;

    use super::*;

    fn suite(name: &str) -> &'static MacsecSuite {
        macsec_suite_named(name).unwrap()
    }

    fn binding() -> Binding {
        Binding {
            client: "odu".to_owned(),
            server: "oru".to_owned(),
            interface: "FH".to_owned(),
            ports: ["eth0".to_owned(), "eth1".to_owned()],
            suite: suite("GCM-AES-256"),
        }
    }

    const SCI: Sci = Sci([1; 8]);

    #[test]
    fn context_differs_where_any_name_the_ports_or_the_suite_do() {
        let of = |change: &dyn Fn(&mut Binding)| {
            let mut changed = binding();
            change(&mut changed);
            changed.context()
        };
        let contexts = BTreeSet::from([
            binding().context(),
            of(&|binding| binding.client = "oru".to_owned()),
            of(&|binding| std::mem::swap(&mut binding.client, &mut binding.server)),
            of(&|binding| binding.interface = "E2".to_owned()),
            of(&|binding| binding.ports.swap(0, 1)),
            of(&|binding| binding.suite = suite("GCM-AES-XPN-256")),
            // Names that are the same once the ends between them are forgotten.
            of(&|binding| (binding.client, binding.server) = ("odo".to_owned(), "ruu".to_owned())),
            of(&|binding| (binding.client, binding.server) = ("oduo".to_owned(), "ru".to_owned())),
        ]);
        assert_eq!(contexts.len(), 8);
    }

    #[test]
    fn both_ends_have_the_same_keys_and_no_two_are_alike() {
        let secret = Secret::new(Zeroizing::new([7; SECRET]));
        let mut seen = BTreeSet::new();
        for direction in [Direction::FromClient, Direction::FromServer] {
            let chain = || secret.chain(direction, suite("GCM-AES-256"));
            let (mut one, mut other) = (chain(), chain());
            for number in 0..20u8 {
                assert_eq!(one.generation(), u64::from(number));
                let an = An::try_from(number % 4).unwrap();
                let sak = one.take(an, SCI);
                assert_eq!(sak, other.take(an, SCI));
                assert_eq!(sak.key.len(), 32);
                assert!(
                    seen.insert(sak.key.to_vec()) && seen.insert(sak.id.0.to_vec()) && seen.insert(sak.salt.to_vec())
                );
            }
        }
    }

    #[test]
    fn cak_and_its_name_are_of_the_secret_and_of_nothing_else() {
        let cak = |octet| Secret::new(Zeroizing::new([octet; SECRET])).cak();
        assert_eq!(cak(7), cak(7));
        assert_ne!(cak(7).ckn, cak(8).ckn);
        // Computed with Python's hmac from the description in docs/macsec.md.
        assert_eq!(cak(7).ckn.to_string(), "b627ec0d093a514123b304261c5e146a");
        assert_eq!(
            *cak(7).digits,
            "3618200627b61650d51cf9ffcb486952d400af653813d8ff927d7110f026eea5"
        );
    }

    #[test]
    fn key_is_for_one_association_number_of_one_channel_and_one_suite() {
        let secret = Secret::new(Zeroizing::new([7; SECRET]));
        let take = |name: &str, an, sci| secret.chain(Direction::FromClient, suite(name)).take(an, sci);
        let [zero, one, ..] = An::ALL;
        let sak = take("GCM-AES-256", zero, SCI);
        assert_ne!(sak.key, take("GCM-AES-256", one, SCI).key);
        assert_ne!(sak.key, take("GCM-AES-256", zero, Sci([2; 8])).key);
        assert_eq!(take("GCM-AES-128", zero, SCI).key.len(), 16);
    }

    /// Computed with Python's hmac from the description in docs/macsec.md, so that an end of another make can be built from it.
    #[test]
    fn first_key_of_a_known_secret_is_that_of_the_description() {
        let secret = Secret::new(Zeroizing::new(std::array::from_fn(|index| index as u8)));
        let sak = secret
            .chain(Direction::FromClient, suite("GCM-AES-256"))
            .take(An::ALL[0], Sci::new([2, 0, 0, 0, 0, 1], 1));
        let hexadecimal: String = sak.key.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(
            hexadecimal,
            "97bb2728f0428cd372dd84d9f2a09789ef4ff98ccf1ee0e1bf8635ab17e03c8f"
        );
        assert_eq!(sak.id.to_string(), "95b9d63f06375cbbb53b97df88945aa3");
    }
}
