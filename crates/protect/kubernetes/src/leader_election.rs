//! The Lease by which one of several controllers acts.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_controller::{Election, Lease, Step};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use zeroize::Zeroizing;

use crate::api::{Api, Call, Problem};
use crate::numbers::Numbers;
use crate::reflector::chance;

pub(crate) struct LeaderElection {
    api: Arc<Api>,
    numbers: Arc<Numbers>,
    namespace: String,
    /// Name of the Lease.
    name: String,
    election: Election,
    began: Instant,
    acquired: SystemTime,
    until: watch::Sender<Option<Instant>>,
}

#[derive(Deserialize)]
struct Stored {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_transitions: Option<i64>,
}

impl LeaderElection {
    /// One that does not lead yet, and until when it may act at any time.
    pub(crate) fn new(
        api: Arc<Api>,
        numbers: Arc<Numbers>,
        (namespace, name): (String, String),
        me: &str,
    ) -> (Self, watch::Receiver<Option<Instant>>) {
        let (until, receiver) = watch::channel(None);
        let leading = Self {
            api,
            numbers,
            namespace,
            name,
            election: Election::new(me, bartizan_controller::Timing::default()),
            began: Instant::now(),
            acquired: SystemTime::now(),
            until,
        };
        (leading, receiver)
    }

    /// Holds the Lease, or waits for it, until `end` is true; then it is released.
    pub(crate) async fn run(mut self, mut end: watch::Receiver<bool>) {
        let retry = self.election.timing.retry;
        loop {
            let attempt = timeout(self.election.timing.deadline, self.attempt()).await;
            if let Ok(Err(problem)) = &attempt
                && problem.code() != Some(409)
            {
                self.numbers.failed(problem);
                tracing::debug!(%problem, "the Lease");
            }
            self.publish();
            tokio::select! {
                () = sleep(retry + retry.mul_f64(chance() / 5.0)) => {}
                _ = end.wait_for(|end| *end) => break,
            }
        }
        if self.election.is_leading(self.now()) {
            let released = timeout(Duration::from_secs(5), self.release()).await;
            if !matches!(released, Ok(Ok(()))) {
                tracing::warn!("the Lease was not released: another controller waits until it has ended");
            }
        }
        self.until.send_replace(None);
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn publish(&self) {
        let leading = self.election.is_leading(self.now());
        let until = self
            .election
            .leading_until()
            .filter(|_| leading)
            .map(|until| self.began + until);
        let before = self.until.send_replace(until);
        self.numbers.leading.set(i64::from(leading));
        match (before.is_some(), leading) {
            (false, true) => tracing::info!(me = &self.election.me, "leading"),
            (true, false) => tracing::warn!(holder = self.election.holder(), "not leading any more"),
            _ => {}
        }
    }

    fn path(&self, name: &str) -> String {
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases{name}",
            self.namespace
        )
    }

    async fn attempt(&mut self) -> Result<(), Problem> {
        let read = match self.api.call(&Call::get(self.path(&format!("/{}", self.name)))).await {
            Ok(text) => Some(lease(&text)?),
            Err(problem) if problem.code() == Some(404) => None,
            Err(problem) => return Err(problem),
        };
        self.election.observe(read.as_ref(), self.now());
        match self.election.step(self.now()) {
            Step::Wait => Ok(()),
            Step::Create => self.write(None, 0, true).await,
            Step::Take { version, transitions } => self.write(Some(version), transitions, true).await,
            Step::Renew { version, transitions } => self.write(Some(version), transitions, false).await,
        }
    }

    async fn write(&mut self, over: Option<String>, transitions: i64, new: bool) -> Result<(), Problem> {
        if new {
            self.acquired = SystemTime::now();
        }
        let sent = self.now();
        let spec = json!({
            "holderIdentity": &self.election.me,
            "leaseDurationSeconds": self.election.timing.duration.as_secs(),
            "acquireTime": micro(self.acquired),
            "renewTime": micro(SystemTime::now()),
            "leaseTransitions": transitions,
        });
        let stored = self.send(over, &spec).await?;
        self.election.stored(&stored, sent, self.now());
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Problem> {
        let text = self.api.call(&Call::get(self.path(&format!("/{}", self.name)))).await?;
        let read = lease(&text)?;
        if read.holder != self.election.me {
            return Ok(());
        }
        let spec = json!({
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": micro(SystemTime::now()),
            "leaseTransitions": read.transitions,
        });
        self.send(Some(read.version), &spec).await.map(|_| ())
    }

    async fn send(&self, over: Option<String>, spec: &serde_json::Value) -> Result<Lease, Problem> {
        let mut metadata = json!({ "name": self.name, "namespace": self.namespace });
        let (method, path) = match over {
            None => (Method::POST, self.path("")),
            Some(version) => {
                metadata["resourceVersion"] = json!(version);
                (Method::PUT, self.path(&format!("/{}", self.name)))
            }
        };
        let body =
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec });
        let body = Zeroizing::new(body.to_string().into_bytes());
        let call = Call::send(method, path, "application/json", body);
        lease(&self.api.call(&call).await?)
    }
}

fn lease(text: &[u8]) -> Result<Lease, Problem> {
    let stored: Stored = serde_json::from_slice(text).map_err(|error| Problem::Malformed(error.to_string()))?;
    Ok(Lease {
        holder: stored.spec.holder_identity.unwrap_or_default(),
        version: stored.metadata.resource_version,
        transitions: stored.spec.lease_transitions.unwrap_or_default(),
    })
}

/// A metav1.MicroTime.
fn micro(moment: SystemTime) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    OffsetDateTime::from(moment).format(format).unwrap_or_default()
}
