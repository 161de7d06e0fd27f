//! Objections to a link.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{IkeAlgorithm, Interface as Listed, KeyExchange, Policy, Protection, day_of};
use bartizan_registry::NamedGroup;
use bartizan_wire::ike::KeyExchangeMethod;

use super::{Link, Listing, Phase};
use crate::{Answer, Kind, Source, Verdict};

bartizan_registry::named! {
    /// The risk of a link.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Concern, name {
        /// Can be read now: it was sent unencrypted.
        ReadableNow = "readable now",
        /// Can be harvested now and decrypted later.
        Confidentiality = "confidentiality",
        /// Can be forged.
        Authenticity = "authenticity",
        /// Post-quantum at set-up, and not in all that followed.
        Regression = "regression",
        /// Later parts of a link are weaker than earlier ones.
        Downgrade = "downgrade",
        /// Something else was negotiated than the policy names.
        Policy = "policy",
        /// Not in the deployment file.
        Unlisted = "not in the file",
        /// In the deployment file, and not in the capture.
        Unseen = "not seen",
        /// Not shown to be safe.
        Unproven = "unproven",
        /// A hole above the transport.
        AboveTransport = "above the transport",
        /// Ledger and packets disagree.
        Contradiction = "contradiction",
    }
}

impl Concern {
    /// Concern for data that can be read, now or later.
    pub fn of_readable(confidentiality: Verdict) -> Self {
        match confidentiality {
            Verdict::ReadableNow => Self::ReadableNow,
            _ => Self::Confidentiality,
        }
    }

    /// The risk in one sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::ReadableNow => "It was sent unencrypted: whoever captures it reads it now.",
            Self::Confidentiality => "Its key exchange is classical: harvest now, decrypt later.",
            Self::Authenticity => "A classical signature, or none, proves an end: future forgery of authentication.",
            Self::Regression => "It was set up with a post-quantum key exchange, and rekeyed without one.",
            Self::Downgrade => "A link was quantum-safe before, and later parts of it are not.",
            Self::Policy => "Something else was negotiated than the policy of the link names.",
            Self::Unlisted => "A link was seen that the deployment file does not have.",
            Self::Unseen => "An interface of the deployment file carried nothing in what was captured.",
            Self::Unproven => "It carries data, and nothing shows that it is safe.",
            Self::AboveTransport => "A subscriber's identifier, a token or a password is exposed above the transport.",
            Self::Contradiction => "Ledgers and packets, or packets among themselves, contradict each other.",
        }
    }
}

/// Something to object to. Only this crate makes one, from a link's verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The risk.
    pub concern: Concern,
    /// The reason, in words.
    pub because: String,
    /// The packets and records it rests on.
    pub sources: Vec<Source>,
}

/// Policy for links that are in no file: made once, for there may be a hundred thousand.
static HYBRID: LazyLock<Policy> = LazyLock::new(Policy::hybrid);

/// Fills in a link's objections, under the policy of `listed`, or else the profile `hybrid`.
pub(super) fn object(link: &mut Link, listed: Option<&Listed>) {
    if !link.carried() || matches!(link.listing, Listing::Within(_)) {
        return;
    }
    let policy = listed.map_or_else(|| &*HYBRID, |listed| &listed.policy);
    let unprotected_by_choice = listed.is_some_and(|listed| listed.protection == Protection::Nothing);
    // A link that lived past midnight is judged by the later day: it is the stricter one. Where
    // packets have no time, every exception may have ended.
    let last = Some(link.last.time.0).filter(|time| *time > 0).unwrap_or(u64::MAX);
    let today = day_of(SystemTime::UNIX_EPOCH + Duration::from_nanos(last));
    let classical_may_pass = policy.admits_classical(today);
    let clear = link.directions.iter().map(|direction| direction.clear.answer());
    let in_plaintext = clear.clone().any(|answer| answer == Answer::Yes);
    let surely_encrypted = clear.clone().all(|answer| answer == Answer::No);
    // An exception excuses a classical key exchange: no cleartext, no nonces used twice, no broken cipher.
    let passes = |link: &Link| {
        let confidentiality = &link.confidentiality;
        let by_classical = confidentiality.is_by_classical();
        classical_may_pass
            && match confidentiality.verdict().is_vulnerable() {
                true => unprotected_by_choice || (by_classical && !in_plaintext),
                false => by_classical && surely_encrypted,
            }
    };
    let mut objections = Vec::new();
    let mut object = |concern, because: &str, sources: &[Source]| {
        objections.push(Objection {
            concern,
            because: because.to_owned(),
            sources: sources.to_vec(),
        });
    };
    if link.listing == Listing::Unlisted {
        let because = "seen, and not in the deployment file";
        object(Concern::Unlisted, because, &[Source::between(link.first, link.last)]);
    }
    let passes = passes(link);
    let mut excused = false;
    let (confidentiality, authenticity) = (&link.confidentiality, &link.authenticity);
    match confidentiality.verdict() {
        Verdict::QuantumSafe => {}
        _ if passes => excused = true,
        verdict @ (Verdict::Vulnerable | Verdict::ReadableNow) => object(
            Concern::of_readable(verdict),
            confidentiality.because(),
            confidentiality.sources(),
        ),
        Verdict::NotObservable | Verdict::NotSeen => {
            object(Concern::Unproven, confidentiality.because(), confidentiality.sources());
        }
    }
    if authenticity.verdict().is_vulnerable() {
        let by_classical = authenticity.is_by_classical() && !in_plaintext;
        if classical_may_pass && (by_classical || unprotected_by_choice) {
            excused = true;
        } else {
            object(Concern::Authenticity, authenticity.because(), authenticity.sources());
        }
    }
    if let Some((before, after)) = fell(link) {
        if passes {
            excused = true;
        } else {
            let because = format!("first {}, then {}", named(before), named(after));
            object(
                Concern::Downgrade,
                &because,
                &[
                    Source::between(before.first, before.first),
                    Source::between(after.latest, after.latest),
                ],
            );
        }
    } else if confidentiality.verdict() == Verdict::QuantumSafe {
        let stayed = link.directions.iter().map(|direction| &direction.stayed);
        if let Some(stayed) = stayed.into_iter().find(|stayed| stayed.answer() == Answer::No) {
            object(Concern::Regression, stayed.because(), stayed.sources());
        }
    }
    if listed.is_some() {
        let in_effect = policy.in_effect(today);
        let sources = [Source::between(link.first, link.last)];
        for because in [other_groups(link, &in_effect), other_key_exchanges(link, &in_effect)]
            .into_iter()
            .flatten()
        {
            object(Concern::Policy, &because, &sources);
        }
    }
    link.exception = policy
        .exception
        .as_ref()
        .filter(|_| excused)
        .map(|exception| format!("allowed until {}: {}", exception.expires, exception.why()));
    objections.shrink_to_fit();
    link.objections = objections;
}

/// Groups of TLS that the policy does not name.
fn other_groups(link: &Link, policy: &Policy) -> Option<String> {
    let others = link.groups.iter().filter(|group| !policy.groups.contains(group));
    instead(
        others.map(NamedGroup::to_string),
        policy.groups.iter().map(NamedGroup::to_string),
    )
}

/// Key exchanges of IKE that the policy does not name: each is judged as it was combined, because ML-KEM behind another first
/// method is another key exchange.
fn other_key_exchanges(link: &Link, policy: &Policy) -> Option<String> {
    let allowed = &policy.ipsec.key_exchanges;
    let is = |found: &[KeyExchangeMethod], wanted: &KeyExchange| {
        let wanted = wanted.methods().iter().map(IkeAlgorithm::id);
        found.iter().map(|method| method.0).eq(wanted)
    };
    let others = link
        .key_exchanges
        .iter()
        .filter(|found| !allowed.iter().any(|wanted| is(found, wanted)));
    let named = |methods: &Vec<KeyExchangeMethod>| {
        let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
        names.join("+")
    };
    instead(others.map(named), allowed.iter().map(KeyExchange::to_string))
}

/// The negotiated methods, and the required ones; none if no others were negotiated.
fn instead(others: impl Iterator<Item = String>, wanted: impl Iterator<Item = String>) -> Option<String> {
    let [others, wanted] = [others.collect::<Vec<_>>(), wanted.collect()].map(|names| names.join(", "));
    (!others.is_empty()).then(|| format!("{others} negotiated, the policy names {wanted}"))
}

/// The first safe phase, and a vulnerable one that began after it. Where nothing shows what a link is, plaintext next to
/// TLS may be another application between the same hosts: it is an objection by itself, and no regression.
fn fell(link: &Link) -> Option<(&Phase, &Phase)> {
    let mut phases = link.phases.iter();
    let safe = phases.find(|phase| phase.confidentiality == Verdict::QuantumSafe)?;
    let clear = |kind| matches!(kind, Kind::ClearHttp1 | Kind::ClearHttp2);
    let worse = link.phases.iter().find(|phase| {
        phase.confidentiality.is_vulnerable()
            && phase.latest.packet > safe.first.packet
            && (link.interface.is_some() || !clear(phase.kind))
    })?;
    Some((safe, worse))
}

fn named(phase: &Phase) -> String {
    let kind = phase.kind.name();
    match &phase.key_exchange {
        Some(key_exchange) => format!("{kind} with {key_exchange}"),
        None => kind,
    }
}
