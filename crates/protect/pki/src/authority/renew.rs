//! A new certificate for the same names.

use std::time::SystemTime;

use super::issue::Order;
use super::{Authority, Destination, Issued, deliver};
use crate::records::{Entry, Origin, Reason, Role};
use crate::{AlternativeName, Error, Lifetime, LongLife, NfType, PrivateKey};

/// Parameters of a renewal.
#[derive(Debug, Clone)]
pub struct Renewal {
    /// The key that the new certificate is for.
    pub key: RenewalKey,
    /// Fate of the old certificate.
    pub previous: Previous,
    /// Validity of the new certificate.
    pub lifetime: Lifetime,
    /// Permission of a validity longer than a year.
    pub long_life: LongLife,
}

/// The key of a renewed certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RenewalKey {
    /// A fresh one of the same kind; only for certificates whose key was made by the authority.
    #[default]
    New,
    /// The one the old certificate certifies, which its holder keeps.
    Same,
}

/// Fate of a renewed certificate's predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Previous {
    /// It stays valid until its end, so that both can be in use during a change.
    #[default]
    Keep,
    /// It is revoked as superseded once the new one's files are written.
    Revoke,
}

impl Authority {
    /// Issues a certificate with the names of an older one, by serial number or by name: the newest in use then.
    ///
    /// With a destination its files are written; those of the old certificate may be replaced there.
    pub fn renew(
        &mut self,
        serial_or_name: &str,
        renewal: &Renewal,
        destination: Option<&Destination>,
        now: SystemTime,
    ) -> Result<Issued, Error> {
        let old = self.newest_in_use(serial_or_name)?;
        let unsuitable = |reason| Error::Unsuitable {
            serial: old.serial,
            reason,
        };
        if old.role != Role::NetworkFunction {
            return Err(unsuitable("only network functions' certificates are renewed"));
        }
        if old.revoked.is_some() {
            return Err(unsuitable("it is revoked; issue a new one"));
        }
        if old.origin == Origin::Request && renewal.key == RenewalKey::New {
            return Err(unsuitable(
                "its key is the requester's; sign a new request, or keep the key",
            ));
        }
        let names: Vec<AlternativeName> = old
            .certificate
            .names()
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_, _>>()?;
        let functions: Vec<NfType> = old
            .certificate
            .functions()
            .iter()
            .map(|function| function.parse())
            .collect::<Result<_, _>>()?;
        let key = match renewal.key {
            RenewalKey::New => Some(PrivateKey::generate(old.certificate.algorithm())?),
            RenewalKey::Same => None,
        };
        let order = Order {
            name: &old.name,
            names: &names,
            functions: &functions,
            profile: old.certificate.profile(),
            key: key
                .as_ref()
                .map_or(old.certificate.public_key(), PrivateKey::public_key),
            lifetime: renewal.lifetime,
            long_life: renewal.long_life,
            origin: old.origin,
            carries_key: key.is_some(),
            replaces: Some(old.serial),
        };
        let entry = self.certify(&order, destination, now)?;
        let issued = self.issued(&entry, key);
        match destination {
            None => self.record(&entry)?,
            Some(destination) => {
                deliver::check(destination, &issued, Some(&old.certificate))?;
                self.record_and_deliver(entry, &issued, destination, now)?;
            }
        }
        if renewal.previous == Previous::Revoke {
            self.revoke_entry(old, Reason::Superseded, now)?;
        }
        self.keep_list_fresh(now)?;
        Ok(issued)
    }

    /// The certificate with this serial number, or the newest with this name that is not revoked.
    fn newest_in_use(&self, serial_or_name: &str) -> Result<Entry, Error> {
        let newest = self
            .records
            .by_name(serial_or_name)?
            .into_iter()
            .rev()
            .find(|entry| entry.revoked.is_none());
        match newest {
            Some(entry) => Ok(entry),
            None => self.in_use(serial_or_name),
        }
    }
}
