//! The rules as nftables reads them.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::net::{SocketAddr, SocketAddrV4};

use bartizan_deployment::NodeName;
use bartizan_host::nftables::{self, fingerprint};

use super::plan::Plan;
use super::probe::{COMPARED_PROBE_SOURCE, GUARD_PROBE_SOURCE, REDIRECT_PROBE};
use super::strict;
use super::unprotected_peer::UnprotectedPeer;

/// The table that leads connections to the sidecar.
pub(super) const REDIRECT: &str = "bartizan-redirect";
/// The table that refuses what is not led there.
pub(super) const GUARD: &str = "bartizan-guard";
/// The table that refuses what the file does not list.
pub(super) const STRICT: &str = "bartizan-strict";
/// The set of the guard that shows whether the rules were found to be what they should be, for as long as its element lasts.
pub(super) const COMPARED: &str = "compared";
/// The comment that names which node's rules a table is, and which content they have, begins with it.
pub(super) const MARK: &str = "node ";

/// A reset may leave: that a connection has ended is all it discloses.
const RESET: &str = "tcp flags & rst == rst counter accept comment \"an end, and nothing else\"";

/// Contents of a table, besides the two sets of addresses.
struct Table {
    name: &'static str,
    chains: Vec<Chain>,
}

struct Chain {
    name: &'static str,
    /// Its hook, in nftables' words.
    hook: &'static str,
    rules: Vec<String>,
}

impl Plan {
    /// The tables as they should be.
    pub(super) fn tables(&self, strict: bool) -> Vec<nftables::Table> {
        let mark = self.mark();
        let tables = self.of_tcp(&mark);
        let tables = tables
            .iter()
            .map(|table| nftables::Table::new(table.name, &self.body(table)));
        let gateway = (!self.gateway.is_empty()).then(|| self.gateway.table(&mark));
        tables
            .chain(gateway)
            .chain(strict.then(|| strict::table(self, &mark)))
            .collect()
    }

    /// Redirect and guard of TCP, where a transparent listener takes it.
    fn of_tcp(&self, mark: &str) -> Vec<Table> {
        let tables = self
            .probed
            .map(|probed| [self.redirect(mark, probed), self.guard(mark, probed)]);
        tables.into_iter().flatten().collect()
    }

    /// Names the node and the content of its rules: the comment of the first rule of both tables, which answers the sidecar's own
    /// question whether the table is installed. (`nft -j` of version 1.0 does not print comments of tables.)
    pub(super) fn mark(&self) -> String {
        // The guard first, as it always was: rules that are installed keep their mark.
        let mut text: String = self.of_tcp("").iter().rev().map(|table| self.body(table)).collect();
        if !self.gateway.is_empty() {
            text += &self.gateway.table("").script();
        }
        text += &strict::table(self, "").script();
        format!("{MARK}{} rules {:016x}", self.node, fingerprint(&text))
    }

    /// Addresses at which peers' functions are called, each once.
    pub(super) fn addresses(&self) -> BTreeSet<SocketAddr> {
        self.services.iter().map(|service| service.address).collect()
    }

    fn redirect(&self, mark: &str, probed: SocketAddrV4) -> Table {
        let probe = REDIRECT_PROBE;
        let mut rules = vec![
            format!(
                "ip daddr {} tcp dport {} dnat ip to {} comment \"{mark}\"",
                probe.ip(),
                probe.port(),
                probed
            ),
            format!("meta skuid {} return comment \"the sidecar itself\"", self.user),
        ];
        for (unprotected, end) in self.ending() {
            for service in &unprotected.services {
                let listener = match service {
                    SocketAddr::V4(_) => self.listener_v4.map(|v4| format!("dnat ip to {v4}")),
                    SocketAddr::V6(_) => self.listener_v6.map(|v6| format!("dnat ip6 to {v6}")),
                };
                rules
                    .extend(listener.map(|dnat| format!("{} meta time >= {end} counter {dnat}", destination(service))));
            }
        }
        if let Some(v4) = self.listener_v4 {
            rules.push(format!("ip daddr . tcp dport @services-v4 counter dnat ip to {v4}"));
        }
        if let Some(v6) = self.listener_v6 {
            rules.push(format!("ip6 daddr . tcp dport @services-v6 counter dnat ip6 to {v6}"));
        }
        let output = Chain {
            name: "output",
            // Before the guard, at the priority of destination NAT.
            hook: "type nat hook output priority -100; policy accept;",
            rules,
        };
        Table {
            name: REDIRECT,
            chains: vec![output],
        }
    }

    fn guard(&self, mark: &str, probed: SocketAddrV4) -> Table {
        let port = probed.port();
        let mut output = vec![
            format!("ip saddr {GUARD_PROBE_SOURCE} tcp dport {port} reject with tcp reset comment \"{mark}\""),
            format!(
                "ip saddr {COMPARED_PROBE_SOURCE} ip saddr @{COMPARED} tcp dport {port} reject with tcp reset \
                 comment \"the rules are what they should be\""
            ),
        ];
        for (family, set) in [("ip", "services-v4"), ("ip6", "services-v6")] {
            output.push(format!("{family} daddr . tcp dport @{set} {RESET}"));
            output.push(format!(
                "{family} daddr . tcp dport @{set} counter reject with tcp reset \
                 comment \"clear to a peer's function, whoever sends it\""
            ));
        }
        if !self.own_tls.is_empty() {
            for (family, set) in [("ip", "tls-v4"), ("ip6", "tls-v6")] {
                output.push(format!("{family} daddr . tcp dport @{set} {RESET}"));
                // Packets of no socket are the ends of connections that a socket began.
                output.push(format!(
                    "meta skuid != {} {family} daddr . tcp dport @{set} counter reject with tcp reset \
                     comment \"a peer's own TLS is for the sidecar alone\"",
                    self.user
                ));
            }
        }
        for (unprotected, end) in self.ending() {
            for service in &unprotected.services {
                output.push(format!(
                    "{} meta time >= {end} counter reject with tcp reset comment \"{}\"",
                    destination(service),
                    comment("was unprotected by the file, which has ended", &unprotected.node)
                ));
            }
        }
        for forward in &self.forwards {
            let family = if forward.is_ipv4() { "ip" } else { "ip6" };
            output.push(format!(
                "oifname != \"lo\" {family} daddr {} tcp dport {} counter reject with tcp reset \
                 comment \"clear to the own function leaves the host\"",
                forward.ip(),
                forward.port()
            ));
        }
        let ports: Vec<_> = self.ports.iter().map(u16::to_string).collect();
        let ports = ports.join(", ");
        let mut chains = Vec::new();
        if !ports.is_empty() {
            output.extend(self.let_pass("daddr", "sport"));
            output.push(format!("tcp sport {{ {ports} }} {RESET}"));
            output.push(format!(
                "oifname != \"lo\" tcp sport {{ {ports} }} counter drop comment \"clear answers of the own function\""
            ));
            let mut input = self.let_pass("saddr", "dport");
            // Refused at once and not left waiting. A reset would be a segment from the function's port, which the fence keeps here.
            input.push(format!(
                "iifname != \"lo\" tcp dport {{ {ports} }} counter reject with icmpx type admin-prohibited \
                 comment \"clear to the own function from the network\""
            ));
            chains.push(Chain {
                name: "input",
                hook: "type filter hook input priority filter; policy accept;",
                rules: input,
            });
        }
        chains.insert(
            0,
            Chain {
                name: "output",
                hook: "type filter hook output priority filter; policy accept;",
                rules: output,
            },
        );
        Table { name: GUARD, chains }
    }

    /// Those that are unprotected until a day, with the second at which that has ended.
    fn ending(&self) -> impl Iterator<Item = (&UnprotectedPeer, i64)> {
        self.unprotected_peers
            .iter()
            .filter_map(|unprotected| Some((unprotected, unprotected.ends()?)))
    }

    /// Rules for requests of peers that no sidecar protects to the own function, and for the
    /// answers.
    fn let_pass(&self, address: &str, port: &str) -> Vec<String> {
        let mut rules = Vec::new();
        for unprotected in self
            .unprotected_peers
            .iter()
            .filter(|unprotected| !unprotected.ports.is_empty())
        {
            let ports: Vec<_> = unprotected.ports.iter().map(u16::to_string).collect();
            let time = unprotected
                .ends()
                .map(|end| format!(" meta time < {end}"))
                .unwrap_or_default();
            for peer in &unprotected.networks {
                let family = if peer.address().is_ipv4() { "ip" } else { "ip6" };
                rules.push(format!(
                    "{family} {address} {peer} tcp {port} {{ {} }}{time} counter accept comment \"{}\"",
                    ports.join(", "),
                    comment(
                        &format!("with: {} by the file", unprotected.protection.name()),
                        &unprotected.node
                    )
                ));
            }
        }
        rules
    }

    fn body(&self, table: &Table) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, table);
        text
    }

    fn write(&self, text: &mut String, table: &Table) -> fmt::Result {
        if table.name == GUARD {
            writeln!(
                text,
                "\tset {COMPARED} {{\n\t\ttype ipv4_addr\n\t\tflags timeout\n\t\telements = {{ {COMPARED_PROBE_SOURCE} }}\n\t}}"
            )?;
        }
        sets(text, "services", &self.addresses())?;
        if table.name == GUARD && !self.own_tls.is_empty() {
            sets(text, "tls", &self.own_tls.keys().copied().collect())?;
        }
        for chain in &table.chains {
            writeln!(text, "\tchain {} {{\n\t\t{}", chain.name, chain.hook)?;
            for rule in &chain.rules {
                writeln!(text, "\t\t{rule}")?;
            }
            writeln!(text, "\t}}")?;
        }
        Ok(())
    }
}

/// Writes the sets of these addresses, one of each family.
fn sets(text: &mut String, name: &str, addresses: &BTreeSet<SocketAddr>) -> fmt::Result {
    for (version, kind, is_ipv4) in [("v4", "ipv4_addr", true), ("v6", "ipv6_addr", false)] {
        writeln!(text, "\tset {name}-{version} {{\n\t\ttype {kind} . inet_service")?;
        let elements: Vec<_> = addresses
            .iter()
            .filter(|address| address.is_ipv4() == is_ipv4)
            .map(|address| format!("{} . {}", address.ip(), address.port()))
            .collect();
        if !elements.is_empty() {
            writeln!(text, "\t\telements = {{\n\t\t\t{}\n\t\t}}", elements.join(",\n\t\t\t"))?;
        }
        writeln!(text, "\t}}")?;
    }
    Ok(())
}

fn destination(service: &SocketAddr) -> String {
    let family = if service.is_ipv4() { "ip" } else { "ip6" };
    format!("{family} daddr {} tcp dport {}", service.ip(), service.port())
}

/// nftables takes 128 bytes at most.
fn comment(what: &str, node: &NodeName) -> String {
    let mut comment = format!("{what}: {node}");
    comment.truncate(120);
    comment
}
