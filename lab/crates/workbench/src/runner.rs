//! What makes an experiment out of workloads: its file ([`experiment`]), the order of its trials and their run ([`run`]), the records that
//! remain of each ([`trial`]), the processes that do them ([`worker`]), and the values a paper printed for the same ([`published`]).

pub mod experiment;
pub mod published;
pub mod run;
pub mod trial;
pub mod worker;
