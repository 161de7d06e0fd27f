//! Packets that leave: which SA each is for, and sealed.

use std::collections::HashMap;

use bartizan_esp::{Outbound, SealError, tunnel};

use crate::batch::Batch;
use crate::flow::Flow;
use crate::fragments::Fragments;
use crate::offload::Offload;
use crate::required::{Required, Requirement, is_of_narrower};
use crate::segments::{Segments, finish};
use crate::{Counted, Traffic};

/// Flows whose SA is remembered; then it is begun anew.
const REMEMBERED: usize = 4096;

/// The SAs that this end sends by, each with the way that its packets take.
#[derive(Debug)]
pub struct Outgoing<W> {
    /// In the order that both ends have, backwards, and of one rank the newest last: the last one
    /// that a packet is of is its own.
    sas: Vec<Sending<W>>,
    required: Required,
    fragments: Fragments,
    /// Place in the list of the SA of a flow, as long as the list is the same: with many SAs each
    /// packet would be held against all.
    places: HashMap<Flow, usize>,
    latest: Option<(Flow, usize)>,
    /// Number of SAs there have been.
    added: u64,
}

struct Sending<W> {
    spi: u32,
    /// Its own, which no SA after it has.
    number: u64,
    sa: Outbound,
    link: u32,
    traffic: Traffic,
    /// Requirements of other links that share its packets.
    shared: Vec<Requirement>,
    has_ports: bool,
    rank: u32,
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

/// ESP packets of one IP packet, or of the segments that it was cut to, to be sent in a datagram
/// each, and the way that they take.
#[derive(Debug, PartialEq, Eq)]
pub struct Sealed<'a, W> {
    /// The ESP packets, one behind the other, without outer headers.
    pub packets: &'a [u8],
    /// Bytes of each but the last, which may be shorter.
    pub each: usize,
    /// DSCP and ECN of the inner packet, for the outer one (RFC 6040, section 4.1).
    pub class: u8,
    /// Its way to the peer.
    pub way: &'a W,
}

/// Reason why a packet is dropped.
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
            required: Required::default(),
            fragments: Fragments::default(),
            places: HashMap::new(),
            latest: None,
            added: 0,
        }
    }
}

impl<W: Clone> Outgoing<W> {
    /// Has the traffic of a link ask for an SA where it has none; the number is the link's.
    pub fn require(&mut self, link: u32, traffic: &Traffic) {
        self.required.add(link, traffic);
        self.share();
    }

    /// Ends that.
    pub fn release(&mut self, link: u32, traffic: &Traffic) {
        self.required.remove(link, traffic);
        self.share();
    }

    fn share(&mut self) {
        for sa in &mut self.sas {
            sa.shared = self.required.shared(sa.link, &sa.traffic);
        }
        self.forget();
    }

    /// Sends by this SA of a link from now on what it is for.
    pub fn add(&mut self, spi: u32, sa: Outbound, (link, traffic): (u32, Traffic), way: W) {
        self.added += 1;
        let sending = Sending {
            spi,
            number: self.added,
            sa,
            link,
            shared: self.required.shared(link, &traffic),
            has_ports: traffic.has_ports(),
            rank: traffic.rank(),
            traffic,
            way,
            counted: Counted::default(),
        };
        let place = self.sas.partition_point(|sa| sa.rank >= sending.rank);
        self.sas.insert(place, sending);
        self.forget();
    }

    /// Sends nothing more by an SA; whether there was one. An SPI is the peer's choice: `is_it`
    /// says whether the way is that of the one meant.
    pub fn remove(&mut self, spi: u32, is_it: impl Fn(&W) -> bool) -> bool {
        let before = self.sas.len();
        self.sas.retain(|sa| sa.spi != spi || !is_it(&sa.way));
        self.forget();
        self.sas.len() < before
    }

    /// Places in the list have changed.
    fn forget(&mut self) {
        self.places.clear();
        self.latest = None;
    }

    /// Counters of an SA.
    pub fn counted(&self, spi: u32, is_it: impl Fn(&W) -> bool) -> Option<Counted> {
        let mut sas = self.sas.iter().rev();
        sas.find(|sa| sa.spi == spi && is_it(&sa.way)).map(|sa| sa.counted)
    }

    /// Seals a packet, cut and finished as its device asks for, behind what the batch has; `send`
    /// takes what is full, and what it cannot join.
    ///
    /// # Errors
    /// If no SA is for it, or it cannot be sealed: it is to be dropped.
    pub fn seal(
        &mut self,
        packet: &mut [u8],
        offload: &Offload,
        batch: &mut Batch<W>,
        send: &mut dyn FnMut(Sealed<'_, W>),
    ) -> Result<(), Unsent> {
        let flow = Flow::read(packet).ok_or(Unsent::NotIp)?;
        let class = traffic_class(packet);
        let place = self.place(&flow).ok_or_else(|| self.lacking(&flow))?;
        let sending = self.sas.get_mut(place).ok_or(Unsent::NoLink)?;
        if sending.has_ports {
            self.fragments.remember(&flow, sending.spi);
        }
        if offload.segment.is_some() {
            let mut segments = Segments::of(packet, offload).ok_or(Unsent::Unfinished)?;
            while let Some(length) = segments.following() {
                sending.seal_one((class, length), batch, send, &mut |room| segments.write(room))?;
            }
            return Ok(());
        }
        if offload.checksum.is_some_and(|checksum| !finish(packet, checksum)) {
            return Err(Unsent::Unfinished);
        }
        let length = packet.len();
        sending.seal_one((class, length), batch, send, &mut |room| {
            room.get_mut(..length)?.copy_from_slice(packet);
            Some(length)
        })
    }

    fn place(&mut self, flow: &Flow) -> Option<usize> {
        match self.latest {
            Some((latest, place)) if latest == *flow => return Some(place),
            _ => {}
        }
        // A fragment's SA depends on the one before it.
        if flow.fragment.is_some() {
            return self.search(flow);
        }
        let place = match self.places.get(flow) {
            Some(place) => *place,
            None => {
                let place = self.search(flow)?;
                if self.places.len() >= REMEMBERED {
                    self.places.clear();
                }
                self.places.insert(*flow, place);
                place
            }
        };
        self.latest = Some((*flow, place));
        Some(place)
    }

    fn search(&self, flow: &Flow) -> Option<usize> {
        let of_it = |sa: &Sending<W>| sa.traffic.has(flow) || sa.has_ports && self.fragments.is_of(flow, sa.spi);
        let place = self.sas.iter().rposition(of_it)?;
        let sa = self.sas.get(place)?;
        (!is_of_narrower(&sa.shared, &sa.traffic, flow)).then_some(place)
    }

    fn lacking(&self, flow: &Flow) -> Unsent {
        self.required.link_of(flow).map_or(Unsent::NoLink, Unsent::NoSa)
    }
}

impl<W: Clone> Sending<W> {
    /// Seals the packet of this class and so many bytes that `write` writes behind the headroom of the SA.
    fn seal_one(
        &mut self,
        (class, length): (u8, usize),
        batch: &mut Batch<W>,
        send: &mut dyn FnMut(Sealed<'_, W>),
        write: &mut dyn FnMut(&mut [u8]) -> Option<usize>,
    ) -> Result<(), Unsent> {
        let of = (self.number, class);
        let room = batch.room(of, self.sa.suite().sealed_length(length), send);
        let behind = room.get_mut(self.sa.headroom()..).ok_or(Unsent::Unfinished)?;
        let written = write(behind).ok_or(Unsent::Unfinished)?;
        let sealed = tunnel::seal(&mut self.sa, room, written, 0)?;
        self.counted.packets += 1;
        self.counted.bytes += written as u64;
        batch.add(of, sealed, &self.way);
        Ok(())
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
