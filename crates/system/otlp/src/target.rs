//! Address of a collector.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use bartizan_terminal::Failure;

/// Scheme, host and port of a collector, and what comes before `/v1/logs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// TLS or not.
    pub is_https: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
    prefix: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: http::Uri = text.parse().map_err(|error| format!("{error}"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("a URL such as http://127.0.0.1:4318".to_owned()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("no host in it")?;
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err("a user has no place in it".to_owned());
        }
        let port = uri.port_u16().filter(|port| *port != 0);
        let port = port.ok_or("no port in it: collectors listen at 4318 for OTLP over HTTP")?;
        if uri.query().is_some() {
            return Err("a query has no place in it".to_owned());
        }
        if uri.path().contains("/v1/") {
            return Err("/v1/logs, /v1/metrics or /v1/traces is added to it".to_owned());
        }
        Ok(Self {
            is_https,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl Target {
    /// Host and port, as a request names them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The path of a signal: `logs`, `metrics` or `traces`.
    pub fn path(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.prefix)
    }

    /// Checks that data may be sent there: vulnerabilities of a network, and its connections, must
    /// not be readable on the path.
    pub fn permitted(
        &self,
        Purpose { option, reads }: Purpose,
        roots: Option<&Path>,
        plaintext: Plaintext,
    ) -> Result<(), Failure> {
        match (self.is_https, roots) {
            (true, None) => Err(Failure::usage(format!("{option} {self} needs {option}-ca")).hint(format!(
                "{option}-ca FILE, with the certificate of the CA that issued the collector's, PEM"
            ))),
            (false, Some(_)) => Err(Failure::usage(format!("{option}-ca does nothing for {self}"))
                .hint("an https:// collector has a certificate that it judges")),
            (false, None) if plaintext == Plaintext::OnThisHost && !self.names_this_host() => {
                Err(Failure::usage(format!(
                    "{option} {self} would send over the network without TLS: an attacker on the way reads {reads}, and can change it"
                ))
                .hint(format!(
                    "https://HOST:PORT with {option}-ca FILE, or a collector on this host"
                ))
                .hint(format!(
                    "say {option}-allow-plaintext where the network itself is protected"
                )))
            }
            _ => Ok(()),
        }
    }

    fn names_this_host(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Returns true if a connection to this address, resolved from the host's name, is permitted.
    pub fn admits(&self, address: SocketAddr, plaintext: Plaintext) -> bool {
        self.is_https || plaintext == Plaintext::Anywhere || address.ip().to_canonical().is_loopback()
    }
}

/// By which option a collector was named, and what others would read.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// The option, as `--otlp`.
    pub option: &'static str,
    /// The content, as a reader on the way would have it.
    pub reads: &'static str,
}

/// Permitted destinations of data without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plaintext {
    /// Loopback addresses alone.
    OnThisHost,
    /// Every address.
    Anywhere,
}

impl Plaintext {
    /// Anywhere where that was asked for.
    pub fn allowed(asked: bool) -> Self {
        if asked { Self::Anywhere } else { Self::OnThisHost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: Purpose = Purpose {
        option: "--otlp",
        reads: "all of it",
    };

    fn read(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_read_and_the_signals_paths_are_added_to_its_own() {
        let target = read("http://[::1]:4318/otel/");
        assert_eq!((target.host.as_str(), target.port), ("::1", 4318));
        assert_eq!(target.path("logs"), "/otel/v1/logs");
        assert_eq!(target.to_string(), "http://[::1]:4318/otel");
        assert_eq!(read("https://collector.example:443").path("metrics"), "/v1/metrics");
        for wrong in [
            "",
            "collector:4318",
            "http://collector",
            "http://user@collector:4318",
            "http://collector:4318/v1/logs",
            "http://collector:4318/?token=1",
            "grpc://collector:4317",
        ] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_tls_nothing_leaves_this_host_unless_that_is_asked_for() {
        let here = [
            "http://127.0.0.1:4318",
            "http://[::1]:4318",
            "http://localhost:4318",
            "http://[::ffff:127.0.0.1]:4318",
        ];
        for url in here {
            assert!(
                read(url).permitted(PURPOSE, None, Plaintext::OnThisHost).is_ok(),
                "{url}"
            );
        }
        for url in [
            "http://192.0.2.1:4318",
            "http://collector:4318",
            "http://localhost.example:4318",
        ] {
            let refused = read(url).permitted(PURPOSE, None, Plaintext::OnThisHost).unwrap_err();
            assert!(refused.hints().contains("--otlp-allow-plaintext"), "{url}");
            assert!(read(url).permitted(PURPOSE, None, Plaintext::Anywhere).is_ok(), "{url}");
        }
        // A name is only a name: it may lead elsewhere.
        let elsewhere = "192.0.2.1:4318".parse().unwrap();
        assert!(!read("http://localhost:4318").admits(elsewhere, Plaintext::OnThisHost));
    }

    #[test]
    fn https_needs_roots_and_http_takes_none() {
        let roots = Some(Path::new("ca.pem"));
        assert!(
            read("https://collector:4318")
                .permitted(PURPOSE, None, Plaintext::Anywhere)
                .is_err()
        );
        assert!(
            read("https://collector:4318")
                .permitted(PURPOSE, roots, Plaintext::OnThisHost)
                .is_ok()
        );
        assert!(
            read("http://127.0.0.1:4318")
                .permitted(PURPOSE, roots, Plaintext::OnThisHost)
                .is_err()
        );
    }
}
