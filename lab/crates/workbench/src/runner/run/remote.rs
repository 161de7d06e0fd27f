//! The runner's side of a worker.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::{Namespace, Process, Program};
use bartizan_testing::Guest;

use crate::Error;
use crate::runner::trial::Environment;
use crate::runner::worker::{Done, Order, Reply, Start, TrialOrder};

/// Time limit for a worker to connect, and for its workload to be ready: certificates and processes
/// for each combination, on a busy machine.
const READY: Duration = Duration::from_secs(120);
/// Over its bound a trial gets this much, so that a workload that keeps time can say itself what took long.
const GRACE: Duration = Duration::from_secs(2);
/// Time limit for a worker to end its processes, one after the other. The rest is killed, since
/// nothing more is read from the worker.
const END: Duration = Duration::from_secs(3);
/// The same for one in a guest, which is turned off then.
const GUEST_END: Duration = Duration::from_secs(15);
/// Interval between checks of a silent worker.
const POLL: Duration = Duration::from_millis(100);
/// Time limit for the answer to a ping.
const PING: Duration = Duration::from_secs(10);

/// A worker that has made its workload ready.
#[derive(Debug)]
pub(super) struct Remote {
    /// Dropped in this order: the process, what it has left in the namespace, its folder.
    reader: BufReader<UnixStream>,
    process: Process,
    _namespace: Option<Namespace>,
    folder: PathBuf,
    /// Time limit for its end.
    end: Duration,
    pub(super) environment: Environment,
}

/// Result of a trial order.
#[derive(Debug)]
pub(super) enum Answer {
    Done(Box<Done>),
    /// The worker is of no more use: it ended, or was silent for too long.
    Lost(String),
}

impl Remote {
    /// Starts one; `folder` is made for it and passes with it.
    pub(super) fn start(own: &Path, mut start: Start, network: Network, folder: PathBuf) -> Result<Self, Error> {
        // Its own name for the socket keeps the path short: a socket's may have 107 bytes.
        let work = folder.join("w");
        fs::create_dir_all(&work).map_err(Error::file(&work))?;
        let socket = folder.join("s");
        let listener = UnixListener::bind(&socket).map_err(Error::file(&socket))?;
        listener.set_nonblocking(true).map_err(Error::file(&socket))?;
        let namespace = match network {
            Network::Own => match Namespace::create("lab") {
                Ok(namespace) => {
                    start.namespace = "own".to_owned();
                    Some(namespace)
                }
                Err(error) => {
                    start.namespace = format!("the machine's: {error}");
                    None
                }
            },
            Network::Machine(reason) => {
                start.namespace = format!("the machine's: {reason}");
                None
            }
        };
        start.folder = work;
        let mut program = Program::new(own).arguments(["worker", "--socket"]).argument(&socket);
        if let Some(namespace) = &namespace {
            program = program.inside(namespace);
        }
        let mut process = program.start()?;
        let stream = accept(&listener, &mut process)?;
        stream.set_read_timeout(Some(POLL)).map_err(Error::Broken)?;
        stream.set_write_timeout(Some(PING)).map_err(Error::Broken)?;
        let remote = Self {
            reader: BufReader::new(stream),
            process,
            _namespace: namespace,
            folder,
            end: END,
            environment: Environment::default(),
        };
        remote.made_ready(start)
    }

    /// Starts one in a guest that is booted for it, and turned off with it.
    pub(super) fn in_guest(own: &Path, mut start: Start, guest: &Guest, folder: PathBuf) -> Result<Self, Error> {
        let work = folder.join("w");
        fs::create_dir_all(&work).map_err(Error::file(&work))?;
        start.folder = work;
        start.namespace = "the guest's".to_owned();
        let (program, stream) = guest.program_with_line(own)?;
        stream.set_read_timeout(Some(POLL)).map_err(Error::Broken)?;
        stream.set_write_timeout(Some(READY)).map_err(Error::Broken)?;
        let remote = Self {
            reader: BufReader::new(stream),
            process: program.arguments(["worker"]).start()?,
            _namespace: None,
            folder,
            end: GUEST_END,
            environment: Environment::default(),
        };
        remote.made_ready(start)
    }

    fn made_ready(mut self, start: Start) -> Result<Self, Error> {
        let order = Order::Start(Box::new(start));
        match self.ask(&order, READY).map_err(Error::Configuration)? {
            Reply::Ready(environment) => self.environment = *environment,
            Reply::Refused { error, hint } => return Err(Error::Refused { error, hint }),
            other => return Err(Error::Configuration(format!("the worker said {other:?}"))),
        }
        Ok(self)
    }

    pub(super) fn trial(&mut self, order: TrialOrder, bound: Duration) -> Answer {
        match self.ask(&Order::Trial(order), bound + GRACE) {
            Ok(Reply::Done(done)) => Answer::Done(done),
            Ok(other) => Answer::Lost(format!("the worker said {other:?}")),
            Err(error) => Answer::Lost(error),
        }
    }

    /// Round-trip time of a message.
    pub(super) fn ping(&mut self) -> Result<Duration, String> {
        let began = Instant::now();
        self.ask(&Order::Ping, PING)?;
        Ok(began.elapsed())
    }

    fn ask(&mut self, order: &Order, patience: Duration) -> Result<Reply, String> {
        let mut line = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        line.push(b'\n');
        if self.reader.get_mut().write_all(&line).is_err() {
            return Err(self.how_it_ended());
        }
        let deadline = Instant::now() + patience;
        let mut answer = Vec::new();
        loop {
            match self.reader.read_until(b'\n', &mut answer) {
                Ok(_) if answer.last() == Some(&b'\n') => break,
                Ok(_) => return Err(self.how_it_ended()),
                Err(error) if is_silence(&error) && Instant::now() < deadline => {}
                Err(error) if is_silence(&error) => {
                    return Err(format!(
                        "no result within {} s",
                        patience.saturating_sub(GRACE).as_secs_f64()
                    ));
                }
                Err(_) => return Err(self.how_it_ended()),
            }
        }
        serde_json::from_slice(&answer).map_err(|error| format!("the worker did not say what a worker says: {error}"))
    }

    /// In words, of a worker that has closed its side.
    fn how_it_ended(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.process.ended() {
                let tail = self.process.tail();
                // A guest says in its last lines why it did not boot.
                let lines: Vec<&str> = tail.lines().collect();
                let last = lines[lines.len().saturating_sub(3)..].join("; ");
                let colon = if last.is_empty() { "" } else { ": " };
                return format!("the worker ended ({status}){colon}{last}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        "the worker closed its connection".to_owned()
    }

    /// Lets it end what it has started.
    pub(super) fn stop(self) {
        let Self {
            reader,
            process,
            _namespace,
            folder,
            end,
            ..
        } = self;
        // Threads of the line of a guest hold the socket too.
        let _ = reader.get_ref().shutdown(Shutdown::Both);
        drop(reader);
        let ended = process.finish(end);
        drop(_namespace);
        if ended.is_err() {
            let _ = bartizan_host::sweep();
        }
        let _ = fs::remove_dir_all(folder);
    }

    /// Ends it at once, with everything it has started.
    pub(super) fn kill(mut self) {
        // SIGKILL: it may be stopped, or deaf.
        self.process.send(9);
        let Self {
            process,
            _namespace,
            folder,
            ..
        } = self;
        drop(process);
        drop(_namespace);
        // Grandchildren of the worker are no children of ours. Outside of a namespace only their
        // mark identifies them.
        let _ = bartizan_host::sweep();
        let _ = fs::remove_dir_all(folder);
    }
}

/// In which network a worker runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Network {
    /// A namespace of its own, where this user can make one.
    Own,
    /// That of the machine, and why.
    Machine(String),
}

fn accept(listener: &UnixListener, process: &mut Process) -> Result<UnixStream, Error> {
    let deadline = Instant::now() + READY;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(Error::Broken)?;
                return Ok(stream);
            }
            Err(error) if is_silence(&error) => {}
            Err(error) => return Err(Error::Broken(error)),
        }
        if let Some(status) = process.ended()? {
            let tail = process.tail();
            return Err(Error::Configuration(format!("the worker ended ({status}): {tail}")));
        }
        if Instant::now() >= deadline {
            return Err(Error::Configuration("the worker does not connect".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
