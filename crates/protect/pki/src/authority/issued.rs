//! An issued certificate, and the roots next to it.

use std::path::Path;

use zeroize::Zeroizing;

use super::{Destination, Overwrite, deliver};
use crate::files::Access;
use crate::records::{Entry, Own, Phase, Role};
use crate::{Certificate, Error, Name, PrivateKey, Serial};

bartizan_registry::made! {
    /// An issued certificate with what its user needs next to it.
    #[derive(Debug)]
    pub struct Issued, pub(crate) without_key(entry: &Entry, between: Vec<Certificate>, trusted: Trusted) {
        /// The name it was issued under.
        pub name: String = entry.name.clone(),
        /// Its serial number.
        pub serial: Serial = entry.serial,
        /// The certificate itself.
        pub certificate: Certificate = entry.certificate.clone(),
        /// The certificates above it, but for the root.
        pub between: Vec<Certificate>,
        pub(super) trusted: Trusted,
        /// The private key; none where the requester has it.
        pub key: Option<PrivateKey> = None,
        pub(super) foreign: Foreign = Foreign::InTheWay,
    }
}

/// Roots of other authorities in the file of roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// They are in the way of a first certificate, and go where files are overwritten.
    InTheWay,
    /// A renewal keeps them.
    Kept,
}

bartizan_registry::made! {
    /// The roots that relying parties are given.
    #[derive(Debug, Clone)]
    pub(crate) struct Trusted, pub(crate) of(own: &[Own]) {
        let of = |wanted: &[Phase]| -> Vec<Certificate> {
            let roots = own.iter().filter(|own| own.entry.role == Role::Root);
            let roots = wanted
                .iter()
                .flat_map(|phase| roots.clone().filter(move |own| own.phase == *phase));
            roots.map(|own| own.entry.certificate.clone()).collect()
        };
        /// The one that signs first, then the others: the next one, and those of before whose certificates are in use.
        pub(crate) roots: Vec<Certificate> = of(&[Phase::Current, Phase::Next, Phase::Previous]),
        /// Those that were given before.
        retired: Vec<Certificate> = of(&[Phase::Retired]),
    }
}

impl Trusted {
    fn received(roots: Vec<Certificate>) -> Self {
        Self {
            roots,
            retired: Vec::new(),
        }
    }

    /// PEM.
    pub(crate) fn pem(&self) -> String {
        self.roots.iter().map(Certificate::to_pem).collect()
    }

    /// Certificates of a text that are none of these, nor of those that were given before.
    pub(super) fn foreign(&self, text: &[u8]) -> Vec<pem::Pem> {
        let ours = |der: &[u8]| self.roots.iter().chain(&self.retired).any(|own| own.der() == der);
        let mut found = pem::parse_many(text).unwrap_or_default();
        found.retain(|one| one.tag() == "CERTIFICATE" && !ours(one.contents()));
        found
    }
}

/// Subjects of certificates of any authority.
pub(super) fn subjects(certificates: &[pem::Pem]) -> Vec<String> {
    let subject = |one: &pem::Pem| match x509_parser::parse_x509_certificate(one.contents()) {
        Ok((_, certificate)) => certificate.subject().to_string(),
        Err(_) => "a certificate that cannot be read".to_owned(),
    };
    certificates.iter().map(subject).collect()
}

impl Issued {
    /// A certificate that an authority elsewhere issued for a key that is here, to be written like
    /// one that is issued here.
    pub fn received(
        name: &Name,
        chain: &[Certificate],
        roots: Vec<Certificate>,
        key: PrivateKey,
    ) -> Result<Self, Error> {
        let mismatch = || Error::Certificate {
            place: name.as_str().to_owned(),
            reason: "the certificate is not that of the key".to_owned(),
        };
        let (certificate, between) = chain.split_first().ok_or_else(mismatch)?;
        if certificate.public_key() != key.public_key() {
            return Err(mismatch());
        }
        Ok(Self {
            name: name.as_str().to_owned(),
            // It names hidden files alone where the other authority numbers in another way.
            serial: certificate.serial().map_or_else(Serial::random, Ok)?,
            certificate: certificate.clone(),
            between: between.to_vec(),
            trusted: Trusted::received(roots),
            key: Some(key),
            foreign: Foreign::InTheWay,
        })
    }

    /// The same in the place of a certificate that the authority has renewed: roots of other
    /// authorities stay. `given` are those that this authority gave before.
    #[must_use]
    pub fn renewing(mut self, given: Vec<Certificate>) -> Self {
        (self.trusted.retired, self.foreign) = (given, Foreign::Kept);
        self
    }

    /// All roots that the authority has given, PEM.
    pub(crate) fn given_pem(&self) -> String {
        let Trusted { roots, retired } = &self.trusted;
        let before = retired
            .iter()
            .filter(|known| roots.iter().all(|root| root.der() != known.der()));
        roots.iter().chain(before).map(Certificate::to_pem).collect()
    }

    /// The roots that relying parties are given, the one that signs first.
    pub fn roots(&self) -> &[Certificate] {
        &self.trusted.roots
    }

    /// Leaf, then intermediates, without the root: what a TLS peer sends. PEM.
    pub fn chain_pem(&self) -> String {
        deliver::chain_pem(&self.certificate, &self.between)
    }

    /// The private key, PEM; none where the requester has it.
    pub fn key_pem(&self) -> Option<Zeroizing<String>> {
        self.key.as_ref().map(PrivateKey::to_pem)
    }

    /// The roots that relying parties are given, PEM.
    pub fn root_pem(&self) -> String {
        self.trusted.pem()
    }

    /// Contents of a file of roots that takes this one's place, PEM.
    pub(super) fn roots_next_to(&self, present: &[u8]) -> String {
        let mut roots = self.root_pem();
        if self.foreign == Foreign::Kept {
            for root in self.trusted.foreign(present) {
                roots.push_str(&crate::certificate::to_pem("CERTIFICATE", root.contents()));
            }
        }
        roots
    }

    /// Subjects of roots of other authorities in the `ca.crt.pem` of a directory, which a renewal has kept.
    pub fn foreign_roots(&self, dir: &Path) -> Result<Vec<String>, Error> {
        let present = deliver::roots_in(dir)?.unwrap_or_default();
        Ok(subjects(&self.trusted.foreign(&present)))
    }

    /// Writes `NAME.crt.pem`, `NAME.key.pem` (0600) where the key is here, and `ca.crt.pem` to a directory.
    ///
    /// A crash half-way is not taken up later; [`Authority::issue_to`](crate::Authority::issue_to) is for that.
    pub fn write_to(&self, dir: &Path, overwrite: Overwrite) -> Result<(), Error> {
        self.write_as(dir, overwrite, Access::default())
    }

    pub(crate) fn write_as(&self, dir: &Path, overwrite: Overwrite, access: Access) -> Result<(), Error> {
        let destination = Destination {
            overwrite,
            access,
            ..Destination::new(dir)
        };
        deliver::check(&destination, self, None)?;
        deliver::write(dir, self, destination.access)
    }
}
