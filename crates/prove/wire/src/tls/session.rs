//! Both directions of one TLS connection, from the first record to the last.

mod counted;
mod shown;

use bartizan_registry::{CipherSuite, SignatureScheme};

use super::Version;
use super::handshake::{self, Message, Messages};
use super::hello::{ClientHello, ServerHello};
use super::legacy::{Certificates, ServerKeyExchange};
use super::opened::Opener;
use super::record::{self, Gap, Piece, Records, Span};
use crate::allocation::allocated;
use crate::keys::Keys;
use crate::plaintext::Spoken;
use crate::spread::{Spread, is_skewed_behind_vector};
use crate::{Moment, Seen, Side};

use shown::flights_of;
pub use shown::{Alert, Fault, Flight, Protected, Protection, Tls, alert_name};

/// Flights kept while the number of flights of the handshake is unknown; one of TLS 1.3 with
/// HelloRetryRequest has five.
const FLIGHTS: usize = 8;
/// Alerts and faults kept; more repeat what the first ones say.
const KEPT: usize = 8;

bartizan_registry::made! {
    #[derive(Clone)]
    struct Direction, new() {
        records: Records = Records::new(),
        messages: Messages = Messages::default(),
        /// The first byte of an alert whose second has not come.
        alert: Option<u8> = None,
        /// From here on every record is protected (TLS 1.2, behind ChangeCipherSpec).
        sealed: bool = false,
        /// First byte of the incomplete record header.
        begins: Moment = Moment::default(),
        /// True if the record in progress belongs to the next flight.
        withheld: bool = false,
        /// First byte of the record in progress.
        record: Option<Moment> = None,
        /// Bytes of its body that have not come.
        left: usize = 0,
        /// Bytes of its body that were sent: those that came, and those that are missing from the capture.
        sent: usize = 0,
        /// The record in progress began behind the client's Finished.
        over: bool = false,
    }
}

impl Direction {
    /// Takes bytes of an alert record; gives the alert once both of its bytes are there.
    fn alert(&mut self, from: Side, body: &[u8], at: Moment) -> Option<Seen<Alert>> {
        let (level, description) = match (self.alert.take(), body) {
            (Some(level), [description, ..]) => (level, *description),
            (None, [level, description]) => (*level, *description),
            (None, [level]) => {
                self.alert = Some(*level);
                return None;
            }
            _ => return None,
        };
        let alert = Alert {
            from,
            level,
            description,
        };
        Some(Seen::new(alert, self.record.unwrap_or(at), at))
    }
}

bartizan_registry::made! {
    /// Reads both directions.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new() {
        directions: [Direction; 2] = [Direction::new(), Direction::new()],
        tls: Watched = Watched::default(),
        opener: Option<Box<Opener>> = None,
    }
}

/// A [`Tls`] in the making. Rare fields are boxed, because there may be a million connections.
#[derive(Clone, Default)]
struct Watched {
    client_hello: Option<Seen<ClientHello>>,
    server_hello: Option<Seen<ServerHello>>,
    rare: Option<Box<Rare>>,
    flights: Vec<Flight>,
    client_finished: Option<Moment>,
    ends: [Protection; 2],
    /// By side: the longest protected record that came before the ServerHello.
    before: [u16; 2],
    from_client: Protected,
    from_server: Protected,
    /// By side: the distribution of protected bytes.
    spread: [Spread; 2],
    /// Bytes and records of ChangeCipherSpec that the client's next flight begins with.
    withheld: (u16, u8),
    /// The last flight kept has ended: nothing is added to it.
    flights_over: bool,
}

/// A HelloRetryRequest, TLS 1.2, trouble.
#[derive(Clone, Default)]
struct Rare {
    hello_retry_request: Option<Seen<ServerHello>>,
    second_client_hello: Option<Seen<ClientHello>>,
    server_key_exchange: Option<Seen<ServerKeyExchange>>,
    server_certificates: Option<Seen<Certificates>>,
    client_certificates: Option<Seen<Certificates>>,
    client_signature: Option<Seen<SignatureScheme>>,
    excess_hello: Option<Seen<Side>>,
    /// A second ClientHello of the client that sent the first, before the server said anything.
    unanswered_hello: Option<Seen<Side>>,
    alerts: Vec<Seen<Alert>>,
    faults: Vec<Seen<Fault>>,
    behind: Option<Spoken>,
}

impl Session {
    /// One that begins where another protocol goes over to it.
    pub(crate) fn behind(spoken: Spoken) -> Self {
        let mut session = Self::new();
        session.tls.rare().behind = Some(spoken);
        if let Some(at) = spoken.gap {
            // The missing bytes may have held another ClientHello.
            session.tls.fault(Fault::Gap { from: Side::Client }, at);
        }
        session
    }

    pub(crate) fn outcome(self) -> Tls {
        Tls::of(self.tls, self.opener.map(|opener| opener.outcome()))
    }

    /// Returns true if both ends have gone on from their agreement: before that, neither has
    /// received a contradiction.
    pub(crate) fn is_settled(&self) -> bool {
        let Watched {
            server_hello,
            from_client,
            from_server,
            ..
        } = &self.tls;
        server_hello.is_some() && from_client.records > 0 && from_server.records > 0
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let hellos = |rare: &Rare| {
            let certificates = [&rare.server_certificates, &rare.client_certificates];
            rare.second_client_hello.as_ref().map_or(0, |hello| hello.value.held())
                + certificates
                    .into_iter()
                    .flatten()
                    .map(|seen| seen.value.held())
                    .sum::<usize>()
                + allocated(size_of_val(rare))
                + allocated(rare.alerts.capacity() * size_of::<Seen<Alert>>())
                + allocated(rare.faults.capacity() * size_of::<Seen<Fault>>())
        };
        self.directions.iter().map(|one| one.messages.held()).sum::<usize>()
            + self.tls.client_hello.as_ref().map_or(0, |hello| hello.value.held())
            + self.tls.rare.as_deref().map_or(0, hellos)
            + allocated(self.tls.flights.capacity() * size_of::<Flight>())
            + self.opener.as_ref().map_or(0, |opener| opener.held())
    }

    /// Bytes of `from`, next in order; where there are `keys` of this connection, also what they open.
    pub(crate) fn data(&mut self, from: Side, mut bytes: &[u8], at: Moment, keys: Option<&dyn Keys>) {
        let Self {
            directions,
            tls,
            opener,
        } = self;
        let direction = &mut directions[from.index()];
        direction.records.segment(bytes);
        // Behind missing bytes only the rest of a record is looked for, which is encrypted.
        if direction.records.is_lost() && tls.protected(from).records > 0 && is_readable(bytes) {
            tls.fault(Fault::NotARecord { from }, at);
        }
        loop {
            if direction.records.is_between() {
                direction.begins = at;
            }
            let Some(piece) = direction.records.next(&mut bytes) else {
                break;
            };
            match piece {
                Piece::Broken => tls.fault(Fault::NotARecord { from }, at),
                Piece::Begin(header) => {
                    direction.record = Some(at);
                    direction.left = usize::from(header.length);
                    direction.sent = 0;
                    direction.over = tls.ends[Side::Client.index()].finished;
                    direction.withheld = from == Side::Client && tls.withholds(header.kind);
                    if !direction.withheld {
                        tls.flight(from, record::HEADER, 1, direction.begins, at);
                    }
                    if header.kind == record::HANDSHAKE {
                        direction.messages.record();
                    }
                    tls.begin(header.kind, direction.sealed, from);
                    if let Some(opener) = opener
                        && tls.is_protected(header.kind, direction.sealed)
                    {
                        opener.begin(from, direction.begins);
                    }
                }
                Piece::Body(header, body) => {
                    direction.left = direction.left.saturating_sub(body.len());
                    direction.sent += body.len();
                    let whole = direction.sent >= usize::from(header.length);
                    let behind = whole && direction.over;
                    tls.sent(from, header.kind, direction.sent, behind, direction.sealed);
                    if direction.withheld {
                        tls.withheld.0 = tls.withheld.0.saturating_add(body.len() as u16);
                    } else {
                        tls.flight(from, body.len(), 0, at, at);
                    }
                    if direction.left == 0 && from == Side::Client {
                        tls.client_record(header.kind, usize::from(header.length), at);
                    }
                    match header.kind {
                        record::HANDSHAKE if !direction.sealed => {
                            let seen = Span { first: at, last: at };
                            let kinds = handshake::IN_PLAINTEXT;
                            let messages = &mut direction.messages;
                            messages.push(body, kinds, seen, |message| tls.message(from, &message, keys));
                            if let (None, Some(keys)) = (&opener, keys) {
                                *opener = tls.opener(keys).map(Box::new);
                            }
                        }
                        record::ALERT if !direction.sealed => {
                            // Two bytes; anything longer is not in plaintext.
                            if header.length == 2
                                && let Some(alert) = direction.alert(from, body, at)
                            {
                                tls.alert(alert);
                            }
                        }
                        record::CHANGE_CIPHER_SPEC => direction.sealed |= tls.change_cipher_spec_seals(),
                        // Application data, and what a ChangeCipherSpec has sealed.
                        _ => {
                            tls.protected(from).bytes += body.len() as u64;
                            tls.spread[from.index()].take(body);
                            if let (Some(opener), Some(keys)) = (&mut *opener, keys)
                                && tls.is_protected(header.kind, direction.sealed)
                            {
                                opener.body(from, body);
                                if direction.left == 0 {
                                    opener.complete(from, header.kind, at, keys);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Bytes of handshake messages of `from` that no record carries, next in order, from these
    /// packets: as QUIC has them (RFC 9001, section 4).
    pub(crate) fn handshake(
        &mut self,
        from: Side,
        bytes: &[u8],
        (first, last): (Moment, Moment),
        keys: Option<&dyn Keys>,
    ) {
        let Self { directions, tls, .. } = self;
        let messages = &mut directions[from.index()].messages;
        let seen = Span { first, last };
        messages.push(bytes, handshake::IN_PLAINTEXT, seen, |message| {
            tls.message(from, &message, keys);
        });
    }

    /// Agreement of both hellos of TLS 1.3: the randoms of client and server, and the cipher suite.
    pub(crate) fn agreed(&self) -> Option<(&[u8; 32], &[u8; 32], CipherSuite)> {
        let (client, server) = (self.tls.client_hello.as_ref()?, self.tls.server_hello.as_ref()?);
        let suite = CipherSuite(server.value.cipher_suite);
        (server.value.version == Version::TLS13).then_some((&client.value.random, &server.value.random, suite))
    }

    /// Looks for keys of this connection.
    pub(crate) fn look_for_keys(&mut self, keys: &dyn Keys) {
        if self.opener.is_none() {
            self.opener = self.tls.opener(keys).map(Box::new);
        }
    }

    /// Bytes of the handshake's messages that keys opened, in order: of QUIC, which has no records.
    pub(crate) fn opened_handshake(
        &mut self,
        from: Side,
        bytes: &[u8],
        (first, last): (Moment, Moment),
        keys: &dyn Keys,
    ) {
        if let Some(opener) = &mut self.opener {
            opener.messages(from, bytes, Span { first, last }, keys);
        }
    }

    /// Secrets that open nothing of what they name.
    pub(crate) fn wrong_secrets(&mut self, given: Vec<Seen<String>>) {
        if let Some(opener) = &mut self.opener {
            opener.wrong(given);
        }
    }

    /// Bytes of `from` are missing from the capture.
    pub(crate) fn gap(&mut self, from: Side, missing: u64, at: Moment) {
        let direction = &mut self.directions[from.index()];
        let gap = direction.records.gap(missing);
        if let Gap::Inside(kind) = gap {
            direction.sent = direction
                .sent
                .saturating_add(usize::try_from(missing).unwrap_or(usize::MAX));
            let whole = direction.records.is_between();
            self.tls
                .sent(from, kind, direction.sent, whole && direction.over, direction.sealed);
        }
        match gap {
            Gap::Inside(record::HANDSHAKE) => direction.messages.gap(missing, at),
            _ => direction.messages.reset(),
        }
        direction.alert = None;
        let sealed = direction.sealed;
        if gap == Gap::Between || gap == Gap::Inside(record::HANDSHAKE) && !sealed {
            self.tls.fault(Fault::Gap { from }, at);
        }
        if let (Gap::Between, Some(opener)) = (gap, &mut self.opener) {
            opener.gap(from, at);
        }
    }
}

impl Watched {
    /// Version that the server chose so far.
    fn version(&self) -> Option<Version> {
        let chosen = self.server_hello.as_ref().or(self.hello_retry_request())?;
        Some(chosen.value.version)
    }

    fn hello_retry_request(&self) -> Option<&Seen<ServerHello>> {
        self.rare.as_ref()?.hello_retry_request.as_ref()
    }

    /// The decryption of the rest, once both hellos are there and if keys were given.
    fn opener(&self, keys: &dyn Keys) -> Option<Opener> {
        let (client, server) = (self.client_hello.as_ref()?, self.server_hello.as_ref()?);
        Opener::new(&client.value, &server.value, keys)
    }

    /// Returns true if a record is encrypted: in TLS 1.3 those of type application data, before
    /// that all behind a ChangeCipherSpec.
    fn is_protected(&self, kind: u8, sealed: bool) -> bool {
        match self.version() {
            Some(Version::TLS13) => kind == record::APPLICATION_DATA,
            _ => sealed && kind != record::CHANGE_CIPHER_SPEC,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns true if this record of the client is a ChangeCipherSpec that would end a flight of
    /// the server in TLS 1.3. Its header is withheld then, and its body must be.
    fn withholds(&mut self, kind: u8) -> bool {
        let speaking = self.flights.last().is_some_and(|flight| flight.from == Side::Server) && !self.flights_over;
        let withholds = kind == record::CHANGE_CIPHER_SPEC && speaking && !self.change_cipher_spec_seals();
        if withholds {
            let (bytes, records) = self.withheld;
            self.withheld = (bytes.saturating_add(record::HEADER as u16), records.saturating_add(1));
        }
        withholds
    }

    /// Bytes of a record, and the record if it begins with them.
    fn flight(&mut self, from: Side, bytes: usize, records: u64, first: Moment, last: Moment) {
        if self.flights_over {
            return;
        }
        let bytes = bytes as u64;
        if let Some(flight) = self.flights.last_mut().filter(|flight| flight.from == from) {
            flight.bytes += bytes;
            flight.records += records;
            flight.last = last;
            return;
        }
        let most = match self.version() {
            None => FLIGHTS,
            version => flights_of(version, self.hello_retry_request().is_some()),
        };
        if self.flights.len() >= most {
            self.flights_over = true;
            return;
        }
        let (withheld, withheld_records) = match from {
            Side::Client => std::mem::take(&mut self.withheld),
            Side::Server => (0, 0),
        };
        self.flights.reserve_exact(3_usize.saturating_sub(self.flights.len()));
        self.flights.push(Flight {
            from,
            bytes: bytes + u64::from(withheld),
            records: records + u64::from(withheld_records),
            first,
            last,
        });
    }

    fn begin(&mut self, kind: u8, sealed: bool, from: Side) {
        if sealed || !matches!(kind, record::HANDSHAKE | record::ALERT | record::CHANGE_CIPHER_SPEC) {
            self.protected(from).records += 1;
        }
    }

    /// A whole record of the client: Finished, if that is as long.
    fn client_record(&mut self, kind: u8, length: usize, at: Moment) {
        if kind == record::APPLICATION_DATA
            && self.client_finished.is_none()
            && Some(length) == self.finished_length()
            && self
                .server_hello
                .as_ref()
                .is_some_and(|hello| matches!(hello.value.cipher_suite, 0x1301..=0x1304))
        {
            self.client_finished = Some(at);
            // Earlier records were other messages of the handshake, unless the order of packets is
            // not that of their times.
            for end in &mut self.ends {
                (end.alert_sized, end.data) = (false, false);
            }
            let mut flights = self.flights.iter();
            let later = flights.any(|flight| flight.from == Side::Server && flight.last.time > at.time);
            self.ends[Side::Server.index()].data = later;
        }
    }

    /// Length of a record of TLS 1.3 with a Finished and nothing else; none before the ServerHello,
    /// or in another version. Suites that are not known count as those with the shortest hash and
    /// tag.
    fn finished_length(&self) -> Option<usize> {
        /// A handshake message's header.
        const HEADER: usize = 4;
        let hello = &self.server_hello.as_ref()?.value;
        // RFC 9846, section 4.5.3: as long as the hash of the cipher suite.
        let hash = if hello.cipher_suite == 0x1302 { 48 } else { 32 };
        (hello.version == Version::TLS13).then(|| HEADER + hash + protection(hello.cipher_suite))
    }

    /// So many bytes of a protected record's body were sent; `behind` where that is all of a record
    /// that began behind the client's Finished.
    fn sent(&mut self, from: Side, kind: u8, sent: usize, behind: bool, sealed: bool) {
        /// An alert: level and description.
        const ALERT: usize = 2;
        let Some(hello) = &self.server_hello else {
            if kind == record::APPLICATION_DATA {
                let before = &mut self.before[from.index()];
                *before = (*before).max(sent as u16);
            }
            return;
        };
        let Some(finished) = self.finished_length() else {
            // Before version 1.3 the first record behind a ChangeCipherSpec is the Finished.
            self.ends[from.index()].finished |= sealed && kind != record::CHANGE_CIPHER_SPEC;
            return;
        };
        if kind != record::APPLICATION_DATA {
            return;
        }
        let alert = ALERT + protection(hello.value.cipher_suite);
        let answers = self.ends[1 - from.index()].alert_sized;
        let end = &mut self.ends[from.index()];
        if behind {
            // An end that closes a connection is answered by an alert as well.
            end.alert_sized |= sent == alert && !answers;
            end.data |= sent != alert;
        }
        end.finished |= sent >= finished;
    }

    fn protected(&mut self, from: Side) -> &mut Protected {
        match from {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        }
    }

    /// In TLS 1.3 a ChangeCipherSpec means nothing (RFC 9846, appendix D.4) and a second ClientHello may follow it;
    /// before that it means that all later records are protected.
    fn change_cipher_spec_seals(&self) -> bool {
        match (self.version(), &self.client_hello) {
            (Some(version), _) => version < Version::TLS13,
            // A client that offers TLS 1.3 may send one right behind its ClientHello, before early data.
            (None, Some(hello)) => !hello.value.offers_version(Version::TLS13),
            (None, None) => true,
        }
    }

    fn fault(&mut self, fault: Fault, at: Moment) {
        let faults = &mut self.rare().faults;
        // No verdict is safe with bytes that are no record, however much was reported before them.
        let outweighs = matches!(fault, Fault::NotARecord { .. });
        let known = outweighs && faults.iter().any(|seen| seen.value == fault);
        if (faults.len() < KEPT || outweighs) && !known {
            faults.push(Seen::new(fault, at, at));
        }
    }

    fn alert(&mut self, alert: Seen<Alert>) {
        let alerts = &mut self.rare().alerts;
        if alerts.len() < KEPT {
            alerts.push(alert);
        }
    }

    fn message(&mut self, from: Side, message: &Message<'_>, keys: Option<&dyn Keys>) {
        let (first, last) = (message.span.first, message.span.last);
        let Some(body) = message.body else {
            if matches!(message.kind, handshake::CLIENT_HELLO | handshake::SERVER_HELLO) {
                self.fault(
                    Fault::TooLong {
                        from,
                        length: message.length,
                    },
                    last,
                );
            }
            return;
        };
        match (message.kind, from) {
            (handshake::CLIENT_HELLO, Side::Client) => match ClientHello::read(body) {
                Err(part) => self.fault(Fault::Malformed { from, part }, last),
                Ok(hello) => self.client_hello(Seen::new(hello, first, last)),
            },
            (handshake::SERVER_HELLO, Side::Server) => match ServerHello::read(body) {
                Err(part) => self.fault(Fault::Malformed { from, part }, last),
                Ok(hello) => self.server_hello(Seen::new(hello, first, last)),
            },
            (handshake::SERVER_KEY_EXCHANGE, Side::Server) => {
                let version = self.version().unwrap_or(Version::TLS12);
                let exchange = ServerKeyExchange::read(body, version);
                self.rare()
                    .server_key_exchange
                    .get_or_insert(Seen::new(exchange, first, last));
            }
            (handshake::CERTIFICATE, Side::Server) => {
                self.rare()
                    .server_certificates
                    .get_or_insert(Seen::new(Certificates::read(body, keys), first, last));
            }
            (handshake::CERTIFICATE, Side::Client) => {
                self.rare()
                    .client_certificates
                    .get_or_insert(Seen::new(Certificates::read(body, keys), first, last));
            }
            (handshake::CERTIFICATE_VERIFY, Side::Client) => {
                if let Some(code) = body.first_chunk() {
                    let scheme = SignatureScheme(u16::from_be_bytes(*code));
                    self.rare()
                        .client_signature
                        .get_or_insert(Seen::new(scheme, first, last));
                }
            }
            (kind, _) => self.fault(Fault::Unexpected { from, kind }, last),
        }
    }

    fn client_hello(&mut self, hello: Seen<ClientHello>) {
        if self.client_hello.is_none() {
            self.client_hello = Some(hello);
        } else if let Some(rare) = &mut self.rare
            && rare.hello_retry_request.is_some()
            && rare.second_client_hello.is_none()
        {
            rare.second_client_hello = Some(hello);
        } else {
            let first = self.client_hello.as_ref();
            let same = first.is_some_and(|first| first.value.random == hello.value.random);
            let (first, last) = (hello.first, hello.last);
            let excess = self.rare.as_ref().and_then(|rare| rare.excess_hello.as_ref());
            if same && excess.is_none() && self.flights.iter().all(|flight| flight.from == Side::Client) {
                let hello = Seen::new(Side::Client, first, last);
                if self.rare().unanswered_hello.get_or_insert(hello).first == first {
                    let kind = handshake::CLIENT_HELLO;
                    self.fault(
                        Fault::Unexpected {
                            from: Side::Client,
                            kind,
                        },
                        last,
                    );
                    return;
                }
            }
            self.excess_hello(Side::Client, handshake::CLIENT_HELLO, first, last);
        }
    }

    fn server_hello(&mut self, hello: Seen<ServerHello>) {
        let retry = hello.value.is_hello_retry_request();
        let place = if retry {
            &mut self.rare().hello_retry_request
        } else {
            &mut self.server_hello
        };
        if place.is_none() {
            *place = Some(hello);
            // Packets of one end may be captured before those of the other that they answer; early data do come before.
            let early = self.client_hello.as_ref().is_none_or(|hello| hello.value.early_data);
            if let Some(finished) = self.finished_length().filter(|_| !early) {
                for (end, before) in self.ends.iter_mut().zip(self.before) {
                    end.finished |= usize::from(before) >= finished;
                }
            }
        } else {
            let (first, last) = (hello.first, hello.last);
            self.excess_hello(Side::Server, handshake::SERVER_HELLO, first, last);
        }
    }

    fn excess_hello(&mut self, from: Side, kind: u8, first: Moment, last: Moment) {
        self.rare().excess_hello.get_or_insert(Seen::new(from, first, last));
        self.fault(Fault::Unexpected { from, kind }, last);
    }
}

/// Returns true if bytes are text, or not spread as encrypted ones are.
fn is_readable(bytes: &[u8]) -> bool {
    crate::quic::is_text(bytes) || is_skewed_behind_vector(bytes) == Some(true)
}

/// Bytes that protection adds to a message in TLS 1.3: its content type and the tag of the AEAD.
fn protection(suite: u16) -> usize {
    let tag = if suite == 0x1305 { 8 } else { 16 };
    1 + tag
}

#[cfg(test)]
mod tests;
