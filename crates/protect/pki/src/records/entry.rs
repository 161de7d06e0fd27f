//! One certificate's record.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use time::OffsetDateTime;

use crate::{Certificate, Error, Serial};

/// The authority's record of a certificate.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its serial number.
    pub serial: Serial,
    /// Role of its holder.
    pub role: Role,
    /// Serial number of its issuer's certificate; its own for the root.
    pub issuer: Serial,
    /// The name it was issued under.
    pub name: String,
    /// Origin of its key.
    pub origin: Origin,
    /// Its state.
    pub state: State,
    pub(crate) created: OffsetDateTime,
    pub(crate) revoked: Option<OffsetDateTime>,
    pub(crate) reason: Option<Reason>,
    /// Directory its files were to be written to, while that is not known to be done.
    pub(crate) destination: Option<String>,
    /// True if its key is delivered with it: without the key it is worth nothing then.
    pub(crate) carries_key: bool,
    /// The certificate it took the place of.
    pub replaces: Option<Serial>,
    /// The certificate itself.
    pub certificate: Certificate,
}

impl Entry {
    /// When it was issued.
    pub fn created(&self) -> SystemTime {
        self.created.into()
    }

    /// When and why it was revoked.
    pub fn revocation(&self) -> Option<(SystemTime, Reason)> {
        Some((self.revoked?.into(), self.reason?))
    }

    /// True where it may be used at `now`: issued, begun, not ended.
    #[must_use]
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.state == State::Issued && self.certificate.not_before() <= now && now <= self.certificate.not_after()
    }
}

/// A set of words, one for each variant, as they stand in the records and in tables.
macro_rules! words {
    ($type:ident, $what:literal, { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            /// The word for it in the records and in tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            #[allow(dead_code, reason = "not every set of words is printed in a message")]
            pub(crate) const NAMES: &'static [&'static str] = &[$($word),+];

            pub(crate) fn from_name(word: &str) -> Result<Self, Error> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    other => Err(Error::RecordsDamaged(format!("{:?} is no {}", other, $what))),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// Role of a certificate's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The trust anchor.
    Root,
    /// The authority below the root that issues from day to day.
    Intermediate,
    /// A network function.
    NetworkFunction,
}

words!(Role, "role", {
    Root => "root",
    Intermediate => "intermediate",
    NetworkFunction => "network-function",
});

/// Phase of one of the authority's own certificates in its succession.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A root that relying parties are given, and that signs nothing yet.
    Next,
    /// It signs.
    Current,
    /// It signs revocation lists alone: certificates below it are in use.
    Previous,
    /// It signs nothing, and relying parties are not given it any more.
    Retired,
}

words!(Phase, "phase", {
    Next => "next",
    Current => "current",
    Previous => "previous",
    Retired => "retired",
});

/// Origin of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The authority, which handed it out and kept no copy.
    Generated,
    /// The requester, who proved to have it by a signing request.
    Request,
}

words!(Origin, "origin", {
    Generated => "generated",
    Request => "request",
});

/// State of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Recorded, its files not yet known to be written; only seen while it is issued or after a crash.
    Pending,
    /// Handed out.
    Issued,
    /// Revoked by the operator.
    Revoked,
    /// Its key was lost in a crash before it was delivered, or its receiver refused it; revoked.
    Abandoned,
}

words!(State, "state", {
    Pending => "pending",
    Issued => "issued",
    Revoked => "revoked",
    Abandoned => "abandoned",
});

/// Reason why a certificate is revoked (RFC 5280, section 5.3.1).
///
/// The reasons certificateHold and removeFromCRL are left out: a revocation here is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No reason given.
    Unspecified,
    /// The private key may be known to others.
    KeyCompromise,
    /// The issuer's private key may be known to others.
    CaCompromise,
    /// The names in it are no longer true.
    AffiliationChanged,
    /// Another certificate took its place.
    Superseded,
    /// It is no longer needed.
    CessationOfOperation,
    /// A right it stands for was withdrawn.
    PrivilegeWithdrawn,
}

words!(Reason, "reason of a revocation", {
    Unspecified => "unspecified",
    KeyCompromise => "key-compromise",
    CaCompromise => "ca-compromise",
    AffiliationChanged => "affiliation-changed",
    Superseded => "superseded",
    CessationOfOperation => "cessation-of-operation",
    PrivilegeWithdrawn => "privilege-withdrawn",
});

impl Reason {
    pub(crate) fn for_rcgen(self) -> rcgen::RevocationReason {
        match self {
            Self::Unspecified => rcgen::RevocationReason::Unspecified,
            Self::KeyCompromise => rcgen::RevocationReason::KeyCompromise,
            Self::CaCompromise => rcgen::RevocationReason::CaCompromise,
            Self::AffiliationChanged => rcgen::RevocationReason::AffiliationChanged,
            Self::Superseded => rcgen::RevocationReason::Superseded,
            Self::CessationOfOperation => rcgen::RevocationReason::CessationOfOperation,
            Self::PrivilegeWithdrawn => rcgen::RevocationReason::PrivilegeWithdrawn,
        }
    }
}

/// Every reason, for a word that is none.
const ONE_OF: &str = "is none of unspecified, key-compromise, ca-compromise, affiliation-changed, superseded, \
     cessation-of-operation, privilege-withdrawn";

impl FromStr for Reason {
    type Err = Error;

    /// Reads `key-compromise` or, as RFC 5280 writes it, `keyCompromise`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let fold = |word: &str| word.replace('-', "").to_ascii_lowercase();
        Self::NAMES.iter().find(|name| fold(name) == fold(text)).map_or_else(
            || {
                Err(Error::Name {
                    what: "reason",
                    value: text.chars().take(64).collect(),
                    reason: ONE_OF,
                })
            },
            |name| Self::from_name(name),
        )
    }
}
