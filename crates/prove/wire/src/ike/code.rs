//! Code points of IKEv2 as they stand on the wire.

use std::fmt;

use bartizan_registry::{Safety, Transform, TransformKind, transform};

super::named::numbers! {
    /// Exchange type (RFC 7296, section 3.1).
    ExchangeType(u8), "exchange";
    /// Proposals, the first key exchange and nonces, in plaintext.
    IKE_SA_INIT = 34,
    /// Identities of the ends, and the first CHILD_SA.
    IKE_AUTH = 35,
    /// Another CHILD_SA, or a rekey of a CHILD_SA or of the IKE_SA.
    CREATE_CHILD_SA = 36,
    /// Notifications, deletion, dead peer detection.
    INFORMATIONAL = 37,
    /// Resumption (RFC 5723).
    IKE_SESSION_RESUME = 38,
    /// Additional key exchanges before IKE_AUTH (RFC 9242, RFC 9370).
    IKE_INTERMEDIATE = 43,
    /// Additional key exchanges behind CREATE_CHILD_SA (RFC 9370).
    IKE_FOLLOWUP_KE = 44,
    ;
    39 = "GSA_AUTH",
    40 = "GSA_REGISTRATION",
    41 = "GSA_REKEY",
    42 = "GSA_INBAND_REKEY",
}

/// Payload type (RFC 7296, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadType(pub u8);

impl PayloadType {
    /// Nothing follows.
    pub const NONE: Self = Self(0);
    /// Security Association: proposals.
    pub const SA: Self = Self(33);
    /// Key Exchange.
    pub const KE: Self = Self(34);
    /// Identification of the initiator.
    pub const ID_INITIATOR: Self = Self(35);
    /// Identification of the responder.
    pub const ID_RESPONDER: Self = Self(36);
    /// Certificate.
    pub const CERT: Self = Self(37);
    /// Certificate Request.
    pub const CERTREQ: Self = Self(38);
    /// Authentication.
    pub const AUTH: Self = Self(39);
    /// Nonce.
    pub const NONCE: Self = Self(40);
    /// Notify.
    pub const NOTIFY: Self = Self(41);
    /// Delete.
    pub const DELETE: Self = Self(42);
    /// Vendor ID.
    pub const VENDOR: Self = Self(43);
    /// Traffic Selectors of the initiator.
    pub const TS_INITIATOR: Self = Self(44);
    /// Traffic Selectors of the responder.
    pub const TS_RESPONDER: Self = Self(45);
    /// Encrypted and Authenticated.
    pub const ENCRYPTED: Self = Self(46);
    /// Configuration.
    pub const CONFIGURATION: Self = Self(47);
    /// Extensible Authentication.
    pub const EAP: Self = Self(48);
    /// Encrypted and Authenticated Fragment (RFC 7383).
    pub const ENCRYPTED_FRAGMENT: Self = Self(53);
}

/// A key exchange method: an identifier of transform type 4, which types 6 to 12 share (RFC 9370).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyExchangeMethod(pub u16);

impl KeyExchangeMethod {
    /// No exchange: an additional one may be offered as optional by offering this next to it (RFC 9370, section 2.2.2).
    pub const NONE: Self = Self(0);

    /// Its entry in the registry.
    pub fn known(self) -> Option<&'static Transform> {
        transform(TransformKind::KeyExchange, self.0)
    }

    /// Its safety against a recorder; none if the registry does not know it.
    pub fn safety(self) -> Option<Safety> {
        self.known()?.recording
    }
}

impl fmt::Display for KeyExchangeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.known(), *self) {
            (Some(known), _) => f.pad(known.name),
            (None, Self::NONE) => f.pad("NONE"),
            (None, Self(number)) => f.pad(&format!("unknown({number})")),
        }
    }
}
