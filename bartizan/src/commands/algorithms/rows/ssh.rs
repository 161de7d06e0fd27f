//! SSH's tables: names are all that stands on the wire.

use bartizan_registry::{SshKeyExchange, SshPublicKey, Status};

use super::super::table::{Cell, Column};
use super::{Listed, safety, status};
use crate::table::Side::{Left, Right};

impl Listed for SshKeyExchange {
    const COLUMNS: &'static [Column] = &[
        ("NAME", Left),
        ("CAT", Right),
        ("RECORDING", Left),
        ("DEFINED IN", Left),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.name),
            Cell::of(self.category.map(|category| category.0)),
            safety(Some(self.recording)),
            status(&self.status),
        ]
    }

    fn code(&self) -> String {
        self.name.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for SshPublicKey {
    const COLUMNS: &'static [Column] = &[("NAME", Left), ("FORGERY", Left), ("DEFINED IN", Left)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::plain(self.name), safety(Some(self.forgery)), status(&self.status)]
    }

    fn code(&self) -> String {
        self.name.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn status(&self) -> &Status {
        &self.status
    }

    fn note(&self) -> Option<&'static str> {
        None
    }
}
