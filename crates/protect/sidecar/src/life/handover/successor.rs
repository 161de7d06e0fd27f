//! Taking over from the sidecar that runs.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_local;

use super::associations::take_over;
use super::post::{END, GREETING, LISTENER, POST, REFUSAL, SCTP, SERVING, UDP};
use super::{Error, Post, Sockets, pass};
use crate::shared::Before;
use crate::sidecar::Running;

/// Longest time for a predecessor to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A longer refusal is cut.
const LONGEST: u64 = 1024;
/// Listeners of one node; more were never in a file.
const MOST: usize = 1024;

/// The sidecar that runs, and has passed its sockets.
#[derive(Debug)]
pub struct Predecessor {
    stream: UnixStream,
}

impl Predecessor {
    /// Announces that this process serves now: the predecessor accepts nothing more, gives its
    /// associations, lets requests under way end, and ends itself. Without this message it goes on
    /// as before.
    ///
    /// Must be called within a tokio runtime.
    pub fn serving(mut self, running: &Running) {
        let shared = Arc::clone(&running.state.shared);
        let said = self.stream.write_all(SERVING.as_bytes());
        let stream = said
            .and_then(|()| self.stream.set_nonblocking(true))
            .and_then(|()| tokio::net::UnixStream::from_std(self.stream));
        let taking = stream.map(|stream| spawn_local(take_over(stream, Arc::clone(&shared))));
        if let Err(error) = taking {
            shared.before.send_replace(Before::Ended);
            // It has ended meanwhile: nothing is left to announce.
            tracing::debug!(%error, "the predecessor has ended by itself");
        }
    }
}

/// Asks the sidecar of `node` that waits at `path` for its listening sockets; nothing where no
/// sidecar waits. With them comes the Unix socket itself, so that it changes hands without a name
/// being changed.
///
/// `user` is the user that this process becomes: a sidecar that became it before may listen there.
/// Must be called within a tokio runtime.
///
/// # Errors
/// Fails if the process that listens there does not hand over, or is not trusted.
pub fn ask(path: &Path, node: &str, user: Option<u32>) -> Result<Option<(Sockets, Post, Predecessor)>, Error> {
    let failed = |source| Error::Socket {
        path: path.to_owned(),
        source,
    };
    let mut stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        // No sidecar was ever there, or it was killed.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let uid = pass::user(&stream).map_err(failed)?;
    if uid != 0 && uid != nix::unistd::geteuid().as_raw() && Some(uid) != user {
        return Err(Error::Foreign {
            path: path.to_owned(),
            uid,
        });
    }
    stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
        .and_then(|()| stream.write_all(format!("{GREETING}{node}\n").as_bytes()))
        .map_err(failed)?;
    let (mut sockets, mut post) = (Sockets::default(), None);
    loop {
        match pass::receive(&stream).map_err(failed)? {
            (Some(LISTENER), Some(descriptor)) if sockets.count() < MOST => {
                sockets.add(descriptor, None).map_err(failed)?;
            }
            (Some(SCTP), Some(descriptor)) if sockets.count() < MOST => {
                sockets.add_sctp(descriptor).map_err(failed)?;
            }
            (Some(UDP), Some(descriptor)) if sockets.count() < MOST => {
                sockets.add_udp(descriptor).map_err(failed)?;
            }
            (Some(POST), Some(descriptor)) => {
                post = Some(Post::of(UnixListener::from(descriptor), path).map_err(failed)?);
            }
            (Some(END), None) => break,
            (Some(REFUSAL), _) => {
                let mut why = Vec::new();
                (&stream).take(LONGEST).read_to_end(&mut why).map_err(failed)?;
                return Err(Error::Refused {
                    path: path.to_owned(),
                    why: String::from_utf8_lossy(&why).escape_debug().to_string(),
                });
            }
            // It drains, and is about to end.
            (None, _) => return Ok(None),
            (Some(_), _) => return Err(failed(io::ErrorKind::InvalidData.into())),
        }
    }
    sockets.of_a_predecessor = true;
    let post = post.ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
    Ok(Some((sockets, post, Predecessor { stream })))
}
