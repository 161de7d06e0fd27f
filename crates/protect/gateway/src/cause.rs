//! Why an association was aborted.

use std::fmt;

/// Octets of a cause's text that are kept: a line of a log.
pub(crate) const LONGEST_TEXT: usize = 256;

/// Why an association was aborted: an error cause of SCTP (RFC 9260, section 3.3.10) and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause code on the wire; 0 where the ABORT had none, or none was received.
    pub code: u16,
    /// The sentence: at most 256 octets, on one line.
    pub text: String,
}

impl Cause {
    /// User-Initiated Abort (RFC 9260, section 3.3.10.12): what a node aborts its function's association with.
    pub const USER_INITIATED_ABORT: u16 = 12;

    /// A cause of this code. Control characters become spaces, and the text ends after 256 octets.
    pub fn new(code: u16, text: &str) -> Self {
        let mut kept = String::new();
        for letter in text.chars() {
            let letter = if letter.is_control() { ' ' } else { letter };
            if kept.len() + letter.len_utf8() > LONGEST_TEXT {
                break;
            }
            kept.push(letter);
        }
        Self { code, text: kept }
    }

    /// A cause that a node finds itself.
    pub(crate) fn of_node(text: &str) -> Self {
        Self::new(Self::USER_INITIATED_ABORT, &format!("bartizan: {text}"))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.text.as_str()) {
            (code, "") => write!(f, "error cause {code}"),
            (Self::USER_INITIATED_ABORT, text) => f.write_str(text),
            (code, text) => write!(f, "{text} (error cause {code})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_cause_is_one_line_of_at_most_256_octets() {
        let cause = Cause::new(0, &format!("a\nb{}", "é".repeat(300)));
        assert!(cause.text.starts_with("a bé"));
        assert!((LONGEST_TEXT - 1..=LONGEST_TEXT).contains(&cause.text.len()));
        assert_eq!(Cause::new(4, "").to_string(), "error cause 4");
    }
}
