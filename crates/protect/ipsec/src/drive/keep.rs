//! Sets links that are down up again, for as long as the keeper runs.
//!
//! charon alone does so when a peer that stood gives no answer, and sends its first message again without end. It does not when it was refused, as
//! by a peer whose charon runs and has loaded nothing yet; and at the end that waits for the peer to begin, nothing is done at all, though it is
//! this end's first message that tells a peer which has not noticed the loss to forget what it has (INITIAL_CONTACT).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{GRACE, Link, list_connections, list_sas};
use crate::vici::{Client, Error, Section};

/// Interval between looks at the links.
const LOOK: Duration = Duration::from_millis(500);

/// Wait of the end that the file names as initiator before each attempt: it doubles, up to what a
/// link may be down for when its peer is back, with time left for the set-up itself.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);

/// The same of the other end: the initiator comes first, and where it has not noticed a loss it learns of it within its own SCTP's patience.
const FIRST_OF_OTHER: Duration = Duration::from_secs(5);
const LONGEST_OF_OTHER: Duration = Duration::from_secs(60);

/// Attempts of links that went down together are spread over a tenth of their wait.
const SPREAD: u32 = 10;

/// State of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept<'a> {
    /// It is down, and is set up again from now on.
    Down(&'a str),
    /// It is down, and its peer alone can set it up: this end does not know where that is.
    Awaited(&'a str),
    /// It stands again.
    Up(&'a str),
    /// So many stand, of so many.
    Count(usize, usize),
}

bartizan_registry::made! {
    /// Links that are to stand.
    #[derive(Debug)]
    pub struct Keeper,
    /// Keeps these links of the charon behind `socket`. Those that wait for a packet are counted
    /// and left to it.
    pub new(socket: &Path, links: &[Link]) {
        socket: PathBuf = socket.to_owned(),
        links: Vec<Link> = links.to_vec(),
        down: HashMap<String, Down> = HashMap::new(),
        established: Option<usize> = None,
    }
}

#[derive(Debug)]
struct Down {
    next: Instant,
    wait: Duration,
    reported: bool,
}

impl Keeper {
    /// Keeps them until `stop` says so. A charon that is away, and a link that was unloaded, are left alone.
    pub fn run(mut self, stop: &dyn Fn() -> bool, notice: &mut dyn FnMut(Kept<'_>)) {
        let mut client = None;
        while !stop() {
            std::thread::sleep(LOOK);
            let looked = match client.take() {
                Some(client) => Ok(client),
                None => Client::connect(&self.socket, GRACE),
            };
            let kept = looked.and_then(|mut client| self.look(&mut client, notice).map(|()| client));
            // The watch says that charon is away.
            client = kept.ok();
        }
    }

    fn look(&mut self, client: &mut Client, notice: &mut dyn FnMut(Kept<'_>)) -> Result<(), Error> {
        let sas = list_sas(client)?;
        let loaded = list_connections(client)?;
        let mut established = 0;
        for link in &self.links {
            let of_it = || sas.iter().filter(|sa| sa.connection == link.name);
            let stands = |child: &String| {
                let mut children = of_it().filter(|sa| sa.stands()).flat_map(|sa| &sa.children);
                children.any(|known| known.name == *child && known.stands())
            };
            let missing: Vec<_> = link.children.iter().filter(|child| !stands(child)).collect();
            established += usize::from(missing.is_empty());
            if missing.is_empty() || !link.at_once || !loaded.contains(&link.name) {
                if self.down.remove(&link.name).is_some_and(|down| down.reported) && missing.is_empty() {
                    notice(Kept::Up(&link.name));
                }
                continue;
            }
            let first = if link.initiates { FIRST } else { FIRST_OF_OTHER };
            let down = self.down.entry(link.name.clone()).or_insert_with(|| Down {
                next: Instant::now() + spread(first, &link.name),
                wait: first,
                reported: false,
            });
            if Instant::now() < down.next {
                continue;
            }
            if !std::mem::replace(&mut down.reported, true) {
                notice(if link.can_begin {
                    Kept::Down(&link.name)
                } else {
                    Kept::Awaited(&link.name)
                });
            }
            if !link.can_begin {
                continue;
            }
            let longest = if link.initiates { LONGEST } else { LONGEST_OF_OTHER };
            down.wait = (down.wait * 2).min(longest);
            down.next = Instant::now() + spread(down.wait, &link.name);
            // A connection in set-up or deletion has its own time limit.
            if of_it().any(|sa| sa.state != "ESTABLISHED") {
                continue;
            }
            for child in missing {
                // charon answers at once; what comes of it the watch hears.
                let message = Section::new()
                    .with("ike", &link.name)
                    .with("child", child)
                    .with("timeout", "-1");
                match client.command("initiate", message) {
                    Ok(_) | Err(Error::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if self.established.replace(established) != Some(established) {
            notice(Kept::Count(established, self.links.len()));
        }
        Ok(())
    }
}

/// A little less or more, the same for the same name: links that went down together do not come back at one moment.
fn spread(wait: Duration, name: &str) -> Duration {
    let sum = name
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    wait + wait / SPREAD * (sum % SPREAD) / SPREAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_down_for_long_is_tried_often_enough_to_stand_within_ten_seconds() {
        let names: Vec<_> = (0..100).map(|number| format!("gnb{number}--ric")).collect();
        let waits: Vec<_> = names.iter().map(|name| spread(LONGEST, name)).collect();
        assert!(
            waits
                .iter()
                .all(|wait| (LONGEST..Duration::from_secs(6)).contains(wait))
        );
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }
}
