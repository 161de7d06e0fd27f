//! The two ends of a connection: our client, and OpenSSL's server or our own.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Deployment, InterfaceKind};
use bartizan_host::Process;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_registry::Group;
use bartizan_tls::{Credentials, Endpoint, peers};
use nix::sys::socket::{Shutdown, shutdown};
use rustls::{ClientConnection, ServerConnection};

use super::link::Link;
use crate::stand_in::proxies::Tools;
use crate::workload::Error;

const CLIENT: &str = "client";
const SERVER: &str = "server";

/// Time limit for the other side.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time limit for a server to listen.
const READY: Duration = Duration::from_secs(20);
/// Ports of servers begin here: nothing else is in their namespace.
const FIRST_PORT: u16 = 4400;

/// Certificates and both ends' terms for one group and one kind of certificate.
pub(in crate::workload) struct Ends {
    group: &'static Group,
    folder: PathBuf,
    client: Endpoint,
    server: Endpoint,
}

impl Ends {
    /// Name in the server's certificate.
    pub(in crate::workload) const SERVER: &str = SERVER;

    pub(in crate::workload) fn make(folder: &Path, group: &str, certificate: &str, chain: &str) -> Result<Self, Error> {
        let unknown = |what: &str| Error::Configuration(format!("`{what}` is not known here"));
        let algorithm = Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == certificate)
            .ok_or_else(|| unknown(certificate))?;
        let group = bartizan_registry::group_named(group).ok_or_else(|| unknown(group))?;
        let folder = folder.join(format!("{certificate}-{chain}"));
        if !folder.exists() {
            papers(&folder, algorithm, chain)?;
        }
        let signature = match algorithm {
            Algorithm::MlDsa44 => "mldsa44",
            Algorithm::MlDsa65 => "mldsa65",
            Algorithm::MlDsa87 => "mldsa87",
            Algorithm::EcdsaP256 => "ecdsa_secp256r1_sha256",
            Algorithm::EcdsaP384 => "ecdsa_secp384r1_sha384",
            Algorithm::Ed25519 => "ed25519",
        };
        // One group and one signature and nothing else, whatever that is worth: the profile of measurements.
        let text = format!(
            "policy: {{ profile: classical, lab: true, groups: [{group}], signatures: [{signature}], chain-signatures: [{signature}] }}\n\
             nodes:\n\
             \x20 {CLIENT}: {{ function: AMF, address: 10.84.0.1 }}\n\
             \x20 {SERVER}: {{ function: NRF, address: 10.84.0.2 }}\n\
             interfaces: [{{ kind: SBI, between: [{CLIENT}, {SERVER}], with: sidecar }}]\n",
            group = group.name,
        );
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let deployment = Deployment::parse(&text, "tls-connections", &folder).map_err(|error| ours(&error))?;
        let endpoint = |node: &str| {
            let read = |name: String| {
                let path = folder.join(name);
                fs::read(&path).map_err(Error::file(path))
            };
            let credentials = Credentials::from_pem(
                &read(format!("{node}.crt.pem"))?,
                &read(format!("{node}.key.pem"))?,
                &read("ca.crt.pem".to_owned())?,
                None,
            )
            .map_err(|error| ours(&error))?;
            Endpoint::new(credentials, peers(&deployment, node)).map_err(|error| ours(&error))
        };
        Ok(Self {
            group,
            client: endpoint(CLIENT)?,
            server: endpoint(SERVER)?,
            folder,
        })
    }

    /// Endpoints of the client and the server.
    pub(in crate::workload) fn endpoints(&self) -> (&Endpoint, &Endpoint) {
        (&self.client, &self.server)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// An authority and its two certificates, below an intermediate where the chain has two.
fn papers(folder: &Path, algorithm: Algorithm, chain: &str) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let now = SystemTime::now();
    let mut options = InitOptions::new(algorithm);
    if chain == "2" {
        options = options.with_intermediate(algorithm);
    }
    let mut authority = Authority::init(&folder.join("ca"), options, now)?;
    for node in [CLIENT, SERVER] {
        let leaf = Leaf::new(node)?.dns(node)?;
        let issued = authority.issue(&leaf, now)?;
        issued.write_to(folder, Overwrite::Replace)?;
        // The chain after the leaf, as OpenSSL takes it.
        let chain = issued.chain_pem();
        if let Some((at, _)) = chain.match_indices("-----BEGIN").nth(1) {
            let between = folder.join(format!("{node}.between.pem"));
            fs::write(&between, &chain[at..]).map_err(Error::file(between))?;
        }
    }
    Ok(())
}

/// A server that listens, and our client for it.
pub(super) struct Server {
    ends: Ends,
    address: SocketAddr,
    /// Ends with this.
    _runs: Runs,
}

enum Runs {
    Process { _process: Process },
    Thread { _listening: Listening },
}

/// Our own server; its listener is closed when this is dropped, and its thread ends then.
struct Listening(Arc<TcpListener>);

impl Drop for Listening {
    fn drop(&mut self) {
        // Wakes the thread that waits in accept(2). A failure cannot be handled here.
        let _ = shutdown(self.0.as_raw_fd(), Shutdown::Both);
    }
}

impl Server {
    /// `openssl s_server` of the lab root, in the server's namespace.
    pub(super) fn openssl(ends: Ends, link: &Link, number: usize, tools: &Tools) -> Result<Self, Error> {
        let address = address(number)?;
        let root = tools
            .root
            .as_ref()
            .ok_or_else(|| Error::Configuration("no lab root".to_owned()))?;
        let between = ends.file("server.between.pem");
        let between = between.exists().then(|| ["-cert_chain".into(), between]);
        let mut process = root
            .command("openssl")?
            .arguments([
                "s_server",
                "-rev",
                "-tls1_3",
                "-alpn",
                "h2",
                "-Verify",
                "1",
                "-verify_return_error",
            ])
            .arguments([
                "-groups",
                ends.group.openssl.unwrap_or(ends.group.name),
                "-ciphersuites",
                "TLS_AES_256_GCM_SHA384",
            ])
            // Roots to verify with are not roots to send along.
            .arguments(["-no-CAfile", "-no-CApath", "-no-CAstore", "-verifyCAfile"])
            .argument(ends.file("ca.crt.pem"))
            .argument("-cert")
            .argument(ends.file("server.crt.pem"))
            .argument("-key")
            .argument(ends.file("server.key.pem"))
            .arguments(between.into_iter().flatten())
            .argument("-accept")
            .argument(address.to_string())
            .inside(link.server())
            .log(ends.file(&format!("openssl-{number}.log")))
            .start()?;
        process.wait_for_line("ACCEPT", READY)?;
        Ok(Self {
            ends,
            address,
            _runs: Runs::Process { _process: process },
        })
    }
}

impl Server {
    /// Our own, one connection at a time: as many as the client makes.
    pub(super) fn own(ends: Ends, link: &Link, number: usize) -> Result<Self, Error> {
        let address = address(number)?;
        let failed = |source| Error::Connection { address, source };
        // A socket stays in the namespace it was made in.
        let listener = link.server().enter(|| TcpListener::bind(address))?.map_err(failed)?;
        let listener = Arc::new(listener);
        let endpoint = ends.server.clone();
        let accepting = Arc::clone(&listener);
        std::thread::Builder::new()
            .name("tls-server".to_owned())
            .spawn(move || {
                while let Ok((socket, _)) = accepting.accept() {
                    // The client of a connection that fails says so.
                    let _ = answer(&endpoint, socket);
                }
            })
            .map_err(Error::Broken)?;
        Ok(Self {
            ends,
            address,
            _runs: Runs::Thread {
                _listening: Listening(listener),
            },
        })
    }

    /// Code point of the group that handshakes must have.
    pub(super) fn code_point(&self) -> u16 {
        self.ends.group.code.0
    }

    /// One connection of our client, on the namespace this thread is in: a full handshake, judged
    /// on both sides, and its end.
    pub(super) fn connect(&self) -> Result<(), Error> {
        let failed = |source| Error::Connection {
            address: self.address,
            source,
        };
        let ours = |error: &dyn std::fmt::Display| Error::Handshake(error.to_string());
        let mut socket = TcpStream::connect(self.address).map_err(failed)?;
        patient(&socket).map_err(failed)?;
        let connecting = self
            .ends
            .client
            .connect(SERVER, InterfaceKind::Sbi)
            .map_err(|error| ours(&error))?;
        let mut client = ClientConnection::new(connecting.config, connecting.name).map_err(|error| ours(&error))?;
        while client.is_handshaking() {
            client.complete_io(&mut socket).map_err(|error| ours(&error))?;
        }
        let established = connecting.watch.finish_client(&client);
        let negotiated = established.map_err(|refused| ours(&refused))?.negotiated;
        if negotiated.group.code != self.code_point() || negotiated.resumed {
            return Err(Error::Handshake(format!("group {}", negotiated.group.name)));
        }
        // A TLS 1.3 client has ended before the server has judged it. The server's first data
        // (tickets, or our own server's byte) shows that it did. It comes before any further data of
        // the client, whose flight is the handshake and no more.
        let read = client.read_tls(&mut socket).map_err(Error::Broken)?;
        client
            .process_new_packets()
            .map_err(|error| Error::Handshake(error.to_string()))?;
        if read == 0 {
            return Err(Error::Handshake("the server left".to_owned()));
        }
        client.send_close_notify();
        while client.wants_write() {
            client.write_tls(&mut socket).map_err(Error::Broken)?;
        }
        socket.shutdown(std::net::Shutdown::Write).map_err(Error::Broken)?;
        to_the_end(&mut socket)
    }
}

/// Our server's half of a connection.
fn answer(endpoint: &Endpoint, mut socket: TcpStream) -> Result<(), Error> {
    let ours = |error: &dyn std::fmt::Display| Error::Handshake(error.to_string());
    patient(&socket).map_err(Error::Broken)?;
    let accepting = endpoint.accept_any(InterfaceKind::Sbi);
    let mut server = ServerConnection::new(accepting.config).map_err(|error| ours(&error))?;
    while server.is_handshaking() {
        server.complete_io(&mut socket).map_err(|error| ours(&error))?;
    }
    accepting
        .watch
        .finish_server(&server)
        .map_err(|refused| ours(&refused))?;
    server.writer().write_all(b".").map_err(Error::Broken)?;
    while server.wants_write() {
        server.write_tls(&mut socket).map_err(Error::Broken)?;
    }
    to_the_end(&mut socket)
}

fn patient(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))
}

/// Reads whatever comes until the other side has closed.
fn to_the_end(socket: &mut TcpStream) -> Result<(), Error> {
    let mut rest = [0; 4096];
    loop {
        match socket.read(&mut rest) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(Error::Broken(error)),
        }
    }
}

fn address(number: usize) -> Result<SocketAddr, Error> {
    let port = u16::try_from(number)
        .ok()
        .and_then(|number| FIRST_PORT.checked_add(number));
    let port = port.ok_or_else(|| Error::Configuration("too many combinations".to_owned()))?;
    Ok((Link::SERVER, port).into())
}
