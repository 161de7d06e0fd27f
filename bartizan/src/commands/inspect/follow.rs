//! `bartizan inspect --follow`: what becomes of links, reported when it happens.

mod delivery_options;
mod numbers;
mod options;
mod run;

pub(super) use options::FollowArgs;
pub(super) use run::run;
