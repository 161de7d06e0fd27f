//! The watch as `up` and `watch` run it: ledger, metrics, log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bartizan_deployment::Breach;
use bartizan_ipsec::vici::Client;
use bartizan_ipsec::watch::{Expectations, Notice, Overdue, Parted, Sighting, Watch};
use bartizan_ipsec::{Kernel, Metrics, drive};
use bartizan_ledger::{Bounds, Ledger, Verdict, Why};

use super::PATIENCE;
use super::node::IpsecHost;
use super::{counting, keeping};
use super::{messages, validity};
use crate::Failure;
use crate::commands::bind;
use bartizan_server::{Serving, metrics as serving_metrics};

use crate::commands::log;

/// Output of a watch.
#[derive(clap::Args)]
pub(super) struct WatchArgs {
    /// Path of the ledger, instead of the one in the deployment file.
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
    /// Serve /metrics for Prometheus at this address.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
}

impl WatchArgs {
    /// Returns true if metrics were requested.
    pub(super) fn metrics(&self) -> bool {
        self.metrics.is_some()
    }
}

bartizan_registry::made! {
    /// Outputs of a watch; opened before anything is set up.
    pub(super) struct Opened, pub(super) new(host: &IpsecHost, args: &WatchArgs) -> Result<Self, Failure> {
        let named = host.files.ledger.as_ref();
        let bounds = named.map_or_else(Bounds::default, |named| Bounds {
            size: named.size,
            keep: Some(named.keep.get()),
        });
        let path = args.ledger.as_ref().or(named.map(|named| &named.file));
        let ledger = match path {
            Some(path) => Ledger::open_within(path, &host.node, bounds)
                .map_err(|error| Failure::new(error).hint("give another place with --ledger"))?,
            None => {
                let hint = "add `ledger: FILE` to the node's `ipsec`, or give --ledger";
                tracing::warn!(hint, "nothing is recorded");
                Ledger::none()
            }
        };
        let metrics = Arc::new(Metrics::default());
        let endpoint = match args.metrics {
            Some(asked) => {
                let endpoint = bind("--metrics", asked)?;
                let (address, metrics) = (endpoint.address().unwrap_or(asked), Arc::clone(&metrics));
                Some((address, endpoint.serve(serving_metrics(move || metrics.text()))))
            }
            None => None,
        };
        ledger: Ledger,
        pub(super) metrics: Arc<Metrics>,
        /// IKE_SAs that have to be replaced or taken down.
        pub(super) overdue: Overdue = Overdue::default(),
        /// Address of metrics, and their server.
        endpoint: Option<(SocketAddr, Serving)>,
    }
}

impl Opened {
    /// Watches until `stop` says so; calls `connected` when it sees charon for the first time: what is set up from then on is seen
    /// from its beginning. Where who encrypts is given, a guard that goes is installed again.
    pub(super) fn watch(
        &self,
        host: &IpsecHost,
        expectations: &Expectations,
        keep: Option<Kernel>,
        stop: &(dyn Fn() -> bool + Sync),
        connected: &(dyn Fn() + Sync),
    ) {
        let metrics = &*self.metrics;
        let watch = Watch::new(host.place.socket(), expectations, self.ledger.recorder(), metrics).remembering();
        let watch = watch.replacing(&self.overdue);
        if let Some((address, _)) = &self.endpoint {
            tracing::info!(%address, "metrics");
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                let keep = || keep.filter(|_| is_loaded(host, expectations));
                keeping::keep(&host.guard(), &keep, metrics, stop);
            });
            scope.spawn(|| counting::count(host, metrics, stop));
            scope.spawn(|| validity::keep_an_eye(host, metrics, stop));
            watch.run(stop, &mut |notice| {
                log(&notice);
                if matches!(notice, Notice::Connected) {
                    connected();
                }
            });
        });
    }
}

/// Returns true if charon has one of the connections, or does not answer: `down` unloads them
/// before it removes the guard.
fn is_loaded(host: &IpsecHost, expectations: &Expectations) -> bool {
    let loaded =
        Client::connect(&host.place.socket(), PATIENCE).and_then(|mut client| drive::list_connections(&mut client));
    loaded.map_or(true, |loaded| {
        expectations
            .iter()
            .any(|expected| loaded.contains(&expected.connection))
    })
}

/// The log goes to standard error.
pub(in crate::commands) fn start_log() {
    log::start(log::info());
}

fn log(notice: &Notice<'_>) {
    match notice {
        Notice::Connected => tracing::info!("watching the SAs of the IKE daemon"),
        Notice::Away(error) => tracing::warn!(%error, "the IKE daemon is away; trying on"),
        Notice::Stands(sighting) => {
            let reason = reason(sighting);
            tracing::info!(
                link = %name(sighting), cause = %sighting.cause, keyed_by = %sighting.keyed_by, verdict = %reason, "SA stands"
            );
        }
        Notice::Breach(sighting, breach) => {
            let then = match breach {
                Breach::Down => "it is taken down",
                Breach::Report => "it stays: the policy asks for a report",
            };
            tracing::error!(
                link = %name(sighting), cause = %sighting.cause, keyed_by = %sighting.keyed_by, verdict = %reason(sighting), then,
                "SA breaks the policy"
            );
        }
        Notice::TakenDown(sighting, after) => {
            tracing::warn!(link = %name(sighting), after_us = after.as_micros(), "SA that broke the policy is gone");
        }
        Notice::NotTakenDown(sighting, error) => {
            tracing::error!(link = %name(sighting), %error, "SA that breaks the policy could not be taken down; trying on");
        }
        Notice::Refused(refused, hint, times) => {
            let (what, by) = (messages::asked(refused), messages::by(refused));
            tracing::warn!(
                link = refused.connection.as_deref().unwrap_or("none"),
                peer = refused.peer.as_deref().unwrap_or("unknown"),
                from = %messages::address(refused), reason = %refused.reason, detail = %refused.detail, times, hint,
                "{what} was refused {by}"
            );
        }
        Notice::Ended(parted) => ended(parted),
        Notice::Silent(silence) => {
            let what = match silence.stands {
                true => "packets of this link are lost until it does, or the SA is given up and set up again",
                false => "it is asked again until it does",
            };
            tracing::warn!(link = %silence.connection, peer = %silence.peer, "the peer gives no answer: {what}");
        }
        Notice::Answers(silence) => {
            let after = silence.since.elapsed().unwrap_or_default();
            tracing::info!(link = %silence.connection, peer = %silence.peer, after_s = after.as_secs(), "the peer answers again");
        }
        Notice::Converges(link) => {
            tracing::info!(
                link,
                "two IKE_SAs stood side by side, as both ends had begun at once: one of them is deleted"
            );
        }
        other => tracing::info!(?other, "watch"),
    }
}

fn ended(parted: &Parted) {
    let link = match &parted.child {
        Some(child) => format!("{}/{child}", parted.connection),
        None => parted.connection.clone(),
    };
    let (why, detail) = (parted.why.word(), parted.detail.as_deref().unwrap_or_default());
    match parted.why {
        Why::PeerLost | Why::Expired | Why::DaemonGone | Why::DeletedByPeer => {
            tracing::warn!(link, why, detail, "SA ended");
        }
        _ => tracing::info!(link, why, detail, "SA ended"),
    }
}

fn name(sighting: &Sighting) -> String {
    match &sighting.child {
        Some(child) => format!("{}/{child}", sighting.connection),
        None => sighting.connection.clone(),
    }
}

fn reason(sighting: &Sighting) -> String {
    match &sighting.verdict {
        Verdict::Accepted => "accepted".to_owned(),
        Verdict::Excepted { reason } => format!("excepted: {reason}"),
        Verdict::Refused { reason, detail } => format!("{reason}: {detail}"),
    }
}
