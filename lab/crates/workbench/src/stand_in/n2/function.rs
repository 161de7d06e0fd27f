//! One end of an association, as a network function has it: messages with stream, payload protocol
//! identifier and order flag.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::Instant;

use bartizan_host::Namespace;
use bartizan_host::sctp::{Association, Event, Listener, Notification, Opening, Ordering};
use nix::poll::{PollFd, PollFlags};

use crate::Error;
use crate::stand_in::e2::play::wait;

/// Streams that both ends ask for and allow.
pub const STREAMS: u16 = 32;

/// A user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The stream it goes on or came on.
    pub stream: u16,
    /// Payload protocol identifier.
    pub payload_protocol: u32,
    /// Ordered or unordered delivery within its stream.
    pub ordering: Ordering,
    /// All of it.
    pub octets: Vec<u8>,
}

/// A function that waits for associations.
#[derive(Debug)]
pub struct Waiting {
    listener: Listener,
}

/// One association.
#[derive(Debug)]
pub struct Function {
    association: Association,
    /// Receive buffer.
    buffer: Vec<u8>,
    /// The beginning of a message whose rest has not come.
    partial: Vec<u8>,
}

fn opening() -> Opening {
    Opening {
        outbound_streams: STREAMS,
        inbound_streams: STREAMS,
        ..Opening::default()
    }
}

fn late(what: &str) -> Error {
    Error::Broken(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the time is over and {what}"),
    ))
}

impl Waiting {
    /// Waits at an address of this host.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn at(host: &Namespace, address: SocketAddr) -> Result<Self, Error> {
        let listener = host.enter(|| Listener::bind(address, opening()))??;
        listener.set_nonblocking(true).map_err(Error::Broken)?;
        Ok(Self { listener })
    }

    /// The next association.
    ///
    /// # Errors
    /// Fails if no association comes in time.
    pub fn accept(&self, deadline: Instant) -> Result<Function, Error> {
        while Instant::now() < deadline {
            let mut files = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            wait(&mut files, Some(deadline))?;
            if files[0].any() == Some(true)
                && let Ok((association, _)) = self.listener.accept()
            {
                return Function::of(association);
            }
        }
        Err(late("no association has come"))
    }
}

impl Function {
    fn of(association: Association) -> Result<Self, Error> {
        association.set_nonblocking(true).map_err(Error::Broken)?;
        Ok(Self {
            association,
            buffer: Vec::new(),
            partial: Vec::new(),
        })
    }

    /// Opens an association from an address of this host (port 0 takes a free one) and waits until it is established.
    ///
    /// # Errors
    /// Fails if the peer does not answer, or refuses.
    pub fn open(host: &Namespace, local: SocketAddr, peer: SocketAddr) -> Result<Self, Error> {
        Self::of(host.enter(|| Association::connect(local, peer, opening()))??)
    }

    /// Sends a message, and waits until there is room for it.
    ///
    /// # Errors
    /// Fails if there is no room in time, or the association is gone.
    pub fn send(&self, message: &Message, deadline: Instant) -> Result<(), Error> {
        let Message {
            stream,
            payload_protocol,
            ordering,
            octets,
        } = message;
        loop {
            match self
                .association
                .send_with(*stream, *payload_protocol, *ordering, octets)
            {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(Error::Broken(error)),
            }
            if Instant::now() >= deadline {
                return Err(late("there is no room for a message"));
            }
            self.wait(PollFlags::POLLOUT, deadline)?;
        }
    }

    /// The next message, whole; none where the peer has ended the association in order.
    ///
    /// # Errors
    /// Fails if nothing comes in time, or the association was aborted or lost.
    pub fn receive(&mut self, deadline: Instant) -> Result<Option<Message>, Error> {
        loop {
            match self.association.next_event(&mut self.buffer).map_err(Error::Broken)? {
                Event::Piece {
                    stream,
                    payload_protocol,
                    ordering,
                    bytes,
                    last,
                } => {
                    self.partial.extend_from_slice(bytes);
                    if last {
                        return Ok(Some(Message {
                            stream,
                            payload_protocol,
                            ordering,
                            octets: std::mem::take(&mut self.partial),
                        }));
                    }
                    continue;
                }
                Event::End => return Ok(None),
                Event::Notification(Notification::ShutDownComplete) => return Ok(None),
                Event::Notification(Notification::Lost(_)) => {
                    return Err(Error::Broken(io::ErrorKind::ConnectionAborted.into()));
                }
                Event::Notification(_) => continue,
                Event::Nothing => {}
            }
            if Instant::now() >= deadline {
                return Err(late("no message has come"));
            }
            self.wait(PollFlags::POLLIN, deadline)?;
        }
    }

    fn wait(&self, flags: PollFlags, deadline: Instant) -> Result<(), Error> {
        wait(&mut [PollFd::new(self.association.as_fd(), flags)], Some(deadline))
    }

    /// Sends nothing more; what was sent is still delivered.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn finish(&self) -> Result<(), Error> {
        self.association.finish().map_err(Error::Broken)
    }

    /// Ends it in order, and waits until the peer has.
    ///
    /// # Errors
    /// Fails if the peer says something more, or does not end it in time.
    pub fn close(mut self, deadline: Instant) -> Result<(), Error> {
        // The end that shuts down learns only from a notification that the peer has shut down too.
        // Notifications are subscribed to only now: each one would wake the program.
        self.association.subscribe().map_err(Error::Broken)?;
        self.finish()?;
        match self.receive(deadline)? {
            None => Ok(()),
            Some(_) => Err(Error::Protocol("a message came after the last one".to_owned())),
        }
    }
}
