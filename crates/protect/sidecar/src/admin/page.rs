//! The admin port for people: a page that asks the other paths every two seconds.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};

pub(super) const HTML: &str = include_str!("page/page.html");
pub(super) const STYLE: &str = include_str!("page/page.css");
pub(super) const SCRIPT: &str = include_str!("page/page.js");

/// Returns true for a browser; programs get the list of paths.
pub(super) fn is_wanted(headers: &HeaderMap<HeaderValue>) -> bool {
    let accepts = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    headers.get_all(ACCEPT).iter().any(accepts)
}
