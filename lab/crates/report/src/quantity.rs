//! Units of metrics, and the one in which a value is easily read.

use bartizan_page::quantity::{Shown, rounded};

/// Units that are multiples of each other, by how many of the family's base unit they hold; the name shown comes first.
const FAMILIES: [&[(&[&str], f64)]; 3] = [
    &[
        (&["ns", "nanoseconds"], 1e-9),
        (&["µs", "us", "microseconds"], 1e-6),
        (&["ms", "milliseconds"], 1e-3),
        (&["s", "seconds"], 1.0),
    ],
    &[
        (&["bytes", "byte", "B"], 1.0),
        (&["kB"], 1e3),
        (&["MB"], 1e6),
        (&["GB"], 1e9),
    ],
    &[
        (&["bytes/s", "B/s"], 1.0),
        (&["kB/s"], 1e3),
        (&["MB/s"], 1e6),
        (&["GB/s"], 1e9),
    ],
];

/// A value in another unit of its family; as it is where the units are the same; `None` where they
/// have nothing in common.
#[must_use]
pub fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(value);
    }
    let (family, from) = place(from)?;
    let (other, to) = place(to)?;
    (family == other).then(|| value * (FAMILIES[family][from].1 / FAMILIES[other][to].1))
}

fn place(unit: &str) -> Option<(usize, usize)> {
    FAMILIES.iter().enumerate().find_map(|(family, units)| {
        let index = units.iter().position(|(names, _)| names.contains(&unit))?;
        Some((family, index))
    })
}

/// The unit of the family in which this value (in `unit`) has one to three digits before the point.
#[must_use]
pub fn for_values(unit: &str, typical: f64) -> Shown {
    let Some((family, from)) = place(unit) else {
        return Shown {
            symbol: unit.to_owned(),
            factor: 1.0,
        };
    };
    let base = typical.abs() * FAMILIES[family][from].1;
    let units = FAMILIES[family];
    // Units of time begin below one: their first is no exact count.
    let exact = units[0].1 == 1.0;
    let least = |size: f64| {
        if exact && size > 1.0 {
            size * 9.9995
        } else {
            size * 0.9995
        }
    };
    let chosen = units.iter().rev().find(|(_, size)| base >= least(*size));
    // Nothing, and what is smaller than the smallest unit, stays where it was or at the smallest.
    let (names, size) = match chosen {
        Some(unit) => unit,
        None if base == 0.0 => &units[from],
        None => &units[0],
    };
    Shown {
        symbol: names[0].to_owned(),
        factor: FAMILIES[family][from].1 / size,
    }
}

/// In this unit, by the name that it is shown by.
#[must_use]
pub fn in_unit(unit: &str) -> Shown {
    let name = place(unit).map_or(unit, |(family, index)| FAMILIES[family][index].0[0]);
    Shown::in_unit(name)
}

/// A share in per cent: `12 %`, `1.3 %` below ten.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let places = if value.abs() < 9.95 { 1 } else { 0 };
    format!("{}\u{a0}%", rounded(value, places))
}

/// The same with its sign, also where it is more.
#[must_use]
pub fn signed_percent(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}

/// Levels as they are read: `deployment pqc-sidecar, connection new`.
#[must_use]
pub fn words<'a>(levels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let words: Vec<String> = levels
        .into_iter()
        .map(|(factor, level)| format!("{factor} {level}"))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_in_which_a_value_is_easily_read() {
        let ms = for_values("us", 54_050.0);
        assert_eq!(
            (ms.symbol.as_str(), ms.value(54_050.0).as_str()),
            ("ms", "54.1\u{a0}ms")
        );
        assert_eq!(for_values("us", 12.04).value(12.04), "12.0\u{a0}µs");
        assert_eq!(for_values("bytes", 12_500_000.0).value(12_500_000.0), "12.5\u{a0}MB");
        assert_eq!(
            for_values("requests/s", 12_500.0).value(12_500.0),
            "12\u{202f}500\u{a0}requests/s"
        );
        assert_eq!(for_values("ms", 0.0).value(0.0), "0\u{a0}ms");
    }

    #[test]
    fn the_size_of_a_frame_is_printed_in_bytes_wherever_it_stands() {
        for size in [62.0, 1425.0, 1485.0, 9999.0] {
            assert_eq!(for_values("bytes", size).value(size), format!("{size}\u{a0}bytes"));
            assert_eq!(for_values("B", size).value(size), format!("{size}\u{a0}bytes"));
        }
        assert_eq!(for_values("bytes", 10_000.0).value(10_000.0), "10\u{a0}kB");
        assert_eq!(for_values("kB", 1.425).value(1.425), "1425\u{a0}bytes");
        assert_eq!(for_values("B/s", 14_958.19).value(14_958.19), "15.0\u{a0}kB/s");
    }

    #[test]
    fn values_are_converted_within_a_family_only() {
        assert_eq!(
            convert(0.0597, "s", "ms").map(|value| (value * 1e6).round()),
            Some(59_700_000.0)
        );
        assert_eq!(convert(3.0, "us", "µs"), Some(3.0));
        assert_eq!(convert(3.0, "requests/s", "requests/s"), Some(3.0));
        assert_eq!(convert(3.0, "ms", "bytes"), None);
        assert_eq!(convert(3.0, "requests", "ms"), None);
    }
}
