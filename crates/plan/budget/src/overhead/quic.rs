//! Packets of QUIC version 1 with a short header (RFC 9000, section 17.3).

use bartizan_registry::{Header, QUIC_CONNECTION_ID_MOST, QUIC_PACKET_NUMBER_MOST};
use serde::Serialize;

use super::{IpVersion, Layout, OverheadError, Part, most};
use crate::unit::Bytes;

/// QUIC protection of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quic {
    connection_id: u8,
    packet_number: u8,
    /// The IP version below.
    pub ip: IpVersion,
}

impl Quic {
    /// Packets with a connection identifier of 0 to 20 bytes and a packet number of 1 to 4; `None` of others.
    pub fn new(connection_id: u8, packet_number: u8, ip: IpVersion) -> Option<Self> {
        let valid = connection_id <= QUIC_CONNECTION_ID_MOST && (1..=QUIC_PACKET_NUMBER_MOST).contains(&packet_number);
        valid.then_some(Self {
            connection_id,
            packet_number,
            ip,
        })
    }

    /// The IP packet that carries `frames` bytes of QUIC frames.
    pub fn packet(&self, frames: Bytes) -> Result<Layout, OverheadError> {
        most(frames, 65_000, "frames of one packet")?;
        Ok(Layout::of(vec![
            Part::header(self.ip.header()),
            Part::header(Header::UDP),
            Part::header(Header::QUIC_FLAGS),
            Part::added("connection identifier", self.connection_id, "RFC 9000, section 17.3.1"),
            Part::added("packet number", self.packet_number, "RFC 9000, section 17.1"),
            Part::payload("frames", frames),
            Part::header(Header::QUIC_TAG),
        ]))
    }
}
