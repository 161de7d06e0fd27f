//! One connection of TCP.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, listen, setsockopt, socket, sockopt,
};

use super::{Carried, PATIENCE, PORT};
use crate::stand_in::tunnels::Tunnel;
use crate::workload::Error;

/// Bytes that are handed to the kernel, and taken from it, at once.
const BLOCK: usize = 128 << 10;

/// Sends in segments of so many bytes, options included.
pub(super) fn carried(tunnel: &mut Tunnel, segment: usize, times: (Duration, Duration)) -> Result<Carried, Error> {
    let segment = u32::try_from(segment).unwrap_or(u32::MAX);
    let (near, from) = tunnel.end(0);
    let (far, at) = tunnel.end(1);
    let [from, at] = [(from, 0), (at, PORT)].map(|(address, port)| SockaddrIn::from(SocketAddrV4::new(address, port)));
    let prepared = || -> io::Result<OwnedFd> {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        setsockopt(&socket, sockopt::TcpMaxSeg, &segment)?;
        Ok(socket)
    };
    let listen = || -> io::Result<TcpListener> {
        let socket = prepared()?;
        bind(socket.as_raw_fd(), &at)?;
        listen(&socket, Backlog::new(1)?)?;
        Ok(TcpListener::from(socket))
    };
    let connect = || -> io::Result<TcpStream> {
        let socket = prepared()?;
        // Both addresses decide the route. Before one is bound there may be none.
        bind(socket.as_raw_fd(), &from)?;
        connect(socket.as_raw_fd(), &at)?;
        Ok(TcpStream::from(socket))
    };
    let listener = far.enter(listen)?.map_err(Error::Broken)?;
    let mut sender = near.enter(connect)?.map_err(Error::Broken)?;
    let (mut receiver, _) = listener.accept().map_err(Error::Broken)?;
    let (received, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            sender.set_write_timeout(Some(PATIENCE))?;
            let block = vec![0x5a; BLOCK];
            while !stop.load(Ordering::Relaxed) {
                sender.write_all(&block)?;
            }
            sender.shutdown(std::net::Shutdown::Write)
        });
        let receiving = scope.spawn(|| {
            receiver.set_read_timeout(Some(PATIENCE))?;
            let mut block = vec![0; BLOCK];
            loop {
                match receiver.read(&mut block)? {
                    0 => return io::Result::Ok(()),
                    length => received.fetch_add(length as u64, Ordering::Relaxed),
                };
            }
        });
        let carried = Carried::count(tunnel, times, || received.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        for thread in [sending, receiving] {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended.map_err(Error::Broken)?;
        }
        carried
    })
}
