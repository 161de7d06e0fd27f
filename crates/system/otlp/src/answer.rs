//! Rejected parts in the answer of a collector that accepted a request.

use serde::Deserialize;
use serde_json::Value;

/// Part of a request was not taken, and is not to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSuccess {
    /// Log records, data points or spans that were refused; 0 of a warning.
    pub rejected: u64,
    /// Why, in the collector's words, without what controls a terminal, and not more than a line of them.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    partial_success: Option<Part>,
}

/// A field that is null is one that is not there, as in every JSON of protocol buffers.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Part {
    rejected_log_records: Value,
    rejected_data_points: Value,
    rejected_spans: Value,
    error_message: Option<String>,
}

/// A 64-bit integer: a string by the specification, a number from some.
fn count(value: &Value) -> u64 {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.unwrap_or(0)
}

/// Returns the rejected parts of an answer with status 200. None if the collector accepted
/// everything, or if the body is no JSON of this form.
pub fn partial_success(body: &[u8]) -> Option<PartialSuccess> {
    let part = serde_json::from_slice::<Answer>(body).ok()?.partial_success?;
    let counts = [
        &part.rejected_log_records,
        &part.rejected_data_points,
        &part.rejected_spans,
    ];
    let rejected = counts.into_iter().map(count).max().unwrap_or(0);
    let message = printable(&part.error_message.unwrap_or_default());
    let said = rejected > 0 || !message.is_empty();
    said.then_some(PartialSuccess { rejected, message })
}

fn printable(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(200).collect()
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
        assert_eq!(
            read(r#"{"partialSuccess":{"rejectedSpans":1,"errorMessage":"too\u001b\n old"}}"#),
            Some((1, "too old".into()))
        );
        // Before, a null made the others unread, and what was refused counted as taken.
        let nulls = r#"{"partialSuccess":{"rejectedSpans":null,"rejectedLogRecords":"3","errorMessage":null}}"#;
        assert_eq!(read(nulls), Some((3, String::new())));
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
