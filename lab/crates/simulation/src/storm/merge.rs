//! Parts of one plan to one.

use thiserror::Error;

use super::part::{Part, Seeds};

/// Reason why parts cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There is none.
    #[error("no part to merge")]
    None,
    /// One is of another plan.
    #[error("part {index} is of another plan than part 1: {difference}")]
    Foreign {
        /// Number of the part, from 1.
        index: usize,
        /// The first difference.
        difference: String,
    },
    /// Two have seeds in common.
    #[error("seeds {first} and {second} overlap")]
    Overlap {
        /// Seeds of the one part.
        first: Seeds,
        /// Seeds of the other part.
        second: Seeds,
    },
    /// Some seeds are in none.
    #[error("seeds {0} are in no part")]
    Gap(Seeds),
}

/// One part of all seeds: what one run of them gives, byte for byte, in whatever order the parts come.
///
/// # Errors
/// [`MergeError`]: parts of other plans, seeds twice, seeds missing between others.
pub fn merge(parts: Vec<Part>) -> Result<Part, MergeError> {
    let Some(first) = parts.first() else {
        return Err(MergeError::None);
    };
    for (index, part) in parts.iter().enumerate() {
        if part.plan != first.plan {
            return Err(MergeError::Foreign {
                index: index + 1,
                difference: difference(first, part),
            });
        }
    }
    let mut parts = parts;
    parts.sort_by_key(|part| part.seeds.from);
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else {
        return Err(MergeError::None);
    };
    for part in parts {
        if part.seeds.from < whole.seeds.to {
            return Err(MergeError::Overlap {
                first: whole.seeds,
                second: part.seeds,
            });
        }
        if part.seeds.from > whole.seeds.to {
            return Err(MergeError::Gap(Seeds {
                from: whole.seeds.to,
                to: part.seeds.from,
            }));
        }
        whole.seeds.to = part.seeds.to;
        whole.runs.extend(part.runs);
    }
    Ok(whole)
}

fn difference(one: &Part, other: &Part) -> String {
    let (one, other) = (&one.plan, &other.plan);
    if one.variants.len() != other.variants.len() {
        return format!("{} variants and {}", one.variants.len(), other.variants.len());
    }
    let mut pairs = one.variants.iter().zip(&other.variants);
    match pairs.find(|(one, other)| one != other) {
        Some((one, other)) if one.name != other.name => format!("variant {} and {}", one.name, other.name),
        Some((one, _)) => format!("numbers of variant {}", one.name),
        None => "ranges of loss or cost".to_owned(),
    }
}
