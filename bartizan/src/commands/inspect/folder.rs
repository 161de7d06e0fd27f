//! Ledgers by the folder that they are in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::read::unreadable_ledger;
use crate::Failure;

/// How the names of ledgers end, behind which rotation writes a number.
const ENDING: &str = "jsonl";

/// These ledgers, with those of each folder among them in the order of their names.
pub(super) fn ledgers(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(within(path)?);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

/// Those of one folder; a ledger that was rotated away is named as if it were there.
fn within(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    let unreadable = |error: &std::io::Error| unreadable_ledger(folder, error);
    for entry in fs::read_dir(folder).map_err(|error| unreadable(&error))? {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        let numbered = path
            .extension()
            .and_then(|number| number.to_str())
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()));
        let ledger = if numbered { path.with_extension("") } else { path };
        if ledger.extension().is_some_and(|ending| ending == ENDING) && !ledger.is_dir() {
            found.insert(ledger);
        }
    }
    if found.is_empty() {
        return Err(
            Failure::new(format!("{}: no ledger is in this folder", folder.display())).hint(format!(
                "its files that end in .{ENDING} are read, or name one by itself"
            )),
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_its_ledgers_each_once_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "nrf.jsonl",
            "amf.jsonl",
            "amf.jsonl.000001",
            "smf.jsonl.000007",
            "notes.txt",
            "key.1",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("old.jsonl")).unwrap();
        let other = PathBuf::from("upf.log");
        let found = ledgers(&[folder.path().to_owned(), other.clone()]).unwrap();
        let names = ["amf.jsonl", "nrf.jsonl", "smf.jsonl"].map(|name| folder.path().join(name));
        assert_eq!(found, [&names[..], &[other]].concat());
        let empty = tempfile::tempdir().unwrap();
        assert!(ledgers(&[empty.path().to_owned()]).is_err());
    }
}
