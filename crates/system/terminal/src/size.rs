//! Sizes as people write them.

/// A number of bytes: `2500000000`, `2.5GB`, `512 MiB`.
///
/// # Errors
/// When it is no such number, or less than 16 MB.
pub fn bytes(text: &str) -> Result<usize, String> {
    at_least(LEAST, text)?.ok_or_else(|| "less than 16 MB holds nothing worth looking at".into())
}

/// The same for something that needs `least` bytes; none where it is less.
///
/// # Errors
/// When it is no such number.
pub fn at_least(least: f64, text: &str) -> Result<Option<usize>, String> {
    const UNITS: [(&str, f64); 9] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("M", 1e6),
        ("G", 1e9),
        ("B", 1.0),
    ];
    let text = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1.0));
    let bytes = number.trim().parse::<f64>().ok().map(|number| number * unit);
    match bytes {
        // A float counts bytes of memory exactly up to 9 PB.
        Some(bytes) if (least..=9e15).contains(&bytes) => Ok(Some(bytes as usize)),
        Some(bytes) if bytes.is_finite() && bytes < least => Ok(None),
        _ => Err("it is a number of bytes, as 2500000000, 2.5GB or 512MiB".into()),
    }
}

/// Fragments and segments out of order need some room besides what is watched.
const LEAST: f64 = 16e6;

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        assert_eq!(bytes("2500000000"), Ok(2_500_000_000));
        assert_eq!(bytes("2.5GB"), Ok(2_500_000_000));
        assert_eq!(bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(bytes("64M"), Ok(64_000_000));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "GB", "-1GB", "1e400", "NaN", "much", "1MB", "0"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
