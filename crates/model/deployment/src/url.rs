//! Address of a resource that is read or sent by plain HTTP, as its content is signed.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// An `http://` URL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HttpUrl {
    /// A name or an address, without brackets.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
    /// Path and query; `/` where the URL has none.
    pub path: String,
}

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            return Err(format!("`{text}` is no URL such as http://ca.5gc:8829"));
        }
        let uri: http::Uri = text.parse().map_err(|error| format!("`{text}`: {error}"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err("write http://: the content is signed itself, and TLS adds no trust".to_owned());
            }
            _ => return Err(format!("`{text}` does not begin with http://")),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("no host in it")?;
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        if authority.contains('@') {
            return Err("a user has no place in it".to_owned());
        }
        // The `http` crate ignores a port that is no number of 16 bits.
        let port = authority.rsplit_once(host).map_or("", |(_, port)| port);
        let port = match port.strip_prefix(':') {
            None => Some(80),
            Some(port) => port.parse().ok().filter(|port| *port != 0),
        };
        Ok(Self {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: port.ok_or("its port is a number from 1 to 65535")?,
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl HttpUrl {
    /// Host and port, as a request names them.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_and_written() {
        let read = |text: &str| text.parse::<HttpUrl>().map(|url| url.to_string());
        for (text, written) in [
            ("http://ca.5gc:8829", "http://ca.5gc:8829/"),
            ("http://[fd00::1]/pkix/", "http://[fd00::1]:80/pkix/"),
            ("http://10.0.0.9/crl.pem?of=a", "http://10.0.0.9:80/crl.pem?of=a"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(written));
            assert_eq!(read(written).as_deref(), Ok(written));
        }
        for wrong in [
            "https://ca.5gc",
            "ca.5gc:8829",
            "http://user@ca.5gc",
            "http:///",
            "http://ca.5gc:99999/",
            "http://ca.5gc:0/",
            "http://ca.5gc/a b",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
