//! Numbers of the kernel's interface: linux/xfrm.h and linux/netlink.h. They are its ABI and never change.

/// Messages, and flags of requests.
pub(super) const NEW_STATE: u16 = 0x10;
pub(super) const DELETE_STATE: u16 = 0x11;
pub(super) const GET_STATE: u16 = 0x12;
pub(super) const DELETE_POLICY: u16 = 0x14;
/// The kernel asks for an SA, and the group that hears it.
pub(super) const ACQUIRE: u16 = 0x17;
pub(super) const ACQUIRES: u32 = 1;
/// Makes a policy, or replaces the one of this selector and direction.
pub(super) const UPDATE_POLICY: u16 = 0x19;
pub(super) const CREATE: u16 = 0x400;
pub(super) const EXCLUSIVE: u16 = 0x200;

/// Attributes.
pub(super) const ENCRYPTION: u16 = 2;
pub(super) const ENCAPSULATION: u16 = 4;
pub(super) const TEMPLATE: u16 = 5;
pub(super) const AEAD: u16 = 18;
pub(super) const INTEGRITY: u16 = 20;
pub(super) const REPLAY: u16 = 23;
pub(super) const OFFLOAD: u16 = 28;

/// Flags of `xfrm_user_offload`: packets that come are meant. (4 would have the card do whole packets.)
pub(super) const OFFLOAD_INBOUND: u8 = 2;

/// Flags of a state: its selector is of any version, its sequence numbers have 64 bits.
pub(super) const ANY_VERSION: u8 = 32;
pub(super) const EXTENDED: u8 = 128;

pub(super) const TRANSPORT: u8 = 0;
pub(super) const TUNNEL: u8 = 1;

/// ESP in UDP (RFC 3948).
pub(super) const ESP_IN_UDP: u16 = 2;

/// Protocol number of ESP.
pub(super) const ESP: u8 = 50;

pub(super) const IPV4: u16 = 2;
pub(super) const IPV6: u16 = 10;
