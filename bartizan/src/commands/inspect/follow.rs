//! `bartizan inspect --follow`: what becomes of links, reported when it happens.

mod delivery;
mod ledgers;
mod metrics;
mod numbers;
mod options;
mod page;
mod patient;
mod run;
mod teller;

pub(super) use metrics::SourceNumbers;
pub(super) use options::FollowArgs;
pub(super) use run::run;
