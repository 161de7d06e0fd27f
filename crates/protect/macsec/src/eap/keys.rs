//! From EAP-TLS to the CAK of MKA (IEEE 802.1X-2010, clause 6.2.2).
//!
//! The MSK of EAP-TLS 1.3 is the first 64 octets of the exporter with the label `EXPORTER_EAP_TLS_Key_Material` and the type as context, and its
//! Session-Id the type with 64 octets of the exporter with the label `EXPORTER_EAP_TLS_Method-Id` (RFC 9190, section 2.3). CAK and CKN have 128
//! bits, of the first 16 octets of the MSK: wpa_supplicant derives no others.

use aws_lc_rs::cmac;
use bartizan_tls::Refused;
use bartizan_wire::eap::EAP_TLS;
use zeroize::Zeroizing;

use crate::mka::{CKN, Cak};
use crate::tls::Tls;

/// Octets of the CAK, of the key that it is derived from, and of what AES-CMAC gives.
const KEY: usize = 16;
/// Octets of the first exporter: MSK and EMSK. The EMSK is of no use here, but the length is a part of what is derived.
const KEY_MATERIAL: usize = 128;
const METHOD_ID: usize = 64;

/// The CAK of a handshake that has ended, between the ports of these addresses.
pub(super) fn cak(tls: &Tls, ports: [[u8; 6]; 2]) -> Result<Cak, Box<Refused>> {
    let mut material = Zeroizing::new([0; KEY_MATERIAL]);
    tls.export(material.as_mut_slice(), b"EXPORTER_EAP_TLS_Key_Material", &[EAP_TLS])?;
    let mut method = [0; METHOD_ID];
    tls.export(&mut method, b"EXPORTER_EAP_TLS_Method-Id", &[EAP_TLS])?;
    let session = [&[EAP_TLS][..], &method].concat();
    let mut msk = Zeroizing::new([0; KEY]);
    msk.copy_from_slice(&material[..KEY]);
    derived(&msk, &session, ports).ok_or_else(|| tls.refused(rustls::Error::General("AES-CMAC failed".into())))
}

/// CAK and CKN of the first octets of an MSK, a Session-Id and both addresses.
fn derived(msk: &Zeroizing<[u8; KEY]>, session: &[u8], ports: [[u8; 6]; 2]) -> Option<Cak> {
    let [mut lower, mut higher] = ports;
    if lower > higher {
        std::mem::swap(&mut lower, &mut higher);
    }
    let addresses = [lower, higher].concat();
    let cak = kdf(msk, b"IEEE8021 EAP CAK", &addresses)?;
    let ckn = kdf(msk, b"IEEE8021 EAP CKN", &[session, &addresses].concat())?;
    Some(Cak::of(&cak, *ckn.first_chunk::<CKN>()?))
}

/// The key derivation function of clause 6.2.1 with AES-CMAC, for 128 bits: one block, with the number of it, the label, a zero, the context, and
/// how many bits there shall be.
fn kdf(key: &Zeroizing<[u8; KEY]>, label: &[u8], context: &[u8]) -> Option<Zeroizing<[u8; KEY]>> {
    let key = cmac::Key::new(cmac::AES_128, key.as_slice()).ok()?;
    let block = [&[1][..], label, &[0], context, &(8 * KEY as u16).to_be_bytes()].concat();
    let tag = cmac::sign(&key, &block).ok()?;
    let mut derived = Zeroizing::new([0; KEY]);
    derived.copy_from_slice(tag.as_ref().get(..KEY)?);
    Some(derived)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `openssl mac` for the same blocks.
    #[test]
    fn cak_and_its_name_are_aes_cmac_of_the_blocks_of_the_standard() {
        let msk = Zeroizing::new([7; KEY]);
        let cak = derived(&msk, b"session", [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]]).unwrap();
        assert_eq!(*cak.digits, "3cb3ef93000a4354d10fe421b8641745");
        assert_eq!(cak.ckn.to_string(), "0b3bb77955de72f6aef0589849463e20");
    }

    #[test]
    fn both_ends_derive_the_same_and_another_session_or_address_gives_another() {
        let msk = Zeroizing::new([7; KEY]);
        let (one, other) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let cak = |session: &[u8], ports| derived(&msk, session, ports).unwrap();
        let ours = cak(b"session", [one, other]);
        assert_eq!(cak(b"session", [other, one]), ours);
        assert_eq!(ours.digits.len(), 2 * KEY);
        // The CAK is bound to the addresses, its name to the session as well.
        let another = cak(b"another", [one, other]);
        assert_eq!((&another.digits, another.ckn != ours.ckn), (&ours.digits, true));
        assert_ne!(&cak(b"session", [one, [2; 6]]).digits, &ours.digits);
    }
}
