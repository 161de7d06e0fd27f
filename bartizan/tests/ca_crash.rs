//! The authority killed at any write: no serial number reused, no half key, no lost record.
//!
//! The binary under test is the one users run, with nothing built in for the test: it is traced, and killed on its way
//! into its n-th system call that changes something on disk, for every n until it comes to its end unharmed.
#![cfg(target_os = "linux")]

mod authority;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime};

use authority::Place;
use bartizan_pki::{Authority, Certificate, Error, Leaf, PrivateKey, Register, Role, State};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// More writes than any command makes: a command that never ends would be noticed here.
const MOST_WRITES: usize = 2_000;

/// End of a traced command.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    Exited(i32),
}

/// Runs a command and kills it on its way into its `nth` write.
#[expect(clippy::zombie_processes, reason = "waitpid reaps what it traces")]
fn run_and_kill(mut command: Command, nth: usize) -> End {
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    // SAFETY: between fork and exec only ptrace(PTRACE_TRACEME) is called, which is async-signal-safe.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(std::io::Error::from)) };
    let child = command.spawn().expect("the binary starts");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    assert!(matches!(
        waitpid(pid, None),
        Ok(WaitStatus::Stopped(_, Signal::SIGTRAP))
    ));
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(pid, options).expect("traced");
    let (mut writes, mut signal) = (0, None);
    loop {
        ptrace::syscall(pid, signal.take()).expect("traced");
        match waitpid(pid, None).expect("a child") {
            WaitStatus::PtraceSyscall(_) => {
                if is_write(pid) {
                    if writes == nth {
                        ptrace::kill(pid).expect("killed");
                        assert!(matches!(
                            waitpid(pid, None),
                            Ok(WaitStatus::Signaled(_, Signal::SIGKILL, _))
                        ));
                        return End::Killed;
                    }
                    writes += 1;
                }
            }
            WaitStatus::Stopped(_, other) => signal = Some(other),
            WaitStatus::Exited(_, code) => return End::Exited(code),
            other => panic!("{other:?}"),
        }
    }
}

/// True on the way into a system call that changes something on disk.
fn is_write(pid: Pid) -> bool {
    let info = ptrace::syscall_info(pid).expect("a stopped child");
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return false;
    }
    // SAFETY: `entry` is the variant the kernel fills for PTRACE_SYSCALL_INFO_ENTRY.
    let (number, arguments) = unsafe { (info.u.entry.nr, info.u.entry.args) };
    let Ok(number) = libc::c_long::try_from(number) else {
        return false;
    };
    let creates = arguments[2] & u64::from(libc::O_CREAT.unsigned_abs()) != 0;
    match number {
        libc::SYS_openat => creates,
        libc::SYS_write
        | libc::SYS_pwrite64
        | libc::SYS_writev
        | libc::SYS_pwritev
        | libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_ftruncate
        | libc::SYS_fallocate
        | libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_unlinkat
        | libc::SYS_mkdirat
        | libc::SYS_linkat => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename | libc::SYS_unlink | libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_link => true,
        _ => false,
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn files(dir: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect()
}

/// Every key file under its own name holds a whole key, crash or not.
fn no_key_is_half(dir: &Path) {
    for path in files(dir, ".key.pem") {
        if path
            .file_name()
            .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
        {
            let text = fs::read(&path).expect("readable");
            PrivateKey::from_pem(&text, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Every visible certificate is in the records, before anything is repaired.
fn no_certificate_is_unknown(ca: &Path, out: &Path) {
    let seen = files(out, ".crt.pem");
    let seen: Vec<_> = seen.iter().filter(|path| !path.ends_with("ca.crt.pem")).collect();
    if seen.is_empty() {
        return;
    }
    let known: Vec<Vec<u8>> = Register::open(ca)
        .and_then(|register| register.entries())
        .expect("records")
        .iter()
        .map(|entry| entry.certificate.der().to_vec())
        .collect();
    for path in seen {
        let text = fs::read(path).expect("readable");
        let certificate =
            Certificate::from_pem(&text, "out").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            known.contains(&certificate.der().to_vec()),
            "{} is not recorded",
            path.display()
        );
    }
}

/// Opens the authority, as the next command would, and looks at everything.
fn all_is_well_after_recovery(ca: &Path, out: &Path, before: &BTreeSet<String>) -> Vec<String> {
    let mut authority = Authority::open(ca, None, SystemTime::now()).expect("the authority opens");
    let entries = authority.list().expect("records");
    let serials: BTreeSet<String> = entries.iter().map(|entry| entry.serial.to_string()).collect();
    assert_eq!(serials.len(), entries.len(), "a serial number twice");
    assert!(before.is_subset(&serials), "a record was lost");
    assert!(
        entries.iter().all(|entry| entry.state != State::Pending),
        "a certificate left in between"
    );
    no_key_is_half(ca);
    no_key_is_half(out);
    for path in files(out, ".key.pem") {
        let certificate = path.to_string_lossy().replace(".key.pem", ".crt.pem");
        let key = PrivateKey::from_pem(&fs::read(&path).expect("readable"), None).expect("a key");
        let text = fs::read(&certificate).unwrap_or_else(|error| panic!("{certificate}: {error}"));
        let certificate = Certificate::from_pem(&text, "out").expect("a certificate");
        assert_eq!(key.public_key(), certificate.public_key(), "{}", path.display());
        let entry = entries
            .iter()
            .find(|entry| entry.certificate.der() == certificate.der());
        let state = entry.map(|entry| entry.state);
        assert!(
            matches!(state, Some(State::Issued | State::Revoked)),
            "{}: {state:?}",
            path.display()
        );
    }
    let partial: Vec<_> = [files(out, ".partial"), files(ca, ".partial")].concat();
    assert!(partial.is_empty(), "half a file is left: {partial:?}");
    let list = fs::read_to_string(ca.join("crl.pem")).expect("a revocation list");
    assert_eq!(list, authority.crl().expect("a revocation list"));
    let later = Leaf::new("later")
        .and_then(|leaf| leaf.dns("later.5gc"))
        .expect("a name");
    let later = authority
        .issue(&later, SystemTime::now())
        .expect("the authority goes on");
    assert!(!serials.contains(&later.serial.to_string()), "a serial number twice");
    serials.into_iter().collect()
}

/// OpenSSL takes the revocation list, and finds on it what is revoked.
fn the_list_is_openssls_too(place: &Place, ca: &str, out: &Path) {
    let root = place.path(&format!("{ca}/root.crt.pem"));
    let list = place.openssl_works(&format!("crl -in {ca}/crl.pem -CAfile {ca}/root.crt.pem -noout -text"));
    let register = Register::open(&place.path(ca)).expect("records");
    for entry in register.entries().expect("records") {
        let serial = entry.serial.to_string().to_uppercase();
        assert_eq!(
            list.contains(&serial),
            entry.revocation().is_some(),
            "{serial} in\n{list}"
        );
    }
    for path in files(out, ".crt.pem") {
        let (root, path) = (root.display(), path.display());
        place.openssl_works(&format!("verify -x509_strict -CAfile {root} {path}"));
    }
}

/// Kills `bartizan ca COMMAND` at every write, on a fresh copy of `template` each time; gives how
/// many writes there were.
fn kill_at_every_write(place: &Place, template: &str, command: &str) -> usize {
    let before: BTreeSet<String> = Register::open(&place.path(&format!("{template}/ca")))
        .and_then(|register| register.entries())
        .expect("records")
        .iter()
        .map(|entry| entry.serial.to_string())
        .collect();
    let mut ever_issued = before.clone();
    for nth in 0..MOST_WRITES {
        let run = format!("run-{nth}");
        let (dir, ca, out) = (
            place.path(&run),
            place.path(&format!("{run}/ca")),
            place.path(&format!("{run}/out")),
        );
        copy(&place.path(template), &dir);
        let mut traced = place.command(command);
        traced.current_dir(&dir);
        let end = run_and_kill(traced, nth);

        no_key_is_half(&ca);
        no_key_is_half(&out);
        no_certificate_is_unknown(&ca, &out);
        let serials = all_is_well_after_recovery(&ca, &out, &before);
        // Serial numbers issued in this run, handed out or not, are used by no other run.
        for serial in serials.into_iter().filter(|serial| !before.contains(serial)) {
            assert!(
                ever_issued.insert(serial.clone()),
                "serial number {serial} was used twice"
            );
        }
        if nth % 7 == 0 || end != End::Killed {
            the_list_is_openssls_too(place, &format!("{run}/ca"), &out);
        }
        fs::remove_dir_all(&dir).expect("removed");
        match end {
            End::Killed => {}
            End::Exited(code) => {
                assert_eq!(code, 0, "{command}");
                return nth;
            }
        }
    }
    panic!("{command} never ended");
}

/// An authority that has issued to `nrf` and `amf` and revoked the latter.
fn template(place: &Place) -> &'static str {
    place.ca_works("init --dir template/ca --algorithm ml-dsa-44");
    place.ca_works("issue --dir template/ca --name nrf --dns nrf.5gc --out template/out");
    place.ca_works("issue --dir template/ca --name amf --dns amf.5gc --out template/out");
    place.ca_works("revoke --dir template/ca amf");
    "template"
}

#[test]
fn an_issue_killed_at_every_write_loses_nothing() {
    let place = Place::in_memory();
    let template = template(&place);
    let writes = kill_at_every_write(&place, template, "issue --dir ca --name smf --dns smf.5gc --out out");
    assert!(writes > 15, "only {writes} writes were seen");
}

#[test]
fn a_renewal_in_place_killed_at_every_write_leaves_key_and_certificate_together() {
    let place = Place::in_memory();
    let template = template(&place);
    let writes = kill_at_every_write(&place, template, "renew --dir ca nrf --out out --revoke-old");
    assert!(writes > 20, "only {writes} writes were seen");
}

#[test]
fn a_next_root_killed_at_every_write_is_published_or_never_was() {
    let place = Place::in_memory();
    let template = template(&place);
    let writes = kill_at_every_write(&place, template, "rollover publish-root --dir ca");
    assert!(writes > 15, "only {writes} writes were seen");
}

#[test]
fn a_revocation_killed_at_every_write_is_done_or_not_done() {
    let place = Place::in_memory();
    let template = template(&place);
    let writes = kill_at_every_write(&place, template, "revoke --dir ca nrf --reason key-compromise");
    assert!(writes > 8, "only {writes} writes were seen");
}

#[test]
fn a_signed_request_killed_at_every_write_is_recorded_before_it_is_seen() {
    let place = Place::in_memory();
    let template = template(&place);
    place.openssl_works("genpkey -algorithm ML-DSA-44 -out template/upf.key");
    place.openssl_works("req -new -key template/upf.key -subj /CN=upf -out template/upf.csr");
    let writes = kill_at_every_write(&place, template, "sign --dir ca --csr upf.csr --dns upf.5gc --out out");
    assert!(writes > 12, "only {writes} writes were seen");
}

#[test]
fn an_initialisation_killed_at_every_write_leaves_no_authority_or_a_whole_one() {
    let place = Place::in_memory();
    let init = "init --dir ca --algorithm ml-dsa-44 --intermediate";
    let (mut none, mut unfinished, mut whole) = (0, 0, 0);
    for nth in 0..MOST_WRITES {
        let run = format!("run-{nth}");
        let ca = place.path(&format!("{run}/ca"));
        fs::create_dir(place.path(&run)).expect("a directory");
        let mut traced = place.command(init);
        traced.current_dir(place.path(&run));
        let end = run_and_kill(traced, nth);

        no_key_is_half(&ca);
        match Authority::open(&ca, None, SystemTime::now()) {
            Ok(authority) => {
                whole += 1;
                assert!(authority.intermediate().is_some());
            }
            Err(Error::NoAuthority(_)) => {
                none += 1;
                place.ca_works(&format!("init --dir {run}/ca --algorithm ml-dsa-44 --intermediate"));
            }
            Err(Error::Unfinished(_)) => {
                unfinished += 1;
                place.ca_works(&format!("init --dir {run}/ca --algorithm ml-dsa-44 --intermediate"));
            }
            Err(other) => panic!("write {nth}: {other}"),
        }
        if nth % 5 == 0 || end != End::Killed {
            place.ca_works(&format!(
                "issue --dir {run}/ca --name nrf --dns nrf.5gc --out {run}/out"
            ));
            let out = format!("{run}/out");
            place.openssl_works(&format!(
                "verify -x509_strict -CAfile {run}/ca/root.crt.pem -untrusted {out}/nrf.crt.pem {out}/nrf.crt.pem"
            ));
        }
        let mut left: Vec<String> = fs::read_dir(&ca)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        let expected = [
            "ca.lock",
            "ca.sqlite",
            "crl.pem",
            "intermediate.crt.pem",
            "intermediate.key.pem",
            "root.crt.pem",
            "root.key.pem",
        ];
        assert_eq!(left, expected, "write {nth}");
        fs::remove_dir_all(place.path(&run)).expect("removed");
        if end != End::Killed {
            assert_eq!(end, End::Exited(0));
            assert!(none > 0 && unfinished > 10 && whole > 3, "{none} {unfinished} {whole}");
            return;
        }
    }
    panic!("the initialisation never ended");
}

#[test]
fn processes_killed_at_random_moments_while_they_compete_lose_nothing() {
    const ROUNDS: u64 = 40;
    let place = Place::in_memory();
    place.ca_works("init --dir ca --algorithm ml-dsa-44");
    // The duration of a command on this machine decides the moments at which it can be caught at
    // work.
    let began = Instant::now();
    for number in 0..3 {
        place.ca_works(&format!("issue --dir ca --name first-{number} --dns nf.5gc --out out"));
    }
    let mut usual = began.elapsed() / 3;
    // A fixed sequence of numbers (multiplicative congruential, Park and Miller): the scheduler adds chance enough.
    let mut seed = 20_261_121_u64;
    let mut chance = || {
        seed = seed * 16_807 % 0x7fff_ffff;
        seed as f64 / f64::from(0x7fff_ffff)
    };
    let mut killed = 0;
    for round in 0..ROUNDS {
        let [mut victim, mut survivor] = ["victim", "survivor"].map(|who| {
            place
                .command(&format!("issue --dir ca --name {who}-{round} --dns nf.5gc --out out"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("the binary starts")
        });
        std::thread::sleep(usual.mul_f64(chance()));
        // A child that has ended already cannot be killed: it counts as one that was not.
        let _ = victim.kill();
        let is_killed = victim.wait().expect("a child").code().is_none();
        killed += usize::from(is_killed);
        // The machine may be faster or slower by now than it was.
        usual = usual.mul_f64(if is_killed { 1.25 } else { 0.75 });
        assert!(
            survivor.wait().expect("a child").success(),
            "the one that is not killed goes on"
        );
        no_key_is_half(&place.path("out"));
        no_certificate_is_unknown(&place.path("ca"), &place.path("out"));
    }
    assert!(killed > 5, "only {killed} processes were killed at work");
    let serials = all_is_well_after_recovery(&place.path("ca"), &place.path("out"), &BTreeSet::new());
    assert!(serials.len() > 40, "every survivor is recorded");
    let register = Register::open(&place.path("ca")).expect("records");
    for entry in register.entries().expect("records") {
        if entry.role == Role::NetworkFunction && &entry.name != "later" {
            let delivered = place.path(&format!("out/{}.key.pem", &entry.name)).exists();
            assert_eq!(delivered, entry.state == State::Issued, "{}", &entry.name);
        }
    }
}
