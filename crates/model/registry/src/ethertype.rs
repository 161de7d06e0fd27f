//! EtherTypes that a protected port has to distinguish.

/// EAP over LAN and MKA (IEEE 802.1X, clause 11.1.4).
pub const EAPOL: u16 = 0x888e;
/// MACsec (IEEE 802.1AE, clause 9.8).
pub const MACSEC: u16 = 0x88e5;
/// PTP over Ethernet (IEEE 1588, annex E).
pub const PTP: u16 = 0x88f7;
/// eCPRI (eCPRI specification, clause 3.1).
pub const ECPRI: u16 = 0xaefe;
/// Local experimental (IEEE 802, clause 9.2.3), the first of two: the key exchange of this project
/// between two ends of a link.
pub const LOCAL_EXPERIMENTAL: u16 = 0x88b5;
