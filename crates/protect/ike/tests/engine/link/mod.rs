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
use bartizan_wire::ike::{Header, Transform};
use rustls_pki_types::UnixTime;

pub(crate) use authority::{Algorithm, Authority};

/// A transform by its name in the registry or strongSwan's; `kind` is its type on the wire.
pub(crate) fn transform(kind: u8, name: &str, key_length: Option<u16>) -> Transform {
    let of = TransformKind::of(kind).expect("a type");
    let id = transform_named(of, name).expect("registered").id;
    Transform { kind, id, key_length }
}

/// AES-GCM-256 with SHA-384 and these key exchanges, of which the first is that of IKE_SA_INIT.
pub(crate) fn proposal(key_exchanges: &[&str]) -> Vec<Transform> {
    let exchanges = key_exchanges.iter().zip([4, 6, 7, 8, 9, 10, 11, 12]);
    let exchanges = exchanges.map(|(name, kind)| transform(kind, name, None));
    let rest = [
        transform(1, "ENCR_AES_GCM_16", Some(256)),
        transform(2, "prfsha384", None),
    ];
    rest.into_iter().chain(exchanges).collect()
}

pub(crate) const HYBRID: &[&str] = &["x25519", "mlkem768"];

/// An end that proposes this, with a certificate of the authority; `who` is 0 for the initiator and 1 for the responder.
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
            proposals: vec![vec![
                transform(1, "ENCR_AES_GCM_16", Some(256)),
                transform(5, "esn", None),
            ]],
            mode: Mode::Tunnel,
            local: inner(who),
            remote: inner(1 - who),
        },
        identity: Identity::Name(names[who].to_owned()),
        peer: Identity::Name(names[1 - who].to_owned()),
        certificates: vec![certificate],
        key: SigningKey::from_pkcs8(&key).expect("a key"),
        trust: Arc::new(Anchors::new(vec![authority.certificate()], UnixTime::now())),
        timing: Timing::default(),
        longest: 1232,
    }
}

/// What becomes of a datagram: when each copy of it arrives, and what of it.
pub(crate) type Fate = Vec<(Duration, Vec<u8>)>;

pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// Both ends with the path between them.
pub(crate) struct Link {
    pub(crate) now: Instant,
    pub(crate) initiator: IkeSa,
    pub(crate) responder: Option<IkeSa>,
    acceptor: Acceptor,
    pub(crate) must_return: bool,
    /// As each end sees its own socket and the peer's.
    pub(crate) ends: [Ends; 2],
    /// When it arrives, at which end, and what.
    under_way: Vec<(Instant, usize, Vec<u8>)>,
    seed: u64,
    /// What the acceptor has answered without keeping anything.
    pub(crate) answered: Vec<Vec<u8>>,
    pub(crate) events: [Vec<Event>; 2],
    /// By whom, by which port, and what, in the order of sending.
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
            let timeouts = [Some(&self.initiator), self.responder.as_ref()];
            let timeout = timeouts.into_iter().flatten().filter_map(IkeSa::timeout).min();
            let Some(next) = arrival.into_iter().chain(timeout).min().filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            for sa in [Some(&mut self.initiator), self.responder.as_mut()]
                .into_iter()
                .flatten()
            {
                if sa.timeout().is_some_and(|timeout| timeout <= self.now) {
                    sa.handle_timeout(self.now);
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

    fn collect(&mut self, fate: &mut dyn FnMut(usize, &[u8]) -> Fate) {
        for from in 0..2 {
            let Some(sa) = (if from == 0 {
                Some(&mut self.initiator)
            } else {
                self.responder.as_mut()
            }) else {
                continue;
            };
            while let Some(transmit) = sa.poll_transmit() {
                for (delay, datagram) in fate(from, &transmit.datagram) {
                    self.under_way.push((self.now + delay, 1 - from, datagram));
                }
                self.sent.push((from, transmit));
            }
            while let Some(event) = sa.poll_event() {
                self.events[from].push(event);
            }
        }
    }

    pub(crate) fn deliver(&mut self, to: usize, datagram: &[u8]) {
        if to == 0 {
            self.initiator.receive(self.now, datagram);
            return;
        }
        let of = Header::read(datagram).map(|header| header.initiator_spi);
        if let Some(sa) = self.responder.as_mut().filter(|sa| of == Ok(sa.spis().0)) {
            sa.receive(self.now, datagram);
            return;
        }
        let mut chance = random(&mut self.seed);
        match self
            .acceptor
            .admit(self.ends[1], datagram, self.must_return, &mut chance, self.now)
        {
            Admission::Admitted(sa) => self.responder = Some(*sa),
            Admission::Answered(answer) => {
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

    /// Both are established, with the same CHILD_SA: what one seals the other opens.
    pub(crate) fn assert_joined(&self) {
        let [Some(one), Some(other)] = [0, 1].map(|end| self.child(end)) else {
            panic!("{:?}", self.events);
        };
        assert_eq!(self.agreed(0), self.agreed(1));
        assert!(one.inbound == other.outbound && one.outbound == other.inbound);
        assert!(one.inbound.1 != one.outbound.1);
        assert_eq!((&one.local, &one.remote), (&other.remote, &other.local));
        for (from, to) in [(one, other), (other, one)] {
            let mut sender = from.sender().expect("an SA");
            let mut receiver = to.receiver(64).expect("an SA");
            let mut packet = vec![7; sender.suite().sealed_length(100)];
            sender.seal(&mut packet, 100, 17).expect("sealed");
            assert_eq!(receiver.open(&mut packet).expect("opened").payload.len(), 100);
        }
    }

    /// Datagrams by this port.
    pub(crate) fn by(&self, port: Port) -> usize {
        self.sent.iter().filter(|(_, transmit)| transmit.port == port).count()
    }
}
