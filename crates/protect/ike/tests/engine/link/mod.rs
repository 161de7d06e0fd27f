//! Two ends in one process, and what is between them.

pub(crate) mod authority;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_ike::{
    Acceptor, Admission, Agreed, Anchors, Child, ChildConfig, Config, Ends, Event, Failure, Identity, IkeSa, Mode,
    Port, Selector, SigningKey, Timing, Transmit,
};
use bartizan_registry::{TransformKind, transform_named};
use bartizan_wire::ike::{ExchangeType, Header, Transform};
use rustls_pki_types::UnixTime;

pub(crate) use authority::{Algorithm, Authority};

/// A transform by its name in the registry or strongSwan's; `kind` is its type on the wire.
pub(crate) fn transform(kind: u8, name: &str, key_length: Option<u16>) -> Transform {
    let of = TransformKind::of(kind).expect("a type");
    let id = transform_named(of, name).expect("registered").id;
    Transform { kind, id, key_length }
}

/// Key exchanges, of which the first is that of IKE_SA_INIT or CREATE_CHILD_SA.
pub(crate) fn exchanges(names: &[&str]) -> impl Iterator<Item = Transform> {
    let kinds = names.iter().zip([4, 6, 7, 8, 9, 10, 11, 12]);
    kinds.map(|(name, kind)| transform(kind, name, None))
}

/// AES-GCM-256 with SHA-384 and these key exchanges.
pub(crate) fn proposal(key_exchanges: &[&str]) -> Vec<Transform> {
    let rest = [
        transform(1, "ENCR_AES_GCM_16", Some(256)),
        transform(2, "prfsha384", None),
    ];
    rest.into_iter().chain(exchanges(key_exchanges)).collect()
}

/// ESP with AES-GCM-256, and by which key exchanges a CHILD_SA is replaced.
pub(crate) fn esp(key_exchanges: &[&str]) -> Vec<Transform> {
    let rest = [transform(1, "ENCR_AES_GCM_16", Some(256)), transform(5, "esn", None)];
    rest.into_iter().chain(exchanges(key_exchanges)).collect()
}

pub(crate) const HYBRID: &[&str] = &["x25519", "mlkem768"];

/// An end that proposes this, with a certificate of the authority; `who` is 0 for the initiator and
/// 1 for the responder.
pub(crate) fn config(who: usize, authority: &Authority, proposals: &[&[&str]]) -> Config {
    let names = ["one.test", "other.test"];
    let (certificate, key) = authority.issue(names[who]);
    let inner = |who: usize| {
        let address = IpAddr::from([10, 78, 0, who as u8 + 1]);
        vec![Selector::of(address, address)]
    };
    Config {
        proposals: proposals.iter().map(|names| proposal(names)).collect(),
        child: ChildConfig {
            proposals: vec![esp(HYBRID)],
            mode: Mode::Tunnel,
            local: inner(who),
            remote: inner(1 - who),
        },
        more: Vec::new(),
        identity: Identity::Name(names[who].to_owned()),
        peer: Identity::Name(names[1 - who].to_owned()),
        certificates: vec![certificate],
        key: SigningKey::from_pkcs8(&key).expect("a key"),
        ppk: None,
        trust: Arc::new(Anchors::new(vec![authority.certificate()], UnixTime::now())),
        timing: Timing::default(),
        longest: 1232,
        always_in_udp: false,
    }
}

/// Fate of a datagram: the delay and the content of each copy.
pub(crate) type Fate = Vec<(Duration, Vec<u8>)>;

pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// Both ends with the path between them.
pub(crate) struct Link {
    pub(crate) now: Instant,
    pub(crate) initiator: IkeSa,
    pub(crate) responder: Option<IkeSa>,
    /// Those that have taken the place of others, the newest last.
    pub(crate) successors: [Vec<IkeSa>; 2],
    acceptor: Acceptor,
    pub(crate) must_return: bool,
    /// As each end sees its own socket and the peer's.
    pub(crate) ends: [Ends; 2],
    /// Time of arrival, receiving end, and datagram.
    under_way: Vec<(Instant, usize, Vec<u8>)>,
    seed: u64,
    /// Stateless responses of the acceptor.
    pub(crate) answered: Vec<Vec<u8>>,
    pub(crate) events: [Vec<Event>; 2],
    /// Sender, and the datagram with its port, in the order of sending.
    pub(crate) sent: Vec<(usize, Transmit)>,
}

pub(crate) fn random(seed: &mut u64) -> impl FnMut(&mut [u8]) + '_ {
    // SplitMix64: different numbers for each seed, which is all that tests ask of chance.
    move |bytes| {
        for byte in bytes {
            *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = (mixed >> 56) as u8;
        }
    }
}

impl Link {
    pub(crate) fn new(initiator: Config, responder: Config, seed: u64) -> Self {
        let sockets: [SocketAddr; 2] =
            ["192.0.2.1:500", "192.0.2.2:500"].map(|socket| socket.parse().expect("a socket"));
        let [local, remote] = sockets;
        let ends = [
            Ends { local, remote },
            Ends {
                local: remote,
                remote: local,
            },
        ];
        Self::between(ends, initiator, responder, seed)
    }

    pub(crate) fn between(ends: [Ends; 2], initiator: Config, responder: Config, mut seed: u64) -> Self {
        let now = Instant::now();
        let acceptor = Acceptor::new(Arc::new(responder), &mut random(&mut seed));
        let initiator = IkeSa::initiate(Arc::new(initiator), ends[0], &mut random(&mut seed), now);
        Self {
            now,
            initiator: initiator.expect("it begins"),
            responder: None,
            successors: [Vec::new(), Vec::new()],
            acceptor,
            must_return: false,
            ends,
            under_way: Vec::new(),
            seed,
            answered: Vec::new(),
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
        }
    }

    /// Lets them talk for so long.
    pub(crate) fn run(&mut self, time: Duration, fate: &mut dyn FnMut(usize, &[u8]) -> Fate) {
        let end = self.now + time;
        loop {
            self.collect(fate);
            let arrival = self.under_way.iter().map(|(at, ..)| *at).min();
            let timeout = [0, 1].into_iter().flat_map(|end| self.sas(end));
            let timeout = timeout.filter_map(IkeSa::timeout).min();
            let Some(next) = arrival.into_iter().chain(timeout).min().filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            let now = self.now;
            for sa in self.all() {
                if sa.timeout().is_some_and(|timeout| timeout <= now) {
                    sa.handle_timeout(now);
                    assert!(
                        sa.timeout().is_none_or(|timeout| timeout > now),
                        "{sa:?} is due again at once"
                    );
                }
            }
            let due = |(at, ..): &mut (Instant, usize, Vec<u8>)| *at <= self.now;
            let arrived: Vec<_> = self.under_way.extract_if(.., due).collect();
            for (_, to, datagram) in arrived {
                self.deliver(to, &datagram);
            }
        }
    }

    /// A path that loses nothing and delays each datagram alike.
    pub(crate) fn run_well(&mut self, time: Duration) {
        self.run(time, &mut |_, datagram| vec![(DELAY, datagram.to_vec())]);
    }

    fn all(&mut self) -> impl Iterator<Item = &mut IkeSa> {
        let first = std::iter::once(&mut self.initiator).chain(&mut self.responder);
        first.chain(self.successors.iter_mut().flatten())
    }

    /// The IKE_SAs of an end, those that have ended too.
    pub(crate) fn sas(&self, end: usize) -> impl Iterator<Item = &IkeSa> {
        let first = if end == 0 {
            Some(&self.initiator)
        } else {
            self.responder.as_ref()
        };
        first.into_iter().chain(&self.successors[end])
    }

    /// The IKE_SA by which an end would begin an exchange now.
    pub(crate) fn current(&mut self, end: usize) -> Option<&mut IkeSa> {
        let first = if end == 0 {
            Some(&mut self.initiator)
        } else {
            self.responder.as_mut()
        };
        let all = first.into_iter().chain(&mut self.successors[end]);
        all.filter(|sa| sa.is_established()).last()
    }

    fn collect(&mut self, fate: &mut dyn FnMut(usize, &[u8]) -> Fate) {
        for from in 0..2 {
            let mut place = 0;
            loop {
                let first = if from == 0 {
                    Some(&mut self.initiator)
                } else {
                    self.responder.as_mut()
                };
                let Some(sa) = first.into_iter().chain(&mut self.successors[from]).nth(place) else {
                    break;
                };
                place += 1;
                while let Some(transmit) = sa.poll_transmit() {
                    for (delay, datagram) in fate(from, &transmit.datagram) {
                        self.under_way.push((self.now + delay, 1 - from, datagram));
                    }
                    self.sent.push((from, transmit));
                }
                let mut more = Vec::new();
                while let Some(event) = sa.poll_event() {
                    match event {
                        Event::Rekeyed(sa) => more.push(*sa),
                        event => self.events[from].push(event),
                    }
                }
                self.successors[from].extend(more);
            }
        }
    }

    pub(crate) fn deliver(&mut self, to: usize, datagram: &[u8]) {
        let spis = Header::read(datagram).map(|header| (header.initiator_spi, header.responder_spi));
        let now = self.now;
        let mut successors = self.successors[to].iter_mut();
        if let Some(sa) = successors.find(|sa| spis == Ok(sa.spis())) {
            sa.receive(now, datagram);
            return;
        }
        if to == 0 {
            self.initiator.receive(now, datagram);
            return;
        }
        let of = spis.map(|(initiator, _)| initiator);
        if let Some(sa) = self.responder.as_mut().filter(|sa| of == Ok(sa.spis().0)) {
            sa.receive(now, datagram);
            return;
        }
        let mut chance = random(&mut self.seed);
        match self
            .acceptor
            .admit(self.ends[1], datagram, self.must_return, &mut chance, self.now)
        {
            Admission::Admitted(sa) => self.responder = Some(*sa),
            Admission::Answered(answer) | Admission::Refused(answer) => {
                self.answered.push(answer.clone());
                self.under_way.push((self.now + DELAY, 0, answer));
            }
            Admission::Ignored => {}
        }
    }

    pub(crate) fn agreed(&self, end: usize) -> Option<&Agreed> {
        self.events[end].iter().find_map(|event| match event {
            Event::Established { agreed, .. } => Some(agreed),
            _ => None,
        })
    }

    pub(crate) fn child(&self, end: usize) -> Option<&Child> {
        self.events[end].iter().find_map(|event| match event {
            Event::Child(child) => Some(&**child),
            _ => None,
        })
    }

    pub(crate) fn closed(&self, end: usize) -> Option<&Failure> {
        self.events[end].iter().find_map(|event| match event {
            Event::Closed(failure) => Some(failure),
            _ => None,
        })
    }

    /// Both are established, with the same first CHILD_SA: what one seals the other opens.
    pub(crate) fn assert_joined(&self) {
        let [Some(one), Some(other)] = [0, 1].map(|end| self.child(end)) else {
            panic!("{:?}", self.events);
        };
        assert_eq!(self.agreed(0), self.agreed(1));
        assert_one_child(one, other);
    }

    /// The CHILD_SAs of an end that are not deleted.
    pub(crate) fn installed(&self, end: usize) -> Vec<&Child> {
        let mut installed: Vec<&Child> = Vec::new();
        for event in &self.events[end] {
            match event {
                Event::Child(child) => installed.push(child),
                Event::ChildDeleted { inbound } => installed.retain(|child| child.inbound.0 != *inbound),
                _ => {}
            }
        }
        installed
    }

    /// The one IKE_SA that an end has not ended.
    pub(crate) fn open(&self, end: usize) -> &IkeSa {
        let open: Vec<&IkeSa> = self.sas(end).filter(|sa| !sa.is_closed()).collect();
        let [sa] = open[..] else {
            panic!("{end}: {open:?}, {:?}", self.events);
        };
        assert!(sa.is_established());
        sa
    }

    /// Nothing is being replaced any more: both have one IKE_SA, the same, and in it one CHILD_SA,
    /// the same, by which both send.
    pub(crate) fn assert_settled(&self) {
        assert_eq!(self.open(0).spis(), self.open(1).spis());
        let installed = [0, 1].map(|end| self.installed(end));
        let ([one], [other]) = (&installed[0][..], &installed[1][..]) else {
            panic!("{:?}", self.events);
        };
        assert_one_child(one, other);
        for (end, child) in [one, other].into_iter().enumerate() {
            assert_eq!(self.open(end).sending(), Some(child.inbound.0));
            assert_eq!(self.open(end).children().collect::<Vec<_>>(), [child.inbound.0]);
        }
    }

    /// Exchanges of this type that an end has begun, without retransmissions.
    pub(crate) fn requests(&self, from: usize, exchange: ExchangeType) -> usize {
        let sent = self.sent.iter().filter(|(sender, _)| *sender == from);
        let headers = sent.map(|(_, transmit)| Header::read(&transmit.datagram).expect("a header"));
        let requests = headers.filter(|header| header.exchange == exchange && !header.flags.is_response());
        let mut requests: Vec<_> = requests
            .map(|header| (header.initiator_spi, header.responder_spi, header.message_id))
            .collect();
        requests.sort_unstable();
        requests.dedup();
        requests.len()
    }

    /// Datagrams by this port.
    pub(crate) fn by(&self, port: Port) -> usize {
        self.sent.iter().filter(|(_, transmit)| transmit.port == port).count()
    }
}

/// Two ends' views of one CHILD_SA: what one seals the other opens.
fn assert_one_child(one: &Child, other: &Child) {
    assert!(one.inbound == other.outbound && one.outbound == other.inbound);
    assert!(one.inbound.1 != one.outbound.1);
    assert_eq!(
        (&one.local, &one.remote, one.mode),
        (&other.remote, &other.local, other.mode)
    );
    for (from, to) in [(one, other), (other, one)] {
        let mut sender = from.sender().expect("an SA");
        let mut receiver = to.receiver(64).expect("an SA");
        let mut packet = vec![7; sender.suite().sealed_length(100)];
        sender.seal(&mut packet, 100, 17).expect("sealed");
        assert_eq!(receiver.open(&mut packet).expect("opened").payload.len(), 100);
    }
}
