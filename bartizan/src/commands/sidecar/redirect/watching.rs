//! `bartizan sidecar redirect watch`: the rules installed, compared with what they should be, and repaired, until it is asked to end.

use std::time::{Duration, SystemTime};

use bartizan_sidecar::handover::Notify;
use bartizan_sidecar::redirect::{Bystander, Error, Installed, Part, Plan, RuleState};

use tokio::signal::unix::{SignalKind, signal};

use super::{PlanArgs, differences, failure, installed, print, words};
use crate::output::is_coloured;
use crate::{Failure, Outcome};

/// For how many turns of comparison the sidecar believes the last one: a busy host is late.
const BELIEVED: u32 = 5;

/// Install redirect, guard and fence, compare them with the file again and again, and install again what was changed.
///
/// A changed file is read again, and every turn looks at the date: an exception that has ended is closed in all three. Each difference is logged. The guard answers the sidecar, which may not read the rules itself, that they are what they should be, for
/// as long as that was found a moment ago: `/ready` is 503 where they are not, and where nobody compares them any more. SIGTERM and SIGINT
/// end it and leave the rules.
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
    /// How long to wait between two comparisons, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

/// What was installed and said.
struct Watching<'a> {
    args: &'a Args,
    rules: Installed,
    /// The last complaint, which is logged once.
    complaint: String,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false);
    log.with_ansi(is_coloured(&std::io::stderr())).init();
    let rules = args.plan.rules(!args.no_fence, args.strict)?;
    let every = Duration::from_secs(args.every);
    let earlier = rules.install().map_err(|error| failure(&error))?;
    print(&installed(&rules, earlier))?;
    let mut watching = Watching {
        args,
        rules,
        complaint: String::new(),
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

/// Who went unprotected by a plan and may not any more at `now`.
fn ended(plan: &Plan, now: SystemTime) -> impl Iterator<Item = &Bystander> {
    let until = move |bystander: &&Bystander| bystander.until.as_ref().is_some_and(|until| until.days_left(now) == 0);
    plan.bystanders().iter().filter(until)
}

impl Watching<'_> {
    /// Compares once, repairs what was changed, and has the guard answer accordingly.
    fn look(&mut self) {
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
                if let Err(error) = self.rules.install() {
                    self.complain(&format!(
                        "the rules of the file as it is now cannot be installed: {error}"
                    ));
                }
            }
            Ok(_) => {}
            Err(failure) => self.complain(&format!(
                "the file cannot be used, the rules stay as they are: {}",
                failure.message()
            )),
        }
        match self.repaired() {
            Ok(()) => self.complaint.clear(),
            Err(complaint) => {
                // Where there is no guard, it answers nothing anyway.
                let _ = self.rules.deny();
                self.complain(&complaint);
            }
        }
    }

    fn repaired(&self) -> Result<(), String> {
        let rules = &self.rules;
        let wrong = |found: &[(Part, RuleState)]| {
            let wrong = found.iter().filter(|(_, state)| *state != RuleState::Installed);
            let wrong: Vec<_> = wrong
                .map(|(part, state)| {
                    let how = differences(state).unwrap_or_default().join("; ");
                    format!("{} {}: {how}", part.name(), words(state))
                })
                .collect();
            wrong.join("; ")
        };
        let unreadable = |error: Error| format!("the rules cannot be read: {error}");
        let found = wrong(&rules.state().map_err(unreadable)?);
        if !found.is_empty() {
            let hint = "a program that flushes the packet filter or the routing of this namespace should leave what is called bartizan";
            tracing::error!(found, hint, "the rules were changed: they are installed again");
            let failed =
                |error: Error| format!("the rules cannot be installed again, requests may leave unencrypted: {error}");
            rules.install().map_err(failed)?;
            let left = wrong(&rules.state().map_err(unreadable)?);
            if !left.is_empty() {
                return Err(format!(
                    "the rules are not what they should be, though they were installed again: {left}"
                ));
            }
            tracing::info!("the rules are what they should be again");
        }
        let lasting = Duration::from_secs(self.args.every) * BELIEVED;
        let unreported =
            |error: Error| format!("the sidecar cannot be notified that the rules are what they should be: {error}");
        rules.confirm(lasting).map_err(unreported)
    }

    fn complain(&mut self, complaint: &str) {
        if self.complaint != complaint {
            tracing::error!("{complaint}");
            complaint.clone_into(&mut self.complaint);
        }
    }
}
