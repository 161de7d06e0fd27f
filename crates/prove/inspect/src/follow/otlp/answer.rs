//! What a collector that took a request says of parts that it did not take.

use serde::Deserialize;

/// Part of a request was not taken, and is not to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSuccess {
    /// Log records or data points that were refused; 0 of a warning.
    pub rejected: u64,
    /// Why, in the collector's words: text of a peer, to be printed with care.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    partial_success: Option<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Part {
    rejected_log_records: Count,
    rejected_data_points: Count,
    error_message: String,
}

/// A 64-bit integer: a string by the specification, a number from some.
#[derive(Deserialize)]
#[serde(untagged)]
enum Count {
    Text(String),
    Number(u64),
}

impl Default for Count {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Count {
    fn value(&self) -> u64 {
        match self {
            Self::Text(text) => text.parse().unwrap_or(0),
            Self::Number(number) => *number,
        }
    }
}

/// What the body of an answer with status 200 says of refused parts; none where all was taken, and of what is no JSON of this form.
#[must_use]
pub fn partial_success(body: &[u8]) -> Option<PartialSuccess> {
    let part = serde_json::from_slice::<Answer>(body).ok()?.partial_success?;
    let rejected = part.rejected_log_records.value().max(part.rejected_data_points.value());
    let said = rejected > 0 || !part.error_message.is_empty();
    said.then_some(PartialSuccess {
        rejected,
        message: part.error_message,
    })
}
