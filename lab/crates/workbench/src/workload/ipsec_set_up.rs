//! IPsec SAs set up, given another CHILD_SA, rekeyed and deleted, by two real charons over a
//! virtual cable or a path that delays and loses, timed from the packets at the initiator: what
//! Perera et al. 2026 and Otero-García et al. 2025 time.

mod breach;
mod kind;
mod link;
mod measure;
mod memory;
mod path;
mod storm;
mod whole;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_deployment::IkeEngine;
use bartizan_host::{LabRoot, Namespace};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::{Engine, Kernel, Settings};
use bartizan_pki::Profile;
use bartizan_testing::{Capture, Captured, Direction, Usage};
use serde_json::Value;

pub(super) use self::breach::KIND as BREACH;
pub(super) use self::kind::KIND;
use self::kind::{
    AUTHENTICATION, CONFIGURATION, DRIVER, ENGINE, KEY_EXCHANGE, LOG, LOSS, PROVIDER, ROUND_TRIP, USERSPACE,
};
use self::link::{ENDS, INTERFACE, Link};
use self::measure::{Measured, Reached};
pub(super) use self::memory::KIND as MEMORY;
use self::path::Condition;
pub(super) use self::storm::KIND as STORM;
use self::whole::Whole;
use crate::stand_in::charons::{self, PATIENCE, Papers, ike_sa, methods, refused};
use crate::workload::Levels;
use crate::workload::{Error, Observation, Setting, Trial, Workload};

struct IpsecSetUp {
    set_ups: usize,
    rekeys: bool,
    patience: Duration,
    // Pairs of charons by their configuration, and one for drivers that load everything themselves.
    links: BTreeMap<String, Link>,
    whole: Option<Whole>,
    connections: Vec<Connection>,
    folder: PathBuf,
    programs: Vec<String>,
}

/// One combination, as both charons know it; they do not know the path.
struct Connection {
    levels: Levels,
    /// Number in its addresses and names.
    number: u8,
    /// Code points of the key exchanges that must be negotiated, the KE payload's first.
    methods: Vec<u16>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mtu = u16::try_from(setting.parameters.count("mtu")?)
        .ok()
        .filter(|mtu| (576..=9000).contains(mtu))
        .ok_or_else(|| Error::Configuration("`mtu` is 576 to 9000 bytes".to_owned()))?;
    let root = charons::root(setting.tools)?;
    let conditions = setting.combinations.iter().map(Condition::of);
    let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
    let impaired = conditions.iter().any(|condition| !condition.is_none());
    let mut links = BTreeMap::new();
    let mut connections: Vec<Connection> = Vec::new();
    let mut whole = None;
    let mut papers: BTreeMap<&str, Papers> = BTreeMap::new();
    let profile = profile(setting.combinations);
    for levels in setting.combinations {
        let known = without_path(levels);
        if connections.iter().any(|connection| connection.levels == known) {
            continue;
        }
        let number = u8::try_from(connections.len() + 1)
            .ok()
            .filter(|number| *number < u8::MAX)
            .ok_or_else(|| Error::Configuration("more combinations than a network has addresses for".to_owned()))?;
        let pair = pair(levels);
        if !links.contains_key(&pair) {
            let place = (setting.folder, setting.tools.sidecar.as_path());
            links.insert(pair.clone(), pair_of(levels, place, root, mtu, impaired)?);
        }
        let authentication = AUTHENTICATION.of(levels);
        if !papers.contains_key(authentication) {
            papers.insert(authentication, issue_as(setting.folder, authentication, profile)?);
        }
        let key_exchange = KEY_EXCHANGE.of(levels);
        if let (Some(link), Some(papers)) = (links.get_mut(&pair), papers.get(authentication)) {
            if is_whole(levels) && is_ours(levels) {
                let cause = "whole commands are taken with strongSwan alone".to_owned();
                return Err(Error::Configuration(cause));
            } else if !is_whole(levels) {
                link.load(number, key_exchange, [&[key_exchange]; 2], papers)?;
            } else if key_exchange != whole::KEY_EXCHANGE || authentication != AUTHENTICATION.levels[0] {
                let cause = format!("whole commands are taken with {} alone", whole::KEY_EXCHANGE);
                return Err(Error::Configuration(cause));
            } else if whole.is_none() {
                link.address(number)?;
                let (folder, own) = (setting.folder, &setting.tools.sidecar);
                whole = Some(Whole::prepare(folder, own, root.directory(), link, number, papers)?);
            }
        }
        connections.push(Connection {
            levels: known,
            number,
            methods: methods(key_exchange)?,
        });
    }
    let mut programs: Vec<String> = links.values().map(Link::version).collect::<Result<_, _>>()?;
    programs.sort_unstable();
    programs.dedup();
    let patience = setting.parameters.number("patience")?;
    let patience = Duration::try_from_secs_f64(patience)
        .ok()
        .filter(|patience| !patience.is_zero())
        .ok_or_else(|| Error::Configuration(format!("`patience` of {patience} s")))?;
    Ok(Box::new(IpsecSetUp {
        set_ups: setting.parameters.count("set-ups")?.max(1),
        rekeys: setting.parameters.flag("rekeys")?,
        patience,
        links,
        whole,
        connections,
        folder: setting.folder.to_owned(),
        programs,
    }))
}

/// The pair of charons for drivers that load everything themselves. They may clear it.
const WHOLE: &str = "whole";
/// The pair of engines of Bartizan, of which strongSwan's factors say nothing.
const OURS: &str = "ours";

/// Certificate profile of both ends. For comparisons of engines, it is the one that `bartizan ca`
/// issues for IPsec.
fn profile(combinations: &[Levels]) -> Profile {
    match combinations.iter().any(|levels| levels.level(ENGINE.name).is_some()) {
        true => Profile::Ipsec,
        false => Profile::NetworkFunction,
    }
}

/// The device of engines that do ESP themselves.
const DEVICE: &str = "esp-set-up";

/// Has an engine of Bartizan do ESP itself, where the combination says so.
fn data_path(levels: &Levels, settings: &mut Settings, mtu: u16) {
    if ENGINE.of(levels) == USERSPACE {
        settings.kernel = Kernel::Userspace;
        settings.userspace = Some((DEVICE.to_owned(), mtu));
    }
}

/// Name of the pair of charons that a combination uses.
fn pair(levels: &Levels) -> String {
    if is_whole(levels) {
        return WHOLE.to_owned();
    }
    if is_ours(levels) {
        return format!("{OURS}-{}", ENGINE.of(levels));
    }
    let own = [&CONFIGURATION, &PROVIDER, &LOG].map(|factor| factor.of(levels));
    own.join("-")
}

/// True if the driver loads everything itself.
fn is_whole(levels: &Levels) -> bool {
    matches!(DRIVER.of(levels), "up" | "swanctl-load-all")
}

/// True if both ends have the engine of Bartizan.
fn is_ours(levels: &Levels) -> bool {
    ENGINE.of(levels) != ENGINE.levels[0]
}

/// IKE daemon of both ends of a combination.
fn engine_of(levels: &Levels) -> IkeEngine {
    match is_ours(levels) {
        true => IkeEngine::Bartizan,
        false => IkeEngine::Strongswan,
    }
}

/// The pair of charons of a combination, which must take the ML-KEM that it names, or of engines of this program.
fn pair_of(
    levels: &Levels,
    (folder, own): (&std::path::Path, &std::path::Path),
    root: &LabRoot,
    mtu: u16,
    impaired: bool,
) -> Result<Link, Error> {
    if is_ours(levels) {
        let engine = (&Engine::Bartizan(own.to_owned()), IkeEngine::Bartizan);
        return Link::make_with(
            engine,
            (folder, &pair(levels)),
            root,
            |settings| data_path(levels, settings, mtu),
            (mtu, impaired),
        );
    }
    let provider = PROVIDER.of(levels);
    let log_level = LOG.of(levels).parse();
    let log_level = log_level.map_err(|_| Error::Configuration("`log` is a number".to_owned()))?;
    let vary = |settings: &mut Settings| {
        settings.defaults = CONFIGURATION.of(levels) == "default";
        settings.log_level = log_level;
        settings.asked_first = (provider == "ml").then_some("ml");
    };
    let link = Link::make(folder, root, &pair(levels), vary, mtu, impaired)?;
    let taken = link.ml_kem()?;
    if taken == provider {
        return Ok(link);
    }
    Err(Error::Configuration(format!(
        "charon has ML-KEM from {taken} instead of {provider}"
    )))
}

/// The levels that concern charons, without those of the path.
fn without_path(levels: &Levels) -> Levels {
    levels.clone().without(ROUND_TRIP.name).without(LOSS.name)
}

/// An authority and certificates by this algorithm.
fn issue(folder: &std::path::Path, authentication: &str) -> Result<Papers, Error> {
    issue_as(folder, authentication, Profile::NetworkFunction)
}

fn issue_as(folder: &std::path::Path, authentication: &str, profile: Profile) -> Result<Papers, Error> {
    Papers::issue(folder, authentication, ENDS, profile)
}

impl Workload for IpsecSetUp {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let unknown = || Error::Configuration("a combination that was not announced".to_owned());
        let known = without_path(trial.levels);
        let connection = self
            .connections
            .iter()
            .find(|connection| connection.levels == known)
            .ok_or_else(unknown)?;
        let link = self.links.get_mut(&pair(trial.levels)).ok_or_else(unknown)?;
        let mut asked = Asked {
            connection,
            driver: DRIVER.of(trial.levels),
            whole: self.whole.as_ref().filter(|_| is_whole(trial.levels)),
            // Their names for it are others.
            rekeys: self.rekeys && !is_whole(trial.levels),
            condition: Condition::of(trial.levels)?,
            patience: self.patience,
        };
        let mut observation = Observation::default();
        for _ in 0..self.set_ups {
            let left = trial.deadline.saturating_duration_since(Instant::now());
            // Charon answers within it, so that there is something to record when the trial must end.
            asked.patience = self.patience.min(left.max(PATIENCE / 30));
            for (name, value) in one(link, &asked, &self.folder)? {
                observation.values.entry(name).or_default().push(value);
            }
        }
        let mut fact = |name: &str, value: Value| observation.facts.insert(name.to_owned(), value);
        fact("mtu", Value::from(link.mtu()));
        fact("esp", Value::from(link.esp()));
        fact("ml-kem", Value::from(link.ml_kem()?));
        fact("processors", Value::from(link.processors().to_vec()));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

/// Setting of a trial.
struct Asked<'a> {
    connection: &'a Connection,
    driver: &'a str,
    /// For drivers that load everything themselves.
    whole: Option<&'a Whole>,
    rekeys: bool,
    condition: Condition,
    patience: Duration,
}

/// Result of a set-up, with the values that packets do not show.
enum Outcome {
    /// It was not up in time, on a path that loses packets.
    Lost,
    /// It was up, and all that was asked for came, or not in time.
    Up(Reached, Vec<(&'static str, f64)>),
}

/// One SA: set up over the path as it is to be, and cleared away over one that does nothing, so
/// that the next begins with nothing.
fn one(link: &mut Link, asked: &Asked<'_>, folder: &std::path::Path) -> Result<Vec<(&'static str, f64)>, Error> {
    let files = ["initiator.pcap", "responder.pcap"].map(|name| folder.join(name));
    let start = |end: &Namespace, file| Capture::start(Some(end), INTERFACE, file, Direction::Both);
    link.impair(asked.condition)?;
    let near = start(link.initiator(), &files[0])?;
    // The responder's time is measured at its own end, by the same kernel's clock.
    let far = match asked.condition.round_trip.is_zero() {
        true => None,
        false => Some(start(link.responder(), &files[1])?),
    };
    let arrived = set_up(link, asked);
    let captured = [Some(near.stop()?), far.map(Capture::stop).transpose()?];
    link.impair(Condition::default())?;
    link.clear()?;
    let arrived = arrived?;
    captured.iter().flatten().try_for_each(complete)?;
    let lossy = asked.condition.loss_percent > 0.0;
    let Outcome::Up(reached, mut values) = arrived else {
        return Ok(vec![("failures", 100.0)]);
    };
    let measured = Measured::read(&files[0], &asked.connection.methods, reached)?;
    values.extend(measured.values());
    if captured[1].is_some() {
        let at_responder = ike_sa(&files[1])?;
        let path = asked.condition.round_trip;
        values.extend(
            measured
                .round_trips(&at_responder, path)
                .map(|count| ("round-trips", count)),
        );
    }
    if lossy {
        values.push(("failures", 0.0));
        if asked.rekeys {
            let failed = if reached == Reached::Rekeyed { 0.0 } else { 100.0 };
            values.push(("rekey-failures", failed));
        }
    }
    Ok(values)
}

fn complete(captured: &Captured) -> Result<(), Error> {
    if captured.complete() {
        return Ok(());
    }
    Err(Error::Configuration(format!(
        "the capture has lost {} packets: the machine is too busy",
        captured.dropped
    )))
}

/// Sets an SA up and, where it is asked for, gives it a second CHILD_SA and rekeys the first.
fn set_up(link: &mut Link, asked: &Asked<'_>) -> Result<Outcome, Error> {
    let number = asked.connection.number;
    let mut client = link.client()?;
    if let Some(whole) = asked.whole {
        whole.forget(link)?;
    } else if asked.driver == "bartizan-listening" {
        client.register("control-log").map_err(refused)?;
    }
    let before = link.cpu()?;
    let began = Instant::now();
    let up = match (asked.driver, asked.whole) {
        ("up", Some(whole)) => whole.up(link, asked.patience).map(|()| true),
        (_, Some(whole)) => whole.swanctl(link, asked.patience).map(|()| true),
        ("swanctl", _) => link.swanctl_initiate(number, asked.patience).map(|()| true),
        _ => initiate(&mut client, "first", asked),
    };
    if !up? {
        return Ok(Outcome::Lost);
    }
    let call = milliseconds(began.elapsed());
    let after = link.cpu()?;
    let values = vec![
        ("call", call),
        ("cpu-initiator", milliseconds(spent(before[0], after[0]))),
        ("cpu-responder", milliseconds(spent(before[1], after[1]))),
    ];
    let reached = match asked.rekeys {
        false => Reached::Up,
        true if initiate(&mut client, "second", asked)? && rekey(link, &mut client, asked)? => Reached::Rekeyed,
        true => Reached::UpAndMore,
    };
    Ok(Outcome::Up(reached, values))
}

/// True if a CHILD_SA was up in time.
fn initiate(client: &mut Client, which: &str, asked: &Asked<'_>) -> Result<bool, Error> {
    let number = asked.connection.number;
    let ask = Section::new()
        .with("child", link::child(which, number))
        .with("ike", link::connection(number))
        .with("timeout", asked.patience.as_millis().to_string());
    let began = Instant::now();
    match client.command_within("initiate", ask, asked.patience + PATIENCE) {
        Ok(_) => Ok(true),
        // Charon has no word for it; what is refused for another reason is refused before.
        Err(bartizan_ipsec::vici::Error::Refused { .. }) if asked.is_lost(began) => Ok(false),
        Err(error) => Err(refused(error)),
    }
}

/// True if the first CHILD_SA was rekeyed in time.
fn rekey(link: &Link, client: &mut Client, asked: &Asked<'_>) -> Result<bool, Error> {
    let mut events = link.client()?;
    events.register("child-rekey").map_err(refused)?;
    let ask = Section::new().with("child", link::child("first", asked.connection.number));
    let began = Instant::now();
    client.command("rekey", ask).map_err(refused)?;
    // charon answers at once, and reports the finished rekey by an event.
    match events.event(asked.patience).map_err(refused)? {
        Some(_) => Ok(true),
        None if asked.is_lost(began) => Ok(false),
        None => Err(Error::Handshake("the rekey did not end".to_owned())),
    }
}

impl Asked<'_> {
    /// True if an exchange that began then has used all its time, on a path that can lose packets.
    fn is_lost(&self, began: Instant) -> bool {
        self.condition.loss_percent > 0.0 && began.elapsed() >= self.patience
    }
}

fn spent(before: Usage, after: Usage) -> Duration {
    after.cpu.saturating_sub(before.cpu)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
