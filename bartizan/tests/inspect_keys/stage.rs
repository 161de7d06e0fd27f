//! OpenSSL at both ends, and a tap between them: what passes becomes a capture, without the right to capture anything.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bartizan_host::{LabRoot, Process, Program};
use bartizan_testing::{Tshark, lab_root};
use serde_json::Value;

/// Long enough for a machine that builds something else during the tests.
pub(crate) const PATIENCE: Duration = bartizan_testing::PATIENCE;

/// A directory with certificates and what is made of them.
pub(crate) struct Stage {
    directory: tempfile::TempDir,
    pub(crate) root: LabRoot,
}

/// A certificate that signed itself, and its key.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            root: lab_root(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn program(&self, name: &str) -> Program {
        let program = self.root.command(name).expect("it is in the lab root");
        program.directory(self.directory.path())
    }

    /// A key by what `openssl req -newkey` calls it.
    pub(crate) fn identity(&self, name: &str, newkey: &str) -> Identity {
        let made = Identity {
            certificate: self.path(&format!("{name}.crt")),
            key: self.path(&format!("{name}.key")),
        };
        self.program("openssl")
            .arguments(["req", "-x509", "-nodes", "-days", "30", "-subj"])
            .argument(format!("/CN={name}"))
            .arguments(format!("-newkey {newkey}").split_whitespace())
            .arguments([Path::new("-keyout"), &made.key, Path::new("-out"), &made.certificate])
            .run(PATIENCE)
            .expect("a certificate");
        made
    }

    /// `openssl s_server`, which sends back reversed lines; `client` is the identity of which it
    /// requests a certificate.
    pub(crate) fn server(&self, own: &Identity, client: Option<&Identity>, arguments: &str) -> (Process, SocketAddr) {
        let server = self
            .program("openssl")
            .arguments("s_server -rev -accept 127.0.0.1:0".split_whitespace())
            .arguments([Path::new("-cert"), &own.certificate, Path::new("-key"), &own.key])
            .arguments(arguments.split_whitespace());
        let server = match client {
            Some(client) => server
                .arguments(["-Verify", "1", "-verify_return_error", "-CAfile"])
                .argument(&client.certificate),
            None => server,
        };
        let mut server = server.start().expect("openssl starts");
        server
            .wait_for_line("ACCEPT 127.0.0.1:", PATIENCE)
            .expect("a listening server");
        let said = server.stdout();
        let line = said.lines().find_map(|line| line.strip_prefix("ACCEPT "));
        let address = line.and_then(|line| line.parse().ok()).expect("an address");
        (server, address)
    }

    /// `openssl s_client`, whose secrets go to `keys.log`.
    pub(crate) fn client(&self, to: SocketAddr, own: Option<&Identity>, arguments: &str) -> Client {
        let directory = self.root.directory();
        let loaders = ["usr/lib64/ld-linux-x86-64.so.2", "usr/lib/ld-linux-aarch64.so.1"];
        let loader = loaders.map(|loader| directory.join(loader)).into_iter();
        let libraries = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(|name| directory.join("usr/lib").join(name));
        let libraries = libraries.into_iter().find(|path| path.exists()).expect("libraries");
        let mut command = Command::new(loader.clone().find(|path| path.exists()).expect("a loader"));
        command
            .arg("--library-path")
            .arg(&libraries)
            .arg(directory.join("usr/bin/openssl"))
            .args(["s_client", "-connect", &to.to_string(), "-keylogfile"])
            .arg(self.path("keys.log"))
            .args(arguments.split_whitespace())
            .env("OPENSSL_CONF", directory.join("etc/ssl/openssl.cnf"))
            .env("OPENSSL_MODULES", libraries.join("ossl-modules"))
            .current_dir(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(own) = own {
            command.arg("-cert").arg(&own.certificate).arg("-key").arg(&own.key);
        }
        Client::start(command)
    }

    /// Output of `bartizan inspect` for a capture, with these arguments.
    pub(crate) fn inspect(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .env("COLUMNS", "400")
            .arg("inspect")
            .args(arguments)
            .current_dir(self.directory.path())
            .output()
            .expect("bartizan runs")
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.inspect(&[&["--json"], arguments].concat());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// The fields of a capture's packets by tshark, which has the same key log.
    pub(crate) fn tshark(&self, capture: &str, filter: &str, field: &str) -> Vec<String> {
        let keys = format!("tls.keylog_file:{}", self.path("keys.log").display());
        Tshark::new()
            .option("-o", keys)
            .home(self.directory.path())
            .values(&self.path(capture), filter, field)
    }
}

/// A client that is spoken to line by line.
pub(crate) struct Client {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("openssl starts");
        let said = Arc::new(Mutex::new(Vec::new()));
        let pipes: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("a pipe")),
            Box::new(child.stderr.take().expect("a pipe")),
        ];
        let readers = pipes.map(|mut pipe| {
            let kept = Arc::clone(&said);
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = pipe.read(&mut piece) {
                    kept.lock().unwrap().extend_from_slice(&piece[..length]);
                }
            })
        });
        Self {
            child,
            said,
            readers: readers.into(),
        }
    }

    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    /// Says a line, and waits until it has said this.
    pub(crate) fn say(&mut self, line: &str, until: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
        self.wait_for(until);
    }

    pub(crate) fn wait_for(&mut self, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.said().contains(wanted) {
            assert!(Instant::now() < deadline, "no {wanted:?} in {}", self.said());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets it end, and gives all it said.
    pub(crate) fn end(mut self) -> String {
        drop(self.child.stdin.take());
        self.child.wait().expect("it ends");
        for reader in self.readers.drain(..) {
            reader.join().expect("it read");
        }
        self.said()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Passed = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// Stands between a client and a server, and keeps what passes for one connection.
pub(crate) struct Tap {
    pub(crate) address: SocketAddr,
    passed: Passed,
    thread: JoinHandle<()>,
}

impl Tap {
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let passed = Passed::default();
        let kept = Arc::clone(&passed);
        let thread = thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client");
            let server = TcpStream::connect(server).expect("a server");
            let ends = [client, server];
            let copies = [0, 1].map(|from| {
                let [source, sink] = [from, 1 - from].map(|end| ends[end].try_clone().expect("a socket"));
                let kept = Arc::clone(&kept);
                thread::spawn(move || pass(from, source, sink, &kept))
            });
            for copy in copies {
                copy.join().expect("it passed on");
            }
        });
        Self {
            address,
            passed,
            thread,
        }
    }

    /// Waits until both ends have ended, and writes what passed.
    pub(crate) fn write(self, path: &Path) {
        self.thread.join().expect("it passed on");
        std::fs::write(path, capture(&self.passed.lock().unwrap())).expect("a capture");
    }
}

/// Bytes of one end are recorded before the other can answer them.
fn pass(from: usize, mut source: TcpStream, mut sink: TcpStream, kept: &Passed) {
    let mut piece = [0; 16 * 1024];
    while let Ok(length @ 1..) = source.read(&mut piece) {
        kept.lock().unwrap().push((from, piece[..length].to_vec()));
        if sink.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = sink.shutdown(Shutdown::Write);
}

/// A capture of raw IP: a connection that sent these bytes, from SYN to FIN.
fn capture(passed: &[(usize, Vec<u8>)]) -> Vec<u8> {
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    const FIN: u8 = 0x01;
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    let ports = [40_000_u16, 443];
    let mut next = [1000_u32, 2000];
    let mut number = 0_u32;
    let mut segment = |from: usize, flags: u8, payload: &[u8]| {
        let addresses = [[192, 0, 2, 1], [192, 0, 2, 2]];
        let length = u16::try_from(40 + payload.len()).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        packet.extend([addresses[from], addresses[1 - from]].concat());
        packet.extend(ports[from].to_be_bytes());
        packet.extend(ports[1 - from].to_be_bytes());
        packet.extend(next[from].to_be_bytes());
        packet.extend(next[1 - from].to_be_bytes());
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        next[from] += payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        for word in [1_763_000_000, number, u32::from(length), u32::from(length)] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
        number += 1;
    };
    segment(0, SYN, &[]);
    segment(1, SYN | ACK, &[]);
    segment(0, ACK, &[]);
    for (from, bytes) in passed {
        for piece in bytes.chunks(1400) {
            segment(*from, ACK, piece);
        }
    }
    for from in [0, 1] {
        segment(from, FIN | ACK, &[]);
    }
    file
}
