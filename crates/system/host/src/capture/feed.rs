//! Packets of an interface, handed over while they come.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::socket::{Packet, PacketSocket, Side};
use super::{SNAP_LENGTH, WAIT};
use crate::{Error, interface_number};

/// Bytes and packets of a batch: one that is full is handed over although more are waiting.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_PACKETS: usize = 4096;

/// Interval at which the kernel is asked for its count of dropped packets.
const STATISTICS: Duration = Duration::from_millis(100);

/// Interval at which an interface that went away is looked for.
const AWAY: Duration = Duration::from_millis(200);

/// `LINKTYPE_` values (draft-ietf-opsawg-pcaplinktype) of what devices give, by their `ARPHRD_`
/// value. A device in neither list is given as [`UNKNOWN_LINK`].
const ETHERNET: u16 = 1;
const RAW_IP: u16 = 101;
/// Raw IP of modems (include/uapi/linux/if_arp.h).
const ARPHRD_RAWIP: u16 = 519;
/// `LINKTYPE_USER15`: a value that cannot be mistaken for a link type that is read.
const UNKNOWN_LINK: u16 = 162;

/// An event of a [`Feed`].
#[derive(Debug)]
pub enum Fed {
    /// Packets, and how many were lost before their end.
    Packets(Batch),
    /// The interface went down or is gone. The feed waits for it, also for another one of the same name.
    Down,
    /// The feed has ended: because it was stopped, or for this reason.
    Ended(Result<(), Error>),
}

/// Packets in the order in which the kernel saw them.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Held>,
    /// Packets that the kernel had no room for since the batch before (`tp_drops` of packet(7)).
    pub dropped: u64,
}

#[derive(Debug)]
struct Held {
    time: Duration,
    side: Side,
    link: u16,
    end: usize,
    length: u32,
}

/// One packet of a [`Batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Since the epoch, by the kernel.
    pub time: Duration,
    /// Direction: arrived at the interface or left by it.
    pub side: Side,
    /// Type of the header that the first byte begins: a `LINKTYPE_` value.
    pub link: u16,
    /// Its bytes, as far as they were kept.
    pub bytes: &'a [u8],
    /// Bytes it had on the wire.
    pub length: u32,
}

impl Batch {
    /// Its packets.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut start = 0;
        self.frames.iter().map(move |held| {
            let bytes = &self.bytes[start..held.end];
            start = held.end;
            Frame {
                time: held.time,
                side: held.side,
                link: held.link,
                bytes,
                length: held.length,
            }
        })
    }

    /// Returns true if it has packets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.frames.len() >= BATCH_PACKETS
    }

    fn take(&mut self, packet: &Packet<'_>) {
        self.bytes.extend_from_slice(packet.bytes);
        self.frames.push(Held {
            time: packet.time,
            side: packet.side,
            link: link_type(packet.hardware),
            end: self.bytes.len(),
            length: packet.length,
        });
    }
}

fn link_type(hardware: u16) -> u16 {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => ETHERNET,
        // No link header: tun, WireGuard, tunnels of IP in IP.
        libc::ARPHRD_NONE
        | ARPHRD_RAWIP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_PPP => RAW_IP,
        _ => UNKNOWN_LINK,
    }
}

bartizan_registry::made! {
    /// A thread that reads an interface. Dropping it ends the thread.
    #[derive(Debug)]
    pub struct Feed,
    /// Hands the packets of an interface in the calling thread's network namespace to `give`, on a
    /// thread of its own, frames for others included. From the return on every packet is seen.
    /// While `give` waits the kernel keeps what it has room for, and counts what it has not; when
    /// `give` returns `false` the feed ends.
    ///
    /// # Errors
    ///
    /// When there is no such interface, or without CAP_NET_RAW.
    pub start(interface: &str, give: impl FnMut(Fed) -> bool + Send + 'static) -> Result<Self, Error> {
        let socket = open(interface)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new()
            .name(format!("feed {interface}"))
            .spawn({
                let (stop, interface) = (Arc::clone(&stop), interface.to_owned());
                move || Reader::new(interface, socket, give).run(&stop)
            })
            .map_err(Error::io("starting the capture thread"))?;
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>> = Some(thread),
    }
}

impl Feed {
    /// Asks it to end: what has arrived until now is still handed over, and [`Fed::Ended`] last.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // `Ended` has reported everything.
            let _ = thread.join();
        }
    }
}

fn open(interface: &str) -> Result<PacketSocket, Error> {
    let socket = PacketSocket::open(interface)?;
    socket.promiscuous()?;
    Ok(socket)
}

/// The interfaces of the calling thread's network namespace, by name.
///
/// # Errors
///
/// When the kernel does not list them.
pub fn interfaces() -> Result<Vec<String>, Error> {
    let known = nix::net::if_::if_nameindex().map_err(Error::errno("listing the interfaces"))?;
    Ok(known
        .iter()
        .map(|interface| interface.name().to_string_lossy().into_owned())
        .collect())
}

/// The number of an interface, if there is one of this name.
fn index_of(interface: &str) -> Option<libc::c_int> {
    interface_number(interface, "looking for the interface").ok()
}

/// Returns true if reading failed because the interface is down or gone.
fn is_away(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.raw_os_error() == Some(libc::ENETDOWN))
}

struct Reader<G> {
    interface: String,
    socket: PacketSocket,
    give: G,
    batch: Batch,
    asked: Instant,
}

/// Reason why reading stops.
enum Stopped {
    /// It was stopped, or its receiver takes no more.
    Asked,
    Away,
    Failed(Error),
}

impl<G: FnMut(Fed) -> bool> Reader<G> {
    fn new(interface: String, socket: PacketSocket, give: G) -> Self {
        Self {
            interface,
            socket,
            give,
            batch: Batch::default(),
            asked: Instant::now(),
        }
    }

    fn run(mut self, stop: &AtomicBool) {
        let mut buffer = vec![0; SNAP_LENGTH];
        let mut down = false;
        let ended = loop {
            match self.read(&mut buffer, stop, &mut down) {
                Stopped::Asked => break Ok(()),
                Stopped::Failed(error) => break Err(error),
                Stopped::Away => {
                    if !std::mem::replace(&mut down, true) && !(self.give)(Fed::Down) {
                        break Ok(());
                    }
                    match self.wait(stop) {
                        Ok(true) => {}
                        Ok(false) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                }
            }
        };
        (self.give)(Fed::Ended(ended));
    }

    /// Reads until something stops it; `down` ends with the first packet.
    fn read(&mut self, buffer: &mut [u8], stop: &AtomicBool, down: &mut bool) -> Stopped {
        let mut until = None;
        loop {
            // The flag is read before the socket: a quiet socket after it, or a packet of a later
            // time, means that all that was before is read.
            let stopping = stop.load(Ordering::Acquire);
            if stopping && until.is_none() {
                until = SystemTime::now().duration_since(UNIX_EPOCH).ok();
            }
            let wait = if self.batch.is_empty() { WAIT } else { Duration::ZERO };
            let read = match self.socket.receive(buffer, wait) {
                Ok(Some(packet)) if until.is_some_and(|until| packet.time > until) => false,
                Ok(Some(packet)) => {
                    // On loopback each packet is seen leaving and arriving.
                    if !(self.socket.is_loopback() && packet.side == Side::Outbound) {
                        self.batch.take(&packet);
                    }
                    *down = false;
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    if let Err(stopped) = self.hand_over(true) {
                        return stopped;
                    }
                    return if is_away(&error) {
                        Stopped::Away
                    } else {
                        Stopped::Failed(error)
                    };
                }
            };
            if !read || self.batch.is_full() {
                if let Err(stopped) = self.hand_over(stopping && !read) {
                    return stopped;
                }
                if stopping && !read {
                    return Stopped::Asked;
                }
            }
            // An interface that disappeared between two reads is reported once only, and perhaps to
            // no reader.
            if *down && index_of(&self.interface) != Some(self.socket.index) {
                return Stopped::Away;
            }
        }
    }

    /// Hands over what there is: packets, and what the kernel had no room for.
    fn hand_over(&mut self, last: bool) -> Result<(), Stopped> {
        if last || self.asked.elapsed() >= STATISTICS {
            self.asked = Instant::now();
            self.batch.dropped += self.socket.dropped().map_err(Stopped::Failed)?;
        }
        if self.batch.is_empty() && self.batch.dropped == 0 {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        if (self.give)(Fed::Packets(batch)) {
            Ok(())
        } else {
            Err(Stopped::Asked)
        }
    }

    /// Waits for the interface, or one of its name, to be there; gives whether to go on.
    fn wait(&mut self, stop: &AtomicBool) -> Result<bool, Error> {
        while !stop.load(Ordering::Acquire) {
            thread::sleep(AWAY);
            match index_of(&self.interface) {
                // Down, not gone: its socket wakes when it comes up.
                Some(index) if index == self.socket.index => return Ok(true),
                Some(_) => match open(&self.interface) {
                    Ok(socket) => {
                        self.socket = socket;
                        return Ok(true);
                    }
                    // It went away again meanwhile.
                    Err(Error::Io { source, .. })
                        if source.raw_os_error() == Some(libc::ENODEV) || source.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                },
                None => {}
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
