//! Factors, parameters and metrics.

use bartizan_host::{Feature, Support};

use super::start;
use crate::stand_in::charons;
use crate::stand_in::proxies::Tools;
use crate::stand_in::tunnels::Maker;
use crate::workload::Levels;
use crate::workload::{Better, Default, FactorKind, Kind, Lack, MetricKind, ParameterKind, Targets};

pub(super) const KEY_EXCHANGE: FactorKind = FactorKind {
    name: "key-exchange",
    about: "of IKE_SA and CHILD_SAs, in strongSwan's words: `x25519-ke1_mlkem768` is a hybrid of RFC 9370",
    levels: &[
        "x25519",
        "mlkem512",
        "mlkem768",
        "mlkem1024",
        "x25519-ke1_mlkem512",
        "x25519-ke1_mlkem768",
        "x25519-ke1_mlkem1024",
        "ecp256",
        "ecp384",
        "ecp521",
        "ecp256-ke1_mlkem768",
        "ecp384-ke1_mlkem1024",
        "x25519-ke1_bike1r4",
        "x25519-ke1_bike3r4",
        "x25519-ke1_hqc128r4",
        "x25519-ke1_hqc192r4",
        "x25519-ke1_hqc256r4",
        "x25519-ke1_efrodo640",
        "x25519-ke1_efrodo976",
        "x25519-ke1_efrodo1344",
    ],
};

/// The engine of Bartizan that does ESP itself, as charon does where the kernel has none.
pub(super) const USERSPACE: &str = "bartizan-userspace";

pub(super) const ENGINE: FactorKind = FactorKind {
    name: "engine",
    about: "which IKE daemon both ends have: strongSwan's charon, or Bartizan's own, on a kernel that does ESP or with ESP in user space",
    levels: &["strongswan", "bartizan", USERSPACE],
};

pub(super) const AUTHENTICATION: FactorKind = FactorKind {
    name: "authentication",
    about: "what both ends sign with, and their authority signs certificates with",
    levels: &[
        "ecdsa-p256",
        "ed25519",
        "ecdsa-p384",
        "ml-dsa-44",
        "ml-dsa-65",
        "ml-dsa-87",
    ],
};

pub(super) const CONFIGURATION: FactorKind = FactorKind {
    name: "configuration",
    about: "of both charons: what Bartizan writes, or strongSwan's own values",
    levels: &["bartizan", "default"],
};

pub(super) const DRIVER: FactorKind = FactorKind {
    name: "driver",
    about: "who asks for the SA: Bartizan over VICI, the same taking charon's log meanwhile, or `swanctl --initiate`; and from nothing loaded `bartizan up` or `swanctl --load-all` and `--initiate`",
    levels: &["bartizan", "bartizan-listening", "swanctl", "up", "swanctl-load-all"],
};

pub(super) const PROVIDER: FactorKind = FactorKind {
    name: "ml-kem",
    about: "the plugin of strongSwan whose ML-KEM both charons take: of OpenSSL, or strongSwan's own, which a lab root has when it was put there",
    levels: &["openssl", "ml"],
};

pub(super) const LOG: FactorKind = FactorKind {
    name: "log",
    about: "how much both charons write into their log file, each line at once, in strongSwan's levels",
    levels: &["1", "2", "4"],
};

pub(super) const ROUND_TRIP: FactorKind = FactorKind {
    name: "round-trip",
    about: "milliseconds that the path between the ends adds to a round trip, half of them each way",
    levels: &[],
};

pub(super) const LOSS: FactorKind = FactorKind {
    name: "loss",
    about: "packets of a hundred that the path loses each way, each by its own chance",
    levels: &[],
};

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}

pub(in crate::workload) static KIND: Kind = Kind {
    name: "ipsec-set-up",
    about: "IKE_SAs set up, given a second CHILD_SA, rekeyed and deleted by two charons or two engines of Bartizan, timed from packets at the initiator.",
    factors: &[
        KEY_EXCHANGE,
        AUTHENTICATION,
        ENGINE,
        CONFIGURATION,
        DRIVER,
        PROVIDER,
        LOG,
        ROUND_TRIP,
        LOSS,
    ],
    parameters: &[
        ParameterKind {
            name: "set-ups",
            about: "IKE_SAs in a trial, one after the other",
            default: Some(Default::Number(1.0)),
        },
        ParameterKind {
            name: "mtu",
            about: "of the cable, in bytes",
            default: Some(Default::Number(1500.0)),
        },
        ParameterKind {
            name: "rekeys",
            about: "whether an SA that is up is given a second CHILD_SA and its first is rekeyed",
            default: Some(Default::Flag(true)),
        },
        ParameterKind {
            name: "patience",
            about: "seconds within which an SA is up, and each of what follows is done; on a path that loses packets what is not counts as a failure, on others the trial fails",
            default: Some(Default::Number(30.0)),
        },
    ],
    metrics: &[
        metric(
            "ike-sa-init",
            "ms",
            "IKE_SA_INIT: request's first byte to response's last",
            Better::Lower,
        ),
        metric(
            "intermediate",
            "ms",
            "IKE_INTERMEDIATE, where there is one: the same",
            Better::Lower,
        ),
        metric(
            "ike-auth",
            "ms",
            "IKE_AUTH, with which the first CHILD_SA comes: the same",
            Better::Lower,
        ),
        metric(
            "total",
            "ms",
            "first IKE_SA_INIT request to IKE_AUTH response: what the ends compute between is in it",
            Better::Lower,
        ),
        metric(
            "child-sa",
            "ms",
            "a second CHILD_SA with a key exchange of its own: CREATE_CHILD_SA request to the last response, IKE_FOLLOWUP_KE included",
            Better::Lower,
        ),
        metric(
            "rekey",
            "ms",
            "the first CHILD_SA rekeyed with a key exchange: the same",
            Better::Lower,
        ),
        metric(
            "call",
            "ms",
            "from asking charon for the SA to its answer that it is installed",
            Better::Lower,
        ),
        metric(
            "exchanges",
            "exchanges",
            "requests and their responses until the SA is up; a cookie would be one more",
            Better::Lower,
        ),
        metric(
            "round-trips",
            "round trips",
            "what the initiator waited for responses less what the responder took for them, over the round trip of the path: what the set-up is on the path, waits for retransmissions included",
            Better::Lower,
        ),
        metric("bytes", "B", "IP bytes of the set-up in both directions", Better::Lower),
        metric(
            "packets",
            "packets",
            "IP packets of the set-up in both directions",
            Better::Lower,
        ),
        metric(
            "ip-fragments",
            "packets",
            "of these, parts of fragmented IP packets",
            Better::Lower,
        ),
        metric(
            "ike-fragments",
            "messages",
            "IKE fragments (RFC 7383) of the set-up",
            Better::Neither,
        ),
        metric(
            "rekey-bytes",
            "B",
            "IP bytes of the rekey in both directions",
            Better::Lower,
        ),
        metric(
            "rekey-packets",
            "packets",
            "IP packets of the rekey in both directions",
            Better::Lower,
        ),
        metric(
            "rekey-ip-fragments",
            "packets",
            "of these, parts of fragmented IP packets",
            Better::Lower,
        ),
        metric(
            "retransmissions",
            "messages",
            "IKE messages of the IKE_SA that the initiator sent or received a second time",
            Better::Lower,
        ),
        metric(
            "failures",
            "%",
            "set-ups that were not done within `patience` on a path that loses packets; they have no other values",
            Better::Lower,
        ),
        metric(
            "rekey-failures",
            "%",
            "of SAs that came up, those whose second CHILD_SA or rekey was not done within `patience`",
            Better::Lower,
        ),
        metric(
            "cpu-initiator",
            "ms",
            "time on a processor of the initiator's charon for the set-up",
            Better::Lower,
        ),
        metric("cpu-responder", "ms", "the same of the responder's", Better::Lower),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

pub(super) fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    if let Some(lack) = charons::lack(tools) {
        return Some(lack);
    }
    let engine = levels.level(ENGINE.name).unwrap_or(ENGINE.levels[0]);
    let is_ours = engine != ENGINE.levels[0];
    let key_exchange = levels.level(KEY_EXCHANGE.name).unwrap_or(KEY_EXCHANGE.levels[0]);
    if let Some(lack) = charons::lacks_research(key_exchange) {
        return Some(lack);
    }
    if !is_ours && charons::is_research(key_exchange) {
        return Some(Lack {
            what: format!("{key_exchange} of strongSwan"),
            reason: "no release of it has that key exchange".to_owned(),
            hint: "with `engine: bartizan` both ends do".to_owned(),
            feature: None,
        });
    }
    let is_ml_dsa = levels
        .level(AUTHENTICATION.name)
        .is_some_and(|name| name.starts_with("ml-dsa"));
    if is_ml_dsa && !is_ours {
        return Some(Lack {
            what: "ML-DSA of strongSwan".to_owned(),
            reason: "no release of it authenticates with ML-DSA".to_owned(),
            hint: "with `engine: bartizan` both ends do".to_owned(),
            feature: None,
        });
    }
    if engine == USERSPACE
        && let Some(lack) = Maker::Bartizan.lacks(tools)
    {
        return Some(lack);
    }
    if engine == "bartizan"
        && let Support::Absent(reason) | Support::Unknown(reason) = Feature::Esp.tried()
    {
        return Some(Lack {
            what: "ESP of the kernel".to_owned(),
            reason,
            hint: "a guest's kernel has it: --kernel auto".to_owned(),
            feature: Some(Feature::Esp),
        });
    }
    if levels.level(PROVIDER.name) == Some("ml")
        && let Some(lack) = lacks_ml(tools)
    {
        return Some(lack);
    }
    let impaired = [ROUND_TRIP, LOSS].iter().any(|factor| {
        let level = levels.level(factor.name).and_then(|level| level.parse::<f64>().ok());
        level.is_some_and(|level| level > 0.0)
    });
    if impaired && let Support::Absent(reason) | Support::Unknown(reason) = Feature::Netem.tried() {
        return Some(Lack {
            what: "netem of the kernel".to_owned(),
            reason,
            hint: "a guest's kernel has it: --kernel auto".to_owned(),
            feature: Some(Feature::Netem),
        });
    }
    None
}

/// Plugin with strongSwan's own ML-KEM in a lab root. Debian does not package it.
const ML: &str = "usr/lib/ipsec/plugins/libstrongswan-ml.so";

fn lacks_ml(tools: &Tools) -> Option<Lack> {
    let root = tools.sid.as_ref()?;
    let file = root.directory().join(ML);
    (!file.is_file()).then(|| Lack {
        what: "strongSwan's plugin ml".to_owned(),
        reason: format!("there is no {}", file.display()),
        hint: "docs/lab-ipsec.md says how to build it".to_owned(),
        feature: None,
    })
}
