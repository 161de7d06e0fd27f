//! Growth of cost: connections held, bodies, and a storm of peers that come back at once.

mod body;
mod hold;
mod peers;
mod stage;
mod storm;

pub(super) use body::KIND as BODY;
pub(super) use hold::KIND as HOLD;
pub(super) use stage::room_for;
pub(super) use storm::KIND as STORM;

use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{Better, FactorKind, Lack, MetricKind};

const PATH: FactorKind = FactorKind {
    name: "path",
    about: "whether the sidecars copy bytes or route requests",
    levels: &["splice", "http2"],
};

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}

fn lacks_openssl_root(_: &Levels, tools: &Tools) -> Option<Lack> {
    tools.root.is_none().then(|| Lack {
        what: "nghttpd".to_owned(),
        reason: "there is no lab root".to_owned(),
        hint: "as root: bartizan lab root".to_owned(),
        feature: None,
    })
}
