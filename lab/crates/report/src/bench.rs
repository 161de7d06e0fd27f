//! What `bartizan bench` prints: figures of the records of its experiments, by the statistics of every report, each with the target that it
//! must reach.

mod hostile;
mod sidecar;
mod target;

pub use hostile::{HostileFigure, hostile_figures};
pub use sidecar::{Figure, Name, figures};
pub use target::{Target, Verdict};
