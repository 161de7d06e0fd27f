//! Report of a capture.

use std::collections::{BTreeMap, HashMap};

use bartizan_deployment::Deployment;
use bartizan_posture::{Counted, Kind, Ledgers, Links, Network, Part, Posture, Verdict};
use bartizan_wire::{CaptureError, Omitted, Totals};

use crate::answer::Answer;
use crate::conversation::{Conversation, Likeness};
use crate::coverage::Coverage;
use crate::findings::{self, Finding, Gathered, Omission};
use crate::remedy;
use crate::shares::{Detail, Shares};

/// Rows kept apart, if memory has room for them; connections of further kinds are counted in the summary only.
const ROWS: usize = 10_000;
/// Bytes of what makes a connection alike to others, its place in their table, and its row, about.
const LIKENESS: usize = 700;

bartizan_registry::made! {
    /// One capture, judged.
    #[derive(Debug)]
    pub struct Report,
    /// Nothing read yet of the capture with this name.
    pub new(name: impl Into<String>, detail: Detail, shares: Shares) {
        name: String = name.into(),
        detail: Detail = detail,
        rows: Vec<Row> = Vec::new(),
        places: HashMap<Likeness, usize> = HashMap::new(),
        conversations: Vec<Conversation> = Vec::new(),
        shares: Shares = shares,
        /// Bytes that rows and list hold.
        held: [usize; 2] = [0; 2],
        /// Links of the connections, as they come.
        parts: Links = Links::within(shares.links),
        network: Network = Network::default(),
        /// The interfaces of the deployment file, as findings name them.
        listed: Option<Vec<String>> = None,
        gathered: Gathered = Gathered::default(),
        remarks: Vec<String> = Vec::new(),
        summary: Summary = Summary::default(),
        totals: Totals = Totals::default(),
        dropped_at_capture: u64 = 0,
        by_ledgers: ByLedgers = ByLedgers::default(),
        damage: Option<CaptureError> = None,
        sha256: Option<String> = None,
        about: Vec<String> = Vec::new(),
    }
}

/// Facts from ledgers besides their records of handshakes and SAs.
#[derive(Debug, Default)]
pub struct ByLedgers {
    /// Records that they could not write.
    pub lost: u64,
    /// Refusals before the peer had proven who it is, counted by kind; the most frequent first.
    pub refusals: Vec<(Counted, u64)>,
}

impl ByLedgers {
    /// Facts from these ledgers.
    pub fn of(ledgers: &Ledgers) -> Self {
        let mut refusals: Vec<_> = ledgers.refusals().map(|(kind, count)| (kind.clone(), count)).collect();
        refusals.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            lost: ledgers.lost(),
            refusals,
        }
    }
}

bartizan_registry::made! {
    /// Connections that are alike.
    #[derive(Debug)]
    pub struct Row, new(conversation: Conversation) {
        /// Their number.
        pub connections: u64 = 1,
        /// Smallest and largest size in bytes of each flight of the handshake.
        pub flights: Vec<(u64, u64)> = conversation
            .flights()
            .map(|flight| (flight.bytes, flight.bytes))
            .collect(),
        /// Bytes that all of them carried.
        pub bytes: u64 = conversation.bytes(),
        /// The first of them.
        pub(crate) conversation: Conversation = conversation,
    }
}

/// Numbers of connections.
#[derive(Debug, Default)]
pub struct Summary {
    /// All of them.
    pub connections: u64,
    /// Counts by their kind.
    pub by_kind: BTreeMap<Kind, u64>,
    /// By group: `X25519MLKEM768`, or `-` where none was negotiated.
    pub by_group: BTreeMap<String, u64>,
    /// Those of TLS with a HelloRetryRequest.
    pub hello_retry_requests: u64,
    /// Those of TLS that took a pre-shared key.
    pub resumed: u64,
    /// Those that a ledger has a record of.
    pub in_ledger: u64,
    /// Verdicts on their confidentiality.
    pub confidentiality: Tally,
    /// Verdicts on their authenticity.
    pub authenticity: Tally,
    /// Those whose authenticity packets do not show and a ledger can: TLS 1.3 and what IKE makes.
    pub ledgers_can_tell: u64,
    /// Those that were set up before the capture began.
    pub begun_before: u64,
    /// Coverage of their bytes.
    pub coverage: Coverage,
    /// Those that were refused by all that the length of an encrypted record says.
    pub refused_by_size: u64,
    /// Connections with bytes missing from the capture.
    pub with_gaps: u64,
    /// Connections in no row, because there were too many rows: the least first packet of them, and how many.
    pub beyond_rows: Option<(u64, u64)>,
    /// Those not listed one by one, because there were too many; the same.
    pub beyond_list: Option<(u64, u64)>,
}

/// Connections by verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// [`Verdict::QuantumSafe`].
    pub quantum_safe: u64,
    /// [`Verdict::Vulnerable`].
    pub vulnerable: u64,
    /// [`Verdict::ReadableNow`].
    pub readable_now: u64,
    /// [`Verdict::NotObservable`].
    pub not_observable: u64,
    /// [`Verdict::NotSeen`].
    pub not_seen: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::QuantumSafe => &mut self.quantum_safe,
            Verdict::Vulnerable => &mut self.vulnerable,
            Verdict::ReadableNow => &mut self.readable_now,
            Verdict::NotObservable => &mut self.not_observable,
            Verdict::NotSeen => &mut self.not_seen,
        } += 1;
    }
}

impl Report {
    /// Takes a connection into its link.
    pub(crate) fn take(&mut self, part: &Part<'_>) {
        self.parts.add(part);
    }

    /// A packet was not read, because memory had no room for what it belongs to.
    pub(crate) fn omit(&mut self, omitted: &Omitted) {
        self.parts.omit(omitted);
    }

    pub(crate) fn add(&mut self, conversation: Conversation) {
        self.gathered.add(&conversation);
        let summary = &mut self.summary;
        let posture = &conversation.posture;
        summary.connections += 1;
        *summary.by_kind.entry(posture.kind).or_default() += 1;
        let group = posture.key_exchange().unwrap_or_else(|| "-".to_owned());
        *summary.by_group.entry(group).or_default() += 1;
        if let Some(tls) = &conversation.tls {
            summary.hello_retry_requests += u64::from(tls.hello_retry_request.is_some());
            summary.resumed += u64::from(tls.resumed);
        }
        summary.in_ledger += u64::from(posture.in_ledger);
        summary.refused_by_size += u64::from(posture.refused_by_size);
        summary.with_gaps += u64::from(conversation.gaps() > 0);
        summary.confidentiality.count(posture.confidentiality.verdict());
        summary.authenticity.count(posture.authenticity.verdict());
        let reported = matches!(posture.kind, Kind::Tls13 | Kind::Ike | Kind::IkeNotSeen | Kind::Esp);
        let open = posture.authenticity.verdict() == Verdict::NotObservable;
        summary.ledgers_can_tell += u64::from(reported && open);
        let before = remedy::begun_before(posture.kind, posture.confidentiality.verdict());
        summary.begun_before += u64::from(before);
        summary.coverage.add(posture, conversation.captured);
        if self.detail == Detail::Each {
            // A list that grows is there twice for a while.
            let growth = if self.conversations.len() == self.conversations.capacity() {
                2 * self.conversations.len()
            } else {
                0
            };
            let held = conversation.held();
            if self.held[1] + held + growth * size_of::<Conversation>() <= self.shares.list {
                self.held[1] += held;
                self.conversations.push(conversation.clone());
            } else {
                beyond(&mut summary.beyond_list, &conversation);
            }
        }
        self.add_to_row(conversation);
    }

    fn add_to_row(&mut self, conversation: Conversation) {
        let likeness = conversation.likeness();
        if let Some(&place) = self.places.get(&likeness) {
            self.rows[place].take(&conversation);
        } else if self.rows.len() < ROWS && self.held[0] + conversation.held() + LIKENESS <= self.shares.rows {
            self.held[0] += conversation.held() + LIKENESS;
            self.places.insert(likeness, self.rows.len());
            self.rows.push(Row::new(conversation));
        } else {
            beyond(&mut self.summary.beyond_rows, &conversation);
        }
    }

    /// Nothing more will come: the links, and what is known of the capture as a whole.
    pub fn finish(
        &mut self,
        totals: Totals,
        dropped_at_capture: u64,
        by_ledgers: ByLedgers,
        damage: Option<CaptureError>,
        deployment: Option<&Deployment>,
    ) {
        self.network = std::mem::take(&mut self.parts).finish(deployment);
        self.listed = deployment.map(|deployment| deployment.interfaces().iter().map(described).collect());
        // Connections come as they end; a reader expects them as they began.
        self.rows.sort_by_key(|row| row.conversation.number);
        self.conversations.sort_by_key(|conversation| conversation.number);
        self.places = HashMap::new();
        self.totals = totals;
        self.dropped_at_capture = dropped_at_capture;
        self.by_ledgers = by_ledgers;
        self.damage = damage;
    }

    /// The capture was hashed on its way.
    pub fn hashed(&mut self, sha256: Option<String>) {
        self.sha256 = sha256;
    }

    /// SHA-256 of the capture's bytes on disk, where it was asked for and all of them were read.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The capture's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Packets read.
    pub fn packets(&self) -> u64 {
        self.totals.packets
    }

    /// Totals of the observer.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Numbers of conversations.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Connections that are alike, in the order of their first packets.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Each connection, in the order of first packets; empty unless asked for.
    pub fn conversations(&self) -> &[Conversation] {
        &self.conversations
    }

    /// Links of the connections, and what the deployment file says of them.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Sets the interfaces of the deployment file that no capture shows: those of this one, less
    /// what others show.
    pub fn not_seen(&mut self, places: Vec<usize>) {
        self.network.unseen = places;
    }

    /// Things that memory had no room for.
    pub(crate) fn omissions(&self) -> Vec<Omission> {
        findings::omissions(self)
    }

    /// Share of it that was judged.
    pub fn coverage(&self) -> Coverage {
        self.summary.coverage.with(&self.totals)
    }

    /// The answer, before all the rest.
    pub fn answer(&self) -> Answer {
        Answer::of(self, &self.findings())
    }

    /// Findings that its reader must look at.
    pub fn findings(&self) -> Vec<Finding> {
        findings::findings(self, &self.gathered)
    }

    /// Limits of the evidence that are not wrong in themselves.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.remarks.clone();
        notes.extend(findings::notes(self));
        notes
    }

    /// The host, interfaces, filters and time zones of the capture, as it says.
    pub fn made(&mut self, about: Vec<String>) {
        self.about = about;
    }

    /// The same.
    pub fn about(&self) -> &[String] {
        &self.about
    }

    /// Something to be said with the notes.
    pub fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// The interfaces of the deployment file, by name and nodes; none without a file.
    pub(crate) fn listed(&self) -> Option<&[String]> {
        self.listed.as_deref()
    }

    /// Packets that the capturing host dropped, as the capture says.
    pub fn dropped_at_capture(&self) -> u64 {
        self.dropped_at_capture
    }

    /// Facts from ledgers besides their records of handshakes and SAs.
    pub fn by_ledgers(&self) -> &ByLedgers {
        &self.by_ledgers
    }

    /// The reason why the capture could not be read to its end, if it could not.
    pub fn damage(&self) -> Option<&CaptureError> {
        self.damage.as_ref()
    }
}

/// Counts one that is kept nowhere.
fn beyond(counted: &mut Option<(u64, u64)>, conversation: &Conversation) {
    let (first, count) = counted.get_or_insert((conversation.first.packet, 0));
    *first = conversation.first.packet.min(*first);
    *count += 1;
}

fn described(interface: &bartizan_deployment::Interface) -> String {
    let [a, b] = &interface.between;
    format!("{} {a}, {b}", interface.kind.name())
}

impl Row {
    /// Posture of each of them.
    pub fn posture(&self) -> &Posture {
        &self.conversation.posture
    }

    fn take(&mut self, conversation: &Conversation) {
        self.connections += 1;
        self.bytes += conversation.bytes();
        for (index, flight) in conversation.flights().enumerate() {
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
