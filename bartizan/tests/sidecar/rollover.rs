//! Intermediate and root take each other's place while requests pass: `bartizan ca rollover`, step
//! by step, as its documents say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bartizan_host::{Finished, Program};

use crate::reload::reloads;
use crate::stage::{By, Node, PATIENCE, Pair, Papers, Running, Stage, curl, until};

/// An authority of the command line, and the hosts of two functions.
struct Hosts {
    ca: PathBuf,
    folder: PathBuf,
}

impl Hosts {
    fn new(stage: &Stage, init: &[&str]) -> Self {
        let hosts = Self {
            ca: stage.path("authority"),
            folder: stage.path(""),
        };
        hosts.ca("init", init);
        for name in ["amf", "nrf"] {
            let (out, dns) = (hosts.folder.join(name), format!("{name}.5gc"));
            hosts.ca(
                "issue",
                &["--name", name, "--dns", &dns, "--out", &out.display().to_string()],
            );
        }
        hosts
    }

    fn run(&self, command: &[&str], more: &[&str]) -> Finished {
        let program = Program::new(env!("CARGO_BIN_EXE_bartizan")).argument("ca");
        let program = program.arguments(command).argument("--dir").argument(&self.ca);
        program.arguments(more).start().unwrap().finish(PATIENCE).unwrap()
    }

    /// `bartizan ca COMMAND`, which has to succeed.
    fn ca(&self, command: &str, more: &[&str]) {
        let command: Vec<&str> = command.split(' ').collect();
        let finished = self.run(&command, more);
        let said = String::from_utf8_lossy(&finished.stderr);
        assert!(finished.status.success(), "{command:?}: {said}");
    }

    /// The same, which has to be refused with these words.
    fn refused(&self, command: &str, words: &str) {
        let command: Vec<&str> = command.split(' ').collect();
        let finished = self.run(&command, &[]);
        let said = String::from_utf8_lossy(&finished.stderr);
        assert_eq!(finished.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains(words), "{said}");
    }

    fn papers(&self, name: &str) -> Papers {
        let file = |end: &str| self.folder.join(name).join(format!("{name}.{end}"));
        Papers {
            certificate: file("crt.pem"),
            key: file("key.pem"),
            roots: self.roots(name),
            serial: String::new(),
        }
    }

    fn roots(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("ca.crt.pem")
    }

    /// The file of revocation lists of a host.
    fn lists(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("ca.crl.pem")
    }

    /// Gives a host the newest lists.
    fn give_lists(&self, name: &str) {
        let (file, staged) = (self.lists(name), self.folder.join(name).join("new"));
        std::fs::copy(self.ca.join("crl.pem"), &staged).unwrap();
        std::fs::rename(staged, file).unwrap();
    }

    /// Gives every host the lists, which have one of a new issuer, and waits until they are read.
    fn give_lists_to_all(&self, running: &Running) {
        for (name, node) in [("amf", &running.amf), ("nrf", &running.nrf)] {
            let before = reloads(node, "done");
            self.give_lists(name);
            until("the lists are read", || reloads(node, "done") > before);
        }
    }

    /// Renews the certificate of a function, one host after the other: there are moments at which
    /// one has what the other has not.
    fn renew_all(&self, running: &Running) {
        for (name, node) in [("amf", &running.amf), ("nrf", &running.nrf)] {
            let before = reloads(node, "done");
            let out = self.folder.join(name);
            self.ca("renew", &[name, "--out", &out.display().to_string()]);
            until("the reload", || reloads(node, "done") > before);
            assert_eq!(reloads(node, "refused"), 0.0, "{}", node.process.stderr());
        }
    }
}

/// Starts both sidecars, each with the roots of its own host.
fn start(stage: &Stage, pair: &Pair, hosts: &Hosts) -> Running {
    let start = |name: &str, admin| -> Node {
        let of_host = |other: &str| Papers {
            roots: hosts.roots(name),
            ..hosts.papers(other)
        };
        let pair = Pair {
            crl: Some(hosts.lists(name)),
            ..pair.clone()
        };
        hosts.give_lists(name);
        let file = stage.deployment(&format!("host-of-{name}"), &pair, &of_host("amf"), &of_host("nrf"));
        stage.start(&file, name, admin)
    };
    Running {
        nrf: start("nrf", pair.ports.nrf_admin),
        amf: start("amf", pair.ports.amf_admin),
        ports: pair.ports,
    }
}

/// Requests one after the other until it is dropped; what is not answered by 200 is counted.
struct Traffic {
    end: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Traffic {
    fn start(url: String) -> Self {
        let (end, asked, failed) = <(Arc<AtomicBool>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let of_thread = (Arc::clone(&end), Arc::clone(&asked), Arc::clone(&failed));
        let thread = thread::spawn(move || {
            let (end, asked, failed) = of_thread;
            while !end.load(Ordering::Relaxed) {
                let arguments = [
                    "--http2-prior-knowledge",
                    "--output",
                    "/dev/null",
                    "--write-out",
                    "%{http_code}",
                    &url,
                ];
                let answered = curl(&arguments).start().unwrap().finish(PATIENCE).unwrap();
                asked.fetch_add(1, Ordering::Relaxed);
                if answered.text() != "200" {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self {
            end,
            asked,
            failed,
            thread: Some(thread),
        }
    }

    /// Some more requests have been answered, and none was not.
    fn goes_on(&self) {
        let before = self.asked.load(Ordering::Relaxed);
        until("requests", || self.asked.load(Ordering::Relaxed) > before + 3);
        assert_eq!(self.failed.load(Ordering::Relaxed), 0);
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn certificates(file: &Path) -> usize {
    std::fs::read_to_string(file)
        .unwrap()
        .matches("BEGIN CERTIFICATE")
        .count()
}

#[test]
fn intermediate_and_root_are_replaced_and_no_request_fails() {
    let stage = Stage::new();
    let mut pair = Pair::new(By::Http2, By::Http2);
    // The hardest: a certificate is refused whose issuer has no list here.
    pair.policy = "{ profile: hybrid, revocation: require }".to_owned();
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let hosts = Hosts::new(&stage, &["--algorithm", "ml-dsa-65", "--intermediate"]);
    let running = start(&stage, &pair, &hosts);
    let traffic = Traffic::start(format!("http://{}/hello", pair.ports.outbound));
    traffic.goes_on();

    hosts.ca("rollover intermediate", &[]);
    hosts.give_lists_to_all(&running);
    hosts.renew_all(&running);
    traffic.goes_on();

    hosts.refused("rollover activate-root", "no next root is published");
    hosts.ca("rollover publish-root", &["--algorithm", "ml-dsa-87"]);
    hosts.refused(
        "rollover activate-root",
        "2 functions have certificates of before the next root was published: amf, nrf",
    );
    hosts.renew_all(&running);
    assert_eq!(["amf", "nrf"].map(|name| certificates(&hosts.roots(name))), [2, 2]);
    let listed = hosts.run(&["list"], &[]).text();
    let row = |words: &str| listed.lines().filter(|line| line.contains(words)).count();
    assert_eq!((row("valid, next"), row("valid, previous")), (1, 1), "{listed}");
    traffic.goes_on();

    hosts.ca("rollover activate-root", &[]);
    hosts.give_lists_to_all(&running);
    hosts.refused(
        "rollover retire-roots",
        "2 functions have certificates below the root of before: amf, nrf",
    );
    hosts.renew_all(&running);
    traffic.goes_on();

    hosts.ca("rollover retire-roots", &[]);
    hosts.renew_all(&running);
    assert_eq!(["amf", "nrf"].map(|name| certificates(&hosts.roots(name))), [1, 1]);
    traffic.goes_on();
    let asked = traffic.asked.load(Ordering::Relaxed);
    drop(traffic);
    println!("{asked} requests, none of them failed");

    // The certificates of the last handshakes are the new root's alone; OpenSSL sees the same.
    let papers = hosts.papers("amf");
    let verified = bartizan_testing::lab_root().command("openssl").unwrap();
    let verified = verified
        .argument("verify")
        .argument("-CAfile")
        .argument(hosts.roots("nrf"));
    let verified = verified.argument("-untrusted").argument(&papers.certificate);
    let verified = verified
        .argument(&papers.certificate)
        .start()
        .unwrap()
        .finish(PATIENCE)
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stderr)
    );
}
