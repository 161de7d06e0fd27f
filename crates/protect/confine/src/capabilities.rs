//! Capabilities, the routes back to them, and what others may see of the process's memory.

use std::fs;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, no_new_privs,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::Outcome;

/// Empties the bounding set, so that no program started later gains a capability. It takes
/// CAP_SETPCAP, so it comes before the change of user.
pub(super) fn empty_bounding_set() -> Outcome {
    let last = fs::read_to_string("/proc/sys/kernel/cap_last_cap")
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok())
        .unwrap_or(63);
    for number in 0..=last.min(63) {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(Errno::PERM) => {
                let why =
                    "takes CAP_SETPCAP, which this process was not given; no_new_privs makes the set without effect";
                return Outcome::Unavailable(why.to_owned());
            }
            // Beyond the last one this kernel knows.
            Err(Errno::INVAL) => break,
            Err(errno) => return Outcome::Failed(format!("capability {number} stays in it: {errno}")),
        }
    }
    Outcome::Done("empty, in this thread and those it starts".to_owned())
}

/// Gives up every capability of this thread. Those of other threads went with the change of user, where there was one.
pub(super) fn drop_all(others: usize) -> Outcome {
    // A kernel without ambient capabilities has none to clear.
    let _ = clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if let Err(errno) = set_capabilities(None, none) {
        return Outcome::Failed(format!("they cannot be dropped: {errno}"));
    }
    match capabilities(None) {
        Ok(left) if left == none => {}
        Ok(left) => return Outcome::Failed(format!("some are left: {:?}", left.permitted | left.inheritable)),
        Err(errno) => return Outcome::Failed(format!("whether any are left is not known: {errno}")),
    }
    match threads_with_capabilities() {
        0 => Outcome::Done("none left".to_owned()),
        left => Outcome::Partly(format!(
            "none left in this thread; {left} of {others} other threads have some"
        )),
    }
}

fn threads_with_capabilities() -> usize {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return 0;
    };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .filter(|status| {
            let permitted = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
            permitted.is_some_and(|set| set.trim().bytes().any(|digit| digit != b'0'))
        })
        .count()
}

/// Nothing executed from here on gains rights by set-user-ID or file capabilities.
pub(super) fn no_new_privileges() -> Outcome {
    match set_no_new_privs(true).and_then(|()| no_new_privs()) {
        Ok(true) => Outcome::Done("set".to_owned()),
        Ok(false) => Outcome::Failed("did not stay set".to_owned()),
        Err(errno) => Outcome::Failed(format!("cannot be set: {errno}")),
    }
}

/// No core dump and no tracing by processes of the same user: the private key is in memory.
pub(super) fn no_dumps() -> Outcome {
    match crate::keep_memory_private() {
        Ok(()) => Outcome::Done("no core dumps, no tracing; the number of open files is no longer measured".to_owned()),
        Err(error) => Outcome::Failed(format!("core dumps cannot be turned off: {error}")),
    }
}
