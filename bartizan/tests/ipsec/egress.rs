//! An E2 node that never stops sending, and what of it leaves the sender's host in plaintext.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bartizan_testing::{Capture, Direction};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::{ip, udp};

use crate::stage::*;

/// The port of GTP-U (TS 29.281, clause 4.4.2.3).
pub(super) const GTP_U: u16 = 2152;
/// The port of PFCP (TS 29.244, clause 6.1).
pub(super) const PFCP: u16 = 8805;
const UNENCRYPTED: [u16; 2] = [GTP_U, PFCP];

/// Sends, whatever becomes of its link.
pub(super) struct Sender {
    /// Number of packets sent in each state.
    many: usize,
    tried: AtomicUsize,
    stop: AtomicBool,
}

impl Sender {
    pub(super) fn new(many: usize) -> Self {
        Self {
            many,
            tried: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Sends until it is asked to stop.
    pub(super) fn run(&self, mut send: impl FnMut()) {
        while !self.stop.load(Ordering::Relaxed) {
            send();
            self.tried.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until many more were sent.
    pub(super) fn many_more(&self) {
        let wanted = self.tried.load(Ordering::Relaxed) + self.many;
        eventually("packets are sent", || {
            (self.tried.load(Ordering::Relaxed) >= wanted).then_some(())
        });
    }

    /// Stops it when it is dropped, also where an assertion fails.
    pub(super) fn stopped(&self) -> Stopped<'_> {
        Stopped(self)
    }
}

pub(super) struct Stopped<'a>(&'a Sender);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Packets that left by the CU's interface, as lengths of IP packets.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// SCTP, and UDP of GTP-U and PFCP, in plaintext.
    pub(super) clear: Vec<usize>,
    /// ESP, by itself or in UDP.
    pub(super) protected: Vec<usize>,
    /// Any other packet that is neither IKE nor what hosts say of themselves (neighbour discovery,
    /// multicast listeners).
    pub(super) other: Vec<usize>,
}

/// ICMPv6 types: neighbour discovery (RFC 4861), and reports of multicast listeners behind a
/// hop-by-hop header (RFC 3810).
const NEIGHBOURS: std::ops::RangeInclusive<u8> = 133..=137;
const ICMP_V6: u8 = 58;
const HOP_BY_HOP: u8 = 0;

/// Captures what leaves while `act` runs.
pub(super) fn leaving(stage: &Stage, name: &str, act: impl FnOnce()) -> Left {
    let path = stage.path().join(name);
    let capture = Capture::start(Some(&stage.cu), "v0", &path, Direction::Outbound).expect("a capture");
    act();
    counted(capture)
}

/// Packets of a capture, from either end.
pub(super) fn counted(capture: Capture) -> Left {
    let path = capture.path().to_owned();
    let captured = capture.stop().expect("captured");
    assert!(captured.complete(), "{captured:?}");
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).expect("a file");
    file.read_to_end(&mut bytes).expect("it is read");
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut left = Left::default();
    while let Some(packet) = reader.next_packet().expect("whole") {
        // Ethernet's type, then IPv4's protocol and, in UDP, the port it goes to; IKE has the non-ESP marker.
        let data = packet.data;
        let to_or_from = |places: [usize; 2], port: u16| {
            let mut ports = places.into_iter().map(|at| data.get(at..at + 2));
            ports.any(|known| known == Some(&port.to_be_bytes()))
        };
        let is_ike = |places: [usize; 2]| [udp::IKE, udp::IKE_NAT].iter().any(|port| to_or_from(places, *port));
        match data.get(12..14) {
            Some(&[0x08, 0x00]) => {}
            Some(&[0x86, 0xdd]) => {
                // No extension headers are sent here.
                match data.get(20) {
                    Some(&ip::SCTP) => left.clear.push(data.len() - 14),
                    Some(&ip::UDP) if UNENCRYPTED.iter().any(|port| to_or_from([54, 56], *port)) => {
                        left.clear.push(data.len() - 14);
                    }
                    Some(&ip::ESP) => left.protected.push(data.len() - 14),
                    // From and to port 4500, as below.
                    Some(&ip::UDP)
                        if to_or_from([54, 56], udp::IKE_NAT)
                            && data.get(58..60) != Some(&[0, 9])
                            && data.get(62..66) != Some(&[0; 4]) =>
                    {
                        left.protected.push(data.len() - 14);
                    }
                    Some(&ip::UDP) if is_ike([54, 56]) => {}
                    Some(&HOP_BY_HOP) => {}
                    Some(&ICMP_V6) if data.get(54).is_some_and(|kind| NEIGHBOURS.contains(kind)) => {}
                    _ => left.other.push(data.len() - 14),
                }
                continue;
            }
            _ => continue,
        }
        let length = data
            .get(16..18)
            .map_or(0, |length| usize::from(length[0]) << 8 | usize::from(length[1]));
        // Only the first fragment of a packet has ports: the others are recognised by their
        // addresses, which are not those inside.
        let later = data
            .get(20..22)
            .is_some_and(|place| place[0] & 0x1f != 0 || place[1] != 0);
        if later && data[26..28] == [10, 77] && data[30..32] == [10, 77] {
            left.protected.push(length);
            continue;
        }
        match data.get(23) {
            Some(&ip::SCTP) => left.clear.push(length),
            Some(&ip::UDP) if UNENCRYPTED.iter().any(|port| to_or_from([34, 36], *port)) => {
                left.clear.push(length);
            }
            Some(&ip::ESP) => left.protected.push(length),
            Some(&ip::UDP)
                if to_or_from([34, 36], udp::IKE_NAT)
                    // A keepalive is one octet (RFC 3948, section 2.3).
                    && data.get(38..40) != Some(&[0, 9])
                    && data.get(42..46) != Some(&[0; 4]) =>
            {
                left.protected.push(length);
            }
            Some(&ip::UDP) if is_ike([34, 36]) => {}
            _ => left.other.push(length),
        }
    }
    left
}
