//! Frames from the peer node.

use std::time::Instant;

use super::link::Link;
use super::{Association, Carriage, Command, Ending, Side, State};
use crate::Cause;
use crate::frame::{Fragment, Frame, LARGEST_MESSAGE, MESSAGE_COST, Message, Streams, Token, VERSION, WINDOW};

impl Association {
    /// Octets from the carrier, in their order; of a carrier with streams those of the association's life.
    pub fn carrier_received(&mut self, bytes: &[u8], now: Instant) {
        let rest;
        let bytes = match &self.link {
            Link::Up => bytes,
            Link::Resuming(_) => {
                rest = self.answer_received(bytes, now);
                &rest
            }
            Link::Down(_) => return,
        };
        if self.end.is_some() || bytes.is_empty() {
            return;
        }
        self.is_heard(now);
        self.counted.add(bytes.len());
        self.decoder.push(bytes);
        while self.end.is_none() {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => self.handle(frame, now),
                Ok(None) => break,
                Err(malformed) => return self.fail(Ending::Malformed(malformed), now),
            }
        }
        self.bound_what_is_kept(now);
    }

    fn handle(&mut self, frame: Frame, now: Instant) {
        let unexpected = |association: &mut Self, what| association.fail(Ending::Unexpected(what), now);
        match frame {
            _ if self.resumes.is_some() => unexpected(self, "more than the wish to resume"),
            Frame::Resume { version, .. } if version != VERSION => self.fail(Ending::Version(version), now),
            Frame::Resume { resume, .. } if self.side == Side::Responder && self.token.is_none() => {
                self.resumes = Some(resume);
            }
            Frame::Resume { .. } | Frame::Resumed(_) | Frame::Unknown => unexpected(self, "what begins a carrier"),
            Frame::Open {
                version,
                token,
                streams,
            } => self.open(version, token, streams, now),
            // The function has restarted the association since.
            Frame::Opened { restarts, .. } if self.reopening && restarts < self.restarts() => {}
            Frame::Opened { restarts, .. }
                if self.side == Side::Initiator && restarts == self.restarts() && (self.reopening || !self.opened) =>
            {
                self.reopening = false;
                self.opened = true;
                self.opening_ends = None;
                // The function may have shut down before its peer was there.
                if self.state == State::Opening {
                    self.state = State::Established;
                }
            }
            Frame::Opened { .. } => unexpected(self, "a second opening"),
            Frame::Restart(streams) if self.side == Side::Responder && self.opened => self.restart(streams, now),
            Frame::Restart(_) => unexpected(self, "a restart of what it did not open"),
            Frame::Abort(cause) => {
                self.abort_function(cause.clone(), now);
                self.finish(Ending::PeerAborted(cause));
            }
            Frame::Lane { .. } => unexpected(self, "a lane among frames of the association's life"),
            // Lanes of the association that was before the restart.
            Frame::Received { lane: Some(_), .. } if self.reopening => {}
            Frame::Received { lane, octets } => self.peer_has(lane, octets, now),
            Frame::Move if self.side == Side::Initiator => {
                self.moves = true;
                self.asked = Some(now);
            }
            Frame::Move => unexpected(self, "the responder's wish"),
            Frame::Message(_) | Frame::Shutdown if self.carriage == Carriage::Streams => {
                unexpected(self, "a message among frames of the association's life");
            }
            Frame::ShutdownAfter(_) if self.carriage == Carriage::Stream => unexpected(self, "a shutdown of streams"),
            // Frames of the association before the restart.
            Frame::Message(_) | Frame::Credit(_) | Frame::Delivered(_) | Frame::Shutdown | Frame::ShutdownAfter(_)
                if self.reopening => {}
            Frame::Message(_) | Frame::Credit(_) | Frame::Delivered(_) | Frame::Shutdown | Frame::ShutdownAfter(_)
                if !self.opened =>
            {
                unexpected(self, "a message before the association is open");
            }
            Frame::Message(fragment) => {
                let begun = self.arriving.take();
                self.arriving = self.message(begun, fragment, now);
            }
            Frame::ShutdownAfter(messages) => self.shut_down_after(messages, now),
            Frame::Credit(octets) => {
                let credit = usize::try_from(octets).map_or(usize::MAX, |octets| self.credit.saturating_add(octets));
                if credit > WINDOW {
                    return unexpected(self, "more credit than there is window");
                }
                self.credit = credit;
            }
            Frame::Delivered(messages) => {
                if messages < self.counts.acknowledged || messages > self.counts.sent {
                    return unexpected(self, "an acknowledgement of what was not sent");
                }
                self.counts.acknowledged = messages;
            }
            Frame::Shutdown => self.shut_down(now),
            Frame::Closed => match self.state {
                State::ShuttingDown => self.finish(Ending::ShutDown),
                _ => unexpected(self, "the end of a shutdown that was not begun"),
            },
            Frame::Alive | Frame::Path(_) | Frame::SendFailed { .. } => {}
        }
    }

    fn open(&mut self, version: u16, token: Token, streams: Streams, now: Instant) {
        if self.side == Side::Initiator || self.opened {
            return self.fail(Ending::Unexpected("a second opening"), now);
        }
        if version != VERSION {
            return self.fail(Ending::Version(version), now);
        }
        self.opened = true;
        self.token = Some(token);
        self.opening_ends = Some(now + self.patience.opening);
        self.commands.push_back(Command::Connect(streams));
    }

    fn restart(&mut self, streams: Streams, now: Instant) {
        self.totals.unacknowledged += self.counts.sent - self.counts.acknowledged;
        let had_function = self.granted.take().is_some();
        self.begin_again();
        self.lanes.restart();
        self.state = State::Opening;
        self.opening_ends = Some(now + self.patience.opening);
        if had_function {
            let cause = Cause::of_node("the function at the other end restarted its association");
            self.commands.push_back(Command::Abort(cause));
        }
        self.commands.push_back(Command::Connect(streams));
    }

    /// A piece of a message, of which `begun` came before. Gives what is not whole yet.
    pub(super) fn message(&mut self, begun: Option<Message>, fragment: Fragment, now: Instant) -> Option<Message> {
        let unexpected = |association: &mut Self, what| {
            association.fail(Ending::Unexpected(what), now);
            None
        };
        match self.state {
            State::Following => return unexpected(self, "a message after the shutdown"),
            // The function has ended its association while this was on its way.
            State::ShuttingDown => {
                self.totals.undelivered += u64::from(fragment.last);
                return None;
            }
            State::Opening | State::Established | State::Ended => {}
        }
        let Fragment { delivery, bytes, last } = fragment;
        let octets = bytes.len();
        let message = match begun {
            None => Message { delivery, bytes },
            Some(mut begun) if begun.delivery == delivery => {
                begun.bytes.extend_from_slice(&bytes);
                begun
            }
            Some(_) => return unexpected(self, "two messages in one"),
        };
        self.used += octets + if last { MESSAGE_COST } else { 0 };
        if self.used > WINDOW || message.bytes.len() > LARGEST_MESSAGE {
            return unexpected(self, "more than it was credited");
        }
        if !last {
            // An empty piece that is not the last would be free of charge.
            if octets == 0 {
                return unexpected(self, "an empty fragment");
            }
            return Some(message);
        }
        if let Some(granted) = self.granted_towards_function()
            && delivery.stream >= granted
        {
            let stream = delivery.stream;
            self.fail(Ending::NoStream { stream, granted }, now);
            return None;
        }
        self.commands.push_back(Command::Send(message));
        self.counts.received += 1;
        self.shut_down_when_all_came(now);
        None
    }

    /// Number of streams towards the function; none where its association is not established.
    fn granted_towards_function(&self) -> Option<u16> {
        let granted = self.granted?;
        Some(match self.side {
            Side::Initiator => granted.inbound,
            Side::Responder => granted.outbound,
        })
    }

    pub(super) fn shut_down(&mut self, now: Instant) {
        match self.state {
            // Both functions shut down at once.
            State::ShuttingDown => {
                self.write(&Frame::Closed, now);
                self.finish(Ending::ShutDown);
            }
            State::Opening | State::Established => {
                self.state = State::Following;
                self.arriving = None;
                self.commands.push_back(Command::Shutdown);
            }
            State::Following | State::Ended => self.fail(Ending::Unexpected("a second shutdown"), now),
        }
    }
}
