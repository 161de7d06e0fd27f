//! The state of links as text and JSON: one shape for `up`, `status` and `rekey`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_deployment::IkeEngine;
use bartizan_ipsec::drive::LinkStatus;
use bartizan_ipsec::drops::{self, Drops, State};
use bartizan_ipsec::judge;
use bartizan_ipsec::lint::Remark;
use bartizan_ipsec::watch::{Ended, Refused, Remembered};
use bartizan_ipsec::{Charon, Kernel};
use bartizan_ledger::{Authentication, Verdict};
use serde::Serialize;

use super::guarding::Cleartext;
use super::messages;
use super::probing::{Probed, Results};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
pub(super) const SCHEMA: &str = "bartizan-ipsec/1";

/// From when on a peer that gives no answer is a finding: a message or two may be lost on the way.
const SILENT: Duration = Duration::from_secs(3);

/// Why no echo is sent where packets could leave unencrypted.
const UNGUARDED: &str = "an echo could leave unencrypted: the guard is not installed";

/// Identity protection of released strongSwan. VICI does not report the authentication method of a
/// peer.
const IDENTITY: &str = "by classical signatures: released strongSwan has no others. What is recorded today stays secret all the \
                        same; who has a quantum computer when an SA is set up could pass for the peer";

/// The same of the engine of Bartizan, whose ledger says which it was of each IKE_SA.
const IDENTITY_OF_OURS: &str = "by the signatures of the policy, ML-DSA where both ends have such a certificate: the ledger says which, and \
     `status` while a watch runs";

/// The links of a node.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) node: String,
    /// Which IKE daemon it is: strongswan or bartizan.
    pub(super) engine: &'static str,
    /// Its version.
    pub(super) charon: String,
    /// ESP data path: kernel, libipsec (charon itself) or userspace (the engine of Bartizan
    /// itself).
    data_path: &'static str,
    /// The device of ESP in user space, and what it dropped; absent elsewhere.
    userspace: Option<Userspace>,
    /// Everything that should stand does, and nothing breaks its policy.
    pub(super) well: bool,
    pub(super) links: Vec<Link>,
    /// True if a watch runs; only a watch knows unresponsive peers and refusals. Absent if not
    /// asked.
    watched: Option<bool>,
    /// Last refusal of a peer without a link.
    last_refusal_of_unknown: Option<Refused>,
    /// When the node's own certificate ends, in seconds since 1970; absent where it was not looked at.
    certificate_not_after: Option<u64>,
    /// Fate of packets that no SA protects; absent if the check was disabled.
    pub(super) cleartext: Option<Cleartext>,
    /// The kernel's counters of this network namespace that are not 0, of whatever link, SA or policy, ours or not; absent where it does not count,
    /// or was not asked.
    host_xfrm: Option<BTreeMap<String, u64>>,
    /// Interfaces of the links that take less than the file says.
    interfaces: Vec<String>,
    /// Authentication of peers, apart from the secrecy of traffic.
    pub(super) identity: &'static str,
}

/// ESP in user space.
#[derive(Serialize)]
struct Userspace {
    device: String,
    /// Octets that a packet of a link may have, without ESP, UDP and the outer header.
    mtu: u16,
    /// Packets dropped, by why.
    dropped: BTreeMap<String, u64>,
    /// Packets of the device (`read`), ESP packets (`sealed`) and calls that sent them (`sends`); calls that received, datagrams, and packets
    /// that the device was given (`written`): several segments are one packet of the device.
    work: BTreeMap<String, u64>,
    /// True while device, rules and routes are as the engine installed them; packets of the links are
    /// dropped where they are not.
    routing_installed: bool,
    /// Differences now, or of the last time that they were installed again.
    routing_differences: Option<String>,
    /// Times that they were lost and installed again.
    routing_restored: u64,
}

/// An IKE connection.
#[derive(Serialize)]
pub(super) struct Link {
    connection: String,
    peer: String,
    loaded: bool,
    /// Since when the peer gives no answer, in microseconds since 1970.
    no_answer_since_us: Option<u64>,
    /// Last refusal, at this end or the other.
    last_refusal: Option<Refused>,
    /// Last end of an SA of the link, other than by a rekey.
    last_end: Option<Ended>,
    /// Authentication methods of both ends; known while a watch runs that saw the set-up.
    authentication: Option<Authentication>,
    ike: Vec<Ike>,
    children: Vec<Child>,
}

#[derive(Serialize)]
struct Ike {
    state: String,
    initiator: bool,
    /// Addresses and ports of IKE: of this end, and of the other as it is seen from here, behind its NAT.
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    spis: Option<bartizan_ledger::Key>,
    key_exchanges: Vec<bartizan_ledger::Algorithm>,
    encryption: Option<bartizan_ledger::Algorithm>,
    ppk: bool,
    established_s: u64,
    /// Seconds since both ends authenticated each other. Absent with charon, which does not say.
    authenticated_s: Option<u64>,
    rekey_in_s: Option<u64>,
    /// The policy's verdict. Absent unless it is established.
    verdict: Option<Verdict>,
}

#[derive(Serialize)]
struct Child {
    name: String,
    interface: &'static str,
    /// Established CHILD_SAs; more than one for a moment during a rekey.
    sas: Vec<ChildSa>,
    /// Result of the echo through them; absent without --probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<Probed>,
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
    /// Packets that arrived in it and that the kernel dropped; absent where charon does ESP itself, or the kernel was not asked.
    dropped: Option<Drops>,
    installed_s: u64,
    rekey_in_s: Option<u64>,
    verdict: Verdict,
}

impl Report {
    pub(super) fn new(node: &str, charon: &Charon, status: Vec<LinkStatus>, cleartext: Option<Cleartext>) -> Self {
        let mut report = Self {
            schema: SCHEMA,
            node: node.to_owned(),
            engine: charon.engine.name(),
            charon: charon.version.clone(),
            data_path: match charon.esp() {
                Kernel::Netlink => "kernel",
                Kernel::Libipsec => "libipsec",
                Kernel::Userspace => "userspace",
            },
            userspace: charon.userspace.as_ref().map(|own| Userspace {
                device: own.device.clone(),
                mtu: own.mtu,
                dropped: own.dropped.iter().cloned().collect(),
                work: own.work.iter().cloned().collect(),
                routing_installed: own.lost.is_none(),
                routing_differences: own.lost.clone().or_else(|| own.last.clone()),
                routing_restored: own.restored,
            }),
            well: status.iter().all(LinkStatus::is_well),
            links: status.into_iter().map(Link::from).collect(),
            watched: None,
            last_refusal_of_unknown: None,
            certificate_not_after: None,
            cleartext,
            host_xfrm: None,
            interfaces: Vec::new(),
            identity: match charon.engine {
                IkeEngine::Strongswan => IDENTITY,
                IkeEngine::Bartizan => IDENTITY_OF_OURS,
            },
        };
        report.well &= report.is_guarded() && report.is_routed();
        report
    }

    /// Adds what the watch knows; none where no watch runs.
    pub(super) fn remember(&mut self, remembered: Option<Remembered>) {
        self.watched = Some(remembered.is_some());
        let Some(mut remembered) = remembered else { return };
        self.last_refusal_of_unknown = remembered.unknown;
        for link in &mut self.links {
            let Some(of_it) = remembered.links.remove(&link.connection) else {
                continue;
            };
            link.no_answer_since_us = of_it.no_answer_since_us.filter(|_| link.loaded);
            link.last_refusal = of_it.last_refusal;
            link.last_end = of_it.last_end;
            link.authentication = of_it.authentication.filter(|_| !link.ike.is_empty());
            self.well &= link.no_answer().is_none_or(|silent| silent < SILENT);
        }
    }

    /// Adds the results of echoes. A link of which none passed, or one failed, is not proven.
    pub(super) fn probe(&mut self, mut results: Results) {
        for link in &mut self.links {
            let mut passed = 0;
            for child in &mut link.children {
                let of_it = results.remove(&(link.connection.clone(), child.name.clone()));
                let unsent = if child.sas.is_empty() {
                    "no SA stands"
                } else {
                    UNGUARDED
                };
                let echo = child.echo.insert(of_it.unwrap_or_else(|| Probed::none(unsent)));
                passed += usize::from(echo.result == "passed");
                self.well &= echo.result != "failed";
            }
            self.well &= passed > 0;
        }
    }

    /// Adds interfaces whose MTU is below the file's.
    pub(super) fn interfaces(&mut self, remarks: &[Remark]) {
        self.interfaces = remarks.iter().map(ToString::to_string).collect();
    }

    /// Adds when the node's own certificate ends: with one that has, no link is set up or authenticated again.
    pub(super) fn certificate(&mut self, end: Option<SystemTime>) {
        let Some(end) = end else { return };
        self.certificate_not_after = end.duration_since(UNIX_EPOCH).ok().map(|end| end.as_secs());
        self.well &= SystemTime::now() < end;
    }

    /// Adds what the kernel's ESP has dropped: of each SA, and of the whole host.
    pub(super) fn drops(&mut self, states: &[State], of_host: Option<BTreeMap<String, u64>>) {
        let by_spi = drops::by_spi(states);
        let children = self.links.iter_mut().flat_map(|link| &mut link.children);
        for sa in children.flat_map(|child| &mut child.sas) {
            sa.dropped = by_spi.get(&sa.spi_in).copied();
        }
        self.host_xfrm = of_host;
    }

    /// Returns true if no packet of the links can pass unencrypted, as far as was examined.
    pub(super) fn is_guarded(&self) -> bool {
        self.cleartext.as_ref().is_none_or(Cleartext::is_kept)
    }

    /// True where packets of the links are led to the engine that encrypts them.
    fn is_routed(&self) -> bool {
        self.userspace.as_ref().is_none_or(|own| own.routing_installed)
    }

    /// Returns true if an established SA violates its policy.
    pub(super) fn breaks(&self) -> bool {
        let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused { .. });
        self.links.iter().any(|link| {
            let mut children = link.children.iter().flat_map(|child| &child.sas);
            let mut judged = link.ike.iter().filter_map(|ike| ike.verdict.as_ref());
            judged.any(refused) || children.any(|sa| refused(&sa.verdict))
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let state = match (link.loaded, link.ike.as_slice()) {
                (false, []) => "not loaded".to_owned(),
                (true, []) => "loaded, no IKE_SA".to_owned(),
                (_, several) => {
                    let shown = several.iter().map(|ike| match &ike.verdict {
                        None => ike.state.clone(),
                        Some(verdict) => {
                            let keys = judge::shown(&ike.key_exchanges);
                            format!("{}, keyed by {keys}: {}", ike.state, in_words(verdict))
                        }
                    });
                    shown.collect::<Vec<_>>().join("; ")
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} (to {}): {state}", link.connection, link.peer);
            link.remembered(&mut text);
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
                        in_words(&sa.verdict)
                    );
                    if let Some(dropped) = sa.dropped.filter(|dropped| !dropped.is_zero()) {
                        let _ = writeln!(
                            text,
                            "         dropped: {} replayed, {} too late for the replay window, {} with a wrong check value",
                            dropped.replayed, dropped.outside_window, dropped.integrity
                        );
                    }
                }
                if let Some(Probed { result, detail }) = &child.echo {
                    let result = match *result {
                        "passed" => "echo passed, in ESP each way",
                        "failed" => "ECHO FAILED",
                        _ => "no echo",
                    };
                    let _ = writeln!(text, "         {result}: {detail}");
                }
            }
        }
        if let Some(own) = &self.userspace {
            let dropped = own.dropped.iter().filter(|(_, count)| **count > 0);
            let dropped: Vec<_> = dropped.map(|(why, count)| format!("{count} {why}")).collect();
            let dropped = match dropped.is_empty() {
                true => String::new(),
                false => format!("; dropped: {}", dropped.join(", ")),
            };
            let _ = writeln!(
                text,
                "ESP in user space by the device {}: packets of the links have {} octets at most{dropped}",
                own.device, own.mtu
            );
            let how = own.routing_differences.as_deref().unwrap_or("not known");
            let _ = match (own.routing_installed, own.routing_restored) {
                (false, _) => writeln!(
                    text,
                    "  ROUTING TO THE DEVICE IS LOST, packets of the links are dropped: {how}"
                ),
                (true, 0) => Ok(()),
                (true, times) => writeln!(
                    text,
                    "  routing to the device was installed again {times} times; last: {how}"
                ),
            };
        }
        for interface in &self.interfaces {
            let _ = writeln!(text, "{interface}");
        }
        if let Some(cleartext) = &self.cleartext {
            let _ = writeln!(text, "{}", cleartext.text());
        }
        if let Some(counters) = self.host_xfrm.as_ref().filter(|counters| !counters.is_empty()) {
            let counters: Vec<_> = counters.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let _ = writeln!(
                text,
                "the kernel's counters of this host, of whatever link: {}",
                counters.join(", ")
            );
        }
        if let Some(refused) = &self.last_refusal_of_unknown {
            let _ = writeln!(text, "last refused of a peer of no link: {}", of_refusal(refused));
        }
        if self.watched == Some(false) {
            let _ = writeln!(
                text,
                "nobody watches: whether peers answer, and what was refused, is not known (`bartizan watch`)"
            );
        }
        if let Some(end) = self.certificate_not_after {
            let end = UNIX_EPOCH + Duration::from_secs(end);
            let _ = match end.duration_since(SystemTime::now()) {
                Ok(left) => writeln!(text, "the node's certificate ends in {} days", left.as_secs() / 86_400),
                Err(_) => writeln!(
                    text,
                    "THE NODE'S CERTIFICATE HAS EXPIRED: no link is set up or authenticated again with it"
                ),
            };
        }
        let _ = writeln!(text, "identities are proven {}", self.identity);
        text
    }
}

impl Link {
    /// For how long the peer has given no answer.
    fn no_answer(&self) -> Option<Duration> {
        self.no_answer_since_us.map(ago)
    }

    /// Lines of what the watch remembers.
    fn remembered(&self, text: &mut String) {
        // Writing to a string cannot fail.
        if let Some(silent) = self.no_answer() {
            let _ = writeln!(text, "  NO ANSWER from {} for {} s", self.peer, silent.as_secs());
        }
        if let Some(by) = &self.authentication {
            let shown = |by: &Option<String>| by.clone().unwrap_or_else(|| "a method that was not seen".to_owned());
            let (here, there) = (shown(&by.local), shown(&by.peer));
            let _ = writeln!(text, "  authenticated by {here} here, by {there} of the peer");
        }
        if let Some(refused) = &self.last_refusal {
            let _ = writeln!(text, "  last refused: {}", of_refusal(refused));
        }
        if let Some(end) = &self.last_end {
            let detail = end
                .detail
                .as_ref()
                .map_or_else(String::new, |detail| format!(": {detail}"));
            let _ = writeln!(
                text,
                "  last end: {} s ago, {}{detail}",
                ago(end.at_us).as_secs(),
                end.why.word()
            );
        }
    }
}

fn of_refusal(refused: &Refused) -> String {
    let (ago, what) = (ago(refused.at_us).as_secs(), &refused.what);
    format!(
        "{ago} s ago, {} {} ({}, {}): {}",
        messages::asked(what),
        messages::by(what),
        messages::address(what),
        what.reason,
        what.detail
    )
}

/// Time since an instant, given in microseconds since 1970.
fn ago(at_us: u64) -> Duration {
    let at = UNIX_EPOCH + Duration::from_micros(at_us);
    at.elapsed().unwrap_or_default()
}

impl From<LinkStatus> for Link {
    fn from(status: LinkStatus) -> Self {
        let ike = status.ike.into_iter().map(|(sa, verdict)| Ike {
            state: sa.state,
            initiator: sa.initiator,
            local: sa.local,
            remote: sa.remote,
            spis: sa.key,
            key_exchanges: sa.key_exchanges,
            encryption: sa.encryption,
            ppk: sa.ppk,
            established_s: sa.established_s,
            authenticated_s: sa.authenticated_s,
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
                    dropped: None,
                    installed_s: sa.installed_s,
                    rekey_in_s: sa.rekey_in_s,
                    verdict,
                })
                .collect(),
            echo: None,
        });
        Self {
            connection: status.connection,
            peer: status.peer,
            loaded: status.loaded,
            no_answer_since_us: None,
            last_refusal: None,
            last_end: None,
            authentication: None,
            ike: ike.collect(),
            children: children.collect(),
        }
    }
}

/// A verdict in a few words.
fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted => "recorded traffic stays secret as the policy asks".to_owned(),
        Verdict::Excepted { reason } => format!("only by exception ({reason})"),
        Verdict::Refused { reason, detail } => format!("BREAKS THE POLICY ({reason}): {detail}"),
    }
}
