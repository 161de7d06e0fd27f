//! Enrolment: invitations by which a function that proves to know a secret gets its first
//! certificate, and the update of a certificate to a new key by who holds the old one.
//!
//! The contents of the certificate are decided when the invitation is made, not by the request. The
//! first key that comes with the secret is the invitation's: the same key gets the same certificate
//! again, as often as an answer is lost, and another key gets nothing.

use std::fmt;
use std::time::{Duration, SystemTime};

use data_encoding::BASE32_NOPAD;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::issue::Order;
use super::{Authority, Issued};
use crate::lifetime::whole_seconds;
use crate::records::{self, Entry, Origin, Records, Role, State, Stored};
use crate::{AlternativeName, Error, ForeignCertificate, Lifetime, Name, NfType, Profile, PublicKey, Serial};

/// Octets of a secret: it cannot be guessed, with or without a recording of a message that it
/// protects.
const SECRET: usize = 20;
/// Octets of a reference.
const REFERENCE: usize = 5;
const DAY: Duration = Duration::from_secs(86_400);
/// Updates of one name within a day: a loop of updates fills no disk.
const UPDATES_A_DAY: u64 = 24;

/// Contents of an invitation for a function.
#[derive(Debug, Clone)]
pub struct Invite {
    /// Common name, and stem of the files.
    pub name: Name,
    /// Subject alternative names.
    pub names: Vec<AlternativeName>,
    /// Types of the network function (RFC 9310).
    pub functions: Vec<NfType>,
    /// Profile of the certificate.
    pub profile: Profile,
    /// Days that the certificate is valid.
    pub days: u32,
    /// True if it may be valid for longer than a year.
    pub long_life: bool,
    /// True if a classical key is certified by an authority whose own key is quantum-safe.
    pub classical: bool,
    /// Time that the invitation is open.
    pub open_for: Duration,
    /// The certificate by which it comes, where that is its vendor's; a secret otherwise.
    pub vendor: Option<Vendor>,
}

/// Identity of a function that its vendor has given a certificate (TS 33.310, clause 9): the
/// vendor's root, and the name in the certificate.
#[derive(Debug, Clone)]
pub struct Vendor {
    /// Trust anchor of the vendor.
    pub root: ForeignCertificate,
    /// Common name, or serial number attribute, of the certificate's subject.
    pub name: String,
}

/// An invitation: all of it while it is open, without its secret then.
#[derive(Clone)]
pub struct Invitation {
    stored: Stored,
}

/// State of an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationState {
    /// No function has enrolled.
    Open,
    /// A certificate was issued for it; the same key may ask again.
    Issued,
    /// No more is given on it.
    Closed,
    /// No function enrolled in time.
    Expired,
}

impl fmt::Display for InvitationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Issued => "issued",
            Self::Closed => "closed",
            Self::Expired => "expired",
        })
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation")
            .field("reference", &self.stored.reference)
            .finish_non_exhaustive()
    }
}

impl Invitation {
    pub(crate) fn from_stored(stored: Stored) -> Self {
        Self { stored }
    }

    /// The function's name for it: `--ref` of `openssl cmp`, the user of EST.
    pub fn reference(&self) -> &str {
        &self.stored.reference
    }

    /// The name in the vendor's certificate by which it is used, where it is by one.
    pub fn vendor(&self) -> Option<&str> {
        self.stored.vendor.as_ref().map(|(name, _)| name.as_str())
    }

    /// The secret that the function proves to know; none once it is closed, or where a vendor's
    /// certificate is shown.
    pub fn secret(&self) -> Option<&str> {
        self.stored.secret.as_ref().map(|secret| secret.as_str())
    }

    /// The name the certificate gets.
    pub fn name(&self) -> &str {
        &self.stored.name
    }

    /// The alternative names of the certificate, without their kinds.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.stored.names.lines();
        names.map(|name| name.split_once(':').map_or(name, |(_, value)| value))
    }

    /// Time until which it is open.
    pub fn expires(&self) -> SystemTime {
        self.stored.expires.into()
    }

    /// The certificate that was issued for it.
    pub fn serial(&self) -> Option<Serial> {
        self.stored.serial
    }

    /// Its state at this time.
    pub fn state_at(&self, now: SystemTime) -> InvitationState {
        let over = self.stored.expires < OffsetDateTime::from(now);
        match (self.stored.serial, self.stored.closed) {
            (None, None) if over => InvitationState::Expired,
            (None, Some(closed)) if closed == self.stored.expires => InvitationState::Expired,
            (None, None) => InvitationState::Open,
            (Some(_), None) if !over => InvitationState::Issued,
            _ => InvitationState::Closed,
        }
    }

    pub(crate) fn open(records: &Records, reference: &str, now: SystemTime) -> Result<Option<Self>, Error> {
        let found = records.invitation(reference)?.map(Self::from_stored);
        Ok(found.filter(|invitation| invitation.is_open_at(now)))
    }

    fn is_open_at(&self, now: SystemTime) -> bool {
        self.stored.closed.is_none() && self.stored.expires >= OffsetDateTime::from(now)
    }
}

impl Authority {
    /// Invites a function to enrol. An invitation that could not be certified is refused now, not
    /// when the function comes.
    pub fn invite(&mut self, invite: &Invite, now: SystemTime) -> Result<Invitation, Error> {
        let expires = now
            .checked_add(invite.open_for)
            .ok_or_else(|| Error::Lifetime("the invitation never ends".to_owned()))?;
        let lines = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join("\n");
        let stored = Stored {
            reference: random(REFERENCE)?.to_string(),
            secret: match &invite.vendor {
                None => Some(random(SECRET)?),
                Some(_) => None,
            },
            vendor: invite
                .vendor
                .as_ref()
                .map(|vendor| (vendor.name.clone(), vendor.root.der().to_vec())),
            name: invite.name.as_str().to_owned(),
            names: lines(&mut invite.names.iter().map(ToString::to_string)),
            functions: lines(&mut invite.functions.iter().map(|function| function.as_str().to_owned())),
            profile: invite.profile.name().to_owned(),
            days: invite.days,
            long_life: invite.long_life,
            classical: invite.classical,
            created: whole_seconds(now)?,
            expires: whole_seconds(expires)?,
            serial: None,
            closed: None,
        };
        // A certificate for a key of the authority's kind, thrown away: names, validity and profile are proved by it.
        let key = crate::PrivateKey::generate(self.key.algorithm())?;
        self.certify(&Granted::of(&stored)?.order(key.public_key()), None, now)?;
        let transaction = self.records.begin()?;
        records::close_expired(&transaction, whole_seconds(now)?)?;
        records::insert_invitation(&transaction, &stored)?;
        transaction.commit()?;
        Ok(Invitation { stored })
    }

    /// The open invitation with this reference.
    pub fn invitation(&self, reference: &str, now: SystemTime) -> Result<Option<Invitation>, Error> {
        Invitation::open(&self.records, reference, now)
    }

    /// The newest open invitation of who shows a vendor's certificate, with others at hand between
    /// it and the vendor's root: one that is invited again, since it lost its key, comes by that,
    /// and not by the one that its lost key has used. That the key is the sender's is for the
    /// caller to verify.
    pub fn invitation_of_vendor(
        &self,
        shown: &ForeignCertificate,
        at_hand: &[ForeignCertificate],
        now: SystemTime,
    ) -> Result<Option<Invitation>, Error> {
        let mut found = Vec::new();
        for name in &shown.names {
            found.extend(self.records.of_vendor(name)?);
        }
        // The newest of all names is taken.
        found.sort_by_key(|stored| stored.created);
        // A chain is searched once for each root.
        let mut judged: Vec<(Vec<u8>, bool)> = Vec::new();
        for stored in found.into_iter().rev() {
            let invitation = Invitation::from_stored(stored);
            let Some((_, root)) = invitation.stored.vendor.as_ref().filter(|_| invitation.is_open_at(now)) else {
                continue;
            };
            let known = judged.iter().find(|(known, _)| known == root);
            let leads = known.map_or_else(
                || ForeignCertificate::from_der(root).is_ok_and(|root| shown.leads_to(&root, at_hand, now)),
                |(_, leads)| *leads,
            );
            if leads {
                return Ok(Some(invitation));
            }
            judged.push((root.clone(), leads));
        }
        Ok(None)
    }

    /// Returns true if there is an invitation with this reference, open or not.
    pub fn has_invitation(&self, reference: &str) -> Result<bool, Error> {
        Ok(self.records.invitation(reference)?.is_some())
    }

    /// Issues the certificate of an open invitation for the key of who proved to know its secret,
    /// which the caller has verified, as it has that the key is its own.
    pub fn enrol(&mut self, invitation: &Invitation, key: &PublicKey, now: SystemTime) -> Result<Issued, Error> {
        let reference = invitation.reference();
        let open = self
            .invitation(reference, now)?
            .ok_or_else(|| Error::NotInvited(reference.to_owned()))?;
        if let Some(serial) = open.serial() {
            let entry = self.show(&serial.to_string())?;
            return if entry.certificate.public_key() == key && entry.state == State::Issued {
                Ok(self.issued(&entry, None))
            } else {
                Err(Error::InvitationUsed(reference.to_owned()))
            };
        }
        if !open.stored.classical {
            self.require_quantum_safe(key)?;
        }
        let granted = Granted {
            lifetime: Lifetime::For(self.at_most(DAY * open.stored.days, now)),
            ..Granted::of(&open.stored)?
        };
        let entry = self.certify(&granted.order(key), None, now)?;
        let transaction = self.records.begin()?;
        records::insert(&transaction, &entry)?;
        records::audit_due(&transaction, entry.serial)?;
        if !records::bind(&transaction, reference, entry.serial)? {
            return Err(Error::InvitationUsed(reference.to_owned()));
        }
        transaction.commit()?;
        self.keep_list_fresh(now)?;
        Ok(self.issued(&entry, None))
    }

    /// Closes an invitation: its secret opens nothing more. One that is closed stays so.
    pub fn close_invitation(&mut self, reference: &str, now: SystemTime) -> Result<bool, Error> {
        let transaction = self.records.begin()?;
        let closed = records::close(&transaction, reference, whole_seconds(now)?)?;
        transaction.commit()?;
        Ok(closed)
    }

    /// A certificate with the names of an older one for a new key of its holder, who proved to have both keys.
    ///
    /// Asked again for the same key, it gives the same certificate.
    pub fn update(&mut self, old: Serial, key: &PublicKey, now: SystemTime) -> Result<Issued, Error> {
        let old = self
            .records
            .by_serial(old)?
            .ok_or_else(|| Error::UnknownCertificate(old.to_string()))?;
        if old.role != Role::NetworkFunction || !old.is_valid_at(now) {
            return Err(Error::Unsuitable {
                serial: old.serial,
                reason: "only a network function's certificate that is valid is updated",
            });
        }
        let updated = |entry: &Entry| {
            entry.replaces == Some(old.serial) && entry.state == State::Issued && entry.certificate.public_key() == key
        };
        if let Some(entry) = self.records.by_key(key)?.iter().find(|entry| updated(entry)) {
            return Ok(self.issued(entry, None));
        }
        let at = whole_seconds(now)?;
        if self.records.updates(&old.name, at - DAY, at)? >= UPDATES_A_DAY {
            return Err(Error::TooManyUpdates {
                name: old.name,
                most: UPDATES_A_DAY,
            });
        }
        if old.certificate.algorithm().is_quantum_safe() {
            self.require_quantum_safe(key)?;
        }
        let lasted = self.lasted(&old)?;
        let granted = Granted {
            name: old.name.clone(),
            names: all(old.certificate.names().iter().map(String::as_str))?,
            functions: all(old.certificate.functions().iter().map(String::as_str))?,
            profile: old.certificate.profile(),
            lifetime: Lifetime::For(self.at_most(lasted, now)),
            long_life: true,
        };
        let order = Order {
            replaces: Some(old.serial),
            ..granted.order(key)
        };
        let entry = self.certify(&order, None, now)?;
        let transaction = self.records.begin()?;
        records::insert(&transaction, &entry)?;
        records::audit_due(&transaction, entry.serial)?;
        transaction.commit()?;
        self.keep_list_fresh(now)?;
        Ok(self.issued(&entry, None))
    }

    /// The lifetime that a certificate was meant to have: where it ends with its issuer, those
    /// before it may have had more.
    fn lasted(&self, entry: &Entry) -> Result<Duration, Error> {
        let (mut longest, mut at) = (Duration::ZERO, Some(entry.clone()));
        while let Some(entry) = at {
            let ends = entry.certificate.not_after();
            let lasted = ends.duration_since(entry.created.into()).unwrap_or(DAY);
            longest = longest.max(lasted);
            let mut own = self.own.iter().map(|own| &own.entry);
            let is_cut = own.any(|own| own.serial == entry.issuer && own.certificate.not_after() == ends);
            let before = entry.replaces.filter(|_| is_cut);
            at = before
                .map(|before| self.records.by_serial(before))
                .transpose()?
                .flatten();
        }
        Ok(longest)
    }

    /// Certificates of enrolments and updates whose line in the audit log is not known to be written, oldest first.
    pub fn unaudited(&self) -> Result<Vec<Entry>, Error> {
        self.records.unaudited()
    }

    /// Notes that these lines are written.
    pub fn audited(&mut self, serials: &[Serial]) -> Result<(), Error> {
        let transaction = self.records.begin()?;
        for serial in serials {
            records::audited(&transaction, *serial)?;
        }
        Ok(transaction.commit()?)
    }

    /// An authority that is quantum-safe does not certify what is not, unless its user said so.
    fn require_quantum_safe(&self, key: &PublicKey) -> Result<(), Error> {
        if self.key.algorithm().is_quantum_safe() && !key.algorithm().is_quantum_safe() {
            return Err(Error::ClassicalKey(key.algorithm()));
        }
        Ok(())
    }
}

bartizan_registry::made! {
    /// Contents of a certificate, read from an invitation or from an older certificate.
    struct Granted, of(stored: &Stored) -> Result<Self, Error> {
        name: String = stored.name.clone(),
        names: Vec<AlternativeName> = all(stored.names.lines())?,
        functions: Vec<NfType> = all(stored.functions.lines())?,
        profile: Profile = stored.profile.parse()?,
        lifetime: Lifetime = Lifetime::Days(stored.days),
        long_life: bool = stored.long_life,
    }
}

impl Granted {
    fn order<'a>(&'a self, key: &'a PublicKey) -> Order<'a> {
        Order {
            name: &self.name,
            names: &self.names,
            functions: &self.functions,
            profile: self.profile,
            key,
            lifetime: self.lifetime,
            long_life: self.long_life,
            origin: Origin::Request,
            carries_key: false,
            replaces: None,
        }
    }
}

fn all<'a, T: std::str::FromStr<Err = Error>>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<T>, Error> {
    texts.map(str::parse).collect()
}

/// Letters and digits that a person can type.
fn random(octets: usize) -> Result<Zeroizing<String>, Error> {
    let mut bytes = Zeroizing::new(vec![0; octets]);
    aws_lc_rs::rand::fill(&mut bytes)?;
    Ok(Zeroizing::new(BASE32_NOPAD.encode(&bytes).to_lowercase()))
}
