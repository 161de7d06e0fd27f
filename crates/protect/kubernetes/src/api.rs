//! A client of the API server: HTTP/1.1 over the TLS that `tls` decides, and nothing of what a general client has.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bartizan_tls::api_server;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HOST, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::NamedGroup;
use tokio_rustls::rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use bartizan_terminal::Failure;

/// For a connection with its handshake, and for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// An answer has at most so many bytes: a page of a list is the longest, and shorter where it would be longer. An object has 1.5 MiB at most.
const LONGEST: usize = 8 << 20;
/// Requests that the API server asks to repeat (429, 503 with Retry-After) are repeated so often, after at most so long.
const REPEATED: usize = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Connections kept.
const KEPT: usize = 3;
/// A token has at most so many bytes.
const TOKEN: usize = 16 << 10;

/// Service account directory of a pod.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Why a request did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// No answer: connection, handshake, time.
    Unreachable(String),
    /// An answer that is longer than any that is read.
    TooLong,
    /// An answer that is a refusal.
    Status(u16, String),
    /// An answer that cannot be read.
    Malformed(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the API server does not answer: {why}"),
            Self::TooLong => write!(f, "the API server's answer has more than {LONGEST} bytes"),
            Self::Status(code, message) => write!(f, "the API server answers {code}: {message}"),
            Self::Malformed(why) => write!(f, "the API server's answer cannot be read: {why}"),
        }
    }
}

impl Problem {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Status(code, _) => Some(*code),
            _ => None,
        }
    }

    /// For metrics.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Unreachable(_) => "unreachable".to_owned(),
            Self::TooLong => "too_long".to_owned(),
            Self::Status(code, _) => code.to_string(),
            Self::Malformed(_) => "malformed".to_owned(),
        }
    }
}

/// The API server, and how one proves to be entitled.
pub struct Api {
    host: String,
    port: u16,
    roots: PathBuf,
    token: PathBuf,
    /// Connections that wait for a request.
    kept: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    /// Seconds that this machine's clock is ahead of the API server's, as of the last answer.
    skew: AtomicI64,
}

impl Api {
    /// The API server of the cluster this pod runs in, or the one that is named.
    ///
    /// # Errors
    /// A URL, a file of roots or a token that cannot be used; in no pod, no server.
    pub fn new(server: Option<&str>, roots: Option<PathBuf>, token: Option<PathBuf>) -> Result<Self, Failure> {
        let (host, port) = match server {
            Some(url) => parse(url)?,
            None => in_cluster()?,
        };
        let api = Self {
            host,
            port,
            roots: roots.unwrap_or_else(|| format!("{ACCOUNT}/ca.crt").into()),
            token: token.unwrap_or_else(|| format!("{ACCOUNT}/token").into()),
            kept: Mutex::new(Vec::new()),
            skew: AtomicI64::new(0),
        };
        api_server(&api.roots).map_err(|error| Failure::usage(&error).with_hints(error.hint()))?;
        api.bearer().map_err(|problem| {
            Failure::usage(problem).hint("--token-file FILE, with a token of a ServiceAccount: kubectl create token")
        })?;
        Ok(api)
    }

    /// Namespace of this pod, where it runs in a cluster.
    pub(crate) fn own_namespace() -> Option<String> {
        let text = std::fs::read_to_string(format!("{ACCOUNT}/namespace")).ok()?;
        Some(text.trim().to_owned()).filter(|name| !name.is_empty())
    }

    pub(crate) fn skew(&self) -> i64 {
        self.skew.load(Ordering::Relaxed)
    }

    /// Read for each request: a kubelet replaces it every hour.
    fn bearer(&self) -> Result<HeaderValue, Problem> {
        let unreadable = |why: String| Problem::Unreachable(format!("{}: {why}", self.token.display()));
        let text = Zeroizing::new(std::fs::read_to_string(&self.token).map_err(|error| unreadable(error.to_string()))?);
        if text.trim().is_empty() || text.len() > TOKEN {
            return Err(unreadable("holds no token".to_owned()));
        }
        let line = Zeroizing::new(format!("Bearer {}", text.trim()));
        let mut value = HeaderValue::from_str(&line).map_err(|_| unreadable("holds no token".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Problem> {
        let unreachable = |why: String| Problem::Unreachable(format!("{}:{}: {why}", self.host, self.port));
        let opened = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            // Read for each connection: a cluster's root is replaced too.
            let config = api_server(&self.roots).map_err(std::io::Error::other)?;
            let name = ServerName::try_from(self.host.clone()).map_err(std::io::Error::other)?;
            TlsConnector::from(config).connect(name, stream).await
        };
        let stream = timeout(PATIENCE, opened)
            .await
            .map_err(|_| unreachable("no handshake in time".to_owned()))?
            .map_err(|error| unreachable(error.to_string()))?;
        let group = stream.get_ref().1.negotiated_key_exchange_group();
        if group.is_some_and(|group| group.name() != NamedGroup::X25519MLKEM768) {
            tracing::debug!(?group, "the API server took no ML-KEM");
        }
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        tokio::spawn(async move {
            // The task that awaits the answer sees the error.
            let _ = connection.await;
        });
        Ok(sender)
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Problem> {
        let malformed = |error: http::Error| Problem::Malformed(error.to_string());
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(&call.path)
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(AUTHORIZATION, self.bearer()?)
            .header(ACCEPT, call.accept)
            .body(Full::new(call.body.clone()))
            .map_err(malformed)?;
        if !call.content.is_empty() {
            let value = HeaderValue::from_static(call.content);
            request.headers_mut().insert(CONTENT_TYPE, value);
        }
        Ok(request)
    }

    /// A request whose answer is read as a whole.
    pub(crate) async fn call(&self, call: &Call) -> Result<Zeroizing<Vec<u8>>, Problem> {
        for _ in 1..REPEATED {
            match self.attempt(call).await? {
                Ok(body) => return Ok(body),
                Err((_, Some(pause))) => sleep(pause.min(LONGEST_PAUSE)).await,
                Err((problem, None)) => return Err(problem),
            }
        }
        self.attempt(call).await?.map_err(|(problem, _)| problem)
    }

    /// The answer, or the refusal with the pause that the API server asks for.
    async fn attempt(&self, call: &Call) -> Result<Result<Zeroizing<Vec<u8>>, (Problem, Option<Duration>)>, Problem> {
        // The Lease must not wait for the page of a list, so none is held while another waits.
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sender = match kept.filter(SendRequest::is_ready) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let request = self.request(call)?;
        let answered = timeout(PATIENCE, async {
            let answer = sender.send_request(request).await;
            let answer = answer.map_err(|error| Problem::Unreachable(error.to_string()))?;
            self.look_at_clock(&answer);
            let (status, pause) = (answer.status(), pause(&answer));
            let body = Limited::new(answer.into_body(), LONGEST).collect().await;
            let body = body.map_err(|error| match error.is::<LengthLimitError>() {
                true => Problem::TooLong,
                false => Problem::Unreachable(error.to_string()),
            })?;
            Ok::<_, Problem>((status, pause, Zeroizing::new(body.to_bytes().to_vec())))
        });
        let (status, pause, body) = match answered.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(problem)) => return Err(problem),
            Err(_) => return Err(Problem::Unreachable("no answer in time".to_owned())),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(sender);
        }
        drop(kept);
        if status.is_success() {
            return Ok(Ok(body));
        }
        Ok(Err((refusal(status, &body), pause)))
    }

    /// A request whose answer is a stream, over a connection of its own.
    pub(crate) async fn stream(&self, call: &Call) -> Result<Incoming, Problem> {
        let mut sender = self.connect().await?;
        let request = self.request(call)?;
        let answer = timeout(PATIENCE, sender.send_request(request))
            .await
            .map_err(|_| Problem::Unreachable("no answer in time".to_owned()))?
            .map_err(|error| Problem::Unreachable(error.to_string()))?;
        self.look_at_clock(&answer);
        if answer.status().is_success() {
            return Ok(answer.into_body());
        }
        let status = answer.status();
        let body = timeout(PATIENCE, Limited::new(answer.into_body(), LONGEST).collect()).await;
        let body = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes);
        Err(refusal(status, &body.unwrap_or_default()))
    }

    fn look_at_clock(&self, answer: &Response<Incoming>) {
        let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
        let Some(theirs) = date.and_then(|date| OffsetDateTime::parse(date, &Rfc2822).ok()) else {
            return;
        };
        let ours = OffsetDateTime::from(SystemTime::now()).unix_timestamp();
        self.skew.store(ours - theirs.unix_timestamp(), Ordering::Relaxed);
    }
}

bartizan_registry::made! {
    /// A request.
    #[derive(Debug, Clone)]
    pub(crate) struct Call, pub(crate) get(path: impl Into<String>) {
        pub(crate) method: Method = Method::GET,
        pub(crate) path: String = path.into(),
        pub(crate) accept: &'static str = "application/json",
        pub(crate) content: &'static str = "",
        pub(crate) body: Bytes = Bytes::new(),
    }
}

impl Call {
    /// Requests only the metadata of an object.
    pub(crate) fn metadata(path: impl Into<String>) -> Self {
        Self {
            accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            ..Self::get(path)
        }
    }

    /// With a body that is erased when it was sent.
    pub(crate) fn send(
        method: Method,
        path: impl Into<String>,
        content: &'static str,
        body: Zeroizing<Vec<u8>>,
    ) -> Self {
        Self {
            method,
            content,
            body: Bytes::from_owner(body),
            ..Self::get(path)
        }
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> Problem {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        message: String,
    }
    let message = match serde_json::from_slice::<Status>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let line = message
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control());
    Problem::Status(status.as_u16(), line.take(300).collect())
}

fn pause(answer: &Response<Incoming>) -> Option<Duration> {
    let repeat = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&answer.status());
    let after = answer.headers().get(RETRY_AFTER).filter(|_| repeat)?;
    after.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

fn parse(url: &str) -> Result<(String, u16), Failure> {
    let wrong = || Failure::usage(format!("--server {url}: a URL such as https://10.96.0.1:443 is meant"));
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    if uri.scheme_str() != Some("https") || !["", "/"].contains(&uri.path()) {
        return Err(wrong());
    }
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok((host, uri.port_u16().unwrap_or(443)))
}

fn in_cluster() -> Result<(String, u16), Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = variable("KUBERNETES_SERVICE_HOST");
    let port = variable("KUBERNETES_SERVICE_PORT").and_then(|port| port.parse().ok());
    host.zip(port).ok_or_else(|| {
        Failure::usage("this is no pod of a cluster, so nobody says where the API server is")
            .hint("--server https://HOST:6443 --ca-file FILE --token-file FILE")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_http_is_read() {
        let date = OffsetDateTime::parse("Sun, 06 Nov 1994 08:49:37 GMT", &Rfc2822).unwrap();
        assert_eq!(date.unix_timestamp(), 784_111_777);
    }

    #[test]
    fn a_server_is_an_https_url_without_a_path() {
        assert_eq!(parse("https://10.96.0.1").ok(), Some(("10.96.0.1".to_owned(), 443)));
        assert_eq!(
            parse("https://[fd00::1]:6443/").ok(),
            Some(("fd00::1".to_owned(), 6443))
        );
        for wrong in ["http://10.96.0.1", "10.96.0.1:443", "https://host/k8s", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
