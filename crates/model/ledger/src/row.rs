//! A record as a row of a table for people.

use std::net::SocketAddr;

use serde::Serialize;

use crate::ipsec::{Algorithm, Why};
use crate::macsec::{MacsecCak, MacsecOrigin};
use crate::record::{Direction, Event, Negotiated, Record, Refusal, Verdict};

/// Outcome of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It meets the policy.
    Accepted,
    /// It passes only under a written exception.
    Excepted,
    /// It was refused, or breaks the policy.
    Refused,
    /// Records are missing.
    Lost,
    /// The record has no verdict: something ended.
    Ended,
}

impl Outcome {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Excepted => "excepted",
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::Ended => "ended",
        }
    }
}

bartizan_registry::made! {
    /// The parts of a record that every kind of record has, or lacks.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Row<'a>, new(record: &'a Record, event: &'static str) {
        /// Microseconds since 1970.
        pub at_us: u64 = record.at_us,
        /// The node that wrote it.
        pub node: &'a str = &record.node,
        /// Kind of the record.
        pub event: &'static str,
        /// The node at the other end, or else its address.
        pub peer: Option<String> = None,
        /// Interfaces of the standards.
        pub interface: Option<String> = None,
        /// Direction.
        pub direction: Option<Direction> = None,
        /// Key exchange groups.
        pub group: Option<String> = None,
        /// The peer's signature or authentication.
        pub signature: Option<String> = None,
        /// Outcome.
        pub verdict: Outcome = Outcome::Ended,
        /// Its reason.
        pub reason: Option<String> = None,
        /// Records that it stands for: those that a gap lost, refusals that were counted.
        pub count: u64 = 1,
    }
}

impl<'a> Row<'a> {
    fn between(mut self, peer: Option<&String>, address: Option<SocketAddr>, interface: &str) -> Self {
        let address = || address.map(|address| address.to_string());
        self.peer = peer.cloned().or_else(address);
        self.interface = (!interface.is_empty()).then(|| interface.to_owned());
        self
    }

    fn judged(mut self, verdict: &Verdict) -> Self {
        (self.verdict, self.reason) = match verdict {
            Verdict::Accepted => (Outcome::Accepted, None),
            Verdict::Excepted { reason } => (Outcome::Excepted, Some(reason.clone())),
            Verdict::Refused { reason, detail } => (Outcome::Refused, Some(format!("{reason}: {detail}"))),
        };
        self
    }

    fn refused(mut self, reason: &str, detail: &str) -> Self {
        self.verdict = Outcome::Refused;
        self.reason = Some(format!("{reason}: {detail}"));
        self
    }

    fn ended(mut self, refused: Option<&Refusal>) -> Self {
        if let Some(Refusal { reason, detail }) = refused {
            self = self.refused(reason, detail);
        }
        self
    }

    fn negotiated(mut self, negotiated: Option<&Negotiated>) -> Self {
        let Some(negotiated) = negotiated else { return self };
        self.group = Some(negotiated.group.name.clone());
        self.signature = match (&negotiated.peer_signature, negotiated.resumed) {
            (Some(scheme), _) => Some(scheme.name.clone()),
            (None, true) => Some("resumed".to_owned()),
            (None, false) => None,
        };
        self
    }

    fn exchanges(mut self, exchanges: &[Algorithm]) -> Self {
        let names: Vec<_> = exchanges.iter().map(|exchange| exchange.name.as_str()).collect();
        self.group = (!names.is_empty()).then(|| names.join(" + "));
        self
    }
}

impl Record {
    /// The record as a row.
    pub fn row(&self) -> Row<'_> {
        let row = |event| Row::new(self, event);
        match &self.event {
            Event::Handshake(of) => Row {
                direction: Some(of.direction),
                ..row("handshake")
                    .between(of.peer.as_ref(), Some(of.peer_address), &of.interface)
                    .negotiated(of.negotiated.as_ref())
                    .judged(&of.verdict)
            },
            Event::Closed(of) => row("closed").ended(of.refused.as_ref()),
            Event::Lost(of) => Row {
                verdict: Outcome::Lost,
                reason: Some(format!("{} records are missing here", of.records)),
                count: of.records,
                ..row("lost")
            },
            Event::IkeSa(of) => Row {
                direction: Some(of.direction),
                signature: of.authentication.as_ref().and_then(|by| by.peer.clone()),
                ..row("ike-sa")
                    .between(of.peer.as_ref(), of.peer_address, &of.interfaces.join(", "))
                    .exchanges(&of.key_exchanges)
                    .judged(&of.verdict)
            },
            Event::ChildSa(of) => row("child-sa")
                .between(of.peer.as_ref(), None, of.interface.as_deref().unwrap_or_default())
                .exchanges(&of.key_exchanges)
                .judged(&of.verdict),
            Event::SaClosed(of) => {
                let closed = row("sa-closed");
                match of.why {
                    Why::Breach => closed.refused(of.why.word(), of.detail.as_deref().unwrap_or_default()),
                    _ => Row {
                        reason: Some(of.why.word().to_owned()),
                        ..closed
                    },
                }
            }
            Event::SaRefused(of) => Row {
                direction: Some(of.direction),
                ..row("sa-refused")
                    .between(of.peer.as_ref(), of.peer_address, &of.interfaces.join(", "))
                    .refused(&of.reason, &of.detail)
            },
            Event::Refusals(of) => Row {
                direction: Some(of.direction),
                peer: of.peer.clone().or_else(|| Some(of.from.to_string())),
                count: of.count,
                ..row("refusals")
                    .between(None, None, &of.interface)
                    .refused(&of.reason, &format!("{} more", of.count))
            },
            Event::MacsecKey(of) => {
                let (direction, negotiated) = match &of.origin {
                    MacsecOrigin::Direct {
                        direction, negotiated, ..
                    }
                    | MacsecOrigin::Mka {
                        cak:
                            MacsecCak::Exchange {
                                direction, negotiated, ..
                            },
                        ..
                    } => (Some(*direction), Some(&**negotiated)),
                    MacsecOrigin::Mka {
                        cak: MacsecCak::EapTls { negotiated, .. },
                        ..
                    } => (None, Some(&**negotiated)),
                    MacsecOrigin::Mka { .. } => (None, None),
                };
                Row {
                    direction,
                    ..row("macsec-key")
                        .between(Some(&of.link.peer), None, &of.link.interface)
                        .negotiated(negotiated)
                        .judged(&of.verdict)
                }
            }
            Event::MacsecOutlived(of) => row("macsec-outlived")
                .between(Some(&of.link.peer), None, &of.link.interface)
                .refused("outlived", &format!("a key is {} s old", of.age_s)),
            Event::MacsecRefused(of) => Row {
                direction: Some(of.direction),
                count: of.times,
                ..row("macsec-refused")
                    .between(Some(&of.link.peer), None, &of.link.interface)
                    .negotiated(of.negotiated.as_deref())
                    .refused(&of.reason, &of.detail)
            },
            Event::MacsecNotRekeyed(of) => row("macsec-not-rekeyed")
                .between(Some(&of.link.peer), None, &of.link.interface)
                .refused("not-rekeyed", "the key stayed the same after authentication"),
            Event::Association(of) => Row {
                direction: Some(of.direction),
                reason: Some(of.ending.clone()),
                ..row("association").between(Some(&of.peer), None, &of.interface)
            },
        }
    }
}
