//! Packet capture: packets of an interface into a file.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_host::{Error, Namespace, Packet, PacketSocket, SNAP_LENGTH, Side};

mod pcap;

/// Direction of the interface's packets that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// All; on loopback, where each packet is seen leaving and arriving, once.
    Both,
    /// Only those that arrive at the interface.
    Inbound,
    /// Only those that leave by the interface.
    Outbound,
}

/// A running capture. Dropping it stops it too, but then lost packets are not reported: use
/// [`Capture::stop`].
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Captured, Error>>>,
}

/// The outcome of a capture that was stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of those packets.
    pub bytes: u64,
    /// Packets that the kernel had no room for and that are not in the file (`tp_drops` of packet(7)).
    pub dropped: u64,
}

impl Captured {
    /// Returns true if the file has every packet there was.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.dropped == 0
    }
}

impl Capture {
    /// Starts to write the packets of `interface` in `namespace` (`None`: where we are) to a new pcap file, with
    /// times in nanoseconds by the kernel. From the return on every packet is seen.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`] without root; when there is no such interface or the file cannot be made.
    pub fn start(
        namespace: Option<&Namespace>,
        interface: &str,
        path: impl AsRef<Path>,
        direction: Direction,
    ) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let mut writer = Writer::create(&path)?;
        let open = || PacketSocket::open(interface);
        let socket = match namespace {
            Some(namespace) => namespace.enter(open)??,
            None => open()?,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (begun, waiting) = mpsc::sync_channel(0);
        let thread = thread::Builder::new()
            .name("capture".to_owned())
            .spawn({
                let stop = Arc::clone(&stop);
                move || {
                    let _ = begun.send(());
                    record(&socket, &mut writer, direction, &stop)
                }
            })
            .map_err(Error::io("starting the capture thread"))?;
        // The socket queues from its binding on; this only makes sure that the thread runs.
        let _ = waiting.recv();
        Ok(Self {
            path,
            stop,
            thread: Some(thread),
        })
    }

    /// The file that is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what has arrived until now and closes the file.
    ///
    /// # Errors
    ///
    /// When the file could not be written or the interface has gone. Packets lost for want of room are no error but
    /// are counted: see [`Captured::complete`].
    pub fn stop(mut self) -> Result<Captured, Error> {
        self.end().unwrap_or_else(|| Ok(Captured::default()))
    }

    fn end(&mut self) -> Option<Result<Captured, Error>> {
        self.stop.store(true, Ordering::Release);
        let result = self.thread.take()?.join();
        Some(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A caller that needs the outcome calls `stop`.
            let _ = thread.join();
        }
    }
}

/// Time that a read waits on the socket before the stop flag is read again. Also the wait for
/// packets on their way when it is set.
const WAIT: Duration = Duration::from_millis(20);

fn record(
    socket: &PacketSocket,
    writer: &mut Writer,
    direction: Direction,
    stop: &AtomicBool,
) -> Result<Captured, Error> {
    let mut buffer = vec![0; SNAP_LENGTH];
    let mut dropped = 0;
    // Traffic that never pauses does not keep a capture from ending.
    let mut end = None;
    loop {
        // The flag is read before the socket: a quiet socket after it means that all packets before are written.
        let stopping = stop.load(Ordering::Acquire);
        if stopping && end.is_none() {
            end = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now + WAIT);
        }
        match socket.receive(&mut buffer, WAIT)? {
            Some(packet) if end.is_some_and(|end| packet.time > end) => break,
            Some(packet) => {
                if wanted(&packet, direction, socket.is_loopback()) {
                    writer.write(&packet)?;
                }
            }
            None if stopping => break,
            None => dropped += socket.dropped()?,
        }
    }
    dropped += socket.dropped()?;
    writer.flush()?;
    Ok(Captured {
        packets: writer.packets,
        bytes: writer.bytes,
        dropped,
    })
}

fn wanted(packet: &Packet<'_>, direction: Direction, loopback: bool) -> bool {
    match direction {
        Direction::Both => !(loopback && packet.side == Side::Outbound),
        Direction::Inbound => packet.side == Side::Inbound,
        Direction::Outbound => packet.side == Side::Outbound,
    }
}

#[derive(Debug)]
struct Writer {
    file: BufWriter<File>,
    place: String,
    packets: u64,
    bytes: u64,
}

impl Writer {
    fn create(path: &Path) -> Result<Self, Error> {
        let place = format!("writing the capture {}", path.display());
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(Error::io(&place))?);
        pcap::write_header(&mut file).map_err(Error::io(&place))?;
        Ok(Self {
            file,
            place,
            packets: 0,
            bytes: 0,
        })
    }

    fn write(&mut self, packet: &Packet<'_>) -> Result<(), Error> {
        pcap::write_packet(&mut self.file, packet.time, packet.bytes, packet.length).map_err(Error::io(&self.place))?;
        self.packets += 1;
        self.bytes += u64::from(packet.length);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.flush().map_err(Error::io(&self.place))
    }
}
