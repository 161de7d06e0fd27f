//! The function's socket, as the association wants it.

use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use bartizan_gateway::{Cause, Command, Side, Streams};
use bartizan_host::sctp::{Event, Notification};

use super::{Carrying, ROUNDS};
use crate::paths::sctp::carrier::Carrier;
use crate::paths::sctp::function::{FunctionSocket, delivery, path_state};

impl<C: Carrier> Carrying<C> {
    /// Does what the function's socket has to do, as far as it can.
    pub(super) fn command(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(command) = self.association.command() {
            match command {
                Command::Connect(streams) => {
                    let streams = *streams;
                    if self.connect(streams, context).is_pending() {
                        break;
                    }
                }
                Command::Send(message) => {
                    let Some(function) = &mut self.function else {
                        self.association.command_done(self.now);
                        continue;
                    };
                    match function.poll_send(message, context) {
                        Poll::Ready(Ok(())) => self.association.command_done(self.now),
                        Poll::Ready(Err(error)) => self.lost(&error),
                        Poll::Pending => break,
                    }
                }
                Command::Shutdown => {
                    if let Some(function) = &self.function
                        && let Err(error) = function.shut_down()
                    {
                        self.lost(&error);
                        continue;
                    }
                    self.association.command_done(self.now);
                }
                Command::Abort(_) => {
                    if let Some(function) = self.function.take() {
                        function.abort();
                    }
                    self.association.command_done(self.now);
                }
            }
            moved = true;
        }
        // An association that is no longer wanted before it is established.
        if !self.association.has_function()
            && !matches!(self.association.command(), Some(Command::Connect(_)))
            && !self.established
        {
            self.function = None;
        }
        moved
    }

    /// Opens the association with this node's function.
    fn connect(&mut self, streams: Streams, context: &mut Context<'_>) -> Poll<()> {
        let Some(forward) = self.forward else {
            // Only who was opened to has this command.
            self.association.command_done(self.now);
            return Poll::Ready(());
        };
        let function = match self.function.take() {
            Some(function) if !self.established => Ok(function),
            _ => FunctionSocket::begin(forward, streams),
        };
        self.established = false;
        let outcome = match function {
            Ok(mut function) => match function.poll_established(context) {
                Poll::Pending => {
                    self.function = Some(function);
                    return Poll::Pending;
                }
                Poll::Ready(outcome) => outcome.and_then(|()| Ok((function.streams()?, function))),
            },
            Err(error) => Err(error),
        };
        let now = self.now;
        match outcome {
            Ok((granted, function)) => {
                self.function = Some(function);
                self.established = true;
                let granted = Streams {
                    outbound: granted.outbound,
                    inbound: granted.inbound,
                };
                self.association.function_established(granted, now);
            }
            Err(error) => {
                let text = format!("the peer's function at {forward} was not reached: {error}");
                self.association.function_aborted(Cause::new(0, &text), now);
            }
        }
        Poll::Ready(())
    }

    /// The function's association is gone.
    fn lost(&mut self, error: &io::Error) {
        self.function = None;
        self.established = false;
        let cause = Cause::new(0, &format!("the function's association was lost: {error}"));
        self.association.function_aborted(cause, self.now);
    }

    /// Reads from the function for as long as there is something and the peer has room.
    pub(super) fn read_function(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        for _ in 0..ROUNDS {
            let (true, true, Some(function)) = (self.established, self.association.wants_messages(), &self.function)
            else {
                break;
            };
            let association = &mut self.association;
            let now = self.now;
            // One buffer serves all associations of the thread; an association at rest holds none.
            let read = BUFFER.with_borrow_mut(|buffer| {
                function.poll_event(buffer, context, |event| match event {
                    Event::Piece {
                        stream,
                        payload_protocol,
                        ordering,
                        bytes,
                        last,
                    } => {
                        association.function_sent(delivery(stream, payload_protocol, ordering), bytes, last, now);
                        Seen::Message
                    }
                    Event::Notification(notification) => Seen::Notification(notification),
                    Event::Nothing => Seen::Message,
                    Event::End => Seen::End,
                })
            });
            match read {
                Poll::Pending => break,
                Poll::Ready(Ok(Seen::Message)) => {}
                Poll::Ready(Ok(Seen::Notification(notification))) => self.notified(notification, now),
                Poll::Ready(Ok(Seen::End)) => self.shut_down(now),
                Poll::Ready(Err(error)) => self.lost(&error),
            }
            moved = true;
        }
        moved
    }

    fn shut_down(&mut self, now: Instant) {
        self.ask_for_acknowledgement(now);
        self.association.function_shut_down(now);
        // Nothing is unread: the kernel ends it in order.
        self.function = None;
        self.established = false;
    }

    /// Has the peer learn it where the function has acknowledged everything.
    pub(super) fn ask_for_acknowledgement(&mut self, now: Instant) {
        if self.established && self.function.as_ref().is_some_and(FunctionSocket::is_acknowledged) {
            self.association.function_acknowledged(now);
        }
    }

    fn notified(&mut self, notification: Notification, now: Instant) {
        match notification {
            Notification::Restarted(granted) => {
                let streams = match self.association.side() {
                    Side::Initiator => Streams {
                        outbound: granted.inbound,
                        inbound: granted.outbound,
                    },
                    Side::Responder => Streams {
                        outbound: granted.outbound,
                        inbound: granted.inbound,
                    },
                };
                self.association.function_restarted(streams, now);
            }
            Notification::Lost(cause) => {
                self.function = None;
                self.established = false;
                let text = match (cause.reason.as_str(), cause.code) {
                    ("", 0) => "the function ended its association",
                    ("", _) => "the function aborted its association",
                    (reason, _) => reason,
                };
                self.association.function_aborted(Cause::new(cause.code, text), now);
            }
            Notification::PartialDeliveryAborted => {
                self.lost(&io::Error::other("the rest of a message does not come"));
            }
            Notification::ShutDownComplete => self.shut_down(now),
            Notification::Path { address, state } => {
                tracing::debug!(?address, ?state, "a path to the function changed");
                if let Some(state) = path_state(state) {
                    self.association.function_path(state, now);
                }
            }
            Notification::SendFailed { stream, code } => {
                let code = u16::try_from(code).unwrap_or(u16::MAX);
                self.association.function_send_failed(stream, code, now);
            }
            // The end follows.
            Notification::ShutDown | Notification::Up(_) | Notification::Other(_) => {}
        }
    }

    /// While the peer has no room nothing is read from the function, and its end is not seen there.
    pub(super) fn notice_a_function_that_is_gone(&mut self) {
        if self.established
            && !self.association.wants_messages()
            && let Some(Err(error)) = self.function.as_ref().map(FunctionSocket::streams)
        {
            self.lost(&error);
        }
    }
}

/// Result of a read from the function.
enum Seen {
    Message,
    Notification(Notification),
    End,
}

thread_local! {
    static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}
