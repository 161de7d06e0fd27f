//! Protection of what HTTP servers without a login show to browsers: their headers, and the names by which they answer.

use std::net::IpAddr;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, Uri};

/// Everything comes from here, nothing is inline, and no text can become markup or a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every answer: JSON that names peers is not left to a browser's guesses, nor to pages of elsewhere.
pub const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Puts [`HEADERS`] on an answer.
pub fn protect<B>(answer: &mut Response<B>) {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

/// Tells whether a request names this host, by an address, by `localhost`, or by one of `names`: a page of elsewhere whose name was made to lead
/// here (DNS rebinding) does not.
#[must_use]
pub fn is_meant(target: &Uri, headers: &HeaderMap, names: &[String]) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else { return false };
    let of_target = target.authority().map(http::uri::Authority::as_str);
    std::iter::once(host)
        .chain(of_target)
        .all(|authority| is_ours(host_of(authority), names))
}

fn is_ours(host: &str, names: &[String]) -> bool {
    let mut names = names.iter().map(String::as_str).chain(["localhost"]);
    host.parse::<IpAddr>().is_ok() || names.any(|name| name.eq_ignore_ascii_case(host))
}

/// A host without its port, and without the brackets of IPv6.
fn host_of(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split_once(']').map_or("", |(host, _)| host);
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}
