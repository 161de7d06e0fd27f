//! Answers to reviews.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::{Value, json};

/// The one version that is read and written: API servers since 1.16 speak it.
pub(crate) const VERSION: &str = "admission.k8s.io/v1";
pub(crate) const KIND: &str = "AdmissionReview";

/// A reason is not longer, in bytes: API servers show all of it.
const LONGEST: usize = 4_000;

/// The answer to a review.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The review's own identifier, without which an API server takes no answer; empty where none was read.
    pub(crate) uid: String,
    /// Namespace and name of the pod, for the log.
    pub about: String,
    /// Decision on the request.
    pub verdict: Verdict,
    /// Warnings for the client that made the request: `kubectl` prints them.
    pub warnings: Vec<String>,
    /// For the API server's audit log.
    pub(crate) audit: BTreeMap<&'static str, String>,
}

/// Decision on the request.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is allowed, with the operations of RFC 6902 that put redirect and sidecar into the pod.
    Injected(Vec<Value>),
    /// It is allowed as it is: a pod that already has them, or an update that changes nothing of them.
    Unchanged,
    /// It is allowed without a sidecar: the pod was left out by its annotation.
    LeftOut,
    /// It is refused for the reason.
    Refused(String),
    /// It is no review that can be read; refused for the reason.
    Malformed(String),
}

impl Answer {
    pub(crate) fn new(uid: &str, verdict: Verdict) -> Self {
        Self {
            uid: uid.to_owned(),
            about: String::new(),
            verdict,
            warnings: Vec::new(),
            audit: BTreeMap::new(),
        }
    }

    /// Returns true if a review was read as one, so that an API server finds its identifier in the
    /// answer.
    #[must_use]
    pub fn is_of_a_review(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Returns true if the API server lets the request pass.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.reason().is_none()
    }

    /// The reason why it does not.
    pub fn reason(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Refused(reason) | Verdict::Malformed(reason) => Some(reason),
            Verdict::Injected(_) | Verdict::Unchanged | Verdict::LeftOut => None,
        }
    }

    /// The answer as an AdmissionReview, JSON.
    pub fn to_json(&self) -> String {
        let mut response = json!({ "uid": self.uid, "allowed": self.is_allowed() });
        match &self.verdict {
            Verdict::Injected(operations) => {
                let patch = Value::Array(operations.clone()).to_string();
                response["patchType"] = json!("JSONPatch");
                response["patch"] = json!(BASE64.encode(patch.as_bytes()));
            }
            Verdict::Unchanged | Verdict::LeftOut => {}
            Verdict::Refused(reason) => response["status"] = status(403, "Forbidden", reason),
            Verdict::Malformed(reason) => response["status"] = status(400, "BadRequest", reason),
        }
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        if !self.audit.is_empty() {
            response["auditAnnotations"] = json!(self.audit);
        }
        json!({ "apiVersion": VERSION, "kind": KIND, "response": response }).to_string()
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    let end = (0..=LONGEST.min(message.len()))
        .rev()
        .find(|end| message.is_char_boundary(*end))
        .unwrap_or_default();
    json!({ "status": "Failure", "code": code, "reason": reason, "message": &message[..end] })
}
