//! The first message of a peer, which makes an exchange that of the link or ends it.

use std::sync::Arc;
use std::time::Instant;

use super::keyer::Keyer;
use super::{Beginning, FIRST_AGAIN, Link, Peer};
use crate::Sci;
use crate::message::{Message, VERSION};
use crate::schedule::{Installed, Order};
use crate::session::Session;

/// Relevant content of a peer's greeting.
struct Greeted<'a> {
    sci: Sci,
    installed: Installed,
    /// The name of the CAK that the peer runs under.
    mka: &'a str,
}

impl Link {
    /// The peer's first message makes an exchange that of the link: both ends know then that the other has judged it well.
    pub(super) fn first_word(&mut self, conversation: u64, message: &Message, now: Instant) {
        let Some(beginning) = self.beginning.remove(&conversation) else {
            return;
        };
        let Beginning {
            session,
            established,
            offered,
        } = beginning;
        let Some((established, secret)) = established else {
            return self.part(session, "the peer's first message came before the handshake's end", now);
        };
        let greeted = match self.greeted(message, offered.is_some()) {
            Ok(greeted) => greeted,
            Err(said) => return self.part(session, &said, now),
        };
        let established = Arc::from(established);
        self.seen.exchanged(&established, session.began, now);
        self.proven_by(Arc::clone(&established), now);
        self.current = Some(Peer {
            session,
            sci: greeted.sci,
            established: Arc::clone(&established),
            heard: now,
            said: now,
        });
        self.again = FIRST_AGAIN;
        let orders = match &mut self.keyer {
            Keyer::Direct(schedule) => schedule.connected(&secret, greeted.sci, greeted.installed, now),
            // It has no exchange that could greet.
            Keyer::Eap(_) => Vec::new(),
            Keyer::Mka(mka) => {
                let offered = offered.unwrap_or_default();
                let orders = mka.rotation.connected(secret.cak(), &offered, greeted.mka, now);
                if orders.iter().any(|order| matches!(order, Order::Supplicant(_))) {
                    mka.origin = Some(established);
                }
                orders
            }
        };
        self.follow(orders, now);
    }

    fn greeted<'a>(&self, message: &'a Message, by_mka: bool) -> Result<Greeted<'a>, String> {
        let suite = self.setting.device_settings.suite.name;
        let Message::Hello {
            version,
            sci,
            suite: theirs,
            mka,
        } = message
        else {
            return Err("the peer's first message is no greeting".to_owned());
        };
        if *version != VERSION || theirs != suite {
            return Err(format!(
                "the peer has version {version} and {theirs}, this end {VERSION} and {suite}"
            ));
        }
        if mka.is_some() != by_mka {
            return Err("one end keys by MKA and the other directly: their files differ".to_owned());
        }
        let sci = Sci::parse(sci).filter(|sci| *sci != self.own);
        let sci = sci.ok_or("the peer names no channel of its own")?;
        let state = self.secy.state().map_err(|error| error.to_string())?;
        let of_peer = state
            .channel(sci)
            .map(|channel| channel.associations.keys().copied().collect());
        Ok(Greeted {
            sci,
            installed: Installed {
                encoding: state.operational.then_some(state.encoding),
                transmit: state.transmit.iter().map(|(&an, sa)| (an, sa.key)).collect(),
                receive: of_peer.unwrap_or_default(),
            },
            mka: mka.as_deref().unwrap_or_default(),
        })
    }

    /// Ends an exchange with a peer that this end has no keys in common with. What this end has said reaches the peer, which sees the same.
    fn part(&mut self, mut session: Session, said: &str, now: Instant) {
        if let Some((_, socket)) = &mut self.exchange {
            let _ = session.poll(now, &mut |frame| {
                let _ = socket.send(&frame);
            });
        }
        self.seen.trouble(said);
        self.back_off(now);
    }
}
