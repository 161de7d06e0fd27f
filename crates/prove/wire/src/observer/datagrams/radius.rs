//! EAP in RADIUS (RFC 3579): the handshakes that key ports, between the authenticator and the
//! server.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Datagrams, Key, Reader};
use crate::datagrams::DatagramProtocol;
use crate::eapol::{self, Pdu};
use crate::end::End;
use crate::observer::Sink;
use crate::observer::demux::Origin;
use crate::observer::memory::Bounds;
use crate::observer::paths::PathId;
use crate::udp::Udp;
use crate::{Side, eap};

/// Requests that are remembered until they are answered.
const ASKED: usize = 256;

/// Requests by path, ends with ports, and identifier, and whose EAP they have.
#[derive(Default)]
pub(super) struct Asked(VecDeque<(Request, u32)>);

/// Path, ends with ports, and identifier.
type Request = (PathId, [End; 2], u8);

/// Codes of RADIUS (RFC 2865, section 3).
const ACCESS_REQUEST: u8 = 1;
const ACCESS_ACCEPT: u8 = 2;
const ACCESS_REJECT: u8 = 3;
const ACCESS_CHALLENGE: u8 = 11;
/// Attributes: those that say whose a request is, and EAP-Message.
const USER_NAME: u8 = 1;
const NAS_PORT: u8 = 5;
const CALLING_STATION_ID: u8 = 31;
const EAP_MESSAGE: u8 = 79;

/// Attributes of a packet, by type and value (RFC 2865, section 5).
fn attributes(packet: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = packet.get(20..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (&[kind, length], _) = rest.split_first_chunk::<2>()?;
        let value = rest.get(2..usize::from(length))?;
        rest = &rest[usize::from(length)..];
        Some((kind, value))
    })
}

impl Asked {
    /// The supplicant of the EAP in a packet: as its request says, or that of the request it answers.
    fn whose(&mut self, code: u8, at: (PathId, [End; 2], u8), packet: &[u8]) -> u32 {
        if code != ACCESS_REQUEST {
            let (path, [server, client], identifier) = at;
            let mut known = self.0.iter().rev();
            return known
                .find(|(key, _)| *key == (path, [client, server], identifier))
                .map_or(0, |(_, whose)| *whose);
        }
        let mut hasher = DefaultHasher::new();
        attributes(packet)
            .filter(|(kind, _)| matches!(*kind, USER_NAME | NAS_PORT | CALLING_STATION_ID))
            .for_each(|attribute| attribute.hash(&mut hasher));
        let whose = hasher.finish() as u32;
        if self.0.len() == ASKED {
            self.0.pop_front();
        }
        self.0.push_back((at, whose));
        whose
    }
}

impl Datagrams {
    /// Takes the EAP that a packet of RADIUS carries; `sockets` are its ends, the sender first.
    pub(super) fn radius(
        &mut self,
        udp: &Udp<'_>,
        sockets: [End; 2],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) {
        let &[
            code @ (ACCESS_REQUEST | ACCESS_ACCEPT | ACCESS_REJECT | ACCESS_CHALLENGE),
            identifier,
            ..,
        ] = udp.payload
        else {
            return;
        };
        let parts = attributes(udp.payload).filter(|(kind, _)| *kind == EAP_MESSAGE);
        let message: Vec<u8> = parts.flat_map(|(_, part)| part).copied().collect();
        if message.is_empty() {
            return;
        }
        let whose = self.asked.whose(code, (path, sockets, identifier), udp.payload);
        let ends = sockets.map(|end| match end {
            End::Socket(socket) => End::Host(socket.ip()),
            other => other,
        });
        let key = Key {
            connection: whose,
            ..Key::new(DatagramProtocol::EapInRadius, path, ends)
        };
        // The packet is counted with RADIUS.
        let origin = origin.uncounted();
        let pdu = Pdu {
            kind: eapol::kind::EAP,
            body: &message,
            missing: 0,
        };
        for _ in 0..2 {
            let Some(conversation) = self.of(key, ends, &origin, bounds) else {
                return;
            };
            let before = conversation.held();
            let from = conversation.from(ends);
            let Reader::Eap(session) = &mut conversation.reader else {
                return;
            };
            if session.take(&pdu, from, origin.at, bounds.keys) == eap::Taken::Another {
                // It begins another handshake, and belongs there.
                self.end(key, bounds.memory, sink);
                continue;
            }
            let side = if from == 0 { Side::Client } else { Side::Server };
            conversation.seen.sent(side, message.len() as u64, origin.at);
            let after = conversation.held();
            bounds.memory.changed(before, after);
            if after > before && bounds.memory.is_exceeded() {
                self.give_up(key, ends, &origin, bounds, sink);
            }
            return;
        }
    }
}
