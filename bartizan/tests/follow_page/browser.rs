//! The page in a real browser: what it draws while links and events come, and what the browser counts of it.

use std::env;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use super::{File, PREFACE, Path, followed, fs, header, record, segment};
use crate::browser::Chromium;
use crate::follow_stage::{Followed, data, only_port};

/// Duration of the events, in seconds. Longer, for figures: PAGE_SECONDS=20 and `--nocapture`, with
/// a release build.
fn seconds() -> u64 {
    env::var("PAGE_SECONDS").map_or(2, |seconds| seconds.parse().expect("PAGE_SECONDS is a number"))
}

/// Something small moves with each frame, so that there is one to be drawn at every chance; the
/// times of frames are kept.
const IN_MOTION: &str = "
    window.frames_seen = [];
    const mark = document.body.appendChild(document.createElement('i'));
    mark.textContent = '\u{2022}';
    mark.style.position = 'fixed';
    mark.style.top = mark.style.left = '0';
    (function next(at) {
        window.frames_seen.push(at);
        mark.style.transform = 'translateX(' + at % 100 + 'px)';
        requestAnimationFrame(next);
    })(performance.now())";

/// Direction of a packet of a TLS connection, and the packet from its IP header on.
type Packet = (bool, Vec<u8>);

/// A capture to which connections are added.
struct Growing {
    file: File,
    /// A whole TLS connection.
    connection: Vec<Packet>,
    port: u16,
}

/// A consumer and a producer.
fn ends(number: u16) -> [[u8; 4]; 2] {
    let [consumer, producer] = [number % 100, number / 100].map(|number| u8::try_from(number).unwrap());
    [[10, 9, 0, consumer], [10, 1, 1, producer]]
}

impl Growing {
    fn new(path: &Path) -> Self {
        fs::write(path, header()).unwrap();
        let file = File::options().append(true).open(path).unwrap();
        let capture = only_port(4403);
        let mut connection = Vec::new();
        let mut at = 24;
        while at < capture.len() {
            let length = u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
            let packet = capture[at + 16 + 14..at + 16 + length].to_vec();
            connection.push((packet[22..24] == 4403_u16.to_be_bytes(), packet));
            at += 16 + length;
        }
        Self {
            file,
            connection,
            port: 30_000,
        }
    }

    /// A TLS connection on the link of this number.
    fn handshake(&mut self, link: u16) {
        self.port += 1;
        let [consumer, producer] = ends(link);
        for (there, packet) in &self.connection {
            let mut packet = packet.clone();
            let (from, to, port) = if *there {
                (consumer, producer, 20)
            } else {
                (producer, consumer, 22)
            };
            packet[12..16].copy_from_slice(&from);
            packet[16..20].copy_from_slice(&to);
            packet[port..port + 2].copy_from_slice(&self.port.to_be_bytes());
            self.file.write_all(&record(&packet)).unwrap();
        }
    }

    /// HTTP/2 without TLS on it: with the first of these there are three events, that it is seen and two findings.
    fn readable(&mut self, link: u16) {
        let [consumer, producer] = ends(link);
        let packet = segment([(consumer, 40000), (producer, 8000)], [1, 1], 0x18, PREFACE);
        self.file.write_all(&packet).unwrap();
    }
}

/// Does so much each second, evenly, for a while.
fn evenly(per_second: u32, mut each: impl FnMut(u32)) {
    let began = Instant::now();
    for done in 0..per_second * u32::try_from(seconds()).unwrap() {
        each(done);
        let due = began + Duration::from_secs(1) * (done + 1) / per_second;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn start(directory: &Path) -> (Growing, Followed, String) {
    let growing = Growing::new(&directory.join("capture.pcap"));
    let (followed, address) = followed(directory, &[]);
    (growing, followed, format!("http://{address}/"))
}

/// The page's text for the number of links.
fn total(links: u16) -> String {
    format!("document.querySelector('#answer strong')?.textContent.replace(/\\D/g, '') === '{links}'")
}

#[test]
fn a_browser_shows_links_and_events_as_they_come_and_goes_on_drawing() {
    const LINKS: u16 = 200;
    let directory = tempfile::tempdir().unwrap();
    let (mut growing, mut followed, url) = start(directory.path());
    (0..LINKS).for_each(|link| growing.handshake(link));
    followed.wait_for("link-seen", |_| true);
    let mut browser = Chromium::start();
    browser.open(&url);
    let paint = browser.first_paint();
    browser.until(&total(LINKS));
    browser.until("document.querySelectorAll('.link-tile').length === 200");
    browser.until("document.querySelectorAll('#drawing .stroke').length === 400");
    println!("{LINKS} links: first contentful paint after {paint:.0} ms");
    browser.value(IN_MOTION);
    // Frames without any event.
    counted(&mut browser, "nothing", || {
        thread::sleep(Duration::from_secs(seconds()));
    });
    let handshakes = seconds() * 60;
    counted(&mut browser, "60 handshakes", || {
        evenly(60, |number| growing.handshake(u16::try_from(number).unwrap() % LINKS));
    });
    let all = u64::from(LINKS) + handshakes;
    browser.until(&format!(
        "document.querySelector('#handshakes-total').textContent.replace(/\\D/g, '') === '{all}'"
    ));
    // Each of these links is new, and changes the map.
    let new = u16::try_from(seconds() * 333).unwrap();
    counted(&mut browser, "333 new links, 999 events", || {
        evenly(333, |number| growing.readable(LINKS + u16::try_from(number).unwrap()));
    });
    browser.until(&total(LINKS + new));
    // By keyboard: the first link is chosen, and its evidence is shown.
    browser.value("document.querySelector('.link-tile[tabindex=\"0\"]').focus(); document.activeElement.click()");
    browser.until("document.querySelector('#detail .verdicts') !== null");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    drop(browser);
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
}

/// The link that the tab key had led to was hidden with its interface, and no other one could be reached by it.
#[test]
fn whatever_interface_is_chosen_the_tab_key_leads_to_a_link_of_it() {
    let directory = tempfile::tempdir().unwrap();
    for (capture, name) in [
        ("e2-flexric-kpm", "capture.pcap"),
        ("n2-free5gc-two-registrations", "n2.pcap"),
    ] {
        fs::copy(data(&format!("{capture}.pcap")), directory.path().join(name)).unwrap();
    }
    let (mut followed, address) = followed(directory.path(), &["n2.pcap"]);
    let mut browser = Chromium::start();
    browser.open(&format!("http://{address}/"));
    for name in ["N2", "E2", ""] {
        let button = format!("document.querySelector('.interface[data-name=\"{name}\"]')");
        browser.until(&format!("{button} !== null"));
        browser.value(&format!("{button}.click()"));
        let reached =
            "[...document.querySelectorAll('.link-tile[tabindex=\"0\"]')].filter((tile) => tile.offsetParent !== null)";
        browser.until(&format!(
            "{reached}.length === 1 && {reached}[0].getAttribute('aria-label').startsWith('{name}')"
        ));
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    drop(browser);
    followed.terminate();
}

/// Says what the browser counts while something comes in.
fn counted(browser: &mut Chromium, what: &str, come: impl FnOnce()) {
    browser.count_frames();
    browser.value("window.frames_seen = [];");
    come();
    // On a busy machine the browser may have had no turn meanwhile.
    browser.until("window.frames_seen.length > 2");
    let frames = browser.frames();
    let gaps = "window.frames_seen.slice(1).map((at, index) => at - window.frames_seen[index])";
    let longest = browser.value(&format!("Math.max(...{gaps})")).as_f64().unwrap();
    let late = browser.value(&format!("{gaps}.filter((gap) => gap > 25).length"));
    println!(
        "{what} per second for {} s: {} frames presented, {} dropped, {} of these noticeable; {late} times longer than 25 ms between two, {longest:.0} ms at most",
        seconds(),
        frames.presented,
        frames.dropped,
        frames.noticed
    );
    assert!(frames.presented > 0, "{frames:?}");
}
