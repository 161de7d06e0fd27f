//! One HTTP/2 connection to an NRF.

use std::time::Duration;

use bartizan_deployment::InterfaceKind;
use bytes::Bytes;
use h2::Reason;
use h2::client::SendRequest;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::uri::{Authority, Parts, PathAndQuery};
use http::{Method, Request, StatusCode, Uri};
use rustls::CertificateError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::target::Security;
use super::{Error, Target};

/// Time limit for opening a connection, including its handshake.
const OPENING: Duration = Duration::from_secs(10);
/// Time limit of free5GC's AMF for an SBI request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for closing a connection that is no longer wanted.
const CLOSING: Duration = Duration::from_secs(1);
/// Receive window of a stream and of the connection, in bytes.
const WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Bytes of an answer's body that are read.
const LARGEST_BODY: usize = 16 << 20;

/// A request.
#[derive(Debug, Clone)]
pub struct Question {
    /// In messages: `registration`.
    pub what: &'static str,
    /// `:method`.
    pub method: Method,
    /// `:path` with its query.
    pub path: String,
    /// `content-type`, where there is a body.
    pub content_type: &'static str,
    /// The body, or nothing.
    pub body: Bytes,
}

impl Question {
    /// Name in messages.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{} ({} {})", self.what, self.method, self.path)
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `:status`.
    pub status: StatusCode,
    /// `content-type` without parameters, or nothing.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// One HTTP/2 connection to an NRF.
#[derive(Debug)]
pub struct Channel {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<Result<(), h2::Error>>,
    target: Target,
}

/// Reason for a missing response.
#[derive(Debug)]
pub(super) enum Silence {
    /// The NRF has certainly not looked at the request: it may be asked again (RFC 9113, section 8.7).
    Unprocessed(Error),
    Failed(Error),
}

impl From<Silence> for Error {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::Unprocessed(error) | Silence::Failed(error) => error,
        }
    }
}

impl Channel {
    /// Connects, with the TLS handshake where the target has one.
    ///
    /// # Errors
    /// Fails if the port is closed, the handshake fails, or the other side does not speak HTTP/2.
    pub async fn open(target: &Target) -> Result<Self, Error> {
        let late = || Error::Late {
            what: "connecting".to_owned(),
            url: target.url.clone(),
            within: OPENING,
        };
        timeout(OPENING, Self::opened(target)).await.map_err(|_| late())?
    }

    async fn opened(target: &Target) -> Result<Self, Error> {
        let unreachable = |source| Error::Unreachable {
            url: target.url.clone(),
            source,
        };
        let stream = TcpStream::connect(target.address).await.map_err(unreachable)?;
        // Before the handshake: without it flights of ML-DSA wait for acknowledgements.
        stream.set_nodelay(true).map_err(unreachable)?;
        let tls = |detail: String, hint: String| Error::Tls {
            url: target.url.clone(),
            detail,
            hint,
        };
        match &target.security {
            Security::Clear => Self::begun(target, stream).await,
            Security::Mutual { endpoint, peer } => {
                let connecting = endpoint.connect(peer, InterfaceKind::Sbi)?;
                let watch = connecting.watch;
                let shaken = TlsConnector::from(connecting.config)
                    .connect(connecting.name, stream)
                    .await;
                let shaken = shaken.map_err(|error| watch.failed(&error));
                let judged = shaken.and_then(|shaken| watch.finish_client(shaken.get_ref().1).map(|_| shaken));
                let shaken = judged.map_err(|refused| tls(refused.to_string(), refused.hint.clone()))?;
                Self::begun(target, shaken).await
            }
            Security::Server { config, name } => {
                let shaken = TlsConnector::from(config.clone()).connect(name.clone(), stream).await;
                let shaken = shaken.map_err(|error| {
                    let hint = hint_of(&error);
                    tls(error.to_string(), hint)
                })?;
                if shaken.get_ref().1.alpn_protocol() != Some(b"h2") {
                    return Err(Error::NotHttp2 {
                        url: target.url.clone(),
                        detail: "it has not taken h2 by ALPN".to_owned(),
                    });
                }
                Self::begun(target, shaken).await
            }
        }
    }

    async fn begun(
        target: &Target,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Error> {
        let handshake = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake::<_, Bytes>(stream);
        let (sender, connection) = handshake.await.map_err(|error| not_http2(target, &error))?;
        Ok(Self {
            sender,
            driver: tokio::spawn(connection),
            target: target.clone(),
        })
    }

    /// Asks, and reads the whole answer.
    pub(super) async fn ask(&self, question: &Question) -> Result<Said, Silence> {
        match timeout(PATIENCE, self.ask_patiently(question)).await {
            Ok(said) => said,
            Err(_) => Err(Silence::Failed(Error::Late {
                what: question.shown(),
                url: self.target.url.clone(),
                within: PATIENCE,
            })),
        }
    }

    async fn ask_patiently(&self, question: &Question) -> Result<Said, Silence> {
        let head = self.head(question).map_err(Silence::Failed)?;
        // Nothing has been sent before `ready` returns, whatever its error.
        let ready = self.sender.clone().ready().await;
        let mut sender = ready.map_err(|error| {
            let failure = self.failure(question, &error);
            // A server without HTTP/2 fails every retry too.
            if matches!(failure, Error::NotHttp2 { .. }) {
                Silence::Failed(failure)
            } else {
                Silence::Unprocessed(failure)
            }
        })?;
        let silence = |error: h2::Error| self.silence(question, &error);
        let (response, mut stream) = sender.send_request(head, question.body.is_empty()).map_err(silence)?;
        if !question.body.is_empty() {
            stream.send_data(question.body.clone(), true).map_err(silence)?;
        }
        let (head, mut body) = response.await.map_err(silence)?.into_parts();
        let mut whole = Vec::new();
        while let Some(part) = body.data().await {
            let part = part.map_err(silence)?;
            body.flow_control().release_capacity(part.len()).map_err(silence)?;
            if whole.len() + part.len() > LARGEST_BODY {
                return Err(Silence::Failed(Error::Shape {
                    what: question.shown(),
                    url: self.target.url.clone(),
                    reason: format!("the answer has more than {} MB", LARGEST_BODY >> 20),
                }));
            }
            whole.extend_from_slice(&part);
        }
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type
            .and_then(|value| value.split(';').next())
            .unwrap_or_default();
        Ok(Said {
            status: head.status,
            content_type: content_type.trim().to_ascii_lowercase(),
            body: whole,
        })
    }

    fn head(&self, question: &Question) -> Result<Request<()>, Error> {
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(format!("{}: {error}", question.shown()));
        let mut parts = Parts::default();
        parts.scheme = Some(self.target.scheme());
        parts.authority = Some(Authority::try_from(&*self.target.authority).map_err(|error| ours(&error))?);
        parts.path_and_query = Some(PathAndQuery::try_from(&*question.path).map_err(|error| ours(&error))?);
        let mut head = Request::new(());
        *head.method_mut() = question.method.clone();
        *head.uri_mut() = Uri::from_parts(parts).map_err(|error| ours(&error))?;
        let headers = head.headers_mut();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, application/problem+json"),
        );
        if !question.body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(question.content_type));
        }
        Ok(head)
    }

    /// Classifies an error. A GOAWAY that ends before the stream, or REFUSED_STREAM, shows that the
    /// NRF has not processed it.
    fn silence(&self, question: &Question, error: &h2::Error) -> Silence {
        let refused = error.is_remote()
            && (error.is_go_away() && error.reason() == Some(Reason::NO_ERROR)
                || error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM));
        let failure = self.failure(question, error);
        if refused {
            Silence::Unprocessed(failure)
        } else {
            Silence::Failed(failure)
        }
    }

    fn failure(&self, question: &Question, error: &h2::Error) -> Error {
        // Other protocols are recognised by their first bytes, which are no frame.
        let nonsense =
            error.is_library() && matches!(error.reason(), Some(Reason::FRAME_SIZE_ERROR | Reason::PROTOCOL_ERROR));
        if nonsense {
            return not_http2(&self.target, error);
        }
        Error::Broken {
            what: question.shown(),
            url: self.target.url.clone(),
            detail: error.to_string(),
        }
    }

    /// Lets the connection end: GOAWAY, and the socket closed.
    pub async fn close(self) {
        drop(self.sender);
        let abort = self.driver.abort_handle();
        // A driver that ends with an error has already reported it to the requester. One that does
        // not end is dropped.
        if timeout(CLOSING, self.driver).await.is_err() {
            abort.abort();
        }
    }
}

fn not_http2(target: &Target, error: &h2::Error) -> Error {
    Error::NotHttp2 {
        url: target.url.clone(),
        detail: error.to_string(),
    }
}

/// Hint for a failed handshake with the user's NRF.
fn hint_of(error: &std::io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let hint = match tls {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "name the NRF in --target as its certificate does, or issue it a certificate that carries this name",
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "--target-ca takes the certificate of the CA that issued the NRF's"
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            "look at the NRF's certificate: openssl s_client -connect HOST:PORT"
        }
        Some(rustls::Error::AlertReceived(rustls::AlertDescription::ProtocolVersion)) => {
            "the lab speaks TLS 1.3 only: does the NRF?"
        }
        Some(rustls::Error::AlertReceived(_)) => {
            "the NRF refused the handshake: it may ask for a client certificate, which the lab has none of"
        }
        Some(rustls::Error::InvalidMessage(_)) => "that is not TLS: is the port one of http://?",
        _ => "is this the NRF's TLS port?",
    };
    hint.to_owned()
}
