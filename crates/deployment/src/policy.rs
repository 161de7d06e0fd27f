//! What a link must, should or may negotiate.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use bartizan_registry::{NamedGroup, Safety, SignatureScheme, group, group_named, signature, signature_named};
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use crate::error::Fault;
use crate::ipsec::IpsecPolicy;
use crate::nearest::nearest;
use crate::raw::{RawPolicy, RawPolicyMap};

/// A named starting point for a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// X25519MLKEM768 and ML-DSA-65, required.
    Hybrid,
    /// ML-KEM-1024, ML-DSA-87 and AES-256 as CNSA 2.0 asks, required.
    Cnsa2,
    /// Hybrid preferred; classical allowed for a written reason until a date.
    Transition,
    /// No post-quantum algorithm: the baseline of measurements, lab only.
    Classical,
}

/// What a policy asks of post-quantum algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostQuantum {
    /// A handshake without them is refused. The default.
    Require,
    /// They come first; a classical peer is still served, under an [`Exception`].
    Prefer,
    /// Classical comes first; a peer that has only post-quantum algorithms is still served, under an [`Exception`].
    Allow,
    /// None is offered: the lab's classical baseline.
    Forbid,
}

/// Why, and until which day (inclusive, UTC), a classical handshake is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The written reason.
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Date,
}

impl Exception {
    /// Days on which it still holds, today (UTC) among them; 0 once it has ended.
    #[must_use]
    pub fn days_left(&self, now: SystemTime) -> i64 {
        ((self.expires - day_of(now)).whole_days() + 1).max(0)
    }
}

/// The day (UTC) of a moment; the first or the last there is, where the moment lies beyond.
#[must_use]
pub fn day_of(moment: SystemTime) -> Date {
    let seconds = match moment.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    };
    let clamped = if seconds < 0 { Date::MIN } else { Date::MAX };
    OffsetDateTime::from_unix_timestamp(seconds).map_or(clamped, OffsetDateTime::date)
}

/// TLS 1.3 cipher suites a policy can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CipherSuite {
    /// `TLS_AES_256_GCM_SHA384` (0x1302).
    Aes256Gcm,
    /// `TLS_AES_128_GCM_SHA256` (0x1301).
    Aes128Gcm,
}

/// Whether TLS sessions may be resumed. A resumed handshake still exchanges fresh keys but sends no certificate, so the
/// certificate of the first handshake is checked again (dates, names, revocation) each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resumption {
    /// Every connection is a full handshake. The default.
    Off,
    /// A session may be resumed for this long after its full handshake.
    Within(Duration),
}

/// What a missing or stale revocation list means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Revocation {
    /// A certificate whose issuer has no current list is refused: nothing passes once a list has run out.
    Require,
    /// Lists that are there are honoured, also after they have run out; where there is none, nothing is revoked. The default:
    /// a list that nobody renewed must not stop a core.
    IfPresent,
}

/// What a policy asks of the cryptographic module that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// Nothing. The default.
    Any,
    /// That it is validated under FIPS 140-3: where it is not, nothing starts.
    Validated,
}

/// What the handshakes of a link are built from and judged by. Its lists are never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile it started from.
    pub profile: Profile,
    /// What it asks of post-quantum algorithms.
    pub post_quantum: PostQuantum,
    /// Groups offered and accepted, most wanted first.
    pub groups: Vec<NamedGroup>,
    /// Schemes accepted in CertificateVerify, most wanted first.
    pub signatures: Vec<SignatureScheme>,
    /// Schemes accepted as signatures on certificates of the chain and on revocation lists.
    pub chain_signatures: Vec<SignatureScheme>,
    /// Cipher suites, most wanted first.
    pub ciphers: Vec<CipherSuite>,
    /// Present exactly where classical handshakes can be let through outside the lab.
    pub exception: Option<Exception>,
    /// Whether sessions may be resumed.
    pub resumption: Resumption,
    /// What a missing revocation list means.
    pub revocation: Revocation,
    /// What the cryptographic module must be.
    pub module: Module,
    /// What it asks of links that IPsec protects.
    pub ipsec: IpsecPolicy,
}

impl Profile {
    /// The name in the deployment file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Cnsa2 => "cnsa2",
            Self::Transition => "transition",
            Self::Classical => "classical",
        }
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        [Self::Hybrid, Self::Cnsa2, Self::Transition, Self::Classical]
            .into_iter()
            .find(|profile| profile.name() == text)
            .ok_or_else(|| {
                let hint = "profiles are hybrid, cnsa2, transition and classical";
                Fault::new("profile", format!("no profile is called `{text}`"), hint)
            })
    }
}

impl PostQuantum {
    /// The word in the deployment file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Prefer => "prefer",
            Self::Allow => "allow",
            Self::Forbid => "forbid",
        }
    }
}

impl Policy {
    /// The profile `hybrid` as it stands: what holds where a file names no policy.
    #[must_use]
    pub fn hybrid() -> Self {
        Self {
            profile: Profile::Hybrid,
            post_quantum: PostQuantum::Require,
            groups: vec![NamedGroup::X25519MLKEM768],
            signatures: vec![SignatureScheme::MLDSA65],
            chain_signatures: vec![SignatureScheme::MLDSA65, SignatureScheme::MLDSA87],
            ciphers: vec![CipherSuite::Aes256Gcm, CipherSuite::Aes128Gcm],
            exception: None,
            resumption: Resumption::Off,
            revocation: Revocation::IfPresent,
            module: Module::Any,
            ipsec: IpsecPolicy::of(Profile::Hybrid),
        }
    }

    /// The profile `cnsa2` as it stands.
    #[must_use]
    pub fn cnsa2() -> Self {
        Self {
            profile: Profile::Cnsa2,
            groups: vec![NamedGroup::MLKEM1024],
            signatures: vec![SignatureScheme::MLDSA87],
            chain_signatures: vec![SignatureScheme::MLDSA87],
            ciphers: vec![CipherSuite::Aes256Gcm],
            ipsec: IpsecPolicy::of(Profile::Cnsa2),
            ..Self::hybrid()
        }
    }

    /// The profile `transition` with its exception.
    #[must_use]
    pub fn transition(exception: Exception) -> Self {
        let classical = Self::classical();
        let hybrid = Self::hybrid();
        Self {
            profile: Profile::Transition,
            post_quantum: PostQuantum::Prefer,
            groups: [hybrid.groups, classical.groups].concat(),
            signatures: [hybrid.signatures, classical.signatures].concat(),
            chain_signatures: [hybrid.chain_signatures, classical.chain_signatures].concat(),
            ciphers: hybrid.ciphers,
            exception: Some(exception),
            resumption: hybrid.resumption,
            revocation: hybrid.revocation,
            module: hybrid.module,
            ipsec: IpsecPolicy::of(Profile::Transition),
        }
    }

    /// The profile `classical`: the baseline of measurements.
    #[must_use]
    pub fn classical() -> Self {
        let signatures = vec![
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ED25519,
        ];
        Self {
            profile: Profile::Classical,
            post_quantum: PostQuantum::Forbid,
            groups: vec![NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1],
            signatures: signatures.clone(),
            chain_signatures: signatures,
            ipsec: IpsecPolicy::of(Profile::Classical),
            ..Self::hybrid()
        }
    }

    /// Whether a classical handshake may pass on `today` (UTC): in the lab's baseline always, under an exception until it ends.
    #[must_use]
    pub fn admits_classical(&self, today: Date) -> bool {
        match self.post_quantum {
            PostQuantum::Require => false,
            PostQuantum::Forbid => true,
            PostQuantum::Prefer | PostQuantum::Allow => self
                .exception
                .as_ref()
                .is_some_and(|exception| today <= exception.expires),
        }
    }

    /// The policy as it is in force on `today` (UTC): once an exception has ended, nothing classical is offered any more.
    #[must_use]
    pub fn in_force(&self, today: Date) -> Self {
        let mut policy = self.clone();
        if !self.admits_classical(today) {
            policy.groups.retain(|&code| quantum_safe_group(code));
            policy.signatures.retain(|&code| quantum_safe_signature(code));
            policy.chain_signatures.retain(|&code| quantum_safe_signature(code));
            policy.ipsec.without_classical();
        }
        policy
    }

    pub(crate) fn parse(raw: &RawPolicy) -> Result<Self, Fault> {
        match raw {
            RawPolicy::Profile(name) => {
                let map = RawPolicyMap {
                    profile: Some(name.clone()),
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
                return Err(Fault::new(
                    "post-quantum",
                    cause,
                    "hybrid and cnsa2 require; transition prefers or allows",
                ));
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
        policy.revocation = match raw.revocation.as_deref() {
            None | Some("if-present") => Revocation::IfPresent,
            Some("require") => Revocation::Require,
            Some(word) => {
                let cause = format!("`{word}` is not known");
                return Err(Fault::new("revocation", cause, "write require or if-present"));
            }
        };
        policy.module = match raw.module.as_deref() {
            None | Some("any") => Module::Any,
            Some("validated") => Module::Validated,
            Some(word) => {
                let cause = format!("`{word}` is not known");
                return Err(Fault::new("module", cause, "write validated, or leave it out"));
            }
        };
        Ok(policy)
    }

    /// Lists written by hand must not undermine the profile's promise.
    fn check_lists(&self, lab: bool) -> Result<(), Fault> {
        if self.profile == Profile::Classical && !lab {
            return Err(Fault::new(
                "profile",
                "`classical` protects nothing from a recorder and is for measurements",
                "write `{ profile: classical, lab: true }` in a lab; for peers that have no ML-KEM yet use transition",
            ));
        }
        for &code in &self.groups {
            let safe = quantum_safe_group(code);
            if self.post_quantum == PostQuantum::Require && !safe {
                return Err(Fault::new(
                    "groups",
                    format!(
                        "{code} is classical, and the profile {} requires post-quantum",
                        self.profile.name()
                    ),
                    "leave it out, or use the profile transition with a reason and an end",
                ));
            }
            if code == NamedGroup::MLKEM512 && !lab {
                return Err(Fault::new(
                    "groups",
                    "MLKEM512 is NIST category 1, below what any profile accepts",
                    "add `lab: true` beside it for a measurement",
                ));
            }
        }
        for (place, schemes) in [
            ("signatures", &self.signatures),
            ("chain-signatures", &self.chain_signatures),
        ] {
            for &code in schemes {
                if self.post_quantum == PostQuantum::Require && !quantum_safe_signature(code) {
                    return Err(Fault::new(
                        place,
                        format!(
                            "{code} is classical, and the profile {} requires post-quantum",
                            self.profile.name()
                        ),
                        "leave it out, or use the profile transition with a reason and an end",
                    ));
                }
            }
        }
        if self.profile == Profile::Transition {
            let nothing = |place: &str, what: &str| {
                let cause = "leaves nothing post-quantum to move to";
                Fault::new(place, cause, format!("add {what} beside what must pass for now"))
            };
            if !self.groups.iter().any(|&code| quantum_safe_group(code)) {
                return Err(nothing("groups", "X25519MLKEM768"));
            }
            if !self.signatures.iter().any(|&code| quantum_safe_signature(code)) {
                return Err(nothing("signatures", "mldsa65"));
            }
            if !self.chain_signatures.iter().any(|&code| quantum_safe_signature(code)) {
                return Err(nothing("chain-signatures", "mldsa65"));
            }
        }
        if self.profile == Profile::Cnsa2 {
            if let Some(code) = self
                .groups
                .iter()
                .find(|code| group(**code).and_then(|g| g.category).is_none_or(|c| c.0 < 5))
            {
                return Err(Fault::new(
                    "groups",
                    format!("CNSA 2.0 does not accept {code}"),
                    "MLKEM1024, and SecP384r1MLKEM1024 while migrating, are accepted",
                ));
            }
            for (place, schemes) in [
                ("signatures", &self.signatures),
                ("chain-signatures", &self.chain_signatures),
            ] {
                if let Some(code) = schemes.iter().find(|code| **code != SignatureScheme::MLDSA87) {
                    return Err(Fault::new(
                        place,
                        format!("CNSA 2.0 does not accept {code}"),
                        "use mldsa87",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn quantum_safe_group(code: NamedGroup) -> bool {
    group(code).is_some_and(|known| known.recording == Safety::QuantumSafe)
}

/// The schemes of a list by their names; at least one, each once.
pub(crate) fn signature_list(names: &[String], place: &str) -> Result<Vec<SignatureScheme>, Fault> {
    list(names, place, USABLE_SIGNATURES, signature_of)
}

pub(crate) fn quantum_safe_signature(code: SignatureScheme) -> bool {
    signature(code).is_some_and(|known| known.forgery == Safety::QuantumSafe)
}

fn unexcused() -> Fault {
    Fault::new(
        "profile",
        "`transition` lets classical handshakes through, so it needs a reason and an end",
        "write `{ profile: transition, reason: \"...\", expires: 2027-06-30 }`",
    )
}

fn exception(raw: &RawPolicyMap, profile: Profile) -> Result<Option<Exception>, Fault> {
    match (profile, &raw.reason, &raw.expires) {
        (Profile::Transition, Some(reason), Some(expires)) => {
            if reason.trim().is_empty() {
                return Err(Fault::new(
                    "reason",
                    "is empty",
                    "say why classical handshakes must pass for now",
                ));
            }
            let expires = Date::parse(expires, format_description!("[year]-[month]-[day]")).map_err(|_| {
                Fault::new(
                    "expires",
                    format!("`{expires}` is not a date"),
                    "write a day as 2027-06-30",
                )
            })?;
            Ok(Some(Exception {
                reason: reason.clone(),
                expires,
            }))
        }
        (Profile::Transition, _, _) => Err(unexcused()),
        (_, None, None) => Ok(None),
        _ => Err(Fault::new(
            "reason",
            format!(
                "`reason` and `expires` excuse classical handshakes, which {} does not let through",
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

fn list<T: PartialEq + Copy + Display>(
    names: &[String],
    place: &str,
    usable: &[T],
    find: fn(&str) -> Option<T>,
) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let code = find(name);
        let Some(code) = code.filter(|code| usable.contains(code)) else {
            let known: Vec<_> = usable.iter().map(T::to_string).collect();
            let all = format!("one of {}", known.join(", "));
            return Err(match (code, nearest(name, known.iter().map(String::as_str))) {
                (Some(_), _) => Fault::new(
                    place,
                    format!("`{name}` is recognised in captures and cannot be used"),
                    all,
                ),
                (None, Some(meant)) => Fault::new(
                    place,
                    format!("`{name}` is not known"),
                    format!("did you mean {meant}?"),
                ),
                (None, None) => Fault::new(place, format!("`{name}` is not known"), all),
            });
        };
        if found.contains(&code) {
            return Err(Fault::new(place, format!("`{name}` stands there twice"), "remove one"));
        }
        found.push(code);
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
