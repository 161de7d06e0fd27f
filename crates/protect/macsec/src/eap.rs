//! EAP over LANs between the two ends of a link (IEEE 802.1X, clauses 8 and 11; RFC 3748), with EAP-TLS 1.3 as the method (RFC 9190): the
//! authenticator of a port. No socket and no clock here.
//!
//! hostapd of Debian has no MKA, so it cannot be the authenticator of a MACsec port; this one is Bartizan's own, with the TLS and the checks of
//! policy and certificates that every other exchange here has. The peer is wpa_supplicant, or whatever else speaks 802.1X.

mod authenticator;
mod keys;
mod message;
mod packet;

pub use authenticator::{Authenticated, Authenticator, Happened};
