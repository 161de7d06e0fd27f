//! From the capture of one set-up to its times and sizes.

use std::fs;
use std::path::Path;

use bartizan_wire::ike::{Exchange, ExchangeType, Half, IkeSa, Rekey};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

use crate::workload::Error;

/// The IKE_SA of a capture: whole, and negotiated as asked.
pub(super) struct Measured {
    sa: IkeSa,
    child: Rekey,
    rekey: Rekey,
}

/// What packets carried, in both directions.
#[derive(Default)]
struct Carried {
    bytes: u64,
    packets: u32,
    ip_fragments: u32,
    ike_fragments: u32,
}

#[derive(Default)]
struct Sas(Vec<IkeSa>);

impl Sink for Sas {
    fn connection(&mut self, _: Connection) {}

    fn ike_sa(&mut self, sa: IkeSa) {
        self.0.push(sa);
    }
}

impl Measured {
    /// Reads a capture with one IKE_SA in it that must have been made with these key exchanges.
    pub(super) fn read(file: &Path, methods: &[u16]) -> Result<Self, Error> {
        let bytes = fs::read(file).map_err(Error::file(file))?;
        let unreadable = |error: &dyn std::fmt::Display| Error::Configuration(format!("{}: {error}", file.display()));
        let (mut capture, mut observer) = (CaptureReader::new(), Observer::new(Limits::default()));
        let mut sas = Sas::default();
        capture.push(&bytes);
        while let Some(packet) = capture.next_packet().map_err(|error| unreadable(&error))? {
            observer.observe(&packet, &mut sas);
        }
        observer.finish_into(&mut sas);
        let count = sas.0.len();
        let Ok([sa]) = <[IkeSa; 1]>::try_from(sas.0) else {
            return Err(Error::Handshake(format!("{count} IKE_SAs in the capture of one")));
        };
        Self::of(sa, methods)
    }

    fn of(sa: IkeSa, methods: &[u16]) -> Result<Self, Error> {
        let negotiated: Vec<u16> = sa.key_exchanges().map(|method| method.0).collect();
        if negotiated != methods {
            return Err(Error::Handshake(format!(
                "the capture shows key exchanges {negotiated:?} instead of {methods:?}"
            )));
        }
        let additional = methods.len() - 1;
        let intermediate = sa.exchanges_of(ExchangeType::IKE_INTERMEDIATE).count();
        if intermediate != additional {
            return Err(Error::Handshake(format!(
                "{intermediate} IKE_INTERMEDIATE for {additional} additional key exchanges"
            )));
        }
        let [child, rekey] = sa.rekeys.first.as_slice() else {
            return Err(Error::Handshake(format!(
                "{} CREATE_CHILD_SA were agreed on instead of two",
                sa.rekeys.count()
            )));
        };
        for (what, one) in [("the second CHILD_SA", child), ("the rekey", rekey)] {
            if one.follow_ups.len() != additional {
                return Err(Error::Handshake(format!(
                    "{what} has {} IKE_FOLLOWUP_KE for {additional} additional key exchanges",
                    one.follow_ups.len()
                )));
            }
        }
        let (child, rekey) = (child.clone(), rekey.clone());
        Ok(Self { sa, child, rekey })
    }

    /// Each metric that comes from packets.
    pub(super) fn values(&self) -> Vec<(&'static str, f64)> {
        let mut values = Vec::new();
        let sum = |kind| {
            let mut exchanges = self.sa.exchanges_of(kind).peekable();
            exchanges.peek()?;
            exchanges.map(Exchange::duration).sum::<Option<u64>>()
        };
        let times = [
            ("ike-sa-init", sum(ExchangeType::IKE_SA_INIT)),
            ("intermediate", sum(ExchangeType::IKE_INTERMEDIATE)),
            ("ike-auth", sum(ExchangeType::IKE_AUTH)),
            ("total", self.sa.set_up()),
            ("child-sa", span(&self.child)),
            ("rekey", span(&self.rekey)),
        ];
        // What a capture has not whole is not measured.
        values.extend(
            times
                .into_iter()
                .filter_map(|(name, time)| Some((name, time? as f64 / 1e6))),
        );
        let begin = [
            ExchangeType::IKE_SA_INIT,
            ExchangeType::IKE_INTERMEDIATE,
            ExchangeType::IKE_AUTH,
        ];
        let set_up = || self.sa.exchanges.first.iter().filter(|one| begin.contains(&one.kind));
        let up = Carried::by(set_up());
        let rekey = Carried::by(std::iter::once(&self.rekey.create).chain(&self.rekey.follow_ups));
        let repeated = self.sa.from_initiator.repeated + self.sa.from_responder.repeated;
        values.extend([
            ("exchanges", set_up().count() as f64),
            ("bytes", up.bytes as f64),
            ("packets", f64::from(up.packets)),
            ("ip-fragments", f64::from(up.ip_fragments)),
            ("ike-fragments", f64::from(up.ike_fragments)),
            ("rekey-bytes", rekey.bytes as f64),
            ("rekey-packets", f64::from(rekey.packets)),
            ("rekey-ip-fragments", f64::from(rekey.ip_fragments)),
            ("retransmissions", repeated as f64),
        ]);
        values
    }
}

/// From the CREATE_CHILD_SA request to the last response that belongs to it, in nanoseconds.
fn span(rekey: &Rekey) -> Option<u64> {
    let last = rekey.follow_ups.last().unwrap_or(&rekey.create);
    rekey.create.duration()?;
    last.duration()?;
    let (first, last) = (rekey.create.request.as_ref()?, last.response.as_ref()?);
    Some(last.last.time.since(first.first.time))
}

impl Carried {
    fn by<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> Self {
        let halves = exchanges.flat_map(|one| [one.request, one.response]).flatten();
        halves.fold(Self::default(), |sum, half: Half| Self {
            bytes: sum.bytes + half.ip_bytes,
            packets: sum.packets + half.packets,
            ip_fragments: sum.ip_fragments + half.ip_fragments,
            ike_fragments: sum.ike_fragments + u32::from(half.fragments),
        })
    }
}
