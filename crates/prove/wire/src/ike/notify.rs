//! Notify message types.

super::named::numbers! {
    /// Notify message type (RFC 7296, section 3.10.1).
    NotifyType(u16), "notify";
    /// A payload that must be understood is of a kind that is not.
    UNSUPPORTED_CRITICAL_PAYLOAD = 1,
    /// The message was proven, and cannot be read.
    INVALID_SYNTAX = 7,
    /// None of the proposals is acceptable.
    NO_PROPOSAL_CHOSEN = 14,
    /// The key exchange was made with a method the responder does not take; it names the one it wants.
    INVALID_KE_PAYLOAD = 17,
    /// The peer's identity was not proven.
    AUTHENTICATION_FAILED = 24,
    /// No CHILD_SA but the first is made.
    NO_ADDITIONAL_SAS = 35,
    /// No traffic is wanted by both ends.
    TS_UNACCEPTABLE = 38,
    /// Not now: what is asked for collides with what the end is about to do (RFC 7296, section 2.25).
    TEMPORARY_FAILURE = 43,
    /// The CHILD_SA that is to be replaced does not exist.
    CHILD_SA_NOT_FOUND = 44,
    /// The state that an IKE_FOLLOWUP_KE would continue is not kept (RFC 9370).
    STATE_NOT_FOUND = 47,
    /// This is the only IKE_SA between these identities (RFC 7296, section 2.4).
    INITIAL_CONTACT = 16384,
    /// Digest of SPIs and the sender's address and port.
    NAT_DETECTION_SOURCE_IP = 16388,
    /// Digest of SPIs and the receiver's address and port.
    NAT_DETECTION_DESTINATION_IP = 16389,
    /// Come again with this cookie.
    COOKIE = 16390,
    /// The CHILD_SA protects payloads between two hosts, not packets between two gateways.
    USE_TRANSPORT_MODE = 16391,
    /// The SA that is to be replaced.
    REKEY_SA = 16393,
    /// Seconds until the responder deletes the IKE_SA, unless both ends authenticate anew before
    /// (RFC 4478).
    AUTH_LIFETIME = 16403,
    /// An IKE_SA can be set up without a CHILD_SA (RFC 6023).
    CHILDLESS_IKEV2_SUPPORTED = 16418,
    /// IKE fragments can be read (RFC 7383).
    IKEV2_FRAGMENTATION_SUPPORTED = 16430,
    /// Hash algorithms for digital signatures (RFC 7427).
    SIGNATURE_HASH_ALGORITHMS = 16431,
    /// A post-quantum pre-shared key may be mixed in (RFC 8784).
    USE_PPK = 16435,
    /// Identifier of the post-quantum pre-shared key that is mixed in; from a responder,
    /// confirmation that it was (RFC 8784).
    PPK_IDENTITY = 16436,
    /// The proof of who the initiator is without the pre-shared key, for a responder that does not have it (RFC 8784).
    NO_PPK_AUTH = 16437,
    /// IKE_INTERMEDIATE is understood (RFC 9242).
    INTERMEDIATE_EXCHANGE_SUPPORTED = 16438,
    /// Links IKE_FOLLOWUP_KE to what it follows (RFC 9370).
    ADDITIONAL_KEY_EXCHANGE = 16441,
    /// A post-quantum pre-shared key may be mixed in during IKE_INTERMEDIATE (RFC 9867).
    USE_PPK_INT = 16445,
    /// Identifier of a pre-shared key that may be mixed in during IKE_INTERMEDIATE, and a proof of
    /// possession (RFC 9867).
    PPK_IDENTITY_KEY = 16446,
    /// IKE_SA_INIT of both ends is what each of them signs (draft-ietf-ipsecme-ikev2-downgrade-prevention).
    IKE_SA_INIT_FULL_TRANSCRIPT_AUTH = 16447,
    ;
    4 = "INVALID_IKE_SPI",
    5 = "INVALID_MAJOR_VERSION",
    9 = "INVALID_MESSAGE_ID",
    11 = "INVALID_SPI",
    34 = "SINGLE_PAIR_REQUIRED",
    36 = "INTERNAL_ADDRESS_FAILURE",
    37 = "FAILED_CP_REQUIRED",
    39 = "INVALID_SELECTORS",
    45 = "INVALID_GROUP_ID",
    46 = "AUTHORIZATION_FAILED",
    48 = "TS_MAX_QUEUE",
    49 = "REGISTRATION_FAILED",
    16394 = "ESP_TFC_PADDING_NOT_SUPPORTED",
    16396 = "MOBIKE_SUPPORTED",
    16401 = "COOKIE2",
    16404 = "MULTIPLE_AUTH_SUPPORTED",
    16406 = "REDIRECT_SUPPORTED",
    16407 = "REDIRECT",
    16408 = "REDIRECTED_FROM",
    16417 = "EAP_ONLY_AUTHENTICATION",
    16434 = "PUZZLE",
    16439 = "IP4_ALLOWED",
    16440 = "IP6_ALLOWED",
    16442 = "USE_AGGFRAG",
    16443 = "SUPPORTED_AUTH_METHODS",
    16444 = "SA_RESOURCE_INFO",
}

impl NotifyType {
    /// Returns true for errors, whose types are below 16384.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 < 16384
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_iana_and_others_none() {
        for (number, name) in [
            (1, "UNSUPPORTED_CRITICAL_PAYLOAD"),
            (16401, "COOKIE2"),
            (16441, "ADDITIONAL_KEY_EXCHANGE"),
        ] {
            assert_eq!(NotifyType(number).to_string(), name);
        }
        assert_eq!(NotifyType(40000).to_string(), "notify 40000");
    }
}
