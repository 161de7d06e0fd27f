//! A path between two charons that loses or reorders their IKE fragments, as asked and not by chance.
//!
//! Each charon sees the other's address: the relay has it on either side, in a namespace for each.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bartizan_host::Namespace;
use bartizan_testing::udp_at;
use bartizan_testing::{Port, connect};

use crate::stage::End;

/// IKE, and IKE and ESP in UDP (RFC 7296, section 2.23).
const PORTS: [u16; 2] = [500, 4500];
/// A datagram longer than this is a message that all but fills a fragment, or the first fragment of one that has more: charon fills them up to
/// 1280 bytes.
const FILLED: usize = 1000;
/// Wait on a socket before a held packet goes on and the stop condition is checked.
const LOOK: Duration = Duration::from_millis(300);

/// Treatment of datagrams longer than that, in each direction on its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tampering {
    /// The first of every three is lost.
    Loses,
    /// Each is overtaken by the packet behind it, where one comes.
    Reorders,
}

/// It runs until it is dropped.
pub(super) struct Relay {
    tampered: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
    lanes: Vec<JoinHandle<()>>,
    // After the sockets in them.
    _spaces: [Namespace; 2],
}

impl Relay {
    pub(super) fn between(near: &End, far: &End, tampering: Tampering) -> Self {
        let spaces = [("towards-near", near, far), ("towards-far", far, near)].map(|(name, end, other)| {
            let space = Namespace::create(name).expect("a namespace");
            let address = |address: Ipv4Addr| format!("{address}/24");
            let inside = Port::new(&space, "v0").address(&address(other.address()));
            let outside = Port::new(&end.space, "v0").address(&address(end.address()));
            connect(&outside.expect("an address"), &inside.expect("an address"), 1500).expect("a veth pair");
            space
        });
        let (tampered, stop) = (Arc::default(), Arc::<AtomicBool>::default());
        let mut lanes = Vec::new();
        for port in PORTS {
            let bind = |space: &Namespace, address: Ipv4Addr| space.enter(|| udp_at((address, port))).expect("entered");
            let here = Arc::new(bind(&spaces[0], far.address()));
            let there = Arc::new(bind(&spaces[1], near.address()));
            let directions = [(&here, &there, far.address()), (&there, &here, near.address())];
            lanes.extend(directions.map(|(from, to, address)| {
                let lane = Lane {
                    from: Arc::clone(from),
                    to: Arc::clone(to),
                    towards: (address, port).into(),
                    tampering,
                    tampered: Arc::clone(&tampered),
                };
                let stop = Arc::clone(&stop);
                thread::spawn(move || lane.run(&stop).expect("sockets that work"))
            }));
        }
        Self {
            tampered,
            stop,
            lanes,
            _spaces: spaces,
        }
    }

    /// Fragments lost or overtaken until now.
    pub(super) fn tampered(&self) -> u32 {
        self.tampered.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for lane in self.lanes.drain(..) {
            let ended = lane.join();
            assert!(thread::panicking() || ended.is_ok(), "a lane of the relay panicked");
        }
    }
}

/// One direction of one port.
struct Lane {
    from: Arc<UdpSocket>,
    to: Arc<UdpSocket>,
    towards: SocketAddr,
    tampering: Tampering,
    tampered: Arc<AtomicU32>,
}

impl Lane {
    fn run(&self, stop: &AtomicBool) -> io::Result<()> {
        self.from.set_read_timeout(Some(LOOK))?;
        let mut buffer = [0; 65_535];
        let mut held: Option<Vec<u8>> = None;
        let mut filled = 0_u32;
        while !stop.load(Ordering::Relaxed) {
            let packet = match self.from.recv_from(&mut buffer) {
                Ok((length, _)) => &buffer[..length],
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if let Some(packet) = held.take() {
                        self.forward(&packet);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            if packet.len() <= FILLED {
                self.forward(packet);
                if let Some(packet) = held.take() {
                    self.tampered.fetch_add(1, Ordering::Relaxed);
                    self.forward(&packet);
                }
                continue;
            }
            filled += 1;
            match self.tampering {
                Tampering::Loses if filled % 3 == 1 => {
                    self.tampered.fetch_add(1, Ordering::Relaxed);
                }
                Tampering::Loses => self.forward(packet),
                Tampering::Reorders => {
                    if let Some(before) = held.replace(packet.to_vec()) {
                        self.forward(&before);
                    }
                }
            }
        }
        Ok(())
    }

    /// A charon that has ended takes no packets: what a path does then is lose them.
    fn forward(&self, packet: &[u8]) {
        let _ = self.to.send_to(packet, self.towards);
    }
}
