//! The cipher alone, as the code of the kernel or a library does it, without any network: nothing
//! that uses it on this processor is faster.

use std::time::{Duration, Instant};

use bartizan_host::Feature;

use bartizan_machine::{KernelCipher, Request};

use super::library::LibraryCipher;
use super::{PROTECTION, number, protection_of};
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "esp-cipher",
    about: "Encrypts packets of a size with the algorithms of ESP, by the kernel's own code (asked for by AF_ALG) or by a library.",
    factors: &[
        PROTECTION,
        PROVIDER,
        FactorKind {
            name: "size",
            about: "bytes that are encrypted; filled up to the cipher's block",
            levels: &[],
        },
    ],
    parameters: &[ParameterKind {
        name: "packets",
        about: "packets in a trial",
        default: Some(Default::Number(300.0)),
    }],
    metrics: &[
        MetricKind {
            name: "encryption",
            unit: "us",
            about: "encrypting and authenticating one packet, with what asking for it costs (which is all that `null` measures)",
            better: Better::Lower,
        },
        MetricKind {
            name: "limit",
            unit: "Mb/s",
            about: "what one processor can encrypt and decrypt, both, without anything else: size over twice the median time less that of asking alone, taken in turn with it",
            better: Better::Higher,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const PROVIDER: FactorKind = FactorKind {
    name: "provider",
    about: "whose code: the kernel's, or AWS-LC's in this binary, which takes AES and vector instructions of the processor also in a guest, whose kernel is generic C",
    levels: &["kernel", "aws-lc"],
};

/// Packets of a library that are timed together: each takes about as long as what a guest's clock
/// can distinguish, a microsecond.
const TOGETHER: u32 = 32;
/// Packets that warm up.
const WARM: usize = 20;
/// Bytes besides the message that ESP authenticates: its header (RFC 4106, section 5).
pub(super) const ESP_HEADER: usize = 8;
/// Bytes of the check value of what encrypts and authenticates in one.
const CHECK: usize = 16;

fn lacks(levels: &Levels, _: &Tools) -> Option<Lack> {
    let protection = protection_of(levels).ok()?;
    if is_library(levels) {
        return LibraryCipher::named(protection.name).is_none().then(|| Lack {
            what: format!("{} of AWS-LC", protection.name),
            reason: "the library has it not".to_owned(),
            hint: "leave it out with `except`".to_owned(),
            feature: None,
        });
    }
    let cipher = Cipher::new(protection.name).err()?;
    Some(Lack {
        what: format!("{} by AF_ALG", protection.name),
        reason: cipher.to_string(),
        hint: "a guest's kernel has it: --kernel auto".to_owned(),
        // Nothing else than ESP brings these ciphers.
        feature: Some(Feature::Esp),
    })
}

fn is_library(levels: &Levels) -> bool {
    levels.level(PROVIDER.name) == Some("aws-lc")
}

struct Ciphers {
    packets: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Ciphers {
        packets: setting.parameters.count("packets")?,
    }))
}

/// One cipher with what it needs next to a message.
struct Cipher {
    kernel: KernelCipher,
    vector: Vec<u8>,
    associated: usize,
    block: usize,
}

impl Cipher {
    fn new(name: &str) -> Result<Self, Error> {
        // Any key will do: no secret is encrypted, and the time does not depend on it.
        let plain = |length: usize| vec![0x42; length];
        let associated = ESP_HEADER;
        if name == "null" {
            let request = Request {
                name: "ecb(cipher_null)",
                key: &[],
                authenticated: None,
            };
            return Ok(Self {
                kernel: KernelCipher::new(request)?,
                vector: Vec::new(),
                associated: 0,
                block: 4,
            });
        }
        let (kernel_name, key, vector, block, check) = match (cbc(name), aes(name), name) {
            (Some((bits, hash)), ..) => {
                let name = format!("authenc(hmac(sha{hash}),cbc(aes))");
                (name, authenc(bits / 8, hash / 8), plain(16), 16, hash / 16)
            }
            (_, Some((bits, "gcm")), _) => ("gcm(aes)".to_owned(), plain(bits / 8), plain(12), 4, CHECK),
            // The first byte of CCM's vector says how long its counter is: 4 bytes (RFC 4309, section 4).
            (_, Some((bits, "ccm")), _) => ("ccm(aes)".to_owned(), plain(bits / 8), ccm_vector(), 4, CHECK),
            (.., "chacha20-poly1305") => {
                let name = "rfc7539(chacha20,poly1305)".to_owned();
                (name, plain(32), plain(12), 4, CHECK)
            }
            _ => return Err(Error::Configuration(format!("{name} encrypts nothing"))),
        };
        let request = Request {
            name: &kernel_name,
            key: &key,
            authenticated: Some((associated as u32, check)),
        };
        Ok(Self {
            kernel: KernelCipher::new(request)?,
            vector,
            associated,
            block,
        })
    }

    fn time(&self, size: usize, buffer: &mut [u8]) -> Result<Duration, Error> {
        let message = vec![0x20; self.associated + filled(size, self.block)];
        let began = Instant::now();
        self.kernel
            .encrypt(&self.vector, &message, buffer)
            .map_err(Error::Broken)?;
        Ok(began.elapsed())
    }
}

/// With the two bytes of ESP's trailer, filled up to the cipher's block, as ESP would.
fn filled(size: usize, block: usize) -> usize {
    (size + 2).next_multiple_of(block)
}

/// Either code: the time of a packet, and that of asking for one without anything to do.
enum Code {
    Kernel { cipher: Cipher, asking: Cipher },
    Library { cipher: LibraryCipher, block: usize },
}

impl Code {
    fn of(levels: &Levels) -> Result<Self, Error> {
        let name = protection_of(levels)?.name;
        if !is_library(levels) {
            return Ok(Self::Kernel {
                cipher: Cipher::new(name)?,
                asking: Cipher::new("null")?,
            });
        }
        let cipher = LibraryCipher::named(name);
        Ok(Self::Library {
            block: if name.contains("cbc") { 16 } else { 4 },
            cipher: cipher.ok_or_else(|| Error::Configuration(format!("AWS-LC has no {name}")))?,
        })
    }

    fn times(&self, size: usize, buffer: &mut [u8]) -> Result<(Duration, Duration), Error> {
        match self {
            Self::Kernel { cipher, asking } => Ok((cipher.time(size, buffer)?, asking.time(size, buffer)?)),
            Self::Library { cipher, block } => {
                let mut message = vec![0x20; filled(size, *block)];
                let began = Instant::now();
                let done = (0..TOGETHER).try_for_each(|_| cipher.encrypt(&mut message));
                let time = began.elapsed();
                done.map_err(|_| Error::Configuration("AWS-LC does not encrypt".to_owned()))?;
                // Nothing but the two looks at the clock.
                let began = Instant::now();
                Ok((time / TOGETHER, began.elapsed() / TOGETHER))
            }
        }
    }
}

/// Bits of the key and the mode of `aes256-gcm`.
fn aes(name: &str) -> Option<(usize, &str)> {
    let (bits, mode) = name.strip_prefix("aes")?.split_once('-')?;
    let bits = bits.parse().ok()?;
    [128, 192, 256].contains(&bits).then_some((bits, mode))
}

/// Bits of the key and of the hash of `aes256-cbc-sha384`.
pub(super) fn cbc(name: &str) -> Option<(usize, usize)> {
    let (bits, mode) = aes(name)?;
    let hash = mode.strip_prefix("cbc-sha")?.parse().ok()?;
    [256, 384, 512].contains(&hash).then_some((bits, hash))
}

fn ccm_vector() -> Vec<u8> {
    let mut vector = vec![0x42; 16];
    vector[0] = 3;
    vector
}

/// Keys of `authenc` as rtnetlink attribute: the length of the cipher's, the hash's, the cipher's
/// (Linux, crypto/authenc.h).
fn authenc(length: usize, hash_key: usize) -> Vec<u8> {
    const ATTRIBUTE_LENGTH: u16 = 8;
    const KEY_PARAMETERS: u16 = 1;
    let mut key = Vec::with_capacity(8 + hash_key + length);
    key.extend(ATTRIBUTE_LENGTH.to_ne_bytes());
    key.extend(KEY_PARAMETERS.to_ne_bytes());
    key.extend((length as u32).to_be_bytes());
    key.resize(8 + hash_key + length, 0x42);
    key
}

impl Workload for Ciphers {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let size = (number(trial.levels, "size", 1400.0)? as usize).clamp(1, 60_000);
        let code = Code::of(trial.levels)?;
        let mut buffer = vec![0; size + 64];
        let (mut times, mut alone) = (Vec::new(), Vec::new());
        for packet in 0..WARM + self.packets {
            if Instant::now() >= trial.deadline {
                return Err(Error::Broken(std::io::ErrorKind::TimedOut.into()));
            }
            let (time, floor) = code.times(size, &mut buffer)?;
            if packet >= WARM {
                times.push(super::microseconds(time));
                alone.push(super::microseconds(floor));
            }
        }
        let mut observation = Observation::default();
        let net = median(&times) - median(&alone);
        // If the cost of a request hides the difference, no limit can be stated.
        if net > 0.0 && trial.levels.level(PROTECTION.name) != Some("null") {
            observation
                .values
                .insert("limit", vec![8.0 * size as f64 / (2.0 * net)]);
        }
        observation.values.insert("encryption", times);
        Ok(observation)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_authenc_say_how_long_the_ciphers_is() {
        let key = authenc(32, 48);
        assert_eq!(key.len(), 8 + 48 + 32);
        assert_eq!(key[4..8], [0, 0, 0, 32]);
    }

    #[test]
    fn every_protection_that_is_keyed_by_chance_is_a_cipher_here() {
        let ours = |name: &str| cbc(name).is_some() || matches!(aes(name), Some((_, "gcm" | "ccm")));
        for name in crate::stand_in::e2::protection::NAMES
            .iter()
            .filter(|name| name.starts_with("aes"))
        {
            assert!(ours(name), "{name}");
        }
        for name in ["aes64-gcm", "aes128-cbc-sha1", "aes-gcm", "none"] {
            assert!(!ours(name), "{name}");
        }
    }
}
