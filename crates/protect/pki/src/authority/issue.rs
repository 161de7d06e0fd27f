//! Issuing a network function's or an IPsec endpoint's certificate with a key made here.

use std::time::{Duration, SystemTime};

use rcgen::Issuer;

use super::issued::{Foreign, Issued};
use super::{Authority, Destination, deliver};
use crate::lifetime::{Validity, whole_seconds};
use crate::profile::MOST_NF_TYPES;
use crate::records::{self, Entry, Origin, Reason, Role, State};
use crate::{
    Algorithm, AlternativeName, Certificate, Error, Lifetime, Name, NfType, PrivateKey, Profile, PublicKey, Serial,
    profile,
};

const DAY: Duration = Duration::from_secs(86_400);
/// Most subject alternative names one certificate may carry.
const MOST_NAMES: usize = 100;

bartizan_registry::made! {
    /// Contents of a certificate of a network function or IPsec endpoint.
    #[derive(Debug, Clone)]
    #[must_use]
    pub struct Leaf,
    /// A certificate of ninety days, without names yet.
    pub new(name: &str) -> Result<Self, Error> {
        /// Common name, and stem of the files.
        pub name: Name = name.parse()?,
        /// Subject alternative names; at least one.
        pub names: Vec<AlternativeName> = Vec::new(),
        /// Types of the network function (RFC 9310), if they shall be in the certificate.
        pub functions: Vec<NfType> = Vec::new(),
        /// Its profile.
        pub profile: Profile = Profile::default(),
        /// Kind of the key; the issuer's where none is given.
        pub algorithm: Option<Algorithm> = None,
        /// Validity.
        pub lifetime: Lifetime = Lifetime::Days(Self::DAYS),
        /// True if it may be valid for longer than a year.
        pub long_life: bool = false,
    }
}

impl Leaf {
    /// Validity where none is given, in days.
    pub const DAYS: u32 = 90;

    /// Adds a DNS name.
    pub fn dns(mut self, name: &str) -> Result<Self, Error> {
        self.names.push(AlternativeName::dns(name)?);
        Ok(self)
    }

    /// Adds an address.
    pub fn ip(mut self, address: &str) -> Result<Self, Error> {
        self.names.push(AlternativeName::ip(address)?);
        Ok(self)
    }

    /// Adds a URI, such as `urn:uuid:` with the NF instance identifier.
    pub fn uri(mut self, uri: &str) -> Result<Self, Error> {
        self.names.push(AlternativeName::uri(uri)?);
        Ok(self)
    }

    /// Sets what it is for.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets the kind of the key.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = Some(algorithm);
        self
    }

    /// Sets the validity; a certificate that has ended already can be made so.
    pub fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }
}

/// A certificate to be signed, all of it decided.
pub(super) struct Order<'a> {
    pub(super) name: &'a str,
    pub(super) names: &'a [AlternativeName],
    pub(super) functions: &'a [NfType],
    pub(super) profile: Profile,
    pub(super) key: &'a PublicKey,
    pub(super) lifetime: Lifetime,
    pub(super) long_life: bool,
    pub(super) origin: Origin,
    pub(super) carries_key: bool,
    pub(super) replaces: Option<Serial>,
}

impl Authority {
    /// Issues a certificate with a fresh key and keeps no copy of the key.
    ///
    /// The caller has the only one: where it must survive a crash, use [`Authority::issue_to`].
    pub fn issue(&mut self, leaf: &Leaf, now: SystemTime) -> Result<Issued, Error> {
        let key = self.fresh_key(leaf)?;
        let entry = self.certify(&order(leaf, &key), None, now)?;
        self.record(&entry)?;
        self.keep_list_fresh(now)?;
        Ok(self.issued(&entry, Some(key)))
    }

    /// Refuses a name for which so many certificates were issued within a day.
    pub fn require_fewer_a_day(&self, name: &Name, most: u64, now: SystemTime) -> Result<(), Error> {
        let at = whole_seconds(now)?;
        if self.records.issued(name.as_str(), at - DAY, at)? < most {
            return Ok(());
        }
        Err(Error::TooManyUpdates {
            name: name.as_str().to_owned(),
            most,
        })
    }

    /// Issues a certificate with a fresh key and writes the files; a crash between is taken up by the next opening.
    pub fn issue_to(&mut self, leaf: &Leaf, destination: &Destination, now: SystemTime) -> Result<Issued, Error> {
        let key = self.fresh_key(leaf)?;
        let entry = self.certify(&order(leaf, &key), Some(destination), now)?;
        let issued = self.issued(&entry, Some(key));
        deliver::check(destination, &issued, None)?;
        self.record_and_deliver(entry, &issued, destination, now)?;
        self.keep_list_fresh(now)?;
        Ok(issued)
    }

    fn fresh_key(&self, leaf: &Leaf) -> Result<PrivateKey, Error> {
        let algorithm = leaf.algorithm.unwrap_or(self.key.algorithm());
        // Released strongSwan cannot use such a key: it is made where it is asked for by name.
        if leaf.profile == Profile::Ipsec && leaf.algorithm.is_none() && algorithm.is_quantum_safe() {
            let root = self.root.certificate.algorithm();
            return Err(match root.is_quantum_safe() {
                true => Error::NotForIpsec {
                    what: "the root's key",
                    algorithm: root,
                },
                false => Error::NotForIpsec {
                    what: "the authority's key",
                    algorithm,
                },
            });
        }
        PrivateKey::generate(algorithm)
    }

    /// Signs a certificate; it is nowhere yet but in memory. With a destination it is pending until
    /// its files are there.
    pub(super) fn certify(
        &self,
        order: &Order<'_>,
        destination: Option<&Destination>,
        now: SystemTime,
    ) -> Result<Entry, Error> {
        if order.names.is_empty() {
            return Err(Error::NoNames);
        }
        if order.names.len() > MOST_NAMES || order.functions.len() > MOST_NF_TYPES {
            return Err(Error::TooManyNames {
                names: MOST_NAMES,
                functions: MOST_NF_TYPES,
            });
        }
        if order.profile == Profile::Ipsec {
            self.check_ipsec(order)?;
        }
        let issuer = self.issuing();
        if issuer.revoked.is_some() {
            return Err(Error::Unsuitable {
                serial: issuer.serial,
                reason: "this issuer is revoked: nobody would accept what it signs",
            });
        }
        self.require_free_key(order)?;
        let validity: Validity = order
            .lifetime
            .at(now)?
            .within_a_year(order.long_life)?
            .within_issuer(issuer.certificate.ends())?;
        let serial = Serial::random()?;
        let mut issuance = self.issuance.clone();
        issuance.crl_url = self.list_url(issuer);
        let params = profile::leaf(
            order.profile,
            serial,
            &issuance,
            order.name,
            order.key,
            validity,
            order.names,
            order.functions,
        )?;
        let certificate = self.key.signing(|key| {
            let signer = Issuer::from_ca_cert_der(&issuer.certificate.der().into(), key)?;
            params.signed_by(order.key, &signer)
        })?;
        Ok(Entry {
            serial,
            role: Role::NetworkFunction,
            issuer: issuer.serial,
            name: order.name.to_owned(),
            origin: order.origin,
            state: if destination.is_some() {
                State::Pending
            } else {
                State::Issued
            },
            created: whole_seconds(now)?,
            revoked: None,
            reason: None,
            destination: destination.map(Destination::recorded).transpose()?,
            carries_key: order.carries_key,
            replaces: order.replaces,
            certificate: Certificate::from_der(certificate.der(), order.name)?,
        })
    }

    /// Refuses a key that was revoked, or that is certified under another name: a recorded request
    /// for it may come from an attacker. A certificate that its receiver refused, or that another one
    /// for the same key has superseded, does not count against the key.
    fn require_free_key(&self, order: &Order<'_>) -> Result<(), Error> {
        let known = self.records.by_key(order.key)?;
        let in_use = known.iter().any(|entry| entry.state == State::Issued);
        for entry in &known {
            let is_superseded = in_use && entry.reason == Some(Reason::Superseded);
            if entry.state == State::Revoked && !is_superseded {
                return Err(Error::RevokedKey(entry.serial));
            }
            if entry.role != Role::NetworkFunction || entry.name != order.name {
                return Err(Error::KeyOfAnother(entry.serial));
            }
        }
        Ok(())
    }

    /// Checks that IKE peers can use such a certificate: every key on the way to the root, and the
    /// names. Keys are of one kind: a chain is as strong as its weakest signature.
    fn check_ipsec(&self, order: &Order<'_>) -> Result<(), Error> {
        let keys = [
            ("the root's key", self.root.certificate.algorithm()),
            ("the authority's key", self.key.algorithm()),
            ("the endpoint's key", order.key.algorithm()),
        ];
        let strong = |(_, algorithm): &(&str, Algorithm)| algorithm.is_quantum_safe();
        if !keys.iter().all(strong)
            && let Some((what, algorithm)) = keys.into_iter().find(strong)
        {
            return Err(Error::NotForIpsec { what, algorithm });
        }
        let for_ike = |name: &AlternativeName| !matches!(name, AlternativeName::Uri(_));
        if order.names.iter().any(for_ike) {
            Ok(())
        } else {
            Err(Error::NoIkeName)
        }
    }

    /// Records a certificate: from here on it is never lost, whichever process dies.
    pub(super) fn record(&mut self, entry: &Entry) -> Result<(), Error> {
        let transaction = self.records.begin()?;
        records::insert(&transaction, entry)?;
        transaction.commit()?;
        Ok(())
    }

    pub(super) fn issued(&self, entry: &Entry, key: Option<PrivateKey>) -> Issued {
        Issued {
            name: entry.name.clone(),
            serial: entry.serial,
            certificate: entry.certificate.clone(),
            between: self.between(entry),
            trusted: self.trusted(),
            key,
            foreign: match entry.replaces {
                None => Foreign::InTheWay,
                Some(_) => Foreign::Kept,
            },
        }
    }
}

fn order<'a>(leaf: &'a Leaf, key: &'a PrivateKey) -> Order<'a> {
    Order {
        name: leaf.name.as_str(),
        names: &leaf.names,
        functions: &leaf.functions,
        profile: leaf.profile,
        key: key.public_key(),
        lifetime: leaf.lifetime,
        long_life: leaf.long_life,
        origin: Origin::Generated,
        carries_key: true,
        replaces: None,
    }
}
