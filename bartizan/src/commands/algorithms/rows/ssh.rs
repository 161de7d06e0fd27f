//! SSH's tables: names are all that stands on the wire.

use bartizan_registry::{SshKeyExchange, SshPublicKey, Standing};

use super::super::table::{Cell, Column};
use super::{Listed, safety, standing};
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
            standing(&self.standing),
        ]
    }

    fn code(&self) -> String {
        self.name.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn standing(&self) -> &Standing {
        &self.standing
    }

    fn note(&self) -> Option<&'static str> {
        self.note
    }
}

impl Listed for SshPublicKey {
    const COLUMNS: &'static [Column] = &[("NAME", Left), ("FORGERY", Left), ("DEFINED IN", Left)];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.name),
            safety(Some(self.forgery)),
            standing(&self.standing),
        ]
    }

    fn code(&self) -> String {
        self.name.to_owned()
    }

    fn names(&self) -> Vec<Option<&'static str>> {
        vec![Some(self.name)]
    }

    fn standing(&self) -> &Standing {
        &self.standing
    }

    fn note(&self) -> Option<&'static str> {
        None
    }
}
