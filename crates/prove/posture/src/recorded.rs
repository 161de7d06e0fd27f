//! Ledger records of IKE_SAs and of the CHILD_SAs they keyed: key exchanges and proofs that IKE
//! encrypts.

use std::collections::HashMap;

use bartizan_ledger::{Algorithm, Authentication, Cause, ChildSa, Direction, Forgery, IkeSa as Record, Key, SaClosed};
use bartizan_registry::{Safety, Transform, TransformKind, transform, x509_algorithm_named};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{IkeSa, KeyExchangeMethod, Origin};

use crate::ike_opened::{is_known_cipher, names, weakness, withstand, worth};
use crate::key_exchange::KeyExchangeClass;
use crate::span::Span;
use crate::{Answer, Contradiction, Judged, Judgement, Posture, Reply, Source, Verdict};

/// The SPIs of an IKE_SA: the initiator's, the responder's.
type Spis = (u64, u64);

/// IKE_SAs that one after the other took each other's place: more are not followed.
const REKEYS: usize = 10_000;

/// A ledger's word on an IKE_SA.
#[derive(Debug, Clone)]
struct Ike {
    source: Source,
    node: String,
    span: Span,
    methods: Vec<KeyExchangeMethod>,
    record: Box<Record>,
}

/// A ledger's word on a CHILD_SA.
#[derive(Debug, Clone)]
struct Child {
    source: Source,
    node: String,
    ike: Spis,
    /// The lesser first: the two ends name them the other way round.
    spis: [u32; 2],
    span: Span,
    methods: Vec<KeyExchangeMethod>,
    record: Box<ChildSa>,
    /// A contradicting record of another ledger.
    disputed: Option<(Source, String)>,
}

/// All of it, by what packets show.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    ike: HashMap<Spis, Vec<Ike>>,
    /// Which IKE_SA took the place of which.
    replaced_by: HashMap<Spis, Spis>,
    children: HashMap<Spis, Vec<Child>>,
    by_esp_spi: HashMap<u32, Vec<(Spis, usize)>>,
}

fn spis(key: &Key) -> Option<Spis> {
    match key {
        Key::Ike {
            initiator_spi,
            responder_spi,
        } => Some((initiator_spi.0, responder_spi.0)),
        Key::Tls { .. } => None,
    }
}

/// A method without a number is one that the registry does not know.
fn methods(algorithms: &[Algorithm]) -> Vec<KeyExchangeMethod> {
    let code = |algorithm: &Algorithm| KeyExchangeMethod(algorithm.code.unwrap_or(0));
    algorithms.iter().map(code).collect()
}

/// A cipher that hides nothing, or nothing for long.
fn broken(encryption: Option<&Algorithm>) -> Option<&'static Transform> {
    let code = encryption.and_then(|algorithm| algorithm.code)?;
    transform(TransformKind::Encryption, code).filter(|known| known.recording == Some(Safety::Vulnerable))
}

/// The reason why a cipher is not known, if the registry does not say what it is worth.
fn unknown_cipher(encryption: Option<&Algorithm>, node: &str) -> Option<String> {
    let known = encryption
        .and_then(|algorithm| algorithm.code)
        .is_some_and(is_known_cipher);
    let name = encryption.map_or("that is not recorded", |algorithm| &algorithm.name);
    (!known).then(|| format!("cipher {name}, which the registry does not know, by the ledger of {node}"))
}

/// Returns true if a CHILD_SA encrypts: one of AH names no cipher at all.
fn encrypts(record: &ChildSa) -> bool {
    let ah = record
        .protocol
        .as_deref()
        .is_some_and(|protocol| !protocol.eq_ignore_ascii_case("ESP"));
    !ah && record.encryption.is_some() && broken(record.encryption.as_ref()).is_none_or(Transform::encrypts)
}

/// The fields of a record that a verdict rests on.
fn says(record: &ChildSa) -> impl PartialEq + use<> {
    let code = record.encryption.as_ref().map(|algorithm| algorithm.code);
    (methods(&record.key_exchanges), code, encrypts(record))
}

/// The records of one IKE_SA that do not say the same of it.
fn disputed(entries: &[Ike]) -> Option<Contradiction> {
    let says = |entry: &Ike| {
        let cipher = entry.record.encryption.as_ref().and_then(|algorithm| algorithm.code);
        (entry.methods.clone(), cipher, entry.record.replaces)
    };
    let first = entries.first()?;
    let other = entries.iter().find(|entry| says(entry) != says(first))?;
    Some(Contradiction {
        what: format!(
            "the ledgers of {} and {} tell different things of one IKE_SA",
            first.node, other.node
        ),
        sources: vec![first.source.clone(), other.source.clone()],
    })
}

impl Recorded {
    pub(crate) fn add_ike(&mut self, record: Box<Record>, node: &str, at_us: u64) {
        let Some(key) = spis(&record.key) else { return };
        let replaces = record.replaces.as_ref().and_then(spis);
        if let Some(before) = replaces {
            self.replaced_by.insert(before, key);
        }
        let source = Source::Ledger {
            node: node.into(),
            at_us,
        };
        let entries = self.ike.entry(key).or_default();
        if entries.iter().any(|entry| entry.source == source) {
            return;
        }
        entries.push(Ike {
            source,
            node: node.to_owned(),
            span: Span::written(at_us, record.established_s),
            methods: methods(&record.key_exchanges),
            record,
        });
    }

    pub(crate) fn add_child(&mut self, record: Box<ChildSa>, node: &str, at_us: u64) {
        let Some(ike) = spis(&record.key) else { return };
        let mut both = [record.spi_in.0, record.spi_out.0];
        both.sort_unstable();
        let children = self.children.entry(ike).or_default();
        // Both ends tell of the same one, and should tell the same.
        if let Some(child) = children.iter_mut().find(|child| child.spis == both) {
            if says(&child.record) != says(&record) {
                let source = Source::Ledger {
                    node: node.into(),
                    at_us,
                };
                child.disputed.get_or_insert((source, node.to_owned()));
            }
            return;
        }
        for spi in both {
            self.by_esp_spi.entry(spi).or_default().push((ike, children.len()));
        }
        children.push(Child {
            source: Source::Ledger {
                node: node.into(),
                at_us,
            },
            node: node.to_owned(),
            ike,
            spis: both,
            span: Span::written(at_us, record.installed_s),
            methods: methods(&record.key_exchanges),
            record,
            disputed: None,
        });
    }

    /// An SA ended. Its last word counts: either end may tell later.
    pub(crate) fn close(&mut self, closed: &SaClosed, at_us: u64) {
        let Some(key) = spis(&closed.key) else { return };
        match closed.spi_in {
            None => self
                .ike
                .get_mut(&key)
                .into_iter()
                .flatten()
                .for_each(|entry| entry.span.ends(at_us)),
            Some(spi) => {
                let children = self.children.get_mut(&key).into_iter().flatten();
                children
                    .filter(|child| child.spis.contains(&spi.0))
                    .for_each(|child| child.span.ends(at_us));
            }
        }
    }

    /// The records of an IKE_SA, one of each end, each with its place.
    pub(crate) fn of_ike(&self, sa: &IkeSa) -> impl Iterator<Item = (Source, &Record)> {
        let entries = self.ike.get(&(sa.initiator_spi, sa.responder_spi));
        let (first, last, begun) = (sa.first, sa.last, sa.origin == Origin::Init);
        let entries = entries
            .into_iter()
            .flatten()
            .filter(move |entry| entry.span.allows(first, last, begun));
        entries.map(|entry| (entry.source.clone(), &*entry.record))
    }

    /// The record of the CHILD_SA that an ESP security association is one direction of.
    pub(crate) fn of_esp(&self, sa: &EspSa) -> Option<(Source, &ChildSa)> {
        let child = self.child(sa)?;
        Some((child.source.clone(), &child.record))
    }

    /// Number of IKE_SAs that can be looked up.
    pub(crate) fn ike_sas(&self) -> usize {
        self.ike.len()
    }

    /// Refines an IKE_SA's posture by ledgers. Proofs by packets stand; ledgers add facts that
    /// packets cannot show.
    pub(crate) fn refine_ike(&self, sa: &IkeSa, posture: &mut Posture) {
        let key = (sa.initiator_spi, sa.responder_spi);
        let Some(entries) = self.ike.get(&key) else { return };
        let Some(first) = entries.first() else { return };
        posture.in_ledger = true;
        let at_another_time = |entry: &&Ike| !entry.span.allows(sa.first, sa.last, sa.origin == Origin::Init);
        if let Some(other) = entries.iter().find(at_another_time) {
            posture.contradictions.push(Contradiction {
                what: format!("the ledger of {} tells of this IKE_SA at another time", other.node),
                sources: vec![other.source.clone(), Source::between(sa.first, sa.last)],
            });
            return;
        }
        let sources: Vec<Source> = entries.iter().map(|entry| entry.source.clone()).collect();
        if sa.chosen.is_some() {
            let ours: Vec<KeyExchangeMethod> = sa.key_exchanges().collect();
            for entry in entries.iter().filter(|entry| entry.methods != ours) {
                let [shown, reported] = [names(&ours), names(&entry.methods)];
                posture.contradictions.push(Contradiction {
                    what: format!("the packets show {shown}, the ledger of {} says {reported}", entry.node),
                    sources: vec![Source::between(sa.first, sa.last), entry.source.clone()],
                });
            }
        } else {
            posture.key_exchanges.clone_from(&first.methods);
        }
        posture.contradictions.extend(disputed(entries));
        // A record never makes safe an IKE_SA that packets, or another ledger, contradict.
        if unknown(posture.confidentiality.verdict())
            && let Some(judgement) = self.judge(key, &sources)
            && (posture.contradictions.is_empty() || judgement.verdict() != Verdict::QuantumSafe)
        {
            let answer = match judgement.verdict() {
                Verdict::QuantumSafe => Answer::Yes,
                Verdict::Vulnerable | Verdict::ReadableNow => Answer::No,
                Verdict::NotObservable | Verdict::NotSeen => Answer::NotObservable,
            };
            posture.negotiated = Reply::new(answer, judgement.because(), sources.clone());
            posture.confidentiality = judgement;
        }
        if let Some(reply) = self.stayed(key, sa, posture) {
            posture.stayed = reply;
        }
        authenticate(entries, posture);
    }

    /// Judges an IKE_SA's key exchange with those of the IKE_SAs it was made from by rekeys. Each
    /// mixes into the next (RFC 7296, section 2.18), so that one that holds is enough.
    fn judge(&self, key: Spis, sources: &[Source]) -> Option<Judgement> {
        let own = self.ike.get(&key)?.first()?;
        let unknown = unknown_cipher(own.record.encryption.as_ref(), &own.node);
        let mut at = key;
        for _ in 0..REKEYS {
            let entries = self.ike.get(&at)?;
            let entry = entries.first()?;
            let node = &entry.node;
            if let Some(dispute) = disputed(entries) {
                return Some(Judgement::new(Verdict::NotObservable, dispute.what, dispute.sources));
            }
            if let Some(cipher) = broken(entry.record.encryption.as_ref()) {
                let because = format!("{}, by the ledger of {node}", weakness(cipher));
                return Some(Judgement::new(worth(cipher), because, sources.to_vec()));
            }
            if let Some(because) = unknown.as_ref().filter(|_| withstand(&entry.methods)) {
                return Some(Judgement::new(Judged::UNKNOWN, because.as_str(), sources.to_vec()));
            }
            if withstand(&entry.methods) {
                let because = format!("{} negotiated, by the ledger of {node}", names(&entry.methods));
                return Some(Judgement::new(Verdict::QuantumSafe, because, sources.to_vec()));
            }
            match (entry.record.cause, entry.record.replaces.as_ref().and_then(spis)) {
                (Cause::Rekey, Some(before)) => at = before,
                (Cause::SetUp | Cause::ReAuthentication, _)
                    if KeyExchangeClass::of(entry.methods.iter().copied()) == Some(KeyExchangeClass::Classical) =>
                {
                    let because = format!(
                        "{} negotiated: a classical key exchange, by the ledger of {node}",
                        names(&entry.methods)
                    );
                    let judged = match unknown {
                        Some(_) => Verdict::Vulnerable.into(),
                        None => Judged::CLASSICAL,
                    };
                    return Some(Judgement::new(judged, because, sources.to_vec()));
                }
                // Found established, or rekeyed from one that no ledger records: what went before is not known.
                _ => return None,
            }
        }
        None
    }

    /// Answers yes if each rekey had a post-quantum exchange, where packets do not decide it and
    /// ledgers record all of them.
    fn stayed(&self, key: Spis, sa: &IkeSa, posture: &Posture) -> Option<Reply> {
        if posture.confidentiality.verdict() != Verdict::QuantumSafe
            || !matches!(posture.stayed.answer(), Answer::NotObservable | Answer::NotSeen)
        {
            return None;
        }
        let children = self.children.get(&key).map_or(&[][..], Vec::as_slice);
        let successor = self.replaced_by.get(&key).and_then(|next| self.ike.get(next)?.first());
        let rekeyed = children.iter().filter(|child| child.record.cause == Cause::Rekey);
        let rekeyed = rekeyed.map(|child| (&child.methods, &child.source, &child.node));
        let successors = successor
            .iter()
            .map(|entry| (&entry.methods, &entry.source, &entry.node));
        let reported: Vec<_> = rekeyed.chain(successors).collect();
        let sources = || reported.iter().map(|(_, source, _)| (*source).clone()).collect();
        if let Some((methods, source, node)) = reported.iter().find(|(methods, ..)| !withstand(methods)) {
            let with = if methods.is_empty() {
                "without a key exchange".to_owned()
            } else {
                format!("with {}", names(methods))
            };
            let because = format!("rekeyed {with}, by the ledger of {node}: its keys rest on the IKE_SA's alone");
            return Some(Reply::new(Answer::No, because, vec![(*source).clone()]));
        }
        let (_, _, node) = reported.first()?;
        // Each CREATE_CHILD_SA that packets show must be reported.
        (reported.len() as u64 >= sa.rekeys + sa.unseen_rekeys).then(|| {
            let because = format!(
                "each rekey ({}) had a post-quantum key exchange, by the ledger of {node}",
                reported.len()
            );
            Reply::new(Answer::Yes, because, sources())
        })
    }

    /// The IKE_SA that keyed an ESP security association, by ledgers.
    pub(crate) fn keyed(&self, sa: &EspSa) -> Option<Spis> {
        self.child(sa).map(|child| child.ike)
    }

    /// An SPI is the receiver's choice alone: a record is of the packets between its ends, that way
    /// round, and two that are the same at about one time decide nothing.
    fn child(&self, sa: &EspSa) -> Option<&Child> {
        let places = self.by_esp_spi.get(&sa.spi)?.iter();
        let mut children = places
            .filter_map(|(ike, index)| self.children.get(ike)?.get(*index))
            .filter(|child| child.span.allows(sa.first, sa.last, sa.first_sequence == 1))
            .filter(|child| self.is_between_its_ends(child, sa));
        let child = children.next()?;
        children.next().is_none().then_some(child)
    }

    /// Returns true if packets go between the addresses that the record of a CHILD_SA's IKE_SA names.
    /// Behind a translation of addresses, which takes ESP in UDP, one end has another.
    fn is_between_its_ends(&self, child: &Child, sa: &EspSa) -> bool {
        // In a tunnel or a VLAN the same addresses may be of another network.
        if !sa.path.is_empty() {
            return false;
        }
        let ends = |entry: &Ike| {
            let [local, peer] =
                [entry.record.local_address?, entry.record.peer_address?].map(|end| end.ip().to_canonical());
            let record = &child.record;
            let directions = [(record.spi_in, peer, local), (record.spi_out, local, peer)];
            let mut directions = directions.into_iter().filter(|(spi, ..)| spi.0 == sa.spi);
            Some(
                directions.any(|(_, from, to)| match (from == sa.source, to == sa.destination) {
                    (true, true) => true,
                    (false, false) => false,
                    _ => record.udp,
                }),
            )
        };
        let entries = self.ike.get(&child.ike).into_iter().flatten();
        let mut own = entries.filter(|entry| entry.node == child.node);
        own.any(|entry| ends(entry) == Some(true))
    }

    /// Refines an ESP security association's posture by ledgers; `ike` is that of its IKE_SA, if
    /// packets show one.
    pub(crate) fn refine_esp(&self, sa: &EspSa, posture: &mut Posture) {
        let Some(child) = self.child(sa) else { return };
        posture.in_ledger = true;
        let sources = vec![child.source.clone()];
        let node = &child.node;
        if !encrypts(&child.record) {
            let because = format!("sent unencrypted: its cipher does not encrypt, by the ledger of {node}");
            posture.clear = Reply::new(Answer::Yes, because.clone(), sources.clone());
            posture.confidentiality = Judgement::new(Verdict::ReadableNow, because, sources);
            return;
        }
        if posture.clear.answer() == Answer::Yes {
            return;
        }
        if let Some(cipher) = broken(child.record.encryption.as_ref()) {
            let because = format!("{}, by the ledger of {node}", weakness(cipher));
            posture.confidentiality = Judgement::new(worth(cipher), because, sources);
            return;
        }
        if let Some((source, other)) = &child.disputed {
            let what = format!("the ledgers of {node} and {other} tell different things of one CHILD_SA");
            let sources = vec![child.source.clone(), source.clone()];
            if !posture.confidentiality.verdict().is_vulnerable() {
                posture.confidentiality = Judgement::new(Verdict::NotObservable, what.as_str(), sources.clone());
            }
            posture.contradictions.push(Contradiction { what, sources });
            return;
        }
        let reported = if withstand(&child.methods) {
            let because = format!("{} of its own, by the ledger of {node}", names(&child.methods));
            Some(Judgement::new(Verdict::QuantumSafe, because, sources.clone()))
        } else {
            self.judge(child.ike, &sources).map(|judgement| {
                let because = format!(
                    "keyed by the IKE_SA that the ledger of {node} names: {}",
                    judgement.because()
                );
                Judgement::new(judgement.judged(), because, sources.clone())
            })
        };
        if let Some(because) = unknown_cipher(child.record.encryption.as_ref(), node) {
            let reported = reported.filter(|reported| reported.verdict().is_vulnerable());
            if !posture.confidentiality.verdict().is_vulnerable() {
                let because = Judgement::new(Judged::UNKNOWN, because, sources);
                posture.confidentiality = reported.unwrap_or(because);
            }
            return;
        }
        let Some(reported) = reported else { return };
        if unknown(posture.confidentiality.verdict()) {
            if withstand(&child.methods) {
                posture.key_exchanges.clone_from(&child.methods);
                posture.negotiated = Reply::new(Answer::Yes, reported.because(), sources);
            }
            posture.confidentiality = reported;
        } else if reported.verdict() == Verdict::QuantumSafe && posture.confidentiality.verdict().is_vulnerable() {
            // A key exchange of its own takes a CREATE_CHILD_SA with room for it, which packets show.
            let what = format!(
                "the packets show: {}; the ledger says {}",
                posture.confidentiality.because(),
                reported.because()
            );
            posture.contradictions.push(Contradiction { what, sources });
        }
    }
}

fn unknown(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::NotObservable | Verdict::NotSeen)
}

/// Proof of a peer, or of the writer, where no quantum computer forges it: neither its
/// signature nor one of its certificates', up to the one by a root, which is trusted by being
/// known.
fn holding(authentication: &Authentication, own: bool) -> Option<&str> {
    let safe = |name: &String| x509_algorithm_named(name).is_some_and(|known| known.safety == Safety::QuantumSafe);
    let (method, chain) = match own {
        true => (&authentication.local, &authentication.local_chain),
        false => (&authentication.peer, &authentication.peer_chain),
    };
    let method = method.as_deref()?;
    let signs = |name| bartizan_registry::mentions(method, name);
    let signs = signs("ml-dsa") || signs("slh-dsa");
    let known = own || authentication.forgery == Forgery::NotKnown;
    (signs && known && !chain.is_empty() && chain.iter().all(safe)).then_some(method)
}

/// Authentication of each end. A ledger knows its own end's method by name; its word on forgery is
/// of the peer.
fn authenticate(entries: &[Ike], posture: &mut Posture) {
    for entry in entries {
        let Some(authentication) = &entry.record.authentication else {
            continue;
        };
        let source = vec![entry.source.clone()];
        let node = &entry.node;
        let reply = |method: &Option<String>| {
            let method = method.as_ref()?;
            Some(Reply::new(
                Answer::Yes,
                format!("by {method}, by the ledger of {node}"),
                source.clone(),
            ))
        };
        let (ours, theirs) = (reply(&authentication.local), reply(&authentication.peer));
        let (client, server) = match entry.record.direction {
            Direction::Outbound => (ours, theirs),
            Direction::Inbound => (theirs, ours),
        };
        for (place, reply) in [
            (&mut posture.client_authenticated, client),
            (&mut posture.server_authenticated, server),
        ] {
            if let Some(reply) = reply
                && place.answer() != Answer::Yes
            {
                *place = reply;
            }
        }
    }
    let peers = || {
        entries
            .iter()
            .filter_map(|entry| Some((entry, entry.record.authentication.as_ref()?)))
    };
    let forged = peers().find(|(_, authentication)| authentication.forgery == Forgery::PossibleLater);
    if let Some((entry, authentication)) = forged {
        let method = authentication.peer.as_deref().unwrap_or("a classical method");
        let under = match &authentication.peer_chain[..] {
            [] => String::new(),
            chain => format!(" under certificates signed by {}", chain.join(", ")),
        };
        let because = format!(
            "the peer of {} proved itself by {method}{under}, by its ledger",
            entry.node
        );
        posture.authenticity = Judgement::new(Judged::CLASSICAL, because, vec![entry.source.clone()]);
    } else if let Some((entry, authentication)) = peers().next()
        && unknown(posture.authenticity.verdict())
    {
        // An end's ledger vouches for its peer, and where the peer has none for what it sent
        // itself.
        let of = |direction: Direction, own: bool| {
            let mut those = peers().filter(|(entry, _)| entry.record.direction == direction);
            those.find_map(|(entry, authentication)| Some((entry, holding(authentication, own)?)))
        };
        let end = |by: Direction, itself: Direction| match peers().any(|(entry, _)| entry.record.direction == by) {
            true => of(by, false),
            false => of(itself, true),
        };
        let responder = end(Direction::Outbound, Direction::Inbound);
        let initiator = end(Direction::Inbound, Direction::Outbound);
        if let (Some((one, responder)), Some((other, initiator))) = (responder, initiator) {
            let because = format!(
                "initiator and responder proved themselves by {initiator} and {responder} under certificates that are post-quantum too, by {}",
                match other.node == one.node {
                    true => format!("the ledger of {}", one.node),
                    false => format!("the ledgers of {} and {}", other.node, one.node),
                }
            );
            let mut sources = vec![other.source.clone(), one.source.clone()];
            sources.dedup();
            posture.authenticity = Judgement::new(Verdict::QuantumSafe, because, sources);
            return;
        }
        let what = match authentication.forgery {
            Forgery::AsSecretAsTheKey => "a shared key: as hard to forge as the key is to learn",
            Forgery::NotKnown => {
                "a post-quantum signature; what is behind it, and how the other end did, is not in the ledgers given"
            }
            Forgery::Unknown | Forgery::PossibleLater => "a method that is not known",
        };
        let because = format!("the peer of {} proved itself by {what}", entry.node);
        posture.authenticity = Judgement::new(Verdict::NotObservable, because, vec![entry.source.clone()]);
    }
}
