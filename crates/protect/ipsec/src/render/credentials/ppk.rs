//! The file of a pre-shared key: hexadecimal digits, in as many lines as one likes.

use std::io::Read as _;
use std::path::Path;

use bartizan_ledger::state;
use data_encoding::HEXLOWER_PERMISSIVE;
use zeroize::Zeroizing;

use super::{CredentialsError, readable_by_owner_alone, unusable};

/// RFC 8784, section 6: 256 bits of entropy where 128 bits of security against a quantum computer are wanted.
const LEAST: usize = 32;
const MOST: usize = 256;

pub(super) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, CredentialsError> {
    let failed = |source| CredentialsError::Read {
        path: path.to_owned(),
        source,
    };
    readable_by_owner_alone(path)?;
    // With room for what may be there and a byte more: one that grew would leave a copy behind.
    let mut text = Zeroizing::new(Vec::with_capacity(4 * MOST + 1));
    state::open_to_read(path)
        .map_err(failed)?
        .take(4 * MOST as u64 + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() > 4 * MOST {
        return Err(unusable(path, format!("holds more than a key of {MOST} octets has")));
    }
    text.retain(|byte| !byte.is_ascii_whitespace());
    let secret = HEXLOWER_PERMISSIVE.decode(&text).map(Zeroizing::new);
    // The cause of a wrong digit would show the digit.
    let secret = secret.map_err(|_| {
        unusable(
            path,
            "holds something else than hexadecimal digits: `openssl rand -hex 32` writes a key",
        )
    })?;
    match secret.len() {
        LEAST..=MOST => Ok(secret),
        length => Err(unusable(
            path,
            format!("holds {length} octets: a pre-shared key has {LEAST} to {MOST}, `openssl rand -hex 32` writes one"),
        )),
    }
}
