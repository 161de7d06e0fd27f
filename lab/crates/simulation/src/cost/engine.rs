//! Costs of an engine's whole set-ups, from records of experiments.

use serde::{Deserialize, Serialize};

use super::CostError;
use crate::Sourced;
use bartizan_budget::Source;

/// Schema of the file.
pub const ENGINE_COST_SCHEMA: &str = "bartizan-engine-cost/2";

/// Most bytes that an SA or a connection may be recorded with.
const MOST_BYTES: u64 = 1 << 30;

/// One kind of set-up that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSetUp {
    /// As the experiment names its level.
    pub key_exchange: String,
    /// The same.
    pub authentication: String,
    /// Trials.
    pub n: u32,
    /// Median processor time of the responder for a set-up, in microseconds.
    pub responder_us: f64,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responder_interval_us: Option<[f64; 2]>,
    /// The same of the initiator; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator_us: Option<f64>,
    /// Median time on the wire of a CHILD_SA's rekey, in microseconds: no less than the responder's
    /// processor time for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rekey_us: Option<f64>,
    /// Median bytes of a set-up in both directions, headers of IP included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Median IP packets of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Median bytes of the rekey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rekey_bytes: Option<u64>,
}

impl MeasuredSetUp {
    /// The ends of the responder's 95 % interval as shares of its median; 1 where the record has none.
    #[must_use]
    pub fn cost_interval(&self) -> [f64; 2] {
        self.responder_interval_us
            .map_or([1.0; 2], |ends| ends.map(|end| end / self.responder_us))
    }
}

/// Memory of an SA or a connection that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMemory {
    /// As the experiment names its level; absent where the record has one figure for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_exchange: Option<String>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<String>,
    /// Trials.
    pub n: u32,
    /// Median of what the responder's resident memory grew by for each, in bytes.
    pub process_bytes: u64,
    /// Median of what the kernel's grew by for each, in bytes; absent where the process does ESP itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_bytes: Option<u64>,
    /// Its origin: experiment, run and part.
    pub record: String,
}

impl MeasuredMemory {
    /// Memory of the process and of the kernel.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.process_bytes.saturating_add(self.kernel_bytes.unwrap_or(0))
    }

    fn source(&self, what: &str) -> Source {
        let kernel = match self.kernel_bytes {
            Some(kernel) => format!("{} of the process, {kernel} of the kernel", self.process_bytes),
            None => format!("{} of the process", self.process_bytes),
        };
        Source::record(self.record.clone(), format!("{what}: bytes {kernel}"))
    }
}

/// An engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineCost {
    /// `strongswan` or `bartizan`.
    pub engine: String,
    /// Its origin: experiment, run and part.
    pub record: String,
    /// On which processor.
    pub processor: String,
    /// Memory of an SA or a connection that is held; empty where no record has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MeasuredMemory>,
    /// Measured set-ups.
    pub set_ups: Vec<MeasuredSetUp>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineCosts {
    /// Schema of the file.
    pub schema: String,
    /// By engine.
    pub engines: Vec<EngineCost>,
}

impl EngineCosts {
    /// Reads the file.
    ///
    /// # Errors
    /// [`CostError::NotRead`], [`CostError::Schema`] and [`CostError::NoTime`].
    pub fn parse(text: &str) -> Result<Self, CostError> {
        let costs: Self = serde_json::from_str(text).map_err(|error| CostError::NotRead(error.to_string()))?;
        if costs.schema != ENGINE_COST_SCHEMA {
            return Err(CostError::Schema {
                found: costs.schema,
                expected: ENGINE_COST_SCHEMA,
            });
        }
        for engine in &costs.engines {
            for set_up in &engine.set_ups {
                let [low, high] = set_up.responder_interval_us.unwrap_or([set_up.responder_us; 2]);
                let times = [
                    Some(set_up.responder_us),
                    set_up.initiator_us,
                    set_up.rekey_us,
                    Some(low),
                    Some(high),
                ];
                for value in times.into_iter().flatten() {
                    if !(f64::MIN_POSITIVE..=1e7).contains(&value) {
                        let what = format!("{} {} {}", engine.engine, set_up.key_exchange, set_up.authentication);
                        return Err(CostError::NoTime { what, value });
                    }
                }
            }
            for memory in &engine.memory {
                if !(1..=MOST_BYTES).contains(&memory.bytes()) {
                    return Err(CostError::NoMemory {
                        what: format!("{}, {}", engine.engine, memory.record),
                        bytes: memory.bytes(),
                        most: MOST_BYTES,
                    });
                }
            }
        }
        Ok(costs)
    }

    /// An engine by its name.
    ///
    /// # Errors
    /// [`CostError::Unknown`].
    pub fn engine(&self, name: &str) -> Result<&EngineCost, CostError> {
        self.engines
            .iter()
            .find(|engine| engine.engine == name)
            .ok_or_else(|| CostError::Unknown {
                what: "engine",
                given: name.to_owned(),
                known: self
                    .engines
                    .iter()
                    .map(|engine| engine.engine.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }
}

impl EngineCost {
    /// The set-up that was measured with this key exchange and authentication.
    #[must_use]
    pub fn measured(&self, key_exchange: &str, authentication: &str) -> Option<&MeasuredSetUp> {
        self.set_ups
            .iter()
            .find(|set_up| set_up.key_exchange == key_exchange && set_up.authentication == authentication)
    }

    /// Bytes of an SA or a connection of this key exchange and authentication, with their source;
    /// none where no record has any.
    ///
    /// Memory with this key exchange and authentication. A missing figure is taken from another, in
    /// this order: the same key exchange with another authentication, one figure for all, the
    /// largest that was measured. The source names the choice.
    #[must_use]
    pub fn memory(&self, key_exchange: &str, authentication: &str) -> Option<Sourced<u64>> {
        let is = |known: &Option<String>, asked: &str| known.as_deref() == Some(asked);
        let exact = self
            .memory
            .iter()
            .find(|memory| is(&memory.key_exchange, key_exchange) && is(&memory.authentication, authentication));
        if let Some(memory) = exact {
            return Some(Sourced::new(memory.bytes(), memory.source("memory of an SA")));
        }
        let alike = self.memory.iter().find(|memory| is(&memory.key_exchange, key_exchange));
        if let Some(memory) = alike {
            let what = format!(
                "memory of an SA with {}, taken for {authentication} too",
                memory.authentication.as_deref().unwrap_or("any authentication")
            );
            return Some(Sourced::new(memory.bytes(), memory.source(&what)));
        }
        if let Some(memory) = self.memory.iter().find(|memory| memory.key_exchange.is_none()) {
            return Some(Sourced::new(memory.bytes(), memory.source("memory of a connection")));
        }
        let most = self.memory.iter().max_by_key(|memory| memory.bytes())?;
        let what = format!(
            "memory of an SA with {}, the most of those measured, taken for {key_exchange} too",
            most.key_exchange.as_deref().unwrap_or_default()
        );
        Some(Sourced::new(most.bytes(), most.source(&what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(memory: Vec<MeasuredMemory>) -> EngineCost {
        EngineCost {
            engine: "strongswan".to_owned(),
            record: "experiments/sa-setup, run 1, part exchanges".to_owned(),
            processor: "x".to_owned(),
            memory,
            set_ups: Vec::new(),
        }
    }

    fn memory(key_exchange: Option<&str>, process_bytes: u64, kernel_bytes: Option<u64>) -> MeasuredMemory {
        MeasuredMemory {
            key_exchange: key_exchange.map(str::to_owned),
            authentication: key_exchange.map(|_| "ecdsa-p256".to_owned()),
            n: 6,
            process_bytes,
            kernel_bytes,
            record: "experiments/sa-memory, run 1, part kept".to_owned(),
        }
    }

    #[test]
    fn memory_that_was_not_measured_is_that_of_the_nearest_and_its_source_says_so() {
        let engine = engine(vec![
            memory(Some("x25519"), 20_000, Some(4_000)),
            memory(Some("mlkem768"), 22_000, Some(4_000)),
        ]);
        let exact = engine.memory("x25519", "ecdsa-p256").unwrap();
        assert_eq!(exact.value, 24_000);
        assert!(
            exact
                .source
                .to_string()
                .contains("20000 of the process, 4000 of the kernel")
        );
        let alike = engine.memory("x25519", "ml-dsa-65").unwrap();
        assert_eq!(alike.value, 24_000);
        assert!(
            alike
                .source
                .to_string()
                .contains("with ecdsa-p256, taken for ml-dsa-65 too")
        );
        // For a key exchange that was not measured: the largest figure, never the smallest.
        let other = engine.memory("x25519-ke1_mlkem1024", "ml-dsa-87").unwrap();
        assert_eq!(other.value, 26_000);
        assert!(
            other
                .source
                .to_string()
                .contains("mlkem768, the most of those measured")
        );
    }

    #[test]
    fn one_figure_stands_for_all_and_none_for_none() {
        let all = engine(vec![memory(None, 46_982, None)]);
        assert_eq!(all.memory("X25519MLKEM768", "ml-dsa-65").unwrap().value, 46_982);
        assert!(engine(Vec::new()).memory("x25519", "ecdsa-p256").is_none());
    }

    #[test]
    fn absurd_memory_and_other_schemas_are_refused() {
        let text = |schema: &str, bytes: u64| {
            serde_json::to_string(&EngineCosts {
                schema: schema.to_owned(),
                engines: vec![engine(vec![memory(Some("x25519"), bytes, None)])],
            })
            .unwrap()
        };
        assert!(EngineCosts::parse(&text(ENGINE_COST_SCHEMA, 1)).is_ok());
        for bytes in [0, MOST_BYTES + 1] {
            let refused = EngineCosts::parse(&text(ENGINE_COST_SCHEMA, bytes)).unwrap_err();
            assert!(refused.to_string().contains("between 1 and 1073741824"), "{refused}");
        }
        assert!(matches!(
            EngineCosts::parse(&text("bartizan-engine-cost/1", 1)),
            Err(CostError::Schema { .. })
        ));
    }
}
