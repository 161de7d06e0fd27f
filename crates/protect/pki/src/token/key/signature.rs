//! Signatures and points as PKCS#11 gives them and as certificates have them.

use cryptoki::error::Error;
use pkcs8::der::asn1::{AnyRef, OctetStringRef, UintRef};
use pkcs8::der::{Decode, Encode, Tag};

use crate::Algorithm;

/// The signature of a certificate: for ECDSA Ecdsa-Sig-Value (RFC 5480, appendix A), of the two
/// halves that the token gives.
pub(super) fn encoded(algorithm: Algorithm, signature: Vec<u8>) -> Result<Vec<u8>, Error> {
    let size = match algorithm {
        Algorithm::EcdsaP256 => 32,
        Algorithm::EcdsaP384 => 48,
        _ => return Ok(signature),
    };
    if signature.len() != 2 * size {
        return Err(Error::InvalidValue);
    }
    let (r, s) = signature.split_at(size);
    let der = || {
        let mut integers = UintRef::new(r)?.to_der()?;
        integers.extend(UintRef::new(s)?.to_der()?);
        AnyRef::new(Tag::Sequence, &integers)?.to_der()
    };
    der().map_err(|_: pkcs8::der::Error| Error::InvalidValue)
}

/// The bit string of a SubjectPublicKeyInfo, from CKA_EC_POINT: an octet string around it, which
/// some modules leave out.
pub(super) fn point(algorithm: Algorithm, attribute: &[u8]) -> Option<&[u8]> {
    let size = match algorithm {
        Algorithm::EcdsaP256 => 65,
        Algorithm::EcdsaP384 => 97,
        Algorithm::Ed25519 => 32,
        _ => return None,
    };
    if attribute.len() == size {
        return Some(attribute);
    }
    let inner = <&OctetStringRef>::from_der(attribute).ok()?.as_bytes();
    (inner.len() == size).then_some(inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_with_zeros_or_a_high_bit_in_front_are_integers() {
        let mut halves = vec![0; 64];
        halves[31] = 5;
        halves[32] = 0x80;
        let der = encoded(Algorithm::EcdsaP256, halves).unwrap();
        assert_eq!(&der[..8], [0x30, 0x26, 0x02, 0x01, 0x05, 0x02, 0x21, 0x00]);
        assert!(encoded(Algorithm::EcdsaP256, vec![1; 63]).is_err());
        assert_eq!(encoded(Algorithm::Ed25519, vec![1; 64]).unwrap(), [1; 64]);
    }

    #[test]
    fn a_point_is_read_with_and_without_its_octet_string() {
        let raw = [4; 65];
        let der = [&[0x04, 0x41][..], &raw].concat();
        assert_eq!(point(Algorithm::EcdsaP256, &raw), Some(&raw[..]));
        assert_eq!(point(Algorithm::EcdsaP256, &der), Some(&raw[..]));
        assert_eq!(point(Algorithm::EcdsaP384, &der), None);
    }

    proptest! {
        #[test]
        fn any_octets_are_a_point_or_none(octets in proptest::collection::vec(any::<u8>(), 0..120)) {
            for algorithm in Algorithm::ALL {
                let _ = point(algorithm, &octets);
                let _ = encoded(algorithm, octets.clone());
            }
        }

        #[test]
        fn any_halves_are_encoded_as_der(halves in proptest::collection::vec(any::<u8>(), 96)) {
            let der = encoded(Algorithm::EcdsaP384, halves).unwrap();
            prop_assert!(AnyRef::from_der(&der).is_ok());
        }
    }
}
