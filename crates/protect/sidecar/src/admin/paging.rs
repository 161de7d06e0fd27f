//! Pages of `/connections`: an answer has a bounded length, however many connections are open.

/// Part of the open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Number of the first connection; numbers count up from the start of the sidecar.
    pub(crate) from: u64,
    /// Connections at most.
    pub(crate) limit: usize,
}

/// Connections of a page without `limit`, and of the longest.
const LIMIT: usize = 1_000;
const MOST: usize = 10_000;

impl Page {
    pub(crate) const USAGE: &str = "/connections?from=NUMBER&limit=1..10000\n";

    /// Reads the query of a request; none if it is not understood.
    pub(crate) fn of(query: Option<&str>) -> Option<Self> {
        let mut page = Self { from: 0, limit: LIMIT };
        for field in query.unwrap_or_default().split('&').filter(|field| !field.is_empty()) {
            match field.split_once('=')? {
                ("from", from) => page.from = from.parse().ok()?,
                ("limit", limit) => page.limit = limit.parse().ok().filter(|limit| (1..=MOST).contains(limit))?,
                _ => return None,
            }
        }
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_selects_a_page_and_nothing_else() {
        let page = |from, limit| Some(Page { from, limit });
        for (query, expected) in [
            (None, page(0, 1_000)),
            (Some(""), page(0, 1_000)),
            (Some("limit=10&from=7"), page(7, 10)),
            (Some("limit=10000"), page(0, 10_000)),
            (Some("limit=10001"), None),
            (Some("limit=0"), None),
            (Some("from=-1"), None),
            (Some("from"), None),
            (Some("peer=nrf"), None),
        ] {
            assert_eq!(Page::of(query), expected, "{query:?}");
        }
    }
}
