//! Packets that arrive: opened, and held against the selectors of their SA.

use std::collections::HashMap;
use std::fmt;

use bartizan_esp::{Inbound, OpenError, tunnel};
use bartizan_wire::esp;

use crate::flow::Flow;
use crate::fragments::Fragments;
use crate::required::{Required, Requirement, is_of_narrower};
use crate::{Counted, Traffic};

/// The SAs that this end receives by.
#[derive(Default)]
pub struct Incoming {
    sas: HashMap<u32, Receiving>,
    required: Required,
    fragments: Fragments,
}

struct Receiving {
    sa: Inbound,
    link: u32,
    traffic: Traffic,
    /// Requirements of other links that share its packets.
    shared: Vec<Requirement>,
    has_ports: bool,
    counted: Counted,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("sas", &self.sas.len())
            .finish_non_exhaustive()
    }
}

/// Reason why a packet that arrived is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is of no SA.
    #[error("of no SA")]
    NoSa,
    /// It was not opened.
    #[error(transparent)]
    NotOpened(OpenError),
    /// A dummy packet of the peer, which is discarded and is no error (RFC 4303, section 2.6).
    #[error("a dummy packet")]
    Dummy,
    /// Its content is not for that SA: the peer has sent what it may not (RFC 4301, section 5.2,
    /// step 4).
    #[error("of other traffic than its SA is for")]
    OtherTraffic,
}

impl From<OpenError> for Refused {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Dummy => Self::Dummy,
            error => Self::NotOpened(error),
        }
    }
}

impl Incoming {
    /// Takes the traffic of a link by its own SAs alone; the number is the link's.
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
        for sa in self.sas.values_mut() {
            sa.shared = self.required.shared(sa.link, &sa.traffic);
        }
    }

    /// Receives by this SA of a link from now on; whether there was none with its SPI.
    pub fn add(&mut self, spi: u32, sa: Inbound, (link, traffic): (u32, Traffic)) -> bool {
        let has_ports = traffic.has_ports();
        let receiving = Receiving {
            sa,
            link,
            shared: self.required.shared(link, &traffic),
            traffic,
            has_ports,
            counted: Counted::default(),
        };
        match self.sas.entry(spi) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(receiving);
                true
            }
            std::collections::hash_map::Entry::Occupied(_) => false,
        }
    }

    /// Receives nothing more by an SA; whether there was one.
    pub fn remove(&mut self, spi: u32) -> bool {
        self.sas.remove(&spi).is_some()
    }

    /// Counters of an SA.
    #[must_use]
    pub fn counted(&self, spi: u32) -> Option<Counted> {
        self.sas.get(&spi).map(|sa| sa.counted)
    }

    /// Opens an ESP packet where it stands, and gives the packet that is in it. `class` is the
    /// traffic class of the outer header.
    ///
    /// # Errors
    /// If it is to be dropped: nothing of it may be used.
    pub fn open<'a>(&mut self, packet: &'a mut [u8], class: u8) -> Result<&'a mut [u8], Refused> {
        let spi = esp::header(packet).ok_or(OpenError::Length)?.spi;
        let receiving = self.sas.get_mut(&spi).ok_or(Refused::NoSa)?;
        let inner = match tunnel::open(&mut receiving.sa, packet, class) {
            Ok(inner) => inner,
            Err(error) => {
                match error {
                    OpenError::Replayed(_) | OpenError::Late => receiving.counted.replayed += 1,
                    OpenError::Integrity => receiving.counted.failed += 1,
                    _ => {}
                }
                return Err(error.into());
            }
        };
        let flow = Flow::read(inner).ok_or(Refused::OtherTraffic)?;
        let reversed = flow.reversed();
        let Receiving { traffic, shared, .. } = receiving;
        let is_allowed = traffic.has(&reversed) || receiving.has_ports && self.fragments.is_of(&flow, spi);
        if !is_allowed || is_of_narrower(shared, traffic, &reversed) {
            return Err(Refused::OtherTraffic);
        }
        if receiving.has_ports {
            self.fragments.remember(&flow, spi);
        }
        receiving.counted.packets += 1;
        receiving.counted.bytes += inner.len() as u64;
        Ok(inner)
    }
}
