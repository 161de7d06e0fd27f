//! The state of links as text.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_ipsec::judge;
use bartizan_ipsec::watch::Refused;
use bartizan_ledger::Verdict;

use super::link::{Link, Sa};
use super::{Report, ago};
use crate::commands::ipsec::messages;
use crate::commands::ipsec::probing::Probed;

impl Report {
    pub(in crate::commands::ipsec) fn text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let state = match (link.loaded, link.ike.as_slice()) {
                (false, []) => "not loaded".to_owned(),
                (true, []) => "loaded, no IKE_SA".to_owned(),
                (_, several) => {
                    let shown = several.iter().map(|ike| match &ike.verdict {
                        None => ike.sa.state.clone(),
                        Some(verdict) => {
                            let keys = judge::shown(&ike.sa.key_exchanges);
                            format!("{}, keyed by {keys}: {}", ike.sa.state, in_words(verdict))
                        }
                    });
                    shown.collect::<Vec<_>>().join("; ")
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} (to {}): {state}", link.connection, link.peer);
            link.remembered(&mut text);
            for child in &link.children {
                if child.sas.is_empty() {
                    let _ = writeln!(text, "  {:<6} down", child.interface);
                }
                for Sa { sa, dropped, verdict } in &child.sas {
                    let _ = writeln!(
                        text,
                        "  {:<6} {} {} {} === {}, keyed by {}, {} bytes out, {} in: {}",
                        child.interface,
                        sa.state,
                        sa.mode,
                        sa.local.join(" "),
                        sa.remote.join(" "),
                        judge::shown(&sa.key_exchanges),
                        sa.bytes.sent,
                        sa.bytes.received,
                        in_words(verdict)
                    );
                    if let Some(dropped) = dropped.filter(|dropped| !dropped.is_zero()) {
                        let _ = writeln!(
                            text,
                            "         dropped: {} replayed, {} too late for the replay window, {} with a wrong check value",
                            dropped.replayed, dropped.outside_window, dropped.integrity
                        );
                    }
                }
                if let Some(Probed { result, detail }) = &child.echo {
                    let result = match *result {
                        "passed" => "echo passed, in ESP each way",
                        "failed" => "ECHO FAILED",
                        _ => "no echo",
                    };
                    let _ = writeln!(text, "         {result}: {detail}");
                }
            }
        }
        if let Some(own) = &self.userspace {
            let dropped = own.dropped.iter().filter(|(_, count)| **count > 0);
            let dropped: Vec<_> = dropped.map(|(why, count)| format!("{count} {why}")).collect();
            let dropped = match dropped.is_empty() {
                true => String::new(),
                false => format!("; dropped: {}", dropped.join(", ")),
            };
            let _ = writeln!(
                text,
                "ESP in user space by the device {}: packets of the links have {} octets at most{dropped}",
                own.device, own.mtu
            );
            let how = own.routing_differences.as_deref().unwrap_or("not known");
            let _ = match (own.routing_installed, own.routing_restored) {
                (false, _) => writeln!(
                    text,
                    "  ROUTING TO THE DEVICE IS LOST, packets of the links are dropped: {how}"
                ),
                (true, 0) => Ok(()),
                (true, times) => writeln!(
                    text,
                    "  routing to the device was installed again {times} times; last: {how}"
                ),
            };
        }
        for interface in &self.interfaces {
            let _ = writeln!(text, "{interface}");
        }
        if let Some(cleartext) = &self.cleartext {
            let _ = writeln!(text, "{}", cleartext.text());
        }
        if let Some(counters) = self.host_xfrm.as_ref().filter(|counters| !counters.is_empty()) {
            let counters: Vec<_> = counters.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let _ = writeln!(
                text,
                "the kernel's counters of this host, of whatever link: {}",
                counters.join(", ")
            );
        }
        if let Some(refused) = &self.last_refusal_of_unknown {
            let _ = writeln!(text, "last refused of a peer of no link: {}", of_refusal(refused));
        }
        if self.watched == Some(false) {
            let _ = writeln!(
                text,
                "no `bartizan watch` runs: whether peers answer, and what was refused, is not known (`bartizan watch`)"
            );
        }
        if let Some(end) = self.certificate_not_after {
            let end = UNIX_EPOCH + Duration::from_secs(end);
            let _ = match end.duration_since(SystemTime::now()) {
                Ok(left) => writeln!(text, "the node's certificate ends in {} days", left.as_secs() / 86_400),
                Err(_) => writeln!(
                    text,
                    "THE NODE'S CERTIFICATE HAS EXPIRED: no link is set up or authenticated again with it"
                ),
            };
        }
        let is_shown = |link: &Link| {
            let by = link.authentication.as_ref();
            by.is_some_and(|by| by.local.is_some() && by.peer.is_some())
        };
        if !self.links.iter().all(is_shown) {
            let _ = writeln!(text, "identities are proven {}", self.identity);
        }
        text
    }
}

impl Link {
    /// Lines of what the watch remembers.
    fn remembered(&self, text: &mut String) {
        // Writing to a string cannot fail.
        if let Some(silent) = self.no_answer() {
            let _ = writeln!(text, "  NO ANSWER from {} for {} s", self.peer, silent.as_secs());
        }
        if let Some(by) = &self.authentication {
            let shown = |by: &Option<String>| by.clone().unwrap_or_else(|| "a method that was not seen".to_owned());
            let (here, there) = (shown(&by.local), shown(&by.peer));
            let _ = writeln!(text, "  authenticated by {here} here, by {there} of the peer");
        }
        if let Some(refused) = &self.last_refusal {
            let _ = writeln!(text, "  last refused: {}", of_refusal(refused));
        }
        if let Some(end) = &self.last_end {
            let detail = end
                .detail
                .as_ref()
                .map_or_else(String::new, |detail| format!(": {detail}"));
            let _ = writeln!(
                text,
                "  last end: {} s ago, {}{detail}",
                ago(end.at_us).as_secs(),
                end.why.word()
            );
        }
    }
}

fn of_refusal(refused: &Refused) -> String {
    let (ago, what) = (ago(refused.at_us).as_secs(), &refused.what);
    format!(
        "{ago} s ago, {} {} ({}, {}): {}",
        messages::asked(what),
        messages::by(what),
        messages::address(what),
        what.reason,
        what.detail
    )
}

/// A verdict in a few words.
fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted => "recorded traffic stays secret as the policy asks".to_owned(),
        Verdict::Excepted { reason } => format!("only by exception ({reason})"),
        Verdict::Refused { reason, detail } => format!("BREAKS THE POLICY ({reason}): {detail}"),
    }
}
