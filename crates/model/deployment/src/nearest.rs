//! Suggestions for unknown words: the nearest known word.

use strsim::osa_distance;

/// The known word nearest to `wrong`, where one is near: at most a third of its letters differ.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes the product of both lengths; a longer word was hardly mistyped.
    const LONGEST: usize = 64;
    if wrong.len() > LONGEST {
        return None;
    }
    let folded = wrong.to_lowercase();
    let nearest = known
        .map(|word| (osa_distance(&folded, &word.to_lowercase()), word))
        .min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= nearest.1.len().max(wrong.len()) / 3).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_finds_the_one_that_was_meant() {
        let known = ["function", "address", "names", "certificate", "key", "sidecar"];
        for (wrong, meant) in [
            ("adress", Some("address")),
            ("certifcate", Some("certificate")),
            ("kye", Some("key")),
            ("Sidecar", Some("sidecar")),
            ("password", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, known.into_iter()), meant, "{wrong}");
        }
        assert_eq!(nearest("nfr", ["amf", "nrf"].into_iter()), Some("nrf"));
    }
}
