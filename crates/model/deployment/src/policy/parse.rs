//! Policies as a deployment file writes them.

use std::fmt::Display;
use std::time::Duration;

use bartizan_registry::{NamedGroup, SignatureScheme, group_named, signature_named};
use time::Date;
use time::macros::format_description;

use super::{
    Exception, Module, Policy, PostQuantum, Profile, Resumption, Revocation, quantum_safe_group, quantum_safe_signature,
};
use crate::error::Fault;
use crate::ipsec::IpsecPolicy;
use crate::nearest::nearest;
use crate::raw::{RawPolicy, RawPolicyMap};
use crate::schema::{Signatures, Text};
use crate::word::Word;

impl Policy {
    pub(crate) fn parse(raw: &RawPolicy) -> Result<Self, Fault> {
        match raw {
            RawPolicy::Text(name) => {
                let map = RawPolicyMap {
                    profile: Some(name.as_str().into()),
                    ..RawPolicyMap::default()
                };
                Self::parse_map(&map)
            }
            RawPolicy::Map(map) => Self::parse_map(map),
        }
    }

    fn parse_map(raw: &RawPolicyMap) -> Result<Self, Fault> {
        let profile = raw.profile.as_deref().map_or(Ok(Profile::Hybrid), Profile::parse)?;
        let post_quantum = match (raw.post_quantum.as_deref(), profile) {
            (None, Profile::Transition) => PostQuantum::Prefer,
            (None, Profile::Hybrid | Profile::Cnsa2) => PostQuantum::Require,
            (None, Profile::Classical) => PostQuantum::Forbid,
            (Some("require"), Profile::Hybrid | Profile::Cnsa2) => PostQuantum::Require,
            (Some("prefer"), Profile::Transition) => PostQuantum::Prefer,
            (Some("allow"), Profile::Transition) => PostQuantum::Allow,
            (Some(word @ ("require" | "prefer" | "allow")), _) => {
                let cause = format!("`{word}` does not go with the profile {}", profile.name());
                let hint = "hybrid and cnsa2 require; transition prefers or allows";
                return Err(Fault::new("post-quantum", cause, hint));
            }
            (Some(word), _) => {
                let cause = format!("`{word}` is not a strength");
                return Err(Fault::new("post-quantum", cause, "write require, prefer or allow"));
            }
        };
        let exception = exception(raw, profile)?;
        let mut policy = match (profile, &exception) {
            (Profile::Hybrid, _) => Self::hybrid(),
            (Profile::Cnsa2, _) => Self::cnsa2(),
            (Profile::Classical, _) => Self::classical(),
            (Profile::Transition, Some(exception)) => Self::transition(exception.clone()),
            (Profile::Transition, None) => return Err(unexcused()),
        };
        policy.post_quantum = post_quantum;
        if post_quantum == PostQuantum::Allow {
            // Classical first: a stable sort keeps the order within each half.
            policy.groups.sort_by_key(|&code| quantum_safe_group(code));
            policy.signatures.sort_by_key(|&code| quantum_safe_signature(code));
        }
        if let Some(names) = &raw.groups {
            policy.groups = list(names, "groups", USABLE_GROUPS, group_of)?;
        }
        if let Some(names) = &raw.signatures {
            policy.signatures = signature_list(names, "signatures")?;
        }
        if let Some(names) = &raw.chain_signatures {
            policy.chain_signatures = signature_list(names, "chain-signatures")?;
        }
        policy.check_lists(raw.lab)?;
        policy.ipsec = IpsecPolicy::parse(raw.ipsec.as_ref(), profile, post_quantum, raw.lab)
            .map_err(|fault| fault.within("ipsec"))?;
        policy.resumption = resumption(raw.resumption.as_deref())?;
        policy.revocation = Revocation::read("revocation", raw.revocation.as_deref(), Revocation::IfPresent)?;
        policy.module = Module::read("module", raw.module.as_deref(), Module::Any)?;
        Ok(policy)
    }
}

/// The schemes of a list by their names; at least one, each once.
pub(crate) fn signature_list(names: &[Text<Signatures>], place: &str) -> Result<Vec<SignatureScheme>, Fault> {
    list(names, place, USABLE_SIGNATURES, signature_of)
}

fn unexcused() -> Fault {
    let cause = "`transition` lets classical handshakes through, so it needs a reason and an end";
    let hint = "write `{ profile: transition, reason: \"...\", expires: 2027-06-30 }`";
    Fault::new("profile", cause, hint)
}

fn exception(raw: &RawPolicyMap, profile: Profile) -> Result<Option<Exception>, Fault> {
    match (profile, &raw.reason, &raw.expires) {
        (Profile::Transition, Some(reason), Some(expires)) => {
            if reason.trim().is_empty() {
                let hint = "say why classical handshakes must pass for now";
                return Err(Fault::new("reason", "is empty", hint));
            }
            let expires = Date::parse(expires, format_description!("[year]-[month]-[day]")).map_err(|_| {
                let hint = "write a day as 2027-06-30";
                Fault::new("expires", format!("`{expires}` is not a date"), hint)
            })?;
            Ok(Some(Exception {
                reason: reason.clone(),
                owner: raw.owner.clone(),
                expires,
            }))
        }
        (Profile::Transition, _, _) => Err(unexcused()),
        (_, None, None) if raw.owner.is_none() => Ok(None),
        _ => Err(Fault::new(
            "reason",
            format!(
                "`reason`, `owner` and `expires` excuse classical handshakes, which {} does not let through",
                profile.name()
            ),
            "remove them, or use the profile transition",
        )),
    }
}

fn resumption(raw: Option<&str>) -> Result<Resumption, Fault> {
    // Longer sessions than a day would outlive most revocation lists.
    const LONGEST: Duration = Duration::from_secs(24 * 3600);
    let hint = "write off, or a duration such as 10m, at most 24h";
    match raw {
        None | Some("off") => Ok(Resumption::Off),
        Some(text) => match humantime::parse_duration(text) {
            Ok(within) if within <= LONGEST && !within.is_zero() => Ok(Resumption::Within(within)),
            Ok(_) => Err(Fault::new("resumption", format!("`{text}` is out of bounds"), hint)),
            Err(_) => Err(Fault::new(
                "resumption",
                format!("`{text}` is neither off nor a duration"),
                hint,
            )),
        },
    }
}

fn list<T: PartialEq + Copy + Display, N>(
    names: &[Text<N>],
    place: &str,
    usable: &[T],
    find: fn(&str) -> Option<T>,
) -> Result<Vec<T>, Fault> {
    listed(names, place, |name| {
        let code = find(name);
        code.filter(|code| usable.contains(code)).ok_or_else(|| {
            let known: Vec<_> = usable.iter().map(T::to_string).collect();
            let all = format!("one of {}", known.join(", "));
            let (cause, hint) = match (code, nearest(name, known.iter().map(String::as_str))) {
                (Some(_), _) => ("recognised in captures and cannot be used", all),
                (None, Some(meant)) => ("not known", format!("did you mean {meant}?")),
                (None, None) => ("not known", all),
            };
            Fault::new("", format!("`{name}` is {cause}"), hint)
        })
    })
}

/// The values of a list, each once; at least one.
pub(crate) fn listed<T: PartialEq, N>(
    names: &[Text<N>],
    place: &str,
    read: impl Fn(&str) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    for (index, name) in names.iter().map(|name| &**name).enumerate() {
        let place = format!("{place}[{index}]");
        let value = read(name).map_err(|fault| fault.within(&place))?;
        if found.contains(&value) {
            return Err(Fault::new(place, format!("`{name}` stands there twice"), "remove one"));
        }
        found.push(value);
    }
    if found.is_empty() {
        return Err(Fault::new(place, "is empty", "name at least one, or leave it out"));
    }
    Ok(found)
}

/// Groups this project can negotiate: the others are known only so that they can be recognised.
pub const USABLE_GROUPS: &[NamedGroup] = &[
    NamedGroup::X25519MLKEM768,
    NamedGroup::SECP256R1MLKEM768,
    NamedGroup::SECP384R1MLKEM1024,
    NamedGroup::MLKEM512,
    NamedGroup::MLKEM768,
    NamedGroup::MLKEM1024,
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
];

/// Signature schemes this project can verify.
pub const USABLE_SIGNATURES: &[SignatureScheme] = &[
    SignatureScheme::MLDSA44,
    SignatureScheme::MLDSA65,
    SignatureScheme::MLDSA87,
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::ED25519,
];

fn group_of(name: &str) -> Option<NamedGroup> {
    group_named(name).map(|known| known.code)
}

fn signature_of(name: &str) -> Option<SignatureScheme> {
    signature_named(name).map(|known| known.code)
}
