//! The audit log: a line of JSON for each request, appended and synced before its answer is sent.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_enrol::Event;
use bartizan_ledger::{Bounds, Form, LedgerFile, state};
use bartizan_pki::{Entry, Serial};
use serde_json::{Value, json};

use crate::moment;

/// End of the log in which lines of before are looked for, in octets.
const TAIL: u64 = 8 << 20;

/// Written by the ledger's writer: a line that a full disk or a crash has cut does not take the next one with it.
#[derive(Debug)]
pub struct Audit {
    file: LedgerFile,
    path: PathBuf,
}

impl Audit {
    /// Opens the file to append to it, or makes it, readable by its owner alone.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        // The operator rotates it.
        let bounds = Bounds {
            size: u64::MAX,
            keep: None,
        };
        let form = Form {
            opening: b"{",
            mode: 0o600,
        };
        Ok(Self {
            file: LedgerFile::open(path, bounds, form)?,
            path: path.to_owned(),
        })
    }

    /// Writes an event. Without its line there is no answer: an error here is one of the request.
    pub(crate) fn record(&mut self, from: IpAddr, event: &Event, now: SystemTime) -> Result<(), String> {
        let (result, failure, reason) = match &event.refused {
            None => ("granted", None, None),
            Some((failure, reason)) => ("refused", Some(failure.to_string()), Some(reason)),
        };
        self.append(&json!({
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
        }))
    }

    /// Writes the line of a certificate that was recorded without one.
    pub(crate) fn reconcile(&mut self, entry: &Entry, now: SystemTime) -> Result<(), String> {
        self.append(&json!({
            "time": moment(now),
            "request": "reconciled",
            "name": &entry.name,
            "serial": entry.serial,
            "result": "granted",
            "issued": moment(entry.created()),
            "reason": "recorded, and not in this log: its answer may not have been sent",
            "again": false,
        }))
    }

    /// True where a line near the end of the log says that a certificate was granted. A refused
    /// request may contain any digits.
    pub(crate) fn grants(&self, serial: Serial) -> Result<bool, String> {
        let tail = || {
            let mut file = state::open(&self.path, OpenOptions::new().read(true))?;
            let from = file.metadata()?.len().saturating_sub(TAIL);
            file.seek(SeekFrom::Start(from))?;
            let mut tail = Vec::new();
            file.take(TAIL).read_to_end(&mut tail)?;
            Ok::<_, std::io::Error>(tail)
        };
        let tail = tail().map_err(|error| format!("cannot read {}: {error}", self.path.display()))?;
        let serial = serial.to_string();
        let holds = |line: &&[u8]| line.windows(serial.len()).any(|found| found == serial.as_bytes());
        let grants = |line: &[u8]| {
            // A cut line is none.
            let line: Value = serde_json::from_slice(line).unwrap_or_default();
            line["serial"] == serial.as_str() && line["result"] == "granted"
        };
        let mut lines = tail.split(|&byte| byte == b'\n').filter(holds);
        Ok(lines.any(grants))
    }

    fn append(&mut self, line: &Value) -> Result<(), String> {
        let written = self.file.append(format!("{line}\n").as_bytes());
        let appended = written.map_err(|failed| format!("cannot write {}: {}", self.path.display(), failed.error))?;
        if appended.cut > 0 {
            tracing::warn!(path = %self.path.display(), "a cut line of the audit log was removed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;
    use std::os::unix::fs::MetadataExt;

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

    /// A disk that was full cut a line, and the next granted certificate stood behind it in a line that no program parsed.
    #[test]
    fn a_line_that_was_cut_does_not_take_the_next_one_with_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("audit.jsonl");
        let mut audit = Audit::open(&path).unwrap();
        let (from, now) = (Ipv4Addr::LOCALHOST.into(), SystemTime::UNIX_EPOCH);
        audit.record(from, &event("amf"), now).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole.clone() + &whole[..40]).unwrap();
        audit.record(from, &event("smf"), now).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let names: Vec<Value> = parsed.map(|line| line["name"].clone()).collect();
        assert_eq!(names, ["amf", "smf"]);
    }

    /// Any line with the digits counted: after a crash a refused request hid a certificate.
    #[test]
    fn a_certificate_is_granted_by_its_own_line_alone() {
        let place = tempfile::tempdir().unwrap();
        let mut audit = Audit::open(&place.path().join("audit.jsonl")).unwrap();
        let (from, now) = (Ipv4Addr::LOCALHOST.into(), SystemTime::UNIX_EPOCH);
        let [issued, other] = ["07", "08"].map(|octet| octet.repeat(16).parse::<Serial>().unwrap());
        let refused = Some((bartizan_enrol::Failure::BadRequest, format!("not {issued}")));
        let events = [
            Event {
                sender: Some(issued.to_string()),
                refused: refused.clone(),
                ..event(&issued.to_string())
            },
            Event {
                serial: Some(issued),
                refused,
                ..event("amf")
            },
            Event {
                serial: Some(other),
                ..event(&issued.to_string())
            },
        ];
        for event in events {
            audit.record(from, &event, now).unwrap();
        }
        assert_eq!([issued, other].map(|one| audit.grants(one).unwrap()), [false, true]);
    }
}
