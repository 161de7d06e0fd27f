//! Making an authority: all of it, or nothing.

use data_encoding::HEXLOWER;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::Issuer;
use rcgen::string::{Ia5String, PrintableString};
use time::OffsetDateTime;

use super::key::AuthorityKey;
use super::layout::Wholeness;
use super::{Authority, Layout, lists};
use crate::files::{self, Readers};
use crate::lifetime::whole_seconds;
use crate::profile::{self, Issuance};
use crate::records::{self, Entry, FILE, Origin, Phase, Records, Role, State};
use crate::{Algorithm, Certificate, Error, Lifetime, Passphrase, PrivateKey, Secrets, Serial, TokenSource};
use bartizan_ledger::state::Owner;

use keys::Prepared;

pub(super) mod keys;

bartizan_registry::made! {
    /// Properties of a new authority.
    #[derive(Debug, Clone)]
    pub struct InitOptions,
    /// A root of ten years without intermediate and without passphrase.
    pub new(algorithm: Algorithm) {
        /// Kind of the root's key, where one is made.
        pub algorithm: Algorithm,
        /// Source of the root's key.
        pub root_key: KeySource = KeySource::Fresh,
        /// Common name of the root; one with a part of the key's identifier in it where none is given.
        pub common_name: Option<String> = None,
        /// Organization in every subject.
        pub organization: Option<String> = Some("Bartizan".to_owned()),
        /// Country in every subject, two letters (ISO 3166).
        pub country: Option<String> = None,
        /// URL at which relying parties find the revocation list, for network functions' certificates.
        pub crl_url: Option<String> = None,
        /// Validity of the root.
        pub lifetime: Lifetime = Lifetime::Days(3650),
        /// The intermediate, if there shall be one.
        pub intermediate: Option<Intermediate> = None,
        /// Passphrase under which the private keys are written, and PIN of the token that holds them.
        pub secrets: Secrets = Secrets::default(),
    }
}

/// Source of a key of a new authority.
#[derive(Debug, Clone, Default)]
pub enum KeySource {
    /// It is made, and written to a file.
    #[default]
    Fresh,
    /// It exists; its kind counts then.
    File(Arc<PrivateKey>),
    /// It is in a token, or is made there.
    Token(Box<TokenSource>),
}

/// Properties of the intermediate of a new authority.
#[derive(Debug, Clone)]
pub struct Intermediate {
    /// Kind of its key, where one is made.
    pub algorithm: Algorithm,
    /// Source of its key.
    pub key: KeySource,
    /// Its validity.
    pub lifetime: Lifetime,
}

impl InitOptions {
    /// The same with an intermediate of five years.
    #[must_use]
    pub fn with_intermediate(mut self, algorithm: Algorithm) -> Self {
        self.intermediate = Some(Intermediate {
            algorithm,
            key: KeySource::Fresh,
            lifetime: Lifetime::Days(1825),
        });
        self
    }
}

/// One of the new authority's own certificates and its key.
pub(super) struct Made {
    pub(super) entry: Entry,
    pub(super) key: AuthorityKey,
}

impl Authority {
    /// Makes an authority in `dir`: keys, certificates, first revocation lists, records.
    ///
    /// A crash before the last step leaves no authority and one after it a whole one. The next
    /// attempt clears away the files that a crash left; nothing was issued by them.
    pub fn init(dir: &Path, options: InitOptions, now: SystemTime) -> Result<Self, Error> {
        let issuance = check(&options)?;
        let layout = Layout::new(dir);
        match layout.wholeness() {
            Wholeness::Empty | Wholeness::Partial => {}
            Wholeness::Whole | Wholeness::Complete => return Err(Error::AuthorityExists(dir.to_owned())),
            Wholeness::Damaged(file) => {
                return Err(Error::RecordsLost {
                    dir: dir.to_owned(),
                    file,
                });
            }
        }
        let secrets = options.secrets.clone();
        files::create_directory(dir)?;
        layout.require_safe(Owner::UserOrMaintained)?;
        {
            let _lock = layout.lock()?;
            // Another process may have made an authority while this one waited for the lock.
            if matches!(layout.wholeness(), Wholeness::Whole | Wholeness::Complete) {
                return Err(Error::AuthorityExists(dir.to_owned()));
            }
            make(&layout, options, &issuance, now)?;
            layout.move_into_place()?;
        }
        Self::open(dir, secrets, now)
    }
}

fn check(options: &InitOptions) -> Result<Issuance, Error> {
    let refuse = |what, value: &str, reason| Error::Name {
        what,
        value: value.chars().take(256).collect(),
        reason,
    };
    for (what, value) in [
        ("common name", &options.common_name),
        ("organization", &options.organization),
    ] {
        if let Some(value) = value {
            // RFC 5280, appendix A.1: ub-common-name and ub-organization-name are 64.
            if value.is_empty() || value.chars().count() > 64 || value.chars().any(char::is_control) {
                return Err(refuse(what, value, "not between 1 and 64 printable characters"));
            }
        }
    }
    if let Some(country) = &options.country
        && (country.len() != 2
            || !country.bytes().all(|b| b.is_ascii_uppercase())
            || PrintableString::try_from(country.as_str()).is_err())
    {
        return Err(refuse("country", country, "is not two capital letters"));
    }
    if let Some(url) = &options.crl_url {
        let plain = url.bytes().all(|b| b.is_ascii_graphic()) && Ia5String::try_from(url.as_str()).is_ok();
        if !plain || !(url.starts_with("http://") || url.starts_with("https://")) || url.len() > 2048 {
            return Err(refuse("URL", url, "is not http:// or https:// and printable"));
        }
    }
    Ok(Issuance {
        organization: options.organization.clone(),
        country: options.country.clone(),
        crl_url: options.crl_url.clone(),
    })
}

/// Makes everything in a directory of its own and says so by renaming it.
fn make(layout: &Layout, options: InitOptions, issuance: &Issuance, now: SystemTime) -> Result<(), Error> {
    let created = whole_seconds(now)?;
    let partial = layout.partial();
    let stage = Layout::new(&partial);
    let secrets = options.secrets;
    let passphrase = secrets.passphrase.as_ref();

    // Every token is asked whether it can do its part before one of them makes a key that would be left behind.
    let earlier = keys::clear(
        &stage,
        &options.root_key,
        options.intermediate.as_ref().map(|own| &own.key),
    )?;
    let root_key = Prepared::of(options.root_key, options.algorithm, &secrets, earlier.root)?;
    let intermediate = match options.intermediate {
        None => None,
        Some(own) => {
            let key = Prepared::of(own.key, own.algorithm, &secrets, earlier.intermediate)?;
            Some((key, own.lifetime))
        }
    };
    let root_key = root_key.key(&stage, Role::Root, &secrets)?;
    let intermediate = match intermediate {
        None => None,
        Some((key, lifetime)) => Some((key.key(&stage, Role::Intermediate, &secrets)?, lifetime)),
    };
    if let Some((key, _)) = &intermediate
        && key.public_key() == root_key.public_key()
    {
        return Err(Error::OneKey);
    }

    let root = make_root(
        root_key,
        options.lifetime,
        intermediate.is_some(),
        issuance,
        options.common_name,
        created,
        now,
    )?;
    write(&stage, &root, passphrase)?;
    let intermediate = match intermediate {
        None => None,
        Some((key, lifetime)) => {
            let made = make_intermediate(key, lifetime, &root, issuance, created, now)?;
            write(&stage, &made, passphrase)?;
            Some(made)
        }
    };

    let mut records = Records::create(&partial.join(FILE), issuance)?;
    let transaction = records.begin()?;
    records::insert(&transaction, &root.entry)?;
    records::set_phase(&transaction, root.entry.serial, Phase::Current, created)?;
    let mut pem = String::new();
    if let Some(intermediate) = &intermediate {
        records::insert(&transaction, &intermediate.entry)?;
        records::set_phase(&transaction, intermediate.entry.serial, Phase::Current, created)?;
        pem.push_str(&lists::sign_list(
            &transaction,
            &intermediate.entry,
            &intermediate.key,
            lists::DAYS,
            now,
        )?);
    }
    let days = if intermediate.is_some() {
        lists::ROOT_DAYS
    } else {
        lists::DAYS
    };
    pem.push_str(&lists::sign_list(&transaction, &root.entry, &root.key, days, now)?);
    transaction.commit()?;
    drop(records);
    files::write(&stage.lists(), pem.as_bytes(), Readers::Everybody)?;

    files::sync_directory(&partial)?;
    let complete = layout.complete();
    std::fs::rename(&partial, &complete).map_err(Error::file("rename the new authority to", &complete))?;
    files::sync_directory(&layout.dir)
}

pub(super) fn make_root(
    key: AuthorityKey,
    lifetime: Lifetime,
    with_intermediate: bool,
    issuance: &Issuance,
    common_name: Option<String>,
    created: OffsetDateTime,
    now: SystemTime,
) -> Result<Made, Error> {
    let serial = Serial::random()?;
    let common_name = common_name.unwrap_or_else(|| own_name("root", &key));
    let validity = lifetime.at(now)?;
    let path_length = u8::from(with_intermediate);
    let params = profile::authority(serial, issuance, &common_name, key.public_key(), validity, path_length);
    let certificate = key.signing(|key| params.self_signed(key))?;
    let entry = own_entry(Role::Root, serial, serial, created, certificate.der())?;
    Ok(Made { entry, key })
}

pub(super) fn make_intermediate(
    key: AuthorityKey,
    lifetime: Lifetime,
    root: &Made,
    issuance: &Issuance,
    created: OffsetDateTime,
    now: SystemTime,
) -> Result<Made, Error> {
    let serial = Serial::random()?;
    let common_name = own_name("intermediate", &key);
    let validity = lifetime.at(now)?.within_issuer(root.entry.certificate.ends())?;
    let mut params = profile::authority(serial, issuance, &common_name, key.public_key(), validity, 0);
    params.use_authority_key_identifier_extension = true;
    let certificate = root.key.signing(|by| {
        let issuer = Issuer::from_ca_cert_der(&root.entry.certificate.der().into(), by)?;
        params.signed_by(key.public_key(), &issuer)
    })?;
    let entry = own_entry(
        Role::Intermediate,
        serial,
        root.entry.serial,
        created,
        certificate.der(),
    )?;
    Ok(Made { entry, key })
}

/// Two authorities never share a name: path building by name would confuse them.
pub(super) fn own_name(role: &str, key: &AuthorityKey) -> String {
    let mark = HEXLOWER.encode(&key.public_key().identifier()[..4]);
    format!("Bartizan {role} {mark}")
}

fn own_entry(role: Role, serial: Serial, issuer: Serial, created: OffsetDateTime, der: &[u8]) -> Result<Entry, Error> {
    Ok(Entry {
        serial,
        role,
        issuer,
        name: role.name().to_owned(),
        origin: Origin::Generated,
        state: State::Issued,
        created,
        revoked: None,
        reason: None,
        destination: None,
        carries_key: false,
        replaces: None,
        certificate: Certificate::from_der(der, role.name())?,
    })
}

pub(super) fn write(stage: &Layout, made: &Made, passphrase: Option<&Passphrase>) -> Result<(), Error> {
    let key = made.key.file(passphrase)?;
    files::write(&stage.key(made.entry.role), key.as_bytes(), Readers::Owner)?;
    files::write(
        &stage.certificate(made.entry.role),
        made.entry.certificate.to_pem().as_bytes(),
        Readers::Everybody,
    )
}
