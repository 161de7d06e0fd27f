//! Sections as they are written, and what they become when references are followed: what a section says itself comes before what it
//! refers to, and of several references the first comes first.

use super::{Place, Settings, SyntaxError};

/// References that lead to references.
const DEEPEST: usize = 16;

/// A section as it is written; what stands under the same name twice is one.
#[derive(Debug, Default)]
pub(super) struct Raw {
    values: Vec<(String, String, Place)>,
    sections: Vec<(String, Place, Raw)>,
    /// Sections by their names from the top, `connections.base`.
    references: Vec<(String, Place)>,
}

impl Raw {
    /// The later of two values takes effect.
    pub(super) fn set(&mut self, key: String, value: String, place: Place) {
        match self.values.iter_mut().find(|(known, ..)| *known == key) {
            Some(known) => *known = (key, value, place),
            None => self.values.push((key, value, place)),
        }
    }

    /// The section of this name, made where there is none.
    pub(super) fn section(&mut self, name: &str, place: Place) -> &mut Self {
        let index = match self.sections.iter().position(|(known, ..)| known == name) {
            Some(index) => index,
            None => {
                self.sections.push((name.to_owned(), place, Self::default()));
                self.sections.len() - 1
            }
        };
        &mut self.sections[index].2
    }

    pub(super) fn refer(&mut self, references: Vec<(String, Place)>) {
        self.references.extend(references);
    }

    fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |section, name| {
            let found = section.sections.iter().find(|(known, ..)| known == name);
            found.map(|(_, _, inner)| inner)
        })
    }
}

/// The whole with every reference followed; `budget` bounds what comes out.
pub(super) fn resolve(root: &Raw, budget: &mut usize) -> Result<Settings, SyntaxError> {
    let mut settings = Settings::default();
    overlay(root, root, &mut settings, 0, budget)?;
    Ok(settings)
}

/// Adds what a section says, and what it refers to, where it is not said yet.
fn overlay(
    root: &Raw,
    section: &Raw,
    settings: &mut Settings,
    depth: usize,
    budget: &mut usize,
) -> Result<(), SyntaxError> {
    for (key, value, place) in &section.values {
        spend(budget, place)?;
        if !settings.values.iter().any(|(known, ..)| known == key) {
            settings.values.push((key.clone(), value.clone(), place.clone()));
        }
    }
    for (name, place, inner) in &section.sections {
        spend(budget, place)?;
        let index = match settings.sections.iter().position(|(known, ..)| known == name) {
            Some(index) => index,
            None => {
                settings
                    .sections
                    .push((name.clone(), place.clone(), Settings::default()));
                settings.sections.len() - 1
            }
        };
        overlay(root, inner, &mut settings.sections[index].2, depth, budget)?;
    }
    for (path, place) in &section.references {
        let wrong = |cause: String| SyntaxError {
            place: place.clone(),
            cause,
        };
        if depth == DEEPEST {
            return Err(wrong(format!(
                "`{path}`: references lead more than {DEEPEST} deep, or in a circle"
            )));
        }
        let Some(other) = root.at(path) else {
            return Err(wrong(format!("no section is called `{path}`")));
        };
        overlay(root, other, settings, depth + 1, budget)?;
    }
    Ok(())
}

fn spend(budget: &mut usize, place: &Place) -> Result<(), SyntaxError> {
    let Some(left) = budget.checked_sub(1) else {
        let cause = "too many settings where references are followed".to_owned();
        return Err(SyntaxError {
            place: place.clone(),
            cause,
        });
    };
    *budget = left;
    Ok(())
}
