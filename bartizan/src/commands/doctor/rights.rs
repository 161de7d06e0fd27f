//! Rights of this user.

use std::fs;
use std::time::Duration;

use bartizan_host::{Facts, Permission, Program};

use super::thing::{Examined, Presence, Thing, in_a_line};

const AS_ROOT: &str = "run it as root, for example with sudo";
/// Timeout of a trial run of a program, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bits of capability sets (linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// Tries and reads; leaves nothing behind.
pub(super) fn examine(facts: &Facts) -> Vec<Examined> {
    let capabilities = effective();
    let has = |bit: u32| match capabilities {
        Some(set) if set >> bit & 1 == 1 => Presence::present(),
        Some(_) => Presence::absent(
            "not among the effective capabilities of this process",
            if facts.root {
                "give it to the container or service that this runs in".to_owned()
            } else {
                AS_ROOT.to_owned()
            },
        ),
        None => Presence::unknown("/proc/self/status does not say", "mount /proc"),
    };
    let root = if facts.root {
        Presence::present()
    } else {
        Presence::absent("this is another user", AS_ROOT)
    };
    vec![
        Examined::new(Thing::Root, "root", root),
        Examined::new(Thing::NetAdmin, "CAP_NET_ADMIN", has(CAP_NET_ADMIN)),
        Examined::new(Thing::SysAdmin, "CAP_SYS_ADMIN", has(CAP_SYS_ADMIN)),
        Examined::new(Thing::UserNamespaces, "user namespaces", user_namespaces()),
        Examined::new(
            Thing::NetworkNamespaces,
            "network namespaces",
            permission(&facts.namespaces),
        ),
        Examined::new(Thing::Veth, "virtual cables between them", permission(&facts.veth)),
        Examined::new(Thing::Capture, "capturing packets", permission(&facts.capture)),
    ]
}

fn permission(permission: &Permission) -> Presence {
    match permission {
        Permission::Granted => Presence::present(),
        Permission::Refused(reason) if reason.starts_with("ip:") => Presence::absent(
            reason.clone(),
            "apt-get install iproute2, or PATH=$PATH:/sbin where it is there",
        ),
        Permission::Refused(reason) => Presence::absent(reason.clone(), AS_ROOT),
    }
}

/// A namespace of users in which this one is root, with a network of its own.
fn user_namespaces() -> Presence {
    let program = Program::new("unshare").package("util-linux");
    let tried = program
        .arguments(["--user", "--map-root-user", "--net", "--", "true"])
        .run(PATIENCE);
    Presence::tried(
        tried.map(|_| None).map_err(|error| in_a_line(&error)),
        "sysctl user.max_user_namespaces and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns say why",
    )
}

/// The effective capabilities of this process.
fn effective() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    capabilities(&status)
}

fn capabilities(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_kernels_text() {
        assert_eq!(
            capabilities("Name:\tx\nCapEff:\t0000000000201000\nCapBnd:\t0\n"),
            Some(0x20_1000)
        );
        assert_eq!(capabilities("CapEff:\tnonsense\n"), None);
        assert_eq!(capabilities(""), None);
    }

    #[test]
    fn both_capabilities_have_the_numbers_of_the_kernels_header() {
        let set = capabilities("CapEff:\t0000000000201000").unwrap();
        assert_eq!(set, 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN);
    }
}
