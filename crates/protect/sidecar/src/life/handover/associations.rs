//! Associations that a sidecar gives to its successor, one after the other.
//!
//! The predecessor sends a byte with the kernel's association, and what continues it, each with its
//! length before it. The successor answers whether it takes it, and touches it only after the
//! predecessor's last word: where any of the three is missing the predecessor still has it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_gateway::LARGEST_STATE;
use bartizan_host::sctp;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::pass;
use crate::shared::{Before, Shared};

/// An association of the kernel comes with it.
const ASSOCIATION: u8 = b'A';
/// The predecessor reads no socket of UDP any more that it has passed. A descriptor comes with it,
/// which sets it apart from octets of an association that were cut short.
const RELEASED: u8 = b'R';
/// Answers of the successor.
const TAKEN: u8 = b'Y';
const REFUSED: u8 = b'N';
/// Last word of the predecessor about an association.
const GIVEN: u8 = b'G';
/// For the exchange about one association.
const ANSWER: Duration = Duration::from_secs(5);
/// Octets of what an association is besides its state.
const LARGEST_HEAD: usize = 4096;

/// The process that serves in the place of this one.
#[derive(Debug)]
pub struct Successor(Mutex<State>);

#[derive(Debug)]
struct State {
    stream: UnixStream,
    /// It takes associations.
    takes: bool,
}

impl Successor {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self(Mutex::new(State { stream, takes: true }))
    }

    /// Gives an association; false where the successor does not take it.
    pub(crate) async fn give(&self, association: OwnedFd, head: &[u8], state: &[u8]) -> bool {
        let mut successor = self.0.lock().await;
        if !successor.takes {
            return false;
        }
        let given = timeout(ANSWER, give(&mut successor.stream, association, head, state)).await;
        let given = given.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        given.unwrap_or_else(|error| {
            tracing::warn!(%error, hint = "see the log of the new process", "associations are not handed over");
            successor.takes = false;
            false
        })
    }

    /// Has the successor read the sockets of UDP.
    pub(crate) async fn release(&self) {
        // A successor that has ended reads none.
        let _ = release(&self.0.lock().await.stream).await;
    }
}

async fn release(stream: &UnixStream) -> io::Result<()> {
    let (any, _) = std::io::pipe()?;
    send(stream, RELEASED, Some(any.as_fd())).await
}

async fn give(stream: &mut UnixStream, association: OwnedFd, head: &[u8], state: &[u8]) -> io::Result<bool> {
    let begun = Instant::now();
    send(stream, ASSOCIATION, Some(association.as_fd())).await?;
    for part in [head, state] {
        // At most `LARGEST_STATE`.
        stream.write_all(&(part.len() as u32).to_be_bytes()).await?;
        stream.write_all(part).await?;
    }
    match stream.read_u8().await? {
        // A process that stood still meanwhile finds an answer from before the successor gave up.
        TAKEN if begun.elapsed() >= ANSWER => Err(io::ErrorKind::TimedOut.into()),
        TAKEN => {
            stream.write_all(&[GIVEN]).await?;
            Ok(true)
        }
        REFUSED => Ok(false),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Sends one byte, with or without a descriptor.
pub(super) async fn send(stream: &UnixStream, byte: u8, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    loop {
        stream.writable().await?;
        match stream.try_io(Interest::WRITABLE, || pass::send(stream, &[byte], descriptor)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other.map(|_| ()),
        }
    }
}

async fn receive(stream: &UnixStream) -> io::Result<(Option<u8>, Option<OwnedFd>)> {
    loop {
        stream.readable().await?;
        match stream.try_io(Interest::READABLE, || pass::receive(stream)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
}

/// Takes over what the predecessor gives, until that has ended.
pub(super) async fn take_over(mut stream: UnixStream, shared: Arc<Shared>) {
    let (mut taken, mut refused) = (0, 0);
    loop {
        match next(&mut stream, &shared).await {
            Ok(Some(true)) => taken += 1,
            Ok(Some(false)) => refused += 1,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, hint = "see the log of the process before", "associations are not taken over");
                ended(stream, &shared).await;
                break;
            }
        }
    }
    if taken + refused > 0 {
        tracing::info!(
            taken,
            refused,
            "the process before has ended: its associations continue here"
        );
    }
    shared.takers.clear();
    shared.before.send_replace(Before::Ended);
}

/// Waits for the end of the predecessor, and takes nothing more but the sockets of UDP.
async fn ended(mut stream: UnixStream, shared: &Shared) {
    // It learns that nothing is answered.
    let _ = stream.shutdown().await;
    while let Ok((Some(byte), descriptor)) = receive(&stream).await {
        if byte == RELEASED && descriptor.is_some() {
            shared.before.send_replace(Before::Drains);
        }
    }
}

/// Takes or refuses one association; none at the end.
async fn next(stream: &mut UnixStream, shared: &Arc<Shared>) -> io::Result<Option<bool>> {
    let association = loop {
        match receive(stream).await? {
            (Some(ASSOCIATION), Some(association)) => break sctp::Association::passed(association)?,
            (Some(RELEASED), Some(_)) => {
                shared.before.send_replace(Before::Drains);
            }
            (None, _) => return Ok(None),
            (Some(_), _) => return Err(io::ErrorKind::InvalidData.into()),
        }
    };
    let exchange = async {
        let head = part(stream, LARGEST_HEAD).await?;
        let state = part(stream, LARGEST_STATE).await?;
        let start = shared.takers.offer(shared, association, &head, state);
        stream
            .write_all(&[if start.is_some() { TAKEN } else { REFUSED }])
            .await?;
        let Some(start) = start else {
            return Ok(false);
        };
        if stream.read_u8().await? != GIVEN {
            return Err(io::ErrorKind::InvalidData.into());
        }
        start();
        Ok(true)
    };
    timeout(2 * ANSWER, exchange).await?.map(Some)
}

async fn part(stream: &mut UnixStream, most: usize) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await? as usize;
    if length > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut octets = vec![0; length];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::tests::stage::{self, Stage, run};

    /// Outcome of giving two associations to a successor that answers with these octets, and its end
    /// of the stream.
    async fn giving(answers: &[u8]) -> ([bool; 2], UnixStream) {
        let (one, mut other) = UnixStream::pair().unwrap();
        other.write_all(answers).await.unwrap();
        other.shutdown().await.unwrap();
        let successor = Successor::new(one);
        let give = async || {
            let socket = TcpListener::bind("127.0.0.1:0").unwrap();
            successor.give(socket.into(), b"head", b"the state").await
        };
        let given = [give().await, give().await];
        successor.release().await;
        drop(successor);
        (given, other)
    }

    #[tokio::test]
    async fn an_association_is_given_only_where_the_successor_takes_it() {
        let offer = b"\0\0\0\x04head\0\0\0\x09the state";
        for (answers, outcome, last) in [
            ("YN", [true, false], &b"G"[..]),
            ("NY", [false, true], b""),
            // The end, or what is no answer.
            ("Y", [true, false], b"G"),
            ("?", [false, false], b""),
        ] {
            let (given, mut stream) = giving(answers.as_bytes()).await;
            assert_eq!(given, outcome, "{answers}");
            let (byte, descriptor) = receive(&stream).await.unwrap();
            assert!(byte == Some(ASSOCIATION) && descriptor.is_some());
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            assert!(
                rest.starts_with(&[offer, last].concat()) && rest.ends_with(b"R"),
                "{answers}: {rest:?}"
            );
            assert_eq!(rest.contains(&GIVEN), outcome.contains(&true), "{answers}");
        }
    }

    /// The sockets of QUIC listeners then had no reader until the predecessor had ended.
    #[test]
    fn sockets_are_released_to_a_successor_that_takes_no_associations_any_more() {
        let stage = Stage::new();
        run(async {
            let running = stage.start("nrf").await;
            let shared = stage::shared(&running);
            shared.before.send_replace(Before::Reads);
            let mut before = shared.before.subscribe();
            let (one, other) = UnixStream::pair().unwrap();
            tokio::task::spawn_local(take_over(other, Arc::clone(shared)));
            let successor = Successor::new(one);
            // No association of SCTP. What follows has the byte of a release in it.
            let socket = TcpListener::bind("127.0.0.1:0").unwrap();
            assert!(!successor.give(socket.into(), b"RRR", b"RRR").await);
            assert_eq!(*before.borrow(), Before::Reads);
            successor.release().await;
            for expected in [Before::Drains, Before::Ended] {
                let reached = before.wait_for(|before| *before == expected);
                timeout(stage::PATIENCE, reached).await.unwrap().unwrap();
                successor.0.lock().await.stream.shutdown().await.unwrap();
            }
        });
    }
}
