//! The socket at which a running sidecar waits for its successor.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

use super::associations::{Successor, send};
use super::{Error, pass};
use crate::sidecar::Running;

/// First message of a successor; the node's name follows.
pub(super) const GREETING: &str = "bartizan-handover 1 ";
/// Message of a successor that serves.
pub(super) const SERVING: &str = "serving\n";
/// One byte for each descriptor: of a listener of TCP, of SCTP, of a socket of UDP, of this Unix
/// socket. The end, and a refusal whose reason follows.
pub(crate) const LISTENER: u8 = b'L';
pub(crate) const SCTP: u8 = b'S';
pub(crate) const UDP: u8 = b'D';
pub(super) const POST: u8 = b'U';
pub(super) const END: u8 = b'E';
pub(super) const REFUSAL: u8 = b'N';

/// For a successor's first line.
const PATIENCE: Duration = Duration::from_secs(5);
/// A pause where accepting fails.
const BREATH: Duration = Duration::from_millis(50);
/// A longer line is no greeting.
const LINE: u64 = 256;

/// A Unix socket through which a successor takes this sidecar's listening sockets over.
#[derive(Debug)]
pub struct Post {
    listener: UnixListener,
    path: PathBuf,
    /// The user that was there when it was made: it may have become another since.
    made_by: u32,
}

impl Post {
    /// Makes the socket at `path`, for its owner alone. One at which no process listens any more is
    /// replaced.
    ///
    /// To be called once the ports are open, within a tokio runtime: of two sidecars of one node the second has failed by then.
    ///
    /// # Errors
    /// Fails if it cannot be made.
    pub fn make(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Socket {
            path: path.to_owned(),
            source,
        };
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = StdUnixListener::bind(path).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Self::of(listener, path).map_err(failed)
    }

    /// That of the predecessor: the same socket under the same name.
    pub(super) fn of(listener: StdUnixListener, path: &Path) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener: UnixListener::from_std(listener)?,
            path: path.to_owned(),
            made_by: nix::unistd::geteuid().as_raw(),
        })
    }

    /// Waits until a successor serves in the place of `running`, which is to drain then. A successor that comes and fails changes
    /// nothing.
    pub async fn handed_over(&self, running: &Running) -> Successor {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a successor");
                    sleep(BREATH).await;
                    continue;
                }
            };
            match self.pass(stream, running).await {
                Ok(successor) => return successor,
                Err(error) => tracing::warn!(
                    socket = %self.path.display(), %error, hint = "its own log says why; this one goes on serving",
                    "a successor did not take over"
                ),
            }
        }
    }

    async fn pass(&self, mut stream: UnixStream, running: &Running) -> io::Result<Successor> {
        let user = pass::user(&stream)?;
        let trusted = user == 0 || user == self.made_by || user == nix::unistd::geteuid().as_raw();
        let node = running.node();
        let greeting = timeout(PATIENCE, line(&mut stream)).await??;
        let refusal = if !trusted {
            Some(format!("the user {user} is neither root nor the one it runs as"))
        } else if greeting.strip_prefix(GREETING) != Some(node) {
            Some(format!("this is the sidecar of {node}"))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            stream.write_all(&[&[REFUSAL], refusal.as_bytes()].concat()).await?;
            return Err(io::Error::other(refusal));
        }
        for (kind, listener) in running.listening() {
            send(&stream, *kind, Some(listener.as_fd())).await?;
        }
        send(&stream, POST, Some(self.listener.as_fd())).await?;
        send(&stream, END, None).await?;
        tracing::info!("a successor has this sidecar's listening sockets");
        // No time is too long: one that was given up and serves in the end would do so next to this.
        match line(&mut stream).await? {
            word if word == SERVING.trim_end() => Ok(Successor::new(stream)),
            _ => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it ended before it served",
            )),
        }
    }
}

/// A line without its end; or what there is of it at the end of the stream.
async fn line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE)).read_line(&mut line).await?;
    Ok(line.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;
    use crate::tests::stage::Stage;

    const HOUR: Duration = Duration::from_secs(3600);

    /// After a minute the one that ran went on, and both read the same sockets.
    #[test]
    fn a_successor_is_waited_for_until_it_serves_or_ends() {
        let test = async {
            let (stage, place) = (Stage::new(), tempfile::tempdir().unwrap());
            let running = stage.start("nrf").await;
            let path = place.path().join("nrf.sock");
            let post = Post::make(&path).unwrap();
            let comes = async || {
                let mut successor = UnixStream::connect(&path).await.unwrap();
                successor.write_all(b"bartizan-handover 1 nrf\n").await.unwrap();
                while successor.read_u8().await.unwrap() != END {}
                sleep(HOUR).await;
                successor
            };
            let successors = async {
                drop(comes().await);
                let mut serves = comes().await;
                serves.write_all(SERVING.as_bytes()).await.unwrap();
                serves
            };
            let both = async { tokio::join!(post.handed_over(&running), successors) };
            timeout(3 * HOUR, both).await.expect("the second serves");
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build_local(LocalOptions::default());
        runtime.unwrap().block_on(test);
    }
}
