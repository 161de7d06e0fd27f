//! The answer's sentence: every place in it can be filled.

use serde_saphyr::Spanned;

use crate::runner::experiment::answer::{Token, tokens};
use crate::runner::experiment::resolve::nothing_has;
use crate::runner::experiment::{Answer, Fault, Levels, Part, Piece, Place};

/// Allowed content between braces.
const FORMS: &str = "{median PART/METRIC factor=level ...} or {comparison PART/ID}";

pub(super) fn answer(template: &Spanned<String>, parts: &[Part]) -> Result<Answer, Fault> {
    let place = Place::of(template);
    let tokens = tokens(&template.value).map_err(|cause| Fault::new(place, cause, FORMS))?;
    let pieces = tokens.into_iter().map(|token| match token {
        Token::Text(text) => Ok(Piece::Text(text.to_owned())),
        Token::Place(inside) => filled(inside, parts, place),
    });
    Ok(Answer {
        pieces: pieces.collect::<Result<_, _>>()?,
    })
}

fn filled(inside: &str, parts: &[Part], place: Place) -> Result<Piece, Fault> {
    let mut words = inside.split_whitespace();
    let (Some(what), Some(name)) = (words.next(), words.next()) else {
        return Err(Fault::new(place, format!("{{{inside}}} says too little"), FORMS));
    };
    let ids = parts.iter().map(|part| part.id.as_str());
    let Some((part, name)) = name.split_once('/') else {
        return Err(Fault::new(place, format!("`{name}` has no `/`"), FORMS));
    };
    let part = parts
        .iter()
        .find(|known| known.id == part)
        .ok_or_else(|| Fault::unknown(place, "part", part, ids))?;
    match what {
        "median" => {
            let metric = part.metric(name).ok_or_else(|| {
                let known = part.metrics.iter().map(|metric| metric.name);
                Fault::unknown(place, &format!("metric of part {}", part.id), name, known)
            })?;
            Ok(Piece::Median {
                part: part.id.clone(),
                metric: metric.name.to_owned(),
                levels: levels(words, part, place)?,
            })
        }
        "comparison" => {
            let known = part.comparisons.iter().map(|comparison| comparison.id.as_str());
            if !known.clone().any(|known| known == name) {
                let what = format!("comparison of part {}", part.id);
                return Err(Fault::unknown(place, &what, name, known));
            }
            if let Some(word) = words.next() {
                return Err(Fault::new(
                    place,
                    format!("`{word}` after a comparison, which has its levels"),
                    FORMS,
                ));
            }
            Ok(Piece::Comparison {
                part: part.id.clone(),
                id: name.to_owned(),
            })
        }
        other => Err(Fault::unknown(
            place,
            "placeholder",
            other,
            ["median", "comparison"].into_iter(),
        )),
    }
}

fn levels<'a>(words: impl Iterator<Item = &'a str>, part: &Part, place: Place) -> Result<Levels, Fault> {
    let mut levels = Levels::default();
    for word in words {
        let Some((name, level)) = word.split_once('=') else {
            return Err(Fault::new(place, format!("`{word}` is no factor=level"), FORMS));
        };
        let known = part.factors.iter().map(|factor| factor.name.as_str());
        let factor = part
            .factor(name)
            .ok_or_else(|| Fault::unknown(place, &format!("factor of part {}", part.id), name, known))?;
        let known = factor.levels.iter().map(String::as_str);
        if !known.clone().any(|known| known == level) {
            return Err(Fault::unknown(place, &format!("level of {name}"), level, known));
        }
        levels = levels.with(name, level);
    }
    if part.matching(&levels).next().is_none() {
        return Err(nothing_has(place, &levels));
    }
    Ok(levels)
}
