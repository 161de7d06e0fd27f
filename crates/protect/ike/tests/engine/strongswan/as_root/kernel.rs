//! ESP of the kernel at both ends, which this engine and charon key: traffic passes through rekeys
//! by either end, and none outside of ESP.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bartizan_host::Feature;
use bartizan_ike::Config;
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::xfrm::{Counted, Direction, Installed, Path};
use bartizan_testing::{Tshark, eventually};

use super::stage::{Driver, ECHO, INNER, OURS, Stage, THEIRS, ours};
use crate::link::{Algorithm, Authority, HYBRID, exchanges, transform};

const IKE: &str = "x25519-ke1_mlkem768";
/// Datagrams that are answered between one rekey and the next.
const EACH: u32 = 50;
const PATH: Path = Path {
    local: std::net::IpAddr::V4(OURS),
    remote: std::net::IpAddr::V4(THEIRS),
    remote_port: 4500,
    reqid: 77,
    window: 256,
    // No end of a cable is a card that could: the kernel is asked, and does it all itself.
    offload: true,
};

/// A proposal of ESP, and how strongSwan writes it.
fn proposals() -> [(Vec<bartizan_wire::ike::Transform>, &'static str); 5] {
    let gcm = || transform(1, "ENCR_AES_GCM_16", Some(256));
    [
        (vec![gcm(), transform(5, "esn", None)], "aes256gcm16-esn"),
        (vec![gcm(), transform(5, "noesn", None)], "aes256gcm16"),
        (
            vec![
                transform(1, "ENCR_AES_CBC", Some(256)),
                transform(3, "sha512", None),
                transform(5, "noesn", None),
            ],
            "aes256-sha512",
        ),
        (
            vec![transform(1, "ENCR_AES_CCM_16", Some(256)), transform(5, "noesn", None)],
            "aes256ccm16",
        ),
        (
            vec![transform(1, "ENCR_CHACHA20_POLY1305", None), transform(5, "esn", None)],
            "chacha20poly1305-esn",
        ),
    ]
}

/// Sends datagrams through the CHILD_SA, each once the one before is answered; how many were not.
struct Traffic {
    done: Arc<AtomicBool>,
    answered: Arc<AtomicU32>,
    thread: JoinHandle<(u32, u32)>,
}

impl Traffic {
    /// From the namespace of the calling thread.
    fn start() -> Self {
        let socket = UdpSocket::bind((INNER[0], 0)).expect("a socket");
        socket.connect((INNER[1], ECHO)).expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a socket");
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let answered = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&answered);
        let thread = thread::spawn(move || {
            let (mut sent, mut lost) = (0, 0);
            let mut buffer = [0; 2048];
            while !stop.load(Ordering::Acquire) {
                let datagram = [&b"through ESP "[..], &u32::to_be_bytes(sent)].concat();
                let mut answer = socket.send(&datagram).and_then(|_| socket.recv(&mut buffer));
                // One that was given up may be answered late.
                while answer.as_ref().is_ok_and(|length| buffer[..*length] != datagram) {
                    answer = socket.recv(&mut buffer);
                }
                let is_answered = answer.is_ok();
                lost += u32::from(!is_answered);
                count.fetch_add(is_answered.into(), Ordering::Release);
                sent += 1;
                thread::sleep(Duration::from_millis(2));
            }
            let _ = socket.send(&[]);
            (sent, lost)
        });
        Self { done, answered, thread }
    }

    fn answered(&self) -> u32 {
        self.answered.load(Ordering::Acquire)
    }

    fn stop(self) -> (u32, u32) {
        self.done.store(true, Ordering::Release);
        self.thread.join().expect("it ends")
    }
}

/// Lets charon replace its `child` or `ike` while this engine answers.
fn rekeyed_by_charon(stage: &Stage, driver: &mut Driver, of: &str) {
    let section = Section::new().with(of, "e2");
    stage.client().command("rekey", section).expect("it is begun");
    let is_child = of == "child";
    let (child, spis) = (driver.installed()[0].inbound.0, driver.open()[0].spis());
    driver.until("it is replaced", |driver| {
        let (open, installed) = (driver.open(), driver.installed());
        open.len() == 1
            && installed.len() == 1
            && if is_child {
                installed[0].inbound.0 != child
            } else {
                open[0].spis() != spis
            }
    });
}

#[test]
fn the_kernel_carries_what_this_engine_negotiates_with_strongswan() {
    if bartizan_testing::in_a_guest(&[Feature::Esp]) {
        return;
    }
    let stage = Stage::set_up();
    stage.enter();
    for (transforms, theirs) in proposals() {
        let authority = Authority::new(Algorithm::EcdsaP256);
        stage.load_with(&authority, IKE, &format!("{theirs}-x25519-ke1_mlkem768"));
        let config = Arc::into_inner(ours(&authority, HYBRID));
        let mut config: Config = config.expect("it is nobody else's");
        // IKE's messages by the same cipher where it is an AEAD.
        if transforms.iter().all(|transform| transform.kind != 3) {
            config.proposals[0][0] = transforms[0];
        }
        config.child.proposals = vec![transforms.into_iter().chain(exchanges(HYBRID)).collect()];
        let config = Arc::new(config);
        let mut driver = Driver::new(&stage, Arc::clone(&config));
        driver.kernel = Some(Installed::new(PATH));
        let child = &config.child;
        PATH.require(child.mode, &child.local, &child.remote).expect("policies");
        let capture = stage.sent();
        driver.initiate(config);
        driver.until("a CHILD_SA", |driver| !driver.installed().is_empty());
        assert!(!driver.installed()[0].in_udp, "the kernel of charon has ESP");

        let echo = stage.echo();
        let traffic = Traffic::start();
        let wait = |driver: &mut Driver| {
            // As many as that, not for so long: one that is lost holds up those behind it for ten seconds.
            let enough = traffic.answered() + EACH;
            driver.until("traffic passes", |_| traffic.answered() >= enough);
        };
        wait(&mut driver);
        let mut replaced = Vec::new();
        for _ in 0..2 {
            let child = driver.installed()[0].inbound.0;
            replaced.push(child);
            driver.current().rekey_child(Instant::now(), child);
            driver.until("it is replaced", |driver| {
                driver.installed().len() == 1 && driver.installed()[0].inbound.0 != child
            });
            // Time for packets on their way.
            assert!(PATH.counted(child, Direction::In).expect("asked").is_some(), "{theirs}");
            wait(&mut driver);
            rekeyed_by_charon(&stage, &mut driver, "child");
            wait(&mut driver);
            rekeyed_by_charon(&stage, &mut driver, "ike");
            wait(&mut driver);
        }
        let (sent, lost) = traffic.stop();
        // charon's kernel refuses what is on its way to the SA that charon deletes; this end's
        // leaves such as it is for a second.
        assert!(lost <= 1, "{theirs}: {lost} of {sent}");
        assert!(sent > 7 * EACH, "{theirs}: {sent}");
        echo.join().expect("it ends");
        let kernel = driver.kernel.as_mut().expect("it does ESP");
        kernel
            .keep_up(Some(Instant::now() + Duration::from_secs(6)))
            .expect("removed");
        for child in replaced {
            assert_eq!(PATH.counted(child, Direction::In).expect("asked"), None, "{theirs}");
        }
        let newest = (driver.installed()[0].inbound.0, driver.installed()[0].outbound.0);
        for (spi, direction) in [(newest.0, Direction::In), (newest.1, Direction::Out)] {
            let counted: Counted = PATH.counted(spi, direction).expect("asked").expect("it is there");
            assert!(counted.packets > 10 && counted.bytes > 10 * 44, "{theirs}: {counted:?}");
            assert_eq!((counted.replayed, counted.failed), (0, 0), "{theirs}");
        }
        let file = capture.path().to_owned();
        assert!(capture.stop().expect("written").complete());
        let of = |filter: &str| Tshark::new().values(&file, filter, "frame.number").len();
        assert!(of("esp") >= sent as usize, "{theirs}");
        assert_eq!(of("ip.addr == 10.78.0.1 || ip.addr == 10.78.0.2"), 0, "{theirs}");

        driver.current().close(Instant::now());
        driver.until("it ends", |driver| driver.open().is_empty());
        for (spi, direction) in [(newest.0, Direction::In), (newest.1, Direction::Out)] {
            assert_eq!(PATH.counted(spi, direction).expect("asked"), None, "{theirs}");
        }
        // The policies stay: nothing leaves without ESP.
        let alone = UdpSocket::bind((INNER[0], 0)).expect("a socket");
        let capture = stage.sent();
        let _ = alone.send_to(b"unprotected", (INNER[1], ECHO));
        thread::sleep(Duration::from_millis(200));
        let file = capture.path().to_owned();
        assert!(capture.stop().expect("written").complete());
        let left = Tshark::new().values(&file, "udp.port == 7", "frame.number");
        assert_eq!(left, Vec::<String>::new(), "{theirs}");
        eventually("charon has none either", || stage.sas().is_empty().then_some(()));
    }
}
