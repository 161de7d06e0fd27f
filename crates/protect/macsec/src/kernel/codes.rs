//! Numbers of the kernel's interface: linux/if_link.h, linux/rtnetlink.h, linux/if_macsec.h. They are its ABI and never change.

/// Messages of rtnetlink, and flags of requests.
pub(super) const NEW_LINK: u16 = 16;
pub(super) const DELETE_LINK: u16 = 17;
pub(super) const CREATE: u16 = 0x400;
pub(super) const EXCLUSIVE: u16 = 0x200;

/// Attributes of a link.
pub(super) const NAME: u16 = 3;
pub(super) const PARENT: u16 = 5;
pub(super) const LINK_INFO: u16 = 18;
pub(super) const INFO_KIND: u16 = 1;
pub(super) const INFO_DATA: u16 = 2;
/// The flag of an interface that is up, and the type of one that is Ethernet (linux/if_arp.h).
pub(super) const UP: u32 = 1;

/// Attributes of a new MACsec device.
pub(super) mod device {
    pub(in crate::kernel) const PORT: u16 = 2;
    pub(in crate::kernel) const CIPHER_SUITE: u16 = 4;
    pub(in crate::kernel) const WINDOW: u16 = 5;
    pub(in crate::kernel) const ENCODING_SA: u16 = 6;
    pub(in crate::kernel) const ENCRYPT: u16 = 7;
    pub(in crate::kernel) const PROTECT: u16 = 8;
    pub(in crate::kernel) const SEND_SCI: u16 = 9;
    pub(in crate::kernel) const REPLAY_PROTECT: u16 = 12;
    pub(in crate::kernel) const VALIDATION: u16 = 13;
    /// Frames that cannot be validated are dropped.
    pub(in crate::kernel) const STRICT: u8 = 2;
}

/// The family of generic netlink and its commands.
pub(crate) const FAMILY: &str = "macsec";
pub(super) const VERSION: u8 = 1;
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum Command {
    Get = 0,
    AddChannel = 1,
    DeleteChannel = 2,
    AddTransmit = 4,
    DeleteTransmit = 5,
    UpdateTransmit = 6,
    AddReceive = 7,
    DeleteReceive = 8,
    UpdateReceive = 9,
}

/// Attributes of a command and of its answer.
pub(super) mod attribute {
    pub(in crate::kernel) const INTERFACE: u16 = 1;
    pub(in crate::kernel) const CHANNEL: u16 = 2;
    pub(in crate::kernel) const ASSOCIATION: u16 = 3;
    pub(in crate::kernel) const SECY: u16 = 4;
    pub(in crate::kernel) const TRANSMIT_LIST: u16 = 5;
    pub(in crate::kernel) const CHANNEL_LIST: u16 = 6;
    pub(in crate::kernel) const TRANSMIT_STATISTICS: u16 = 7;
    pub(in crate::kernel) const SECY_STATISTICS: u16 = 8;
}

/// Attributes of a SecY.
pub(super) mod secy {
    pub(in crate::kernel) const SCI: u16 = 1;
    pub(in crate::kernel) const ENCODING_SA: u16 = 2;
    pub(in crate::kernel) const WINDOW: u16 = 3;
    pub(in crate::kernel) const CIPHER_SUITE: u16 = 4;
    pub(in crate::kernel) const PROTECT: u16 = 6;
    pub(in crate::kernel) const REPLAY: u16 = 7;
    pub(in crate::kernel) const OPERATIONAL: u16 = 8;
    pub(in crate::kernel) const VALIDATION: u16 = 9;
    pub(in crate::kernel) const ENCRYPT: u16 = 10;
    pub(in crate::kernel) const SEND_SCI: u16 = 11;
}

/// Attributes of a receive channel.
pub(super) mod channel {
    pub(in crate::kernel) const SCI: u16 = 1;
    pub(in crate::kernel) const ACTIVE: u16 = 2;
    pub(in crate::kernel) const ASSOCIATIONS: u16 = 3;
    pub(in crate::kernel) const STATISTICS: u16 = 4;
}

/// Attributes of an association.
pub(super) mod association {
    pub(in crate::kernel) const AN: u16 = 1;
    pub(in crate::kernel) const ACTIVE: u16 = 2;
    pub(in crate::kernel) const PACKET_NUMBER: u16 = 3;
    pub(in crate::kernel) const KEY: u16 = 4;
    pub(in crate::kernel) const KEY_ID: u16 = 5;
    pub(in crate::kernel) const SSCI: u16 = 8;
    pub(in crate::kernel) const SALT: u16 = 9;
}

/// Counters: of a receive channel, of the transmit channel, of the SecY.
pub(super) mod statistics {
    pub(in crate::kernel) const IN_DELAYED: u16 = 4;
    pub(in crate::kernel) const IN_OK: u16 = 5;
    pub(in crate::kernel) const IN_LATE: u16 = 7;
    pub(in crate::kernel) const IN_NOT_VALID: u16 = 8;
    pub(in crate::kernel) const IN_NOT_USING_SA: u16 = 9;
    pub(in crate::kernel) const OUT_PROTECTED: u16 = 1;
    pub(in crate::kernel) const OUT_ENCRYPTED: u16 = 2;
    pub(in crate::kernel) const OUT_TOO_LONG: u16 = 3;
    pub(in crate::kernel) const IN_NO_TAG: u16 = 4;
    pub(in crate::kernel) const IN_BAD_TAG: u16 = 5;
    pub(in crate::kernel) const IN_UNKNOWN_SCI: u16 = 6;
    pub(in crate::kernel) const IN_NO_SCI: u16 = 7;
    pub(in crate::kernel) const IN_OVERRUN: u16 = 8;
}
