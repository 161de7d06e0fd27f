//! Packets that leave: which SA each is for, and sealed.

use bartizan_esp::{Outbound, SealError, tunnel};

use crate::flow::Flow;
use crate::fragments::Fragments;
use crate::offload::Offload;
use crate::segments::{Segments, finish};
use crate::{Counted, Traffic};

/// Bytes in front of a packet that any suite fits in: SPI, sequence number and the longest initialization vector.
pub const HEADROOM: usize = 24;

/// Bytes and datagrams that a socket takes at once (UDP_SEGMENT), over IPv4 and IPv6.
const AT_ONCE: usize = 65_000;
const DATAGRAMS: usize = 64;

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

/// ESP packets of one IP packet, or of the segments that it was cut to, to be sent in a datagram each, and the way that they take.
#[derive(Debug, PartialEq, Eq)]
pub struct Sealed<'a, W> {
    /// The ESP packets, one behind the other, without outer headers.
    pub packets: &'a [u8],
    /// Bytes of each but the last, which may be shorter.
    pub each: usize,
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
    /// Its device asks for what is not done.
    #[error("the device asks for what is not done")]
    Unfinished,
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

    /// Seals the packet of so many bytes that stands behind [`HEADROOM`] bytes of the buffer, cut and finished as its device asks for; `room` is for the
    /// segments, and `send` takes what is sealed.
    ///
    /// # Errors
    /// Where no SA is for it, or it cannot be sealed: it is to be dropped.
    pub fn seal(
        &mut self,
        (buffer, length): (&mut [u8], usize),
        offload: &Offload,
        room: &mut [u8],
        send: &mut dyn FnMut(Sealed<'_, W>),
    ) -> Result<(), Unsent> {
        let packet = buffer
            .get_mut(HEADROOM..)
            .and_then(|packet| packet.get_mut(..length))
            .ok_or(Unsent::NotIp)?;
        let flow = Flow::read(packet).ok_or(Unsent::NotIp)?;
        let class = traffic_class(packet);
        let place = self.place(&flow).ok_or_else(|| self.lacking(&flow))?;
        let sending = self.sas.get_mut(place).ok_or(Unsent::NoLink)?;
        if sending.has_ports {
            self.fragments.remember(&flow, sending.spi);
        }
        if offload.segment.is_some() {
            let segments = Segments::of(packet, offload).ok_or(Unsent::Unfinished)?;
            return sending.seal_segments(segments, class, room, send);
        }
        if offload.checksum.is_some_and(|checksum| !finish(packet, checksum)) {
            return Err(Unsent::Unfinished);
        }
        let begin = HEADROOM.checked_sub(sending.sa.headroom()).ok_or(Unsent::NotIp)?;
        let sealed = sending.seal_one(&mut buffer[begin..], length)?;
        send(Sealed {
            packets: &buffer[begin..][..sealed],
            each: sealed,
            class,
            way: &sending.way,
        });
        Ok(())
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

impl<W> Sending<W> {
    /// Seals the packet of so many bytes behind the headroom of the SA; how many bytes it takes.
    fn seal_one(&mut self, buffer: &mut [u8], length: usize) -> Result<usize, Unsent> {
        let sealed = tunnel::seal(&mut self.sa, buffer, length, 0)?;
        self.counted.packets += 1;
        self.counted.bytes += length as u64;
        Ok(sealed)
    }

    fn seal_segments(
        &mut self,
        mut segments: Segments<'_>,
        class: u8,
        room: &mut [u8],
        send: &mut dyn FnMut(Sealed<'_, W>),
    ) -> Result<(), Unsent> {
        let headroom = self.sa.headroom();
        let each = self.sa.suite().sealed_length(segments.longest());
        let at_once = (room.len().min(AT_ONCE) / each).min(DATAGRAMS);
        loop {
            let mut length = 0;
            for _ in 0..at_once {
                let Some(segment) = room.get_mut(length + headroom..).and_then(|room| segments.write(room)) else {
                    break;
                };
                length += self.seal_one(&mut room[length..], segment)?;
            }
            if length == 0 {
                return Ok(());
            }
            send(Sealed {
                packets: &room[..length],
                each,
                class,
                way: &self.way,
            });
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
