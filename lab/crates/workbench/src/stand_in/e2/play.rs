//! The script over the kernel's SCTP: all nodes on one thread in their namespace, the RIC on another in its own.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::link::Link;
use super::node::{Loop, Node, Outgoing, Unexpected};
use super::ric::Ric;
use super::script::Script;
use crate::Error;

/// Faults injected into the associations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// The RIC aborts the association with the first node, once, when this many indications have come.
    pub abort_after: Option<usize>,
}

/// Measurements of a played script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Played {
    /// From each indication being handed to the kernel to its control message being there, at the nodes.
    pub loops: Vec<Loop>,
    /// From each control message to its reply, at the RIC.
    pub replies: Vec<Duration>,
    /// Indications sent.
    pub sent: usize,
    /// Indications that came.
    pub received: usize,
    /// Indications whose control message did not come.
    pub lost: usize,
    /// Associations opened beyond the first of each node.
    pub reconnects: usize,
    /// Bytes of user messages by size: how many messages of each size came, at the RIC and at the nodes.
    pub sizes: HashMap<usize, usize>,
    /// From the first set-up to the last end.
    pub lasted: Duration,
}

/// The longest time without looking whether the time is over.
const LOOK: Duration = Duration::from_millis(200);
/// More than this many lost associations are not a workload any more.
const RECONNECTS: usize = 100;

/// Plays the script on a link.
///
/// # Errors
/// Fails if an association cannot be opened, a message comes that the script does not have, or the
/// deadline passes.
pub fn play(script: &Script, link: &Link, faults: Faults, deadline: Instant) -> Result<Played, Error> {
    let listen = || Listener::bind(Link::ric_address(), Opening::default());
    let listener = link.ric().enter(listen)??;
    listener.set_nonblocking(true).map_err(Error::Broken)?;
    let began = Instant::now();
    let (nodes, ric) = thread::scope(|scope| {
        let ric = scope.spawn(|| {
            link.ric().enter_this_thread()?;
            Rics::new(script, &listener, faults).run(deadline)
        });
        let nodes = scope.spawn(|| {
            link.node().enter_this_thread()?;
            Nodes::open(script, began)?.run(deadline)
        });
        (joined(nodes), joined(ric))
    });
    // If both failed, the nodes' error is the reason.
    let (nodes, ric) = (nodes?, ric?);
    let mut sizes = nodes.sizes;
    for (size, count) in ric.sizes {
        *sizes.entry(size).or_default() += count;
    }
    Ok(Played {
        loops: nodes.loops,
        replies: ric.replies,
        sent: nodes.indications,
        received: ric.indications,
        lost: nodes.lost,
        reconnects: nodes.reconnects,
        sizes,
        lasted: began.elapsed(),
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Counters of one side.
#[derive(Debug, Default)]
struct Counted {
    /// At the nodes.
    loops: Vec<Loop>,
    /// At the RIC.
    replies: Vec<Duration>,
    indications: usize,
    lost: usize,
    reconnects: usize,
    sizes: HashMap<usize, usize>,
}

/// An association with what the kernel had no room for.
struct Lane {
    association: Association,
    held: Option<Outgoing>,
}

/// State of a lane after a turn.
enum Turn {
    Goes,
    Ended,
}

impl Lane {
    fn new(association: Association) -> io::Result<Self> {
        association.set_nonblocking(true)?;
        Ok(Self {
            association,
            held: None,
        })
    }

    /// Sends whatever is due, as far as there is room.
    fn send(&mut self, mut next: impl FnMut() -> Option<Outgoing>) -> io::Result<()> {
        while let Some(out) = self.held.take().or_else(&mut next) {
            match self.association.send(out.stream, out.payload_protocol, &out.bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.held = Some(out);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes everything that has come.
    fn receive(
        &mut self,
        sizes: &mut HashMap<usize, usize>,
        mut take: impl FnMut(&[u8]) -> Result<(), Unexpected>,
    ) -> Result<Turn, Error> {
        loop {
            match self.association.receive() {
                Ok(Arrival::Message(message)) => {
                    *sizes.entry(message.bytes.len()).or_default() += 1;
                    take(&message.bytes).map_err(|error| Error::Protocol(error.to_string()))?;
                }
                Ok(Arrival::Nothing) => return Ok(Turn::Goes),
                // An association that was aborted or lost ends as well; whether it should have, the script knows.
                Ok(Arrival::End) | Err(_) => return Ok(Turn::Ended),
            }
        }
    }

    fn wants(&self) -> PollFlags {
        if self.held.is_some() {
            PollFlags::POLLIN | PollFlags::POLLOUT
        } else {
            PollFlags::POLLIN
        }
    }
}

/// Waits until one of these is ready or the moment is there.
pub(crate) fn wait(files: &mut [PollFd<'_>], due: Option<Instant>) -> Result<(), Error> {
    let now = Instant::now();
    let patience = due.map_or(LOOK, |due| due.saturating_duration_since(now).min(LOOK));
    match ppoll(files, Some(TimeSpec::from_duration(patience)), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(Error::Broken(errno.into())),
    }
}

fn late(what: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::TimedOut, format!("the time is over and {what}"));
    Error::Broken(error)
}

struct Nodes<'a> {
    all: Vec<(Node<'a>, Lane)>,
    counted: Counted,
}

impl<'a> Nodes<'a> {
    fn open(script: &'a Script, now: Instant) -> Result<Self, Error> {
        let all = (0..script.nodes).map(|number| Ok((Node::new(script, number, now), Self::lane(number)?)));
        Ok(Self {
            all: all.collect::<Result<_, Error>>()?,
            counted: Counted::default(),
        })
    }

    fn lane(number: usize) -> Result<Lane, Error> {
        let local = Link::node_address(number);
        let local = local.ok_or_else(|| Error::Configuration(format!("{number} is too many nodes")))?;
        let association = Association::connect(local, Link::ric_address(), Opening::default())?;
        Lane::new(association).map_err(Error::Broken)
    }

    fn run(mut self, deadline: Instant) -> Result<Counted, Error> {
        while !self.all.iter().all(|(node, lane)| node.done() && lane.held.is_none()) {
            if Instant::now() >= deadline {
                return Err(late("not every node has said everything"));
            }
            let due = self.all.iter().filter(|(_, lane)| lane.held.is_none());
            let due = due.filter_map(|(node, _)| node.due()).min();
            let mut files: Vec<PollFd<'_>> = self
                .all
                .iter()
                .map(|(_, lane)| PollFd::new(lane.association.as_fd(), lane.wants()))
                .collect();
            wait(&mut files, due)?;
            let counted = &mut self.counted;
            for (number, (node, lane)) in self.all.iter_mut().enumerate() {
                let turn = lane.receive(&mut counted.sizes, |bytes| node.take(bytes, Instant::now()))?;
                let broken = lane.send(|| node.next(Instant::now())).is_err();
                if (broken || matches!(turn, Turn::Ended)) && !node.done() {
                    counted.reconnects += 1;
                    if counted.reconnects > RECONNECTS {
                        return Err(Error::Protocol(format!("{RECONNECTS} associations were lost")));
                    }
                    *lane = Self::lane(number)?;
                    node.again(Instant::now());
                }
            }
        }
        for (node, lane) in &self.all {
            self.counted.loops.extend(node.loops());
            self.counted.indications += node.sent();
            self.counted.lost += node.lost();
            // Messages under way still arrive. An association that is gone needs no shutdown.
            let _ = lane.association.finish();
        }
        Ok(self.counted)
    }
}

struct Rics<'a> {
    script: &'a Script,
    listener: &'a Listener,
    faults: Faults,
    nodes: HashMap<SocketAddr, (Ric<'a>, Option<Lane>)>,
    counted: Counted,
}

impl<'a> Rics<'a> {
    fn new(script: &'a Script, listener: &'a Listener, faults: Faults) -> Self {
        Self {
            script,
            listener,
            faults,
            nodes: HashMap::new(),
            counted: Counted::default(),
        }
    }

    fn run(mut self, deadline: Instant) -> Result<Counted, Error> {
        while self.nodes.len() < self.script.nodes || !self.nodes.values().all(|(ric, _)| ric.done()) {
            if Instant::now() >= deadline {
                return Err(late("the RIC has not heard everything"));
            }
            if self.wait()? {
                self.accept()?;
            }
            self.turn()?;
        }
        for (ric, _) in self.nodes.values() {
            self.counted.replies.extend(ric.replies());
            self.counted.indications += ric.received();
        }
        Ok(self.counted)
    }

    /// True if an association waits to be accepted.
    fn wait(&self) -> Result<bool, Error> {
        let lanes = self
            .nodes
            .values()
            .filter_map(|(ric, lane)| Some((ric, lane.as_ref()?)));
        let mut files = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let mut due = None;
        for (ric, lane) in lanes {
            files.push(PollFd::new(lane.association.as_fd(), lane.wants()));
            if let (Some(next), None) = (ric.due(), &lane.held) {
                due = Some(due.map_or(next, |due: Instant| due.min(next)));
            }
        }
        wait(&mut files, due)?;
        Ok(files.first().and_then(PollFd::any).unwrap_or_default())
    }

    /// One at a time, and only who is known to wait: see [`Listener::accept`].
    fn accept(&mut self) -> Result<(), Error> {
        match self.listener.accept() {
            Ok((association, peer)) => {
                let lane = Lane::new(association).map_err(Error::Broken)?;
                if let Some((ric, old)) = self.nodes.get_mut(&peer) {
                    ric.again();
                    *old = Some(lane);
                } else {
                    self.nodes.insert(peer, (Ric::new(self.script), Some(lane)));
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(Error::Broken(error)),
        }
    }

    fn turn(&mut self) -> Result<(), Error> {
        let first = Link::node_address(0);
        for (peer, (ric, slot)) in &mut self.nodes {
            let Some(lane) = slot else { continue };
            let turn = lane.receive(&mut self.counted.sizes, |bytes| ric.take(bytes, Instant::now()))?;
            let broken = lane.send(|| ric.next(Instant::now())).is_err();
            let aborts = self.faults.abort_after.is_some_and(|count| ric.received() >= count);
            if aborts && Some(*peer) == first {
                self.faults.abort_after = None;
                if let Some(lane) = slot.take() {
                    lane.association.abort().map_err(Error::Broken)?;
                }
            } else if broken || matches!(turn, Turn::Ended) {
                *slot = None;
            }
        }
        Ok(())
    }
}
