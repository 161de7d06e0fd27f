//! The rules as nftables reads them.
//!
//! Both tables are replaced in one transaction: `table X` makes one where there is none, so that `delete table X` cannot fail.

use std::fmt::{self, Write as _};
use std::net::SocketAddr;

use super::plan::{Plan, Service};
use super::probe::{GUARD_PROBE_SOURCE, REDIRECT_PROBE};

/// The table that leads connections to the sidecar.
pub(super) const REDIRECT: &str = "bartizan-redirect";
/// The table that refuses what is not led there.
pub(super) const GUARD: &str = "bartizan-guard";

impl Plan {
    /// The script for `nft -f -` that puts both tables in force, in place of what stands under their names.
    #[must_use]
    pub fn script(&self) -> String {
        let body = self.tables();
        let mut script = String::new();
        for table in [GUARD, REDIRECT] {
            script.push_str(&clear(table));
        }
        script.push('\n');
        // The mark tells whether what stands is what this file asks for.
        script.push_str(&body.replace("@mark@", &self.mark()));
        script
    }

    /// Names the node and the content of its rules: the comment of the first rule of both tables, which answers the sidecar's own
    /// question whether the table stands. (`nft -j` of version 1.0 does not print comments of tables.)
    pub(super) fn mark(&self) -> String {
        format!("node {} rules {:016x}", self.node, fingerprint(&self.tables()))
    }

    fn tables(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_guard(&mut text);
        text.push('\n');
        let _ = self.write_redirect(&mut text);
        text
    }

    fn write_redirect(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "table inet {REDIRECT} {{")?;
        self.write_sets(text)?;
        writeln!(text, "\tchain output {{")?;
        writeln!(text, "\t\ttype nat hook output priority -100; policy accept;")?;
        let v4 = self.listener_v4;
        writeln!(
            text,
            "\t\tip daddr {} tcp dport {} dnat ip to {v4} comment \"@mark@\"",
            REDIRECT_PROBE.ip(),
            REDIRECT_PROBE.port()
        )?;
        writeln!(
            text,
            "\t\tmeta skuid {} return comment \"the sidecar itself\"",
            self.user
        )?;
        writeln!(text, "\t\tip daddr . tcp dport @services-v4 counter dnat ip to {v4}")?;
        if let Some(v6) = self.listener_v6 {
            writeln!(text, "\t\tip6 daddr . tcp dport @services-v6 counter dnat ip6 to {v6}")?;
        }
        writeln!(text, "\t}}\n}}")
    }

    fn write_guard(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "table inet {GUARD} {{")?;
        self.write_sets(text)?;
        writeln!(text, "\tchain output {{")?;
        writeln!(text, "\t\ttype filter hook output priority filter; policy accept;")?;
        writeln!(
            text,
            "\t\tip saddr {GUARD_PROBE_SOURCE} tcp dport {} reject with tcp reset comment \"@mark@\"",
            self.listener_v4.port()
        )?;
        for (family, set) in [("ip", "services-v4"), ("ip6", "services-v6")] {
            writeln!(
                text,
                "\t\t{family} daddr . tcp dport @{set} counter reject with tcp reset comment \"clear to a peer's function, \
                 whoever sends it\""
            )?;
        }
        for forward in &self.forwards {
            let family = if forward.is_ipv4() { "ip" } else { "ip6" };
            writeln!(
                text,
                "\t\toifname != \"lo\" {family} daddr {} tcp dport {} counter reject with tcp reset comment \"clear to the \
                 own function leaves the host\"",
                forward.ip(),
                forward.port()
            )?;
        }
        if self.ports.is_empty() {
            return writeln!(text, "\t}}\n}}");
        }
        let ports: Vec<_> = self.ports.iter().map(u16::to_string).collect();
        let ports = ports.join(", ");
        writeln!(
            text,
            "\t\toifname != \"lo\" tcp sport {{ {ports} }} counter drop comment \"clear answers of the own function\"\n\t}}"
        )?;
        writeln!(text, "\tchain input {{")?;
        writeln!(text, "\t\ttype filter hook input priority filter; policy accept;")?;
        writeln!(
            text,
            "\t\tiifname != \"lo\" tcp dport {{ {ports} }} counter drop comment \"clear to the own function from the network\""
        )?;
        writeln!(text, "\t}}\n}}")
    }

    fn write_sets(&self, text: &mut String) -> fmt::Result {
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
            let mut addresses: Vec<_> = self.services.iter().map(|service: &Service| service.address).collect();
            addresses.retain(of_family);
            addresses.dedup();
            let elements: Vec<_> = addresses
                .iter()
                .map(|address| format!("{} . {}", address.ip(), address.port()))
                .collect();
            if !elements.is_empty() {
                writeln!(text, "\t\telements = {{\n\t\t\t{}\n\t\t}}", elements.join(",\n\t\t\t"))?;
            }
            writeln!(text, "\t}}")?;
        }
        Ok(())
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
