//! Claims of a report that must hold: each packet, each conversation, and whether there is a
//! finding.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bartizan_deployment::Deployment;
use bartizan_inspect::text::Colour;
use bartizan_inspect::{ByLedgers, Conversation, Detail, Judging, MEMORY, Report, Shares};
use bartizan_ledger::{Reader, Record};
use bartizan_posture::{Answer, Concern, Kind, Ledgers, Listing, Posture, Verdict};
use bartizan_wire::datagrams::DatagramProtocol;
use bartizan_wire::link::LinkType;
use bartizan_wire::tcp::StreamCounts;
use bartizan_wire::{Address, CaptureReader, End, Observer, Packet, Timestamp};

/// Input of `inspect` besides a capture.
pub(crate) struct Known {
    ledgers: Ledgers,
    deployment: Option<Deployment>,
}

const LEDGERS: [&[u8]; 2] = [
    include_bytes!("../../../wire/tests/data/sidecar-hybrid.consumers.jsonl"),
    include_bytes!("../../../wire/tests/data/sidecar-hybrid.nrf.jsonl"),
];

/// Deployment file of the two sidecars of the recording.
const DEPLOYMENT: &str = "
nodes:
  consumers: { function: AMF, address: 10.200.0.1 }
  nrf: { function: NRF, address: 10.200.0.12 }
interfaces:
  - { kind: SBI, between: [consumers, nrf], with: sidecar }
";

impl Known {
    pub(crate) fn nothing() -> Self {
        Self {
            ledgers: Ledgers::default(),
            deployment: None,
        }
    }

    pub(crate) fn ledgers() -> Self {
        Self::of_records(LEDGERS.into_iter().flat_map(|text| Reader::new(text).flatten()))
    }

    /// These records.
    pub(crate) fn of_records(records: impl Iterator<Item = Record>) -> Self {
        let mut ledgers = Ledgers::default();
        records.for_each(|record| ledgers.add(record));
        Self {
            ledgers,
            deployment: None,
        }
    }

    /// This deployment file.
    pub(crate) fn listed(deployment: Deployment) -> Self {
        Self {
            deployment: Some(deployment),
            ..Self::nothing()
        }
    }

    pub(crate) fn deployment() -> Self {
        let deployment = Deployment::parse(DEPLOYMENT, "network.yaml", Path::new("")).unwrap();
        Self {
            deployment: Some(deployment),
            ..Self::ledgers()
        }
    }

    pub(crate) fn has_deployment(&self) -> bool {
        self.deployment.is_some()
    }
}

/// Subject of a judgement: the hosts, and the evidence. Conversations left by a damaged capture may
/// begin anew, or be recognised by other roles: all of those between the same ends are one.
type Subject = (Address, Address, [Option<u16>; 2], u64);

/// All of one subject.
#[derive(Debug, Clone, Default)]
struct Worth {
    /// One conversation at least is safe.
    safe: bool,
    /// There is something to report of one of them.
    flagged: bool,
    /// Bytes or packets that may hold user data.
    carried: u64,
    /// Kind and verdicts of each, in order.
    each: Vec<(Kind, Verdict, Verdict, [Answer; 5])>,
}

/// A packet of a capture.
#[derive(Clone)]
pub(crate) struct Owned {
    number: u64,
    pub(crate) time: Timestamp,
    link: LinkType,
    pub(crate) data: Vec<u8>,
    original_length: u32,
    interface: u32,
}

impl Owned {
    fn borrowed(&self) -> Packet<'_> {
        Packet {
            number: self.number,
            time: self.time,
            link: self.link,
            data: &self.data,
            original_length: self.original_length,
            interface: self.interface,
        }
    }
}

/// The packets of a file, as far as it can be read.
pub(crate) fn packets(file: &[u8]) -> Vec<Owned> {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut packets = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        packets.push(Owned {
            number: packet.number,
            time: packet.time,
            link: packet.link,
            data: packet.data.to_vec(),
            original_length: packet.original_length,
            interface: packet.interface,
        });
    }
    packets
}

/// A capture, inspected.
pub(crate) struct Answered {
    pub(crate) report: Report,
    subjects: BTreeMap<Subject, Worth>,
    findings: BTreeSet<Concern>,
    /// There is a deployment file.
    listed: bool,
}

impl Answered {
    /// Reads a capture as far as it goes.
    pub(crate) fn of(file: &[u8], known: &Known) -> Self {
        Self::of_packets(&packets(file), known)
    }

    /// The report of these packets.
    pub(crate) fn of_packets(packets: &[Owned], known: &Known) -> Self {
        let shares = Shares::of(MEMORY, Detail::Each);
        let mut report = Report::new("capture", Detail::Each, shares);
        let mut observer = Observer::new(shares.limits);
        let mut judging = Judging::new(&known.ledgers, &mut report);
        for packet in packets {
            observer.observe(&packet.borrowed(), &mut judging);
        }
        observer.finish_into(&mut judging);
        judging.finish();
        let totals = observer.totals().clone();
        report.finish(totals, 0, ByLedgers::default(), None, known.deployment.as_ref());
        let mut subjects: BTreeMap<Subject, Worth> = BTreeMap::new();
        for conversation in report.conversations() {
            subjects.entry(subject(conversation)).or_default().add(conversation);
        }
        Self {
            findings: report.findings().iter().map(|finding| finding.concern).collect(),
            subjects,
            report,
            listed: known.has_deployment(),
        }
    }

    /// Conversations whose key exchange withstands a recorder.
    pub(crate) fn safe(&self) -> usize {
        self.subjects.values().filter(|worth| worth.safe).count()
    }

    /// Returns true if it is exit code 0.
    pub(crate) fn has_no_finding(&self) -> bool {
        self.findings.is_empty()
    }

    /// Conversations of which something contradicts something else.
    pub(crate) fn contradictions(&self) -> usize {
        let conversations = self.report.conversations().iter();
        conversations
            .filter(|one| !one.posture().contradictions.is_empty())
            .count()
    }

    /// Returns true if a finding is of this concern.
    pub(crate) fn reports(&self, concern: Concern) -> bool {
        self.findings.contains(&concern)
    }

    /// Each packet belongs to one conversation, or is counted by name; and nothing is let through unsaid.
    pub(crate) fn assert_accounted(&self, what: &str) {
        let totals = self.report.totals();
        let conversations = self.report.conversations();
        let of_conversations: u64 = conversations.iter().map(|one| one.captured().packets).sum();
        let unread: u64 = totals.unread.values().map(|captured| captured.packets).sum();
        let omitted: u64 = totals.omitted.values().map(|omission| omission.packets).sum();
        assert_eq!(of_conversations + unread + omitted, totals.packets, "{what}: packets");
        for link in &self.report.network().links {
            let mut phases = link.phases.iter();
            let safe = link.confidentiality.verdict() == Verdict::QuantumSafe;
            let all = phases.all(|phase| phase.confidentiality == Verdict::QuantumSafe);
            assert!(
                !safe || all,
                "{what}: {:?} is better than what it is made of",
                link.ends
            );
        }
        for conversation in conversations {
            let posture = conversation.posture();
            let (kind, verdict) = (posture.kind, posture.confidentiality.verdict());
            assert!(
                kind.verdicts().contains(&verdict),
                "{what}: {kind:?} is listed as never {verdict:?}"
            );
        }
        if !self.findings.is_empty() || self.listed {
            return;
        }
        for unread in totals.unread.keys() {
            assert!(unread.is_housekeeping(), "{what}: {unread:?} is passed over");
        }
        for conversation in conversations {
            let posture = conversation.posture();
            let safe = posture.confidentiality.verdict() == Verdict::QuantumSafe;
            let because = posture.confidentiality.because();
            let ends = conversation.ends();
            assert!(
                // Contents of a stream of IKE and ESP are conversations of their own.
                safe || carried(conversation) == 0 || posture.kind == Kind::IkeInTcp,
                "{what}: {ends:?} is passed over: {because}"
            );
        }
    }

    /// It can be written as a table and as JSON.
    pub(crate) fn assert_written(&self) {
        assert!(bartizan_inspect::json::render(std::slice::from_ref(&self.report)).is_ok());
        let text = bartizan_inspect::text::render(&self.report, None, Detail::Each, Colour::No, 100);
        let unprintable = |character: char| character.is_control() && character != '\n';
        assert!(
            !text.contains(unprintable),
            "packets send no control sequences to a terminal"
        );
    }

    /// Each link that is not safe is objected to, or let through by an exception that is named, or within a node.
    pub(crate) fn assert_excused_by_name(&self, what: &str) {
        for link in &self.report.network().links {
            let safe = link.confidentiality.verdict() == Verdict::QuantumSafe;
            let within = matches!(link.listing, Listing::Within(_));
            let answered = safe || within || !link.carried() || !link.objections.is_empty() || link.exception.is_some();
            assert!(answered, "{what}: {:?} passes unsaid", link.ends);
            assert!(
                link.objections.is_empty() || !self.findings.is_empty(),
                "{what}: an objection is no finding"
            );
        }
    }

    /// Nothing is safe that was not, and what there was to report is reported where anything is
    /// left of what it was about.
    pub(crate) fn assert_no_better(&self, before: &Self, what: &str) {
        for (subject, is) in &self.subjects {
            let was = before.subjects.get(subject);
            assert!(
                !is.safe || was.is_some_and(|was| was.safe),
                "{what}: {subject:?} is safe now"
            );
            let flagged = was.is_some_and(|was| was.flagged);
            assert!(
                !flagged || is.flagged || is.carried == 0,
                "{what}: {subject:?} is no finding now: {is:?}"
            );
            assert!(
                !is.flagged || !self.findings.is_empty(),
                "{what}: {subject:?} is not reported"
            );
        }
        if self.listed {
            // A policy's objection stands as long as any of the traffic is left.
            let left = self.subjects.values().any(|is| is.carried > 0);
            assert!(
                before.findings.is_empty() || !left || !self.findings.is_empty(),
                "{what}: exit 0"
            );
        }
    }

    /// Everything that was judged is judged as it was, whatever else there is.
    pub(crate) fn assert_same(&self, before: &Self, what: &str) {
        for (subject, was) in &before.subjects {
            let is = self
                .subjects
                .get(subject)
                .unwrap_or_else(|| panic!("{what}: {subject:?} is gone"));
            assert_eq!(is.each, was.each, "{what}: {subject:?}");
        }
        let missing: Vec<_> = before.findings.difference(&self.findings).collect();
        assert!(missing.is_empty(), "{what}: no findings of {missing:?}");
    }

    /// Asserts that none of these, which were safe, is safe, and that packets which contradict each
    /// other are a finding.
    pub(crate) fn assert_doubted(&self, before: &Self, about: &BTreeSet<(End, End)>, what: &str) {
        let mut reached = 0;
        for conversation in before.report.conversations() {
            let [one, other] = conversation.ends();
            let of_records = about.contains(&(one, other)) || about.contains(&(other, one));
            let subject = subject(conversation);
            if !of_records || !before.subjects[&subject].safe {
                continue;
            }
            reached += 1;
            let Some(is) = self.subjects.get(&subject) else {
                // Fragments that differ make no packet: they are unproven between the hosts.
                let fragments = |kind: &Kind| matches!(kind, Kind::NotRead(DatagramProtocol::Fragments(_)));
                let between = self
                    .subjects
                    .iter()
                    .filter(|(key, _)| (key.0, key.1) == (subject.0, subject.1));
                let mut kinds = between.flat_map(|(_, worth)| &worth.each);
                assert!(kinds.any(|(kind, ..)| fragments(kind)), "{what}: {subject:?} is gone");
                continue;
            };
            assert!(!is.safe, "{what}: {subject:?} is safe still");
        }
        assert!(reached > 0, "{what}: reaches nobody");
        assert!(self.findings.contains(&Concern::Contradiction), "{what}: no finding");
    }
}

impl Worth {
    fn add(&mut self, conversation: &Conversation) {
        let posture = conversation.posture();
        let verdicts = [&posture.confidentiality, &posture.authenticity].map(bartizan_posture::Judgement::verdict);
        self.safe |= verdicts[0] == Verdict::QuantumSafe;
        self.flagged |= is_finding(posture);
        self.carried += carried(conversation);
        let answers = [
            &posture.offered,
            &posture.preferred,
            &posture.negotiated,
            &posture.stayed,
            &posture.clear,
        ];
        self.each.push((
            posture.kind,
            verdicts[0],
            verdicts[1],
            answers.map(bartizan_posture::Reply::answer),
        ));
    }
}

fn subject(conversation: &Conversation) -> Subject {
    let [one, other] = conversation.ends();
    let ports = |end: End| end.port();
    let ([one, other], swapped) = if (other.address(), other.port()) < (one.address(), one.port()) {
        ([other, one], true)
    } else {
        ([one, other], false)
    };
    let spi = conversation.spi();
    // ESP has one direction, and its SPI is the receiver's.
    let direction = u64::from(swapped && matches!(conversation.posture().kind, Kind::Esp | Kind::EspUnencrypted));
    (
        one.address(),
        other.address(),
        [ports(one), ports(other)],
        spi.map_or(0, |spi| (spi << 1) + direction),
    )
}

/// Returns true if there is something to report of it, by what is published of findings and not by
/// the code that finds them.
fn is_finding(posture: &Posture) -> bool {
    let unproven = posture.confidentiality.verdict() != Verdict::QuantumSafe && posture.kind.carries_data();
    let vulnerable = [&posture.confidentiality, &posture.authenticity]
        .iter()
        .any(|judgement| judgement.verdict().is_vulnerable());
    unproven || vulnerable || !posture.contradictions.is_empty()
}

/// Bytes, or packets, that may hold user data.
fn carried(conversation: &Conversation) -> u64 {
    let [client, server] = conversation.traffic();
    let stream = |stream: StreamCounts| stream.sent() + stream.gaps;
    stream(client.stream) + stream(server.stream)
}
