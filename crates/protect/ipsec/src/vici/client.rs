//! One connection to charon's VICI socket.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::frame::{Frames, framed};
use bartizan_host::connect_unix;

use super::message::Malformed;
use super::{Error, Message, Packet};

/// Events that may wait while an answer is read. charon sends one per change of an SA; a connection that asks and listens at the
/// same time and never takes them would otherwise grow.
const EVENTS_WAITING: usize = 4096;

/// One read from the socket, in bytes.
const READ: usize = 16 * 1024;

/// An event of charon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name, `child-rekey`.
    pub name: String,
    /// Its content.
    pub message: Message,
}

bartizan_registry::made! {
    /// A connection to charon: commands one at a time, and the events it was registered for.
    ///
    /// Every call ends within the patience of the connection, or the one it is given. After an
    /// error other than [`Error::Refused`] and [`Error::Unknown`] the connection is of no use any
    /// more: make another.
    #[derive(Debug)]
    pub struct Client,
    /// Connects to the socket; `patience` is how long each answer is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`] if no process listens, [`Error::Socket`] if this user may not connect,
    /// [`Error::Stalled`] if charon takes no more connections, as one that is stopped after a
    /// handful.
    pub connect(socket: &Path, patience: Duration) -> Result<Self, Error> {
        let stream = connect_unix(socket, patience).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Error::Absent(socket.to_owned()),
            ErrorKind::TimedOut => Error::Stalled {
                command: "a connection".to_owned(),
                within: patience,
            },
            _ => Error::Socket {
                socket: socket.to_owned(),
                source,
            },
        })?;
        socket: PathBuf = socket.to_owned(),
        stream: UnixStream,
        frames: Frames = Frames::default(),
        events: VecDeque<Event> = VecDeque::new(),
        patience: Duration,
    }
}

impl Client {
    /// Runs a command and returns its answer, whatever it says.
    ///
    /// # Errors
    ///
    /// Everything but [`Error::Refused`].
    pub fn request(&mut self, command: &str, message: Message) -> Result<Message, Error> {
        self.request_within(command, message, self.patience)
    }

    /// The same with a patience of its own.
    ///
    /// # Errors
    ///
    /// Everything but [`Error::Refused`].
    pub fn request_within(&mut self, command: &str, message: Message, patience: Duration) -> Result<Message, Error> {
        let deadline = Deadline::new(command, patience);
        let request = Packet::Request {
            command: command.to_owned(),
            message,
        };
        self.send(&request, &deadline)?;
        match self.answer(&deadline)? {
            Packet::Response(message) => Ok(message),
            Packet::UnknownCommand => Err(Error::Unknown(command.to_owned())),
            _ => Err(deadline.nonsense("an answer to something else")),
        }
    }

    /// Runs a command whose answer says `success`.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with charon's reason where it says no.
    pub fn command(&mut self, command: &str, message: Message) -> Result<Message, Error> {
        self.command_within(command, message, self.patience)
    }

    /// The same with a patience of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with charon's reason where it says no.
    pub fn command_within(&mut self, command: &str, message: Message, patience: Duration) -> Result<Message, Error> {
        let answer = self.request_within(command, message, patience)?;
        if answer.is_yes("success") {
            return Ok(answer);
        }
        Err(Error::Refused {
            command: command.to_owned(),
            reason: answer.text("errmsg").unwrap_or("no reason given").to_owned(),
        })
    }

    /// Runs a command that answers by a row of events, and returns them in order.
    ///
    /// # Errors
    ///
    /// Those of [`Client::command`] and [`Client::register`].
    pub fn streamed(&mut self, command: &str, event: &str, message: Message) -> Result<Vec<Message>, Error> {
        self.register(event)?;
        let mut rows = Vec::new();
        let deadline = Deadline::new(command, self.patience);
        let request = Packet::Request {
            command: command.to_owned(),
            message,
        };
        self.send(&request, &deadline)?;
        let answer = loop {
            match self.packet(&deadline)? {
                Packet::Event { name, message } if name == event => rows.push(message),
                Packet::Event { name, message } => self.keep(Event { name, message }),
                Packet::Response(message) => break message,
                Packet::UnknownCommand => {
                    return Err(Error::Unknown(command.to_owned()));
                }
                _ => return Err(deadline.nonsense("an answer to something else")),
            }
        };
        self.switch(Packet::Unregister(event.to_owned()), event)?;
        if answer.text("success") == Some("no") {
            return Err(Error::Refused {
                command: command.to_owned(),
                reason: answer.text("errmsg").unwrap_or("no reason given").to_owned(),
            });
        }
        Ok(rows)
    }

    /// Asks for these events from now on; [`Client::event`] hands them over.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] where charon has no such event.
    pub fn register(&mut self, event: &str) -> Result<(), Error> {
        self.switch(Packet::Register(event.to_owned()), event)
    }

    /// The next event, waiting at most this long; `None` when none came.
    ///
    /// # Errors
    ///
    /// [`Error::Died`] when charon went away, [`Error::Nonsense`].
    pub fn event(&mut self, patience: Duration) -> Result<Option<Event>, Error> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Some(event));
        }
        match self.packet(&Deadline::new("events", patience)) {
            Ok(Packet::Event { name, message }) => Ok(Some(Event { name, message })),
            Ok(_) => Err(Deadline::new("events", patience).nonsense("an answer without a question")),
            Err(Error::Stalled { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// An event that came while an answer was read, where there is one.
    pub fn waiting_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn switch(&mut self, packet: Packet, event: &str) -> Result<(), Error> {
        let deadline = Deadline::new(event, self.patience);
        self.send(&packet, &deadline)?;
        match self.answer(&deadline)? {
            Packet::Confirm => Ok(()),
            Packet::UnknownEvent => Err(Error::Unknown(event.to_owned())),
            _ => Err(deadline.nonsense("an answer to something else")),
        }
    }

    fn send(&mut self, packet: &Packet, deadline: &Deadline) -> Result<(), Error> {
        let bytes = framed(packet)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            self.stream
                .set_write_timeout(Some(deadline.left()?))
                .map_err(|error| deadline.error(&error))?;
            match self.stream.write(rest) {
                Ok(0) => return Err(deadline.died()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(deadline.error(&error)),
            }
        }
        Ok(())
    }

    /// The next packet that is no event.
    fn answer(&mut self, deadline: &Deadline) -> Result<Packet, Error> {
        loop {
            match self.packet(deadline)? {
                Packet::Event { name, message } => self.keep(Event { name, message }),
                packet => return Ok(packet),
            }
        }
    }

    fn keep(&mut self, event: Event) {
        if self.events.len() == EVENTS_WAITING {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn packet(&mut self, deadline: &Deadline) -> Result<Packet, Error> {
        let mut buffer = [0; READ];
        loop {
            if let Some(packet) = self.frames.next_packet().map_err(|cause| Error::Nonsense {
                command: deadline.command.to_owned(),
                cause,
            })? {
                return Ok(packet);
            }
            self.stream
                .set_read_timeout(Some(deadline.left()?))
                .map_err(|error| deadline.error(&error))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(deadline.died()),
                Ok(read) => self.frames.push(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(deadline.error(&error)),
            }
        }
    }
}

bartizan_registry::made! {
    /// Until when something is waited for, and what.
    struct Deadline<'a>, new(command: &'a str, patience: Duration) {
        command: &'a str,
        patience: Duration,
        at: Instant = Instant::now() + patience,
    }
}

impl<'a> Deadline<'a> {
    /// Remaining time. Never zero, which a socket would take for no bound.
    fn left(&self) -> Result<Duration, Error> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.stalled());
        }
        Ok(left.max(Duration::from_micros(1)))
    }

    fn stalled(&self) -> Error {
        Error::Stalled {
            command: self.command.to_owned(),
            within: self.patience,
        }
    }

    fn died(&self) -> Error {
        Error::Died(self.command.to_owned())
    }

    fn nonsense(&self, reason: &'static str) -> Error {
        Error::Nonsense {
            command: self.command.to_owned(),
            cause: Malformed { at: 0, reason },
        }
    }

    fn error(&self, error: &io::Error) -> Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.stalled(),
            _ => self.died(),
        }
    }
}

#[cfg(test)]
mod tests;
