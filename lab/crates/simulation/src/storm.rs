//! Plans of storms: what is compared, under which chance, and what came of it; parts of a plan are
//! run anywhere and merge exactly.
//!
//! A plan has variants (the same network with other cryptography) and ranges of what is not known.
//! Each seed draws from the ranges once, the same for all variants, and simulates every variant. A
//! part is the plan with the outcomes of some seeds; outcomes are whole numbers, and a part of all
//! seeds is the same bytes whether one process made it or many.

mod laboratory;
mod merge;
mod part;
mod plan;
mod summary;

pub use laboratory::Laboratory;
pub use merge::{MergeError, merge};
pub use part::{PART_SCHEMA, Part, PartError, SeedRun, Seeds};
pub use plan::{Drawn, Plan, PlanError, Range, Variant};
pub use summary::{Curve, Quantity, Spread, Summary, VariantSummary, range_over, summary};
