//! Packets that leave: which SA each is for, and sealed.

use bartizan_esp::{Outbound, SealError, tunnel};

use crate::flow::Flow;
use crate::fragments::Fragments;
use crate::{Counted, Traffic};

/// Bytes in front of a packet that any suite fits in: SPI, sequence number and the longest initialization vector.
pub const HEADROOM: usize = 24;

/// The SAs that this end sends by, each with the way that its packets take.
#[derive(Debug)]
pub struct Outgoing<W> {
    sas: Vec<Sending<W>>,
    required: Vec<(u32, Traffic)>,
    fragments: Fragments,
}

struct Sending<W> {
    spi: u32,
    sa: Outbound,
    traffic: Traffic,
    has_ports: bool,
    way: W,
    counted: Counted,
}

impl<W> std::fmt::Debug for Sending<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sending")
            .field("spi", &format_args!("{:#010x}", self.spi))
            .field("traffic", &self.traffic)
            .field("counted", &self.counted)
            .finish_non_exhaustive()
    }
}

/// A sealed packet: where in the buffer it is, and which way it takes.
#[derive(Debug, PartialEq, Eq)]
pub struct Sealed<'a, W> {
    /// The ESP packet, without an outer header.
    pub packet: &'a [u8],
    /// DSCP and ECN of the inner packet, for the outer one (RFC 6040, section 4.1).
    pub class: u8,
    /// Where it goes.
    pub way: &'a W,
}

/// Why a packet is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// It is no IP packet.
    #[error("not an IP packet")]
    NotIp,
    /// An SA must protect it and there is none: of the link with this number.
    #[error("no SA yet for the link {0}")]
    NoSa(u32),
    /// It is of no link.
    #[error("of no link")]
    NoLink,
    /// It could not be sealed.
    #[error(transparent)]
    NotSealed(#[from] SealError),
}

impl<W> Default for Outgoing<W> {
    fn default() -> Self {
        Self {
            sas: Vec::new(),
            required: Vec::new(),
            fragments: Fragments::default(),
        }
    }
}

impl<W> Outgoing<W> {
    /// Has the traffic of a link ask for an SA where it has none; the number is the link's.
    pub fn require(&mut self, number: u32, traffic: Traffic) {
        if !self.required.iter().any(|known| *known == (number, traffic.clone())) {
            self.required.push((number, traffic));
        }
    }

    /// Ends that.
    pub fn release(&mut self, number: u32, traffic: &Traffic) {
        self.required.retain(|(known, of)| *known != number || of != traffic);
    }

    /// Sends by this SA from now on what it is for.
    pub fn add(&mut self, spi: u32, sa: Outbound, traffic: Traffic, way: W) {
        let sending = Sending {
            spi,
            sa,
            has_ports: traffic.has_ports(),
            traffic,
            way,
            counted: Counted::default(),
        };
        // The newest is found first.
        self.sas.insert(0, sending);
    }

    /// Sends nothing more by an SA; whether there was one. An SPI is the peer's choice: `is_it` says whether the way is that of the one meant.
    pub fn remove(&mut self, spi: u32, is_it: impl Fn(&W) -> bool) -> bool {
        let before = self.sas.len();
        self.sas.retain(|sa| sa.spi != spi || !is_it(&sa.way));
        self.sas.len() < before
    }

    /// What an SA has done.
    pub fn counted(&self, spi: u32, is_it: impl Fn(&W) -> bool) -> Option<Counted> {
        let mut sas = self.sas.iter();
        sas.find(|sa| sa.spi == spi && is_it(&sa.way)).map(|sa| sa.counted)
    }

    /// Seals the packet of so many bytes that stands behind [`HEADROOM`] bytes of the buffer.
    ///
    /// # Errors
    /// Where no SA is for it, or it cannot be sealed: it is to be dropped.
    pub fn seal<'a>(&'a mut self, buffer: &'a mut [u8], length: usize) -> Result<Sealed<'a, W>, Unsent> {
        let packet = buffer
            .get(HEADROOM..)
            .and_then(|packet| packet.get(..length))
            .ok_or(Unsent::NotIp)?;
        let flow = Flow::read(packet).ok_or(Unsent::NotIp)?;
        let class = traffic_class(packet);
        let place = self.place(&flow).ok_or_else(|| self.lacking(&flow))?;
        let sending = self.sas.get_mut(place).ok_or(Unsent::NoLink)?;
        if sending.has_ports {
            self.fragments.remember(&flow, sending.spi);
        }
        let begin = HEADROOM.checked_sub(sending.sa.headroom()).ok_or(Unsent::NotIp)?;
        let sealed = tunnel::seal(&mut sending.sa, &mut buffer[begin..], length, 0)?;
        sending.counted.packets += 1;
        sending.counted.bytes += length as u64;
        Ok(Sealed {
            packet: &buffer[begin..][..sealed],
            class,
            way: &sending.way,
        })
    }

    fn place(&self, flow: &Flow) -> Option<usize> {
        let of_it =
            |sa: &Sending<W>| sa.traffic.has_leaving(flow) || sa.has_ports && self.fragments.is_of(flow, sa.spi);
        self.sas.iter().position(of_it)
    }

    fn lacking(&self, flow: &Flow) -> Unsent {
        let mut required = self.required.iter();
        match required.find(|(_, traffic)| traffic.has_leaving(flow)) {
            Some((number, _)) => Unsent::NoSa(*number),
            None => Unsent::NoLink,
        }
    }
}

/// DSCP and ECN of an IP packet that was read.
fn traffic_class(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}
