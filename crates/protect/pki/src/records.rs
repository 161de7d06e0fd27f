//! The authority's records: every certificate it ever made and every revocation list, in SQLite.

mod entry;
mod invitation;
mod own;
mod register;
mod schema;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use time::OffsetDateTime;

use crate::profile::Issuance;
use crate::{Certificate, Error, Serial, files};

pub use entry::{Entry, Origin, Phase, Reason, Role, State};
pub(crate) use invitation::{Stored, bind, close, close_expired, insert_invitation};
pub(crate) use own::{Own, insert_new_with_old, set_phase};
pub use register::Register;
pub(crate) use register::find;

/// File of the records in the authority's directory.
pub(crate) const FILE: &str = "ca.sqlite";

/// How long to wait for another process that reads or writes the records.
const BUSY: Duration = Duration::from_secs(10);

const COLUMNS: &str =
    "serial, role, issuer, name, origin, state, created, revoked, reason, destination, carries_key, replaces, der";

/// An open database of records.
#[derive(Debug)]
pub(crate) struct Records {
    connection: Connection,
}

/// A revocation list as it was signed.
#[derive(Debug, Clone)]
pub(crate) struct StoredList {
    pub(crate) number: u64,
    pub(crate) next_update: OffsetDateTime,
    pub(crate) der: Vec<u8>,
}

impl Records {
    /// Makes the records of a new authority.
    pub(crate) fn create(path: &Path, issuance: &Issuance) -> Result<Self, Error> {
        let mut records = Self {
            connection: configure(Connection::open(path)?)?,
        };
        files::for_owner_alone(path)?;
        let transaction = records.begin()?;
        transaction.execute_batch(schema::VERSION_1)?;
        transaction.execute_batch(schema::VERSION_2)?;
        transaction.execute_batch(schema::VERSION_3)?;
        transaction.execute_batch(schema::VERSION_4)?;
        transaction.pragma_update(None, "user_version", schema::VERSION)?;
        transaction.execute(
            "INSERT INTO issuance (id, organization, country, crl_url) VALUES (1, ?1, ?2, ?3)",
            params![issuance.organization, issuance.country, issuance.crl_url],
        )?;
        transaction.commit()?;
        Ok(records)
    }

    /// Opens the records of an authority for writing; those of an older version become ones of this.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let mut records = Self::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let transaction = records.begin()?;
        let found = version(&transaction)?;
        if found == 1 {
            // Invitations have secrets; records without them were for everybody whom the directory let in.
            files::for_owner_alone(path)?;
            transaction.execute_batch(schema::VERSION_2)?;
        }
        if found < 3 {
            transaction.execute_batch(schema::VERSION_3)?;
        }
        if found < schema::VERSION {
            transaction.execute_batch(schema::VERSION_4)?;
            transaction.pragma_update(None, "user_version", schema::VERSION)?;
        }
        transaction.commit()?;
        Ok(records)
    }

    /// Opens the records for reading; they may still be repaired after a crash of a writer.
    pub(crate) fn open_with(path: &Path, access: OpenFlags) -> Result<Self, Error> {
        let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        let connection = configure(connection)?;
        let found = version(&connection)?;
        if !(1..=schema::VERSION).contains(&found) {
            return Err(Error::RecordsVersion {
                found,
                known: schema::VERSION,
            });
        }
        Ok(Self { connection })
    }

    /// Begins a transaction that holds the right to write from its start.
    pub(crate) fn begin(&mut self) -> Result<Transaction<'_>, Error> {
        Ok(self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    pub(crate) fn issuance(&self) -> Result<Issuance, Error> {
        let sql = "SELECT organization, country, crl_url FROM issuance WHERE id = 1";
        Ok(self.connection.query_row(sql, [], |row| {
            Ok(Issuance {
                organization: row.get(0)?,
                country: row.get(1)?,
                crl_url: row.get(2)?,
            })
        })?)
    }

    /// Every certificate, oldest first.
    pub(crate) fn all(&self) -> Result<Vec<Entry>, Error> {
        select(&self.connection, "ORDER BY created, rowid", params![])
    }

    /// Every certificate in the order in which they were recorded, whatever the clock said.
    pub(crate) fn in_order(&self) -> Result<Vec<Entry>, Error> {
        select(&self.connection, "ORDER BY rowid", params![])
    }

    /// The certificate with this serial number.
    pub(crate) fn by_serial(&self, serial: Serial) -> Result<Option<Entry>, Error> {
        Ok(select(&self.connection, "WHERE serial = ?1", params![serial.as_bytes()])?.pop())
    }

    /// Every certificate with this name, oldest first.
    pub(crate) fn by_name(&self, name: &str) -> Result<Vec<Entry>, Error> {
        select(
            &self.connection,
            "WHERE name = ?1 ORDER BY created, rowid",
            params![name],
        )
    }

    pub(crate) fn by_state(&self, state: State) -> Result<Vec<Entry>, Error> {
        select(
            &self.connection,
            "WHERE state = ?1 ORDER BY created, rowid",
            params![state.name()],
        )
    }

    /// The newest revocation list of an issuer.
    pub(crate) fn list(&self, issuer: Serial) -> Result<Option<StoredList>, Error> {
        newest_list(&self.connection, issuer)
    }
}

fn version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Full synchronisation: what was committed survives the loss of power. What is deleted is overwritten: it was a secret.
fn configure(connection: Connection) -> Result<Connection, Error> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Writes a certificate's record.
pub(crate) fn insert(transaction: &Transaction<'_>, entry: &Entry) -> Result<(), Error> {
    transaction.execute(
        &format!("INSERT INTO certificate ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"),
        params![
            entry.serial.as_bytes(),
            entry.role.name(),
            entry.issuer.as_bytes(),
            entry.name,
            entry.origin.name(),
            entry.state.name(),
            entry.created.unix_timestamp(),
            entry.revoked.map(OffsetDateTime::unix_timestamp),
            entry.reason.map(Reason::name),
            entry.destination,
            entry.carries_key,
            entry.replaces.as_ref().map(Serial::as_bytes),
            entry.certificate.der(),
        ],
    )?;
    Ok(())
}

/// Writes the state of a recorded certificate: what happened to it after its issuance.
pub(crate) fn update_state(transaction: &Transaction<'_>, entry: &Entry) -> Result<(), Error> {
    transaction.execute(
        "UPDATE certificate SET state = ?2, revoked = ?3, reason = ?4, destination = ?5 WHERE serial = ?1",
        params![
            entry.serial.as_bytes(),
            entry.state.name(),
            entry.revoked.map(OffsetDateTime::unix_timestamp),
            entry.reason.map(Reason::name),
            entry.destination,
        ],
    )?;
    Ok(())
}

/// The revoked and abandoned certificates of an issuer that end after `since`.
pub(crate) fn revoked(connection: &Connection, issuer: Serial, since: OffsetDateTime) -> Result<Vec<Entry>, Error> {
    let entries = select(
        connection,
        "WHERE issuer = ?1 AND revoked IS NOT NULL ORDER BY revoked, serial",
        params![issuer.as_bytes()],
    )?;
    Ok(entries
        .into_iter()
        .filter(|entry| entry.certificate.ends() > since)
        .collect())
}

/// Records a signed revocation list.
pub(crate) fn insert_list(
    transaction: &Transaction<'_>,
    issuer: Serial,
    number: u64,
    next_update: OffsetDateTime,
    der: &[u8],
) -> Result<(), Error> {
    let number =
        i64::try_from(number).map_err(|_| Error::RecordsDamaged("the revocation list number ran out".to_owned()))?;
    transaction.execute(
        "INSERT INTO revocation_list (issuer, number, next_update, der) VALUES (?1, ?2, ?3, ?4)",
        params![issuer.as_bytes(), number, next_update.unix_timestamp(), der],
    )?;
    Ok(())
}

pub(crate) fn newest_list(connection: &Connection, issuer: Serial) -> Result<Option<StoredList>, Error> {
    let row = connection
        .query_row(
            "SELECT number, next_update, der FROM revocation_list WHERE issuer = ?1 ORDER BY number DESC LIMIT 1",
            params![issuer.as_bytes()],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Vec<u8>>(2)?)),
        )
        .optional()?;
    row.map(|(number, next_update, der)| {
        Ok(StoredList {
            number: u64::try_from(number)
                .map_err(|_| Error::RecordsDamaged("a negative revocation list number".to_owned()))?,
            next_update: moment(next_update)?,
            der,
        })
    })
    .transpose()
}

/// A row as SQLite gives it, before its values are understood.
struct RawEntry {
    serial: Vec<u8>,
    role: String,
    issuer: Vec<u8>,
    name: String,
    origin: String,
    state: String,
    created: i64,
    revoked: Option<i64>,
    reason: Option<String>,
    destination: Option<String>,
    carries_key: bool,
    replaces: Option<Vec<u8>>,
    der: Vec<u8>,
}

fn select(connection: &Connection, condition: &str, values: impl rusqlite::Params) -> Result<Vec<Entry>, Error> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM certificate {condition}"))?;
    let rows = statement.query_map(values, |row: &Row<'_>| {
        Ok(RawEntry {
            serial: row.get(0)?,
            role: row.get(1)?,
            issuer: row.get(2)?,
            name: row.get(3)?,
            origin: row.get(4)?,
            state: row.get(5)?,
            created: row.get(6)?,
            revoked: row.get(7)?,
            reason: row.get(8)?,
            destination: row.get(9)?,
            carries_key: row.get(10)?,
            replaces: row.get(11)?,
            der: row.get(12)?,
        })
    })?;
    rows.map(|row| row.map_err(Error::from).and_then(understand)).collect()
}

fn understand(raw: RawEntry) -> Result<Entry, Error> {
    let serial = Serial::from_bytes(&raw.serial)?;
    Ok(Entry {
        certificate: Certificate::from_der(&raw.der, &format!("record {serial}"))?,
        serial,
        role: Role::from_name(&raw.role)?,
        issuer: Serial::from_bytes(&raw.issuer)?,
        name: raw.name,
        origin: Origin::from_name(&raw.origin)?,
        state: State::from_name(&raw.state)?,
        created: moment(raw.created)?,
        revoked: raw.revoked.map(moment).transpose()?,
        reason: raw.reason.as_deref().map(Reason::from_name).transpose()?,
        destination: raw.destination,
        carries_key: raw.carries_key,
        replaces: raw.replaces.as_deref().map(Serial::from_bytes).transpose()?,
    })
}

fn moment(seconds: i64) -> Result<OffsetDateTime, Error> {
    OffsetDateTime::from_unix_timestamp(seconds)
        .map_err(|_| Error::RecordsDamaged(format!("{seconds} is not a moment in time")))
}
