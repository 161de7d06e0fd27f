//! `bartizan inspect --follow`: what becomes of links, told when it happens.

mod event;
mod ledgers;
mod metrics;
mod numbers;
mod options;
mod run;
mod tracker;
mod view;

pub(super) use metrics::SourceNumbers;
pub(super) use options::FollowArgs;
pub(super) use run::run;
pub(super) use view::{Recent, View};
