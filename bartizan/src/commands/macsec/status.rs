//! `bartizan status` and `bartizan rekey` for MACsec links.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_macsec::control::Question;
use bartizan_macsec::link::Status;

use super::MacsecHost;
use super::report::{Guarded, Report};
use crate::commands::show;
use crate::{Failure, Outcome};

const LOOK: Duration = Duration::from_millis(20);

/// Reports the state of the links from their controller, and of the guard.
pub(crate) fn run(host: &MacsecHost, no_guard: bool, json: bool) -> Result<Outcome, Failure> {
    let answer = host.ask(Question::Status)?;
    let guard = (!no_guard).then(|| Guarded::of(&host.guard()));
    let links = match &answer {
        Some(answer) => answer.links.clone(),
        // State in the kernel.
        None => {
            let found = |setting| Status::found(setting).unwrap_or_else(|error| Status::closed(setting, &error));
            host.settings.iter().map(found).collect()
        }
    };
    let report = Report::new(&host.node, answer.is_some(), guard, links);
    show(&report, json, || report.text(), report.well)
}

/// Another key for each link; it ends when they are in use.
pub(crate) fn rekey(host: &MacsecHost, fresh: bool, timeout: Duration, json: bool) -> Result<Outcome, Failure> {
    let absent = || Failure::new(format!("no controller of {} runs", host.node)).hint("`bartizan up` starts one");
    let before = host.ask(Question::Rekey { fresh })?.ok_or_else(absent)?.links;
    let deadline = Instant::now() + timeout;
    loop {
        let links = host.ask(Question::Status)?.ok_or_else(absent)?.links;
        let late = links
            .iter()
            .zip(&before)
            .filter(|(now, then)| !is_rekeyed(now, then, fresh));
        let late: Vec<_> = late.map(|(now, _)| now.link.as_str()).collect();
        if late.is_empty() {
            let report = Report::new(&host.node, true, None, links);
            return show(&report, json, || report.text(), report.well);
        }
        if Instant::now() >= deadline {
            let failure = Failure::new(format!(
                "{} was not rekeyed within {} s",
                late.join(", "),
                timeout.as_secs()
            ));
            return Err(
                failure.hint("does the peer answer? `bartizan status` says; frames go on under the keys before")
            );
        }
        thread::sleep(LOOK);
    }
}

/// Returns true if the key in use, by its name, has changed; with `fresh`, by a new exchange. The
/// name decides, as counts begin anew with a successor.
fn is_rekeyed(now: &Status, then: &Status, fresh: bool) -> bool {
    let key = |status: &Status| status.sends.as_ref().map(|association| association.key_id.clone());
    let sends = key(now).is_some() && key(now) != key(then);
    sends && (!fresh || now.exchanges != then.exchanges)
}
