//! Reading a node's files: whole, bounded, and a key without copies left behind.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use bartizan_ledger::state;
use bartizan_pki::{CLOSE_KEY, GIVE_KEY, no_key, open_to_everyone};
use zeroize::Zeroizing;

use super::fault;
use crate::Error;

/// No file of certificates, keys or revocation lists is longer: 16 MiB hold the serials of 400,000 revoked certificates.
const LONGEST_FILE: u64 = bartizan_pki::LARGEST_LISTS;

pub(super) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(read_whole(path)?.0)
}

/// A private key's file; refused where every user of the host may read it.
pub(super) fn read_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let (text, known) = read_whole(path)?;
    let refused = |cause: String, hint: &str| Err(fault(&path.display().to_string(), cause, hint));
    if let Some(cause) = no_key(&text) {
        return refused(cause.to_owned(), GIVE_KEY);
    }
    match open_to_everyone(&known) {
        Some(cause) => refused(cause, CLOSE_KEY),
        None => Ok(text),
    }
}

fn read_whole(path: &Path) -> Result<(Zeroizing<Vec<u8>>, Metadata), Error> {
    let unreadable = |source| Error::Unreadable {
        file: path.to_owned(),
        source,
    };
    let file = state::open_to_read(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    // Reserving all of it at once keeps a key from being copied about while the vector grows.
    let length = usize::try_from(metadata.len().min(LONGEST_FILE)).unwrap_or_default();
    let mut text = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(LONGEST_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(unreadable(std::io::Error::other("longer than 16 MiB")));
    }
    Ok((text, metadata))
}
