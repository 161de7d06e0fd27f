//! A datagram there and back, one at a time.

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::Instant;

use super::{PATIENCE, PORT};
use crate::stand_in::tunnels::Tunnel;
use crate::workload::Error;
use crate::workload::e2::microseconds;

/// Round trips that warm up.
const WARM: usize = 50;

/// The time of each round trip of a datagram of so many bytes, in microseconds.
pub(super) fn trips(tunnel: &Tunnel, bytes: usize, messages: usize, deadline: Instant) -> Result<Vec<f64>, Error> {
    let (near, from) = tunnel.end(0);
    let (far, to) = tunnel.end(1);
    let bound = |address, port| {
        let socket = UdpSocket::bind((address, port))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        io::Result::Ok(socket)
    };
    let echo = far.enter(|| bound(to, PORT))?.map_err(Error::Broken)?;
    let socket = near.enter(|| {
        let socket = bound(from, 0)?;
        socket.connect((to, PORT))?;
        io::Result::Ok(socket)
    })?;
    let socket = socket.map_err(Error::Broken)?;
    thread::scope(|scope| {
        let echoing = scope.spawn(|| -> io::Result<()> {
            let mut buffer = vec![0; bytes];
            loop {
                match echo.recv_from(&mut buffer)? {
                    // An empty one ends it.
                    (0, _) => return Ok(()),
                    (length, from) => _ = echo.send_to(&buffer[..length], from)?,
                }
            }
        });
        let times = times(&socket, bytes, messages, deadline);
        let ended = socket.send(&[]);
        let echoed = echoing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let times = times?;
        ended.and(echoed).map_err(Error::Broken)?;
        Ok(times)
    })
}

fn times(socket: &UdpSocket, bytes: usize, messages: usize, deadline: Instant) -> Result<Vec<f64>, Error> {
    let (mut times, mut message, mut buffer) = (Vec::with_capacity(messages), vec![0; bytes], vec![0; bytes]);
    for turn in 0..WARM + messages {
        if Instant::now() >= deadline {
            return Err(Error::Protocol("the round trips did not end in time".to_owned()));
        }
        message[..8].copy_from_slice(&(turn as u64).to_be_bytes());
        let began = Instant::now();
        socket.send(&message).map_err(Error::Broken)?;
        let length = socket.recv(&mut buffer).map_err(Error::Broken)?;
        let took = began.elapsed();
        if buffer[..length] != message {
            return Err(Error::Protocol("another datagram came back than was sent".to_owned()));
        }
        if turn >= WARM {
            times.push(microseconds(took));
        }
    }
    Ok(times)
}
