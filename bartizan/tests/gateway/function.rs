//! Network functions: the kernel's SCTP, in a node's namespace.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bartizan_host::Namespace;
use bartizan_host::sctp::{Association, Event, Listener, Notification, Opening, Ordering, Streams};

use super::stage::{PATIENCE, eventually};

/// A message as a function sees it: stream, payload protocol identifier, order, octets.
pub(crate) type Message = (u16, u32, Ordering, Vec<u8>);

/// Next event of a function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Message(Message),
    /// The association was aborted or lost.
    Lost,
    Restarted(Streams),
    ShutDown,
}

/// One end of an association of a function.
pub(crate) struct Function {
    association: Association,
}

pub(crate) fn opening(outbound: u16, inbound: u16) -> Opening {
    Opening {
        outbound_streams: outbound,
        inbound_streams: inbound,
        ..Opening::default()
    }
}

/// A function that waits for associations.
pub(crate) fn listen(space: &Namespace, address: SocketAddr) -> Listener {
    let listener = space
        .enter(|| Listener::bind(address, opening(32, 32)))
        .unwrap()
        .unwrap();
    listener.subscribe().unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// The next function that calls.
pub(crate) fn accept(listener: &Listener) -> Function {
    eventually("an association comes", || poll(listener))
}

/// The same where one has called already.
pub(crate) fn poll(listener: &Listener) -> Option<Function> {
    listener.accept().ok().map(|(association, _)| Function::of(association))
}

impl Function {
    fn of(association: Association) -> Self {
        association.subscribe().unwrap();
        association.set_nonblocking(true).unwrap();
        association.set_room(212_992).unwrap();
        Self { association }
    }

    /// Opens an association from an address of this host.
    pub(crate) fn open(space: &Namespace, from: &str, to: SocketAddr, opening: Opening) -> Self {
        let from = from.parse().unwrap();
        let opened = space.enter(|| Association::connect(from, to, opening)).unwrap();
        Self::of(opened.unwrap())
    }

    /// Opens an association that is aborted at once: after the kernel has said that it is there, or before.
    pub(crate) fn opens_in_vain(space: &Namespace, from: &str, to: SocketAddr, opening: Opening) {
        if let Some(function) = Self::try_open(space, from, to, opening) {
            assert_eq!(function.next(), Seen::Lost);
        }
    }

    /// Opens an association that may be aborted before the kernel has said that it is there.
    pub(crate) fn try_open(space: &Namespace, from: &str, to: SocketAddr, opening: Opening) -> Option<Self> {
        let from = from.parse().unwrap();
        match space.enter(|| Association::connect(from, to, opening)).unwrap() {
            Ok(association) => Some(Self::of(association)),
            Err(error) if error.to_string().contains("refused") => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn send(&self, (stream, protocol, ordering, bytes): &Message) {
        eventually("a message is sent", || {
            match self.association.send_with(*stream, *protocol, *ordering, bytes) {
                Ok(()) => Some(()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
                Err(error) => panic!("{error}"),
            }
        });
    }

    /// Sends on an association that may have ended; whether it was taken.
    pub(crate) fn try_send(&self, (stream, protocol, ordering, bytes): &Message) -> bool {
        self.association.send_with(*stream, *protocol, *ordering, bytes).is_ok()
    }

    /// Returns true if the other end has acknowledged everything that was sent.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.association.is_acknowledged().unwrap()
    }

    /// Sends as long as the kernel takes something for a while; how many it took.
    pub(crate) fn flood(&self, message: &Message) -> usize {
        let (mut sent, mut last) = (0, Instant::now());
        while last.elapsed() < Duration::from_secs(3) {
            let (stream, protocol, ordering, bytes) = message;
            match self.association.send_with(*stream, *protocol, *ordering, bytes) {
                Ok(()) => (sent, last) = (sent + 1, Instant::now()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("{error}"),
            }
        }
        sent
    }

    /// The next message, or how it ended.
    pub(crate) fn next(&self) -> Seen {
        self.next_within(PATIENCE).expect("something comes")
    }

    pub(crate) fn next_within(&self, patience: Duration) -> Option<Seen> {
        let (mut buffer, mut whole, began) = (Vec::new(), Vec::new(), Instant::now());
        while began.elapsed() < patience {
            let event = self.association.next_event(&mut buffer);
            match event {
                Ok(Event::Nothing) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Event::Piece {
                    stream,
                    payload_protocol,
                    ordering,
                    bytes,
                    last,
                }) => {
                    whole.extend_from_slice(bytes);
                    if last {
                        return Some(Seen::Message((stream, payload_protocol, ordering, whole)));
                    }
                }
                Ok(Event::End | Event::Notification(Notification::ShutDownComplete)) => return Some(Seen::ShutDown),
                Ok(Event::Notification(Notification::Lost(_))) | Err(_) => return Some(Seen::Lost),
                Ok(Event::Notification(Notification::Restarted(streams))) => return Some(Seen::Restarted(streams)),
                Ok(Event::Notification(_)) => {}
            }
        }
        None
    }

    pub(crate) fn streams(&self) -> Streams {
        self.association.streams().unwrap()
    }

    pub(crate) fn shut_down(&self) {
        self.association.finish().unwrap();
    }

    pub(crate) fn abort(self) {
        self.association.abort().unwrap();
    }
}
