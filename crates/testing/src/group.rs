//! Processes of a process group, from `/proc`.

use std::fs;

/// Processes of a process group.
#[must_use]
pub fn group_members(group: u32) -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| group_in(&stat) == Some(group)))
        .collect()
}

/// The process group (field 5) in the text of `/proc/<pid>/stat`.
pub(crate) fn group_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(2)?.parse().ok()
}
