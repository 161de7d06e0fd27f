//! The audit log: a line of JSON for each request, appended and synced before its answer is sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_enrol::Event;
use serde_json::json;

use crate::commands::ca::show::moment;
use crate::outcome::Failure;

#[derive(Debug)]
pub(super) struct Audit {
    file: File,
    path: PathBuf,
}

impl Audit {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = opened(path).map_err(|error| {
            Failure::new(format!("cannot open {}: {error}", path.display())).hint("--audit FILE names another file")
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    /// Writes what happened. Without its line there is no answer: an error here is one of the request.
    pub(super) fn record(&mut self, from: IpAddr, event: &Event, now: SystemTime) -> Result<(), String> {
        let (result, failure, reason) = match &event.refused {
            None => ("granted", None, None),
            Some((failure, reason)) => ("refused", Some(failure.to_string()), Some(reason)),
        };
        let line = json!({
            "time": moment(now),
            "from": from.to_string(),
            "request": event.request,
            "transaction": event.transaction,
            "sender": event.sender,
            "name": event.name,
            "serial": event.serial,
            "result": result,
            "failure": failure,
            "reason": reason,
            "again": event.again,
        });
        let written = self.keep_name().and_then(|()| {
            self.file.write_all(format!("{line}\n").as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    /// A new file where the one that is open was moved away or removed, as logrotate does: what is appended to that one is compressed or deleted unseen.
    fn keep_name(&mut self) -> io::Result<()> {
        let named = match self.path.metadata() {
            Ok(named) => Some((named.dev(), named.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let open = self.file.metadata()?;
        if named != Some((open.dev(), open.ino())) {
            self.file = opened(&self.path)?;
        }
        Ok(())
    }
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use super::*;

    fn event(name: &str) -> Event {
        Event {
            request: "ir",
            transaction: None,
            sender: None,
            name: Some(name.to_owned()),
            serial: None,
            refused: None,
            again: false,
        }
    }

    /// logrotate's `create` renamed the file, and the authority went on writing to the renamed one.
    #[test]
    fn an_audit_log_that_is_moved_away_goes_on_in_a_new_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("audit.jsonl");
        let moved = place.path().join("audit.jsonl.1");
        let mut audit = Audit::open(&path).unwrap();
        let mut record = |name: &str| {
            audit
                .record(Ipv4Addr::LOCALHOST.into(), &event(name), SystemTime::UNIX_EPOCH)
                .unwrap();
        };
        let names = |file: &Path| -> Vec<String> {
            let line = |line: &str| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["name"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            fs::read_to_string(file).unwrap().lines().map(line).collect()
        };
        record("amf");
        fs::rename(&path, &moved).unwrap();
        record("smf");
        assert_eq!(
            (names(&moved), names(&path)),
            (vec!["amf".to_owned()], vec!["smf".to_owned()])
        );
        // With `create` another program has made the new one; and one that is removed is made again.
        fs::rename(&path, &moved).unwrap();
        fs::write(&path, "").unwrap();
        record("udm");
        record("ausf");
        assert_eq!(names(&path), ["udm", "ausf"]);
        fs::remove_file(&path).unwrap();
        record("nrf");
        assert_eq!(names(&path), ["nrf"]);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
