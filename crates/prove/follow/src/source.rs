//! Live sources of packets: interfaces, files that grow, pipes and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use bartizan_host::{Fed, Feed};
use bartizan_wire::{CaptureError, Timestamp};

use super::stream::{Context, Stream};
use super::tail::{Grown, Tail};
use super::{damage, interface};
use bartizan_terminal::Failure;

/// Batches that wait between the thread that reads an interface and the one that judges: 64 MiB of packets at most, then the
/// kernel keeps what it has room for, and counts what it has not.
const RING: usize = 256;
/// Pieces taken from one source before the next one's turn.
const TURN: usize = 64;
/// Bytes read at a time, and pieces of a pipe that wait: who writes it can wait too.
const PIECE: usize = 256 * 1024;
const WAITING: usize = 4;

/// One source of packets.
pub struct Source {
    kind: Kind,
    ended: bool,
}

enum Kind {
    Interface {
        /// Goes first: a feed that waits for room here could not end.
        fed: Receiver<Fed>,
        feed: Feed,
        down: bool,
    },
    File(Tail),
    Pipe(Receiver<io::Result<Vec<u8>>>),
}

/// Report of a source besides its packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// So many packets had no room in the kernel.
    Lost(u64),
    /// The interface went down or is gone.
    Down,
    /// It gives packets again.
    Back,
    /// The capture file was replaced, or cut and begun anew; `incomplete` when its last record was not there in full.
    Replaced {
        /// True if the last record was cut.
        incomplete: bool,
    },
}

/// Outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// There was something.
    Busy,
    /// There was nothing.
    Quiet,
    /// There will be nothing more.
    Ended,
}

impl Source {
    /// An interface of this network namespace.
    pub fn interface(name: &str) -> Result<Self, Failure> {
        let (give, fed) = sync_channel(RING);
        let feed =
            Feed::start(name, move |piece| give.send(piece).is_ok()).map_err(|error| interface::failed(name, error))?;
        Ok(Self::of(Kind::Interface { fed, feed, down: false }))
    }

    /// A file that another program writes; `-` is standard input.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Self::pipe(|| Ok(io::stdin()));
        }
        // Opening or reading a pipe, which `mkfifo` and the shell's `<(...)` name like a file, waits for its writer, and nothing else may wait with it.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let path = path.to_owned();
            return Self::pipe(move || File::open(path));
        }
        let tail = Tail::open(path).map_err(|error| {
            Failure::new(format!("{}: {error}", path.display()))
                .hint("a capture that is followed must be there: start what writes it first, as `tcpdump -U -w FILE`")
        })?;
        Ok(Self::of(Kind::File(tail)))
    }

    /// Source of packets that another program writes into a pipe.
    fn pipe<R: Read + 'static>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> Result<Self, Failure> {
        let (give, pieces) = sync_channel(WAITING);
        thread::Builder::new()
            .name("pipe".to_owned())
            .spawn(move || match open() {
                Ok(input) => pump(input, &give),
                // A loop that has ended takes nothing any more.
                Err(error) => drop(give.send(Err(error))),
            })
            .map_err(|error| Failure::new(format!("a thread for a pipe: {error}")))?;
        Ok(Self::of(Kind::Pipe(pieces)))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, ended: false }
    }

    /// Asks it to end; what has arrived until now still comes.
    pub fn stop(&mut self) {
        if let Kind::Interface { feed, .. } = &self.kind {
            feed.stop();
        }
    }

    /// Returns true for an interface: it tells directions apart, and ends by itself on request.
    pub fn is_interface(&self) -> bool {
        matches!(self.kind, Kind::Interface { .. })
    }

    /// Time of the packets that come next, while it is `clock` since 1970; none after its end.
    pub fn now(&self, stream: &Stream, clock: Duration) -> Option<Timestamp> {
        match stream.now() {
            _ if self.ended => None,
            Timestamp(0) if self.is_interface() => Some(Timestamp(u64::try_from(clock.as_nanos()).unwrap_or(u64::MAX))),
            now => Some(now),
        }
    }

    /// Gives `stream` what there is, up to a bound; tells what else happened.
    pub fn turn(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
        mut tell: impl FnMut(Notice),
    ) -> Result<Turn, Failure> {
        if self.ended {
            return Ok(Turn::Ended);
        }
        let mut arrived = false;
        for _ in 0..TURN {
            let turn = match &mut self.kind {
                Kind::Interface { fed, down, .. } => from_interface(fed, down, stream, context, &mut tell),
                Kind::File(tail) => from_file(tail, stream, context, &mut tell),
                Kind::Pipe(pieces) => from_pipe(pieces, stream, context),
            };
            match turn {
                Ok(Turn::Busy) => arrived = true,
                Ok(Turn::Quiet) => break,
                Ok(Turn::Ended) => {
                    self.ended = true;
                    return Ok(Turn::Ended);
                }
                Err(failure) => {
                    self.ended = true;
                    return Err(failure);
                }
            }
            if stream.is_full() {
                break;
            }
        }
        Ok(if arrived { Turn::Busy } else { Turn::Quiet })
    }
}

pub(crate) fn from_interface(
    fed: &Receiver<Fed>,
    down: &mut bool,
    stream: &mut Stream,
    context: &mut Context<'_>,
    tell: &mut impl FnMut(Notice),
) -> Result<Turn, Failure> {
    match fed.try_recv() {
        Ok(Fed::Packets(batch)) => {
            if batch.dropped > 0 {
                stream.lost(batch.dropped);
                tell(Notice::Lost(batch.dropped));
            }
            if !batch.is_empty() && std::mem::take(down) {
                tell(Notice::Back);
            }
            stream.batch(&batch, context);
            Ok(Turn::Busy)
        }
        Ok(Fed::Down) => {
            *down = true;
            tell(Notice::Down);
            Ok(Turn::Busy)
        }
        Ok(Fed::Ended(Ok(()))) | Err(TryRecvError::Disconnected) => Ok(Turn::Ended),
        Ok(Fed::Ended(Err(error))) => Err(interface::failed(&stream.name, error)),
        Err(TryRecvError::Empty) => Ok(Turn::Quiet),
    }
}

fn from_file(
    tail: &mut Tail,
    stream: &mut Stream,
    context: &mut Context<'_>,
    tell: &mut impl FnMut(Notice),
) -> Result<Turn, Failure> {
    let grown = tail.read(stream.room(PIECE));
    match grown.map_err(|error| Failure::new(format!("{}: {error}", stream.name)))? {
        Grown::Nothing => Ok(Turn::Quiet),
        Grown::Bytes(length) => {
            stream
                .fill(length, context)
                .map_err(|damage| damaged(stream, &damage))?;
            Ok(Turn::Busy)
        }
        Grown::Replaced => {
            let incomplete = stream.next_file();
            tell(Notice::Replaced { incomplete });
            Ok(Turn::Busy)
        }
    }
}

fn from_pipe(
    pieces: &Receiver<io::Result<Vec<u8>>>,
    stream: &mut Stream,
    context: &mut Context<'_>,
) -> Result<Turn, Failure> {
    match pieces.try_recv() {
        Ok(Ok(piece)) => {
            stream.room(piece.len())[..piece.len()].copy_from_slice(&piece);
            stream
                .fill(piece.len(), context)
                .map_err(|damage| damaged(stream, &damage))?;
            Ok(Turn::Busy)
        }
        Ok(Err(error)) => Err(Failure::new(format!("{}: {error}", stream.name))),
        Err(TryRecvError::Empty) => Ok(Turn::Quiet),
        Err(TryRecvError::Disconnected) => match stream.ended() {
            Ok(()) => Ok(Turn::Ended),
            Err(damage) => Err(damaged(stream, &damage)),
        },
    }
}

/// Reads until the writer ends or the receiver is gone.
fn pump(mut input: impl Read, give: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; PIECE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                piece.truncate(length);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if give.send(read).is_err() || failed {
            return;
        }
    }
}

fn damaged(stream: &Stream, damage: &CaptureError) -> Failure {
    damage::damaged(&stream.name, damage, stream.packets())
}
