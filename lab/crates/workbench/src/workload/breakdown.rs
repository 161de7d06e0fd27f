//! Breakdown of a transaction's time, by the kernel's time of every packet on every leg.
//!
//! ```text
//! consumer -- clear --> consumer's sidecar == TLS ==> NRF's sidecar -- clear --> NRF
//!          a0 ......... b0 .................. c0 ... c1 .................. b1 ... a1
//! ```
//!
//! `a0` and `b0` are when the first byte of the request passed on a leg, or the SYN of its
//! connection where that is new, `c0` when the first byte passed to the NRF, `c1`, `b1`, `a1` when
//! the last byte of the answer passed. A sidecar accepts a connection after its SYN and asks the
//! NRF after the handshake, so a handshake lies between `b0` and `c0`. The components add up to the
//! latency:
//!
//! - `consumer` = latency - (a1 - a0): the asking function itself.
//! - `client-proxy` = (b0 - a0) + (a1 - b1): the consumer's sidecar, in both directions, record protection included.
//! - `crypto` = the full handshake of this transaction, as the ledger of the NRF's sidecar times it
//!   from acceptance until it is judged: both ends' key exchange, signatures and checks, and the
//!   flights between. Nothing where the link is kept.
//! - `server-proxy` = (c0 - b0) + (b1 - c1) - crypto: the NRF's sidecar, in both directions, record
//!   protection included.
//! - `upstream` = c1 - c0: the NRF.
//!
//! Without sidecars `upstream` is the whole leg to the NRF but for `crypto`, which then is the
//! opening of the connection (TCP included) as the consumer times it where it speaks TLS itself.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::stand_in::sbi::packets::{Passed, Tap, leg, leg_with_opening};
use crate::stand_in::sbi::{Deployment, Error as SbiError, Session};
use crate::workload::sbi::{
    self, Asked, CA, CONNECTION, DEPLOYMENT, LATENCY, PLACEMENT, Stages, function, milliseconds,
};
use crate::workload::{
    Better, Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

const fn component(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "ms",
        about,
        better: Better::Lower,
    }
}

pub(super) static KIND: Kind = Kind {
    name: "breakdown",
    about: "The same transactions, each leg timed by its packets: what consumer, sidecars, handshake and NRF take of the latency.",
    factors: &[DEPLOYMENT, CONNECTION, CA, PLACEMENT],
    parameters: &[
        ParameterKind {
            name: "transactions",
            about: "transactions in a trial",
            default: Some(Default::Number(50.0)),
        },
        ParameterKind {
            name: "pause-us",
            about: "microseconds between transactions, so that nothing of one is taken for the next",
            default: Some(Default::Number(1000.0)),
        },
    ],
    metrics: &[
        LATENCY,
        component("consumer", "the asking function itself: latency but for its leg"),
        component(
            "client-proxy",
            "the consumer's sidecar: from the request's first byte in to its first byte out, and from the answer's last byte in to its last byte out",
        ),
        component(
            "server-proxy",
            "the NRF's sidecar, timed likewise, without the handshake of the link",
        ),
        component(
            "proxies",
            "both sidecars and the handshake between: what is not consumer and not NRF",
        ),
        component(
            "crypto",
            "the full handshake of a transaction whose link is new, as the NRF's sidecar times it; none where the link is kept",
        ),
        component(
            "upstream",
            "the NRF: from the request's first byte in to the answer's last byte out",
        ),
    ],
    targets: Targets::Own,
    lacks: sbi::lacks_sidecar,
    start,
};

struct Breakdown {
    stages: Stages,
    folder: PathBuf,
    transactions: usize,
    pause: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let mut stages = Stages::new(setting)?;
    stages.prepare(setting.combinations)?;
    Ok(Box::new(Breakdown {
        stages,
        folder: setting.folder.to_owned(),
        transactions: setting.parameters.count("transactions")?,
        pause: Duration::from_micros(setting.parameters.count("pause-us")? as u64),
    }))
}

/// Nanoseconds of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parts {
    consumer: f64,
    client_proxy: f64,
    server_proxy: f64,
    upstream: f64,
    crypto: f64,
}

impl Workload for Breakdown {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let asked = Asked::of(trial.levels)?;
        let function = function(trial.levels)?;
        let (mut client, stage) = self.stages.take(asked)?;
        let mut producer = sbi::populate(&mut client, &self.stages, function.looks_for, trial.seed)?;
        let mut session = Session::new(function, trial.seed);
        for _ in 0..6 {
            let (_, question) = session.turn();
            client.exchange(&question)?;
        }
        // Only spliced connections are one to one with those of the consumer.
        let spliced = matches!(asked.deployment, Deployment::TlsSplice | Deployment::PqcSplice) && asked.new;
        let known = client.opened();
        let tap = Tap::start(&self.folder)?;
        let mut exchanged = Vec::with_capacity(self.transactions);
        for _ in 0..self.transactions {
            if !sbi::in_time(trial) {
                return Err(sbi::late());
            }
            thread::sleep(self.pause);
            let (_, question) = session.turn();
            let one = client.exchange(&question)?;
            Session::judge(&question, &one.said, &client.target().url)?;
            exchanged.push(one);
        }
        let places = stage.places();
        let [entry, middle, nrf] =
            [places.entry, places.middle, places.nrf].map(|place| place.map(|place| place.port()));
        let ports: Vec<u16> = [entry, middle, nrf].into_iter().flatten().collect();
        let packets = tap.stop(&ports)?;
        let shaken = if spliced {
            let all = sbi::settled(&stage, known + exchanged.len() as u64)?
                .unwrap_or_default()
                .took_us;
            let first = usize::try_from(known).unwrap_or(usize::MAX);
            all.get(first..).unwrap_or_default().to_vec()
        } else {
            Vec::new()
        };
        if spliced && shaken.len() != exchanged.len() {
            let what = format!("{} handshakes for {} transactions", shaken.len(), exchanged.len());
            return Err(SbiError::Configuration(what).into());
        }
        sbi::tidy(&mut client, &mut session)?;
        if let Some(producer) = &mut producer {
            sbi::tidy(&mut client, producer)?;
        }

        let mut observation = Observation::default();
        let mut unread = 0;
        for (number, one) in exchanged.iter().enumerate() {
            let passed = packets.within(one.began, one.took);
            let latency = one.took.as_nanos() as f64;
            let crypto = match (shaken.get(number), one.opening) {
                (Some(us), _) => *us as f64 * 1e3,
                (None, Some(opening)) if entry.is_none() && asked.deployment != Deployment::NativeH2c => {
                    opening.as_nanos() as f64
                }
                _ => 0.0,
            };
            let parts = match (entry, middle, nrf) {
                (Some(entry), Some(middle), Some(nrf)) => through([entry, middle, nrf], passed, latency, crypto),
                (None, None, Some(nrf)) => native(nrf, passed, latency, crypto),
                _ => None,
            };
            let Some(parts) = parts else {
                unread += 1;
                continue;
            };
            let mut note = |name, nanoseconds: f64| {
                let samples: &mut Vec<f64> = observation.values.entry(name).or_default();
                samples.push(nanoseconds / 1e6);
            };
            note("consumer", parts.consumer);
            note("client-proxy", parts.client_proxy);
            note("server-proxy", parts.server_proxy);
            note("crypto", parts.crypto);
            note("upstream", parts.upstream);
            note(
                "proxies",
                parts.client_proxy + parts.server_proxy + if entry.is_some() { parts.crypto } else { 0.0 },
            );
            note(LATENCY.name, milliseconds(one.took) * 1e6);
        }
        if unread * 10 > exchanged.len() {
            let what = format!(
                "{unread} of {} transactions cannot be determined from their packets",
                exchanged.len()
            );
            return Err(SbiError::Configuration(what).into());
        }
        observation.facts.insert("left-out".to_owned(), unread.into());
        self.stages.keep(asked, client, stage);
        Ok(observation)
    }
}

/// Through a pair of sidecars.
fn through(ports: [u16; 3], passed: &[Passed], latency: f64, crypto: f64) -> Option<Parts> {
    let [entry, middle, nrf] = ports;
    // Each leg within the one before it: what a connection still has to say of an earlier
    // transaction (acknowledged settings, windows) may pass meanwhile on the others.
    let (a0, a1) = leg_with_opening(passed, entry)?;
    let (b0, b1) = leg_with_opening(during(passed, a0, a1), middle)?;
    let (c0, c1) = leg(during(passed, b0, b1), nrf)?;
    // Packets out of this order are not of one transaction.
    if ![a0, b0, c0, c1, b1, a1].is_sorted() {
        return None;
    }
    let between = |from: u64, to: u64| to.saturating_sub(from) as f64;
    // Nor is a handshake that took longer than there was time for it.
    let server_proxy = between(b0, c0) + between(c1, b1) - crypto;
    if server_proxy < 0.0 {
        return None;
    }
    Some(Parts {
        consumer: (latency - between(a0, a1)).max(0.0),
        client_proxy: between(a0, b0) + between(b1, a1),
        server_proxy,
        upstream: between(c0, c1),
        crypto,
    })
}

/// Packets between two times; the input is in order of time.
fn during(passed: &[Passed], from: u64, to: u64) -> &[Passed] {
    let first = passed.partition_point(|passed| passed.at < from);
    let last = passed.partition_point(|passed| passed.at <= to);
    &passed[first..last.max(first)]
}

fn native(nrf: u16, passed: &[Passed], latency: f64, crypto: f64) -> Option<Parts> {
    let (first, last) = leg(passed, nrf)?;
    let span = last.saturating_sub(first) as f64;
    Some(Parts {
        consumer: (latency - span.max(crypto)).max(0.0),
        client_proxy: 0.0,
        server_proxy: 0.0,
        upstream: (span - crypto).max(0.0),
        crypto,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(at: u64, from: u16, to: u16) -> Passed {
        Passed {
            at,
            from,
            to,
            payload: 1,
            frame: 0,
            syn: false,
        }
    }

    #[test]
    fn components_add_up_to_the_latency() {
        let all = [
            passed(10, 9, 1),
            passed(30, 8, 2),
            passed(60, 7, 3),
            passed(160, 3, 7),
            passed(200, 2, 8),
            passed(250, 1, 9),
        ];
        let parts = through([1, 2, 3], &all, 300.0, 5.0).unwrap();
        let sum = parts.consumer + parts.client_proxy + parts.server_proxy + parts.crypto + parts.upstream;
        assert_eq!(sum, 300.0);
        assert_eq!(
            (parts.client_proxy, parts.server_proxy, parts.upstream),
            (70.0, 65.0, 100.0)
        );
        // Packets of an earlier transaction on the NRF's link, before and after, do not count.
        let mut late = all.to_vec();
        late.insert(0, passed(5, 7, 3));
        late.insert(6, passed(230, 3, 7));
        assert_eq!(
            through([1, 2, 3], &late, 300.0, 5.0).map(|parts| parts.upstream),
            Some(100.0)
        );
        // A sidecar has accepted a connection, and times its handshake, before the first byte has come over it.
        let mut opened = all.to_vec();
        opened.insert(
            1,
            Passed {
                syn: true,
                payload: 0,
                ..passed(20, 8, 2)
            },
        );
        let parts = through([1, 2, 3], &opened, 300.0, 75.0).unwrap();
        assert_eq!((parts.client_proxy, parts.server_proxy), (60.0, 5.0));
        assert_eq!(through([1, 2, 3], &all, 300.0, 75.0), None);
        // An answer that ends before the request has begun is not one transaction.
        assert_eq!(through([1, 3, 2], &all, 300.0, 0.0), None);
        let parts = native(3, &all, 150.0, 20.0).unwrap();
        assert_eq!((parts.consumer, parts.upstream), (50.0, 80.0));
    }
}
