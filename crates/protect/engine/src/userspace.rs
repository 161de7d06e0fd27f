//! ESP in user space for a node whose kernel has none: a TUN device that packets of the links are routed to, UDP that carries them in ESP
//! (RFC 3948), and a thread for each direction between the two. The engine installs its SAs here in the place of the kernel.
//!
//! Nothing that the device receives leaves by any other way than sealed, and nothing arrives by it that was not opened and is not of its SA's traffic.
//! When the process ends, whatever ends it, the device is gone and routes to it with it: packets of the links then find the host's own routes,
//! where the guard drops them.

mod carry;
mod routes;
mod rule;

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bartizan_datapath::{Counted, Incoming, Outgoing, Traffic};
use bartizan_host::{Tun, carry_tunnel, mark_packets};
use bartizan_ike::{Child, Ends, Mode, Selector};
use bartizan_registry::Header;
use bartizan_wire::udp::IKE_NAT;

use bartizan_ipsec::xfrm::{self, Associations, Direction, Error};
use routes::Routes;

pub use routes::remove_leftover;

/// The mark of packets that carry a tunnel or negotiate it: routes to the device are not theirs.
const MARK: u32 = 0x0200_0000;
/// Messages of IKE that wait for the engine; further ones are lost as on the way, and sent again.
const WAITING: usize = 256;

/// Packets that a node's device has carried and dropped, in addition to its SAs' counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Packets that were routed to the device and are of no link.
    pub(crate) of_no_link: AtomicU64,
    /// Packets of a link that had no SA yet.
    pub(crate) without_sa: AtomicU64,
    /// Packets that could not be sealed or sent.
    pub(crate) not_sent: AtomicU64,
    /// ESP packets of no SA.
    pub(crate) unknown: AtomicU64,
    /// ESP packets that were not opened: replayed, forged or malformed.
    pub(crate) not_opened: AtomicU64,
    /// Packets that the peer has sent by an SA that is not for them.
    pub(crate) of_other_traffic: AtomicU64,
    /// Dummy packets of peers, which are there to be dropped (RFC 4303, section 2.6).
    pub(crate) dummies: AtomicU64,
    /// Packets that the device refused, of one segment or many.
    pub(crate) not_written: AtomicU64,
    /// Packets of the device, of one segment or many; ESP packets that left; and calls by which they did.
    pub(crate) read: AtomicU64,
    pub(crate) sealed: AtomicU64,
    pub(crate) sends: AtomicU64,
    /// Calls that brought datagrams; these; and packets that the device was given, of one segment or many.
    pub(crate) receives: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) written: AtomicU64,
}

/// Path of a link's ESP packets.
#[derive(Debug)]
struct Way {
    socket: Arc<UdpSocket>,
    remote: SocketAddr,
    number: u32,
}

/// State that the threads and the engine share.
#[derive(Debug)]
struct Shared {
    tun: Tun,
    outgoing: Mutex<Outgoing<Arc<Way>>>,
    incoming: Mutex<Incoming>,
    counters: Counters,
    /// Numbers of links whose packets found no SA since the engine has asked.
    asked: Mutex<BTreeSet<u32>>,
    /// Wakes the engine.
    wake: UnixStream,
    stop: AtomicBool,
    /// True once another process has deleted the device.
    gone: AtomicBool,
}

/// Locks a mutex, even one that a panicking thread has poisoned: the engine reads its state all the
/// same, until the process ends.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One address of this end: its socket of port 4500, and the thread that receives by it.
#[derive(Debug)]
struct Receiving {
    address: IpAddr,
    socket: Arc<UdpSocket>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// ESP in user space.
#[derive(Debug)]
pub struct Userspace {
    shared: Arc<Shared>,
    routes: Routes,
    receiving: Vec<Receiving>,
    sending: Option<JoinHandle<()>>,
    woken: UnixStream,
    messages: Receiver<(Ends, Vec<u8>)>,
    sender: SyncSender<(Ends, Vec<u8>)>,
    /// Octets that a packet on the path may have, and that one in the tunnel may.
    path_mtu: u16,
    mtu: AtomicU16,
}

impl Userspace {
    /// Makes the device, of this name, and begins to serve it.
    ///
    /// # Errors
    ///
    /// The kernel's error, with the attempted action.
    pub fn start(device: &str, path_mtu: u16) -> Result<Self, Error> {
        let failed = |doing: &str| {
            let doing = doing.to_owned();
            move |error: io::Error| Error::Userspace(format!("{doing}: {error}"))
        };
        let tun = Tun::create(device).map_err(failed(
            "making a TUN device (/dev/net/tun and CAP_NET_ADMIN are needed)",
        ))?;
        let mtu = path_mtu.saturating_sub(AROUND_AT_MOST);
        let routes = Routes::lay(device, mtu)?;
        let (woken, wake) = UnixStream::pair().map_err(failed("making a socket"))?;
        for end in [&woken, &wake] {
            end.set_nonblocking(true).map_err(failed("making a socket"))?;
        }
        let (sender, messages) = sync_channel(WAITING);
        let shared = Arc::new(Shared {
            tun,
            outgoing: Mutex::default(),
            incoming: Mutex::default(),
            counters: Counters::default(),
            asked: Mutex::default(),
            wake,
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        });
        let sending = carry::send(Arc::clone(&shared)).map_err(failed("starting a thread"))?;
        Ok(Self {
            shared,
            routes,
            receiving: Vec::new(),
            sending: Some(sending),
            woken,
            messages,
            sender,
            path_mtu,
            mtu: AtomicU16::new(mtu),
        })
    }

    /// Octets that a packet in the tunnel may have.
    pub fn mtu(&self) -> u16 {
        self.mtu.load(Ordering::Relaxed)
    }

    /// The name of the device.
    pub fn device(&self) -> &str {
        &self.shared.tun.name
    }

    /// Checks that the device is still there.
    ///
    /// # Errors
    ///
    /// An error if another process has deleted it: nothing passes any more.
    pub fn stands(&self) -> Result<(), Error> {
        match self.shared.gone.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::Userspace(format!("the device {} was deleted", self.device()))),
        }
    }

    /// Dropped packets, each kind by its name.
    pub fn dropped(&self) -> [(&'static str, u64); 8] {
        let Counters {
            of_no_link,
            without_sa,
            not_sent,
            unknown,
            not_opened,
            of_other_traffic,
            dummies,
            not_written,
            ..
        } = &self.shared.counters;
        [
            ("of-no-link", of_no_link),
            ("without-sa", without_sa),
            ("not-sent", not_sent),
            ("unknown-spi", unknown),
            ("not-opened", not_opened),
            ("of-other-traffic", of_other_traffic),
            ("dummy", dummies),
            ("not-written", not_written),
        ]
        .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }

    /// Batch sizes, each number by its name: packets of the device, ESP packets and calls that sent
    /// them; calls that received, datagrams, and packets that the device was given.
    pub fn work(&self) -> [(&'static str, u64); 6] {
        let counters = &self.shared.counters;
        [
            ("read", &counters.read),
            ("sealed", &counters.sealed),
            ("sends", &counters.sends),
            ("receives", &counters.receives),
            ("received", &counters.received),
            ("written", &counters.written),
        ]
        .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }

    /// Prepares the sockets of an address, and receives by that of port 4500 from now on: messages of IKE are handed over by [`Self::messages`].
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn attach(&mut self, address: IpAddr, [ike, nat]: [&UdpSocket; 2]) -> io::Result<()> {
        mark_packets(ike, MARK)?;
        carry_tunnel(nat, MARK)?;
        let socket = Arc::new(nat.try_clone()?);
        let stop = Arc::new(AtomicBool::new(false));
        let local = SocketAddr::new(address, IKE_NAT);
        let receiver = carry::Receiver {
            shared: Arc::clone(&self.shared),
            socket: Arc::clone(&socket),
            local,
            messages: self.sender.clone(),
            stop: Arc::clone(&stop),
        };
        self.receiving.push(Receiving {
            address,
            socket,
            stop,
            thread: Some(receiver.start()?),
        });
        Ok(())
    }

    /// Receives nothing more by addresses that are not needed.
    pub fn retain(&mut self, needed: impl Fn(&IpAddr) -> bool) {
        self.receiving.retain(|receiving| needed(&receiving.address));
    }

    /// Messages of IKE that have come by port 4500, without their marker.
    pub fn messages(&self) -> impl Iterator<Item = (Ends, Vec<u8>)> {
        self.quiet();
        self.messages.try_iter()
    }

    /// The numbers of the links whose packets have found no SA since.
    pub fn asked(&self) -> Vec<u32> {
        std::mem::take(&mut *locked(&self.shared.asked)).into_iter().collect()
    }

    /// Descriptor that becomes readable when there is something to ask for.
    pub fn woken(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    fn quiet(&self) {
        let mut buffer = [0; 64];
        while matches!((&self.woken).read(&mut buffer), Ok(1..)) {}
    }

    /// Routes all traffic between these to the device. Routed once, it stays so whether there is an SA or none.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn require(&mut self, number: u32, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        self.routes.add(local, remote)?;
        let traffic = traffic(local, remote);
        locked(&self.shared.outgoing).require(number, &traffic);
        locked(&self.shared.incoming).require(number, &traffic);
        Ok(())
    }

    /// Ends that.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn release(&mut self, number: u32, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let traffic = traffic(local, remote);
        locked(&self.shared.outgoing).release(number, &traffic);
        locked(&self.shared.incoming).release(number, &traffic);
        self.routes.remove(local, remote)
    }

    /// Place where the SAs of a link are installed.
    ///
    /// # Errors
    ///
    /// Fails if its address was not attached.
    pub fn associations(&self, path: xfrm::Path) -> Result<Of, Error> {
        let mut all = self.receiving.iter();
        let receiving = all
            .find(|receiving| receiving.address == path.local)
            .ok_or_else(|| Error::Userspace(format!("no socket of {}", path.local)))?;
        Ok(Of {
            shared: Arc::clone(&self.shared),
            way: Arc::new(Way {
                socket: Arc::clone(&receiving.socket),
                remote: SocketAddr::new(path.remote, path.remote_port),
                number: path.reqid,
            }),
            window: path.window,
        })
    }

    /// Traffic counters of an SA.
    #[must_use]
    pub fn counted(&self, number: u32, spi: u32, direction: Direction) -> Option<xfrm::Counted> {
        let counted = match direction {
            Direction::In => locked(&self.shared.incoming).counted(spi),
            Direction::Out => locked(&self.shared.outgoing).counted(spi, |way| way.number == number),
        };
        let Counted {
            bytes,
            packets,
            replayed,
            failed,
        } = counted?;
        Some(xfrm::Counted {
            bytes,
            packets,
            replayed,
            failed,
        })
    }

    /// Has packets in the tunnel be no longer than these SAs, whose ESP has so many bytes around a packet at most, leave of the path.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn fit(&mut self, longest: impl Iterator<Item = u16>) -> Result<(), Error> {
        let Some(mtu) = longest.min() else { return Ok(()) };
        if mtu != self.mtu.swap(mtu, Ordering::Relaxed) {
            self.routes.set_mtu(mtu)?;
        }
        Ok(())
    }

    /// Compares the device, its table and its rules with what was installed, and installs again
    /// what is gone. Returns the differences, once.
    ///
    /// # Errors
    ///
    /// The kernel's refusal.
    pub fn keep_routes(&mut self) -> Result<Option<&str>, Error> {
        Ok(match self.routes.keep()? {
            true => self.routes.last.as_deref(),
            false => None,
        })
    }

    /// Times that something of them was gone and was installed again, and its differences of the
    /// last time.
    pub fn restored(&self) -> (u64, Option<&str>) {
        (self.routes.restored, self.routes.last.as_deref())
    }

    /// Differences from what was installed; nothing where there are none.
    pub fn lost(&self) -> Option<String> {
        match self.routes.differences() {
            Ok(differences) if differences.is_empty() => None,
            Ok(differences) => Some(differences.join("; ")),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Octets that a packet on the path may have.
    pub fn path_mtu(&self) -> u16 {
        self.path_mtu
    }
}

/// Bytes around a packet at most: of IPv6, UDP and the largest ESP that is negotiated here.
const AROUND_AT_MOST: u16 = {
    let esp = 8 + 16 + 15 + 2 + 32;
    Header::IPV6.bytes + Header::UDP.bytes + esp
};

/// The longest packet that ESP of this suite carries in UDP on a path of this MTU, between addresses of this version.
pub fn longest(suite: bartizan_esp::Suite, path_mtu: u16, is_v4: bool) -> u16 {
    let header = if is_v4 { Header::IPV4 } else { Header::IPV6 };
    let around = header.bytes + Header::UDP.bytes;
    let room = usize::from(path_mtu.saturating_sub(around));
    let mut lengths = (0..path_mtu).rev();
    lengths
        .find(|length| suite.sealed_length(usize::from(*length)) <= room)
        .unwrap_or(0)
}

impl Drop for Userspace {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.receiving.clear();
        if let Some(sending) = self.sending.take() {
            // It has nothing to say.
            let _ = sending.join();
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // As above.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// A packet of this link found no SA.
    fn ask(&self, number: u32) {
        if locked(&self.asked).insert(number) {
            self.wake();
        }
    }

    fn wake(&self) {
        // A full pipe wakes the engine in any case.
        let _ = (&self.wake).write(&[0]);
    }
}

fn traffic(local: &[Selector], remote: &[Selector]) -> Traffic {
    Traffic {
        local: local.to_vec(),
        remote: remote.to_vec(),
    }
}

/// The SAs of a link.
#[derive(Debug)]
pub struct Of {
    shared: Arc<Shared>,
    way: Arc<Way>,
    window: u16,
}

/// Replay windows that ESP in user space has.
const WINDOWS: std::ops::RangeInclusive<u16> = 64..=4096;

impl Associations for Of {
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        if child.mode != Mode::Tunnel {
            return Err(Error::Userspace("there is no transport mode".to_owned()));
        }
        if !child.in_udp {
            let why = "the peer does not carry ESP in UDP (RFC 3948)";
            return Err(Error::Userspace(why.to_owned()));
        }
        let of = (self.way.number, traffic(&child.local, &child.remote));
        let unusable = |error: bartizan_esp::Unusable| Error::Userspace(error.to_string());
        match direction {
            Direction::In => {
                let window = self.window.clamp(*WINDOWS.start(), *WINDOWS.end());
                let sa = child.receiver(window).map_err(unusable)?;
                let is_new = locked(&self.shared.incoming).add(child.inbound.0, sa, of);
                is_new
                    .then_some(())
                    .ok_or_else(|| Error::Userspace("another SA has this SPI".to_owned()))
            }
            Direction::Out => {
                let sa = child.sender().map_err(unusable)?;
                locked(&self.shared.outgoing).add(child.outbound.0, sa, of, Arc::clone(&self.way));
                Ok(())
            }
        }
    }

    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        // One that is gone is deleted already.
        let _ = match direction {
            Direction::In => locked(&self.shared.incoming).remove(spi),
            Direction::Out => locked(&self.shared.outgoing).remove(spi, |way| way.number == self.way.number),
        };
        Ok(())
    }
}
