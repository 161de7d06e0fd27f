//! Costs of cryptography and engines: measured records, and arithmetic with them.
//!
//! Two kinds of record: [`CryptoCost`], microseconds of each primitive on one machine (`bartizan
//! plan calibrate`), and [`EngineCost`], processor time of whole set-ups of an engine (strongSwan,
//! Bartizan's sidecar) from records of experiments. A [`Suite`] is what a plan compares: from both
//! it makes the exchanges of a set-up with their bytes, packets and processor time. What was not
//! measured is not invented: it is refused, or derived by a formula that is named.

mod engine;
mod error;
mod ike;
mod packets;
mod primitives;
mod record;
mod scaling;
mod suite;
mod tls;

pub use engine::{ENGINE_COST_SCHEMA, EngineCost, EngineCosts, MeasuredMemory, MeasuredSetUp};
pub use error::CostError;
pub use primitives::ExchangePrimitives;
pub use record::{CRYPTO_COST_SCHEMA, CipherCost, Conditions, CryptoCost, Operation, PrimitiveCost, Timed};
pub use scaling::Scaling;
pub use suite::{Authentication, Engine, Suite, Worked};
