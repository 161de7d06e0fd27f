//! The authority's own certificates in their succession.

use rusqlite::{OptionalExtension, Transaction, params};
use time::OffsetDateTime;

use super::{Entry, Phase, Records, Role, moment};
use crate::{Certificate, Error, Serial};

/// One of the authority's own certificates.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    pub(crate) entry: Entry,
    pub(crate) phase: Phase,
    pub(crate) since: OffsetDateTime,
    /// Some of its revocations are on no list yet.
    pub(crate) list_due: bool,
}

impl Records {
    /// The authority's own certificates, oldest first.
    pub(crate) fn own(&self) -> Result<Vec<Own>, Error> {
        let entries = self.select("WHERE role != 'network-function' ORDER BY created, rowid", params![])?;
        let sql = "SELECT phase, since, due FROM own WHERE serial = ?1";
        let mut statement = self.connection.prepare(sql)?;
        let own = |entry: Entry| {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get(2)?));
            let (phase, since, list_due) = statement.query_row(params![entry.serial.as_bytes()], read)?;
            Ok(Own {
                entry,
                phase: Phase::from_name(&phase)?,
                since: moment(since)?,
                list_due,
            })
        };
        entries.into_iter().map(own).collect()
    }

    /// The one of this role that signs.
    pub(crate) fn current(&self, role: Role) -> Result<Option<Entry>, Error> {
        let own = self.own()?.into_iter().rev();
        let current = own.map(|own| (own.phase, own.entry));
        let mut current = current.filter(|(phase, entry)| *phase == Phase::Current && entry.role == role);
        Ok(current.next().map(|(_, entry)| entry))
    }

    /// The certificate of a root's key by the root whose place it takes, where one was made.
    pub(crate) fn new_with_old(&self, root: Serial) -> Result<Option<Certificate>, Error> {
        let sql = "SELECT der FROM new_with_old WHERE root = ?1";
        let der = self
            .connection
            .query_row(sql, params![root.as_bytes()], |row| row.get::<_, Vec<u8>>(0));
        der.optional()?
            .map(|der| Certificate::from_der(&der, &format!("newWithOld of {root}")))
            .transpose()
    }

    /// The root that signs.
    pub(crate) fn root(&self) -> Result<Entry, Error> {
        self.current(Role::Root)?
            .ok_or_else(|| Error::RecordsDamaged("no root certificate".to_owned()))
    }
}

/// Writes where one of the authority's own certificates is from now on.
pub(crate) fn set_phase(
    transaction: &Transaction<'_>,
    serial: Serial,
    phase: Phase,
    since: OffsetDateTime,
) -> Result<(), Error> {
    transaction.execute(
        "INSERT INTO own (serial, phase, since) VALUES (?1, ?2, ?3)
         ON CONFLICT (serial) DO UPDATE SET phase = excluded.phase, since = excluded.since",
        params![serial.as_bytes(), phase.name(), since.unix_timestamp()],
    )?;
    Ok(())
}

/// Records the certificate of a root's key by the root whose place it takes.
pub(crate) fn insert_new_with_old(
    transaction: &Transaction<'_>,
    root: Serial,
    serial: Serial,
    certificate: &Certificate,
) -> Result<(), Error> {
    transaction.execute(
        "INSERT INTO new_with_old (root, serial, der) VALUES (?1, ?2, ?3)",
        params![root.as_bytes(), serial.as_bytes(), certificate.der()],
    )?;
    Ok(())
}
