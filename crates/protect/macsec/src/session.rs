//! One exchange: TLS 1.3 in a conversation over the link, its judgement, the secret it gives, and the messages inside of it.

use std::io;
use std::time::{Duration, Instant};

use bartizan_tls::{Accepting, Connecting, Established, Refused};
use zeroize::Zeroizing;

use crate::derive::{Binding, LABEL, SECRET, Secret};
use crate::message::{Malformed, Message, Messages};
use crate::segment::{From, Segment};
use crate::stream::{Broken, Stream};
use crate::tls::{self, Tls};

/// The name of what is spoken inside, for ALPN (RFC 7301).
pub const PROTOCOL: &[u8] = b"bartizan-macsec/1";
/// Time limit of a handshake and of the peer's first message behind it: a slow machine signs for a
/// second, and a frame that is lost costs another.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// Octets of plaintext that are read at once.
const READ: usize = 4096;

/// Why an exchange ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// One end refused the other, or what was negotiated.
    #[error("{}", .0.detail)]
    Refused(Box<Refused>),
    /// The peer does not answer.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The peer sent what it must not.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    Closed,
}

impl std::convert::From<tls::Ended> for Ended {
    fn from(ended: tls::Ended) -> Self {
        match ended {
            tls::Ended::Refused(refused) => Self::Refused(refused),
            tls::Ended::Closed => Self::Closed,
        }
    }
}

/// Result of segments.
#[derive(Debug)]
pub enum Received {
    /// The handshake ended well.
    Established(Box<Established>, Secret),
    /// The peer said something.
    Message(Message),
}

bartizan_registry::made! {
    /// One end of an exchange.
    #[derive(Debug)]
    pub struct Session,
    /// Waits for what a peer begins.
    pub accept(accepting: Accepting, conversation: u64, mtu: u32, now: Instant) {
        stream: Stream = Stream::new(From::Server, conversation, mtu),
        tls: Tls = Tls::accept(accepting),
        messages: Messages = Messages::default(),
        /// Time of its beginning.
        pub began: Instant = now,
        /// Its handshake ended well.
        established: bool = false,
        /// The peer has sent a message: that it acknowledges octets proves nothing, since nothing
        /// authenticates an acknowledgement.
        greeted: bool = false,
    }
}

impl Session {
    /// Begins an exchange.
    ///
    /// # Errors
    ///
    /// Fails if TLS has nothing to offer.
    pub fn begin(connecting: Connecting, conversation: u64, mtu: u32, now: Instant) -> Result<Self, Ended> {
        let mut session = Self {
            stream: Stream::new(From::Client, conversation, mtu),
            tls: Tls::connect(connecting).map_err(Ended::Refused)?,
            messages: Messages::default(),
            began: now,
            established: false,
            greeted: false,
        };
        session.flush()?;
        Ok(session)
    }

    /// The number of its conversation.
    pub const fn conversation(&self) -> u64 {
        self.stream.conversation()
    }

    /// Takes a segment.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the exchange is over. What is still to be sent, an alert for example, the next [`Session::poll`] sends.
    pub fn receive(&mut self, segment: &Segment<'_>, binding: &Binding, now: Instant) -> Result<Vec<Received>, Ended> {
        let fresh = self.stream.receive(segment, now);
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        self.tls.watch.received(fresh);
        let taken = self.take(fresh, binding);
        // An alert that says why goes out also where it is over.
        let flushed = self.flush();
        let received = taken?;
        flushed?;
        Ok(received)
    }

    /// Says something to the peer.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the exchange is over.
    pub fn send(&mut self, message: &Message) -> Result<(), Ended> {
        let encoded = message.encode();
        self.tls.write(&encoded).map_err(|_| Broken::Full)?;
        self.flush()
    }

    /// Sends what is to be sent now.
    ///
    /// # Errors
    ///
    /// [`Ended`]: the peer does not answer, or its handshake or first message takes longer than it
    /// may.
    pub fn poll(&mut self, now: Instant, send: &mut dyn FnMut(Vec<u8>)) -> Result<(), Ended> {
        self.stream.poll(now, send)?;
        if self.greeted || now.saturating_duration_since(self.began) < HANDSHAKE {
            return Ok(());
        }
        Err(match self.established {
            true => Broken::Silent.into(),
            false => Ended::Refused(self.tls.watch.timed_out()),
        })
    }

    /// The peer listens from now on: what it took nothing of is sent again at once.
    pub fn hurry(&mut self, now: Instant) {
        self.stream.hurry(now);
    }

    /// When [`Session::poll`] is to be called at the latest.
    pub fn wake(&self) -> Option<Instant> {
        let handshake = (!self.greeted).then(|| self.began + HANDSHAKE);
        self.stream.wake().into_iter().chain(handshake).min()
    }

    fn take(&mut self, mut fresh: &[u8], binding: &Binding) -> Result<Vec<Received>, Ended> {
        let mut received = Vec::new();
        while !fresh.is_empty() {
            self.tls.take(&mut fresh)?;
            received.extend(self.judge(binding)?);
            self.messages_into(&mut received)?;
        }
        Ok(received)
    }

    /// Judges a handshake that has just ended.
    fn judge(&mut self, binding: &Binding) -> Result<Option<Received>, Ended> {
        if self.established {
            return Ok(None);
        }
        let Some(judged) = self.tls.judge() else {
            return Ok(None);
        };
        let established = judged.map_err(Ended::Refused)?;
        // rustls leaves it open where a peer offers none at all.
        if self.tls.protocol() != Some(PROTOCOL) {
            return Err(Ended::Refused(self.tls.refused(rustls::Error::NoApplicationProtocol)));
        }
        let mut secret = Zeroizing::new([0; SECRET]);
        self.tls
            .export(secret.as_mut_slice(), LABEL, &binding.context())
            .map_err(Ended::Refused)?;
        let secret = Secret::new(secret);
        self.established = true;
        Ok(Some(Received::Established(Box::new(established), secret)))
    }

    fn messages_into(&mut self, received: &mut Vec<Received>) -> Result<(), Ended> {
        if !self.established {
            return Ok(());
        }
        let mut buffer = [0; READ];
        loop {
            match self.tls.read(&mut buffer) {
                Ok(0) => return Err(Ended::Closed),
                Ok(length) => self.messages.push(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Ended::Refused(self.tls.watch.failed(&error))),
            }
            while let Some(message) = self.messages.take()? {
                self.greeted = true;
                received.push(Received::Message(message));
            }
        }
    }

    /// Hands to the stream what TLS has to send.
    fn flush(&mut self) -> Result<(), Ended> {
        let bytes = self.tls.outgoing();
        self.stream.write(&bytes)?;
        Ok(())
    }
}
