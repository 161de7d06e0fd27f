//! `bartizan sidecar`: bind, give up rights, say what is bound, serve, drain.

mod announcement;
mod redirect;
mod reload;
mod rights;
#[cfg(feature = "full")]
pub(crate) mod status;
mod traces;
mod workers;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use bartizan_confine::Confinement;
use bartizan_deployment::Deployment;
use bartizan_sidecar::handover::{self, Notify, Post, Successor};
use bartizan_sidecar::{Error, Running, Sidecar};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::announcement::{announce, log_readiness};
use self::traces::{Traces, TracesArgs};
use crate::commands::deployment_file::read;
use crate::commands::fetching::Lists;
use crate::commands::log;
use crate::commands::watched::Watched;
use crate::{Failure, Outcome};
use tracing_subscriber::filter::Targets;

/// Run the sidecar of one node of a deployment file.
///
/// It serves until SIGTERM or SIGINT, then takes nothing new and lets requests under way end; a second signal ends it at once.
/// On SIGHUP, and when one of them has changed, it reads its certificate, key, roots, revocation lists and deployment file again.
/// Lists with a URL in the file are fetched at the start, on SIGHUP and from time to time.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
    bartizan sidecar core.yaml --node amf\n  \
    bartizan sidecar core.yaml --node amf --user bartizan --hand-over /run/bartizan/amf.sock --log-format json\n  \
    bartizan sidecar core.yaml --node amf --traces http://127.0.0.1:4318 --traces-share 0.01")]
pub(crate) struct Args {
    #[command(subcommand)]
    host: Option<Host>,
    #[command(flatten)]
    serve: Option<Serve>,
    // Not in there: with a group inside of it, clap cannot tell whether it was given.
    #[command(flatten)]
    traces: TracesArgs,
}

#[derive(clap::Subcommand)]
enum Host {
    Redirect(redirect::Args),
}

#[derive(clap::Args)]
struct Serve {
    /// The deployment file.
    file: PathBuf,
    /// The node whose sidecar this is.
    #[arg(long, value_name = "NAME")]
    node: String,
    /// The user to become once the ports are open, where it is started as root: a name or an id, with USER:GROUP a group of its own.
    #[arg(long, value_name = "USER", conflicts_with = "no_confine")]
    user: Option<String>,
    /// Unix socket for a hand-over, in a folder that no other user may write to. A running sidecar
    /// of this node that waits there passes its listening sockets to this one. Once this one
    /// serves, that one passes its SCTP associations and drains. Then this one waits there.
    #[arg(long, value_name = "SOCKET")]
    hand_over: Option<PathBuf>,
    /// Number of threads that carry requests, each on a core of its own where there are as many: a
    /// number, or `auto` for as many as the process may use processors. Handshakes of other
    /// sidecars get as many threads again, of lower priority.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    workers: String,
    /// Keep every right it was started with: no Landlock, no seccomp, no capabilities dropped.
    #[arg(long)]
    no_confine: bool,
    /// Format of the log on standard error.
    #[arg(long, value_enum, default_value_t = LogFormat::Human)]
    log_format: LogFormat,
    /// Level of the log: error, warn, info, debug, or filters such as
    /// `info,bartizan_sidecar=debug`.
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// One line each, coloured on a terminal.
    Human,
    /// One JSON object per line.
    Json,
}

/// For what follows a drain.
const OVER: Duration = Duration::from_secs(5);

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    let traces = args.traces;
    let args = match (args.host, args.serve) {
        (Some(Host::Redirect(args)), _) => return redirect::run(&args),
        (None, Some(args)) => args,
        (None, None) => return Err(Failure::usage("nothing to do").hint("see `bartizan sidecar --help`")),
    };
    start_log(&args)?;
    let workers = workers::parse(&args.workers)?;
    let deployment = read(&args.file)?;
    // One thread: a request never waits for another core to wake up. More workers are more threads, each with a runtime of its own
    // and connections of its own: what passes between these belongs to their thread, by its types.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    // Every event of any connection polls the awaited future: the end of a task costs nothing to
    // poll.
    let serving = runtime.spawn_local(async move { serve(&deployment, &args, &traces, workers).await });
    match runtime.block_on(serving) {
        Ok(outcome) => outcome,
        Err(error) => Err(Failure::new(format!("the sidecar ended: {error}"))),
    }
}

fn start_log(args: &Serve) -> Result<(), Failure> {
    let filter = args.log.parse::<Targets>().map_err(|error| {
        Failure::usage(format!("--log {}: {error}", args.log)).hint("write info, debug or info,bartizan_sidecar=debug")
    })?;
    match args.log_format {
        LogFormat::Human => log::start(filter),
        LogFormat::Json => log::start_json(filter),
    }
    Ok(())
}

async fn serve(
    deployment: &Deployment,
    args: &Serve,
    traced: &TracesArgs,
    workers: NonZeroUsize,
) -> Result<Outcome, Failure> {
    let node = args.node.as_str();
    let user = args.user.as_deref().map(rights::user).transpose()?;
    let traces = Traces::new(traced)?;
    // Signals are caught before the first port opens: none is lost.
    let cannot_catch = |error| Failure::new(format!("cannot catch signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_catch)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_catch)?;
    let hangup = signal(SignalKind::hangup()).map_err(cannot_catch)?;
    let files = deployment.node(node).and_then(|node| node.files.as_ref());
    let mut fetched = files.and_then(Lists::of_tls);
    fetched.as_mut().map(Lists::first).transpose()?;
    let watched = Watched::new(reload::files(deployment, &args.file, node));
    let notify = Notify::from_environment();
    let mut sockets = handover::passed_by_systemd().map_err(|error| not_handed_over(&error))?;
    let from_systemd = sockets.count();
    let asked = args.hand_over.as_deref().map(|path| {
        let user = user.as_ref().map(|user| user.id);
        handover::ask(path, node, user).map_err(|error| not_handed_over(&error))
    });
    let (mut post, mut predecessor) = (None, None);
    if let Some((theirs, their_post, other)) = asked.transpose()?.flatten() {
        sockets.extend(theirs);
        (post, predecessor) = (Some(their_post), Some(other));
    }
    let passed = sockets.count();
    let bound = Sidecar::bind_with(deployment, node, &mut sockets, &notify).map_err(|error| refused(&error))?;
    for (address, name) in sockets.left() {
        tracing::info!(%address, "a socket that was passed is of no listener in the file: it is closed");
        name.iter().for_each(|name| notify.forget(name));
    }
    let taken = passed - sockets.left().count();
    drop(sockets);
    // Once the ports are open: a second sidecar of the node has failed by now.
    if let (Some(path), None) = (&args.hand_over, &post) {
        post = Some(Post::make(path).map_err(|error| not_handed_over(&error))?);
    }
    // Before the ledger is opened: its writer is a thread, and the kernel confines some things thread by thread.
    if let Some((files, sidecar)) = deployment
        .node(node)
        .and_then(|node| node.files.as_ref().zip(node.sidecar.as_ref()))
    {
        let mut kept = Confinement::of_sidecar(&args.file, files, sidecar, user);
        if let Some(traces) = &traces {
            traces.confine(traced, &mut kept);
        }
        rights::give_up((!args.no_confine).then_some(&kept), files)?;
    }
    let mut bound = bound.with_workers(workers);
    // After the rights are gone: it is a thread too.
    let sending = traces.map(|traces| traces.start(node)).transpose()?;
    if let Some(sending) = &sending {
        bound = bound.with_traces(sending.tracer());
    }
    let running = bound.serve().map_err(|error| refused(&error))?;
    let fetching = fetched.map(|lists| lists.keep(running.fetched())).transpose()?;
    if passed > 0 {
        tracing::info!(
            sockets = taken,
            from_systemd = from_systemd > 0,
            from_a_predecessor = predecessor.is_some(),
            "listens on sockets that were passed"
        );
    }
    announce(deployment, node, &running);
    notify.ready();
    if let Some(predecessor) = predecessor {
        predecessor.serving(&running);
    }
    let first = tokio::select! {
        signal = wait(&mut terminate, &mut interrupt) => signal,
        successor = successor(post.as_ref(), &running) => {
            running.succeeded(successor);
            SUCCEEDED
        }
        never = log_readiness(node, &running) => match never {},
        never = reload::keep(&running, (&args.file, node), watched, hangup, fetching) => match never {},
        never = notify.keep_alive(async || running.answers().await) => match never {},
    };
    drop(post);
    notify.ends_within(running.drains_within() + OVER);
    notify.stopping();
    tracing::info!(signal = first, "draining: nothing new is accepted");
    tokio::select! {
        late = running.drain() => {
            if late > 0 {
                tracing::warn!(
                    connections = late, hint = "raise `limits: { drain: ... }`, or let network functions close idle connections",
                    "closed connections that had not ended in time"
                );
            }
            tracing::info!("stopped");
        }
        second = async {
            if first == SUCCEEDED {
                let signal = wait(&mut terminate, &mut interrupt).await;
                tracing::info!(signal, "drains already; a second signal stops it at once");
            }
            wait(&mut terminate, &mut interrupt).await
        } => tracing::warn!(signal = second, "stopped at once"),
        never = notify.keep_alive(async || ()) => match never {},
    }
    if let Some(sending) = sending {
        sending.finish().await;
    }
    Ok(Outcome::Clean)
}

/// Reason of draining that is no signal. A service manager may send the first one afterwards.
const SUCCEEDED: &str = "a successor serves";

/// Ends when a successor serves.
async fn successor(post: Option<&Post>, running: &Running) -> Successor {
    match post {
        Some(post) => post.handed_over(running).await,
        None => std::future::pending().await,
    }
}

fn not_handed_over(error: &handover::Error) -> Failure {
    Failure::new(error).hint(error.hint())
}

async fn wait(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

fn refused(error: &Error) -> Failure {
    let failure = if error.is_configuration() {
        Failure::usage(error)
    } else {
        Failure::new(error)
    };
    failure.with_hints(error.hint())
}
