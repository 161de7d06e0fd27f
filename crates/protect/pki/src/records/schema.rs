//! The tables. `PRAGMA user_version` says which version a database has.

/// Version this program reads and writes.
pub(super) const VERSION: i64 = 1;

/// A serial number is the primary key: SQLite itself refuses a second certificate with the same number.
/// Nothing is ever deleted from these tables.
pub(super) const VERSION_1: &str = "
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
