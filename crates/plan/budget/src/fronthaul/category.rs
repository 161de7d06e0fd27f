//! Delay categories of O-DU and O-RU.

use serde::Serialize;

/// Transport delay that a unit tolerates, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Its letter.
    pub letter: char,
    /// The low end of its range.
    pub low: u16,
    /// The high end of its range.
    pub high: u16,
}

const fn category(letter: char, low: u16, high: u16) -> Category {
    Category { letter, low, high }
}

/// Categories of O-DU (O-RAN.WG4.CUS, annex B). The range of A ends at 2999 there; its limits are computed with 3000, as the annex's tables do.
pub const O_DU: [Category; 14] = [
    category('A', 400, 3000),
    category('B', 380, 399),
    category('C', 360, 379),
    category('D', 340, 359),
    category('E', 320, 339),
    category('F', 300, 319),
    category('G', 280, 299),
    category('H', 260, 279),
    category('I', 240, 259),
    category('J', 220, 239),
    category('K', 200, 219),
    category('L', 180, 199),
    category('M', 160, 179),
    category('N', 0, 159),
];

/// Categories of O-RU (O-RAN.WG4.CUS, annex B).
pub const O_RU: [Category; 12] = [
    category('O', 0, 50),
    category('P', 51, 70),
    category('Q', 71, 90),
    category('R', 91, 110),
    category('S', 111, 130),
    category('T', 131, 150),
    category('U', 151, 170),
    category('V', 171, 190),
    category('W', 191, 210),
    category('X', 211, 230),
    category('Y', 231, 250),
    category('Z', 251, 270),
];

/// Which limit of a pair counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The best that units of these categories can do: high end of the O-DU less low end of the O-RU (annex B, table B.2-3; table 4 of Groen et al. 2024).
    Best,
    /// Limit that any units of these categories keep: low end of the O-DU less high end of the O-RU
    /// (annex B, table B.2-2).
    Guaranteed,
}

impl Limit {
    /// Most microseconds of transport between an O-DU and an O-RU of these categories; 0 where there is no room at all.
    pub const fn of(self, distributed: Category, radio: Category) -> u16 {
        match self {
            Self::Best => distributed.high.saturating_sub(radio.low),
            Self::Guaranteed => distributed.low.saturating_sub(radio.high),
        }
    }
}
