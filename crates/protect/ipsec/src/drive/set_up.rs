//! Bringing links up: credentials and connections are loaded, then every link is initiated at once.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::{GRACE, Reason, list_sas, reason};
use crate::vici::{Client, Error, Message, Section};

/// Links that are set up at the same time: charon has 16 threads, some of which wait for sockets.
const AT_ONCE: usize = 8;

/// Lines of charon's log kept of one set-up: one that succeeds writes about thirty.
const LINES: usize = 512;

/// A connection as it is loaded and set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The message of `load-conn`.
    pub load: Message,
    /// True if this end sets it up.
    pub initiates: bool,
    /// True if this end can begin at all: it knows the peer's address.
    pub can_begin: bool,
    /// True if it is set up at once, not when a packet asks for it.
    pub at_once: bool,
    /// The names of its CHILD_SAs.
    pub children: Vec<String>,
}

/// Progress of a set-up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Credentials are in.
    Credentials,
    /// This many connections are loaded.
    Loaded(usize),
    /// A CHILD_SA stands, or does not.
    Ended(Attempt),
}

/// Result of one CHILD_SA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The connection.
    pub connection: String,
    /// The CHILD_SA.
    pub child: String,
    /// Outcome of the attempt.
    pub outcome: SetUp,
}

/// Outcome of a set-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetUp {
    /// It stands; charon took this long.
    Up(Duration),
    /// It stood before.
    Stood,
    /// The peer is the one that sets it up; here it is loaded.
    Waits,
    /// It does not stand.
    Failed(Reason),
}

/// Loads all of it into the charon behind `socket` and sets the links up, each within `timeout`.
///
/// Nothing is asked between the last load and the first initiate. Loading again what is loaded changes nothing, and what stands is
/// not set up a second time.
///
/// # Errors
///
/// Fails if charon does not answer, or refuses credentials or a connection. A link that does not
/// come up is no error: its attempt says.
pub fn bring_up(
    socket: &Path,
    credentials: Vec<(&str, Message)>,
    links: &[Link],
    timeout: Duration,
    progress: &(dyn Fn(Step) + Sync),
) -> Result<Vec<Attempt>, Error> {
    let mut client = Client::connect(socket, GRACE)?;
    let established = list_sas(&mut client)?;
    load(&mut client, credentials, links, progress)?;
    let stands = |link: &Link, child: &str| {
        let mut sas = established
            .iter()
            .filter(|sa| sa.stands() && sa.connection == link.name);
        sas.any(|sa| sa.children.iter().any(|known| known.stands() && known.name == child))
    };
    let queue: Mutex<VecDeque<&Link>> = Mutex::new(links.iter().collect());
    let attempts = Mutex::new(Vec::new());
    // A poisoned lock would mean that a worker panicked, which the scope passes on.
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    let work = || -> Result<(), Error> {
        while let Some(link) = next() {
            let mut client = None;
            for child in &link.children {
                let outcome = match (stands(link, child), link.initiates) {
                    (true, _) => SetUp::Stood,
                    (false, false) => SetUp::Waits,
                    (false, true) => {
                        let client = match &mut client {
                            Some(client) => client,
                            none => none.insert(listening(socket)?),
                        };
                        initiate(client, link, child, timeout)?
                    }
                };
                let attempt = Attempt {
                    connection: link.name.clone(),
                    child: child.clone(),
                    outcome,
                };
                progress(Step::Ended(attempt.clone()));
                if let Ok(mut attempts) = attempts.lock() {
                    attempts.push(attempt);
                }
            }
        }
        Ok(())
    };
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..links.len().min(AT_ONCE)).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    results.into_iter().collect::<Result<(), Error>>()?;
    let mut attempts = attempts.into_inner().unwrap_or_default();
    let place = |attempt: &Attempt| links.iter().position(|link| link.name == attempt.connection);
    attempts.sort_by_key(place);
    Ok(attempts)
}

/// Loads credentials, and connections that name them. The engine of Bartizan judges the SAs of a
/// connection by them that is loaded again.
///
/// # Errors
///
/// Fails if charon does not answer, or refuses one of them.
pub fn load(
    client: &mut Client,
    credentials: Vec<(&str, Message)>,
    links: &[Link],
    progress: &(dyn Fn(Step) + Sync),
) -> Result<(), Error> {
    for (command, message) in credentials {
        client.command(command, message)?;
    }
    // charon goes on to judge by a list that it has verified before, while a newer one is loaded.
    // The engine of Bartizan has no such memory.
    match client.command("flush-certs", Section::new()) {
        Ok(_) | Err(Error::Unknown(_)) => {}
        Err(error) => return Err(error),
    }
    progress(Step::Credentials);
    for link in links {
        client.command("load-conn", link.load.clone())?;
    }
    progress(Step::Loaded(links.len()));
    Ok(())
}

/// A connection that hears what charon logs while it does what it is asked.
fn listening(socket: &Path) -> Result<Client, Error> {
    let mut client = Client::connect(socket, GRACE)?;
    client.register("control-log")?;
    Ok(client)
}

fn initiate(client: &mut Client, link: &Link, child: &str, timeout: Duration) -> Result<SetUp, Error> {
    let message = Section::new()
        .with("ike", &link.name)
        .with("child", child)
        .with("timeout", timeout.as_millis().to_string());
    let begun = Instant::now();
    let answer = client.command_within("initiate", message, timeout + GRACE);
    let took = begun.elapsed();
    let mut lines = Vec::new();
    while let Some(event) = client.waiting_event() {
        if lines.len() < LINES
            && let Some(line) = event.message.text("msg")
        {
            lines.push(line.to_owned());
        }
    }
    match answer {
        Ok(_) => Ok(SetUp::Up(took)),
        Err(Error::Refused { reason: words, .. }) => {
            Ok(SetUp::Failed(reason(lines.iter().map(String::as_str), &words)))
        }
        Err(error) => Err(error),
    }
}
