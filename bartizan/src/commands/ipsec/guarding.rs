//! The guard as the commands speak of it.

use std::fmt::Write as _;

use bartizan_host::{Error, Feature, Support, nftables};
use bartizan_ipsec::Kernel;
use bartizan_ipsec::guard::{By, Dropped, Guard, GuardState, Known, OfLink};
use serde::Serialize;

use crate::Failure;

/// Fate of link packets that no SA protects.
#[derive(Default, Serialize)]
pub(crate) struct Cleartext {
    /// `installed`, `damaged` (some rule is missing or changed, or there is more), `other` (rules of another state of the file), `absent` or
    /// `unknown`.
    pub(super) guard: &'static str,
    /// Mechanism that drops them: `nftables`, or `xfrm`, the policies of the kernel's ESP.
    by: Option<&'static str>,
    /// SAs that count as protection: those of the packet's own `link`, or `any` if the kernel does
    /// not distinguish.
    protected_by: Option<&'static str>,
    /// Differences of a damaged guard.
    differences: Vec<String>,
    /// Flowtables of this network namespace: TCP and UDP that they have taken over pass the rules where NAT makes them a link's.
    flowtables: Vec<String>,
    /// Packets dropped on their way out: by nftables since the guard is installed, by XFRM all that any policy has blocked.
    dropped_leaving: Option<u64>,
    /// Packets dropped on their way in.
    dropped_arriving: Option<u64>,
    /// The same by link, where the kernel counts so.
    links: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    /// Peer and interface, `ric-E2`.
    link: String,
    dropped_leaving: Option<u64>,
    /// Packets that NAT on this host gave other addresses than those of the link, for which there is no SA.
    dropped_translated: Option<u64>,
    dropped_arriving: Option<u64>,
}

impl Cleartext {
    /// As the kernel has it now.
    pub(crate) fn of(guard: &Guard) -> Result<Self, Failure> {
        let state = guard.state().map_err(failed)?;
        let mut said = Self::nothing("absent");
        match state {
            GuardState::Absent => {}
            GuardState::Other => said.guard = "other",
            GuardState::Damaged(differences) => {
                said.guard = "damaged";
                said.differences = differences;
            }
            GuardState::Installed(by, dropped) => {
                said.guard = "installed";
                said.by = Some(by.name());
                said.protected_by = match by {
                    By::Nftables(Known::ByLink) => Some("link"),
                    By::Nftables(Known::ByAnySa) | By::Xfrm => Some("any"),
                };
                said.count(dropped);
                // A kernel without them says so by an error.
                said.flowtables = nftables::flowtables().unwrap_or_default();
            }
        }
        Ok(said)
    }

    /// The same, where the kernel does not say.
    pub(super) fn of_or_unknown(guard: &Guard) -> Self {
        Self::of(guard).unwrap_or_else(|_| Self::nothing("unknown"))
    }

    fn nothing(guard: &'static str) -> Self {
        Self {
            guard,
            ..Self::default()
        }
    }

    fn count(&mut self, dropped: Dropped) {
        self.dropped_leaving = dropped.leaving;
        self.dropped_arriving = dropped.arriving;
        let link = |of: OfLink| Link {
            link: of.link,
            dropped_leaving: of.leaving,
            dropped_translated: of.translated,
            dropped_arriving: of.arriving,
        };
        self.links = dropped.links.into_iter().map(link).collect();
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.guard == "installed"
    }

    /// In a line, and one more for each link that lost packets and each difference.
    pub(crate) fn text(&self) -> String {
        let by_xfrm = match self.by {
            Some("xfrm") => " (XFRM policies; routes that found no SA, packets that any of them blocked)",
            _ => "",
        };
        let mut text = match (self.guard, self.dropped_leaving, self.dropped_arriving) {
            ("installed", Some(leaving), Some(arriving)) => {
                format!(
                    "unencrypted packets are dropped: {leaving} packets leaving, {arriving} arriving so far{by_xfrm}"
                )
            }
            ("installed", ..) => {
                "unencrypted packets are dropped (XFRM policies; this kernel does not count)".to_owned()
            }
            ("damaged", ..) => {
                "UNENCRYPTED PACKETS MAY PASS: the guard was changed; `bartizan guard install` installs it anew"
                    .to_owned()
            }
            ("other", ..) => {
                "UNENCRYPTED PACKETS MAY PASS: the guard is not that of this file; `bartizan guard install` installs it"
                    .to_owned()
            }
            ("unknown", ..) => {
                "whether unencrypted packets pass is not known: neither nftables nor XFRM says".to_owned()
            }
            _ => "UNENCRYPTED PACKETS PASS where no SA is: no guard is installed; `bartizan guard install` installs it"
                .to_owned(),
        };
        // Writing to a string cannot fail.
        if self.guard == "installed" && self.by == Some("nftables") && self.protected_by == Some("any") {
            text += "; an SA of anybody counts as protection: this kernel has no nft_xfrm";
        }
        for link in &self.links {
            let counts = [
                ("leaving", link.dropped_leaving),
                ("leaving with addresses that NAT had changed", link.dropped_translated),
                ("arriving", link.dropped_arriving),
            ];
            let counts = counts.into_iter().filter_map(|(what, count)| Some((what, count?)));
            let counts: Vec<_> = counts
                .filter(|(_, count)| *count > 0)
                .map(|(what, count)| format!("{count} {what}"))
                .collect();
            if !counts.is_empty() {
                let _ = write!(text, "\n  {}: dropped {}", link.link, counts.join(", "));
            }
        }
        for flowtable in &self.flowtables {
            let _ = write!(
                text,
                "\n  the flowtable {flowtable} forwards TCP and UDP past the rules where NAT gives them a link's addresses"
            );
        }
        for difference in &self.differences {
            let _ = write!(text, "\n  {difference}");
        }
        text
    }
}

/// Installs the guard before anything else is done, unless one is: who encrypts is found by trying, where no charon has been asked yet.
pub(super) fn first(guard: &Guard) -> Result<(), Failure> {
    if let Ok(GuardState::Installed(..)) = guard.state() {
        return Ok(());
    }
    guard.close(esp()).map_err(failed)
}

/// Returns the ESP data path of this host, as far as can be determined without charon. Without a
/// trial it assumes the stricter one.
pub(crate) fn esp() -> Kernel {
    match Feature::Esp.tried() {
        Support::Absent(_) => Kernel::Libipsec,
        Support::Present | Support::Unknown(_) => Kernel::Netlink,
    }
}

/// Why the guard could not be read or changed.
pub(crate) fn failed(error: Error) -> Failure {
    let failure = Failure::new(format!("the guard against unencrypted packets: {error}"));
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure.hint(
            "the kernel needs nf_tables with inet and conntrack support and nftables 0.9.8 or later, or to do ESP for charon itself",
        ),
    }
}
