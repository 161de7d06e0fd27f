//! A pluto in a namespace of its own, next to one where this engine has its sockets; the kernel does ESP in both.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{Error, LabRoot, Namespace, Process, Program};
use bartizan_ike::{Config, SigningKey};
use bartizan_ipsec::xfrm::{Installed, Path as Between};
use bartizan_testing::{Address, Capture, Direction, Port as Cable, connect};
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{PATIENCE, Row, Tshark, eventually, numbers};
use bartizan_wire::ike::ExchangeType;

use super::By;
use crate::link::{Authority, exchanges};
use crate::strongswan::as_root::stage::{Driver, ECHO, INNER, OURS, THEIRS, ours};

/// Path of pluto's directory in its namespace.
const SEEN_AT: &str = "/run/bartizan";
/// Run with: root, directory, arguments of pluto. It runs programs of its own by their paths, so
/// that the root must be its root. The mounts are in a namespace of their own and go with it.
const IN_ROOT: &str = r#"set -e
root=$1 directory=$2
shift 2
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir "$root/run/bartizan"
mount --bind "$directory" "$root/run/bartizan"
exec chroot "$root" /usr/libexec/ipsec/pluto "$@""#;
const BETWEEN: Between = Between {
    local: std::net::IpAddr::V4(OURS),
    remote: std::net::IpAddr::V4(THEIRS),
    remote_port: 4500,
    reqid: 77,
    window: 256,
    offload: false,
};
/// The password of the PKCS#12 file, whose key is wanted for this test alone.
const PASSWORD: &str = "test";

/// Two namespaces with a cable between them, and inner addresses that only ESP reaches.
pub(super) struct Stage {
    ours: Namespace,
    theirs: Namespace,
    directory: tempfile::TempDir,
    root: LabRoot,
}

impl Stage {
    pub(super) fn set_up() -> Self {
        let [ours, theirs] = ["engine", "pluto"].map(|name| Namespace::create(name).expect("a namespace"));
        connect(
            &Cable::new(&ours, "v0").address("10.77.0.1/24").expect("an address"),
            &Cable::new(&theirs, "v0").address("10.77.0.2/24").expect("an address"),
            1500,
        )
        .expect("a veth pair");
        let inner = INNER.map(|inner| Address::v4(inner, 32).expect("an address"));
        for (namespace, own, other, via) in [(&ours, 0, 1, THEIRS), (&theirs, 1, 0, OURS)] {
            namespace.add_address("lo", inner[own]).expect("an address");
            namespace
                .add_route(inner[other], Some(via.into()), "v0")
                .expect("a route");
        }
        // The kernel's SAs and policies are those of the calling thread's namespace.
        ours.enter_this_thread().expect("a namespace");
        let root = LabRoot::sid().expect("a cache directory");
        Self {
            ours,
            theirs,
            directory: tempfile::tempdir().expect("a directory"),
            root: root.ensure(&mut |_| {}).expect("a lab root"),
        }
    }

    /// This engine, with the kernel's ESP and policies.
    pub(super) fn driver(&self, config: &Arc<Config>) -> Driver {
        let child = &config.child;
        BETWEEN
            .require(child.mode, &child.local, &child.remote)
            .expect("policies");
        let mut driver = Driver::inside(&self.ours, Arc::clone(config));
        driver.kernel = Some(Installed::new(BETWEEN));
        driver
    }

    /// Sends a short and a long datagram from either inner address to the other.
    pub(super) fn pass(&self) {
        let open = |namespace: &Namespace, inner: Ipv4Addr| {
            let socket = namespace.enter(|| UdpSocket::bind((inner, ECHO)));
            let socket = socket.expect("a namespace").expect("a socket");
            socket
                .set_read_timeout(Some(Duration::from_secs(60)))
                .expect("a socket");
            socket
        };
        let ends = [open(&self.ours, INNER[0]), open(&self.theirs, INNER[1])];
        let mut buffer = [0; 2048];
        for (from, to) in [(0, 1), (1, 0)] {
            for length in [24, 1300] {
                let datagram = vec![from as u8; length];
                ends[from].send_to(&datagram, (INNER[to], ECHO)).expect("it is sent");
                let received = ends[to].recv(&mut buffer).expect("it arrives");
                assert_eq!(buffer[..received], datagram);
            }
        }
    }

    /// Records what leaves by either interface.
    pub(super) fn record(&self) -> Recorded {
        let start = |namespace: &Namespace, name: &str| {
            let file = self.directory.path().join(name);
            Capture::start(Some(namespace), "v0", file, Direction::Outbound).expect("a capture")
        };
        Recorded([start(&self.ours, "ours.pcap"), start(&self.theirs, "theirs.pcap")])
    }
}

/// Captures of what this engine's end and pluto's send.
pub(super) struct Recorded([Capture; 2]);

/// Sent packets as tshark reads them: ours first.
pub(super) struct Packets([Vec<Row>; 2]);

const FIELDS: [&str; 11] = [
    "ip.src",
    "esp.spi",
    "isakmp.exchangetype",
    "isakmp.nextpayload",
    "isakmp.flag_i",
    "isakmp.flag_r",
    "isakmp.ispi",
    "isakmp.rspi",
    "isakmp.messageid",
    "isakmp.key_exchange.dh_group",
    "isakmp.notify.msgtype",
];

impl Recorded {
    pub(super) fn stop(self) -> Packets {
        Packets(self.0.map(|capture| {
            let file = capture.path().to_owned();
            assert!(capture.stop().expect("written").complete());
            Tshark::new().rows(&file, "ip", &FIELDS)
        }))
    }
}

impl Packets {
    fn of(&self, by: By) -> &[Row] {
        &self.0[usize::from(by == By::Pluto)]
    }

    /// Values of a field in messages of an exchange that an end has sent.
    pub(super) fn values(&self, by: By, exchange: ExchangeType, field: &str) -> Vec<u64> {
        let rows = self.of(by).iter().filter(|row| is_of(row, exchange));
        rows.flat_map(|row| numbers(&row[field])).collect()
    }

    /// Requests of an exchange that an end has begun, without retransmissions and fragments.
    pub(super) fn requests(&self, by: By, exchange: ExchangeType) -> usize {
        let is_request = |row: &&Row| is_of(row, exchange) && ["0", "False"].contains(&&*row["isakmp.flag_r"][0]);
        let requests = self.of(by).iter().filter(is_request);
        let names = requests
            .map(|row| ["isakmp.ispi", "isakmp.rspi", "isakmp.flag_i", "isakmp.messageid"].map(|field| &row[field]));
        names.collect::<BTreeSet<_>>().len()
    }

    /// Each end has sent at least so many packets of ESP, and nothing of the inner addresses outside of it.
    pub(super) fn assert_protected(&self, least: usize) {
        for by in By::BOTH {
            let rows = self.of(by);
            let esp = rows.iter().filter(|row| !row["esp.spi"].is_empty()).count();
            assert!(esp >= least, "{by:?}: {esp}");
            let inner = INNER.map(|inner| inner.to_string());
            let outside = rows
                .iter()
                .filter(|row| row["ip.src"].iter().any(|from| inner.contains(from)));
            assert_eq!(outside.collect::<Vec<_>>(), Vec::<&Row>::new(), "{by:?}");
        }
    }
}

fn is_of(row: &Row, exchange: ExchangeType) -> bool {
    numbers(&row["isakmp.exchangetype"]) == [u64::from(exchange.0)]
}

/// A pluto with a certificate of one authority.
pub(super) struct Pluto<'a> {
    stage: &'a Stage,
    process: Process,
    directory: tempfile::TempDir,
    /// Its signature method. If its certificate is of one kind and the connection names the other
    /// as well, it tries the other, cannot sign and does not answer.
    signs_by: &'static str,
    authority: &'a Authority,
    /// Certificate and key of this engine, the same each time: NSS takes no other certificate with
    /// the issuer and serial number of one it has seen.
    own: (Vec<u8>, Vec<u8>),
}

impl<'a> Pluto<'a> {
    pub(super) fn start(stage: &'a Stage, authority: &'a Authority, signs_by: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path();
        for name in ["nss", "run"] {
            fs::create_dir(place.join(name)).expect("a directory");
        }
        fs::write(place.join("secrets"), "").expect("written");
        fs::write(place.join("ipsec.conf"), "config setup\n").expect("written");
        import(&stage.root, place, authority);
        let inside = |name: &str| format!("{SEEN_AT}/{name}");
        let program = Program::new("unshare")
            .package("util-linux")
            .arguments(["--mount", "--propagation", "private", "sh", "-c", IN_ROOT, "pluto"])
            .argument(stage.root.directory())
            .argument(place)
            .arguments(["--nofork", "--no-dnssec", "--nhelpers", "0", "--logfile"])
            .argument(inside("log"))
            .arguments([
                "--config".to_owned(),
                inside("ipsec.conf"),
                "--rundir".to_owned(),
                inside("run"),
            ])
            .arguments([
                "--nssdir".to_owned(),
                inside("nss"),
                "--ipsecdir".to_owned(),
                SEEN_AT.to_owned(),
            ])
            .arguments(["--secretsfile".to_owned(), inside("secrets")])
            .inside(&stage.theirs);
        let mut pluto = Self {
            stage,
            process: program.start().expect("pluto starts"),
            directory,
            signs_by,
            authority,
            own: authority.issue("one.test"),
        };
        eventually("pluto has a socket", || {
            let ended = pluto.process.ended().expect("asked");
            assert!(ended.is_none(), "{}{}", pluto.process.tail(), pluto.log());
            pluto.directory.path().join("run/pluto.ctl").exists().then_some(())
        });
        // It is answered when it listens at port 500 of each address.
        eventually("pluto listens", || pluto.whack(&["--listen"]).ok());
        pluto
    }

    pub(super) fn stop(self) {
        self.process.terminate(PATIENCE).expect("it ends");
    }

    /// Configuration of this engine with this key exchange, also for rekeys of a CHILD_SA.
    pub(super) fn config(&self, key_exchange: &str) -> Config {
        let (certificate, key) = &self.own;
        let mut config = proposing(self.authority, key_exchange);
        config.certificates = vec![certificate.clone()];
        config.key = SigningKey::from_pkcs8(key).expect("a key");
        config
    }

    /// All that it has logged.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Its log lines while `act` runs.
    pub(super) fn logged(&self, act: impl FnOnce()) -> String {
        let before = self.log().len();
        act();
        self.log()[before..].to_owned()
    }

    fn control(&self, program: &str) -> Program {
        let program = self.stage.root.command(program).expect("the lab root has it");
        program
            .argument("--ctlsocket")
            .argument(self.directory.path().join("run/pluto.ctl"))
    }

    /// Asks it for something that it answers at once, or while this engine need not answer; what it
    /// says, or that it has failed.
    pub(super) fn whack(&self, arguments: &[&str]) -> Result<String, Error> {
        let finished = self.control("whack").arguments(arguments).run(PATIENCE);
        finished.map(|finished| finished.text())
    }

    /// Takes the connection away, with its SAs, where there is one.
    pub(super) fn unload(&self) {
        let _ = self.whack(&["--delete", "--name", "e2"]);
    }

    /// Asks it for something of its connection while this engine does what there is to do.
    pub(super) fn whack_with(&self, driver: &mut Driver, command: &str) -> Result<String, Error> {
        thread::scope(|scope| {
            let done = scope.spawn(|| self.whack(&[command, "--name", "e2"]));
            driver.until(command, |_| done.is_finished());
            done.join().expect("it ends")
        })
    }

    /// Gives it the one connection, with these key exchanges and settings; what there was ends.
    pub(super) fn load(&self, key_exchange: &str, settings: &[(&str, &str)]) {
        self.unload();
        let more: String = settings
            .iter()
            .map(|(name, value)| format!("  {name}={value}\n"))
            .collect();
        let text = format!(
            "config setup\nconn e2\n  left={THEIRS}\n  right={OURS}\n  leftid=@other.test\n  rightid=@one.test\n  leftcert=end\n  \
             leftsubnet={}/32\n  rightsubnet={}/32\n  keyexchange=ikev2\n  authby={}\n  ike=aes_gcm256-sha2_384-{key_exchange}\n  \
             esp=aes_gcm256\n  leftupdown=\n  rekey=no\n  auto=ignore\n{more}",
            INNER[1], INNER[0], self.signs_by
        );
        let file = self.directory.path().join("ipsec.conf");
        fs::write(&file, text).expect("written");
        let added = self
            .control("addconn")
            .argument("--config")
            .argument(&file)
            .argument("e2");
        let added = added.run(PATIENCE).expect("it runs");
        let said = added.text() + &String::from_utf8_lossy(&added.stderr);
        assert!(
            added.status.success() && said.contains("added IKEv2 connection"),
            "{said}"
        );
    }

    /// Gives it post-quantum pre-shared keys.
    pub(super) fn load_secrets(&self, text: &str) {
        fs::write(self.directory.path().join("secrets"), text).expect("written");
        self.whack(&["--rereadsecrets"]).expect("read");
    }

    /// Its list of SAs.
    pub(super) fn states(&self) -> String {
        self.whack(&["--showstates"]).expect("listed")
    }

    pub(super) fn has_none(&self) {
        eventually("pluto has no SA", || (!self.states().contains("\"e2\"")).then_some(()));
    }

    /// A connection between both with a CHILD_SA, begun by one.
    pub(super) fn joined(&self, by: By, config: Config) -> Driver {
        let config = Arc::new(config);
        let mut driver = self.stage.driver(&config);
        match by {
            By::Us => driver.initiate(config),
            By::Pluto => {
                let initiated = self.whack_with(&mut driver, "--initiate");
                assert!(initiated.is_ok(), "{initiated:?}\n{}", self.log());
            }
        }
        driver.until("a CHILD_SA", |driver| !driver.installed().is_empty());
        self.settled(&mut driver);
        driver
    }

    /// Waits until both have one IKE_SA and in it one CHILD_SA, the same; then datagrams pass through it.
    pub(super) fn settled(&self, driver: &mut Driver) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            driver.until("one of each", |driver| {
                driver.open().len() == 1 && driver.installed().len() == 1
            });
            let child = driver.installed()[0];
            let states = self.states();
            let spis = [child.inbound.0, child.outbound.0].map(|spi| format!("esp.{spi:x}@"));
            let stand = states.matches("ESTABLISHED_").count() == 2 && spis.iter().all(|spi| states.contains(spi));
            if stand {
                break;
            }
            assert!(Instant::now() < deadline, "{states}\n{}", self.log());
            driver.step();
        }
        assert!(!driver.installed()[0].in_udp);
        self.stage.pass();
    }

    /// Lets one end delete the IKE_SA.
    pub(super) fn ended(&self, by: By, driver: &mut Driver) {
        let spis = driver.open()[0].spis();
        match by {
            By::Us => driver.current().close(Instant::now()),
            By::Pluto => {
                self.whack_with(driver, "--terminate").expect("it ends");
            }
        }
        driver.until("it ends", |driver| driver.open().iter().all(|sa| sa.spis() != spis));
        // It restarts connections that it initiated.
        self.unload();
        self.has_none();
    }
}

/// Puts certificate and key of `other.test` into a database of NSS as an administrator does, by PKCS#12.
fn import(root: &LabRoot, place: &Path, authority: &Authority) {
    let (certificate, key) = authority.issue("other.test");
    let file = |name: &str| place.join(name);
    for (name, bytes) in [("ca", authority.certificate()), ("end", certificate), ("key", key)] {
        fs::write(file(name), bytes).expect("written");
    }
    let run = |name: &str, arguments: &[&str]| {
        let program = root.command(name).expect("the lab root has it").arguments(arguments);
        program.directory(place).run(PATIENCE).expect("it is done");
    };
    let password = format!("pass:{PASSWORD}");
    run("openssl", &["x509", "-inform", "DER", "-in", "end", "-out", "end.pem"]);
    run("openssl", &["pkey", "-inform", "DER", "-in", "key", "-out", "key.pem"]);
    let pack = [
        "pkcs12", "-export", "-in", "end.pem", "-inkey", "key.pem", "-name", "end",
    ];
    let pack = [&pack[..], &["-out", "end.p12", "-passout", &password]].concat();
    run("openssl", &pack);
    run("certutil", &["-N", "-d", "sql:nss", "--empty-password"]);
    run(
        "pk12util",
        &["-i", "end.p12", "-d", "sql:nss", "-W", PASSWORD, "-K", ""],
    );
    run(
        "certutil",
        &["-A", "-d", "sql:nss", "-n", "ca", "-t", "CT,,", "-i", "ca"],
    );
}

/// The same with a certificate of its own.
pub(super) fn proposing(authority: &Authority, key_exchange: &str) -> Config {
    let config = Arc::into_inner(ours(authority, &[key_exchange]));
    let mut config = config.expect("it is nobody else's");
    for proposal in &mut config.child.proposals {
        proposal.extend(exchanges(&[key_exchange]));
    }
    config
}
