//! Experiments made of workloads: the file ([`experiment`]), the order of the trials and their run
//! ([`run`]), the records of each ([`trial`]), the worker processes ([`worker`]), and the values
//! that a paper printed for the same ([`published`]).

pub mod experiment;
pub mod published;
pub mod run;
pub mod trial;
pub mod worker;
