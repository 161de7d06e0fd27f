//! Links whose keys MKA distributes (IEEE 802.1X, clause 9), by wpa_supplicant: under a CAK of the exchange, one of a file for a switch at the
//! other end, or one of EAP-TLS, in which wpa_supplicant is the peer and [`crate::eap`] the authenticator.
//!
//! The device is ours: wpa_supplicant uses one that has its SCI, and neither makes nor removes it. So addresses, routes and whatever else stands on
//! the device stay when the CAK changes, when wpa_supplicant ends, and when it is killed.

mod ability;
mod authentication;
mod cak;
mod in_use;
mod library;
mod peer;
mod rotation;
mod supplicant;

pub use ability::Ability;
pub use authentication::Authentication;
pub(crate) use cak::{CAK, CKN};
pub use cak::{Cak, CakFile, Ckn};
pub use library::Library;
pub use peer::EapPeer;
pub use rotation::{Agreed, Rotation};
pub use supplicant::{KeyedBy, Role, Supplicant};
