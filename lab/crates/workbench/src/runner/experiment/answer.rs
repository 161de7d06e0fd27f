//! The sentence that answers an experiment, with places for what is measured.

use crate::runner::experiment::Levels;

/// A sentence in pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// In order.
    pub pieces: Vec<Piece>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// The median of a metric over the trials that have these levels, with its unit and interval:
    /// `{median PART/METRIC factor=level ...}`.
    Median {
        /// Id of a part.
        part: String,
        /// Name of a metric the part records.
        metric: String,
        /// Some of the part's factors.
        levels: Levels,
    },
    /// Result of a comparison: `{comparison PART/ID}`.
    Comparison {
        /// Id of a part.
        part: String,
        /// Id of a comparison of the part.
        id: String,
    },
}

/// Text between two braces, or outside of them, before any name is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Text(&'a str),
    /// Without the braces.
    Place(&'a str),
}

/// Cuts a template into words and places; the brace that has no partner is the error.
pub(super) fn tokens(template: &str) -> Result<Vec<Token<'_>>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find(['{', '}']) {
        if rest[open..].starts_with('}') {
            return Err("a `}` without `{`");
        }
        if open > 0 {
            tokens.push(Token::Text(&rest[..open]));
        }
        let inside = &rest[open + 1..];
        let close = inside.find(['{', '}']).filter(|&at| inside[at..].starts_with('}'));
        let Some(close) = close else {
            return Err("a `{` without `}`");
        };
        tokens.push(Token::Place(&inside[..close]));
        rest = &inside[close + 1..];
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_template_is_cut_at_its_braces() {
        let cut = tokens("took {median a/b}, {comparison a/c}.").unwrap();
        let expected = [
            Token::Text("took "),
            Token::Place("median a/b"),
            Token::Text(", "),
            Token::Place("comparison a/c"),
            Token::Text("."),
        ];
        assert_eq!(cut, expected);
        for wrong in ["{", "}", "a {b", "{a {b} c}", "a } b {c}"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
        assert_eq!(tokens("").unwrap(), []);
    }

    proptest! {
        #[test]
        fn no_template_makes_the_reader_panic(text: String) {
            let _ = tokens(&text);
        }
    }
}
