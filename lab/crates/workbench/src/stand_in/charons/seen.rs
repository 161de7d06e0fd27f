//! The SAs of a capture, by the reader that `bartizan inspect` uses.

use std::fs;
use std::path::Path;

use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{Exchange, IkeSa};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

use crate::Error;

/// A CREATE_CHILD_SA, and the IKE_FOLLOWUP_KE that followed it.
pub(crate) type Rekey = (Exchange, Vec<Exchange>);

#[derive(Default)]
struct Sas {
    ike: Vec<IkeSa>,
    esp: Vec<EspSa>,
}

impl Sink for Sas {
    fn connection(&mut self, _: Connection) {}

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ike.push(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.esp.push(sa);
    }
}

/// Every SA of a capture of ours, of both kinds.
pub(crate) fn seen(file: &Path) -> Result<(Vec<IkeSa>, Vec<EspSa>), Error> {
    let bytes = fs::read(file).map_err(Error::file(file))?;
    let unreadable = |error: &dyn std::fmt::Display| Error::Configuration(format!("{}: {error}", file.display()));
    let (mut capture, mut observer) = (CaptureReader::new(), Observer::new(Limits::default()));
    let mut sas = Sas::default();
    capture.push(&bytes);
    while let Some(packet) = capture.next_packet().map_err(|error| unreadable(&error))? {
        observer.observe(&packet, &mut sas);
    }
    observer.finish_into(&mut sas);
    Ok((sas.ike, sas.esp))
}

/// The one IKE_SA of a capture.
pub(crate) fn ike_sa(file: &Path) -> Result<IkeSa, Error> {
    let (sas, _) = seen(file)?;
    let count = sas.len();
    let Ok([sa]) = <[IkeSa; 1]>::try_from(sas) else {
        return Err(Error::Handshake(format!("{count} IKE_SAs in the capture of one")));
    };
    Ok(sa)
}

/// Fails unless the SA was negotiated with these key exchanges, given by code point.
pub(crate) fn negotiated(sa: &IkeSa, methods: &[u16]) -> Result<(), Error> {
    let negotiated: Vec<u16> = sa.key_exchanges().map(|method| method.0).collect();
    if negotiated == methods {
        return Ok(());
    }
    Err(Error::Handshake(format!(
        "the capture shows key exchanges {negotiated:?} instead of {methods:?}"
    )))
}

/// From the CREATE_CHILD_SA request to the last response that belongs to it, in nanoseconds since
/// 1970; none where the capture has it not whole.
pub(crate) fn span((create, follow_ups): &Rekey) -> Option<(u64, u64)> {
    let last = follow_ups.last().unwrap_or(create);
    create.duration()?;
    last.duration()?;
    let (first, last) = (create.request.as_ref()?, last.response.as_ref()?);
    Some((first.first.time.0, last.last.time.0))
}
