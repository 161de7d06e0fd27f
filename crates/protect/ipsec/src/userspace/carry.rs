//! The threads between the device and the sockets.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bartizan_datapath::{HEADROOM, Refused, Unsent};
use bartizan_host::{Interest, ready, receive_datagram, send_datagram};
use bartizan_ike::Ends;
use bartizan_wire::udp::{Encapsulated, encapsulated};

use super::{Shared, locked};

/// How often it is looked at whether a thread is to end.
const TURN: Duration = Duration::from_millis(100);
/// Packets that are read before the end is looked for.
const AT_ONCE: usize = 64;
/// The longest IP packet, and room for what stands before and behind one when it is sealed.
const BUFFER: usize = HEADROOM + u16::MAX as usize + 64;

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Seals what is routed to the device, and sends it.
pub(super) fn send(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let work = move || {
        let mut buffer = vec![0; BUFFER];
        while !shared.stop.load(Ordering::Relaxed) {
            // One that cannot be waited for is tried all the same.
            let _ = ready(&[(shared.tun.as_fd(), Interest::Read)], TURN);
            for _ in 0..AT_ONCE {
                // A packet has at most the MTU of the device.
                let room = HEADROOM + usize::from(u16::MAX);
                match shared.tun.read(&mut buffer[HEADROOM..room]) {
                    Ok(length) => shared.leave(&mut buffer, length),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        shared.gone.store(true, Ordering::Relaxed);
                        shared.wake();
                        return;
                    }
                }
            }
        }
    };
    Builder::new().name("esp-out".to_owned()).spawn(work)
}

impl Shared {
    /// A packet leaves, sealed or not at all.
    fn leave(&self, buffer: &mut [u8], length: usize) {
        let mut outgoing = locked(&self.outgoing);
        match outgoing.seal(buffer, length) {
            Ok(sealed) => {
                let sent = send_datagram(&sealed.way.socket, sealed.way.remote, sealed.packet, sealed.class);
                // The error of an earlier datagram is reported once, and leaves this one unsent.
                let sent = sent.or_else(|error| match error.kind() {
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable => {
                        send_datagram(&sealed.way.socket, sealed.way.remote, sealed.packet, sealed.class)
                    }
                    _ => Err(error),
                });
                if sent.is_err() {
                    count(&self.counters.not_sent);
                }
            }
            Err(Unsent::NoSa(number)) => {
                count(&self.counters.without_sa);
                self.ask(number);
            }
            Err(Unsent::NoLink | Unsent::NotIp) => count(&self.counters.of_no_link),
            Err(Unsent::NotSealed(_)) => count(&self.counters.not_sent),
        }
    }

    /// An ESP packet arrives, and what is in it where that is of its SA's traffic.
    fn arrive(&self, packet: &mut [u8], class: u8) {
        let opened = locked(&self.incoming).open(packet, class);
        match opened {
            // What the kernel does not take is lost as on the way.
            Ok(inner) => _ = self.tun.write(inner),
            Err(Refused::NoSa) => count(&self.counters.unknown),
            Err(Refused::NotOpened(_)) => count(&self.counters.not_opened),
            Err(Refused::OtherTraffic) => count(&self.counters.of_other_traffic),
        }
    }
}

/// Receives by one socket of port 4500.
pub(super) struct Receiver {
    pub(super) shared: Arc<Shared>,
    pub(super) socket: Arc<UdpSocket>,
    pub(super) local: SocketAddr,
    pub(super) messages: SyncSender<(Ends, Vec<u8>)>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Receiver {
    pub(super) fn start(self) -> io::Result<JoinHandle<()>> {
        Builder::new().name("esp-in".to_owned()).spawn(move || {
            let mut buffer = vec![0; BUFFER];
            while !self.stop.load(Ordering::Relaxed) {
                let _ = ready(&[(self.socket.as_fd(), Interest::Read)], TURN);
                for _ in 0..AT_ONCE {
                    match receive_datagram(&self.socket, &mut buffer) {
                        Ok(received) => {
                            let datagram = &mut buffer[..received.length];
                            self.received(received.from, datagram, received.class);
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        // That an earlier datagram was not received.
                        Err(_) => {}
                    }
                }
            }
        })
    }

    fn received(&self, from: SocketAddr, datagram: &mut [u8], class: u8) {
        match encapsulated(datagram) {
            Encapsulated::Ike(message) => {
                let ends = Ends {
                    local: self.local,
                    remote: from,
                };
                // Where too many wait it is lost, and sent again.
                if self.messages.try_send((ends, message.to_vec())).is_ok() {
                    self.shared.wake();
                }
            }
            Encapsulated::Esp(_) => self.shared.arrive(datagram, class),
            Encapsulated::KeepAlive | Encapsulated::Unknown => {}
        }
    }
}
