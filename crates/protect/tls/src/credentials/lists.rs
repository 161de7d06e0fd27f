//! Revocation lists of a node: those of its file, and newer ones that were seen before.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_pki::{InEffect, NewestLists, Older, Unknown};
use rustls::pki_types::UnixTime;
use webpki::CertRevocationList;

use super::fault;
use crate::Error;

/// The lists that decide on revocation in a node's handshakes.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Those signed last first: webpki asks the first of an issuer.
    pub(super) in_effect: Vec<RevocationList>,
    pub(super) older: Vec<Older>,
    pub(super) unknown: Vec<Unknown>,
    pub(super) newest: NewestLists,
}

/// A revocation list that decides.
#[derive(Debug)]
pub(crate) struct RevocationList {
    pub(super) list: bartizan_pki::RevocationList,
    /// The node's file has it.
    pub(super) is_given: bool,
    warned: AtomicBool,
}

impl Lists {
    /// Reads the text of a node's file; `newest` are those that were seen before.
    pub(super) fn read(
        text: &[u8],
        place: &str,
        mut newest: NewestLists,
        (roots, own): (&[&[u8]], &[&[u8]]),
    ) -> Result<Self, Error> {
        let hint = "`bartizan ca crl` writes one in PEM";
        let InEffect {
            lists,
            absent,
            older,
            unknown,
        } = newest
            .in_effect(text, roots, own)
            .map_err(|cause| fault(place, cause, hint))?;
        let is_given = |list: &bartizan_pki::RevocationList| !absent.iter().any(|absent| absent.replaces(list));
        let in_effect = lists.into_iter().map(|list| RevocationList {
            is_given: is_given(&list),
            list,
            warned: AtomicBool::new(false),
        });
        Ok(Self {
            in_effect: in_effect.collect(),
            older,
            unknown,
            newest,
        })
    }
}

/// The newest lists that were seen before, by this process or those before it.
pub(super) fn seen_before(file: Option<&Path>, before: Option<&NewestLists>) -> Result<NewestLists, Error> {
    NewestLists::remembered_in(file, before).map_err(|error| {
        let place = file.map(|file| file.display().to_string()).unwrap_or_default();
        let hint = "it is in the folder `trust: { state }`; without the file lists that are older than those seen before are accepted once";
        fault(&place, error.to_string(), hint)
    })
}

impl RevocationList {
    pub(crate) fn verifiable(&self) -> &CertRevocationList<'static> {
        self.list.verifiable()
    }

    /// Holds of a list that may be relied on where a current one is required.
    pub(crate) fn has_begun(&self, now: UnixTime) -> bool {
        !self.list.is_of_the_future(moment(now))
    }

    /// Warns once of a list that is honoured although it is not current.
    pub(crate) fn warn_if_stale(&self, now: UnixTime) {
        let (issuer, now) = (self.list.issuer(), moment(now));
        let is_stale = self.list.is_overdue(now) || self.list.is_of_the_future(now);
        if is_stale && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                issuer,
                hint = "publish a new one with `bartizan ca crl`, or write `revocation: require` to refuse instead",
                "a revocation list is out of date: what was revoked since is still accepted"
            );
        }
    }
}

fn moment(time: UnixTime) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.as_secs())
}
