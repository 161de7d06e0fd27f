//! Metrics of the watch in Prometheus' format.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_ledger::{Cause, Direction, Refuser, SaRefused, Verdict};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::charon::OwnEsp;
use crate::drops;
use crate::guard::Dropped;
use crate::watch::{Parted, Sighting};

bartizan_registry::metric_families! {
    /// Counters of a watch. Their label values are names of the deployment file and stable words: their number is bounded by it.
    #[derive(Debug)]
    pub struct Metrics {
        sas: Family<Labels, Counter>;
            "sas", "IKE_SAs and CHILD_SAs seen, by what keyed them and what the policy says";
        breaches: Family<Breached, Counter>; "breaches", "SAs that broke their policy";
        taken_down: Counter; "taken_down", "SAs that broke their policy and are gone";
        ike_established: Gauge; "ike_sas_established", "IKE_SAs that are established";
        child_installed: Gauge; "child_sas_installed", "CHILD_SAs that are installed";
        guarded: Gauge;
            "guard_installed", "1 while packets of the links that no SA protects are dropped";
        connected: Gauge; "charon_connected", "1 while the watch sees charon";
        ended: Family<EndedBy, Counter>; "sas_ended", "IKE_SAs and CHILD_SAs that ended, and why";
        refusals: Family<RefusedBy, Counter>;
            "refusals", "Set-ups, re-authentications and rekeys that did not come about";
        no_answer: Family<Of, Gauge>;
            "no_answer_since_seconds",
            "Since when the peer of a link gives no answer, in seconds since 1970; 0 while it does";
        authenticated: Family<Of, Gauge>;
            "authenticated_since_seconds",
            "When both ends of a link authenticated each other last, in seconds since 1970: rekeys do not renew it; 0 while it is down";
        not_after: Family<File, Gauge>;
            "certificate_not_after_seconds",
            "When the node's certificate, and its revocation lists, end, in seconds since 1970";
        older_lists: Gauge;
            "older_revocation_lists",
            "Revocation lists of the node's file that are refused, as newer ones were seen before";
        reload_pending: Gauge;
            "reload_pending", "1 while files that have changed are not in effect, as their reload failed";
        lists_not_fetched: Gauge;
            "revocation_lists_not_fetched",
            "1 while revocation lists could not be fetched the last time: those of the file stay in effect";
        guard_restored: Counter;
            "guard_restored",
            "Times that rules which keep packets from leaving unencrypted were gone and were installed again";
        guard_dropped: Family<Kept, Counter>;
            "guard_dropped",
            "Packets of a link that the guard dropped, since its rules were installed: no SA of the link protected them";
        esp_dropped: Family<NotLetThrough, Counter>;
            "esp_dropped", "ESP packets that arrived in the SAs of a link and that the kernel dropped";
        host_xfrm: Family<Named, Counter>;
            "host_xfrm",
            "The kernel's own counters (/proc/net/xfrm_stat) of this network namespace, of whatever link, SA or policy, ours or not";
        userspace_dropped: Family<Why, Counter>;
            "userspace_dropped", "Packets that the engine dropped where it does ESP itself, and why";
        userspace_routed: Gauge;
            "userspace_routing_installed",
            "1 while the device, rules and routes of ESP in user space are as the engine installed them";
        userspace_rerouted: Counter;
            "userspace_routing_restored",
            "Times that the device, rules or routes of ESP in user space were lost and were installed again";
    }
    and { registry: Registry }
}

bartizan_registry::label_sets! {
    Kept { link: String, direction: &'static str }
    NotLetThrough { peer: String, interface: &'static str, reason: &'static str }
    Named { counter: String }
    Why { reason: String }
    Labels { kind: &'static str, peer: String, cause: &'static str, keyed_by: String, verdict: &'static str }
    Breached { peer: String, reason: String }
    EndedBy { kind: &'static str, peer: String, why: &'static str }
    RefusedBy { peer: String, direction: &'static str, by: &'static str, reason: String }
    Of { link: String }
    File { file: &'static str }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("bartizan_ipsec");
        let metrics = Self::unregistered();
        metrics.register(&mut registry);
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// All of it in the text format of Prometheus (OpenMetrics).
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }

    /// So many revocation lists of the node's file are refused, as newer ones were seen before.
    pub fn older_lists(&self, count: usize) {
        self.older_lists.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the state of the last attempt to fetch revocation lists: true if it failed.
    pub fn lists_not_fetched(&self, is: bool) {
        self.lists_not_fetched.set(is.into());
    }

    /// Sets the state of the node's files: true while some have changed and are not in effect.
    pub fn reload_pending(&self, is: bool) {
        self.reload_pending.set(is.into());
    }

    /// The guard was gone and is installed again.
    pub fn guard_restored(&self) {
        self.guard_restored.inc();
    }

    /// Sets the state of the guard: true if packets of the links that no SA protects are dropped.
    pub fn guarded(&self, is: bool) {
        self.guarded.set(is.into());
    }

    /// Sets the guard's drops of each link, if the kernel counts them so.
    pub fn guard_dropped(&self, dropped: &Dropped) {
        for of in &dropped.links {
            for (direction, count) in [
                ("leaving", of.leaving),
                ("translated", of.translated),
                ("arriving", of.arriving),
            ] {
                if let Some(count) = count {
                    let link = of.link.clone();
                    set(&self.guard_dropped.get_or_create(&Kept { link, direction }), count);
                }
            }
        }
    }

    /// Sets the kernel's ESP drops of each link.
    pub fn esp_dropped(&self, links: &[drops::Link]) {
        for link in links {
            for (reason, count) in link.drops.named() {
                let labels = NotLetThrough {
                    peer: link.peer.clone(),
                    interface: link.interface,
                    reason,
                };
                set(&self.esp_dropped.get_or_create(&labels), count);
            }
        }
    }

    /// Sets the kernel's counters of the whole network namespace.
    pub fn host_xfrm(&self, counters: &BTreeMap<String, u64>) {
        for (counter, count) in counters {
            let labels = Named {
                counter: counter.clone(),
            };
            set(&self.host_xfrm.get_or_create(&labels), *count);
        }
    }

    /// Counts of an engine that does ESP itself, and the state of the routing to it.
    pub fn userspace(&self, own: &OwnEsp) {
        self.userspace_routed.set(own.lost.is_none().into());
        set(&self.userspace_rerouted, own.restored);
        for (reason, count) in &own.dropped {
            let reason = reason.clone();
            set(&self.userspace_dropped.get_or_create(&Why { reason }), *count);
        }
    }

    /// When the node's certificate and the first of its revocation lists end, where they do.
    pub fn not_after(&self, certificate: Option<SystemTime>, lists: Option<SystemTime>) {
        for (file, end) in [("certificate", certificate), ("crl", lists)] {
            if let Some(end) = end {
                self.not_after.get_or_create(&File { file }).set(seconds(end));
            }
        }
    }

    pub(crate) fn ended(&self, parted: &Parted) {
        let labels = EndedBy {
            kind: if parted.child.is_some() { "child" } else { "ike" },
            peer: parted.peer.clone().unwrap_or_default(),
            why: parted.why.word(),
        };
        self.ended.get_or_create(&labels).inc();
    }

    pub(crate) fn refused(&self, refused: &SaRefused) {
        let labels = RefusedBy {
            peer: refused.peer.clone().unwrap_or_default(),
            direction: match refused.direction {
                Direction::Inbound => "inbound",
                Direction::Outbound => "outbound",
            },
            by: match refused.by {
                Refuser::Us => "us",
                Refuser::Peer => "peer",
            },
            reason: refused.reason.clone(),
        };
        self.refusals.get_or_create(&labels).inc();
    }

    pub(crate) fn no_answer(&self, link: &str, since: Option<SystemTime>) {
        let gauge = self.no_answer.get_or_create(&Of { link: link.to_owned() });
        gauge.set(since.map_or(0, seconds));
    }

    pub(crate) fn authenticated(&self, link: &str, since: Option<SystemTime>) {
        let gauge = self.authenticated.get_or_create(&Of { link: link.to_owned() });
        gauge.set(since.map_or(0, seconds));
    }

    pub(crate) fn connected(&self, is: bool) {
        self.connected.set(is.into());
    }

    pub(crate) fn established(&self, (ike, child): (usize, usize)) {
        self.ike_established.set(i64::try_from(ike).unwrap_or(i64::MAX));
        self.child_installed.set(i64::try_from(child).unwrap_or(i64::MAX));
    }

    pub(crate) fn ike(&self, sighting: &Sighting) {
        self.seen("ike", sighting);
    }

    pub(crate) fn child(&self, sighting: &Sighting) {
        self.seen("child", sighting);
    }

    fn seen(&self, kind: &'static str, sighting: &Sighting) {
        let labels = Labels {
            kind,
            peer: sighting.peer.clone().unwrap_or_default(),
            cause: match sighting.cause {
                Cause::SetUp => "set-up",
                Cause::Rekey => "rekey",
                Cause::ReAuthentication => "re-authentication",
                Cause::Found => "found",
            },
            keyed_by: sighting.keyed_by.clone(),
            verdict: match sighting.verdict {
                Verdict::Accepted => "accepted",
                Verdict::Excepted { .. } => "excepted",
                Verdict::Refused { .. } => "refused",
            },
        };
        self.sas.get_or_create(&labels).inc();
    }

    pub(crate) fn breach(&self, sighting: &Sighting) {
        let reason = match &sighting.verdict {
            Verdict::Refused { reason, .. } => reason.clone(),
            Verdict::Accepted | Verdict::Excepted { .. } => String::new(),
        };
        let peer = sighting.peer.clone().unwrap_or_default();
        self.breaches.get_or_create(&Breached { peer, reason }).inc();
    }

    pub(crate) fn taken_down(&self, _: &Sighting) {
        self.taken_down.inc();
    }
}

/// Sets a counter to an external count. It begins anew when that does.
fn set(counter: &Counter, count: u64) {
    counter.inner().store(count, Ordering::Relaxed);
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
