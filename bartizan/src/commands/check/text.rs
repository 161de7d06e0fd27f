//! The report for people.

use std::fmt::Write;
use std::io;

use super::Report;
use super::credentials::{CredentialsInEffect, OwnInEffect};
use super::findings::Finding;
use super::in_effect::{
    InterfaceInEffect, IpsecNodeInEffect, LedgerInEffect, NodeInEffect, OwnTlsInEffect, PolicyInEffect, SidecarInEffect,
};
use super::ipsec::IpsecInEffect;
use super::macsec::MacsecInEffect;

/// Writes the whole report: node by node and link by link, however many the file has.
pub(super) fn write(report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = Text::default();
    let scope = report.nodes.0;
    let (nodes, interfaces) = (scope.nodes().count(), scope.interfaces().count());
    let nodes = match scope.node {
        Some(node) => node.name.to_string(),
        None => counted(nodes, "node"),
    };
    text.line(&format!(
        "{}: {nodes} and {}, as in effect on {}",
        report.file,
        counted(interfaces, "interface"),
        report.day
    ));
    if let Some(left_out) = &report.left_out {
        text.line(&format!(
            "left out: {}, {} and {} that do not concern it; without --node all of it is checked, but no files",
            counted(left_out.nodes, "other node"),
            counted(left_out.interfaces, "interface"),
            counted(left_out.findings, "finding"),
        ));
    }
    let mut same = String::new();
    for interface in report.interfaces.each() {
        let mut fields = Text::default();
        fields.interface(&interface);
        if fields.0 != same {
            text.0.push_str(&same);
            same = fields.0;
            text.0.push('\n');
        }
        // Links of which all is the same stand above it together.
        let [one, other] = &interface.between;
        text.line(&format!("{} {one} -- {other}", interface.kind));
        text.write_to(out)?;
    }
    text.0.push_str(&same);
    for node in report.nodes.each() {
        text.node(&node);
        text.write_to(out)?;
    }
    if let Some(credentials) = &report.credentials {
        text.credentials("files", credentials);
    }
    if let Some(credentials) = &report.ipsec_credentials {
        text.credentials("IPsec files", credentials);
    }
    text.findings("note", &report.notes);
    text.findings("finding", &report.findings);
    let accepted = report.findings.iter().filter(|finding| finding.accepted.is_some());
    match (report.findings.len(), accepted.count()) {
        (0, _) => text.line("\nno findings"),
        (all, 0) => text.line(&format!("\n{}", counted(all, "finding"))),
        (all, accepted) => text.line(&format!("\n{}, {accepted} of them accepted", counted(all, "finding"))),
    }
    text.write_to(out)
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn write_to(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        let written = out.write_all(self.0.as_bytes());
        self.0.clear();
        written
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A line of two columns under a heading.
    fn field(&mut self, name: &str, value: &str) {
        // Writing into a String cannot fail.
        let _ = writeln!(self.0, "  {name:<16} {value}");
    }

    fn interface(&mut self, interface: &InterfaceInEffect) {
        self.field("protected by", interface.protection);
        if let Some(carrier) = interface.carrier {
            self.field("carried by", carrier);
        }
        if let Some(policy) = &interface.policy {
            self.policy(policy);
        }
        for (name, value) in interface.ipsec.iter().flat_map(IpsecInEffect::fields) {
            self.field(name, &value);
        }
        for (name, value) in interface.macsec.iter().flat_map(MacsecInEffect::fields) {
            self.field(name, &value);
        }
    }

    fn policy(&mut self, policy: &PolicyInEffect) {
        let strength = match policy.post_quantum {
            "require" => "post-quantum is required",
            "prefer" => "post-quantum is preferred",
            "allow" => "post-quantum is allowed",
            _ => "nothing post-quantum",
        };
        self.field("policy", &format!("{}: {strength}", policy.profile));
        self.field("groups", &policy.groups.join(", "));
        self.field("signatures", &policy.signatures.join(", "));
        self.field("chain signatures", &policy.chain_signatures.join(", "));
        self.field("cipher suites", &policy.ciphers.join(", "));
        if let Some(exception) = &policy.exception {
            self.field("exception", &exception.text());
        }
        match policy.resumption_seconds {
            None => self.field("resumption", "off"),
            Some(seconds) => self.field("resumption", &format!("within {seconds} s of the full handshake")),
        }
        self.field("revocation", policy.revocation);
    }

    fn node(&mut self, node: &NodeInEffect) {
        self.line(&format!("\n{} ({}) at {}", node.name, node.function, node.address));
        self.field("known by", &node.names.join(", "));
        if let Some(sidecar) = &node.sidecar {
            self.sidecar(sidecar);
        }
        if let Some(own) = &node.tls {
            self.own_tls(own);
        }
        if let Some(ipsec) = &node.ipsec {
            self.ipsec(ipsec);
        }
    }

    fn ipsec(&mut self, ipsec: &IpsecNodeInEffect) {
        self.field("for IPsec", &format!("{}, key {}", ipsec.certificate, ipsec.key));
        self.field("trusts", &ipsec.roots);
        let daemon = match &ipsec.vici {
            Some(socket) => format!("the one at {socket}"),
            None => "one of its own".into(),
        };
        let daemon = match ipsec.engine {
            "bartizan" => "Bartizan's engine".to_owned(),
            _ => daemon,
        };
        self.field("IKE daemon", &daemon);
        match (ipsec.data_path, ipsec.offload) {
            ("userspace", _) => self.field("ESP", "by the engine itself, in user space"),
            (_, "crypto") => self.field("ESP", "by the kernel, which has its network card encrypt where it can"),
            _ => {}
        }
        if let Some(ledger) = &ipsec.ledger {
            self.field("IPsec ledger", &bounded(ledger));
        }
    }

    fn own_tls(&mut self, own: &[OwnTlsInEffect]) {
        for listener in own {
            let (listen, interface) = (&listener.listen, listener.interface);
            self.field(
                "own TLS",
                &format!("{listen} ({interface}), known as {}", listener.service),
            );
        }
        if own.is_empty() {
            self.field("own TLS", "as a client");
        }
    }

    fn sidecar(&mut self, sidecar: &SidecarInEffect) {
        for inbound in &sidecar.inbound {
            let service = &inbound.service;
            let value = format!(
                "{} -> {} ({}, {}), known as {service}",
                inbound.listen, inbound.forward, inbound.interface, inbound.path
            );
            self.field("inbound", &value);
        }
        for outbound in &sidecar.outbound {
            let interface = outbound.interface.map_or_else(String::new, |kind| format!("{kind}, "));
            let value = format!(
                "{} -> {} ({interface}{}), {} ready",
                outbound.listen, outbound.route, outbound.path, outbound.warm
            );
            self.field("outbound", &value);
        }
        if let Some(admin) = &sidecar.admin {
            self.field("admin", admin);
        }
        if let Some(ledger) = &sidecar.ledger {
            self.field("ledger", &bounded(ledger));
        }
    }

    fn credentials(&mut self, what: &str, credentials: &CredentialsInEffect) {
        self.line(&format!("\n{what} of {}", credentials.node));
        for own in std::iter::once(&credentials.own).chain(&credentials.further_certificates) {
            self.own(own);
        }
        self.field("roots", &credentials.roots);
        if let Some(crl) = &credentials.crl {
            let due = credentials.crl_due.as_ref().map(|due| format!(", due by {due}"));
            let from = credentials.crl_url.as_ref().map(|url| format!(", fetched from {url}"));
            let [due, from] = [due, from].map(Option::unwrap_or_default);
            self.field("revocation", &format!("{crl}{due}{from}"));
        }
        for exception in &credentials.exceptions {
            self.field("exception", exception);
        }
        if let Some(end) = &credentials.associations_end {
            self.field(
                "associations",
                &format!("end with {end}, unless the certificate is renewed before"),
            );
        }
    }

    fn own(&mut self, own: &OwnInEffect) {
        self.field("certificate", &own.certificate);
        if !own.in_use && !own.chain.is_empty() {
            self.field("", "not in use: no policy accepts it today");
        }
        for certificate in &own.chain {
            let names = if certificate.names.is_empty() {
                "no names".into()
            } else {
                certificate.names.join(", ")
            };
            self.field("", &format!("{}: {names}", certificate.subject));
            let (key, signed) = (&certificate.key, &certificate.signed_by);
            let days = days(certificate.days_left);
            self.field(
                "",
                &format!("  {key}, signed by {signed}, until {} ({days})", certificate.ends),
            );
        }
        self.field("key", &own.key);
    }

    fn findings(&mut self, kind: &str, findings: &[Finding]) {
        for finding in findings {
            let severity = finding
                .severity
                .map_or_else(String::new, |severity| format!(" ({})", severity.name()));
            self.line(&format!("\n{kind}{severity}: {}: {}", finding.about, finding.finding));
            if let Some(acceptance) = &finding.accepted {
                self.line(&acceptance.text());
            }
            self.line(&format!("hint: {}", finding.hint));
        }
    }
}

fn bounded(ledger: &LedgerInEffect) -> String {
    let (mib, kib) = (ledger.size >> 20, ledger.size >> 10);
    let size = if mib > 0 {
        format!("{mib} MiB")
    } else {
        format!("{kib} KiB")
    };
    format!("{}, rotated at {size}, {} old files kept", ledger.file, ledger.keep)
}

/// Whole days until an end, in words; negative after it.
pub(super) fn days(left: i64) -> String {
    match left {
        0 => "its last day".to_owned(),
        1 => "1 day left".to_owned(),
        2.. => format!("{left} days left"),
        -1 => "ended a day ago".to_owned(),
        _ => format!("ended {} days ago", left.unsigned_abs()),
    }
}
