//! The audit log: a line of JSON for each request, appended and synced before its answer is sent.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
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
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| {
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
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }
}
