//! Reading a node's files: whole, bounded, and a key without copies left behind.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::Error;

/// No file of certificates, keys or revocation lists is longer: 16 MiB hold the serials of 400,000 revoked certificates.
const LONGEST_FILE: u64 = bartizan_pki::LARGEST_LISTS;

pub(super) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let unreadable = |source| Error::Unreadable {
        file: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(std::io::Error::other("not a file")));
    }
    // Reserving all of it at once keeps a key from being copied about while the vector grows.
    let length = usize::try_from(metadata.len().min(LONGEST_FILE)).unwrap_or_default();
    let mut text = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(LONGEST_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(unreadable(std::io::Error::other("longer than 16 MiB")));
    }
    Ok(text)
}

pub(super) fn warn_if_others_read(key: &Path) {
    if let Ok(metadata) = key.metadata() {
        let mode = metadata.permissions().mode();
        if mode & 0o007 != 0 {
            let mode = format!("{:04o}", mode & 0o7777);
            tracing::warn!(key = %key.display(), %mode, hint = "chmod 600", "everyone on this machine can read the key");
        }
    }
}
