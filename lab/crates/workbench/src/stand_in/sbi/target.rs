//! Address and security of an NRF.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;

use bartizan_tls::Endpoint;
use http::Uri;
use http::uri::Scheme;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::Error;

/// Address and security of an NRF.
#[derive(Debug, Clone)]
pub struct Target {
    /// Address to connect to: the NRF, or the sidecar before it.
    pub address: SocketAddr,
    /// `:authority` of requests.
    pub authority: String,
    /// URL in messages.
    pub url: String,
    pub(super) security: Security,
}

/// Security of the connection.
#[derive(Debug, Clone)]
pub(super) enum Security {
    Clear,
    /// Both ends authenticated, as a deployment has it.
    Mutual {
        endpoint: Endpoint,
        peer: &'static str,
    },
    /// The server alone authenticated, by roots the user gave and the name in the address.
    Server {
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    },
}

impl Target {
    /// In plaintext.
    #[must_use]
    pub fn clear(address: SocketAddr) -> Self {
        Self {
            address,
            authority: address.to_string(),
            url: format!("http://{address}"),
            security: Security::Clear,
        }
    }

    /// By TLS with both ends authenticated.
    #[must_use]
    pub fn mutual(address: SocketAddr, endpoint: Endpoint, peer: &'static str) -> Self {
        Self {
            address,
            authority: address.to_string(),
            url: format!("https://{address}"),
            security: Security::Mutual { endpoint, peer },
        }
    }

    /// To the NRF at this address: `http://HOST:PORT`, or `https://HOST:PORT` with the roots in `ca`.
    ///
    /// # Errors
    /// Fails if it is no such address, the name does not resolve, or `https` comes without readable
    /// roots.
    pub fn to_url(url: &str, ca: Option<&Path>) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Url {
            url: url.to_owned(),
            reason: reason.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("{error}")))?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(wrong("it begins with neither http:// nor https://")),
        };
        if uri.path_and_query().is_some_and(|path| path.as_str() != "/") {
            return Err(wrong("a path is not used: the NRF's own are fixed"));
        }
        let host = uri.host().ok_or_else(|| wrong("there is no host"))?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let resolved = (bare, port).to_socket_addrs();
        let mut addresses = resolved.map_err(|source| Error::Unresolved {
            url: url.to_owned(),
            source,
        })?;
        let address = addresses.next().ok_or_else(|| wrong("the name has no address"))?;
        let security = if secure {
            let ca =
                ca.ok_or_else(|| wrong("https needs the CA's certificate to judge the NRF by (--target-ca FILE)"))?;
            Security::Server {
                config: bartizan_tls::unlisted_server(ca)?,
                name: ServerName::try_from(bare.to_owned()).map_err(|_| wrong("no certificate can carry that host"))?,
            }
        } else {
            Security::Clear
        };
        Ok(Self {
            address,
            authority: format!("{host}:{port}"),
            url: url.trim_end_matches('/').to_owned(),
            security,
        })
    }

    /// True if it is in plaintext.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        matches!(self.security, Security::Clear)
    }

    /// `:scheme` of requests.
    pub(super) fn scheme(&self) -> Scheme {
        if self.is_clear() { Scheme::HTTP } else { Scheme::HTTPS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_mistakes_named() {
        let target = Target::to_url("http://127.0.0.1:8000/", None).unwrap();
        assert_eq!((&*target.authority, target.address.port()), ("127.0.0.1:8000", 8000));
        assert_eq!(target.url, "http://127.0.0.1:8000");
        let six = Target::to_url("http://[::1]:8000", None).unwrap();
        assert_eq!((&*six.authority, six.address.is_ipv6()), ("[::1]:8000", true));
        for (url, expected) in [
            ("127.0.0.1:8000", "neither http:// nor https://"),
            ("ftp://127.0.0.1", "neither http:// nor https://"),
            ("http://127.0.0.1:8000/nnrf-nfm/v1", "a path is not used"),
            ("https://127.0.0.1:8000", "--target-ca"),
            ("http://", "is not the address"),
            ("http://no-such-host.invalid:1", "no-such-host"),
        ] {
            let error = Target::to_url(url, None).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.hint().is_some());
        }
        let unread = Target::to_url("https://127.0.0.1:1", Some(Path::new("/no/ca.pem"))).unwrap_err();
        assert!(unread.to_string().contains("/no/ca.pem"), "{unread}");
    }
}
