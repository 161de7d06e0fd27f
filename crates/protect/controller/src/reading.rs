//! The deployment file of a namespace: from its Network and Exceptions, or from a ConfigMap that is
//! not this controller's.

use std::path::Path;

use bartizan_deployment::{Deployment, Error, key_path};
use serde_json::Value;
use time::Date;

use crate::FILE;
use crate::exception::Spec;
use crate::objects::{Exception, Network, Observed};

/// Source of the file in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// There is none.
    Nothing,
    /// A Network: name and uid.
    Network(String, String),
    /// A ConfigMap that is not this controller's: it is read, and never written.
    ConfigMap,
}

/// Decision on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the file.
    Accepted,
    /// It cannot be applied: place, cause and hint.
    Refused(String),
    /// Its last day is over.
    Expired,
    /// The Network of this name has the namespace, or is another one than the Exception names.
    AnotherNetwork(String),
    /// The namespace has a ConfigMap that is not this controller's.
    ForeignConfigMap,
    /// There is no Network that it could be applied to, or that one is refused.
    NoNetwork,
}

/// The file in effect, and what became of each resource. It changes with Networks, Exceptions, the
/// ConfigMap and the day alone.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The file in effect: of the Network, or the last one that was accepted, or the ConfigMap's.
    pub deployment: Option<Deployment>,
    /// The file to be written into the ConfigMap.
    pub rendered: Option<String>,
    /// Its source.
    pub source: Source,
    /// Decision on each Network, in the order observed.
    pub networks: Vec<Verdict>,
    /// Decision on each Exception, in the order observed.
    pub exceptions: Vec<Verdict>,
    /// The fault of a ConfigMap that is not this controller's.
    pub complaint: Option<String>,
}

impl Reading {
    /// Reads what is observed on this day (UTC).
    pub fn of(observed: &Observed, today: Date) -> Self {
        let oldest = |network: &&Network| (network.meta.created.clone(), network.meta.name.clone());
        let network = observed.networks.iter().min_by_key(oldest);
        let foreign = observed.config_map.as_ref().filter(|map| !map.meta.managed);
        if let (Some(map), None) = (foreign, network) {
            let read = match &map.file {
                Some(text) => parse(text),
                None => Err(format!("it has no key {FILE}")),
            };
            let complaint = read
                .as_ref()
                .err()
                .map(|why| format!("ConfigMap {}: {why}", map.meta.name));
            return Self {
                deployment: read.ok(),
                rendered: None,
                source: Source::ConfigMap,
                networks: Vec::new(),
                exceptions: vec![Verdict::ForeignConfigMap; observed.exceptions.len()],
                complaint,
            };
        }
        let Some(network) = network else {
            return Self {
                deployment: None,
                rendered: None,
                source: Source::Nothing,
                networks: Vec::new(),
                exceptions: vec![Verdict::NoNetwork; observed.exceptions.len()],
                complaint: None,
            };
        };
        let mut reading = Self::of_network(network, observed, today);
        if let Some(map) = foreign {
            reading.leave_unwritten(&map.meta.name);
        }
        reading
    }

    /// A ConfigMap of another owner does not put a Network out of force: certificates are those of
    /// the Network, and the ConfigMap stays as it is.
    fn leave_unwritten(&mut self, map: &str) {
        self.rendered = None;
        let verdicts = self.networks.iter_mut().chain(&mut self.exceptions);
        for verdict in verdicts.filter(|verdict| **verdict == Verdict::Accepted) {
            *verdict = Verdict::ForeignConfigMap;
        }
        self.complaint = Some(format!(
            "ConfigMap {map} is not labelled as this controller's: pods read it, and not the Network"
        ));
    }

    fn of_network(network: &Network, observed: &Observed, today: Date) -> Self {
        let mut exceptions = vec![Verdict::NoNetwork; observed.exceptions.len()];
        let read = accepted(&network.spec).map(|base| {
            let whole = with_exceptions(network, base, &observed.exceptions, today, &mut exceptions);
            (whole.deployment, whole.text)
        });
        let verdict = match &read {
            Ok(_) => Verdict::Accepted,
            Err(why) => Verdict::Refused(why.clone()),
        };
        let networks = observed
            .networks
            .iter()
            .map(|one| match one.meta.uid == network.meta.uid {
                true => verdict.clone(),
                false => Verdict::AnotherNetwork(network.meta.name.clone()),
            });
        let networks = networks.collect();
        let (deployment, rendered) = match read {
            Ok((deployment, text)) => (Some(deployment), Some(text)),
            // The last file that was accepted, which is the controller's own.
            Err(_) => {
                let own = observed.config_map.as_ref().filter(|map| map.meta.managed);
                let last = own.and_then(|map| map.file.as_deref());
                (last.and_then(|text| parse(text).ok()), None)
            }
        };
        Self {
            deployment,
            rendered,
            source: Source::Network(network.meta.name.clone(), network.meta.uid.clone()),
            networks,
            exceptions,
            complaint: None,
        }
    }
}

/// A file that the parser takes.
#[derive(Clone)]
struct Accepted {
    value: Value,
    text: String,
    deployment: Deployment,
}

fn accepted(value: &Value) -> Result<Accepted, String> {
    let text = serde_saphyr::to_string(value).map_err(|error| format!("it cannot be written as YAML: {error}"))?;
    let deployment = parse(&text)?;
    Ok(Accepted {
        value: value.clone(),
        text,
        deployment,
    })
}

/// The file with each Exception that it takes. One that the parser refuses is left out, and the others are not.
fn with_exceptions(
    network: &Network,
    base: Accepted,
    exceptions: &[Exception],
    today: Date,
    verdicts: &mut [Verdict],
) -> Accepted {
    let mut order: Vec<usize> = (0..exceptions.len()).collect();
    order.sort_by_key(|&at| (&exceptions[at].meta.created, &exceptions[at].meta.name));
    let mut file = base;
    // Exceptions to be judged, the first last.
    let mut waiting = vec![order];
    while let Some(some) = waiting.pop() {
        let mut value = file.value.clone();
        let (mut tried, mut again) = (Vec::new(), Vec::new());
        for at in some {
            match applied(network, &exceptions[at], &value, today) {
                Ok(with) => {
                    value = with;
                    tried.push(at);
                }
                // In its way may be one that is refused.
                Err(Verdict::Refused(_)) if !tried.is_empty() => again.push(at),
                Err(verdict) => verdicts[at] = verdict,
            }
        }
        if !again.is_empty() {
            waiting.push(again);
        }
        if tried.is_empty() {
            continue;
        }
        // To parse the file is most of the work: it is parsed with all of them, and with fewer where it is refused.
        match accepted(&value) {
            Ok(with) => {
                file = with;
                tried.iter().for_each(|&at| verdicts[at] = Verdict::Accepted);
            }
            Err(why) => match tried[..] {
                [at] => verdicts[at] = Verdict::Refused(why),
                _ => {
                    let later = tried.split_off(tried.len() / 2);
                    waiting.extend([later, tried]);
                }
            },
        }
    }
    file
}

/// The file with an Exception, not parsed.
fn applied(network: &Network, exception: &Exception, file: &Value, today: Date) -> Result<Value, Verdict> {
    let spec = Spec::read(&exception.spec).map_err(Verdict::Refused)?;
    if let Some(name) = spec.network.as_ref().filter(|name| **name != network.meta.name) {
        return Err(Verdict::AnotherNetwork(name.clone()));
    }
    if today > spec.last_day().map_err(Verdict::Refused)? {
        return Err(Verdict::Expired);
    }
    let mut value = file.clone();
    spec.apply(&mut value).map_err(Verdict::Refused)?;
    Ok(value)
}

/// Reads a file; what is wrong with it in one line: place, cause, hint.
fn parse(text: &str) -> Result<Deployment, String> {
    Deployment::parse(text, FILE, Path::new("")).map_err(|error| {
        let said = match &error {
            // The lines of a rendered file have no author: its author knows keys.
            Error::Syntax { file, detail, .. } => {
                let cause = detail.lines().next().unwrap_or_default();
                let mut place = file
                    .rsplitn(3, ':')
                    .map(|number| number.parse::<u64>().unwrap_or_default());
                let (column, line) = (place.next().unwrap_or_default(), place.next().unwrap_or_default());
                // A missing field has no place of its own, and the cause begins with the place
                // where it is missing.
                let place = key_path(text, line, column).filter(|_| !cause.contains("missing field"));
                match place {
                    Some(path) => format!("{path}: {cause}"),
                    None => cause.to_owned(),
                }
            }
            Error::Meaning { place, cause, .. } => format!("{place}: {cause}"),
        };
        match error.hint() {
            Some(hint) => format!("{said}; hint: {hint}"),
            None => said,
        }
    })
}
