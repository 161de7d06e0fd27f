//! Sidecars are restarted under load, without any effect on their clients: listening sockets pass
//! to the successor, directly or through systemd.

use std::io::{IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;

use bartizan_host::{Finished, Process, Program};
use bartizan_testing::Listening as _;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

use crate::churn::{all_answered, consumer_with, producer, reached, tally_and_refused};
use crate::stage::{By, PATIENCE, Pair, Stage, ask, finish, get, sidecar, until};

/// A pair of sidecars that are restarted, each with a socket by which it is succeeded.
struct Rolling {
    stage: Stage,
    pair: Pair,
    file: PathBuf,
    running: Vec<(&'static str, Process)>,
}

impl Rolling {
    fn new(by: By) -> Self {
        let mut stage = Stage::new();
        let pair = Pair::new(by, by);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let mut rolling = Self {
            stage,
            pair,
            file,
            running: Vec::new(),
        };
        for node in ["nrf", "amf"] {
            let started = rolling.start(node);
            rolling.running.push((node, started));
        }
        rolling
    }

    fn post(&self, node: &str) -> PathBuf {
        self.stage.path(&format!("{node}.sock"))
    }

    fn program(&self, node: &str) -> Program {
        sidecar(&self.file, node)
            .argument("--hand-over")
            .argument(self.post(node))
    }

    fn start(&self, node: &str) -> Process {
        ready(self.program(node))
    }

    /// Starts another one in parallel with the one that runs, which is to end by itself.
    fn succeed(&mut self, node: &'static str) {
        let successor = self.start(node);
        let place = self
            .running
            .iter_mut()
            .find(|(name, _)| *name == node)
            .expect("it runs");
        let ended = std::mem::replace(&mut place.1, successor)
            .finish(PATIENCE)
            .expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(
            said.contains("a successor serves") && said.contains("stopped"),
            "{said}"
        );
        assert!(
            !said.contains("closed connections that had not ended in time"),
            "{said}"
        );
    }
}

fn ready(program: Program) -> Process {
    let mut process = program.start().expect("the sidecar starts");
    if let Err(error) = process.wait_for_line("ready", PATIENCE) {
        panic!("{error}\n{}", process.stderr());
    }
    process
}

/// Without a socket that passes on, a restart closes the port for as long as it takes: consumers
/// were refused, or answered in the producer's place. (`mesh` has the other path, and more of
/// them.)
#[test]
fn both_sidecars_of_a_splice_are_restarted_under_load_and_no_request_fails() {
    const EACH: usize = 400;
    let mut pair = Rolling::new(By::Splice);
    let _producer = producer(pair.pair.ports.function);
    let consumer = consumer_with(pair.pair.ports.outbound, 0, EACH, &["-rate", "100"]);
    reached(pair.pair.ports.function, 50);
    for node in ["nrf", "amf"] {
        pair.succeed(node);
    }
    let (tally, refused) = tally_and_refused(consumer, pair.pair.ports.function, 0);
    assert_eq!((tally, refused, pair.running.len()), (all_answered(EACH), 0, 2));
}

#[test]
fn a_successor_that_cannot_serve_changes_nothing_and_kill_leaves_nothing_stuck() {
    let mut pair = Rolling::new(By::Http2);
    let _producer = producer(pair.pair.ports.function);
    let well = |pair: &Rolling| {
        let (status, _, _) = get(&format!("http://{}/id/1", pair.pair.ports.outbound));
        assert_eq!(status, 200);
    };
    well(&pair);
    // A file that cannot be read.
    let broken = pair.stage.write("broken.yaml", "nodes: [");
    let failed = finish(
        sidecar(&broken, "nrf")
            .argument("--hand-over")
            .argument(pair.post("nrf")),
    );
    assert_eq!(failed.status.code(), Some(64));
    // Another node's sidecar.
    let refused = finish(
        sidecar(&pair.file, "amf")
            .argument("--hand-over")
            .argument(pair.post("nrf")),
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused).contains("the sidecar that runs refuses: this is the sidecar of nrf"),
        "{}",
        text(&refused)
    );
    // One that takes the sockets and is killed, or hangs up, before it serves.
    let mut taker = UnixStream::connect(pair.post("nrf")).expect("somebody waits");
    taker.write_all(b"bartizan-handover 1 nrf\n").expect("a greeting");
    taker.read_exact(&mut [0]).expect("its first socket");
    drop(taker);
    until("a word about it", || {
        pair.running[0].1.stderr().contains("a successor did not take over")
    });
    well(&pair);
    // A successor comes all the same.
    pair.succeed("nrf");
    well(&pair);
    // A killed sidecar has left its socket behind, without a process at the other end.
    let (_, mut killed) = pair.running.remove(0);
    killed.send(libc::SIGKILL);
    killed.finish(PATIENCE).expect("it ends");
    assert!(pair.post("nrf").exists());
    let again = pair.start("nrf");
    pair.running.insert(0, ("nrf", again));
    well(&pair);
    pair.succeed("nrf");
    well(&pair);
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stderr).into_owned()
}

/// The part of systemd for a unit with `Type=notify` and `FileDescriptorStoreMax=`.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
    kept: Vec<(String, OwnedFd)>,
    notified: Vec<String>,
}

impl Manager {
    fn new(path: PathBuf) -> Self {
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_nonblocking(true).expect("it does not block");
        Self {
            socket,
            path,
            kept: Vec::new(),
            notified: Vec::new(),
        }
    }

    /// Takes in the notifications.
    fn listen(&mut self) {
        loop {
            let (mut text, mut space) = ([0; 4096], nix::cmsg_space!([RawFd; 4]));
            let mut slices = [IoSliceMut::new(&mut text)];
            let received = recvmsg::<()>(
                self.socket.as_raw_fd(),
                &mut slices,
                Some(&mut space),
                MsgFlags::MSG_CMSG_CLOEXEC,
            );
            let Ok(received) = received else { return };
            let descriptors: Vec<OwnedFd> = received
                .cmsgs()
                .expect("they are whole")
                .flat_map(|message| match message {
                    // SAFETY: the kernel has just made these descriptors for this process, and no
                    // other code has them.
                    ControlMessageOwned::ScmRights(raw) => raw
                        .into_iter()
                        .map(|raw| unsafe { OwnedFd::from_raw_fd(raw) })
                        .collect::<Vec<_>>(),
                    _ => Vec::new(),
                })
                .collect();
            let length = received.bytes;
            let said = String::from_utf8(text[..length].to_vec()).expect("text");
            if said.starts_with("FDSTORE=1\n") {
                let name = said.split("FDNAME=").nth(1).expect("a name").to_owned();
                self.kept.retain(|(known, _)| *known != name);
                self.kept.extend(descriptors.into_iter().map(|one| (name.clone(), one)));
            }
            self.notified.push(said);
        }
    }

    fn has_heard(&mut self, word: &str) {
        until(word, || {
            self.listen();
            self.notified.iter().any(|one| one == word)
        });
    }

    /// Starts a program with what is kept at 3 and on.
    fn start(&mut self, file: &std::path::Path, node: &str) -> Process {
        self.notified.clear();
        let inherited: Vec<_> = self
            .kept
            .iter()
            .map(|(_, kept)| {
                // A duplicate that a program inherits: systemd's own do not close at exec either.
                let raw = nix::unistd::dup(kept).expect("a duplicate");
                nix::fcntl::fcntl(&raw, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))
                    .expect("it is inherited");
                raw
            })
            .collect();
        let moves: String = inherited
            .iter()
            .enumerate()
            .map(|(index, raw)| format!("exec {}<&{}; ", 100 + index, raw.as_raw_fd()))
            .chain((0..inherited.len()).map(|index| format!("exec {}<&{}; ", 3 + index, 100 + index)))
            .chain((0..inherited.len()).map(|index| format!("exec {}<&-; ", 100 + index)))
            .collect();
        let names: Vec<_> = self.kept.iter().map(|(name, _)| name.as_str()).collect();
        let mut process = Program::new("bash")
            .package("bash")
            .arguments(["-c", &format!("{moves} export LISTEN_PID=$$; exec \"$@\""), "bash"])
            .argument(env!("CARGO_BIN_EXE_bartizan"))
            .argument("sidecar")
            .argument(file)
            .arguments(["--node", node])
            .environment("NOTIFY_SOCKET", &self.path)
            .environment("LISTEN_FDS", inherited.len().to_string())
            .environment("LISTEN_FDNAMES", names.join(":"))
            .start()
            .expect("it starts");
        drop(inherited);
        self.has_heard("READY=1");
        process.wait_for_line("ready", PATIENCE).expect("its log says so too");
        process
    }
}

#[test]
fn sidecars_that_systemd_restarts_lose_no_request_and_refuse_none() {
    const REQUESTS: usize = 900;
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let mut managers = ["nrf", "amf"].map(|node| Manager::new(stage.path(&format!("{node}.notify"))));
    let mut running: Vec<_> = ["nrf", "amf"]
        .iter()
        .zip(&mut managers)
        .map(|(node, manager)| manager.start(&file, node))
        .collect();
    // The one inbound or outbound listener, and the admin port.
    assert!(managers.iter().all(|manager| manager.kept.len() == 2));
    let _producer = producer(pair.ports.function);
    let consumer = consumer_with(pair.ports.outbound, 0, REQUESTS, &["-rate", "100"]);
    reached(pair.ports.function, 50);
    for signal in [libc::SIGTERM, libc::SIGTERM] {
        for (index, node) in ["nrf", "amf"].into_iter().enumerate() {
            let mut old = running.remove(index);
            old.send(signal);
            let ended = old.finish(PATIENCE).expect("it ends");
            assert_eq!(ended.status.code(), Some(0), "{}", text(&ended));
            // `limits.drain`, whatever the unit's own time is, and what follows it.
            managers[index].has_heard("EXTEND_TIMEOUT_USEC=37000000");
            managers[index].has_heard("STOPPING=1");
            // No process accepts now, and connections wait.
            let successor = managers[index].start(&file, node);
            assert!(
                successor
                    .stderr()
                    .contains("listens on sockets that were passed sockets=2"),
                "{}",
                successor.stderr()
            );
            running.insert(index, successor);
        }
    }
    let (tally, refused) = tally_and_refused(consumer, pair.ports.function, 0);
    assert_eq!((tally, refused), (all_answered(REQUESTS), 0));
}

#[test]
fn a_sidecar_serves_on_sockets_that_systemd_opened() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let mut process = Program::new("systemd-socket-activate")
        .package("systemd")
        .arguments([
            "-l",
            &pair.ports.inbound.to_string(),
            "-l",
            &pair.ports.nrf_admin.to_string(),
        ])
        .argument(env!("CARGO_BIN_EXE_bartizan"))
        .argument("sidecar")
        .argument(&file)
        .arguments(["--node", "nrf"])
        .start()
        .expect("it starts");
    process
        .wait_for_port(pair.ports.nrf_admin, PATIENCE)
        .expect("systemd listens");
    // The program is started by the first connection, which waits for it.
    let (status, _, body) = ask(&[&format!("http://{}/ready", pair.ports.nrf_admin)]);
    assert_eq!((status, body.as_str()), (200, "ready\n"));
    let said = process.stderr();
    assert!(
        said.contains("listens on sockets that were passed sockets=2 from_systemd=true"),
        "{said}"
    );
}

#[test]
fn what_is_passed_and_is_of_no_listener_is_closed_and_what_is_no_socket_is_refused() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let mut manager = Manager::new(stage.path("notify"));
    let stray = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: SocketAddr = stray.local_addr().expect("an address");
    manager.kept.push(("stray".to_owned(), stray.into()));
    let process = manager.start(&file, "nrf");
    assert!(process.stderr().contains(&format!(
        "is of no listener in the file: it is closed address={address}"
    )));
    manager.has_heard("FDSTOREREMOVE=1\nFDNAME=stray");
    drop(process);

    let refused = finish(
        Program::new("bash")
            .package("bash")
            .arguments([
                "-c",
                "exec 3</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\"",
                "bash",
            ])
            .argument(env!("CARGO_BIN_EXE_bartizan"))
            .argument("sidecar")
            .argument(&file)
            .arguments(["--node", "nrf"]),
    );
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(
        text(&refused).contains("error: file descriptor 3 that systemd passes: "),
        "{}",
        text(&refused)
    );
}

mod as_root {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// It needs no entry anywhere.
    const USER: &str = "64997";

    fn status(process: &Process, field: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("the kernel says");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(":\t"));
        line.expect("a field").to_owned()
    }

    #[test]
    fn sockets_pass_between_processes_that_gave_up_their_rights_and_to_nobody_elses() {
        bartizan_testing::needs_root();
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let folder = stage.path("");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        std::os::unix::fs::chown(&folder, Some(64_997), Some(64_997)).expect("it is ours");
        let post = stage.path("nrf.sock");
        let start = || {
            ready(
                sidecar(&file, "nrf")
                    .arguments(["--user", USER, "--hand-over"])
                    .argument(&post),
            )
        };
        let first = start();
        let second = start();
        let ended = first.finish(PATIENCE).expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{}", text(&ended));
        for (field, value) in [
            ("Uid", [USER; 4].join("\t").as_str()),
            ("Seccomp", "2"),
            ("CapEff", "0000000000000000"),
        ] {
            assert_eq!(status(&second, field), value);
        }
        // It listens: a handshake that offers nothing is refused by it.
        let mut client = std::net::TcpStream::connect(pair.ports.inbound).expect("it listens");
        client.write_all(b"stray\n").expect("six bytes");
        assert!(client.read(&mut [0; 64]).is_ok());

        // The socket is its owner's alone, and another user who reaches it all the same gets nothing.
        assert_eq!(
            std::fs::metadata(&post).expect("it").permissions().mode() & 0o777,
            0o600
        );
        std::fs::set_permissions(&post, std::fs::Permissions::from_mode(0o666)).expect("it is ours");
        let other = finish(
            Program::new("setpriv")
                .arguments(["--reuid", "64998", "--clear-groups"])
                .argument(env!("CARGO_BIN_EXE_bartizan"))
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", "nrf", "--hand-over"])
                .argument(&post),
        );
        assert_eq!(other.status.code(), Some(2), "{}", text(&other));
        assert!(
            text(&other).contains("the user 64998 is neither root nor the one it runs as"),
            "{}",
            text(&other)
        );
        drop(second);
    }
}
