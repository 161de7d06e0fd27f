//! What a collector that took a request says of parts that it did not take.

use serde::Deserialize;

/// Part of a request was not taken, and is not to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartialSuccess {
    /// Log records, data points or spans that were refused; 0 of a warning.
    pub(crate) rejected: u64,
    /// Why, in the collector's words: text of a peer, to be printed with care.
    pub(crate) message: String,
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
    rejected_spans: Count,
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
pub(crate) fn partial_success(body: &[u8]) -> Option<PartialSuccess> {
    let part = serde_json::from_slice::<Answer>(body).ok()?.partial_success?;
    let counts = [
        &part.rejected_log_records,
        &part.rejected_data_points,
        &part.rejected_spans,
    ];
    let rejected = counts.into_iter().map(Count::value).max().unwrap_or(0);
    let said = rejected > 0 || !part.error_message.is_empty();
    said.then_some(PartialSuccess {
        rejected,
        message: part.error_message,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_partial_success_is_read_with_numbers_of_either_form() {
        let read = |text: &str| partial_success(text.as_bytes()).map(|part| (part.rejected, part.message));
        assert_eq!(
            read(r#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}"#),
            Some((3, "too old".into()))
        );
        assert_eq!(
            read(r#"{"partialSuccess":{"rejectedDataPoints":2}}"#),
            Some((2, String::new()))
        );
        assert_eq!(
            read(r#"{"partialSuccess":{"rejectedSpans":"1"}}"#),
            Some((1, String::new()))
        );
        assert_eq!(
            read(r#"{"partialSuccess":{"errorMessage":"use gzip"}}"#),
            Some((0, "use gzip".into()))
        );
        for all in [
            "",
            "{}",
            r#"{"partialSuccess":{}}"#,
            r#"{"partialSuccess":null}"#,
            "<html>",
        ] {
            assert_eq!(read(all), None, "{all}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_the_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = partial_success(&body);
        }
    }
}
