//! Errors of an exchange.

use crate::Failure;

/// Reason why an exchange ended without what was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A message that cannot be read.
    #[error("{place}: {reason}")]
    Malformed {
        /// Part of the message.
        place: &'static str,
        /// Its fault.
        reason: String,
    },
    /// The other end refused.
    #[error("the authority refuses: {}", refusal(.failure.as_ref(), .text))]
    Refused {
        /// The failure it names.
        failure: Option<Failure>,
        /// Its text.
        text: Vec<String>,
    },
    /// The other end's answer is not to be believed, or is no answer to what was asked.
    #[error("the answer is not accepted: {0}")]
    Untrusted(String),
    /// An error of the authority or its files.
    #[error(transparent)]
    Authority(#[from] bartizan_pki::Error),
}

fn refusal(failure: Option<&Failure>, text: &[String]) -> String {
    match (failure, text) {
        (None, []) => "without a reason".to_owned(),
        (None, text) => text.join("; "),
        (Some(failure), []) => failure.to_string(),
        (Some(failure), text) => format!("{} ({failure})", text.join("; ")),
    }
}

impl Error {
    /// Returns true if the other end refused since a certificate was revoked.
    #[must_use]
    pub fn is_revocation(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                failure: Some(Failure::CertificateRevoked),
                ..
            }
        )
    }

    pub(crate) fn malformed(place: &'static str, reason: impl Into<String>) -> Self {
        Self::Malformed {
            place,
            reason: reason.into(),
        }
    }
}

impl From<der::Error> for Error {
    fn from(error: der::Error) -> Self {
        Self::malformed("encoding", error.to_string())
    }
}
