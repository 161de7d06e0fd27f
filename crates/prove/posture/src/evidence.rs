//! Evidence, and all that follows from it.

use bartizan_ledger::{Certificate, Negotiated, Verdict as PolicyVerdict};
use bartizan_registry::{CipherSuite, NamedGroup, SCTP_OVER_TLS, SignatureScheme, sctp_interface_named};
use bartizan_wire::exposed::Sightings;
use bartizan_wire::ike::KeyExchangeMethod;
use bartizan_wire::tls::{ClientHello, Fault, Opened, ServerHello, Tls};
use bartizan_wire::{Connection, Content, Seen, Side, Start};

use crate::by_address::Found;
use crate::established::Progress;
use crate::ledgers::Entry;
use crate::negotiation::Hellos;
use crate::{
    Answer, Hint, Hole, Interface, Judgement, KeyExchangeClass, Kind, Ledgers, Reply, Source, Verdict, authenticity,
    confidentiality, interface, proxy, questions, spread, ssh,
};

/// Microseconds by which the clocks of a capturing host and of a node may differ: no two of one network do by an hour.
pub(crate) const CLOCKS: u64 = 3_600_000_000;

bartizan_registry::made! {
    /// A connection that packets showed, with what ledgers say of it.
    pub struct Evidence<'a>,
    /// Joins packets with ledger records of the same client random. Without a ClientHello, records
    /// are joined by addresses and time.
    pub new(connection: &'a Connection, ledgers: &'a Ledgers) {
        let random = match &connection.content {
            Content::Tls(tls) => tls.client_hello.as_ref().map(|hello| &hello.value.random),
            _ => None,
        };
        let found = ledgers.by_address().find(connection, ledgers);
        let entries = match (random, found) {
            (Some(random), _) => ledgers.of(random),
            (None, Found::One(entries)) => entries,
            (None, Found::Nothing | Found::Several(_)) => &[],
        };
        connection: &'a Connection,
        entries: &'a [Entry],
        found: Found<'a>,
    }
}

/// Two sources that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The statements that contradict each other.
    pub what: String,
    /// The sources of both statements.
    pub sources: Vec<Source>,
}

bartizan_registry::made! {
    /// Everything that follows from a piece of evidence.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Posture,
    /// With these verdicts, and no question answered yet.
    pub(crate) bare(kind: Kind, confidentiality: Judgement, authenticity: Judgement) {
        let open = Reply::new(Answer::NotObservable, "not asked", Vec::new());
        /// Kind of the connection.
        pub kind: Kind,
        /// The group the secret was made with, by packets, else by a ledger.
        pub group: Option<NamedGroup> = None,
        /// The methods an IKE_SA was made with, the KE payload's first; for ESP those of the IKE_SA
        /// that keyed it.
        pub key_exchanges: Vec<KeyExchangeMethod> = Vec::new(),
        /// The key exchange method of SSH.
        pub ssh_key_exchange: Option<String> = None,
        /// The interface it belongs to, as far as packets tell.
        pub interface: Option<Interface> = None,
        /// The packet that tells it.
        pub named_by: Option<Source> = None,
        /// Functions of the two ends by their requests, such as network functions: the end that
        /// asks first, then the one that answers.
        pub functions: [Vec<&'static str>; 2] = Default::default(),
        /// The scheme the server signed with, where it can be known.
        pub server_signature: Option<SignatureScheme> = None,
        /// The scheme the client signed with, where it can be known.
        pub client_signature: Option<SignatureScheme> = None,
        /// Was a post-quantum key exchange offered?
        pub offered: Reply = open.clone(),
        /// Was it what the client wanted most?
        pub preferred: Reply = open.clone(),
        /// Was it negotiated?
        pub negotiated: Reply = open.clone(),
        /// Was the server authenticated?
        pub server_authenticated: Reply = open.clone(),
        /// Was the client authenticated?
        pub client_authenticated: Reply = open.clone(),
        /// Did it stay so, on resumption and after?
        pub stayed: Reply = open.clone(),
        /// Was anything sent unencrypted?
        pub clear: Reply = open,
        /// Can an attacker who records it today read it with a quantum computer?
        pub confidentiality: Judgement,
        /// Can an attacker with a quantum computer pass for one of the ends?
        pub authenticity: Judgement,
        /// True if a pre-shared key of an earlier handshake took part.
        pub resumed: bool = false,
        /// Disagreements of ledgers and packets. Verdicts follow the packets.
        pub contradictions: Vec<Contradiction> = Vec::new(),
        /// Unencrypted data above the transport. No part of the verdicts above.
        pub holes: Vec<Hole> = Vec::new(),
        /// True if a ledger records this connection.
        pub in_ledger: bool = false,
        /// True where the length of an encrypted record alone says that it was refused.
        pub refused_by_size: bool = false,
    }
}

impl Posture {
    /// The key exchange as one name: a TLS group, the method of SSH, or IKE's methods joined.
    pub fn key_exchange(&self) -> Option<String> {
        if let Some(group) = self.group {
            return Some(group.to_string());
        }
        if self.ssh_key_exchange.is_some() {
            return self.ssh_key_exchange.clone();
        }
        let names: Vec<String> = self.key_exchanges.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| names.join("+"))
    }

    /// Class of all IKE key exchange methods together; none if there are no methods.
    pub fn key_exchange_class(&self) -> Option<KeyExchangeClass> {
        KeyExchangeClass::of(self.key_exchanges.iter().copied())
    }
}

impl<'a> Evidence<'a> {
    /// The interface whose SCTP associations this TLS connection carries between two gateways: ALPN says that it carries some, and the
    /// ledgers of both ends, as far as they are given, which.
    fn carried(&self) -> Option<Interface> {
        let Content::Tls(tls) = &self.connection.content else {
            return None;
        };
        let offered = &tls.client_hello.as_ref()?.value.alpn;
        if !offered.iter().any(|name| name == SCTP_OVER_TLS) {
            return None;
        }
        carried(self.entries.iter())
    }

    /// Judges the connection.
    pub fn posture(&self) -> Posture {
        let signature = |side| authenticity::scheme(self, side).map(|(scheme, _)| scheme);
        let shown = interface::shown(self.connection);
        let mut holes = self.holes(&shown.sightings);
        holes.extend(shown.tunnels);
        holes.extend(proxy::secrets(self.connection));
        holes.extend(self.tunnel());
        if let Content::Ssh(carried) = &self.connection.content {
            let posture = ssh::posture(&self.connection.into(), carried);
            return Posture {
                interface: shown.interface.map(|(interface, _)| interface),
                named_by: shown.interface.map(|(_, at)| Source::between(at, at)),
                confidentiality: confidentiality::doubted(self, posture.confidentiality),
                holes,
                contradictions: self.contradictions(),
                ..posture
            };
        }
        let carried = self.carried();
        let mut posture = Posture {
            kind: Kind::of(self.connection, self.refused().is_some()),
            group: self
                .group()
                .filter(|_| self.refused().is_none())
                .map(|(group, _)| group),
            key_exchanges: Vec::new(),
            ssh_key_exchange: None,
            interface: carried.or(shown.interface.map(|(interface, _)| interface)),
            named_by: match carried {
                Some(_) => None,
                None => shown.interface.map(|(_, at)| Source::between(at, at)),
            },
            functions: shown.functions.map(|functions| functions.into_iter().collect()),
            server_signature: signature(Side::Server),
            client_signature: signature(Side::Client),
            offered: questions::offered(self),
            preferred: questions::preferred(self),
            negotiated: questions::negotiated(self),
            server_authenticated: questions::authenticated(self, Side::Server),
            client_authenticated: questions::authenticated(self, Side::Client),
            stayed: questions::stayed(self),
            clear: questions::clear(self),
            confidentiality: confidentiality::judge(self),
            authenticity: authenticity::judge(self),
            resumed: self
                .server_hello()
                .is_some_and(|hello| hello.value.pre_shared_key.is_some()),
            contradictions: self.contradictions(),
            holes,
            in_ledger: !self.entries.is_empty(),
            refused_by_size: self.tls().is_some_and(|tls| Progress::of(self, tls).is_by_size()),
        };
        spread::doubt(
            self.tls().and_then(Tls::looks_encrypted),
            &Source::all(self.connection),
            &mut posture,
        );
        posture
    }

    /// Peers' chains by ledger records of this connection's handshake, each with its source.
    pub fn recorded_chains(&self) -> impl Iterator<Item = (Source, &'a [Certificate])> + use<'a> {
        self.entries()
            .map(|entry| (entry.source(), entry.handshake.chain.as_slice()))
    }

    /// Returns true if ledgers were joined by addresses and time, for want of a ClientHello.
    pub(crate) fn is_joined_by_address(&self) -> bool {
        matches!(self.found, Found::One(_))
    }

    /// Number of handshakes in ledgers with its addresses at about its time, if more than one.
    pub(crate) fn rivals(&self) -> Option<usize> {
        match self.found {
            Found::Several(rivals) => Some(rivals),
            Found::Nothing | Found::One(_) => None,
        }
    }

    fn holes(&self, in_fields: &Sightings) -> Vec<Hole> {
        let opened = self.opened().and_then(|opened| opened.http2.as_ref());
        let mut seen = match &self.connection.content {
            Content::Http2(http2) => http2.exposed.as_deref().cloned(),
            Content::Http1(http1) => http1.exposed.as_deref().cloned(),
            _ => opened.and_then(|http2| http2.exposed.as_deref().cloned()),
        }
        .unwrap_or_default();
        seen.extend(in_fields);
        // A reader of protected data has the keys: others learn a SUCI only if the keys do not
        // hold.
        match confidentiality::judge(self).verdict() {
            Verdict::QuantumSafe => Hole::tokens(&seen),
            _ => Hole::all(&seen),
        }
    }

    /// Connections that continue behind the proxy this connection reaches, as far as keys show
    /// them: they have no other protection there.
    fn tunnel(&self) -> Vec<Hole> {
        let Some(tunnel) = self.opened().and_then(|opened| opened.tunnel.as_ref()) else {
            return Vec::new();
        };
        let mut connection = self.connection.clone();
        connection.proxies.clone_from(&tunnel.proxies);
        connection.content = tunnel.content.clone();
        let within = Evidence {
            connection: &connection,
            entries: &[],
            found: Found::Nothing,
        };
        vec![Hole::behind(&confidentiality::judge(&within), &connection)]
    }

    /// Keys that were given for this connection and are not its keys.
    fn wrong_keys(&self) -> Vec<Contradiction> {
        let wrong = self.opened().into_iter().flat_map(|opened| &opened.wrong);
        let contradiction = |seen: &Seen<String>| Contradiction {
            what: format!("the secret in {} does not open what it names", seen.value),
            sources: vec![Source::seen(seen)],
        };
        wrong.map(contradiction).collect()
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.connection
    }

    /// Ledger records that may be of this connection by the times of its packets.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let connection = self.connection;
        let begun = connection.start == Start::Syn;
        let times = [connection.first, connection.last].map(|at| at.time.0 / 1000);
        self.entries.iter().filter(move |entry| {
            let early = begun && entry.at_us.saturating_add(CLOCKS) < times[0];
            !early && entry.at_us <= times[1].saturating_add(CLOCKS)
        })
    }

    /// Records of one handshake that do not say the same of it.
    pub(crate) fn disputed(&self) -> Option<Contradiction> {
        disputed(self.entries())
    }

    /// Statements of ledgers that packets, or other ledgers, contradict.
    fn ledgers_contradicted(&self) -> Vec<Contradiction> {
        let mut found: Vec<Contradiction> = self.disputed().into_iter().collect();
        let taken: Vec<&Entry> = self.entries().collect();
        for entry in self
            .entries
            .iter()
            .filter(|entry| !taken.iter().any(|taken| std::ptr::eq(*taken, *entry)))
        {
            found.push(Contradiction {
                what: format!("the ledger of {} tells of this handshake at another time", entry.node()),
                sources: vec![entry.source(), Source::all(self.connection)],
            });
        }
        let refused = |entry: &&Entry| matches!(entry.handshake.verdict, PolicyVerdict::Refused { .. });
        if let Some(entry) = self.entries().find(refused)
            && authenticity::went_on(self)
        {
            found.push(Contradiction {
                what: format!(
                    "the ledger of {} says that it was refused, and it went on",
                    entry.node()
                ),
                sources: vec![entry.source(), Source::all(self.connection)],
            });
        }
        found
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        match &self.connection.content {
            Content::Tls(tls) => Some(tls),
            _ => None,
        }
    }

    /// Content decrypted with given keys.
    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.tls()?.opened.as_deref()
    }

    pub(crate) fn client_hello(&self) -> Option<&Seen<ClientHello>> {
        self.tls()?.client_hello.as_ref()
    }

    pub(crate) fn server_hello(&self) -> Option<&Seen<ServerHello>> {
        self.tls()?.server_hello.as_ref()
    }

    /// The judgement of a handshake that an end refused behind the ServerHello.
    pub(crate) fn refused(&self) -> Option<Judgement> {
        let tls = self.tls().filter(|tls| tls.server_hello.is_some())?;
        Progress::of(self, tls).judgement(&Source::all(self.connection))
    }

    /// Hellos of both ends.
    pub(crate) fn hellos(&self) -> Option<Hellos<'_>> {
        let tls = self.tls()?;
        let server = tls.server_hello.as_ref()?;
        let first = tls.client_hello.as_ref();
        // Bytes that are missing before the first ClientHello may be another one.
        let gap = |hello: &Seen<ClientHello>| {
            let before = |fault: &&Seen<Fault>| fault.first.packet <= hello.first.packet;
            let of_client = |fault: &Seen<Fault>| fault.value == Fault::Gap { from: Side::Client };
            tls.faults.iter().filter(before).any(of_client)
        };
        let begun = self.connection.start == Start::Syn && !first.is_some_and(gap);
        let (retry, second) = (tls.hello_retry_request.as_ref(), tls.second_client_hello.as_ref());
        Some(Hellos::new(first, retry, second, server, begun))
    }

    /// Packets that contradict other packets: no safe verdict rests on either.
    pub(crate) fn doubts(&self) -> Vec<Contradiction> {
        let mut doubts = self.contradicted_segments();
        if let Some((what, source)) = proxy::doubted(self.connection) {
            doubts.push(Contradiction {
                what,
                sources: vec![source],
            });
        }
        if let Content::Ssh(ssh) = &self.connection.content
            && let Some((what, source)) = ssh::contradicted(ssh)
        {
            let sources = source.map_or_else(|| vec![Source::all(self.connection)], |source| vec![source]);
            doubts.push(Contradiction { what, sources });
        }
        let Some(tls) = self.tls() else { return doubts };
        if let Some(excess) = &tls.excess_hello {
            let mut sources = vec![Source::seen(excess)];
            let (what, counted) = match excess.value {
                Side::Server => (
                    "two ServerHellos in one handshake",
                    tls.server_hello.as_ref().map(Source::seen),
                ),
                Side::Client => (
                    "a ClientHello that nobody asked for",
                    tls.client_hello.as_ref().map(Source::seen),
                ),
            };
            sources.extend(counted);
            doubts.push(Contradiction {
                what: format!("{what}: which of them the {} sent is not shown", excess.value),
                sources,
            });
        }
        let post_quantum = self.hellos().and_then(|hellos| hellos.contradicted());
        doubts.extend(post_quantum.map(|judgement| Contradiction {
            what: judgement.because().to_owned(),
            sources: judgement.sources().to_vec(),
        }));
        doubts
    }

    /// Segments that contradict others of their connection, or are none of it: which of them its ends took is not shown.
    fn contradicted_segments(&self) -> Vec<Contradiction> {
        let connection = self.connection;
        let mut found = Vec::new();
        for (side, traffic) in [
            (Side::Client, connection.from_client),
            (Side::Server, connection.from_server),
        ] {
            if let Some(at) = traffic.stream.contradicted {
                found.push(Contradiction {
                    what: format!("segments of the {side} have other bytes for the same place"),
                    sources: vec![Source::packet(at.get())],
                });
            }
            if traffic.stream.stray > 0 {
                found.push(Contradiction {
                    what: format!(
                        "segments of the {side} with data are outside any window, or say RST, and were not read"
                    ),
                    sources: vec![Source::all(connection)],
                });
            }
        }
        if connection.sums_changed {
            found.push(Contradiction {
                what: "checksums are wrong in segments that were read, and right in others of the same end".into(),
                sources: vec![Source::all(connection)],
            });
        }
        found
    }

    /// Segments that were not read because their receiver drops them. What was read rests on none of them.
    fn corrupt_segments(&self) -> Option<Contradiction> {
        let connection = self.connection;
        let corrupt = [connection.from_client, connection.from_server].map(|traffic| traffic.stream.corrupt > 0);
        corrupt.contains(&true).then(|| Contradiction {
            what: "a checksum is wrong among right ones in the handshake: forged, or damaged on the way".into(),
            sources: vec![Source::all(connection)],
        })
    }

    /// The group of the key exchange and who says so: the packets, or else a ledger.
    pub(crate) fn group(&self) -> Option<(NamedGroup, Source)> {
        if let Some(seen) = self.server_hello() {
            if let Some(share) = seen.value.key_share {
                return Some((share.group, Source::seen(seen)));
            }
            let exchange = self.tls()?.server_key_exchange.as_ref()?;
            return Some((exchange.value.group?, Source::seen(exchange)));
        }
        // Two ledgers that disagree tell nothing, and none tells of a group that the client did not offer.
        if self.disputed().is_some() {
            return None;
        }
        self.entries().find_map(|entry| {
            let negotiated = entry.handshake.negotiated.as_ref()?;
            let group = NamedGroup(negotiated.group.code);
            let offers = |hello: &Seen<ClientHello>| hello.value.supported_groups.contains(&group);
            let offered = self.client_hello().is_none_or(offers);
            offered.then(|| (group, entry.source()))
        })
    }

    fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = self.wrong_keys();
        found.extend(self.doubts());
        found.extend(self.corrupt_segments());
        found.extend(self.ledgers_contradicted());
        let Some(hello) = self.server_hello() else {
            return found;
        };
        for entry in self.entries() {
            let Some(negotiated) = &entry.handshake.negotiated else {
                continue;
            };
            let mut differ = |what: String| {
                found.push(Contradiction {
                    what,
                    sources: vec![Source::seen(hello), entry.source()],
                });
            };
            let node = entry.node();
            for side in [Side::Server, Side::Client] {
                if let (Some((ours, Source::Packets { .. })), Some(theirs)) = (
                    authenticity::scheme(self, side),
                    authenticity::signature_of(&entry.handshake, side),
                ) && ours.0 != theirs.code
                {
                    let theirs = SignatureScheme(theirs.code);
                    differ(format!(
                        "the keys given show that the {side} signed with {ours}, the ledger of {node} says {theirs}"
                    ));
                }
            }
            if let Some(share) = hello.value.key_share
                && share.group.0 != negotiated.group.code
            {
                let theirs = NamedGroup(negotiated.group.code);
                differ(format!(
                    "the packets show group {}, the ledger of {node} says {theirs}",
                    share.group
                ));
            }
            if hello.value.cipher_suite != negotiated.cipher.code {
                let [ours, theirs] = [hello.value.cipher_suite, negotiated.cipher.code].map(CipherSuite);
                differ(format!(
                    "the packets show cipher suite {ours}, the ledger of {node} says {theirs}"
                ));
            }
            if hello.value.pre_shared_key.is_some() != negotiated.resumed {
                let (ours, theirs) = if negotiated.resumed {
                    ("a full", "a resumed")
                } else {
                    ("a resumed", "a full")
                };
                differ(format!(
                    "the packets show {ours} handshake, the ledger of {node} says {theirs} one"
                ));
            }
        }
        found
    }
}

/// Records of one handshake that do not say the same of it.
pub(crate) fn disputed<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<Contradiction> {
    let mut recorded = entries.filter_map(|entry| Some((entry, entry.handshake.negotiated.as_ref()?)));
    let (first, ours) = recorded.next()?;
    let differs = |(other, theirs): &(&Entry, &Negotiated)| {
        let of = |negotiated: &Negotiated| (negotiated.group.code, negotiated.cipher.code, negotiated.resumed);
        // An end that refuses the other has no scheme of it to tell.
        let mut schemes = [Side::Client, Side::Server].into_iter().map(|side| {
            [first, *other].map(|entry| authenticity::signature_of(&entry.handshake, side).map(|scheme| scheme.code))
        });
        let others = |[one, other]: [Option<u16>; 2]| one.is_some() && other.is_some() && one != other;
        of(ours) != of(theirs) || schemes.any(others)
    };
    let (other, _) = recorded.find(differs)?;
    Some(Contradiction {
        what: format!(
            "the ledgers of {} and {} tell different things of one handshake",
            first.node(),
            other.node()
        ),
        sources: vec![first.source(), other.source()],
    })
}

/// The interface that ledgers name, as far as they agree, for a connection that carries SCTP between two gateways.
pub(crate) fn carried<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<Interface> {
    let mut named = entries.map(|entry| entry.handshake.interface.as_str());
    let first = named.next()?;
    if named.any(|other| other != first) {
        return None;
    }
    let name = sctp_interface_named(first)?;
    Some(Interface { name, by: Hint::Ledger })
}
