//! What a capture amounts to.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use bartizan_deployment::Deployment;
use bartizan_posture::{Kind, Links, Network, Part, Verdict};
use bartizan_wire::{CaptureError, Omitted, Totals};

use super::Detail;
use super::findings::{self, Finding, Gathered, Omission};
use super::link::{Likeness, Link};
use super::shares::Shares;
use crate::Failure;

/// Rows kept apart, if memory has room for them; connections of further kinds are counted in the summary only.
const ROWS: usize = 10_000;
/// Bytes of what makes a connection alike to others, its place in their table, and its row, about.
const LIKENESS: usize = 700;

/// One capture, judged.
#[derive(Debug)]
pub(crate) struct Report {
    path: PathBuf,
    detail: Detail,
    rows: Vec<Row>,
    places: HashMap<Likeness, usize>,
    links: Vec<Link>,
    shares: Shares,
    /// Bytes that rows and list hold.
    held: [usize; 2],
    /// What the connections amount to, as they come.
    parts: Links,
    network: Network,
    /// The interfaces of the deployment file, as findings name them.
    listed: Option<Vec<String>>,
    gathered: Gathered,
    remarks: Vec<String>,
    summary: Summary,
    totals: Totals,
    dropped_at_capture: u64,
    lost_by_ledger: u64,
    damage: Option<CaptureError>,
    sha256: Option<String>,
}

/// Connections that are alike.
#[derive(Debug)]
pub(crate) struct Row {
    /// The first of them.
    pub(crate) link: Link,
    pub(crate) connections: u64,
    /// Smallest and largest size in bytes of each flight of the handshake.
    pub(crate) flights: Vec<(u64, u64)>,
    pub(crate) bytes: u64,
}

/// Numbers of connections.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) connections: u64,
    pub(crate) by_kind: BTreeMap<Kind, u64>,
    /// By group: `X25519MLKEM768`, or `-` where none was negotiated.
    pub(crate) by_group: BTreeMap<String, u64>,
    pub(crate) hello_retry_requests: u64,
    pub(crate) resumed: u64,
    pub(crate) in_ledger: u64,
    pub(crate) confidentiality: Tally,
    pub(crate) authenticity: Tally,
    /// Connections with bytes missing from the capture.
    pub(crate) with_gaps: u64,
    /// Connections in no row, because there were too many rows: the least first packet of them, and how many.
    pub(crate) beyond_rows: Option<(u64, u64)>,
    /// Connections not listed one by one, because there were too many; the same.
    pub(crate) beyond_links: Option<(u64, u64)>,
}

/// Connections by verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) quantum_safe: u64,
    pub(crate) vulnerable: u64,
    pub(crate) not_observable: u64,
    pub(crate) not_seen: u64,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::QuantumSafe => &mut self.quantum_safe,
            Verdict::Vulnerable => &mut self.vulnerable,
            Verdict::NotObservable => &mut self.not_observable,
            Verdict::NotSeen => &mut self.not_seen,
        } += 1;
    }
}

impl Report {
    pub(super) fn new(path: &Path, detail: Detail, shares: Shares) -> Self {
        Self {
            path: path.to_owned(),
            detail,
            rows: Vec::new(),
            places: HashMap::new(),
            links: Vec::new(),
            shares,
            held: [0; 2],
            parts: Links::within(shares.links),
            network: Network::default(),
            listed: None,
            gathered: Gathered::default(),
            remarks: Vec::new(),
            summary: Summary::default(),
            totals: Totals::default(),
            dropped_at_capture: 0,
            lost_by_ledger: 0,
            damage: None,
            sha256: None,
        }
    }

    /// Takes a connection into its link.
    pub(super) fn take(&mut self, part: &Part<'_>) {
        self.parts.add(part);
    }

    /// A packet was not read, because memory had no room for what it belongs to.
    pub(super) fn omit(&mut self, omitted: &Omitted) {
        self.parts.omit(omitted);
    }

    pub(super) fn add(&mut self, link: Link) {
        self.gathered.add(&link);
        let summary = &mut self.summary;
        let posture = &link.posture;
        summary.connections += 1;
        *summary.by_kind.entry(posture.kind).or_default() += 1;
        let group = posture.key_exchange().unwrap_or_else(|| "-".to_owned());
        *summary.by_group.entry(group).or_default() += 1;
        if let Some(tls) = &link.tls {
            summary.hello_retry_requests += u64::from(tls.hello_retry_request.is_some());
            summary.resumed += u64::from(tls.resumed);
        }
        summary.in_ledger += u64::from(posture.in_ledger);
        summary.with_gaps += u64::from(link.gaps() > 0);
        summary.confidentiality.count(posture.confidentiality.verdict());
        summary.authenticity.count(posture.authenticity.verdict());
        if self.detail == Detail::Each {
            // A list that grows is there twice for a while.
            let growth = if self.links.len() == self.links.capacity() {
                2 * self.links.len()
            } else {
                0
            };
            let held = link.held();
            if self.held[1] + held + growth * size_of::<Link>() <= self.shares.list {
                self.held[1] += held;
                self.links.push(link.clone());
            } else {
                beyond(&mut summary.beyond_links, &link);
            }
        }
        self.add_to_row(link);
    }

    fn add_to_row(&mut self, link: Link) {
        let likeness = link.likeness();
        if let Some(&place) = self.places.get(&likeness) {
            self.rows[place].take(&link);
        } else if self.rows.len() < ROWS && self.held[0] + link.held() + LIKENESS <= self.shares.rows {
            self.held[0] += link.held() + LIKENESS;
            self.places.insert(likeness, self.rows.len());
            self.rows.push(Row::new(link));
        } else {
            beyond(&mut self.summary.beyond_rows, &link);
        }
    }

    pub(super) fn finish(
        &mut self,
        totals: Totals,
        dropped_at_capture: u64,
        lost_by_ledger: u64,
        damage: Option<CaptureError>,
        deployment: Option<&Deployment>,
    ) {
        self.network = std::mem::take(&mut self.parts).finish(deployment);
        self.listed = deployment.map(|deployment| deployment.interfaces().iter().map(described).collect());
        // Connections come as they end; a reader expects them as they began.
        self.rows.sort_by_key(|row| row.link.number);
        self.links.sort_by_key(|link| link.number);
        self.places = HashMap::new();
        self.totals = totals;
        self.dropped_at_capture = dropped_at_capture;
        self.lost_by_ledger = lost_by_ledger;
        self.damage = damage;
    }

    /// The capture was hashed on its way.
    pub(super) fn hashed(&mut self, sha256: Option<String>) {
        self.sha256 = sha256;
    }

    /// SHA-256 of the capture's bytes on disk, where it was asked for and all of them were read.
    pub(crate) fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The capture's name.
    pub(crate) fn name(&self) -> impl Display {
        let name = if self.path.as_os_str() == "-" {
            Path::new("standard input")
        } else {
            &self.path
        };
        name.display()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.totals.packets
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Connections that are alike, in the order of their first packets.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Each connection, in the order of first packets; empty unless asked for.
    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    /// What the connections amount to: links, and what the deployment file says of them.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// Which interfaces of the deployment file no capture shows: those of this one, less what others show.
    pub(super) fn not_seen(&mut self, places: Vec<usize>) {
        self.network.unseen = places;
    }

    /// What memory had no room for.
    pub(super) fn omissions(&self) -> Vec<Omission> {
        findings::omissions(self)
    }

    /// What its reader must look at.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        findings::findings(self, &self.gathered)
    }

    /// What limits what can be said, without being wrong in itself.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.remarks.clone();
        notes.extend(findings::notes(self));
        notes
    }

    /// Something to be said with the notes.
    pub(super) fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// The interfaces of the deployment file, by name and nodes; none without a file.
    pub(super) fn listed(&self) -> Option<&[String]> {
        self.listed.as_deref()
    }

    pub(crate) fn dropped_at_capture(&self) -> u64 {
        self.dropped_at_capture
    }

    pub(crate) fn lost_by_ledger(&self) -> u64 {
        self.lost_by_ledger
    }

    /// Why the capture could not be read to its end, if it could not.
    pub(crate) fn damage(&self) -> Option<&CaptureError> {
        self.damage.as_ref()
    }

    /// The same as a failure of the command.
    pub(crate) fn failure(&self) -> Option<Failure> {
        Some(damaged(self.name(), self.damage.as_ref()?, self.totals.packets))
    }
}

/// Why a capture could not be read to its end, after so many packets.
pub(super) fn damaged(name: impl Display, damage: &CaptureError, packets: u64) -> Failure {
    let failure = Failure::new(format!("{name}: {damage}"));
    let read = match packets {
        0 => None,
        1 => Some("the packet before that place was read; the report above is of it".to_owned()),
        many => Some(format!(
            "the {many} packets before that place were read; the report above is of them"
        )),
    };
    let failure = match damage {
        CaptureError::Empty => failure.hint("was the capture stopped before its first packet, or was the disk full?"),
        CaptureError::NotACapture { .. } => {
            failure.hint("inspect reads pcap and pcapng, as `tcpdump -w FILE` and `dumpcap` write them")
        }
        CaptureError::Compressed { with } => failure.hint(format!(
            "decompress it first, or pipe it: `{with} -dc FILE | bartizan inspect -`"
        )),
        CaptureError::Unsupported { .. } => failure.hint("`editcap -F pcapng OLD NEW` (Wireshark) writes it anew"),
        CaptureError::Damaged { .. } => {
            failure.hint("the file was changed or its disk failed: capture again, or copy it again")
        }
        CaptureError::Cut { .. } => failure.hint("the capture was still being written, or its copy stopped half-way"),
    };
    match read {
        Some(read) => failure.hint(read),
        None => failure,
    }
}

/// Counts one that is kept nowhere.
fn beyond(counted: &mut Option<(u64, u64)>, link: &Link) {
    let (first, count) = counted.get_or_insert((link.first.packet, 0));
    *first = link.first.packet.min(*first);
    *count += 1;
}

fn described(interface: &bartizan_deployment::Interface) -> String {
    let [a, b] = &interface.between;
    format!("{} {a}, {b}", interface.kind.name())
}

impl Row {
    fn new(link: Link) -> Self {
        Self {
            connections: 1,
            flights: link.flights().map(|flight| (flight.bytes, flight.bytes)).collect(),
            bytes: link.bytes(),
            link,
        }
    }

    fn take(&mut self, link: &Link) {
        self.connections += 1;
        self.bytes += link.bytes();
        for (index, flight) in link.flights().enumerate() {
            match self.flights.get_mut(index) {
                Some((least, most)) => {
                    *least = flight.bytes.min(*least);
                    *most = flight.bytes.max(*most);
                }
                None => self.flights.push((flight.bytes, flight.bytes)),
            }
        }
    }
}
