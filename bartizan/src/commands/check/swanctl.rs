//! `bartizan check --swanctl`: the connections of a strongSwan that was configured without Bartizan.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bartizan_inspect::text::counted;
use bartizan_ipsec::Charon;
use bartizan_ipsec::lint::{self, Located};
use bartizan_ipsec::swanctl::{Settings, parse};
use bartizan_ipsec::vici::Client;
use glob::{MatchOptions, Pattern, glob_with};
use serde::Serialize;

use super::Form;
use crate::commands::severity::Severity;
use crate::commands::show;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-check-swanctl/1";

/// A configuration of thousands of connections has a few megabytes.
const LARGEST: u64 = 16 << 20;

/// Timeout of an answer from charon.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    file: String,
    connections: usize,
    /// The version of the charon that was asked what it cannot do; none where none was.
    charon: Option<String>,
    /// Settings that let a classical key exchange win, or that this charon refuses.
    findings: Vec<Remark>,
    /// Remarks for the file's author.
    notes: Vec<Remark>,
}

#[derive(Serialize)]
struct Remark {
    file: String,
    line: u32,
    connection: String,
    /// None where it is about the IKE_SA.
    child: Option<String>,
    /// The proposal or the name it is about.
    about: String,
    cause: String,
    hint: String,
}

pub(super) fn run(file: &Path, vici: Option<&Path>, form: Form, least: Option<Severity>) -> Result<Outcome, Failure> {
    let settings = read(file)?;
    let connections = settings
        .section("connections")
        .map_or(0, |section| section.sections().count());
    if connections == 0 {
        return Err(Failure::usage(format!("{}: no connections", file.display()))
            .hint("give the file that has `connections { ... }`, or includes those that do"));
    }
    let charon = vici.map(ask).transpose()?;
    let (findings, notes): (Vec<_>, Vec<_>) = lint::file(&settings, charon.as_ref())
        .into_iter()
        .partition(|located| located.remark.severity == lint::Severity::Refused);
    let report = Report {
        schema: SCHEMA,
        file: file.display().to_string(),
        connections,
        charon: charon.map(|charon| charon.version),
        findings: findings.into_iter().map(Remark::from).collect(),
        notes: notes.into_iter().map(Remark::from).collect(),
    };
    let well = report.findings.is_empty() || !Severity::High.reaches(least);
    match form {
        Form::Nothing => Ok(if well { Outcome::Clean } else { Outcome::Finding }),
        form => show(&report, form == Form::Json, || report.text(), well),
    }
}

fn ask(socket: &Path) -> Result<Charon, Failure> {
    let answer = Client::connect(socket, PATIENCE).and_then(|mut client| Charon::ask(&mut client));
    answer.map_err(|error| Failure::new(error).hint("without --vici the file is looked at alone"))
}

impl From<Located> for Remark {
    fn from(located: Located) -> Self {
        Self {
            file: located.place.file,
            line: located.place.line,
            connection: located.connection,
            child: located.child,
            about: located.remark.about,
            cause: located.remark.cause,
            hint: located.remark.hint,
        }
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = String::new();
        let asked = match &self.charon {
            Some(version) => format!("held against strongSwan {version}"),
            None => "no charon was asked what it cannot do (--vici)".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {}; {asked}",
            self.file,
            counted(self.connections as u64, "connection")
        );
        for (kind, remarks) in [("note", &self.notes), ("finding", &self.findings)] {
            for remark in remarks {
                let child = remark
                    .child
                    .as_ref()
                    .map(|child| format!("/{child}"))
                    .unwrap_or_default();
                let _ = writeln!(
                    text,
                    "\n{kind}: {}:{}: {}{child}: {}: {}\nhint: {}",
                    remark.file, remark.line, remark.connection, remark.about, remark.cause, remark.hint
                );
            }
        }
        let _ = match self.findings.len() {
            0 => writeln!(text, "\nno findings: no peer can choose a classical key exchange"),
            several => writeln!(text, "\n{}", counted(several as u64, "finding")),
        };
        text
    }
}

fn read(file: &Path) -> Result<Settings, Failure> {
    let text = content(file).map_err(|cause| {
        Failure::usage(format!("{}: {cause}", file.display())).hint("give the path of a swanctl.conf")
    })?;
    let name = file.display().to_string();
    parse(&name, &text, &mut |pattern, from| included(pattern, Path::new(from)))
        .map_err(|error| Failure::usage(&error).hint("`swanctl --load-conns` reads the same format"))
}

fn content(file: &Path) -> Result<String, String> {
    let length = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if length > LARGEST {
        return Err(format!("has {length} bytes, more than {LARGEST}"));
    }
    fs::read_to_string(file).map_err(|error| error.to_string())
}

/// The files that an `include` stands for, in the order of their names. A pattern that matches none
/// is no error, as strongSwan has it.
fn included(pattern: &str, from: &Path) -> Result<Vec<(String, String)>, String> {
    let folder = from.parent().unwrap_or(Path::new(""));
    let files = if pattern.contains(['*', '?', '[']) {
        let place = Path::new(&Pattern::escape(&folder.to_string_lossy())).join(pattern);
        let files = glob_with(&place.to_string_lossy(), AS_IN_A_SHELL);
        files
            .map_err(|error| format!("`include {pattern}`: {error}"))?
            .flatten()
            .collect()
    } else {
        vec![folder.join(pattern)]
    };
    let read = files.into_iter().map(|file| {
        let text = content(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
        Ok((file.display().to_string(), text))
    });
    read.collect()
}

/// Names with a leading dot match only patterns with a leading dot.
const AS_IN_A_SHELL: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

#[cfg(test)]
mod tests {
    use super::{fs, included};

    #[test]
    fn names_match_as_in_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("[conf].d").join("swanctl.conf");
        fs::create_dir(from.parent().unwrap()).unwrap();
        for name in ["ric.conf", "ric.conf.bak", ".conf", "a.conf", "axxbyybzc", "axxbyyb"] {
            fs::write(from.with_file_name(name), name).unwrap();
        }
        let matched = |pattern: &str| -> Vec<String> {
            let files = included(pattern, &from).unwrap().into_iter();
            files.map(|(_, text)| text).collect()
        };
        assert_eq!(matched("*.conf"), ["a.conf", "ric.conf"]);
        assert_eq!(matched("?.conf"), ["a.conf"]);
        assert_eq!(matched("[a-q].conf"), ["a.conf"]);
        assert_eq!(matched("a*b*c"), ["axxbyybzc"]);
        assert_eq!(matched("*.pem"), [""; 0]);
        assert_eq!(matched("../*/ric.*"), ["ric.conf", "ric.conf.bak"]);
        assert!(included("lost.conf", &from).is_err());
    }
}
