//! Echo at the sidecars of a node's peers, over fresh connections that both ends judge as any
//! other.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bartizan_deployment::{Carrier, Deployment, Limits};
use bartizan_gateway::{Decoder, Frame, Received, Resume, Token, VERSION};
use bartizan_tls::{Credentials, Endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::answers::failure::{Failure, Why};
use crate::dialling::tap::Tap;
use crate::error::Error;
use crate::routing::peers::{Upstream, Upstreams};
use crate::sidecar::find;

/// Connections under way at once.
const AT_ONCE: usize = 32;
/// Preface and SETTINGS of a client (RFC 9113, section 3.4), and a PING (section 6.7) of zeros.
const PING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// Header of the PING that acknowledges it.
const ACKNOWLEDGED: &[u8] = &[0, 0, 8, 6, 1, 0, 0, 0, 0];
/// Octets of a frame's header.
const HEADER: usize = 9;
/// Octets of an answer at most: those of a server's first frames.
const LONGEST: usize = 64 * 1024;

/// Result of an echo at the sidecar of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echoed {
    /// The peer.
    pub peer: String,
    /// The interface of its listener, by its name.
    pub interface: &'static str,
    /// Address of its listener.
    pub address: SocketAddr,
    /// The answer.
    pub answer: Answer,
}

/// Answer to an echo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Both ends accepted the handshake, and the echo came back in the connection.
    Passed(&'static str),
    /// Why it did not, and advice.
    Failed(String, String),
    /// Why none was sent.
    None(&'static str),
}

/// Sends an echo to every listener of every peer that `node` may dial. These connections are in the
/// ledgers of the peers' sidecars, as all that they accept.
///
/// # Errors
/// Fails if the node's files cannot be used.
pub async fn echo(deployment: &Deployment, node: &str) -> Result<Vec<Echoed>, Error> {
    let node = find(deployment, node)?;
    let name = node.name.as_str();
    let no_sidecar = || Error::no_sidecar(node);
    let limits = node.sidecar.as_ref().ok_or_else(no_sidecar)?.limits;
    let credentials = Credentials::load(node.files.as_ref().ok_or_else(no_sidecar)?)?;
    credentials.check_identity(&node.identity)?;
    let endpoint = Arc::new(Endpoint::new(credentials, bartizan_tls::peers(deployment, name))?);
    let upstreams = Upstreams::of(deployment, name, None);
    let mut echoed = Vec::new();
    for some in upstreams.upstreams.chunks(AT_ONCE) {
        let mut under_way = JoinSet::new();
        for upstream in some {
            let (endpoint, upstream) = (Arc::clone(&endpoint), upstream.clone());
            under_way.spawn(async move { at(&endpoint, &upstream, limits).await });
        }
        echoed.extend(under_way.join_all().await);
    }
    echoed.sort_by(|one, other| {
        (&one.peer, one.interface, one.address).cmp(&(&other.peer, other.interface, other.address))
    });
    Ok(echoed)
}

async fn at(endpoint: &Endpoint, upstream: &Upstream, limits: Limits) -> Echoed {
    let answer = match upstream.carrier {
        Carrier::Quic if upstream.interface.over_sctp() => {
            Answer::None("carried in QUIC: `/connections` of the admin port shows its associations")
        }
        _ => match ask(endpoint, upstream, limits).await {
            Ok(by) => Answer::Passed(by),
            Err(failure) => Answer::Failed(format!("{}: {}", failure.why.as_str(), failure.detail), failure.hint),
        },
    };
    Echoed {
        peer: upstream.peer.to_string(),
        interface: upstream.interface.name(),
        address: upstream.address,
        answer,
    }
}

async fn ask(endpoint: &Endpoint, upstream: &Upstream, limits: Limits) -> Result<&'static str, Failure> {
    let peer = upstream.peer.as_str();
    let failed = |reason, detail: String, hint: &str| Failure::new(peer, Why::Peer(reason), detail, hint);
    let connecting = endpoint
        .connect(peer, upstream.interface)
        .map_err(|error| failed(bartizan_tls::Reason::Ours, error.to_string(), ""))?;
    let dialled = match timeout(limits.connect, TcpStream::connect(upstream.address)).await {
        Ok(dialled) => dialled,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    };
    let stream = dialled.map_err(|error| {
        let hint = "is the peer's sidecar running? Where a redirect is installed, ask as the sidecar's own user";
        let unreachable = Why::Peer(bartizan_tls::Reason::Unreachable);
        Failure::undialled(peer, (upstream.address, &error), unreachable, hint)
    })?;
    let watch = connecting.watch.clone();
    let refused = |refused: Box<_>| Failure::refused(peer, &refused);
    let handshake = TlsConnector::from(connecting.config).connect(connecting.name, Tap::new(stream, watch.clone()));
    let mut tls = match timeout(limits.handshake, handshake).await {
        Ok(tls) => tls.map_err(|error| refused(watch.failed(&error)))?,
        Err(_) => return Err(refused(watch.timed_out())),
    };
    watch.finish_client(tls.get_ref().1).map_err(refused)?;
    let (question, read) = match upstream.interface.over_sctp() {
        true => (unknown_association(), answered_unknown as fn(&[u8]) -> _),
        false => (PING.to_vec(), acknowledged as fn(&[u8]) -> _),
    };
    let exchange = async {
        tls.write_all(&question).await?;
        tls.flush().await?;
        let mut answer = Vec::new();
        loop {
            if let Some(by) = read(&answer) {
                return Ok(Some(by));
            }
            if answer.len() >= LONGEST || tls.read_buf(&mut answer).await? == 0 {
                return Ok(None);
            }
        }
    };
    match timeout(patience(limits), exchange).await {
        Ok(Ok(Some(by))) => {
            // The echo has passed: a peer that has closed meanwhile changes nothing.
            let _ = timeout(limits.connect, tls.shutdown()).await;
            Ok(by)
        }
        Ok(Ok(None)) => Err(failed(
            bartizan_tls::Reason::Closed,
            "the connection ended without the answer to the echo".to_owned(),
            "see the log of the peer's sidecar",
        )),
        Ok(Err(error)) => Err(refused(watch.failed(&error))),
        Err(_) => Err(failed(
            bartizan_tls::Reason::TimedOut,
            "the handshake was accepted, the echo was not answered in time".to_owned(),
            "with `path: splice` the network function behind the peer's sidecar answers: does it speak HTTP/2?",
        )),
    }
}

/// The longest wait for an answer: the peer's sidecar may have to reach its function first.
fn patience(limits: Limits) -> Duration {
    limits.connect + limits.handshake
}

/// The acknowledgement of [`PING`] among a server's first frames.
fn acknowledged(mut frames: &[u8]) -> Option<&'static str> {
    while let Some((header, rest)) = frames.split_at_checked(HEADER) {
        if header == ACKNOWLEDGED {
            return Some("HTTP/2 PING");
        }
        let length = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        frames = rest.get(length..)?;
    }
    None
}

/// Asks for an association to continue that no gateway has: it answers so, and keeps nothing.
fn unknown_association() -> Vec<u8> {
    let mut question = Vec::new();
    let (attempt, received) = (1, Received::default());
    let token = Token([0; Token::LENGTH]);
    let resume = Resume {
        token,
        attempt,
        received,
    };
    Frame::Resume {
        version: VERSION,
        resume,
    }
    .encode(&mut question);
    question
}

fn answered_unknown(answer: &[u8]) -> Option<&'static str> {
    let mut decoder = Decoder::default();
    decoder.push(answer);
    matches!(decoder.next_frame(), Ok(Some(Frame::Unknown))).then_some("frame of the gateway")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acknowledgement_is_found_behind_other_frames_and_nowhere_else() {
        let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        let acknowledged_settings = [0, 0, 0, 4, 1, 0, 0, 0, 0];
        let whole = [&settings[..], &acknowledged_settings, ACKNOWLEDGED].concat();
        assert_eq!(acknowledged(&whole), Some("HTTP/2 PING"));
        for end in 0..whole.len() {
            assert_eq!(acknowledged(&whole[..end]), None, "{end}");
        }
        // Inside of another frame it is that frame's.
        let within = [&[0, 0, 9, 0, 0, 0, 0, 0, 1][..], ACKNOWLEDGED].concat();
        assert_eq!(acknowledged(&within), None);
        assert_eq!(acknowledged(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None);
    }

    #[test]
    fn an_association_that_no_gateway_has_is_answered_as_unknown() {
        let mut unknown = Vec::new();
        Frame::Unknown.encode(&mut unknown);
        assert!(answered_unknown(&unknown).is_some());
        assert!(answered_unknown(&unknown[..4]).is_none() && answered_unknown(&unknown_association()).is_none());
    }
}
