//! Notify message types.

use std::fmt;

/// Notify message type (RFC 7296, section 3.10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotifyType(pub u16);

impl NotifyType {
    /// A payload that must be understood is of a kind that is not.
    pub const UNSUPPORTED_CRITICAL_PAYLOAD: Self = Self(1);
    /// The message was proven, and cannot be read.
    pub const INVALID_SYNTAX: Self = Self(7);
    /// None of the proposals is acceptable.
    pub const NO_PROPOSAL_CHOSEN: Self = Self(14);
    /// The key exchange was made with a method the responder does not take; it names the one it wants.
    pub const INVALID_KE_PAYLOAD: Self = Self(17);
    /// The peer's identity was not proven.
    pub const AUTHENTICATION_FAILED: Self = Self(24);
    /// No CHILD_SA but the first is made.
    pub const NO_ADDITIONAL_SAS: Self = Self(35);
    /// No traffic is wanted by both ends.
    pub const TS_UNACCEPTABLE: Self = Self(38);
    /// Not now: what is asked for collides with what the end is about to do (RFC 7296, section 2.25).
    pub const TEMPORARY_FAILURE: Self = Self(43);
    /// The CHILD_SA that is to be replaced does not exist.
    pub const CHILD_SA_NOT_FOUND: Self = Self(44);
    /// The state that an IKE_FOLLOWUP_KE would continue is not kept (RFC 9370).
    pub const STATE_NOT_FOUND: Self = Self(47);
    /// This is the only IKE_SA between these identities (RFC 7296, section 2.4).
    pub const INITIAL_CONTACT: Self = Self(16384);
    /// Digest of SPIs and the sender's address and port.
    pub const NAT_DETECTION_SOURCE_IP: Self = Self(16388);
    /// Digest of SPIs and the receiver's address and port.
    pub const NAT_DETECTION_DESTINATION_IP: Self = Self(16389);
    /// Come again with this cookie.
    pub const COOKIE: Self = Self(16390);
    /// The CHILD_SA protects payloads between two hosts, not packets between two gateways.
    pub const USE_TRANSPORT_MODE: Self = Self(16391);
    /// The SA that is to be replaced.
    pub const REKEY_SA: Self = Self(16393);
    /// Seconds until the responder deletes the IKE_SA, unless both ends authenticate anew before
    /// (RFC 4478).
    pub const AUTH_LIFETIME: Self = Self(16403);
    /// An IKE_SA can be set up without a CHILD_SA (RFC 6023).
    pub const CHILDLESS_IKEV2_SUPPORTED: Self = Self(16418);
    /// IKE fragments can be read (RFC 7383).
    pub const IKEV2_FRAGMENTATION_SUPPORTED: Self = Self(16430);
    /// Hash algorithms for digital signatures (RFC 7427).
    pub const SIGNATURE_HASH_ALGORITHMS: Self = Self(16431);
    /// A post-quantum pre-shared key may be mixed in (RFC 8784).
    pub const USE_PPK: Self = Self(16435);
    /// Identifier of the post-quantum pre-shared key that is mixed in; from a responder,
    /// confirmation that it was (RFC 8784).
    pub const PPK_IDENTITY: Self = Self(16436);
    /// The proof of who the initiator is without the pre-shared key, for a responder that does not have it (RFC 8784).
    pub const NO_PPK_AUTH: Self = Self(16437);
    /// IKE_INTERMEDIATE is understood (RFC 9242).
    pub const INTERMEDIATE_EXCHANGE_SUPPORTED: Self = Self(16438);
    /// Links IKE_FOLLOWUP_KE to what it follows (RFC 9370).
    pub const ADDITIONAL_KEY_EXCHANGE: Self = Self(16441);
    /// A post-quantum pre-shared key may be mixed in during IKE_INTERMEDIATE (RFC 9867).
    pub const USE_PPK_INT: Self = Self(16445);
    /// Identifier of a pre-shared key that may be mixed in during IKE_INTERMEDIATE, and a proof of
    /// possession (RFC 9867).
    pub const PPK_IDENTITY_KEY: Self = Self(16446);
    /// IKE_SA_INIT of both ends is what each of them signs (draft-ietf-ipsecme-ikev2-downgrade-prevention).
    pub const IKE_SA_INIT_FULL_TRANSCRIPT_AUTH: Self = Self(16447);

    /// Returns true for errors, whose types are below 16384.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 < 16384
    }

    /// Its name in the IANA registry.
    pub fn name(self) -> Option<&'static str> {
        NAMES
            .binary_search_by_key(&self.0, |(number, _)| *number)
            .ok()
            .map(|place| NAMES[place].1)
    }
}

impl fmt::Display for NotifyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("notify {}", self.0)),
        }
    }
}

const NAMES: &[(u16, &str)] = &[
    (1, "UNSUPPORTED_CRITICAL_PAYLOAD"),
    (4, "INVALID_IKE_SPI"),
    (5, "INVALID_MAJOR_VERSION"),
    (7, "INVALID_SYNTAX"),
    (9, "INVALID_MESSAGE_ID"),
    (11, "INVALID_SPI"),
    (14, "NO_PROPOSAL_CHOSEN"),
    (17, "INVALID_KE_PAYLOAD"),
    (24, "AUTHENTICATION_FAILED"),
    (34, "SINGLE_PAIR_REQUIRED"),
    (35, "NO_ADDITIONAL_SAS"),
    (36, "INTERNAL_ADDRESS_FAILURE"),
    (37, "FAILED_CP_REQUIRED"),
    (38, "TS_UNACCEPTABLE"),
    (39, "INVALID_SELECTORS"),
    (43, "TEMPORARY_FAILURE"),
    (44, "CHILD_SA_NOT_FOUND"),
    (45, "INVALID_GROUP_ID"),
    (46, "AUTHORIZATION_FAILED"),
    (47, "STATE_NOT_FOUND"),
    (48, "TS_MAX_QUEUE"),
    (49, "REGISTRATION_FAILED"),
    (16384, "INITIAL_CONTACT"),
    (16388, "NAT_DETECTION_SOURCE_IP"),
    (16389, "NAT_DETECTION_DESTINATION_IP"),
    (16390, "COOKIE"),
    (16391, "USE_TRANSPORT_MODE"),
    (16393, "REKEY_SA"),
    (16394, "ESP_TFC_PADDING_NOT_SUPPORTED"),
    (16396, "MOBIKE_SUPPORTED"),
    (16401, "COOKIE2"),
    (16403, "AUTH_LIFETIME"),
    (16404, "MULTIPLE_AUTH_SUPPORTED"),
    (16406, "REDIRECT_SUPPORTED"),
    (16407, "REDIRECT"),
    (16408, "REDIRECTED_FROM"),
    (16417, "EAP_ONLY_AUTHENTICATION"),
    (16418, "CHILDLESS_IKEV2_SUPPORTED"),
    (16430, "IKEV2_FRAGMENTATION_SUPPORTED"),
    (16431, "SIGNATURE_HASH_ALGORITHMS"),
    (16434, "PUZZLE"),
    (16435, "USE_PPK"),
    (16436, "PPK_IDENTITY"),
    (16437, "NO_PPK_AUTH"),
    (16438, "INTERMEDIATE_EXCHANGE_SUPPORTED"),
    (16439, "IP4_ALLOWED"),
    (16440, "IP6_ALLOWED"),
    (16441, "ADDITIONAL_KEY_EXCHANGE"),
    (16442, "USE_AGGFRAG"),
    (16443, "SUPPORTED_AUTH_METHODS"),
    (16444, "SA_RESOURCE_INFO"),
    (16445, "USE_PPK_INT"),
    (16446, "PPK_IDENTITY_KEY"),
    (16447, "IKE_SA_INIT_FULL_TRANSCRIPT_AUTH"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_by_its_number() {
        assert!(NAMES.is_sorted_by(|one, other| one.0 < other.0));
        for (number, name) in NAMES {
            assert_eq!(NotifyType(*number).to_string(), *name);
        }
        assert_eq!(NotifyType(40000).to_string(), "notify 40000");
    }
}
