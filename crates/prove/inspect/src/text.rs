//! The report for people.

mod ike;
mod links;
mod opened;
mod port;
mod wrap;

pub(crate) use self::wrap::wrapped;

use std::fmt::Display;

use bartizan_deployment::Deployment;
use bartizan_posture::Verdict;
use bartizan_registry::{NamedGroup, Safety, SignatureScheme, is_grease, signature_safety};
use bartizan_wire::Timestamp;
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::ssh::{Sent, Ssh};

use crate::against::Against;
use crate::answer::Answer;
use crate::conversation::Conversation;
use crate::remedy::Remedy;
use crate::report::{Report, Row, Tally};
use crate::shares::Detail;

/// Findings printed; the rest are in the JSON.
const FINDINGS: usize = 20;

/// Colour of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// By the escape sequences of terminals.
    Yes,
    /// Plain text.
    No,
}

/// The answer of several captures as text, which their reports follow.
pub fn joint(reports: &[Report], width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        width,
    };
    page.line(counted(reports.len() as u64, "capture"));
    page.line("");
    page.answer(&Answer::joint(reports));
    page.text
}

/// Pass or fail against a framework, in lines of at most `width` characters.
pub fn against(against: &Against, width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        width,
    };
    for line in against.lines() {
        let indent = line.len() - line.trim_start().len() + 4;
        page.indented(line, indent);
    }
    page.text
}

/// One report as text, in lines of at most `width` characters: the answer, what is wrong and what
/// to do about it, then the rest.
pub fn render(
    report: &Report,
    deployment: Option<&Deployment>,
    detail: Detail,
    colour: Colour,
    width: usize,
) -> String {
    let mut page = Page {
        text: String::new(),
        width,
    };
    let (totals, summary) = (report.totals(), report.summary());
    let start = totals.first.map_or(Timestamp(0), |moment| moment.time);
    let length = totals.last.map_or(0, |moment| moment.time.since(start));
    page.line(format_args!(
        "{}: {}, {}, {}, {} s",
        report.name(),
        counted(totals.packets, "packet"),
        counted(summary.connections, "connection"),
        counted(report.network().links.len() as u64, "link"),
        seconds(length)
    ));
    page.line("");
    page.answer(&report.answer());
    page.findings(report);
    if summary.connections > 0 || !report.network().unseen.is_empty() {
        page.line("");
        match detail {
            Detail::Links => {
                let rows = links::rows(report.network(), deployment, start);
                page.rows(links::HEADINGS, links::KEPT, &rows, colour);
                let more = report.network().links.len().saturating_sub(links::LINKS) as u64;
                if more > 0 {
                    page.line(format_args!("{} more: --json has them", counted(more, "link")));
                }
            }
            Detail::Each | Detail::Alike => page.rows(HEADINGS, KEPT, &rows(report, detail, start), colour),
        }
        page.line("");
        page.summary(report);
    }
    let notes = report.notes();
    if !notes.is_empty() {
        page.line("notes");
    }
    for note in notes {
        page.indented(format_args!("  {note}"), 4);
    }
    page.text
}

/// Names, and the words of a ledger, come from the network: what would move the cursor, begin a
/// line of its own or turn the direction of reading is shown as `?`.
pub fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| if c.is_control() || turns(c) { '?' } else { c })
        .collect()
}

/// The same text, cut at a readable length: an unauthenticated peer may choose it.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// Text, line by line.
struct Page {
    text: String,
    width: usize,
}

/// Column of the second line of a detail: behind its label.
const LABEL: usize = 15;

impl Page {
    fn line(&mut self, line: impl Display) {
        self.indented(line, 2);
    }

    /// A line that goes on, where it is too long, behind so many spaces.
    fn indented(&mut self, line: impl Display, indent: usize) {
        for piece in wrap::wrapped(&printable(&line.to_string()), self.width, indent) {
            self.text.push_str(&piece);
            self.text.push('\n');
        }
    }

    /// A table. If it is wider than a line only the columns `kept` stay, as narrow as need be; the
    /// others become a line below.
    fn rows<const N: usize>(
        &mut self,
        headings: [&str; N],
        kept: &[usize],
        rows: &[([String; N], Vec<String>)],
        colour: Colour,
    ) {
        let natural: [usize; N] = std::array::from_fn(|column| {
            let widest = rows.iter().map(|(cells, _)| cells[column].chars().count()).max();
            widest.unwrap_or(0).max(headings[column].len())
        });
        let all: Vec<usize> = (0..N).collect();
        let fits = natural.iter().sum::<usize>() + 2 * (N - 1) <= self.width;
        let columns = if fits { &all[..] } else { kept };
        let mut widths: Vec<usize> = columns.iter().map(|&column| natural[column]).collect();
        narrow(&mut widths, self.width.saturating_sub(2 * (columns.len() - 1)));
        let heading: Vec<&str> = columns.iter().map(|&column| headings[column]).collect();
        self.row(&heading, &widths, Colour::No);
        for (cells, details) in rows {
            let shown: Vec<&str> = columns.iter().map(|&column| cells[column].as_str()).collect();
            self.row(&shown, &widths, colour);
            if !fits {
                let others = all
                    .iter()
                    .filter(|column| !kept.contains(column) && cells[**column] != "-");
                let others: Vec<String> = others
                    .map(|&column| format!("{} {}", headings[column], cells[column]))
                    .collect();
                self.indented(format_args!("    {}", others.join(", ")), LABEL);
            }
            for detail in details {
                self.indented(format_args!("    {detail}"), LABEL);
            }
        }
    }

    /// One row, of as many lines as its longest cell needs.
    fn row(&mut self, cells: &[&str], widths: &[usize], colour: Colour) {
        let cells: Vec<Vec<String>> = cells
            .iter()
            .zip(widths)
            .map(|(text, &width)| wrap::cell(&printable(text), width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for index in 0..height {
            let line = cells.iter().zip(widths).map(|(lines, &width)| {
                let text = lines.get(index).map_or("", String::as_str);
                format!("{text:width$}")
            });
            let line = line.collect::<Vec<_>>().join("  ");
            let line = line.trim_end();
            match colour {
                Colour::Yes => self.text.push_str(&painted(line)),
                Colour::No => self.text.push_str(line),
            }
            self.text.push('\n');
        }
    }

    /// The answer: links and share of bytes judged, findings by severity, what to do first.
    fn answer(&mut self, answer: &Answer) {
        self.line("answer");
        let mut links: Vec<String> = answer
            .readable()
            .iter()
            .map(|(count, name, _)| format!("{count} {name}"))
            .collect();
        if answer.without_data > 0 {
            links.push(format!("{} without data", answer.without_data));
        }
        let links = if links.is_empty() {
            "nothing to judge".to_owned()
        } else {
            links.join(", ")
        };
        self.indented(format_args!("  {}: {links}", counted(answer.links, "link")), 4);
        let coverage = answer.coverage;
        let rest: Vec<String> = [(coverage.unproven, "unproven"), (coverage.not_read, "not read")]
            .iter()
            .filter(|(bytes, _)| *bytes > 0)
            .map(|(bytes, what)| format!("{bytes} {what}"))
            .collect();
        let rest = if rest.is_empty() {
            String::new()
        } else {
            format!("; {}", rest.join(", "))
        };
        self.indented(
            format_args!(
                "  {} of {} judged{rest}",
                coverage.percent(),
                counted(coverage.wanted(), "byte")
            ),
            4,
        );
        if answer.snapped > 0 {
            let packets = counted(answer.snapped, "packet");
            self.indented(format_args!("  {packets} captured in part, judged by what is left"), 4);
        }
        let severities: Vec<String> = answer
            .severities
            .iter()
            .map(|(severity, count)| format!("{count} {}", severity.name()))
            .collect();
        let findings = if severities.is_empty() {
            "none".to_owned()
        } else {
            severities.join(", ")
        };
        self.indented(format_args!("  findings: {findings}"), 4);
        for (index, step) in answer.steps.iter().enumerate() {
            let label = if index == 0 { "do first" } else { "then" };
            self.indented(format_args!("  {label:8}  {} ({})", step.remedy, step.mends), 12);
        }
    }

    fn summary(&mut self, report: &Report) {
        let summary = report.summary();
        self.line("summary");
        for (kind, count) in &summary.by_kind {
            self.line(format_args!("  {count} x {}", kind.name()));
        }
        for (group, count) in summary.by_group.iter().filter(|(group, _)| *group != "-") {
            self.line(format_args!("  {count} x {group}"));
        }
        for (count, what) in [
            (summary.hello_retry_requests, "with HelloRetryRequest"),
            (summary.resumed, "resumed"),
            (summary.in_ledger, "known to a ledger"),
        ] {
            if count > 0 {
                self.line(format_args!("  {count} x {what}"));
            }
        }
        for (axis, tally) in [
            ("confidentiality", summary.confidentiality),
            ("authenticity", summary.authenticity),
        ] {
            let Tally {
                quantum_safe,
                vulnerable,
                readable_now,
                not_observable,
                not_seen,
            } = tally;
            // Only what is sent unencrypted is readable now, and that says nothing of who sent it.
            let now = match axis {
                "confidentiality" => format!("{readable_now} readable now, "),
                _ => String::new(),
            };
            self.line(format_args!(
                "  {axis:15}  {now}{vulnerable} vulnerable, {not_observable} not observable, {not_seen} not seen, {quantum_safe} quantum-safe"
            ));
        }
    }

    fn findings(&mut self, report: &Report) {
        let findings = report.findings();
        let mut severity = None;
        for finding in findings.iter().take(FINDINGS) {
            let count = counted(finding.count, finding.unit);
            if severity != Some(finding.severity()) {
                severity = Some(finding.severity());
                self.line(format_args!("findings, {}", finding.severity().name()));
            }
            self.indented(
                format_args!("  {}: {count}: {}", finding.concern.name(), finding.because),
                6,
            );
            self.remedy(&finding.remedy);
            if let Some(example) = &finding.example {
                self.indented(format_args!("    first: {example}"), 11);
            }
        }
        if findings.len() > FINDINGS {
            self.line(format_args!("  ... and {} more: see --json", findings.len() - FINDINGS));
        }
    }

    fn remedy(&mut self, remedy: &Remedy) {
        self.indented(format_args!("    remedy: {}", remedy.what), 12);
        for change in remedy.changes {
            self.indented(format_args!("    in {}: {}", change.file, change.entry), 7);
        }
        if let Some(command) = remedy.command {
            self.indented(format_args!("    command: {command}"), 13);
        }
        for line in remedy.lines() {
            self.indented(format_args!("    {line}"), 14);
        }
    }
}

/// Makes columns narrower until together they are no wider than `room`: always the widest, and none
/// narrower than its share.
fn narrow(widths: &mut [usize], room: usize) {
    const LEAST: usize = 6;
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max_by_key(|width| **width) {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => return,
        }
    }
}

/// A row with its verdicts in colour; no other cell of a row has their names.
fn painted(row: &str) -> String {
    let verdicts = [
        (Verdict::QuantumSafe.name(), "32"),
        (Verdict::Vulnerable.name(), "31"),
        (Verdict::ReadableNow.name(), "1;31"),
    ];
    let mut row = row.to_owned();
    for (name, colour) in verdicts {
        row = row.replace(&format!("  {name}"), &format!("  \x1b[{colour}m{name}\x1b[0m"));
    }
    row
}

fn rows(report: &Report, detail: Detail, start: Timestamp) -> Vec<([String; 9], Vec<String>)> {
    match detail {
        Detail::Each => {
            let one = |conversation: &Conversation| {
                (
                    cells(conversation, start, 1, &exact(conversation)),
                    explain(conversation),
                )
            };
            report.conversations().iter().map(one).collect()
        }
        Detail::Alike | Detail::Links => {
            let one = |row: &Row| {
                (
                    cells(&row.conversation, start, row.connections, &row.flights),
                    explain_row(row),
                )
            };
            report.rows().iter().map(one).collect()
        }
    }
}

const HEADINGS: [&str; 9] = [
    "time",
    "client",
    "server",
    "n",
    "what",
    "group",
    "flights (bytes)",
    "confidentiality",
    "authenticity",
];

/// Columns that stay where a line has no room for all.
const KEPT: &[usize] = &[1, 2, 7, 8];

fn cells(conversation: &Conversation, start: Timestamp, connections: u64, flights: &[(u64, u64)]) -> [String; 9] {
    let posture = &conversation.posture;
    let client = if connections == 1 {
        conversation.client.to_string()
    } else {
        conversation.client.address().to_string()
    };
    let flights: Vec<String> = flights
        .iter()
        .map(|(least, most)| {
            if least == most {
                least.to_string()
            } else {
                format!("{least}-{most}")
            }
        })
        .collect();
    [
        seconds(conversation.first.time.since(start)),
        client,
        conversation.server.to_string(),
        connections.to_string(),
        conversation.what(),
        posture.key_exchange().unwrap_or_else(dash),
        if flights.is_empty() { dash() } else { flights.join("/") },
        posture.confidentiality.verdict().name().to_owned(),
        posture.authenticity.verdict().name().to_owned(),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

fn exact(conversation: &Conversation) -> Vec<(u64, u64)> {
    conversation
        .flights()
        .map(|flight| (flight.bytes, flight.bytes))
        .collect()
}

fn explain_row(row: &Row) -> Vec<String> {
    let mut lines = explain(&row.conversation);
    if row.conversation.tls.is_none() && row.conversation.ike.is_none() && row.bytes > 0 {
        lines.push(format!("carried   {} bytes", row.bytes));
    }
    lines
}

/// Lines below a connection's row.
fn explain(conversation: &Conversation) -> Vec<String> {
    let posture = &conversation.posture;
    let mut lines = Vec::new();
    if let Some(tls) = &conversation.tls {
        if let Some(hello) = &tls.hello {
            if let Some(name) = &hello.server_name {
                lines.push(format!("name      {name}"));
            }
            let shared: Vec<NamedGroup> = hello.key_shares.iter().map(|share| share.group).collect();
            let groups = hello
                .supported_groups
                .iter()
                .filter(|group| !is_grease(group.0))
                .map(|group| {
                    let share = if shared.contains(group) { "*" } else { "" };
                    format!("{group}{share}")
                });
            lines.push(format!("offered   {}", join(groups)));
            lines.push(format!("schemes   {}", schemes(&hello.signature_algorithms)));
        }
        if let Some(group) = tls.hello_retry_request {
            let group = group.map_or_else(|| "with no group".to_owned(), |group| format!("for {group}"));
            lines.push(format!("retried   HelloRetryRequest {group}"));
        }
        if tls.resumed {
            lines.push("resumed   by a pre-shared key".into());
        }
        let shown = [
            ("server", &tls.server_certificates),
            ("client", &tls.client_certificates),
        ];
        for (end, chain) in shown {
            lines.extend(
                chain
                    .iter()
                    .map(|chain| format!("shown     {end} {}", opened::of(chain))),
            );
        }
        lines.extend(tls.alerts.iter().map(|alert| format!("alert     {alert}")));
        lines.extend(tls.faults.iter().map(|fault| format!("fault     {fault}")));
        lines.extend(tls.opened.iter().flat_map(|opened| opened::explain(opened)));
    }
    if let Some(ssh) = &conversation.ssh {
        lines.extend(explain_ssh(ssh));
    }
    if let Some(sa) = &conversation.ike {
        lines.extend(ike::explain(sa));
        lines.push(format!(
            "stayed    {}: {}",
            posture.stayed.answer().name(),
            posture.stayed.because()
        ));
    }
    if let Some(association) = &conversation.sctp {
        lines.extend(ike::explain_association(association, posture.interface));
    }
    lines.extend(conversation.datagrams.as_deref().and_then(endpoints));
    lines.extend(
        conversation
            .datagrams
            .iter()
            .flat_map(|datagrams| port::explain(datagrams)),
    );
    if !conversation.path.is_empty() {
        lines.push(format!("in        {}", conversation.path));
    }
    lines.extend(conversation.path_back.iter().map(|path| format!("back in   {path}")));
    lines.extend(conversation.proxies.iter().map(|hop| format!("proxy     {hop}")));
    lines.push(format!(
        "because   confidentiality: {}",
        posture.confidentiality.because()
    ));
    lines.push(format!("          authenticity: {}", posture.authenticity.because()));
    lines.extend(
        posture
            .contradictions
            .iter()
            .map(|found| format!("disagree  {}", found.what)),
    );
    lines
}

/// Tunnels of GTP-U, and sessions of PFCP and GTPv2-C, by the end that numbered them.
fn endpoints(datagrams: &Datagrams) -> Option<String> {
    let seen = &datagrams.messages;
    let [at_server, at_client] = &seen.endpoints;
    if at_server.is_empty() && at_client.is_empty() {
        return None;
    }
    let what = match datagrams.protocol {
        DatagramProtocol::Pfcp => "sessions",
        _ => "tunnels",
    };
    let count = |named: &[(u64, u64)], others: u64| {
        let more = if others > 0 { " or more" } else { "" };
        format!("{}{more}", named.len())
    };
    let [to_server, to_client] = seen.other_endpoints;
    Some(format!(
        "{what:<9} {} at the server, {} at the client",
        count(at_server, to_server),
        count(at_client, to_client)
    ))
}

/// Algorithms that both ends of SSH offer.
fn explain_ssh(ssh: &Ssh) -> Vec<String> {
    let mut lines = Vec::new();
    for (side, end) in [("client", &ssh.client), ("server", &ssh.server)] {
        if let Some(seen) = &end.identification {
            lines.push(format!("{side}    {}", seen.value));
        }
    }
    let list = |end: &Sent| {
        end.kex_init
            .as_ref()
            .map(|seen| seen.value.key_exchange.replace(',', " "))
    };
    lines.extend(list(&ssh.client).map(|names| format!("offered   {names}")));
    lines.extend(list(&ssh.server).map(|names| format!("server has {names}")));
    lines
}

fn join(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        "nothing".into()
    } else {
        items.join(" ")
    }
}

/// The post-quantum schemes by name, the others by number: a client names twenty. All of them are in the JSON.
fn schemes(offered: &[SignatureScheme]) -> String {
    let real = offered.iter().filter(|scheme| !is_grease(scheme.0));
    let (mut safe, mut classical, mut unknown) = (Vec::new(), 0, 0);
    for scheme in real {
        match signature_safety(*scheme) {
            Some(Safety::QuantumSafe) => safe.push(scheme.to_string()),
            Some(Safety::Vulnerable) => classical += 1,
            None => unknown += 1,
        }
    }
    let mut parts = vec![if safe.is_empty() {
        "none post-quantum".to_owned()
    } else {
        safe.join(" ")
    }];
    if classical > 0 {
        parts.push(format!("{classical} classical"));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} unknown"));
    }
    parts.join(", ")
}

/// `1 packet`, `2 packets`.
pub fn counted(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Nanoseconds as seconds with microseconds.
fn seconds(nanoseconds: u64) -> String {
    format!(
        "{}.{:06}",
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000 / 1000
    )
}
