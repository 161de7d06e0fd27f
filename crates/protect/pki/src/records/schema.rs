//! The tables. `PRAGMA user_version` says which version a database has.

use rusqlite::{Transaction, params};

use crate::{Certificate, Error};

/// Version this program reads and writes.
pub(super) const VERSION: i64 = 5;

/// A serial number is the primary key: SQLite itself refuses a second certificate with the same number.
/// No certificate is ever deleted.
const VERSION_1: &str = "
CREATE TABLE issuance (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    organization  TEXT,
    country       TEXT,
    crl_url       TEXT
) STRICT;

CREATE TABLE certificate (
    rowid       INTEGER PRIMARY KEY,
    serial      BLOB NOT NULL UNIQUE CHECK (length(serial) = 16),
    role        TEXT NOT NULL CHECK (role IN ('root', 'intermediate', 'network-function')),
    issuer      BLOB NOT NULL REFERENCES certificate (serial),
    name        TEXT NOT NULL,
    origin      TEXT NOT NULL CHECK (origin IN ('generated', 'request')),
    state       TEXT NOT NULL CHECK (state IN ('pending', 'issued', 'revoked', 'abandoned')),
    created     INTEGER NOT NULL,
    revoked     INTEGER,
    reason      TEXT,
    destination TEXT,
    carries_key INTEGER NOT NULL CHECK (carries_key IN (0, 1)),
    replaces    BLOB REFERENCES certificate (serial),
    der         BLOB NOT NULL,
    CHECK ((state IN ('revoked', 'abandoned')) = (revoked IS NOT NULL)),
    CHECK ((revoked IS NULL) = (reason IS NULL)),
    CHECK (state != 'pending' OR destination IS NOT NULL)
) STRICT;

CREATE INDEX certificate_name ON certificate (name);

CREATE TABLE revocation_list (
    issuer      BLOB NOT NULL REFERENCES certificate (serial),
    number      INTEGER NOT NULL CHECK (number > 0),
    next_update INTEGER NOT NULL,
    der         BLOB NOT NULL,
    PRIMARY KEY (issuer, number)
) STRICT;
";

/// Invitations: who may enrol by a secret or by a vendor's certificate (its root, DER, and the name in it), and what it then gets. `serial`
/// is the certificate it got, `closed` when no more is given on it, and the secret is gone from then on.
const VERSION_2: &str = "
CREATE TABLE invitation (
    reference TEXT NOT NULL PRIMARY KEY,
    secret    TEXT,
    vendor    TEXT,
    root      BLOB,
    name      TEXT NOT NULL,
    names     TEXT NOT NULL,
    functions TEXT NOT NULL,
    profile   TEXT NOT NULL,
    days      INTEGER NOT NULL CHECK (days > 0),
    long_life INTEGER NOT NULL CHECK (long_life IN (0, 1)),
    classical INTEGER NOT NULL CHECK (classical IN (0, 1)),
    created   INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    serial    BLOB UNIQUE REFERENCES certificate (serial),
    closed    INTEGER,
    CHECK ((vendor IS NULL) = (root IS NULL)),
    CHECK ((secret IS NOT NULL) = (closed IS NULL AND vendor IS NULL))
) STRICT;
";

/// Where each of the authority's own certificates is in its succession, and since when. Authorities of before had one of each.
const VERSION_3: &str = "
CREATE TABLE own (
    serial BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    phase  TEXT NOT NULL CHECK (phase IN ('next', 'current', 'previous', 'retired')),
    since  INTEGER NOT NULL
) STRICT;

INSERT INTO own (serial, phase, since) SELECT serial, 'current', created FROM certificate WHERE role != 'network-function';
";

/// Name and key of a root once more, signed by the root whose place it takes (RFC 9810, section 4.4): it is handed to who asks, and stands in no list of
/// certificates.
const VERSION_4: &str = "
CREATE TABLE new_with_old (
    root   BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    serial BLOB NOT NULL UNIQUE CHECK (length(serial) = 16),
    der    BLOB NOT NULL
) STRICT;
";

/// Certificates apart from what is searched, with the columns and indexes by which nothing is scanned; a few lists of each issuer; serial
/// numbers whose line in the audit log is not known to be written. [`fill`] gives the new columns of older records their values.
const VERSION_5: &str = "
CREATE TABLE certificate_der (
    id  INTEGER PRIMARY KEY REFERENCES certificate (rowid),
    der BLOB NOT NULL
) STRICT;

INSERT INTO certificate_der (id, der) SELECT rowid, der FROM certificate;
ALTER TABLE certificate DROP COLUMN der;
ALTER TABLE certificate ADD COLUMN ends INTEGER;
ALTER TABLE certificate ADD COLUMN key BLOB;
CREATE INDEX certificate_pending ON certificate (created) WHERE state = 'pending';
CREATE INDEX certificate_own ON certificate (created) WHERE role != 'network-function';
CREATE INDEX certificate_revoked ON certificate (issuer, revoked, serial, ends, reason) WHERE revoked IS NOT NULL;
CREATE INDEX certificate_key ON certificate (key);
CREATE INDEX certificate_update ON certificate (name, created) WHERE replaces IS NOT NULL;
CREATE INDEX invitation_vendor ON invitation (created) WHERE closed IS NULL AND vendor IS NOT NULL;

ALTER TABLE own ADD COLUMN due INTEGER NOT NULL DEFAULT 0 CHECK (due IN (0, 1));

CREATE TABLE newest_list (
    issuer      BLOB NOT NULL REFERENCES certificate (serial),
    number      INTEGER NOT NULL CHECK (number > 0),
    this_update INTEGER,
    next_update INTEGER NOT NULL,
    der         BLOB NOT NULL,
    PRIMARY KEY (issuer, number)
) STRICT;

INSERT INTO newest_list (issuer, number, next_update, der)
    SELECT issuer, number, next_update, der FROM revocation_list AS list
    WHERE number = (SELECT max(number) FROM revocation_list WHERE issuer = list.issuer);
DROP TABLE revocation_list;
ALTER TABLE newest_list RENAME TO revocation_list;

CREATE TABLE unaudited (
    serial BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial)
) STRICT, WITHOUT ROWID;
";

/// Makes the tables of this version from those of another, 0 being none.
pub(super) fn migrate(transaction: &Transaction<'_>, from: i64) -> Result<(), Error> {
    let steps = [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];
    for step in steps.iter().skip(usize::try_from(from).unwrap_or_default()) {
        transaction.execute_batch(step)?;
    }
    fill(transaction)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

fn fill(transaction: &Transaction<'_>) -> Result<(), Error> {
    let mut all = transaction.prepare("SELECT id, der FROM certificate_der")?;
    let mut write = transaction.prepare("UPDATE certificate SET ends = ?2, key = ?3 WHERE rowid = ?1")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (id, der): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let certificate = Certificate::from_der(&der, &format!("record {id}"))?;
        let (ends, key) = (certificate.ends(), certificate.public_key());
        write.execute(params![id, ends.unix_timestamp(), key.identifier()])?;
    }
    Ok(())
}
