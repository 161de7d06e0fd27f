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
use std::fmt::Display;
use std::io;

use bartizan_ledger::Code;
use bartizan_posture::{Judgement, Reply, Source};
use bartizan_registry::object;
use bartizan_wire::Seen;
use bartizan_wire::tls::{Flight, Version};
use serde::{Serialize, Serializer};

use crate::conversation::{self, TlsFacts};
use crate::findings;
use crate::report::{Report, Tally};
use dtls::codes;
pub(crate) use links::link_facts;
use opened::{opened_facts, shown};

/// Name and version of the schema.
pub const SCHEMA: &str = "bartizan-inspect/1";

/// Serialized form of all reports.
pub fn document(reports: &[Report]) -> impl Serialize {
    object!(Document {
        schema: SCHEMA,
        answer: answer_facts(crate::Answer::joint(reports)),
        files: reports.iter().map(file_facts).collect::<Vec<_>>(),
    })
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

/// A list whose elements are made one by one.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// The answer, before all the rest.
fn answer_facts(answer: crate::Answer) -> impl Serialize {
    let coverage = answer.coverage;
    let severities = answer.severities.iter();
    object!(Answer {
        links: answer.links,
        links_without_data: answer.without_data,
        confidentiality: counts_facts(answer.confidentiality),
        authenticity: counts_facts(answer.authenticity),
        bytes: object!(Bytes {
            judged: coverage.judged,
            unproven: coverage.unproven,
            without_data: coverage.without_data,
            needless: coverage.needless,
            not_read: coverage.not_read,
            judged_percent: coverage.percent(),
        }),
        snapped: answer.snapped,
        findings: severities
            .map(|(severity, count)| (severity.name(), *count))
            .collect::<BTreeMap<_, _>>(),
        first: list(answer.steps, |crate::Step { remedy, mends }| object!(Step {
            remedy,
            mends
        })),
    })
}

/// Things that memory had no room for.
fn omission_facts(omission: findings::Omission) -> impl Serialize {
    object!(Omission {
        what: omission.what,
        count: omission.count,
        unit: omission.unit,
        first_packet: omission.first_packet,
    })
}

fn interface_facts(interface: bartizan_posture::Interface, named_by: Option<&Source>) -> impl Serialize {
    object!(Interface {
        name: interface.name,
        known_by: interface.by.name(),
        // The packet that tells it; none where no single one does.
        sources: list(named_by, findings::source),
    })
}

fn http2_facts(http2: &bartizan_wire::http2::Http2) -> impl Serialize {
    object!(Http2 {
        requests: http2.streams,
        preface_packet: http2.preface.map(|moment| moment.packet),
        frames_from_client: http2.from_client.total(),
        frames_from_server: http2.from_server.total(),
        data_bytes_from_client: http2.from_client.data_bytes,
        data_bytes_from_server: http2.from_server.data_bytes,
    })
}

/// An exposure above the transport.
fn hole_facts(hole: &bartizan_posture::Hole) -> impl Serialize {
    object!(Hole {
        kind: hole.kind.as_str(),
        verdict: hole.judgement.verdict().name(),
        because: hole.judgement.because().to_owned(),
        count: hole.count,
        sources: sources(hole.judgement.sources()),
    })
}

fn file_facts(report: &Report) -> impl Serialize {
    let (totals, summary) = (report.totals(), report.summary());
    object!(File {
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
        omitted: list(report.omissions(), omission_facts),
        unread: totals
            .unread
            .iter()
            .map(|(&unread, captured)| (findings::name(unread), captured.packets))
            .collect::<BTreeMap<_, _>>(),
        answer: answer_facts(report.answer()),
        summary: object!(Summary {
            connections: summary.connections,
            by_kind: summary
                .by_kind
                .iter()
                .map(|(kind, &count)| (kind.name(), count))
                .collect::<BTreeMap<_, _>>(),
            by_group: &summary.by_group,
            hello_retry_requests: summary.hello_retry_requests,
            resumed: summary.resumed,
            in_ledger: summary.in_ledger,
            confidentiality: counts_facts(summary.confidentiality),
            authenticity: counts_facts(summary.authenticity),
            not_listed: summary.beyond_list.map_or(0, |(_, count)| count),
        }),
        findings: list(report.findings(), |finding| object!(Finding {
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
        })),
        notes: report.notes(),
        links: Each(report.network().links.iter().map(link_facts)),
        links_not_seen: &report.network().unseen,
        connections: Each(report.conversations().iter().map(connection_facts)),
    })
}

fn counts_facts(tally: Tally) -> impl Serialize {
    object!(Counts {
        quantum_safe: tally.quantum_safe,
        vulnerable: tally.vulnerable,
        readable_now: tally.readable_now,
        not_observable: tally.not_observable,
        not_seen: tally.not_seen,
    })
}

fn connection_facts(judged: &conversation::Conversation) -> impl Serialize {
    let posture = &judged.posture;
    object!(Connection {
        number: judged.number,
        client: judged.client.to_string(),
        server: judged.server.to_string(),
        roles_known_by: judged.roles,
        path: links::path(&judged.path),
        path_back: judged.path_back.as_ref().map(links::path),
        proxies: list(&judged.proxies, proxies::hop_facts),
        // Packets of the capture, and bytes of their frames.
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
            .map(|interface| interface_facts(interface, posture.named_by.as_ref())),
        functions: object!(Functions {
            client: posture.functions[0].clone(),
            server: posture.functions[1].clone(),
        }),
        from_client: traffic(&judged.from_client),
        from_server: traffic(&judged.from_server),
        tls: judged.tls.as_ref().map(|tls| tls_facts(tls, judged)),
        http2: judged.http2.as_ref().map(http2_facts),
        ssh: judged.ssh.as_deref().map(ssh::ssh_facts),
        ike: judged.ike.as_ref().map(|sa| ipsec::ike_facts(sa, posture)),
        esp: judged.esp.as_ref().map(|sa| ipsec::esp_facts(sa)),
        sctp: judged.sctp.as_ref().map(|one| ipsec::sctp_facts(one, posture)),
        datagrams: judged
            .datagrams
            .as_deref()
            .map(|one| datagrams::datagram_facts(one, posture)),
        questions: object!(Questions {
            offered: answer(&posture.offered),
            preferred: answer(&posture.preferred),
            negotiated: answer(&posture.negotiated),
            server_authenticated: answer(&posture.server_authenticated),
            client_authenticated: answer(&posture.client_authenticated),
            stayed: answer(&posture.stayed),
            clear: answer(&posture.clear),
        }),
        confidentiality: verdict(&posture.confidentiality),
        authenticity: verdict(&posture.authenticity),
        contradictions: list(&posture.contradictions, |found| found.what.clone()),
        above_transport: list(&posture.holes, hole_facts),
        in_ledger: posture.in_ledger,
    })
}

fn tls_facts(tls: &TlsFacts, judged: &conversation::Conversation) -> impl Serialize {
    let posture = &judged.posture;
    let hello = tls.hello.as_ref();
    object!(Tls {
        client_random: hello.map(|hello| HEXLOWER.encode(&hello.random)),
        server_name: hello.and_then(|hello| hello.server_name.clone()),
        alpn: hello.map_or_else(Vec::new, |hello| hello.alpn.clone()),
        versions_offered: codes(hello.map(|hello| &hello.supported_versions), version_code),
        groups_offered: codes(hello.map(|hello| &hello.supported_groups), Code::from),
        key_shares: list(hello.iter().flat_map(|hello| &hello.key_shares), |share| object!(
            KeyShare {
                code: share.group.0,
                name: share.group.to_string(),
                bytes: share.length,
            }
        )),
        signature_schemes_offered: codes(hello.map(|hello| &hello.signature_algorithms), Code::from),
        certificate_signature_schemes_offered: codes(hello.map(|hello| &hello.signature_algorithms_cert), Code::from),
        cipher_suites_offered: hello.map_or_else(Vec::new, |hello| hello.cipher_suites.clone()),
        client_hello_bytes: hello.map(|hello| hello.length),
        early_data: hello.is_some_and(|hello| hello.early_data),
        hello_retry_request: tls.hello_retry_request.map(|group| object!(Retry {
            group: group.map(Code::from),
        })),
        cipher_suite: tls.cipher_suite,
        group: posture.group.map(Code::from),
        server_signature: posture.server_signature.map(Code::from),
        client_signature: posture.client_signature.map(Code::from),
        server_certificates: tls.server_certificates.as_deref().map(shown),
        client_certificates: tls.client_certificates.as_deref().map(shown),
        resumed: tls.resumed,
        flights: list(&tls.flights, flight_facts),
        protected_records_from_client: tls.protected_client.records,
        protected_records_from_server: tls.protected_server.records,
        protected_bytes_from_client: tls.protected_client.bytes,
        protected_bytes_from_server: tls.protected_server.bytes,
        alerts: tls.alerts.clone(),
        faults: tls.faults.clone(),
        #[serde(flatten)]
        opened: tls.opened.as_deref().map(|seen| object!(Opened {
            opened: opened_facts(seen)
        })),
    })
}

fn flight_facts(flight: &Flight) -> impl Serialize {
    object!(Flight {
        from: flight.from.to_string(),
        bytes: flight.bytes,
        records: flight.records,
        first_packet: flight.first.packet,
        last_packet: flight.last.packet,
        first_ns: flight.first.time.0,
        last_ns: flight.last.time.0,
    })
}

fn version_code(version: Version) -> Code {
    code(version.0, version)
}

/// A code point with its name.
fn code(code: impl Into<u16>, name: impl Display) -> Code {
    Code {
        code: code.into(),
        name: name.to_string(),
    }
}

/// The facts of each of these.
fn list<T, F>(all: impl IntoIterator<Item = T>, facts: impl Fn(T) -> F) -> Vec<F> {
    all.into_iter().map(facts).collect()
}

/// A value, and the packet that had its last byte.
pub(crate) fn at_packet<T: Display>(seen: &Seen<T>) -> String {
    format!("{} (packet {})", seen.value, seen.last.packet)
}

fn traffic(traffic: &bartizan_wire::Traffic) -> impl Serialize {
    object!(Traffic {
        packets: traffic.packets,
        bytes: traffic.stream.bytes,
        repeated_bytes: traffic.stream.repeated,
        gaps: traffic.stream.gaps,
        missing_bytes: traffic.stream.missing,
    })
}

fn answer(reply: &Reply) -> impl Serialize {
    object!(Answer {
        answer: reply.answer().name(),
        because: reply.because().to_owned(),
        sources: sources(reply.sources()),
    })
}

fn verdict(judgement: &Judgement) -> impl Serialize {
    object!(Verdict {
        verdict: judgement.verdict().name(),
        classical_alone: judgement.verdict() == bartizan_posture::Verdict::Vulnerable && judgement.is_by_classical(),
        because: judgement.because().to_owned(),
        sources: sources(judgement.sources()),
    })
}

fn sources(sources: &[Source]) -> Vec<String> {
    list(sources, findings::source)
}
