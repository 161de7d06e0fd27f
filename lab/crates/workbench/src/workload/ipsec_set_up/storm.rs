//! Set-ups that one charon begins all at once with another, timed from packets at the initiator.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_host::LabRoot;
use bartizan_ipsec::Settings;
use bartizan_ipsec::vici::{Client, Section};
use bartizan_testing::{Capture, Direction};
use bartizan_wire::ike::{ExchangeType, IkeSa};

use super::kind::{AUTHENTICATION, KEY_EXCHANGE, lacks};
use super::link::{self, INTERFACE, Link};
use super::{complete, issue, spent};
use crate::stand_in::charons::{self, PATIENCE, Papers, methods, negotiated, refused, seen};
use crate::workload::handshake_storm::{Before, Connected, METRICS, PARAMETERS, Size, observation};
use crate::workload::{Error, Kind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "storm-ike",
    about: "IKE_SAs with a CHILD_SA each that one charon begins all at once with another, as Bartizan configures both, after a few at a time were timed.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION],
    parameters: PARAMETERS,
    metrics: METRICS,
    targets: Targets::Own,
    lacks,
    start,
};

/// Set-ups one after the other.
const ALONE: usize = 20;
/// The one connection of all.
const NUMBER: u8 = 1;

/// Set-up of each trial's charons. Each trial has new ones, with empty tables.
struct Storm {
    folder: PathBuf,
    root: LabRoot,
    papers: Vec<(String, Papers)>,
    size: Size,
    program: Option<String>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut papers: Vec<(String, Papers)> = Vec::new();
    for levels in setting.combinations {
        let authentication = AUTHENTICATION.of(levels);
        if !papers.iter().any(|(known, _)| known == authentication) {
            papers.push((authentication.to_owned(), issue(setting.folder, authentication)?));
        }
    }
    Ok(Box::new(Storm {
        folder: setting.folder.to_owned(),
        root: charons::root(setting.tools)?.clone(),
        papers,
        size: Size::of(setting)?,
        program: None,
    }))
}

impl Workload for Storm {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let key_exchange = KEY_EXCHANGE.of(trial.levels);
        let authentication = AUTHENTICATION.of(trial.levels);
        let papers = self.papers.iter().find(|(known, _)| known == authentication);
        let (_, papers) =
            papers.ok_or_else(|| Error::Configuration("a combination that was not announced".to_owned()))?;
        // All come from one address, and no second one may find the first.
        let peers = u32::try_from(self.size.clients + self.size.at_once * self.size.batches).unwrap_or(u32::MAX);
        let vary = |settings: &mut Settings| {
            settings.peers = peers;
            settings.peers_per_address = peers;
            settings.reuse_ike_sas = false;
        };
        let mut link = Link::make(&self.folder, &self.root, "storm", vary, 1500, false)?;
        link.load_many(NUMBER, key_exchange, papers)?;
        self.program = Some(link.version()?);
        let mut storm = Begun {
            asking: link.client()?,
            events: link.client()?,
            link,
        };
        storm.events.register("ike-updown").map_err(refused)?;
        let before = storm.before(self.size, trial.deadline)?;
        let file = self.folder.join("storm.pcap");
        let capture = Capture::start(Some(storm.link.initiator()), INTERFACE, &file, Direction::Both)?;
        let first = storm.link.cpu()?;
        let begun = storm.begin(self.size.clients, trial.deadline);
        let last = storm.link.cpu()?;
        let captured = capture.stop()?;
        begun?;
        complete(&captured)?;
        let (sas, _) = seen(&file)?;
        let methods = methods(key_exchange)?;
        sas.iter().try_for_each(|sa| negotiated(sa, &methods))?;
        let outcome = connected_of(&sas);
        if outcome.connected_s.len() != self.size.clients {
            return Err(Error::Handshake(format!(
                "the capture has {} of {} set-ups whole",
                outcome.connected_s.len(),
                self.size.clients
            )));
        }
        let mut observation = {
            let count = u32::try_from(self.size.clients).unwrap_or(u32::MAX);
            let in_storm = [0, 1].map(|end| spent(first[end], last[end]) / count);
            observation(self.size, before, outcome, in_storm)
        };
        let fact = |name: &str| name.to_owned();
        observation.facts.insert(fact("esp"), storm.link.esp().into());
        observation
            .facts
            .insert(fact("processors"), storm.link.processors().to_vec().into());
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.program.clone().into_iter().collect()
    }
}

/// Two charons, and who asks them.
struct Begun {
    asking: Client,
    /// Events of the initiator about its SAs.
    events: Client,
    // Behind its clients.
    link: Link,
}

impl Begun {
    /// Begins so many IKE_SAs without waiting for any, then waits until all are up.
    fn begin(&mut self, count: usize, deadline: Instant) -> Result<(), Error> {
        for _ in 0..count {
            let ask = Section::new()
                .with("child", link::child("first", NUMBER))
                .with("ike", link::connection(NUMBER))
                // Charon answers at once.
                .with("timeout", "-1");
            self.asking.command_within("initiate", ask, PATIENCE).map_err(refused)?;
        }
        for up in 0..count {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.events.event(left).map_err(refused)?;
            let event = event.ok_or_else(|| Error::Handshake(format!("{up} of {count} IKE_SAs outcome up in time")))?;
            if !event.message.is_yes("up") {
                return Err(Error::Handshake("an IKE_SA went down".to_owned()));
            }
        }
        Ok(())
    }

    fn before(&mut self, size: Size, deadline: Instant) -> Result<Before, Error> {
        // Caches, and what is taken once.
        self.begin(size.at_once, deadline)?;
        let first = self.link.cpu()?;
        let began = Instant::now();
        for _ in 0..ALONE {
            self.begin(1, deadline)?;
        }
        let elapsed = began.elapsed();
        let second = self.link.cpu()?;
        for _ in 0..size.batches {
            self.begin(size.at_once, deadline)?;
        }
        let third = self.link.cpu()?;
        let count = u32::try_from(size.batches * size.at_once).unwrap_or(u32::MAX);
        let each = |end: usize| spent(second[end], third[end]) / count;
        let alone: Duration = (0..2).map(|end| spent(first[end], second[end])).sum();
        Ok(Before {
            cpu: [each(0), each(1)],
            alone: [elapsed / ALONE as u32, alone / ALONE as u32],
        })
    }
}

/// Times at which each IKE_SA began and was up, since the first packet of any.
fn connected_of(sas: &[IkeSa]) -> Connected {
    let begun = || {
        let requests = sas.iter().filter_map(|sa| sa.exchanges.iter().next()?.request);
        requests.map(|request| request.first.time)
    };
    let (Some(first), Some(last)) = (begun().min(), begun().max()) else {
        return Connected {
            connected_s: Vec::new(),
            began_within_s: 0.0,
            retransmissions: 0,
        };
    };
    let up = |sa: &IkeSa| {
        let auth = sa.exchanges_of(ExchangeType::IKE_AUTH).last()?;
        auth.duration()?;
        Some(auth.response?.last.time.since(first) as f64 / 1e9)
    };
    Connected {
        connected_s: sas.iter().filter_map(up).collect(),
        began_within_s: last.since(first) as f64 / 1e9,
        retransmissions: sas
            .iter()
            .map(|sa| sa.from_initiator.repeated + sa.from_responder.repeated)
            .sum(),
    }
}
