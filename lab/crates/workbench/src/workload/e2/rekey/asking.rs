//! Rekeys asked for while an exchange is played, and what both charons say became of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_ipsec::drive::list_sas;
use bartizan_ipsec::sa::{ChildSa, IkeSa, rekeyed_child_sas, rekeyed_ike_sas};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ledger::{Algorithm, Key};

use crate::Error;
use crate::stand_in::charons::refused;
use crate::stand_in::e2::Ike;
use crate::stand_in::e2::ike::At;

/// Initiator of the rekeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The two ends in turn.
    InTurn,
    /// Both at once for the same SA.
    Both,
}

/// Schedule of the rekeys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) who: Who,
    /// Between two times.
    pub(super) period: Duration,
    /// Every so many times it is the IKE_SA; zero for never.
    pub(super) ike_every: usize,
}

/// Wait for an event before the next check of the stop flag.
const TURN: Duration = Duration::from_millis(100);
/// Time for rekeys that are still under way when the exchange has ended.
const REST: Duration = Duration::from_secs(2);

/// Requests and their results.
#[derive(Debug, Default)]
pub(super) struct Rekeyed {
    /// Requests to an end, and refusals.
    pub(super) asked: usize,
    pub(super) refused: usize,
    /// The new CHILD_SAs by their SPIs, the smaller first, with their key exchanges.
    pub(super) children: BTreeMap<(u32, u32), Vec<Option<u16>>>,
    /// The new IKE_SAs by their SPIs, the same.
    pub(super) ike: BTreeMap<(u64, u64), Vec<Option<u16>>>,
}

/// Asks by the plan and listens at both ends until `stop`, and a moment longer.
pub(super) fn ask(ike: &Ike, plan: Plan, stop: &AtomicBool) -> Result<Rekeyed, Error> {
    let ended = AtomicBool::new(false);
    let found = Mutex::new(Rekeyed::default());
    let asked = thread::scope(|scope| {
        let listeners = At::BOTH.map(|at| {
            let mut client = ike.client(at)?;
            for event in ["child-rekey", "ike-rekey"] {
                client.register(event).map_err(refused)?;
            }
            let (ended, found) = (&ended, &found);
            Ok::<_, Error>(scope.spawn(move || listen(&mut client, ended, found)))
        });
        let asked = keep_asking(ike, plan, stop);
        let until = Instant::now() + REST;
        while asked.is_ok() && Instant::now() < until {
            thread::sleep(TURN);
        }
        ended.store(true, Ordering::Relaxed);
        for listener in listeners {
            listener?
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        asked
    });
    let (asked, refused) = asked?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Rekeyed {
        asked,
        refused,
        ..found
    })
}

/// Requests rekeys until stopped. Returns the number of requests and of refusals.
fn keep_asking(ike: &Ike, plan: Plan, stop: &AtomicBool) -> Result<(usize, usize), Error> {
    let mut clients = [ike.client(At::Node)?, ike.client(At::Ric)?];
    let (mut asked, mut denied) = (0, 0);
    // Each kind of SA has turns of its own.
    let mut turns = [0_usize; 2];
    let mut due = Instant::now() + plan.period;
    for number in 1.. {
        while Instant::now() < due {
            if stop.load(Ordering::Relaxed) {
                return Ok((asked, denied));
            }
            thread::sleep(due.saturating_duration_since(Instant::now()).min(TURN));
        }
        due += plan.period;
        let is_ike = plan.ike_every != 0 && number % plan.ike_every == 0;
        let what = if is_ike { "ike-id" } else { "child-id" };
        let turn = &mut turns[usize::from(is_ike)];
        *turn += 1;
        let ends = match plan.who {
            Who::InTurn => &mut clients[*turn % 2..=*turn % 2],
            Who::Both => &mut clients[..],
        };
        // The SA to rekey is looked up before, so that both ends get the request at the same time.
        let targets: Vec<Option<u32>> = ends
            .iter_mut()
            .map(|client| target(client, what))
            .collect::<Result<_, _>>()?;
        let together = Barrier::new(ends.len());
        let answers: Vec<_> = thread::scope(|scope| {
            let asking = ends.iter_mut().zip(targets).map(|(client, target)| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    let Some(target) = target else { return Ok(None) };
                    let message = Section::new().with(what, target.to_string());
                    let answer = client.request("rekey", message).map_err(refused)?;
                    Ok::<_, Error>(Some(answer.is_yes("success")))
                })
            });
            let asking: Vec<_> = asking.collect();
            let joined = asking.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|one| one.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for answer in answers {
            match answer? {
                Some(true) => asked += 1,
                // There is none at this moment, or it has just gone.
                Some(false) | None => {
                    asked += 1;
                    denied += 1;
                }
            }
        }
    }
    Ok((asked, denied))
}

/// charon's number of the newest SA that stands.
fn target(client: &mut Client, what: &str) -> Result<Option<u32>, Error> {
    let established = list_sas(client).map_err(refused)?.into_iter().filter(IkeSa::stands);
    Ok(match what {
        "ike-id" => established.map(|sa| sa.id).max(),
        _ => {
            let children = established.flat_map(|sa| sa.children).filter(ChildSa::stands);
            children.map(|child| child.id).max()
        }
    })
}

/// Collects the events of one charon until `ended`.
fn listen(client: &mut Client, ended: &AtomicBool, found: &Mutex<Rekeyed>) -> Result<(), Error> {
    loop {
        let ending = ended.load(Ordering::Relaxed);
        match client.event(TURN).map_err(refused)? {
            Some(event) => {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                for (_, new) in rekeyed_ike_sas(&event.message).filter(|_| event.name == "ike-rekey") {
                    if let Some(Key::Ike {
                        initiator_spi,
                        responder_spi,
                    }) = new.key
                    {
                        let spis = (initiator_spi.0, responder_spi.0);
                        found.ike.insert(spis, codes(&new.key_exchanges));
                    }
                }
                for (_, _, new) in rekeyed_child_sas(&event.message).filter(|_| event.name == "child-rekey") {
                    let (one, other) = (new.spi_in.0, new.spi_out.0);
                    let spis = (one.min(other), one.max(other));
                    found.children.insert(spis, codes(&new.key_exchanges));
                }
            }
            None if ending => return Ok(()),
            None => {}
        }
    }
}

fn codes(key_exchanges: &[Algorithm]) -> Vec<Option<u16>> {
    key_exchanges.iter().map(|one| one.code).collect()
}

impl Rekeyed {
    /// Fails unless every new SA was made with these key exchanges.
    pub(super) fn all_by(&self, methods: &[u16]) -> Result<(), Error> {
        let wanted: Vec<Option<u16>> = methods.iter().copied().map(Some).collect();
        let mut all = self.ike.values().chain(self.children.values());
        match all.find(|made| **made != wanted) {
            Some(made) => Err(Error::Handshake(format!(
                "a rekey was made with key exchanges {made:?} instead of {methods:?}"
            ))),
            None => Ok(()),
        }
    }
}
