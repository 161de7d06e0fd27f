//! Division of `--memory` between its users.

use bartizan_wire::{FragmentLimits, Limits};

/// Bytes that `bartizan inspect` uses unless configured otherwise.
pub const MEMORY: usize = 2_500_000_000;

/// Detail of a capture that is kept for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Links.
    Links,
    /// Conversations that are alike, counted.
    Alike,
    /// Each conversation as well.
    Each,
}

bartizan_registry::made! {
    /// Bytes for the kept state of a capture, by its purpose. Together they are what was allowed.
    #[derive(Debug, Clone, Copy)]
    pub struct Shares,
    /// Shares of so many bytes.
    pub of(memory: usize, detail: Detail) {
        let default = Limits::default();
        let links = memory / 32 * 5;
        let rows = memory / 64;
        let list = if detail == Detail::Each { memory / 8 } else { 0 };
        let fragments = FragmentLimits {
            bytes: default.fragments.bytes.min(memory / 16),
            ..default.fragments
        };
        let held_bytes = default.held_bytes.min(memory / 8);
        /// Living state, segments out of order, fragments of IP packets.
        pub limits: Limits = Limits {
            memory: memory - links - rows - list - fragments.bytes,
            held_bytes,
            fragments,
            ..default
        },
        /// Links: five 32nds.
        pub links: usize = links,
        /// Rows of conversations that are alike: a 64th.
        pub rows: usize = rows,
        /// The list of single ones where it is asked for: an eighth.
        pub list: usize = list,
        /// Links of the window, where packets still come.
        pub window: usize = 0,
        /// And of a view of it.
        pub view: usize = 0,
        /// Closed connections that wait for a ledger's word.
        pub waiting: usize = 0,
    }
}

/// Bytes of an IKE_SA and of an ESP security association with what follows from it, about.
const IKE_SA: usize = 8 << 10;
const ESP_SA: usize = 512;

impl Shares {
    /// The same where what lives is looked at while it does: links of the window and of a view have
    /// half of what links have in the end, closed connections that wait a 16th of what lives. A
    /// view judges all of IPsec at once: an eighth of what lives is for its copies, and no more is
    /// followed than these are of.
    #[must_use]
    pub fn followed(self) -> Self {
        let (window, view) = (self.links / 2, self.links / 2);
        let waiting = self.limits.memory / 16;
        let copies = self.limits.memory / 8;
        Self {
            limits: Limits {
                memory: self.limits.memory - window - view - waiting - copies,
                ike_sas: copies / 2 / IKE_SA,
                esp_sas: copies / 2 / ESP_SA,
                ..self.limits
            },
            window,
            view,
            waiting,
            ..self
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
                let followed = shares.followed();
                let limits = followed.limits;
                let copies = limits.ike_sas * IKE_SA + limits.esp_sas * ESP_SA;
                let all = report + limits.memory + limits.fragments.bytes + copies;
                assert!(all + followed.window + followed.view + followed.waiting <= memory);
                assert!(limits.memory - limits.held_bytes > memory / 5);
            }
        }
    }
}
