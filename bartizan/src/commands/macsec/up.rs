//! `bartizan up` for MACsec links: the guard, then the controller, which stays.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use bartizan_deployment::{Files, Node};
use bartizan_ledger::Ledger;
use bartizan_macsec::Controller;
use bartizan_macsec::control::Control;
use bartizan_macsec::guard;
use bartizan_macsec::link::{Setting, Status, endpoint};
use bartizan_sidecar::handover::Notify;
use bartizan_tls::{Credentials, Endpoint};

use super::report::{self, Report};
use super::{MacsecHost, failed, guard_failed};
use crate::commands::fetching::Lists;
use crate::commands::guard::{Kind, stays};
use crate::commands::watched::Watched;
use crate::interrupt::Interrupt;
use crate::output::{errln, outln};
use crate::{Failure, Outcome};

/// The options of `up`.
pub(crate) struct Options<'a> {
    pub(crate) ledger: Option<&'a Path>,
    pub(crate) no_guard: bool,
    pub(crate) json: bool,
}

/// Brings the links up and stays until a signal comes, or `down` asks for the end.
pub(crate) fn run(host: &MacsecHost, options: &Options<'_>) -> Result<Outcome, Failure> {
    // The guard of a controller that runs stays as its file has it.
    let control = match control(&host.directory, &host.node) {
        Err(failure) if failure.held => return Err(failure),
        control => control,
    };
    let interrupt = Interrupt::install()?;
    let systemd = Notify::from_environment();
    let guard = (!options.no_guard).then(|| host.guard());
    // Before files, keys and devices: whatever of them fails, nothing unencrypted passes.
    if let Some(guard) = &guard {
        let closed = guard.close().map_err(|error| guard_failed(&error));
        closed.map_err(|failure| {
            failure.hint("--no-guard does without: what does not use the MACsec device then passes unencrypted")
        })?;
    }
    let is_guarded = guard.is_some();
    let outcome = after_the_guard(host, options, guard, control, (&interrupt, &systemd));
    outcome.map_err(|failure| match is_guarded {
        true => stays(failure, &host.node, Kind::Macsec),
        false => failure,
    })
}

/// The lock and the socket of a node's controller.
fn control(directory: &Path, node: &str) -> Result<Control, Failure> {
    let control = Control::open(directory).map_err(Failure::new)?;
    control.ok_or_else(|| {
        Failure::new(format!("a controller of {node} runs already"))
            .hint("`bartizan status` asks it, `bartizan down` ends it")
            .held()
    })
}

fn after_the_guard(
    host: &MacsecHost,
    options: &Options<'_>,
    guard: Option<guard::Guard>,
    control: Result<Control, Failure>,
    (interrupt, systemd): (&Interrupt, &Notify),
) -> Result<Outcome, Failure> {
    systemd.status("the guard is installed; no link is up yet");
    systemd.ready();
    // A link whose CAK is in a file exchanges nothing, and needs no certificate.
    let mut endpoint = if host.settings.iter().any(Setting::has_certificate) {
        let node = host.deployment.node(&host.node);
        let files = node.and_then(|node| node.files.as_ref().map(|files| (node, files)));
        // The file is refused without.
        let (node, files) = files.ok_or_else(|| Failure::usage(format!("{} has no certificate", host.node)))?;
        let mut fetched = Lists::of_tls(files);
        fetched.as_mut().map(Lists::first).transpose()?;
        let watched = Watched::new(files.watched().cloned().collect());
        let credentials = Credentials::load(files).and_then(|read| usable(read, node, files));
        let endpoint = credentials.and_then(|credentials| endpoint(&host.deployment, &host.node, credentials));
        Some((endpoint.map_err(refused)?, watched, node, files, fetched))
    } else {
        None
    };
    let control = control?;
    let ledger = match options.ledger {
        Some(path) => Ledger::open(path, &host.node).map_err(Failure::new)?,
        None => Ledger::none(),
    };
    crate::commands::ipsec::start_log();
    if options.ledger.is_none() {
        tracing::warn!(hint = "give --ledger", "nothing is recorded");
    }
    let mut settings = host.settings.clone();
    for setting in &mut settings {
        setting.guard.clone_from(&guard);
    }
    let first = endpoint.as_ref().map(|(endpoint, ..)| endpoint.clone());
    for flaw in first.iter().flat_map(Endpoint::flaws) {
        tracing::warn!(file = %flaw.place, hint = %flaw.hint, "{}", flaw.cause);
    }
    let fetched = endpoint.as_mut().and_then(|(.., fetched)| fetched.take());
    let _fetching = fetched.map(|lists| lists.keep(|_| ())).transpose()?;
    let (sends, reloaded) = mpsc::channel();
    let controller = Controller::new(settings, first, ledger.recorder()).reloading(reloaded);
    if let Some((link, error)) = controller.trouble() {
        let failure = failed(error);
        return Err(failure.hint(format!("the link is {link} of {}", host.node)));
    }
    let over = AtomicBool::new(false);
    let stop = || over.load(Ordering::Relaxed) || interrupt.asked();
    thread::scope(|scope| {
        if let Some(guard) = &guard {
            scope.spawn(|| guard::keep(guard, &stop));
        }
        if let Some((mut endpoint, mut watched, node, files, _)) = endpoint {
            let stop = &stop;
            scope.spawn(move || {
                watched.each_change(stop, || {
                    let credentials = endpoint.credentials().load_again(files);
                    let credentials = credentials.and_then(|read| usable(read, node, files));
                    endpoint = credentials
                        .and_then(|read| endpoint.with_credentials(read))
                        .map_err(refused)?;
                    // The controller is there for as long as this thread.
                    let _ = sends.send(endpoint.clone());
                    tracing::info!("reloaded: links are judged by what the files say now");
                    Ok(())
                });
            });
        }
        let mut said = Vec::new();
        controller.run(Some(&control), &|| interrupt.asked(), &mut |links| {
            systemd.status(&format!(
                "{} of {} links up",
                links.iter().filter(|link| link.up).count(),
                links.len()
            ));
            announce(host, links, &mut said, options.json);
        });
        over.store(true, Ordering::Relaxed);
    });
    systemd.stopping();
    Ok(Outcome::Clean)
}

/// Credentials that fit the node; says what is left of their lists.
fn usable(credentials: Credentials, node: &Node, files: &Files) -> Result<Credentials, bartizan_tls::Error> {
    credentials.check_identity(&node.identity)?;
    let shown = files
        .crl
        .as_ref()
        .map(|file| file.display().to_string())
        .unwrap_or_default();
    for older in credentials.older_lists() {
        errln!("note: {shown} {older}");
    }
    if let Err(error) = credentials.remember_lists() {
        errln!("note: the newest revocation lists are not remembered: {error}");
    }
    Ok(credentials)
}

fn refused(error: bartizan_tls::Error) -> Failure {
    Failure::new(&error).with_hints(error.hint())
}

/// Says of each link when it comes up, and when its peer no longer answers.
fn announce(host: &MacsecHost, links: &[Status], said: &mut Vec<(bool, bool)>, json: bool) {
    let now: Vec<_> = links.iter().map(|link| (link.up, link.peer_answers)).collect();
    if now == *said {
        return;
    }
    if json {
        let report = Report::new(&host.node, true, None, links.to_vec());
        if let Ok(text) = serde_json::to_string(&report) {
            outln!("{text}");
        }
    } else {
        for (index, link) in links.iter().enumerate() {
            if said.get(index) != now.get(index) && (link.up || !said.is_empty()) {
                outln!("{}", report::headline(link));
            }
        }
    }
    *said = now;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before, the second `up` replaced the guard of the first by that of its own file: ports that
    /// this file lacks were open until the first had noticed.
    #[test]
    fn a_second_controller_leaves_the_guard_of_the_first_alone() {
        let place = tempfile::tempdir().unwrap();
        let (file, directory) = (place.path().join("fh.yaml"), place.path().join("odu"));
        let text = "trust: { roots: ca.crt.pem }\nnodes:\n  \
                    odu: { function: O-DU, address: 10.0.0.1, certificate: odu.crt.pem, key: odu.key.pem }\n  \
                    oru: { function: O-RU, address: 10.0.0.2, certificate: oru.crt.pem, key: oru.key.pem }\ninterfaces:\n  \
                    - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: btz-none0, oru: eth0 } } }\n";
        std::fs::write(&file, text).unwrap();
        let host = MacsecHost::meant(&file, "odu", None, Some(&directory))
            .unwrap()
            .unwrap();
        let first = control(&directory, "odu").unwrap();
        let options = Options {
            ledger: None,
            no_guard: false,
            json: false,
        };
        // The attempt to install a guard would fail: there is no such port.
        let refused = run(&host, &options).unwrap_err();
        assert_eq!(&refused.message, "a controller of odu runs already");
        assert!(!refused.hints().contains("guard"), "{}", refused.hints());
        drop(first);
        control(&directory, "odu").unwrap();
        // Any other failure leaves a guard of this command.
        let other = stays(Failure::new("no certificate"), "odu", Kind::Macsec);
        assert!(other.hints().contains("the guard of odu is installed and stays"));
    }
}
