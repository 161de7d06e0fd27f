//! `bartizan inspect --follow`: what becomes of links, reported when it happens.

mod delivery;
mod event_writer;
mod ledgers;
mod metrics;
mod numbers;
mod options;
mod page;
mod run;
mod stdout_writer;

pub(super) use metrics::SourceNumbers;
pub(super) use options::FollowArgs;
pub(super) use run::run;
