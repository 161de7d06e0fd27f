//! Report on MACsec links.

use std::fmt::Write as _;

use bartizan_macsec::guard::{Dropped, Guard, GuardState};
use bartizan_macsec::link::{Association, EapStatus, MkaStatus, Status};
use serde::Serialize;

/// Version of the JSON form: it changes when a field changes its meaning or goes.
pub(super) const SCHEMA: &str = "bartizan-macsec/1";

bartizan_registry::made! {
    /// A node's MACsec links.
    #[derive(Serialize)]
    pub(super) struct Report, pub(super) new(node: &str, controller: bool, guard: Option<Guarded>, links: Vec<Status>) {
        let is_well = |link: &Status| link.up && link.peer_answers && !link.outlived;
        let guarded = guard.as_ref().is_none_or(|guard| guard.guard == "installed");
        schema: &'static str = SCHEMA,
        node: String = node.to_owned(),
        /// True if a controller runs: keys do not change without one.
        controller: bool,
        /// Every link is up, its peer answers, no key is older than it may be, and the guard is
        /// installed where it was looked at.
        pub(super) well: bool = controller && guarded && links.iter().all(is_well),
        #[serde(skip_serializing_if = "Option::is_none")]
        guard: Option<Guarded>,
        links: Vec<Status>,
    }
}

bartizan_registry::made! {
    /// Fate of unencrypted frames at the ports.
    #[derive(Serialize)]
    pub(super) struct Guarded, pub(super) of(of: &Guard) {
        let (guard, why, dropped) = match of.state() {
            Ok(GuardState::Installed(dropped)) => ("installed", None, dropped),
            Ok(GuardState::Damaged(why)) => ("damaged", Some(why), Vec::new()),
            Ok(GuardState::Absent) => ("absent", None, Vec::new()),
            Err(error) => ("unknown", Some(error.to_string()), Vec::new()),
        };
        let ports = match guard {
            // Ports that could not be looked for may be there.
            "absent" => of.ports().unwrap_or_default(),
            _ => Vec::new(),
        };
        /// `installed`, `damaged`, `absent` or `unknown`.
        guard: &'static str,
        /// Fault of the guard.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Frames that it dropped.
        dropped: Vec<Dropped>,
        /// Names of the ports of an absent guard, each with true if its interface is there.
        #[serde(skip)]
        ports: Vec<(String, bool)>,
    }
}

impl Guarded {
    pub(super) fn text(&self) -> String {
        let why = self.why.as_deref().unwrap_or_default();
        match self.guard {
            "installed" if self.dropped.is_empty() => "no port is there; the guard waits for them".to_owned(),
            "installed" => {
                let of_port = |dropped: &Dropped| {
                    format!(
                        "{}: {} leaving, {} arriving",
                        dropped.port, dropped.leaving, dropped.arriving
                    )
                };
                let ports: Vec<_> = self.dropped.iter().map(of_port).collect();
                format!("unencrypted frames are dropped; so far at {}", ports.join("; "))
            }
            "damaged" => format!("UNENCRYPTED FRAMES MAY PASS: {why}; `bartizan guard install` installs it anew"),
            "absent" => self.absent(),
            _ => format!("whether unencrypted frames pass is not known: {why}"),
        }
    }

    /// Without a guard frames pass every port that is there, and no other.
    fn absent(&self) -> String {
        let (there, missing): (Vec<_>, Vec<_>) = self.ports.iter().partition(|(_, is_there)| *is_there);
        let names = |ports: &[&(String, bool)]| {
            let names: Vec<_> = ports.iter().map(|(name, _)| name.as_str()).collect();
            names.join(", ")
        };
        let missing = match missing.as_slice() {
            [] => String::new(),
            [one] => format!("the interface {} is missing", one.0),
            several => format!("the interfaces {} are missing", names(several)),
        };
        let install = "no guard is installed; `bartizan guard install` installs it";
        match (there.as_slice(), missing.as_str()) {
            ([], "") => format!("UNENCRYPTED FRAMES PASS the ports: {install}"),
            ([], missing) => format!("{missing}, so no frame passes; {install}"),
            (there, "") => format!("UNENCRYPTED FRAMES PASS {}: {install}", names(there)),
            (there, missing) => format!("UNENCRYPTED FRAMES PASS {}: {install}; {missing}", names(there)),
        }
    }
}

/// Ports as `bartizan guard` sees them, with or without a controller that waits for those that are
/// not there.
#[derive(Serialize)]
pub(crate) struct Ports {
    #[serde(flatten)]
    guarded: Guarded,
    /// Ports that are not there and that no rule names.
    unguarded: Vec<String>,
}

impl Ports {
    pub(crate) fn of(guard: &Guard) -> Self {
        Self {
            guarded: Guarded::of(guard),
            // A guard that cannot be read is unknown already.
            unguarded: guard.unguarded().unwrap_or_default(),
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.guarded.guard == "installed" && self.unguarded.is_empty()
    }

    /// One line, and one more for each port that is not there.
    pub(crate) fn text(&self) -> String {
        let mut text = match self.guarded.guard {
            "installed" if self.guarded.dropped.is_empty() => {
                "unencrypted frames are dropped; no port is there".to_owned()
            }
            _ => self.guarded.text(),
        };
        // Without a guard every port is open, and the first line says so.
        for port in self.unguarded.iter().filter(|_| self.guarded.guard == "installed") {
            let _ = write!(
                text,
                "\n  UNENCRYPTED FRAMES PASS {port} when it comes: this kernel takes no rule for a port that is not there; run `bartizan guard install` again then"
            );
        }
        text
    }
}

impl Report {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        if !self.controller {
            let _ = match self
                .links
                .iter()
                .any(|link| link.sends.is_some() || link.receives.is_some())
            {
                true => writeln!(
                    text,
                    "no controller of {} runs: frames pass under the keys that are installed, and these do not change; `bartizan up` starts one",
                    self.node
                ),
                false => writeln!(
                    text,
                    "no controller of {} runs, and no link has a key: nothing passes MACsec; `bartizan up` starts one",
                    self.node
                ),
            };
        }
        for link in &self.links {
            let _ = writeln!(text, "{}", headline(link));
            // A device that is not there takes frames of no size.
            let _ = match link.mtu {
                0 => writeln!(text, "  {} -> {}: the interface is missing", link.device, link.port),
                mtu => writeln!(text, "  {} -> {}, frames of up to {mtu} octets", link.device, link.port),
            };
            let key = |association: &Association| {
                let age = association
                    .age_s
                    .map(|age| format!(", {age} s old"))
                    .unwrap_or_default();
                format!("key {} (AN {}{age})", association.key_id, association.an)
            };
            if let (Some(sends), Some(receives)) = (&link.sends, &link.receives) {
                let _ = writeln!(text, "  sends with {}, receives with {}", key(sends), key(receives));
            }
            let proven = link.authenticated_s.map(|age| format!("peer proven {age} s ago; "));
            if let Some(left) = link.ends_s {
                let proven = proven.unwrap_or_default();
                let _ = writeln!(text, "  {proven}keys end in {left} s unless it proves itself again");
            }
            if let Some(mka) = &link.mka {
                let _ = writeln!(text, "  {}", of_mka(mka));
            }
            if let Some(eap) = &link.eap {
                let _ = writeln!(text, "  {}", of_eap(eap));
            }
            if let Some(counters) = &link.counters {
                let _ = writeln!(
                    text,
                    "  frames: {} sent, {} received; dropped: {} replayed, {} not valid, {} without a key; {} without a SecTAG, the exchange of keys among them",
                    counters.sent_encrypted + counters.sent_protected,
                    counters.received,
                    counters.late,
                    counters.not_valid,
                    counters.no_association + counters.unknown_channel,
                    counters.no_tag
                );
            }
        }
        if let Some(guard) = &self.guard {
            let _ = writeln!(text, "{}", guard.text());
        }
        text
    }
}

/// wpa_supplicant and its CAK, in a line.
fn of_mka(mka: &MkaStatus) -> String {
    let process = match mka.process {
        Some(process) => format!("wpa_supplicant runs (process {process})"),
        None => "wpa_supplicant does not run".to_owned(),
    };
    let cak = match (&mka.ckn, mka.ckn_age_s) {
        (Some(ckn), Some(age)) => format!("CAK {ckn}, {age} s old"),
        (Some(ckn), None) => format!("CAK {ckn}"),
        (None, _) => "no CAK of this program's".to_owned(),
    };
    let from = match mka.cak.as_str() {
        "file" => "of a file",
        "eap-tls" => "of EAP-TLS",
        _ => "of the exchange",
    };
    format!("{process}; {cak}, {from}")
}

/// EAP-TLS, in a line.
fn of_eap(eap: &EapStatus) -> String {
    let end = match eap.end.as_str() {
        "authenticator" => "this end is the authenticator",
        _ => "wpa_supplicant is authenticated",
    };
    let handshake = match (&eap.group, &eap.cipher) {
        (Some(group), Some(cipher)) => format!("{group} and {cipher}"),
        (Some(group), None) => group.clone(),
        (None, _) => "no handshake of this process's yet".to_owned(),
    };
    let same = match eap.not_rekeyed {
        0 => String::new(),
        times => format!("; {times} times it was authenticated again and its KEY STAYED THE SAME"),
    };
    format!("{end}: {handshake}{same}")
}

/// State of a link, in a line.
pub(super) fn headline(link: &Status) -> String {
    let how = if link.encrypted { "encrypted" } else { "integrity alone" };
    let trouble = link
        .trouble
        .as_ref()
        .map(|trouble| format!(": {trouble}"))
        .unwrap_or_default();
    let state = match (link.up, link.peer_answers) {
        (false, _) => format!("not up{trouble}"),
        (true, false) if link.unattended() => "keys are in the kernel".to_owned(),
        (true, false) => format!("up under its last keys; the peer does not answer{trouble}"),
        (true, true) if link.outlived => "up; its key is older than it may be".to_owned(),
        (true, true) => "up".to_owned(),
    };
    let exchange = link.exchange.as_ref().map(|exchange| {
        let signature = exchange.peer_signature.as_deref().unwrap_or("none");
        let took = exchange.took_us as f64 / 1e3;
        format!(
            ", keyed by {} and proven by {signature} in {took:.1} ms, {} s ago",
            exchange.group, exchange.age_s
        )
    });
    format!(
        "{}: {state}; {}, {how}{}{}",
        link.link,
        link.suite,
        match link.keying.as_str() {
            "mka" => ", keyed by MKA",
            "eap-tls" => ", keyed by MKA after EAP-TLS",
            _ => "",
        },
        exchange.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bartizan_deployment::Deployment;
    use bartizan_macsec::link::Setting;

    use super::*;

    /// Before, frames were said to pass under keys, and up to 0 octets of them.
    #[test]
    fn before_any_start_nothing_is_up_and_the_interface_is_missing() {
        let text = "trust: { roots: ca.crt.pem }\nnodes:\n  \
                    odu: { function: O-DU, address: 10.0.0.1, certificate: odu.crt.pem, key: odu.key.pem }\n  \
                    oru: { function: O-RU, address: 10.0.0.2, certificate: oru.crt.pem, key: oru.key.pem }\ninterfaces:\n  \
                    - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: ens1f0, oru: eth0 } } }\n";
        let deployment = Deployment::parse(text, "fh.yaml", Path::new("/")).unwrap();
        let setting = &Setting::all(&deployment, "odu")[0];
        let absent = bartizan_macsec::Error::NoInterface(setting.device.clone());
        let report = Report::new("odu", false, None, vec![Status::closed(setting, &absent)]);
        assert!(!report.well);
        let text = report.text();
        assert!(
            text.starts_with("no controller of odu runs, and no link has a key: nothing passes MACsec;"),
            "{text}"
        );
        assert!(text.contains("macsec0 -> ens1f0: the interface is missing"), "{text}");
        assert!(!text.contains("under the keys") && !text.contains("0 octets"), "{text}");
    }

    /// Before, frames were said to pass ports that are not there.
    #[test]
    fn without_a_guard_frames_pass_ports_that_are_there_and_others_are_missing() {
        let text = |ports: &[(&str, bool)]| {
            let ports = ports.iter().map(|(name, is_there)| ((*name).to_owned(), *is_there));
            let guarded = Guarded {
                guard: "absent",
                why: None,
                dropped: Vec::new(),
                ports: ports.collect(),
            };
            guarded.text()
        };
        let install = "no guard is installed; `bartizan guard install` installs it";
        for (ports, expected) in [
            (
                &[("ens1f0", false)][..],
                format!("the interface ens1f0 is missing, so no frame passes; {install}"),
            ),
            (
                &[("ens1f0", false), ("ens1f1", false)],
                format!("the interfaces ens1f0, ens1f1 are missing, so no frame passes; {install}"),
            ),
            (
                &[("ens1f0", true), ("ens1f1", false)],
                format!("UNENCRYPTED FRAMES PASS ens1f0: {install}; the interface ens1f1 is missing"),
            ),
            (
                &[("ens1f0", true)],
                format!("UNENCRYPTED FRAMES PASS ens1f0: {install}"),
            ),
        ] {
            assert_eq!(text(ports), expected);
        }
    }
}
