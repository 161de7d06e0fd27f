//! A node's links, brought up, looked at, rekeyed and taken down in a charon that runs.

mod keep;
mod leftover;
mod lock;
pub(crate) mod reason;
mod set_up;
mod status;

use std::time::{Duration, Instant};

pub use keep::{Keeper, Kept};
pub use leftover::remove_leftover;
pub use lock::Lock;
pub use reason::{Cause, Reason, reason};
pub use set_up::{Attempt, Link, SetUp, Step, bring_up, load};
pub use status::{ChildStatus, LinkStatus, status};

use crate::sa::IkeSa;
use crate::vici::{Client, Error, Section};

/// Extra time that charon gets beyond the peer's time limit.
const GRACE: Duration = Duration::from_secs(10);

/// Interval between looks at the SAs while a rekey is pending: it takes round trips, and charon's
/// answer comes before them.
const POLL: Duration = Duration::from_millis(10);

/// The IKE_SAs of a charon.
///
/// # Errors
///
/// Fails if charon does not answer.
pub fn list_sas(client: &mut Client) -> Result<Vec<IkeSa>, Error> {
    let rows = client.streamed("list-sas", "list-sa", Section::new())?;
    Ok(rows.iter().flat_map(IkeSa::of_row).collect())
}

/// The names of the connections that charon has loaded.
///
/// # Errors
///
/// Fails if charon does not answer.
pub fn list_connections(client: &mut Client) -> Result<Vec<String>, Error> {
    let rows = client.streamed("list-conns", "list-conn", Section::new())?;
    let names = rows
        .iter()
        .flat_map(|row| row.sections().map(|(name, _)| name.to_owned()));
    Ok(names.collect())
}

/// Takes these connections down: unloaded first, so that nothing sets them up again, then their SAs deleted together with the peer,
/// or without it when it does not answer in `patience`. What is not there any more is done already. The number of IKE_SAs that stood
/// and are gone: charon refuses a deletion that the peer did not answer and does it all the same, so it is the list of SAs that says.
///
/// # Errors
///
/// Fails if charon does not answer, refuses, or still has one of the SAs.
pub fn take_down(client: &mut Client, connections: &[String], patience: Duration) -> Result<usize, Error> {
    let loaded = list_connections(client)?;
    for name in connections.iter().filter(|name| loaded.contains(name)) {
        client.command("unload-conn", Section::new().with("name", name))?;
    }
    let mut of_them = list_sas(client)?;
    of_them.retain(|sa| connections.contains(&sa.connection));
    let mut refused = None;
    for sa in &of_them {
        let message = Section::new()
            .with("ike-id", sa.id.to_string())
            .with("force", "yes")
            .with("timeout", patience.as_millis().to_string());
        match client.command_within("terminate", message, patience + GRACE) {
            Ok(_) => {}
            // It went by itself in the meantime, or goes now.
            Err(error @ Error::Refused { .. }) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    let deadline = Instant::now() + GRACE;
    while still_listed(client, &of_them)? {
        if Instant::now() >= deadline {
            return Err(refused.unwrap_or(Error::Stalled {
                command: "terminate".to_owned(),
                within: patience + GRACE,
            }));
        }
        std::thread::sleep(POLL);
    }
    Ok(of_them.len())
}

/// The IKE_SAs of these connections that stand.
///
/// # Errors
///
/// Fails if charon does not answer.
pub fn established(client: &mut Client, connections: &[String]) -> Result<Vec<IkeSa>, Error> {
    let mut sas = list_sas(client)?;
    sas.retain(|sa| sa.stands() && connections.contains(&sa.connection));
    Ok(sas)
}

/// Has charon authenticate the peers of these IKE_SAs anew: it judges them by new revocation lists
/// then. What it refuses goes on to stand: [`crate::watch::Overdue`] takes that down.
///
/// # Errors
///
/// Fails if charon does not answer.
pub fn reauthenticate(client: &mut Client, sas: &[IkeSa]) -> Result<(), Error> {
    for sa in sas {
        let message = Section::new().with("ike-id", sa.id.to_string()).with("reauth", "yes");
        match client.command("rekey", message) {
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn still_listed(client: &mut Client, sas: &[IkeSa]) -> Result<bool, Error> {
    let now = list_sas(client)?;
    Ok(sas.iter().any(|sa| now.iter().any(|now| now.id == sa.id)))
}

/// SAs to be rekeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rekey {
    /// The CHILD_SAs.
    Children,
    /// The IKE_SAs.
    Ike,
}

/// An SA that is to be replaced.
struct Awaited {
    connection: String,
    /// The name of a CHILD_SA; none of an IKE_SA.
    child: Option<String>,
    id: u32,
}

impl Awaited {
    fn named(self) -> String {
        match self.child {
            Some(child) if child != self.connection => format!("{} of {}", child, self.connection),
            _ => self.connection,
        }
    }
}

/// Rekeys what stands of these connections and waits until each has a new SA in its place, whichever end made it. The names of those that had none
/// in time.
///
/// # Errors
///
/// Fails if charon does not answer.
pub fn rekey(
    client: &mut Client,
    connections: &[String],
    what: Rekey,
    patience: Duration,
) -> Result<Vec<String>, Error> {
    let deadline = Instant::now() + patience;
    let ours = |sas: Vec<IkeSa>| -> Vec<IkeSa> {
        let established = sas
            .into_iter()
            .filter(|sa| sa.stands() && connections.contains(&sa.connection));
        established.collect()
    };
    let mut waiting: Vec<Awaited> = Vec::new();
    for sa in ours(list_sas(client)?) {
        let awaited = |child, id| Awaited {
            connection: sa.connection.clone(),
            child,
            id,
        };
        let old: Vec<Awaited> = match what {
            Rekey::Ike => vec![awaited(None, sa.id)],
            Rekey::Children => {
                let children = sa.children.iter().filter(|child| child.stands());
                children
                    .map(|child| awaited(Some(child.name.clone()), child.id))
                    .collect()
            }
        };
        for old in old {
            let name = if old.child.is_some() { "child-id" } else { "ike-id" };
            match client.command("rekey", Section::new().with(name, old.id.to_string())) {
                // The peer has rekeyed it in the meantime, or deleted it: what stands then says which.
                Ok(_) | Err(Error::Refused { .. }) => waiting.push(old),
                Err(error) => return Err(error),
            }
        }
    }
    loop {
        let sas = ours(list_sas(client)?);
        let still = |old: &Awaited| {
            let mut of_it = sas.iter().filter(|sa| sa.connection == old.connection);
            let newer = of_it.any(|sa| match &old.child {
                None => sa.id > old.id,
                // Only CHILD_SAs of the same name count: a finished rekey says nothing of its
                // neighbours.
                Some(name) => {
                    let mut children = sa.children.iter().filter(|child| child.name == *name);
                    children.any(|child| child.stands() && child.id > old.id)
                }
            });
            !newer
        };
        waiting.retain(still);
        if waiting.is_empty() || Instant::now() >= deadline {
            return Ok(waiting.into_iter().map(Awaited::named).collect());
        }
        std::thread::sleep(POLL);
    }
}
