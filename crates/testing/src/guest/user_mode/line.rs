//! This machine's end of the line to a program in a guest; the other end is `relay.pl`, which says why it is needed.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use bartizan_host::Error;

/// Bytes that may be on the way, of the 4096 that a serial line of the guest holds.
const WINDOW: usize = 1024;
/// Bytes that one [`TAKEN`] acknowledges.
const GRAIN: usize = 256;
/// Acknowledges that the program's pipe has taken a grain.
const TAKEN: u8 = 0x06;
/// The next byte is one of these two, with [`FLIP`] upon it.
const ESCAPE: u8 = 0x10;
const FLIP: u8 = 0x40;

/// Bytes that may be sent, and the state of the line.
#[derive(Debug, Default)]
struct Room {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Room {
    /// Waits until there is room, takes at most `wanted` of it, and gives how much; `None` when the line is gone.
    fn take(&self, wanted: usize) -> Option<usize> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.changed.wait_while(state, |(room, gone)| *room == 0 && !*gone);
        let mut state = wait.unwrap_or_else(PoisonError::into_inner);
        if state.1 {
            return None;
        }
        let taken = wanted.min(state.0);
        state.0 -= taken;
        Some(taken)
    }

    fn give(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A guest that says more than it can have taken does not widen the window.
        state.0 = (state.0 + GRAIN).min(WINDOW);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_one();
    }
}

/// The two ends that users hold: a stream for this machine's program, and what the guest's kernel
/// gets as its serial line.
pub(super) fn make() -> Result<(UnixStream, UnixStream), Error> {
    let pair = || UnixStream::pair().map_err(Error::io("making the line of a guest"));
    let ((stream, inner), (line, theirs)) = (pair()?, pair()?);
    let begin = |source| Error::io("starting the line of a guest")(source);
    let both = |stream: &UnixStream| stream.try_clone().map_err(begin);
    let (inner_too, line_too) = (both(&inner)?, both(&line)?);
    let room = Arc::new(Room::default());
    let their_room = Arc::clone(&room);
    let name = |name: &str| thread::Builder::new().name(name.to_owned());
    name("guest-in")
        .spawn(move || send(inner, line, &room))
        .map_err(begin)?;
    let receiving = move || {
        let _ = receive(line_too, &inner_too, &their_room);
        their_room.close();
        // A reader at this machine's end learns that there is no more.
        let _ = inner_too.shutdown(Shutdown::Both);
    };
    name("guest-out").spawn(receiving).map_err(begin)?;
    Ok((stream, theirs))
}

/// Until the user's end is closed or the guest is gone.
fn send(mut inner: UnixStream, mut line: UnixStream, room: &Room) {
    let mut buffer = [0; WINDOW];
    'line: while let Ok(read @ 1..) = inner.read(&mut buffer) {
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            let Some(taken) = room.take(rest.len()) else {
                break 'line;
            };
            let (now, later) = rest.split_at(taken);
            if line.write_all(now).is_err() {
                break 'line;
            }
            rest = later;
        }
    }
    let _ = line.shutdown(Shutdown::Write);
}

/// Until the guest is gone or the user's end takes no more.
fn receive(mut line: UnixStream, mut inner: &UnixStream, room: &Room) -> io::Result<()> {
    let (mut buffer, mut escaped) = ([0; 4096], false);
    loop {
        let read = line.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(read);
        for &byte in &buffer[..read] {
            match byte {
                TAKEN => room.give(),
                ESCAPE => escaped = true,
                _ if escaped => {
                    escaped = false;
                    bytes.push(byte ^ FLIP);
                }
                _ => bytes.push(byte),
            }
        }
        inner.write_all(&bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn patient(stream: &UnixStream) {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    }

    #[test]
    fn no_more_than_the_window_is_on_the_way_and_a_grain_lets_a_grain_through() {
        let (mut ours, mut theirs) = make().unwrap();
        patient(&theirs);
        ours.write_all(&[7; 3000]).unwrap();
        theirs.set_nonblocking(true).unwrap();
        assert_eq!(theirs.read(&mut [0; 1]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        theirs.set_nonblocking(false).unwrap();
        // More than a window is not believed.
        theirs.write_all(&[TAKEN; 100]).unwrap();
        let mut received = [0; WINDOW];
        theirs.read_exact(&mut received).unwrap();
        theirs.write_all(&[TAKEN]).unwrap();
        theirs.read_exact(&mut received[..GRAIN]).unwrap();
        assert!(received.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn what_was_escaped_comes_out_and_the_end_of_either_side_is_that_of_the_other() {
        let (mut ours, mut theirs) = make().unwrap();
        patient(&ours);
        theirs.write_all(&[b'a', TAKEN, ESCAPE, TAKEN ^ FLIP, ESCAPE]).unwrap();
        theirs.write_all(&[ESCAPE ^ FLIP, b'z']).unwrap();
        let mut received = [0; 4];
        ours.read_exact(&mut received).unwrap();
        assert_eq!(received, [b'a', TAKEN, ESCAPE, b'z']);
        drop(theirs);
        assert_eq!(ours.read(&mut received).unwrap(), 0);

        let (ours, mut theirs) = make().unwrap();
        patient(&theirs);
        drop(ours);
        assert_eq!(theirs.read(&mut received).unwrap(), 0);
    }
}
