//! From the capture of one set-up to its times and sizes.

use std::path::Path;
use std::time::Duration;

use bartizan_wire::ike::{Exchange, ExchangeType, Half, IkeSa};

use crate::stand_in::charons::{Rekey, ike_sa, negotiated, span};
use crate::workload::Error;

/// Progress of an IKE_SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// It is up, and nothing else was asked for.
    Up,
    /// It is up; what was asked for then did not come, or not all of it.
    UpAndMore,
    /// It was given a second CHILD_SA, and its first was rekeyed.
    Rekeyed,
}

/// The IKE_SA of a capture: as far as it has come whole, and negotiated as asked.
pub(super) struct Measured {
    sa: IkeSa,
    rekeys: Option<Rekeys>,
}

/// Exchanges after the set-up.
struct Rekeys {
    child: Rekey,
    rekey: Rekey,
}

/// Traffic of a set of packets, in both directions.
#[derive(Default)]
struct Carried {
    bytes: u64,
    packets: u32,
    ip_fragments: u32,
    ike_fragments: u32,
}

impl Measured {
    /// Reads a capture with one IKE_SA in it that must have been made with these key exchanges and come this far.
    pub(super) fn read(file: &Path, methods: &[u16], reached: Reached) -> Result<Self, Error> {
        let sa = ike_sa(file)?;
        negotiated(&sa, methods)?;
        let additional = methods.len() - 1;
        let intermediate = sa.exchanges_of(ExchangeType::IKE_INTERMEDIATE).count();
        if intermediate != additional {
            return Err(Error::Handshake(format!(
                "{intermediate} IKE_INTERMEDIATE for {additional} additional key exchanges"
            )));
        }
        let rekeys = match reached {
            Reached::Rekeyed => Some(Rekeys::of(&sa, additional)?),
            Reached::Up | Reached::UpAndMore => None,
        };
        Ok(Self { sa, rekeys })
    }

    /// Each metric that comes from packets.
    pub(super) fn values(&self) -> Vec<(&'static str, f64)> {
        let mut values = Vec::new();
        let sum = |kind| {
            let mut exchanges = self.sa.exchanges_of(kind).peekable();
            exchanges.peek()?;
            exchanges.map(|exchange| exchange.duration()).sum::<Option<u64>>()
        };
        let took = |rekey: &Rekey| span(rekey).map(|(first, last)| last.saturating_sub(first));
        let times = [
            ("ike-sa-init", sum(ExchangeType::IKE_SA_INIT)),
            ("intermediate", sum(ExchangeType::IKE_INTERMEDIATE)),
            ("ike-auth", sum(ExchangeType::IKE_AUTH)),
            ("total", self.sa.set_up()),
            ("child-sa", self.rekeys.as_ref().and_then(|rekeys| took(&rekeys.child))),
            ("rekey", self.rekeys.as_ref().and_then(|rekeys| took(&rekeys.rekey))),
        ];
        // An exchange that the capture does not have whole is not measured.
        values.extend(
            times
                .into_iter()
                .filter_map(|(name, time)| Some((name, time? as f64 / 1e6))),
        );
        let up = Carried::by(set_up(&self.sa));
        let repeated = self.sa.from_initiator.repeated + self.sa.from_responder.repeated;
        values.extend([
            ("exchanges", set_up(&self.sa).count() as f64),
            ("bytes", up.bytes as f64),
            ("packets", f64::from(up.packets)),
            ("ip-fragments", f64::from(up.ip_fragments)),
            ("ike-fragments", f64::from(up.ike_fragments)),
            ("retransmissions", repeated as f64),
        ]);
        if let Some(Rekeys { rekey, .. }) = &self.rekeys {
            let rekey = Carried::by(std::iter::once(rekey.0).chain(rekey.1.iter().copied()));
            values.extend([
                ("rekey-bytes", rekey.bytes as f64),
                ("rekey-packets", f64::from(rekey.packets)),
                ("rekey-ip-fragments", f64::from(rekey.ip_fragments)),
            ]);
        }
        values
    }

    /// Duration of the set-up in round trips of the path. Sums the wait of each request for its
    /// response, less the responder's own time by a capture at its end, and divides by the round
    /// trip. None if an exchange is not whole at either end.
    pub(super) fn round_trips(&self, at_responder: &IkeSa, path: Duration) -> Option<f64> {
        let mut away = 0.0;
        for here in set_up(&self.sa) {
            let same = |there: &Exchange| (there.kind, there.message_id) == (here.kind, here.message_id);
            let there = set_up(at_responder).find(same)?;
            let (arrived, went) = (there.request.as_ref()?, there.response.as_ref()?);
            let held = went.first.time.since(arrived.last.time);
            away += here.duration()?.saturating_sub(held) as f64 / 1e9;
        }
        Some(away / path.as_secs_f64())
    }
}

impl Rekeys {
    /// The rekeys of an IKE_SA that shows both, each with this number of additional key exchanges.
    fn of(sa: &IkeSa, additional: usize) -> Result<Self, Error> {
        let rekeyed = sa.rekeyed();
        let [child, rekey] = rekeyed.as_slice() else {
            return Err(Error::Handshake(format!(
                "{} CREATE_CHILD_SA were agreed on instead of two",
                sa.rekeys
            )));
        };
        for (what, one) in [("the second CHILD_SA", child), ("the rekey", rekey)] {
            if one.1.len() != additional {
                return Err(Error::Handshake(format!(
                    "{what} has {} IKE_FOLLOWUP_KE for {additional} additional key exchanges",
                    one.1.len()
                )));
            }
        }
        let (child, rekey) = (child.clone(), rekey.clone());
        Ok(Self { child, rekey })
    }
}

/// The exchanges until it is up.
fn set_up(sa: &IkeSa) -> impl Iterator<Item = Exchange> {
    let begin = [
        ExchangeType::IKE_SA_INIT,
        ExchangeType::IKE_INTERMEDIATE,
        ExchangeType::IKE_AUTH,
    ];
    sa.exchanges.iter().filter(move |one| begin.contains(&one.kind))
}

impl Carried {
    fn by(exchanges: impl Iterator<Item = Exchange>) -> Self {
        let halves = exchanges.flat_map(|one| [one.request, one.response]).flatten();
        halves.fold(Self::default(), |sum, half: Half| Self {
            bytes: sum.bytes + half.ip_bytes,
            packets: sum.packets + half.packets,
            ip_fragments: sum.ip_fragments + half.ip_fragments,
            ike_fragments: sum.ike_fragments + u32::from(half.fragments),
        })
    }
}
