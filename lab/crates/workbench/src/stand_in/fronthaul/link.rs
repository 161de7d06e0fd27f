//! The cable between O-DU and O-RU: two namespaces of the kernel that runs us, joined by veth, and
//! MACsec on both ports where it is wanted.

use std::fs;
use std::io;

use aws_lc_rs::rand;
use bartizan_host::Namespace;
use bartizan_macsec::kernel::{Counters, Replay, SecY, Settings, ethernet_address, interface, set_up};
use bartizan_macsec::{An, KeyId, Sak, Sci};
use bartizan_registry::{MACSEC_KEY_ID, MACSEC_SALT};
use bartizan_testing::{Port, connect};
use zeroize::Zeroizing;

use super::protection::Protection;
use crate::Error;

/// The Ethernet port of both ends.
pub const PORT: &str = "fh0";
/// The MACsec device on it.
pub const DEVICE: &str = "macsec0";
/// The port of an SCI that a SecY of ours sends (IEEE 802.1AE, clause 10.7.1).
const SCI_PORT: u16 = 1;
/// Frames that may overtake each other: none does on a cable, softirqs of two processors may.
const WINDOW: u32 = 64;

/// Both ends; they pass with it.
#[derive(Debug)]
pub struct Link {
    /// The O-DU's, then the O-RU's.
    ends: [Namespace; 2],
    /// None, or that of each.
    devices: Vec<SecY>,
    protection: Protection,
    /// True if controllers create and key its devices.
    controlled: bool,
    goes_down: bool,
}

impl Link {
    /// Makes the two namespaces and the cable, unprotected. `mtu` is the ports': bytes behind the Ethernet header.
    ///
    /// # Errors
    /// Without root, or what `ip` says.
    pub fn make(mtu: u16) -> Result<Self, Error> {
        let ends = [Namespace::create("fh-du")?, Namespace::create("fh-ru")?];
        for end in &ends {
            end.enter(without_ipv6)?.map_err(Error::file("net/ipv6"))?;
        }
        connect(&Port::new(&ends[0], PORT), &Port::new(&ends[1], PORT), mtu)?;
        Ok(Self {
            ends,
            devices: Vec::new(),
            protection: Protection::NONE,
            controlled: false,
            goes_down: false,
        })
    }

    /// The O-DU's end.
    #[must_use]
    pub fn du(&self) -> &Namespace {
        &self.ends[0]
    }

    /// The O-RU's end.
    #[must_use]
    pub fn ru(&self) -> &Namespace {
        &self.ends[1]
    }

    /// Current protection.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// The interface that frames are sent through: the MACsec device, or the port.
    #[must_use]
    pub fn interface(&self) -> &'static str {
        match self.protection.suite() {
            None if !self.controlled => PORT,
            _ => DEVICE,
        }
    }

    /// From now on frames go through the devices that controllers make ([`keyed`](super::keyed::keyed)).
    pub fn is_keyed_by_controllers(&mut self) {
        self.controlled = true;
    }

    /// wpa_supplicant keys it too, which sets the device down for a moment whenever it begins.
    pub fn goes_down_at_times(&mut self) {
        self.goes_down = true;
    }

    /// True if a device that is down is waited for and is no failure.
    #[must_use]
    pub fn goes_down(&self) -> bool {
        self.goes_down
    }

    /// Protects it so, by keys from chance; one that is protected so stays as it is.
    ///
    /// # Errors
    /// A kernel without MACsec.
    pub fn protect(&mut self, protection: Protection) -> Result<(), Error> {
        if self.protection == protection {
            return Ok(());
        }
        self.clear()?;
        let Some(suite) = protection.suite() else {
            return Ok(());
        };
        let settings = Settings {
            suite,
            confidentiality: protection.confidentiality(),
            replay: Replay::Window(WINDOW),
        };
        let make = || {
            let port = interface(PORT)?;
            let address = ethernet_address(&port)?;
            Ok::<_, bartizan_macsec::Error>((SecY::create(DEVICE, &port, &settings)?, address))
        };
        let made = [self.ends[0].enter(make)??, self.ends[1].enter(make)??];
        for from in [0, 1] {
            let key = sak(suite.key.into())?;
            let [(sender, address), (receiver, _)] = [&made[from], &made[1 - from]];
            let channel = Sci::new(*address, SCI_PORT);
            // The receiver first: what is sent under a key that it has not is lost.
            self.ends[1 - from].enter(|| receiver.install_receive(channel, An::ALL[0], &key))??;
            self.ends[from].enter(|| sender.install_transmit(An::ALL[0], &key))??;
        }
        for (end, (secy, _)) in self.ends.iter().zip(&made) {
            end.enter(|| set_up(secy.interface()))??;
        }
        self.devices = made.into_iter().map(|(secy, _)| secy).collect();
        self.protection = protection;
        Ok(())
    }

    /// Removes the devices and their keys.
    fn clear(&mut self) -> Result<(), Error> {
        self.protection = Protection::NONE;
        for (end, secy) in self.ends.iter().zip(self.devices.drain(..)) {
            end.enter(|| secy.remove())??;
        }
        Ok(())
    }

    /// Counters of both devices, the O-DU's first; none if the link has no devices.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn counters(&self) -> Result<Vec<Counters>, Error> {
        let ends = self.ends.iter().zip(&self.devices);
        let counters = ends.map(|(end, secy)| Ok(end.enter(|| secy.state())??.counters));
        counters.collect()
    }
}

/// Random, of a direction of its own.
fn sak(length: usize) -> Result<Sak, Error> {
    let mut key = Zeroizing::new(vec![0; length]);
    let mut id = [0; MACSEC_KEY_ID];
    let filled = rand::fill(&mut key).and_then(|()| rand::fill(&mut id));
    filled.map_err(|_| Error::Configuration("no random numbers".to_owned()))?;
    Ok(Sak {
        key,
        id: KeyId(id),
        // For suites with extended packet numbers, of which none is used here.
        salt: Zeroizing::new([0; MACSEC_SALT]),
        ssci: 0,
    })
}

/// Disables IPv6: with it, the kernel sends packets by itself on an interface without addresses.
fn without_ipv6() -> io::Result<()> {
    match fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
