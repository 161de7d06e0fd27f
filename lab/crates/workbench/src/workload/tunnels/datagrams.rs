//! UDP one way, at a pace or without.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Carried, PORT};
use crate::stand_in::tunnels::Tunnel;
use crate::workload::Error;

/// Pause of a sender that is ahead of its pace. All datagrams due by then are sent at once.
const TURN: Duration = Duration::from_micros(200);
/// Time limit for the last datagrams to arrive.
const DRAIN: Duration = Duration::from_millis(200);
/// Room of the receiving socket in bytes, of which the kernel takes twice, and gives no more than it may.
const ROOM: usize = 4 << 20;

/// Sends datagrams of so many bytes at this many megabits per second, or as many as go; and the
/// share in per cent that did not come.
pub(super) fn carried(
    tunnel: &mut Tunnel,
    bytes: usize,
    megabits: f64,
    times: (Duration, Duration),
) -> Result<(Carried, f64), Error> {
    let (near, from) = tunnel.end(0);
    let (far, to) = tunnel.end(1);
    let open = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((to, PORT))?;
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBuf, &ROOM)?;
        socket.set_read_timeout(Some(DRAIN))?;
        Ok(socket)
    };
    let receiver = far.enter(open)?.map_err(Error::Broken)?;
    let sender = near.enter(|| {
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect((to, PORT))?;
        io::Result::Ok(socket)
    })?;
    let sender = sender.map_err(Error::Broken)?;
    let (received, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let each = bytes as u64;
    thread::scope(|scope| {
        let sending = scope.spawn(|| pace(&sender, bytes, megabits, &stop));
        let receiving = scope.spawn(|| {
            let mut buffer = vec![0; bytes];
            loop {
                match receiver.recv(&mut buffer) {
                    Ok(length) if length == bytes => _ = received.fetch_add(each, Ordering::Relaxed),
                    Ok(length) => {
                        let what = format!("a datagram of {length} bytes in the place of {bytes}");
                        return Err(io::Error::other(what));
                    }
                    // Nothing more comes once nothing more is sent.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        });
        let carried = Carried::count(tunnel, times, || received.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ended = receiving
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let sent = sent.map_err(Error::Broken)?;
        ended.map_err(Error::Broken)?;
        let arrived = received.load(Ordering::Relaxed) / each;
        let lost = 100.0 * sent.saturating_sub(arrived) as f64 / sent.max(1) as f64;
        Ok((carried?, lost))
    })
}

/// Sends at this pace until stopped. Returns the number of datagrams sent.
fn pace(socket: &UdpSocket, bytes: usize, megabits: f64, stop: &AtomicBool) -> io::Result<u64> {
    let message = vec![0x5a; bytes];
    let (began, mut sent) = (Instant::now(), 0_u64);
    let by_second = megabits * 1e6 / 8.0 / bytes as f64;
    while !stop.load(Ordering::Relaxed) {
        if megabits > 0.0 && sent as f64 >= began.elapsed().as_secs_f64() * by_second {
            thread::sleep(TURN);
            continue;
        }
        match socket.send(&message) {
            Ok(_) => sent += 1,
            // The device's queue is full: it was not taken.
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
