//! Content of a connection: recognised by its first bytes, then read by the protocol's reader.

use crate::allocation::allocated;
use crate::keys::Keys;
use crate::opening::{self, Opening, Prefix, Protocol, Recognition};
use crate::proxy::{self, Ended, Hop, ProxyProtocol, Rest};
use crate::tcp::Delivery;
use crate::{Content, Moment, Roles, Side, Start, http1, http2, ike, plaintext, ssh, tls};

/// The reader of a connection's bytes. Directions are those of the flow.
#[derive(Clone)]
pub(crate) enum Application {
    /// Nothing was said.
    Silent(Start, Proxies),
    /// Not decided.
    Opening(Start, Proxies, Box<[Beginning; 2]>),
    /// A negotiation with a proxy.
    Negotiating(Start, Box<proxy::Session>),
    /// Another protocol behind that.
    Behind(Box<Behind>),
    Tls(Box<tls::Session>),
    Http2(Box<http2::Session>),
    Http1(Box<http1::Session>),
    Ssh(Box<ssh::Session>),
    IkeInTcp(Box<ike::Stream>),
    Plaintext(Box<plaintext::Session>),
    Unknown(Box<[Known; 2]>),
}

/// Number of proxies already passed. None when no further proxy negotiation may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proxies(Option<u8>);

/// The protocol behind a proxy negotiation.
#[derive(Clone)]
pub(crate) struct Behind {
    hop: Hop,
    application: Application,
}

/// The first bytes of a direction in which no protocol was recognised.
#[derive(Clone, Copy)]
pub(crate) struct Known {
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
pub(crate) struct Beginning {
    prefix: Prefix,
    /// The packets with its first and its last byte.
    at: Option<(Moment, Moment)>,
    /// Bytes behind the prefix that were not kept, or a gap: a reader that starts later must know.
    lost: Option<(u64, Moment)>,
    unknown: bool,
}

impl Application {
    pub(crate) fn new(start: Start) -> Self {
        Self::Silent(start, Proxies(Some(0)))
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Silent(..) => 0,
            Self::Opening(..) => allocated(size_of::<[Beginning; 2]>()),
            Self::Negotiating(_, session) => allocated(size_of::<proxy::Session>()) + session.held(),
            Self::Behind(behind) => allocated(size_of::<Behind>()) + behind.hop.held() + behind.application.held(),
            Self::Tls(session) => allocated(size_of::<tls::Session>()) + session.held(),
            Self::Http2(session) => allocated(size_of::<http2::Session>()) + session.held(),
            Self::Http1(session) => allocated(size_of::<http1::Session>()) + session.held(),
            Self::Ssh(session) => allocated(size_of::<ssh::Session>()) + session.held(),
            Self::IkeInTcp(stream) => allocated(size_of::<ike::Stream>()) + stream.held(),
            Self::Plaintext(session) => allocated(size_of::<plaintext::Session>()) + session.held(),
            Self::Unknown(_) => allocated(size_of::<[Known; 2]>()),
        }
    }

    /// Returns true if the protocol may still be decided.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Silent(..) | Self::Opening(..) | Self::Negotiating(..) => true,
            Self::Behind(behind) => behind.application.is_open(),
            _ => false,
        }
    }

    /// Returns true if the plaintext part of the key exchange is complete, or if there is none.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Silent(..) | Self::Opening(..) | Self::Negotiating(..) | Self::Plaintext(_) | Self::IkeInTcp(_) => {
                false
            }
            Self::Behind(behind) => behind.application.is_settled(),
            Self::Tls(session) => session.is_settled(),
            Self::Ssh(session) => session.is_settled(),
            Self::Http2(_) | Self::Http1(_) | Self::Unknown(_) => true,
        }
    }

    /// Takes the next bytes of a direction; `client` is set when they tell who the client is.
    pub(crate) fn take(
        &mut self,
        direction: usize,
        delivery: Delivery<'_>,
        client: &mut (usize, Roles),
        keys: Option<&dyn Keys>,
    ) {
        if let Self::Behind(behind) = self {
            return behind.application.take(direction, delivery, client, keys);
        }
        if let Self::Silent(start, proxies) = self {
            *self = Self::Opening(*start, *proxies, Box::default());
        }
        if let Self::Opening(start, proxies, beginnings) = self {
            let begun = beginnings[1 - direction].at.is_some() || beginnings[1 - direction].lost.is_some();
            let beginning = &mut beginnings[direction];
            let (rest, at) = match delivery {
                Delivery::Gap { bytes, at } => {
                    beginning.lose(bytes, at);
                    return;
                }
                Delivery::Data { bytes, at } => (beginning.fill(bytes, at), at),
            };
            let recognition = proxies.recognise(beginning.prefix.bytes(), *start, begun);
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
        if let Self::Negotiating(_, session) = self {
            let ended = session.take(side, delivery);
            return self.negotiated(ended, client, keys);
        }
        if let (Self::Plaintext(session), Delivery::Data { bytes, at }) = (&mut *self, delivery)
            && let Some(begun) = session.unanswered(side)
            && answers_otherwise(bytes, side)
        {
            // The answer says what it is: the header before it only looked like one of another protocol.
            let mut beginnings: Box<[Beginning; 2]> = Box::default();
            beginnings[1 - direction].fill(begun, at);
            beginnings[1 - direction].unknown = true;
            *self = Self::Opening(Start::Syn, Proxies(None), beginnings);
            return self.take(direction, delivery, client, keys);
        }
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
        if let (Self::Http1(session), Delivery::Data { bytes, at }) = (&mut *self, delivery) {
            if let Some(place) = session.data(side, bytes, at) {
                let before = (**session).clone().outcome();
                let mut session = http2::Session::behind(before);
                session.data(side, &bytes[place..], at);
                *self = Self::Http2(Box::new(session));
            }
            return;
        }
        match (self, delivery) {
            (Self::Plaintext(session), Delivery::Gap { at, .. }) => session.gap(side, at),
            (Self::IkeInTcp(stream), Delivery::Data { bytes, at }) => stream.data(side, bytes, at),
            (Self::IkeInTcp(stream), Delivery::Gap { at, .. }) => stream.gap(at),
            (Self::Tls(session), Delivery::Data { bytes, at }) => session.data(side, bytes, at, keys),
            (Self::Tls(session), Delivery::Gap { bytes, at }) => session.gap(side, bytes, at),
            (Self::Http2(session), Delivery::Data { bytes, at }) => session.data(side, bytes, at),
            (Self::Http2(session), Delivery::Gap { bytes, at }) => session.gap(side, bytes, at),
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

    /// True where messages of IKE and ESP came since they were taken.
    pub(crate) fn has_messages(&self) -> bool {
        match self {
            Self::IkeInTcp(stream) => stream.has_messages(),
            Self::Behind(behind) => behind.application.has_messages(),
            _ => false,
        }
    }

    /// Messages of IKE and ESP that came since the last call, by their senders.
    pub(crate) fn messages(&mut self) -> Vec<(Side, Vec<u8>)> {
        match self {
            Self::IkeInTcp(stream) => stream.take(),
            Self::Behind(behind) => behind.application.messages(),
            _ => Vec::new(),
        }
    }

    /// The parts of a direction's next bytes of which only their number matters.
    pub(crate) fn counted<'a>(&self, side: Side, bytes: &'a [u8], give: &mut impl FnMut(&'a [u8])) {
        match self {
            Self::Behind(behind) => behind.application.counted(side, bytes, give),
            Self::Tls(session) => session.counted(side, bytes, give),
            _ => {}
        }
    }

    /// No more bytes will come: what is still open stays unknown.
    pub(crate) fn decide(&mut self, client: &mut (usize, Roles), keys: Option<&dyn Keys>) {
        if let Self::Negotiating(_, session) = self {
            let ended = session.finish();
            self.negotiated(ended, client, keys);
        }
        if let Self::Behind(behind) = self {
            return behind.application.decide(client, keys);
        }
        if let Self::Opening(start, proxies, beginnings) = self {
            let (start, proxies) = (*start, *proxies);
            let found = beginnings.iter().enumerate().find_map(|(direction, beginning)| {
                match proxies.recognise(beginning.prefix.bytes(), start, true) {
                    Recognition::Protocol(protocol, side) if !beginning.unknown => Some((protocol, direction, side)),
                    _ => None,
                }
            });
            match found {
                Some((protocol, direction, side)) => {
                    self.open(protocol, direction, side, client, keys);
                    // A negotiation that has only begun is at its end.
                    if matches!(self, Self::Negotiating(..) | Self::Behind(_)) {
                        self.decide(client, keys);
                    }
                }
                None => *self = Self::Unknown(Box::new(beginnings.map(Known::from))),
            }
        }
    }

    /// Goes on behind a negotiation, or from its beginning where it was none.
    fn negotiated(&mut self, ended: Ended, client: &mut (usize, Roles), keys: Option<&dyn Keys>) {
        if ended == Ended::No {
            return;
        }
        let Self::Negotiating(start, session) = self else {
            return;
        };
        let (start, depth) = (*start, session.depth());
        // The session is taken out of its place, which is filled at once.
        let before = std::mem::replace(self, Self::Silent(start, Proxies(None)));
        let Self::Negotiating(_, session) = before else { return };
        let (hop, rest) = session.into_parts();
        let asks = client.0;
        if ended == Ended::Open {
            let proxies = Proxies(Some(depth + 1).filter(|depth| *depth < proxy::DEPTH));
            *self = Self::Behind(Box::new(Behind {
                hop,
                // The bytes behind the negotiation are seen from the first one.
                application: Self::Silent(Start::Syn, proxies),
            }));
        }
        self.replay(&rest, asks, client, keys);
    }

    /// Takes what was held back; `asks` is the direction of the end that asked the proxy.
    fn replay(&mut self, rest: &Rest, asks: usize, client: &mut (usize, Roles), keys: Option<&dyn Keys>) {
        rest.deliver(|side, delivery| {
            let direction = if side == Side::Client { asks } else { 1 - asks };
            self.take(direction, delivery, client, keys);
        });
    }

    /// Content and the proxies before it; `zero` is the side of direction 0.
    pub(crate) fn outcome(self, zero: Side) -> (Content, Vec<Hop>) {
        match self {
            Self::Behind(behind) => {
                let Behind { hop, application } = *behind;
                if matches!(application, Self::Silent(..)) {
                    return (Content::Proxy(Box::new(hop)), Vec::new());
                }
                let (content, mut hops) = application.outcome(zero);
                hops.insert(0, hop);
                (content, hops)
            }
            Self::Negotiating(_, session) => (Content::Proxy(Box::new(session.hop())), Vec::new()),
            direct => (direct.direct(zero), Vec::new()),
        }
    }

    fn direct(self, zero: Side) -> Content {
        match self {
            Self::Negotiating(..) | Self::Behind(_) => unknown(Default::default(), zero),
            Self::Tls(session) => Content::Tls(Box::new(session.outcome())),
            Self::Http2(session) => match session.outcome() {
                frames if frames.is_borne_out() => Content::Http2(Box::new(frames)),
                _ => Content::Unknown(Opening::default()),
            },
            Self::Http1(session) => Content::Http1(Box::new(session.outcome())),
            Self::Ssh(session) => Content::Ssh(Box::new(session.outcome())),
            Self::IkeInTcp(stream) => Content::IkeInTcp(stream.lost()),
            Self::Plaintext(session) if session.is_answered() => Content::Plaintext(session.outcome()),
            Self::Plaintext(session) => Content::Unknown(session.opening()),
            Self::Silent(..) => unknown(Default::default(), zero),
            Self::Opening(_, _, beginnings) => unknown(beginnings.map(|beginning| beginning.prefix), zero),
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
        let Self::Opening(start, proxies, beginnings) = self else {
            return;
        };
        let (start, proxies, beginnings) = (*start, *proxies, **beginnings);
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
            Protocol::IkeInTcp => Self::IkeInTcp(Box::default()),
            Protocol::Plaintext(named) => Self::Plaintext(Box::new(plaintext::Session::new(named))),
            Protocol::Proxy(named) => {
                Self::Negotiating(start, Box::new(proxy::Session::new(named, proxies.0.unwrap_or(0))))
            }
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

/// Recognises the first bytes of an end as a protocol whose beginnings no other has.
fn answers_otherwise(bytes: &[u8], by: Side) -> bool {
    let prefix = &bytes[..bytes.len().min(opening::LONGEST)];
    matches!(
        opening::recognise_direct(prefix, Start::Syn),
        Recognition::Protocol(Protocol::Http1 | Protocol::Ssh, side) if side.is_none_or(|side| side == by)
    )
}

impl Proxies {
    /// Recognises a direction; `begun` says whether anything of the other has come.
    fn recognise(self, prefix: &[u8], start: Start, begun: bool) -> Recognition {
        if self.0.is_none() {
            return opening::recognise_direct(prefix, start);
        }
        match opening::recognise(prefix, start) {
            // The request may come behind its answer, and be one for a tunnel.
            Recognition::Protocol(Protocol::Http1, Some(Side::Server)) if !begun && start == Start::Syn => {
                Recognition::Protocol(Protocol::Proxy(ProxyProtocol::HttpConnect), Some(Side::Server))
            }
            found => found,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::exposed::Exposed;

    /// The JDK's client and Undertow, cut to what matters.
    #[test]
    fn http_2_is_read_behind_the_answer_that_switches_to_it() {
        let ask = b"GET /a HTTP/1.1\r\nUpgrade: h2c\r\nAuthorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.c2ln\r\n\r\n";
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let again = [
            &opening::HTTP2_PREFACE[..],
            &settings,
            &[0, 0, 1, 1, 5, 0, 0, 0, 3, 0x82],
        ]
        .concat();
        let unasked = b"GET /a HTTP/1.1\r\nAuthorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.c2ln\r\n\r\n";
        for (ask, switch, streams) in [
            (&ask[..], "h2c", Some(2)),
            (&ask[..], "websocket", None),
            (&unasked[..], "h2c", None),
        ] {
            let answer = format!("HTTP/1.1 101 Switching Protocols\r\nupgrade: {switch}\r\n\r\n");
            let mut application = Application::new(Start::Syn);
            let mut client = (0, Roles::Syn);
            let flights = [
                (0, ask.to_vec()),
                (1, [answer.as_bytes(), &settings].concat()),
                (0, again.clone()),
            ];
            for (packet, (direction, bytes)) in flights.iter().enumerate() {
                let at = Moment {
                    packet: packet as u64,
                    time: Timestamp(packet as u64),
                };
                application.take(*direction, Delivery::Data { bytes, at }, &mut client, None);
            }
            let (content, _) = application.outcome(Side::Client);
            let exposed = match content {
                Content::Http2(http2) => {
                    assert_eq!(Some(http2.streams), streams);
                    assert_eq!(http2.upgrade.expect("the request").value[..], ask[..]);
                    assert_eq!((http2.from_client.total(), http2.from_server.total()), (2, 1));
                    assert_eq!(http2.requests.len(), 1);
                    http2.exposed
                }
                Content::Http1(http1) => {
                    assert_eq!(streams, None);
                    http1.exposed
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(exposed.expect("a token").all()[0].what, Exposed::Token("ES256".into()));
        }
    }
}
