//! SSH's tables: names are all that stands on the wire.

use bartizan_registry::{SshKeyExchange, SshPublicKey};

use super::super::table::Cell;
use super::{Entry, Listed, safety, status};
use crate::table::Side::{Left, Right};

listed!(
    |row: SshKeyExchange| row.name.to_owned(),
    [Some(row.name)],
    row.note,
    [
        ("NAME", Left, Cell::plain(row.name)),
        ("CAT", Right, Cell::of(row.category.map(|category| category.0))),
        ("RECORDING", Left, safety(Some(row.recording))),
        ("DEFINED IN", Left, status(&row.status)),
    ]
);

listed!(
    |row: SshPublicKey| row.name.to_owned(),
    [Some(row.name)],
    None,
    [
        ("NAME", Left, Cell::plain(row.name)),
        ("FORGERY", Left, safety(Some(row.forgery))),
        ("DEFINED IN", Left, status(&row.status)),
    ]
);
