//! tshark 4.4 of the lab root, which reads the same capture as we do.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use bartizan_host::{LabRoot, Program};

use crate::PATIENCE;

/// From field to values, of one packet.
pub type Row = BTreeMap<String, Vec<String>>;

/// The lab root of trixie.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn lab_root() -> LabRoot {
    let root = LabRoot::trixie().expect("a cache directory").present();
    root.expect("no lab root: `make lab-root` builds it, and `make test` does so first")
}

/// Runs a program of Wireshark's to its end; what it prints.
///
/// # Panics
/// If it fails.
#[must_use]
pub fn wireshark<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> String {
    let program = lab_root().command(program).expect("the lab root has it");
    finish(program.arguments(arguments))
}

fn finish(program: Program) -> String {
    let finished = program.run(PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(finished.stdout).expect("UTF-8")
}

/// One reading of a capture.
#[derive(Debug, Default)]
#[must_use]
pub struct Tshark {
    options: Vec<OsString>,
    home: Option<OsString>,
}

impl Tshark {
    /// With the names and decoding that tshark comes with.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this option as well, `-d tcp.port==8000,http2` or `-o tls.keylog_file:FILE`.
    pub fn option(mut self, option: &str, value: impl AsRef<OsStr>) -> Self {
        self.options.push(option.into());
        self.options.push(value.as_ref().to_owned());
        self
    }

    /// With the configuration and tables below this folder.
    pub fn home(mut self, folder: &Path) -> Self {
        self.home = Some(folder.as_os_str().to_owned());
        self
    }

    /// The fields of every packet that `filter` lets through, each with all of its values.
    #[must_use]
    pub fn rows(self, file: &Path, filter: &str, fields: &[&str]) -> Vec<Row> {
        let mut program = lab_root().command("tshark").expect("the lab root has it");
        if let Some(home) = self.home {
            program = program.environment("HOME", home);
        }
        let program = program
            .argument("-n")
            .arguments(self.options)
            .argument("-r")
            .argument(file);
        let program = program
            .arguments(["-Y", filter, "-T", "fields", "-E", "occurrence=a"])
            .arguments(["-E", "aggregator=,", "-E", "separator=/t"])
            .arguments(fields.iter().flat_map(|field| ["-e", field]));
        let row = |line: &str| {
            let values = line.split('\t').map(|cell| {
                let values = cell.split(',').filter(|value| !value.is_empty());
                values.map(str::to_owned).collect()
            });
            fields.iter().map(|field| (*field).to_owned()).zip(values).collect()
        };
        finish(program).lines().map(row).collect()
    }

    /// Every value of one field, in the order of packets.
    #[must_use]
    pub fn values(self, file: &Path, filter: &str, field: &str) -> Vec<String> {
        let rows = self.rows(file, filter, &[field]);
        rows.into_iter()
            .flat_map(|mut row| row.remove(field).unwrap_or_default())
            .collect()
    }
}

/// Code points and sizes, however tshark writes them: `0x11ec` or `4588`.
///
/// # Panics
/// If one is no number.
#[must_use]
pub fn numbers(values: &[String]) -> Vec<u64> {
    let number = |value: &String| match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    values.iter().map(|value| number(value).expect("a number")).collect()
}
