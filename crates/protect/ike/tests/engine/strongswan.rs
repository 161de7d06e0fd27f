//! strongSwan at the other end, in both roles: what it says of the IKE_SA and the CHILD_SA, and a ping through both.

mod as_root {
    use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use bartizan_host::{LabRoot, Namespace, Port as Cable, connect};
    use bartizan_ike::{Acceptor, Admission, Child, Config, Ends, Event, Failure, IkeSa, Port};
    use bartizan_ipsec::vici::{Client, Section};
    use bartizan_ipsec::{Engine, Instance, Kernel, Settings};
    use bartizan_testing::{PATIENCE, eventually};
    use bartizan_wire::checksum::internet;
    use bartizan_wire::udp::{Encapsulated, encapsulated};

    use crate::link::{Algorithm, Authority, config, random, transform};

    const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
    const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
    const PORTS: [u16; 2] = [500, 4500];

    /// A charon in a namespace, joined to one where this engine has its sockets.
    struct Stage {
        charon: Instance,
        ours: Namespace,
        _theirs: Namespace,
        _directory: tempfile::TempDir,
    }

    impl Stage {
        fn set_up() -> Self {
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
                _theirs: theirs,
                _directory: directory,
            }
        }

        fn client(&self) -> Client {
            self.charon.client(PATIENCE).expect("it listens")
        }

        /// Gives charon a connection with these key exchanges, and certificate and key of `other.test`.
        fn load(&self, authority: &Authority, key_exchanges: &str) {
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
                .with_list("esp_proposals", ["aes256gcm16"])
                .with("rekey_time", "0");
            let end = |name: &str| Section::new().with("auth", "pubkey").with("id", name);
            let connection = Section::new()
                .with("version", "2")
                .with("mobike", "no")
                .with_list("local_addrs", [THEIRS.to_string()])
                .with_list("remote_addrs", [OURS.to_string()])
                .with_list("proposals", [format!("aes256gcm16-prfsha384-{key_exchanges}")])
                .with("send_cert", "always")
                .with_section("local-1", end("other.test"))
                .with_section("remote-1", end("one.test"))
                .with_section("children", Section::new().with_section("e2", child))
                .with("rekey_time", "0")
                .with("dpd_delay", "0");
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

        /// What charon lists of its IKE_SAs.
        fn listed(&self) -> Vec<Section> {
            let mut client = self.client();
            let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("a list");
            let sas = rows.iter().flat_map(|row| row.sections().map(|(_, sa)| sa.clone()));
            sas.collect()
        }
    }

    /// This engine between its sockets.
    struct Driver {
        sockets: [UdpSocket; 2],
        ends: Ends,
        acceptor: Acceptor,
        sa: Option<IkeSa>,
        events: Vec<Event>,
        /// Packets of ESP that have arrived in UDP.
        esp: Vec<Vec<u8>>,
        seed: u64,
    }

    impl Driver {
        fn new(stage: &Stage, config: Arc<Config>) -> Self {
            let open = || {
                PORTS.map(|port| {
                    let socket = UdpSocket::bind((OURS, port)).expect("a socket");
                    socket.set_nonblocking(true).expect("a socket");
                    socket
                })
            };
            let mut seed = 7;
            let acceptor = Acceptor::new(config, &mut random(&mut seed));
            Self {
                sockets: stage.ours.enter(open).expect("a namespace"),
                ends: Ends {
                    local: SocketAddr::from((OURS, 500)),
                    remote: SocketAddr::from((THEIRS, 500)),
                },
                acceptor,
                sa: None,
                events: Vec::new(),
                esp: Vec::new(),
                seed,
            }
        }

        /// Does what there is to do until the condition holds.
        fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
            let patience = Instant::now() + PATIENCE;
            while !holds(self) {
                assert!(Instant::now() < patience, "{what}: {:?}", self.events);
                self.step();
                thread::sleep(Duration::from_millis(1));
            }
        }

        fn step(&mut self) {
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
            let Some(sa) = &mut self.sa else { return };
            if sa.timeout().is_some_and(|timeout| timeout <= now) {
                sa.handle_timeout(now);
            }
            while let Some(transmit) = sa.poll_transmit() {
                let (index, marker) = match transmit.port {
                    Port::Ike => (0, &[][..]),
                    Port::Nat => (1, &[0; 4][..]),
                };
                let datagram = [marker, &transmit.datagram].concat();
                self.sockets[index]
                    .send_to(&datagram, (THEIRS, PORTS[index]))
                    .expect("it is sent");
            }
            while let Some(event) = sa.poll_event() {
                self.events.push(event);
            }
        }

        fn receive(&mut self, now: Instant, message: &[u8]) {
            if let Some(sa) = &mut self.sa {
                sa.receive(now, message);
                return;
            }
            let mut chance = random(&mut self.seed);
            // Whoever comes must show that it receives what is sent to its address.
            match self.acceptor.admit(self.ends, message, true, &mut chance, now) {
                Admission::Admitted(sa) => self.sa = Some(*sa),
                Admission::Answered(answer) => {
                    self.sockets[0]
                        .send_to(&answer, (THEIRS, PORTS[0]))
                        .expect("it is sent");
                }
                Admission::Ignored => {}
            }
        }

        fn child(&self) -> Option<&Child> {
            self.events.iter().find_map(|event| match event {
                Event::Child(child) => Some(&**child),
                _ => None,
            })
        }

        fn closed(&self) -> Option<&Failure> {
            self.events.iter().find_map(|event| match event {
                Event::Closed(failure) => Some(failure),
                _ => None,
            })
        }

        /// Pings through the CHILD_SA, and opens the answer.
        fn ping(&mut self) {
            let child = self.child().expect("made");
            assert!(child.in_udp, "charon without a kernel's ESP carries it in UDP");
            let mut sender = child.sender().expect("an SA");
            let mut receiver = child.receiver(64).expect("an SA");
            let mut buffer = vec![0; 500];
            let packet = echo(8, INNER);
            buffer[sender.headroom()..][..packet.len()].copy_from_slice(&packet);
            let length = bartizan_esp::tunnel::seal(&mut sender, &mut buffer, packet.len(), 0).expect("sealed");
            self.sockets[1]
                .send_to(&buffer[..length], (THEIRS, PORTS[1]))
                .expect("it is sent");
            self.until("the ping is answered", |driver| !driver.esp.is_empty());
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

    fn ours(authority: &Authority, key_exchanges: &[&str]) -> Arc<Config> {
        let mut config = config(0, authority, &[key_exchanges]);
        let numbers = ["esn", "noesn"].map(|name| transform(5, name, None));
        let gcm = transform(1, "ENCR_AES_GCM_16", Some(256));
        config.child.proposals = vec![[gcm].into_iter().chain(numbers).collect()];
        Arc::new(config)
    }

    /// charon's names of the methods, and of those that were made in addition.
    fn made(sa: &Section) -> Vec<&str> {
        ["dh-group", "ake1", "ake2"]
            .into_iter()
            .filter_map(|name| sa.text(name))
            .collect()
    }

    /// What this engine proposes, how strongSwan writes that, and what its `list-sas` then says.
    const METHODS: [(&[&str], &str, &[&str]); 6] = [
        (
            &["x25519", "mlkem768"],
            "x25519-ke1_mlkem768",
            &["CURVE_25519", "ML_KEM_768"],
        ),
        (
            &["x25519", "mlkem512"],
            "x25519-ke1_mlkem512",
            &["CURVE_25519", "ML_KEM_512"],
        ),
        (
            &["ecp384", "mlkem1024"],
            "ecp384-ke1_mlkem1024",
            &["ECP_384", "ML_KEM_1024"],
        ),
        (&["mlkem768"], "mlkem768", &["ML_KEM_768"]),
        (
            &["ecp256", "mlkem768", "mlkem512"],
            "ecp256-ke1_mlkem768-ke2_mlkem512",
            &["ECP_256", "ML_KEM_768", "ML_KEM_512"],
        ),
        (&["ecp521"], "ecp521", &["ECP_521"]),
    ];
    const SIGNATURES: [Algorithm; 4] = [
        Algorithm::EcdsaP256,
        Algorithm::EcdsaP384,
        Algorithm::Ed25519,
        Algorithm::Rsa,
    ];

    #[test]
    fn strongswan_answers_this_engine_with_every_method_and_signature_it_has() {
        let stage = Stage::set_up();
        let signed = METHODS.into_iter().zip(SIGNATURES.into_iter().cycle());
        for ((methods, theirs, listed), algorithm) in signed {
            let authority = Authority::new(algorithm);
            stage.load(&authority, theirs);
            let config = ours(&authority, methods);
            let mut driver = Driver::new(&stage, Arc::clone(&config));
            let mut seed = 11;
            let sa = IkeSa::initiate(config, driver.ends, &mut random(&mut seed), Instant::now());
            driver.sa = Some(sa.expect("it begins"));
            driver.until("a CHILD_SA", |driver| driver.child().is_some());

            let sas = stage.listed();
            assert_eq!(sas.len(), 1, "{theirs}");
            assert_eq!(
                (sas[0].text("state"), made(&sas[0])),
                (Some("ESTABLISHED"), listed.to_vec())
            );
            let children = sas[0].section("child-sas").expect("a list");
            let states: Vec<_> = children.sections().map(|(_, child)| child.text("state")).collect();
            assert_eq!(states, [Some("INSTALLED")], "{theirs}");
            driver.ping();

            driver.sa.as_mut().expect("it is there").close(Instant::now());
            driver.until("it is closed", |driver| driver.closed().is_some());
            assert_eq!(driver.closed(), Some(&Failure::Closed));
            eventually("charon has deleted it", || stage.listed().is_empty().then_some(()));
        }
    }

    #[test]
    fn this_engine_answers_strongswan_with_every_method_and_signature_it_has() {
        let stage = Stage::set_up();
        let signed = METHODS.into_iter().zip(SIGNATURES.into_iter().rev().cycle());
        for ((methods, theirs, listed), algorithm) in signed {
            let authority = Authority::new(algorithm);
            stage.load(&authority, theirs);
            let mut driver = Driver::new(&stage, ours(&authority, methods));
            thread::scope(|scope| {
                let initiated = scope.spawn(|| {
                    let child = Section::new().with("child", "e2");
                    stage.client().command("initiate", child).expect("it is set up");
                });
                driver.until("a CHILD_SA", |driver| driver.child().is_some());
                driver.until("charon has it too", |_| initiated.is_finished());
            });
            let sas = stage.listed();
            assert_eq!(sas.len(), 1, "{theirs}");
            assert_eq!(
                (sas[0].text("state"), made(&sas[0])),
                (Some("ESTABLISHED"), listed.to_vec())
            );
            driver.ping();

            thread::scope(|scope| {
                let ended = scope.spawn(|| {
                    let sa = Section::new().with("ike", "e2");
                    stage.client().command("terminate", sa).expect("it ends");
                });
                driver.until("it is closed", |driver| {
                    driver.closed().is_some() && ended.is_finished()
                });
            });
            assert_eq!(driver.closed(), Some(&Failure::Deleted));
        }
    }

    #[test]
    fn strongswan_and_this_engine_refuse_each_other_under_another_authority() {
        let stage = Stage::set_up();
        let [authority, other] = [0, 1].map(|_| Authority::new(Algorithm::EcdsaP256));
        stage.load(&authority, "x25519-ke1_mlkem768");
        let config = ours(&other, &["x25519", "mlkem768"]);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        let mut seed = 13;
        let sa = IkeSa::initiate(config, driver.ends, &mut random(&mut seed), Instant::now());
        driver.sa = Some(sa.expect("it begins"));
        driver.until("it is refused", |driver| driver.closed().is_some());
        let failed = bartizan_wire::ike::NotifyType::AUTHENTICATION_FAILED;
        assert_eq!(driver.closed(), Some(&Failure::Refused(failed)));
        assert!(stage.listed().is_empty());
    }
}
