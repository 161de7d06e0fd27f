//! Ciphers as the code of the kernel does them, asked for by AF_ALG: what ESP of the same kernel
//! costs without any network.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use bartizan_host::Error;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SetSockOpt as _, SockFlag, SockType, accept4, bind, sendmsg,
    setsockopt, socket, sockopt,
};

/// A cipher of the kernel with its key.
#[derive(Debug)]
pub struct KernelCipher {
    /// Requests go here; the first socket only lent its key.
    requests: OwnedFd,
    _key: OwnedFd,
    /// Bytes in front of a message that are authenticated and not encrypted; none without authentication.
    associated: Option<u32>,
    check: usize,
}

/// Cipher, key and authentication of a request to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The kernel's name: `gcm(aes)`.
    pub name: &'a str,
    /// In the shape that the kernel wants.
    pub key: &'a [u8],
    /// Bytes authenticated besides the message and bytes of the check value; none for a cipher that
    /// authenticates nothing.
    pub authenticated: Option<(u32, usize)>,
}

impl KernelCipher {
    /// Asks the kernel for it.
    ///
    /// # Errors
    /// When the kernel has no AF_ALG, not this cipher, or does not like the key.
    pub fn new(request: Request<'_>) -> Result<Self, Error> {
        let name = request.name;
        let refused = || Error::errno(format!("asking the kernel for {name}"));
        let family = if request.authenticated.is_some() {
            "aead"
        } else {
            "skcipher"
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let key = socket(AddressFamily::Alg, SockType::SeqPacket, flags, None).map_err(refused())?;
        bind(key.as_raw_fd(), &AlgAddr::new(family, name)).map_err(refused())?;
        if !request.key.is_empty() {
            sockopt::AlgSetKey::default()
                .set(&key, &request.key)
                .map_err(refused())?;
        }
        if let Some((_, check)) = request.authenticated {
            setsockopt(&key, sockopt::AlgSetAeadAuthSize, &check).map_err(refused())?;
        }
        let requests = accept4(key.as_raw_fd(), flags).map_err(refused())?;
        Ok(Self {
            // SAFETY: the kernel has just given this descriptor, and it has no other owner.
            requests: unsafe { OwnedFd::from_raw_fd(requests) },
            _key: key,
            associated: request.authenticated.map(|(associated, _)| associated),
            check: request.authenticated.map_or(0, |(_, check)| check),
        })
    }

    /// Encrypts a message, behind the bytes that are only authenticated, into `output`, which needs
    /// room for the check value too.
    ///
    /// # Errors
    /// The error of the system call: a message that is not a multiple of the cipher's block.
    pub fn encrypt(&self, vector: &[u8], message: &[u8], output: &mut [u8]) -> io::Result<usize> {
        let operation = libc::ALG_OP_ENCRYPT;
        let mut control = vec![ControlMessage::AlgSetOp(&operation)];
        if !vector.is_empty() {
            control.push(ControlMessage::AlgSetIv(vector));
        }
        if let Some(associated) = &self.associated {
            control.push(ControlMessage::AlgSetAeadAssoclen(associated));
        }
        let parts = [IoSlice::new(message)];
        let sent = sendmsg::<()>(self.requests.as_raw_fd(), &parts, &control, MsgFlags::empty(), None)?;
        if sent != message.len() {
            return Err(io::Error::other(format!(
                "{sent} of {} bytes were taken",
                message.len()
            )));
        }
        let wanted = message.len() + self.check;
        let room = output.get_mut(..wanted);
        let room = room.ok_or_else(|| io::Error::other(format!("{wanted} bytes do not fit")))?;
        let length = nix::unistd::read(&self.requests, room)?;
        if length != wanted {
            return Err(io::Error::other(format!("{length} of {wanted} bytes were returned")));
        }
        Ok(length)
    }
}
