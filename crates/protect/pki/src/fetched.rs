//! Revocation lists that a relying party fetches into the file that its services read.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::certificate::to_pem;
use crate::files;
use crate::newest::{CERTIFICATE, LARGEST_LISTS, NewestLists};
use crate::revocation_list::{LABEL, RevocationList};

/// Octets of a fetched text at most.
pub const LARGEST_FETCHED: usize = LARGEST_LISTS as usize;
/// Certificates and lists of a fetched text at most: each is verified, and its sender is not
/// authenticated.
const MOST: usize = 64;
/// Looks at a list for a newer one within its lifetime.
const LOOKS: u32 = 100;
/// Pauses between two looks.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(3600);

/// Lists that were put into a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Renewed {
    /// Until the next look.
    pub pause: Duration,
    /// Names a list of the text that was left out, or is not current.
    pub flaw: Option<String>,
    /// True where a list of the text is older than the file's, or not current.
    pub is_behind: bool,
}

/// Puts the lists of a fetched text, PEM or one list in DER, into `file`: those that an authority
/// has signed which `roots` and `own`, PEM, lead to, and that are not older than the file's.
/// All other lists and certificates of the file stay: its readers obey them.
///
/// # Errors
/// Says why no list of the text is used, or why the file cannot be read or written.
pub fn renew_lists(file: &Path, text: &[u8], (roots, own): (&[u8], &[u8]), now: SystemTime) -> Result<Renewed, String> {
    let text = match RevocationList::from_der(text) {
        Ok(list) => to_pem(LABEL, list.der()).into_bytes(),
        Err(_) => text.to_vec(),
    };
    if pem::parse_many(&text).is_ok_and(|blocks| blocks.len() > MOST) {
        return Err(format!("holds more than {MOST} certificates and lists"));
    }
    let given = RevocationList::read(&text)?;
    // A service that lost the right to write says so before a newer list is lost.
    files::make_next_to(file).map_err(|error| error.to_string())?;
    let before = NewestLists::remembered_in(Some(file), None).map_err(|error| error.to_string())?;
    let mut newest = before.clone();
    let [roots, own] = [roots, own].map(certificates);
    let [roots, own]: [Vec<&[u8]>; 2] = [&roots, &own].map(|ders| ders.iter().map(Vec::as_slice).collect());
    let found = newest.in_effect(&text, &roots, &own)?;
    let (used, left_out): (Vec<_>, Vec<_>) = given.iter().partition(|list| newest.has(list));
    let unused = match (found.older.first(), left_out.first()) {
        (Some(older), _) => Some(older.to_string()),
        (None, left_out) => left_out.map(|list| {
            let issuer = list.issuer();
            format!("no authority that is trusted here has signed the list of {issuer}")
        }),
    };
    if used.is_empty() {
        return Err(unused.unwrap_or_default());
    }
    newest.in_place_of(before);
    newest.save().map_err(|error| error.to_string())?;
    let not_current = || {
        let list = used
            .iter()
            .find(|list| list.is_overdue(now) || list.is_of_the_future(now))?;
        Some(format!(
            "the list of {} ({}) is not current",
            list.issuer(),
            list.named()
        ))
    };
    let stale = not_current();
    let lifetime = |list: &&RevocationList| list.next_update()?.duration_since(list.this_update()).ok();
    let shortest = used.iter().filter_map(lifetime).min();
    Ok(Renewed {
        pause: shortest.map_or(LONGEST, |lifetime| (lifetime / LOOKS).clamp(SHORTEST, LONGEST)),
        is_behind: stale.is_some() || !found.older.is_empty(),
        flaw: unused.or(stale),
    })
}

fn certificates(text: &[u8]) -> Vec<Vec<u8>> {
    let blocks = pem::parse_many(text).unwrap_or_default().into_iter();
    let certificates = blocks.filter(|block| block.tag() == CERTIFICATE);
    certificates.map(pem::Pem::into_contents).collect()
}

#[cfg(test)]
mod tests;
