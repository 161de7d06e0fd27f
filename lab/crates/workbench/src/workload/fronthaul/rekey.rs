//! Frames on a link while its keys change: what is lost, and what it costs.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_machine::Departures;
use bartizan_registry::ethertype::{EAPOL, LOCAL_EXPERIMENTAL, MACSEC};

use super::planes::{losses, unchanged};
use super::{KEYING_FACTOR, PORT_MTU, count, lacks_macsec, lacks_supplicant, metric, parameter, time};
use crate::runner::experiment::Levels;
use crate::stand_in::fronthaul::egress::Egress;
use crate::stand_in::fronthaul::keyed::{Controllers, Keying, WpaSupplicant, keyed};
use crate::stand_in::fronthaul::play::{Due, Played, Script, play};
use crate::stand_in::fronthaul::tally::{Moment, microseconds, now};
use crate::stand_in::fronthaul::{Link, probe};
use crate::stand_in::proxies::Tools;
use crate::workload::{Better, Error, FactorKind, Kind, Lack, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-rekey",
    about: "Sends eCPRI frames over a MACsec link that two controllers key with X25519MLKEM768 and ML-DSA-65, while its keys are changed again and again.",
    factors: &[
        FactorKind {
            name: "rekeys",
            about: "none: the first key stays; derived: the next key of the exchange there was, with keying direct alone; fresh: another exchange for each",
            levels: &["none", "derived", "fresh"],
        },
        KEYING_FACTOR,
    ],
    parameters: &[
        parameter(
            "rekeys",
            "changes of the O-DU's key in a trial, without those of `rekeys: none`",
            50.0,
        ),
        parameter(
            "pause",
            "milliseconds from the end of one of them to asking for the next",
            50.0,
        ),
        parameter(
            "lasting",
            "milliseconds for which frames are sent at the least: they are sent until the last rekey is done",
            5000.0,
        ),
        parameter("size", "bytes of a frame, 64 to 9018", 1518.0),
        parameter("gap", "microseconds between two frames", 500.0),
    ],
    metrics: &[
        count(
            "lost",
            "frames that did not arrive, those among them that found the device down",
        ),
        count("out-of-order", "frames that arrived behind a later one, or twice"),
        count(
            "unprotected-frames",
            "frames that left the O-DU's port neither in MACsec nor for the exchange of keys",
        ),
        metric(
            "rekeys",
            "",
            "changes of the key that the O-DU sends with, by the names of keys",
            Better::Neither,
        ),
        time("delay", "one way of a frame that arrived"),
        time("delay-worst", "the longest of a trial"),
        metric(
            "interruption",
            "ms",
            "the longest time between two arrivals, from asking for a key to asking for the next",
            Better::Lower,
        ),
        metric(
            "rekey",
            "ms",
            "from asking for another key to sending with it, as the controller reports it; where MKA distributes keys, it looks every second, and both ends must have the key",
            Better::Lower,
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Frames go on for so long behind the last rekey: what came before it is removed after 200 ms.
const SETTLES: Duration = Duration::from_millis(400);
/// No rekey of `derived` comes from another exchange than the first.
const KEYS: u64 = 1000;

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    lacks_macsec().or_else(|| lacks_supplicant(levels, tools))
}

struct Rekey {
    folder: PathBuf,
    wpa_supplicant: Option<WpaSupplicant>,
    rekeys: usize,
    pause: Duration,
    lasting: Duration,
    size: usize,
    gap: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let of = |name, unit: fn(u64) -> Duration| Ok::<_, Error>(unit(parameters.count(name)? as u64));
    let root = setting.tools.root.as_ref();
    Ok(Box::new(Rekey {
        folder: setting.folder.to_owned(),
        wpa_supplicant: root.map(|root| WpaSupplicant::of(root, setting.folder)).transpose()?,
        rekeys: parameters.count("rekeys")?,
        pause: of("pause", Duration::from_millis)?,
        lasting: of("lasting", Duration::from_millis)?,
        size: parameters.count("size")?.clamp(probe::LEAST, probe::MOST),
        gap: of("gap", Duration::from_micros)?.max(Duration::from_micros(1)),
    }))
}

impl Workload for Rekey {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let keying = trial.levels.level(KEYING_FACTOR.name).unwrap_or("direct");
        let direct = keying == "direct";
        let fresh = match trial.levels.level("rekeys") {
            Some("derived") if direct => Some(false),
            Some("derived") => {
                let reason = format!("with {keying} every rekey is by another exchange: `rekeys: fresh`");
                return Err(Error::Configuration(reason));
            }
            Some("fresh") => Some(true),
            _ => None,
        };
        // Keys and certificates of a trial are its own.
        let folder = self.folder.join("keyed");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let mut how = Keying::hybrid(keying, self.wpa_supplicant.as_ref());
        let mut link = Link::make(PORT_MTU)?;
        link.is_keyed_by_controllers();
        match direct {
            true => how.keys_per_exchange = Some(KEYS),
            false => link.goes_down_at_times(),
        }
        let mut observation = keyed(&link, &folder, &how, |controllers| {
            self.measure(&link, controllers, fresh, trial.deadline)
        })?;
        if let Some(found) = self.wpa_supplicant.as_ref().filter(|_| !direct) {
            observation
                .facts
                .insert("wpa_supplicant".to_owned(), found.version.clone().into());
        }
        Ok(observation)
    }
}

/// A rekey that was done.
#[derive(Debug, Clone, Copy)]
struct Done {
    asked: Moment,
    took: Duration,
}

impl Rekey {
    fn measure(
        &self,
        link: &Link,
        controllers: &Controllers<'_>,
        fresh: Option<bool>,
        deadline: Instant,
    ) -> Result<Observation, Error> {
        let before = controllers.status()?;
        let egress = Egress::start(link, &self.folder)?;
        let load = probe::Load {
            size: self.size,
            gap: self.gap,
            probe: None,
            lasting: deadline.saturating_duration_since(Instant::now()),
        };
        let (done, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let (played, rekeyed) = thread::scope(|scope| {
            let rekeying = scope.spawn(|| {
                let rekeyed = self.rekey(controllers, fresh, &over);
                thread::sleep(SETTLES);
                done.store(true, Ordering::Release);
                rekeyed
            });
            let mut source = UntilDone {
                source: load.source(),
                least: self.lasting,
                done: &done,
            };
            let mut sink = probe::Sink::default();
            let played = play(link, &mut source, &mut sink, 2, Departures::Unstamped, deadline);
            over.store(true, Ordering::Release);
            let rekeyed = rekeying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // A rekey that was not done is the reason where frames were sent for too long.
            let (rekeyed, wanted) = (rekeyed?, fresh.map_or(0, |_| self.rekeys));
            if rekeyed.len() < wanted {
                let done = rekeyed.len();
                return Err(Error::Protocol(format!(
                    "{done} of {wanted} rekeys in the time of a trial"
                )));
            }
            Ok((played?, rekeyed))
        })?;
        let left = egress.stop()?;
        unchanged(&played)?;
        let status = controllers.status()?;
        let mut observation = Observation::default();
        let facts = &mut observation.facts;
        if let Some(exchange) = &status.exchange {
            let keys = format!(
                "{}, {}",
                exchange.group,
                exchange.peer_signature.as_deref().unwrap_or("no signature seen")
            );
            facts.insert("keys".to_owned(), keys.into());
        }
        facts.insert("exchanges".to_owned(), status.exchanges.into());
        if let Some(eap) = controllers.peer_status()?.eap {
            facts.insert("not-rekeyed".to_owned(), eap.not_rekeyed.into());
        }
        if link.goes_down() {
            facts.insert("device-down".to_owned(), played.down.into());
        }
        losses(facts, &played);
        let keying = match (&status.mka, &status.eap) {
            (None, _) => &[MACSEC, LOCAL_EXPERIMENTAL][..],
            (Some(_), None) => &[MACSEC, LOCAL_EXPERIMENTAL, EAPOL],
            (Some(_), Some(_)) => &[MACSEC, EAPOL],
        };
        let others = left.iter().filter(|left| !keying.contains(&left.ethertype));
        let values = &mut observation.values;
        values.insert("unprotected-frames", vec![others.count() as f64]);
        values.insert("rekeys", vec![status.keys.saturating_sub(before.keys) as f64]);
        values.insert(
            "rekey",
            rekeyed.iter().map(|done| done.took.as_secs_f64() * 1e3).collect(),
        );
        let asked: Vec<Moment> = rekeyed.iter().map(|done| done.asked).collect();
        arrivals(&mut observation, &played, &asked);
        Ok(observation)
    }

    /// Those that were done.
    fn rekey(&self, controllers: &Controllers<'_>, fresh: Option<bool>, over: &AtomicBool) -> Result<Vec<Done>, Error> {
        let mut all = Vec::new();
        while let Some(fresh) = fresh
            && all.len() < self.rekeys
            && !over.load(Ordering::Acquire)
        {
            thread::sleep(self.pause);
            let (asked, began) = (now(), Instant::now());
            controllers.rekey(fresh)?;
            let took = began.elapsed();
            all.push(Done { asked, took });
        }
        Ok(all)
    }
}

/// Frames for so long at the least, and until the keys have changed as often as they are to.
struct UntilDone<'a> {
    source: probe::Source,
    least: Duration,
    done: &'a AtomicBool,
}

impl Script for UntilDone<'_> {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        let due = self.source.next(buffer)?;
        (due.at < self.least || !self.done.load(Ordering::Acquire)).then_some(due)
    }
}

fn arrivals(observation: &mut Observation, played: &Played, asked: &[Moment]) {
    let lane = &played.lanes[0];
    let delays: Vec<f64> = lane.delays(0).map(|delay| delay.whole).collect();
    let mut moments: Vec<Moment> = lane.sent.iter().filter_map(|sent| Some(sent.arrived?.at)).collect();
    moments.sort_unstable();
    // If the last frames were lost, the gap is from the last arrival to the last send time.
    moments.extend(
        lane.sent
            .last()
            .map(|sent| sent.at)
            .filter(|at| moments.last() < Some(at)),
    );
    let values = &mut observation.values;
    values.insert("lost", vec![lane.lost() as f64]);
    values.insert("out-of-order", vec![played.late as f64]);
    values.insert(
        "delay-worst",
        delays.iter().copied().reduce(f64::max).into_iter().collect(),
    );
    values.insert("delay", delays);
    values.insert("interruption", interruptions(&moments, asked));
}

/// From asking for each key to asking for the next, the longest time between two arrivals, in
/// milliseconds; both in order.
fn interruptions(arrived: &[Moment], asked: &[Moment]) -> Vec<f64> {
    let mut longest = vec![0.0_f64; asked.len()];
    for pair in arrived.windows(2) {
        // The last key that was asked for before the second of the two arrived.
        let rekey = asked.partition_point(|asked| *asked <= pair[1]).checked_sub(1);
        if let Some(longest) = rekey.and_then(|rekey| longest.get_mut(rekey)) {
            *longest = longest.max(microseconds(pair[0], pair[1]) / 1e3);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_belongs_to_the_key_that_was_asked_for_before_it_ended() {
        let arrived: Vec<Moment> = [0, 1, 2, 9, 10, 11, 15, 16].map(|at| at * 1_000_000).to_vec();
        let asked = |at: &[u64]| at.iter().map(|at| at * 1_000_000).collect::<Vec<_>>();
        assert_eq!(interruptions(&arrived, &asked(&[3, 12])), [7.0, 4.0]);
        assert_eq!(interruptions(&arrived, &asked(&[11])), [4.0]);
        assert_eq!(interruptions(&arrived, &[]), [0.0; 0]);
        assert_eq!(interruptions(&[], &asked(&[1])), [0.0]);
    }

    #[test]
    fn frames_that_are_lost_at_the_end_are_an_interruption_too() {
        use crate::stand_in::fronthaul::tally::{Lane, Received, Sent};
        let sent = |at: u64, arrived: Option<u64>| Sent {
            at: at * 1_000_000,
            late: 0,
            departed: None,
            arrived: arrived.map(|at| Received {
                arrived: None,
                at: at * 1_000_000,
            }),
        };
        let played = Played {
            lanes: vec![Lane {
                sent: vec![sent(1, Some(2)), sent(2, Some(3)), sent(5, None), sent(40, None)],
            }],
            ..Played::default()
        };
        let mut observation = Observation::default();
        arrivals(&mut observation, &played, &[2_500_000]);
        assert_eq!(observation.values["lost"], [2.0]);
        assert_eq!(observation.values["interruption"], [37.0]);
        assert_eq!(observation.values["delay"], [1000.0, 1000.0]);
    }
}
