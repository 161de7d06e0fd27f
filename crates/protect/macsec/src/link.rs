//! One link of a node: its device, the exchanges over its port, and the keys that come from them.

mod admission;
mod authenticated;
mod eap;
mod greeting;
mod kept;
mod keyer;
mod listening;
mod proven;
mod record;
mod refusals;
mod removal;
mod setting;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_host::FrameSocket;
use bartizan_ledger::Recorder;
use bartizan_registry::ethertype;
use bartizan_tls::{Endpoint, Established, Refused};

use crate::boot::Boot;
use crate::derive::Direction;
use crate::kernel::{self, Interface, SecY};
use crate::message::{Message, VERSION};
use crate::mka::{Cak, KeyedBy, Supplicant};
use crate::schedule::{Notice, Order};
use crate::segment::{From, Segment};
use crate::session::{Ended, Received, Session};
use crate::{Error, Sci};

use admission::{Admission, Beginning};
use eap::EapPort;
use kept::{Kept, Left};
use keyer::Keyer;
pub use keyer::{EapEnd, MkaSetting};
use listening::Listening;
use proven::Proven;
use refusals::Refusals;
use removal::Removal;
pub use setting::{RUN, Setting, endpoint, peers};
pub use status::{Association, EapStatus, Exchange, MkaStatus, Status};

/// Frames that are taken in one turn.
const FRAMES: usize = 256;
/// Interval between looks at the device, the peer's silence after which it is probed, and that
/// after which it counts as gone.
const LOOK: Duration = Duration::from_secs(1);
const ALIVE: Duration = Duration::from_secs(2);
const GONE: Duration = Duration::from_secs(7);
/// Until an exchange that failed is begun again: twice as long each time.
const FIRST_AGAIN: Duration = Duration::from_millis(250);
const LAST_AGAIN: Duration = Duration::from_secs(8);

/// Message for keys that end.
const UNPROVEN: &str = "the peer has not proven itself again in time";

/// One link of a node.
#[derive(Debug)]
pub struct Link {
    /// Settings of the link.
    pub setting: Setting,
    /// None where no keys are exchanged: the CAK is in a file.
    exchange: Option<(Endpoint, FrameSocket)>,
    /// EAP behind the CAK, where this end is the authenticator.
    eap: Option<Box<EapPort>>,
    recorder: Recorder,
    port: Interface,
    secy: SecY,
    own: Sci,
    keyer: Keyer,
    /// Exchanges whose peer has not said its first word, by conversation.
    beginning: BTreeMap<u64, Beginning>,
    admission: Admission,
    current: Option<Peer>,
    /// Authentication behind the keys, where this process saw it.
    proven: Option<Proven>,
    /// The same of a predecessor, until the peer proves itself to this process.
    left: Option<Box<Left>>,
    kept: Kept,
    /// Keys that are to be removed and are still there.
    removal: Option<Box<Removal>>,
    again: Duration,
    dial_at: Instant,
    look_at: Instant,
    seen: status::Seen,
    refusals: Refusals,
    listening: Listening,
}

/// The peer, as long as it answers.
#[derive(Debug)]
struct Peer {
    session: Session,
    sci: Sci,
    established: Arc<Established>,
    heard: Instant,
    said: Instant,
}

impl Link {
    /// Makes the device, or takes over what a predecessor left, and begins.
    ///
    /// # Errors
    ///
    /// Fails if port, kernel or rights do not allow it.
    pub fn open(
        setting: Setting,
        endpoint: Option<&Endpoint>,
        recorder: &Recorder,
        now: Instant,
    ) -> Result<Self, Error> {
        let port = setting.port()?;
        let address = kernel::ethernet_address(&port)?;
        SecY::mtu_on(&port, setting.mtu)?;
        let secy = Self::device(&setting, &port)?;
        if !port.is_up {
            // One that came back has no guard yet where the kernel removes rules with their interface.
            if let Some(guard) = setting.guard.as_ref().filter(|guard| !guard.knows(port.index)) {
                guard.close()?;
            }
            kernel::set_up(&port)?;
        }
        kernel::set_up(secy.interface())?;
        let eap = match (setting.eap(), endpoint) {
            (Some(EapEnd::Authenticator), Some(endpoint)) => {
                Some(Box::new(EapPort::open(&setting.port, address, endpoint)?))
            }
            _ => None,
        };
        let endpoint = endpoint.filter(|_| setting.has_exchange());
        let exchange = match endpoint {
            None => None,
            Some(endpoint) => {
                let socket = FrameSocket::open(&setting.port, address, ethertype::LOCAL_EXPERIMENTAL)?;
                Some((endpoint.clone(), socket))
            }
        };
        let state = secy.state()?;
        let judge = exchange.as_ref().map(|(endpoint, _)| endpoint);
        let judge = judge.or_else(|| eap.as_ref().map(|port| &port.endpoint));
        let mut refusal = None;
        let left = Left::read(&setting, now, &Boot::now()).and_then(|mut left| {
            let judged = judge.map_or(Ok(()), |judge| left.judge(&setting, judge, now));
            judged.map_err(|refused| refusal.insert(refused).detail.clone())?;
            Ok(left)
        });
        if setting.mka.is_none() {
            // It would go on to distribute keys that nothing ends.
            Supplicant::end_left(&setting.directory, &setting.port);
        }
        let (keyer, found) = Keyer::open(&setting, &secy, state.sci, left, now)?;
        let mut kept = Kept::default();
        match &found {
            Some(Ok(_)) => kept.installed.extend(state.keys()),
            Some(Err(said)) => {
                tracing::warn!(link = %setting.name, said, "keys that were found at the port are removed");
                if let Some(refusal) = refusal {
                    recorder.record(record::no_longer_admitted(&setting, &refusal, None));
                }
                kept.forget(&setting);
            }
            None => {}
        }
        Ok(Self {
            keyer,
            exchange,
            eap,
            recorder: recorder.clone(),
            setting,
            port,
            secy,
            own: state.sci,
            beginning: BTreeMap::new(),
            admission: Admission::new(now),
            current: None,
            proven: None,
            left: found.and_then(Result::ok).map(Box::new),
            kept,
            removal: None,
            again: FIRST_AGAIN,
            dial_at: now,
            look_at: now,
            seen: status::Seen::default(),
            refusals: Refusals::default(),
            listening: Listening::default(),
        })
    }

    /// The device: that which is there, where it is as the file asks.
    fn device(setting: &Setting, port: &Interface) -> Result<SecY, Error> {
        if let Some(secy) = SecY::open(&setting.device, port)? {
            let Some(difference) = secy.state()?.difference(&setting.device_settings) else {
                return Ok(secy);
            };
            tracing::warn!(device = %setting.device, difference, "the MACsec device is not as the file asks: it is made anew");
            secy.remove()?;
        }
        SecY::create(&setting.device, port, &setting.device_settings)
    }

    /// Other credentials, or what they are judged by. The standing link is judged anew.
    pub(crate) fn reloaded(&mut self, endpoint: &Endpoint, now: Instant) {
        if let Some((known, _)) = &mut self.exchange {
            *known = endpoint.clone();
        }
        if let Some(port) = &mut self.eap {
            port.endpoint = endpoint.clone();
        }
        if let Some(proven) = &mut self.proven {
            proven.hurry(now);
        }
        if let Some(left) = &mut self.left {
            left.hurry(now);
        }
        self.look_at = now;
        if let (Keyer::Eap(eap), None) = (&mut self.keyer, &self.removal) {
            // wpa_supplicant reads them when it begins, and judges no one again.
            let orders = eap.authentication.rekey();
            self.follow(orders, now);
        }
    }

    /// Ends keys that are due while the port is away.
    pub(crate) fn end_in_time(&mut self, now: Instant) {
        if self.removal.is_some() {
            return self.remove_keys(now);
        }
        if self.keyer.authentication().1.is_some_and(|at| at <= now) {
            self.keyer.end(now);
            self.cease(UNPROVEN, now);
        }
        self.judge(now);
    }

    /// Takes the place of a link whose port was away. What is left of its time is in the record.
    pub(crate) fn follow_on(&mut self, before: Self) {
        if let (Some(_), Some(proven)) = (&self.left, before.proven) {
            (self.left, self.proven) = (None, Some(proven));
        }
    }

    /// Its socket, to wait for frames. None if no keys are exchanged, and while none are taken: one
    /// frame that waits would have this end look without a pause.
    pub fn socket(&self) -> Option<&FrameSocket> {
        if self.removal.is_some() {
            return None;
        }
        let exchange = self.exchange.as_ref().map(|(_, socket)| socket);
        exchange.or(self.eap.as_ref().map(|port| &port.socket))
    }

    /// Does the work that is due, and returns the time at which more is due at the latest.
    ///
    /// # Errors
    ///
    /// Fails if the port or the device is gone: the link is to be opened again.
    pub fn turn(&mut self, now: Instant) -> Result<Instant, Error> {
        if let Some(again) = self.removes(now) {
            return Ok(again);
        }
        self.take_frames(now)?;
        self.take_eapol(now)?;
        if now >= self.look_at {
            self.look_at = now + LOOK;
            self.look(now)?;
        } else if self.keyer.wake().is_some_and(|at| at <= now) {
            let orders = self.keyer.passed(now);
            self.follow(orders, now);
        }
        self.keep_alive(now);
        self.dial(now);
        self.authenticate(now)?;
        self.send_frames(now)?;
        let sessions = self.beginning.values().map(|beginning| &beginning.session);
        let sessions = sessions.chain(self.current.as_ref().map(|peer| &peer.session));
        let wakes = sessions.filter_map(Session::wake).chain(self.keyer.wake());
        let wakes = wakes
            .chain(self.eap.as_ref().and_then(|port| port.wake()))
            .chain(self.run_at());
        let dial = self.may_dial().then_some(self.dial_at);
        Ok(wakes.chain(dial).chain([self.look_at]).min().unwrap_or(self.look_at))
    }

    /// Asks for another key to send with; with `fresh`, by another exchange, which gives one to the peer too.
    pub fn rekey(&mut self, fresh: bool, now: Instant) {
        if self.removal.is_some() {
            return;
        }
        let orders = self.keyer.rekey(fresh, now);
        self.follow(orders, now);
    }

    /// State of the link.
    pub fn status(&self, now: Instant) -> Status {
        let state = self.secy.state().ok();
        self.seen.status(
            &self.setting,
            self.secy.interface().mtu,
            state.as_ref(),
            (&self.keyer, self.certificate_ends(now)),
            self.answers(),
            now,
        )
    }

    /// Returns true if the peer answers: the exchange's, or MKA's if there is no exchange.
    fn answers(&self) -> bool {
        match (&self.exchange, self.keyer.is_agreed()) {
            (None, Some(agreed)) => agreed,
            _ => self.current.is_some(),
        }
    }

    /// State of the link: up, peer answers, numbers of keys and exchanges, trouble.
    pub(crate) fn known(&self) -> (bool, bool, u64, u64, Option<String>) {
        self.seen.known(self.answers())
    }

    /// Removes the device with its keys: nothing passes any more.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn take_down(mut self) -> Result<(), Error> {
        if let Some(supplicant) = self.keyer.supplicant() {
            supplicant.stop();
        }
        self.kept.forget(&self.setting);
        self.secy.remove()
    }

    fn take_frames(&mut self, now: Instant) -> Result<(), Error> {
        for _ in 0..FRAMES {
            // Output of a session goes out at the end of the turn.
            let Some((endpoint, socket)) = &mut self.exchange else {
                break;
            };
            let Some(frame) = socket.receive()? else { break };
            let Some(segment) = Segment::read(frame) else { continue };
            if segment == Segment::LISTENS {
                self.peer_listens(now);
                continue;
            }
            let conversation = segment.conversation;
            let received = if let Some(peer) = self
                .current
                .as_mut()
                .filter(|peer| peer.session.conversation() == conversation)
            {
                peer.session.receive(&segment, &self.setting.binding, now)
            } else {
                let begins = segment.from == From::Client && segment.sequence == 0 && !segment.payload.is_empty();
                if !self.beginning.contains_key(&conversation) {
                    if !begins || self.setting.direction != Direction::FromServer {
                        continue;
                    }
                    if !self.admission.admits(&mut self.beginning, now) {
                        self.seen
                            .trouble("more exchanges are begun than a peer begins: does another sender use the wire?");
                        continue;
                    }
                    let accepting = match self.setting.accept(endpoint) {
                        Ok(accepting) => accepting,
                        Err(error) => {
                            self.seen.trouble(&error.to_string());
                            continue;
                        }
                    };
                    let session = Session::accept(accepting, conversation, self.port.mtu, now);
                    self.beginning.insert(conversation, Beginning::of(session));
                }
                let Some(beginning) = self.beginning.get_mut(&conversation) else {
                    continue;
                };
                beginning.session.receive(&segment, &self.setting.binding, now)
            };
            match received {
                Ok(received) => {
                    for received in received {
                        self.handle(conversation, received, now);
                    }
                }
                Err(ended) => self.end(conversation, &ended, now),
            }
        }
        Ok(())
    }

    fn handle(&mut self, conversation: u64, received: Received, now: Instant) {
        match received {
            Received::Established(established, secret) => {
                let offered = self.keyer.offer();
                let hello = Message::Hello {
                    mka: offered.clone(),
                    version: VERSION,
                    sci: self.own.to_string(),
                    suite: self.setting.device_settings.suite.name.to_owned(),
                };
                let Some(beginning) = self.beginning.get_mut(&conversation) else {
                    return;
                };
                beginning.established = Some((established, secret));
                beginning.offered = offered;
                if let Err(ended) = beginning.session.send(&hello) {
                    self.end(conversation, &ended, now);
                }
            }
            Received::Message(message) if self.beginning.contains_key(&conversation) => {
                self.first_word(conversation, &message, now);
            }
            Received::Message(message) => {
                let current = self.current.as_mut();
                let Some(peer) = current.filter(|peer| peer.session.conversation() == conversation) else {
                    return;
                };
                peer.heard = now;
                match self.keyer.received(&message, now) {
                    Ok(orders) => self.follow(orders, now),
                    Err(fault) => self.lose(&fault.to_string(), now),
                }
            }
        }
    }

    /// Does what the schedule orders. What the kernel does not do costs the connection: the next one begins with what the kernel has.
    fn follow(&mut self, orders: Vec<Order>, now: Instant) {
        for order in orders {
            if let Err(said) = self.obey(order, now) {
                return self.lose(&said, now);
            }
        }
    }

    fn obey(&mut self, order: Order, now: Instant) -> Result<(), String> {
        let peer = self.current.as_ref().map(|peer| peer.sci);
        if let Order::InstallReceive { sak, .. } | Order::InstallTransmit { sak, .. } = &order {
            // A successor removes keys that are not in the record: they come into it first.
            self.kept.installed.push(sak.id);
            self.keep(now);
        }
        let done = match order {
            Order::Send(message) => {
                let Some(peer) = &mut self.current else { return Ok(()) };
                peer.said = now;
                return peer.session.send(&message).map_err(|ended| ended.to_string());
            }
            Order::InstallReceive { an, sak } => match peer {
                Some(sci) => self.secy.install_receive(sci, an, &sak),
                None => Ok(()),
            },
            Order::RemoveReceive(an) => match peer.or(self.seen.peer) {
                Some(sci) => self.secy.remove_receive(sci, an),
                None => Ok(()),
            },
            Order::InstallTransmit { an, sak } => self.secy.install_transmit(an, &sak),
            Order::TransmitWith(an) => self.secy.transmit_with(an),
            Order::RemoveTransmit(an) => self.secy.remove_transmit(an),
            Order::Supplicant(cak) => {
                self.key_by(&cak, now);
                Ok(())
            }
            Order::Authenticate => {
                self.begin_anew(now);
                Ok(())
            }
            Order::Exchange => {
                self.dial_at = now;
                self.seen.wants_exchange = true;
                Ok(())
            }
            Order::Drop => return Err("the peer does not answer".to_owned()),
            Order::End => {
                self.cease(UNPROVEN, now);
                Ok(())
            }
            Order::Notice(notice) => {
                self.notice(&notice, now);
                Ok(())
            }
        };
        done.map_err(|error| error.to_string())
    }

    /// wpa_supplicant begins anew with another CAK. What the one before installed goes: the kernel takes no second channel of the same peer.
    fn key_by(&mut self, cak: &Cak, now: Instant) {
        let Keyer::Mka(mka) = &mut self.keyer else { return };
        mka.supplicant.stop();
        self.seen.gone();
        match self.secy.flush().and_then(|()| mka.supplicant.start(KeyedBy::Cak(cak))) {
            Ok(()) => {
                mka.rotation.started(now);
                self.keep(now);
                tracing::info!(link = %self.setting.name, ckn = %cak.ckn, "wpa_supplicant has another CAK");
            }
            Err(error) => {
                mka.rotation.not_started(now);
                let hint = error.hint().unwrap_or_default();
                tracing::error!(link = %self.setting.name, %error, hint, "no keys are distributed");
                self.seen.trouble(&error.to_string());
            }
        }
    }

    fn notice(&mut self, notice: &Notice, now: Instant) {
        let peer = self.current.as_ref().map(|peer| (peer.sci, &*peer.established));
        if let Notice::NotRekeyed { an, key } = *notice {
            return self.not_rekeyed(an, key);
        }
        if let Some((sci, origin)) = self.keyer.origin() {
            if let Some(event) = record::event_of_mka(&self.setting, self.own, sci, origin, notice) {
                self.recorder.record(event);
            }
            return self.seen.notice(notice, sci, now);
        }
        if let Some(event) = record::event(&self.setting, self.own, peer, notice) {
            self.recorder.record(event);
        }
        self.seen.notice(notice, peer.map(|(sci, _)| sci), now);
        if let (Notice::Receives { .. }, Some((sci, _))) = (notice, peer) {
            // Channel of the peer from before its address changed.
            let others = self.secy.state().map(|state| state.channels).unwrap_or_default();
            for other in others.iter().filter(|other| other.sci != sci) {
                if let Err(error) = self.secy.remove_channel(other.sci) {
                    tracing::warn!(link = %self.setting.name, %error, "a channel of before stays");
                }
            }
        }
    }

    /// The connection to the peer is gone; frames go on under the keys that are installed, until
    /// these end.
    fn lose(&mut self, said: &str, now: Instant) {
        self.keyer.lost();
        self.current = None;
        self.seen.lost(said);
        tracing::warn!(link = %self.setting.name, said, "no connection to the peer: frames go on under the keys that both ends have");
        self.back_off(now);
    }

    fn end(&mut self, conversation: u64, ended: &Ended, now: Instant) {
        if let Some(peer) = self.current.take_if(|peer| peer.session.conversation() == conversation) {
            drop(peer);
            return self.lose(&ended.to_string(), now);
        }
        let Some(mut beginning) = self.beginning.remove(&conversation) else {
            return;
        };
        // The alert that says why.
        let socket = self.exchange.as_mut().map(|(_, socket)| socket);
        if let Some(socket) = socket {
            let _ = beginning.session.poll(now, &mut |frame| {
                let _ = socket.send(&frame);
            });
        }
        if let Ended::Refused(refused) = ended {
            self.count_refused(refused, now);
        }
        self.seen.trouble(&ended.to_string());
        self.back_off(now);
    }

    /// Records that a peer was refused, or has refused this end: not each time.
    fn count_refused(&mut self, refused: &Refused, now: Instant) {
        let Some(times) = self.refusals.count(refused.reason, now) else {
            return;
        };
        self.recorder.record(record::refused(&self.setting, refused, times));
        tracing::warn!(
            link = %self.setting.name, peer = %self.setting.peer, reason = %refused.reason, detail = %refused.detail, times,
            hint = %refused.hint, "no keys were exchanged"
        );
    }

    fn back_off(&mut self, now: Instant) {
        self.dial_at = now + self.again;
        self.again = (self.again * 2).min(LAST_AGAIN);
    }

    /// Returns true if this end may begin an exchange.
    fn may_dial(&self) -> bool {
        let wants = self.exchange.is_some() && (self.current.is_none() || self.seen.wants_exchange);
        // Keys of another exchange would be installed next to those that are still to be removed.
        let wants = wants && self.removal.is_none();
        self.setting.direction == Direction::FromClient && wants && self.beginning.is_empty()
    }

    fn dial(&mut self, now: Instant) {
        if !self.may_dial() || now < self.dial_at {
            return;
        }
        let Some((endpoint, _)) = &self.exchange else { return };
        let connecting = match self.setting.connect(endpoint) {
            Ok(connecting) => connecting,
            Err(error) => {
                self.seen.trouble(&error.to_string());
                return self.back_off(now);
            }
        };
        self.seen.wants_exchange = false;
        let conversation = random();
        match Session::begin(connecting, conversation, self.port.mtu, now) {
            Ok(session) => {
                self.beginning.insert(conversation, Beginning::of(session));
            }
            Err(ended) => {
                self.seen.trouble(&ended.to_string());
                self.back_off(now);
            }
        }
    }

    fn keep_alive(&mut self, now: Instant) {
        let Some(peer) = &mut self.current else { return };
        if now.saturating_duration_since(peer.heard) >= GONE {
            return self.lose("the peer says nothing", now);
        }
        if now.saturating_duration_since(peer.said) >= ALIVE {
            peer.said = now;
            if let Err(ended) = peer.session.send(&Message::Alive) {
                self.lose(&ended.to_string(), now);
            }
        }
    }

    fn send_frames(&mut self, now: Instant) -> Result<(), Error> {
        let listens = self.listens();
        let Self {
            beginning,
            current,
            exchange,
            ..
        } = self;
        let Some((_, socket)) = exchange else { return Ok(()) };
        if let Some(frame) = listens {
            // One that is lost costs the peer its timer.
            let _ = socket.send(&frame);
        }
        let mut over = Vec::new();
        let mut failed = None;
        let sessions = beginning.values_mut().map(|beginning| &mut beginning.session);
        for session in sessions.chain(current.as_mut().map(|peer| &mut peer.session)) {
            let polled = session.poll(now, &mut |frame| {
                if let Err(error) = socket.send(&frame) {
                    failed = Some(error);
                }
            });
            if let Err(ended) = polled {
                over.push((session.conversation(), ended));
            }
        }
        for (conversation, ended) in over {
            self.end(conversation, &ended, now);
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// State of the device, which is set again where another program has changed it, such as a
    /// wpa_supplicant whose key server wants frames without protection.
    fn as_asked(&self) -> Result<kernel::State, Error> {
        let asked = &self.setting.device_settings;
        let state = self.secy.state()?;
        let Some(difference) = state.difference(asked) else {
            return Ok(state);
        };
        let (link, device) = (&self.setting.name, &self.setting.device);
        tracing::error!(%link, %device, difference, "the MACsec device is not as the file asks: it is set again");
        self.secy.set(asked)?;
        let state = self.secy.state()?;
        match state.difference(asked) {
            None => Ok(state),
            Some(difference) => Err(Error::DeviceTaken {
                device: device.clone(),
                what: format!("was changed by another program: {difference}"),
            }),
        }
    }

    /// Asks for other keys where one of this process is no longer in use in the kernel: another
    /// program removed it, or its packet numbers are used up. MKA looks after its own.
    fn look_for_keys(&mut self, state: &kernel::State, now: Instant) {
        if self.keyer.is_agreed().is_none() && !self.seen.are_in(state) {
            self.seen.gone();
            self.seen
                .trouble("a key is no longer in use in the kernel, and this program did not remove it");
            self.rekey(true, now);
        }
    }

    /// Looks at port and device, and how many frames the key has protected.
    fn look(&mut self, now: Instant) -> Result<(), Error> {
        let port = self.setting.port()?;
        if port.index != self.port.index {
            return Err(Error::NoInterface(self.setting.port.clone()));
        }
        self.port = port;
        self.take_log(now);
        let state = self.as_asked()?;
        self.look_for_keys(&state, now);
        let (orders, trouble) = self.keyer.look(&state, now);
        match (self.keyer.is_agreed(), trouble) {
            (Some(_), Some(said)) => self.seen.trouble(&said),
            // An agreement of MKA ends its trouble.
            (Some(true), None) => self.seen.well(),
            _ => {}
        }
        if self.keyer.is_agreed() == Some(false) {
            self.seen.gone();
        }
        self.kept.retain(&state);
        self.follow(orders, now);
        self.judge(now);
        if self.removal.is_none() {
            self.keep(now);
        }
        Ok(())
    }
}

/// The number of a conversation: no other has it by chance.
fn random() -> u64 {
    let mut octets = [0; 8];
    // Without chance there is no TLS either: the handshake says so.
    let _ = aws_lc_rs::rand::fill(&mut octets);
    u64::from_be_bytes(octets)
}
