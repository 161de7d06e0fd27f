//! Traffic that a node's network function may send past its sidecar, by name. All other traffic is
//! refused.

use crate::error::Fault;
use crate::ipsec::{Network, TrafficProtocol};
use crate::raw::RawAllowed;

/// Traffic that is no interface of a 5G core: DNS, NTP, a database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allowed {
    /// Name for counters and operators: letters, digits and hyphens.
    pub name: String,
    /// Destination.
    pub to: Network,
    /// Over which protocol.
    pub protocol: TrafficProtocol,
    /// To which port.
    pub port: u16,
}

/// nftables allows longer counter names; this length stays readable.
const LONGEST: usize = 32;

impl Allowed {
    pub(crate) fn parse(raw: &RawAllowed) -> Result<Self, Fault> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if raw.name.is_empty() || raw.name.len() > LONGEST || !raw.name.chars().all(fits) {
            let cause = format!(
                "`{}` is not a name",
                raw.name.chars().take(2 * LONGEST).collect::<String>()
            );
            let hint = format!("write up to {LONGEST} letters, digits and hyphens: DNS");
            return Err(Fault::new("name", cause, hint));
        }
        let protocol = match raw.protocol.as_deref() {
            None | Some("tcp") => TrafficProtocol::Tcp,
            Some("udp") => TrafficProtocol::Udp,
            Some("sctp") => TrafficProtocol::Sctp,
            Some(word) => {
                let hint = "write tcp, udp or sctp";
                return Err(Fault::new("protocol", format!("`{word}` is not a protocol here"), hint));
            }
        };
        if raw.port == 0 {
            return Err(Fault::new("port", "0 is no port", "write the port that is called"));
        }
        Ok(Self {
            name: raw.name.clone(),
            to: Network::parse(&raw.to).map_err(|fault| fault.within("to"))?,
            protocol,
            port: raw.port,
        })
    }
}
