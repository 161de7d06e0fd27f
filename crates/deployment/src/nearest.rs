//! What was probably meant by a word that is not known.

/// The known word nearest to `wrong`, where one is near: at most a third of its letters differ.
#[must_use]
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes the product of both lengths; a longer word was hardly mistyped.
    const LONGEST: usize = 64;
    if wrong.len() > LONGEST {
        return None;
    }
    let folded = wrong.to_lowercase();
    let nearest = known
        .map(|word| (distance(&folded, &word.to_lowercase()), word))
        .min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= nearest.1.len().max(wrong.len()) / 3).then_some(nearest.1)
}

/// How many letters must be put in, taken out, replaced or swapped with the next to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(a != b);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == other[column - 1] && one[row - 1] == *b {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above.last().copied().unwrap_or_default()
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
