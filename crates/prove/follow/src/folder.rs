//! Ledgers by the folder that they are in.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::read::unreadable_ledger;
use bartizan_terminal::Failure;

/// Endings of ledgers that may have no record yet; rotation writes a number behind them.
const ENDINGS: [&str; 2] = ["ledger", "jsonl"];
/// The beginning of each record.
const RECORD: &[u8] = b"{\"v\":";
/// Bytes in which a record is looked for: the first lines of a ledger may be damaged.
const BEGINNING: u64 = 64 << 10;

/// These ledgers, with those of each folder among them in the order of their names.
pub fn ledgers(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
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
        if is_ledger(&path, numbered) {
            found.insert(if numbered { path.with_extension("") } else { path });
        }
    }
    if found.is_empty() {
        return Err(
            Failure::new(format!("{}: no ledger is in this folder", folder.display()))
                .hint("files that begin with a record are ledgers, whatever their names; or name one by itself"),
        );
    }
    Ok(found)
}

/// Recognises a ledger by its content, and by its name where it is empty. A part that was rotated
/// away may be packed.
fn is_ledger(path: &Path, numbered: bool) -> bool {
    let named = match numbered {
        true => path.file_stem().map(Path::new),
        false => Some(path),
    };
    let ending = named.and_then(Path::extension);
    let named = ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    if !path.is_file() {
        return false;
    }
    let mut begins = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut begins));
    // Unreadable files are reported by their reader.
    let mut lines = begins.split(|byte| *byte == b'\n');
    match named {
        true => read.is_err() || begins.is_empty() || lines.any(|line| line.starts_with(RECORD)),
        false => begins.starts_with(RECORD),
    }
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
        for (name, content) in [
            ("gnb.ledger", "{\"v\":1,\"at_us\":1}\n"),
            ("old.ledger.000002", "{\"v\":1,\"at_us\":1}\n"),
            ("records", "{\"v\":1,\"at_us\":1}\n"),
            ("cut.ledger", "at_us\":1}\n{\"v\":1,\"at_us\":1}\n"),
            ("accounts.ledger", "2026-01-01 * opening balance\n"),
            ("logs.jsonl", "{\"level\":\"info\"}\n"),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        fs::create_dir(folder.path().join("old.jsonl")).unwrap();
        let other = PathBuf::from("upf.log");
        let found = ledgers(&[folder.path().to_owned(), other.clone()]).unwrap();
        let names = [
            "amf.jsonl",
            "cut.ledger",
            "gnb.ledger",
            "nrf.jsonl",
            "old.ledger",
            "records",
            "smf.jsonl",
        ];
        let names = names.map(|name| folder.path().join(name));
        assert_eq!(found, [&names[..], &[other]].concat());
        let empty = tempfile::tempdir().unwrap();
        assert!(ledgers(&[empty.path().to_owned()]).is_err());
    }
}
