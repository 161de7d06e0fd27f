//! Frames on a link while its keys change: what is lost, and what it costs.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Departures;
use bartizan_registry::ethertype::{LOCAL_EXPERIMENTAL, MACSEC};

use super::planes::{losses, unchanged};
use super::{PORT_MTU, count, lacks_macsec, metric, parameter, time};
use crate::runner::experiment::Levels;
use crate::stand_in::fronthaul::egress::Egress;
use crate::stand_in::fronthaul::keyed::{Controllers, keyed};
use crate::stand_in::fronthaul::play::play;
use crate::stand_in::fronthaul::{Link, probe};
use crate::stand_in::proxies::Tools;
use crate::workload::{Better, Error, FactorKind, Kind, Lack, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-rekey",
    about: "Sends eCPRI frames over a MACsec link that two controllers key by TLS with X25519MLKEM768 and ML-DSA-65, while its keys are changed again and again.",
    factors: &[FactorKind {
        name: "rekeys",
        about: "none: the first key stays; derived: the next key of the exchange there was; fresh: another exchange for each",
        levels: &["none", "derived", "fresh"],
    }],
    parameters: &[
        parameter(
            "rekeys",
            "changes of the O-DU's key in a trial, without those of `rekeys: none`",
            50.0,
        ),
        parameter("pause", "milliseconds between two of them", 50.0),
        parameter(
            "lasting",
            "milliseconds for which frames are sent; rekeys that are not done then fail the trial",
            30_000.0,
        ),
        parameter("size", "bytes of a frame, 64 to 9018", 1518.0),
        parameter("gap", "microseconds between two frames", 500.0),
    ],
    metrics: &[
        count("lost", "frames that did not arrive"),
        count("out-of-order", "frames that arrived behind a later one, or twice"),
        count(
            "unprotected-frames",
            "frames that left the O-DU's port neither in MACsec nor for the exchange of keys",
        ),
        metric(
            "rekeys",
            "",
            "changes of the key that the O-DU sends with",
            Better::Neither,
        ),
        time("delay", "one way of a frame"),
        time("delay-worst", "the longest of a trial"),
        metric(
            "rekey",
            "ms",
            "from asking for another key to sending with it, as the controller reports it",
            Better::Lower,
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(_: &Levels, _: &Tools) -> Option<Lack> {
    lacks_macsec()
}

struct Rekey {
    folder: PathBuf,
    rekeys: usize,
    pause: Duration,
    lasting: Duration,
    size: usize,
    gap: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let of = |name, unit: fn(u64) -> Duration| Ok::<_, Error>(unit(parameters.count(name)? as u64));
    Ok(Box::new(Rekey {
        folder: setting.folder.to_owned(),
        rekeys: parameters.count("rekeys")?,
        pause: of("pause", Duration::from_millis)?,
        lasting: of("lasting", Duration::from_millis)?,
        size: parameters.count("size")?.clamp(probe::LEAST, probe::MOST),
        gap: of("gap", Duration::from_micros)?.max(Duration::from_micros(1)),
    }))
}

impl Workload for Rekey {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let fresh = match trial.levels.level("rekeys") {
            Some("derived") => Some(false),
            Some("fresh") => Some(true),
            _ => None,
        };
        // Keys and certificates of a trial are its own.
        let folder = self.folder.join("keyed");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let mut link = Link::make(PORT_MTU)?;
        link.is_keyed_by_controllers();
        keyed(&link, &folder, |controllers| {
            self.measure(&link, controllers, fresh, trial.deadline)
        })
    }
}

impl Rekey {
    fn measure(
        &self,
        link: &Link,
        controllers: &Controllers<'_>,
        fresh: Option<bool>,
        deadline: Instant,
    ) -> Result<Observation, Error> {
        let egress = Egress::start(link, &self.folder)?;
        let load = probe::Load {
            size: self.size,
            gap: self.gap,
            probe: None,
            lasting: self.lasting,
        };
        let over = AtomicBool::new(false);
        let (played, rekeyed) = thread::scope(|scope| {
            let rekeying = scope.spawn(|| self.rekey(controllers, fresh, &over));
            let (mut source, mut sink) = (load.source(), probe::Sink::default());
            let played = play(link, &mut source, &mut sink, 2, Departures::Unstamped, deadline);
            over.store(true, Ordering::Release);
            let rekeyed = rekeying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Error>((played?, rekeyed?))
        })?;
        let left = egress.stop()?;
        unchanged(&played)?;
        let wanted = if fresh.is_some() { self.rekeys } else { 0 };
        if rekeyed.len() < wanted {
            let done = rekeyed.len();
            return Err(Error::Protocol(format!(
                "{done} of {wanted} rekeys while frames were sent: make `lasting` longer"
            )));
        }
        let mut observation = Observation::default();
        let status = controllers.status()?;
        if let Some(exchange) = &status.exchange {
            let keys = format!(
                "{}, {}",
                exchange.group,
                exchange.peer_signature.as_deref().unwrap_or("no signature seen")
            );
            observation.facts.insert("keys".to_owned(), keys.into());
        }
        observation
            .facts
            .insert("exchanges".to_owned(), status.exchanges.into());
        let lane = &played.lanes[0];
        let delays: Vec<f64> = lane.delays(0).map(|delay| delay.whole).collect();
        let others = left
            .iter()
            .filter(|left| ![MACSEC, LOCAL_EXPERIMENTAL].contains(&left.ethertype));
        let values = &mut observation.values;
        values.insert("lost", vec![lane.lost() as f64]);
        values.insert("out-of-order", vec![played.late as f64]);
        values.insert("unprotected-frames", vec![others.count() as f64]);
        values.insert("rekeys", vec![rekeyed.len() as f64]);
        values.insert(
            "delay-worst",
            delays.iter().copied().reduce(f64::max).into_iter().collect(),
        );
        values.insert("delay", delays);
        values.insert("rekey", rekeyed.iter().map(|took| took.as_secs_f64() * 1e3).collect());
        losses(&mut observation.facts, &played);
        Ok(observation)
    }

    /// How long each took.
    fn rekey(
        &self,
        controllers: &Controllers<'_>,
        fresh: Option<bool>,
        over: &AtomicBool,
    ) -> Result<Vec<Duration>, Error> {
        let mut all = Vec::new();
        while let Some(fresh) = fresh
            && all.len() < self.rekeys
            && !over.load(Ordering::Acquire)
        {
            thread::sleep(self.pause);
            let began = Instant::now();
            controllers.rekey(fresh)?;
            all.push(began.elapsed());
        }
        Ok(all)
    }
}
