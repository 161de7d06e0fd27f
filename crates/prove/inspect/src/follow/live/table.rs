//! Rows that come, change and go, with the version in which each did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Rows that went, remembered. A reader that asks for the changes since before that is given
/// everything.
const GONE: usize = 2000;

/// Content of a row.
pub(super) trait Shown {
    /// Returns true if a reader that has seen the other must see this one.
    fn differs(&self, other: &Self) -> bool;
}

#[derive(Debug)]
struct Row<T> {
    id: u64,
    changed: u64,
    value: Arc<T>,
}

/// Rows by their keys.
#[derive(Debug)]
pub(super) struct Table<K, T> {
    rows: BTreeMap<K, Row<T>>,
    /// The version in which a row went, and its id.
    gone: VecDeque<(u64, u64)>,
    /// The newest version of which it is not known any more what went.
    forgotten: u64,
    last_id: u64,
}

/// The rows at one time, and those that went of late.
#[derive(Debug)]
pub(super) struct Rows<T> {
    /// Id, version of the last change, value.
    pub(super) rows: Vec<(u64, u64, Arc<T>)>,
    pub(super) gone: Vec<(u64, u64)>,
    pub(super) forgotten: u64,
}

impl<K: Ord, T: Shown> Table<K, T> {
    pub(super) fn new() -> Self {
        Self {
            rows: BTreeMap::new(),
            gone: VecDeque::new(),
            forgotten: 0,
            last_id: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn has(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.keys()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&K, &T)> {
        self.rows.iter().map(|(key, row)| (key, &*row.value))
    }

    /// A row is this from `version` on.
    pub(super) fn set(&mut self, key: K, value: T, version: u64) {
        if let Some(row) = self.rows.get_mut(&key) {
            if value.differs(&row.value) {
                row.changed = version;
            }
            row.value = Arc::new(value);
            return;
        }
        self.last_id += 1;
        let row = Row {
            id: self.last_id,
            changed: version,
            value: Arc::new(value),
        };
        self.rows.insert(key, row);
    }

    /// A row is gone from `version` on, if it was there.
    pub(super) fn remove(&mut self, key: &K, version: u64) {
        let Some(row) = self.rows.remove(key) else {
            return;
        };
        self.gone.push_back((version, row.id));
        while self.gone.len() > GONE
            && let Some((version, _)) = self.gone.pop_front()
        {
            self.forgotten = version;
        }
    }

    pub(super) fn rows_and_gone(&self) -> Rows<T> {
        let rows = self.rows.values();
        Rows {
            rows: rows.map(|row| (row.id, row.changed, Arc::clone(&row.value))).collect(),
            gone: self.gone.iter().copied().collect(),
            forgotten: self.forgotten,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Shown for u32 {
        fn differs(&self, other: &Self) -> bool {
            self != other
        }
    }

    #[test]
    fn a_row_that_is_set_to_what_it_was_has_not_changed() {
        let mut table = Table::new();
        table.set("one", 1, 1);
        table.set("one", 1, 2);
        assert_eq!(table.rows_and_gone().rows[0].1, 1);
        table.set("one", 2, 3);
        assert_eq!(table.rows_and_gone().rows[0].1, 3);
    }

    #[test]
    fn what_went_is_remembered_up_to_a_bound_and_a_row_that_comes_back_is_another() {
        let mut table = Table::new();
        for version in 1..=5000 {
            table.set("one", 1, version);
            table.remove(&"one", version);
        }
        table.set("one", 1, 5001);
        let rows = table.rows_and_gone();
        assert_eq!((rows.gone.len(), rows.forgotten), (GONE, 3000));
        assert_eq!((rows.gone[GONE - 1], rows.rows[0].0), ((5000, 5000), 5001));
    }
}
