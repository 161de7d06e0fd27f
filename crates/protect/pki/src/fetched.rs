//! Revocation lists that a relying party fetches into the file that its services read.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::certificate::to_pem;
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

/// Puts the lists of a fetched text, PEM or one list in DER, into `file`: those that an authority
/// has signed which `roots` and `own`, PEM, lead to, and that are not older than the file's.
/// Lists of the file that the text lacks stay. Returns the pause until the next look.
///
/// # Errors
/// Names a list that was left out or is not current, and the file where it cannot be written.
/// Lists that are in order are in the file all the same.
pub fn renew_lists(
    file: &Path,
    text: &[u8],
    (roots, own): (&[u8], &[u8]),
    now: SystemTime,
) -> Result<Duration, String> {
    let text = match RevocationList::from_der(text) {
        Ok(list) => to_pem(LABEL, list.der()).into_bytes(),
        Err(_) => text.to_vec(),
    };
    if pem::parse_many(&text).is_ok_and(|blocks| blocks.len() > MOST) {
        return Err(format!("holds more than {MOST} certificates and lists"));
    }
    let given = RevocationList::read(&text)?;
    let mut newest = NewestLists::remembered_in(Some(file), None).map_err(|error| error.to_string())?;
    let [roots, own] = [roots, own].map(certificates);
    let [roots, own]: [Vec<&[u8]>; 2] = [&roots, &own].map(|ders| ders.iter().map(Vec::as_slice).collect());
    let found = newest.in_effect(&text, &roots, &own)?;
    newest.save().map_err(|error| error.to_string())?;
    if let Some(older) = found.older.first() {
        return Err(older.to_string());
    }
    for list in &given {
        let issuer = list.issuer();
        if !newest.has(list) {
            return Err(format!(
                "no authority that is trusted here has signed the list of {issuer}"
            ));
        }
        if list.is_overdue(now) || list.is_of_the_future(now) {
            return Err(format!("the list of {issuer} ({}) is not current", list.named()));
        }
    }
    let lifetime = |list: &RevocationList| list.next_update()?.duration_since(list.this_update()).ok();
    let shortest = given.iter().filter_map(lifetime).min();
    Ok(shortest.map_or(LONGEST, |lifetime| (lifetime / LOOKS).clamp(SHORTEST, LONGEST)))
}

fn certificates(text: &[u8]) -> Vec<Vec<u8>> {
    let blocks = pem::parse_many(text).unwrap_or_default().into_iter();
    let certificates = blocks.filter(|block| block.tag() == CERTIFICATE);
    certificates.map(pem::Pem::into_contents).collect()
}

#[cfg(test)]
mod tests;
