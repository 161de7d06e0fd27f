//! Output of `bartizan bench`: figures of its experiments' records, by the statistics of every
//! report, each with its target.

mod hostile;
mod sidecar;
mod target;

pub use hostile::{HostileFigure, hostile_figures};
pub use sidecar::{Figure, Name, figures};
pub use target::{Target, Verdict};
