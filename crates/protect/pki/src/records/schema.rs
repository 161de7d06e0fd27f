//! The tables. `PRAGMA user_version` says which version a database has.

use rusqlite::Transaction;

use crate::Error;

/// Version this program reads and writes.
pub(super) const VERSION: i64 = 1;

/// A serial number is unique: SQLite itself refuses a second certificate with the same number. No
/// certificate is ever deleted.
const CERTIFICATES: &str = "
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
    ends        INTEGER NOT NULL,
    revoked     INTEGER,
    reason      TEXT,
    destination TEXT,
    carries_key INTEGER NOT NULL CHECK (carries_key IN (0, 1)),
    key         BLOB NOT NULL,
    replaces    BLOB REFERENCES certificate (serial),
    CHECK ((state IN ('revoked', 'abandoned')) = (revoked IS NOT NULL)),
    CHECK ((revoked IS NULL) = (reason IS NULL)),
    CHECK (state != 'pending' OR destination IS NOT NULL)
) STRICT;

CREATE INDEX certificate_name ON certificate (name);
CREATE INDEX certificate_pending ON certificate (created) WHERE state = 'pending';
CREATE INDEX certificate_own ON certificate (created) WHERE role != 'network-function';
CREATE INDEX certificate_revoked ON certificate (issuer, revoked, serial, ends, reason) WHERE revoked IS NOT NULL;
CREATE INDEX certificate_key ON certificate (key);
CREATE INDEX certificate_update ON certificate (name, created) WHERE replaces IS NOT NULL;
";

/// Certificates themselves, apart from what is searched.
const CERTIFICATE_BYTES: &str = "
CREATE TABLE certificate_der (
    id  INTEGER PRIMARY KEY REFERENCES certificate (rowid),
    der BLOB NOT NULL
) STRICT;
";

/// The newest few revocation lists of each issuer.
const LISTS: &str = "
CREATE TABLE revocation_list (
    issuer      BLOB NOT NULL REFERENCES certificate (serial),
    number      INTEGER NOT NULL CHECK (number > 0),
    this_update INTEGER NOT NULL,
    next_update INTEGER NOT NULL,
    der         BLOB NOT NULL,
    PRIMARY KEY (issuer, number)
) STRICT;
";

/// Serial numbers whose line in the audit log is not known to be written.
const UNAUDITED: &str = "
CREATE TABLE unaudited (
    serial BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial)
) STRICT, WITHOUT ROWID;
";

/// Invitations to enrol by a secret, or by a vendor's certificate (its root, DER, and the name in
/// it), and the certificates they give. `serial` is the certificate that was given. `closed` is
/// when the invitation gives no more; the secret is gone from then on.
const INVITATIONS: &str = "
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

CREATE INDEX invitation_created ON invitation (created);
CREATE INDEX invitation_open ON invitation (expires) WHERE closed IS NULL;
CREATE INDEX invitation_vendor ON invitation (vendor, created) WHERE closed IS NULL AND vendor IS NOT NULL;
";

/// The place of each of the authority's own certificates in its succession, since when, and a
/// revocation list that is due.
const OWN: &str = "
CREATE TABLE own (
    serial BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    phase  TEXT NOT NULL CHECK (phase IN ('next', 'current', 'previous', 'retired')),
    since  INTEGER NOT NULL,
    due    INTEGER NOT NULL DEFAULT 0 CHECK (due IN (0, 1))
) STRICT;
";

/// Name and key of a root once more, signed by the root whose place it takes (RFC 9810, section
/// 4.4). It is given to a client that asks, and is in no list of certificates.
const NEW_WITH_OLD: &str = "
CREATE TABLE new_with_old (
    root   BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    serial BLOB NOT NULL UNIQUE CHECK (length(serial) = 16),
    der    BLOB NOT NULL
) STRICT;
";

/// Makes the tables.
pub(super) fn create(transaction: &Transaction<'_>) -> Result<(), Error> {
    for tables in [
        CERTIFICATES,
        CERTIFICATE_BYTES,
        LISTS,
        UNAUDITED,
        INVITATIONS,
        OWN,
        NEW_WITH_OLD,
    ] {
        transaction.execute_batch(tables)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}
