//! The state of links as text and JSON: one shape for `up`, `status` and `rekey`.

use std::fmt::Write as _;

use bartizan_ipsec::drive::LinkStatus;
use bartizan_ipsec::judge;
use bartizan_ledger::Verdict;
use serde::Serialize;

use super::guarding::ClearText;

/// Version of the JSON form: it changes when a field changes its meaning or goes.
pub(super) const SCHEMA: &str = "bartizan-ipsec/1";

/// What released strongSwan can do about identities; charon does not tell by VICI how a peer proved itself.
const IDENTITY: &str = "by classical signatures: released strongSwan has no others. What is recorded today stays secret all the \
                        same; who has a quantum computer when an SA is set up could pass for the peer";

/// The links of a node.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) node: String,
    pub(super) charon: String,
    /// Everything that should stand does, and nothing breaks its policy.
    pub(super) well: bool,
    pub(super) links: Vec<Link>,
    /// What becomes of packets that no SA protects; absent where it was asked not to be looked at.
    pub(super) clear_text: Option<ClearText>,
    /// How peers prove themselves, apart from what keeps traffic secret.
    pub(super) identity: &'static str,
}

/// An IKE connection.
#[derive(Serialize)]
pub(super) struct Link {
    connection: String,
    peer: String,
    loaded: bool,
    ike: Vec<Ike>,
    children: Vec<Child>,
}

#[derive(Serialize)]
struct Ike {
    state: String,
    initiator: bool,
    spis: Option<bartizan_ledger::Key>,
    key_exchanges: Vec<bartizan_ledger::Algorithm>,
    encryption: Option<bartizan_ledger::Algorithm>,
    ppk: bool,
    established_s: u64,
    rekey_in_s: Option<u64>,
    verdict: Verdict,
}

#[derive(Serialize)]
struct Child {
    name: String,
    interface: &'static str,
    /// What stands of it; more than one for a moment while it is rekeyed.
    sas: Vec<ChildSa>,
}

#[derive(Serialize)]
struct ChildSa {
    state: String,
    mode: String,
    spi_in: bartizan_ledger::EspSpi,
    spi_out: bartizan_ledger::EspSpi,
    udp: bool,
    /// None: keyed from its IKE_SA.
    key_exchanges: Vec<bartizan_ledger::Algorithm>,
    encryption: Option<bartizan_ledger::Algorithm>,
    local: Vec<String>,
    remote: Vec<String>,
    bytes: bartizan_ledger::Bytes,
    packets: bartizan_ledger::Bytes,
    installed_s: u64,
    rekey_in_s: Option<u64>,
    verdict: Verdict,
}

impl Report {
    pub(super) fn new(node: &str, charon: String, status: Vec<LinkStatus>, clear_text: Option<ClearText>) -> Self {
        let mut report = Self {
            schema: SCHEMA,
            node: node.to_owned(),
            charon,
            well: status.iter().all(LinkStatus::is_well),
            links: status.into_iter().map(Link::from).collect(),
            clear_text,
            identity: IDENTITY,
        };
        report.well &= report.is_guarded();
        report
    }

    /// Whether nothing of the links can pass in clear, as far as it was looked at.
    pub(super) fn is_guarded(&self) -> bool {
        self.clear_text.as_ref().is_none_or(ClearText::is_kept)
    }

    /// Whether something that stands breaks its policy.
    pub(super) fn breaks(&self) -> bool {
        let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused { .. });
        self.links.iter().any(|link| {
            let mut children = link.children.iter().flat_map(|child| &child.sas);
            link.ike.iter().any(|ike| refused(&ike.verdict)) || children.any(|sa| refused(&sa.verdict))
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let state = match (link.loaded, link.ike.as_slice()) {
                (false, []) => "not loaded".to_owned(),
                (true, []) => "loaded, no IKE_SA".to_owned(),
                (_, several) => {
                    let shown = several.iter().map(|ike| {
                        let keys = judge::shown(&ike.key_exchanges);
                        format!("{}, keyed by {keys}: {}", ike.state, said(&ike.verdict))
                    });
                    shown.collect::<Vec<_>>().join("; ")
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} (to {}): {state}", link.connection, link.peer);
            for child in &link.children {
                if child.sas.is_empty() {
                    let _ = writeln!(text, "  {:<6} down", child.interface);
                }
                for sa in &child.sas {
                    let _ = writeln!(
                        text,
                        "  {:<6} {} {} {} === {}, keyed by {}, {} bytes out, {} in: {}",
                        child.interface,
                        sa.state,
                        sa.mode,
                        sa.local.join(" "),
                        sa.remote.join(" "),
                        judge::shown(&sa.key_exchanges),
                        sa.bytes.sent,
                        sa.bytes.received,
                        said(&sa.verdict)
                    );
                }
            }
        }
        if let Some(clear_text) = &self.clear_text {
            let _ = writeln!(text, "{}", clear_text.text());
        }
        let _ = writeln!(text, "identities are proven {}", self.identity);
        text
    }
}

impl From<LinkStatus> for Link {
    fn from(status: LinkStatus) -> Self {
        let ike = status.ike.into_iter().map(|(sa, verdict)| Ike {
            state: sa.state,
            initiator: sa.initiator,
            spis: sa.key,
            key_exchanges: sa.key_exchanges,
            encryption: sa.encryption,
            ppk: sa.ppk,
            established_s: sa.established_s,
            rekey_in_s: sa.rekey_in_s,
            verdict,
        });
        let children = status.children.into_iter().map(|child| Child {
            name: child.name,
            interface: child.interface,
            sas: child
                .sas
                .into_iter()
                .map(|(sa, verdict)| ChildSa {
                    state: sa.state,
                    mode: sa.mode,
                    spi_in: sa.spi_in,
                    spi_out: sa.spi_out,
                    udp: sa.udp,
                    key_exchanges: sa.key_exchanges,
                    encryption: sa.encryption,
                    local: sa.local,
                    remote: sa.remote,
                    bytes: sa.bytes,
                    packets: sa.packets,
                    installed_s: sa.installed_s,
                    rekey_in_s: sa.rekey_in_s,
                    verdict,
                })
                .collect(),
        });
        Self {
            connection: status.connection,
            peer: status.peer,
            loaded: status.loaded,
            ike: ike.collect(),
            children: children.collect(),
        }
    }
}

/// A verdict in a few words.
pub(super) fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted => "recorded traffic stays secret as the policy asks".to_owned(),
        Verdict::Excepted { reason } => format!("only by exception ({reason})"),
        Verdict::Refused { reason, detail } => format!("BREAKS THE POLICY ({reason}): {detail}"),
    }
}
