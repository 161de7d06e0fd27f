//! Threads with an event loop of their own.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle, LocalOptions};
use tokio::sync::oneshot;

use crate::error::Error;

/// A thread with an event loop of its own. It ends when this is dropped, with the tasks it runs.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Spawns tasks there, and has its event loop watch sockets.
    pub(crate) handle: Handle,
    _ends: oneshot::Sender<()>,
}

/// Starts a thread that runs what `open` spawns there. `nicer` is added to its nice value. It
/// inherits what the calling thread is confined to.
///
/// # Errors
/// Fails if the system gives no thread or no event loop.
pub(crate) fn spawn(name: &str, nicer: i32, open: impl FnOnce() + Send + 'static) -> Result<Thread, Error> {
    let cannot = |source| Error::Thread { source };
    let (ends, ended) = oneshot::channel::<()>();
    // An event loop belongs to the thread that makes it.
    let (made, outcome) = mpsc::channel();
    let serve = move || {
        lower_priority(nicer);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default());
        // Its reader waits for it.
        let runtime = match runtime {
            Ok(runtime) => {
                let _ = made.send(Ok(runtime.handle().clone()));
                runtime
            }
            Err(error) => {
                let _ = made.send(Err(error));
                return;
            }
        };
        runtime.block_on(async move {
            open();
            let _ = ended.await;
        });
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(serve)
        .map_err(cannot)?;
    let gone = || Err(io::Error::other("the thread ended"));
    let handle = outcome.recv().unwrap_or_else(|_| gone()).map_err(cannot)?;
    Ok(Thread { handle, _ends: ends })
}

/// Lowers the priority of this thread alone (Linux counts nice values by thread). Where it is not
/// allowed, both are scheduled alike.
fn lower_priority(nicer: i32) {
    if let Err(error) = rustix::process::nice(nicer) {
        tracing::debug!(%error, "handshakes keep the priority of requests");
    }
}
