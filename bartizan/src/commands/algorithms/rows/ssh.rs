//! SSH's tables: names are all that stands on the wire.

use bartizan_registry::{SshKeyExchange, SshPublicKey};

use super::super::table::Cell;
use super::{Entry, Listed, safety, status};
use crate::table::Side::{Left, Right};

impl Listed for SshKeyExchange {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.name.to_owned(),
            names: vec![Some(self.name)],
            status: &self.status,
            note: self.note,
            cells: vec![
                ("NAME", Left, Cell::plain(self.name)),
                ("CAT", Right, Cell::of(self.category.map(|category| category.0))),
                ("RECORDING", Left, safety(Some(self.recording))),
                ("DEFINED IN", Left, status(&self.status)),
            ],
        }
    }
}

impl Listed for SshPublicKey {
    fn entry(&'static self) -> Entry {
        Entry {
            code: self.name.to_owned(),
            names: vec![Some(self.name)],
            status: &self.status,
            note: None,
            cells: vec![
                ("NAME", Left, Cell::plain(self.name)),
                ("FORGERY", Left, safety(Some(self.forgery))),
                ("DEFINED IN", Left, status(&self.status)),
            ],
        }
    }
}
