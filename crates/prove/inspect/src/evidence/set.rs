//! Check that some evidence is that of all parts of the same captures.

use std::fmt;

use super::Manifest;

/// Reason why it is not; numbers are those of what was given, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is none.
    Nothing,
    /// Two are from different programs.
    Program(usize, usize),
    /// Two are from different numbers of parts.
    Parts(usize, usize),
    /// Two are of different captures.
    Captures(usize, usize),
    /// Two are the same part.
    Twice(usize, usize),
    /// These parts are not there.
    Missing(Vec<u32>),
    /// It says that it is a part that there cannot be.
    NoPart(usize),
}

/// The parts that a merge was given, as they come. Each of many parts names all captures, so one
/// manifest is kept.
#[derive(Debug, Default)]
pub struct Set {
    first: Option<Manifest>,
    /// By part, which of those that were given it is.
    places: Vec<Option<usize>>,
    given: usize,
}

impl Set {
    /// Takes what the next one says that it is of.
    ///
    /// # Errors
    /// A [`Refusal`], here and below.
    pub fn add(&mut self, manifest: Manifest) -> Result<(), Refusal> {
        let at = self.given;
        self.given += 1;
        let part = manifest.part;
        match &self.first {
            None => {
                self.places = vec![None; manifest.parts.min(LARGEST) as usize];
                self.first = Some(manifest);
            }
            Some(first) if first.program != manifest.program => return Err(Refusal::Program(0, at)),
            Some(first) if first.parts != manifest.parts => return Err(Refusal::Parts(0, at)),
            Some(first) if first.files != manifest.files => return Err(Refusal::Captures(0, at)),
            Some(_) => {}
        }
        let place = (part as usize)
            .checked_sub(1)
            .and_then(|part| self.places.get_mut(part));
        match place.ok_or(Refusal::NoPart(at))?.replace(at) {
            Some(before) => Err(Refusal::Twice(before, at)),
            None => Ok(()),
        }
    }

    /// The places of all parts, each of which is there once, in their order; and what they are of.
    pub fn in_order(self) -> Result<(Vec<usize>, Manifest), Refusal> {
        let first = self.first.ok_or(Refusal::Nothing)?;
        let missing = (1..).zip(&self.places).filter(|(_, place)| place.is_none());
        let missing: Vec<u32> = missing.map(|(part, _)| part).collect();
        match missing.is_empty() {
            true => Ok((self.places.into_iter().flatten().collect(), first)),
            false => Err(Refusal::Missing(missing)),
        }
    }
}

/// Most parts that there may be.
pub(super) const LARGEST: u32 = 1_000_000;

impl Refusal {
    /// In words, with these names for what was given.
    pub fn named<'a, T: fmt::Display>(&'a self, names: &'a [T]) -> impl fmt::Display + 'a {
        Named { refusal: self, names }
    }
}

struct Named<'a, T> {
    refusal: &'a Refusal,
    names: &'a [T],
}

impl<T: fmt::Display> fmt::Display for Named<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Missing parts that are named.
        const SHOWN: usize = 10;
        let pair = |f: &mut fmt::Formatter<'_>, one: usize, other: usize, what: &str| match (
            self.names.get(one),
            self.names.get(other),
        ) {
            (Some(one), Some(other)) => write!(f, "{other}: {what} {one}"),
            _ => f.write_str(what),
        };
        match self.refusal {
            Refusal::Nothing => f.write_str("there is no evidence"),
            Refusal::Program(one, other) => pair(f, *one, *other, "written by another version of the program than"),
            Refusal::Parts(one, other) => pair(f, *one, *other, "cut into another number of parts than"),
            Refusal::Captures(one, other) => pair(f, *one, *other, "of other captures than"),
            Refusal::Twice(one, other) => pair(f, *one, *other, "the same part as"),
            Refusal::NoPart(at) => match self.names.get(*at) {
                Some(name) => write!(f, "{name}: there is no such part"),
                None => f.write_str("there is no such part"),
            },
            Refusal::Missing(missing) => {
                let shown = missing.iter().take(SHOWN).map(u32::to_string);
                let shown = shown.collect::<Vec<_>>().join(", ");
                match missing.len() {
                    1 => write!(f, "part {shown} is missing"),
                    many if many > SHOWN => write!(f, "parts {shown} and {} more are missing", many - SHOWN),
                    _ => write!(f, "parts {shown} are missing"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Source;

    fn manifest(part: u32, parts: u32) -> Manifest {
        Manifest {
            program: "bartizan 1".to_owned(),
            part,
            parts,
            whole: false,
            files: vec![Source {
                name: "sbi.pcap".to_owned(),
                bytes: 100,
                packed: false,
            }],
        }
    }

    fn in_order(manifests: &[Manifest]) -> Result<Vec<usize>, Refusal> {
        let mut set = Set::default();
        manifests.iter().try_for_each(|manifest| set.add(manifest.clone()))?;
        set.in_order().map(|(places, _)| places)
    }

    #[test]
    fn parts_are_in_order_whatever_order_they_come_in() {
        assert_eq!(in_order(&[2, 3, 1].map(|part| manifest(part, 3))), Ok(vec![2, 0, 1]));
    }

    #[test]
    fn what_is_not_every_part_of_the_same_is_refused() {
        let refused = |manifests: &[Manifest]| in_order(manifests).unwrap_err();
        assert_eq!(refused(&[]), Refusal::Nothing);
        assert_eq!(refused(&[manifest(1, 2), manifest(2, 3)]), Refusal::Parts(0, 1));
        assert_eq!(refused(&[manifest(1, 2), manifest(1, 2)]), Refusal::Twice(0, 1));
        assert_eq!(refused(&[manifest(2, 4), manifest(3, 4)]), Refusal::Missing(vec![1, 4]));
        for part in [0, 3] {
            assert_eq!(refused(&[manifest(1, 2), manifest(part, 2)]), Refusal::NoPart(1));
        }
        let mut other = manifest(2, 2);
        other.program.push('1');
        assert_eq!(refused(&[manifest(1, 2), other]), Refusal::Program(0, 1));
        let mut other = manifest(2, 2);
        other.files[0].bytes = 99;
        assert_eq!(refused(&[manifest(1, 2), other]), Refusal::Captures(0, 1));
    }

    #[test]
    fn many_missing_parts_are_not_all_named() {
        let refusal = in_order(&[manifest(1, 30)]).unwrap_err();
        let said = refusal.named(&["a"]).to_string();
        assert_eq!(said, "parts 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 19 more are missing");
    }
}
