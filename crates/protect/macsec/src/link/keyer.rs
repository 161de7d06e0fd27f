//! Origin of a link's keys, once an exchange has ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bartizan_deployment::Exception;
use bartizan_ledger::{Code, Direction as Began, MacsecCak, Verdict};
use bartizan_registry::{NamedGroup, Safety, group};
use bartizan_tls::Established;

use super::kept::Left;
use super::{Setting, record};
use crate::kernel::{SecY, State};
use crate::message::Message;
use crate::mka::{Agreed, Authentication, CakFile, EapPeer, KeyedBy, Rotation, Supplicant};
use crate::schedule::{Fault, Order, Schedule};
use crate::{Error, KeyId, Sci};

/// Origin of a link's keys.
#[derive(Debug)]
pub(super) enum Keyer {
    /// This process installs them.
    Direct(Box<Schedule>),
    /// wpa_supplicant does, under a CAK that this process gives it.
    Mka(Box<ByMka>),
    /// wpa_supplicant does, under a CAK that it derives when it is authenticated.
    Eap(Box<ByEap>),
}

/// wpa_supplicant, and what it was given.
#[derive(Debug)]
pub(super) struct ByMka {
    pub(super) rotation: Rotation,
    pub(super) supplicant: Supplicant,
    /// File of the CAK, if it comes from one.
    pub(super) file: Option<CakFile>,
    /// The exchange that the CAK comes from, where this process had it.
    pub(super) origin: Option<Arc<Established>>,
    direction: Began,
    /// True if that exchange was EAP-TLS, of which this end is the authenticator.
    by_eap: bool,
    /// The channel of the peer that has the key in use.
    pub(super) peer: Option<Sci>,
}

/// wpa_supplicant as the peer of EAP.
#[derive(Debug)]
pub(super) struct ByEap {
    pub(super) authentication: Authentication,
    pub(super) supplicant: Supplicant,
    /// Its credentials and the authenticator that it accepts.
    with: EapPeer,
    /// The channel of the peer that has the key in use.
    peer: Option<Sci>,
}

/// Which end of EAP-TLS an end of a link is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EapEnd {
    /// It asks, and is the key server of MKA.
    Authenticator,
    /// Its wpa_supplicant answers.
    Peer(Box<EapPeer>),
}

/// MKA part of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MkaSetting {
    /// Which end is the key server.
    pub role: crate::mka::Role,
    /// The file that the CAK is in; without one it comes from the exchange, or from EAP-TLS.
    pub file: Option<PathBuf>,
    /// Which end of EAP-TLS this is, where the CAK comes from that.
    pub eap: Option<EapEnd>,
    /// wpa_supplicant, where it is not that of the system.
    pub program: Option<PathBuf>,
}

impl Keyer {
    /// With what a predecessor left, where its record admits that; the reason where it was
    /// removed.
    pub(super) fn open(
        setting: &Setting,
        secy: &SecY,
        own: Sci,
        left: Result<Left, String>,
        now: Instant,
    ) -> Result<(Self, Option<Result<Left, String>>), Error> {
        let Some(mka) = &setting.mka else {
            let suite = setting.device_settings.suite;
            let mut schedule = Schedule::new(setting.terms, suite, setting.direction, own);
            let state = secy.state()?;
            let left = state
                .has_keys()
                .then(|| left.and_then(|left| left.names(state.keys().map(|key| key.to_string()))));
            match &left {
                Some(Ok(left)) => schedule.found(left.authenticated, left.ends),
                Some(Err(_)) => secy.flush()?,
                None => {}
            }
            return Ok((Self::Direct(Box::new(schedule)), left));
        };
        let with = match &mka.eap {
            Some(EapEnd::Peer(with)) => Some(&**with),
            Some(EapEnd::Authenticator) | None => None,
        };
        let mut supplicant = Supplicant::new(
            &setting.port,
            setting.device_settings,
            mka.role,
            secy.interface().index,
            &setting.directory,
            mka.program.clone(),
            with,
        )?;
        keep_addresses(&setting.device);
        let has_keys = secy.state()?.has_keys();
        let mut adopted = None;
        let found = if let Some((ckn, age)) = supplicant.adopt() {
            let left = left.and_then(|left| left.names(ckn.iter().map(ToString::to_string)));
            let left = match ckn.is_none() == with.is_some() {
                true => left,
                false => Err("the wpa_supplicant that agreed on them has its CAK from elsewhere".to_owned()),
            };
            match &left {
                Ok(left) => {
                    let since = now.checked_sub(age).unwrap_or(now);
                    adopted = Some((ckn, since, left.authenticated.unwrap_or(since)));
                }
                Err(_) => supplicant.stop(),
            }
            Some(left)
        } else {
            // One of a device that was made anew since.
            supplicant.stop();
            has_keys.then(|| Err("the wpa_supplicant that agreed on them is gone".to_owned()))
        };
        if adopted.is_none() {
            secy.flush()?;
        }
        if let Some(with) = with {
            let mut authentication = Authentication::new(setting.terms, now);
            if let Some((_, since, authenticated)) = adopted {
                authentication.adopt(since.min(authenticated));
            }
            let by_eap = ByEap {
                authentication,
                supplicant,
                with: with.clone(),
                peer: None,
            };
            return Ok((Self::Eap(Box::new(by_eap)), found));
        }
        let by_eap = mka.eap.is_some();
        let mut rotation = Rotation::new(setting.terms, setting.direction);
        if mka.file.is_some() {
            rotation = rotation.of_file();
        }
        if let Some((Some(ckn), since, given)) = adopted {
            rotation.adopt(ckn, since, given);
            if by_eap {
                rotation.answers();
            }
        }
        let by_mka = ByMka {
            rotation,
            supplicant,
            file: mka.file.as_deref().map(CakFile::new),
            origin: None,
            direction: record::began(setting),
            by_eap,
            peer: None,
        };
        Ok((Self::Mka(Box::new(by_mka)), found))
    }

    /// Last authentication, deadline and names of the keys that are `installed`, for a successor of
    /// this process; none where there are no keys.
    pub(super) fn facts(&self, installed: &[KeyId]) -> Option<(Option<Instant>, Option<Instant>, Vec<String>)> {
        let (authenticated, ends) = self.authentication();
        match self {
            Self::Direct(schedule) => {
                let names: Vec<_> = installed.iter().map(ToString::to_string).collect();
                (!names.is_empty()).then(|| (authenticated, schedule.deadline(), names))
            }
            Self::Mka(mka) => {
                let name = mka.rotation.running()?.to_string();
                Some((mka.rotation.given, ends, vec![name]))
            }
            Self::Eap(eap) => eap.authentication.running.map(|_| (authenticated, ends, Vec::new())),
        }
    }

    /// wpa_supplicant, where there is one.
    pub(super) fn supplicant(&mut self) -> Option<&mut Supplicant> {
        match self {
            Self::Direct(_) => None,
            Self::Mka(mka) => Some(&mut mka.supplicant),
            Self::Eap(eap) => Some(&mut eap.supplicant),
        }
    }

    /// Returns true if MKA has agreed on a key. None if the link does not use MKA.
    pub(super) fn is_agreed(&self) -> Option<bool> {
        match self {
            Self::Direct(_) => None,
            Self::Mka(mka) => Some(mka.rotation.is_agreed()),
            Self::Eap(eap) => Some(eap.authentication.is_agreed()),
        }
    }

    /// The peer's channel, and where the key comes from that MKA has agreed on with it; none where it has nothing to agree on.
    pub(super) fn origin(&self) -> Option<(Option<Sci>, record::Origin)> {
        match self {
            Self::Direct(_) => None,
            Self::Mka(mka) => Some((mka.peer, mka.origin())),
            Self::Eap(eap) => Some((eap.peer, eap.origin())),
        }
    }

    /// Takes the kernel's current state. Returns orders, and the trouble if there is any.
    pub(super) fn look(&mut self, state: &State, now: Instant) -> (Vec<Order>, Option<String>) {
        match self {
            Self::Direct(schedule) => {
                let sends = state.transmit.get(&state.encoding);
                let orders = schedule.passed(sends.map(|sa| sa.next_packet.saturating_sub(1)), now);
                (orders, None)
            }
            Self::Mka(mka) => mka.look(state, now),
            Self::Eap(eap) => eap.look(state, now),
        }
    }

    /// The MKA part of an exchange's greeting.
    pub(super) fn offer(&self) -> Option<String> {
        match self {
            Self::Direct(_) | Self::Eap(_) => None,
            Self::Mka(mka) => Some(mka.rotation.offer()),
        }
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        match self {
            Self::Direct(schedule) => schedule.wake(),
            // It is looked at every second, which is soon enough for a day.
            Self::Mka(_) | Self::Eap(_) => None,
        }
    }

    /// Time has passed, of which [`Keyer::wake`] said so.
    pub(super) fn passed(&mut self, now: Instant) -> Vec<Order> {
        match self {
            Self::Direct(schedule) => schedule.passed(None, now),
            Self::Mka(_) | Self::Eap(_) => Vec::new(),
        }
    }

    pub(super) fn rekey(&mut self, fresh: bool, now: Instant) -> Vec<Order> {
        match self {
            Self::Direct(schedule) => schedule.rekey(fresh, now),
            Self::Mka(mka) => mka.rotation.rekey(now),
            Self::Eap(eap) => eap.authentication.rekey(),
        }
    }

    pub(super) fn received(&mut self, message: &Message, now: Instant) -> Result<Vec<Order>, Fault> {
        match self {
            Self::Direct(schedule) => schedule.received(message, now),
            Self::Mka(mka) => mka.rotation.received(message, now),
            // There is no connection that it could come by.
            Self::Eap(_) => Err(Fault::OutOfTurn),
        }
    }

    /// When the peer last proved itself, where that is known, and when all keys end unless it does
    /// again.
    pub(super) fn authentication(&self) -> (Option<Instant>, Option<Instant>) {
        match self {
            Self::Direct(schedule) => schedule.authentication(),
            Self::Mka(mka) => mka.rotation.authentication(),
            Self::Eap(eap) => eap.authentication.authentication(),
        }
    }

    /// The authentication behind the keys is over: these are removed.
    pub(super) fn end(&mut self, now: Instant) {
        match self {
            Self::Direct(schedule) => drop(schedule.end()),
            Self::Mka(mka) => drop(mka.rotation.end()),
            Self::Eap(eap) => eap.authentication.ended(now),
        }
    }

    pub(super) fn lost(&mut self) {
        match self {
            Self::Direct(schedule) => schedule.lost(),
            Self::Mka(mka) => mka.rotation.lost(),
            Self::Eap(_) => {}
        }
    }
}

/// Message about a lost wpa_supplicant.
const ENDED: &str = "wpa_supplicant has ended, and nobody ended it";
/// Message about a key that is gone from the kernel.
const NO_KEY: &str = "MKA has no key with the peer any more";

impl ByMka {
    fn look(&mut self, state: &State, now: Instant) -> (Vec<Order>, Option<String>) {
        self.supplicant.bound_log();
        let (mut orders, mut trouble) = (Vec::new(), None);
        match self.file.as_mut().map(CakFile::changed) {
            Some(Ok(Some(cak))) => orders.extend(self.rotation.given(cak, now)),
            Some(Err(error)) => trouble = Some(error.to_string()),
            None | Some(Ok(None)) => {}
        }
        if orders.is_empty() && self.rotation.running().is_some() && !self.supplicant.is_alive() {
            tracing::error!(said = ENDED, "frames go on under the last key until the peer misses it");
            trouble = Some(ENDED.to_owned());
            orders.extend(self.rotation.ended(now));
        }
        if !orders.is_empty() {
            return (orders, trouble);
        }
        let agreed = agreed(state);
        if agreed.is_none() && self.rotation.is_agreed() {
            self.rotation.gone();
            trouble = Some(NO_KEY.to_owned());
        }
        self.peer = agreed.map(|(_, sci)| sci).or(self.peer);
        orders.extend(self.rotation.seen(agreed.map(|(agreed, _)| agreed), now));
        (orders, trouble)
    }

    fn origin(&self) -> record::Origin {
        let ckn = self.rotation.running().map(ToString::to_string);
        let (cak, verdict) = match (&self.file, &self.origin) {
            (Some(file), _) => {
                let path = file.path().display().to_string();
                let reason = format!("the file gives a pre-shared CAK ({path}): no exchange shows where it comes from");
                (MacsecCak::File { path }, Verdict::Excepted { reason })
            }
            (None, Some(established)) => {
                let (key, negotiated) = (established.key, Box::new(established.negotiated.clone()));
                let chain = established.chain.to_vec();
                let cak = match self.by_eap {
                    true => MacsecCak::EapTls { key, negotiated, chain },
                    false => MacsecCak::Exchange {
                        direction: self.direction,
                        key,
                        negotiated,
                        chain,
                    },
                };
                (cak, established.verdict.clone())
            }
            // A predecessor's, which recorded it under the same name.
            (None, None) => (MacsecCak::Earlier, Verdict::Accepted),
        };
        record::Origin {
            ckn: ckn.unwrap_or_default(),
            cak,
            verdict,
        }
    }
}

impl ByEap {
    /// Starts it, so that it is authenticated.
    pub(super) fn start(&mut self) -> Result<(), Error> {
        self.supplicant.start(KeyedBy::Eap(&self.with))
    }

    fn look(&mut self, state: &State, now: Instant) -> (Vec<Order>, Option<String>) {
        self.supplicant.bound_log();
        let mut trouble = None;
        if self.authentication.running.is_some() && !self.supplicant.is_alive() {
            tracing::error!(said = ENDED, "frames go on under the last key until the peer misses it");
            trouble = Some(ENDED.to_owned());
            self.authentication.ended(now);
        }
        let agreed = agreed(state);
        if agreed.is_none() && self.authentication.is_agreed() {
            self.authentication.gone(now);
            trouble.get_or_insert_with(|| NO_KEY.to_owned());
        }
        self.peer = agreed.map(|(_, sci)| sci).or(self.peer);
        let orders = self.authentication.seen(agreed.map(|(agreed, _)| agreed), now);
        (orders, trouble)
    }

    fn origin(&self) -> record::Origin {
        let groups = self.supplicant.groups();
        record::Origin {
            ckn: String::new(),
            cak: MacsecCak::EapTlsPeer {
                groups: groups.iter().copied().map(Code::from).collect(),
            },
            verdict: verdict(self.with.policy.exception.as_ref(), groups),
        }
    }
}

/// The verdict of EAP-TLS that used one of these groups; of any where none is known. Frames do not
/// show which: any host on the wire can send them.
fn verdict(exception: Option<&Exception>, groups: &[NamedGroup]) -> Verdict {
    let quantum_safe = |code: &NamedGroup| group(*code).is_some_and(|known| known.recording == Safety::QuantumSafe);
    match exception {
        Some(exception) if groups.is_empty() || !groups.iter().all(quantum_safe) => Verdict::Excepted {
            reason: exception.reason.clone(),
        },
        _ => Verdict::Accepted,
    }
}

/// The key that both directions have in common, and the channel of the peer that sends with it.
pub(super) fn agreed(state: &State) -> Option<(Agreed, Sci)> {
    let sends = state.sends()?;
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

/// wpa_supplicant sets the device down for a moment when it begins: its configured addresses of
/// IPv6 would go with that, and those of IPv4 do not.
fn keep_addresses(device: &str) {
    let place = format!("/proc/sys/net/ipv6/conf/{device}/keep_addr_on_down");
    // A kernel without IPv6 has none to keep.
    let _ = std::fs::write(place, "1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshake_that_can_have_been_classical_is_an_exception() {
        let exception = Exception {
            reason: "a switch of 2019".to_owned(),
            owner: None,
            expires: bartizan_deployment::day_of(std::time::SystemTime::UNIX_EPOCH),
        };
        let (hybrid, classical) = (NamedGroup(0x11ec), NamedGroup(0x001d));
        for (groups, accepted) in [
            (&[hybrid][..], true),
            (&[hybrid, classical], false),
            (&[classical], false),
            // A predecessor started wpa_supplicant: nothing that frames showed stands for its word.
            (&[], false),
        ] {
            assert_eq!(
                verdict(Some(&exception), groups) == Verdict::Accepted,
                accepted,
                "{groups:?}"
            );
            assert_eq!(verdict(None, groups), Verdict::Accepted);
        }
    }
}
