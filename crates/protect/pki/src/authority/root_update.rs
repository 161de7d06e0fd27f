//! A root for those who know the one of before alone.
//!
//! RFC 9810, section 4.4, has three certificates for that: the next root itself (newWithNew), its
//! key signed by the root of before (newWithOld), and the other way round (oldWithNew). The last is
//! not made: an end that trusts only the next root must refuse certificates signed by the previous
//! root. That certificate is public, and presenting it would have them accepted again.

use rcgen::Issuer;

use super::Authority;
use super::init::{self, Made};
use crate::lifetime::{Validity, whole_seconds};
use crate::records::Role;
use crate::{Certificate, Error, Serial, profile};

/// A root that takes another's place.
#[derive(Debug, Clone)]
pub struct RootUpdate {
    /// The root (newWithNew).
    pub root: Certificate,
    /// Its key, signed by the root of before (newWithOld). None where that root has ended, or has no
    /// intermediate and so may have no authority below it (path length 0).
    pub by_old: Option<Certificate>,
}

impl Authority {
    /// The successor of a root, DER. None where it signs still and no other is published, or where
    /// it is not one of this authority.
    pub fn root_update(&self, old: &[u8]) -> Result<Option<RootUpdate>, Error> {
        let roots = || {
            self.own
                .iter()
                .map(|own| &own.entry)
                .filter(|own| own.role == Role::Root)
        };
        let old = roots().find(|own| own.certificate.der() == old);
        let Some(next) = old.and_then(|old| roots().find(|own| own.replaces == Some(old.serial))) else {
            return Ok(None);
        };
        Ok(Some(RootUpdate {
            root: next.certificate.clone(),
            by_old: self.records.new_with_old(next.serial)?,
        }))
    }

    /// Names and keys of the roots that relying parties are given, each signed by the root of before
    /// (newWithOld).
    pub fn cross_certificates(&self) -> Result<Vec<Certificate>, Error> {
        let mut found = Vec::new();
        for root in self.roots() {
            if let Some(serial) = root.serial() {
                found.extend(self.records.new_with_old(serial)?);
            }
        }
        Ok(found)
    }

    /// The next root's name and key, signed by the root that signs now. It ends with the first of
    /// the two.
    pub(super) fn new_with_old(&self, next: &Made) -> Result<Option<(Serial, Certificate)>, Error> {
        if self.intermediate.is_none() {
            return Ok(None);
        }
        let root = &next.entry.certificate;
        let validity = Validity {
            not_before: whole_seconds(root.not_before())?,
            not_after: root.ends().min(self.root.certificate.ends()),
        };
        if validity.not_after <= validity.not_before {
            return Ok(None);
        }
        let old = self.root_key()?;
        let serial = Serial::random()?;
        let key = next.key.public_key();
        let name = init::own_name("root", &next.key);
        let mut params = profile::authority(serial, &self.issuance, &name, key, validity, 1);
        params.use_authority_key_identifier_extension = true;
        let certificate = old.signing(|by| {
            let issuer = Issuer::from_ca_cert_der(&self.root.certificate.der().into(), by)?;
            params.signed_by(key, &issuer)
        })?;
        Ok(Some((serial, Certificate::from_der(certificate.der(), "newWithOld")?)))
    }
}
