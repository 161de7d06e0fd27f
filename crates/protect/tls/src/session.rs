//! Sessions that may be resumed: bounded, each with the moment of its full handshake.
//!
//! rustls asks and fills these stores; what may be resumed, and whether the chain behind it still stands, is decided by the
//! handshake (RFC 9846, section 4.6.1: a resumed connection is as authenticated as the first one was).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bartizan_deployment::{InterfaceKind, NodeName};
use rustls::client::Tls13ClientSessionValue;
use rustls::pki_types::UnixTime;
use zeroize::Zeroizing;

use crate::client::ClientRole;
use crate::credentials::Shown;

/// A peer over one of the interfaces to it: a session of one is none of another.
pub(crate) type Link = (NodeName, InterfaceKind);

/// Sessions a server keeps. Each holds the chain of its client: 10 to 30 kB.
const SERVER_SESSIONS: usize = 512;
/// Sessions a client keeps for each peer.
const CLIENT_SESSIONS: usize = 8;

/// The sessions of one node. They survive a change of credentials.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    server: Mutex<ServerSessions>,
    client: Mutex<HashMap<Link, VecDeque<ClientSession>>>,
}

/// Seconds since 1970 between which a session lives.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    /// The full handshake it goes back to, through however many resumptions.
    pub(crate) begun: u64,
    /// The last second in which it may be resumed.
    pub(crate) until: u64,
    /// The certificate that this node showed in that handshake: a resumed one shows none and is no
    /// better than that.
    pub(crate) signed_by: Option<Arc<Shown>>,
}

#[derive(Debug, Default)]
struct ServerSessions {
    by_ticket: HashMap<Vec<u8>, ServerSession>,
    /// Oldest first.
    order: VecDeque<Vec<u8>>,
}

/// A session as the server keeps it.
pub(crate) struct ServerSession {
    /// As rustls wrote it: it holds the resumption secret.
    pub(crate) value: Zeroizing<Vec<u8>>,
    pub(crate) life: Life,
    /// Interface of the listener that issued the ticket.
    pub(crate) interface: InterfaceKind,
}

/// A session as the client keeps it.
#[derive(Debug)]
pub(crate) struct ClientSession {
    pub(crate) ticket: Tls13ClientSessionValue,
    /// rustls resumes only under the verifier of the full handshake, so it is kept with the ticket.
    pub(crate) role: Arc<ClientRole>,
    pub(crate) life: Life,
}

impl std::fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSession")
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

impl Life {
    pub(crate) fn holds(&self, now: UnixTime) -> bool {
        (self.begun..=self.until).contains(&now.as_secs())
    }
}

impl Sessions {
    fn server(&self) -> MutexGuard<'_, ServerSessions> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> MutexGuard<'_, HashMap<Link, VecDeque<ClientSession>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a session under its ticket; the oldest makes room.
    pub(crate) fn keep_server(&self, ticket: Vec<u8>, session: ServerSession) {
        let mut sessions = self.server();
        while sessions.order.len() >= SERVER_SESSIONS {
            if let Some(oldest) = sessions.order.pop_front() {
                sessions.by_ticket.remove(&oldest);
            }
        }
        if sessions.by_ticket.insert(ticket.clone(), session).is_none() {
            sessions.order.push_back(ticket);
        }
    }

    /// Takes the session of a ticket: a ticket is good once (RFC 9846, appendix C.4).
    pub(crate) fn take_server(&self, ticket: &[u8]) -> Option<ServerSession> {
        let mut sessions = self.server();
        let session = sessions.by_ticket.remove(ticket)?;
        sessions.order.retain(|known| known != ticket);
        Some(session)
    }

    /// Keeps a session with `peer`; the oldest makes room.
    pub(crate) fn keep_client(&self, peer: Link, session: ClientSession) {
        let mut sessions = self.client();
        let kept = sessions.entry(peer).or_default();
        while kept.len() >= CLIENT_SESSIONS {
            kept.pop_front();
        }
        kept.push_back(session);
    }

    /// Takes the newest session with `peer` that is alive and whose verifier no handshake is using; forgets dead ones.
    pub(crate) fn take_client(&self, peer: Link, now: UnixTime) -> Option<ClientSession> {
        let mut sessions = self.client();
        let kept = sessions.get_mut(&peer)?;
        kept.retain(|session| session.life.holds(now));
        let free = kept.iter().rposition(|session| !session.role.is_busy())?;
        kept.remove(free)
    }

    /// Forgets the sessions with `peer`.
    pub(crate) fn forget_client(&self, peer: Link) {
        self.client().remove(&peer);
    }
}
