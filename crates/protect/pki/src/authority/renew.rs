//! A new certificate for the same names.

use std::time::SystemTime;

use super::issue::Order;
use super::{Authority, Destination, Issued, deliver};
use crate::records::{Entry, Origin, Reason, Role};
use crate::{AlternativeName, Error, Lifetime, NfType, PrivateKey};

/// Parameters of a renewal.
#[derive(Debug, Clone)]
pub struct Renewal {
    /// True if the new certificate is for the key of the old one, which its holder keeps; else it is
    /// for a fresh one of the same kind, where the authority made the old one.
    pub same_key: bool,
    /// True if the old certificate is revoked as superseded once the new one's files are written;
    /// else both can be in use during a change.
    pub revoke_previous: bool,
    /// Validity of the new certificate.
    pub lifetime: Lifetime,
    /// True if it may be valid for longer than a year.
    pub long_life: bool,
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
        if old.origin == Origin::Request && !renewal.same_key {
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
        let key = match renewal.same_key {
            false => Some(PrivateKey::generate(old.certificate.algorithm())?),
            true => None,
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
        if renewal.revoke_previous {
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
