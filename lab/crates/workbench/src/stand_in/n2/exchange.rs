//! Messages between a gNB and an AMF, read from the capture in which they were recorded. NGAP stays
//! opaque: a message is octets.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bartizan_host::sctp::Ordering;
use bartizan_registry::SCTP_APPLICATIONS;
use bartizan_wire::ip::{SCTP, datagram};
use bartizan_wire::link::{Network, network};
use bartizan_wire::sctp::{self, Data};
use bartizan_wire::{CaptureError, CaptureReader};

use super::function::Message;

/// The sending end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The gNB, which opens the association.
    Gnb,
    /// The AMF.
    Amf,
}

/// All messages, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    messages: Vec<(End, Message)>,
    procedures: Vec<(Procedure, Range<usize>)>,
}

/// Procedure of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure {
    /// NG Setup, which begins every association (TS 38.413, clause 8.7.1).
    NgSetup,
    /// All that was said of one UE, from its registration request on.
    Registration,
}

/// Reason why a capture is not an exchange.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A packet of it is not whole, or a message is not.
    #[error("packet {0} is not whole, or what it begins is not")]
    Cut(u64),
    /// It has no NG Setup with a registration behind it.
    #[error("there is no NG Setup, or no registration behind it")]
    Order,
}

/// A DATA chunk: the packet it came in, and what it carries.
struct Piece {
    packet: u64,
    stream: u16,
    payload_protocol: u32,
    begins: bool,
    ends: bool,
    octets: Vec<u8>,
}

impl Exchange {
    /// The exchange that Bartizan brings along: `lab/experiments/n2-registrations/n2.pcap`,
    /// UERANSIM's gNB and the AMF of free5GC.
    #[must_use]
    pub fn free5gc() -> Self {
        Self::read(include_bytes!("../../../../../experiments/n2-registrations/n2.pcap"))
            .expect("the capture is part of the program and a test reads it")
    }

    /// Reads the only association of a capture; each message once, also where it was sent again.
    ///
    /// # Errors
    /// Fails if it is no capture, not whole, or has something else in it.
    pub fn read(capture: &[u8]) -> Result<Self, Error> {
        let amf = SCTP_APPLICATIONS.iter().find(|known| known.interface == "N2");
        let amf = amf.and_then(|known| known.port);
        let mut reader = CaptureReader::new();
        reader.push(capture);
        let mut pieces: BTreeMap<(End, u32), Piece> = BTreeMap::new();
        while let Some(packet) = reader.next_packet()? {
            let Network::Ip(ip) = network(packet.link, packet.data) else {
                continue;
            };
            let Some(datagram) = datagram(ip).filter(|datagram| datagram.protocol == SCTP) else {
                continue;
            };
            let cut = Error::Cut(packet.number);
            let Some(read) = sctp::packet(datagram.payload, datagram.missing) else {
                return Err(cut);
            };
            let end = if amf == Some(read.source_port) {
                End::Amf
            } else {
                End::Gnb
            };
            for data in read.chunks().filter_map(|chunk| Data::read(&chunk)) {
                if data.missing > 0 {
                    return Err(cut);
                }
                pieces.entry((end, data.tsn)).or_insert_with(|| Piece {
                    packet: packet.number,
                    stream: data.stream,
                    payload_protocol: data.payload_protocol.unwrap_or_default(),
                    begins: data.begins,
                    ends: data.ends,
                    octets: data.payload.to_vec(),
                });
            }
        }
        let mut whole: Vec<(u64, End, Message)> = Vec::new();
        let mut begun: Option<(u64, Vec<u8>)> = None;
        for ((end, _), piece) in pieces {
            if piece.begins != begun.is_none() {
                return Err(Error::Cut(piece.packet));
            }
            let (_, octets) = begun.get_or_insert((piece.packet, Vec::new()));
            octets.extend(piece.octets);
            if piece.ends
                && let Some((first, octets)) = begun.take()
            {
                let message = Message {
                    stream: piece.stream,
                    payload_protocol: piece.payload_protocol,
                    ordering: Ordering::Ordered,
                    octets,
                };
                whole.push((first, end, message));
            }
        }
        if let Some((packet, _)) = begun {
            return Err(Error::Cut(packet));
        }
        whole.sort_by_key(|(packet, ..)| *packet);
        let messages: Vec<(End, Message)> = whole.into_iter().map(|(_, end, message)| (end, message)).collect();
        let procedures = procedures(&messages).ok_or(Error::Order)?;
        Ok(Self { messages, procedures })
    }

    /// The messages, in the order in which they were sent.
    #[must_use]
    pub fn messages(&self) -> &[(End, Message)] {
        &self.messages
    }

    /// Messages by procedure: NG Setup, then one registration after the other.
    #[must_use]
    pub fn procedures(&self) -> &[(Procedure, Range<usize>)] {
        &self.procedures
    }
}

/// NG Setup has a stream of its own, and each UE another (TS 38.412, clause 7): a procedure begins
/// where the gNB first uses a stream.
fn procedures(messages: &[(End, Message)]) -> Option<Vec<(Procedure, Range<usize>)>> {
    let mut used = BTreeSet::new();
    let news = messages.iter().enumerate();
    let begins: Vec<usize> = news
        .filter(|(_, (end, message))| *end == End::Gnb && used.insert(message.stream))
        .map(|(number, _)| number)
        .collect();
    let ends = begins.iter().skip(1).copied().chain([messages.len()]);
    let ranges: Vec<_> = begins.iter().copied().zip(ends).map(|(from, to)| from..to).collect();
    let answered = |range: &Range<usize>| messages[range.clone()].iter().any(|(end, _)| *end == End::Amf);
    if begins.first() != Some(&0) || ranges.len() < 2 || !ranges.iter().all(answered) {
        return None;
    }
    let kinds = std::iter::once(Procedure::NgSetup).chain(std::iter::repeat(Procedure::Registration));
    Some(kinds.zip(ranges).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_is_an_ng_setup_and_two_registrations_of_nine_messages() {
        let exchange = Exchange::free5gc();
        let messages = exchange.messages();
        assert_eq!(messages.len(), 20, "two were sent twice and are said once");
        assert!(messages.iter().all(|(_, message)| message.payload_protocol == 60));
        let sizes = || messages.iter().map(|(_, message)| message.octets.len());
        assert_eq!((sizes().min(), sizes().max()), (Some(19), Some(165)));
        let [set_up, first, second] = exchange.procedures() else {
            panic!("{:?}", exchange.procedures());
        };
        assert_eq!(*set_up, (Procedure::NgSetup, 0..2));
        assert_eq!(*first, (Procedure::Registration, 2..11));
        assert_eq!(*second, (Procedure::Registration, 11..20));
        for (stream, (_, range)) in (0..).zip(exchange.procedures()) {
            let gnb = messages[range.clone()].iter().filter(|(end, _)| *end == End::Gnb);
            assert!(gnb.clone().count() > 0 && gnb.clone().all(|(_, message)| message.stream == stream));
        }
    }

    #[test]
    fn a_capture_that_is_cut_or_has_no_registration_is_refused() {
        let whole = include_bytes!("../../../../../experiments/n2-registrations/n2.pcap");
        assert!(matches!(
            Exchange::read(b"no capture at all, but long enough"),
            Err(Error::Capture(_))
        ));
        assert!(matches!(Exchange::read(&whole[..24]), Err(Error::Order)));
        // The first eight packets: the association and NG Setup.
        let mut at = 24;
        for _ in 0..8 {
            at += 16 + u32::from_le_bytes(whole[at + 8..at + 12].try_into().unwrap()) as usize;
        }
        assert!(matches!(Exchange::read(&whole[..at]), Err(Error::Order)));
    }
}
