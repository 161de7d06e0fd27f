//! The state of links as text and JSON: one shape for `up`, `status` and `rekey`.

mod link;
mod text;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_deployment::IkeEngine;
use bartizan_ipsec::drive::LinkStatus;
use bartizan_ipsec::drops::{self, State};
use bartizan_ipsec::lint::Remark;
use bartizan_ipsec::watch::{Refused, Remembered};
use bartizan_ipsec::{Charon, Kernel};
use bartizan_ledger::Verdict;
use serde::Serialize;

use self::link::Link;
use super::guarding::Cleartext;
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
            sa.dropped = by_spi.get(&sa.sa.spi_in).copied();
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
}

impl Link {
    /// For how long the peer has given no answer.
    fn no_answer(&self) -> Option<Duration> {
        self.no_answer_since_us.map(ago)
    }
}

/// Time since an instant, given in microseconds since 1970.
fn ago(at_us: u64) -> Duration {
    let at = UNIX_EPOCH + Duration::from_micros(at_us);
    at.elapsed().unwrap_or_default()
}
