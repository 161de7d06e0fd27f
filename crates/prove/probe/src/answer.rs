//! Answers of a server.

use bartizan_registry::Safety;
use serde::Serialize;

/// An answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The question.
    pub question: &'static str,
    /// Values, the server's choice first where it has one.
    pub values: Vec<String>,
    /// The reason for which the answer is a finding.
    pub finding: Option<&'static str>,
}

impl Answer {
    /// Answers as lines, each value list wrapped behind its question; `printable` makes what a server
    /// sent fit for a terminal.
    pub fn lines(answers: &[Self], width: usize, printable: impl Fn(&str) -> String) -> String {
        let column = answers
            .iter()
            .map(|answer| answer.question.len())
            .max()
            .unwrap_or_default()
            + 4;
        let mut text = String::new();
        for answer in answers {
            let mut line = format!("  {:<1$}", answer.question, column - 2);
            let last = answer.values.len() - 1;
            for (index, value) in answer.values.iter().enumerate() {
                let value = printable(value) + if index == last { "" } else { ", " };
                // Certificates stand alone.
                let own_line = index > 0 && answer.question == "certificates";
                if own_line || line.len() > column && line.len() + value.trim_end().len() > width {
                    text += line.trim_end();
                    text.push('\n');
                    line = " ".repeat(column);
                }
                line += &value;
            }
            text += &format!("{line}\n");
        }
        for finding in answers
            .iter()
            .filter_map(|answer| Some((answer.question, answer.finding?)))
        {
            text += &format!("finding: {}: {}\n", finding.0, finding.1);
        }
        text
    }

    pub(crate) fn new(question: &'static str, values: impl IntoIterator<Item = impl ToString>) -> Self {
        let mut values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
        if values.is_empty() {
            values.push("none".to_owned());
        }
        Self {
            question,
            values,
            finding: None,
        }
    }

    pub(crate) fn finding(mut self, is_one: bool, finding: &'static str) -> Self {
        if is_one {
            self.finding = Some(finding);
        }
        self
    }

    /// Key exchanges that the server accepts, and the answer to a client without any that is safe.
    pub(crate) fn exchanges<T: Copy + ToString>(
        question: &'static str,
        accepted: &[T],
        safety: impl Fn(T) -> Option<Safety>,
    ) -> [Self; 2] {
        let is_safe = |one: &&T| safety(**one) == Some(Safety::QuantumSafe);
        let (safe, classical): (Vec<&T>, Vec<&T>) = accepted.iter().partition(|one| is_safe(one));
        let admitted = classical
            .first()
            .map(|first| format!("admitted with {}", first.to_string()));
        [
            Self::new(question, accepted.iter().map(|one| (*one).to_string()))
                .finding(safe.is_empty(), "no post-quantum key exchange"),
            Self::new("classical-only client", [admitted.as_deref().unwrap_or("refused")]).finding(
                admitted.is_some(),
                "a client without post-quantum key exchange is admitted",
            ),
        ]
    }
}

/// The values that a server accepts, in the order in which it chooses them from `offered`.
pub(crate) fn eliminate<T: Copy + PartialEq, E>(
    offered: &[T],
    mut choose: impl FnMut(&[T]) -> Result<Option<T>, E>,
) -> Result<Vec<T>, E> {
    let (mut left, mut accepted) = (offered.to_vec(), Vec::new());
    while !left.is_empty() {
        let Some(chosen) = choose(&left)? else { break };
        let before = left.len();
        left.retain(|one| *one != chosen);
        if left.len() == before {
            // The server chose what was not offered.
            break;
        }
        accepted.push(chosen);
    }
    Ok(accepted)
}
