//! The host and port a request is for.

use std::fmt;
use std::net::IpAddr;

use bartizan_http2::Fields;

/// By this header a consumer names the producer where the authority is the proxy's own (TS 29.500, clause 5.2.3.2.4).
const TARGET_API_ROOT: &str = "3gpp-sbi-target-apiroot";

/// A host with or without a port, as in `:authority` (RFC 3986, section 3.2, without user information).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    host: &'a str,
    pub(crate) port: Option<u16>,
}

impl<'a> Authority<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                match rest {
                    "" => (host, None),
                    _ => (host, Some(rest.strip_prefix(':')?)),
                }
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        if host.is_empty() || !host.bytes().all(plain) {
            return None;
        }
        let port = match port {
            // An empty port is the scheme's default (RFC 3986, section 3.2.3).
            None | Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
        };
        Some(Self { host, port })
    }

    /// The target of a request: what 3gpp-Sbi-Target-apiRoot names, else its authority, else its Host header. The inner error
    /// is the text that names no host.
    pub(crate) fn of(head: &'a Fields) -> Result<Self, String> {
        let mut roots = head.iter().filter(|(name, ..)| *name == TARGET_API_ROOT.as_bytes());
        if let Some((_, root, _)) = roots.next() {
            // The next proxy may take the other one.
            if roots.next().is_some() {
                return Err("3gpp-Sbi-Target-apiRoot: more than one".to_owned());
            }
            return std::str::from_utf8(root)
                .ok()
                .and_then(of_api_root)
                .ok_or_else(|| format!("3gpp-Sbi-Target-apiRoot: {}", String::from_utf8_lossy(root)));
        }
        let text = head
            .value(b":authority")
            .filter(|authority| !authority.is_empty())
            .or_else(|| head.value(b"host"))
            .unwrap_or_default();
        std::str::from_utf8(text)
            .ok()
            .and_then(Self::parse)
            .ok_or_else(|| format!(":authority: {}", String::from_utf8_lossy(text)))
    }

    /// The host in the form names are compared in: lower case, addresses in their canonical form, no final dot.
    pub(crate) fn host(&self) -> String {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_string(),
            Err(_) => self.host.strip_suffix('.').unwrap_or(self.host).to_ascii_lowercase(),
        }
    }
}

/// The authority of `scheme://authority/prefix` (TS 29.500, clause 5.2.3.2.4).
fn of_api_root(root: &str) -> Option<Authority<'_>> {
    let (scheme, rest) = root.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    Authority::parse(rest.split('/').next()?)
}

impl fmt::Display for Authority<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colons = self.host.contains(':');
        match self.port {
            Some(port) if colons => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None if colons => write!(f, "[{}]", self.host),
            None => f.write_str(self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use bartizan_http2::Indexing;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_are_compared_in_one_form() {
        let host = |text| Authority::parse(text).unwrap().host();
        assert_eq!(host("NRF.5gc.:8000"), "nrf.5gc");
        assert_eq!(host("[2001:DB8:0:0::2]"), "2001:db8::2");
        assert_eq!(host("10.0.0.2:"), "10.0.0.2");
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "", ":80", "a:b", "a:99999", "u@a", "[::1", "[x]:1", "[::1]80", "a:1:2", "a b", "a/b",
        ] {
            assert_eq!(Authority::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_target_api_root_goes_before_the_authority() {
        let request = |root: Option<&str>| {
            let mut head = Fields::new();
            head.push(b":authority", b"scp:80", Indexing::Plain);
            if let Some(root) = root {
                head.push(b"3gpp-sbi-target-apiroot", root.as_bytes(), Indexing::Plain);
            }
            head
        };
        let target = |head: &Fields| Authority::of(head).map(|target| target.to_string());
        assert_eq!(target(&request(None)).unwrap(), "scp:80");
        assert_eq!(
            target(&request(Some("https://nrf.5gc:29510/prefix"))).unwrap(),
            "nrf.5gc:29510"
        );
        assert_eq!(target(&request(Some("http://[::1]"))).unwrap(), "[::1]");
        assert!(target(&request(Some("nrf"))).is_err());
        assert!(target(&request(Some("ftp://nrf"))).is_err());
        let mut twice = request(Some("http://nrf.5gc"));
        twice.push(b"3gpp-sbi-target-apiroot", b"http://udm.5gc", Indexing::Plain);
        assert!(target(&twice).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_prints_back(text in "[\\[\\]a-f0-9.:x@/-]{0,40}|.{0,40}") {
            if let Some(authority) = Authority::parse(&text) {
                let printed = authority.to_string();
                prop_assert_eq!(Authority::parse(&printed).map(|again| (again.host(), again.port)), Some((authority.host(), authority.port)));
            }
            let _ = of_api_root(&text);
        }

        #[test]
        fn a_written_authority_reads_back(host in "[a-z][a-z0-9-]{0,20}(\\.[a-z0-9]{1,10}){0,3}", port in proptest::option::of(any::<u16>())) {
            let text = match port { Some(port) => format!("{host}:{port}"), None => host.clone() };
            let authority = Authority::parse(&text).unwrap();
            prop_assert_eq!(authority.host(), host);
            prop_assert_eq!(authority.port, port);
        }
    }
}
