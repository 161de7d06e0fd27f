//! Influence of an SA's key exchange on the cost of its packets: ESP in memory, by key exchange and
//! by cipher.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use bartizan_estimators::Sample;

use super::super::number;
use crate::stand_in::charons;
use crate::stand_in::proxies::Tools;
use crate::stand_in::responder::{Keyed, Pair, keyed};
use crate::workload::{
    Default, Error, FactorKind, Kind, Lack, Levels, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(in crate::workload) const KEY_EXCHANGE: FactorKind = FactorKind {
    name: "key-exchange",
    about: "of IKE_SA and CHILD_SAs, in strongSwan's words; those of `bike`, `hqc`, `efrodo` need a build with the feature research-kems",
    levels: &[
        "x25519",
        "x25519-ke1_mlkem512",
        "x25519-ke1_mlkem768",
        "x25519-ke1_mlkem1024",
        "x25519-ke1_bike1r4",
        "x25519-ke1_bike3r4",
        "x25519-ke1_hqc128r4",
        "x25519-ke1_hqc192r4",
        "x25519-ke1_hqc256r4",
        "x25519-ke1_efrodo640",
        "x25519-ke1_efrodo976",
        "x25519-ke1_efrodo1344",
    ],
};

pub(in crate::workload) const CIPHER: FactorKind = FactorKind {
    name: "cipher",
    about: "of ESP, in strongSwan's words: AES-CBC with HMAC-SHA-2, or AES-GCM",
    levels: &[
        "aes128-sha256",
        "aes128-sha384",
        "aes128-sha512",
        "aes192-sha256",
        "aes192-sha384",
        "aes192-sha512",
        "aes256-sha256",
        "aes256-sha384",
        "aes256-sha512",
        "aes128gcm16",
        "aes192gcm16",
        "aes256gcm16",
    ],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "esp-by-key-exchange",
    about: "An IKE_SA with a CHILD_SA set up in memory by Bartizan's engine at both ends, and packets sealed and opened under the keys that came of it.",
    factors: &[
        KEY_EXCHANGE,
        CIPHER,
        FactorKind {
            name: "size",
            about: "octets of an IP packet in the tunnel",
            levels: &[],
        },
    ],
    parameters: &[ParameterKind {
        name: "packets",
        about: "packets in a trial, after some that warm up",
        default: Some(Default::Number(2000.0)),
    }],
    metrics: &[
        MetricKind::lower(
            "encryption",
            "us",
            "sealing one packet, of 20 that are timed together; the median of a trial",
        ),
        MetricKind::lower("decryption", "us", "opening one, alike"),
        MetricKind::lower("initiator-cpu", "us", "processor time of the initiator for the set-up"),
        MetricKind::lower("responder-cpu", "us", "the same of the responder"),
        MetricKind::lower(
            "bytes",
            "B",
            "of IKE messages of the set-up, both directions, without headers of UDP and IP",
        ),
        MetricKind::lower("datagrams", "datagrams", "these messages, or their fragments"),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(levels: &Levels, _: &Tools) -> Option<Lack> {
    charons::lacks_research(KEY_EXCHANGE.of(levels))
}

/// Packets that are timed together: a clock is read twice for each lot.
const LOT: usize = 20;
/// Lots that warm up.
const WARM: usize = 5;
/// Next header of tunnel mode (IPv4, protocol 4).
const IN_IP: u8 = 4;

struct ByKeyExchange {
    pairs: BTreeMap<[String; 2], Pair>,
    packets: usize,
    processors: Vec<usize>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut pairs = BTreeMap::new();
    for levels in setting.combinations {
        let names = named(levels);
        if !pairs.contains_key(&names) {
            pairs.insert(names.clone(), pair(setting.folder, &names)?);
        }
    }
    Ok(Box::new(ByKeyExchange {
        pairs,
        packets: setting.parameters.count("packets")?.max(LOT),
        processors: setting.processors.to_vec(),
    }))
}

fn named(levels: &Levels) -> [String; 2] {
    [&KEY_EXCHANGE, &CIPHER].map(|factor| factor.of(levels).to_owned())
}

fn pair(folder: &Path, [key_exchange, cipher]: &[String; 2]) -> Result<Pair, Error> {
    let folder = folder.join(format!("{key_exchange}-{cipher}"));
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    Pair::with_esp(&folder, key_exchange, "ecdsa-p256", cipher)
}

impl Workload for ByKeyExchange {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let size = number(trial.levels, "size", 1400.0)? as usize;
        if !(20..=9000).contains(&size) {
            return Err(Error::Configuration("`size` is 20 to 9000 octets".to_owned()));
        }
        let pair = self.pairs.get(&named(trial.levels));
        let pair = pair.ok_or_else(|| Error::Configuration("a combination that was not announced".to_owned()))?;
        let last = self.processors.last().map_or(&[][..], std::slice::from_ref);
        bartizan_machine::pin_this_thread(last)?;
        let mut keyed = keyed(pair)?;
        let mut lots = Lots::new(&keyed, size);
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        for lot in 0..WARM + self.packets / LOT {
            if Instant::now() >= trial.deadline {
                return Err(Error::Handshake("packets were not sealed in time".to_owned()));
            }
            let [seal, open] = lots.pass(&mut keyed)?;
            if lot >= WARM {
                sealed.push(seal);
                opened.push(open);
            }
        }
        let microseconds = |time: std::time::Duration| vec![time.as_secs_f64() * 1e6];
        let mut observation = Observation::default();
        observation.values.extend([
            ("encryption", vec![median(sealed)?]),
            ("decryption", vec![median(opened)?]),
            ("initiator-cpu", microseconds(keyed.spent[0])),
            ("responder-cpu", microseconds(keyed.spent[1])),
            ("bytes", vec![keyed.bytes as f64]),
            ("datagrams", vec![keyed.datagrams as f64]),
        ]);
        Ok(observation)
    }
}

/// Packets that are sealed, and opened, one after the other.
struct Lots {
    packets: Vec<Vec<u8>>,
    size: usize,
}

impl Lots {
    fn new(keyed: &Keyed, size: usize) -> Self {
        let length = keyed.sender.suite().sealed_length(size);
        Self {
            packets: vec![vec![0x45; length]; LOT],
            size,
        }
    }

    /// Microseconds of a packet to seal, and to open.
    fn pass(&mut self, keyed: &mut Keyed) -> Result<[f64; 2], Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Protocol(error.to_string());
        let each = |began: Instant| began.elapsed().as_secs_f64() * 1e6 / LOT as f64;
        let began = Instant::now();
        for packet in &mut self.packets {
            let sealed = keyed.sender.seal(packet, self.size, IN_IP);
            sealed.map_err(|error| failed(&error))?;
        }
        let seal = each(began);
        let began = Instant::now();
        for packet in &mut self.packets {
            let opened = keyed.receiver.open(packet).map_err(|error| failed(&error))?;
            if opened.payload.len() != self.size {
                return Err(failed(&"a packet of another length came out"));
            }
        }
        Ok([seal, each(began)])
    }
}

fn median(values: Vec<f64>) -> Result<f64, Error> {
    let sample = Sample::new(values).map_err(|error| Error::Protocol(error.to_string()))?;
    Ok(sample.median())
}
