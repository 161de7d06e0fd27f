//! The task of an endpoint: packets in, packets out, and what time demands.

use std::collections::BTreeMap;
use std::io::{self, IoSliceMut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{DatagramEvent, Transmit};
use quinn_udp::{BATCH_SIZE, RecvMeta};

use super::connection::{Link, State};
use super::endpoint::{Open, Shared};
use super::socket::mark;
use crate::runtime::alarm::Alarm;

/// When a socket without room is tried again. It has room once the interface has sent what it holds.
const ROOM_AFTER: Duration = Duration::from_millis(1);
/// Packets of one connection before others have their turn.
const PACKETS: usize = 20;
/// Packets that the kernel is given in one piece at most.
const SEGMENTS: usize = 10;

/// Turns in which packets have come before times are looked at: a thread that was held up hears its peers before it takes them for silent.
const TURNS: u8 = 16;

/// What drives an endpoint.
pub(super) struct Driver {
    shared: Arc<Shared>,
    open: Weak<Open>,
    /// Connections that have a turn at a time.
    due: BTreeMap<(Instant, usize), Arc<Link>>,
    first_due: Alarm,
    /// Turns since times were looked at.
    turns: u8,
    /// What the socket had no room for, which is the content of `packet`, and when it is tried again.
    unsent: Option<(Transmit, Instant)>,
    room: Alarm,
    packet: Vec<u8>,
    /// Those that have a turn.
    turn: Vec<Arc<Link>>,
    buffers: Box<[u8]>,
}

impl Driver {
    pub(super) fn new(shared: &Arc<Shared>, open: Weak<Open>) -> Self {
        let longest = shared
            .lock()
            .protocol
            .config()
            .get_max_udp_payload_size()
            .min(64 * 1024) as usize;
        let buffers = vec![0; longest * shared.socket.receive_segments() * BATCH_SIZE];
        Self {
            shared: Arc::clone(shared),
            open,
            due: BTreeMap::new(),
            first_due: Alarm::default(),
            turns: 0,
            unsent: None,
            room: Alarm::default(),
            packet: Vec::new(),
            turn: Vec::new(),
            buffers: buffers.into_boxed_slice(),
        }
    }

    /// Sends first, and receives then: those to whom something came have had their turn when what they say is sent.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.shared.is_driven_by(context.waker());
        let mut again = self.send_all(context);
        let received = match self.receive(context) {
            Ok(received) => received,
            Err(error) => {
                tracing::error!(%error, hint = "restart the sidecar", "connections over QUIC are lost");
                return Poll::Ready(());
            }
        };
        again |= received;
        self.turns += 1;
        if !received || self.turns >= TURNS {
            self.turns = 0;
            again |= self.take_due();
        }
        if self.open.strong_count() == 0 && self.shared.lock().connections.is_empty() {
            return Poll::Ready(());
        }
        if let Some(((first, _), _)) = self.due.first_key_value() {
            again |= self.first_due.poll(*first, context).is_ready();
        }
        if again {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Gives a turn to those whose time has come; whether there are any.
    fn take_due(&mut self) -> bool {
        let Some(((first, _), _)) = self.due.first_key_value() else {
            return false;
        };
        let now = Instant::now();
        if *first > now {
            return false;
        }
        let later = self.due.split_off(&(now, usize::MAX));
        for link in std::mem::replace(&mut self.due, later).into_values() {
            link.lock().armed = None;
            if !link.queued.swap(true, Ordering::SeqCst) {
                self.turn.push(link);
            }
        }
        true
    }

    /// Sends what connections have, as far as there is room; whether some are to have another turn at once.
    fn send_all(&mut self, context: &mut Context<'_>) -> bool {
        if let Some((transmit, over)) = self.unsent.take() {
            if self.room.poll(over, context).is_pending() {
                self.unsent = Some((transmit, over));
                return false;
            }
            if !self.send(transmit) {
                return true;
            }
        }
        self.shared.take_queue(&mut self.turn);
        let mut rest = std::mem::take(&mut self.turn);
        let mut again = false;
        for link in rest.drain(..) {
            if self.unsent.is_some() {
                self.turn.push(link);
            } else if self.drive(&link) && !link.queued.swap(true, Ordering::SeqCst) {
                self.turn.push(link);
                again = true;
            }
        }
        if self.turn.is_empty() {
            // The room that many took is of use again.
            self.turn = rest;
        }
        again | self.unsent.is_some()
    }

    /// Whether there was room for what `packet` holds.
    fn send(&mut self, transmit: Transmit) -> bool {
        if self.shared.socket.send(&transmit, &self.packet[..transmit.size]) {
            return true;
        }
        self.unsent = Some((transmit, Instant::now() + ROOM_AFTER));
        false
    }

    /// Does what a connection has to do; whether it has more.
    fn drive(&mut self, link: &Arc<Link>) -> bool {
        // Whoever has something from here on has another turn.
        link.queued.store(false, Ordering::SeqCst);
        let shared = Arc::clone(&self.shared);
        let now = Instant::now();
        let mut state = link.lock();
        if state.protocol.poll_timeout().is_some_and(|due| due <= now) {
            state.protocol.handle_timeout(now);
        }
        state = exchange(&shared, link, state).0;
        let segments = shared.socket.send_segments().min(SEGMENTS);
        let (mut sent, mut more) = (0, false);
        loop {
            self.packet.clear();
            let Some(transmit) = state.protocol.poll_transmit(now, segments, &mut self.packet) else {
                break;
            };
            sent += transmit.segment_size.map_or(1, |size| transmit.size.div_ceil(size));
            if !self.send(transmit) || sent >= PACKETS {
                more = true;
                break;
            }
        }
        let (mut state, exchanged) = exchange(&shared, link, state);
        let drained = state.protocol.is_drained();
        let due = if drained { None } else { state.protocol.poll_timeout() };
        self.arm(link, &mut state, due, drained);
        let woken = state.notice();
        drop(state);
        if let Some(waker) = woken {
            waker.wake();
        }
        !drained && (more || exchanged)
    }

    /// Moves a connection's time forward. Of the times that it sets few are reached: one that moves back is looked at when it was due.
    fn arm(&mut self, link: &Arc<Link>, state: &mut State, due: Option<Instant>, drained: bool) {
        let sooner = due.is_some_and(|due| state.armed.is_none_or(|armed| due < armed));
        if !sooner && !drained {
            return;
        }
        if let Some(armed) = state.armed.take() {
            self.due.remove(&(armed, link.handle.0));
        }
        if let Some(due) = due {
            self.due.insert((due, link.handle.0), Arc::clone(link));
            state.armed = Some(due);
        }
    }

    /// Takes what has come, once; whether anything has.
    fn receive(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let room = self.buffers.len() / BATCH_SIZE;
        let mut slices = self.buffers.chunks_mut(room).map(IoSliceMut::new);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let received = match self.shared.socket.poll_receive(context, &mut slices, &mut meta) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(received)) => received,
            // Anybody can send such a message of ICMP.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(true),
            Poll::Ready(Err(error)) => return Err(error),
        };
        let now = Instant::now();
        for (meta, slice) in meta.iter().zip(&slices).take(received) {
            for packet in slice[..meta.len].chunks(meta.stride.max(1)) {
                self.turn.extend(accept_packet(&self.shared, meta, packet, now));
            }
        }
        Ok(true)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.abandon();
    }
}

/// Tells the endpoint what a connection wants of it, and the connection what it is given; whether anything was.
///
/// An endpoint is locked before its connections, and never while one of them is.
fn exchange<'a>(shared: &Shared, link: &'a Link, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
    let mut given = false;
    while let Some(event) = state.protocol.poll_endpoint_events() {
        drop(state);
        let drained = event.is_drained();
        let mut endpoint = shared.lock();
        let answer = endpoint.protocol.handle_event(link.handle, event);
        if drained {
            endpoint.remove(link.handle);
        }
        drop(endpoint);
        state = link.lock();
        if let Some(answer) = answer {
            state.protocol.handle_event(answer);
            given = true;
        }
    }
    (state, given)
}

/// Brings a packet to its connection, which is given where it is to have a turn.
fn accept_packet(shared: &Shared, meta: &RecvMeta, packet: &[u8], now: Instant) -> Option<Arc<Link>> {
    let mut answer = Vec::new();
    let mut endpoint = shared.lock();
    let event = endpoint.protocol.handle(
        now,
        meta.addr,
        meta.dst_ip,
        mark(meta),
        BytesMut::from(packet),
        &mut answer,
    );
    match event {
        Some(DatagramEvent::ConnectionEvent(handle, event)) => {
            let link = endpoint.connections.get(&handle).cloned();
            drop(endpoint);
            let link = link?;
            let mut state = link.lock();
            state.protocol.handle_event(event);
            let woken = state.notice();
            drop(state);
            if let Some(waker) = woken {
                waker.wake();
            }
            let queued = link.queued.swap(true, Ordering::SeqCst);
            return (!queued).then_some(link);
        }
        Some(DatagramEvent::NewConnection(incoming)) => {
            endpoint.incoming.push_back(incoming);
            let accepts = endpoint.accepts.take();
            drop(endpoint);
            if let Some(waker) = accepts {
                waker.wake();
            }
        }
        Some(DatagramEvent::Response(transmit)) => {
            drop(endpoint);
            shared.respond(&transmit, &answer);
        }
        None => {}
    }
    None
}
