//! Both ends of an SA, against each other and against published packets.

mod associations;
mod nist;
mod published;
mod wycheproof;
