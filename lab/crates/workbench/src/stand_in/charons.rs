//! Two charons of the lab root, one in the namespace of either end of a cable, and what they prove themselves by.

mod connections;
mod papers;
mod seen;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{LabRoot, Namespace};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::{Engine, Instance, Kernel, Settings, StartError, drive, vici};
use bartizan_registry::{TRANSFORMS, TransformKind};
use bartizan_testing::Usage;
use bartizan_wire::ike::KeyExchangeMethod;
use nix::sys::signal::Signal;

use crate::Error;
use crate::stand_in::Lack;
use crate::stand_in::proxies::Tools;

pub(crate) use connections::{child, connection, described, described_with, inner};
pub(crate) use papers::Papers;
pub(crate) use seen::{Rekey, ike_sa, negotiated, seen, span};

/// Time limit for a reply of charon that does not depend on packets.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Interval between polls for the end of charon's IKE_SAs.
const POLL: Duration = Duration::from_millis(2);

/// They end with this value, before the namespaces they run in.
#[derive(Debug)]
pub(crate) struct Charons {
    instances: [Instance; 2],
    kernel: Kernel,
    processors: [usize; 2],
    /// Those that they could run on.
    all: Vec<usize>,
}

impl Charons {
    /// Starts one in each namespace, its files in the directory next to it, by what Bartizan writes and `vary` changes.
    pub(crate) fn start(
        root: &LabRoot,
        ends: [(&Namespace, PathBuf); 2],
        vary: impl FnOnce(&mut Settings),
    ) -> Result<Self, Error> {
        Self::start_engine(&Engine::LabRoot(root.clone()), ends, vary)
    }

    /// The same of another IKE daemon.
    pub(crate) fn start_engine(
        engine: &Engine,
        ends: [(&Namespace, PathBuf); 2],
        vary: impl FnOnce(&mut Settings),
    ) -> Result<Self, Error> {
        let kernel = Kernel::of_this_machine()?;
        let mut settings = Settings::new(kernel, 1);
        vary(&mut settings);
        let kernel = settings.kernel;
        let [one, other] = ends.map(|(namespace, directory)| {
            Instance::start(engine, &directory, Some(namespace), &settings).map_err(not_started)
        });
        let mut instances = [one?, other?];
        let (processors, all) = apart(&mut instances)?;
        Ok(Self {
            instances,
            kernel,
            processors,
            all,
        })
    }

    /// Lets both run on every processor again.
    pub(crate) fn spread(&mut self) -> Result<(), Error> {
        for process in self.instances.iter_mut().filter_map(Instance::process) {
            bartizan_machine::pin(process, &self.all)?;
        }
        Ok(())
    }

    /// The processor that each is kept on, the first end's first.
    pub(crate) fn processors(&self) -> [usize; 2] {
        self.processors
    }

    /// A connection to the one at this end.
    pub(crate) fn client(&self, end: usize) -> Result<Client, Error> {
        self.instances[end].client(PATIENCE).map_err(refused)
    }

    /// VICI socket of the charon at this end.
    pub(crate) fn socket(&self, end: usize) -> PathBuf {
        self.instances[end].socket()
    }

    /// Ends the one at this end as a crash does, and waits until it is gone.
    pub(crate) fn kill(&mut self, end: usize) -> Result<(), Error> {
        let Some(process) = self.instances[end].process() else {
            return Ok(());
        };
        process.send(Signal::SIGKILL as i32);
        let deadline = Instant::now() + PATIENCE;
        while process.ended()?.is_none() {
            if Instant::now() >= deadline {
                return Err(Error::Configuration("a charon that was killed runs".to_owned()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Deletes every IKE_SA at both ends, also those that never came up.
    pub(crate) fn delete_all(&self) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        for end in 0..self.instances.len() {
            let mut client = self.client(end)?;
            loop {
                let sas = drive::list_sas(&mut client).map_err(refused)?;
                if sas.is_empty() {
                    break;
                }
                if Instant::now() >= deadline {
                    return Err(Error::Handshake(format!("{} IKE_SAs do not go", sas.len())));
                }
                for sa in sas {
                    let ask = Section::new()
                        .with("ike-id", sa.id.to_string())
                        .with("force", "yes")
                        .with("timeout", "1000");
                    match client.command_within("terminate", ask, PATIENCE) {
                        // It went by itself in the meantime, or goes at its next look at the clock.
                        Ok(_) | Err(vici::Error::Refused { .. }) => {}
                        Err(error) => return Err(refused(error)),
                    }
                }
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// ESP data path: the kernel, charon's kernel-libipsec, or the engine of Bartizan.
    pub(crate) fn esp(&self) -> &'static str {
        match self.kernel {
            Kernel::Netlink => "kernel",
            Kernel::Libipsec => "libipsec",
            Kernel::Userspace => "userspace",
        }
    }

    /// As charon says it.
    pub(crate) fn version(&self) -> Result<String, Error> {
        let said = self.client(0)?.request("version", Section::new()).map_err(refused)?;
        let text = |name: &str| said.text(name).unwrap_or("unknown").to_owned();
        Ok(match &text("daemon")[..] {
            "bartizan" => format!("bartizan {} (ike-engine)", text("version")),
            charon => format!("strongSwan {} ({charon})", text("version")),
        })
    }

    /// The plugin whose ML-KEM-768 the one at this end takes, as it says itself; `none` where it has none.
    pub(crate) fn ml_kem(&self, end: usize) -> Result<String, Error> {
        let charon = bartizan_ipsec::Charon::ask(&mut self.client(end)?).map_err(refused)?;
        let exchange = bartizan_deployment::KeyExchange::named("mlkem768");
        let plugin = exchange.and_then(|exchange| charon.plugin_of(exchange.first()).map(str::to_owned));
        Ok(plugin.unwrap_or_else(|| "none".to_owned()))
    }

    /// Resources that both processes have used so far.
    pub(crate) fn usage(&mut self) -> Result<[Usage; 2], Error> {
        let [one, other] = self.instances.each_mut().map(|charon| match charon.process() {
            Some(process) => Usage::of(process.id()).map_err(Error::from),
            None => Err(Error::Configuration("a charon that has been stopped".to_owned())),
        });
        Ok([one?, other?])
    }
}

/// Puts the second one onto the first processor and the first one, with which this thread is, onto
/// the last, as two hosts have processors of their own: where the scheduler puts them, it does so
/// differently from one trial to the next.
fn apart(instances: &mut [Instance; 2]) -> Result<([usize; 2], Vec<usize>), Error> {
    let gone = || Error::Configuration("a charon that has been stopped".to_owned());
    let (mut processors, mut all) = ([0; 2], Vec::new());
    for (end, instance) in instances.iter_mut().enumerate() {
        let process = instance.process().ok_or_else(gone)?;
        all = bartizan_machine::processors_of(process)?;
        let own = if end == 0 { all.last() } else { all.first() };
        processors[end] = *own.ok_or_else(gone)?;
        bartizan_machine::pin(process, &[processors[end]])?;
    }
    Ok((processors, all))
}

/// First requirement of two charons that this machine does not meet.
pub(crate) fn lack(tools: &Tools) -> Option<Lack> {
    let lack = |what: &str, reason: &str, hint: &str| {
        Some(Lack {
            what: what.to_owned(),
            reason: reason.to_owned(),
            hint: hint.to_owned(),
            feature: None,
        })
    };
    if !nix::unistd::geteuid().is_root() {
        return lack("root", "two charons on a cable need it", "run this as root");
    }
    let charon = |root: &LabRoot| root.packages().any(|(name, _)| name == "charon-systemd");
    if !tools.sid.as_ref().is_some_and(charon) {
        let hint = "as root: bartizan lab root";
        return lack("strongSwan", "there is no lab root with strongSwan 6.1", hint);
    }
    None
}

/// The key exchange method that this build lacks; none if Bartizan's engine implements them all.
pub(crate) fn lacks_research(key_exchange: &str) -> Option<Lack> {
    let methods = methods(key_exchange).ok()?;
    let missing = methods
        .into_iter()
        .map(KeyExchangeMethod)
        .find(|method| bartizan_ike::key_exchange(*method).is_none())?;
    Some(Lack {
        what: format!("{missing} of the engine of Bartizan"),
        reason: "this build has no KEMs for research".to_owned(),
        hint: "cargo build --release --features research-kems (docs/ike-engine.md)".to_owned(),
        feature: None,
    })
}

/// True if one of its methods has a private-use number, which Bartizan takes for research and no
/// other daemon knows.
pub(crate) fn is_research(key_exchange: &str) -> bool {
    let known = |id: u16| bartizan_registry::transform(TransformKind::KeyExchange, id);
    let methods = methods(key_exchange).unwrap_or_default();
    methods
        .into_iter()
        .filter_map(known)
        .any(bartizan_registry::Transform::is_research)
}

/// The lab root they are from; [`lack`] has said that there is one.
pub(crate) fn root(tools: &Tools) -> Result<&LabRoot, Error> {
    let missing = || Error::Configuration("no lab root sid".to_owned());
    tools.sid.as_ref().ok_or_else(missing)
}

/// Code points of `x25519-ke1_mlkem768`, the KE payload's first.
pub(crate) fn methods(key_exchange: &str) -> Result<Vec<u16>, Error> {
    let method = |word: &str| {
        let keyword = word.split_once('_').map_or(word, |(_, keyword)| keyword);
        let mut known = TRANSFORMS.iter().filter(|one| one.kind == TransformKind::KeyExchange);
        let known = known.find(|one| one.strongswan == Some(keyword));
        known
            .map(|one| one.id)
            .ok_or_else(|| Error::Configuration(format!("no key exchange is called `{keyword}`")))
    };
    key_exchange.split('-').map(method).collect()
}

/// An error reply of charon.
pub(crate) fn refused(error: vici::Error) -> Error {
    Error::Refused {
        error: error.to_string(),
        hint: None,
    }
}

fn not_started(error: StartError) -> Error {
    match error {
        StartError::Host(error) => error.into(),
        other => Error::Refused {
            error: other.to_string(),
            hint: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_in_strongswans_words_is_its_code_points_in_order() {
        assert_eq!(methods("x25519").unwrap(), [31]);
        assert_eq!(methods("mlkem1024").unwrap(), [37]);
        assert_eq!(methods("x25519-ke1_mlkem768").unwrap(), [31, 36]);
        assert!(methods("x25519-ke1_nothing").is_err());
    }
}
