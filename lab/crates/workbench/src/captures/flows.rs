//! Very many flows at once, each begun and none ended.

use std::io::{self, Write};

use bartizan_wire::{ip, tcp, udp};

use super::checksum;
use super::frame::{ETHERNET, Variation, put};
use super::recording::{self, Recording};
use super::{File, Written};

/// Kind of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowKind {
    /// TLS 1.3, X25519MLKEM768, from its SYN to the end of the handshake.
    Tls,
    /// HTTP/2 in plaintext, up to its end.
    Http2,
    /// TCP whose content is no known protocol.
    Tcp,
    /// An SCTP association with some user messages.
    Sctp,
    /// An IKE_SA, set up and used.
    Ike,
    /// An ESP security association of one packet.
    Esp,
}

impl FlowKind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Tls, Self::Http2, Self::Tcp, Self::Sctp, Self::Ike, Self::Esp];

    /// Name on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Http2 => "http2",
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::Ike => "ike",
            Self::Esp => "esp",
        }
    }
}

/// Flows of kinds that take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flows {
    /// Number of flows.
    pub count: u32,
    /// Kinds of the flows; a kind named twice comes twice as often.
    pub kinds: Vec<FlowKind>,
}

impl Flows {
    /// Writes a pcap file in which all of them live at its end; gives what it has.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Written> {
        let mut file = File::begin(out)?;
        let kinds: Vec<_> = self.kinds.iter().map(|kind| opened(*kind)).collect::<Result<_, _>>()?;
        for number in 0..self.count {
            let Some(opened) = kinds.get(number as usize % kinds.len().max(1)) else {
                break;
            };
            let variation = Variation::of_connection(number);
            for packet in &opened.packets {
                file.clock += 1000;
                file.packet(&variation.applied(packet))?;
            }
        }
        file.end()
    }
}

/// The packets of one flow of this kind.
fn opened(kind: FlowKind) -> io::Result<Opened> {
    let missing = || io::Error::other(format!("no recorded flow of kind {}", kind.name()));
    let recordings = Recording::all();
    let of_port = |port| recordings.iter().find_map(|recording| Opened::of_port(recording, port));
    let opened = match kind {
        FlowKind::Tls => of_port(4401),
        // The NRF's.
        FlowKind::Http2 => of_port(8000),
        FlowKind::Tcp => of_port(4403).map(Opened::scrambled),
        FlowKind::Sctp => Some(Opened::of(&Recording::of(recording::E2), |packet| {
            protocol(packet) == Some(ip::SCTP)
        })),
        FlowKind::Ike | FlowKind::Esp => {
            // Situation 5: hybrid IKE_SA, and ESP in UDP.
            let situation = Opened::of(&Recording::of(recording::STRONGSWAN), |packet| {
                packet.get(ETHERNET + 14) == Some(&5) && packet.get(12..14) == Some(&[8, 0])
            });
            Some(if kind == FlowKind::Ike {
                situation.ike()
            } else {
                situation.first_esp()
            })
        }
    };
    opened.filter(|opened| !opened.packets.is_empty()).ok_or_else(missing)
}

/// The packets of one recorded flow up to where it ends, as frames of IPv4.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) packets: Vec<Vec<u8>>,
}

impl Opened {
    fn of(recording: &Recording, wanted: impl Fn(&[u8]) -> bool) -> Self {
        let packets = recording.packets.iter().map(|packet| packet.data.clone());
        Self {
            packets: packets.filter(|packet| wanted(packet)).collect(),
        }
    }

    /// The first TCP connection over IPv4 to this port, without the packet with FIN or RST and those behind it.
    pub(super) fn of_port(recording: &Recording, port: u16) -> Option<Self> {
        let ports = |frame: &[u8]| {
            let segment = segment(frame)?;
            Some([segment.source_port, segment.destination_port])
        };
        let first = recording.packets.iter().find_map(|packet| {
            let segment = segment(&packet.data)?;
            let begins = segment.flags.syn() && !segment.flags.ack() && segment.destination_port == port;
            begins.then_some([segment.source_port, port])
        })?;
        let back = [first[1], first[0]];
        let packets = recording.packets.iter().map(|packet| packet.data.clone());
        let of_connection = packets.filter(|frame| ports(frame).is_some_and(|ports| ports == first || ports == back));
        let live = |frame: &Vec<u8>| segment(frame).is_some_and(|segment| !segment.flags.fin() && !segment.flags.rst());
        Some(Self {
            packets: of_connection.take_while(live).collect(),
        })
    }

    /// The same between other addresses.
    pub(super) fn varied(&self, number: u32) -> Self {
        let variation = Variation::of_connection(number);
        Self {
            packets: self.packets.iter().map(|packet| variation.applied(packet)).collect(),
        }
    }

    /// Basis of an end's next segment: the headers of its last one, and the sequence number after
    /// it.
    pub(super) fn last_of(&self, end: End) -> Option<(Vec<u8>, u32)> {
        let client = segment(self.packets.first()?)?.source_port;
        let mut newest = self.packets.iter().rev();
        newest.find_map(|packet| {
            let segment = segment(packet)?;
            let from = if segment.source_port == client {
                End::Client
            } else {
                End::Server
            };
            let headers = packet.get(..packet.len() - segment.payload.len())?;
            let next = segment.sequence.wrapping_add(segment.payload.len() as u32);
            (from == end).then(|| (headers.to_vec(), next))
        })
    }

    /// The same with payloads that begin no protocol.
    fn scrambled(mut self) -> Self {
        for packet in &mut self.packets {
            let length = segment(packet).map_or(0, |segment| segment.payload.len());
            let headers = packet.len() - length;
            for byte in &mut packet[headers..] {
                *byte ^= 0x80;
            }
            seal(packet);
        }
        self
    }

    /// The messages of its first IKE_SA.
    fn ike(mut self) -> Self {
        let first = self.packets.iter().find_map(|packet| initiator_spi(packet));
        self.packets
            .retain(|packet| first.is_some() && initiator_spi(packet) == first);
        self
    }

    /// Its first packet of ESP.
    fn first_esp(mut self) -> Self {
        self.packets.retain(|packet| matches!(udp(packet), Some((_, true))));
        self.packets.truncate(1);
        self
    }
}

/// One of the two that talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// Writes lengths and checksums of a TCP segment over IPv4 anew.
pub(super) fn seal(frame: &mut [u8]) -> Option<()> {
    let packet = frame.get_mut(ETHERNET..)?;
    let total = packet.len() as u16;
    let (header, segment) = packet.split_at_mut_checked(20)?;
    put(header, 2, total)?;
    put(header, 10, 0)?;
    let sum = checksum::internet(header);
    put(header, 10, sum)?;
    put(segment, 16, 0)?;
    let mut whole = header.get(12..20)?.to_vec();
    whole.extend([0, ip::TCP]);
    whole.extend((segment.len() as u16).to_be_bytes());
    whole.extend_from_slice(segment);
    put(segment, 16, checksum::internet(&whole))
}

fn protocol(frame: &[u8]) -> Option<u8> {
    (*frame.get(12..14)? == [8, 0]).then(|| frame.get(ETHERNET + 9).copied())?
}

/// The TCP segment of a frame of IPv4.
fn segment(frame: &[u8]) -> Option<tcp::Segment<'_>> {
    if protocol(frame)? != ip::TCP {
        return None;
    }
    let datagram = ip::datagram(frame.get(ETHERNET..)?)?;
    tcp::segment(datagram.payload, datagram.missing)
}

/// Payload of a frame of IPv4 on the ports of IKE, after the marker, and true if it is ESP.
fn udp(frame: &[u8]) -> Option<(&[u8], bool)> {
    if protocol(frame)? != ip::UDP {
        return None;
    }
    let datagram = ip::datagram(frame.get(ETHERNET..)?)?;
    let udp = udp::udp(datagram.payload, datagram.missing)?;
    if udp.source_port == udp::IKE {
        return Some((udp.payload, false));
    }
    match udp::encapsulated(udp.payload) {
        udp::Encapsulated::Ike(message) => Some((message, false)),
        udp::Encapsulated::Esp(packet) => Some((packet, true)),
        _ => None,
    }
}

fn initiator_spi(frame: &[u8]) -> Option<u64> {
    let (message, is_esp) = udp(frame)?;
    (!is_esp).then(|| message.first_chunk().map(|spi| u64::from_be_bytes(*spi)))?
}
