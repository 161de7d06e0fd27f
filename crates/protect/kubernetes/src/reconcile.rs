//! A turn of the leader: each namespace is judged, and what is to be written is written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_controller::{Action, Authority, Budget, Cause, Circumstances, Order, Settings, reconcile_read};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{Api, Problem};
use crate::external_issuer::ExternalIssuer;
use crate::issuing::{Issuing, Made};
use crate::numbers::Numbers;
use crate::store::Store;
use crate::writing::Writing;

/// A certificate that could not be written is written again for so long, and not issued again.
const KEPT: Duration = Duration::from_secs(600);
/// The Lease has to hold for so much longer before something is written.
const MARGIN: Duration = Duration::from_secs(1);

pub(crate) struct Turns {
    pub(crate) api: Arc<Api>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) writing: Writing,
    pub(crate) settings: Settings,
    pub(crate) source: Source,
    /// Namespaces that are kept; one that is none is all.
    pub(crate) scopes: Vec<Option<String>>,
    pub(crate) leading: watch::Receiver<Option<Instant>>,
    /// Which namespace is first: each in its turn.
    pub(crate) first: usize,
    /// Certificates that could not be written, by namespace and node.
    pub(crate) kept: BTreeMap<(String, String), Kept>,
}

/// A certificate that was issued, and that the API server did not take.
pub(crate) struct Kept {
    order: Order,
    made: Made,
    until: Instant,
}

/// Number of attempts to write one certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Again,
}

/// Source of certificates.
pub(crate) enum Source {
    /// An authority of `bartizan ca`; elsewhere while it issues on another thread.
    Authority(Option<Box<Issuing>>),
    /// An issuer of cert-manager.
    Issuer(Box<ExternalIssuer>),
}

/// Outcome of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Writes left by the budget, or that failed.
    pub(crate) waiting: usize,
    /// Completed writes.
    pub(crate) written: usize,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Turns {
    pub(crate) fn is_leading(&self) -> bool {
        self.leading
            .borrow()
            .is_some_and(|until| Instant::now() + MARGIN < until)
    }

    /// One turn, over the namespaces that changed or over all.
    pub(crate) async fn turn(&mut self, store: &mut Store, all: bool) -> Result<Left, bartizan_terminal::Failure> {
        self.numbers.turns.inc();
        let now = SystemTime::now();
        let skew = self.api.skew();
        self.numbers.skew.set(skew);
        let settings = self.settings.clone();
        let clock_is_right = settings.is_right(skew);
        let authority = self.look(store, all, now, clock_is_right).await?;
        let circumstances = Circumstances {
            now,
            skew,
            authority: &authority,
            settings: &settings,
        };
        let mut names: Vec<String> = store.namespaces.keys().cloned().collect();
        let at = self.first % names.len().max(1);
        names.rotate_left(at);
        self.first = self.first.wrapping_add(1);
        let (mut budget, mut left) = (Budget::TURN, Left::default());
        let mut actions = Vec::new();
        for name in names {
            let Some(namespace) = store.namespaces.get_mut(&name) else {
                continue;
            };
            if !all && !namespace.changed {
                continue;
            }
            let (observed, reading) = namespace.read(now);
            let turn = reconcile_read(reading, observed, &circumstances, &mut budget);
            namespace.changed = turn.waiting > 0;
            left.waiting += turn.waiting;
            namespace.counted = (turn.nodes, turn.issued);
            if turn.complaint != namespace.complaint {
                if let Some(why) = &turn.complaint {
                    tracing::warn!(namespace = name, why, "the deployment file");
                }
                namespace.complaint = turn.complaint;
            }
            actions.extend(turn.actions.into_iter().map(|action| (name.clone(), action)));
        }
        self.count(store, left);
        let (orders, others): (Vec<_>, Vec<_>) = actions
            .into_iter()
            .partition(|(_, action)| matches!(action, Action::Issue(_)));
        for (namespace, action) in others {
            if !self.is_leading() {
                left.waiting += 1;
                break;
            }
            match action {
                Action::Take(order) => self.take(store, &namespace, &order, &circumstances, &mut left).await,
                Action::Withdraw {
                    request,
                    uid,
                    node,
                    failure,
                } => {
                    self.withdraw(store, &namespace, (&request, &uid), node.as_deref(), failure, &mut left)
                        .await;
                }
                action => self.write(store, &namespace, action, &mut left).await,
            }
        }
        let orders = orders.into_iter().filter_map(|(namespace, action)| match action {
            Action::Issue(order) => Some((namespace, order)),
            _ => None,
        });
        self.issue(store, orders.collect(), now, &mut left).await?;
        if let Source::Issuer(asking) = &self.source {
            self.numbers.requests.set(number(asking.count()));
        }
        Ok(left)
    }

    /// Looks at the authority, or at what the issuer has answered.
    async fn look(
        &mut self,
        store: &mut Store,
        all: bool,
        now: SystemTime,
        clock_is_right: bool,
    ) -> Result<Authority, bartizan_terminal::Failure> {
        if let Source::Issuer(asking) = &mut self.source {
            return Ok(asking.look(&self.writing, &self.scopes, store, all).await);
        }
        let (state, is_succeeded) = self
            .with_authority(move |issuing| (issuing.look(now, clock_is_right), issuing.is_succeeded()))
            .await?;
        if is_succeeded {
            return Err(bartizan_terminal::Failure::new(
                "the authority signs by another certificate than when this controller was started",
            )
            .hint("start it again, as a Deployment does"));
        }
        Ok(state)
    }

    fn count(&self, store: &Store, left: Left) {
        let (mut nodes, mut issued, mut refused) = (0, 0, 0);
        for namespace in store.namespaces.values() {
            nodes += namespace.counted.0;
            issued += namespace.counted.1;
            refused += i64::from(namespace.complaint.is_some());
        }
        self.numbers.nodes.set(number(nodes));
        self.numbers.issued.set(number(issued));
        self.numbers.waiting.set(number(left.waiting));
        self.numbers.refused.set(refused);
    }

    async fn write(&self, store: &mut Store, namespace: &str, action: Action, left: &mut Left) {
        let (what, answer) = match &action {
            Action::WriteFile { text, owner, replaces } => {
                let written = self.writing.file(namespace, text, owner, replaces.as_deref());
                ("the deployment file", written.await)
            }
            Action::WriteStatus { object, name, status } => {
                ("a status", self.writing.status(namespace, *object, name, status).await)
            }
            Action::WriteList { secret, replaces } => {
                let list = match &self.source {
                    Source::Authority(Some(issuing)) => &issuing.list,
                    _ => return,
                };
                (
                    "revocation lists",
                    self.writing.list(namespace, secret, replaces, list).await,
                )
            }
            Action::Issue(_) | Action::Take(_) | Action::Withdraw { .. } => return,
        };
        match answer {
            Ok(named) => {
                left.written += 1;
                store.put(named);
            }
            Err(problem) => self.failed(store, namespace, what, &problem, left),
        }
    }

    /// Schedules another turn, which decides anew from the state observed then.
    fn failed(&self, store: &mut Store, namespace: &str, what: &str, problem: &Problem, left: &mut Left) {
        left.waiting += 1;
        if let Some(namespace) = store.namespaces.get_mut(namespace) {
            namespace.changed = true;
        }
        if problem.code() == Some(409) {
            tracing::debug!(namespace, what, %problem, "somebody else has written it meanwhile");
        } else {
            tracing::warn!(namespace, what, %problem, "not written");
        }
    }

    async fn issue(
        &mut self,
        store: &mut Store,
        orders: Vec<(String, Order)>,
        now: SystemTime,
        left: &mut Left,
    ) -> Result<(), bartizan_terminal::Failure> {
        let mut free = Vec::new();
        for (namespace, order) in orders {
            if order.replaces.is_none() {
                match self.writing.is_taken(&namespace, &order.secret).await {
                    Ok(false) => {}
                    Ok(true) => {
                        if let Some(namespace) = store.namespaces.get_mut(&namespace) {
                            namespace.observed.foreign.insert(order.secret.clone());
                            namespace.changed = true;
                        }
                        left.waiting += 1;
                        continue;
                    }
                    Err(problem) => {
                        self.failed(store, &namespace, "a certificate", &problem, left);
                        continue;
                    }
                }
            }
            free.push((namespace, order));
        }
        if free.is_empty() || !self.is_leading() {
            left.waiting += free.len();
            return Ok(());
        }
        if matches!(self.source, Source::Issuer(_)) {
            self.ask(store, free, now, left).await;
            return Ok(());
        }
        self.kept.retain(|_, kept| Instant::now() < kept.until);
        let mut new = Vec::new();
        for (namespace, order) in free {
            let kept = self.kept.remove(&(namespace.clone(), order.node.clone()));
            let same =
                |kept: &Kept| (&kept.order.dns, &kept.order.ip, &kept.order.uri) == (&order.dns, &order.ip, &order.uri);
            match kept.filter(same) {
                Some(kept) => {
                    self.write_made(
                        store,
                        &namespace,
                        order,
                        kept.made,
                        (now, Attempt::Again, kept.until),
                        left,
                    )
                    .await;
                }
                None => new.push((namespace, order)),
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let (free, made) = self
            .with_authority(move |issuing| {
                let made = issuing.issue(&new, now);
                (new, made)
            })
            .await?;
        for ((namespace, order), made) in free.into_iter().zip(made) {
            let made = match made {
                Ok(made) => made,
                Err(why) => {
                    tracing::warn!(namespace, node = order.node, why, "no certificate could be issued");
                    self.numbers.failures.inc();
                    left.waiting += 1;
                    if let Some(namespace) = store.namespaces.get_mut(&namespace) {
                        namespace.failed(&order.node, Cause::Failed, why, now);
                    }
                    continue;
                }
            };
            let until = Instant::now() + KEPT;
            self.write_made(store, &namespace, order, made, (now, Attempt::First, until), left)
                .await;
        }
        Ok(())
    }

    /// Writes a certificate, or keeps it until the next attempt.
    async fn write_made(
        &mut self,
        store: &mut Store,
        namespace: &str,
        order: Order,
        made: Made,
        (now, attempt, until): (SystemTime, Attempt, Instant),
        left: &mut Left,
    ) {
        if self.is_leading() {
            if self.wrote(store, namespace, &order, &made, (now, attempt), left).await {
                return;
            }
        } else {
            left.waiting += 1;
        }
        let key = (namespace.to_owned(), order.node.clone());
        self.kept.insert(key, Kept { order, made, until });
    }

    /// Writes a certificate with its key; whether that worked.
    pub(crate) async fn wrote(
        &self,
        store: &mut Store,
        namespace: &str,
        order: &Order,
        made: &Made,
        (now, attempt): (SystemTime, Attempt),
        left: &mut Left,
    ) -> bool {
        match self.writing.secret(namespace, order, made).await {
            Ok(named) => {
                left.written += 1;
                self.numbers.certificates.inc();
                let until = humantime::format_rfc3339_seconds(made.not_after);
                tracing::info!(namespace, node = order.node, why = %order.why, serial = made.serial, %until, "issued");
                store.put(named);
                if let Some(namespace) = store.namespaces.get_mut(namespace) {
                    namespace.hold(&order.node);
                    namespace.changed = true;
                }
                true
            }
            Err(problem) => {
                self.numbers.failures.inc();
                self.failed(store, namespace, "a certificate", &problem, left);
                // After a first conflict what is there is looked at at once.
                if (problem.code() != Some(409) || attempt == Attempt::Again)
                    && let Some(namespace) = store.namespaces.get_mut(namespace)
                {
                    namespace.failed(&order.node, Cause::Failed, problem.to_string(), now);
                }
                false
            }
        }
    }

    /// Names of others' Secrets that are gone are free again.
    pub(crate) async fn look_at_others(&self, store: &mut Store) {
        for (name, namespace) in &mut store.namespaces {
            for secret in namespace.observed.foreign.clone() {
                if matches!(self.writing.is_taken(name, &secret).await, Ok(false)) {
                    namespace.observed.foreign.remove(&secret);
                    namespace.changed = true;
                }
            }
        }
    }

    /// Works with the authority on a thread of its own: its lock, its disk and its signatures take their time.
    async fn with_authority<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Issuing) -> T + Send + 'static,
    ) -> Result<T, bartizan_terminal::Failure> {
        let gone = || bartizan_terminal::Failure::new("the certificate authority is not at hand any more");
        let Source::Authority(issuing) = &mut self.source else {
            return Err(gone());
        };
        let mut issuing = issuing.take().ok_or_else(gone)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&mut issuing);
            (issuing, result)
        });
        let (issuing, result) = done.await.map_err(|_| gone())?;
        self.source = Source::Authority(Some(issuing));
        Ok(result)
    }
}
