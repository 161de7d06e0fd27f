//! ESP between the two hosts. Keys come from chance and go into the kernel's own tables, for what a
//! cipher costs, where the key exchange is not the question; or from IKE, which takes a daemon at
//! either end ([`Ike`](super::Ike)).

use data_encoding::HEXLOWER;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::rand;
use bartizan_host::{Namespace, Program};
use bartizan_wire::ip::SCTP;

use super::link::{Link, NODE, RIC};
use crate::Error;

/// Time limit for `ip`.
const IP_TIMEOUT: Duration = Duration::from_secs(60);
/// SPIs of the two associations, from the node and from the RIC; 256 and more are free (RFC 4303, section 2.1).
const SPIS: [u32; 2] = [0xe201, 0xe202];

/// Protection of the link, by its name as a level of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Its name.
    pub name: &'static str,
    suite: Option<Suite>,
    /// IKE key exchange in strongSwan's notation; none for random keys.
    key_exchange: Option<&'static str>,
}

/// Packet overhead of a suite, and the kernel's names of its algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suite {
    /// As `ip xfrm` takes them: mode, algorithm, bytes of key (with salt), bits of the check value where it takes them.
    algorithms: &'static [(&'static str, &'static str, usize, Option<u16>)],
    /// Bytes of the initialization vector.
    vector: usize,
    /// Block size to which the encrypted part is padded, in bytes.
    block: usize,
    /// Bytes of the check value.
    check: usize,
}

/// Traffic that goes into the tunnel. All other traffic between the two hosts stays unprotected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// All IP.
    All,
    /// SCTP only: user traffic passes next to it.
    Sctp,
}

/// Overhead of ESP in tunnel mode for one packet, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// The outer IPv4 header.
    pub outer: usize,
    /// SPI and sequence number.
    pub header: usize,
    /// Initialization vector.
    pub vector: usize,
    /// Padding.
    pub padding: usize,
    /// Padding length and next header.
    pub trailer: usize,
    /// Integrity check value.
    pub check: usize,
}

const fn aead(algorithms: &'static [(&'static str, &'static str, usize, Option<u16>)]) -> Option<Suite> {
    Some(Suite {
        algorithms,
        vector: 8,
        block: 4,
        check: 16,
    })
}

/// With a check value of so many bytes.
const fn cbc(algorithms: &'static [(&'static str, &'static str, usize, Option<u16>)], check: usize) -> Option<Suite> {
    Some(Suite {
        algorithms,
        vector: 16,
        block: 16,
        check,
    })
}

const fn fixed(name: &'static str, suite: Option<Suite>) -> Protection {
    Protection {
        name,
        suite,
        key_exchange: None,
    }
}

/// AES-256-GCM, as Bartizan's profiles have charon negotiate.
const fn ike(name: &'static str, key_exchange: &'static str) -> Protection {
    Protection {
        name,
        suite: aead(&[]),
        key_exchange: Some(key_exchange),
    }
}

/// All we know. Check values of HMAC are half of its hash (RFC 4868, section 2.6). The keys of AES
/// in a counter mode carry a salt of 4 bytes (3 with CCM; RFC 4106, RFC 4309, RFC 7634).
pub static PROTECTIONS: &[Protection] = &[
    fixed("none", None),
    fixed(
        "null",
        Some(Suite {
            algorithms: &[("enc", "ecb(cipher_null)", 0, None), ("auth", "digest_null", 0, None)],
            vector: 0,
            block: 4,
            check: 0,
        }),
    ),
    fixed(
        "aes128-cbc-sha256",
        cbc(
            &[
                ("enc", "cbc(aes)", 16, None),
                ("auth-trunc", "hmac(sha256)", 32, Some(128)),
            ],
            16,
        ),
    ),
    fixed(
        "aes128-cbc-sha384",
        cbc(
            &[
                ("enc", "cbc(aes)", 16, None),
                ("auth-trunc", "hmac(sha384)", 48, Some(192)),
            ],
            24,
        ),
    ),
    fixed(
        "aes128-cbc-sha512",
        cbc(
            &[
                ("enc", "cbc(aes)", 16, None),
                ("auth-trunc", "hmac(sha512)", 64, Some(256)),
            ],
            32,
        ),
    ),
    fixed(
        "aes192-cbc-sha256",
        cbc(
            &[
                ("enc", "cbc(aes)", 24, None),
                ("auth-trunc", "hmac(sha256)", 32, Some(128)),
            ],
            16,
        ),
    ),
    fixed(
        "aes192-cbc-sha384",
        cbc(
            &[
                ("enc", "cbc(aes)", 24, None),
                ("auth-trunc", "hmac(sha384)", 48, Some(192)),
            ],
            24,
        ),
    ),
    fixed(
        "aes192-cbc-sha512",
        cbc(
            &[
                ("enc", "cbc(aes)", 24, None),
                ("auth-trunc", "hmac(sha512)", 64, Some(256)),
            ],
            32,
        ),
    ),
    fixed(
        "aes256-cbc-sha256",
        cbc(
            &[
                ("enc", "cbc(aes)", 32, None),
                ("auth-trunc", "hmac(sha256)", 32, Some(128)),
            ],
            16,
        ),
    ),
    fixed(
        "aes256-cbc-sha384",
        cbc(
            &[
                ("enc", "cbc(aes)", 32, None),
                ("auth-trunc", "hmac(sha384)", 48, Some(192)),
            ],
            24,
        ),
    ),
    fixed(
        "aes256-cbc-sha512",
        cbc(
            &[
                ("enc", "cbc(aes)", 32, None),
                ("auth-trunc", "hmac(sha512)", 64, Some(256)),
            ],
            32,
        ),
    ),
    fixed("aes128-ccm", aead(&[("aead", "rfc4309(ccm(aes))", 16 + 3, Some(128))])),
    fixed("aes192-ccm", aead(&[("aead", "rfc4309(ccm(aes))", 24 + 3, Some(128))])),
    fixed("aes256-ccm", aead(&[("aead", "rfc4309(ccm(aes))", 32 + 3, Some(128))])),
    fixed("aes128-gcm", aead(&[("aead", "rfc4106(gcm(aes))", 16 + 4, Some(128))])),
    fixed("aes192-gcm", aead(&[("aead", "rfc4106(gcm(aes))", 24 + 4, Some(128))])),
    fixed("aes256-gcm", aead(&[("aead", "rfc4106(gcm(aes))", 32 + 4, Some(128))])),
    fixed(
        "chacha20-poly1305",
        aead(&[("aead", "rfc7539esp(chacha20,poly1305)", 32 + 4, Some(128))]),
    ),
    ike("ike-x25519", "x25519"),
    ike("ike-mlkem768", "mlkem768"),
    ike("ike-mlkem1024", "mlkem1024"),
    ike("ike-x25519-ke1_mlkem768", "x25519-ke1_mlkem768"),
];

/// Their names, as levels of a factor.
pub const NAMES: &[&str] = &[
    "none",
    "null",
    "aes128-cbc-sha256",
    "aes128-cbc-sha384",
    "aes128-cbc-sha512",
    "aes192-cbc-sha256",
    "aes192-cbc-sha384",
    "aes192-cbc-sha512",
    "aes256-cbc-sha256",
    "aes256-cbc-sha384",
    "aes256-cbc-sha512",
    "aes128-ccm",
    "aes192-ccm",
    "aes256-ccm",
    "aes128-gcm",
    "aes192-gcm",
    "aes256-gcm",
    "chacha20-poly1305",
    "ike-x25519",
    "ike-mlkem768",
    "ike-mlkem1024",
    "ike-x25519-ke1_mlkem768",
];

impl Protection {
    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        PROTECTIONS.iter().copied().find(|one| one.name == name)
    }

    /// True if this protection has ESP.
    #[must_use]
    pub fn is_esp(self) -> bool {
        self.suite.is_some()
    }

    /// The key exchange of IKE that keys it, in strongSwan's words; none where keys come from chance.
    #[must_use]
    pub fn key_exchange(self) -> Option<&'static str> {
        self.key_exchange
    }

    /// Overhead for an IP packet of this many bytes; none without ESP (RFC 4303, section 2).
    #[must_use]
    pub fn growth(self, packet: usize) -> Option<Growth> {
        let suite = self.suite?;
        let trailer = 2;
        let filled = (packet + trailer).next_multiple_of(suite.block);
        Some(Growth {
            outer: 20,
            header: 8,
            vector: suite.vector,
            padding: filled - packet - trailer,
            trailer,
            check: suite.check,
        })
    }

    /// Replaces the protection of the link by this one, with new keys. Only removes the old one if
    /// a daemon has to set up the new one. `scratch` takes a file with the keys while `ip` reads
    /// it; no other user may be able to read it.
    ///
    /// # Errors
    /// The error of `ip`: a kernel without ESP or without the algorithm.
    pub fn set_up(self, link: &Link, selector: Selector, scratch: &Path) -> Result<(), Error> {
        let ends = [link.node(), link.ric()];
        for namespace in ends {
            for table in ["state", "policy"] {
                let flush = ["-n", namespace.name(), "xfrm", table, "flush"];
                Program::new("ip")
                    .package("iproute2")
                    .arguments(flush)
                    .run(IP_TIMEOUT)?;
            }
        }
        let (Some(suite), None) = (self.suite, self.key_exchange) else {
            return Ok(());
        };
        let states: String = [(NODE, RIC, SPIS[0]), (RIC, NODE, SPIS[1])]
            .into_iter()
            .map(|(from, to, spi)| {
                suite.state(&format!(
                    "src {from} dst {to} proto esp spi {spi:#x} reqid 1 mode tunnel"
                ))
            })
            .collect::<Result<_, _>>()?;
        // By its number: a small root has no /etc/protocols.
        let protocol = match selector {
            Selector::All => String::new(),
            Selector::Sctp => format!(" proto {SCTP}"),
        };
        for (namespace, own, other) in [(ends[0], NODE, RIC), (ends[1], RIC, NODE)] {
            let policy = |from, to, direction| {
                format!(
                    "xfrm policy add src {from}/32 dst {to}/32{protocol} dir {direction} tmpl src {from} dst {to} proto esp reqid 1 mode tunnel\n"
                )
            };
            let batch = states.clone() + &policy(own, other, "out") + &policy(other, own, "in");
            run(namespace, &batch, scratch)?;
        }
        Ok(())
    }
}

impl Suite {
    /// The line that adds an association with new keys.
    fn state(self, ends: &str) -> Result<String, Error> {
        let mut line = format!("xfrm state add {ends} replay-window 32");
        for (mode, algorithm, length, check) in self.algorithms {
            let mut key = vec![0; *length];
            rand::fill(&mut key).map_err(|_| Error::Configuration("no keys from chance".to_owned()))?;
            let key = HEXLOWER.encode(&key);
            let key = if key.is_empty() {
                "\"\"".to_owned()
            } else {
                format!("0x{key}")
            };
            // Writing to a String cannot fail.
            let _ = write!(line, " {mode} {algorithm} {key}");
            if let Some(check) = check {
                let _ = write!(line, " {check}");
            }
        }
        Ok(line + "\n")
    }
}

/// Passes lines to `ip` in a file: every user can read a command line.
fn run(namespace: &Namespace, batch: &str, scratch: &Path) -> Result<(), Error> {
    let path = scratch.join("xfrm");
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&path).map_err(Error::file(&path))?;
    let written = file.write_all(batch.as_bytes()).map_err(Error::file(&path));
    let set = written.and_then(|()| {
        let program = Program::new("ip").package("iproute2");
        let program = program.arguments(["-n", namespace.name(), "-batch"]).argument(&path);
        Ok(program.run(IP_TIMEOUT).map(drop)?)
    });
    fs::remove_file(&path).map_err(Error::file(&path))?;
    set
}

impl Growth {
    /// All of it.
    #[must_use]
    pub fn sum(self) -> usize {
        self.outer + self.header + self.vector + self.padding + self.trailer + self.check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet, which is in front of every frame we compare.
    const ETHERNET: usize = 14;

    #[test]
    fn a_sack_of_62_bytes_becomes_138() {
        let cbc = Protection::named("aes256-cbc-sha256").unwrap();
        let growth = cbc.growth(62 - ETHERNET).unwrap();
        assert_eq!(62 + growth.sum(), 138);
        assert_eq!((growth.padding, growth.trailer), (14, 2));
    }

    #[test]
    fn published_sizes_of_longer_packets_leave_out_padding_and_trailer() {
        let cbc = Protection::named("aes256-cbc-sha256").unwrap();
        for (clear, published) in [(195, 255), (1425, 1485)] {
            let growth = cbc.growth(clear - ETHERNET).unwrap();
            assert_eq!(published, clear + growth.sum() - growth.padding - growth.trailer);
            assert_eq!((clear - ETHERNET + growth.padding + growth.trailer) % 16, 0);
        }
    }

    #[test]
    fn a_longer_hash_makes_a_longer_check_value() {
        // 1400 bytes are filled up to 1408, whatever the hash.
        let grown = |name: &str| Protection::named(name).unwrap().growth(1400).unwrap().sum();
        let [one, other, third] = ["aes192-cbc-sha256", "aes192-cbc-sha384", "aes192-cbc-sha512"].map(grown);
        assert_eq!((other - one, third - other), (8, 8));
        assert_eq!(
            grown("aes128-cbc-sha512"),
            third,
            "a key's length is not seen in a packet"
        );
    }

    #[test]
    fn every_name_is_a_level() {
        let names: Vec<&str> = PROTECTIONS.iter().map(|one| one.name).collect();
        assert_eq!(names, NAMES);
        assert!(PROTECTIONS.iter().all(|one| Protection::named(one.name) == Some(*one)));
    }

    #[test]
    fn keys_are_new_each_time() {
        let suite = Protection::named("aes128-gcm").unwrap().suite.unwrap();
        let (one, other) = (suite.state("ends").unwrap(), suite.state("ends").unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), other.len());
        assert!(
            one.starts_with("xfrm state add ends replay-window 32 aead rfc4106(gcm(aes)) 0x"),
            "{}",
            &one[..60]
        );
    }
}
