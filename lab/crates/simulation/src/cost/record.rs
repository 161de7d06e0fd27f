//! The record that `bartizan plan calibrate` takes.

use serde::{Deserialize, Serialize};

use super::CostError;

/// Schema of the record.
pub const CRYPTO_COST_SCHEMA: &str = "bartizan-crypto-cost/1";

/// Longest time that an operation may be recorded with, in microseconds.
const LONGEST: f64 = 1e7;

/// Operation of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A key pair is made.
    KeyGeneration,
    /// A secret is agreed upon (Diffie-Hellman), with a key pair that is there.
    Agreement,
    /// A secret is encapsulated for a public key.
    Encapsulation,
    /// A ciphertext is decapsulated.
    Decapsulation,
    /// A message is signed.
    Signing,
    /// A signature is verified.
    Verification,
    /// A message is hashed.
    Hashing,
}

impl Operation {
    /// As it stands in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeyGeneration => "key generation",
            Self::Agreement => "agreement",
            Self::Encapsulation => "encapsulation",
            Self::Decapsulation => "decapsulation",
            Self::Signing => "signing",
            Self::Verification => "verification",
            Self::Hashing => "hashing",
        }
    }
}

/// Measured duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// Samples.
    pub n: u32,
    /// Operations in each sample, so that a sample is long compared with the clock's step.
    pub together: u32,
    /// First quartile, in microseconds.
    pub lower_quartile_us: f64,
    /// Median, in microseconds.
    pub median_us: f64,
    /// Third quartile, in microseconds.
    pub upper_quartile_us: f64,
}

/// One primitive's operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrimitiveCost {
    /// As the registry names it: `ML-KEM-768`.
    pub primitive: String,
    /// Its operation.
    pub operation: Operation,
    /// Duration of the operation.
    #[serde(flatten)]
    pub time: Timed,
}

/// One AEAD at one size of packet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CipherCost {
    /// `AES-256-GCM`.
    pub cipher: String,
    /// Bytes that are encrypted and authenticated.
    pub bytes: u32,
    /// Sealing one packet.
    #[serde(flatten)]
    pub time: Timed,
}

/// Conditions of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Model of the processor.
    pub processor: Option<String>,
    /// Processors that the run may use.
    pub processors: usize,
    /// Kernel release.
    pub kernel: String,
    /// Version of Bartizan.
    pub version: String,
    /// The commit it was built from; absent where that is not known.
    pub commit: Option<String>,
    /// Profile and level of optimisation.
    pub profile: String,
    /// The library that computed, with its version.
    pub library: String,
    /// Load average over a minute at the beginning.
    pub load_before: Option<f64>,
    /// The same at the end.
    pub load_after: Option<f64>,
    /// Processor time that a hypervisor gave to others meanwhile, in milliseconds.
    pub steal_ms: Option<f64>,
    /// Duration of the whole measurement, in seconds.
    pub elapsed_s: f64,
}

/// The record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CryptoCost {
    /// [`CRYPTO_COST_SCHEMA`].
    pub schema: String,
    /// Time of the measurement, by RFC 3339.
    pub taken: String,
    /// Conditions of the measurement.
    pub conditions: Conditions,
    /// Operations of primitives.
    pub primitives: Vec<PrimitiveCost>,
    /// Ciphers by size of packet.
    pub ciphers: Vec<CipherCost>,
}

impl CryptoCost {
    /// Reads a record and makes sure that every number in it is a time.
    ///
    /// # Errors
    /// [`CostError::NotRead`], [`CostError::Schema`] and [`CostError::NoTime`].
    pub fn parse(text: &str) -> Result<Self, CostError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        let head: Head = serde_json::from_str(text).map_err(|error| CostError::NotRead(error.to_string()))?;
        let found = head.schema.unwrap_or_else(|| "none".to_owned());
        if found != CRYPTO_COST_SCHEMA {
            return Err(CostError::Schema {
                found,
                expected: CRYPTO_COST_SCHEMA,
            });
        }
        let record: Self = serde_json::from_str(text).map_err(|error| CostError::NotRead(error.to_string()))?;
        let primitives = record.primitives.iter();
        let ciphers = record.ciphers.iter();
        let times = primitives
            .map(|cost| (format!("{} {}", cost.primitive, cost.operation.name()), cost.time))
            .chain(ciphers.map(|cost| (format!("{} of {} bytes", cost.cipher, cost.bytes), cost.time)));
        for (what, time) in times {
            for value in [time.lower_quartile_us, time.median_us, time.upper_quartile_us] {
                // NaN is in no range.
                if !(f64::MIN_POSITIVE..=LONGEST).contains(&value) {
                    return Err(CostError::NoTime { what, value });
                }
            }
        }
        Ok(record)
    }

    /// Duration of an operation.
    ///
    /// # Errors
    /// [`CostError::Missing`].
    pub fn time(&self, primitive: &str, operation: Operation) -> Result<&Timed, CostError> {
        self.primitives
            .iter()
            .find(|cost| cost.primitive == primitive && cost.operation == operation)
            .map(|cost| &cost.time)
            .ok_or_else(|| CostError::Missing(format!("{primitive} {}", operation.name())))
    }

    /// Description of the conditions for a reader.
    #[must_use]
    pub fn described(&self) -> String {
        let processor = self.conditions.processor.as_deref().unwrap_or("unnamed processor");
        format!("{processor}, {}, {}", self.conditions.library, self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(median: &str) -> String {
        format!(
            r#"{{"schema":"bartizan-crypto-cost/1","taken":"2026-11-23T07:00:00Z","conditions":{{"processor":"x","processors":2,"kernel":"6",
            "version":"0.1.0","commit":null,"profile":"release","library":"aws-lc-rs 1","load_before":0.1,"load_after":0.1,"steal_ms":0.0,"elapsed_s":1.0}},
            "primitives":[{{"primitive":"ML-KEM-768","operation":"encapsulation","n":100,"together":8,"lower_quartile_us":9.0,"median_us":{median},
            "upper_quartile_us":11.0}}],"ciphers":[]}}"#
        )
    }

    #[test]
    fn what_is_in_the_record_is_found_and_what_is_not_is_named() {
        let record = CryptoCost::parse(&record("10.0")).unwrap();
        let time = record.time("ML-KEM-768", Operation::Encapsulation).unwrap();
        assert_eq!(time.median_us, 10.0);
        let missing = record.time("ML-KEM-768", Operation::Decapsulation).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "the record of costs has no ML-KEM-768 decapsulation; take one with `bartizan plan calibrate`"
        );
    }

    #[test]
    fn a_record_of_absurd_times_or_of_another_kind_is_refused() {
        for wrong in ["0.0", "-1.0", "1e9"] {
            let refused = CryptoCost::parse(&record(wrong)).unwrap_err();
            assert!(matches!(refused, CostError::NoTime { .. }), "{wrong}: {refused}");
        }
        let other = record("1.0").replace("crypto-cost/1", "crypto-cost/2");
        assert!(matches!(CryptoCost::parse(&other), Err(CostError::Schema { .. })));
        assert!(matches!(CryptoCost::parse("[]"), Err(CostError::NotRead(_))));
        let unknown = record("1.0").replace("\"processors\"", "\"cores\"");
        assert!(matches!(CryptoCost::parse(&unknown), Err(CostError::NotRead(_))));
    }
}
