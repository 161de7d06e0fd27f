//! Progress of TLS handshakes: finished by both ends, or refused. A refused one carries nothing and says nothing of a link, and in TLS 1.3
//! nearly every refusal comes behind the ServerHello.

use bartizan_ledger::{Direction, Verdict as PolicyVerdict};
use bartizan_wire::tls::{Tls, Version};
use bartizan_wire::{Ending, Side};

use crate::confidentiality::stray_bytes;
use crate::ledgers::Entry;
use crate::{Evidence, Judgement, Source, Verdict};

/// Progress of a handshake behind its ServerHello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Both ends show a Finished.
    Established,
    /// An end refused the other; `by_size` where only the length of an encrypted record says so.
    Refused { because: String, by_size: bool },
    /// The same, and the client had sent something behind its Finished under keys that are not safe.
    RefusedBehindData,
    /// The end of the handshake is not in the capture.
    NotSeen,
}

impl Progress {
    /// Progress of a connection over TCP, with what keys opened and ledgers say of it.
    pub(crate) fn of(evidence: &Evidence<'_>, tls: &Tls) -> Self {
        let accepted = |verdict: &PolicyVerdict| !matches!(verdict, PolicyVerdict::Refused { .. });
        // An end that accepted the other had its Finished, whatever of it is in the capture.
        let accepted = |entry: &Entry| accepted(&entry.handshake.verdict);
        // A server records what it accepted behind the client's Finished: no refusal follows.
        let served = |entry: &Entry| entry.handshake.direction == Direction::Inbound && accepted(entry);
        let served = evidence.entries().any(served);
        let accepted = evidence.entries().any(accepted);
        let connection = evidence.connection();
        let [client, server] = tls.ends;
        let finished = client.finished && server.finished;
        let newest = tls.version() == Some(Version::TLS13);
        // The server went on behind the client's Finished, as keys show.
        let answered = tls.opened.as_ref().is_some_and(|opened| opened.answered);
        let opened = tls.opened.iter().flat_map(|opened| &opened.alerts);
        let opened =
            opened.filter(|alert| !answered && newest || tls.refusal().is_some_and(|refusal| refusal == *alert));
        let in_plaintext = tls.alerts.iter().filter(|_| !finished);
        let mut fatal = in_plaintext.chain(opened).filter(|alert| alert.value.is_fatal());
        if let Some(alert) = fatal.next().filter(|_| !sent_early(tls) && stray_bytes(tls).is_none()) {
            return Self::refused(alert.value.to_string());
        }
        let ended = matches!(connection.ending, Ending::Closed | Ending::Reset);
        let traffic = [connection.from_client, connection.from_server];
        let whole = |side: usize| {
            let (packets, stream) = (traffic[side].packets, traffic[side].stream);
            packets > 0 && stream.gaps == 0 && stream.unseen == 0 && stream.stray == 0 && stream.corrupt == 0
        };
        if finished {
            if !newest || answered || served || server.data {
                return Self::Established;
            }
            if !server.alert_sized {
                // The server's answer to the client's Finished may be missing.
                return if ended && whole(1) {
                    Self::Established
                } else {
                    Self::NotSeen
                };
            }
            if !ended || !whole(1) {
                return Self::NotSeen;
            }
            // Its length is all that is known of it.
            let because =
                "a record of an alert's length from the server, and nothing else, behind the client's Finished";
            // Data that went out under keys of a safe exchange endanger nothing either.
            let hellos = evidence.hellos();
            let is_safe = hellos.is_some_and(|hellos| hellos.judge().verdict() == Verdict::QuantumSafe);
            return match client.data && !is_safe {
                true => Self::RefusedBehindData,
                false => Self::Refused {
                    because: because.into(),
                    by_size: true,
                },
            };
        }
        // Early data were carried, whatever became of the handshake, and so was what is no record.
        let known = tls.version().is_some_and(|version| version <= Version::TLS13);
        // One end has gone on from the other's messages: its packets, or the order of them, are missing.
        let went_on = client.finished || server.finished && !newest;
        if accepted || newest && client.finished && server.data {
            return Self::Established;
        }
        if sent_early(tls) || stray_bytes(tls).is_some() || !known || went_on || !tls.faults.is_empty() {
            return Self::NotSeen;
        }
        let sent = [tls.from_client.records, tls.from_server.records];
        for (side, end) in [(Side::Client, client), (Side::Server, server)] {
            let place = usize::from(side == Side::Server);
            if newest && !end.finished && sent[place] > 0 && whole(place) {
                let what = "a record of an alert's length in place of its Finished";
                return Self::refused(format!("{what} from the {side}"));
            }
        }
        // An end that resets a connection need not have said all that it had to say.
        if connection.ending == Ending::Closed && whole(0) && whole(1) {
            return Self::refused("the connection ended before a Finished of the client".into());
        }
        Self::NotSeen
    }

    /// True where it is uncertain that an end refused the other.
    pub(crate) fn is_by_size(&self) -> bool {
        matches!(self, Self::Refused { by_size: true, .. } | Self::RefusedBehindData)
    }

    fn refused(because: String) -> Self {
        Self::Refused {
            because,
            by_size: false,
        }
    }

    /// The judgement of what was not established, either way: it protects nothing and endangers nothing.
    pub(crate) fn judgement(&self, source: &Source) -> Option<Judgement> {
        let (because, note) = match self {
            Self::Refused { because, by_size } => (because, if *by_size { UNCERTAIN } else { "" }),
            _ => return None,
        };
        let because = format!("not established: refused ({because}){note}");
        Some(Judgement::new(Verdict::NotSeen, because, vec![source.clone()]))
    }

    /// The rest of a judgement that rests on both hellos alone: none is safe.
    pub(crate) fn limits(&self, judgement: Judgement) -> Judgement {
        if judgement.verdict() != Verdict::QuantumSafe {
            return judgement;
        }
        if *self != Self::NotSeen {
            return judgement;
        }
        let because = format!(
            "{}, and the end of the handshake is not in the capture: it may have been refused",
            judgement.because()
        );
        Judgement::new(Verdict::NotSeen, because, judgement.sources().to_vec())
    }
}

/// True where the client sent early data, or may have: then records of its own came before the handshake's.
fn sent_early(tls: &Tls) -> bool {
    let hello = tls.client_hello.as_ref();
    tls.from_client.records > 0 && hello.is_none_or(|hello| hello.value.early_data)
}

/// The limit of a refusal that only a length shows.
pub(crate) const UNCERTAIN: &str =
    ", by its length: two octets of data, or a close_notify of an unused connection, look alike";
