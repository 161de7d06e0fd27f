//! The TLS handshake of a connection: from its first byte to the packet with the last Finished.

use crate::tls::{Tls, Version};
use crate::{Connection, Content, Moment, Side};

/// One frame of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Packet and time.
    pub at: Moment,
    /// Sender.
    pub from: Side,
    /// Bytes on the wire, link header included.
    pub bytes: u32,
    pub(super) syn: bool,
}

/// Reason for which no handshake can be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Untimed {
    /// The connection carried no TLS.
    #[error("no TLS")]
    Clear,
    /// The capture does not have it from its ClientHello to the last flight, or it was refused.
    #[error("the handshake is not whole in the capture")]
    Partial,
    /// It took more frames than are kept.
    #[error("the handshake took more packets than are kept")]
    Overlong,
}

/// A whole TLS handshake.
///
/// It ends with the packet of the last Finished. In TLS 1.3 that is the client's, and encrypted: it
/// is recognised by its length where it has a record of its own (OpenSSL, Go). If it shares a
/// record with the certificate (rustls), the handshake ends with the last packet of the client's
/// flight, which then also holds the client's data before the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// The first SYN, where it was captured.
    pub syn: Option<Moment>,
    /// The first byte of the ClientHello.
    pub hello: Moment,
    /// The last packet of the server's first flight with its certificate and, in TLS 1.3, its Finished.
    pub server_flight: Moment,
    /// The packet with the last Finished, or the last packet of the last flight.
    pub finished: Moment,
    /// All packets of the connection from `hello` to `finished`, acknowledgements included, in the order captured.
    pub frames: Vec<Frame>,
    /// Bytes of the client's TLS records in its flights, headers included.
    pub client_bytes: u64,
    /// The same of the server.
    pub server_bytes: u64,
}

impl Handshake {
    /// From the first byte of ClientHello to the last of Finished, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.finished.time.since(self.hello.time)
    }

    /// From the first SYN to the last byte of Finished, in nanoseconds.
    pub fn since_syn_ns(&self) -> Option<u64> {
        Some(self.finished.time.since(self.syn?.time))
    }

    /// Packets of one side.
    pub fn packets(&self, side: Side) -> u64 {
        self.frames.iter().filter(|frame| frame.from == side).count() as u64
    }

    /// Bytes of one side's frames.
    pub fn frame_bytes(&self, side: Side) -> u64 {
        let of_side = self.frames.iter().filter(|frame| frame.from == side);
        of_side.map(|frame| u64::from(frame.bytes)).sum()
    }

    /// Times between consecutive packets, in either direction, in nanoseconds.
    pub fn gaps_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames
            .windows(2)
            .filter_map(|pair| Some(pair.last()?.at.time.since(pair.first()?.at.time)))
    }
}

/// The handshake of a connection with these first frames, behind which there may be `more`.
pub(super) fn of(connection: &Connection, frames: &[Frame], more: bool) -> Result<Handshake, Untimed> {
    let Content::Tls(tls) = &connection.content else {
        return Err(Untimed::Clear);
    };
    let hello = tls.client_hello.as_ref().ok_or(Untimed::Partial)?.first;
    tls.server_hello.as_ref().ok_or(Untimed::Partial)?;
    let flights = &tls.flights;
    let expected = expected_flights(tls);
    let (flights, last) = match flights.get(..expected) {
        Some(flights) => (flights, flights.last().ok_or(Untimed::Partial)?),
        None => return Err(Untimed::Partial),
    };
    // The server's last flight before the client's Finished; in TLS 1.2 the server ends, so one earlier there.
    let server_flight = flights
        .iter()
        .take(if expected == 4 { 2 } else { expected })
        .rfind(|flight| flight.from == Side::Server)
        .ok_or(Untimed::Partial)?;
    let finished = match tls.client_finished {
        Some(at) if expected != 4 && at.packet <= last.last.packet => at,
        _ => last.last,
    };
    // An alert in plaintext, or a client that leaves without Finished, is no whole handshake.
    if tls
        .alerts
        .iter()
        .any(|alert| alert.last.packet <= finished.packet && alert.value.level == 2)
    {
        return Err(Untimed::Partial);
    }
    let kept = frames.last().is_some_and(|frame| frame.at.packet >= finished.packet);
    if !kept {
        return Err(if more { Untimed::Overlong } else { Untimed::Partial });
    }
    let bytes = |side| {
        let of_side = flights.iter().filter(|flight| flight.from == side);
        of_side.map(|flight| flight.bytes).sum()
    };
    Ok(Handshake {
        syn: frames
            .iter()
            .find(|frame| frame.syn && frame.at.packet <= hello.packet)
            .map(|frame| frame.at),
        hello,
        server_flight: server_flight.last,
        finished,
        frames: frames
            .iter()
            .filter(|frame| (hello.packet..=finished.packet).contains(&frame.at.packet))
            .copied()
            .collect(),
        client_bytes: bytes(Side::Client),
        server_bytes: bytes(Side::Server),
    })
}

/// Client, server, client; five with a HelloRetryRequest; four in TLS 1.2, three when it resumes a
/// session (the server then sends no certificate and ends first).
fn expected_flights(tls: &Tls) -> usize {
    match (tls.version(), &tls.hello_retry_request) {
        (Some(Version::TLS13), None) => 3,
        (Some(Version::TLS13), Some(_)) => 5,
        _ if tls.server_certificates.is_none() && tls.server_key_exchange.is_none() => 3,
        _ => 4,
    }
}
