//! Delay and loss by plane, of whatever was played.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{count, time};
use crate::stand_in::fronthaul::play::Played;
use crate::stand_in::fronthaul::tally::{Delay, Lane};
use crate::workload::{Error, MetricKind};

pub(super) const CONTROL_DELAY: MetricKind = time(
    "control-delay",
    "one way of a C-plane frame: from handing it to the kernel to having it at the other end",
);
pub(super) const USER_DELAY: MetricKind = time("user-delay", "one way of a U-plane frame");
pub(super) const SYNC_DELAY: MetricKind = time("sync-delay", "one way of a PTP message");
pub(super) const SYNC_VARIATION: MetricKind = time(
    "sync-variation",
    "the longest way of a PTP message in a trial less the shortest",
);
pub(super) const SYNC_PORT_VARIATION: MetricKind = time(
    "sync-port-variation",
    "the same between the times that the kernel takes at both ports, which PTP would take",
);
pub(super) const USER_OUT: MetricKind = time(
    "user-out",
    "of a U-plane frame's delay, from handing it to the kernel to the port's driver: what encrypts is here",
);
pub(super) const USER_WIRE: MetricKind = time(
    "user-wire",
    "of it, from the port's driver to the other port: no cipher is here",
);
pub(super) const USER_IN: MetricKind = time(
    "user-in",
    "of it, from the other port to the program: what decrypts is here",
);
pub(super) const CONTROL_LOST: MetricKind = count("control-lost", "C-plane frames that did not arrive");
pub(super) const USER_LOST: MetricKind = count("user-lost", "U-plane frames that did not arrive");
pub(super) const SYNC_LOST: MetricKind = count("sync-lost", "PTP messages that did not arrive");
pub(super) const LAG: MetricKind = time(
    "lag",
    "how much later than due a U-plane frame was sent: the source's own delay, in none of the others",
);
pub(super) const UNPROTECTED: MetricKind = count(
    "unprotected-frames",
    "frames that left the port without MACsec although the link is protected",
);

/// The part of a trial's frames that warms up.
const WARM: f64 = 0.1;

/// Frames of each plane.
pub(super) struct Planes<'a> {
    pub(super) control: Vec<&'a Lane>,
    pub(super) user: Vec<&'a Lane>,
    pub(super) sync: Vec<&'a Lane>,
}

impl Planes<'_> {
    pub(super) fn measure(&self, values: &mut BTreeMap<&'static str, Vec<f64>>) {
        let whole = |lanes: &[&Lane]| warm(lanes).iter().map(|delay| delay.whole).collect();
        values.insert(CONTROL_DELAY.name, whole(&self.control));
        values.insert(USER_DELAY.name, whole(&self.user));
        let user = warm(&self.user);
        values.insert(USER_OUT.name, user.iter().filter_map(|delay| delay.out).collect());
        values.insert(USER_WIRE.name, user.iter().filter_map(|delay| delay.wire).collect());
        values.insert(USER_IN.name, user.iter().filter_map(|delay| delay.inward).collect());
        // Few in a trial: the first of them count as well.
        let sync = || self.sync.iter().flat_map(|lane| lane.delays(0));
        let delays: Vec<f64> = sync().map(|delay| delay.whole).collect();
        let at_ports: Vec<f64> = sync().filter_map(|delay| delay.wire).collect();
        values.insert(SYNC_VARIATION.name, range(&delays).into_iter().collect());
        values.insert(SYNC_PORT_VARIATION.name, range(&at_ports).into_iter().collect());
        values.insert(SYNC_DELAY.name, delays);
        let lost = |lanes: &[&Lane]| vec![lanes.iter().map(|lane| lane.lost() as f64).sum()];
        values.insert(CONTROL_LOST.name, lost(&self.control));
        values.insert(USER_LOST.name, lost(&self.user));
        values.insert(SYNC_LOST.name, lost(&self.sync));
        let sent = self.user.iter().flat_map(|lane| &lane.sent);
        values.insert(LAG.name, sent.map(|sent| sent.late as f64 / 1e3).collect());
    }
}

fn warm(lanes: &[&Lane]) -> Vec<Delay> {
    let counted = lanes
        .iter()
        .map(|lane| lane.delays((lane.sent.len() as f64 * WARM) as usize));
    counted.flatten().collect()
}

/// The highest less the lowest, of two at least.
fn range(values: &[f64]) -> Option<f64> {
    let highest = values.iter().copied().reduce(f64::max)?;
    let lowest = values.iter().copied().reduce(f64::min)?;
    (values.len() > 1).then_some(highest - lowest)
}

/// A trial in which frames were changed on their way, or came from nowhere, is none.
pub(super) fn unchanged(played: &Played) -> Result<(), Error> {
    match (played.changed, played.foreign) {
        (0, 0) => Ok(()),
        (changed, foreign) => Err(Error::Protocol(format!(
            "{changed} frames were changed on their way, and {foreign} arrived that nobody sent"
        ))),
    }
}

/// Causes of lost frames, as far as the two ends know.
pub(super) fn losses(facts: &mut BTreeMap<String, Value>, played: &Played) {
    for (name, count) in [
        ("unsent", played.unsent),
        ("late", played.late),
        ("dropped-at-sink", played.dropped),
    ] {
        facts.insert(name.to_owned(), count.into());
    }
}
