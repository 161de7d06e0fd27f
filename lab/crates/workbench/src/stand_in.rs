//! Parts that take the place of network functions and of the stages they stand on, so that a
//! measurement needs no core: an NRF ([`nrf`]), a consumer that discovers its producer
//! ([`crate::Discovery`]), functions that speak over protected SBI ([`sbi`]), E2 nodes and their
//! RIC ([`e2`]), a gNB and its AMF ([`n2`]), O-DU and O-RU of an open fronthaul ([`fronthaul`]),
//! the replay ([`replay`]) of what real functions exchanged ([`exchange`]), pairs of proxies
//! ([`proxies`]), two charons with their credentials, a responder of IKE in memory ([`responder`]),
//! and tunnels in user space.

pub(crate) mod charons;
pub mod e2;
pub mod exchange;
pub mod fronthaul;
mod lack;
pub mod n2;
pub mod nrf;
pub mod proxies;
pub mod replay;
pub mod responder;
pub mod sbi;
pub(crate) mod tunnels;

pub use lack::Lack;
