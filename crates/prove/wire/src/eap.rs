//! EAP (RFC 3748) as a bystander at the port sees it: methods, and the handshake of TLS in those
//! that have one (RFC 5216, RFC 9190; PEAP, EAP-TTLS, EAP-FAST and TEAP frame it alike), put
//! together from its fragments.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::allocation::allocated;
use crate::connection::{Captured, Traffic};
use crate::eapol::{Pdu, kind};
use crate::keys::Keys;
use crate::path::Path;
use crate::tls::{self, Tls};
use crate::{Connection, Content, Ending, Moment, Roles, Side, Start};

/// Code of a request (RFC 3748, section 4), which the authenticator sends.
pub const REQUEST: u8 = 1;
/// Code of a response, which the peer sends.
pub const RESPONSE: u8 = 2;
/// Code of a packet that says that authentication ended well.
pub const SUCCESS: u8 = 3;
/// Code of a packet that says that it did not.
pub const FAILURE: u8 = 4;

/// Type of a packet that asks for the peer's name, or gives it (RFC 3748, section 5.1).
pub const IDENTITY: u8 = 1;
/// Types that are no method: Identity, Notification, Nak.
const NO_METHOD: u8 = 3;
/// Type of EAP-TLS (RFC 5216).
pub const EAP_TLS: u8 = 13;
/// Types with TLS in them, by name.
const WITH_TLS: [(u8, &str); 5] = [
    (EAP_TLS, "EAP-TLS"),
    (21, "EAP-TTLS"),
    (25, "PEAP"),
    (43, "EAP-FAST"),
    (55, "TEAP"),
];
/// Other types by name (IANA).
const OTHERS: [(u8, &str); 8] = [
    (4, "EAP-MD5"),
    (6, "EAP-GTC"),
    (18, "EAP-SIM"),
    (23, "EAP-AKA"),
    (26, "EAP-MSCHAPv2"),
    (50, "EAP-AKA'"),
    (51, "EAP-GPSK"),
    (52, "EAP-pwd"),
];

/// Flag behind the type (RFC 5216, section 3.1): the length of the whole message follows in four octets.
pub const LENGTH: u8 = 0x80;
/// Flag: more fragments of the message follow.
pub const MORE: u8 = 0x40;
/// Flag: the method begins.
pub const BEGINS: u8 = 0x20;
/// TEAP: the length of outer TLVs is there as well (RFC 7170, section 4.1).
const OUTER: u8 = 0x10;
const TEAP: u8 = 55;

/// Longest message of TLS that is put together: a flight with long chains.
const MESSAGE: usize = 128 << 10;
/// Methods that are named.
const METHODS: usize = 8;

/// EAP over a port, up to the next handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Eap {
    /// EAPOL-Start frames.
    pub starts: u64,
    /// EAPOL-Logoff frames.
    pub logoffs: u64,
    /// EAPOL-Key frames.
    pub keys: u64,
    /// Packets of EAP.
    pub packets: u64,
    /// Methods that were requested or answered, by their types, in the order first seen; eight at most.
    pub methods: Vec<u8>,
    /// EAP-Success.
    pub success: Option<Moment>,
    /// EAP-Failure.
    pub failure: Option<Moment>,
    /// A packet was sent again with other bytes.
    pub contradicted: Option<Moment>,
    /// True if the request that begins the method with TLS was seen.
    pub begun: bool,
    /// The handshake of TLS in it: the peer is the client, the authenticator's side the server.
    pub tls: Option<Box<Tls>>,
}

/// The name of a method.
pub fn method_name(method: u8) -> Option<&'static str> {
    let mut known = WITH_TLS.iter().chain(&OTHERS);
    known.find(|(number, _)| *number == method).map(|(_, name)| *name)
}

/// Returns true if the method carries TLS.
fn has_tls(method: u8) -> bool {
    WITH_TLS.iter().any(|(number, _)| *number == method)
}

impl Eap {
    /// The handshake as a connection of its own, for the judgement of TLS. It has no addresses.
    pub fn as_connection(&self, number: u64, [first, last]: [Moment; 2]) -> Option<Connection> {
        let tls = self.tls.clone()?;
        let nowhere = ([0, 0, 0, 0], 0).into();
        Some(Connection {
            number,
            client: nowhere,
            server: nowhere,
            roles: Roles::Content,
            first,
            last,
            start: if self.begun { Start::Syn } else { Start::Midstream },
            ending: match self.success.or(self.failure) {
                Some(_) => Ending::Closed,
                None => Ending::Open,
            },
            from_client: Traffic::default(),
            from_server: Traffic::default(),
            sums_changed: false,
            path: Path::NONE,
            path_back: None,
            captured: Captured::default(),
            proxies: Vec::new(),
            content: Content::Tls(tls),
        })
    }
}

/// Run of EAP to which a frame belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It does.
    Here,
    /// It begins another handshake.
    Another,
}

/// Reads EAP between the two stations of a port.
#[derive(Clone, Default)]
pub(crate) struct Session {
    eap: Eap,
    tls: Option<Box<tls::Session>>,
    /// By side.
    halves: [Half; 2],
    /// The direction of the authenticator.
    authenticator: Option<usize>,
    /// Identifier of the latest request of a method with TLS, and whether it was answered.
    asked: Option<(u8, bool)>,
}

/// State of one side.
#[derive(Clone, Default)]
struct Half {
    /// Identifier and digest of its latest packet of the method.
    latest: Option<(u8, u64)>,
    message: Vec<u8>,
    /// Bytes that the message says it has.
    announced: Option<usize>,
    /// Bytes of TEAP's outer TLVs, which follow those of TLS.
    outer: usize,
    first: Option<Moment>,
    /// A fragment of the message is missing.
    broken: bool,
}

impl Session {
    /// Takes a frame of a direction.
    pub(crate) fn take(&mut self, pdu: &Pdu<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>) -> Taken {
        match pdu.kind {
            kind::START => self.eap.starts += 1,
            kind::LOGOFF => self.eap.logoffs += 1,
            kind::KEY => self.eap.keys += 1,
            kind::EAP => return self.packet(pdu, from, at, keys),
            _ => {}
        }
        Taken::Here
    }

    fn packet(&mut self, pdu: &Pdu<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>) -> Taken {
        let Some((&[code, identifier, high, low], rest)) = pdu.body.split_first_chunk::<4>() else {
            return Taken::Here;
        };
        let length = usize::from(u16::from_be_bytes([high, low])).saturating_sub(4);
        let missing = length.saturating_sub(rest.len());
        let rest = rest.get(..length).unwrap_or(rest);
        let side = match code {
            REQUEST => Side::Server,
            RESPONSE => Side::Client,
            SUCCESS => {
                self.eap.packets += 1;
                self.eap.success.get_or_insert(at);
                return Taken::Here;
            }
            FAILURE => {
                self.eap.packets += 1;
                self.eap.failure.get_or_insert(at);
                return Taken::Here;
            }
            _ => return Taken::Here,
        };
        let Some((&method, data)) = rest.split_first() else {
            return Taken::Here;
        };
        let begins = side == Side::Server && has_tls(method) && data.first().is_some_and(|flags| flags & BEGINS != 0);
        if side == Side::Server && self.is_over(begins, identifier, rest) {
            return Taken::Another;
        }
        self.eap.packets += 1;
        self.authenticator
            .get_or_insert(if side == Side::Server { from } else { 1 - from });
        if method > NO_METHOD && !self.eap.methods.contains(&method) && self.eap.methods.len() < METHODS {
            self.eap.methods.push(method);
        }
        if has_tls(method) && !self.is_repeated(side, identifier, rest, at) {
            self.eap.begun |= begins;
            self.in_turn(side, identifier, at);
            self.fragment(side, method, data, missing, at, keys);
        }
        Taken::Here
    }

    /// Returns true if a request belongs to another run of EAP: this run has ended, or it has a
    /// handshake and the request would begin another.
    fn is_over(&self, begins: bool, identifier: u8, rest: &[u8]) -> bool {
        let again = self.halves[Side::Server.index()].latest == Some((identifier, digest(rest)));
        let ended = self.eap.success.is_some() || self.eap.failure.is_some();
        !again && (ended || begins && self.tls.is_some())
    }

    /// Requests and responses come in turn: one that is missing is a part of the handshake.
    fn in_turn(&mut self, side: Side, identifier: u8, at: Moment) {
        match (side, self.asked) {
            (Side::Server, Some((_, false))) => self.lose(Side::Client, at),
            (Side::Client, Some((asked, _))) if asked != identifier => self.lose(Side::Server, at),
            _ => {}
        }
        self.asked = Some((identifier, side == Side::Client));
    }

    /// Returns true if a packet was sent before: identifiers differ from one request to the next
    /// (RFC 3748, section 4.1).
    fn is_repeated(&mut self, side: Side, identifier: u8, rest: &[u8], at: Moment) -> bool {
        let digest = digest(rest);
        let half = &mut self.halves[side.index()];
        match half.latest {
            Some((known, same)) if known == identifier => {
                if same != digest {
                    self.eap.contradicted.get_or_insert(at);
                }
                true
            }
            _ => {
                half.latest = Some((identifier, digest));
                false
            }
        }
    }

    /// A fragment of a method with TLS.
    fn fragment(&mut self, side: Side, method: u8, data: &[u8], missing: usize, at: Moment, keys: Option<&dyn Keys>) {
        let Some((&flags, mut data)) = data.split_first() else {
            return;
        };
        let mut lengths = [None; 2];
        for (flag, length) in [LENGTH, OUTER].into_iter().zip(&mut lengths) {
            if flags & flag == 0 || (flag == OUTER && method != TEAP) {
                continue;
            }
            let Some((octets, behind)) = data.split_first_chunk::<4>() else {
                return;
            };
            *length = usize::try_from(u32::from_be_bytes(*octets)).ok();
            data = behind;
        }
        let [announced, outer] = lengths;
        // The packet that begins a method holds the authenticator's name, or nothing.
        if flags & BEGINS != 0 || (data.is_empty() && missing == 0) {
            return;
        }
        let half = &mut self.halves[side.index()];
        let more = flags & MORE != 0;
        // The first of several says how long they are together (RFC 5216, section 2.1.5); so may each.
        let is_under_way = half.broken || !half.message.is_empty();
        if !is_under_way || announced.is_some_and(|length| half.announced != Some(length)) {
            if is_under_way {
                self.lose(side, at);
            }
            let half = &mut self.halves[side.index()];
            half.message.clear();
            half.announced = announced;
            half.outer = outer.unwrap_or(0);
            half.first = Some(at);
            half.broken = more && announced.is_none();
        }
        let half = &mut self.halves[side.index()];
        half.broken |= missing > 0 || half.message.len() + data.len() > MESSAGE;
        if !half.broken {
            half.message.extend_from_slice(data);
        }
        if more {
            return;
        }
        let mut message = std::mem::take(&mut half.message);
        let whole = half.announced.is_none_or(|length| length == message.len());
        let Some(tls) = message.len().checked_sub(half.outer).filter(|_| whole && !half.broken) else {
            return self.lose(side, at);
        };
        message.truncate(tls);
        let tls = self.tls.get_or_insert_with(|| Box::new(tls::Session::new()));
        tls.data(side, &message, at, keys);
    }

    /// Bytes of a side are missing.
    fn lose(&mut self, side: Side, at: Moment) {
        let half = &mut self.halves[side.index()];
        half.message = Vec::new();
        half.broken = false;
        let tls = self.tls.get_or_insert_with(|| Box::new(tls::Session::new()));
        tls.gap(side, 1, at);
    }

    /// The direction of the authenticator, where it is known.
    pub(crate) fn authenticator(&self) -> Option<usize> {
        self.authenticator
    }

    /// Version and group that the handshake agreed on so far.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.eap.success?;
        let tls = (**self.tls.as_ref()?).clone().outcome();
        let hello = &tls.server_hello?.value;
        Some(Agreed {
            version: hello.version,
            group: hello.key_share.map(|share| share.group),
        })
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let halves = self.halves.iter().map(|half| allocated(half.message.capacity()));
        let tls = self
            .tls
            .as_ref()
            .map_or(0, |tls| allocated(size_of::<tls::Session>()) + tls.held());
        halves.sum::<usize>() + tls + allocated(self.eap.methods.capacity())
    }

    /// The EAP run read so far, with its TLS handshake.
    pub(crate) fn outcome(mut self) -> Eap {
        for side in [Side::Client, Side::Server] {
            if !self.halves[side.index()].message.is_empty() {
                let at = self.halves[side.index()].first;
                at.into_iter().for_each(|at| self.lose(side, at));
            }
        }
        Eap {
            tls: self.tls.map(|tls| Box::new(tls.outcome())),
            ..self.eap
        }
    }
}

/// TLS version and group agreed on in EAP before the port was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// The version.
    pub version: tls::Version,
    /// The group, of TLS 1.3.
    pub group: Option<bartizan_registry::NamedGroup>,
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
