//! Lines that fit a terminal.

/// Narrower ones are written as if they were so wide.
const LEAST: usize = 40;

/// A line in pieces of at most `width` characters, the second and later ones behind `indent`
/// spaces. It is cut at spaces, and within a word that is longer than a line.
pub(crate) fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(LEAST);
    let indent = indent.min(width / 2);
    let mut pieces = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    let mut before = 0;
    while before + rest.len() > width {
        let room = width - before;
        // Leading spaces are the line's own indent.
        let begun = rest.iter().take_while(|c| **c == ' ').count();
        let at = (begun + 1..=room).rev().find(|&at| rest[at] == ' ').unwrap_or(room);
        let tail = rest.split_off(at);
        pieces.push(" ".repeat(before) + rest.iter().collect::<String>().trim_end());
        rest = tail.into_iter().skip_while(|c| *c == ' ').collect();
        before = indent;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(" ".repeat(before) + &rest.iter().collect::<String>());
    }
    pieces
}

/// The cell in lines of at most `width` characters: cut at spaces, or anywhere.
pub(super) fn cell(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let word: Vec<char> = word.chars().collect();
        let mut rest = &word[..];
        if used > 0 {
            if used + 1 + rest.len() <= width {
                push(&mut lines, " ");
                used += 1;
            } else {
                lines.push(String::new());
                used = 0;
            }
        }
        while rest.len() > width - used.min(width) {
            let (now, later) = rest.split_at(width - used);
            push(&mut lines, &now.iter().collect::<String>());
            lines.push(String::new());
            (rest, used) = (later, 0);
        }
        push(&mut lines, &rest.iter().collect::<String>());
        used += rest.len();
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_piece_is_wider_than_asked_and_no_word_is_lost(line in "( {0,6})[a-z:. \u{e9}]{0,300}", width in 1usize..200, indent in 0usize..30) {
            let pieces = wrapped(&line, width, indent);
            for piece in &pieces {
                prop_assert!(piece.chars().count() <= width.max(LEAST), "{piece:?}");
            }
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&line), letters(&pieces.concat()));
        }

        #[test]
        fn a_cell_fits_its_column_and_loses_nothing(text in "[a-z:. ]{0,120}", width in 1usize..60) {
            let lines = cell(&text, width);
            for line in &lines {
                prop_assert!(line.chars().count() <= width, "{line:?}");
            }
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&text), letters(&lines.concat()));
        }
    }
}
