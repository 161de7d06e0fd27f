//! `bartizan sidecar redirect watch`: the rules installed, compared with what they should be, and repaired, until it is asked to end.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::day_of;
use bartizan_redirect::{Error, Installed, Plan, RuleState, RulesMonitor, UnprotectedPeer};
use bartizan_sidecar::handover::Notify;

use tokio::signal::unix::{SignalKind, signal};

use super::{PlanArgs, differences, install_or_say_what_stays, words};

use crate::commands::log;
use crate::{Failure, Outcome};

/// For how many turns of comparison the sidecar believes the last one: a busy host is late.
const BELIEVED: u32 = 5;

/// Install redirect, guard and fence, compare them with the file again and again, and install again what was changed.
///
/// A changed file is read again, and every turn looks at the date: an exception that has ended is
/// closed in all three. Each difference is logged. The guard answers the sidecar, which may not
/// read the rules itself, that they are what they should be, for as long as that was found a moment
/// ago: `/ready` is 503 where they are not, and where no watch compares them any more. SIGTERM and
/// SIGINT end it and leave the rules.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan sidecar redirect watch core.yaml --node amf")]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Do without the fence.
    #[arg(long)]
    no_fence: bool,
    /// Refuse, and count, what is sent to addresses that the file does not list.
    #[arg(long)]
    strict: bool,
    /// Time between two comparisons, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

/// Differences of one mechanism that are logged.
const NAMED: usize = 20;
/// Period in which a lasting complaint is logged again, and rules that cannot be read are installed
/// again.
const ALARM: Duration = Duration::from_secs(60);

/// Installed and reported state.
struct Watching<'a> {
    args: &'a Args,
    rules: Installed,
    monitor: RulesMonitor,
    /// The state of the file, and the day, that the rules are of.
    read: Option<Read>,
    /// The last complaint, and when it was logged.
    complaint: Option<(String, Instant)>,
}

bartizan_registry::made! {
    /// One state of the file, and the day for which it was read.
    #[derive(Debug, PartialEq, Eq)]
    struct Read,
    /// The state of a file now; none where it cannot be read.
    of(file: &Path) -> Option<Self> {
        let found = std::fs::metadata(file).ok()?;
        file: [u64; 4] = [found.dev(), found.ino(), found.size(), u64::from(found.mode())],
        changed: [i64; 4] = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()],
        day: time::Date = day_of(SystemTime::now()),
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    log::start(log::info());
    let rules = args.plan.rules(!args.no_fence, args.strict)?;
    let every = Duration::from_secs(args.every);
    install_or_say_what_stays(&rules)?;
    let mut watching = Watching {
        args,
        rules,
        monitor: RulesMonitor::default(),
        read: None,
        complaint: None,
    };
    watching.look();
    let notify = Notify::from_environment();
    let failed = |error| Failure::new(format!("cannot catch signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        notify.ready();
        let looking = async {
            loop {
                tokio::time::sleep(every).await;
                watching.look();
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = looking => {}
            never = notify.keep_alive(async || ()) => match never {},
        }
        notify.stopping();
        Ok(Outcome::Clean)
    })
}

/// Returns peers unprotected by a plan whose exception has ended at `now`.
fn ended(plan: &Plan, now: SystemTime) -> impl Iterator<Item = &UnprotectedPeer> {
    let until = move |unprotected: &&UnprotectedPeer| {
        unprotected
            .until
            .as_ref()
            .is_some_and(|until| until.days_left(now) == 0)
    };
    plan.unprotected_peers.iter().filter(until)
}

impl Watching<'_> {
    /// Compares once, repairs what was changed, and has the guard answer accordingly.
    fn look(&mut self) {
        // Before it is read: a change meanwhile is seen the next time.
        let now = Read::of(&self.args.plan.file);
        let is_usable = now.is_some() && now == self.read || self.read_again();
        self.read = now.filter(|_| is_usable);
        let repaired = self.repaired();
        // Rules of a file that cannot be used are not known to be what it asks for.
        let confirmed = match repaired.is_ok() && is_usable {
            true => self.confirm(),
            // Without a guard, this has no effect.
            false => self.rules.deny().or(Ok(())),
        };
        match repaired.and(confirmed) {
            Ok(()) if is_usable => self.complaint = None,
            Ok(()) => {}
            Err(complaint) => {
                let _ = self.rules.deny();
                self.monitor = RulesMonitor::default();
                self.complain(&complaint);
            }
        }
    }

    /// Reads the file, and installs what it asks for where that is something else. Whether it can
    /// be used.
    fn read_again(&mut self) -> bool {
        match self.args.plan.rules(!self.args.no_fence, self.args.strict) {
            Ok(asked) if asked.plan() != self.rules.plan() => {
                for over in ended(self.rules.plan(), SystemTime::now()) {
                    tracing::warn!(
                        peer = %over.node, interface = over.kind.name(),
                        "the day until which the file lets it go unprotected is over: redirect, guard and fence refuse it"
                    );
                }
                tracing::info!("the file asks for other rules today: they are installed");
                self.rules = asked;
                if let Err(error) = self.install() {
                    self.complain(&format!(
                        "the rules of the file as it is now cannot be installed: {error}"
                    ));
                }
                true
            }
            Ok(_) => true,
            Err(failure) => {
                self.complain(&format!(
                    "the file cannot be used, the rules stay as they are: {}",
                    &failure.message
                ));
                false
            }
        }
    }

    /// The guard of new tables answers whatever the comparison says, until it is confirmed again.
    fn install(&mut self) -> Result<(), Error> {
        self.monitor = RulesMonitor::default();
        self.rules.install().map(drop)
    }

    /// Differences of the rules, where there are any.
    fn wrong(&mut self) -> Result<Option<String>, String> {
        let unreadable = |error: Error| format!("the rules cannot be read, requests may leave unencrypted: {error}");
        let found = self.monitor.state(&self.rules).map_err(unreadable)?;
        let wrong = found.iter().filter(|(_, state)| *state != RuleState::Installed);
        let wrong: Vec<_> = wrong
            .map(|(part, state)| {
                let how = differences(state).unwrap_or_default();
                let more = match how.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let named = how.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>();
                format!("{} {}: {}{more}", part.name(), words(state), named.join("; "))
            })
            .collect();
        Ok(Some(wrong.join("; ")).filter(|wrong| !wrong.is_empty()))
    }

    fn repaired(&mut self) -> Result<(), String> {
        let failed =
            |error: Error| format!("the rules cannot be installed again, requests may leave unencrypted: {error}");
        match self.wrong() {
            Ok(None) => {}
            // Rules that cannot be read may be gone: they are installed with each alarm.
            Err(unreadable) if self.is_due(&unreadable) => {
                self.complain(&unreadable);
                if let Err(error) = self.install() {
                    tracing::error!(%error, "they cannot be installed again either");
                    return Err(unreadable);
                }
                if let Some(left) = self.wrong()? {
                    return Err(left);
                }
                tracing::info!("the rules can be read again, and are what they should be");
            }
            Err(unreadable) => return Err(unreadable),
            Ok(Some(found)) => {
                let hint = "a program that flushes the packet filter or the routing of this namespace should leave what is called bartizan";
                tracing::error!(found, hint, "the rules were changed: they are installed again");
                self.install().map_err(failed)?;
                if let Some(left) = self.wrong()? {
                    return Err(format!(
                        "the rules are not what they should be, though they were installed again: {left}"
                    ));
                }
                tracing::info!("the rules are what they should be again");
            }
        }
        Ok(())
    }

    fn confirm(&mut self) -> Result<(), String> {
        let lasting = Duration::from_secs(self.args.every) * BELIEVED;
        let unreported =
            |error: Error| format!("the sidecar cannot be notified that the rules are what they should be: {error}");
        self.monitor.confirm(&self.rules, lasting).map_err(unreported)
    }

    /// True for a new complaint, and for one that was logged long ago.
    fn is_due(&self, complaint: &str) -> bool {
        let known = self.complaint.as_ref();
        known.is_none_or(|(known, logged)| known != complaint || logged.elapsed() >= ALARM)
    }

    fn complain(&mut self, complaint: &str) {
        if self.is_due(complaint) {
            tracing::error!("{complaint}");
            self.complaint = Some((complaint.to_owned(), Instant::now()));
        }
    }
}
