//! The admin port for people: a page that asks the other paths every two seconds.

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

pub(super) const HTML: &str = include_str!("page/page.html");
pub(super) const STYLE: &str = include_str!("page/page.css");
pub(super) const SCRIPT: &str = include_str!("page/page.js");

/// What the page may do: its own files, and questions to where it came from.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Of every answer. What a browser makes of JSON that names peers is not left to guesses.
pub(super) const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (VARY, "accept"),
];

/// Whether a browser asks; programs get the list of paths.
pub(super) fn is_wanted(headers: &HeaderMap<HeaderValue>) -> bool {
    let accepts = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    headers.get_all(ACCEPT).iter().any(accepts)
}
