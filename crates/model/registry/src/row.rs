//! Cells of the tables: a value, or `-` where there is none.

/// `-` is an absent value, anything else a present one.
macro_rules! cell {
    (-) => {
        None
    };
    ($value:tt) => {
        Some($value)
    };
}

/// `-` is an absent NIST category, a number that category.
macro_rules! category {
    (-) => {
        None
    };
    ($value:tt) => {
        Some($crate::Category($value))
    };
}

/// `safe`, `broken` (vulnerable), or `-` where the question does not arise or another field decides it.
macro_rules! safety {
    (-) => {
        None
    };
    (safe) => {
        Some($crate::Safety::QuantumSafe)
    };
    (broken) => {
        Some($crate::Safety::Vulnerable)
    };
}

/// The rest of a row: nothing, or a note.
macro_rules! note {
    () => {
        None
    };
    ($note:literal) => {
        Some($note)
    };
}

pub(crate) use {category, cell, note, safety};
