//! The tables. `PRAGMA user_version` says which version a database has.

/// Version this program reads and writes.
pub(super) const VERSION: i64 = 4;

/// A serial number is the primary key: SQLite itself refuses a second certificate with the same number.
/// Nothing is ever deleted from these tables but the secrets of invitations.
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

/// Invitations: who may enrol by a secret or by a vendor's certificate (its root, DER, and the name in it), and what it then gets. `serial`
/// is the certificate it got, `closed` when no more is given on it, and the secret is gone from then on.
pub(super) const VERSION_2: &str = "
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
pub(super) const VERSION_3: &str = "
CREATE TABLE own (
    serial BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    phase  TEXT NOT NULL CHECK (phase IN ('next', 'current', 'previous', 'retired')),
    since  INTEGER NOT NULL
) STRICT;

INSERT INTO own (serial, phase, since) SELECT serial, 'current', created FROM certificate WHERE role != 'network-function';
";

/// Name and key of a root once more, signed by the root whose place it takes (RFC 9810, section 4.4): it is handed to who asks, and stands in no list of
/// certificates.
pub(super) const VERSION_4: &str = "
CREATE TABLE new_with_old (
    root   BLOB NOT NULL PRIMARY KEY REFERENCES certificate (serial),
    serial BLOB NOT NULL UNIQUE CHECK (length(serial) = 16),
    der    BLOB NOT NULL
) STRICT;
";
