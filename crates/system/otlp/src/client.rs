//! One `POST` to a collector and what came of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bartizan_tls::collector;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::target::{Plaintext, Purpose, Target};
use bartizan_terminal::Failure;

/// For a connection with its handshake, and for an answer: that of OTLP exporters.
const PATIENCE: Duration = Duration::from_secs(10);
/// For an address of several, so that there is time for the next one: IPv6 that leads nowhere comes first.
const FOR_ONE: Duration = Duration::from_secs(3);
/// An answer has at most so many bytes.
const LONGEST: usize = 64 << 10;
const AGENT: &str = concat!("bartizan/", env!("CARGO_PKG_VERSION"));

/// Outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Taken; the body may refuse parts.
    Taken(Vec<u8>),
    /// Not taken, and it is to be repeated, not before the pause that was asked for.
    Later {
        /// The error or the answer, in one line.
        why: String,
        /// Requested by `Retry-After`.
        pause: Option<Duration>,
    },
    /// Refused: it must not be repeated as it is.
    Refused {
        /// The answer's.
        status: StatusCode,
        /// The answer, in one line.
        why: String,
    },
}

/// A client of one collector, with at most one connection.
pub struct Client {
    target: Target,
    plaintext: Plaintext,
    roots: Option<PathBuf>,
    kept: Option<SendRequest<Full<Bytes>>>,
    /// Those of the last lookup: a confined process cannot read a replaced `/etc/hosts`.
    addresses: Vec<SocketAddr>,
}

impl Client {
    /// A client that has no connection yet.
    ///
    /// # Errors
    /// The target is not permitted without TLS, or `roots` (PEM) cannot be read.
    pub fn new(
        target: &Target,
        purpose: Purpose,
        plaintext: Plaintext,
        roots: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        target.permitted(purpose, roots.as_deref(), plaintext)?;
        if let Some(roots) = &roots {
            collector(roots).map_err(|error| Failure::usage(&error).with_hints(error.hint()))?;
        }
        Ok(Self {
            target: target.clone(),
            plaintext,
            roots,
            kept: None,
            addresses: Vec::new(),
        })
    }

    /// Another one of the same collector, with a connection of its own: of several signals each has one.
    pub fn another(&self) -> Self {
        Self {
            target: self.target.clone(),
            plaintext: self.plaintext,
            roots: self.roots.clone(),
            kept: None,
            addresses: self.addresses.clone(),
        }
    }

    /// Sends a body to the path of a signal.
    pub async fn post(&mut self, signal: &str, body: String) -> Outcome {
        match timeout(PATIENCE, self.exchange(signal, Bytes::from(body))).await {
            Ok(Ok((status, pause, body))) => judged(status, pause, &body),
            Ok(Err(why)) => Outcome::Later { why, pause: None },
            Err(_) => Outcome::Later {
                why: format!("no answer within {} s", PATIENCE.as_secs()),
                pause: None,
            },
        }
    }

    async fn exchange(&mut self, signal: &str, body: Bytes) -> Result<(StatusCode, Option<Duration>, Bytes), String> {
        // It is kept again when the answer was read to its end.
        let kept = match self.kept.take() {
            Some(mut kept) => kept.ready().await.is_ok().then_some(kept),
            None => None,
        };
        let mut sender = match kept {
            Some(kept) => kept,
            None => self.connect().await?,
        };
        let request = Request::post(self.target.path(signal))
            .header(HOST, self.target.authority())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT)
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = answer.into_parts();
        let body = match Limited::new(body, LONGEST).collect().await {
            Ok(body) => {
                self.kept = Some(sender);
                body.to_bytes()
            }
            // The status has the outcome of the request. The rest stays unread, and the connection
            // is not used again.
            Err(error) if error.is::<LengthLimitError>() => Bytes::new(),
            Err(error) => return Err(error.to_string()),
        };
        let moved = head.headers.get(LOCATION).filter(|_| head.status.is_redirection());
        let body = moved.map_or(body, |place| Bytes::copy_from_slice(place.as_bytes()));
        Ok((head.status, pause(&head.headers, OffsetDateTime::now_utc()), body))
    }

    async fn connect(&mut self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = self.reach().await?;
        let Some(roots) = &self.roots else {
            return opened(stream).await;
        };
        // Read for each connection: roots are replaced too.
        let config = collector(roots).map_err(|error| error.to_string())?;
        let name = ServerName::try_from(self.target.host.clone()).map_err(|error| error.to_string())?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        opened(stream.map_err(|error| error.to_string())?).await
    }

    async fn reach(&mut self) -> Result<TcpStream, String> {
        let found = lookup_host((self.target.host.as_str(), self.target.port)).await;
        match found {
            Ok(found) => self.addresses = found.collect(),
            Err(error) if self.addresses.is_empty() => return Err(error.to_string()),
            Err(_) => {}
        }
        let (mut admitted, mut last) = (Vec::new(), "its name leads to no address".to_owned());
        for &address in &self.addresses {
            if self.target.admits(address, self.plaintext) {
                admitted.push(address);
            } else {
                last = format!("its name leads to {address}, which is not this host, and there is no TLS");
            }
        }
        let stream = one_of(&admitted, FOR_ONE)
            .await
            .map_err(|error| error.unwrap_or(last))?;
        // It only changes when bytes leave.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

/// A connection to the first of these addresses that takes one; all but the last have so long. An error is that of the last.
async fn one_of(addresses: &[SocketAddr], for_one: Duration) -> Result<TcpStream, Option<String>> {
    let mut last = None;
    for (place, address) in addresses.iter().enumerate() {
        let others = addresses.len() - place - 1;
        let patience = if others > 0 { for_one } else { PATIENCE };
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = Some(error.to_string()),
            Err(_) => last = Some(format!("no connection to {address} within {} s", patience.as_secs())),
        }
    }
    Err(last)
}

async fn opened<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // The task that awaits the answer sees the error.
        let _ = connection.await;
    });
    Ok(sender)
}

/// As OTLP has it: these four are repeated, and nothing else that is no success.
fn judged(status: StatusCode, pause: Option<Duration>, body: &[u8]) -> Outcome {
    const AGAIN: [StatusCode; 4] = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    if status.is_success() {
        return Outcome::Taken(body.to_vec());
    }
    let text = String::from_utf8_lossy(body);
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    let why = format!("it answers {}: {line}", status.as_u16());
    match AGAIN.contains(&status) {
        true => Outcome::Later { why, pause },
        false => Outcome::Refused { status, why },
    }
}

/// Pause requested by `Retry-After`: seconds, or a date.
fn pause(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = OffsetDateTime::parse(value, &Rfc2822).ok()?;
    Some(Duration::try_from(date - now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_what_otlp_says_is_repeated() {
        for status in 100..600u16 {
            let status = StatusCode::from_u16(status).unwrap();
            let again = [429, 502, 503, 504].contains(&status.as_u16());
            match judged(status, None, b"words\x1b[31m of it\nmore") {
                Outcome::Taken(_) => assert!(status.is_success()),
                Outcome::Later { .. } => assert!(again, "{status}"),
                Outcome::Refused { why, .. } => {
                    assert!(!again && !status.is_success(), "{status}");
                    assert!(why.ends_with(": words[31m of it"), "{why:?}");
                }
            }
        }
    }

    /// A confined sidecar delivered nothing more once `/etc/hosts` was replaced.
    #[tokio::test(flavor = "current_thread")]
    async fn a_name_that_is_not_found_any_more_keeps_its_addresses() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let purpose = Purpose {
            option: "--x",
            reads: "x",
        };
        let target = "http://localhost:4318".parse().unwrap();
        let mut client = Client::new(&target, purpose, Plaintext::OnThisHost, None).unwrap();
        // No resolver looks up a name of this form.
        client.target.host = "a..b".to_owned();
        assert!(client.reach().await.is_err());
        client.addresses.push(listener.local_addr().unwrap());
        client.reach().await.unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        use tokio::net::{TcpListener, TcpSocket};

        let silent = TcpSocket::new_v4().unwrap();
        silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = silent.listen(1).unwrap();
        let silent_address = silent.local_addr().unwrap();
        // The listener never accepts, and its backlog becomes full.
        let mut held = Vec::new();
        while let Ok(Ok(stream)) = timeout(Duration::from_millis(200), TcpStream::connect(silent_address)).await {
            held.push(stream);
        }
        let answers = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = answers.local_addr().unwrap();
        let stream = one_of(&[silent_address, address], Duration::from_millis(100)).await;
        assert_eq!(stream.unwrap().peer_addr().unwrap(), address);
        assert_eq!(one_of(&[], FOR_ONE).await.unwrap_err(), None);
    }

    #[test]
    fn a_pause_is_seconds_or_a_date() {
        let now = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
            pause(&headers, now)
        };
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        assert_eq!(read("Tue, 14 Nov 2023 22:14:20 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(read("Tue, 14 Nov 2023 22:13:00 GMT"), Some(Duration::ZERO));
        assert_eq!(
            (read("soon"), read("-3"), pause(&HeaderMap::new(), now)),
            (None, None, None)
        );
    }
}
