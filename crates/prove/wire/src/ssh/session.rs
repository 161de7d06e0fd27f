//! Both directions of one SSH connection, up to the new keys of each.

use super::message::{self, HostKey, KexInit};
use super::{Sent, Ssh};
use crate::{Moment, Seen, Side};

/// Longest line (RFC 4253, section 4.2).
const LINE: usize = 255;
/// Lines a server may send before its identification.
const LINES: u8 = 32;
/// Longest packet read in plaintext. 35,000 bytes must be accepted (section 6.1).
const PACKET: usize = 64 << 10;
/// The shortest: a padding length, a message number and four bytes of padding.
const SHORTEST: usize = 6;

#[derive(Clone)]
enum State {
    /// Lines up to the identification.
    Lines {
        line: Vec<u8>,
        first: Moment,
        left: u8,
    },
    Length {
        bytes: [u8; 4],
        filled: usize,
        first: Moment,
    },
    Packet {
        left: usize,
        body: Vec<u8>,
        first: Moment,
    },
    Protected,
    Lost,
}

#[derive(Clone)]
struct Direction {
    state: State,
    sent: Sent,
}

bartizan_registry::made! {
    /// Reads both directions.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new() {
        let direction = || Direction {
            state: State::Lines {
                line: Vec::new(),
                first: Moment::default(),
                left: LINES,
            },
            sent: Sent::default(),
        };
        directions: [Direction; 2] = [direction(), direction()],
        host_key: Option<Seen<HostKey>> = None,
        disconnected: Option<Seen<Side>> = None,
        /// Sender of a message that only a client sends.
        asks: Option<Side> = None,
    }
}

impl Session {
    /// Takes the next bytes of `from`. Says whether they tell that client and server are the other
    /// way round, as where the server called home (RFC 8071): from then on they are.
    pub(crate) fn data(&mut self, from: Side, mut bytes: &[u8], at: Moment) -> bool {
        while !bytes.is_empty() {
            bytes = self.step(from, bytes, at);
        }
        let turned = self.asks == Some(Side::Server);
        if turned {
            self.asks = Some(Side::Client);
            self.directions.swap(0, 1);
            if let Some(seen) = &mut self.disconnected {
                seen.value = match seen.value {
                    Side::Client => Side::Server,
                    Side::Server => Side::Client,
                };
            }
        }
        turned
    }

    /// Bytes of `from` are missing: in plaintext, no packet behind them can be found.
    pub(crate) fn gap(&mut self, from: Side, at: Moment) {
        self.directions[from.index()].lose(at);
    }

    pub(crate) fn outcome(self) -> Ssh {
        let [client, server] = self.directions.map(|direction| direction.sent);
        Ssh {
            client,
            server,
            host_key: self.host_key,
            disconnected: self.disconnected,
        }
    }

    /// Returns true if both ends have switched to new keys.
    pub(crate) fn is_settled(&self) -> bool {
        let sealed = |one: &Direction| one.sent.protected_bytes > 0;
        self.directions.iter().all(sealed)
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let direction = |one: &Direction| {
            let in_progress = match &one.state {
                State::Lines { line, .. } => line.capacity(),
                State::Packet { body, .. } => body.capacity(),
                State::Length { .. } | State::Protected | State::Lost => 0,
            };
            let identification = one.sent.identification.as_ref().map_or(0, |seen| seen.value.capacity());
            in_progress + identification + one.sent.kex_init.as_ref().map_or(0, |seen| seen.value.held())
        };
        let host_key = self
            .host_key
            .as_ref()
            .map_or(0, |seen| seen.value.key.capacity() + seen.value.signature.capacity());
        self.directions.iter().map(direction).sum::<usize>() + host_key
    }

    /// Consumes at least one byte; returns the rest.
    fn step<'a>(&mut self, from: Side, bytes: &'a [u8], at: Moment) -> &'a [u8] {
        let direction = &mut self.directions[from.index()];
        match &mut direction.state {
            State::Lost => &[],
            State::Protected => {
                direction.sent.protected_bytes += bytes.len() as u64;
                direction.sent.spread.take(bytes);
                &[]
            }
            State::Lines { line, first, left } => {
                if line.is_empty() {
                    *first = at;
                }
                let (text, rest, ends) = match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(end) => (&bytes[..end], &bytes[end + 1..], true),
                    None => (bytes, &bytes[bytes.len()..], false),
                };
                // Room for what may stand before the line's end.
                let room = (LINE + 1).saturating_sub(line.len());
                line.extend_from_slice(&text[..text.len().min(room)]);
                if line.len() > LINE {
                    direction.lose(at);
                    return &[];
                }
                if !ends {
                    return rest;
                }
                let text = line.strip_suffix(b"\r").unwrap_or(line);
                if text.starts_with(b"SSH-") {
                    let printable = text.iter().map(|byte| match byte {
                        b' '..=b'~' => char::from(*byte),
                        _ => '?',
                    });
                    let seen = Seen::new(printable.collect::<String>(), *first, at);
                    direction.sent.identification = Some(seen);
                    direction.state = State::length(at);
                } else if *left == 0 {
                    direction.lose(at);
                } else {
                    *left -= 1;
                    line.clear();
                }
                rest
            }
            State::Length {
                bytes: length,
                filled,
                first,
            } => {
                if *filled == 0 {
                    *first = at;
                }
                let taken = (length.len() - *filled).min(bytes.len());
                length[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
                *filled += taken;
                if *filled == length.len() {
                    let left = u32::from_be_bytes(*length) as usize;
                    if (SHORTEST..=PACKET).contains(&left) {
                        direction.state = State::Packet {
                            left,
                            body: Vec::new(),
                            first: *first,
                        };
                    } else {
                        direction.lose(at);
                    }
                }
                &bytes[taken..]
            }
            State::Packet { left, body, first } => {
                let (taken, rest) = bytes.split_at((*left).min(bytes.len()));
                body.extend_from_slice(taken);
                *left -= taken.len();
                if *left == 0 {
                    let (body, first) = (std::mem::take(body), *first);
                    direction.state = State::length(at);
                    self.packet(from, &body, first, at);
                }
                rest
            }
        }
    }

    /// A whole packet in plaintext: padding length, payload, padding.
    fn packet(&mut self, from: Side, body: &[u8], first: Moment, at: Moment) {
        let direction = &mut self.directions[from.index()];
        let payload = body
            .split_first()
            .and_then(|(padding, rest)| rest.get(..rest.len().checked_sub(usize::from(*padding))?));
        let Some((&number, payload)) = payload.and_then(<[u8]>::split_first) else {
            direction.lose(at);
            return;
        };
        match number {
            message::KEX_INIT if direction.sent.kex_init.is_none() => match KexInit::read(payload) {
                Some(init) => direction.sent.kex_init = Some(Seen::new(init, first, at)),
                None => direction.lose(at),
            },
            message::KEX_INIT => {
                direction.sent.second_kex_init.get_or_insert(at);
            }
            message::SERVICES.. => {
                direction.sent.readable.get_or_insert(at);
            }
            message::NEW_KEYS => {
                direction.sent.new_keys = Some(at);
                direction.state = State::Protected;
            }
            message::DISCONNECT => {
                self.disconnected.get_or_insert(Seen::new(from, first, at));
            }
            number if message::CLIENT_ONLY.contains(&number) => {
                self.asks.get_or_insert(from);
                if message::CLIENT_SHARES.contains(&number) {
                    direction.share(message::client_share(payload), Side::Client, first, at);
                }
            }
            number if message::REPLIES.contains(&number) => {
                if let Some(key) = HostKey::read(payload) {
                    direction.share(message::server_share(payload), Side::Server, first, at);
                    self.host_key.get_or_insert(Seen::new(key, first, at));
                }
            }
            _ => {}
        }
    }
}

impl Direction {
    fn share(&mut self, share: Option<&[u8]>, side: Side, first: Moment, at: Moment) {
        let length = share.and_then(|share| u32::try_from(share.len()).ok());
        self.sent.share = length.map(|length| Seen::new(length, first, at));
        self.sent.share_fault = share.and_then(|share| message::share_fault(share, side));
    }

    fn lose(&mut self, at: Moment) {
        if !matches!(self.state, State::Protected | State::Lost) {
            self.state = State::Lost;
            self.sent.lost = Some(at);
        }
    }
}

impl State {
    fn length(at: Moment) -> Self {
        Self::Length {
            bytes: [0; 4],
            filled: 0,
            first: at,
        }
    }
}

#[cfg(test)]
mod tests;
