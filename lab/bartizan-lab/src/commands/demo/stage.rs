//! Network of the demo: two namespaces joined by a cable, or, without root, loopback alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use bartizan_host::{Namespace, Program};
use bartizan_testing::{Capture, Direction, Port, connect};

use crate::Failure;
use crate::commands::demo::failed;

/// The interface at the consumers' end of the cable: what an eavesdropper on the link would see.
const LINK: &str = "link";

/// MTU of the cable: Ethernet's.
const MTU: u16 = 1500;

pub(super) struct Stage {
    hosts: Option<Hosts>,
}

struct Hosts {
    consumers: Namespace,
    producers: Namespace,
}

impl Stage {
    /// Two hosts and a cable.
    pub(super) fn with_root(addresses: usize) -> Result<Self, Failure> {
        let consumers = Namespace::create("consumers").map_err(failed)?;
        let producers = Namespace::create("producers").map_err(failed)?;
        let stage = Self {
            hosts: Some(Hosts { consumers, producers }),
        };
        if let Some(hosts) = &stage.hosts {
            let one = Port::new(&hosts.consumers, LINK)
                .address(&format!("{}/24", stage.consumers()))
                .map_err(failed)?;
            let mut other = Port::new(&hosts.producers, LINK);
            for index in 0..addresses {
                other = other
                    .address(&format!("{}/24", stage.producer(index)))
                    .map_err(failed)?;
            }
            connect(&one, &other, MTU).map_err(failed)?;
        }
        Ok(stage)
    }

    /// All of it on loopback: nothing needs root, and nothing can be captured.
    pub(super) fn on_loopback() -> Self {
        Self { hosts: None }
    }

    pub(super) fn consumers(&self) -> IpAddr {
        IpAddr::V4(if self.hosts.is_some() {
            Ipv4Addr::new(10, 200, 0, 1)
        } else {
            Ipv4Addr::new(127, 77, 0, 1)
        })
    }

    /// Address of the producer with this index.
    pub(super) fn producer(&self, index: usize) -> IpAddr {
        // The demo has seven producers: the last byte cannot overflow.
        let last = u8::try_from(11 + index).unwrap_or(u8::MAX);
        IpAddr::V4(if self.hosts.is_some() {
            Ipv4Addr::new(10, 200, 0, last)
        } else {
            Ipv4Addr::new(127, 77, 0, last)
        })
    }

    /// Address at which the consumers' network functions reach their sidecar.
    pub(super) fn local(&self, port: u16) -> SocketAddr {
        let ip = if self.hosts.is_some() {
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        } else {
            self.consumers()
        };
        SocketAddr::new(ip, port)
    }

    pub(super) fn at_consumers(&self, program: Program) -> Program {
        match &self.hosts {
            Some(hosts) => program.inside(&hosts.consumers),
            None => program,
        }
    }

    pub(super) fn at_producers(&self, program: Program) -> Program {
        match &self.hosts {
            Some(hosts) => program.inside(&hosts.producers),
            None => program,
        }
    }

    /// Moves the calling thread to the consumers' host.
    pub(super) fn enter_consumers(&self) -> Result<(), Failure> {
        self.hosts
            .as_ref()
            .map_or(Ok(()), |hosts| hosts.consumers.enter_this_thread().map_err(failed))
    }

    /// Moves the calling thread to the producers' host.
    pub(super) fn enter_producers(&self) -> Result<(), Failure> {
        self.hosts
            .as_ref()
            .map_or(Ok(()), |hosts| hosts.producers.enter_this_thread().map_err(failed))
    }

    /// Starts to record the link; `None` where there is no link of our own.
    pub(super) fn eavesdrop(&self, file: &Path) -> Result<Option<Capture>, Failure> {
        let Some(hosts) = &self.hosts else { return Ok(None) };
        Capture::start(Some(&hosts.consumers), LINK, file, Direction::Both)
            .map(Some)
            .map_err(failed)
    }

    /// Prefix of a command that looks at the consumers' side.
    pub(super) fn prefix(&self) -> String {
        self.hosts.as_ref().map_or_else(String::new, |hosts| {
            format!("ip netns exec {} ", hosts.consumers.name())
        })
    }
}
