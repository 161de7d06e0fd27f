//! Findings that an operator accepts, by a file: each until a day, for a reason.
//!
//! An accepted finding stays in every report, and no verdict changes by it: the exit code alone
//! leaves it out. An entry that has ended or accepts nothing is a finding itself.

mod matching;

use std::cell::RefCell;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::day_of;
use serde::{Deserialize, Serialize};
use time::Date;
use time::macros::format_description;

use self::matching::{begins_with, is_link};
use super::severity::Severity;
use crate::Failure;

/// Largest file, in bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    accepted: Vec<WrittenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenEntry {
    finding: String,
    reason: String,
    owner: Option<String>,
    expires: String,
    #[serde(default = "once")]
    up_to: u64,
    link: Option<String>,
}

const fn once() -> u64 {
    1
}

/// An entry, and the findings that it has accepted.
struct Entry {
    finding: String,
    reason: String,
    expires: Date,
    up_to: u64,
    /// The link whose findings it accepts; any, where it names none.
    link: Option<String>,
    taken: u64,
    /// True once it began the line of a finding that it accepts no more of.
    exceeded: bool,
}

/// Acceptance of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Acceptance {
    pub(crate) reason: String,
    /// The last day.
    pub(crate) expires: String,
}

/// A fault of an entry, which is a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    /// `accepted.yaml, entry 2`.
    pub(crate) about: String,
    pub(crate) finding: String,
    pub(crate) hint: &'static str,
    pub(crate) severity: Severity,
}

/// The entries of a file on one day.
#[derive(Default)]
pub(crate) struct Accepted {
    file: String,
    entries: RefCell<Vec<Entry>>,
    today: Option<Date>,
}

fn text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST {
        true => Err(std::io::Error::other("is larger than 1 MiB")),
        false => Ok(text),
    }
}

impl Accepted {
    /// The entries of the file that is given; none accepts nothing.
    pub(crate) fn read(path: Option<&Path>, now: SystemTime) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let file = path.display().to_string();
        let text = text(path).map_err(|error| {
            Failure::usage(format!("{file}: {error}")).hint("give a file of accepted findings (docs/accept.md)")
        })?;
        Self::parse(&text, file, day_of(now))
    }

    fn parse(text: &str, file: String, today: Date) -> Result<Self, Failure> {
        const FORM: &str = "accepted: [{ finding: \"E2 cu -- ric: ...\", reason: \"...\", expires: 2027-06-30 }]";
        let written: Written = serde_saphyr::from_str(text)
            .map_err(|error| Failure::usage(format!("{file}: {error}")).hint(format!("write {FORM}")))?;
        let entries = written.accepted.into_iter().enumerate().map(|(place, entry)| {
            let fault = |what: &str| Failure::usage(format!("{file}, entry {}: {what}", place + 1));
            if entry.finding.trim().is_empty() {
                return Err(fault("`finding` is empty").hint("copy the finding's line from the report"));
            }
            if entry.reason.trim().is_empty() {
                return Err(fault("`reason` is empty").hint("say why the finding is accepted for now"));
            }
            let expires = Date::parse(&entry.expires, format_description!("[year]-[month]-[day]"));
            let expires = expires
                .map_err(|_| fault(&format!("`{}` is not a date", entry.expires)).hint("write a day as 2027-06-30"))?;
            Ok(Entry {
                finding: entry.finding,
                reason: match entry.owner {
                    Some(owner) => format!("{} (owner: {owner})", entry.reason),
                    None => entry.reason,
                },
                expires,
                up_to: entry.up_to,
                link: entry.link,
                taken: 0,
                exceeded: false,
            })
        });
        Ok(Self {
            entries: RefCell::new(entries.collect::<Result<_, _>>()?),
            today: Some(today),
            file,
        })
    }

    /// The file, if one was given.
    #[cfg(feature = "full")]
    pub(crate) fn file(&self) -> Option<&Path> {
        self.today.map(|_| Path::new(&self.file))
    }

    /// Acceptance of a finding with one of these lines, which stands for so many. An entry accepts
    /// those that begin with its text, up to its number: more was not known when it was written. Of
    /// entries that name links each link of the finding needs one.
    pub(crate) fn takes(&self, lines: &[&str], count: u64, links: &Links<'_>) -> Option<Acceptance> {
        let today = self.today?;
        let mut entries = self.entries.borrow_mut();
        let begins =
            |entry: &&mut Entry| entry.expires >= today && lines.iter().any(|line| begins_with(line, &entry.finding));
        let mut entries: Vec<_> = entries.iter_mut().filter(begins).collect();
        // The longest text first: a shorter one takes nothing that another names as a whole.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.finding.len()));
        let (mut named, any): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.link.is_some());
        let names = |entry: &Entry, link: &str| entry.link.as_ref().is_some_and(|written| is_link(link, written));
        named.retain(|entry| links.all.iter().any(|link| names(entry, link)));
        let is_named = |link: &String| named.iter().any(|entry| names(entry, link));
        let whole = !links.has_further && !named.is_empty() && links.all.iter().all(is_named);
        if whole && let Some(acceptance) = take(&mut named, count) {
            return Some(acceptance);
        }
        any.into_iter().find_map(|entry| take(&mut [entry], count))
    }

    /// Entries that have ended or accept nothing, once all findings were looked at.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let Some(today) = self.today else {
            return Vec::new();
        };
        let entries = self.entries.borrow();
        let faults = entries.iter().enumerate().filter_map(|(place, entry)| {
            let (finding, hint) = if entry.expires < today {
                let end = format!("ended with {}: what it accepted is a finding again", entry.expires);
                (end, "mend the finding, or write a new end where the reason still holds")
            } else if entry.exceeded {
                let more = format!("accepts up to {}, and there are more", entry.up_to);
                (more, "look at them, then raise `up-to`")
            } else if entry.taken == 0 {
                let unused = format!("accepts nothing: no finding begins with `{}`", entry.finding);
                (unused, "remove it")
            } else {
                return None;
            };
            Some(Fault {
                about: format!("{}, entry {}", self.file, place + 1),
                finding,
                hint,
                severity: Severity::Low,
            })
        });
        faults.collect()
    }
}

/// Takes so many findings by these entries together.
fn take(entries: &mut [&mut Entry], count: u64) -> Option<Acceptance> {
    let room: u64 = entries
        .iter()
        .map(|entry| entry.up_to - entry.taken)
        .fold(0, u64::saturating_add);
    if count > room {
        entries.iter_mut().for_each(|entry| entry.exceeded = true);
        return None;
    }
    let mut left = count;
    for entry in entries.iter_mut() {
        let taken = left.min(entry.up_to - entry.taken);
        (entry.taken, left) = (entry.taken + taken, left - taken);
    }
    let first = entries.first()?;
    Some(Acceptance {
        reason: first.reason.clone(),
        expires: first.expires.to_string(),
    })
}

/// Links of a finding.
#[derive(Default)]
pub(crate) struct Links<'a> {
    pub(crate) all: &'a [String],
    /// True if it is of more than these.
    pub(crate) has_further: bool,
}

impl Acceptance {
    /// For people.
    pub(crate) fn text(&self) -> String {
        format!("accepted until {}: {}", self.expires, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, today: &str) -> Result<Accepted, Failure> {
        let today = Date::parse(today, format_description!("[year]-[month]-[day]")).unwrap();
        Accepted::parse(text, "accepted.yaml".into(), today)
    }

    const FILE: &str = "accepted:\n\
        - { finding: 'E2 cu -- ric: is classical', reason: vendor, owner: RAN team, expires: 2027-06-30 }\n\
        - { finding: 'readable now: PFCP', reason: lab, expires: 2027-06-30, up-to: 3 }\n";

    #[test]
    fn an_entry_accepts_what_begins_with_it_until_its_last_day_and_no_more_than_it_says() {
        let accepted = parse(FILE, "2027-06-30").unwrap();
        let e2 = ["E2 cu -- ric: is classical: what is recorded"];
        assert_eq!(
            accepted.takes(&e2, 1, &Links::default()).unwrap().text(),
            "accepted until 2027-06-30: vendor (owner: RAN team)"
        );
        assert_eq!(
            accepted.takes(&["F1-C E2 cu -- ric: is classical"], 1, &Links::default()),
            None
        );
        assert!(
            accepted
                .takes(
                    &["readable now: 2 links: PFCP", "readable now: PFCP"],
                    2,
                    &Links::default()
                )
                .is_some()
        );
        assert_eq!(accepted.faults(), []);
        // Two more are one too many, and one more is not.
        assert!(accepted.takes(&["readable now: PFCP"], 2, &Links::default()).is_none());
        assert!(accepted.takes(&["readable now: PFCP"], 1, &Links::default()).is_some());
        assert!(accepted.takes(&e2, 1, &Links::default()).is_none());
        let faults = accepted.faults();
        let words: Vec<_> = faults
            .iter()
            .map(|fault| (fault.about.as_str(), fault.finding.as_str()))
            .collect();
        assert_eq!(
            words,
            [
                ("accepted.yaml, entry 1", "accepts up to 1, and there are more"),
                ("accepted.yaml, entry 2", "accepts up to 3, and there are more"),
            ]
        );
    }

    #[test]
    fn an_entry_ends_where_a_name_or_a_number_does() {
        let entry = |text: &str| {
            let file = format!("accepted: [{{ finding: '{text}', reason: lab, expires: 2027-06-30 }}]");
            parse(&file, "2027-06-30").unwrap()
        };
        let takes = |text: &str, line: &str| entry(text).takes(&[line], 1, &Links::default()).is_some();
        let line = "SBI amf -- nrf2: is protected by nothing for another 33 days";
        for text in ["SBI amf -- nrf2", "SBI amf -- ", "SBI amf -- nrf2: is protected", line] {
            assert!(takes(text, line), "{text}");
        }
        for text in [
            "SBI amf -- nrf",
            "SBI am",
            "SBI amf -- nrf2: is protected by nothing for another 3",
        ] {
            assert!(!takes(text, line), "{text}");
        }
        assert!(!takes("E2 cu -- ric", "E2 cu -- ric-b: is classical"));
        assert!(!takes("E2 cu -- ric", "E2 cu -- ric.b: is classical"));
        assert!(takes("ca.pem: is old", "ca.pem: is old. Renew it"));
    }

    #[test]
    fn an_entry_that_has_ended_or_accepts_nothing_is_a_finding() {
        let ended = parse(FILE, "2027-07-01").unwrap();
        assert_eq!(ended.takes(&["E2 cu -- ric: is classical"], 1, &Links::default()), None);
        assert!(
            ended
                .faults()
                .iter()
                .all(|fault| fault.finding.starts_with("ended with 2027-06-30"))
        );
        let unused = parse(FILE, "2027-06-01").unwrap().faults();
        assert!(unused.iter().all(|fault| fault.finding.starts_with("accepts nothing")));
        assert_eq!((ended.faults().len(), unused.len()), (2, 2));
        assert_eq!(Accepted::default().faults(), []);
    }

    #[test]
    fn reason_and_end_are_mandatory_and_unknown_fields_are_refused() {
        let entry = |fields: &str| parse(&format!("accepted: [{{ finding: x, {fields} }}]"), "2027-06-01");
        assert!(entry("reason: y, expires: 2027-06-30").is_ok());
        for fields in [
            "reason: y",
            "expires: 2027-06-30",
            "reason: '', expires: 2027-06-30",
            "reason: y, expires: soon",
            "reason: y, expires: 2027-02-30",
            "reason: y, expires: 2027-06-30, upto: 3",
        ] {
            assert!(entry(fields).is_err(), "{fields}");
        }
    }

    #[test]
    fn an_entry_that_names_a_link_accepts_no_other_and_each_link_needs_one() {
        let named =
            |link: &str| format!("{{ finding: 'readable now', reason: lab, expires: 2027-06-30, link: {link} }}");
        let parse = |entries: &[&str]| {
            let entries = entries.iter().map(|link| named(link)).collect::<Vec<_>>().join(", ");
            parse(&format!("accepted: [{entries}]"), "2027-06-30").unwrap()
        };
        let takes = |accepted: &Accepted, links: &[&str], has_further: bool| {
            let all: Vec<String> = links.iter().map(ToString::to_string).collect();
            let links = Links { all: &all, has_further };
            accepted
                .takes(&["readable now: PFCP"], all.len() as u64, &links)
                .is_some()
        };
        let (n4, other) = ("N4 10.0.0.1 -- 10.0.0.2", "10.9.9.1 -- 10.9.9.2");
        for link in [
            "10.0.0.1 -- 10.0.0.2",
            "10.0.0.2 -- 10.0.0.1",
            "N4",
            "N4 10.0.0.2 -- 10.0.0.1",
        ] {
            assert!(takes(&parse(&[link]), &[n4], false), "{link}");
            assert!(!takes(&parse(&[link]), &[other], false), "{link}");
            assert!(!takes(&parse(&[link]), &[n4, other], false), "{link}");
            assert!(!takes(&parse(&[link]), &[], false), "{link}");
        }
        let both = parse(&["N4", "10.9.9.1 -- 10.9.9.2"]);
        assert!(!takes(&both, &[n4, other], true));
        assert!(takes(&both, &[n4, other], false));
        assert_eq!(both.faults(), []);
        let unused = parse(&["N2"]);
        assert!(!takes(&unused, &[n4], false));
        assert!(unused.faults()[0].finding.starts_with("accepts nothing"));
    }
}
