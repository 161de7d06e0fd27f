//! Events of the function's socket.

use std::time::Instant;

use super::{Association, Carriage, Command, Counts, Ending, Side, State};
use crate::Cause;
use crate::frame::{self, Delivery, FRAGMENT, Frame, LARGEST_MESSAGE, MESSAGE_COST, PathState, Streams, WINDOW};

impl Association {
    /// The association that [`Command::Connect`] asked for is established, with these stream counts.
    pub fn function_established(&mut self, streams: Streams, now: Instant) {
        if !matches!(self.commands.front(), Some(Command::Connect(_))) {
            return;
        }
        self.commands.pop_front();
        self.has_streams(streams);
        self.opening_ends = None;
        if self.state == State::Opening {
            self.state = State::Established;
        }
        let restarts = self.restarts();
        self.write(&Frame::Opened { restarts, streams }, now);
        // Messages that came before the number of streams was known.
        let beyond = self.commands.iter().find_map(|command| match command {
            Command::Send(message) if message.delivery.stream >= streams.outbound => Some(message.delivery.stream),
            _ => None,
        });
        if let Some(stream) = beyond {
            let granted = streams.outbound;
            self.fail(Ending::NoStream { stream, granted }, now);
        }
    }

    /// The function has sent a piece of a message of at most 64 KiB; `last` where the message ends with it.
    ///
    /// Comes only where [`Association::wants_messages`] asks for it.
    pub fn function_sent(&mut self, delivery: Delivery, bytes: &[u8], last: bool, now: Instant) {
        if self.granted.is_none() || !matches!(self.state, State::Opening | State::Established) {
            return;
        }
        let sent = self.departing.map_or(0, |(_, octets)| octets) + bytes.len();
        if sent > LARGEST_MESSAGE {
            return self.fail(Ending::TooLarge, now);
        }
        // A message without octets is one frame too.
        let pieces = bytes.chunks(FRAGMENT).chain(bytes.is_empty().then_some(&bytes[..0]));
        let count = bytes.len().div_ceil(FRAGMENT).max(1);
        for (index, piece) in pieces.enumerate() {
            self.write_fragment(delivery, piece, last && index + 1 == count);
        }
        self.said = now;
        self.report_with_others();
        let spent = bytes.len() + if last { MESSAGE_COST } else { 0 };
        self.credit = self.credit.saturating_sub(spent);
        if last {
            self.departing = None;
            self.counts.sent += 1;
            self.totals.sent += 1;
            self.totals.sent_octets += sent as u64;
        } else {
            self.departing = Some((delivery, sent));
        }
    }

    /// Writes a piece of the function's message for the carrier.
    fn write_fragment(&mut self, delivery: Delivery, bytes: &[u8], last: bool) {
        let output = match self.carriage {
            Carriage::Stream => &mut self.output,
            Carriage::Streams => self.lanes.departing(delivery.into()),
        };
        frame::encode_fragment(output.buffer(), delivery, bytes, last);
    }

    /// Everything that was sent to the function is acknowledged: the peer learns it.
    pub fn function_acknowledged(&mut self, now: Instant) {
        self.counts.confirmed = self.counts.handed;
        if self.state != State::Ended {
            self.report_delivered(now);
        }
    }

    /// The function's association has ended by a shutdown, its own or the one that [`Command::Shutdown`] asked for.
    pub fn function_shut_down(&mut self, now: Instant) {
        if self.granted.take().is_none() {
            return;
        }
        match self.state {
            State::Following => {
                // A shutdown is complete when everything is acknowledged (RFC 9260, section 9.2).
                self.counts.confirmed = self.counts.handed;
                self.report_delivered(now);
                self.write(&Frame::Closed, now);
                self.finish(Ending::ShutDown);
            }
            State::Opening | State::Established => {
                // A message that was not whole is none.
                self.departing = None;
                self.drop_undelivered();
                self.commands.clear();
                self.write(&self.shutdown_frame(), now);
                self.state = State::ShuttingDown;
            }
            State::ShuttingDown | State::Ended => {}
        }
    }

    /// The function's association was aborted or lost, or did not come about.
    pub fn function_aborted(&mut self, cause: Cause, now: Instant) {
        self.granted = None;
        self.drop_undelivered();
        self.commands.clear();
        self.abort_due = None;
        if self.state != State::Ended {
            self.write(&Frame::Abort(cause.clone()), now);
            self.finish(Ending::Aborted(cause));
        }
    }

    /// The function has restarted its association, which has these stream counts now.
    pub fn function_restarted(&mut self, streams: Streams, now: Instant) {
        match (self.side, self.state) {
            (_, State::Ended) => {}
            (Side::Initiator, State::Opening | State::Established) => {
                self.totals.unacknowledged += self.counts.sent - self.counts.acknowledged;
                self.begin_again();
                self.lanes.restart();
                self.has_streams(streams);
                self.reopening = true;
                self.opening_ends = Some(now + self.patience.opening);
                self.state = State::Opening;
                self.write(&Frame::Restart(streams), now);
            }
            // The other function has its association with its own node, which cannot restart it for this one.
            _ => {
                let cause = Cause::of_node("the function at the other end restarted its association");
                self.write(&Frame::Abort(cause.clone()), now);
                self.drop_undelivered();
                self.abort_function(cause.clone(), now);
                self.finish(Ending::Aborted(cause));
            }
        }
    }

    /// A path to the function has changed its state.
    pub fn function_path(&mut self, state: PathState, now: Instant) {
        if self.state == State::Established && self.waiting() < super::OUTPUT {
            self.write(&Frame::Path(state), now);
        }
    }

    /// The kernel could not send a message of this stream to the function.
    pub fn function_send_failed(&mut self, stream: u16, code: u16, now: Instant) {
        if self.state == State::Established && self.waiting() < super::OUTPUT {
            self.write(&Frame::SendFailed { stream, code }, now);
        }
    }

    /// The node ends the association: it drains, or the peer is no longer admitted.
    pub fn dismiss(&mut self, why: &str, now: Instant) {
        if self.state != State::Ended {
            self.fail(Ending::Dismissed(why.to_owned()), now);
        }
    }

    /// Reports that every message is acknowledged: a shutdown of both associations loses nothing.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let Counts {
            sent,
            acknowledged,
            handed,
            confirmed,
            ..
        } = self.counts;
        self.state == State::Established
            && self.opened
            && self.has_carrier()
            && self.granted.is_some()
            && self.commands.is_empty()
            && self.arriving.is_none()
            && self.departing.is_none()
            && !self.lanes.has_begun_message()
            && (sent, handed) == (acknowledged, confirmed)
    }

    /// The node ends the association in order: each function sees a shutdown by the other.
    pub fn shut_down_both(&mut self, now: Instant) {
        if self.state == State::Established && self.granted.is_some() {
            self.write(&self.shutdown_frame(), now);
            self.commands.push_back(Command::Shutdown);
            self.state = State::ShuttingDown;
        }
    }

    /// Nothing was sent and nothing received.
    pub(super) fn begin_again(&mut self) {
        self.drop_undelivered();
        self.commands.clear();
        self.arriving = None;
        self.departing = None;
        self.used = 0;
        self.owed = 0;
        self.credit = WINDOW;
        self.counts = Counts::default();
        self.question_due = None;
    }
}
