//! Where the keys of a link come from, once an exchange has ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bartizan_tls::Established;

use super::Setting;
use crate::Error;
use crate::Sci;
use crate::kernel::{SecY, State};
use crate::message::Message;
use crate::mka::{Agreed, CakFile, Rotation, Supplicant};
use crate::schedule::{Fault, Order, Schedule};

/// Where the keys of a link come from.
#[derive(Debug)]
pub(super) enum Keyer {
    /// This process installs them.
    Direct(Box<Schedule>),
    /// wpa_supplicant does.
    Mka(Box<ByMka>),
}

/// wpa_supplicant, and what it was given.
#[derive(Debug)]
pub(super) struct ByMka {
    pub(super) rotation: Rotation,
    pub(super) supplicant: Supplicant,
    /// Where the CAK comes from a file.
    pub(super) file: Option<CakFile>,
    /// The exchange that the CAK comes from, where this process had it.
    pub(super) origin: Option<Arc<Established>>,
    /// The channel of the peer that has the key in use.
    pub(super) peer: Option<Sci>,
}

/// What of a setting makes a link one of MKA's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MkaSetting {
    /// Which end is the key server.
    pub role: crate::mka::Role,
    /// The file that the CAK is in; without one it comes from the exchange.
    pub file: Option<PathBuf>,
    /// wpa_supplicant, where it is not that of the system.
    pub program: Option<PathBuf>,
}

impl Keyer {
    pub(super) fn open(setting: &Setting, secy: &SecY, own: Sci, now: Instant) -> Result<Self, Error> {
        let Some(mka) = &setting.mka else {
            let suite = setting.device_settings.suite;
            return Ok(Self::Direct(Box::new(Schedule::new(
                setting.terms,
                suite,
                setting.direction,
                own,
            ))));
        };
        let mut supplicant = Supplicant::new(
            &setting.port,
            setting.device_settings,
            mka.role,
            secy.interface().index,
            &setting.directory,
            mka.program.clone(),
        )?;
        keep_addresses(&setting.device);
        let mut rotation = Rotation::new(setting.terms, setting.direction);
        if let Some((ckn, age)) = supplicant.adopt() {
            rotation.adopt(ckn, now.checked_sub(age).unwrap_or(now));
        }
        Ok(Self::Mka(Box::new(ByMka {
            rotation,
            supplicant,
            file: mka.file.as_deref().map(CakFile::new),
            origin: None,
            peer: None,
        })))
    }

    /// What the greeting of an exchange says of MKA.
    pub(super) fn offer(&self) -> Option<String> {
        match self {
            Self::Direct(_) => None,
            Self::Mka(mka) => Some(mka.rotation.offer()),
        }
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        match self {
            Self::Direct(schedule) => schedule.wake(),
            // It is looked at every second, which is soon enough for a day.
            Self::Mka(_) => None,
        }
    }

    /// Time has passed, of which [`Keyer::wake`] said so.
    pub(super) fn passed(&mut self, now: Instant) -> Vec<Order> {
        match self {
            Self::Direct(schedule) => schedule.passed(None, now),
            Self::Mka(_) => Vec::new(),
        }
    }

    pub(super) fn rekey(&mut self, fresh: bool, now: Instant) -> Vec<Order> {
        match self {
            Self::Direct(schedule) => schedule.rekey(fresh, now),
            Self::Mka(mka) => mka.rotation.rekey(now),
        }
    }

    pub(super) fn received(&mut self, message: &Message, now: Instant) -> Result<Vec<Order>, Fault> {
        match self {
            Self::Direct(schedule) => schedule.received(message, now),
            Self::Mka(mka) => mka.rotation.received(message, now),
        }
    }

    pub(super) fn lost(&mut self) {
        match self {
            Self::Direct(schedule) => schedule.lost(),
            Self::Mka(mka) => mka.rotation.lost(),
        }
    }
}

impl ByMka {
    /// What the kernel has now; says what is wrong, where something is.
    pub(super) fn look(&mut self, state: &State, now: Instant) -> (Vec<Order>, Option<String>) {
        self.supplicant.bound_log();
        let (mut orders, mut trouble) = (Vec::new(), None);
        match self.file.as_mut().map(CakFile::changed) {
            Some(Ok(Some(cak))) => orders.extend(self.rotation.given(cak)),
            Some(Err(error)) => trouble = Some(error.to_string()),
            None | Some(Ok(None)) => {}
        }
        if orders.is_empty() && self.rotation.running().is_some() && !self.supplicant.is_alive() {
            let said = "wpa_supplicant has ended, and nobody ended it";
            tracing::error!(said, "frames go on under the last key until the peer misses it");
            trouble = Some(said.to_owned());
            orders.extend(self.rotation.ended(now));
        }
        if !orders.is_empty() {
            return (orders, trouble);
        }
        let agreed = agreed(state);
        if agreed.is_none() && self.rotation.is_agreed() {
            self.rotation.gone();
            trouble = Some("MKA has no key with the peer any more".to_owned());
        }
        self.peer = agreed.map(|(_, sci)| sci).or(self.peer);
        orders.extend(self.rotation.seen(agreed.map(|(agreed, _)| agreed), now));
        (orders, trouble)
    }
}

/// The key that both directions have in common, and the channel of the peer that sends with it.
pub(super) fn agreed(state: &State) -> Option<(Agreed, Sci)> {
    let sends = state
        .transmit
        .get(&state.encoding)
        .filter(|sa| sa.active && state.operational)?;
    let has_it = |channel: &&crate::kernel::ChannelState| {
        let mut associations = channel.associations.values();
        associations.any(|association| association.active && association.key == sends.key)
    };
    let channel = state.channels.iter().find(has_it)?;
    let agreed = Agreed {
        an: state.encoding,
        key: sends.key,
        packets: sends.next_packet.saturating_sub(1),
    };
    Some((agreed, channel.sci))
}

/// wpa_supplicant sets the device down for a moment when it begins: addresses of IPv6 that somebody gave it would go with that, and those of IPv4
/// do not.
fn keep_addresses(device: &str) {
    let place = format!("/proc/sys/net/ipv6/conf/{device}/keep_addr_on_down");
    // A kernel without IPv6 has none to keep.
    let _ = std::fs::write(place, "1");
}
