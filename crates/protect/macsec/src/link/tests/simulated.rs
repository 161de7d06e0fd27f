//! A link without a kernel and without a wire, which is up with a peer in the same process: for what a link takes of memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bartizan_ledger::Recorder;
use bartizan_tls::{Endpoint, Established};

use super::super::admission::Admission;
use super::super::kept::Kept;
use super::super::keyer::Keyer;
use super::super::listening::Listening;
use super::super::refusals::Refusals;
use super::super::{FIRST_AGAIN, Link, Peer, Proven, Setting, status};
use crate::Sci;
use crate::derive::Secret;
use crate::kernel::{Interface, SecY};
use crate::message::{Message, VERSION};
use crate::schedule::{Installed, Notice, Order, Schedule};
use crate::segment::Segment;
use crate::session::{Received, Session};

/// Octets that frames of a port may have.
const MTU: u32 = 9000;

/// One end of it: what an exchange and a schedule say goes to the other, what they have the kernel do is done.
struct End<'a> {
    setting: &'a Setting,
    session: Session,
    sci: Sci,
    schedule: Schedule,
    notices: Vec<Notice>,
    established: Option<(Box<Established>, Secret)>,
}

impl<'a> End<'a> {
    fn new(setting: &'a Setting, session: Session, address: [u8; 6]) -> Self {
        let (sci, suite) = (Sci::new(address, 1), setting.device_settings.suite);
        Self {
            setting,
            session,
            sci,
            schedule: Schedule::new(setting.terms, suite, setting.direction, sci),
            notices: Vec::new(),
            established: None,
        }
    }

    fn follow(&mut self, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Send(message) => self.session.send(&message).unwrap(),
                Order::Notice(notice) => self.notices.push(notice),
                Order::Drop | Order::End | Order::Exchange => panic!("{order:?}"),
                _ => {}
            }
        }
    }

    fn take(&mut self, frame: &[u8], now: Instant) {
        let segment = Segment::read(frame).unwrap();
        for received in self.session.receive(&segment, &self.setting.binding, now).unwrap() {
            match received {
                Received::Established(established, secret) => {
                    self.established = Some((established, secret));
                    let hello = Message::Hello {
                        mka: None,
                        version: VERSION,
                        sci: self.sci.to_string(),
                        suite: self.setting.device_settings.suite.name.to_owned(),
                    };
                    self.session.send(&hello).unwrap();
                }
                Received::Message(Message::Hello { .. }) => {}
                Received::Message(message) => {
                    let orders = self.schedule.received(&message, now).unwrap();
                    self.follow(orders);
                }
            }
        }
    }
}

/// Carries frames until neither end has more to say.
fn carry(ends: &mut [End<'_>; 2], now: Instant) {
    loop {
        let mut silent = true;
        for from in [0, 1] {
            let mut frames = Vec::new();
            ends[from].session.poll(now, &mut |frame| frames.push(frame)).unwrap();
            for frame in frames {
                silent = false;
                ends[1 - from].take(&frame, now);
            }
        }
        if silent {
            return;
        }
    }
}

impl Link {
    /// Up by an exchange with a peer, and rekeyed twice by each end since; the peer is gone.
    pub(crate) fn simulated(
        setting: Setting,
        endpoint: &Endpoint,
        (of_peer, peers): (&Setting, &Endpoint),
        recorder: &Recorder,
        now: Instant,
    ) -> Self {
        let connecting = setting.connect(endpoint).unwrap();
        let client = Session::begin(connecting, 7, MTU, now).unwrap();
        let server = Session::accept(of_peer.accept(peers).unwrap(), 7, MTU, now);
        let address = [2, 0, 0, 0, 0, 1];
        let mut ends = [
            End::new(&setting, client, address),
            End::new(of_peer, server, [2, 0, 0, 0, 0, 2]),
        ];
        carry(&mut ends, now);
        let channels = [ends[1].sci, ends[0].sci];
        for (end, peer) in ends.iter_mut().zip(channels) {
            let (_, secret) = end.established.as_ref().expect("the handshake ended well");
            let orders = end.schedule.connected(secret, peer, Installed::default(), now);
            end.follow(orders);
        }
        carry(&mut ends, now);
        for _ in 0..2 {
            for end in &mut ends {
                let orders = end.schedule.rekey(false, now);
                end.follow(orders);
            }
            carry(&mut ends, now);
        }
        let [own, _] = ends;
        let End {
            session,
            sci,
            schedule,
            notices,
            established,
            ..
        } = own;
        let (established, _) = established.expect("the handshake ended well");
        let established = Arc::from(established);
        let mut seen = status::Seen::default();
        seen.exchanged(&established, now, now);
        for notice in &notices {
            seen.notice(notice, Some(channels[0]), now);
        }
        let interface = |name: &str, parent| Interface {
            index: 7,
            name: name.to_owned(),
            mtu: MTU,
            address: Some(address),
            is_up: true,
            parent,
            kind: Some("macsec".to_owned()),
        };
        Self {
            exchange: None,
            eap: None,
            recorder: recorder.clone(),
            port: interface(&setting.port, None),
            secy: SecY::simulated(interface(&setting.device, Some(7))),
            own: sci,
            keyer: Keyer::Direct(Box::new(schedule)),
            beginning: BTreeMap::new(),
            admission: Admission::new(now),
            current: Some(Peer {
                session,
                sci: channels[0],
                established: Arc::clone(&established),
                heard: now,
                said: now,
            }),
            proven: Some(Proven::by(established, None, now)),
            left: None,
            kept: Kept::default(),
            removal: None,
            again: FIRST_AGAIN,
            dial_at: now,
            look_at: now,
            seen,
            refusals: Refusals::default(),
            listening: Listening::default(),
            setting,
        }
    }
}
