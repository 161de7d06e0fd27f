//! A UDP socket, entered no more often than packets demand.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::task::{Context, Poll, ready};

use quinn_proto::EcnCodepoint;
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;
use tokio::runtime::Handle;

/// A socket, which the event loop watches.
#[derive(Debug)]
pub(super) struct Socket {
    socket: tokio::net::UdpSocket,
    state: UdpSocketState,
    /// Packets for which there is no room.
    #[cfg(test)]
    pub(super) refusals: std::sync::atomic::AtomicUsize,
}

impl Socket {
    pub(super) fn new(socket: UdpSocket, watched_by: &Handle) -> io::Result<Self> {
        // It does not block from here on.
        let state = UdpSocketState::new((&socket).into())?;
        let _context = watched_by.enter();
        Ok(Self {
            socket: tokio::net::UdpSocket::from_std(socket)?,
            state,
            #[cfg(test)]
            refusals: std::sync::atomic::AtomicUsize::new(0),
        })
    }

    pub(super) fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether the kernel took it. What it refuses for another reason than room is a packet lost.
    pub(super) fn send(&self, transmit: &quinn_proto::Transmit, contents: &[u8]) -> bool {
        #[cfg(test)]
        if self.is_refused() {
            return false;
        }
        let transmit = Transmit {
            destination: transmit.destination,
            ecn: transmit
                .ecn
                .and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        let sent = self.state.send((&self.socket).into(), &transmit);
        !sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    pub(super) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let receive = || self.state.recv((&self.socket).into(), buffers, meta);
            match self.socket.try_io(Interest::READABLE, receive) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received),
            }
        }
    }

    pub(super) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Packets that the kernel takes in one piece.
    pub(super) fn send_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Packets that the kernel may give in one piece.
    pub(super) fn receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

/// What the packet's congestion mark is to the protocol.
pub(super) fn mark(meta: &RecvMeta) -> Option<EcnCodepoint> {
    meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8))
}

#[cfg(test)]
impl Socket {
    fn is_refused(&self) -> bool {
        use std::sync::atomic::Ordering::SeqCst;
        let refused = self.refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        refused.is_ok()
    }
}
