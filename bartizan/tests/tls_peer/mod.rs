//! One end of a TLS connection made by crates/protect/tls over a real socket, and OpenSSL of the lab root at the other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Deployment, InterfaceKind};
use bartizan_host::{Finished, LabRoot, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Lifetime, Reason};
use bartizan_tls::{Credentials, Endpoint, Established, Refused, Watch, peers};
use rustls::{ClientConnection, ServerConnection};

/// Long enough for a machine that builds something else during the tests.
const PATIENCE: Duration = Duration::from_secs(60);
/// Message of our end once the handshake is over.
const GREETING: &[u8] = b"bartizan\n";

pub(crate) type Judged = Result<Established, Box<Refused>>;

/// A directory with an authority, its nodes, and OpenSSL.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    root: LabRoot,
    authority: Authority,
}

/// The files of one node.
#[derive(Clone)]
pub(crate) struct Node {
    /// Leaf, then intermediates.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) roots: PathBuf,
    /// Intermediates alone, as OpenSSL wants them.
    between: Option<PathBuf>,
    serial: String,
}

/// Result of our client.
pub(crate) struct Met {
    pub(crate) judged: Judged,
    /// Result of the first read: the server judges after the client has ended.
    pub(crate) later: Option<Box<Refused>>,
    /// The greeting as the peer sent it back, reversed.
    pub(crate) echo: String,
}

/// Chain between the root and the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chain {
    Root,
    Intermediate,
}

impl Place {
    pub(crate) fn new(algorithm: Algorithm, chain: Chain) -> Self {
        let root = LabRoot::trixie().expect("a cache directory").present();
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut options = InitOptions::new(algorithm);
        if chain == Chain::Intermediate {
            options = options.with_intermediate(algorithm);
        }
        let authority =
            Authority::init(&directory.path().join("ca"), options, SystemTime::now()).expect("an authority");
        Self {
            root: root.expect("no lab root: `make lab-root` builds it, and `make test` does so first"),
            directory,
            authority,
        }
    }

    /// The certificate of a node, good for 90 days.
    pub(crate) fn node(&mut self, name: &str) -> Node {
        self.node_for(name, Lifetime::Days(90), SystemTime::now())
    }

    /// A certificate that ended yesterday.
    pub(crate) fn expired(&mut self, name: &str) -> Node {
        let last_week = SystemTime::now() - Duration::from_secs(8 * 86_400);
        self.node_for(name, Lifetime::Days(7), last_week)
    }

    fn node_for(&mut self, name: &str, lifetime: Lifetime, at: SystemTime) -> Node {
        let leaf = Leaf::new(name)
            .and_then(|leaf| leaf.dns(name))
            .expect("a name")
            .lifetime(lifetime);
        let issued = self.authority.issue(&leaf, at).expect("a certificate");
        let serial = issued.serial.to_string();
        let folder = self.directory.path().join(&serial);
        std::fs::create_dir(&folder).expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            bartizan_pki::write_secret_file(&path, text.as_bytes()).expect("a file");
            path
        };
        let chain = issued.chain_pem();
        let between = chain.match_indices("-----BEGIN").nth(1).map(|(at, _)| &chain[at..]);
        Node {
            certificate: write("crt.pem", &chain),
            key: write("key.pem", &issued.key_pem().expect("a key")),
            roots: write("ca.pem", &issued.root_pem()),
            between: between.map(|text| write("between.pem", text)),
            serial,
        }
    }

    /// Revokes a node's certificate and gives the new list.
    pub(crate) fn revoke(&mut self, node: &Node) -> String {
        let now = SystemTime::now();
        self.authority
            .revoke(&node.serial, Reason::KeyCompromise, now)
            .expect("a revocation");
        self.authority.crl().expect("a list")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn openssl(&self, arguments: &str) -> Program {
        let openssl = self.root.command("openssl").expect("openssl in the lab root");
        openssl
            .arguments(arguments.split_whitespace())
            .directory(self.directory.path())
    }

    /// Runs OpenSSL as a client of our server.
    pub(crate) fn openssl_client(&self, ours: &Endpoint, arguments: &str, node: Option<&Node>) -> (Judged, Finished) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        // Input at its end would make it leave before our server has judged it.
        let client = self
            .openssl(&format!(
                "s_client -connect 127.0.0.1:{port} -ign_eof -alpn h2 {arguments}"
            ))
            .arguments(node.map(Node::openssl_options).unwrap_or_default());
        let client = client.start().expect("openssl starts");
        let judged = serve(ours, &listener);
        (judged, client.finish(PATIENCE).expect("openssl ends"))
    }

    /// Runs OpenSSL as a server, which sends back reversed lines, and connects our client to it.
    pub(crate) fn openssl_server(&self, ours: &Endpoint, arguments: &str, node: &Node) -> (Met, String) {
        let server = self
            .openssl(&format!(
                "s_server -rev -naccept 1 -accept 127.0.0.1:0 -Verify 3 -alpn h2 {arguments}"
            ))
            .arguments(node.openssl_options());
        let mut server = server.start().expect("openssl starts");
        let met = connect(ours, address(&mut server));
        let said = server.finish(PATIENCE).expect("openssl ends");
        (met, format!("{}{}", said.text(), String::from_utf8_lossy(&said.stderr)))
    }
}

fn address(server: &mut Process) -> SocketAddr {
    server
        .wait_for_line("ACCEPT 127.0.0.1:", PATIENCE)
        .expect("a listening server");
    let said = server.stdout();
    let line = said.lines().find_map(|line| line.strip_prefix("ACCEPT "));
    line.and_then(|line| line.parse().ok()).expect("an address")
}

impl Node {
    fn openssl_options(&self) -> Vec<PathBuf> {
        let mut options: Vec<PathBuf> = vec!["-verify_return_error".into()];
        let mut add = |option: &str, path: &Path| options.extend([option.into(), path.to_owned()]);
        add("-cert", &self.certificate);
        add("-key", &self.key);
        add("-CAfile", &self.roots);
        if let Some(between) = &self.between {
            add("-cert_chain", between);
        }
        options
    }

    /// Our end's credentials from the files; `crl` is a list's text.
    pub(crate) fn credentials(&self, crl: Option<&str>) -> Credentials {
        let read = |path: &Path| std::fs::read(path).expect("a file");
        let (certificate, key, roots) = (read(&self.certificate), read(&self.key), read(&self.roots));
        Credentials::from_pem(&certificate, &key, &roots, crl.map(str::as_bytes)).expect("credentials")
    }
}

/// `name` of a network of amf and nrf under this policy.
pub(crate) fn endpoint(name: &str, credentials: Credentials, policy: &str) -> Endpoint {
    let text = format!(
        "policy: {policy}\n\
         nodes:\n  amf: {{ function: AMF, address: 127.0.0.1 }}\n  nrf: {{ function: NRF, address: 127.0.0.1 }}\n\
         interfaces: [{{ kind: SBI, between: [amf, nrf], with: sidecar }}]\n"
    );
    let deployment = Deployment::parse(&text, "test.yaml", Path::new("/")).expect("a deployment");
    Endpoint::new(credentials, peers(&deployment, name)).expect("an endpoint")
}

/// A socket next to which a watch stands.
struct Watched<'a> {
    socket: TcpStream,
    watch: &'a Watch,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.socket.read(buffer)?;
        self.watch.received(&buffer[..length]);
        Ok(length)
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.socket.write(bytes)?;
        self.watch.sent(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn patient(socket: TcpStream) -> TcpStream {
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    socket.set_nodelay(true).expect("no delay");
    socket
}

/// Accepts one connection, greets and closes.
fn serve(ours: &Endpoint, listener: &TcpListener) -> Judged {
    let accepting = ours.accept_any(InterfaceKind::Sbi);
    let mut connection = ServerConnection::new(accepting.config).expect("a connection");
    let (socket, _) = listener.accept().expect("a client");
    let watch = &accepting.watch;
    let mut socket = Watched {
        socket: patient(socket),
        watch,
    };
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut socket) {
            // The alert, behind whatever was on its way already.
            while connection.wants_write() && connection.write_tls(&mut socket).is_ok() {}
            return Err(watch.failed(&error));
        }
    }
    let judged = watch.finish_server(&connection);
    if judged.is_ok() {
        connection.writer().write_all(GREETING).expect("room");
    }
    connection.send_close_notify();
    while connection.wants_write() {
        connection.write_tls(&mut socket).expect("sent");
    }
    judged
}

/// Connects, greets, and reads the first line.
fn connect(ours: &Endpoint, address: SocketAddr) -> Met {
    let connecting = ours.connect("nrf", InterfaceKind::Sbi).expect("nrf is a peer");
    let mut connection = ClientConnection::new(connecting.config, connecting.name).expect("a connection");
    let watch = &connecting.watch;
    let mut socket = Watched {
        socket: patient(TcpStream::connect(address).expect("a server")),
        watch,
    };
    let ended = |judged| Met {
        judged,
        later: None,
        echo: String::new(),
    };
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut socket) {
            while connection.wants_write() && connection.write_tls(&mut socket).is_ok() {}
            return ended(Err(watch.failed(&error)));
        }
    }
    let judged = watch.finish_client(&connection);
    if judged.is_err() {
        return ended(judged);
    }
    let mut stream = rustls::Stream::new(&mut connection, &mut socket);
    let mut echo = vec![0; GREETING.len()];
    let read = stream.write_all(GREETING).and_then(|()| stream.read_exact(&mut echo));
    Met {
        judged,
        later: read.as_ref().err().map(|error| watch.failed(error)),
        echo: String::from_utf8_lossy(&echo).into_owned(),
    }
}
