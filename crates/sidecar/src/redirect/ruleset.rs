//! The rules as nftables reads them.
//!
//! Both tables are replaced in one transaction: `table X` makes one where there is none, so that `delete table X` cannot fail.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;

use super::plan::Plan;
use super::probe::{GUARD_PROBE_SOURCE, REDIRECT_PROBE};

/// The table that leads connections to the sidecar.
pub(super) const REDIRECT: &str = "bartizan-redirect";
/// The table that refuses what is not led there.
pub(super) const GUARD: &str = "bartizan-guard";

/// What a table consists of, beside the two sets of addresses.
struct Table {
    name: &'static str,
    chains: Vec<Chain>,
}

struct Chain {
    name: &'static str,
    /// Where it hooks in, in nftables' words.
    hook: &'static str,
    rules: Vec<String>,
}

impl Plan {
    /// The script for `nft -f -` that puts both tables in force, in place of what stands under their names.
    #[must_use]
    pub fn script(&self) -> String {
        let mark = self.mark();
        let tables = [self.guard(&mark), self.redirect(&mark)];
        let mut script: String = tables.iter().map(|table| clear(table.name)).collect();
        for table in &tables {
            // Writing to a string cannot fail.
            let _ = self.write(&mut script, table);
        }
        script
    }

    /// Names the node and the content of its rules: the comment of the first rule of both tables, which answers the sidecar's own
    /// question whether the table stands. (`nft -j` of version 1.0 does not print comments of tables.)
    pub(super) fn mark(&self) -> String {
        let mut text = String::new();
        for table in [self.guard(""), self.redirect("")] {
            let _ = self.write(&mut text, &table);
        }
        format!("node {} rules {:016x}", self.node, fingerprint(&text))
    }

    /// How many rules and how many set elements a table has.
    pub(super) fn size(&self, name: &str) -> (usize, usize) {
        let rules = [self.guard(""), self.redirect("")]
            .iter()
            .filter(|table| table.name == name)
            .flat_map(|table| &table.chains)
            .map(|chain| chain.rules.len())
            .sum();
        (rules, self.addresses().len())
    }

    /// Where peers' functions are called, each once.
    pub(super) fn addresses(&self) -> BTreeSet<SocketAddr> {
        self.services.iter().map(|service| service.address).collect()
    }

    fn redirect(&self, mark: &str) -> Table {
        let probe = REDIRECT_PROBE;
        let mut rules = vec![
            format!(
                "ip daddr {} tcp dport {} dnat ip to {} comment \"{mark}\"",
                probe.ip(),
                probe.port(),
                self.probed
            ),
            format!("meta skuid {} return comment \"the sidecar itself\"", self.user),
        ];
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

    fn guard(&self, mark: &str) -> Table {
        let mut output = vec![format!(
            "ip saddr {GUARD_PROBE_SOURCE} tcp dport {} reject with tcp reset comment \"{mark}\"",
            self.probed.port()
        )];
        for (family, set) in [("ip", "services-v4"), ("ip6", "services-v6")] {
            output.push(format!(
                "{family} daddr . tcp dport @{set} counter reject with tcp reset \
                 comment \"clear to a peer's function, whoever sends it\""
            ));
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
            output.push(format!(
                "oifname != \"lo\" tcp sport {{ {ports} }} counter drop comment \"clear answers of the own function\""
            ));
            chains.push(Chain {
                name: "input",
                hook: "type filter hook input priority filter; policy accept;",
                rules: vec![format!(
                    "iifname != \"lo\" tcp dport {{ {ports} }} counter drop comment \"clear to the own function from the network\""
                )],
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

    fn write(&self, text: &mut String, table: &Table) -> fmt::Result {
        writeln!(text, "\ntable inet {} {{", table.name)?;
        let addresses = self.addresses();
        let families = [
            (
                "services-v4",
                "ipv4_addr",
                SocketAddr::is_ipv4 as fn(&SocketAddr) -> bool,
            ),
            ("services-v6", "ipv6_addr", SocketAddr::is_ipv6),
        ];
        for (set, kind, of_family) in families {
            writeln!(text, "\tset {set} {{\n\t\ttype {kind} . inet_service")?;
            let elements: Vec<_> = addresses
                .iter()
                .filter(|address| of_family(address))
                .map(|address| format!("{} . {}", address.ip(), address.port()))
                .collect();
            if !elements.is_empty() {
                writeln!(text, "\t\telements = {{\n\t\t\t{}\n\t\t}}", elements.join(",\n\t\t\t"))?;
            }
            writeln!(text, "\t}}")?;
        }
        for chain in &table.chains {
            writeln!(text, "\tchain {} {{\n\t\t{}", chain.name, chain.hook)?;
            for rule in &chain.rules {
                writeln!(text, "\t\t{rule}")?;
            }
            writeln!(text, "\t}}")?;
        }
        writeln!(text, "}}")
    }
}

/// Takes a table away, whether it is there or not.
pub(super) fn clear(table: &str) -> String {
    format!("table inet {table}\ndelete table inet {table}\n")
}

/// FNV-1a, 64 bits: it tells one state of the file from another, and guards against nobody.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
