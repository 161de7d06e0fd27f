//! One direction of a stream's body, with backpressure, trailers and resets.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;

/// How much of a request's body is kept until its response begins, so that it can be sent again where the connection turns out
/// not to have processed it. SBI requests are smaller (a UE registration's largest has 4 kB).
const KEPT_AT_MOST: usize = 64 * 1024;

/// A part of a body.
#[derive(Debug, Clone)]
enum Part {
    Data(Bytes, End),
    Trailers(HeaderMap),
    /// The end, where neither data nor trailers carried it.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Yes,
    No,
}

/// Where a body comes from: what was kept of a former attempt, then the stream.
#[derive(Debug)]
pub(super) struct Source {
    stream: RecvStream,
    ended: bool,
    again: VecDeque<Part>,
    /// Parts given so far, and their bytes; none once they are too many or no longer needed.
    kept: Option<(Vec<Part>, usize)>,
}

impl Source {
    /// A body of which nothing is kept.
    pub(super) fn once(stream: RecvStream) -> Self {
        Self {
            stream,
            ended: false,
            again: VecDeque::new(),
            kept: None,
        }
    }

    /// A body that can be sent again until [`Source::forget`].
    pub(super) fn repeatable(stream: RecvStream) -> Self {
        Self {
            kept: Some((Vec::new(), 0)),
            ..Self::once(stream)
        }
    }

    /// Keeps nothing any more.
    pub(super) fn forget(&mut self) {
        self.kept = None;
    }

    /// Starts from the beginning again; `false` where that is not possible any more.
    pub(super) fn rewind(&mut self) -> bool {
        let Some((parts, _)) = self.kept.replace((Vec::new(), 0)) else {
            self.kept = None;
            return false;
        };
        // What a former rewind had not given again yet comes after.
        for part in parts.into_iter().rev() {
            self.again.push_front(part);
        }
        true
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<Part, h2::Error>> {
        let part = match self.again.pop_front() {
            Some(part) => part,
            None => ready!(self.poll_stream(context))?,
        };
        if let Some((parts, bytes)) = &mut self.kept {
            if let Part::Data(data, _) = &part {
                *bytes += data.len();
            }
            if *bytes > KEPT_AT_MOST {
                self.kept = None;
            } else {
                parts.push(part.clone());
            }
        }
        Poll::Ready(Ok(part))
    }

    fn poll_stream(&mut self, context: &mut Context<'_>) -> Poll<Result<Part, h2::Error>> {
        if !self.ended {
            match ready!(self.stream.poll_data(context)) {
                Some(Ok(data)) => {
                    // What is held from here on is bounded by one part and the buffer of the sending side.
                    self.stream.flow_control().release_capacity(data.len())?;
                    let end = if self.stream.is_end_stream() { End::Yes } else { End::No };
                    return Poll::Ready(Ok(Part::Data(data, end)));
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => self.ended = true,
            }
        }
        let part = match ready!(self.stream.poll_trailers(context))? {
            Some(trailers) => Part::Trailers(trailers),
            None => Part::Nothing,
        };
        Poll::Ready(Ok(part))
    }
}

/// Which end of a pump broke.
#[derive(Debug)]
pub(super) enum Broke {
    Source(h2::Error),
    Sink(h2::Error),
    /// The receiver of the body reset the stream.
    Reset(Reason),
}

/// Moves a body from a source to a stream.
#[derive(Debug)]
pub(super) struct Pump {
    source: Source,
    sink: SendStream<Bytes>,
    held: Option<Part>,
    /// Something was handed on.
    begun: bool,
    done: bool,
}

impl Pump {
    pub(super) fn new(source: Source, sink: SendStream<Bytes>) -> Self {
        Self {
            source,
            sink,
            held: None,
            begun: false,
            done: false,
        }
    }

    pub(super) fn done(&self) -> bool {
        self.done
    }

    pub(super) fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// The source, for another attempt.
    pub(super) fn into_source(self) -> Source {
        self.source
    }

    /// Resets the stream the body goes to.
    pub(super) fn reset(&mut self, reason: Reason) {
        self.sink.send_reset(reason);
    }

    /// Moves what can be moved; ready when the whole body is handed on.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broke>> {
        while !self.done {
            let part = match self.held.take() {
                Some(part) => part,
                None => {
                    if let Poll::Ready(reset) = self.sink.poll_reset(context) {
                        return Poll::Ready(Err(reset.map_or_else(Broke::Sink, Broke::Reset)));
                    }
                    ready!(self.source.poll_part(context)).map_err(Broke::Source)?
                }
            };
            match part {
                Part::Data(data, end) => {
                    // A stream has no capacity before its HEADERS have left. The first part waits for none, so that it leaves
                    // with them, by one write instead of two.
                    if self.begun && !data.is_empty() && self.sink.capacity() == 0 {
                        self.sink.reserve_capacity(data.len());
                        if self.sink.capacity() == 0 {
                            let capacity = self.sink.poll_capacity(context);
                            match capacity {
                                Poll::Ready(Some(Ok(_))) => {
                                    self.held = Some(Part::Data(data, end));
                                    continue;
                                }
                                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(Broke::Sink(error))),
                                Poll::Ready(None) => return Poll::Ready(Err(self.closed(context))),
                                Poll::Pending => {
                                    self.held = Some(Part::Data(data, end));
                                    return Poll::Pending;
                                }
                            }
                        }
                    }
                    // What exceeds the capacity waits inside the stream; no more is taken until it has gone.
                    self.begun = true;
                    self.sink.send_data(data, end == End::Yes).map_err(Broke::Sink)?;
                    self.done = end == End::Yes;
                }
                Part::Trailers(trailers) => {
                    self.sink.send_trailers(trailers).map_err(Broke::Sink)?;
                    self.done = true;
                }
                Part::Nothing => {
                    self.sink.send_data(Bytes::new(), true).map_err(Broke::Sink)?;
                    self.done = true;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The stream takes no more: the reset that says why, where there is one.
    fn closed(&mut self, context: &mut Context<'_>) -> Broke {
        match self.sink.poll_reset(context) {
            Poll::Ready(reset) => reset.map_or_else(Broke::Sink, Broke::Reset),
            Poll::Pending => Broke::Reset(Reason::CANCEL),
        }
    }
}
