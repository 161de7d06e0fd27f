//! Bytes that a protocol says are encrypted, and that are not spread as encrypted ones are.

use crate::{Answer, Judgement, Posture, Reply, Source, Verdict};

const NOT_SPREAD: &str = "its bytes are not spread as encrypted ones are: it may not be encrypted";

/// Lowers a posture whose bytes look otherwise than encrypted ones: a hint, which makes nothing
/// vulnerable, and nothing is safe with it.
pub(crate) fn doubt(looks_encrypted: Option<bool>, all: &Source, posture: &mut Posture) {
    if looks_encrypted != Some(false) {
        return;
    }
    if posture.confidentiality.verdict() == Verdict::QuantumSafe {
        posture.confidentiality = Judgement::new(Verdict::NotObservable, NOT_SPREAD, vec![all.clone()]);
    }
    if posture.clear.answer() == Answer::No {
        posture.clear = Reply::new(Answer::NotObservable, NOT_SPREAD, vec![all.clone()]);
    }
}
