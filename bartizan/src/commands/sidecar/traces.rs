//! Spans of requests on their way to a collector: a thread of its own takes them from the sidecar's queue.

use std::path::PathBuf;
use std::time::Duration;

use bartizan_confine::Confinement;
use bartizan_sidecar::traces::{self, Span, Spans, Tracer};
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::Failure;
use bartizan_otlp::{Backoff, Client, Outcome, Plaintext, Purpose, Target, chance, host, partial_success};

const PURPOSE: Purpose = Purpose {
    option: "--traces",
    reads: "which function asks which for what, and how it is protected",
};
/// Spans of a request.
const BATCH: usize = 512;
/// Spans come several at a time: so long is waited for more.
const GATHERING: Duration = Duration::from_millis(200);
/// A batch is offered so often, and dropped then: newer spans are worth more.
const ATTEMPTS: u32 = 4;
/// Time to deliver waiting and in-flight spans at the end of the process.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(super) struct TracesArgs {
    /// Send a span for each request of the `http2` path that belongs to a sampled trace (`traceparent`) to an OpenTelemetry collector, as OTLP
    /// over HTTP: http://127.0.0.1:4318. Without it `traceparent` is passed on as it is.
    #[arg(long, value_name = "URL")]
    traces: Option<Target>,
    /// The share of the network function's own requests that begin a trace where they belong to none, from 0 to 1.
    #[arg(long, value_name = "SHARE", requires = "traces", default_value = "0", value_parser = share)]
    traces_share: f64,
    /// Roots by which the certificate of an https:// collector is judged, PEM.
    #[arg(long, value_name = "FILE", requires = "traces")]
    traces_ca: Option<PathBuf>,
    /// Let --traces send to another host by http://, without TLS. Attackers on the path can then
    /// read and change which function asks which.
    #[arg(long, requires = "traces")]
    traces_allow_plaintext: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.trim().parse().map_err(|_| "a number from 0 to 1, as 0.01")?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err("a number from 0 to 1, as 0.01".to_owned())
    }
}

/// Spans, before any is sent.
pub(super) struct Traces {
    target: Target,
    /// Read before the sidecar is confined: afterwards no file says it.
    host: String,
    client: Client,
    tracer: Tracer,
    spans: Spans,
}

/// The thread that sends.
pub(super) struct Sending {
    tracer: Tracer,
    ending: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Traces {
    /// None where no collector is asked for.
    pub(super) fn new(args: &TracesArgs) -> Result<Option<Self>, Failure> {
        let Some(target) = &args.traces else {
            return Ok(None);
        };
        let plaintext = Plaintext::allowed(args.traces_allow_plaintext);
        let client = Client::new(target, PURPOSE, plaintext, args.traces_ca.clone())?;
        let (tracer, spans) = traces::tracer(args.traces_share);
        Ok(Some(Self {
            target: target.clone(),
            host: host(),
            client,
            tracer,
            spans,
        }))
    }

    /// Lets a sidecar read what sending needs while it serves.
    pub(super) fn confine(&self, args: &TracesArgs, kept: &mut Confinement) {
        kept.look_up(&self.target.host);
        if let Some(roots) = &args.traces_ca {
            kept.read_again(roots);
        }
    }

    /// Begins to send.
    pub(super) fn start(self, node: &str) -> Result<Sending, Failure> {
        let failed = |error: std::io::Error| Failure::new(format!("--traces: {error}"));
        let resource = traces::resource(env!("CARGO_PKG_VERSION"), &self.host, node);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (ending, end) = watch::channel(false);
        let (said, ended) = oneshot::channel();
        let target = self.target.to_string();
        tracing::info!(collector = target, "spans of requests are sent");
        let sender = Sender {
            client: self.client,
            spans: self.spans,
            resource,
            target,
            failing: false,
        };
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(move || {
            runtime.block_on(sender.run(end));
            // A look-up of a name may still wait.
            runtime.shutdown_background();
            let _ = said.send(());
        });
        thread.map_err(failed)?;
        Ok(Sending {
            tracer: self.tracer,
            ending,
            ended,
        })
    }
}

impl Sending {
    pub(super) fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Has what waits sent, for a short time.
    pub(super) async fn finish(self) {
        self.ending.send_replace(true);
        // A thread that panicked has said so.
        let _ = timeout(FAREWELL + Duration::from_secs(1), self.ended).await;
    }
}

struct Sender {
    client: Client,
    spans: Spans,
    resource: String,
    target: String,
    /// True if the last batch was refused: logged at the start and at the end of a failure.
    failing: bool,
}

impl Sender {
    /// Sends until the process is to end, and then what waits, but for no longer than [`FAREWELL`].
    async fn run(mut self, mut end: watch::Receiver<bool>) {
        let mut ending = end.clone();
        let sending = async {
            loop {
                let spans = tokio::select! {
                    biased;
                    spans = self.spans.next(BATCH) => spans,
                    _ = ending.wait_for(|ending| *ending) => None,
                };
                let Some(spans) = spans else { return };
                let full = spans.len() == BATCH;
                self.send(spans, &mut ending).await;
                if !full && !*ending.borrow() {
                    sleep(GATHERING).await;
                }
            }
        };
        let late = async {
            // A sidecar that is gone ends it too.
            let _ = end.wait_for(|ending| *ending).await;
            sleep(FAREWELL).await;
        };
        tokio::select! {
            () = sending => {}
            () = late => {}
        }
        let left = self.spans.waiting();
        if left > 0 {
            tracing::warn!(
                collector = self.target,
                spans = left,
                "spans are lost, which the collector did not take in time"
            );
        }
    }

    async fn send(&mut self, spans: Vec<Span>, ending: &mut watch::Receiver<bool>) {
        let count = spans.len() as u64;
        let body = traces::body(&self.resource, &spans);
        drop(spans);
        let mut backoff = Backoff::default();
        for attempt in 1..=ATTEMPTS {
            match self.client.post("traces", body.clone()).await {
                Outcome::Taken(answer) => {
                    let part = partial_success(&answer);
                    let refused = part.as_ref().map_or(0, |part| part.rejected.min(count));
                    self.spans.sent(count - refused);
                    self.spans.refused(refused);
                    match part.filter(|_| refused > 0) {
                        Some(part) => self.fails(&format!("it refuses {refused} of {count}: {}", part.message)),
                        None if std::mem::take(&mut self.failing) => {
                            tracing::info!(collector = self.target, "spans are taken again");
                        }
                        None => {}
                    }
                    return;
                }
                Outcome::Refused { why, .. } => {
                    self.spans.refused(count);
                    self.fails(&why);
                    return;
                }
                Outcome::Later { why, pause } => {
                    self.fails(&why);
                    if attempt < ATTEMPTS && !*ending.borrow() {
                        let pause = backoff.pause(chance(), pause);
                        // One more attempt is made when the process is to end.
                        let _ = timeout(pause, ending.wait_for(|ending| *ending)).await;
                    }
                }
            }
        }
        self.spans.dropped(count);
    }

    fn fails(&mut self, why: &str) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(
                collector = self.target,
                error = why,
                hint = "requests pass all the same; bartizan_sidecar_spans counts what is lost",
                "spans are not taken"
            );
        }
    }
}
