//! When the keys of a link are renewed.

use std::time::Duration;

use crate::error::Fault;
use crate::raw::RawIpsecLink;

/// When keys are renewed. None stands for never, or for no bound of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// Until an IKE_SA is rekeyed.
    pub ike: Option<Duration>,
    /// Until the peers prove themselves anew: only then a certificate that has ended or was revoked costs its holder the link.
    pub reauthentication: Option<Duration>,
    /// Until a CHILD_SA is rekeyed.
    pub child: Option<Duration>,
    /// Octets after which a CHILD_SA is rekeyed.
    pub child_bytes: Option<u64>,
    /// Packets after which a CHILD_SA is rekeyed.
    pub child_packets: Option<u64>,
}

const HOUR: u64 = 3600;

/// Without ESN an SA ends with packet 2^32 (RFC 4303, section 3.3.3); half of them leaves room for the rekey.
const PACKETS_WITHOUT_ESN: u64 = 1 << 31;

/// Upper bound: keys are renewed at least once a month.
const LONGEST: Duration = Duration::from_secs(31 * 24 * HOUR);

/// A rekey takes round trips of its own.
const SHORTEST: Duration = Duration::from_secs(1);

impl Default for Lifetimes {
    /// Those of strongSwan for rekeys, and a day for authentication.
    fn default() -> Self {
        Self {
            ike: Some(Duration::from_secs(4 * HOUR)),
            reauthentication: Some(Duration::from_secs(24 * HOUR)),
            child: Some(Duration::from_secs(HOUR)),
            child_bytes: None,
            child_packets: None,
        }
    }
}

impl Lifetimes {
    pub(super) fn parse(raw: &RawIpsecLink, extended_sequence_numbers: bool) -> Result<Self, Fault> {
        let default = Self::default();
        let child_packets = match raw.rekey_packets {
            None if extended_sequence_numbers => None,
            None => Some(PACKETS_WITHOUT_ESN),
            Some(packets) if packets > PACKETS_WITHOUT_ESN && !extended_sequence_numbers => {
                let cause = format!("{packets} packets are too many for sequence numbers of 32 bits");
                let hint = format!("write at most {PACKETS_WITHOUT_ESN}, or `esn: true`");
                return Err(Fault::new("rekey-packets", cause, hint));
            }
            Some(packets) => Some(packets),
        };
        for (place, value) in [("rekey-bytes", raw.rekey_bytes), ("rekey-packets", raw.rekey_packets)] {
            // Less than this is used up before the next rekey is done.
            if value.is_some_and(|value| value < 100) {
                return Err(Fault::new(place, "is too few to rekey in time", "write 100 or more"));
            }
        }
        Ok(Self {
            ike: period("rekey-ike", raw.rekey_ike.as_deref(), default.ike)?,
            reauthentication: period("reauth", raw.reauth.as_deref(), default.reauthentication)?,
            child: period("rekey-child", raw.rekey_child.as_deref(), default.child)?,
            child_bytes: raw.rekey_bytes,
            child_packets,
        })
    }
}

/// A duration, or `never`.
pub(crate) fn period(place: &str, text: Option<&str>, default: Option<Duration>) -> Result<Option<Duration>, Fault> {
    match text {
        None => Ok(default),
        Some("never") => Ok(None),
        Some(text) => match humantime::parse_duration(text) {
            // The daemon counts whole seconds.
            Ok(value) if value >= SHORTEST && value <= LONGEST && value.subsec_nanos() == 0 => Ok(Some(value)),
            _ => {
                let shown: String = text.chars().take(64).collect();
                let cause = format!("`{shown}` is not a duration in whole seconds up to 31 days");
                let hint = "write 30s, 1h or never";
                Err(Fault::new(place, cause, hint))
            }
        },
    }
}
