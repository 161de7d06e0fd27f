//! `bartizan status --probe` of IPsec links: an echo through each CHILD_SA, and the SA's counters
//! before and after.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bartizan_host::EchoSocket;
use bartizan_ipsec::drive::{self, LinkStatus};
use bartizan_ipsec::drops::State;
use bartizan_ipsec::sa::ChildSa;
use bartizan_ipsec::vici::Client;
use bartizan_ipsec::watch::Expectations;
use bartizan_ipsec::{Echo, InKernel};
use serde::Serialize;

use super::failed;
use crate::Failure;

/// Questions of each echo at most, and the wait for the answer to each.
const TIMES: usize = 3;
const WAIT: Duration = Duration::from_secs(1);
/// Echoes under way at once: each has a socket.
const AT_ONCE: usize = 64;
/// Octets of an answer that are looked at.
const ANSWER: usize = 2048;

/// Result of the echo through a CHILD_SA.
#[derive(Serialize)]
pub(super) struct Probed {
    /// `passed`: it was answered, and question and answer travelled in ESP by the counters of the
    /// SA. `failed`: it was not. `none`: no echo was sent.
    pub(super) result: &'static str,
    /// The question, or why there was none.
    pub(super) detail: String,
}

/// Results by connection and CHILD_SA.
pub(super) type Results = BTreeMap<(String, String), Probed>;

/// An echo under way.
struct Pending {
    at: (String, String),
    echo: Echo,
    socket: EchoSocket,
    is_answered: bool,
    error: Option<String>,
}

impl Probed {
    pub(super) fn none(why: impl Into<String>) -> Self {
        let (result, detail) = ("none", why.into());
        Self { result, detail }
    }

    fn failed(detail: String) -> Self {
        let result = "failed";
        Self { result, detail }
    }
}

/// Probes every CHILD_SA that stands. `links` is the state before.
///
/// The kernel's SA in `states` is the only way of a question, if the kernel does ESP, and `device`
/// is, if the engine does it behind that. Elsewhere the
/// guard, which the caller has seen installed, keeps it from leaving unencrypted.
pub(super) fn probe(
    client: &mut Client,
    expectations: &Expectations,
    links: &[LinkStatus],
    states: Option<&[State]>,
    device: Option<&str>,
) -> Result<Results, Failure> {
    let mut results = Results::new();
    let mut pending = Vec::new();
    for (link, child) in links
        .iter()
        .flat_map(|link| link.children.iter().map(move |child| (link, child)))
    {
        let at = (link.connection.clone(), child.name.clone());
        let Some((sa, _)) = child.sas.first() else { continue };
        let between = link.ike.first().map_or([None; 2], |(ike, _)| {
            [ike.local, ike.remote].map(|end| end.map(|end| end.ip()))
        });
        let esp = states.map(|states| InKernel::of(sa, between, states));
        match (Echo::within(sa, between, chance()?), esp) {
            (Ok(_), Some(None)) => drop(results.insert(at, Probed::none("the kernel no longer has its SA"))),
            (Ok(echo), esp) => pending.push((at, echo, esp.flatten())),
            (Err(why), _) => drop(results.insert(at, Probed::none(why))),
        }
    }
    let mut ended = Vec::new();
    while !pending.is_empty() {
        let now: Vec<_> = pending.drain(..pending.len().min(AT_ONCE)).collect();
        let mut open = Vec::new();
        for (at, echo, esp) in now {
            match echo.socket(esp.as_ref(), device) {
                Ok(socket) => open.push(Pending {
                    at,
                    echo,
                    socket,
                    is_answered: false,
                    error: None,
                }),
                Err(error) => drop(results.insert(at, Probed::none(format!("{echo}: {error}")))),
            }
        }
        ask(&mut open);
        ended.extend(open);
    }
    let after = drive::status(client, expectations).map_err(|error| failed(&error))?;
    for pending in ended {
        let [before, after] = [links, &after].map(|links| sas(links, &pending.at));
        let same = |one: &ChildSa, other: &ChildSa| one.spi_out == other.spi_out && one.spi_in == other.spi_in;
        let is_rekeyed = before.iter().any(|sa| !after.iter().any(|other| same(sa, other)));
        let mut probed = judged(&pending, carried(&before, &after, same));
        if is_rekeyed && pending.is_answered && probed.result == "failed" {
            probed = Probed::none(format!("{}: answered, and rekeyed meanwhile: ask again", pending.echo));
        }
        results.insert(pending.at.clone(), probed);
    }
    Ok(results)
}

/// Asks until each is answered, or was asked often enough.
fn ask(open: &mut [Pending]) {
    let mut buffer = [0; ANSWER];
    for _ in 0..TIMES {
        let mut waiting: Vec<_> = open.iter_mut().filter(|pending| !pending.is_answered).collect();
        for pending in &mut waiting {
            let sent = pending.socket.send(&pending.echo.question());
            pending.error = sent.err().map(|error| error.to_string());
        }
        let until = Instant::now() + WAIT;
        for pending in &mut waiting {
            // A raw socket has all packets of its protocol from the peer, without end where the
            // link is busy.
            while !pending.is_answered && pending.error.is_none() {
                let left = until.saturating_duration_since(Instant::now());
                match pending.socket.receive(&mut buffer, left) {
                    Ok(Some(message)) => pending.is_answered = pending.echo.is_answered_by(message),
                    Ok(None) => break,
                    Err(error) => pending.error = Some(error.to_string()),
                }
                if left.is_zero() {
                    break;
                }
            }
        }
    }
}

/// SAs of a CHILD_SA.
fn sas<'a>(links: &'a [LinkStatus], at: &(String, String)) -> Vec<&'a ChildSa> {
    let of_link = links
        .iter()
        .filter(|link| link.connection == at.0)
        .flat_map(|link| &link.children);
    let of_child = of_link.filter(|child| child.name == at.1).flat_map(|child| &child.sas);
    of_child.map(|(sa, _)| sa).collect()
}

/// Returns true for each direction, out and in, in which an SA of this CHILD_SA has carried
/// something since.
fn carried(before: &[&ChildSa], after: &[&ChildSa], same: impl Fn(&ChildSa, &ChildSa) -> bool) -> [bool; 2] {
    let grown = |count: fn(&ChildSa) -> u64| {
        after.iter().any(|sa| {
            let known = before.iter().find(|known| same(known, sa));
            count(sa) > known.map_or(0, |known| count(known))
        })
    };
    [grown(|sa| sa.bytes.sent), grown(|sa| sa.bytes.received)]
}

fn judged(pending: &Pending, counted: [bool; 2]) -> Probed {
    let echo = &pending.echo;
    match (pending.is_answered, counted, &pending.error) {
        (true, [true, true], _) => Probed {
            result: "passed",
            detail: echo.to_string(),
        },
        (true, ..) => Probed::failed(format!(
            "{echo}: answered, and the SA did not carry both: it travelled outside of ESP, or in that of another SA"
        )),
        (false, _, Some(error)) => Probed::failed(format!("{echo}: {error}")),
        (false, [true, _], None) => Probed::failed(format!("{echo}: sent in ESP, no answer within {TIMES} s")),
        (false, [false, _], None) => Probed::failed(format!("{echo}: it did not enter the SA")),
    }
}

fn chance() -> Result<u64, Failure> {
    let mut octets = [0; 8];
    aws_lc_rs::rand::fill(&mut octets).map_err(|_| Failure::new("no random numbers"))?;
    Ok(u64::from_ne_bytes(octets))
}
