//! Ledger events of a link.

use std::time::Duration;

use bartizan_ledger::{
    Direction as Began, Event, MacsecCak, MacsecCause, MacsecEnd, MacsecKey, MacsecLink, MacsecNotRekeyed,
    MacsecOrigin, MacsecOutlived, MacsecRefused, Verdict,
};
use bartizan_tls::{Established, Refusal, Refused};

use super::{EapEnd, Setting};
use crate::derive::Direction;
use crate::kernel::Confidentiality;
use crate::schedule::{Cause, Notice};
use crate::{An, KeyId, Sci};

/// The event of a notice; none where the connection that it came from is gone.
pub(super) fn event(setting: &Setting, own: Sci, peer: Option<(Sci, &Established)>, notice: &Notice) -> Option<Event> {
    let origin = || {
        let (_, established) = peer?;
        let origin = MacsecOrigin::Direct {
            direction: began(setting),
            key: established.key,
            negotiated: Box::new(established.negotiated.clone()),
            chain: established.chain.to_vec(),
        };
        Some((origin, established.verdict.clone()))
    };
    of_notice(setting, [Some(own), peer.map(|(sci, _)| sci)], notice, origin)
}

/// Origin of a key that MKA distributed.
#[derive(Debug)]
pub(super) struct Origin {
    /// The name of the CAK; empty where it is not known.
    pub(super) ckn: String,
    pub(super) cak: MacsecCak,
    pub(super) verdict: Verdict,
}

/// The event of a notice about a key that MKA distributed: both directions have the same.
pub(super) fn event_of_mka(
    setting: &Setting,
    own: Sci,
    peer: Option<Sci>,
    origin: Origin,
    notice: &Notice,
) -> Option<Event> {
    let Origin { ckn, cak, verdict } = origin;
    let origin = || Some((MacsecOrigin::Mka { ckn, cak }, verdict));
    of_notice(setting, [Some(own), peer], notice, origin)
}

fn of_notice(
    setting: &Setting,
    [own, peer]: [Option<Sci>; 2],
    notice: &Notice,
    origin: impl FnOnce() -> Option<(MacsecOrigin, Verdict)>,
) -> Option<Event> {
    let (used_by, sci, generation, an, key, cause) = match *notice {
        Notice::Outlived { an, key, age, packets } => return Some(outlived(setting, an, key, age, packets)),
        Notice::NotRekeyed { an, key } => return Some(not_rekeyed(setting, an, key)),
        Notice::Sends {
            generation,
            an,
            key,
            cause,
        } => (MacsecEnd::Us, own?, generation, an, key, word(cause)),
        Notice::Receives { generation, an, key } => (MacsecEnd::Peer, peer?, generation, an, key, MacsecCause::Peer),
    };
    let (origin, verdict) = origin()?;
    Some(Event::MacsecKey(Box::new(MacsecKey {
        link: link(setting),
        used_by,
        sci: sci.to_string(),
        an: an.number(),
        key_id: key.to_string(),
        generation,
        cause,
        suite: setting.device_settings.suite.name.to_owned(),
        encrypted: setting.device_settings.confidentiality == Confidentiality::Encrypted,
        origin,
        verdict,
    })))
}

/// That a peer was authenticated again and its key stayed the same.
pub(super) fn not_rekeyed(setting: &Setting, an: An, key: KeyId) -> Event {
    Event::MacsecNotRekeyed(Box::new(MacsecNotRekeyed {
        link: link(setting),
        an: an.number(),
        key_id: key.to_string(),
    }))
}

fn outlived(setting: &Setting, an: An, key: KeyId, age: Duration, packets: u64) -> Event {
    Event::MacsecOutlived(Box::new(MacsecOutlived {
        link: link(setting),
        an: an.number(),
        key_id: key.to_string(),
        age_s: age.as_secs(),
        packets,
    }))
}

fn word(cause: Cause) -> MacsecCause {
    match cause {
        Cause::Exchange => MacsecCause::Exchange,
        Cause::Time => MacsecCause::Time,
        Cause::Packets => MacsecCause::Packets,
        Cause::Asked => MacsecCause::Asked,
        Cause::Peer => MacsecCause::Peer,
        Cause::KeyServer => MacsecCause::KeyServer,
        Cause::Found => MacsecCause::Found,
    }
}

/// The event of an exchange that was refused.
pub(super) fn refused(setting: &Setting, refused: &Refused, times: u64) -> Event {
    Event::MacsecRefused(Box::new(MacsecRefused {
        link: link(setting),
        direction: began(setting),
        reason: refused.reason.to_string(),
        detail: refused.detail.clone(),
        times,
        negotiated: refused.negotiated.clone().map(Box::new),
        chain: refused.chain.clone(),
    }))
}

/// The event of a peer that proved itself and would be refused now: the keys of the link end.
pub(super) fn no_longer_admitted(setting: &Setting, refusal: &Refusal, established: Option<&Established>) -> Event {
    Event::MacsecRefused(Box::new(MacsecRefused {
        link: link(setting),
        direction: began(setting),
        reason: refusal.reason.to_string(),
        detail: refusal.detail.clone(),
        times: 1,
        negotiated: established.map(|established| Box::new(established.negotiated.clone())),
        chain: established
            .map(|established| established.chain.to_vec())
            .unwrap_or_default(),
    }))
}

fn link(setting: &Setting) -> MacsecLink {
    MacsecLink {
        interface: setting.interface.name().to_owned(),
        peer: setting.peer.clone(),
        port: setting.port.clone(),
        device: setting.device.clone(),
    }
}

/// Which end began: of EAP-TLS the peer is the client of TLS.
pub(super) fn began(setting: &Setting) -> Began {
    if setting.eap() == Some(&EapEnd::Authenticator) {
        return Began::Inbound;
    }
    match setting.direction {
        Direction::FromClient => Began::Outbound,
        Direction::FromServer => Began::Inbound,
    }
}
