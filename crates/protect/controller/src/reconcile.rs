//! Writes that bring a namespace to the state that its resources want.

use std::collections::BTreeSet;
use std::path::Path;

use bartizan_deployment::Node;
use time::OffsetDateTime;

use crate::action::{Action, Budget, Order, Turn, Why};
use crate::asked::MOST;
use crate::certificate_requests::{answered, lacks, withdraw_others};
use crate::objects::{Authority, Circumstances, Observed};
use crate::reading::{Reading, Source};
use crate::renewal::due;
use crate::status;

/// Progress of the certificates of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Nodes that shall have a certificate.
    pub(crate) nodes: usize,
    /// Those that have the right one.
    pub(crate) issued: usize,
    /// Those whose certificate is right and about to be renewed; they are among `issued`.
    pub(crate) ending: usize,
    /// Obstacles that keep a node from having one, node by node.
    pub(crate) obstacles: Vec<String>,
    /// The reason of the condition, of the first of these that has one of its own.
    pub(crate) reason: Option<&'static str>,
    /// CertificateRequests without an answer, node by node.
    pub(crate) asked: Vec<String>,
}

/// Decides what to write for a namespace.
#[must_use]
pub fn reconcile(observed: &Observed, circumstances: &Circumstances<'_>, budget: &mut Budget) -> Turn {
    let today = OffsetDateTime::from(circumstances.now).date();
    reconcile_read(&Reading::of(observed, today), observed, circumstances, budget)
}

/// The same with a reading that was made before, which is most of the work.
#[must_use]
pub fn reconcile_read(
    reading: &Reading,
    observed: &Observed,
    circumstances: &Circumstances<'_>,
    budget: &mut Budget,
) -> Turn {
    let mut turn = Turn {
        complaint: reading.complaint.clone(),
        ..Turn::default()
    };
    turn.actions.extend(file(reading, observed));
    let progress = certificates(reading, observed, circumstances, budget, &mut turn);
    (turn.nodes, turn.issued) = (progress.nodes, progress.issued);
    if turn.complaint.is_none() && reading.source == Source::ConfigMap {
        turn.complaint = progress.obstacles.first().cloned();
    }
    turn.actions
        .extend(status::all(reading, observed, circumstances, &progress));
    turn
}

fn file(reading: &Reading, observed: &Observed) -> Option<Action> {
    let text = reading.rendered.as_ref()?;
    let Source::Network(name, uid) = &reading.source else {
        return None;
    };
    let map = observed.config_map.as_ref();
    if map.is_some_and(|map| map.file.as_ref() == Some(text) && map.meta.owner.as_ref() == Some(uid)) {
        return None;
    }
    Some(Action::WriteFile {
        text: text.clone(),
        owner: (name.clone(), uid.clone()),
        replaces: map.map(|map| map.meta.version.clone()),
    })
}

/// Returns true if the node's pods mount a Secret of this controller: its files are those that the
/// webhook has them mount.
fn is_ours(node: &Node) -> bool {
    let files = node.files.as_ref();
    files.is_some_and(|files| {
        let mut own = files.certificates.iter();
        own.any(|own| own.certificate == Path::new("tls.crt") && own.key == Path::new("tls.key"))
    })
}

/// Returns true if it can be the name of a Secret (RFC 1123, a subdomain).
fn names_a_secret(name: &str) -> bool {
    let label = |label: &str| {
        let ends = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let bytes = label.as_bytes();
        ends(bytes.first())
            && ends(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

fn certificates(
    reading: &Reading,
    observed: &Observed,
    circumstances: &Circumstances<'_>,
    budget: &mut Budget,
    turn: &mut Turn,
) -> Progress {
    let mut progress = Progress::default();
    let mut awaited = BTreeSet::new();
    let Some(deployment) = &reading.deployment else {
        withdraw_others(observed, &awaited, turn);
        return progress;
    };
    let owner = match &reading.source {
        Source::Network(name, uid) => Some((name.clone(), uid.clone())),
        _ => None,
    };
    let mut orders = Vec::new();
    let nodes: Vec<&Node> = deployment.nodes().filter(|node| is_ours(node)).collect();
    for node in nodes.iter().copied() {
        progress.nodes += 1;
        let name = node.name.as_str();
        let secret = format!("{}{name}", circumstances.settings.secret_prefix);
        if !names_a_secret(&secret) {
            let hint = "hint: letters in lower case, digits, dots and hyphens name a node of Kubernetes";
            progress
                .obstacles
                .push(format!("nodes.{name}: no Secret can be called {secret}; {hint}"));
            continue;
        }
        let stored = observed.secrets.get(&secret);
        if stored.is_none() && observed.foreign.contains(&secret) {
            progress.reason.get_or_insert("ForeignSecret");
            progress.obstacles.push(format!(
                "Secret {secret} is not labelled as this controller's and is left as it is; hint: delete it, or leave it where somebody else renews it"
            ));
            continue;
        }
        let uid = owner.as_ref().map(|(_, uid)| uid.as_str());
        let why = match stored {
            None => Some(Why::Missing),
            Some(stored) => due(stored, &node.identity, uid, &observed.namespace, name, circumstances),
        };
        match why {
            None => progress.issued += 1,
            Some(Why::Ends) if is_valid(stored, circumstances) => {
                progress.issued += 1;
                progress.ending += 1;
            }
            Some(_) => {}
        }
        let Some(why) = why else {
            continue;
        };
        let order = Order {
            node: name.to_owned(),
            secret,
            dns: node.identity.dns().to_vec(),
            ip: node.identity.ip().iter().map(ToString::to_string).collect(),
            uri: node.identity.uri().to_vec(),
            why,
            replaces: stored.map(|stored| stored.meta.version.clone()),
            owner: owner.clone(),
        };
        let failure = observed.failures.get(name);
        if let Some(failure) = failure {
            progress.reason.get_or_insert(failure.cause.word());
            progress.obstacles.push(format!("nodes.{name}: {}", failure.reason));
        }
        if let Some(asked) = observed.asked.get(name) {
            awaited.insert(name.to_owned());
            answered(asked, order, node, circumstances, &mut progress, turn);
            continue;
        }
        let is_early = failure.is_some_and(|failure| failure.again > circumstances.now);
        if is_early || observed.held.contains(name) {
            continue;
        }
        orders.push(order);
    }
    if let Some((reason, why)) = lacks(deployment, &nodes, observed, circumstances) {
        progress.reason.get_or_insert(reason);
        progress.obstacles.push(why);
    }
    withdraw_others(observed, &awaited, turn);
    issue(orders, observed, circumstances, budget, turn);
    progress
}

fn is_valid(secret: Option<&crate::objects::Secret>, circumstances: &Circumstances<'_>) -> bool {
    let certificate = secret.and_then(|secret| secret.certificate.as_ref());
    certificate.is_some_and(|certificate| circumstances.now <= certificate.not_after)
}

/// Orders within the budget, the most urgent first; then revocation lists of Secrets that stay as they are.
fn issue(
    mut orders: Vec<Order>,
    observed: &Observed,
    circumstances: &Circumstances<'_>,
    budget: &mut Budget,
    turn: &mut Turn,
) {
    let (list, mut asked) = match circumstances.authority {
        Authority::Ready { list, .. } => (*list, usize::MAX),
        Authority::Elsewhere { .. } => (None, MOST.saturating_sub(observed.asked.len())),
        Authority::Unavailable(_) => {
            turn.waiting += orders.len();
            return;
        }
    };
    if !circumstances.clock_is_right() {
        turn.waiting += orders.len();
        return;
    }
    let ends = |order: &Order| {
        let certificate = observed.secrets.get(&order.secret)?.certificate.as_ref()?;
        Some(certificate.not_after)
    };
    orders.sort_by_cached_key(|order| (order.why, ends(order), order.node.clone()));
    let mut ordered = BTreeSet::new();
    for order in orders {
        let is_late = order.why == Why::Ends && !is_valid(observed.secrets.get(&order.secret), circumstances);
        let left = match order.why {
            Why::Ends if !is_late => &mut budget.renewals,
            _ => &mut budget.urgent,
        };
        if asked > 0 && Budget::take(left) {
            asked -= 1;
            ordered.insert(order.secret.clone());
            turn.actions.push(Action::Issue(order));
        } else {
            turn.waiting += 1;
        }
    }
    if list.is_none() {
        return;
    }
    for (name, secret) in &observed.secrets {
        if secret.list == list || ordered.contains(name) || observed.held.contains(name) {
            continue;
        }
        if Budget::take(&mut budget.lists) {
            turn.actions.push(Action::WriteList {
                secret: name.clone(),
                replaces: secret.meta.version.clone(),
            });
        } else {
            turn.waiting += 1;
        }
    }
}
