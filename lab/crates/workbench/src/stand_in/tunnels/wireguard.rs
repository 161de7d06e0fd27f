//! WireGuard by two processes in user space, configured by the text protocol that every one of them
//! has on a socket of its own (wireguard.com/xplatform).

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aws_lc_rs::agreement::{PrivateKey, X25519};
use bartizan_host::{Namespace, Process, Program};
use bartizan_testing::Usage;
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use super::{INSIDE, Maker, NUMBER, ip, outer, route};
use crate::Error;
use crate::stand_in::charons::inner;

/// Path at which `scripts/peers` installs it. Each name has the version that was tested.
const WIREGUARD_GO: &str = "peers/wireguard-go-0.0.0-20260522210424-ecfc5a8d5446/wireguard-go";
const BORINGTUN: &str = "peers/boringtun-0.7.1/bin/boringtun-cli";

const PORT: u16 = 51_820;
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);

/// Number of ends that this process has started.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Name of the program, and the command that installs it.
pub(super) fn names(maker: Maker) -> (&'static str, &'static str) {
    match maker {
        Maker::Boringtun => ("boringtun", "from a checkout: scripts/peers boringtun"),
        _ => ("wireguard-go", "from a checkout: scripts/peers wireguard_go"),
    }
}

/// Path of the program, if installed.
pub(super) fn program(maker: Maker) -> Option<PathBuf> {
    let place = match maker {
        Maker::Boringtun => BORINGTUN,
        _ => WIREGUARD_GO,
    };
    let path = bartizan_host::cache().ok()?.join(place);
    path.is_file().then_some(path)
}

/// Both ends.
pub(super) struct Wireguard {
    ends: [End; 2],
    version: &'static str,
}

/// One process; its socket goes with it.
struct End {
    process: Process,
    socket: PathBuf,
}

impl Drop for End {
    fn drop(&mut self) {
        // It is gone where the process has ended by itself.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// A key and what the other end knows of it, in hexadecimal digits.
struct Keys {
    private: Zeroizing<String>,
    public: String,
}

impl Keys {
    fn new() -> Result<Self, Error> {
        let refused = |_| Error::Configuration("X25519 was refused".to_owned());
        let mut bytes = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut bytes[..]).map_err(refused)?;
        let key = PrivateKey::from_private_key(&X25519, &bytes[..]);
        let key = key.map_err(|_| Error::Configuration("X25519 was refused".to_owned()))?;
        let public = key.compute_public_key().map_err(refused)?;
        Ok(Self {
            private: Zeroizing::new(HEXLOWER.encode(&bytes[..])),
            public: HEXLOWER.encode(public.as_ref()),
        })
    }
}

impl Wireguard {
    pub(super) fn start(maker: Maker, namespaces: &[Namespace; 2]) -> Result<Self, Error> {
        let path = program(maker).ok_or_else(|| Error::Configuration(format!("no {}", names(maker).0)))?;
        let start = |end: usize| {
            // Its socket is one of the machine's: two ends, two tunnels of one run, and two runs,
            // have names of their own.
            let count = STARTED.fetch_add(1, Ordering::Relaxed);
            let device = format!("w{:x}-{count:x}", std::process::id());
            let program = Program::new(&path).inside(&namespaces[end]);
            let program = match maker {
                Maker::Boringtun => program.arguments(["--foreground", "--disable-drop-privileges", &device]),
                _ => program.arguments(["--foreground", &device]),
            };
            let socket = PathBuf::from(format!("/var/run/wireguard/{device}.sock"));
            let process = program.start()?;
            Ok::<_, Error>((End { process, socket }, device))
        };
        let ((one, first), (other, second)) = (start(0)?, start(1)?);
        let (mut ends, keys) = ([one, other], [Keys::new()?, Keys::new()?]);
        for (end, device) in [first, second].iter().enumerate() {
            let (own, peer) = (&keys[end].private, &keys[1 - end].public);
            let endpoint = format!("{}:{PORT}", outer(1 - end));
            let allowed = format!("{}/32", inner(NUMBER, 1 - end));
            let text = Zeroizing::new(format!(
                "set=1\nprivate_key={}\nlisten_port={PORT}\nreplace_peers=true\npublic_key={peer}\nendpoint={endpoint}\n\
                 replace_allowed_ips=true\nallowed_ip={allowed}\n\n",
                own.as_str()
            ));
            ends[end].configure(&text)?;
            let mtu = INSIDE.to_string();
            ip(&namespaces[end], &["link", "set", "dev", device, "mtu", &mtu, "up"])?;
            route(&namespaces[end], end, &["dev", device])?;
        }
        Ok(Self {
            ends,
            version: match maker {
                Maker::Boringtun => "boringtun-cli 0.7.1",
                _ => "wireguard-go 0.0.0-20260522210424-ecfc5a8d5446",
            },
        })
    }

    pub(super) fn version(&self) -> &str {
        self.version
    }

    pub(super) fn spent(&self) -> Result<Duration, Error> {
        let spent = |end: &End| Usage::of(end.process.id()).map(|usage| usage.cpu);
        Ok(spent(&self.ends[0])? + spent(&self.ends[1])?)
    }
}

impl End {
    /// Once it listens: a request ends with an empty line, and so does its answer.
    fn configure(&mut self, text: &str) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        let mut stream = loop {
            match UnixStream::connect(&self.socket) {
                Ok(stream) => break stream,
                Err(source) => {
                    let ended = self.process.ended()?.is_some();
                    if ended || Instant::now() >= deadline {
                        let tail = self.process.tail();
                        let socket = self.socket.display();
                        return Err(Error::Configuration(format!(
                            "connecting to {socket}: {source}; {tail}"
                        )));
                    }
                }
            }
            thread::sleep(POLL);
        };
        let mut exchange = || {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(text.as_bytes())?;
            let mut answer = Vec::new();
            while !answer.ends_with(b"\n\n") {
                let mut bytes = [0; 256];
                match stream.read(&mut bytes)? {
                    0 => break,
                    length => answer.extend_from_slice(&bytes[..length]),
                }
            }
            Ok(String::from_utf8_lossy(&answer).trim().to_owned())
        };
        match exchange().map_err(Error::Broken)?.as_str() {
            "errno=0" => Ok(()),
            other => Err(Error::Configuration(format!("it refused its configuration: {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_that_fetches_peers_puts_them_where_they_are_looked_for() {
        let script = include_str!("../../../../../../scripts/peers");
        let set = |name: &str| {
            let line = script.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
            line.unwrap_or_default().to_owned()
        };
        let go = set("wireguard_go");
        assert_eq!(WIREGUARD_GO, format!("peers/wireguard-go-{go}/wireguard-go"));
        let boringtun = set("boringtun");
        assert_eq!(BORINGTUN, format!("peers/boringtun-{boringtun}/bin/boringtun-cli"));
    }

    #[test]
    fn a_pair_of_keys_is_two_times_thirty_two_bytes() {
        let keys = Keys::new().unwrap();
        assert_eq!((keys.private.len(), keys.public.len()), (64, 64));
        assert_ne!(*keys.private, keys.public);
    }
}
