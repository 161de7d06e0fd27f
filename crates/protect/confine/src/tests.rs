//! A process can be confined once and for good, so each test runs itself again as a child that is.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use super::*;

/// Set in the environment of a child to the directory it may use.
const PLACE: &str = "BARTIZAN_TEST_CONFINED";

/// Runs the test named `name` again with a directory of its own, and gives its output; in the child, gives that directory.
fn child(name: &str, user: Option<u32>) -> Result<PathBuf, Output> {
    if let Some(place) = env::var_os(PLACE) {
        return Ok(place.into());
    }
    let place = tempfile::tempdir().unwrap();
    for directory in ["read", "write"] {
        fs::create_dir(place.path().join(directory)).unwrap();
    }
    fs::write(place.path().join("read/certificate"), "first").unwrap();
    fs::write(place.path().join("outside"), "secret").unwrap();
    if let Some(user) = user {
        for path in ["", "read", "write", "read/certificate"] {
            std::os::unix::fs::chown(place.path().join(path), Some(user), Some(user)).unwrap();
        }
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("tests::{name}"), "--nocapture", "--test-threads=1"])
        .env(PLACE, place.path())
        .output()
        .unwrap();
    assert!(text(&output).contains("running 1 test"), "{name}: {}", text(&output));
    Err(output)
}

fn confinement(place: &Path, user: Option<User>) -> Confinement {
    Confinement {
        read: vec![place.join("read")],
        write: vec![place.join("write")],
        user,
    }
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A resolver that came up after the sidecar wrote a file that the sidecar was never to read, and no
/// line said so.
#[test]
fn names_are_looked_up_by_files_that_come_or_are_replaced_later() {
    let place = tempfile::tempdir().unwrap();
    let (etc, run) = (place.path().join("etc"), place.path().join("run"));
    let (linked, plain, absent) = (etc.join("resolv.conf"), etc.join("hosts"), etc.join("absent"));
    for folder in [&etc, &run] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(run.join("stub.conf"), "").unwrap();
    fs::write(&plain, "").unwrap();
    std::os::unix::fs::symlink("../run/stub.conf", &linked).unwrap();
    let run = fs::canonicalize(run).unwrap();
    assert_eq!(
        [&linked, &plain, &absent].map(|path| lasting(path)),
        [run, plain.clone(), absent.clone()]
    );

    // The folder of this one has everything.
    let root = etc.join("root");
    std::os::unix::fs::symlink("/proc/version", &root).unwrap();
    assert_eq!(lasting(&root), root);

    // An address is not looked up.
    let mut kept = Confinement::default();
    kept.look_up("10.0.0.1");
    assert!(kept.read.is_empty());
    kept.look_up("ca.5gc");
    assert!(kept.read.contains(&lasting(Path::new(RESOLVERS))), "{kept:?}");
}

fn outcome<'a>(report: &'a Report, step: &str) -> &'a Outcome {
    &report.steps.iter().find(|known| known.name == step).unwrap().outcome
}

#[test]
fn confined_process_serves_and_writes_but_opens_nothing_else() {
    let place = match child("confined_process_serves_and_writes_but_opens_nothing_else", None) {
        Ok(place) => place,
        Err(output) => return assert!(output.status.success(), "{}", text(&output)),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut ledger = File::create(place.join("write/ledger")).unwrap();
    let report = apply(&confinement(&place, None));
    println!("{report:?}");
    assert_eq!(report.failed(), None);
    assert_eq!(outcome(&report, "seccomp").word(), "done");
    assert_eq!(outcome(&report, "no new privileges").word(), "done");

    // The process keeps its port and its ledger, and serves on threads made now.
    let server = thread::spawn(move || {
        let (mut accepted, _) = listener.accept().unwrap();
        accepted.write_all(b"served").unwrap();
    });
    let mut got = String::new();
    TcpStream::connect(address).unwrap().read_to_string(&mut got).unwrap();
    server.join().unwrap();
    assert_eq!(got, "served");
    ledger.write_all(b"record\n").unwrap();
    ledger.sync_all().unwrap();
    // Rotation: the ledger made anew, and a certificate replaced by renaming, as cert-manager does it.
    fs::rename(place.join("write/ledger"), place.join("write/ledger.1")).unwrap();
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(place.join("write/ledger"))
        .unwrap();
    assert_eq!(fs::read_to_string(place.join("read/certificate")).unwrap(), "first");

    // By seccomp, on every kernel that has it.
    let error = Command::new("/bin/true").spawn().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    // By Landlock, and for files that this user may read otherwise.
    if outcome(&report, "landlock").word() == "unavailable" {
        println!("NOT RUN: this kernel has no Landlock: files and ports are not closed off here");
        return;
    }
    for path in ["/etc/shadow", "/etc/passwd", "/proc/1/status"]
        .map(PathBuf::from)
        .iter()
        .chain([&place.join("outside")])
    {
        let error = fs::read(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{}: {error}", path.display());
    }
    for path in ["read/certificate", "read/new", "outside"] {
        let error = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(place.join(path))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}: {error}");
    }
    for address in ["127.0.0.1:81", "127.0.0.1:28999", "[::1]:28999"] {
        let error = TcpListener::bind(address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{address}: {error}");
    }
    assert!(fs::read_to_string("/proc/self/stat").is_ok());
}

#[test]
fn file_replaced_in_a_readable_directory_is_read_anew() {
    let place = match child("file_replaced_in_a_readable_directory_is_read_anew", None) {
        Ok(place) => place,
        Err(output) => return assert!(output.status.success(), "{}", text(&output)),
    };
    let certificate = place.join("read/certificate");
    // Another process replaces it while we are confined: a thread that was there before is not held
    // by Landlock.
    let (replace, wait) = std::sync::mpsc::channel();
    let (path, new) = (certificate.clone(), place.join("read/new"));
    let other = thread::spawn(move || {
        wait.recv().unwrap();
        fs::write(&new, "second").and_then(|()| fs::rename(&new, &path))
    });
    let report = apply(&confinement(&place, None));
    let detail = outcome(&report, "landlock").detail().to_owned();
    replace.send(()).unwrap();
    if other.join().unwrap().is_ok() {
        assert_eq!(fs::read_to_string(&certificate).unwrap(), "second");
        // The report counts such threads.
        assert!(
            detail.contains("threads that ran before") || detail.contains("built without"),
            "{detail}"
        );
    } else {
        // On a kernel where Landlock reaches every thread.
        assert!(!detail.contains("threads that ran before"), "{detail}");
    }
}

#[test]
fn process_that_executes_a_program_is_killed() {
    let place = match child("process_that_executes_a_program_is_killed", None) {
        Ok(place) => place,
        Err(output) => {
            assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{}", text(&output));
            assert!(text(&output).contains("confined\n"), "{}", text(&output));
            return;
        }
    };
    assert_eq!(apply(&confinement(&place, None)).failed(), None);
    println!("confined");
    let error = Command::new("/bin/true").exec();
    println!("survived: {error}");
}

#[test]
fn path_that_is_not_there_is_reported() {
    let place = match child("path_that_is_not_there_is_reported", None) {
        Ok(place) => place,
        Err(output) => return assert!(output.status.success(), "{}", text(&output)),
    };
    let mut confinement = confinement(&place, None);
    confinement.read.push(place.join("nowhere"));
    let report = apply(&confinement);
    let outcome = outcome(&report, "landlock");
    assert!(
        outcome.detail().contains("nowhere") || outcome.word() == "unavailable",
        "{report:?}"
    );
    assert_ne!(outcome.word(), "done", "{report:?}");
}

#[test]
fn user_that_cannot_be_changed_to_is_a_failure() {
    let place = match child("user_that_cannot_be_changed_to_is_a_failure", None) {
        Ok(place) => place,
        Err(output) => return assert!(output.status.success(), "{}", text(&output)),
    };
    // A process of root must not stay root; one of another user cannot change its user.
    let user = if nix::unistd::geteuid().is_root() { "0" } else { "1" };
    let report = apply(&confinement(&place, Some(User::find(user).unwrap())));
    assert_eq!(report.failed().map(|step| step.name), Some("user"), "{report:?}");
}

#[test]
fn user_is_found_by_name_number_and_pair() {
    assert_eq!(User::find("root").unwrap().id, 0);
    assert_eq!(&User::find("0").unwrap().name, "root");
    assert_eq!(User::find("65123:65124").unwrap().id, 65123);
    assert_eq!(User::find("64999").unwrap().id, 64999);
    for unknown in ["no-such-user", "", "1:", ":1", "-1", "4294967296"] {
        assert!(User::find(unknown).is_err(), "{unknown}");
    }
    // Which of both is missing.
    let said = |text| User::find(text).unwrap_err().to_string();
    assert_eq!(said("no-such-user:root"), "no user is called `no-such-user`");
    assert_eq!(said("root:no-such-group"), "no group is called `no-such-group`");
}

mod as_root {
    use super::*;

    /// The unprivileged user of Debian; any number would do.
    const NOBODY: u32 = 65534;

    #[test]
    fn root_becomes_another_user_in_every_thread_and_keeps_no_right() {
        const NAME: &str = "as_root::root_becomes_another_user_in_every_thread_and_keeps_no_right";
        assert!(
            nix::unistd::geteuid().is_root(),
            "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
        );
        let place = match child(NAME, Some(NOBODY)) {
            Ok(place) => place,
            Err(output) => return assert!(output.status.success(), "{}", text(&output)),
        };
        // A thread that was there before, as the writer of the ledger may be.
        let (ask, asked) = std::sync::mpsc::channel();
        let other = thread::spawn(move || {
            asked.recv().unwrap();
            (
                nix::unistd::geteuid().as_raw(),
                fs::read_to_string("/proc/thread-self/status").unwrap(),
            )
        });
        let report = apply(&confinement(&place, Some(User::find("65534").unwrap())));
        println!("{report:?}");
        assert_eq!(report.failed(), None);
        for step in [
            "bounding set",
            "user",
            "capabilities",
            "no new privileges",
            "memory",
            "seccomp",
        ] {
            assert_eq!(outcome(&report, step).word(), "done", "{report:?}");
        }
        assert_eq!(nix::unistd::geteuid().as_raw(), NOBODY);
        ask.send(()).unwrap();
        let (user, status) = other.join().unwrap();
        assert_eq!(user, NOBODY);
        assert!(
            status.contains("CapPrm:\t0000000000000000") && status.contains("Seccomp:\t2"),
            "{status}"
        );
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        for line in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(status.contains(&format!("{line}:\t0000000000000000")), "{status}");
        }
        assert!(
            status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"),
            "{status}"
        );
        assert!(
            status.contains(&format!("Groups:\t{NOBODY}")) || status.contains("Groups:\t \n"),
            "{status}"
        );
        let error = TcpListener::bind("127.0.0.1:81").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert_eq!(fs::read("/etc/shadow").unwrap_err().kind(), ErrorKind::PermissionDenied);
        fs::write(place.join("write/ledger"), "record\n").unwrap();
    }
}
