//! ESP packets that a socket takes at once: of one SA, of one traffic class, and of one length but
//! for the last (UDP_SEGMENT).

use crate::outgoing::Sealed;

/// Bytes and datagrams that a socket takes at once, over IPv4 and IPv6.
const AT_ONCE: usize = 65_000;
const DATAGRAMS: usize = 64;
/// The longest IP packet and what stands around one that is sealed.
const ROOM: usize = u16::MAX as usize + 128;

/// Packets that wait to be sent together; none waits longer than the caller that fills it lets it.
#[derive(Debug)]
pub struct Batch<W> {
    room: Vec<u8>,
    length: usize,
    held: Option<Held<W>>,
}

/// Properties that all of them share.
#[derive(Debug)]
struct Held<W> {
    /// The SA's own number in this process, and the traffic class.
    of: (u64, u8),
    way: W,
    each: usize,
    packets: usize,
    /// The last one is shorter: none can follow.
    is_over: bool,
}

impl<W> Default for Batch<W> {
    fn default() -> Self {
        Self {
            room: vec![0; ROOM],
            length: 0,
            held: None,
        }
    }
}

impl<W> Batch<W> {
    /// Hands over what waits.
    pub fn flush(&mut self, send: &mut dyn FnMut(Sealed<'_, W>)) {
        if let Some(held) = self.held.take() {
            send(Sealed {
                packets: &self.room[..self.length],
                each: held.each,
                class: held.of.1,
                way: &held.way,
            });
        }
        self.length = 0;
    }

    /// Room behind what waits for a packet that is to have so many bytes; what it cannot join is handed over before.
    pub(crate) fn room(&mut self, of: (u64, u8), bytes: usize, send: &mut dyn FnMut(Sealed<'_, W>)) -> &mut [u8] {
        let joins = self.held.as_ref().is_none_or(|held| {
            !held.is_over
                && held.of == of
                && bytes <= held.each
                && held.packets < DATAGRAMS
                && self.length + bytes <= AT_ONCE
        });
        if !joins {
            self.flush(send);
        }
        &mut self.room[self.length..]
    }

    /// The packet that was written there is one of them.
    pub(crate) fn add(&mut self, of: (u64, u8), bytes: usize, way: &W)
    where
        W: Clone,
    {
        self.length += bytes;
        match &mut self.held {
            Some(held) => {
                held.packets += 1;
                held.is_over = bytes < held.each;
            }
            none => {
                *none = Some(Held {
                    of,
                    way: way.clone(),
                    each: bytes,
                    packets: 1,
                    is_over: false,
                });
            }
        }
    }
}
