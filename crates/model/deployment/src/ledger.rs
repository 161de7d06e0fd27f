//! Location and size of a node's ledger.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::error::Fault;
use crate::raw::RawLedger;

bartizan_registry::made! {
    /// A ledger's file and its bounds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LedgerFile, pub(crate) parse(raw: &RawLedger, base: &Path) -> Result<Self, Fault> {
        let bounded = match raw {
            RawLedger::Text(file) => {
                return Ok(Self {
                    file: base.join(file),
                    size: SIZE,
                    keep: KEEP,
                });
            }
            RawLedger::Map(bounded) => bounded,
        };
        let size = match bounded.size.as_deref() {
            None => SIZE,
            Some(text) => bytes(text)
                .filter(|size| (LEAST..=MOST).contains(size))
                .ok_or_else(|| {
                    let cause = format!("`{text}` is not a size between 64KiB and 1TiB");
                    Fault::new("size", cause, "write 16MiB or 1GiB")
                })?,
        };
        let keep = match bounded.keep {
            None => KEEP,
            Some(keep) => NonZeroUsize::new(keep).ok_or_else(|| {
                let hint = "write 1 or more; without the line 20 of them are kept";
                Fault::new("keep", "`0` keeps none of the files that were rotated", hint)
            })?,
        };
        /// Path of the file.
        pub file: PathBuf = base.join(&bounded.file),
        /// Bytes beyond which it is rotated.
        pub size: u64,
        /// Rotated files that are kept.
        pub keep: NonZeroUsize,
    }
}

/// Default size of a ledger file before rotation.
const SIZE: u64 = 64 << 20;
/// Rotated files that are kept where the deployment file does not say: 1.3 GB of the default size.
const KEEP: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// A smaller one holds too few records to be worth a file; a larger one no tool opens.
const LEAST: u64 = 64 << 10;
const MOST: u64 = 1 << 40;

/// A number of bytes with its unit, `512KiB`.
fn bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_size_is_a_whole_number_with_a_unit() {
        assert_eq!(bytes("512KiB"), Some(512 << 10));
        assert_eq!(bytes("16 MiB"), Some(16 << 20));
        assert_eq!(bytes("2GB"), Some(2_000_000_000));
        for text in [
            "",
            "16",
            "MiB",
            "-1MiB",
            "1.5MiB",
            "99999999999999999999GiB",
            "18446744073709551615GiB",
            "1 mib",
        ] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
