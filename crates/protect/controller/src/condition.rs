//! Conditions of a status (metav1.Condition).

use std::time::SystemTime;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

/// Longest message that the type allows, in bytes.
const LONGEST: usize = 32_768;

bartizan_registry::named! {
    /// Status of a condition.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum State, word {
        /// It does.
        True = "True",
        /// It does not.
        False = "False",
        /// That is not known.
        Unknown = "Unknown",
    }
}

/// A condition, without its time: that is the one of its last transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: &'static str,
    /// Its status.
    pub state: State,
    /// The reason in one word.
    pub reason: &'static str,
    /// The reason for people.
    pub message: String,
}

impl Condition {
    pub(crate) fn new(kind: &'static str, state: State, reason: &'static str, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if message.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| message.is_char_boundary(*end));
            message.truncate(end.unwrap_or_default());
        }
        Self {
            kind,
            state,
            reason,
            message,
        }
    }

    /// As the API server takes it. The time is that of `before`, where the condition had this state already.
    pub(crate) fn json(&self, before: &Value, generation: i64, now: SystemTime) -> Value {
        let state = self.state.word();
        let known = before["conditions"]
            .as_array()
            .and_then(|all| all.iter().find(|one| one["type"] == self.kind));
        let since = known
            .filter(|one| one["status"] == state)
            .and_then(|one| one["lastTransitionTime"].as_str());
        json!({
            "type": self.kind,
            "status": state,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": since.map_or_else(|| rfc3339(now), str::to_owned),
            "observedGeneration": generation,
        })
    }
}

/// A moment in UTC, to the second.
pub(crate) fn rfc3339(moment: SystemTime) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    OffsetDateTime::from(moment).format(format).unwrap_or_default()
}
