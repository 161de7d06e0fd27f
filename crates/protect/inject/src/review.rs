//! From a review to its answer.

use serde_json::Value;

use crate::answer::{Answer, KIND, VERSION, Verdict};
use crate::document::{at, shown, text};
use crate::pod::{Pod, Wish};
use crate::{Exemption, INJECT, NODE, REDIRECT, SIDECAR, Settings, TRUST, bounds, check, patch, secrets};

/// Most reasons that a refusal lists.
const REASONS: usize = 8;

/// Answers a review, the bytes of a request's body.
#[must_use]
pub fn review(body: &[u8], settings: &Settings) -> Answer {
    if let Some(reason) = bounds::exceeded(body) {
        return refuse_unread(&reason);
    }
    let review: Value = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => return refuse_unread(&format!("the review is no JSON: {error}")),
    };
    let uid = text(&review, &["request", "uid"]).unwrap_or_default();
    let malformed = |reason: String| Answer::new(uid, Verdict::Malformed(reason));
    let (version, kind) = (text(&review, &["apiVersion"]), text(&review, &["kind"]));
    if (version, kind) != (Some(VERSION), Some(KIND)) {
        return malformed(format!(
            "the review is {} of {}, and this webhook reads {KIND} of {VERSION}; hint: `admissionReviewVersions: [v1]` in the webhook's configuration",
            shown(kind.unwrap_or("nothing named")),
            shown(version.unwrap_or("no version"))
        ));
    }
    if uid.is_empty() {
        return malformed("the review has no request with a uid".to_owned());
    }
    request(uid, at(&review, &["request"]), settings)
}

/// The answer to what could not be read as a whole, such as a body that is too long.
#[must_use]
pub fn refuse_unread(reason: &str) -> Answer {
    Answer::new("", Verdict::Malformed(reason.to_owned()))
}

fn request(uid: &str, request: &Value, settings: &Settings) -> Answer {
    let malformed = |reason: String| Answer::new(uid, Verdict::Malformed(reason));
    let kind = at(request, &["kind"]);
    let of = |key| text(kind, &[key]).unwrap_or_default();
    if (of("group"), of("version"), of("kind")) != ("", "v1", "Pod") {
        return malformed(format!(
            "the request is about {} of {}/{}, and this webhook decides about pods; hint: `matchPolicy: Equivalent`, and pods alone in its rules",
            shown(of("kind")),
            shown(of("group")),
            shown(of("version"))
        ));
    }
    let operation = text(request, &["operation"]).unwrap_or_default();
    let part = text(request, &["subResource"]).unwrap_or_default();
    let read = |key| Pod::read(at(request, &[key])).map_err(|reason| format!("{key}: {reason}"));
    let answer = match (operation, part) {
        ("CREATE", "") => read("object").map(|pod| created(uid, pod, settings)),
        ("UPDATE", "") => read("object").and_then(|pod| Ok(updated(uid, pod, read("oldObject")?, settings))),
        ("UPDATE", "ephemeralcontainers") => read("object").map(|pod| debugged(uid, pod, settings)),
        _ => Err(format!(
            "this webhook decides about CREATE and UPDATE of pods and UPDATE of pods/ephemeralcontainers, not {} of pods/{}; hint: take it out of the rules",
            shown(operation),
            shown(part)
        )),
    };
    Answer {
        about: about(request),
        ..answer.unwrap_or_else(malformed)
    }
}

fn about(request: &Value) -> String {
    let metadata = at(request, &["object", "metadata"]);
    let name = text(metadata, &["name"]).or_else(|| text(metadata, &["generateName"]));
    let namespace = text(request, &["namespace"]).unwrap_or_default();
    format!("{}/{}", shown(namespace), shown(name.unwrap_or_default()))
}

fn created(uid: &str, pod: Pod<'_>, settings: &Settings) -> Answer {
    let refused = |reason: String| Answer::new(uid, Verdict::Refused(reason));
    let node = match pod.wish() {
        Ok(Wish::Node(node)) => node,
        Ok(Wish::LeftOut) if settings.exemption == Exemption::Refused => {
            return refused(format!(
                "the annotation {INJECT}: disabled leaves the pod unprotected, and this webhook was started with --mandatory; take it out, and add `{NODE}: NAME`"
            ));
        }
        Ok(Wish::LeftOut) => {
            let mut answer = Answer::new(uid, Verdict::LeftOut);
            answer.warnings.push(format!(
                "{INJECT}: disabled: this pod has no sidecar, and what it sends leaves unprotected"
            ));
            let prefix = &settings.secret_prefix;
            let secrets = [
                secrets::in_volumes(pod, prefix, &[]),
                secrets::in_environment(pod.containers(), prefix),
                secrets::for_images(pod, prefix),
            ];
            answer
                .warnings
                .extend(secrets.concat().iter().map(|one| secrets::said(one)));
            answer.audit.insert("left-out", INJECT.to_owned());
            return answer;
        }
        Err(reason) => return refused(reason),
    };
    let found = check::pod(pod, settings);
    let operations = match patch::operations(pod, node, settings) {
        Ok(operations) if found.refused.is_empty() => operations,
        Ok(_) => return refused(reasons(&found.refused)),
        Err(reason) => return refused(reasons(&[found.refused, vec![reason]].concat())),
    };
    let verdict = if operations.is_empty() {
        Verdict::Unchanged
    } else {
        Verdict::Injected(operations)
    };
    let mut answer = Answer::new(uid, verdict);
    answer.audit.insert("node", node.to_owned());
    remark(&mut answer, found);
    answer
}

/// Adds warnings, and the containers that the pod's author trusts.
fn remark(answer: &mut Answer, found: check::Findings) {
    if !found.trusted.is_empty() {
        let names: Vec<&str> = found.trusted.iter().map(String::as_str).collect();
        answer.audit.insert("trusted", format!("{TRUST}: {}", names.join(",")));
    }
    answer.warnings = found.warnings;
}

/// Judges an update of an injected pod: of its own containers only the image can be changed, to
/// another of ours alone.
fn updated(uid: &str, pod: Pod<'_>, old: Pod<'_>, settings: &Settings) -> Answer {
    let image = |value: &Value| text(value, &["image"]).map(str::to_owned);
    let mut wrong = Vec::new();
    for (name, wanted) in [(REDIRECT, &settings.redirect_image), (SIDECAR, &settings.image)] {
        let of = |pod: Pod<'_>| {
            pod.ours()
                .into_iter()
                .find(|(_, one)| one.name == name)
                .map(|(_, one)| image(one.value))
        };
        let (now, before) = (of(pod), of(old));
        if now != before && now.as_ref().and_then(Option::as_ref) != Some(wanted) {
            wrong.push(format!("the image of {name} may become {wanted} and nothing else"));
        }
    }
    if wrong.is_empty() {
        return Answer::new(uid, Verdict::Unchanged);
    }
    Answer::new(uid, Verdict::Refused(reasons(&wrong)))
}

/// `kubectl debug`: a container that comes into a running pod.
fn debugged(uid: &str, pod: Pod<'_>, settings: &Settings) -> Answer {
    if pod.ours().is_empty() {
        return Answer::new(uid, Verdict::Unchanged);
    }
    let found = check::ephemeral(pod, settings);
    if !found.refused.is_empty() {
        return Answer::new(uid, Verdict::Refused(reasons(&found.refused)));
    }
    let mut answer = Answer::new(uid, Verdict::Unchanged);
    remark(&mut answer, found);
    answer
}

fn reasons(all: &[String]) -> String {
    let mut text = all
        .iter()
        .take(REASONS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("; ");
    if all.len() > REASONS {
        text.push_str(&format!("; and {} more", all.len() - REASONS));
    }
    text
}
