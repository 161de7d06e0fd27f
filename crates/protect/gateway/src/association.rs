//! One association carried between two nodes, as one of them sees it.

mod carrier;
mod clock;
mod end;
mod function;
mod handover;
mod lanes;
mod link;
mod output;
mod resuming;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub use end::{End, Ending, Totals};
pub use handover::LARGEST_STATE;
pub use lanes::Carriage;
pub use link::Loss;

use self::lanes::Lanes;
use self::link::{Counted, KEPT, Link};
use self::output::Output;
use crate::frame::{Decoder, Delivery, Frame, MESSAGE_COST, Message, Resume, Streams, Token, VERSION, WINDOW};

/// Which function opened the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// This node's: it has an association with this node already.
    Initiator,
    /// The peer's: this node makes one towards its function.
    Responder,
}

/// Timeouts for the function and for the peer node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From the opening to the answer of the peer node, which dials its function meanwhile.
    pub opening: Duration,
    /// For any frame of the peer node, which sends one at least every third of this time. Then the
    /// initiator looks for another carrier.
    pub silence: Duration,
    /// For a peer node that is not reached over any carrier.
    pub resume: Duration,
    /// For another carrier where the peer's system has closed the one before.
    pub closed: Duration,
    /// For a function to take what came before an abort.
    pub abort: Duration,
}

/// Next step for the function's socket; commands are executed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Open an association with these stream counts; then [`Association::function_established`] or [`Association::function_aborted`].
    Connect(Streams),
    /// Send a message.
    Send(Message),
    /// Shut the association down once everything is acknowledged (RFC 9260, section 9.2).
    Shutdown,
    /// End it at once (RFC 9260, section 9.1).
    Abort(crate::Cause),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The other function's association is not there yet.
    Opening,
    Established,
    /// The function has shut its association down, and the other one has yet to follow.
    ShuttingDown,
    /// The other function has shut its association down, and this one has yet to follow.
    Following,
    Ended,
}

/// Octets waiting for the carrier beyond which nothing is read from the function.
const OUTPUT: usize = 64 * 1024;
/// Octets of one read from the function at most.
const READ: usize = 64 * 1024;
/// Octets taken by the function after which the peer gets them credited.
const CREDIT_AFTER: usize = WINDOW / 8;
/// Delay after a message before the function's kernel is asked for its acknowledgement.
const ASKED_AFTER: Duration = Duration::from_millis(100);
/// Longest interval between two such questions. The interval doubles while the message stays
/// unacknowledged, so a function that takes nothing costs one question in that time.
const ASKED_AT_LEAST: Duration = Duration::from_millis(1600);

bartizan_registry::made! {
    /// One association carried between two nodes, as one of them sees it.
    ///
    /// Inputs are methods with the time; what follows is in [`Association::command`] and
    /// [`Association::output`], and [`Association::deadline`] says when
    /// [`Association::handle_timeout`] is due.
    #[derive(Debug)]
    pub struct Association, new(side: Side, carriage: Carriage, patience: Patience, now: Instant) {
        side: Side,
        carriage: Carriage,
        patience: Patience,
        state: State = State::Opening,
        /// As the function's association has them; none before it is established, and none after
        /// its end.
        granted: Option<Streams> = None,
        /// The same, also after its end.
        known: Option<Streams> = None,
        /// True once the peer has opened its side: frames of the association may come.
        opened: bool = false,
        /// The initiator has restarted, and the peer has not answered: what it sends belongs to
        /// what was before.
        reopening: bool = false,
        decoder: Decoder = Decoder::default(),
        /// Octets of `decoder`'s stream.
        counted: Counted = Counted::default(),
        /// By which the peer knows the association.
        token: Option<Token> = None,
        link: Link = Link::Up,
        /// Request to resume, in place of a new association.
        resumes: Option<Resume> = None,
        /// Number of the last attempt to resume.
        attempt: u32 = 0,
        /// Another carrier is wanted though this one works.
        moves: bool = false,
        /// When the peer has asked for another carrier: the end of this one is no news then.
        asked: Option<Instant> = None,
        /// The peer is not heard: another carrier is wanted.
        silent: bool = false,
        /// When the association ends unless the peer is heard.
        ends: Option<Instant> = None,
        /// When it ends, sooner, unless a carrier follows the one that the peer's system has
        /// closed.
        closed_ends: Option<Instant> = None,
        /// For the function, in order.
        commands: VecDeque<Command> = VecDeque::new(),
        /// The message of the peer that is not whole yet, where messages come between the other
        /// frames.
        arriving: Option<Message> = None,
        /// Messages that come and go on streams of their own.
        lanes: Lanes = Lanes::default(),
        /// Octets of the window that the peer has used and that were not credited.
        used: usize = 0,
        /// Share of `used` that the function has taken.
        owed: usize = 0,
        /// The function's message that is being sent, and how many octets of it were.
        departing: Option<(Delivery, usize)> = None,
        /// Octets that may be sent.
        credit: usize = WINDOW,
        /// For the carrier: all frames, or those of the association's life where it has streams for
        /// messages.
        output: Output = Output::default(),
        counts: Counts = Counts::default(),
        totals: Totals = Totals::default(),
        /// When the peer was heard last.
        heard: Instant = now,
        /// When it was noticed that the peer may be silent. This node may have been stopped itself:
        /// what the peer said meanwhile is read first.
        doubted: Option<Instant> = None,
        /// When a frame was written last.
        said: Instant = now,
        opening_ends: Option<Instant> = Some(now + patience.opening),
        /// When the function's kernel is to be asked what is acknowledged.
        question_due: Option<Instant> = None,
        /// Delay of `question_due` after the previous question.
        question_wait: Duration = ASKED_AFTER,
        abort_due: Option<Instant> = None,
        end: Option<Ending> = None,
    }
}

/// Messages since the association was opened or restarted.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Sent to the peer whole.
    sent: u64,
    /// Share of `sent` that the other function has acknowledged.
    acknowledged: u64,
    /// Received whole.
    received: u64,
    /// Handed to the function.
    handed: u64,
    /// Share of `handed` that the function has acknowledged.
    confirmed: u64,
    /// Share of `confirmed` that the peer knows about.
    reported: u64,
}

impl Association {
    /// For a function that has opened an association with these stream counts.
    pub fn initiator(token: Token, streams: Streams, carriage: Carriage, patience: Patience, now: Instant) -> Self {
        let mut association = Self::new(Side::Initiator, carriage, patience, now);
        association.has_streams(streams);
        association.token = Some(token);
        let open = Frame::Open {
            version: VERSION,
            token,
            streams,
        };
        association.write(&open, now);
        association
    }

    /// For a carrier that a peer node has begun.
    pub fn responder(carriage: Carriage, patience: Patience, now: Instant) -> Self {
        Self::new(Side::Responder, carriage, patience, now)
    }

    /// Next step for the function's socket. [`Association::command_done`] follows, also where that
    /// takes a while.
    pub fn command(&self) -> Option<&Command> {
        self.commands.front()
    }

    /// The socket has done what [`Association::command`] asked for. A connection is done when it is established.
    pub fn command_done(&mut self, now: Instant) {
        let Some(Command::Send(message)) = self.commands.pop_front() else {
            return;
        };
        self.counts.handed += 1;
        self.question_wait = ASKED_AFTER;
        if self.state != State::Ended {
            let due = now + ASKED_AFTER;
            self.question_due = Some(self.question_due.map_or(due, |asked| asked.min(due)));
        }
        self.totals.received += 1;
        self.totals.received_octets += message.bytes.len() as u64;
        self.owed += cost(&message);
        // One that shuts down has nothing to say any more, so nothing need be credited.
        if self.owed >= CREDIT_AFTER && self.state != State::Ended {
            // At most a window.
            let octets = self.owed as u32;
            self.used -= self.owed;
            self.owed = 0;
            self.write(&Frame::Credit(octets), now);
        }
    }

    /// Octets for the carrier; [`Association::output_taken`] follows.
    pub fn output(&self) -> &[u8] {
        match self.link {
            Link::Down(_) => &[],
            Link::Up | Link::Resuming(_) => self.output.waiting(),
        }
    }

    /// The carrier has taken so many octets of [`Association::output`].
    pub fn output_taken(&mut self, octets: usize) {
        self.output.take(octets);
    }

    /// Octets that wait for the carrier, on all its streams.
    fn waiting(&self) -> usize {
        self.output.unsent() + self.lanes.waiting()
    }

    /// Returns true if the function's socket is to be read: the peer has room, and the carrier is
    /// not behind.
    #[must_use]
    pub fn wants_messages(&self) -> bool {
        match self.state {
            State::Opening | State::Established => {
                self.granted.is_some()
                    && self.credit >= READ + MESSAGE_COST
                    && self.waiting() < OUTPUT
                    && self.kept() < KEPT
            }
            // Only its end is of interest: no association receives its messages.
            State::Following => self.granted.is_some(),
            State::ShuttingDown | State::Ended => false,
        }
    }

    /// Returns true if the function's socket has an association whose events count.
    #[must_use]
    pub const fn has_function(&self) -> bool {
        self.granted.is_some()
    }

    /// The end, once there is one. The remaining work is in [`Association::command`] and
    /// [`Association::output`].
    pub fn end(&self) -> Option<End> {
        let ending = self.end.clone()?;
        let totals = self.totals();
        Some(End { ending, totals })
    }

    /// Its messages so far.
    pub const fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals.unacknowledged += self.counts.sent - self.counts.acknowledged;
        totals
    }

    /// Returns true once the association has ended and no work is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let sent = match self.link {
            Link::Up => self.output().is_empty(),
            Link::Resuming(_) | Link::Down(_) => self.output.unsent() == 0,
        };
        self.end.is_some() && self.commands.is_empty() && sent
    }

    /// Which function opened it.
    pub const fn side(&self) -> Side {
        self.side
    }

    /// Kind of its carrier.
    pub const fn carriage(&self) -> Carriage {
        self.carriage
    }

    /// Reports that the carrier has taken everything, or none does.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !self.has_carrier() || self.waiting() == 0
    }

    /// Stream counts of the function's association, also after its end; none where it was never
    /// established.
    pub const fn streams(&self) -> Option<Streams> {
        self.known
    }

    const fn has_streams(&mut self, streams: Streams) {
        self.granted = Some(streams);
        self.known = Some(streams);
    }

    /// Octets held for the function and for the peer.
    pub fn held(&self) -> usize {
        self.used - self.owed + self.kept()
    }

    fn write(&mut self, frame: &Frame, now: Instant) {
        if matches!(frame, Frame::Credit(_) | Frame::Delivered(_) | Frame::Alive) {
            self.report_received();
        }
        frame.encode(self.output.buffer());
        self.said = now;
    }

    fn report_delivered(&mut self, now: Instant) {
        self.question_due = None;
        if self.counts.reported < self.counts.confirmed {
            self.counts.reported = self.counts.confirmed;
            self.write(&Frame::Delivered(self.counts.confirmed), now);
        }
    }

    /// Ends for a fault that is neither function's: both learn it.
    fn fail(&mut self, ending: Ending, now: Instant) {
        let cause = ending.cause();
        if ending.peer_can_be_determined() {
            self.write(&Frame::Abort(cause.clone()), now);
        }
        self.drop_undelivered();
        self.abort_function(cause, now);
        self.finish(ending);
    }

    /// Has the function's association aborted after what was received for it.
    fn abort_function(&mut self, cause: crate::Cause, now: Instant) {
        self.arriving = None;
        self.lanes.clear();
        if self.granted.is_some() {
            self.commands.push_back(Command::Abort(cause));
            self.abort_due = Some(now + self.patience.abort);
        } else {
            // The function has seen no association that is not established.
            self.drop_undelivered();
            self.commands.retain(|command| matches!(command, Command::Abort(_)));
        }
    }

    /// Leaves of what waits for the function only its end.
    fn drop_undelivered(&mut self) {
        let before = self.commands.len();
        self.commands.retain(|command| !matches!(command, Command::Send(_)));
        self.totals.undelivered += (before - self.commands.len()) as u64;
    }

    fn finish(&mut self, ending: Ending) {
        self.state = State::Ended;
        self.lanes.clear();
        self.opening_ends = None;
        self.question_due = None;
        self.end.get_or_insert(ending);
        // The rest is offered to the peer for this long.
        self.ends.get_or_insert(self.heard + self.patience.resume);
    }
}

/// Octets of the window that a message uses.
fn cost(message: &Message) -> usize {
    message.bytes.len() + MESSAGE_COST
}
