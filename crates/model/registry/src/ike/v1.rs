//! Ciphers and proofs of IKEv1 (RFC 2409, appendix A; IANA, ipsec-registry). Its groups have the
//! numbers of IKEv2's, and a few of their own that are out of use.

use crate::Safety;
use crate::row::safety;

/// A number of one of IKEv1's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ikev1Value {
    /// On the wire.
    pub id: u16,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Safety of a cipher from an attacker who records today, or of a proof from one who forges;
    /// none where a key that both ends share decides.
    pub safety: Option<Safety>,
}

macro_rules! values {
    ($($id:literal $name:literal $safety:tt;)*) => {
        &[$(Ikev1Value { id: $id, name: $name, safety: safety!($safety) }),*]
    };
}

/// Ciphers of phase 1.
pub static IKEV1_CIPHERS: &[Ikev1Value] = values! {
    1 "DES-CBC"          broken;
    2 "IDEA-CBC"         broken;
    3 "Blowfish-CBC"     broken;
    4 "RC5-R16-B64-CBC"  broken;
    5 "3DES-CBC"         broken;
    6 "CAST-CBC"         broken;
    7 "AES-CBC"          safe;
    8 "CAMELLIA-CBC"     safe;
};

/// Authentication methods of phase 1.
pub static IKEV1_AUTHENTICATION: &[Ikev1Value] = values! {
        1 "pre-shared key"                   -;
        2 "DSS signatures"                   broken;
        3 "RSA signatures"                   broken;
        4 "encryption with RSA"              broken;
        5 "revised encryption with RSA"      broken;
        9 "ECDSA with SHA-256 on P-256"      broken;
       10 "ECDSA with SHA-384 on P-384"      broken;
       11 "ECDSA with SHA-512 on P-521"      broken;
    64221 "hybrid, RSA of the responder"     broken;
    64222 "hybrid, RSA of the initiator"     broken;
    64223 "hybrid, DSS of the responder"     broken;
    64224 "hybrid, DSS of the initiator"     broken;
    65001 "XAUTH with a pre-shared key"      -;
    65002 "XAUTH with a pre-shared key"      -;
    65003 "XAUTH with DSS signatures"        broken;
    65004 "XAUTH with DSS signatures"        broken;
    65005 "XAUTH with RSA signatures"        broken;
    65006 "XAUTH with RSA signatures"        broken;
    65007 "XAUTH, encryption with RSA"       broken;
    65008 "XAUTH, encryption with RSA"       broken;
    65009 "XAUTH, revised encryption with RSA" broken;
    65010 "XAUTH, revised encryption with RSA" broken;
};

/// The row with this number.
pub fn ikev1_value(table: &'static [Ikev1Value], id: u16) -> Option<&'static Ikev1Value> {
    table.iter().find(|known| known.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_once_and_the_tables_in_order() {
        for table in [IKEV1_CIPHERS, IKEV1_AUTHENTICATION] {
            assert!(table.windows(2).all(|pair| pair[0].id < pair[1].id));
        }
        assert_eq!(ikev1_value(IKEV1_CIPHERS, 5).map(|known| known.name), Some("3DES-CBC"));
        assert_eq!(
            ikev1_value(IKEV1_AUTHENTICATION, 1).map(|known| known.safety),
            Some(None)
        );
    }
}
