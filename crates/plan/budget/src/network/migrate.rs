//! In which order to move links to post-quantum protection: the most exposed first, of those the cheapest.

use bartizan_deployment::{InterfaceKind, Protection};
use serde::Serialize;

use super::assess::{Given, Link};

bartizan_registry::named! {
    /// Exposure of a link today.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Exposure, name {
        /// An attacker on the path reads it today.
        Readable = "readable today",
        /// An attacker who records it reads it later with a quantum computer.
        Recordable = "recordable",
        /// Unknown: its protection is not examined.
        Unknown = "not known",
        /// Its ends can be forged with a quantum computer; what is recorded stays closed.
        Forgeable = "forgeable later",
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Which link: `E2 cu -- ric`.
    pub about: String,
    /// Exposure of the link.
    pub exposure: Exposure,
    /// Change to make in the deployment.
    pub step: String,
    /// Why at this place.
    pub reason: String,
}

/// Rank of an interface's reach: beyond the operator, over transport between sites, or within a
/// data centre. Interfaces within reach of unauthenticated clients come first.
fn reach(kind: InterfaceKind) -> (u8, &'static str) {
    match kind {
        InterfaceKind::N32 => (0, "it leaves the operator's network"),
        InterfaceKind::N2
        | InterfaceKind::N3
        | InterfaceKind::Xn
        | InterfaceKind::E2
        | InterfaceKind::F1C
        | InterfaceKind::F1U
        | InterfaceKind::E1
        | InterfaceKind::O1
        | InterfaceKind::OpenFronthaul => (1, "it crosses transport between sites"),
        InterfaceKind::Sbi
        | InterfaceKind::N4
        | InterfaceKind::N9
        | InterfaceKind::N26
        | InterfaceKind::A1
        | InterfaceKind::O2 => (2, "it stays within the core or a data centre"),
    }
}

/// Rank of the effort to move a link: a line of the file, a sidecar, or an IKE daemon or MACsec.
fn cost(link: &Link) -> (u8, String, &'static str) {
    let with = link.requirement.met_by.first().copied().unwrap_or(Protection::Ipsec);
    match (link.protection, with) {
        (Protection::Nothing, Protection::Sidecar) => (
            1,
            "write `with: sidecar` and run `bartizan sidecar` at both ends".to_owned(),
            "a sidecar at each end",
        ),
        (Protection::Nothing, Protection::Macsec) => (
            2,
            "write `with: macsec` with the ports and run `bartizan up` at both ends".to_owned(),
            "a port and a kernel with MACsec at each end",
        ),
        (Protection::Nothing, _) => (
            2,
            "write `with: ipsec` and run `bartizan up` at both ends".to_owned(),
            "an IKE daemon at each end",
        ),
        (Protection::Macsec, _) if link.recording == Given::Unknown => (
            2,
            "name its ports (`macsec: { port: ... }`) and run `bartizan up` at both ends".to_owned(),
            "a port and a kernel with MACsec at each end",
        ),
        (Protection::Macsec, _) if link.recording == Given::Nothing => (
            0,
            "write `confidentiality: encrypt` and reload both ends".to_owned(),
            "a line of the file: what protects it is there",
        ),
        (Protection::Sidecar | Protection::Gateway | Protection::Ipsec | Protection::Macsec, _) => (
            0,
            "write `policy: hybrid` and reload both ends".to_owned(),
            "a line of the file: what protects it is there",
        ),
    }
}

/// Returns the links that are not post-quantum against recording and forgery, in migration order:
/// by exposure, by reach, by cost, then as in the file.
pub fn migrate(links: &[Link]) -> Vec<Move> {
    let mut open: Vec<(Exposure, &Link)> = links
        .iter()
        .filter_map(|link| {
            let exposure = match (link.recording, link.forgery) {
                (Given::Nothing, _) => Exposure::Readable,
                (Given::Classical | Given::Either, _) => Exposure::Recordable,
                (Given::Unknown, _) => Exposure::Unknown,
                (Given::PostQuantum, Given::PostQuantum) => return None,
                (Given::PostQuantum, _) => Exposure::Forgeable,
            };
            Some((exposure, link))
        })
        .collect();
    open.sort_by_key(|(exposure, link)| (*exposure, reach(link.requirement.kind).0, cost(link).0));
    open.into_iter()
        .map(|(exposure, link)| {
            let (_, where_it_goes) = reach(link.requirement.kind);
            let (_, step, effort) = cost(link);
            let (step, why) = if exposure == Exposure::Forgeable {
                let wait = match link.protection {
                    Protection::Ipsec => "accept ML-DSA alone as soon as a released IKEv2 daemon signs with it",
                    _ => "accept ML-DSA alone: `signatures: [mldsa65]`",
                };
                (
                    wait.to_owned(),
                    "authentication can wait: a forger must be there while a link is set up, a recorder is there now"
                        .to_owned(),
                )
            } else {
                (step, format!("the move takes {effort}"))
            };
            Move {
                about: link.about.clone(),
                exposure,
                step,
                reason: format!("{}; {where_it_goes}; {why}", exposure.name()),
            }
        })
        .collect()
}
