//! When keys change, and in which order: what keeps frames from being lost at a rekey.
//!
//! Each end decides on the key that it sends with, so both may rekey at once. A key changes in four steps:
//!
//! 1. The sender derives the next key and asks the receiver to install it under the next association number.
//! 2. The receiver installs it next to those that it has, and answers.
//! 3. The sender installs it too, sends with it from the next frame on, and says so.
//! 4. When what was under way has long arrived, each removes what came before.
//!
//! At no time does the sender use a key that the receiver lacks: whatever is cut off between two steps, frames go on under the key before. A
//! controller that was killed has a successor that knows no secret; it begins with another exchange and with what the kernel has.
//!
//! Keys last no longer than the authentication behind them: at its end all of them are removed,
//! whichever end failed to renew it.
//!
//! No socket, no kernel and no clock here: what is to be done comes out as [`Order`]s, in order.

mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bartizan_registry::MacsecSuite;

use crate::derive::{Chain, Direction, Secret};
use crate::message::Message;
use crate::mka::Cak;
use crate::{An, KeyId, Sak, Sci};

pub use terms::Terms;

/// Why a key came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The first of an exchange.
    Exchange,
    /// The one before was old.
    Time,
    /// It had protected many frames.
    Packets,
    /// An operator or another program asked for it.
    Asked,
    /// The peer decided so.
    Peer,
    /// The key server of MKA decided so.
    KeyServer,
    /// It was in use when this process began.
    Found,
}

/// Work to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Sends it to the peer.
    Send(Message),
    /// Installs a key for what the peer sends.
    InstallReceive {
        /// Its number.
        an: An,
        /// The key.
        sak: Sak,
    },
    /// Removes one.
    RemoveReceive(An),
    /// Installs a key to send with.
    InstallTransmit {
        /// Its number.
        an: An,
        /// The key.
        sak: Sak,
    },
    /// Sends with it.
    TransmitWith(An),
    /// Removes one.
    RemoveTransmit(An),
    /// Starts wpa_supplicant with it, in place of one that runs, which takes its keys along.
    Supplicant(Cak),
    /// Starts wpa_supplicant so that it is authenticated by EAP, in place of one that runs, which takes its keys along.
    Authenticate,
    /// Begins another exchange, while this one goes on.
    Exchange,
    /// Drops the connection to the peer: it does not answer.
    Drop,
    /// Removes all keys of both directions: the peer has to prove itself again first.
    End,
    /// Nothing is to be done: something is to be known.
    Notice(Notice),
}

/// Events for observers of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// This end sends with another key.
    Sends {
        /// Which key of the exchange.
        generation: u64,
        /// Its number.
        an: An,
        /// Its name.
        key: KeyId,
        /// Why it came about.
        cause: Cause,
    },
    /// The peer does.
    Receives {
        /// Which key of the exchange.
        generation: u64,
        /// Its number.
        an: An,
        /// Its name.
        key: KeyId,
    },
    /// The key that this end sends with is older than the policy lets it be, or nearly used up.
    Outlived {
        /// Its number.
        an: An,
        /// Its name.
        key: KeyId,
        /// Its age.
        age: Duration,
        /// Frames that it has protected.
        packets: u64,
    },
    /// The peer was authenticated again, and MKA did not agree on another key after it.
    NotRekeyed {
        /// Its number.
        an: An,
        /// Its name.
        key: KeyId,
    },
}

/// A peer's violation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A message out of turn.
    #[error("the peer's message is out of turn")]
    OutOfTurn,
    /// The peer derived another key.
    #[error("the peer derived another key than this end: their files differ, or somebody is between them")]
    KeyDiffers,
}

/// The kernel's state when a connection begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// The number that is sent with, and all that could be sent with.
    pub encoding: Option<An>,
    /// Keys to send with.
    pub transmit: BTreeMap<An, KeyId>,
    /// Numbers of keys for what the peer sends.
    pub receive: BTreeSet<An>,
}

bartizan_registry::made! {
    /// When keys change on one link.
    #[derive(Debug)]
    pub struct Schedule,
    /// Schedule of one end, which sends on the channel `own` in this direction.
    pub new(terms: Terms, suite: &'static MacsecSuite, direction: Direction, own: Sci) {
        terms: Terms,
        suite: &'static MacsecSuite,
        direction: Direction,
        own: Sci,
        connection: Option<Connection> = None,
        sending: Sending = Sending::default(),
        receiving: Receiving = Receiving::default(),
        /// The last exchange that ended well, where this process had it.
        authenticated: Option<Instant> = None,
        /// When all keys end.
        ends: Option<Instant> = None,
    }
}

/// Result of an exchange.
#[derive(Debug)]
struct Connection {
    peer: Sci,
    sending: Chain,
    receiving: Chain,
    /// Since when another exchange is asked for.
    renewing: Option<Instant>,
}

#[derive(Debug, Default)]
struct Sending {
    current: Option<Current>,
    wanted: Option<Cause>,
    /// True if a fresh exchange is wanted, not only a key.
    fresh: bool,
    offered: Option<Offered>,
    retiring: BTreeMap<An, Instant>,
}

#[derive(Debug)]
struct Current {
    an: An,
    key: KeyId,
    since: Instant,
    packets: u64,
    outlived: bool,
}

#[derive(Debug)]
struct Offered {
    generation: u64,
    an: An,
    sak: Sak,
    cause: Cause,
    since: Instant,
}

#[derive(Debug, Default)]
struct Receiving {
    installed: BTreeSet<An>,
    offered: Option<(u64, An, KeyId)>,
    retiring: BTreeMap<An, Instant>,
}

impl Schedule {
    /// Keys of a predecessor are in the kernel: they have the rest of their time.
    pub fn found(&mut self, authenticated: Option<Instant>, ends: Option<Instant>) {
        (self.authenticated, self.ends) = (authenticated, ends);
    }

    /// When the keys that are installed now end, whatever a successor of this process knows.
    pub fn deadline(&self) -> Option<Instant> {
        let key = self.sending.current.as_ref();
        let key = key.and_then(|current| current.since.checked_add(self.terms.lifetime));
        self.ends.into_iter().chain(key).min()
    }

    /// When the peer last proved itself, and when all keys end unless it does again.
    pub const fn authentication(&self) -> (Option<Instant>, Option<Instant>) {
        (self.authenticated, self.ends)
    }

    /// The authentication behind the keys is over.
    pub fn end(&mut self) -> Vec<Order> {
        self.connection = None;
        (self.sending, self.receiving) = (Sending::default(), Receiving::default());
        (self.authenticated, self.ends) = (None, None);
        vec![Order::End]
    }

    /// An exchange ended well, the first or another: both directions get keys of it at once. `installed` is what the kernel has.
    pub fn connected(&mut self, secret: &Secret, peer: Sci, installed: Installed, now: Instant) -> Vec<Order> {
        self.connection = Some(Connection {
            peer,
            sending: secret.chain(self.direction, self.suite),
            receiving: secret.chain(self.direction.other(), self.suite),
            renewing: None,
        });
        (self.authenticated, self.ends) = (Some(now), now.checked_add(self.terms.authentication()));
        let sending = &mut self.sending;
        sending.offered = None;
        sending.fresh = false;
        sending.wanted = Some(Cause::Exchange);
        let encoding = installed.encoding.filter(|an| installed.transmit.contains_key(an));
        // The kernel may have refused the key after it.
        encoding.and_then(|an| sending.retiring.remove(&an));
        let current = sending.current.take();
        sending.current = encoding.map(|an| match current {
            Some(current) if current.an == an && current.key == installed.transmit[&an] => current,
            // Left by a predecessor: its age is unknown.
            _ => Current {
                an,
                key: installed.transmit[&an],
                since: now,
                packets: 0,
                outlived: false,
            },
        });
        let until = now + self.terms.grace;
        for &an in installed.transmit.keys().filter(|&&an| Some(an) != encoding) {
            sending.retiring.entry(an).or_insert(until);
        }
        sending.retiring.retain(|an, _| installed.transmit.contains_key(an));
        self.receiving.offered = None;
        self.receiving.installed = installed.receive;
        self.advance(now)
    }

    /// The connection is gone. Frames go on under the keys that are installed, until these end.
    pub fn lost(&mut self) {
        self.connection = None;
        self.sending.offered = None;
        self.receiving.offered = None;
    }

    /// A key is asked for; with `fresh`, one of another exchange.
    pub fn rekey(&mut self, fresh: bool, now: Instant) -> Vec<Order> {
        self.sending.wanted.get_or_insert(Cause::Asked);
        self.sending.fresh |= fresh;
        self.advance(now)
    }

    /// The peer said something.
    ///
    /// # Errors
    ///
    /// [`Fault`]: the connection is of no use any more.
    pub fn received(&mut self, message: &Message, now: Instant) -> Result<Vec<Order>, Fault> {
        let mut orders = match message {
            Message::Install { generation, an, key } => self.install(*generation, *an, key)?,
            Message::Installed { generation } => self.switch(*generation, now)?,
            Message::Using { generation } => self.retire(*generation, now)?,
            Message::Renew if self.direction == Direction::FromClient => {
                self.sending.fresh = true;
                self.sending.wanted.get_or_insert(Cause::Exchange);
                Vec::new()
            }
            Message::Alive => Vec::new(),
            Message::Renew | Message::Hello { .. } => return Err(Fault::OutOfTurn),
        };
        orders.extend(self.advance(now));
        Ok(orders)
    }

    /// Time has passed; `packets` is how many frames the key that is sent with has protected, where that is known.
    pub fn passed(&mut self, packets: Option<u64>, now: Instant) -> Vec<Order> {
        let (terms, sending) = (&self.terms, &mut self.sending);
        let mut orders = Vec::new();
        let mut over = self.ends.is_some_and(|at| at <= now);
        if let Some(current) = &mut sending.current {
            current.packets = packets.unwrap_or(current.packets);
            let age = now.saturating_duration_since(current.since);
            if age >= terms.rekey {
                sending.wanted.get_or_insert(Cause::Time);
            }
            if current.packets >= terms.packets {
                sending.wanted.get_or_insert(Cause::Packets);
            }
            over |= age >= terms.lifetime;
            let outlived = over || current.packets >= terms.most_packets(self.suite);
            if outlived && !current.outlived {
                current.outlived = true;
                orders.push(Order::Notice(Notice::Outlived {
                    an: current.an,
                    key: current.key,
                    age,
                    packets: current.packets,
                }));
            }
        }
        if over {
            orders.extend(self.end());
            return orders;
        }
        let late = |since: Instant| now.saturating_duration_since(since) >= self.terms.patience;
        let offered = self.sending.offered.as_ref().map(|offered| offered.since);
        let renewing = self.connection.as_ref().and_then(|connection| connection.renewing);
        if offered.into_iter().chain(renewing).any(late) {
            self.lost();
            orders.push(Order::Drop);
        }
        orders.extend(self.advance(now));
        orders
    }

    /// When [`Schedule::passed`] is to be called at the latest; none where nothing is waited for.
    pub fn wake(&self) -> Option<Instant> {
        let Sending { current, offered, .. } = &self.sending;
        let retiring = self.sending.retiring.values().chain(self.receiving.retiring.values());
        let patience = |since: Instant| since + self.terms.patience;
        let current = current.as_ref().map(|current| match self.sending.wanted {
            None => current.since + self.terms.rekey,
            Some(_) => current.since + self.terms.lifetime,
        });
        retiring
            .copied()
            .chain(offered.as_ref().map(|offered| patience(offered.since)))
            .chain(
                self.connection
                    .as_ref()
                    .and_then(|connection| connection.renewing)
                    .map(patience),
            )
            .chain(current)
            .chain(self.ends)
            .min()
    }

    fn install(&mut self, generation: u64, an: An, key: &str) -> Result<Vec<Order>, Fault> {
        let connection = self.connection.as_mut().ok_or(Fault::OutOfTurn)?;
        if generation != connection.receiving.generation() {
            return Err(Fault::OutOfTurn);
        }
        let sak = connection.receiving.take(an, connection.peer);
        if sak.id.to_string() != key {
            return Err(Fault::KeyDiffers);
        }
        let receiving = &mut self.receiving;
        receiving.retiring.remove(&an);
        receiving.installed.insert(an);
        receiving.offered = Some((generation, an, sak.id));
        let installed = Message::Installed { generation };
        Ok(vec![Order::InstallReceive { an, sak }, Order::Send(installed)])
    }

    fn switch(&mut self, generation: u64, now: Instant) -> Result<Vec<Order>, Fault> {
        let sending = &mut self.sending;
        let of_it = |offered: &mut Offered| offered.generation == generation;
        let Offered { an, sak, cause, .. } = sending.offered.take_if(of_it).ok_or(Fault::OutOfTurn)?;
        let key = sak.id;
        let current = Current {
            an,
            key,
            since: now,
            packets: 0,
            outlived: false,
        };
        if let Some(before) = sending.current.replace(current) {
            sending.retiring.insert(before.an, now + self.terms.grace);
        }
        sending.wanted = None;
        Ok(vec![
            Order::InstallTransmit { an, sak },
            Order::TransmitWith(an),
            Order::Send(Message::Using { generation }),
            Order::Notice(Notice::Sends {
                generation,
                an,
                key,
                cause,
            }),
        ])
    }

    fn retire(&mut self, generation: u64, now: Instant) -> Result<Vec<Order>, Fault> {
        let receiving = &mut self.receiving;
        let of_it = |offered: &mut (u64, An, KeyId)| offered.0 == generation;
        let (_, an, key) = receiving.offered.take_if(of_it).ok_or(Fault::OutOfTurn)?;
        let until = now + self.terms.grace;
        for &other in receiving.installed.iter().filter(|&&other| other != an) {
            receiving.retiring.entry(other).or_insert(until);
        }
        Ok(vec![Order::Notice(Notice::Receives { generation, an, key })])
    }

    /// Takes every step that is possible now.
    fn advance(&mut self, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        for an in due(&mut self.sending.retiring, now) {
            orders.push(Order::RemoveTransmit(an));
        }
        for an in due(&mut self.receiving.retiring, now) {
            self.receiving.installed.remove(&an);
            orders.push(Order::RemoveReceive(an));
        }
        let sending = &mut self.sending;
        let (Some(connection), Some(cause), None) = (&mut self.connection, sending.wanted, &sending.offered) else {
            return orders;
        };
        if sending.fresh || connection.sending.generation() >= self.terms.keys_per_exchange {
            if connection.renewing.is_none() {
                connection.renewing = Some(now);
                orders.push(match self.direction {
                    Direction::FromClient => Order::Exchange,
                    Direction::FromServer => Order::Send(Message::Renew),
                });
            }
            return orders;
        }
        let an = sending.current.as_ref().map_or(An::ALL[0], |current| current.an.next());
        // Frames under the key that had this number may still be on their way.
        if sending.retiring.contains_key(&an) {
            return orders;
        }
        let generation = connection.sending.generation();
        let sak = connection.sending.take(an, self.own);
        orders.push(Order::Send(Message::install(generation, an, sak.id)));
        sending.offered = Some(Offered {
            generation,
            an,
            sak,
            cause,
            since: now,
        });
        orders
    }
}

/// Takes out what is to be removed by now.
fn due(retiring: &mut BTreeMap<An, Instant>, now: Instant) -> Vec<An> {
    let due: Vec<An> = retiring
        .iter()
        .filter(|&(_, &at)| at <= now)
        .map(|(&an, _)| an)
        .collect();
    retiring.retain(|_, at| *at > now);
    due
}

#[cfg(test)]
mod tests;
