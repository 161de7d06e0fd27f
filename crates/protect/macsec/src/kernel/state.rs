//! The kernel's state of a SecY.

use std::collections::BTreeMap;

use bartizan_host::Interface;
use bartizan_host::netlink::{Attributes, Request, attribute as find, attributes};
use bartizan_registry::{MacsecSuite, macsec_suite};

use super::codes::{Command, VERSION, association, attribute, channel, device, secy, statistics};
use super::secy::{Confidentiality, Replay, Settings};
use crate::{An, Error, KeyId, Sci};

/// Bytes of the header that generic netlink adds.
const GENERIC: usize = 4;

/// Settings, contents and counters of a SecY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The identifier of what it sends.
    pub sci: Sci,
    /// The association that it sends with.
    pub encoding: An,
    /// Its cipher suite; none where the registry does not know it.
    pub suite: Option<&'static MacsecSuite>,
    /// True if it sends no frame without a SecTAG.
    pub protects: bool,
    /// True if it drops what cannot be validated: otherwise any host on the wire sends to it.
    pub is_strict: bool,
    /// True if its frames name their channel.
    pub sends_sci: bool,
    /// Encryption of frames.
    pub confidentiality: Confidentiality,
    /// Treatment of replayed frames.
    pub replay: Replay,
    /// True if it can send.
    pub operational: bool,
    /// Its transmit associations, by number.
    pub transmit: BTreeMap<An, SaState>,
    /// Its receive channels.
    pub channels: Vec<ChannelState>,
    /// Its counters.
    pub counters: Counters,
}

impl State {
    /// Names of the keys of both directions.
    pub fn keys(&self) -> impl Iterator<Item = KeyId> {
        let receive = self.channels.iter().flat_map(|channel| channel.associations.values());
        self.transmit.values().chain(receive).map(|association| association.key)
    }

    /// Holds where a key of either direction is installed.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.keys().next().is_some()
    }
}

/// An association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaState {
    /// True if it is in use.
    pub active: bool,
    /// The next packet number: what was sent or received with it before is lower.
    pub next_packet: u64,
    /// The name of its key.
    pub key: KeyId,
}

/// A receive channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelState {
    /// Its identifier.
    pub sci: Sci,
    /// Its associations, by number.
    pub associations: BTreeMap<An, SaState>,
}

/// Frames, since the device was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Sent with their integrity protected alone.
    pub sent_protected: u64,
    /// Sent encrypted.
    pub sent_encrypted: u64,
    /// Not sent: longer than the port takes.
    pub too_long: u64,
    /// Received and valid.
    pub received: u64,
    /// Dropped: replayed, or overtaken by more than the window.
    pub late: u64,
    /// The same, where replay is not protected against.
    pub delayed: u64,
    /// Dropped: the integrity check failed.
    pub not_valid: u64,
    /// Dropped: no key is installed under the association number.
    pub no_association: u64,
    /// Not handed to the device: without a SecTAG. The exchange of keys is among them.
    pub no_tag: u64,
    /// Dropped: with one that cannot be read.
    pub bad_tag: u64,
    /// Dropped: of a channel that is not known.
    pub unknown_channel: u64,
    /// Dropped: more than the host could take.
    pub overrun: u64,
}

impl State {
    /// First difference from the wanted settings. None if there is none.
    #[must_use]
    pub fn difference(&self, settings: &Settings) -> Option<&'static str> {
        // Not the identifier: the kernel lists the default suite under one that it had once.
        let shape = |suite: &MacsecSuite| (suite.key, suite.packet_number_bits);
        if self.suite.map(shape) != Some(shape(settings.suite)) {
            Some("its cipher suite")
        } else if !self.protects {
            Some("whether it protects frames")
        } else if !self.is_strict {
            Some("whether it drops what it cannot validate")
        } else if !self.sends_sci {
            Some("whether its frames name their channel")
        } else if self.confidentiality != settings.confidentiality {
            Some("whether it encrypts")
        } else if self.replay != settings.replay {
            Some("its replay protection")
        } else {
            None
        }
    }

    /// The association that it sends with, where it can.
    pub fn sends(&self) -> Option<&SaState> {
        let sends = self.transmit.get(&self.encoding);
        sends.filter(|sa| sa.active && self.operational)
    }

    /// True if it sends nothing that is not encrypted.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.protects && self.confidentiality == Confidentiality::Encrypted
    }

    /// The channel of this identifier.
    pub fn channel(&self, sci: Sci) -> Option<&ChannelState> {
        self.channels.iter().find(|channel| channel.sci == sci)
    }
}

/// Asks the kernel: it lists all devices, whichever is asked for.
pub(super) fn of(family: u16, interface: &Interface) -> Result<State, Error> {
    let mut found = None;
    let question = Request::generic(family, Command::Get as u8, VERSION);
    let done = question.list(&mut |message| {
        let all = message.get(GENERIC..).unwrap_or_default();
        let of_it = |&(kind, content): &(u16, &[u8])| {
            kind == attribute::INTERFACE && number(content) == u64::from(interface.index)
        };
        if attributes(all).any(|one| of_it(&one)) {
            found = Some(read(all));
        }
    });
    done.map_err(Error::kernel(format!("asking for the state of {}", interface.name)))?;
    match found {
        None => Err(Error::NoInterface(interface.name.clone())),
        Some(None) => Err(Error::Answer(interface.name.clone())),
        Some(Some(state)) => Ok(state),
    }
}

fn read(all: &[u8]) -> Option<State> {
    let of_secy = find(all, attribute::SECY)?;
    let flag = |kind| find(of_secy, kind).is_some_and(|content| number(content) != 0);
    let mut state = State {
        sci: sci(find(of_secy, secy::SCI)?)?,
        encoding: an(find(of_secy, secy::ENCODING_SA)?)?,
        suite: macsec_suite(number(find(of_secy, secy::CIPHER_SUITE)?)),
        protects: flag(secy::PROTECT),
        is_strict: number(find(of_secy, secy::VALIDATION)?) == u64::from(device::STRICT),
        sends_sci: flag(secy::SEND_SCI),
        confidentiality: match flag(secy::ENCRYPT) {
            true => Confidentiality::Encrypted,
            false => Confidentiality::IntegrityOnly,
        },
        replay: match flag(secy::REPLAY) {
            true => Replay::Window(find(of_secy, secy::WINDOW).and_then(|window| number(window).try_into().ok())?),
            false => Replay::Unprotected,
        },
        operational: flag(secy::OPERATIONAL),
        transmit: find(all, attribute::TRANSMIT_LIST)
            .map(associations)
            .unwrap_or_default(),
        channels: Vec::new(),
        counters: Counters::default(),
    };
    let counters = &mut state.counters;
    for (_, of_channel) in inside(all, attribute::CHANNEL_LIST) {
        let listed = find(of_channel, channel::ASSOCIATIONS);
        state.channels.push(ChannelState {
            sci: sci(find(of_channel, channel::SCI)?)?,
            associations: listed.map(associations).unwrap_or_default(),
        });
        for (kind, content) in inside(of_channel, channel::STATISTICS) {
            let counted = number(content);
            match kind {
                statistics::IN_OK => counters.received += counted,
                statistics::IN_LATE => counters.late += counted,
                statistics::IN_DELAYED => counters.delayed += counted,
                statistics::IN_NOT_VALID => counters.not_valid += counted,
                statistics::IN_NOT_USING_SA => counters.no_association += counted,
                _ => {}
            }
        }
    }
    for (kind, content) in inside(all, attribute::TRANSMIT_STATISTICS) {
        match kind {
            statistics::OUT_PROTECTED => counters.sent_protected = number(content),
            statistics::OUT_ENCRYPTED => counters.sent_encrypted = number(content),
            _ => {}
        }
    }
    for (kind, content) in inside(all, attribute::SECY_STATISTICS) {
        let counted = number(content);
        match kind {
            statistics::OUT_TOO_LONG => counters.too_long = counted,
            statistics::IN_NO_TAG => counters.no_tag = counted,
            statistics::IN_BAD_TAG => counters.bad_tag = counted,
            statistics::IN_UNKNOWN_SCI | statistics::IN_NO_SCI => counters.unknown_channel += counted,
            statistics::IN_OVERRUN => counters.overrun = counted,
            _ => {}
        }
    }
    Some(state)
}

fn associations(listed: &[u8]) -> BTreeMap<An, SaState> {
    let read = |of_it: &[u8]| {
        let state = SaState {
            active: number(find(of_it, association::ACTIVE)?) != 0,
            next_packet: number(find(of_it, association::PACKET_NUMBER)?),
            key: KeyId(find(of_it, association::KEY_ID)?.try_into().ok()?),
        };
        Some((an(find(of_it, association::AN)?)?, state))
    };
    attributes(listed).filter_map(|(_, of_it)| read(of_it)).collect()
}

fn inside(all: &[u8], wanted: u16) -> Attributes<'_> {
    attributes(find(all, wanted).unwrap_or_default())
}

/// A number of one, two, four or eight bytes in the order of this machine; 0 for anything else.
fn number(content: &[u8]) -> u64 {
    match *content {
        [one] => one.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn an(content: &[u8]) -> Option<An> {
    An::try_from(u8::try_from(number(content)).ok()?).ok()
}

fn sci(content: &[u8]) -> Option<Sci> {
    content.try_into().ok().map(Sci)
}
