//! A fixed amount of data by TCP over the link, by its MTU.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Program;
use bartizan_testing::Address;
use bartizan_testing::Wiring as _;

use super::{PROTECTION, facts, lacks, metric, parameter, protection_of};
use crate::stand_in::fronthaul::link::PORT;
use crate::stand_in::fronthaul::{Link, Protection};
use crate::workload::e2::machine::{Ticks, processors};
use crate::workload::{Better, Error, FactorKind, Kind, Observation, Setting, Targets, Trial, Workload, number};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-transfer",
    about: "Sends a fixed amount of data by TCP from the O-DU to the O-RU over the protected link, as iperf3 does with a file.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "mtu",
            about: "bytes of an IP packet on the link, 1280 to 9000; the port has room for what MACsec adds",
            levels: &[],
        },
    ],
    parameters: &[parameter("megabytes", "of data, in millions of bytes", 50.0)],
    metrics: &[
        metric(
            "time",
            "s",
            "from the first byte handed to the kernel to the last one received",
            Better::Lower,
        ),
        metric("throughput", "Mb/s", "the data over that time", Better::Higher),
        metric(
            "cpu",
            "%",
            "time of all processors of the kernel that ran it that was not idle",
            Better::Lower,
        ),
        metric(
            "cpu-by-rate",
            "%/(Mb/s)",
            "per cent of one processor for each megabit per second",
            Better::Lower,
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Addresses of both ends; nothing else is on the link.
const DU: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RU: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const SERVICE: u16 = 5201;
/// Bytes that MACsec adds.
const ADDED: u16 = 32;
/// Bytes of a call to the kernel, as iperf3 has them.
const PIECE: usize = 128 << 10;
const PATIENCE: Duration = Duration::from_secs(20);

struct Transfer {
    bytes: u64,
    /// Current link, with its protection and MTU.
    link: Option<(Link, Protection, u16)>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let megabytes = setting.parameters.number("megabytes")?;
    if !(0.001..=1e6).contains(&megabytes) {
        return Err(Error::Configuration("`megabytes` is 0.001 to a million".to_owned()));
    }
    Ok(Box::new(Transfer {
        bytes: (megabytes * 1e6) as u64,
        link: None,
    }))
}

/// A link of its own, since a device keeps the MTU of its port.
fn made(protection: Protection, mtu: u16) -> Result<Link, Error> {
    let mut link = Link::make(mtu + ADDED)?;
    link.protect(protection)?;
    let interface = link.interface();
    for (end, address) in [(link.du(), DU), (link.ru(), RU)] {
        let address = Address::v4(address, 24).ok_or_else(|| Error::Configuration("an address".to_owned()))?;
        end.set_mtu(interface, mtu)?;
        end.add_address(interface, address)?;
        // Segments are not put together for the kernel's convenience: each is a frame, as on a wire.
        for device in [PORT, interface] {
            let size = mtu.to_string();
            let set = ["-n", end.name(), "link", "set", "dev", device, "gso_max_size", &size];
            Program::new("ip").package("iproute2").arguments(set).run(PATIENCE)?;
        }
    }
    Ok(link)
}

impl Workload for Transfer {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let mtu = number(trial.levels, "mtu", 9000.0)?;
        if !(1280.0..=9000.0).contains(&mtu) {
            return Err(Error::Configuration("`mtu` is 1280 to 9000 bytes".to_owned()));
        }
        let mtu = mtu as u16;
        let link = match self.link.take() {
            Some(known) if (known.1, known.2) == (protection, mtu) => self.link.insert(known),
            _ => self.link.insert((made(protection, mtu)?, protection, mtu)),
        };
        let link = &link.0;
        let left = trial.deadline.saturating_duration_since(Instant::now());
        let (took, shares) = transfer(link, self.bytes, left)?;
        let rate = 8.0 * self.bytes as f64 / took.as_secs_f64() / 1e6;
        let mut observation = Observation {
            facts: facts(link),
            ..Observation::default()
        };
        let values = &mut observation.values;
        values.insert("time", vec![took.as_secs_f64()]);
        values.insert("throughput", vec![rate]);
        if let Some(busy) = shares {
            values.insert("cpu", vec![busy]);
            values.insert("cpu-by-rate", vec![processors()? * busy / rate]);
        }
        Ok(observation)
    }
}

/// Duration of a transfer, and share of processor time that was not idle, in per cent.
fn transfer(link: &Link, bytes: u64, patience: Duration) -> Result<(Duration, Option<f64>), Error> {
    let at = SocketAddr::from((RU, SERVICE));
    let listener = link.ru().enter(|| TcpListener::bind(at))?.map_err(Error::Broken)?;
    thread::scope(|scope| {
        let receiving = scope.spawn(move || receive(&listener, bytes, patience));
        let connect = || TcpStream::connect_timeout(&at, PATIENCE);
        let mut stream = link.du().enter(connect)?.map_err(Error::Broken)?;
        stream.set_write_timeout(Some(patience)).map_err(Error::Broken)?;
        let piece = vec![0x5a; PIECE];
        let (ticks, began) = (Ticks::now()?, Instant::now());
        let mut left = bytes;
        while left > 0 {
            let length = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            stream.write_all(&piece[..length]).map_err(Error::Broken)?;
            left -= length as u64;
        }
        let ended = receiving
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ended = ended.map_err(Error::Broken)?;
        let shares = Ticks::now()?.since(ticks);
        Ok((ended.duration_since(began), shares.map(|shares| shares.busy)))
    })
}

/// Time at which the last byte arrived.
fn receive(listener: &TcpListener, bytes: u64, patience: Duration) -> std::io::Result<Instant> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(patience))?;
    let (mut buffer, mut left) = (vec![0; PIECE], bytes);
    while left > 0 {
        match stream.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => left = left.saturating_sub(length as u64),
        }
    }
    Ok(Instant::now())
}
