//! Roles of nodes by the `function` of the deployment file, and which interface joins which.

use bartizan_deployment::InterfaceKind;

/// Role of a node in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    GNodeB,
    CuControl,
    CuUser,
    Du,
    Ru,
    NearRtRic,
    NonRtRic,
    Smo,
    OCloud,
    Amf,
    Smf,
    Upf,
    Sepp,
    Mme,
    /// Another function of the core that speaks SBI.
    Core,
}

/// Functions that speak SBI and have no other interface here.
const CORE: [&str; 12] = [
    "nrf", "ausf", "udm", "udr", "pcf", "nssf", "nef", "chf", "bsf", "scp", "nwdaf", "af",
];

/// The role of a `function`; none where it is not one of those known: nothing is concluded from it.
pub(super) fn role(function: &str) -> Option<Role> {
    let name: String = function
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    Some(match name.as_str() {
        "gnb" | "gnodeb" | "ngenb" => Role::GNodeB,
        // A CU that is not split is its control plane here.
        "ocucp" | "cucp" | "ocu" | "cu" | "gnbcu" | "gnbcucp" => Role::CuControl,
        "ocuup" | "cuup" | "gnbcuup" => Role::CuUser,
        "odu" | "du" | "gnbdu" => Role::Du,
        "oru" | "ru" => Role::Ru,
        "nearrtric" | "ric" => Role::NearRtRic,
        "nonrtric" => Role::NonRtRic,
        "smo" => Role::Smo,
        "ocloud" => Role::OCloud,
        "amf" => Role::Amf,
        "smf" => Role::Smf,
        "upf" => Role::Upf,
        "sepp" => Role::Sepp,
        "mme" => Role::Mme,
        other if CORE.contains(&other) => Role::Core,
        _ => return None,
    })
}

use Role::{Amf, Core, CuControl, CuUser, Du, GNodeB, Mme, NearRtRic, NonRtRic, OCloud, Ru, Sepp, Smf, Smo, Upf};

/// The roles at the two ends of an interface; none where any node may be at either (SBI, O1).
pub(super) const fn ends(kind: InterfaceKind) -> Option<[&'static [Role]; 2]> {
    Some(match kind {
        InterfaceKind::N2 => [&[GNodeB, CuControl], &[Amf]],
        InterfaceKind::N3 => [&[GNodeB, CuUser, CuControl], &[Upf]],
        InterfaceKind::N4 => [&[Smf], &[Upf]],
        InterfaceKind::N9 => [&[Upf], &[Upf]],
        InterfaceKind::N26 => [&[Amf], &[Mme]],
        InterfaceKind::N32 => [&[Sepp], &[Sepp]],
        InterfaceKind::E1 => [&[CuControl], &[CuUser]],
        InterfaceKind::E2 => [&[GNodeB, CuControl, CuUser, Du], &[NearRtRic]],
        InterfaceKind::F1C => [&[CuControl], &[Du]],
        InterfaceKind::F1U => [&[CuUser, CuControl], &[Du]],
        InterfaceKind::Xn => [&[GNodeB, CuControl, CuUser], &[GNodeB, CuControl, CuUser]],
        InterfaceKind::A1 => [&[NonRtRic, Smo], &[NearRtRic]],
        InterfaceKind::O2 => [&[Smo, NonRtRic], &[OCloud]],
        InterfaceKind::OpenFronthaul => [&[Du], &[Ru]],
        InterfaceKind::Sbi | InterfaceKind::O1 => return None,
    })
}

/// Returns true if an interface joins nodes of these roles, in either order.
pub(super) fn joins(kind: InterfaceKind, one: Role, other: Role) -> bool {
    match ends(kind) {
        Some([a, b]) => (a.contains(&one) && b.contains(&other)) || (a.contains(&other) && b.contains(&one)),
        None if kind == InterfaceKind::Sbi => [one, other]
            .iter()
            .all(|role| matches!(role, Amf | Smf | Core | Sepp | Upf)),
        None => true,
    }
}

/// Interfaces that two roles always have where both are in one network: what a file leaves out is a gap in what it protects.
pub(super) const EXPECTED: [(InterfaceKind, Role, Role); 6] = [
    (InterfaceKind::N2, GNodeB, Amf),
    (InterfaceKind::N4, Smf, Upf),
    (InterfaceKind::E1, CuControl, CuUser),
    (InterfaceKind::F1C, CuControl, Du),
    (InterfaceKind::OpenFronthaul, Du, Ru),
    (InterfaceKind::N26, Amf, Mme),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_recognised_as_people_write_them() {
        assert_eq!(role("near-RT RIC"), Some(NearRtRic));
        assert_eq!(role("O-CU-CP"), Some(CuControl));
        assert_eq!(role("o-du"), Some(Du));
        assert_eq!(role("NRF"), Some(Core));
        assert_eq!(role("load generator"), None);
    }

    #[test]
    fn an_interface_joins_its_two_roles_in_either_order() {
        assert!(joins(InterfaceKind::E2, Du, NearRtRic) && joins(InterfaceKind::E2, NearRtRic, Du));
        assert!(!joins(InterfaceKind::E2, Amf, Core));
        assert!(joins(InterfaceKind::Sbi, Amf, Core) && !joins(InterfaceKind::Sbi, Du, Ru));
        assert!(EXPECTED.iter().all(|(kind, one, other)| joins(*kind, *one, *other)));
    }
}
