//! What a report's reader must look at, and what limits it.

use bartizan_posture::{Kind, Source, Verdict};
use bartizan_wire::Unread;

use super::link::Link;
use super::report::Report;
use super::table::counted;

/// What is at stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Concern {
    /// Can be read later.
    Confidentiality,
    /// Can be forged.
    Authenticity,
    /// Not shown to be safe.
    Unproven,
    /// Ledger and packets disagree.
    Contradiction,
}

impl Concern {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Confidentiality => "confidentiality",
            Self::Authenticity => "authenticity",
            Self::Unproven => "unproven",
            Self::Contradiction => "contradiction",
        }
    }
}

/// Something to look at, with the first connection it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) concern: Concern,
    pub(crate) because: String,
    /// How many connections; for what is not read, packets.
    pub(crate) count: u64,
    /// The first: who, and the packets or records that say so. None for what is no connection.
    pub(crate) example: Option<String>,
}

pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut found = |concern, because: &str, count, link: &Link, sources: &[Source]| {
        let known = findings
            .iter_mut()
            .find(|finding| finding.concern == concern && finding.because == because);
        match known {
            Some(finding) => finding.count += count,
            None => findings.push(Finding {
                concern,
                because: because.to_owned(),
                count,
                example: Some(example(link, sources)),
            }),
        }
    };
    for row in report.rows() {
        let posture = &row.link.posture;
        for (concern, judgement) in [
            (Concern::Confidentiality, &posture.confidentiality),
            (Concern::Authenticity, &posture.authenticity),
        ] {
            if judgement.verdict() == Verdict::Vulnerable {
                found(
                    concern,
                    judgement.because(),
                    row.connections,
                    &row.link,
                    judgement.sources(),
                );
            }
        }
        let judgement = &posture.confidentiality;
        let carries_data = !matches!(posture.kind, Kind::Silent | Kind::TlsNotAgreed);
        if carries_data && matches!(judgement.verdict(), Verdict::NotObservable | Verdict::NotSeen) {
            found(
                Concern::Unproven,
                judgement.because(),
                row.connections,
                &row.link,
                judgement.sources(),
            );
        }
        for contradiction in &posture.contradictions {
            found(
                Concern::Contradiction,
                &contradiction.what,
                row.connections,
                &row.link,
                &contradiction.sources,
            );
        }
    }
    for (&unread, &packets) in &report.totals().unread {
        if let Some(what) = protected_elsewhere(unread) {
            findings.push(Finding {
                concern: Concern::Unproven,
                because: format!("{what}: not read by this version, so nothing is said of it"),
                count: packets,
                example: None,
            });
        }
    }
    findings.sort_by_key(|finding| finding.concern);
    findings
}

pub(super) fn notes(report: &Report) -> Vec<String> {
    let (totals, summary) = (report.totals(), report.summary());
    let mut notes = Vec::new();
    let mut note = |count: u64, unit: &str, text: &str| {
        if count > 0 {
            notes.push(format!("{}: {text}", counted(count, unit)));
        }
    };
    note(
        summary.authenticity.not_observable,
        "connection",
        "authenticity not observable; the ledgers of both sidecars (`--ledger`) can supply it",
    );
    note(summary.with_gaps, "connection", "bytes are missing from the capture");
    note(
        totals.snapped,
        "packet",
        "captured in part only (`tcpdump -s 0` takes them whole)",
    );
    note(
        report.dropped_at_capture(),
        "packet",
        "dropped by the capturing host, as the capture itself says",
    );
    note(
        totals.untracked,
        "packet",
        "not read, more connections at a time than are followed",
    );
    note(
        report.lost_by_ledger(),
        "record",
        "lost by the ledgers, as they say themselves",
    );
    note(
        summary.beyond_rows,
        "connection",
        "counted in the summary only, too many kinds of them",
    );
    note(
        summary.beyond_links,
        "connection",
        "not listed one by one, too many of them",
    );
    for (&unread, &packets) in &totals.unread {
        if protected_elsewhere(unread).is_none() {
            notes.push(format!("{}: not read ({})", counted(packets, "packet"), name(unread)));
        }
    }
    notes
}

/// Links of a mobile network that this version does not read: to pass over them would be to call them safe.
fn protected_elsewhere(unread: Unread) -> Option<&'static str> {
    match unread {
        Unread::Sctp => Some("SCTP (N2, E2, F1, Xn, E1)"),
        Unread::Esp => Some("ESP"),
        Unread::Ike => Some("IKEv2, or ESP in UDP"),
        Unread::MacSec => Some("MACsec"),
        Unread::Fragment => Some("fragments of IP packets"),
        Unread::LinkType(_) => Some("frames of a link type that is not known"),
        Unread::Udp | Unread::Protocol(_) | Unread::EtherType(_) | Unread::Malformed => None,
    }
}

pub(crate) fn name(unread: Unread) -> String {
    match unread {
        Unread::Sctp => "SCTP".into(),
        Unread::Esp => "ESP".into(),
        Unread::Ike => "IKE".into(),
        Unread::Udp => "UDP".into(),
        Unread::MacSec => "MACsec".into(),
        Unread::Fragment => "IP fragment".into(),
        Unread::Malformed => "malformed".into(),
        Unread::Protocol(1) => "ICMP".into(),
        Unread::Protocol(58) => "ICMPv6".into(),
        Unread::EtherType(0x0806) => "ARP".into(),
        Unread::EtherType(0x88cc) => "LLDP".into(),
        Unread::Protocol(number) => format!("IP protocol {number}"),
        Unread::EtherType(number) => format!("EtherType 0x{number:04x}"),
        Unread::LinkType(number) => format!("link type {number}"),
    }
}

fn example(link: &Link, sources: &[Source]) -> String {
    let sources: Vec<String> = sources.iter().map(source).collect();
    format!("{} -> {}, {}", link.client, link.server, sources.join(", "))
}

/// A source as a person looks it up.
pub(crate) fn source(source: &Source) -> String {
    match source {
        Source::Packets { first, last, .. } if first == last => format!("packet {first}"),
        Source::Packets { first, last, .. } => format!("packets {first}-{last}"),
        Source::Ledger { node, at_us, .. } => {
            format!("ledger of {node} at {}.{:06}", at_us / 1_000_000, at_us % 1_000_000)
        }
        _ => "unknown source".into(),
    }
}
