//! The mix of a fronthaul over IP, through ESP: what a fronthaul that is not one of Ethernet alone
//! would have in place of MACsec.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_machine::Departures;
use bartizan_registry::Header;

use super::load::{Watched, achieved};
use super::planes::{CONTROL_DELAY, LAG, USER_DELAY, losses, unchanged};
use super::{count, metric, parameter, time};
use crate::stand_in::e2::frames::{ESP, UDP};
use crate::stand_in::e2::link::{Link, NODE, RIC};
use crate::stand_in::e2::protection::Growth;
use crate::stand_in::e2::{Protection, Selector};
use crate::stand_in::fronthaul::datagrams::{HEADERS, Receiver, Sender, payload};
use crate::stand_in::fronthaul::frame::Tagging;
use crate::stand_in::fronthaul::play::{Due, Played, Script, Way};
use crate::stand_in::fronthaul::tally::Lane;
use crate::stand_in::fronthaul::{Kind as FrameKind, Mix, mix};
use crate::workload::e2::machine::processors;
use crate::workload::e2::{Egress, PROTECTION, Protected, jitter, lacks_esp, protection_of};
use crate::workload::{Better, Error, FactorKind, Kind, Observation, Setting, Targets, Trial, Workload, number};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-ipsec",
    about: "Plays C- and U-plane from an O-DU to an O-RU as eCPRI over UDP and IP, in the slots and symbols of 30 kHz or as fast as the kernel takes them, through ESP.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "every",
            about: "slots of which one has data, by which the rate is scaled: 1 for all of them; 0 for frames without their pace, as many as the kernel takes",
            levels: &[],
        },
    ],
    parameters: &[
        parameter("lasting", "milliseconds for which is sent", 1000.0),
        parameter("full", "symbols of a slot with data that have all PRBs", 11.0),
        parameter("narrow", "symbols of it that have PRB 0 to 11", 3.0),
    ],
    metrics: &[
        metric(
            "achieved",
            "Mb/s",
            "what arrived of eCPRI, without headers of UDP and IP, from its first datagram to its last",
            Better::Higher,
        ),
        metric("lost", "%", "datagrams that did not arrive", Better::Lower),
        metric(
            "cpu",
            "%",
            "time of all processors of the kernel that ran it that was not idle while datagrams were sent",
            Better::Lower,
        ),
        CONTROL_DELAY,
        USER_DELAY,
        time(
            "jitter",
            "how unevenly datagrams with all PRBs arrive, smoothed over them (RFC 3550, section 6.4.1)",
        ),
        LAG,
        count(
            "unprotected-packets",
            "of a slot that is captured where it leaves before a trial, packets outside of ESP although the link is protected",
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_esp,
    start,
};

/// The largest frame fits with what ESP in tunnel mode adds.
const MTU: u16 = 9000;
/// The part of a trial's frames that warms up.
const WARM: f64 = 0.1;
/// Slots of a mix without pace for each that would be due in its time: more than a kernel takes, 11 Gb/s.
const FLOOD: u32 = 8;
/// The planes that IP carries; PTP stays on Ethernet.
const KINDS: [FrameKind; 3] = [FrameKind::Control, FrameKind::Narrow, FrameKind::Full];

struct Ipsec {
    link: Protected,
    folder: PathBuf,
    mix: Mix,
    lasting: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let small = |name: &str| {
        let count = parameters.count(name)?;
        u8::try_from(count).map_err(|_| Error::Configuration(format!("{name} is {count}, more than a slot has")))
    };
    Ok(Box::new(Ipsec {
        link: Protected::over(Link::with_mtu(MTU)?, setting)?,
        folder: setting.folder.to_owned(),
        mix: Mix {
            antennas: 1,
            full: small("full")?,
            narrow: small("narrow")?,
            every: 1,
            syncs: 0,
            tagging: Tagging::Untagged,
        },
        lasting: Duration::from_millis(parameters.count("lasting")?.max(1) as u64),
    }))
}

/// The frames of a mix without their pace.
struct AtOnce {
    frames: mix::Source,
    lasting: Duration,
    began: Option<Instant>,
}

impl Script for AtOnce {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        let began = *self.began.get_or_insert_with(Instant::now);
        let due = self.frames.next(buffer).filter(|_| began.elapsed() < self.lasting)?;
        let at = Duration::ZERO;
        Some(Due { at, ..due })
    }
}

impl Workload for Ipsec {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let protection = protection_of(trial.levels)?;
        let every = number(trial.levels, "every", 1.0)? as u64;
        let mix = Mix {
            every: every.max(1),
            ..self.mix
        };
        let mix = mix.checked().map_err(Error::Configuration)?;
        self.link.with(protection, Selector::All)?;
        let link = &self.link.link;
        let unprotected = slot_in_esp(link, &self.folder, mix, protection, trial.deadline)?;
        let (played, shares) = if every == 0 {
            let (frames, mut sink) = mix.ends(self.lasting * FLOOD);
            let mut source = Watched::new(AtOnce {
                frames,
                lasting: self.lasting,
                began: None,
            });
            let played = way(link)?.play(&mut source, &mut sink, FrameKind::ALL.len(), trial.deadline)?;
            (played, source.shares())
        } else {
            let (frames, mut sink) = mix.ends(self.lasting);
            let mut source = Watched::new(frames);
            let played = way(link)?.play(&mut source, &mut sink, FrameKind::ALL.len(), trial.deadline)?;
            (played, source.shares())
        };
        unchanged(&played)?;
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        let facts = &mut observation.facts;
        losses(facts, &played);
        if every > 0 {
            facts.insert("offered".to_owned(), mix.megabits().into());
        }
        let processors = processors()?;
        facts.insert("processors".to_owned(), processors.into());
        let values = &mut observation.values;
        values.insert("unprotected-packets", vec![unprotected as f64]);
        values.extend(shares.map(|shares| ("cpu", vec![shares.busy])));
        let lanes = KINDS.map(|kind| (&played.lanes[kind as usize], payload(kind)));
        values.extend(achieved(&lanes).map(|rate| ("achieved", vec![rate])));
        let (sent, lost) = lanes.iter().fold((0, 0), |(sent, lost), (lane, _)| {
            (sent + lane.sent.len(), lost + lane.lost())
        });
        values.insert("lost", vec![100.0 * lost as f64 / sent.max(1) as f64]);
        let warm = |lane: &Lane| -> Vec<f64> {
            let first = (lane.sent.len() as f64 * WARM) as usize;
            lane.delays(first).map(|delay| delay.whole).collect()
        };
        let [control, narrow, full] = lanes.map(|(lane, _)| warm(lane));
        values.insert("jitter", vec![jitter(&full)]);
        values.insert(USER_DELAY.name, narrow.into_iter().chain(full).collect());
        values.insert(CONTROL_DELAY.name, control);
        if every > 0 {
            let user = lanes[1..].iter().flat_map(|(lane, _)| &lane.sent);
            values.insert(LAG.name, user.map(|sent| sent.late as f64 / 1e3).collect());
        }
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs()
    }
}

fn way(link: &Link) -> Result<Way<Sender, Receiver<'_>>, Error> {
    Ok(Way {
        sink: Receiver::open(link.ric(), RIC)?,
        source: Sender::open(link.node(), NODE, RIC)?,
        goes_down: false,
        departures: Departures::Unstamped,
    })
}

/// Sends a slot with data and holds every packet that leaves against the size that RFC 4303 gives
/// it; how many left outside of ESP, though they should not.
fn slot_in_esp(
    link: &Link,
    folder: &Path,
    mix: Mix,
    protection: Protection,
    deadline: Instant,
) -> Result<usize, Error> {
    let egress = Egress::start(link, folder)?;
    let (mut source, mut sink) = mix.ends(mix::SLOT);
    let played = way(link)?.play(&mut source, &mut sink, FrameKind::ALL.len(), deadline)?;
    let left = egress.stop()?.node;
    arrived(&played)?;
    if !protection.is_esp() {
        return Ok(0);
    }
    let packets = mix.frames(mix::SLOT).map(|frame| HEADERS + payload(frame.frame.kind));
    let ethernet = usize::from(Header::ETHERNET.bytes);
    let expected: Vec<(usize, usize)> = packets
        .map(|packet| {
            let grown = protection.growth(packet).map_or(0, Growth::sum);
            (ethernet + packet, ethernet + packet + grown)
        })
        .collect();
    // IKE is UDP too, in other sizes.
    let is_plain = |length| expected.iter().any(|(plain, _)| *plain == length);
    let plain = left
        .iter()
        .filter(|frame| frame.protocol == UDP && is_plain(frame.length));
    let sealed: Vec<usize> = left
        .iter()
        .filter(|frame| frame.protocol == ESP)
        .map(|frame| frame.length)
        .collect();
    let sizes: Vec<usize> = expected.iter().map(|(_, grown)| *grown).collect();
    if sealed != sizes {
        return Err(Error::Protocol(format!(
            "packets of {sealed:?} bytes left in ESP where RFC 4303 has {sizes:?}"
        )));
    }
    Ok(plain.count())
}

/// A slot of which something is missing says nothing of what left.
fn arrived(played: &Played) -> Result<(), Error> {
    unchanged(played)?;
    match played.lanes.iter().map(Lane::lost).sum::<usize>() {
        0 => Ok(()),
        lost => Err(Error::Protocol(format!(
            "{lost} datagrams of the first slot did not arrive"
        ))),
    }
}
