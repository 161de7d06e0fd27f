//! Two connections and the wire between them.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bartizan_deployment::{Deployment, Policy};
use bartizan_tls::{Accepting, Connecting, Credentials, Endpoint, Established, Peer, Refused, Watch, peers};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConnection, Connection, ServerConnection};

pub(crate) type Judged = Result<Established, Box<Refused>>;

/// Results of a handshake at both ends.
pub(crate) struct Outcome {
    pub(crate) client: Judged,
    pub(crate) server: Judged,
    /// The client's next result: the server's refusal comes after the client has ended.
    pub(crate) client_later: Option<Box<Refused>>,
    /// The first bytes on the wire.
    pub(crate) client_hello: Vec<u8>,
    pub(crate) to_server: u64,
    pub(crate) to_client: u64,
}

/// A network of two nodes, `amf` and `nrf`, joined by an SBI under this policy.
pub(crate) fn deployment(policy: &str) -> Deployment {
    let text = format!(
        "policy: {policy}\n\
         nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  nrf: {{ function: NRF, address: 10.0.0.2 }}\n\
         interfaces:\n  - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n"
    );
    Deployment::parse(&text, "test.yaml", Path::new("/")).unwrap_or_else(|error| panic!("{error} {:?}", error.hint()))
}

/// `amf`, which connects to `nrf`.
pub(crate) fn amf(credentials: Credentials, deployment: &Deployment) -> Endpoint {
    Endpoint::new(credentials, peers(deployment, "amf")).unwrap()
}

/// `nrf`, which `amf` connects to.
pub(crate) fn nrf(credentials: Credentials, deployment: &Deployment) -> Endpoint {
    Endpoint::new(credentials, peers(deployment, "nrf")).unwrap()
}

/// The same peers under a policy made by hand.
pub(crate) fn under(mut peers: Vec<Peer>, change: impl Fn(&mut Policy)) -> Vec<Peer> {
    for peer in &mut peers {
        change(&mut peer.policy);
    }
    peers
}

/// A clock that stands where it is put.
#[derive(Debug)]
pub(crate) struct Clock(Mutex<Option<u64>>);

impl Clock {
    pub(crate) fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(seconds))))
    }

    pub(crate) fn set(&self, seconds: impl Into<Option<u64>>) {
        *self.0.lock().unwrap() = seconds.into();
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = (*self.0.lock().unwrap())?;
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)))
    }
}

pub(crate) fn now() -> u64 {
    UnixTime::now().as_secs()
}

/// One end as a data path drives it.
pub(crate) struct End<C> {
    pub(crate) connection: C,
    pub(crate) watch: Watch,
    error: Option<rustls::Error>,
}

impl<C: Into<Connection> + std::ops::DerefMut<Target = rustls::ConnectionCommon<D>>, D: rustls::SideData> End<C> {
    pub(crate) fn new(connection: C, watch: Watch) -> Self {
        Self {
            connection,
            watch,
            error: None,
        }
    }

    /// Bytes that this end has to send.
    pub(crate) fn speak(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut bytes).unwrap();
        }
        self.watch.sent(&bytes);
        bytes
    }

    pub(crate) fn hear(&mut self, mut bytes: &[u8]) {
        self.watch.received(bytes);
        while !bytes.is_empty() && self.error.is_none() {
            self.connection.read_tls(&mut bytes).unwrap();
            if let Err(error) = self.connection.process_new_packets() {
                self.error = Some(error);
            }
        }
    }

    /// The error as tokio-rustls wraps it.
    pub(crate) fn error(&mut self) -> Option<io::Error> {
        self.error
            .take()
            .map(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

pub(crate) fn client_end(connecting: Connecting) -> End<ClientConnection> {
    let connection = ClientConnection::new(connecting.config, connecting.name).unwrap();
    End::new(connection, connecting.watch)
}

pub(crate) fn server_end(accepting: Accepting) -> End<ServerConnection> {
    End::new(ServerConnection::new(accepting.config).unwrap(), accepting.watch)
}

/// Lets both ends talk until neither has anything to say.
pub(crate) fn shake(connecting: Connecting, accepting: Accepting) -> Outcome {
    let (mut client, mut server) = (client_end(connecting), server_end(accepting));
    converse(&mut client, &mut server)
}

pub(crate) fn converse(client: &mut End<ClientConnection>, server: &mut End<ServerConnection>) -> Outcome {
    let mut client_judged = None;
    let mut server_judged = None;
    let (mut client_later, mut client_hello) = (None, Vec::new());
    let (mut to_server, mut to_client) = (0, 0);
    loop {
        let bytes = client.speak();
        if client_judged.is_none() && !client.connection.is_handshaking() {
            client_judged = Some(client.watch.finish_client(&client.connection));
        }
        to_server += bytes.len() as u64;
        if client_hello.is_empty() {
            client_hello.clone_from(&bytes);
        }
        server.hear(&bytes);
        let answer = server.speak();
        to_client += answer.len() as u64;
        if server_judged.is_none() {
            if let Some(error) = server.error() {
                server_judged = Some(Err(server.watch.failed(&error)));
            } else if !server.connection.is_handshaking() {
                server_judged = Some(server.watch.finish_server(&server.connection));
            }
        }
        client.hear(&answer);
        if let Some(error) = client.error() {
            let refused = client.watch.failed(&error);
            match client_judged {
                None => client_judged = Some(Err(refused)),
                Some(_) => client_later = Some(refused),
            }
        }
        if bytes.is_empty() && answer.is_empty() {
            break;
        }
    }
    let unfinished = |watch: &Watch| Err(watch.failed(&io::ErrorKind::UnexpectedEof.into()));
    Outcome {
        client: client_judged.unwrap_or_else(|| unfinished(&client.watch)),
        server: server_judged.unwrap_or_else(|| unfinished(&server.watch)),
        client_later,
        client_hello,
        to_server,
        to_client,
    }
}
