//! CertificateRequests that are waited for: which certificate is taken, which request is given up,
//! and what an issuer elsewhere lacks.

use std::collections::BTreeSet;

use bartizan_deployment::{Deployment, Node, Protection};
use time::OffsetDateTime;

use crate::action::{Action, Order, Turn};
use crate::asked::{Answer, Asked, Cause, PATIENCE, lower};
use crate::objects::{Authority, Circumstances, Observed};
use crate::reconcile::Progress;
use crate::renewal::names;

/// Acts for a node that a request was written for, and that is still to get a certificate.
pub(crate) fn answered(
    asked: &Asked,
    order: Order,
    node: &Node,
    circumstances: &Circumstances<'_>,
    progress: &mut Progress,
    turn: &mut Turn,
) {
    let withdraw = |failure| Action::Withdraw {
        request: asked.request.clone(),
        uid: asked.uid.clone(),
        node: Some(order.node.clone()),
        failure,
    };
    let named = |what: &str| format!("CertificateRequest {} {what}", asked.request);
    let action = if lower(&asked.names) == lower(&names(&node.identity)) {
        match &asked.answer {
            Answer::Waiting(_) if circumstances.now > asked.since + PATIENCE => {
                withdraw(Some((Cause::Failed, named("was not answered within a day"))))
            }
            Answer::Waiting(why) => {
                turn.waiting += 1;
                progress.asked.push(format!("nodes.{}: {}", order.node, named(why)));
                return;
            }
            Answer::Issued { .. } => match circumstances.authority {
                Authority::Elsewhere { .. } if circumstances.clock_is_right() => Action::Take(order),
                _ => {
                    turn.waiting += 1;
                    return;
                }
            },
            Answer::Refused(cause, why) => withdraw(Some((*cause, refused(&asked.request, *cause, why)))),
            Answer::Gone => withdraw(Some((
                Cause::Failed,
                named("was deleted by somebody else before a certificate was taken from it"),
            ))),
        }
    } else {
        withdraw(None)
    };
    // The result of either is seen in the next turn.
    turn.waiting += 1;
    turn.actions.push(action);
}

fn refused(request: &str, cause: Cause, why: &str) -> String {
    let what = match cause {
        Cause::Denied => "was denied",
        Cause::InvalidRequest => "is invalid for the issuer",
        Cause::Failed => "failed",
    };
    format!("CertificateRequest {request} {what}: {why}")
}

/// Withdraws requests that no node waits for any more, and those of nodes that need none.
pub(crate) fn withdraw_others(observed: &Observed, awaited: &BTreeSet<String>, turn: &mut Turn) {
    let strays = observed.strays.iter().map(|stray| Action::Withdraw {
        request: stray.request.clone(),
        uid: stray.uid.clone(),
        node: None,
        failure: None,
    });
    turn.actions.extend(strays);
    let others = observed.asked.iter().filter(|(node, _)| !awaited.contains(*node));
    turn.actions.extend(others.map(|(node, asked)| Action::Withdraw {
        request: asked.request.clone(),
        uid: asked.uid.clone(),
        node: Some(node.clone()),
        failure: None,
    }));
}

/// Properties that the file asks for and certificates of an issuer elsewhere have not: the reason
/// of the condition, and what is missing.
pub(crate) fn lacks(
    deployment: &Deployment,
    nodes: &[&Node],
    observed: &Observed,
    circumstances: &Circumstances<'_>,
) -> Option<(&'static str, String)> {
    let Authority::Elsewhere { root, signs } = circumstances.authority else {
        return None;
    };
    let with_list = nodes
        .iter()
        .find(|node| node.files.as_ref().is_some_and(|files| files.crl.is_some()));
    if let Some(node) = with_list {
        let why = format!(
            "nodes.{}: its trust names a revocation list, and cert-manager has none: its Secret has no ca.crl, and its sidecar does not start; hint: leave `crl` out of `trust`",
            node.name
        );
        return Some(("NoRevocationList", why));
    }
    let today = OffsetDateTime::from(circumstances.now).date();
    let refusing = deployment.interfaces().iter().find(|interface| {
        let by_tls = matches!(interface.protection, Protection::Sidecar | Protection::Gateway);
        let ours = |name: &bartizan_deployment::NodeName| nodes.iter().any(|node| node.name == *name);
        by_tls && interface.between.iter().any(ours) && !interface.policy.in_effect(today).signatures.contains(signs)
    });
    if let Some(interface) = refusing {
        let why = format!(
            "{} between {} and {}: its policy, {}, accepts no signature by {signs}, so every handshake is refused; hint: an issuer that signs ML-DSA keys (--key-algorithm), or the policy transition with a reason and a last day",
            interface.kind.name(),
            interface.between[0],
            interface.between[1],
            interface.policy.profile.name(),
        );
        return Some(("PolicyRefusesKey", why));
    }
    if root.is_some() {
        return None;
    }
    let secrets = nodes.iter().filter_map(|node| {
        observed
            .secrets
            .get(&format!("{}{}", circumstances.settings.secret_prefix, node.name))
    });
    let roots: BTreeSet<_> = secrets.filter_map(|secret| secret.root).collect();
    (roots.len() > 1).then(|| {
        let why = "the issuer has changed its root, and nodes do not trust each other's certificates; hint: --issuer-root FILE with both roots".to_owned();
        ("DifferentRoots", why)
    })
}
