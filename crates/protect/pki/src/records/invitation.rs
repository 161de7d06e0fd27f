//! Invitations as the records keep them.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::{Records, moment};
use crate::{Error, Serial};

/// A row of the invitations.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) reference: String,
    /// None once it is closed, and where a vendor's certificate takes its place.
    pub(crate) secret: Option<Zeroizing<String>>,
    /// Name in the vendor's certificate, and its root, DER.
    pub(crate) vendor: Option<(String, Vec<u8>)>,
    pub(crate) name: String,
    /// One name a line, as OpenSSL writes them.
    pub(crate) names: String,
    pub(crate) functions: String,
    pub(crate) profile: String,
    pub(crate) days: u32,
    pub(crate) long_life: bool,
    pub(crate) classical: bool,
    pub(crate) created: OffsetDateTime,
    pub(crate) expires: OffsetDateTime,
    pub(crate) serial: Option<Serial>,
    pub(crate) closed: Option<OffsetDateTime>,
}

const COLUMNS: &str = "reference, secret, vendor, root, name, names, functions, profile, days, long_life, classical, created, expires, serial, closed";

impl Records {
    pub(crate) fn invitation(&self, reference: &str) -> Result<Option<Stored>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM invitation WHERE reference = ?1");
        self.connection
            .query_row(&sql, [reference], raw)
            .optional()?
            .map(understand)
            .transpose()
    }

    /// Every invitation, oldest first.
    pub(crate) fn invitations(&self) -> Result<Vec<Stored>, Error> {
        self.chosen("ORDER BY created, rowid", [])
    }

    /// Every invitation by this name in a vendor's certificate that is not closed, oldest first.
    pub(crate) fn of_vendor(&self, name: &str) -> Result<Vec<Stored>, Error> {
        self.chosen("WHERE closed IS NULL AND vendor = ?1 ORDER BY created, rowid", [name])
    }

    fn chosen(&self, condition: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM invitation {condition}");
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(values, raw)?;
        rows.map(|row| row.map_err(Error::from).and_then(understand)).collect()
    }
}

pub(crate) fn insert_invitation(transaction: &Transaction<'_>, stored: &Stored) -> Result<(), Error> {
    transaction.execute(
        &format!("INSERT INTO invitation ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"),
        params![
            stored.reference,
            stored.secret.as_ref().map(|secret| secret.as_str()),
            stored.vendor.as_ref().map(|(name, _)| name),
            stored.vendor.as_ref().map(|(_, root)| root),
            stored.name,
            stored.names,
            stored.functions,
            stored.profile,
            stored.days,
            stored.long_life,
            stored.classical,
            stored.created.unix_timestamp(),
            stored.expires.unix_timestamp(),
            stored.serial.as_ref().map(Serial::as_bytes),
            stored.closed.map(OffsetDateTime::unix_timestamp),
        ],
    )?;
    Ok(())
}

/// Says which certificate an invitation got. False where it got one before, or is closed.
pub(crate) fn bind(transaction: &Transaction<'_>, reference: &str, serial: Serial) -> Result<bool, Error> {
    let changed = transaction.execute(
        "UPDATE invitation SET serial = ?2 WHERE reference = ?1 AND serial IS NULL AND closed IS NULL",
        params![reference, serial.as_bytes()],
    )?;
    Ok(changed == 1)
}

/// Closes an invitation and forgets its secret. False where it was not open.
pub(crate) fn close(transaction: &Transaction<'_>, reference: &str, now: OffsetDateTime) -> Result<bool, Error> {
    let changed = transaction.execute(
        "UPDATE invitation SET closed = ?2, secret = NULL WHERE reference = ?1 AND closed IS NULL",
        params![reference, now.unix_timestamp()],
    )?;
    Ok(changed == 1)
}

/// Closes invitations whose time is over, and forgets their secrets. A second record, more than a
/// day old, must confirm that their time is over: a clock that is once ahead closes nothing.
pub(crate) fn close_expired(transaction: &Transaction<'_>, now: OffsetDateTime) -> Result<(), Error> {
    transaction.execute(
        "UPDATE invitation SET closed = expires, secret = NULL
         WHERE closed IS NULL AND expires < ?1 AND expires < (SELECT max(created) FROM invitation WHERE created < ?1 - 86400)",
        [now.unix_timestamp()],
    )?;
    Ok(())
}

type Raw = (
    (String, Option<String>, Option<String>, Option<Vec<u8>>),
    (String, String, String, String),
    (u32, bool, bool),
    (i64, i64, Option<Vec<u8>>, Option<i64>),
);

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok((
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?),
        (row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?),
        (row.get(8)?, row.get(9)?, row.get(10)?),
        (row.get(11)?, row.get(12)?, row.get(13)?, row.get(14)?),
    ))
}

fn understand(raw: Raw) -> Result<Stored, Error> {
    let ((reference, secret, vendor, root), (name, names, functions, profile), (days, long_life, classical), rest) =
        raw;
    let (created, expires, serial, closed) = rest;
    Ok(Stored {
        reference,
        secret: secret.map(Zeroizing::new),
        vendor: vendor.zip(root),
        name,
        names,
        functions,
        profile,
        days,
        long_life,
        classical,
        created: moment(created)?,
        expires: moment(expires)?,
        serial: serial.as_deref().map(Serial::from_bytes).transpose()?,
        closed: closed.map(moment).transpose()?,
    })
}
