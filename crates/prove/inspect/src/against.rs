//! Pass or fail of captures against one framework for post-quantum cryptography.

use bartizan_posture::{Judgement, Posture, Verdict};
use bartizan_registry::{Category, Framework, Strength, Subject, group, ssh_key_exchange, x509_algorithm_named};
use serde::Serialize;

use crate::coverage::Fate;
use crate::report::Report;
use crate::text::counted;

/// Reasons that are listed for each subject.
const REASONS: usize = 12;

bartizan_registry::named! {
    /// Outcome for a connection, or for all of them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Outcome, name {
        /// The framework's demand is shown to be met.
        Met = "met",
        /// Nothing shows it, nor the contrary.
        NotShown = "not shown",
        /// The contrary is shown.
        NotMet = "not met",
    }
}

bartizan_registry::made! {
    /// All connections that carried data, against one framework.
    #[derive(Debug, Serialize)]
    pub struct Against,
    /// Judges reports that list each connection.
    #[must_use]
    pub of(framework: &'static Framework, reports: &[Report]) {
        let subjects = [Subject::KeyExchange, Subject::Signature];
        let subjects = subjects.map(|subject| Judged::of(framework, subject, reports));
        let limits = |report: &Report| report.findings().iter().any(crate::Finding::leaves_out);
        let left_out = reports
            .iter()
            .any(|report| report.summary().beyond_list.is_some() || limits(report));
        let is_met = |judged: &Judged| judged.met > 0 && judged.not_met + judged.not_shown == 0;
        framework: &'static str = framework.name,
        edition: &'static str = framework.edition,
        passed: bool = subjects.iter().all(is_met) && !left_out,
        subjects: [Judged; 2],
        /// Connections and packets that were not looked at, for want of memory or as they are
        /// damaged.
        left_out: bool,
    }
}

/// Key exchanges, or signatures.
#[derive(Debug, Serialize)]
struct Judged {
    subject: Subject,
    place: &'static str,
    asks: &'static str,
    met: u64,
    not_shown: u64,
    not_met: u64,
    /// The worst and most frequent first.
    reasons: Vec<Reason>,
    further_reasons: usize,
}

#[derive(Debug, Serialize)]
struct Reason {
    outcome: &'static str,
    because: String,
    connections: u64,
    /// The first of them.
    file: String,
    first: String,
}

impl Against {
    /// True where all that was seen shows what the framework asks for.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.passed
    }

    /// Framework and outcome in a line.
    pub fn headline(&self) -> String {
        let outcome = if self.passed { "PASS" } else { "FAIL" };
        format!("against {} ({}): {outcome}", self.framework, self.edition)
    }

    /// All of it for people, each line with its indentation.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        for judged in &self.subjects {
            let subject = match judged.subject {
                Subject::KeyExchange => "key exchange",
                Subject::Signature => "signatures",
            };
            lines.push(format!("  {subject} ({}): {}", judged.place, judged.asks));
            let (met, others) = (counted(judged.met, "connection"), [judged.not_met, judged.not_shown]);
            lines.push(format!(
                "    met by {met}, not met by {}, not shown by {}",
                others[0], others[1]
            ));
            for reason in &judged.reasons {
                let connections = counted(reason.connections, "connection");
                lines.push(format!(
                    "    {}: {}: {connections}, first {} of {}",
                    reason.outcome, reason.because, reason.first, reason.file
                ));
            }
            if judged.further_reasons > 0 {
                lines.push(format!("    and {} more reasons", judged.further_reasons));
            }
        }
        if self.left_out {
            lines.push("  a part of the traffic was not looked at: the findings say which".to_owned());
        }
        lines
    }
}

impl Judged {
    fn of(framework: &Framework, subject: Subject, reports: &[Report]) -> Self {
        let (mut counts, mut reasons) = ([0; 3], Vec::<(Outcome, Reason)>::new());
        for report in reports {
            for conversation in report.conversations() {
                let posture = conversation.posture();
                if Fate::of(posture) == Fate::WithoutData {
                    continue;
                }
                let judged = match subject {
                    Subject::KeyExchange => key_exchange(framework, posture),
                    Subject::Signature => signature(framework, &posture.authenticity),
                };
                let (outcome, because) = match (judged, posture.contradictions.first()) {
                    ((Outcome::Met, _), Some(found)) => (Outcome::NotShown, found.what.clone()),
                    (judged, _) => judged,
                };
                counts[outcome as usize] += 1;
                let mut known = reasons.iter_mut();
                match known.find(|(known, reason)| *known == outcome && reason.because == because) {
                    _ if outcome == Outcome::Met => {}
                    Some((_, reason)) => reason.connections += 1,
                    None => {
                        let [client, server] = conversation.ends();
                        let reason = Reason {
                            outcome: outcome.name(),
                            because,
                            connections: 1,
                            file: report.name().to_owned(),
                            first: format!("{client} -> {server}"),
                        };
                        reasons.push((outcome, reason));
                    }
                }
            }
        }
        reasons.sort_by_key(|(outcome, reason)| std::cmp::Reverse((*outcome, reason.connections)));
        let further_reasons = reasons.len().saturating_sub(REASONS);
        let [met, not_shown, not_met] = counts;
        Self {
            subject,
            place: framework.place(subject),
            asks: framework.asks(subject),
            met,
            not_shown,
            not_met,
            reasons: reasons.into_iter().take(REASONS).map(|(_, reason)| reason).collect(),
            further_reasons,
        }
    }
}

/// The outcome that a verdict alone decides.
fn by_verdict(judgement: &Judgement) -> Option<(Outcome, String)> {
    let outcome = match judgement.verdict() {
        Verdict::QuantumSafe => return None,
        Verdict::Vulnerable | Verdict::ReadableNow => Outcome::NotMet,
        Verdict::NotObservable | Verdict::NotSeen => Outcome::NotShown,
    };
    Some((outcome, judgement.because().to_owned()))
}

fn outcome(met: bool, name: String) -> (Outcome, String) {
    match met {
        true => (Outcome::Met, name),
        false => (Outcome::NotMet, format!("{name} is not what it asks for")),
    }
}

fn key_exchange(framework: &Framework, posture: &Posture) -> (Outcome, String) {
    if let Some(decided) = by_verdict(&posture.confidentiality) {
        return decided;
    }
    let Some(name) = posture.key_exchange() else {
        return (Outcome::NotShown, "its key exchange is not in the evidence".to_owned());
    };
    let methods = || {
        posture
            .key_exchanges
            .iter()
            .map(|method| method.known().and_then(|known| known.category))
    };
    let (category, is_hybrid): (Option<Category>, bool) = match (posture.group, &posture.ssh_key_exchange) {
        (Some(code), _) => {
            let known = group(code);
            (
                known.and_then(|known| known.category),
                known.is_some_and(|known| !known.parts.is_empty()),
            )
        }
        // Every method of SSH that the registry calls safe has a classical part.
        (None, Some(method)) => (ssh_key_exchange(method).and_then(|known| known.category), true),
        (None, None) => (methods().flatten().next(), methods().any(|category| category.is_none())),
    };
    let strength = Strength {
        name: &name,
        category,
        is_hybrid,
    };
    outcome(framework.accepts(Subject::KeyExchange, strength), name)
}

fn signature(framework: &Framework, authenticity: &Judgement) -> (Outcome, String) {
    if let Some(decided) = by_verdict(authenticity) {
        return decided;
    }
    let mut algorithms = authenticity.algorithms().to_vec();
    algorithms.sort_unstable();
    algorithms.dedup();
    if algorithms.is_empty() {
        return (
            Outcome::NotShown,
            "not all keys of its certificates are in the evidence".to_owned(),
        );
    }
    let accepts = |name: &&str| {
        let strength = Strength {
            name,
            category: x509_algorithm_named(name).and_then(|known| known.category),
            // Names of composites begin so, those of ML-DSA alone with `id-ml-dsa`.
            is_hybrid: name.starts_with("id-MLDSA"),
        };
        framework.accepts(Subject::Signature, strength)
    };
    outcome(algorithms.iter().all(accepts), algorithms.join(", "))
}
