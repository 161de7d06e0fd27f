//! Both directions of a negotiation, held back until it is over: what is behind it begins with the
//! bytes that nothing of it took.

use super::connect::Connect;
use super::{Hop, ProxyProtocol, Stage, header, socks};
use crate::allocation::allocated;
use crate::tcp::Delivery;
use crate::{Moment, Side, work};

/// Bytes of a direction that are held back: the longest header of PROXY version 2, 65,551 bytes,
/// and what comes with it.
const HELD: usize = 80 << 10;
/// The same of a server whose client has said nothing: an answer comes before its request only
/// where a capture has them so.
const HELD_OF_ANSWER: usize = 2 << 10;
/// Runs of bytes of which the packet is kept.
const RUNS: usize = 4096;

/// Both directions as far as they came, up to the first gap of each.
pub(super) struct View<'a> {
    pub(super) client: &'a [u8],
    pub(super) server: &'a [u8],
    held: &'a [Held; 2],
}

impl View<'_> {
    /// The packets with the first and the last of these bytes of a side.
    pub(super) fn span(&self, side: Side, begin: usize, end: usize) -> Option<(Moment, Moment)> {
        self.held[side.index()].span(begin, end)
    }
}

/// Result of reading. Numbers are bytes of client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It takes more bytes.
    More,
    /// It is no negotiation after all.
    Not,
    /// It stops so: what is behind it is not read.
    Stop(Stage),
    /// These bytes are read; of the server these more are skipped; it goes on.
    Again([usize; 2], u64),
    /// It is over behind these bytes.
    Open([usize; 2]),
}

/// Result of a negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It goes on.
    No,
    /// Another protocol is behind it.
    Open,
    /// It is none.
    Not,
}

/// A run of bytes in a packet, or a gap.
#[derive(Clone, Copy)]
struct Run {
    /// End among the bytes that are held.
    end: usize,
    at: Moment,
    /// Bytes that are missing behind it.
    gap: u64,
}

/// Progress of a negotiation.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The negotiation is certain: a proxy answers, or no other protocol begins so.
    pub(super) confirmed: bool,
    /// Bytes of the client that are part of it.
    pub(super) asked: usize,
}

/// Bytes of one direction.
#[derive(Clone, Default)]
struct Held {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    /// Bytes before the first gap.
    broken: Option<usize>,
    /// Bytes that are skipped before any is held.
    skip: u64,
}

impl Held {
    fn take(&mut self, delivery: Delivery<'_>) {
        match delivery {
            Delivery::Data { bytes, at } => {
                let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
                self.skip -= skipped as u64;
                let bytes = &bytes[skipped..];
                if bytes.is_empty() {
                    return;
                }
                self.bytes.extend_from_slice(bytes);
                self.run(at, 0);
            }
            Delivery::Gap { bytes, at } => {
                let skipped = self.skip.min(bytes);
                self.skip -= skipped;
                if bytes > skipped {
                    self.broken.get_or_insert(self.bytes.len());
                    self.run(at, bytes - skipped);
                }
            }
        }
    }

    fn run(&mut self, at: Moment, gap: u64) {
        let (end, full) = (self.bytes.len(), self.runs.len() >= RUNS);
        match self.runs.last_mut() {
            // Segments of one packet need no run each.
            Some(last) if last.at.packet == at.packet && last.gap == 0 => *last = Run { end, at, gap },
            Some(last) if full => {
                *last = Run {
                    end,
                    at,
                    gap: last.gap.saturating_add(gap),
                }
            }
            _ => self.runs.push(Run { end, at, gap }),
        }
    }

    /// Bytes before the first gap.
    fn readable(&self) -> &[u8] {
        &self.bytes[..self.broken.unwrap_or(self.bytes.len())]
    }

    fn span(&self, begin: usize, end: usize) -> Option<(Moment, Moment)> {
        let within = |place: usize| self.runs.iter().find(|run| run.end > place).map(|run| run.at);
        Some((within(begin)?, within(end.checked_sub(1)?)?))
    }

    /// Gives up the first bytes, which are before any gap.
    fn drain(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.runs.retain(|run| run.end > count || run.gap > 0);
        self.runs
            .iter_mut()
            .for_each(|run| run.end = run.end.saturating_sub(count));
        self.broken = self.broken.map(|place| place.saturating_sub(count));
    }

    fn held(&self) -> usize {
        allocated(self.bytes.capacity()) + allocated(self.runs.capacity() * size_of::<Run>())
    }
}

bartizan_registry::made! {
    /// Reads both directions.
    #[derive(Clone)]
    pub(crate) struct Session,
    /// The negotiation behind `depth` others.
    pub(crate) new(protocol: ProxyProtocol, depth: u8) {
        hop: Hop = Hop::new(protocol),
        held: [Held; 2] = Default::default(),
        connect: Connect = Connect::default(),
        known: Known = Known {
            confirmed: protocol == ProxyProtocol::ProxyV2,
            asked: 0,
        },
        /// Nothing more is read.
        over: bool = false,
        depth: u8 = depth,
    }
}

impl Session {
    /// Number of negotiations before it.
    pub(crate) fn depth(&self) -> u8 {
        self.depth
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        self.held.iter().map(Held::held).sum::<usize>() + self.hop.held()
    }

    /// Takes what a side sent next.
    pub(crate) fn take(&mut self, side: Side, delivery: Delivery<'_>) -> Ended {
        if self.over {
            // A proxy that refuses goes on with the reason, in plaintext.
            let reason = side == Side::Server && matches!(self.hop.stage, Stage::Refused(_));
            if let Delivery::Data { bytes, .. } = delivery
                && !reason
            {
                self.hop.unread = self.hop.unread.saturating_add(bytes.len() as u64);
            }
            return Ended::No;
        }
        self.held[side.index()].take(delivery);
        loop {
            let [client, server] = &self.held;
            let view = View {
                client: client.readable(),
                server: server.readable(),
                held: &self.held,
            };
            let progress = match self.hop.protocol {
                ProxyProtocol::Socks4 | ProxyProtocol::Socks4a => socks::four(&view, &mut self.hop, &mut self.known),
                ProxyProtocol::Socks5 => socks::five(&view, &mut self.hop, &mut self.known),
                ProxyProtocol::HttpConnect => self.connect.read(&view, &mut self.hop, &mut self.known),
                ProxyProtocol::ProxyV1 => header::line(&view, &mut self.hop),
                ProxyProtocol::ProxyV2 => header::binary(&view, &mut self.hop),
            };
            return match progress {
                Progress::Again(used, skip) => {
                    self.used(used);
                    self.held[Side::Server.index()].skip_more(skip);
                    continue;
                }
                Progress::Open(used) => {
                    self.used(used);
                    self.hop.stage = Stage::Open;
                    Ended::Open
                }
                Progress::Stop(stage) => self.stop(stage),
                Progress::Not => self.not(Stage::Malformed),
                Progress::More => self.more(),
            };
        }
    }

    /// More bytes are needed: of what is held, or is missing, none may ever come.
    fn more(&mut self) -> Ended {
        let [client, server] = &self.held;
        if client.broken.is_some() || server.broken.is_some() {
            return self.not(Stage::Missing);
        }
        let most = if client.bytes.is_empty() && !self.known.confirmed {
            HELD_OF_ANSWER
        } else {
            HELD
        };
        if client.bytes.len() > HELD || server.bytes.len() > most {
            return self.not(Stage::TooLong);
        }
        Ended::No
    }

    /// It is no negotiation, where nothing has shown that it is one; else it stops so.
    fn not(&mut self, stage: Stage) -> Ended {
        if self.known.confirmed {
            self.stop(stage)
        } else {
            Ended::Not
        }
    }

    fn stop(&mut self, stage: Stage) -> Ended {
        self.hop.stage = stage;
        self.over = true;
        let [client, server] = self.held.each_ref().map(|held| held.bytes.len());
        self.hop.unread = match stage {
            // The proxy's response then is its reason.
            Stage::Refused(_) | Stage::Unanswered => client.saturating_sub(self.known.asked) as u64,
            _ => (client + server) as u64,
        };
        self.stretch([client, server]);
        self.held = Default::default();
        Ended::No
    }

    /// These bytes of both sides are read.
    fn used(&mut self, used: [usize; 2]) {
        self.stretch(used);
        for ((held, bytes), used) in self.held.iter_mut().zip(&mut self.hop.bytes).zip(used) {
            *bytes += used as u64;
            work::steps(held.runs.len());
            held.drain(used);
        }
        if used[0] > 0 {
            self.known.asked = 0;
        }
    }

    /// The packets with these bytes are packets of the negotiation.
    fn stretch(&mut self, used: [usize; 2]) {
        for (held, used) in self.held.iter().zip(used) {
            if let Some((first, last)) = held.span(0, used) {
                let (begin, end) = self.hop.span.unwrap_or((first, last));
                let begin = if first.packet < begin.packet { first } else { begin };
                let end = if last.packet > end.packet { last } else { end };
                self.hop.span = Some((begin, end));
            }
        }
    }

    /// Nothing more will come: whether it was no negotiation.
    pub(crate) fn finish(&mut self) -> Ended {
        if self.over {
            return Ended::No;
        }
        if !self.known.confirmed {
            return Ended::Not;
        }
        let stage = self.hop.stage;
        self.stop(stage)
    }

    /// The negotiation, if it was one.
    pub(crate) fn hop(self) -> Hop {
        self.hop
    }

    /// The negotiation, and the bytes that it did not take, in the order captured.
    pub(crate) fn into_parts(self) -> (Hop, Rest) {
        (self.hop, Rest(self.held))
    }
}

impl Held {
    fn skip_more(&mut self, bytes: u64) {
        let held = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.readable().len());
        self.drain(held);
        self.skip = bytes - held as u64;
    }
}

/// Bytes that a negotiation did not take.
pub(crate) struct Rest([Held; 2]);

impl Rest {
    /// Gives it in the order captured.
    pub(crate) fn deliver(&self, mut give: impl FnMut(Side, Delivery<'_>)) {
        let mut places = [(0, 0); 2];
        loop {
            let next = |side: Side| self.0[side.index()].runs.get(places[side.index()].0);
            let side = match (next(Side::Client), next(Side::Server)) {
                (Some(client), Some(server)) if server.at.packet < client.at.packet => Side::Server,
                (Some(_), _) => Side::Client,
                (None, Some(_)) => Side::Server,
                (None, None) => return,
            };
            let (index, begin) = places[side.index()];
            let held = &self.0[side.index()];
            let run = held.runs[index];
            if run.end > begin {
                let bytes = &held.bytes[begin..run.end];
                give(side, Delivery::Data { bytes, at: run.at });
            }
            if run.gap > 0 {
                give(
                    side,
                    Delivery::Gap {
                        bytes: run.gap,
                        at: run.at,
                    },
                );
            }
            places[side.index()] = (index + 1, run.end.max(begin));
        }
    }
}
