//! The report for programs. docs/inspect-formats.md documents each field; a field is never removed
//! or changed within a schema version.

mod datagrams;
mod dtls;
mod ike_opened;
mod ipsec;
mod links;
mod opened;
mod phase_1;
mod port;
mod proxies;
mod ssh;

use data_encoding::HEXLOWER;
use std::collections::BTreeMap;
use std::io;

use bartizan_ledger::Code;
use bartizan_posture::{Judgement, Reply, Source};
use bartizan_registry::Asked;
use bartizan_wire::tls::{Flight, Version};
use serde::{Serialize, Serializer};

use crate::conversation::{self, TlsFacts};
use crate::findings;
use crate::remedy::Change;
use crate::report::{Report, Tally};
pub(crate) use links::JsonLink;
use opened::{Shown, shown};

/// Name and version of the schema.
pub const SCHEMA: &str = "bartizan-inspect/1";

/// Serialized form of all reports.
pub fn document(reports: &[Report]) -> impl Serialize {
    Document {
        schema: SCHEMA,
        answer: crate::Answer::joint(reports).into(),
        files: reports.iter().map(File::new).collect(),
    }
}

/// White space of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Indented, for people.
    Indented,
    /// One line: half as long.
    Compact,
}

/// Writes [`document`], or one that contains it. It is never there as a whole: a list of connections
/// becomes several times as large as it was.
pub fn write(document: &impl Serialize, layout: Layout, out: &mut impl io::Write) -> io::Result<()> {
    match layout {
        Layout::Indented => serde_json::to_writer_pretty(&mut *out, document)?,
        Layout::Compact => serde_json::to_writer(&mut *out, document)?,
    }
    writeln!(out)?;
    out.flush()
}

/// The same as text.
pub fn render(reports: &[Report]) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(&document(reports), Layout::Indented, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    answer: AnswerFacts,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    file: String,
    complete: bool,
    damage: Option<String>,
    packets: u64,
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    dropped_at_capture: u64,
    snapped: u64,
    untracked: u64,
    omitted: Vec<Omission>,
    unread: BTreeMap<String, u64>,
    answer: AnswerFacts,
    summary: Summary<'a>,
    findings: Vec<Finding>,
    notes: Vec<String>,
    #[serde(serialize_with = "each_link")]
    links: &'a [bartizan_posture::Link],
    links_not_seen: &'a [usize],
    #[serde(serialize_with = "each_connection")]
    connections: &'a [conversation::Conversation],
}

fn each_link<S: Serializer>(links: &&[bartizan_posture::Link], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(links.iter().map(JsonLink::new))
}

fn each_connection<S: Serializer>(listed: &&[conversation::Conversation], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(listed.iter().map(Connection::new))
}

#[derive(Serialize)]
struct Summary<'a> {
    connections: u64,
    by_kind: BTreeMap<String, u64>,
    by_group: &'a BTreeMap<String, u64>,
    hello_retry_requests: u64,
    resumed: u64,
    in_ledger: u64,
    confidentiality: Counts,
    authenticity: Counts,
    not_listed: u64,
}

/// The answer, before all the rest.
#[derive(Serialize)]
struct AnswerFacts {
    links: u64,
    links_without_data: u64,
    confidentiality: Counts,
    authenticity: Counts,
    bytes: Bytes,
    snapped: u64,
    findings: BTreeMap<&'static str, u64>,
    first: Vec<Step>,
}

/// Bytes of frames, by what became of them.
#[derive(Serialize)]
struct Bytes {
    judged: u64,
    unproven: u64,
    without_data: u64,
    needless: u64,
    not_read: u64,
    judged_percent: String,
}

#[derive(Serialize)]
struct Step {
    remedy: &'static str,
    mends: String,
}

impl From<crate::Answer> for AnswerFacts {
    fn from(answer: crate::Answer) -> Self {
        let coverage = answer.coverage;
        let severities = answer.severities.iter();
        Self {
            links: answer.links,
            links_without_data: answer.without_data,
            confidentiality: answer.confidentiality.into(),
            authenticity: answer.authenticity.into(),
            snapped: answer.snapped,
            bytes: Bytes {
                judged: coverage.judged,
                unproven: coverage.unproven,
                without_data: coverage.without_data,
                needless: coverage.needless,
                not_read: coverage.not_read,
                judged_percent: coverage.percent(),
            },
            findings: severities.map(|(severity, count)| (severity.name(), *count)).collect(),
            first: answer
                .steps
                .into_iter()
                .map(|crate::Step { remedy, mends }| Step { remedy, mends })
                .collect(),
        }
    }
}

/// Things that memory had no room for.
#[derive(Serialize)]
struct Omission {
    what: &'static str,
    count: u64,
    unit: &'static str,
    first_packet: u64,
}

impl From<findings::Omission> for Omission {
    fn from(omission: findings::Omission) -> Self {
        Self {
            what: omission.what,
            count: omission.count,
            unit: omission.unit,
            first_packet: omission.first_packet,
        }
    }
}

#[derive(Serialize)]
struct Counts {
    quantum_safe: u64,
    vulnerable: u64,
    readable_now: u64,
    not_observable: u64,
    not_seen: u64,
}

#[derive(Serialize)]
struct Finding {
    severity: &'static str,
    concern: &'static str,
    because: String,
    count: u64,
    unit: &'static str,
    remedy: &'static str,
    changes: &'static [Change],
    command: Option<&'static str>,
    frameworks: Vec<Asked>,
    clause: Option<&'static str>,
    meets: Option<[Vec<&'static str>; 2]>,
    example: Option<String>,
}

#[derive(Serialize)]
struct Connection {
    number: u64,
    client: String,
    server: String,
    roles_known_by: &'static str,
    path: Vec<links::Layer>,
    path_back: Option<Vec<links::Layer>>,
    proxies: Vec<proxies::Hop>,
    /// Packets of the capture, and bytes of their frames.
    captured_packets: u64,
    captured_bytes: u64,
    first_packet: u64,
    last_packet: u64,
    first_ns: u64,
    last_ns: u64,
    start: &'static str,
    ending: &'static str,
    kind: String,
    interface: Option<Interface>,
    functions: Functions,
    from_client: Traffic,
    from_server: Traffic,
    tls: Option<Tls>,
    http2: Option<Http2>,
    ssh: Option<ssh::Ssh>,
    ike: Option<ipsec::Ike>,
    esp: Option<ipsec::Esp>,
    sctp: Option<ipsec::Sctp>,
    datagrams: Option<datagrams::DatagramFacts>,
    questions: Questions,
    confidentiality: Verdict,
    authenticity: Verdict,
    contradictions: Vec<String>,
    above_transport: Vec<Hole>,
    in_ledger: bool,
}

#[derive(Serialize)]
struct Interface {
    name: &'static str,
    known_by: &'static str,
    /// The packet that tells it; none where no single one does.
    sources: Vec<String>,
}

impl Interface {
    fn new(interface: bartizan_posture::Interface, named_by: Option<&Source>) -> Self {
        Self {
            name: interface.name,
            known_by: interface.by.name(),
            sources: named_by.into_iter().map(findings::source).collect(),
        }
    }
}

/// Network functions of the two ends, by requests in plaintext.
#[derive(Serialize)]
struct Functions {
    client: Vec<&'static str>,
    server: Vec<&'static str>,
}

#[derive(Serialize)]
struct Traffic {
    packets: u64,
    bytes: u64,
    repeated_bytes: u64,
    gaps: u64,
    missing_bytes: u64,
}

#[derive(Serialize)]
struct Tls {
    client_random: Option<String>,
    server_name: Option<String>,
    alpn: Vec<String>,
    versions_offered: Vec<Code>,
    groups_offered: Vec<Code>,
    key_shares: Vec<KeyShare>,
    signature_schemes_offered: Vec<Code>,
    certificate_signature_schemes_offered: Vec<Code>,
    cipher_suites_offered: Vec<u16>,
    client_hello_bytes: Option<usize>,
    early_data: bool,
    hello_retry_request: Option<Retry>,
    cipher_suite: Option<u16>,
    group: Option<Code>,
    server_signature: Option<Code>,
    client_signature: Option<Code>,
    server_certificates: Option<Vec<Shown>>,
    client_certificates: Option<Vec<Shown>>,
    resumed: bool,
    flights: Vec<FlightFacts>,
    protected_records_from_client: u64,
    protected_records_from_server: u64,
    protected_bytes_from_client: u64,
    protected_bytes_from_server: u64,
    alerts: Vec<String>,
    faults: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<opened::Opened>,
}

#[derive(Serialize)]
struct KeyShare {
    code: u16,
    name: String,
    bytes: u16,
}

#[derive(Serialize)]
struct Retry {
    group: Option<Code>,
}

#[derive(Serialize)]
struct FlightFacts {
    from: String,
    bytes: u64,
    records: u64,
    first_packet: u64,
    last_packet: u64,
    first_ns: u64,
    last_ns: u64,
}

#[derive(Serialize)]
struct Http2 {
    requests: u64,
    preface_packet: Option<u64>,
    frames_from_client: u64,
    frames_from_server: u64,
    data_bytes_from_client: u64,
    data_bytes_from_server: u64,
}

impl Http2 {
    fn new(http2: &bartizan_wire::http2::Http2) -> Self {
        Self {
            requests: http2.streams,
            preface_packet: http2.preface.map(|moment| moment.packet),
            frames_from_client: http2.from_client.total(),
            frames_from_server: http2.from_server.total(),
            data_bytes_from_client: http2.from_client.data_bytes,
            data_bytes_from_server: http2.from_server.data_bytes,
        }
    }
}

/// An exposure above the transport.
#[derive(Serialize)]
struct Hole {
    kind: &'static str,
    verdict: &'static str,
    because: String,
    count: u64,
    sources: Vec<String>,
}

impl Hole {
    fn new(hole: &bartizan_posture::Hole) -> Self {
        Self {
            kind: hole.kind.as_str(),
            verdict: hole.judgement.verdict().name(),
            because: hole.judgement.because().to_owned(),
            count: hole.count,
            sources: sources(hole.judgement.sources()),
        }
    }
}

#[derive(Serialize)]
struct Questions {
    offered: Answer,
    preferred: Answer,
    negotiated: Answer,
    server_authenticated: Answer,
    client_authenticated: Answer,
    stayed: Answer,
    clear: Answer,
}

#[derive(Serialize)]
struct Answer {
    answer: &'static str,
    because: String,
    sources: Vec<String>,
}

#[derive(Serialize)]
struct Verdict {
    verdict: &'static str,
    because: String,
    sources: Vec<String>,
}

impl<'a> File<'a> {
    fn new(report: &'a Report) -> Self {
        let (totals, summary) = (report.totals(), report.summary());
        Self {
            file: report.name().to_string(),
            complete: report.damage().is_none(),
            damage: report.damage().map(ToString::to_string),
            packets: totals.packets,
            bytes: totals.bytes,
            first_ns: totals.first.map(|moment| moment.time.0),
            last_ns: totals.last.map(|moment| moment.time.0),
            dropped_at_capture: report.dropped_at_capture(),
            snapped: totals.snapped,
            untracked: totals.untracked,
            omitted: report.omissions().into_iter().map(Omission::from).collect(),
            unread: totals
                .unread
                .iter()
                .map(|(&unread, captured)| (findings::name(unread), captured.packets))
                .collect(),
            answer: report.answer().into(),
            summary: Summary {
                connections: summary.connections,
                by_kind: summary
                    .by_kind
                    .iter()
                    .map(|(kind, &count)| (kind.name(), count))
                    .collect(),
                by_group: &summary.by_group,
                hello_retry_requests: summary.hello_retry_requests,
                resumed: summary.resumed,
                in_ledger: summary.in_ledger,
                confidentiality: summary.confidentiality.into(),
                authenticity: summary.authenticity.into(),
                not_listed: summary.beyond_list.map_or(0, |(_, count)| count),
            },
            findings: report
                .findings()
                .into_iter()
                .map(|finding| Finding {
                    severity: finding.severity().name(),
                    concern: finding.concern.name(),
                    because: finding.because,
                    count: finding.count,
                    unit: finding.unit,
                    remedy: finding.remedy.what,
                    changes: finding.remedy.changes,
                    command: finding.remedy.command,
                    frameworks: finding.remedy.asked(),
                    clause: finding.remedy.clause,
                    meets: finding.remedy.met(),
                    example: finding.example,
                })
                .collect(),
            notes: report.notes(),
            links: &report.network().links,
            links_not_seen: &report.network().unseen,
            connections: report.conversations(),
        }
    }
}

impl From<Tally> for Counts {
    fn from(tally: Tally) -> Self {
        Self {
            quantum_safe: tally.quantum_safe,
            vulnerable: tally.vulnerable,
            readable_now: tally.readable_now,
            not_observable: tally.not_observable,
            not_seen: tally.not_seen,
        }
    }
}

impl Connection {
    fn new(judged: &conversation::Conversation) -> Self {
        let posture = &judged.posture;
        Self {
            number: judged.number,
            client: judged.client.to_string(),
            server: judged.server.to_string(),
            roles_known_by: judged.roles,
            path: links::path(&judged.path),
            path_back: judged.path_back.as_ref().map(links::path),
            proxies: judged.proxies.iter().map(proxies::Hop::new).collect(),
            captured_packets: judged.captured.packets,
            captured_bytes: judged.captured.bytes,
            first_packet: judged.first.packet,
            last_packet: judged.last.packet,
            first_ns: judged.first.time.0,
            last_ns: judged.last.time.0,
            start: judged.start,
            ending: judged.ending,
            kind: posture.kind.name(),
            interface: posture
                .interface
                .map(|interface| Interface::new(interface, posture.named_by.as_ref())),
            functions: Functions {
                client: posture.functions[0].clone(),
                server: posture.functions[1].clone(),
            },
            from_client: traffic(&judged.from_client),
            from_server: traffic(&judged.from_server),
            tls: judged.tls.as_ref().map(|tls| Tls::new(tls, judged)),
            http2: judged.http2.as_ref().map(Http2::new),
            ssh: judged.ssh.as_deref().map(ssh::Ssh::new),
            ike: judged.ike.as_ref().map(|sa| ipsec::Ike::new(sa, posture)),
            esp: judged.esp.as_ref().map(|sa| ipsec::Esp::new(sa)),
            sctp: judged
                .sctp
                .as_ref()
                .map(|association| ipsec::Sctp::new(association, posture)),
            datagrams: judged
                .datagrams
                .as_deref()
                .map(|one| datagrams::DatagramFacts::new(one, posture)),
            questions: Questions {
                offered: answer(&posture.offered),
                preferred: answer(&posture.preferred),
                negotiated: answer(&posture.negotiated),
                server_authenticated: answer(&posture.server_authenticated),
                client_authenticated: answer(&posture.client_authenticated),
                stayed: answer(&posture.stayed),
                clear: answer(&posture.clear),
            },
            confidentiality: verdict(&posture.confidentiality),
            authenticity: verdict(&posture.authenticity),
            contradictions: posture.contradictions.iter().map(|found| found.what.clone()).collect(),
            above_transport: posture.holes.iter().map(Hole::new).collect(),
            in_ledger: posture.in_ledger,
        }
    }
}

impl Tls {
    fn new(tls: &TlsFacts, judged: &conversation::Conversation) -> Self {
        let posture = &judged.posture;
        let hello = tls.hello.as_ref();
        Self {
            client_random: hello.map(|hello| HEXLOWER.encode(&hello.random)),
            server_name: hello.and_then(|hello| hello.server_name.clone()),
            alpn: hello.map_or_else(Vec::new, |hello| hello.alpn.clone()),
            versions_offered: hello.map_or_else(Vec::new, |hello| {
                hello.supported_versions.iter().copied().map(version_code).collect()
            }),
            groups_offered: hello.map_or_else(Vec::new, |hello| {
                hello.supported_groups.iter().copied().map(Code::from).collect()
            }),
            key_shares: hello.map_or_else(Vec::new, |hello| {
                let share = |share: &bartizan_wire::tls::KeyShare| KeyShare {
                    code: share.group.0,
                    name: share.group.to_string(),
                    bytes: share.length,
                };
                hello.key_shares.iter().map(share).collect()
            }),
            signature_schemes_offered: hello.map_or_else(Vec::new, |hello| {
                hello.signature_algorithms.iter().copied().map(Code::from).collect()
            }),
            certificate_signature_schemes_offered: hello.map_or_else(Vec::new, |hello| {
                hello
                    .signature_algorithms_cert
                    .iter()
                    .copied()
                    .map(Code::from)
                    .collect()
            }),
            cipher_suites_offered: hello.map_or_else(Vec::new, |hello| hello.cipher_suites.clone()),
            client_hello_bytes: hello.map(|hello| hello.length),
            early_data: hello.is_some_and(|hello| hello.early_data),
            hello_retry_request: tls.hello_retry_request.map(|group| Retry {
                group: group.map(Code::from),
            }),
            cipher_suite: tls.cipher_suite,
            group: posture.group.map(Code::from),
            server_signature: posture.server_signature.map(Code::from),
            client_signature: posture.client_signature.map(Code::from),
            server_certificates: tls.server_certificates.as_deref().map(shown),
            client_certificates: tls.client_certificates.as_deref().map(shown),
            resumed: tls.resumed,
            flights: tls.flights.iter().map(FlightFacts::new).collect(),
            protected_records_from_client: tls.protected_client.records,
            protected_records_from_server: tls.protected_server.records,
            protected_bytes_from_client: tls.protected_client.bytes,
            protected_bytes_from_server: tls.protected_server.bytes,
            alerts: tls.alerts.clone(),
            faults: tls.faults.clone(),
            opened: tls.opened.as_deref().map(opened::Opened::new),
        }
    }
}

impl FlightFacts {
    fn new(flight: &Flight) -> Self {
        Self {
            from: flight.from.to_string(),
            bytes: flight.bytes,
            records: flight.records,
            first_packet: flight.first.packet,
            last_packet: flight.last.packet,
            first_ns: flight.first.time.0,
            last_ns: flight.last.time.0,
        }
    }
}

fn version_code(version: Version) -> Code {
    Code {
        code: version.0,
        name: version.to_string(),
    }
}

fn traffic(traffic: &bartizan_wire::Traffic) -> Traffic {
    Traffic {
        packets: traffic.packets,
        bytes: traffic.stream.bytes,
        repeated_bytes: traffic.stream.repeated,
        gaps: traffic.stream.gaps,
        missing_bytes: traffic.stream.missing,
    }
}

fn answer(reply: &Reply) -> Answer {
    Answer {
        answer: reply.answer().name(),
        because: reply.because().to_owned(),
        sources: sources(reply.sources()),
    }
}

fn verdict(judgement: &Judgement) -> Verdict {
    Verdict {
        verdict: judgement.verdict().name(),
        because: judgement.because().to_owned(),
        sources: sources(judgement.sources()),
    }
}

fn sources(sources: &[Source]) -> Vec<String> {
    sources.iter().map(findings::source).collect()
}
