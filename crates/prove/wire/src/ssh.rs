//! SSH's transport (RFC 4253) as a bystander sees it: identification, both SSH_MSG_KEXINIT, and the
//! server's host key and signature are unencrypted; behind SSH_MSG_NEWKEYS everything is encrypted,
//! later key exchanges too.

mod message;
mod session;

use crate::share::NotAKey;
use crate::spread::Spread;
use crate::{Moment, Seen, Side};

pub use message::{HostKey, KexInit};
pub(crate) use session::Session;

/// An SSH connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ssh {
    /// Messages of the client.
    pub client: Sent,
    /// Messages of the server.
    pub server: Sent,
    /// The server's key and signature.
    pub host_key: Option<Seen<HostKey>>,
    /// SSH_MSG_DISCONNECT in plaintext, and who sent it.
    pub disconnected: Option<Seen<Side>>,
}

/// Messages of one end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// Its identification: `SSH-2.0-OpenSSH_10.0p2`.
    pub identification: Option<Seen<String>>,
    /// Algorithms it offers.
    pub kex_init: Option<Seen<KexInit>>,
    /// Bytes of its half of the key exchange (`e` or `f`, `Q_C` or `Q_S`, `C_INIT` or `S_REPLY`):
    /// the last one before the new keys, as a first one may be a wrong guess (RFC 4253, section 7).
    pub share: Option<Seen<u32>>,
    /// The reason for which that half is no key, where its length is that of a hybrid with ML-KEM (RFC 10042).
    pub share_fault: Option<NotAKey>,
    /// SSH_MSG_NEWKEYS: all that follows is encrypted.
    pub new_keys: Option<Moment>,
    /// The first message before it that only a service sends, such as data of a channel: it is not encrypted.
    pub readable: Option<Moment>,
    /// Another SSH_MSG_KEXINIT before it: which of the two counts is not shown.
    pub second_kex_init: Option<Moment>,
    /// Bytes behind it, as far as captured.
    pub protected_bytes: u64,
    /// The point at which reading ended before it: bytes are missing, or are not SSH.
    pub lost: Option<Moment>,
    pub(crate) spread: Spread,
}

impl Ssh {
    /// Returns true if the bytes behind the new keys are distributed as encrypted ones are; none if
    /// there are too few.
    #[must_use]
    pub fn looks_encrypted(&self) -> Option<bool> {
        Spread::both_look_encrypted([self.client.spread, self.server.spread])
    }

    /// The key exchange method both ends agree on: the client's first that the server has too
    /// (section 7.1). A name in more than one list means the same to both ends.
    pub fn key_exchange(&self) -> Option<&str> {
        self.agreed(|init| &init.key_exchange)
    }

    /// The kind of host key they agree on.
    pub fn host_key_algorithm(&self) -> Option<&str> {
        self.agreed(|init| &init.host_key)
    }

    /// The cipher for what this end sends.
    pub fn cipher(&self, from: Side) -> Option<&str> {
        self.agreed(|init| match from {
            Side::Client => &init.cipher_to_server,
            Side::Server => &init.cipher_to_client,
        })
    }

    /// Returns true if both ends switched to the new keys.
    #[must_use]
    pub fn established(&self) -> bool {
        self.client.new_keys.is_some() && self.server.new_keys.is_some()
    }

    fn agreed(&self, list: impl for<'a> Fn(&'a KexInit) -> &'a str) -> Option<&str> {
        let (ours, theirs) = (self.client.kex_init.as_ref()?, self.server.kex_init.as_ref()?);
        let (ours, theirs) = (list(&ours.value), list(&theirs.value));
        ours.split(',')
            .filter(|name| (1..=message::NAME).contains(&name.len()))
            .find(|name| theirs.split(',').any(|other| other == *name))
    }
}
