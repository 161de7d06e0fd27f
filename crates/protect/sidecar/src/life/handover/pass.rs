//! File descriptors in messages of a Unix socket (unix(7), SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// Sends bytes, and with the first of them a file descriptor.
pub(super) fn send(to: impl AsFd, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    Ok(sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives one byte, and the file descriptor that is with it. No byte at the end.
pub(super) fn receive(from: impl AsFd) -> io::Result<(Option<u8>, Option<OwnedFd>)> {
    let mut byte = [0];
    // Room for more than one: what does not fit would stay open and unknown.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        from,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            // All but the last are closed.
            descriptors.for_each(|one| descriptor = Some(one));
        }
    }
    Ok(((received.bytes > 0).then_some(byte[0]), descriptor))
}

/// The user at the other end of a Unix socket.
pub(super) fn user(of: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(of)?.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_descriptor_comes_with_its_byte() {
        let (one, other) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        send(&one, b"L", Some(listener.as_fd())).unwrap();
        send(&one, b"EX", None).unwrap();
        drop(one);
        let (byte, descriptor) = receive(&other).unwrap();
        assert_eq!(byte, Some(b'L'));
        let passed = TcpListener::from(descriptor.unwrap());
        assert_eq!(passed.local_addr().unwrap(), listener.local_addr().unwrap());
        for expected in [Some(b'E'), Some(b'X'), None] {
            let (byte, descriptor) = receive(&other).unwrap();
            assert_eq!((byte, descriptor.is_none()), (expected, true));
        }
        assert_eq!(user(&other).unwrap(), nix::unistd::geteuid().as_raw());
    }
}
