//! What a connection carries: told by its first bytes, then read by the reader for it.

use super::allocated;
use crate::keys::Keys;
use crate::opening::{self, Opening, Prefix, Protocol, Recognition};
use crate::tcp::Delivery;
use crate::{Content, Moment, Roles, Side, Start, http1, http2, plaintext, ssh, tls};

/// The reader of a connection's bytes. Directions are those of the flow.
#[derive(Clone)]
pub(super) enum Application {
    /// Nothing was said.
    Silent(Start),
    /// Not decided.
    Opening(Start, Box<[Beginning; 2]>),
    Tls(Box<tls::Session>),
    Http2(Box<http2::Session>),
    Http1(Box<http1::Session>),
    Ssh(Box<ssh::Session>),
    Plaintext(Box<plaintext::Session>),
    Unknown(Box<[Known; 2]>),
}

/// The first bytes of a direction in which no protocol was recognised.
#[derive(Clone, Copy)]
pub(super) struct Known {
    prefix: Prefix,
    /// Bytes are missing behind it: nothing is added.
    broken: bool,
}

impl From<Beginning> for Known {
    fn from(beginning: Beginning) -> Self {
        Self {
            prefix: beginning.prefix,
            broken: beginning.lost.is_some(),
        }
    }
}

/// The first bytes of one direction.
#[derive(Clone, Copy, Default)]
pub(super) struct Beginning {
    prefix: Prefix,
    /// The packets with its first and its last byte.
    at: Option<(Moment, Moment)>,
    /// Bytes behind the prefix that were not kept, or a gap: a reader that starts later must know.
    lost: Option<(u64, Moment)>,
    unknown: bool,
}

impl Application {
    pub(super) fn new(start: Start) -> Self {
        Self::Silent(start)
    }

    /// Bytes it holds on the heap.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Silent(_) => 0,
            Self::Opening(..) => allocated(size_of::<[Beginning; 2]>()),
            Self::Tls(session) => allocated(size_of::<tls::Session>()) + session.held(),
            Self::Http2(session) => allocated(size_of::<http2::Session>()) + session.held(),
            Self::Http1(session) => allocated(size_of::<http1::Session>()) + session.held(),
            Self::Ssh(session) => allocated(size_of::<ssh::Session>()) + session.held(),
            Self::Plaintext(session) => allocated(size_of::<plaintext::Session>()) + session.held(),
            Self::Unknown(_) => allocated(size_of::<[Known; 2]>()),
        }
    }

    /// Whether it may yet become anything.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Silent(_) | Self::Opening(..))
    }

    /// Whether all that a key exchange in clear rests on has been said, or there is none.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Silent(_) | Self::Opening(..) | Self::Plaintext(_) => false,
            Self::Tls(session) => session.is_settled(),
            Self::Ssh(session) => session.is_settled(),
            Self::Http2(_) | Self::Http1(_) | Self::Unknown(_) => true,
        }
    }

    /// Takes the next bytes of a direction; `client` is set when they tell who the client is.
    pub(super) fn take(
        &mut self,
        direction: usize,
        delivery: Delivery<'_>,
        client: &mut (usize, Roles),
        keys: Option<&dyn Keys>,
    ) {
        if let Self::Silent(start) = self {
            *self = Self::Opening(*start, Box::default());
        }
        if let Self::Opening(start, beginnings) = self {
            let beginning = &mut beginnings[direction];
            let (rest, at) = match delivery {
                Delivery::Gap { bytes, at } => {
                    beginning.lose(bytes, at);
                    return;
                }
                Delivery::Data { bytes, at } => (beginning.fill(bytes, at), at),
            };
            let recognition = opening::recognise(beginning.prefix.bytes(), *start);
            match recognition {
                Recognition::More => {}
                Recognition::Protocol(protocol, side) if !beginning.unknown => {
                    self.open(protocol, direction, side, client, keys);
                    if !rest.is_empty() {
                        self.take(direction, Delivery::Data { bytes: rest, at }, client, keys);
                    }
                }
                _ => {
                    beginning.unknown = true;
                    if !rest.is_empty() {
                        beginning.lose(rest.len() as u64, at);
                    }
                    if beginnings.iter().all(|beginning| beginning.unknown) {
                        *self = Self::Unknown(Box::new(beginnings.map(Known::from)));
                    }
                }
            }
            return;
        }
        let side = if direction == client.0 {
            Side::Client
        } else {
            Side::Server
        };
        if let (Self::Plaintext(session), Delivery::Data { bytes, at }) = (&mut *self, delivery) {
            if let Some(place) = session.data(side, bytes, at) {
                let before = (**session).clone().outcome();
                *self = Self::Tls(Box::new(tls::Session::behind(before)));
                let rest = Delivery::Data {
                    bytes: &bytes[place..],
                    at,
                };
                self.take(direction, rest, client, keys);
            }
            return;
        }
        match (self, delivery) {
            (Self::Plaintext(session), Delivery::Gap { at, .. }) => session.gap(side, at),
            (Self::Tls(session), Delivery::Data { bytes, at }) => session.data(side, bytes, at, keys),
            (Self::Tls(session), Delivery::Gap { bytes, at }) => session.gap(side, bytes, at),
            (Self::Http2(session), Delivery::Data { bytes, at }) => session.data(side, bytes, at),
            (Self::Http2(session), Delivery::Gap { bytes, at }) => session.gap(side, bytes, at),
            (Self::Http1(session), Delivery::Data { bytes, at }) => session.data(side, bytes, at),
            (Self::Http1(session), Delivery::Gap { .. }) => session.gap(side),
            (Self::Ssh(session), Delivery::Data { bytes, at }) => {
                let turned = session.data(side, bytes, at);
                if turned {
                    *client = (1 - client.0, Roles::Content);
                }
            }
            (Self::Ssh(session), Delivery::Gap { at, .. }) => session.gap(side, at),
            (Self::Unknown(known), Delivery::Data { bytes, .. }) if !known[direction].broken => {
                known[direction].prefix.fill(bytes);
            }
            (Self::Unknown(known), Delivery::Gap { .. }) => known[direction].broken = true,
            _ => {}
        }
    }

    /// No more bytes will come: what is still open stays unknown.
    pub(super) fn decide(&mut self, client: &mut (usize, Roles), keys: Option<&dyn Keys>) {
        if let Self::Opening(start, beginnings) = self {
            let start = *start;
            let found = beginnings.iter().enumerate().find_map(|(direction, beginning)| {
                match opening::recognise(beginning.prefix.bytes(), start) {
                    Recognition::Protocol(protocol, side) if !beginning.unknown => Some((protocol, direction, side)),
                    _ => None,
                }
            });
            match found {
                Some((protocol, direction, side)) => self.open(protocol, direction, side, client, keys),
                None => *self = Self::Unknown(Box::new(beginnings.map(Known::from))),
            }
        }
    }

    /// What was carried, where anything was; `zero` is the side of direction 0.
    pub(super) fn outcome(self, zero: Side) -> Content {
        match self {
            Self::Tls(session) => Content::Tls(Box::new(session.outcome())),
            Self::Http2(session) => Content::Http2(Box::new(session.outcome())),
            Self::Http1(session) => Content::Http1(Box::new(session.outcome())),
            Self::Ssh(session) => Content::Ssh(Box::new(session.outcome())),
            Self::Plaintext(session) => Content::Plaintext(session.outcome()),
            Self::Silent(_) => unknown(Default::default(), zero),
            Self::Opening(_, beginnings) => unknown(beginnings.map(|beginning| beginning.prefix), zero),
            Self::Unknown(known) => unknown(known.map(|known| known.prefix), zero),
        }
    }

    /// Starts the protocol's reader on what both directions have said so far.
    fn open(
        &mut self,
        protocol: Protocol,
        direction: usize,
        side: Option<Side>,
        client: &mut (usize, Roles),
        keys: Option<&dyn Keys>,
    ) {
        let Self::Opening(_, beginnings) = self else { return };
        let beginnings = **beginnings;
        let speaker = match side {
            Some(Side::Client) => direction,
            Some(Side::Server) => 1 - direction,
            None => client.0,
        };
        if speaker != client.0 || side.is_some() && client.1 == Roles::Port {
            *client = (speaker, Roles::Content);
        }
        *self = match protocol {
            Protocol::Tls => Self::Tls(Box::new(tls::Session::new())),
            Protocol::Http2 => Self::Http2(Box::new(http2::Session::new())),
            Protocol::Http1 => Self::Http1(Box::new(http1::Session::new())),
            Protocol::Ssh => Self::Ssh(Box::new(ssh::Session::new())),
            Protocol::Plaintext(named) => Self::Plaintext(Box::new(plaintext::Session::new(named))),
        };
        // The direction that began first is read first: flights are runs of one direction.
        let mut order = [0, 1];
        order.sort_by_key(|&direction| beginnings[direction].at.map_or(u64::MAX, |(first, _)| first.packet));
        for direction in order {
            let beginning = &beginnings[direction];
            if let Some((_, last)) = beginning.at {
                let bytes = beginning.prefix.bytes();
                self.take(direction, Delivery::Data { bytes, at: last }, client, keys);
            }
            if let Some((bytes, at)) = beginning.lost {
                self.take(direction, Delivery::Gap { bytes, at }, client, keys);
            }
        }
    }
}

impl Beginning {
    fn fill<'a>(&mut self, bytes: &'a [u8], at: Moment) -> &'a [u8] {
        if self.lost.is_some() {
            return bytes;
        }
        let rest = self.prefix.fill(bytes);
        if rest.len() < bytes.len() {
            let first = self.at.map_or(at, |(first, _)| first);
            self.at = Some((first, at));
        }
        rest
    }

    fn lose(&mut self, bytes: u64, at: Moment) {
        let (lost, first) = self.lost.unwrap_or((0, at));
        self.lost = Some((lost.saturating_add(bytes), first));
    }
}

fn unknown(prefixes: [Prefix; 2], zero: Side) -> Content {
    let [client, server] = match zero {
        Side::Client => prefixes,
        Side::Server => [prefixes[1], prefixes[0]],
    };
    Content::Unknown(Opening { client, server })
}
