//! From when to when a certificate is valid.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;

use crate::Error;

const DAY: Duration = Duration::from_secs(86_400);

/// Clocks of network functions differ: a certificate is valid from this long before its issuance.
const BACKDATE: Duration = Duration::from_secs(300);

/// The longest validity of a network function's certificate that may not be longer, in days.
/// TS 33.310, clause 6.1.3c, allows three years; O-RAN's security protocol specification, section 4.2, one.
const LEAF_DAYS: u32 = 366;

/// Cause and remedy where none of these roots is valid at this time; each has its first and last
/// moment.
///
/// A wrong clock is as likely as an old root, so the remedy begins with it.
#[must_use]
pub fn no_current_root(roots: &[(SystemTime, SystemTime)], now: SystemTime) -> Option<(String, &'static str)> {
    if roots.iter().any(|&(begins, ends)| begins <= now && now <= ends) {
        return None;
    }
    let day = |moment: SystemTime| OffsetDateTime::from(moment).date();
    let future = roots.iter().map(|&(begins, _)| begins).filter(|&begins| now < begins);
    if let Some(begins) = future.min() {
        let cause = format!(
            "no root is valid yet, the next begins with {}: every peer is refused",
            day(begins)
        );
        return Some((
            cause,
            "correct the clock of this host: it is behind that of the authority",
        ));
    }
    let last = roots.iter().map(|&(_, ends)| ends).max()?;
    let cause = format!(
        "every root has ended, the last with {}: every peer is refused",
        day(last)
    );
    Some((
        cause,
        "check the clock of this host; if it is right, replace the root: `bartizan ca rollover publish-root`",
    ))
}

/// Validity of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// This many days from the issuance on, beginning five minutes before it.
    Days(u32),
    /// The same for a time of any length.
    For(Duration),
    /// Exactly between two moments, whole seconds; a past certificate for a test is made so.
    Between {
        /// First second of validity.
        not_before: SystemTime,
        /// Last second of validity.
        not_after: SystemTime,
    },
}

/// A lifetime that is not empty and can be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: OffsetDateTime,
    pub(crate) not_after: OffsetDateTime,
}

impl Lifetime {
    /// The validity for an issuance at `now`.
    pub(crate) fn at(self, now: SystemTime) -> Result<Validity, Error> {
        let (not_before, not_after) = match self {
            Self::Days(0) => return Err(Error::Lifetime("0 days".to_owned())),
            Self::Days(days) => return Self::For(DAY * days).at(now),
            Self::For(time) => (
                now - BACKDATE,
                now.checked_add(time)
                    .ok_or_else(|| Error::Lifetime(format!("{} days are too many", time.as_secs() / DAY.as_secs())))?,
            ),
            Self::Between { not_before, not_after } => (not_before, not_after),
        };
        let validity = Validity {
            not_before: whole_seconds(not_before)?,
            not_after: whole_seconds(not_after)?,
        };
        if validity.not_after <= validity.not_before {
            return Err(Error::Lifetime("it ends before it begins".to_owned()));
        }
        Ok(validity)
    }
}

impl Validity {
    /// Refuses a network function's certificate that is valid for more than a year, unless that is allowed.
    pub(crate) fn within_a_year(self, long_life: bool) -> Result<Self, Error> {
        let days = (self.not_after - self.not_before).whole_days();
        if !long_life && days > i64::from(LEAF_DAYS) {
            return Err(Error::Lifetime(format!(
                "{days} days; a network function's certificate lives one year at most"
            )));
        }
        Ok(self)
    }

    /// Refuses a certificate that outlives its issuer.
    pub(crate) fn within_issuer(self, issuer_not_after: OffsetDateTime) -> Result<Self, Error> {
        if self.not_after > issuer_not_after {
            return Err(Error::Lifetime(format!(
                "until {}, but the issuer's own certificate ends on {}",
                self.not_after.date(),
                issuer_not_after.date()
            )));
        }
        Ok(self)
    }
}

/// RFC 5280, section 4.1.2.5: years to 9999, no fractions of seconds.
pub(crate) fn whole_seconds(moment: SystemTime) -> Result<OffsetDateTime, Error> {
    let out_of_range = || Error::Lifetime("a date outside the years 1970 to 9999".to_owned());
    let seconds = moment
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|_| out_of_range())?
        .as_secs();
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok())
        .ok_or_else(out_of_range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * 20_000
    }

    #[test]
    fn ninety_days_begin_five_minutes_early() {
        let validity = Lifetime::Days(90).at(now()).unwrap();
        assert_eq!(
            (validity.not_after - validity.not_before).whole_seconds(),
            90 * 86_400 + 300
        );
    }

    #[test]
    fn a_year_is_the_limit_unless_more_is_allowed() {
        let year = Lifetime::Days(366).at(now()).unwrap();
        assert!(year.within_a_year(false).is_ok());
        let more = Lifetime::Days(367).at(now()).unwrap();
        assert!(more.within_a_year(false).is_err());
        assert!(more.within_a_year(true).is_ok());
    }

    #[test]
    fn an_empty_validity_is_refused() {
        assert!(Lifetime::Days(0).at(now()).is_err());
        let backwards = Lifetime::Between {
            not_before: now(),
            not_after: now() - DAY,
        };
        assert!(backwards.at(now()).is_err());
    }

    proptest! {
        #[test]
        fn no_number_of_days_panics(days: u32) {
            let _ = Lifetime::Days(days).at(now());
        }
    }
}
