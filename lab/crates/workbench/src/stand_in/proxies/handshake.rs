//! Handshakes and nothing else: both halves in memory, or the client's half against a proxy over TCP.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use bartizan_deployment::{CertificateFiles, Deployment, Files, InterfaceKind};
use bartizan_tls::{Credentials, Endpoint, peers};
use rustls::{ClientConnection, ConnectionCommon, ServerConnection};

use crate::Error;
use crate::cpu_time::thread_time;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, Papers};

/// `TLS_AES_256_GCM_SHA384`: what passes over every link.
const CIPHER_SUITE: u16 = 0x1302;

/// Time limit for the other side.
const PATIENCE: Duration = Duration::from_secs(5);

/// The two ends of a link as our `tls` crate makes them, with the checks of chain, names and
/// revocation that sidecars make.
#[derive(Debug)]
pub(crate) struct Ends {
    deployment: Deployment,
    files: [Files; 2],
    consumer: Endpoint,
    producer: Endpoint,
}

impl Ends {
    pub(crate) fn new(papers: &Papers, folder: &Path) -> Result<Self, Error> {
        let text = format!(
            "policy: {}\nnodes:\n\
             \x20 {CONSUMER}: {{ function: AMF, address: 127.78.0.1, names: {{ dns: [{CONSUMER}.5gc] }} }}\n\
             \x20 {PRODUCER}: {{ function: UDM, address: 127.78.0.2, names: {{ dns: [{PRODUCER}.5gc] }} }}\n\
             interfaces:\n  - {{ kind: SBI, between: [{CONSUMER}, {PRODUCER}], with: sidecar }}\n",
            papers.mode.policy()
        );
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let deployment = Deployment::parse(&text, "bench", folder).map_err(|error| ours(&error))?;
        let files = [CONSUMER, PRODUCER].map(|node| Files {
            certificates: vec![CertificateFiles {
                certificate: papers.certificate(node),
                key: papers.key(node),
            }],
            roots: papers.roots(),
            crl: Some(papers.revocations()),
            crl_url: None,
            known_lists: None,
        });
        Self::made(deployment, files)
    }

    fn made(deployment: Deployment, files: [Files; 2]) -> Result<Self, Error> {
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let endpoint = |node: &str, files: &Files| {
            let credentials = Credentials::load(files).map_err(|error| ours(&error))?;
            Endpoint::new(credentials, peers(&deployment, node)).map_err(|error| ours(&error))
        };
        Ok(Self {
            consumer: endpoint(CONSUMER, &files[0])?,
            producer: endpoint(PRODUCER, &files[1])?,
            deployment,
            files,
        })
    }

    /// The same two ends as they were before they met.
    pub(crate) fn never_met(&self) -> Result<Self, Error> {
        Self::made(self.deployment.clone(), self.files.clone())
    }

    /// One full handshake in memory; gives the processor time of the server's half: its
    /// configuration, its flight, its checks.
    pub(crate) fn in_memory(&self) -> Result<Duration, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Handshake(error.to_string());
        let connecting = self
            .consumer
            .connect(PRODUCER, InterfaceKind::Sbi)
            .map_err(|error| failed(&error))?;
        let mut client = ClientConnection::new(connecting.config, connecting.name).map_err(|error| failed(&error))?;
        let mut server_time = Duration::ZERO;
        let mut began = thread_time()?;
        let accepting = self.producer.accept_any(InterfaceKind::Sbi);
        let mut server = ServerConnection::new(accepting.config).map_err(|error| failed(&error))?;
        server_time += thread_time()?.saturating_sub(began);
        let mut wire = Vec::with_capacity(16 * 1024);
        while client.is_handshaking() || server.is_handshaking() {
            wire.clear();
            while client.wants_write() {
                client.write_tls(&mut wire).map_err(Error::Broken)?;
            }
            connecting.watch.sent(&wire);
            began = thread_time()?;
            accepting.watch.received(&wire);
            feed(&mut server, &wire)?;
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).map_err(Error::Broken)?;
            }
            accepting.watch.sent(&wire);
            if !server.is_handshaking() {
                accepting
                    .watch
                    .finish_server(&server)
                    .map_err(|refused| failed(&refused))?;
            }
            server_time += thread_time()?.saturating_sub(began);
            if wire.is_empty() && server.is_handshaking() {
                return Err(Error::Handshake("neither side has anything to say".to_owned()));
            }
            connecting.watch.received(&wire);
            feed(&mut client, &wire)?;
        }
        connecting
            .watch
            .finish_client(&client)
            .map_err(|refused| failed(&refused))?;
        Ok(server_time)
    }

    /// One full handshake with a producer's proxy, waited for until that has judged it and closed.
    pub(super) fn over_tcp(&self, address: SocketAddr) -> Result<(), Error> {
        let failed = |source| Error::Connection { address, source };
        let mut socket = TcpStream::connect(address).map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        socket.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let ours = |error: &dyn std::fmt::Display| Error::Handshake(error.to_string());
        let connecting = self
            .consumer
            .connect(PRODUCER, InterfaceKind::Sbi)
            .map_err(|error| ours(&error))?;
        let mut client = ClientConnection::new(connecting.config, connecting.name).map_err(|error| ours(&error))?;
        while client.is_handshaking() {
            client.complete_io(&mut socket).map_err(|error| ours(&error))?;
        }
        let established = connecting.watch.finish_client(&client);
        let negotiated = established.map_err(|refused| ours(&refused))?.negotiated;
        if negotiated.cipher.code != CIPHER_SUITE {
            return Err(Error::Handshake(format!("cipher suite {}", negotiated.cipher.name)));
        }
        // A TLS 1.3 client has ended before the server has judged: the end of the stream says that it has.
        client.send_close_notify();
        let mut last = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut last).map_err(Error::Broken)?;
        }
        socket.write_all(&last).map_err(Error::Broken)?;
        socket.shutdown(std::net::Shutdown::Write).map_err(Error::Broken)?;
        let mut rest = [0; 4096];
        loop {
            match socket.read(&mut rest) {
                Ok(0) => return Ok(()),
                // Settings of HTTP/2 and the like; an alert would come as such.
                Ok(read) => feed(&mut client, &rest[..read])?,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(Error::Broken(error)),
            }
        }
    }
}

fn feed<Data>(connection: &mut ConnectionCommon<Data>, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        // Reading from memory cannot fail.
        connection.read_tls(&mut bytes).map_err(Error::Broken)?;
        connection
            .process_new_packets()
            .map_err(|error| Error::Handshake(error.to_string()))?;
    }
    Ok(())
}
