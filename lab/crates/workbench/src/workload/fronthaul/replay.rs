//! A capture of a fronthaul, sent again.

use std::path::PathBuf;

use bartizan_machine::Departures;

use super::planes::{
    CONTROL_DELAY, CONTROL_LOST, LAG, Planes, SYNC_DELAY, SYNC_LOST, SYNC_PORT_VARIATION, SYNC_VARIATION, UNPROTECTED,
    USER_DELAY, USER_IN, USER_LOST, USER_OUT, USER_WIRE, losses, unchanged,
};
use super::{PORT_MTU, PROTECTION, facts, lacks, metric, parameter, protection_of};
use crate::stand_in::fronthaul::egress::{Egress, unprotected};
use crate::stand_in::fronthaul::play::play;
use crate::stand_in::fronthaul::replay::Recording;
use crate::stand_in::fronthaul::{Link, Plane};
use crate::workload::{Better, Default, Error, Kind, Observation, ParameterKind, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-replay",
    about: "Sends the C-, U- and S-plane frames of a capture from an O-DU to an O-RU at their own gaps, and looks at every one that arrives.",
    factors: &[PROTECTION],
    parameters: &[
        ParameterKind {
            name: "capture",
            about: "the file: pcap or pcapng of Ethernet, in which C-, U- and S-plane are not encrypted",
            default: Some(Default::Text("")),
        },
        parameter("faster", "gaps are divided by this", 1.0),
    ],
    metrics: &[
        metric(
            "frame",
            "bytes",
            "every frame where it leaves the port, in order",
            Better::Neither,
        ),
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
    ],
    targets: Targets::Own,
    lacks,
    start,
};

struct Replay {
    link: Link,
    folder: PathBuf,
    recording: Recording,
    faster: f64,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let capture = setting.parameters.text("capture")?;
    if capture.is_empty() {
        let reason = "parameter capture is not given: the file of a fronthaul that is to be replayed";
        return Err(Error::Configuration(reason.to_owned()));
    }
    let faster = setting.parameters.number("faster")?;
    if !(faster > 0.0 && faster.is_finite()) {
        return Err(Error::Configuration(format!(
            "parameter faster is {faster}, not above 0"
        )));
    }
    let recording = Recording::read(capture.as_ref())?;
    Ok(Box::new(Replay {
        link: Link::make(PORT_MTU)?,
        folder: setting.folder.to_owned(),
        recording,
        faster,
    }))
}

impl Workload for Replay {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        self.link.protect(protection)?;
        let egress = Egress::start(&self.link, &self.folder)?;
        let (mut source, mut sink) = self.recording.ends(self.faster);
        let lanes = [Plane::Control, Plane::User, Plane::Synchronisation].len();
        let played = play(
            &self.link,
            &mut source,
            &mut sink,
            lanes,
            Departures::Stamped,
            trial.deadline,
        )?;
        let left = egress.stop()?;
        unchanged(&played)?;
        let expected = self.recording.lengths().map(|length| protection.on_the_wire(length));
        if played.unsent == 0 && !expected.eq(left.iter().map(|left| Some(left.length))) {
            let reason = "what left the port has not the sizes that IEEE 802.1AE gives the recorded frames";
            return Err(Error::Protocol(reason.to_owned()));
        }
        let mut observation = Observation {
            facts: facts(&self.link),
            ..Observation::default()
        };
        let lane = |plane: Plane| vec![&played.lanes[plane as usize]];
        let planes = Planes {
            control: lane(Plane::Control),
            user: lane(Plane::User),
            sync: lane(Plane::Synchronisation),
        };
        let values = &mut observation.values;
        planes.measure(values);
        values.insert("frame", left.iter().map(|left| left.length as f64).collect());
        values.insert(UNPROTECTED.name, vec![unprotected(&left, protection) as f64]);
        losses(&mut observation.facts, &played);
        let left_out = self.recording.left_out.into();
        observation
            .facts
            .insert("frames that are no fronthaul".to_owned(), left_out);
        Ok(observation)
    }
}
