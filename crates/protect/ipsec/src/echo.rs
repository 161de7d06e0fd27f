//! Echo through a CHILD_SA: one packet within its traffic selectors that the other end answers by
//! itself, without an effect on the functions behind it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use bartizan_host::EchoSocket;
use bartizan_ike::Mode;
use bartizan_ledger::EspSpi;
use bartizan_wire::checksum::crc32c;
use bartizan_wire::ip;

use crate::TrafficSelector;
use crate::drops::{self, State};
use crate::sa::ChildSa;
use crate::xfrm::{Path, policy};

/// The port of GTP-U (TS 29.281, clause 4.4.2).
const GTP_U: u16 = 2152;
/// The first of the dynamic ports (RFC 6335, section 6); all of them share its two highest bits.
const DYNAMIC: u16 = 49_152;
const ALL_PORTS: [u16; 2] = [0, u16::MAX];

/// Chunk types of RFC 9260, section 3.2.
const ABORT: u8 = 6;
const SHUTDOWN_ACK: u8 = 8;
const SHUTDOWN_COMPLETE: u8 = 14;

/// The kernel's SA by which a CHILD_SA sends.
#[derive(Debug, Clone)]
pub struct InKernel {
    path: Path,
    mode: Mode,
    spi: EspSpi,
}

impl InKernel {
    /// That of this CHILD_SA among the kernel's states. `between` are the addresses of its IKE_SA,
    /// here and there.
    pub fn of(child: &ChildSa, between: [Option<IpAddr>; 2], states: &[State]) -> Option<Self> {
        let [local, remote] = [between[0]?, between[1]?];
        let path = Path {
            local,
            remote,
            reqid: drops::reqid(states, remote, child.spi_out)?,
            remote_port: 0,
            window: 0,
            offload: false,
        };
        let mode = if child.mode.eq_ignore_ascii_case("transport") {
            Mode::Transport
        } else {
            Mode::Tunnel
        };
        let spi = child.spi_out;
        Some(Self { path, mode, spi })
    }
}

/// A question that fits a CHILD_SA, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    from: SocketAddr,
    to: SocketAddr,
    kind: Kind,
    /// Comes back in the answer.
    nonce: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Echo Request (RFC 792, RFC 4443).
    Icmp,
    /// A SHUTDOWN ACK of no association, which any end that has SCTP answers with SHUTDOWN COMPLETE
    /// (RFC 9260, section 8.4, rule 5), and keeps nothing of.
    Sctp,
    /// Echo Request (TS 29.281, clause 7.2.1).
    GtpU,
}

impl Echo {
    /// An echo that the selectors of this CHILD_SA let pass. `between` are the addresses of its
    /// IKE_SA, here and there; `chance` is a random number.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn within(child: &ChildSa, between: [Option<IpAddr>; 2], chance: u64) -> Result<Self, &'static str> {
        let read =
            |texts: &[String]| -> Vec<_> { texts.iter().filter_map(|text| TrafficSelector::parse(text)).collect() };
        let (here, there) = (read(&child.local), read(&child.remote));
        let pairs = here
            .iter()
            .flat_map(|here| there.iter().map(move |there| (here, there)));
        let mut ends = pairs
            .filter_map(|(here, there)| Some(((here.address(between[0])?, here), (there.address(between[1])?, there))));
        let ((from, here), (to, there)) = ends
            .find(|((from, _), (to, _))| from.is_ipv4() == to.is_ipv4())
            .ok_or("its selectors name networks: no host in them is known")?;
        let dynamic = DYNAMIC | (chance as u16 & !DYNAMIC);
        let port = |ports: [u16; 2]| if ports == ALL_PORTS { dynamic } else { ports[0] };
        let (kind, from_port, to_port) = match here.protocol.or(there.protocol) {
            None | Some(ip::ICMP | ip::ICMPV6) => (Kind::Icmp, 0, 0),
            Some(ip::SCTP) => (Kind::Sctp, port(here.ports), port(there.ports)),
            // The system chooses the port here.
            Some(ip::UDP) if there.ports == [GTP_U; 2] && here.ports == ALL_PORTS => (Kind::GtpU, 0, GTP_U),
            Some(ip::UDP) if here.ports == [GTP_U; 2] => {
                return Err("its packets are those that the peer asks for: probe it there");
            }
            // A heartbeat of PFCP or GTPv2-C carries when its sender began (TS 23.007): another
            // time than the function's would have the peer believe in a restart.
            _ => return Err("its protocol has no echo without an effect on the functions"),
        };
        Ok(Self {
            from: SocketAddr::new(from, from_port),
            to: SocketAddr::new(to, to_port),
            kind,
            nonce: chance,
        })
    }

    /// A socket to send it from. Where the kernel does ESP, its packets leave in an SA of `esp` or
    /// not at all. Where a program does it behind `device`, they are led there: rules of routing know
    /// a raw socket's packets by no ports, and those of SCTP would go past it.
    ///
    /// # Errors
    ///
    /// As [`EchoSocket::open`] and [`EchoSocket::require`].
    pub fn socket(&self, esp: Option<&InKernel>, device: Option<&str>) -> io::Result<EchoSocket> {
        let protocol = match (self.kind, self.from) {
            (Kind::Icmp, SocketAddr::V4(_)) => ip::ICMP,
            (Kind::Icmp, SocketAddr::V6(_)) => ip::ICMPV6,
            (Kind::Sctp, _) => ip::SCTP,
            (Kind::GtpU, _) => ip::UDP,
        };
        // IPv6 sends nothing by a device that no route of its tables leads to.
        let device = device.filter(|_| self.to.is_ipv4());
        let socket = EchoSocket::open(protocol, self.from, self.to, device)?;
        if let Some(InKernel { path, mode, spi }) = esp {
            let policy = policy::of_socket(self.from.ip(), path, *mode, spi.0);
            socket.require(&policy.ok_or(io::ErrorKind::InvalidData)?)?;
        }
        Ok(socket)
    }

    /// Types of the question and its answer.
    fn types(&self) -> [u8; 2] {
        match (self.kind, self.from) {
            (Kind::Icmp, SocketAddr::V4(_)) => [8, 0],
            (Kind::Icmp, SocketAddr::V6(_)) => [128, 129],
            (Kind::Sctp, _) => [SHUTDOWN_ACK, SHUTDOWN_COMPLETE],
            (Kind::GtpU, _) => [1, 2],
        }
    }

    /// Payload of the question behind its IP header, for UDP behind that of UDP.
    pub fn question(&self) -> Vec<u8> {
        let nonce = self.nonce.to_be_bytes();
        let [kind, _] = self.types();
        match self.kind {
            Kind::Icmp => {
                // Identifier and sequence number are the nonce's, as is what follows.
                let mut message = [&[kind, 0, 0, 0], &nonce[..4], &nonce].concat();
                if self.from.is_ipv4() {
                    let sum = internet_checksum(&message);
                    message[2..4].copy_from_slice(&sum.to_be_bytes());
                }
                message
            }
            Kind::Sctp => {
                let [from, to] = [self.from, self.to].map(|end| end.port().to_be_bytes());
                let mut packet = [&from[..], &to, &nonce[..4], &[0; 4], &[kind, 0, 0, 4]].concat();
                let sum = crc32c(&[&packet]);
                packet[8..12].copy_from_slice(&sum.to_le_bytes());
                packet
            }
            Kind::GtpU => [&[0x32, kind, 0, 4, 0, 0, 0, 0], &nonce[..2], &[0, 0]].concat(),
        }
    }

    /// Returns true if this is the answer to the question.
    #[must_use]
    pub fn is_answered_by(&self, message: &[u8]) -> bool {
        let nonce = self.nonce.to_be_bytes();
        let [_, kind] = self.types();
        let has = |place: usize, bytes: &[u8]| message.get(place..).is_some_and(|rest| rest.starts_with(bytes));
        match self.kind {
            Kind::Icmp => has(0, &[kind]) && has(4, &nonce[..4]) && has(8, &nonce),
            Kind::Sctp => {
                let [from, to] = [self.to, self.from].map(|end| end.port().to_be_bytes());
                let reflected = has(0, &from) && has(2, &to) && has(4, &nonce[..4]);
                reflected && (has(12, &[kind]) || has(12, &[ABORT]))
            }
            Kind::GtpU => has(1, &[kind]) && has(8, &nonce[..2]),
        }
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.ip(), self.to.ip());
        match self.kind {
            Kind::Icmp => write!(f, "ICMP Echo from {from} to {to}"),
            Kind::Sctp => write!(f, "SCTP SHUTDOWN ACK from {} to {}", self.from, self.to),
            Kind::GtpU => write!(f, "GTP-U Echo Request from {from} to {}", self.to),
        }
    }
}

/// The checksum of RFC 1071 over an even number of octets.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !(((folded & 0xFFFF) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use bartizan_ledger::Bytes;
    use bartizan_wire::checksum::{self, Checksum};

    use super::*;

    const CHANCE: u64 = 0x0123_4567_89AB_CDEF;

    fn child(local: &str, remote: &str) -> ChildSa {
        ChildSa {
            name: "E2".to_owned(),
            id: 1,
            state: "INSTALLED".to_owned(),
            mode: "TUNNEL".to_owned(),
            protocol: Some("ESP".to_owned()),
            spi_in: EspSpi(1),
            spi_out: EspSpi(2),
            udp: false,
            extended_sequence_numbers: true,
            key_exchanges: Vec::new(),
            encryption: None,
            integrity: None,
            bytes: Bytes::default(),
            packets: Bytes::default(),
            installed_s: 1,
            rekey_in_s: None,
            local: vec![local.to_owned()],
            remote: vec![remote.to_owned()],
        }
    }

    fn echo(local: &str, remote: &str) -> Result<String, &'static str> {
        let between = ["10.77.0.1", "10.77.0.2"].map(|ip| ip.parse().ok());
        Echo::within(&child(local, remote), between, CHANCE).map(|echo| echo.to_string())
    }

    #[test]
    fn an_echo_is_within_the_selectors_or_there_is_none() {
        for (local, remote, expected) in [
            ("10.78.0.1/32", "10.78.0.2/32", "ICMP Echo from 10.78.0.1 to 10.78.0.2"),
            ("fd78::1/128", "fd78::2/128", "ICMP Echo from fd78::1 to fd78::2"),
            ("10.77.0.0/24", "10.77.0.0/24", "ICMP Echo from 10.77.0.1 to 10.77.0.2"),
            (
                "10.78.0.1/32[132]",
                "10.78.0.2/32[132/36421]",
                "SCTP SHUTDOWN ACK from 10.78.0.1:52719 to 10.78.0.2:36421",
            ),
            (
                "10.78.0.1/32[sctp/36421]",
                "10.78.0.2/32[sctp]",
                "SCTP SHUTDOWN ACK from 10.78.0.1:36421 to 10.78.0.2:52719",
            ),
            (
                "10.78.0.1/32[17]",
                "10.78.0.2/32[17/2152]",
                "GTP-U Echo Request from 10.78.0.1 to 10.78.0.2:2152",
            ),
        ] {
            assert_eq!(echo(local, remote).as_deref(), Ok(expected));
        }
        for (local, remote, why) in [
            ("10.78.0.0/24", "10.78.0.2/32", "networks"),
            ("10.78.0.1/32", "fd78::2/128", "networks"),
            ("10.78.0.1/32[17/2152]", "10.78.0.2/32[17]", "probe it there"),
            ("10.78.0.1/32[17]", "10.78.0.2/32[17/8805]", "without an effect"),
            ("10.78.0.1/32[17]", "10.78.0.2/32[17]", "without an effect"),
            ("10.78.0.1/32[6]", "10.78.0.2/32[6/22]", "without an effect"),
        ] {
            assert!(echo(local, remote).unwrap_err().contains(why), "{local} {remote}");
        }
    }

    #[test]
    fn only_the_answer_to_the_question_is_one() {
        let of = |local: &str, remote: &str| Echo::within(&child(local, remote), [None; 2], CHANCE).unwrap();
        let icmp = of("10.78.0.1/32", "10.78.0.2/32");
        let question = icmp.question();
        assert_eq!(internet_checksum(&question), 0, "the checksum of the whole is zero");
        let mut answer = question.clone();
        assert!(
            !icmp.is_answered_by(&answer),
            "the question itself, as loopback shows it"
        );
        answer[0] = 0;
        assert!(icmp.is_answered_by(&answer));
        answer[9] ^= 1;
        assert!(!icmp.is_answered_by(&answer), "of another question");

        let sctp = of("10.78.0.1/32[132]", "10.78.0.2/32[132/36421]");
        let question = sctp.question();
        assert_eq!(checksum::sctp(&question, 0), Checksum::Right);
        assert!(!sctp.is_answered_by(&question));
        let mut answer = [&question[2..4], &question[..2], &question[4..]].concat();
        for (kind, is_one) in [(SHUTDOWN_COMPLETE, true), (ABORT, true), (SHUTDOWN_ACK, false)] {
            answer[12] = kind;
            assert_eq!(sctp.is_answered_by(&answer), is_one, "{kind}");
        }
        answer[4] ^= 1;
        assert!(!sctp.is_answered_by(&answer), "of another tag");

        let gtp = of("10.78.0.1/32[17]", "10.78.0.2/32[17/2152]");
        let mut answer = gtp.question();
        assert_eq!(answer.len(), 12);
        answer[1] = 2;
        assert!(gtp.is_answered_by(&answer) && !gtp.is_answered_by(&answer[..8]));
    }
}
