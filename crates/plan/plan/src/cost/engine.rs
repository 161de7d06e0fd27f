//! What whole set-ups of an engine cost, from records of experiments.

use serde::{Deserialize, Serialize};

use super::CostError;

/// Schema of the file.
const SCHEMA: &str = "bartizan-engine-cost/1";

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
    /// The same of the initiator; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator_us: Option<f64>,
    /// Median time on the wire of a CHILD_SA's rekey, in microseconds: no less than the responder's processor time for it.
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

/// Memory of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMemory {
    /// Resident bytes of a connection or an SA that is held.
    pub bytes: u64,
    /// Where that comes from.
    pub record: String,
}

/// An engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineCost {
    /// `strongswan` or `bartizan`.
    pub engine: String,
    /// Where it comes from: experiment, run and part.
    pub record: String,
    /// On which processor.
    pub processor: String,
    /// Memory of a connection that is held, in bytes, and where that comes from; absent where no record has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MeasuredMemory>,
    /// What was measured.
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
        if costs.schema != SCHEMA {
            return Err(CostError::Schema {
                found: costs.schema,
                expected: SCHEMA,
            });
        }
        for engine in &costs.engines {
            for set_up in &engine.set_ups {
                let times = [Some(set_up.responder_us), set_up.initiator_us, set_up.rekey_us];
                for value in times.into_iter().flatten() {
                    if !(f64::MIN_POSITIVE..=1e7).contains(&value) {
                        let what = format!("{} {} {}", engine.engine, set_up.key_exchange, set_up.authentication);
                        return Err(CostError::NoTime { what, value });
                    }
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
    /// What was measured with this key exchange and authentication.
    #[must_use]
    pub fn measured(&self, key_exchange: &str, authentication: &str) -> Option<&MeasuredSetUp> {
        self.set_ups
            .iter()
            .find(|set_up| set_up.key_exchange == key_exchange && set_up.authentication == authentication)
    }
}
