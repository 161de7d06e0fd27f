//! Work that may be ended from elsewhere.

use std::future::Future;

/// Does `work` unless `end` comes first, which gives `None`.
pub(crate) async fn until<W: Future, E: Future>(work: W, end: E) -> Option<W::Output> {
    tokio::select! {
        biased;
        output = work => Some(output),
        _ = end => None,
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn work_that_is_done_wins() {
        assert_eq!(until(async { 7 }, async {}).await, Some(7));
        assert_eq!(until(pending::<()>(), async {}).await, None);
    }
}
