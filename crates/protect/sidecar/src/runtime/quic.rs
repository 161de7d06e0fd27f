//! What quinn runs on: the event loop for what carries associations, entered no more often than packets demand.
//!
//! quinn's adapter to tokio sets a timer for each packet, which enters the loop twice where the timer is earlier than the one before; it
//! asks the socket again after everything was read, and is woken for room in the socket after each packet that has left.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};

use crate::runtime::reactor::{self, Alarm, Reactor, Registration};

/// When a socket without room is tried again. It has room once the interface has sent what it holds.
const ROOM_AFTER: Duration = Duration::from_millis(1);

/// The event loop.
#[derive(Debug)]
pub(crate) struct EventLoop(Reactor);

impl EventLoop {
    pub(crate) fn of(reactor: &Reactor) -> Self {
        Self(reactor.clone())
    }
}

impl Runtime for EventLoop {
    fn new_timer(&self, due: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer {
            alarm: Alarm::of(&self.0),
            due,
        })
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.0.spawn_boxed(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(Socket::new(socket, &self.0)?))
    }

    fn now(&self) -> Instant {
        reactor::now()
    }
}

#[derive(Debug)]
struct Timer {
    alarm: Alarm,
    due: Instant,
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, due: Instant) {
        self.due = due;
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let due = self.due;
        self.alarm.poll(due, context)
    }
}

/// A socket, which the event loop watches for packets: room is reported after each packet that has left, also where there was room before
/// (`sock_def_write_space`, Linux 6.12).
#[derive(Debug)]
struct Socket {
    socket: UdpSocket,
    registration: Registration,
    state: UdpSocketState,
    reactor: Reactor,
    /// It did not take the last packet.
    full: AtomicBool,
}

impl Socket {
    fn new(socket: UdpSocket, reactor: &Reactor) -> io::Result<Self> {
        // It does not block from here on.
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self {
            registration: reactor.register(&socket, false)?,
            socket,
            state,
            reactor: reactor.clone(),
            full: AtomicBool::new(false),
        })
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room {
            alarm: Alarm::of(&self.reactor),
            socket: self,
            pause: None,
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.state.send((&self.socket).into(), transmit);
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
            ready!(self.registration.poll_incoming(context));
            match self.state.recv((&self.socket).into(), buffers, meta) {
                Ok(received) => {
                    // It had no more: what comes is reported.
                    if received < buffers.len() {
                        self.registration.nothing_incoming();
                    }
                    return Poll::Ready(Ok(received));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.registration.nothing_incoming(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
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
    alarm: Alarm,
    pause: Option<Instant>,
}

impl UdpPoller for Room {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.socket.full.swap(false, Ordering::Relaxed) {
            self.pause = Some(reactor::now() + ROOM_AFTER);
        }
        if let Some(over) = self.pause {
            ready!(self.alarm.poll(over, context));
            self.pause = None;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::sync::oneshot;

    use super::*;
    use crate::runtime::reactor::{Thread, within};

    /// Runs this on a loop.
    fn run<F: Future<Output = ()> + Send + 'static>(work: impl FnOnce(Reactor) -> F) {
        let thread = Thread::start("test").unwrap();
        let (done, finished) = oneshot::channel();
        let work = work(thread.reactor().clone());
        thread.reactor().spawn(async move {
            work.await;
            done.send(()).unwrap();
        });
        finished.blocking_recv().unwrap();
    }

    #[test]
    fn a_timer_serves_again_after_it_was_due() {
        run(|reactor| async move {
            let mut timer = EventLoop::of(&reactor).new_timer(Instant::now());
            for _ in 0..3 {
                poll_fn(|context| timer.as_mut().poll(context)).await;
                let due = Instant::now() + Duration::from_millis(5);
                timer.as_mut().reset(due);
                poll_fn(|context| timer.as_mut().poll(context)).await;
                assert!(Instant::now() >= due);
            }
        });
    }

    #[test]
    fn every_packet_is_received_however_many_come_at_once() {
        run(|reactor| async move {
            let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
            let to = here.local_addr().unwrap();
            let socket = EventLoop::of(&reactor).wrap_udp_socket(here).unwrap();
            let (mut buffers, mut meta) = ([[0; 100]; 4], [RecvMeta::default(); 4]);
            for burst in [1, 4, 9, 0, 3] {
                for _ in 0..burst {
                    there.send_to(b"packet", to).unwrap();
                }
                let mut received = 0;
                while received < burst {
                    received += poll_fn(|context| {
                        let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
                        socket.poll_recv(context, &mut slices, &mut meta)
                    })
                    .await
                    .unwrap();
                }
                assert_eq!(received, burst);
            }
        });
    }

    #[test]
    fn a_socket_without_room_is_tried_again() {
        run(|reactor| async move {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let socket = Arc::new(Socket::new(socket, &reactor).unwrap());
            socket.full.store(true, Ordering::Relaxed);
            let (mut one, mut other) = (Arc::clone(&socket).create_io_poller(), socket.create_io_poller());
            let first = poll_fn(|context| Poll::Ready(one.as_mut().poll_writable(context).is_pending()));
            assert!(first.await);
            let second = poll_fn(|context| Poll::Ready(other.as_mut().poll_writable(context).is_ready()));
            assert!(second.await);
            let room = poll_fn(|context| one.as_mut().poll_writable(context));
            assert!(within(&reactor, Duration::from_secs(10), room).await.is_some());
            assert!(
                within(&reactor, Duration::from_millis(1), pending::<()>())
                    .await
                    .is_none()
            );
        });
    }
}
