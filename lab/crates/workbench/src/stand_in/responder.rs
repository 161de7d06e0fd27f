//! IKE_SAs between initiators and a responder of Bartizan's engine in one thread, without sockets
//! and without a kernel's ESP. What the responder spends on a processor is counted apart from what
//! initiators do.

mod keyed;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::rand;
use bartizan_deployment::IkeAlgorithm;
use bartizan_ike::{
    Anchors, Child, ChildConfig, Config, Endpoint, Ends, Event, HalfOpen, Identity, IkeSa, Mode, Report, SaId,
    Selector, SigningKey, Timing,
};
use bartizan_ipsec::proposal::Proposal;
use bartizan_pki::{PrivateKey, Profile};
use bartizan_registry::{Header, IPV6_MTU_LEAST, TransformKind, transform_named};
use bartizan_testing::Usage;
use bartizan_wire::ike::Transform;
use bartizan_wire::udp::IKE;
use rustls::pki_types::UnixTime;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::cpu_time::thread_time;
use crate::stand_in::charons::{Papers, methods};

pub(crate) use keyed::{Keyed, keyed};

const ENDS: [&str; 2] = ["initiator", "responder"];
/// The responder's address; initiators are those of 10.0.0.0/8, from its first on.
const RESPONDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Initiators that have addresses.
pub const MOST: usize = 1_000_000;
/// Addresses that each CHILD_SA protects, the initiator's end first.
const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
/// Default ESP algorithms.
const ESP: &str = "aes256gcm16";
/// Packets that may arrive out of order.
const WINDOW: u16 = 64;
/// Messages of a set-up at most: two of each exchange and their fragments are far fewer.
const MESSAGES: usize = 200;

/// Configurations of both ends.
pub(crate) struct Pair([Arc<Config>; 2]);

fn chance(bytes: &mut [u8]) {
    if rand::fill(bytes).is_err() {
        // Without chance there is nothing to measure.
        std::process::abort();
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Handshake(error.to_string())
}

impl Pair {
    /// A pair with this key exchange, in strongSwan's notation, and certificates of this algorithm.
    /// The files go to the folder.
    pub(crate) fn make(folder: &Path, key_exchange: &str, authentication: &str) -> Result<Self, Error> {
        Self::with_esp(folder, key_exchange, authentication, ESP)
    }

    /// The same with these algorithms of ESP, in strongSwan's words too.
    pub(crate) fn with_esp(folder: &Path, key_exchange: &str, authentication: &str, esp: &str) -> Result<Self, Error> {
        let papers = Papers::issue(folder, authentication, ENDS, Profile::Ipsec)?;
        let methods = methods(key_exchange)?;
        let esp = transforms(esp)?;
        Ok(Self([
            Arc::new(config(0, &papers, &methods, &esp)?),
            Arc::new(config(1, &papers, &methods, &esp)?),
        ]))
    }
}

/// Cipher and, where it has none of its own, integrity.
fn transforms(esp: &str) -> Result<Vec<Transform>, Error> {
    let read = Proposal::parse(esp);
    if let Some(unknown) = read.unknown.first() {
        return Err(Error::Configuration(format!("no algorithm is called `{unknown}`")));
    }
    let algorithms = read.ciphers.iter().chain(&read.integrity);
    let transform = |algorithm: &IkeAlgorithm| Transform {
        kind: algorithm.kind().code(),
        id: algorithm.id(),
        key_length: algorithm.key_bits(),
    };
    Ok(algorithms.map(transform).collect())
}

/// Configuration of an end, 0 being the initiator: AES-256-GCM for IKE, the timing of the daemon.
fn config(end: usize, papers: &Papers, methods: &[u16], esp: &[Transform]) -> Result<Config, Error> {
    let unknown = || Error::Configuration("an algorithm that the registry does not have".to_owned());
    let transform = |kind: TransformKind, name: &str, key_length| {
        let known = transform_named(kind, name).ok_or_else(unknown)?;
        let kind = kind.code();
        Ok::<_, Error>(Transform {
            kind,
            id: known.id,
            key_length,
        })
    };
    let cipher = transform(TransformKind::Encryption, "ENCR_AES_GCM_16", Some(256))?;
    let kinds = std::iter::once(Transform::KE).chain(Transform::ADDITIONAL_KE);
    let exchanges = methods.iter().zip(kinds).map(|(id, kind)| Transform {
        kind,
        id: *id,
        key_length: None,
    });
    let ike = [
        cipher,
        transform(TransformKind::PseudoRandomFunction, "prfsha384", None)?,
    ];
    let numbers = transform(TransformKind::SequenceNumbers, "esn", None)?;
    let esp = esp.iter().copied().chain([numbers]);
    let of = |address: Ipv4Addr| vec![Selector::of(address.into(), address.into())];
    let [certificate, authority] = papers.der(end)?;
    let (_, key) = papers.of(end);
    let key = SigningKey::from_pkcs8(PrivateKey::from_pem(key, None)?.to_pkcs8());
    Ok(Config {
        proposals: vec![ike.into_iter().chain(exchanges.clone()).collect()],
        child: ChildConfig {
            proposals: vec![esp.chain(exchanges).collect()],
            mode: Mode::Tunnel,
            local: of(INNER[end]),
            remote: of(INNER[1 - end]),
        },
        more: Vec::new(),
        identity: Identity::Name(papers.identity(end).to_owned()),
        peer: Identity::Name(papers.identity(1 - end).to_owned()),
        certificates: vec![certificate],
        key: key.ok_or_else(|| Error::Configuration("a key that the engine does not read".to_owned()))?,
        ppk: None,
        trust: Arc::new(Anchors::new(vec![authority], UnixTime::now())),
        timing: Timing {
            retransmit: Duration::from_secs(1),
            longest_wait: Duration::from_secs(4),
            ..Timing::default()
        },
        longest: usize::from(IPV6_MTU_LEAST - Header::IPV6.bytes - Header::UDP.bytes),
        always_in_udp: false,
    })
}

/// An initiator, by its number, as it sees the path.
pub(crate) fn ends(number: usize) -> Ends {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let address = Ipv4Addr::from(u32::from(FIRST).wrapping_add(number));
    Ends {
        local: SocketAddr::new(address.into(), IKE),
        remote: SocketAddr::new(RESPONDER.into(), IKE),
    }
}

fn reversed(ends: Ends) -> Ends {
    Ends {
        local: ends.remote,
        remote: ends.local,
    }
}

/// A first message of an initiator waits to be sent.
pub(crate) fn initiator(pair: &Pair, number: usize, now: Instant) -> Result<IkeSa, Error> {
    IkeSa::initiate(Arc::clone(&pair.0[0]), ends(number), &mut chance, now).map_err(failed)
}

/// Datagrams that an initiator has to send now.
pub(crate) fn to_send(sa: &mut IkeSa) -> Result<Vec<Vec<u8>>, Error> {
    while let Some(event) = sa.poll_event() {
        if let Event::Closed(failure) = event {
            return Err(failed(failure));
        }
    }
    Ok(std::iter::from_fn(|| sa.poll_transmit())
        .map(|transmit| transmit.datagram)
        .collect())
}

/// Datagrams to be sent, with their two ends.
pub(crate) type Answers = Vec<(Ends, Vec<u8>)>;

/// The responder.
pub(crate) struct Responder {
    endpoint: Endpoint,
    config: Arc<Config>,
    /// Time on the processor for what it received and what was due.
    pub(crate) spent: Duration,
    /// The newest IKE_SA that it admitted, and the newest CHILD_SA.
    admitted: Option<SaId>,
    child: Option<Box<Child>>,
}

impl Responder {
    pub(crate) fn new(pair: &Pair, half_open: HalfOpen) -> Self {
        Self {
            endpoint: Endpoint::new(half_open),
            config: Arc::clone(&pair.0[1]),
            spent: Duration::ZERO,
            admitted: None,
            child: None,
        }
    }

    fn between(number: usize) -> (IpAddr, IpAddr) {
        let ends = ends(number);
        (ends.remote.ip(), ends.local.ip())
    }

    /// Accepts the initiator of this number from now on.
    pub(crate) fn accept(&mut self, number: usize) {
        let config = Arc::clone(&self.config);
        self.endpoint.accept(Self::between(number), config, &mut chance);
    }

    /// Accepts it no more, and forgets the newest IKE_SA.
    fn forget(&mut self, number: usize) {
        self.endpoint.refuse(Self::between(number));
        if let Some(id) = self.admitted.take() {
            self.endpoint.with(id, IkeSa::discard);
        }
        while self.endpoint.poll_report().is_some() {}
    }

    /// IKE_SAs that it has, and those of them that are half open.
    pub(crate) fn count(&self) -> (usize, usize) {
        self.endpoint.count()
    }

    /// Time of the next timer.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.endpoint.timeout()
    }

    /// Takes a datagram of the initiator of this number; what it answers, and how long that took its processor.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        number: usize,
        datagram: &[u8],
    ) -> Result<(Answers, Duration), Error> {
        let ends = reversed(ends(number));
        self.work(|endpoint| endpoint.receive(now, ends, datagram, &mut chance))
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(Answers, Duration), Error> {
        self.work(|endpoint| endpoint.handle_timeout(now))
    }

    fn work(&mut self, what: impl FnOnce(&mut Endpoint)) -> Result<(Answers, Duration), Error> {
        let began = thread_time()?;
        what(&mut self.endpoint);
        while let Some(report) = self.endpoint.poll_report() {
            match report {
                Report::Admitted(id, _) => self.admitted = Some(id),
                Report::Event(_, Event::Child(child)) => self.child = Some(child),
                _ => {}
            }
        }
        let mut answers = Vec::new();
        while let Some((ends, transmit)) = self.endpoint.poll_transmit() {
            answers.push((reversed(ends), transmit.datagram));
        }
        let took = thread_time()?.saturating_sub(began);
        self.spent += took;
        Ok((answers, took))
    }
}

/// Sets an IKE_SA with a CHILD_SA up, which then stands at the responder alone.
pub(crate) fn set_up(pair: &Pair, responder: &mut Responder, number: usize) -> Result<Box<Child>, Error> {
    let now = Instant::now();
    responder.accept(number);
    let mut sa = initiator(pair, number, now)?;
    for _ in 0..MESSAGES {
        let sent = to_send(&mut sa)?;
        if sent.is_empty() && sa.is_established() {
            return responder
                .child
                .take()
                .ok_or_else(|| failed("an IKE_SA came up without a CHILD_SA"));
        }
        for datagram in sent {
            for (_, answer) in responder.receive(now, number, &datagram)?.0 {
                sa.receive(now, &answer);
            }
        }
    }
    Err(failed("an IKE_SA did not come up"))
}

/// The same, and nothing of it is kept.
pub(crate) fn set_up_and_forget(pair: &Pair, responder: &mut Responder, number: usize) -> Result<(), Error> {
    set_up(pair, responder, number)?;
    responder.forget(number);
    Ok(())
}

/// Memory and time of established SAs in a process that has nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// IKE_SAs that stand at the end.
    pub sas: usize,
    /// Bytes resident before the first of them, one having come and gone.
    pub before: u64,
    /// Bytes resident with all of them.
    pub after: u64,
    /// Microseconds on the processor for each of the first tenth, and of the last.
    pub first_us: f64,
    /// As above.
    pub last_us: f64,
}

/// Sets so many IKE_SAs up, one after the other, each of an initiator of its own and with a
/// CHILD_SA, and keeps them; with `esp` the ESP of the CHILD_SAs too, as user space has it.
///
/// # Errors
/// Fails if one does not come up, or memory or time cannot be read.
pub fn stand(folder: &Path, key_exchange: &str, authentication: &str, sas: usize, esp: bool) -> Result<Held, Error> {
    if !(10..=MOST).contains(&sas) {
        return Err(Error::Configuration(format!("`sas` is 10 to {MOST}")));
    }
    let pair = Pair::make(folder, key_exchange, authentication)?;
    let mut responder = Responder::new(&pair, HalfOpen::default());
    set_up_and_forget(&pair, &mut responder, sas)?;
    let resident = || Ok::<_, Error>(Usage::of(std::process::id())?.resident);
    let mut kept = Vec::with_capacity(if esp { sas } else { 0 });
    let before = resident()?;
    let tenth = sas / 10;
    let mut spent = [Duration::ZERO; 2];
    for number in 0..sas {
        let began = responder.spent;
        let child = set_up(&pair, &mut responder, number)?;
        if esp {
            let receiver = child.receiver(WINDOW).map_err(failed)?;
            kept.push((child.sender().map_err(failed)?, receiver));
        }
        let took = responder.spent - began;
        if number < tenth {
            spent[0] += took;
        } else if number >= sas - tenth {
            spent[1] += took;
        }
    }
    let after = resident()?;
    let (held, half_open) = responder.count();
    if (held, half_open) != (sas, 0) {
        return Err(failed(format!("{held} of {sas} IKE_SAs stand, {half_open} half open")));
    }
    let each = |spent: Duration| spent.as_secs_f64() * 1e6 / tenth as f64;
    Ok(Held {
        sas,
        before,
        after,
        first_us: each(spent[0]),
        last_us: each(spent[1]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sa_of_an_initiator_of_its_own_stands_at_the_responder_with_its_esp() {
        let folder = tempfile::tempdir().unwrap();
        let held = stand(folder.path(), "x25519-ke1_mlkem768", "ecdsa-p256", 20, true).unwrap();
        assert_eq!(held.sas, 20);
        assert!(held.first_us > 0.0 && held.last_us > 0.0 && held.after > 0);
        assert!(stand(folder.path(), "x25519", "ecdsa-p256", 9, false).is_err());
    }

    #[test]
    fn initiators_have_an_address_each() {
        let addresses: std::collections::BTreeSet<_> = (0..70_000).map(|number| ends(number).local).collect();
        assert_eq!(addresses.len(), 70_000);
        assert_eq!(ends(0).local.ip(), IpAddr::V4(FIRST));
    }
}
