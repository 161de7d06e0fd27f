//! Entries of a deployment file that protect an interface, and the clauses that ask for protection.

use bartizan_deployment::InterfaceKind;
use bartizan_posture::Kind;
use bartizan_registry::UDP_APPLICATIONS;

use super::{Change, DEPLOYMENT, IKE_PROPOSALS, LOAD, RUN_SIDECAR, RUN_UP, Remedy};

macro_rules! entry {
    ($name:literal $with:literal) => {
        &[Change {
            file: DEPLOYMENT,
            entry: concat!("{ kind: ", $name, ", between: [A, B], with: ", $with, " }"),
        }]
    };
}

macro_rules! interfaces {
    ($($kind:ident $name:literal $with:literal $clause:literal;)*) => {
        /// Entry for an interface, with the protection that its standard names first.
        const fn listed(kind: InterfaceKind) -> &'static [Change] {
            match kind {
                $(InterfaceKind::$kind => entry!($name $with)),*
            }
        }

        /// The clause that asks for protection of an interface: a test holds it against
        /// `check --interfaces`.
        const fn clause(kind: InterfaceKind) -> &'static str {
            match kind {
                $(InterfaceKind::$kind => $clause),*
            }
        }
    };
}

interfaces! {
    Sbi "SBI" "sidecar" "TS 33.501, clauses 13.1.0, 13.3.2.1 and 13.4.1";
    N2 "N2" "ipsec" "TS 33.501, clause 9.2";
    N3 "N3" "ipsec" "TS 33.501, clause 9.3";
    N4 "N4" "ipsec" "TS 33.501, clause 9.9";
    N9 "N9" "ipsec" "TS 33.501, clause 9.9";
    N26 "N26" "ipsec" "TS 33.501, clause 9.5";
    N32 "N32" "sidecar" "TS 33.501, clauses 13.1.2 and 13.2";
    E1 "E1" "ipsec" "TS 33.501, clause 9.8.3";
    E2 "E2" "ipsec" "SRCS, clause 5.2.4; E2GAP, clause 7";
    F1C "F1-C" "ipsec" "TS 33.501, clause 9.8.2";
    F1U "F1-U" "ipsec" "TS 33.501, clause 9.8.2";
    Xn "Xn" "ipsec" "TS 33.501, clause 9.4";
    A1 "A1" "sidecar" "SRCS, clause 5.2.1; A1TP";
    O1 "O1" "sidecar" "SRCS, clause 5.2.2";
    O2 "O2" "sidecar" "SRCS, clauses 5.2.3 and 5.1.8.9.1";
    OpenFronthaul "FH" "macsec"
        "SRCS, clause 5.2.5 (OFCP-1 to 4, OFUP-1 to 4, OFSP-1 to 8); MP, clause 5.4";
}

/// For HTTP of an interface that is not known.
const ANY_BY_SIDECAR: &[Change] = entry!("..." "sidecar");
/// For packets of an interface that is not known.
const ANY_BY_IPSEC: &[Change] = entry!("..." "ipsec");

/// The interface of a deployment file that evidence calls `name`. F1AP is that of F1-C.
pub(super) fn named(name: &str) -> Option<InterfaceKind> {
    match name {
        "F1" => Some(InterfaceKind::F1C),
        _ => InterfaceKind::ALL.into_iter().find(|kind| kind.name() == name),
    }
}

/// Names of interfaces that remedies differ by, and none.
pub(super) fn names() -> impl Iterator<Item = Option<&'static str>> {
    let listed = InterfaceKind::ALL.into_iter().map(|kind| Some(kind.name()));
    listed.chain([Some("W1"), None])
}

/// Entry for what is carried over TCP.
pub(super) fn over_tcp(interface: Option<&str>) -> &'static [Change] {
    interface.and_then(named).map_or(ANY_BY_SIDECAR, listed)
}

/// For HTTP in plaintext.
pub(super) fn by_sidecar(interface: Option<&str>) -> Remedy {
    let known = interface.and_then(named);
    let what = match known {
        Some(_) => "run a sidecar at both ends (`bartizan sidecar`)",
        None => "find out its interface, and run a sidecar at both ends",
    };
    Remedy {
        clause: known.map(clause),
        ..Remedy::new(what).writing(over_tcp(interface)).run(RUN_SIDECAR)
    }
}

/// For packets of `kind` that are not protected, by the interface where it is known.
pub(super) fn protected(kind: Kind, interface: Option<&'static str>) -> Remedy {
    // PFCP has one interface. A name of the protocol alone leaves several.
    let interface = match kind {
        Kind::Pfcp => Some("N4"),
        _ => interface.filter(|name| !UDP_APPLICATIONS.iter().any(|known| known.protocol == *name)),
    };
    let known = interface.and_then(named);
    let remedy = match (known, interface) {
        (Some(known), _) if known.over_tcp() => return by_sidecar(interface),
        (Some(known @ InterfaceKind::OpenFronthaul), _) => Remedy::new("carry it in MACsec (`bartizan up`)")
            .writing(listed(known))
            .run(RUN_UP),
        (Some(known), _) => Remedy::new("carry it in IPsec with ML-KEM (`bartizan up`)")
            .writing(listed(known))
            .run(RUN_UP),
        (None, Some(_)) => Remedy::new("carry it in IPsec with ML-KEM, set up in strongSwan itself")
            .writing(IKE_PROPOSALS)
            .run(LOAD),
        (None, None) => Remedy::new("find out its interface, and carry it in IPsec with ML-KEM")
            .writing(ANY_BY_IPSEC)
            .run(RUN_UP),
    };
    let clause = match (known, kind) {
        (Some(known), _) => Some(clause(known)),
        (None, _) if interface.is_some() => None,
        (None, Kind::ClearSctp) => Some("TS 33.501 (9.2: N2; 9.4: Xn; 9.8: E1, F1); O-RAN SRCS (5.2.4: E2)"),
        (None, Kind::GtpU) => Some("TS 33.501 (9.3: N3; 9.4: Xn; 9.8: F1; 9.9: N9)"),
        (None, Kind::GtpC) => Some("TS 33.501 (9.5: N26)"),
        (None, _) => None,
    };
    Remedy { clause, ..remedy }
}
