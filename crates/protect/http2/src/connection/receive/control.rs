//! Frames that carry nothing of a message: priorities, resets, settings, pings, goodbyes, windows
//! (RFC 9113, sections 6.3 to 6.9).

use crate::connection::stream::Past;
use crate::connection::{Connection, DRAINING, Event, Fault, Role};
use crate::frame::{self, Code, Header};

const OVERFLOW: Fault = Fault {
    code: Code::FLOW_CONTROL_ERROR,
    why: "a window beyond 2^31-1",
};

impl<T> Connection<T> {
    pub(super) fn priority(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream == 0 {
            return Err(Fault::protocol("PRIORITY on stream 0"));
        }
        if payload.len() != 5 {
            return self.stream_error(header.stream, Code::FRAME_SIZE_ERROR, events);
        }
        if frame::number(payload) & frame::LARGEST == header.stream {
            return self.stream_error(header.stream, Code::PROTOCOL_ERROR, events);
        }
        // Deprecated (section 5.3.2): read, and not acted on.
        Ok(())
    }

    pub(super) fn rst_stream(
        &mut self,
        header: Header,
        payload: &[u8],
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("RST_STREAM of another length than 4"));
        }
        if header.stream == 0 || self.is_unopened(header.stream) {
            return Err(Fault::protocol("RST_STREAM on a stream that is not open"));
        }
        let by = self.peer();
        let Some(stream) = self.streams.remove(header.stream, Past::Ended) else {
            return self.idle_frame();
        };
        events.push(Event::Reset {
            code: Code(frame::number(payload)),
            by,
            kept: stream.kept,
        });
        Ok(())
    }

    pub(super) fn settings(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("SETTINGS on a stream"));
        }
        if header.has(frame::ACK) {
            if !payload.is_empty() {
                return Err(Fault::size("an acknowledgement of SETTINGS with content"));
            }
            return if self.settled {
                Ok(())
            } else {
                Err(Fault::protocol("the first frame is an acknowledgement"))
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Fault::size("SETTINGS of a length that is no multiple of 6"));
        }
        let before = self.theirs.initial_window;
        for parameter in payload.chunks_exact(6) {
            let [high, low, value @ ..] = parameter else { continue };
            self.setting(u16::from_be_bytes([*high, *low]), frame::number(value))?;
        }
        // Once for each frame, which may set it a thousand times.
        self.widen(self.theirs.initial_window - before)?;
        self.settled = true;
        frame::put_header(&mut self.out, 0, frame::SETTINGS, frame::ACK, 0);
        self.pump(events);
        Ok(())
    }

    fn setting(&mut self, parameter: u16, value: u32) -> Result<(), Fault> {
        match parameter {
            frame::HEADER_TABLE_SIZE => self.encoder.bound(value as usize),
            frame::ENABLE_PUSH if value > 1 => return Err(Fault::protocol("SETTINGS_ENABLE_PUSH beyond 1")),
            frame::MAX_CONCURRENT_STREAMS => self.theirs.streams = value.min(frame::LARGEST),
            frame::INITIAL_WINDOW_SIZE => {
                if value > frame::LARGEST {
                    return Err(OVERFLOW);
                }
                self.theirs.initial_window = i64::from(value);
            }
            // Within its range it changes nothing: our frames are never longer than what everybody takes.
            frame::MAX_FRAME_SIZE if !(frame::LONGEST..1 << 24).contains(&(value as usize)) => {
                return Err(Fault::protocol("SETTINGS_MAX_FRAME_SIZE out of its range"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The windows of streams grow, or shrink, by what the initial one has (section 6.9.2).
    fn widen(&mut self, more: i64) -> Result<(), Fault> {
        if more == 0 {
            return Ok(());
        }
        let mut ids = Vec::new();
        for (id, stream) in self.streams.all() {
            stream.send_window += more;
            if stream.send_window > i64::from(frame::LARGEST) {
                return Err(OVERFLOW);
            }
            if stream.held.is_some() {
                ids.push(id);
            }
        }
        ids.into_iter().for_each(|id| self.requeue(id));
        Ok(())
    }

    pub(super) fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("PING on a stream"));
        }
        if payload.len() != 8 {
            return Err(Fault::size("PING of another length than 8"));
        }
        if !header.has(frame::ACK) {
            frame::put_header(&mut self.out, 8, frame::PING, frame::ACK, 0);
            self.out.extend_from_slice(payload);
        } else if payload == DRAINING {
            self.conclude();
        }
        Ok(())
    }

    pub(super) fn goaway(&mut self, header: Header, payload: &[u8], events: &mut Vec<Event<T>>) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::protocol("GOAWAY on a stream"));
        }
        if payload.len() < 8 {
            return Err(Fault::size("GOAWAY shorter than 8"));
        }
        self.away = true;
        if self.role == Role::Client {
            for id in self.streams.above(frame::number(payload) & frame::LARGEST) {
                if let Some(stream) = self.streams.remove(id, Past::Ended) {
                    events.push(Event::Unprocessed { kept: stream.kept });
                }
            }
        }
        Ok(())
    }

    pub(super) fn window_update(
        &mut self,
        header: Header,
        payload: &[u8],
        events: &mut Vec<Event<T>>,
    ) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("WINDOW_UPDATE of another length than 4"));
        }
        let (id, more) = (header.stream, frame::number(payload) & frame::LARGEST);
        if id == 0 {
            if more == 0 {
                return Err(Fault::protocol("WINDOW_UPDATE of nothing"));
            }
            self.send_window += i64::from(more);
            if self.send_window > i64::from(frame::LARGEST) {
                return Err(OVERFLOW);
            }
            self.send_whole = self.send_whole.max(self.send_window);
            self.streams.unpark();
        } else {
            if self.is_unopened(id) {
                return Err(Fault::protocol("WINDOW_UPDATE on a stream that is not open"));
            }
            let Some(stream) = self.streams.find(id) else {
                return Ok(());
            };
            if more == 0 {
                return self.stream_error(id, Code::PROTOCOL_ERROR, events);
            }
            stream.send_window += i64::from(more);
            if stream.send_window > i64::from(frame::LARGEST) {
                return self.stream_error(id, Code::FLOW_CONTROL_ERROR, events);
            }
            // A stream that waits for its owner's share has given some of it back.
            self.streams.unpark();
            self.requeue(id);
        }
        self.pump(events);
        Ok(())
    }
}
