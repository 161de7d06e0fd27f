//! The threads of all workers but the first.

use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::admin::state::State;
use crate::error::Error;
use crate::runtime::thread::{Thread, spawn};
use crate::worker::Worker;
use crate::worker::listeners::Listeners;

/// The threads, which end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct WorkerThreads(Vec<WorkerThread>);

#[derive(Debug)]
struct WorkerThread {
    commands: UnboundedSender<Command>,
    _thread: Thread,
}

/// Commands of the thread that runs the sidecar to the others, about their pools.
#[derive(Debug)]
enum Command {
    Renew,
    Close,
    Answer(oneshot::Sender<()>),
}

impl WorkerThreads {
    /// Starts a thread for each of `listeners`, of the workers from 1. They inherit what the calling thread is confined to.
    ///
    /// # Errors
    /// Fails if the system gives no thread or no event loop.
    pub(crate) fn start(state: &Arc<State>, listeners: impl IntoIterator<Item = Listeners>) -> Result<Self, Error> {
        let started = listeners.into_iter().zip(1..).map(|(listeners, number)| {
            let state = Arc::clone(state);
            let (commands, given) = unbounded_channel();
            let thread = spawn(&format!("worker-{number}"), 0, move || {
                let worker = Worker::new(&state.shared, number);
                listeners.serve(&worker, &state).keep();
                spawn_local(Rc::clone(&worker).say_what_is_waited_for());
                spawn_local(worker.obey(given));
            })?;
            Ok(WorkerThread {
                commands,
                _thread: thread,
            })
        });
        started.collect::<Result<_, _>>().map(Self)
    }

    /// Replaces pooled connections to peers: certificates or policies have changed.
    pub(crate) fn renew(&self) {
        self.give(|| Command::Renew);
    }

    /// Closes pooled connections, each once its requests have ended.
    pub(crate) fn close(&self) {
        self.give(|| Command::Close);
    }

    /// Ends once each of them has taken a turn; never where one does not, or is gone.
    pub(crate) async fn answer(&self) {
        for thread in &self.0 {
            let (answer, answered) = oneshot::channel();
            if thread.commands.send(Command::Answer(answer)).is_err() || answered.await.is_err() {
                return pending().await;
            }
        }
    }

    fn give(&self, command: impl Fn() -> Command) {
        for thread in &self.0 {
            // A thread is gone only where everything ends.
            let _ = thread.commands.send(command());
        }
    }
}

impl Worker {
    async fn obey(self: Rc<Self>, mut given: UnboundedReceiver<Command>) {
        while let Some(command) = given.recv().await {
            match command {
                Command::Renew => self.renew(),
                Command::Close => self.close(),
                Command::Answer(answer) => {
                    // The thread that asked may have ended.
                    let _ = answer.send(());
                }
            }
        }
    }
}
