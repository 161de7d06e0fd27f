//! Links whose keys MKA distributes (IEEE 802.1X, clause 9), by wpa_supplicant: under a CAK of the exchange, or one of a file for a switch at the
//! other end.
//!
//! The device is ours: wpa_supplicant uses one that has its SCI, and neither makes nor removes it. So addresses, routes and whatever else stands on
//! the device stay when the CAK changes, when wpa_supplicant ends, and when it is killed.

mod ability;
mod cak;
mod rotation;
mod supplicant;

pub use ability::Ability;
pub(crate) use cak::{CAK, CKN};
pub use cak::{Cak, CakFile, Ckn};
pub use rotation::{Agreed, Rotation};
pub use supplicant::{Role, Supplicant};
