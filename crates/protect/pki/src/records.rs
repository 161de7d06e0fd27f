//! The authority's records: every certificate it ever made and every revocation list, in SQLite.

mod entry;
mod invitation;
mod own;
mod register;
mod schema;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Statement, Transaction, TransactionBehavior, params};
use time::OffsetDateTime;

use crate::profile::Issuance;
use crate::{Certificate, Error, PublicKey, Serial, files};

pub use entry::{Entry, Origin, Phase, Reason, Role, State};
pub(crate) use invitation::{Stored, bind, close, close_expired, insert_invitation};
pub(crate) use own::{Own, insert_new_with_old, set_phase};
pub use register::Register;
pub(crate) use register::find;

/// File of the records in the authority's directory.
pub(crate) const FILE: &str = "ca.sqlite";

/// Time to wait for another process that reads or writes the records.
const BUSY: Duration = Duration::from_secs(10);

const COLUMNS: &str =
    "serial, role, issuer, name, origin, state, created, revoked, reason, destination, carries_key, replaces";

const CERTIFICATES: &str = "certificate CROSS JOIN certificate_der ON certificate_der.id = certificate.rowid";

const UPDATES: &str =
    "SELECT count(*) FROM certificate WHERE name = ?1 AND replaces IS NOT NULL AND created > ?2 AND created <= ?3";
const ISSUED: &str = "SELECT count(*) FROM certificate WHERE name = ?1 AND created > ?2 AND created <= ?3";
const REVOKED: &str = "SELECT serial, revoked, reason FROM certificate WHERE issuer = ?1 AND revoked IS NOT NULL AND ends > ?2 ORDER BY revoked, serial";

/// Revocation lists that are kept of each issuer.
const LISTS: u64 = 3;

/// An open database of records.
#[derive(Debug)]
pub(crate) struct Records {
    connection: Connection,
}

/// A revocation list as it was signed.
#[derive(Debug, Clone)]
pub(crate) struct StoredList {
    pub(crate) number: u64,
    pub(crate) this_update: OffsetDateTime,
    pub(crate) next_update: OffsetDateTime,
    /// Empty where only the times were asked for.
    pub(crate) der: Vec<u8>,
}

/// An entry of a revocation list.
#[derive(Debug, Clone)]
pub(crate) struct RevokedEntry {
    pub(crate) serial: Serial,
    pub(crate) revoked: OffsetDateTime,
    pub(crate) reason: Option<Reason>,
}

impl Records {
    /// Makes the records of a new authority.
    pub(crate) fn create(path: &Path, issuance: &Issuance) -> Result<Self, Error> {
        let mut records = Self {
            connection: configure(Connection::open(path)?)?,
        };
        files::for_owner_alone(path)?;
        let transaction = records.begin()?;
        schema::create(&transaction)?;
        transaction.execute(
            "INSERT INTO issuance (id, organization, country, crl_url) VALUES (1, ?1, ?2, ?3)",
            params![issuance.organization, issuance.country, issuance.crl_url],
        )?;
        transaction.commit()?;
        Ok(records)
    }

    /// Opens the records of an authority; they may still be repaired after a crash of a writer.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = configure(Connection::open_with_flags(path, access)?)?;
        let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found != schema::VERSION {
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
        self.select("ORDER BY created, rowid", params![])
    }

    /// The same, one after the other.
    pub(crate) fn each<E: From<Error>>(&self, mut each: impl FnMut(Entry) -> Result<(), E>) -> Result<(), E> {
        let mut statement = self.prepare("ORDER BY ends, created, rowid")?;
        for row in statement.query_map([], raw).map_err(Error::from)? {
            each(understand(row.map_err(Error::from)?)?)?;
        }
        Ok(())
    }

    /// Every certificate in the order in which they were recorded, whatever the clock said.
    pub(crate) fn in_order(&self) -> Result<Vec<Entry>, Error> {
        self.select("ORDER BY rowid", params![])
    }

    /// The certificate with this serial number.
    pub(crate) fn by_serial(&self, serial: Serial) -> Result<Option<Entry>, Error> {
        Ok(self.select("WHERE serial = ?1", params![serial.as_bytes()])?.pop())
    }

    /// Every certificate with this name, oldest first.
    pub(crate) fn by_name(&self, name: &str) -> Result<Vec<Entry>, Error> {
        self.select("WHERE name = ?1 ORDER BY created, rowid", params![name])
    }

    /// Every certificate for this key, oldest first.
    pub(crate) fn by_key(&self, key: &PublicKey) -> Result<Vec<Entry>, Error> {
        let mut found = self.select("WHERE key = ?1 ORDER BY rowid", params![key.identifier()])?;
        found.retain(|entry| entry.certificate.public_key() == key);
        Ok(found)
    }

    /// Certificates of a name that took another's place since a time, up to `until`.
    pub(crate) fn updates(&self, name: &str, since: OffsetDateTime, until: OffsetDateTime) -> Result<u64, Error> {
        let values = params![name, since.unix_timestamp(), until.unix_timestamp()];
        let number: i64 = self.connection.query_row(UPDATES, values, |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or_default())
    }

    /// Number of certificates of a name that were made after `since`.
    pub(crate) fn issued(&self, name: &str, since: OffsetDateTime, until: OffsetDateTime) -> Result<u64, Error> {
        let values = params![name, since.unix_timestamp(), until.unix_timestamp()];
        let number: i64 = self.connection.query_row(ISSUED, values, |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or_default())
    }

    /// Certificates whose files are not known to be written.
    pub(crate) fn pending(&self) -> Result<Vec<Entry>, Error> {
        self.select("WHERE state = 'pending' ORDER BY created, rowid", params![])
    }

    /// The newest revocation list of an issuer.
    pub(crate) fn list(&self, issuer: Serial) -> Result<Option<StoredList>, Error> {
        newest_list(&self.connection, issuer, "der")
    }

    /// Number and times of the newest revocation list of an issuer.
    pub(crate) fn list_times(&self, issuer: Serial) -> Result<Option<StoredList>, Error> {
        newest_list(&self.connection, issuer, "x''")
    }

    /// A number that another connection's commit changes.
    pub(crate) fn data_version(&self) -> Result<i64, Error> {
        Ok(self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    /// Certificates whose line in the audit log is not known to be written.
    pub(crate) fn unaudited(&self) -> Result<Vec<Entry>, Error> {
        self.select(
            "WHERE serial IN (SELECT serial FROM unaudited) ORDER BY rowid",
            params![],
        )
    }

    fn prepare(&self, condition: &str) -> Result<Statement<'_>, Error> {
        Ok(self
            .connection
            .prepare(&format!("SELECT {COLUMNS}, der FROM {CERTIFICATES} {condition}"))?)
    }

    fn select(&self, condition: &str, values: impl rusqlite::Params) -> Result<Vec<Entry>, Error> {
        let mut statement = self.prepare(condition)?;
        let rows = statement.query_map(values, raw)?;
        rows.map(|row| row.map_err(Error::from).and_then(understand)).collect()
    }
}

/// Full synchronisation: committed data survives the loss of power. Deleted data is overwritten: it
/// was a secret.
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
        &format!("INSERT INTO certificate ({COLUMNS}, ends, key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"),
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
            entry.certificate.ends().unix_timestamp(),
            entry.certificate.public_key().identifier(),
        ],
    )?;
    transaction.execute(
        "INSERT INTO certificate_der (id, der) VALUES (last_insert_rowid(), ?1)",
        params![entry.certificate.der()],
    )?;
    Ok(())
}

/// Notes that a certificate's line in the audit log is to be written.
pub(crate) fn audit_due(transaction: &Transaction<'_>, serial: Serial) -> Result<(), Error> {
    let values = params![serial.as_bytes()];
    transaction.execute("INSERT INTO unaudited (serial) VALUES (?1)", values)?;
    Ok(())
}

/// Notes that it is written.
pub(crate) fn audited(transaction: &Transaction<'_>, serial: Serial) -> Result<(), Error> {
    transaction.execute("DELETE FROM unaudited WHERE serial = ?1", params![serial.as_bytes()])?;
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
pub(crate) fn revoked(
    connection: &Connection,
    issuer: Serial,
    since: OffsetDateTime,
) -> Result<Vec<RevokedEntry>, Error> {
    let mut statement = connection.prepare(REVOKED)?;
    let rows = statement.query_map(params![issuer.as_bytes(), since.unix_timestamp()], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let understand = |(serial, revoked, reason): (Vec<u8>, i64, Option<String>)| {
        Ok(RevokedEntry {
            serial: Serial::from_bytes(&serial)?,
            revoked: moment(revoked)?,
            reason: reason.as_deref().map(Reason::from_name).transpose()?,
        })
    };
    rows.map(|row| row.map_err(Error::from).and_then(understand)).collect()
}

/// Records a signed revocation list; older ones than the newest few go.
pub(crate) fn insert_list(transaction: &Transaction<'_>, issuer: Serial, list: &StoredList) -> Result<(), Error> {
    let number = i64::try_from(list.number)
        .map_err(|_| Error::RecordsDamaged("the revocation list number ran out".to_owned()))?;
    transaction.execute(
        "INSERT INTO revocation_list (issuer, number, this_update, next_update, der) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            issuer.as_bytes(),
            number,
            list.this_update.unix_timestamp(),
            list.next_update.unix_timestamp(),
            list.der
        ],
    )?;
    transaction.execute(
        "DELETE FROM revocation_list WHERE issuer = ?1 AND number <= ?2",
        params![issuer.as_bytes(), number.saturating_sub_unsigned(LISTS)],
    )?;
    set_list_due(transaction, issuer, false)
}

/// Notes whether an issuer has revocations that no list of its has yet.
pub(crate) fn set_list_due(transaction: &Transaction<'_>, issuer: Serial, due: bool) -> Result<(), Error> {
    let values = params![issuer.as_bytes(), due];
    transaction.execute("UPDATE own SET due = ?2 WHERE serial = ?1", values)?;
    Ok(())
}

/// Number of the newest list of an issuer.
pub(crate) fn newest_number(connection: &Connection, issuer: Serial) -> Result<u64, Error> {
    Ok(newest_list(connection, issuer, "x''")?.map_or(0, |newest| newest.number))
}

fn newest_list(connection: &Connection, issuer: Serial, der: &str) -> Result<Option<StoredList>, Error> {
    let row = connection
        .query_row(
            &format!(
                "SELECT number, this_update, next_update, {der} FROM revocation_list WHERE issuer = ?1 ORDER BY number DESC LIMIT 1"
            ),
            params![issuer.as_bytes()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .optional()?;
    row.map(|(number, this_update, next_update, der): (i64, i64, i64, Vec<u8>)| {
        Ok(StoredList {
            number: u64::try_from(number)
                .map_err(|_| Error::RecordsDamaged("a negative revocation list number".to_owned()))?,
            this_update: moment(this_update)?,
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

fn raw(row: &Row<'_>) -> rusqlite::Result<RawEntry> {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    impl Records {
        /// Counts each step of SQLite's virtual machine from now on.
        pub(crate) fn count_steps(&mut self) -> Arc<AtomicU64> {
            let steps = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&steps);
            let count = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                false
            };
            self.connection.progress_handler(1, Some(count)).unwrap();
            steps
        }
    }
}
