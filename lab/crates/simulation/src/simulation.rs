//! A network of sites and security gateways, event by event: set-ups, their exchanges, queues, lost
//! packets, retransmissions, cookies and back-off.
//!
//! Deterministic: one seed gives one outcome on every machine. Times are whole nanoseconds, chance
//! is PCG by a seed, and what is computed in floating point uses only operations that IEEE 754
//! defines exactly (no logarithm of a system's library).
//!
//! The model: each gateway has `cores` processors behind one queue, first come first served; a link
//! of a rate in each direction; a table of half-open set-ups with cookies above a threshold (RFC
//! 7296, section 2.6). Each site has a round trip, an access rate, and one request under way at a
//! time (window size 1; RFC 7296, section 2.3). A packet is lost with a probability of its own,
//! independent of all others. Not in the model: congestion in the network between, routing, and
//! processors of sites that are slower than the measured one.

mod calendar;
mod gateway;
mod outcome;
mod procedure;
mod rng;
mod run;
mod scenario;
mod site;
mod timers;

pub use gateway::{Cores, Link};
pub use outcome::{Counters, Outcome, QUANTILES};
pub use procedure::{Exchange, Message, Procedure, ProcedureKind, Procedures};
pub use rng::Rng;
pub use run::{Progress, Stop, run};
pub use scenario::{
    Admission, Bounds, HOUR, MILLISECOND, Network, Retransmission, Retry, SECOND, Scenario, ScenarioError, Steady,
    Storm, StormKind, Variation,
};
pub use timers::Timers;
