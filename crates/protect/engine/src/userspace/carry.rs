//! The threads between the device and the sockets.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bartizan_datapath::{Batch, Coalesced, Offload, Refused, Sealed, Unsent};
use bartizan_host::{Interest, ready, receive_datagrams, send_datagrams};
use bartizan_ike::Ends;
use bartizan_wire::udp::{Encapsulated, encapsulated};

use super::{Shared, Way, locked};

/// Interval between checks of a thread's stop condition.
const TURN: Duration = Duration::from_millis(100);
/// Times that a thread that finds nothing to read lets others run and looks again, before it
/// sleeps. Being woken takes longer than most packets take to come, on a virtual processor above
/// all; a thread that sleeps only then answers within them.
const AWAKE: u32 = 32;
/// Packets that are read before the end is looked for.
const AT_ONCE: usize = 64;
/// The longest IP packet with its description.
const BUFFER: usize = Offload::LENGTH + u16::MAX as usize;

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

/// A thread's wait for its input.
struct Wait {
    /// Times that it has looked in vain.
    vain: u32,
}

impl Wait {
    fn new() -> Self {
        Self { vain: AWAKE }
    }

    /// Returns when something may be there, or once a turn.
    fn once_more(&mut self, read: usize, from: BorrowedFd<'_>) {
        if read > 0 {
            self.vain = 0;
        }
        if self.vain < AWAKE {
            self.vain += 1;
            std::thread::yield_now();
            return;
        }
        // One that cannot be waited for is tried all the same.
        let _ = ready(&[(from, Interest::Read)], TURN);
    }
}

/// Seals what is routed to the device, and sends it.
pub(super) fn send(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let work = move || {
        let (mut buffer, mut batch) = (vec![0; BUFFER], Batch::default());
        let (mut wait, mut read) = (Wait::new(), 0);
        while !shared.stop.load(Ordering::Relaxed) {
            wait.once_more(std::mem::take(&mut read), shared.tun.as_fd());
            for _ in 0..AT_ONCE {
                match shared.tun.read(&mut buffer) {
                    Ok(length) => {
                        read += 1;
                        shared.leave(&mut buffer[..length], &mut batch);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        shared.gone.store(true, Ordering::Relaxed);
                        shared.wake();
                        return;
                    }
                }
            }
            // Nothing waits for what may come.
            batch.flush(&mut |sealed| shared.send(&sealed));
        }
    };
    Builder::new().name("esp-out".to_owned()).spawn(work)
}

impl Shared {
    /// A packet with its description leaves, sealed or not at all.
    fn leave(&self, described: &mut [u8], batch: &mut Batch<Arc<Way>>) {
        count(&self.counters.read);
        let split = described.split_first_chunk_mut();
        let Some((offload, packet)) = split.and_then(|(bytes, packet)| Some((Offload::read(bytes)?, packet))) else {
            count(&self.counters.not_sent);
            return;
        };
        let sealed = locked(&self.outgoing).seal(packet, &offload, batch, &mut |sealed| self.send(&sealed));
        match sealed {
            Ok(()) => {}
            Err(Unsent::NoSa(number)) => {
                count(&self.counters.without_sa);
                self.ask(number);
            }
            Err(Unsent::NoLink | Unsent::NotIp) => count(&self.counters.of_no_link),
            Err(Unsent::NotSealed(_) | Unsent::Unfinished) => count(&self.counters.not_sent),
        }
    }

    fn send(&self, sealed: &Sealed<'_, Arc<Way>>) {
        let way = sealed.way;
        let packets = sealed.packets.len().div_ceil(sealed.each.max(1));
        let sent = send_datagrams(&way.socket, way.remote, sealed.packets, sealed.each, sealed.class);
        add(&self.counters.sealed, packets.saturating_sub(sent.unsent));
        add(&self.counters.sends, sent.calls);
        add(&self.counters.not_sent, sent.unsent);
    }

    /// An ESP packet arrives, and what is in it where that is of its SA's traffic: put together with what came before it, or by itself.
    fn arrive(&self, packet: &mut [u8], class: u8, together: &mut Coalesced) {
        let opened = locked(&self.incoming).open(packet, class);
        match opened {
            Ok(inner) => {
                if together.take_in(inner) {
                    return;
                }
                self.hand_over(together);
                if !together.take_in(inner) {
                    self.write([&Offload::default().encode(), inner]);
                }
            }
            Err(Refused::Dummy) => count(&self.counters.dummies),
            Err(Refused::NoSa) => count(&self.counters.unknown),
            Err(Refused::NotOpened(_)) => count(&self.counters.not_opened),
            Err(Refused::OtherTraffic) => count(&self.counters.of_other_traffic),
        }
    }

    /// Hands the kernel what was put together.
    fn hand_over(&self, together: &mut Coalesced) {
        if let Some(packet) = together.take() {
            self.write([packet, &[]]);
        }
    }

    fn write(&self, parts: [&[u8]; 2]) {
        count(match self.tun.write(parts) {
            Ok(_) => &self.counters.written,
            Err(_) => &self.counters.not_written,
        });
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
            let mut together = Coalesced::new(self.shared.tun.datagrams);
            let mut buffer = vec![0; BUFFER];
            let (mut wait, mut read) = (Wait::new(), 0);
            while !self.stop.load(Ordering::Relaxed) {
                wait.once_more(std::mem::take(&mut read), self.socket.as_fd());
                for _ in 0..AT_ONCE {
                    match receive_datagrams(&self.socket, &mut buffer) {
                        Ok(received) => {
                            read += 1;
                            let each = received.each.unwrap_or(received.length).max(1);
                            let counters = &self.shared.counters;
                            count(&counters.receives);
                            add(&counters.received, received.length.div_ceil(each));
                            for datagram in buffer[..received.length].chunks_mut(each) {
                                self.received(received.from, datagram, received.class, &mut together);
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        // That an earlier datagram was not received.
                        Err(_) => {}
                    }
                }
                // Nothing waits for what may come.
                self.shared.hand_over(&mut together);
            }
        })
    }

    fn received(&self, from: SocketAddr, datagram: &mut [u8], class: u8, together: &mut Coalesced) {
        match encapsulated(datagram) {
            Encapsulated::Ike(message) => {
                let ends = Ends {
                    local: self.local,
                    remote: from,
                };
                // If too many wait, the message is lost, and sent again.
                if self.messages.try_send((ends, message.to_vec())).is_ok() {
                    self.shared.wake();
                }
            }
            Encapsulated::Esp(_) => self.shared.arrive(datagram, class, together),
            Encapsulated::KeepAlive | Encapsulated::Unknown => {}
        }
    }
}
