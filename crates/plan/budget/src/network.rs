//! A deployment file against what the standards ask of each interface: requirements, what is given, delay against budgets, and in which order to migrate.

mod assess;
mod budget;
mod concern;
mod migrate;
mod requirement;
mod role;

pub use assess::{Assessment, Given, Link, assess};
pub use budget::{Budget, Conditions, Predicted, Reading, budget_of};
pub use concern::{Concern, Rule, Severity};
pub use migrate::{Exposure, Move, migrate};
pub use requirement::{Demand, Published, REQUIREMENTS, Requirement, TABLE_1_HEADINGS, TABLE_1_NOTE, Use, requirement};
