//! A charon in a namespace of its own, and this engine between its sockets.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bartizan_host::{LabRoot, Namespace};
use bartizan_ike::{Acceptor, Admission, Child, Config, Ends, Event, Failure, IkeSa, Port};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::xfrm::Installed;
use bartizan_ipsec::{Engine, Instance, Kernel, Settings};
use bartizan_testing::{Address, Capture, Direction, Port as Cable, connect};
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{PATIENCE, udp_at};
use bartizan_wire::checksum::internet;
use bartizan_wire::ike::{ExchangeType, Header};
use bartizan_wire::udp::{Encapsulated, encapsulated};

use crate::link::{Authority, config, random, transform};

pub(crate) const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
/// The ciphers that charon takes for messages of IKE.
const CIPHERS: [&str; 3] = ["aes256gcm16", "aes256ccm16", "chacha20poly1305"];
const PORTS: [u16; 2] = [500, 4500];
/// Port of the echo service behind the CHILD_SA.
pub(crate) const ECHO: u16 = 7;

/// A charon in a namespace, joined to one where this engine has its sockets.
pub(crate) struct Stage {
    charon: Instance,
    ours: Namespace,
    theirs: Namespace,
    directory: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn set_up() -> Self {
        let [ours, theirs] = ["engine", "charon"].map(|name| Namespace::create(name).expect("a namespace"));
        connect(
            &Cable::new(&ours, "v0").address("10.77.0.1/24").expect("an address"),
            &Cable::new(&theirs, "v0").address("10.77.0.2/24").expect("an address"),
            1500,
        )
        .expect("a veth pair");
        let inner = "10.78.0.2/32".parse().expect("an address");
        theirs.add_address("lo", inner).expect("an address");
        let root = LabRoot::sid().expect("a cache directory");
        let engine = Engine::LabRoot(root.ensure(&mut |_| {}).expect("a lab root"));
        let settings = Settings::new(Kernel::of_this_machine().expect("root"), 1);
        let directory = tempfile::tempdir().expect("a directory");
        let charon = Instance::start(&engine, &directory.path().join("charon"), Some(&theirs), &settings);
        Self {
            charon: charon.expect("charon starts"),
            ours,
            theirs,
            directory,
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.charon.client(PATIENCE).expect("it listens")
    }

    /// Gives charon a connection with these key exchanges, and certificate and key of `other.test`.
    /// Rekeys of its CHILD_SA make no key exchange.
    pub(crate) fn load(&self, authority: &Authority, key_exchanges: &str) {
        self.load_with(authority, key_exchanges, "aes256gcm16");
    }

    /// The same, with this proposal of ESP.
    pub(crate) fn load_with(&self, authority: &Authority, key_exchanges: &str, esp: &str) {
        self.load_all(authority, key_exchanges, (esp, &[]));
    }

    /// The same, with these settings of the connection besides.
    pub(crate) fn load_with_settings(&self, authority: &Authority, key_exchanges: &str, settings: &[(&str, &str)]) {
        self.load_all(authority, key_exchanges, ("aes256gcm16", settings));
    }

    /// The same, with a post-quantum pre-shared key of this name, which is required or not.
    pub(crate) fn load_with_ppk(
        &self,
        authority: &Authority,
        key_exchanges: &str,
        (name, secret, required): (&str, &[u8], bool),
    ) {
        let required = if required { "yes" } else { "no" };
        self.load_with_settings(
            authority,
            key_exchanges,
            &[("ppk_id", name), ("ppk_required", required)],
        );
        self.load_ppk(name, secret);
    }

    /// Gives charon a pre-shared key.
    pub(crate) fn load_ppk(&self, name: &str, secret: &[u8]) {
        let shared = Section::new().with("type", "PPK").with("data", secret);
        let shared = shared.with_list("owners", [name]);
        self.client().command("load-shared", shared).expect("the secret");
    }

    fn load_all(&self, authority: &Authority, key_exchanges: &str, (esp, settings): (&str, &[(&str, &str)])) {
        let mut client = self.client();
        let certificate = |flag: &str, der: Vec<u8>| {
            let section = Section::new().with("type", "X509").with("flag", flag);
            section.with("data", der)
        };
        let (own, key) = authority.issue("other.test");
        let key = Section::new().with("type", "any").with("data", key);
        let child = Section::new()
            .with("mode", "tunnel")
            .with_list("local_ts", ["10.78.0.2/32"])
            .with_list("remote_ts", ["10.78.0.1/32"])
            .with_list("esp_proposals", [esp])
            .with("rekey_time", "0");
        let end = |name: &str| Section::new().with("auth", "pubkey").with("id", name);
        let connection = Section::new()
            .with("version", "2")
            .with("mobike", "no")
            .with_list("local_addrs", [THEIRS.to_string()])
            .with_list("remote_addrs", [OURS.to_string()])
            .with_list(
                "proposals",
                CIPHERS.map(|cipher| format!("{cipher}-prfsha384-{key_exchanges}")),
            )
            .with("send_cert", "always")
            .with_section("local-1", end("other.test"))
            .with_section("remote-1", end("one.test"))
            .with_section("children", Section::new().with_section("e2", child))
            .with("rekey_time", "0")
            .with("dpd_delay", "0");
        let connection = settings
            .iter()
            .fold(connection, |connection, (name, value)| connection.with(*name, *value));
        client.command("clear-creds", Section::new()).expect("cleared");
        client
            .command("load-cert", certificate("CA", authority.certificate()))
            .expect("the CA");
        client
            .command("load-cert", certificate("NONE", own))
            .expect("the certificate");
        client.command("load-key", key).expect("the key");
        let connection = Section::new().with_section("e2", connection);
        client.command("load-conn", connection).expect("the connection");
    }

    /// Moves the calling thread to where this engine is, and gives that the inner address and a way to charon's.
    pub(crate) fn enter(&self) {
        let [ours, theirs] = INNER.map(|inner| Address::v4(inner, 32).expect("an address"));
        self.ours.add_address("lo", ours).expect("an address");
        let via = Some(THEIRS.into());
        self.ours.add_route(theirs, via, "v0").expect("a route");
        self.ours.enter_this_thread().expect("a namespace");
    }

    /// Records what leaves by this engine's interface.
    pub(crate) fn sent(&self) -> Capture {
        let file = self.directory.path().join("sent.pcap");
        Capture::start(Some(&self.ours), "v0", file, Direction::Outbound).expect("a capture")
    }

    /// Answers every datagram to charon's inner address, until the sender is silent for long.
    pub(crate) fn echo(&self) -> JoinHandle<()> {
        let open = || UdpSocket::bind((INNER[1], ECHO)).expect("a socket");
        let socket = self.theirs.enter(open).expect("a namespace");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if length == 0 {
                    return;
                }
                let _ = socket.send_to(&buffer[..length], from);
            }
        })
    }

    /// Records what passes charon's interface.
    pub(crate) fn capture(&self) -> Capture {
        let file = self.directory.path().join("path.pcap");
        Capture::start(Some(&self.theirs), "v0", file, Direction::Both).expect("a capture")
    }

    /// Ends charon without a word to its peers.
    pub(crate) fn kill(&mut self) {
        const SIGKILL: i32 = 9;
        self.charon.process().expect("it runs").send(SIGKILL);
    }

    /// IKE_SAs that charon lists, as `ipsec` reads them.
    pub(crate) fn sas(&self) -> Vec<bartizan_ipsec::sa::IkeSa> {
        let mut client = self.client();
        let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("a list");
        rows.iter().flat_map(bartizan_ipsec::sa::IkeSa::of_row).collect()
    }

    /// Charon's list of IKE_SAs.
    pub(crate) fn listed(&self) -> Vec<Section> {
        let mut client = self.client();
        let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("a list");
        let sas = rows.iter().flat_map(|row| row.sections().map(|(_, sa)| sa.clone()));
        sas.collect()
    }
}

/// This engine between its sockets.
pub(crate) struct Driver {
    sockets: [UdpSocket; 2],
    pub(crate) ends: Ends,
    acceptor: Acceptor,
    /// The newest last.
    pub(crate) sas: Vec<IkeSa>,
    pub(crate) events: Vec<Event>,
    /// Packets of ESP that have arrived in UDP.
    esp: Vec<Vec<u8>>,
    pings: u32,
    /// Kernel that also gets the CHILD_SAs.
    pub(crate) kernel: Option<Installed>,
    /// Requests of INFORMATIONAL that were sent, by the initiator's SPI and their number.
    pub(crate) asked: BTreeSet<(u64, u32)>,
    seed: u64,
}

impl Driver {
    pub(crate) fn new(stage: &Stage, config: Arc<Config>) -> Self {
        Self::inside(&stage.ours, config)
    }

    /// With its sockets in this namespace.
    pub(crate) fn inside(namespace: &Namespace, config: Arc<Config>) -> Self {
        let open = || {
            PORTS.map(|port| {
                let socket = udp_at((OURS, port));
                socket.set_nonblocking(true).expect("a socket");
                socket
            })
        };
        let mut seed = 7;
        let acceptor = Acceptor::new(config, &mut random(&mut seed));
        Self {
            sockets: namespace.enter(open).expect("a namespace"),
            ends: Ends {
                local: SocketAddr::from((OURS, 500)),
                remote: SocketAddr::from((THEIRS, 500)),
            },
            acceptor,
            sas: Vec::new(),
            events: Vec::new(),
            esp: Vec::new(),
            pings: 0,
            kernel: None,
            asked: BTreeSet::new(),
            seed,
        }
    }

    /// Does what there is to do until the condition holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let patience = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < patience, "{what}: {:?}", self.events);
            self.step();
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn step(&mut self) {
        let now = Instant::now();
        let mut buffer = [0; 65_536];
        for index in 0..2 {
            while let Ok((length, _)) = self.sockets[index].recv_from(&mut buffer) {
                let datagram = &buffer[..length];
                match (index, encapsulated(datagram)) {
                    (0, _) => self.receive(now, datagram),
                    (_, Encapsulated::Ike(message)) => self.receive(now, message),
                    (_, Encapsulated::Esp(packet)) => self.esp.push(packet.to_vec()),
                    _ => {}
                }
            }
        }
        let mut place = 0;
        while let Some(sa) = self.sas.get_mut(place) {
            place += 1;
            if sa.timeout().is_some_and(|timeout| timeout <= now) {
                sa.handle_timeout(now);
            }
            // A CHILD_SA is installed before the response that makes it is sent: the peer uses it
            // at once.
            let mut successors = Vec::new();
            while let Some(event) = sa.poll_event() {
                let done = match (&event, &mut self.kernel) {
                    (Event::Child(child), Some(kernel)) => kernel.made(child),
                    (Event::ChildDeleted { inbound }, Some(kernel)) => kernel.deleted(now, *inbound),
                    (Event::Closed(failure), Some(kernel)) if *failure != Failure::Replaced => kernel.ended(),
                    _ => Ok(()),
                };
                done.expect("the kernel does it");
                match event {
                    Event::Rekeyed(sa) => successors.push(*sa),
                    event => self.events.push(event),
                }
            }
            while let Some(transmit) = sa.poll_transmit() {
                let header = Header::read(&transmit.datagram).expect("a header");
                if header.exchange == ExchangeType::INFORMATIONAL && !header.flags.is_response() {
                    self.asked.insert((header.initiator_spi, header.message_id));
                }
                let (index, marker) = match transmit.port {
                    Port::Ike => (0, &[][..]),
                    Port::Nat => (1, &[0; 4][..]),
                };
                let datagram = [marker, &transmit.datagram].concat();
                self.sockets[index]
                    .send_to(&datagram, (THEIRS, PORTS[index]))
                    .expect("it is sent");
            }
            self.sas.extend(successors);
        }
    }

    fn receive(&mut self, now: Instant, message: &[u8]) {
        let header = Header::read(message).expect("a header");
        let spis = (header.initiator_spi, header.responder_spi);
        // The first answer comes before the responder's SPI is known.
        let of = |sa: &&mut IkeSa| sa.spis() == spis || sa.spis() == (spis.0, 0);
        if let Some(sa) = self.sas.iter_mut().find(of) {
            sa.receive(now, message);
            return;
        }
        if self.sas.iter().any(|sa| sa.spis().0 == spis.0) {
            return;
        }
        let mut chance = random(&mut self.seed);
        // A first request must show that its sender receives at its address.
        match self.acceptor.admit(self.ends, message, true, &mut chance, now) {
            Admission::Admitted(sa) => self.sas.push(*sa),
            Admission::Answered(answer) | Admission::Refused(answer) => {
                self.sockets[0]
                    .send_to(&answer, (THEIRS, PORTS[0]))
                    .expect("it is sent");
            }
            Admission::Ignored => {}
        }
    }

    /// Begins an IKE_SA.
    pub(crate) fn initiate(&mut self, config: Arc<Config>) {
        let sa = IkeSa::initiate(config, self.ends, &mut random(&mut self.seed), Instant::now());
        self.sas.push(sa.expect("it begins"));
    }

    /// The IKE_SA by which this end would begin an exchange now.
    pub(crate) fn current(&mut self) -> &mut IkeSa {
        let mut open = self.sas.iter_mut().filter(|sa| sa.is_established());
        open.next_back().expect("an IKE_SA")
    }

    /// IKE_SAs that have not ended.
    pub(crate) fn open(&self) -> Vec<&IkeSa> {
        self.sas.iter().filter(|sa| !sa.is_closed()).collect()
    }

    /// CHILD_SAs that are not deleted.
    pub(crate) fn installed(&self) -> Vec<&Child> {
        let mut installed: Vec<&Child> = Vec::new();
        for event in &self.events {
            match event {
                Event::Child(child) => installed.push(child),
                Event::ChildDeleted { inbound } => installed.retain(|child| child.inbound.0 != *inbound),
                _ => {}
            }
        }
        installed
    }

    pub(crate) fn closed(&self) -> Option<&Failure> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(failure) => Some(failure),
            _ => None,
        })
    }

    /// Pings through the CHILD_SA, and opens the answer.
    pub(crate) fn ping(&mut self) {
        let sending = self.open().iter().find_map(|sa| sa.sending());
        let installed = self.installed();
        let child = installed.iter().find(|child| Some(child.inbound.0) == sending);
        let child = child.expect("made");
        assert!(child.in_udp, "charon without a kernel's ESP carries it in UDP");
        let mut sender = child.sender().expect("an SA");
        let mut receiver = child.receiver(64).expect("an SA");
        let mut buffer = vec![0; 500];
        // Each with a sequence number that was not used before.
        for _ in 0..self.pings {
            sender.seal(&mut buffer, 100, 4).expect("sealed");
        }
        let packet = echo(8, INNER);
        buffer[sender.headroom()..][..packet.len()].copy_from_slice(&packet);
        let length = bartizan_esp::tunnel::seal(&mut sender, &mut buffer, packet.len(), 0).expect("sealed");
        self.sockets[1]
            .send_to(&buffer[..length], (THEIRS, PORTS[1]))
            .expect("it is sent");
        self.until("the ping is answered", |driver| !driver.esp.is_empty());
        self.pings += 1;
        let mut answer = self.esp.remove(0);
        let opened = bartizan_esp::tunnel::open(&mut receiver, &mut answer, 0).expect("opened");
        let [one, other] = INNER;
        let expected = echo(0, [other, one]);
        assert_eq!((&opened[12..20], &opened[20..]), (&expected[12..20], &expected[20..]));
    }
}

/// An echo request or reply in IPv4.
fn echo(kind: u8, [from, to]: [Ipv4Addr; 2]) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, 0xba, 0x12, 0, 1, b'e', b's', b'p', b'!'];
    let sum = internet(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = vec![0x45, 0, 0, 20 + message.len() as u8, 0, 1, 0, 0, 64, 1, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = internet(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(message);
    packet
}

pub(crate) fn ours(authority: &Authority, key_exchanges: &[&str]) -> Arc<Config> {
    let mut config = config(0, authority, &[key_exchanges]);
    let numbers = ["esn", "noesn"].map(|name| transform(5, name, None));
    let gcm = transform(1, "ENCR_AES_GCM_16", Some(256));
    config.child.proposals = vec![[gcm].into_iter().chain(numbers).collect()];
    Arc::new(config)
}
