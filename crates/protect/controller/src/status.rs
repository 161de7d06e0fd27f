//! The status of each resource.

use bartizan_deployment::Deployment;
use serde_json::{Value, json};

use crate::action::{Action, Object};
use crate::condition::{Condition, State};
use crate::objects::{Authority, Circumstances, Meta, Observed};
use crate::protection::is_protected;
use crate::reading::{Reading, Verdict};
use crate::reconcile::Progress;

/// Obstacles of this many nodes are named.
const NAMED: usize = 5;

/// The statuses that differ from what is stored.
pub(crate) fn all(
    reading: &Reading,
    observed: &Observed,
    circumstances: &Circumstances<'_>,
    progress: &Progress,
) -> Vec<Action> {
    let mut actions = Vec::new();
    for (network, verdict) in observed.networks.iter().zip(&reading.networks) {
        let is_in_charge = matches!(verdict, Verdict::Accepted | Verdict::Refused(_));
        let mut conditions = vec![valid(verdict, observed)];
        let mut status = json!({});
        if is_in_charge {
            let (ready, pods) = pods(reading, observed);
            conditions.extend([issued(reading, circumstances, progress), is_ready(reading, observed)]);
            if circumstances.settings.state {
                conditions.push(is_protected(reading, observed));
            }
            status["nodes"] = json!(reading.deployment.as_ref().map_or(0, |file| file.nodes().count()));
            status["issued"] = json!(format!("{}/{}", progress.issued, progress.nodes));
            status["ready"] = json!(format!("{ready}/{pods}"));
        }
        actions.extend(write(
            Object::Network,
            &network.meta,
            &network.status,
            status,
            &conditions,
            circumstances,
        ));
    }
    for (exception, verdict) in observed.exceptions.iter().zip(&reading.exceptions) {
        let conditions = [effective(verdict)];
        actions.extend(write(
            Object::Exception,
            &exception.meta,
            &exception.status,
            json!({}),
            &conditions,
            circumstances,
        ));
    }
    actions
}

fn write(
    object: Object,
    meta: &Meta,
    stored: &Value,
    mut status: Value,
    conditions: &[Condition],
    circumstances: &Circumstances<'_>,
) -> Option<Action> {
    let conditions = conditions
        .iter()
        .map(|one| one.json(stored, meta.generation, circumstances.now));
    status["conditions"] = Value::Array(conditions.collect());
    (status != *stored).then(|| Action::WriteStatus {
        object,
        name: meta.name.clone(),
        status,
    })
}

fn valid(verdict: &Verdict, observed: &Observed) -> Condition {
    let new = |state, reason, message| Condition::new("Valid", state, reason, message);
    match verdict {
        Verdict::Accepted => new(
            State::True,
            "Accepted",
            "the deployment file is in the ConfigMap".to_owned(),
        ),
        Verdict::Refused(why) => {
            let stays = if observed.config_map.is_some() {
                "; the last file that was accepted stays"
            } else {
                ""
            };
            new(State::False, "Refused", format!("spec.{why}{stays}"))
        }
        Verdict::AnotherNetwork(name) => {
            let message = format!("a namespace has one Network, and {name} is older; hint: delete one of the two");
            new(State::False, "AnotherNetwork", message)
        }
        Verdict::ForeignConfigMap => {
            let name = observed.config_map.as_ref().map_or("", |map| map.meta.name.as_str());
            let message = format!(
                "ConfigMap {name} is not labelled as this controller's and is not written: pods read it, and certificates are this Network's; hint: delete it"
            );
            new(State::False, "ForeignConfigMap", message)
        }
        Verdict::Expired | Verdict::NoNetwork => new(State::Unknown, "Unknown", String::new()),
    }
}

fn issued(reading: &Reading, circumstances: &Circumstances<'_>, progress: &Progress) -> Condition {
    let new = |state, reason, message: String| Condition::new("Issued", state, reason, message);
    let mut counted = format!(
        "{} of {} certificates are as the file wants them",
        progress.issued, progress.nodes
    );
    if let Authority::Ready { unrenewed, .. } = circumstances.authority
        && !unrenewed.is_empty()
    {
        counted += &format!("\n{}", first(unrenewed));
    }
    if reading.deployment.is_none() {
        return new(
            State::Unknown,
            "NoFile",
            "no deployment file was accepted yet".to_owned(),
        );
    }
    let complete = progress.issued == progress.nodes;
    let due = !complete || progress.ending > 0;
    if let Authority::Unavailable(why) = circumstances.authority
        && due
    {
        return new(
            State::False,
            "NoAuthority",
            format!("{counted}; nothing can be issued: {why}"),
        );
    }
    if !circumstances.clock_is_right() && due {
        let side = if circumstances.skew > 0 { "ahead of" } else { "behind" };
        let message = format!(
            "{counted}; nothing is issued while the controller's clock is {} s {side} the API server's; hint: set the clock by NTP",
            circumstances.skew.unsigned_abs()
        );
        return new(State::False, "ClockSkew", message);
    }
    if !progress.obstacles.is_empty() {
        let reason = progress.reason.unwrap_or("Failed");
        return new(
            State::False,
            reason,
            format!("{counted}\n{}", first(&progress.obstacles)),
        );
    }
    if complete {
        new(State::True, "AllIssued", counted)
    } else if progress.asked.is_empty() {
        new(State::False, "Issuing", counted)
    } else {
        new(
            State::False,
            "Issuing",
            format!("{counted}\n{}", first(&progress.asked)),
        )
    }
}

/// The first few, and how many more there are.
fn first(all: &[String]) -> String {
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join("\n");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}\nand {more} more"),
    }
}

/// Pods of the file's nodes: those that are ready, and all.
fn pods(reading: &Reading, observed: &Observed) -> (usize, usize) {
    let nodes = reading.deployment.iter().flat_map(Deployment::nodes);
    let pods = nodes.filter_map(|node| observed.pods.get(node.name.as_str()));
    pods.fold((0, 0), |(ready, all), pods| (ready + pods.ready, all + pods.all))
}

fn is_ready(reading: &Reading, observed: &Observed) -> Condition {
    let new = |state, reason, message: String| Condition::new("Ready", state, reason, message);
    let (ready, all) = pods(reading, observed);
    if all == 0 {
        return new(State::Unknown, "NoPods", "no pod of a node runs".to_owned());
    }
    let counted = format!("{ready} of {all} sidecars answer /ready");
    if ready == all {
        return new(State::True, "AllReady", counted);
    }
    // An annotation may name anything: what is no node of the file is not counted, and is no reason.
    let nodes = reading
        .deployment
        .iter()
        .flat_map(Deployment::nodes)
        .map(|node| node.name.as_str());
    let is_unready = |node: &&str| observed.pods.get(*node).is_some_and(|pods| pods.ready < pods.all);
    let unready: Vec<_> = nodes.filter(is_unready).take(NAMED).collect();
    new(
        State::False,
        "NotReady",
        format!("{counted}; not ready are pods of {}", unready.join(", ")),
    )
}

fn effective(verdict: &Verdict) -> Condition {
    let new = |state, reason, message: &str| Condition::new("Effective", state, reason, message);
    match verdict {
        Verdict::Accepted => new(State::True, "InEffect", "the interface's policy is transition"),
        Verdict::Refused(why) => new(State::False, "Refused", why),
        Verdict::Expired => new(State::False, "Expired", "the last day is over; hint: delete it"),
        Verdict::AnotherNetwork(name) => {
            let message = format!("the namespace's Network is not {name}; hint: correct spec.network, or leave it out");
            new(State::False, "AnotherNetwork", &message)
        }
        Verdict::ForeignConfigMap => new(
            State::False,
            "ForeignConfigMap",
            "the ConfigMap is not this controller's, and has its own exceptions",
        ),
        Verdict::NoNetwork => new(State::False, "NoNetwork", "there is no Network that is valid"),
    }
}
