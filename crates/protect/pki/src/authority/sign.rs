//! Signing a request: the requester keeps its key.

use std::time::SystemTime;

use super::issue::Order;
use super::{Authority, Destination, Issued, deliver};
use crate::records::Origin;
use crate::{AlternativeName, Error, Lifetime, Name, NfType, Profile, SigningRequest};

/// Contents of the certificate for a request.
#[derive(Debug, Clone)]
pub struct Signing {
    /// Common name, and stem of the files.
    pub name: Name,
    /// Subject alternative names given by the authority's user.
    pub names: Vec<AlternativeName>,
    /// True if the request's own names are taken too: one that cannot stand in a certificate refuses
    /// the request. No other extension of a request is ever taken.
    pub accept_names: bool,
    /// Types of the network function (RFC 9310).
    pub functions: Vec<NfType>,
    /// Profile of the certificate.
    pub profile: Profile,
    /// Validity.
    pub lifetime: Lifetime,
    /// True if it may be valid for longer than a year.
    pub long_life: bool,
}

impl Authority {
    /// Signs a request; the certificate is recorded and in memory.
    pub fn sign(&mut self, request: &SigningRequest, signing: &Signing, now: SystemTime) -> Result<Issued, Error> {
        self.sign_request(request, signing, None, now)
    }

    /// Signs a request and writes `NAME.crt.pem` and `ca.crt.pem`.
    ///
    /// The next opening writes what a crash between prevents: the record holds the certificate.
    pub fn sign_to(
        &mut self,
        request: &SigningRequest,
        signing: &Signing,
        destination: &Destination,
        now: SystemTime,
    ) -> Result<Issued, Error> {
        self.sign_request(request, signing, Some(destination), now)
    }

    fn sign_request(
        &mut self,
        request: &SigningRequest,
        signing: &Signing,
        destination: Option<&Destination>,
        now: SystemTime,
    ) -> Result<Issued, Error> {
        let mut names = signing.names.clone();
        if signing.accept_names {
            if let Some(reason) = request.unusable_names().first() {
                return Err(Error::Request(format!("a name in it cannot be certified: {reason}")));
            }
            for name in request.names() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        let order = Order {
            name: signing.name.as_str(),
            names: &names,
            functions: &signing.functions,
            profile: signing.profile,
            key: request.public_key(),
            lifetime: signing.lifetime,
            long_life: signing.long_life,
            origin: Origin::Request,
            carries_key: false,
            replaces: None,
        };
        let entry = self.certify(&order, destination, now)?;
        let issued = self.issued(&entry, None);
        match destination {
            None => self.record(&entry)?,
            Some(destination) => {
                deliver::check(destination, &issued, None)?;
                self.record_and_deliver(entry, &issued, destination, now)?;
            }
        }
        self.keep_list_fresh(now)?;
        Ok(issued)
    }
}
