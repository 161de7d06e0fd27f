//! A SecY: a MACsec device of the kernel on a port, and its associations.

use std::io;

use bartizan_host::Interface;
use bartizan_host::netlink::{self, Family, Refused, Request};
use bartizan_registry::{MACSEC_ICV, MACSEC_SCI, MACSEC_SECTAG, MacsecSuite};

use super::codes::{
    CREATE, Command, EXCLUSIVE, FAMILY, INFO_DATA, INFO_KIND, LINK_INFO, NAME, NEW_LINK, PARENT, VERSION, association,
    attribute, channel, device,
};
use super::link;
use super::state::{self, State};
use crate::{An, Error, Sak, Sci};

/// Octets that MACsec adds to a frame: SecTAG with SCI, and ICV.
const ADDED: u32 = (MACSEC_SECTAG + MACSEC_SCI + MACSEC_ICV) as u32;

/// Encryption of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidentiality {
    /// Frames are encrypted, and their integrity is protected.
    Encrypted,
    /// Only the integrity of frames is protected.
    IntegrityOnly,
}

/// Treatment of a frame that comes a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Dropped. Frames may overtake each other by so many; with 0 they must come in order.
    Window(u32),
    /// Accepted.
    Unprotected,
}

/// Settings of a new device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The cipher suite.
    pub suite: &'static MacsecSuite,
    /// Encryption of frames.
    pub confidentiality: Confidentiality,
    /// Treatment of replayed frames.
    pub replay: Replay,
}

impl Settings {
    /// Those of a device that can be changed.
    fn write(&self, data: Request) -> Request {
        let flag = |on: bool| [u8::from(on)];
        let encrypts = self.confidentiality == Confidentiality::Encrypted;
        let data = data
            .attribute(device::PROTECT, &flag(true))
            .attribute(device::ENCRYPT, &flag(encrypts))
            .attribute(device::SEND_SCI, &flag(true))
            .attribute(device::VALIDATION, &[device::STRICT]);
        match self.replay {
            Replay::Window(window) => data
                .attribute(device::WINDOW, &window.to_ne_bytes())
                .attribute(device::REPLAY_PROTECT, &flag(true)),
            Replay::Unprotected => data.attribute(device::REPLAY_PROTECT, &flag(false)),
        }
    }
}

/// A MACsec device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecY {
    interface: Interface,
    family: u16,
    /// Packet numbers have 64 bits.
    extended: bool,
}

#[cfg(test)]
thread_local! {
    /// Removals that a simulated device still refuses.
    pub(crate) static REFUSED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// A port of the SCI: the first one a station has (IEEE 802.1AE, clause 10.7.1).
const SCI_PORT: u16 = 1;

impl SecY {
    /// Makes a device named `name` on a port. What cannot be validated is dropped, and SCIs are sent. It is not up yet.
    ///
    /// # Errors
    ///
    /// [`Error::NoMacsec`], [`Error::NotPermitted`]; [`Error::DeviceTaken`] where an interface has the name.
    pub fn create(name: &str, port: &Interface, settings: &Settings) -> Result<Self, Error> {
        let request = Request::new(Family::Route, NEW_LINK, &link::header(0, 0, 0))
            .attribute(NAME, &link::terminated(name))
            .attribute(PARENT, &port.index.to_ne_bytes())
            .nested(LINK_INFO, |info| {
                info.attribute(INFO_KIND, FAMILY.as_bytes()).nested(INFO_DATA, |data| {
                    let data = data
                        .attribute(device::PORT, &SCI_PORT.to_be_bytes())
                        .attribute(device::CIPHER_SUITE, &settings.suite.id.to_ne_bytes());
                    settings.write(data)
                })
            });
        let action = format!("making the MACsec device {name} on {}", port.name);
        match request.order(CREATE | EXCLUSIVE) {
            Ok(()) => Self::open(name, port)?.ok_or_else(|| Error::NoInterface(name.to_owned())),
            Err(refused) => Err(match refused.source.kind() {
                io::ErrorKind::AlreadyExists => Error::DeviceTaken {
                    device: name.to_owned(),
                    what: "was made meanwhile".to_owned(),
                },
                io::ErrorKind::Unsupported => Error::NoMacsec(refused.to_string()),
                _ => Error::kernel(action)(refused),
            }),
        }
    }

    /// Sets what can be set at a device that is there: all but the cipher suite. Its keys stay.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn set(&self, settings: &Settings) -> Result<(), Error> {
        let done = self.change(|data| settings.write(data));
        done.map_err(self.failed("changing its settings".to_owned()))
    }

    fn change(&self, write: impl FnOnce(Request) -> Request) -> Result<(), Refused> {
        let request = Request::new(Family::Route, NEW_LINK, &link::header(self.interface.index, 0, 0));
        let request = request.nested(LINK_INFO, |info| {
            info.attribute(INFO_KIND, FAMILY.as_bytes()).nested(INFO_DATA, write)
        });
        request.order(0)
    }

    /// One of a kernel that is not asked.
    #[cfg(test)]
    pub(crate) fn simulated(interface: Interface) -> Self {
        Self {
            interface,
            family: u16::MAX,
            extended: false,
        }
    }

    #[cfg(test)]
    fn simulated_removal(&self) -> Result<(), Error> {
        match REFUSED.get() {
            0 => Ok(()),
            _ => Err(Error::NotPermitted(format!(
                "removing the keys of {}",
                self.interface.name
            ))),
        }
    }

    /// The device of this name on a port, as it was left there; none where there is no interface of the name.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTaken`] where the name is that of something else.
    pub fn open(name: &str, port: &Interface) -> Result<Option<Self>, Error> {
        let Some(interface) = Interface::find(name)? else {
            return Ok(None);
        };
        let taken = |what: String| Error::DeviceTaken {
            device: name.to_owned(),
            what,
        };
        if interface.kind.as_deref() != Some(FAMILY) {
            return Err(taken("is no MACsec device".to_owned()));
        }
        if interface.parent != Some(port.index) {
            return Err(taken(format!("stands on another port than {}", port.name)));
        }
        let family = netlink::family(FAMILY).map_err(Error::kernel("asking for the kernel's MACsec"))?;
        let family = family.ok_or_else(|| Error::NoMacsec("generic netlink has no such family".to_owned()))?;
        let mut secy = Self {
            interface,
            family,
            extended: false,
        };
        let state = match secy.state() {
            // Another process removed it since it was found, such as a controller that ends.
            Err(Error::NoInterface(_)) => return Ok(None),
            state => state?,
        };
        secy.extended = state.suite.is_some_and(|suite| suite.packet_number_bits == 64);
        Ok(Some(secy))
    }

    /// Octets that remain for frames on a port, or why they are too few for those of `asked` octets.
    ///
    /// # Errors
    ///
    /// [`Error::MtuTooSmall`].
    pub fn mtu_on(port: &Interface, asked: Option<u32>) -> Result<u32, Error> {
        // An IPv6 packet must pass (RFC 8200, section 5): less is no link, whatever the file asks for.
        const LEAST: u32 = 1280;
        let asked = asked.unwrap_or(LEAST);
        let leaves = port.mtu.saturating_sub(ADDED);
        if leaves >= asked {
            return Ok(leaves);
        }
        Err(Error::MtuTooSmall {
            port: port.name.clone(),
            has: port.mtu,
            adds: ADDED,
            asked,
        })
    }

    /// The device.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Its settings, contents and counters.
    ///
    /// # Errors
    ///
    /// [`Error::NoInterface`] where it is gone, and what the kernel says.
    pub fn state(&self) -> Result<State, Error> {
        state::of(self.family, &self.interface)
    }

    /// Adds a channel for what a peer sends; one that is there stays.
    fn add_channel(&self, sci: Sci) -> Result<(), Error> {
        let request = self.command(Command::AddChannel).nested(attribute::CHANNEL, |inside| {
            inside.attribute(channel::SCI, &sci.0).attribute(channel::ACTIVE, &[1])
        });
        match request.order(0) {
            Err(refused) if refused.source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.map_err(self.failed(format!("adding the receive channel {sci}"))),
        }
    }

    /// Removes a peer's channel with its associations.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove_channel(&self, sci: Sci) -> Result<(), Error> {
        let request = self.command(Command::DeleteChannel);
        let done = of_channel(request, sci).order(0);
        absent_is_done(done).map_err(self.failed(format!("removing the receive channel {sci}")))
    }

    /// Removes all keys and channels: nothing passes until others are installed.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn flush(&self) -> Result<(), Error> {
        #[cfg(test)]
        if self.family == u16::MAX {
            return self.simulated_removal();
        }
        let state = self.state()?;
        for &an in state.transmit.keys() {
            self.remove_transmit(an)?;
        }
        for channel in &state.channels {
            for &an in channel.associations.keys() {
                self.remove_receive(channel.sci, an)?;
            }
            self.remove_channel(channel.sci)?;
        }
        Ok(())
    }

    /// Installs a key for what a peer sends, in place of one that has the number.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn install_receive(&self, sci: Sci, an: An, sak: &Sak) -> Result<(), Error> {
        self.add_channel(sci)?;
        self.remove_receive(sci, an)?;
        let request = of_channel(self.command(Command::AddReceive), sci);
        let done = self.with_key(request, an, sak).order(0);
        done.map_err(self.failed(format!("installing the receive key {} as {an}", sak.id)))
    }

    /// Removes a receive key; one that is gone is removed already.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove_receive(&self, sci: Sci, an: An) -> Result<(), Error> {
        // The kernel does not remove one that is in use.
        let stop = of_association(of_channel(self.command(Command::UpdateReceive), sci), an, Some(false));
        let remove = of_association(of_channel(self.command(Command::DeleteReceive), sci), an, None);
        absent_is_done(stop.order(0))
            .and_then(|()| absent_is_done(remove.order(0)))
            .map_err(self.failed(format!("removing the receive key {an}")))
    }

    /// Installs a key to send with, in place of one that has the number. Frames go on under the key that they go under.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn install_transmit(&self, an: An, sak: &Sak) -> Result<(), Error> {
        self.remove_transmit(an)?;
        let request = self.command(Command::AddTransmit);
        let done = self.with_key(request, an, sak).order(0);
        done.map_err(self.failed(format!("installing the transmit key {} as {an}", sak.id)))
    }

    /// From the next frame on, this key is sent with.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn transmit_with(&self, an: An) -> Result<(), Error> {
        let done = self.change(|data| data.attribute(device::ENCODING_SA, &[an.number()]));
        done.map_err(self.failed(format!("transmitting with the key {an}")))
    }

    /// Removes a transmit key; one that is gone is removed already.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove_transmit(&self, an: An) -> Result<(), Error> {
        let stop = of_association(self.command(Command::UpdateTransmit), an, Some(false));
        let remove = of_association(self.command(Command::DeleteTransmit), an, None);
        absent_is_done(stop.order(0))
            .and_then(|()| absent_is_done(remove.order(0)))
            .map_err(self.failed(format!("removing the transmit key {an}")))
    }

    /// Removes the device with all its keys.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove(&self) -> Result<(), Error> {
        #[cfg(test)]
        if self.family == u16::MAX {
            let done = self.simulated_removal();
            REFUSED.set(REFUSED.get().saturating_sub(1));
            return done;
        }
        link::remove(&self.interface)
    }

    fn command(&self, command: Command) -> Request {
        Request::generic(self.family, command as u8, VERSION)
            .attribute(attribute::INTERFACE, &self.interface.index.to_ne_bytes())
    }

    fn with_key(&self, request: Request, an: An, sak: &Sak) -> Request {
        request.nested(attribute::ASSOCIATION, |inside| {
            // The first frame has number 1 (IEEE 802.1AE, clause 10.6.2).
            let first = match self.extended {
                true => inside.attribute(association::PACKET_NUMBER, &1u64.to_ne_bytes()),
                false => inside.attribute(association::PACKET_NUMBER, &1u32.to_ne_bytes()),
            };
            let keyed = first
                .attribute(association::AN, &[an.number()])
                .attribute(association::ACTIVE, &[1])
                .attribute(association::KEY, &sak.key)
                .attribute(association::KEY_ID, &sak.id.0);
            match self.extended {
                true => keyed
                    .attribute(association::SSCI, &sak.ssci.to_be_bytes())
                    .attribute(association::SALT, sak.salt.as_slice()),
                false => keyed,
            }
        })
    }

    fn failed(&self, action: String) -> impl FnOnce(Refused) -> Error {
        let device = self.interface.name.clone();
        move |refused| match link::is_gone(&refused.source) {
            true => Error::NoInterface(device),
            false => Error::kernel(format!("{device}: {action}"))(refused),
        }
    }
}

fn of_channel(request: Request, sci: Sci) -> Request {
    request.nested(attribute::CHANNEL, |inside| inside.attribute(channel::SCI, &sci.0))
}

fn of_association(request: Request, an: An, active: Option<bool>) -> Request {
    request.nested(attribute::ASSOCIATION, |inside| {
        let inside = inside.attribute(association::AN, &[an.number()]);
        match active {
            Some(active) => inside.attribute(association::ACTIVE, &[u8::from(active)]),
            None => inside,
        }
    })
}

/// The kernel says ENODEV for an association, a channel and a device that are not there: the device is looked for before and after.
fn absent_is_done(done: Result<(), Refused>) -> Result<(), Refused> {
    match done {
        Err(refused) if link::is_gone(&refused.source) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_must_leave_room_for_the_header_of_macsec() {
        let port = |mtu| Interface {
            index: 2,
            name: "ens1".to_owned(),
            mtu,
            address: Some([2; 6]),
            is_up: true,
            parent: None,
            kind: None,
        };
        assert_eq!(SecY::mtu_on(&port(9000), Some(8968)).unwrap(), 8968);
        assert_eq!(SecY::mtu_on(&port(1500), None).unwrap(), 1468);
        let error = SecY::mtu_on(&port(1500), Some(1500)).unwrap_err();
        assert!(
            matches!(
                error,
                Error::MtuTooSmall {
                    has: 1500,
                    adds: 32,
                    ..
                }
            ),
            "{error}"
        );
        assert!(SecY::mtu_on(&port(20), None).is_err());
    }
}
