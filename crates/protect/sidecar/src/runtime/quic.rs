//! What quinn runs on: tokio's event loop, entered no more often than packets demand.
//!
//! quinn's own adapter sets a timer for each packet, which enters the loop twice where the timer is earlier than the one before; it
//! asks the socket again after everything was read, and is woken for room in the socket after each packet that has left. A message of a
//! network function would cost five times the system calls that it needs.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bartizan_host::watched_for_packets;
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};
use tokio::io::unix::AsyncFd;
use tokio::time::{Sleep, sleep, sleep_until};

/// When a socket without room is tried again. It has room once the interface has sent what it holds.
const ROOM_AFTER: Duration = Duration::from_millis(1);

/// The event loop of the thread.
#[derive(Debug)]
pub(crate) struct EventLoop;

impl Runtime for EventLoop {
    fn new_timer(&self, due: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer {
            sleep: Box::pin(sleep_until(due.into())),
            armed: due,
            due,
        })
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        // It does not block from here on.
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Arc::new(Socket {
            watched: watched_for_packets(socket)?,
            state,
            full: AtomicBool::new(false),
        }))
    }
}

/// A timer that is moved later only when it is due: of those that a connection sets, few are reached.
#[derive(Debug)]
struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// When `sleep` ends; at `due` or before.
    armed: Instant,
    due: Instant,
}

impl Timer {
    fn arm(&mut self) {
        self.armed = self.due;
        self.sleep.as_mut().reset(self.due.into());
    }
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, due: Instant) {
        self.due = due;
        if due < self.armed {
            self.arm();
        }
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(Future::poll(self.sleep.as_mut(), context));
            if self.due <= self.armed {
                return Poll::Ready(());
            }
            self.arm();
        }
    }
}

/// A socket, which the event loop watches for packets.
#[derive(Debug)]
struct Socket {
    watched: AsyncFd<UdpSocket>,
    state: UdpSocketState,
    /// It did not take the last packet.
    full: AtomicBool,
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room {
            socket: self,
            pause: None,
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.state.send(self.watched.get_ref().into(), transmit);
        if let Err(error) = &sent
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.full.store(true, Ordering::Relaxed);
        }
        sent
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.watched.poll_read_ready(context))?;
            match self.state.recv(self.watched.get_ref().into(), buffers, meta) {
                Ok(received) => {
                    // It had no more: what comes is reported.
                    if received < buffers.len() {
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(received));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.watched.get_ref().local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

/// Whether one connection may send: asked before each packet, and answered without a system call.
#[derive(Debug)]
struct Room {
    socket: Arc<Socket>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl UdpPoller for Room {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.socket.full.swap(false, Ordering::Relaxed) {
            self.pause = Some(Box::pin(sleep(ROOM_AFTER)));
        }
        if let Some(pause) = &mut self.pause {
            ready!(Future::poll(pause.as_mut(), context));
            self.pause = None;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn a_timer_that_is_moved_is_due_at_the_last_time_that_was_set() {
        let began = Instant::now();
        let after = |milliseconds| began + Duration::from_millis(milliseconds);
        for moves in [vec![20], vec![40, 20], vec![10, 20], vec![10, 40, 20], vec![0, 5, 20]] {
            let began = Instant::now();
            let mut timer = EventLoop.new_timer(after(10_000));
            for milliseconds in moves {
                timer.as_mut().reset(began + Duration::from_millis(milliseconds));
                let _ = poll_fn(|context| Poll::Ready(timer.as_mut().poll(context))).await;
            }
            poll_fn(|context| timer.as_mut().poll(context)).await;
            let waited = began.elapsed();
            assert!((20..1000).contains(&waited.as_millis()), "{waited:?}");
        }
    }

    #[tokio::test]
    async fn a_timer_serves_again_after_it_was_due() {
        let mut timer = EventLoop.new_timer(Instant::now());
        for _ in 0..3 {
            poll_fn(|context| timer.as_mut().poll(context)).await;
            let due = Instant::now() + Duration::from_millis(5);
            timer.as_mut().reset(due);
            poll_fn(|context| timer.as_mut().poll(context)).await;
            assert!(Instant::now() >= due);
        }
    }

    #[tokio::test]
    async fn every_packet_is_received_however_many_come_at_once() {
        let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = here.local_addr().unwrap();
        let socket = EventLoop.wrap_udp_socket(here).unwrap();
        let (mut buffers, mut meta) = ([[0; 100]; 4], [RecvMeta::default(); 4]);
        for burst in [1, 4, 9, 0, 3] {
            for _ in 0..burst {
                there.send_to(b"packet", to).unwrap();
            }
            let mut received = 0;
            while received < burst {
                let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
                received += poll_fn(|context| socket.poll_recv(context, &mut slices, &mut meta))
                    .await
                    .unwrap();
            }
            assert_eq!(received, burst);
        }
    }

    #[tokio::test]
    async fn a_socket_without_room_is_tried_again_by_each_connection() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let state = UdpSocketState::new((&socket).into()).unwrap();
        let socket = Arc::new(Socket {
            watched: watched_for_packets(socket).unwrap(),
            state,
            full: AtomicBool::new(true),
        });
        let (mut one, mut other) = (Arc::clone(&socket).create_io_poller(), socket.create_io_poller());
        let room = |poller: &mut Pin<Box<dyn UdpPoller>>, context: &mut Context<'_>| {
            poller.as_mut().poll_writable(context).map(Result::unwrap)
        };
        let first = poll_fn(|context| Poll::Ready(room(&mut one, context))).await;
        assert!(first.is_pending());
        assert!(
            poll_fn(|context| Poll::Ready(room(&mut other, context)))
                .await
                .is_ready()
        );
        poll_fn(|context| room(&mut one, context)).await;
    }
}
