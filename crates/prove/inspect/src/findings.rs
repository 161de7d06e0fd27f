//! Findings that a report's reader must look at, and limits of the report.

use std::collections::HashMap;
use std::fmt;

use bartizan_posture::{Answer, Concern, Interface, Link, Network, Source, Verdict};
use bartizan_wire::{End, FlowKind, Totals, Unread};

use crate::conversation::Conversation;
use crate::remedy::{self, APART, BUFFER, LEDGER, MEMORY, NOTHING, OTHERS, Place, Remedy, Severity, TAGS, WHOLE};
use crate::report::Report;
use crate::text::{counted, printable};

/// Kinds of findings distinguished. The reasons hold names that an unauthenticated peer may choose.
const KINDS: usize = 1000;

/// Something to look at, with the first connection it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The concern at stake.
    pub concern: Concern,
    /// The reason, in words.
    pub because: String,
    /// Their number.
    pub count: u64,
    /// Unit of the count: links, connections, or packets where those are not read.
    pub unit: &'static str,
    /// Its remedy.
    pub remedy: Remedy,
    /// The first: who, and the packets or records that say so. None for what is no connection.
    pub example: Option<String>,
    /// Its links by interface and ends: 16 at most.
    pub links: Vec<String>,
    /// True if it is of more links than these.
    pub has_further_links: bool,
}

/// Links that a finding names.
const LINKS: usize = 16;

/// A link by its ends, and by its interface where one is known.
fn link_name(interface: Option<Interface>, [one, other]: [impl fmt::Display; 2]) -> String {
    match interface {
        Some(interface) => format!("{} {one} -- {other}", interface.name),
        None => format!("{one} -- {other}"),
    }
}

impl Finding {
    /// Its severity.
    pub fn severity(&self) -> Severity {
        Severity::of(self.concern)
    }

    /// Returns true if it is about what was not read or not distinguished: findings of any severity may
    /// be behind it.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        self.concern == Concern::Unproven && self.example.is_none()
    }
}

/// Findings of connections, gathered as connections end: those in no row and on no list count all the same.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    findings: Vec<Finding>,
    /// By concern, reason, and the entry of the remedy: two interfaces have two remedies.
    places: HashMap<(Concern, String, &'static str), usize>,
    /// Connections, or links, with a finding of a kind beyond [`KINDS`].
    beyond: u64,
}

impl Gathered {
    pub(crate) fn add(&mut self, conversation: &Conversation) {
        const UNIT: &str = "connection";
        let posture = &conversation.posture;
        let place = Place::from(posture);
        let ends = [conversation.client, conversation.server].map(End::address);
        let link = || link_name(posture.interface, ends);
        for (concern, judgement) in [
            (Concern::Confidentiality, &posture.confidentiality),
            (Concern::Authenticity, &posture.authenticity),
        ] {
            if judgement.verdict().is_vulnerable() {
                let concern = match concern {
                    Concern::Confidentiality => Concern::of_readable(judgement.verdict()),
                    other => other,
                };
                let example = || example(conversation, judgement.sources());
                self.found(
                    concern,
                    judgement.because(),
                    UNIT,
                    remedy::remedy(concern, place),
                    example,
                    link,
                );
            }
        }
        let judgement = &posture.confidentiality;
        if conversation.ike.is_some()
            && judgement.verdict() == Verdict::QuantumSafe
            && posture.stayed.answer() == Answer::No
        {
            let example = || example(conversation, posture.stayed.sources());
            let remedy = remedy::remedy(Concern::Regression, place);
            self.found(
                Concern::Regression,
                posture.stayed.because(),
                UNIT,
                remedy,
                example,
                link,
            );
        }
        if posture.kind.carries_data() && matches!(judgement.verdict(), Verdict::NotObservable | Verdict::NotSeen) {
            let example = || example(conversation, judgement.sources());
            let remedy = remedy::remedy(Concern::Unproven, place);
            self.found(Concern::Unproven, judgement.because(), UNIT, remedy, example, link);
        }
        for hole in &posture.holes {
            if hole.judgement.verdict() != Verdict::QuantumSafe {
                let example = || example(conversation, hole.judgement.sources());
                let remedy = remedy::of_hole(hole.kind);
                self.found(
                    Concern::AboveTransport,
                    hole.judgement.because(),
                    UNIT,
                    remedy,
                    example,
                    link,
                );
            }
        }
        for contradiction in &posture.contradictions {
            let example = || example(conversation, &contradiction.sources);
            let remedy = remedy::remedy(Concern::Contradiction, place);
            self.found(Concern::Contradiction, &contradiction.what, UNIT, remedy, example, link);
        }
    }

    fn found(
        &mut self,
        concern: Concern,
        because: &str,
        unit: &'static str,
        remedy: Remedy,
        example: impl FnOnce() -> String,
        link: impl FnOnce() -> String,
    ) {
        let entry = remedy.changes.first().map_or(remedy.what, |change| change.entry);
        let key = (concern, because.to_owned(), entry);
        if let Some(&place) = self.places.get(&key) {
            let finding = &mut self.findings[place];
            finding.count += 1;
            if finding.has_further_links {
                return;
            }
            let link = link();
            if !finding.links.contains(&link) {
                finding.has_further_links = finding.links.len() == LINKS;
                finding.links.extend((!finding.has_further_links).then_some(link));
            }
        } else if self.findings.len() < KINDS {
            self.places.insert(key, self.findings.len());
            self.findings.push(Finding {
                concern,
                because: because.to_owned(),
                count: 1,
                unit,
                remedy,
                example: Some(example()),
                links: vec![link()],
                has_further_links: false,
            });
        } else {
            self.beyond += 1;
        }
    }
}

pub(crate) fn findings(report: &Report, gathered: &Gathered) -> Vec<Finding> {
    let by_link = by_link(report);
    let beyond = gathered.beyond + by_link.beyond;
    let mut findings = by_link.findings;
    // A deployment file's policies hold for links; without one each connection is judged by the same.
    let of_connections = [Concern::AboveTransport, Concern::Contradiction];
    let by_policy = |finding: &&Finding| report.listed().is_none() || of_connections.contains(&finding.concern);
    findings.extend(gathered.findings.iter().filter(by_policy).cloned());
    // In a capture of beginnings of packets a handshake cannot be read, however often an end is
    // restarted.
    if report.totals().snapped > report.totals().packets / 8 {
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.concern == Concern::Unproven)
        {
            finding.remedy = WHOLE;
        }
    }
    let mut unproven = |count: u64, unit: &'static str, because: String, remedy: Remedy| {
        if count > 0 {
            findings.push(Finding {
                concern: Concern::Unproven,
                because,
                count,
                unit,
                remedy,
                example: None,
                links: Vec::new(),
                has_further_links: false,
            });
        }
    };
    let totals = report.totals();
    for (&unread, captured) in &totals.unread {
        if !unread.is_housekeeping() {
            let because = format!("{}: not read, so nothing is said of it", name(unread));
            unproven(captured.packets, "packet", because, WHOLE);
        }
    }
    if report.coverage().wanted() == 0 {
        unproven(1, "capture", NOTHING_SEEN.to_owned(), NOTHING);
    }
    for omission in omissions(report) {
        unproven(omission.count, omission.unit, omission.because(), MEMORY);
    }
    let lost = [report.dropped_at_capture(), report.by_ledgers().lost];
    for (count, unit, because, remedy) in limits(totals, lost) {
        unproven(count, unit, because.to_owned(), remedy);
    }
    let because = format!("for reasons beyond the {KINDS} distinguished");
    unproven(beyond, "link or connection", because, OTHERS);
    findings.sort_by_key(|finding| (finding.severity(), finding.concern));
    findings
}

/// Reason where two networks may look like one.
pub(crate) const UNTAGGED: &str =
    "of LINUX_SLL2 (`tcpdump -i any`), which loses VLAN tags: networks with the same addresses look like one";

/// The same where it is interfaces that are not distinguished.
pub(crate) const MERGED: &str =
    "between hosts that several interfaces of the capture saw: networks with the same addresses look like one";

/// Reason where packets are cut.
const SNAPPED: &str = "captured in part only: nothing is said of the rest";

/// Reason where a capture shows nothing.
pub(crate) const NOTHING_SEEN: &str = "nothing was seen that carries data: this capture shows nothing of any link";

/// Limits of the evidence: no verdict reaches behind them. Lost are packets at the capture, and
/// records by ledgers.
pub(crate) fn limits(totals: &Totals, lost: [u64; 2]) -> [(u64, &'static str, &'static str, Remedy); 5] {
    let [dropped, records] = lost;
    [
        (totals.snapped, "packet", SNAPPED, WHOLE),
        (totals.untagged, "packet", UNTAGGED, TAGS),
        (totals.merged, "packet", MERGED, APART),
        (
            dropped,
            "packet",
            "dropped by the capturing host, as the capture itself says: nothing is said of them",
            BUFFER,
        ),
        (
            records,
            "record",
            "lost by the ledgers, as they say themselves, damaged, or of a rotated file that is missing: nothing is said of them",
            LEDGER,
        ),
    ]
}

/// Things of one kind that memory had no room for, and the packet from which on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Omission {
    pub(crate) what: &'static str,
    pub(crate) count: u64,
    /// Unit of the count.
    pub(crate) unit: &'static str,
    pub(crate) first_packet: u64,
}

impl Omission {
    pub(crate) fn because(&self) -> String {
        format!(
            "{} beyond what memory has room for (`--memory`), from packet {} on: nothing is said of them",
            self.what, self.first_packet
        )
    }
}

/// Name of an omission of whole links.
pub(crate) const IN_LINKS: &str = "in links";

/// All that memory had no room for.
pub(crate) fn omissions(report: &Report) -> Vec<Omission> {
    beyond_memory(report.totals(), report.network())
}

/// The same, of packets and the links made from them.
pub(crate) fn beyond_memory(totals: &Totals, network: &Network) -> Vec<Omission> {
    let flows = totals.omitted.iter().map(|(flow, omission)| Omission {
        what: match flow {
            FlowKind::Connection => "of TCP connections",
            FlowKind::Association => "of SCTP associations",
            FlowKind::IkeSa => "of IKE_SAs",
            FlowKind::EspSa => "of ESP security associations",
            FlowKind::Datagrams(_) => "of protocols over UDP",
        },
        count: omission.packets,
        unit: "packet",
        first_packet: omission.first.packet,
    });
    let links = network.untracked_from.map(|first| Omission {
        what: IN_LINKS,
        count: network.untracked,
        unit: "connection",
        first_packet: first.packet,
    });
    flows.chain(links).collect()
}

/// Objections to links: with a deployment file all of them, without one only those that connections
/// by themselves do not show.
fn by_link(report: &Report) -> Gathered {
    let mut gathered = Gathered::default();
    for link in &report.network().links {
        for objection in &link.objections {
            if report.listed().is_some() || objection.concern == Concern::Downgrade {
                let example = || between(link, &objection.sources);
                let place = Place::of_link(link, objection.concern);
                let remedy = remedy::remedy(objection.concern, place);
                let named = || link_name(link.interface, link.ends.each_ref());
                gathered.found(objection.concern, &objection.because, "link", remedy, example, named);
            }
        }
    }
    let listed = report.listed().unwrap_or_default();
    for name in report.network().unseen.iter().filter_map(|&place| listed.get(place)) {
        let because = "in the deployment file, and not in the capture";
        let remedy = remedy::remedy(Concern::Unseen, Place::default());
        gathered.found(
            Concern::Unseen,
            because,
            "link",
            remedy,
            || name.clone(),
            || name.clone(),
        );
    }
    gathered
}

fn between(link: &Link, sources: &[Source]) -> String {
    let [a, b] = &link.ends;
    let sources: Vec<String> = sources.iter().map(source).collect();
    format!("{} {a}, {b}: {}", link.name(), sources.join(", "))
}

/// Kinds of counted refusals in the notes.
const REFUSALS: usize = 10;

pub(crate) fn notes(report: &Report) -> Vec<String> {
    let (totals, summary) = (report.totals(), report.summary());
    let mut notes = Vec::new();
    let mut note = |count: u64, unit: &str, text: &str| {
        if count > 0 {
            notes.push(format!("{}: {text}", counted(count, unit)));
        }
    };
    note(
        summary.ledgers_can_tell,
        "connection",
        "authenticity not observable; the ledgers of both ends (`--ledger`) can supply it",
    );
    note(
        summary.begun_before,
        "connection",
        "set up before the capture began: restart an end, or its sidecar, to see handshakes",
    );
    note(
        summary.refused_by_size,
        "connection",
        "refused, or perhaps so, by the length of an encrypted record: two octets of data, or a close_notify of an unused connection, look alike",
    );
    note(summary.with_gaps, "connection", "bytes are missing from the capture");
    let refusals = &report.by_ledgers().refusals;
    for (kind, count) in refusals.iter().take(REFUSALS) {
        let peer = kind
            .peer
            .as_ref()
            .map_or_else(String::new, |peer| format!("with a certificate of {peer}, "));
        let text = format!(
            "counted by the ledger of {} without a record of each: {}, {peer}from {}",
            kind.node, kind.reason, kind.from
        );
        note(*count, "refusal", &printable(&text));
    }
    let more = refusals.iter().skip(REFUSALS);
    note(
        more.map(|(_, count)| count).sum(),
        "refusal",
        "of other kinds, counted by ledgers without a record of each",
    );
    for (beyond, text) in [
        (
            summary.beyond_rows,
            "counted in the summary only, too many kinds of them",
        ),
        (summary.beyond_list, "not listed one by one, too many of them"),
    ] {
        if let Some((first, count)) = beyond {
            note(
                count,
                "connection",
                &format!("{text}, from the one with packet {first} on"),
            );
        }
    }
    for link in &report.network().links {
        if let Some(exception) = &link.exception {
            let [a, b] = &link.ends;
            let because = link.confidentiality.because();
            notes.push(format!("{} {a}, {b}: {because}: {exception}", link.name()));
        }
    }
    // That a connection's last acknowledgement comes behind its end is worth no line.
    let silent = [Unread::TcpControl, Unread::SctpControl, Unread::KeepAlive];
    for (&unread, captured) in &totals.unread {
        if unread.is_housekeeping() && !silent.contains(&unread) {
            let packets = counted(captured.packets, "packet");
            notes.push(format!("{packets}: {}, which needs no judgement", name(unread)));
        }
    }
    notes
}

/// Name of the content of packets that belong to no conversation.
pub(crate) fn name(unread: Unread) -> String {
    match unread {
        Unread::Protocol(1) => "ICMP".into(),
        Unread::Protocol(2) => "IGMP".into(),
        Unread::Protocol(58) => "ICMPv6".into(),
        Unread::Protocol(number) => format!("IP protocol {number}"),
        Unread::Frame(protocol) => protocol.name().into_owned(),
        Unread::TcpControl => "TCP without data, of no connection that is followed".into(),
        Unread::SctpControl => "SCTP without data, of no association that is followed".into(),
        Unread::KeepAlive => "keep-alives of address translations".into(),
        Unread::LinkType(number) => format!("frames of link type {number}"),
        Unread::Malformed => "frames that end before their headers do, or contradict them".into(),
    }
}

fn example(conversation: &Conversation, sources: &[Source]) -> String {
    let sources: Vec<String> = sources.iter().map(source).collect();
    format!(
        "{} -> {}, {}",
        conversation.client,
        conversation.server,
        sources.join(", ")
    )
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
