//! The mix of a fronthaul in its slots: sizes, delay and loss by plane.

use std::path::PathBuf;
use std::time::Duration;

use bartizan_machine::Departures;

use super::planes::{
    CONTROL_DELAY, CONTROL_LOST, LAG, Planes, SYNC_DELAY, SYNC_LOST, SYNC_PORT_VARIATION, SYNC_VARIATION, UNPROTECTED,
    USER_DELAY, USER_IN, USER_LOST, USER_OUT, USER_WIRE, losses, unchanged,
};
use super::{PORT_MTU, PROTECTION, facts, lacks, metric, parameter, protection_of};
use crate::stand_in::fronthaul::egress::{Egress, Left, unprotected};
use crate::stand_in::fronthaul::frame::Tagging;
use crate::stand_in::fronthaul::play::{Played, play};
use crate::stand_in::fronthaul::{Kind as FrameKind, Link, Mix, Plane, Protection};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Observation, ParameterKind, Setting, Targets, Trial, Workload, number,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-mix",
    about: "Plays C-plane, U-plane and PTP from an O-DU to an O-RU in the slots and symbols of 30 kHz, and looks at every frame: its size, its delay, whether it arrived.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "antennas",
            about: "eAxC identifiers, each with its own frames in every slot with data",
            levels: &[],
        },
        FactorKind {
            name: "every",
            about: "slots of which one has data, by which the rate is scaled: 1 for all of them",
            levels: &[],
        },
    ],
    parameters: &[
        parameter("lasting", "milliseconds of slots that are played", 1000.0),
        parameter("full", "symbols of a slot with data that have all PRBs", 11.0),
        parameter("narrow", "symbols of it that have PRB 0 to 11", 3.0),
        parameter("syncs", "PTP Sync messages of a second; 16 are those of G.8275.1", 16.0),
        ParameterKind {
            name: "tagged",
            about: "whether C- and U-plane have a VLAN tag",
            default: Some(Default::Flag(true)),
        },
        ParameterKind {
            name: "capture",
            about: "whether every frame is captured where it leaves the port and held against its expected size",
            default: Some(Default::Flag(true)),
        },
    ],
    metrics: &[
        metric(
            "frame",
            "bytes",
            "every frame where it leaves the port, in order",
            Better::Neither,
        ),
        size("control-frame", "a C-plane frame where it leaves the port"),
        size(
            "narrow-frame",
            "a U-plane frame with PRB 0 to 11 where it leaves the port",
        ),
        size("full-frame", "a U-plane frame with all PRBs where it leaves the port"),
        size("sync-frame", "a PTP Sync where it leaves the port"),
        CONTROL_DELAY,
        USER_DELAY,
        SYNC_DELAY,
        SYNC_VARIATION,
        SYNC_PORT_VARIATION,
        USER_OUT,
        USER_WIRE,
        USER_IN,
        CONTROL_LOST,
        USER_LOST,
        SYNC_LOST,
        LAG,
        UNPROTECTED,
        metric(
            "offered",
            "Mb/s",
            "what C- and U-plane come to without MACsec, by the mix",
            Better::Neither,
        ),
        metric(
            "sent",
            "Mb/s",
            "what was sent of it in the time it took",
            Better::Higher,
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn size(name: &'static str, about: &'static str) -> crate::workload::MetricKind {
    metric(name, "bytes", about, Better::Lower)
}

struct MixWorkload {
    link: Link,
    folder: PathBuf,
    mix: Mix,
    lasting: Duration,
    capture: bool,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let small = |name: &str| {
        let count = parameters.count(name)?;
        u8::try_from(count).map_err(|_| Error::Configuration(format!("{name} is {count}, more than a slot has")))
    };
    Ok(Box::new(MixWorkload {
        link: Link::make(PORT_MTU)?,
        folder: setting.folder.to_owned(),
        mix: Mix {
            antennas: 1,
            full: small("full")?,
            narrow: small("narrow")?,
            every: 1,
            syncs: u32::try_from(parameters.count("syncs")?).unwrap_or(u32::MAX),
            tagging: match parameters.flag("tagged")? {
                true => Tagging::Tagged,
                false => Tagging::Untagged,
            },
        },
        lasting: Duration::from_millis(parameters.count("lasting")? as u64),
        capture: parameters.flag("capture")?,
    }))
}

impl Workload for MixWorkload {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let mix = Mix {
            antennas: number(trial.levels, "antennas", 1.0)? as u16,
            every: number(trial.levels, "every", 1.0)? as u64,
            ..self.mix
        };
        let mix = mix.checked().map_err(Error::Configuration)?;
        self.link.protect(protection)?;
        let egress = self
            .capture
            .then(|| Egress::start(&self.link, &self.folder))
            .transpose()?;
        let (mut source, mut sink) = mix.ends(self.lasting);
        let lanes = FrameKind::ALL.len();
        let played = play(
            &self.link,
            &mut source,
            &mut sink,
            lanes,
            Departures::Stamped,
            trial.deadline,
        )?;
        let left = egress.map(Egress::stop).transpose()?;
        unchanged(&played)?;
        let mut observation = Observation {
            facts: facts(&self.link),
            ..Observation::default()
        };
        if let Some(left) = &left {
            sizes(&mut observation, left, &played, mix, self.lasting, protection)?;
        }
        let lanes = |kinds: &[FrameKind]| {
            kinds
                .iter()
                .map(|kind| &played.lanes[*kind as usize])
                .collect::<Vec<_>>()
        };
        let planes = Planes {
            control: lanes(&[FrameKind::Control]),
            user: lanes(&[FrameKind::Narrow, FrameKind::Full]),
            sync: lanes(&[FrameKind::Sync]),
        };
        planes.measure(&mut observation.values);
        let values = &mut observation.values;
        let bytes: usize = FrameKind::ALL
            .iter()
            .filter(|kind| kind.plane() != Plane::Synchronisation)
            .map(|kind| played.lanes[*kind as usize].sent.len() * kind.length(mix.tagging))
            .sum();
        values.insert("offered", vec![mix.megabits()]);
        let took = played.took.max(self.lasting).as_secs_f64();
        values.insert("sent", vec![8.0 * bytes as f64 / took / 1e6]);
        losses(&mut observation.facts, &played);
        Ok(observation)
    }
}

/// Holds every frame against the size that IEEE 802.1AE gives it, in their order.
fn sizes(
    observation: &mut Observation,
    left: &[Left],
    played: &Played,
    mix: Mix,
    lasting: Duration,
    protection: Protection,
) -> Result<(), Error> {
    if played.unsent > 0 {
        return Err(Error::Configuration(format!(
            "the socket had no room for {} frames: sizes need a rate that the machine can send",
            played.unsent
        )));
    }
    let expected = |kind: FrameKind| {
        let length = protection.on_the_wire(kind.length(mix.tagging));
        length.ok_or_else(|| Error::Configuration("a frame that is none".to_owned()))
    };
    let mut frames = mix.frames(lasting);
    for left in left {
        let Some(scheduled) = frames.next() else {
            return Err(Error::Protocol("more frames left the port than were sent".to_owned()));
        };
        let (kind, length) = (scheduled.frame.kind, expected(scheduled.frame.kind)?);
        if left.length != length {
            return Err(Error::Protocol(format!(
                "a frame ({kind:?}) of {} bytes where IEEE 802.1AE has {length}",
                left.length
            )));
        }
    }
    if frames.next().is_some() {
        return Err(Error::Protocol("fewer frames left the port than were sent".to_owned()));
    }
    let values = &mut observation.values;
    values.insert("frame", left.iter().map(|left| left.length as f64).collect());
    for (name, kind) in [
        ("control-frame", FrameKind::Control),
        ("narrow-frame", FrameKind::Narrow),
        ("full-frame", FrameKind::Full),
        ("sync-frame", FrameKind::Sync),
    ] {
        // Only what was seen: it has been found to be what is expected.
        if !played.lanes[kind as usize].sent.is_empty() {
            values.insert(name, vec![expected(kind)? as f64]);
        }
    }
    values.insert(UNPROTECTED.name, vec![unprotected(left, protection) as f64]);
    Ok(())
}
