//! Who may use how much of `--memory`.

use bartizan_wire::{FragmentLimits, Limits};

use super::Detail;

/// Bytes that `bartizan inspect` uses unless told otherwise.
pub(crate) const MEMORY: usize = 2_500_000_000;

/// What is kept of a capture, by what it is kept for. Together they are what was allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// What lives, segments out of order, fragments of IP packets.
    pub(crate) limits: Limits,
    /// Links: five 32nds.
    pub(crate) links: usize,
    /// Rows of connections that are alike, and the list of single ones where it is asked for: a 64th and an eighth.
    pub(crate) rows: usize,
    pub(crate) list: usize,
}

impl Shares {
    pub(crate) fn of(memory: usize, detail: Detail) -> Self {
        let default = Limits::default();
        let links = memory / 32 * 5;
        let rows = memory / 64;
        let list = if detail == Detail::Each { memory / 8 } else { 0 };
        let fragments = FragmentLimits {
            bytes: default.fragments.bytes.min(memory / 16),
            ..default.fragments
        };
        let held_bytes = default.held_bytes.min(memory / 8);
        Self {
            limits: Limits {
                memory: memory - links - rows - list - fragments.bytes,
                held_bytes,
                fragments,
                ..default
            },
            links,
            rows,
            list,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_up_what_was_allowed_and_leave_most_of_it_to_what_lives() {
        for detail in [Detail::Links, Detail::Alike, Detail::Each] {
            for memory in [4 << 20, 64 << 20, MEMORY] {
                let shares = Shares::of(memory, detail);
                let report = shares.links + shares.rows + shares.list;
                assert_eq!(report + shares.limits.memory + shares.limits.fragments.bytes, memory);
                assert!(shares.limits.memory - shares.limits.held_bytes > memory / 2);
            }
        }
    }
}
