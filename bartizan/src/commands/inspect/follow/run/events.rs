//! Events of a run: to standard output, the page and the collector.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use bartizan_follow::delivery::Delivery;
use bartizan_follow::event_writer::since_1970;
use bartizan_follow::page::Page;
use bartizan_follow::source::Notice;
use bartizan_inspect::follow::{Event, LinkName, cleared, event, found};
use bartizan_posture::Concern;

use super::Run;
use crate::Failure;
use crate::output::errln;

impl Run<'_> {
    pub(super) fn begin(&mut self, metrics: Option<SocketAddr>) -> Result<(), Failure> {
        let sources: Vec<&str> = self.watched.iter().map(|watched| &*watched.stream.name).collect();
        let names = sources.join(", ");
        let live = &self.args.live;
        if self.teller.is_none() {
            errln!("capturing on {names}; Ctrl-C ends it");
            return Ok(());
        }
        let mut words = format!("following {names}; Ctrl-C ends it");
        if let Some(address) = metrics {
            words = format!("{words}; metrics at http://{address}/metrics");
        }
        let page = self.page.as_ref().and_then(Page::address);
        if let Some(address) = page {
            words = format!("{words}; page at http://{address}/");
        }
        let otlp = self.delivery.as_ref().map(Delivery::target);
        if let Some(target) = &otlp {
            words = format!("{words}; events and metrics to {target}");
        }
        let event = Event::new("begin", words)
            .with("sources", sources)
            .with("version", env!("CARGO_PKG_VERSION"))
            .with("metrics", metrics.map(|address| address.to_string()))
            .with("http", page.map(|address| address.to_string()))
            .with("otlp", otlp)
            .with("window_s", live.window.as_secs())
            .with("grace_s", live.grace.as_secs())
            .with("forget_s", live.forget.as_secs());
        self.tell(&event)
    }

    /// Nothing more comes of a source. The others may go on for months: it is reported now, and not only at the end.
    pub(super) fn failed(&mut self, place: usize, failure: Failure) -> Result<(), Failure> {
        let watched = &mut self.watched[place];
        let because = failure.message.to_owned();
        if !watched.stream.is_damaged() {
            watched.stream.remark(format!("nothing more was read: {because}"));
        }
        let mut event = Event::of(&watched.stream.name, "source-failed", &*because).with("because", &*because);
        event.packet_ns = Some(watched.stream.newest.0).filter(|newest| *newest > 0);
        self.failures.push(failure);
        // Without events standard error says it.
        if self.teller.is_none() && self.failures.len() < self.watched.len() {
            errln!("warning: {because}");
        }
        self.tell(&event)
    }

    pub(super) fn noticed(&mut self, place: usize, notice: &Notice) -> Result<(), Failure> {
        let watched = &mut self.watched[place];
        let name = watched.stream.name.clone();
        let event = match notice {
            Notice::Lost(packets) => {
                let words = format!("{packets} packets had no room in the kernel: nothing is said of them");
                Event::of(&name, "loss", words)
                    .with("packets", *packets)
                    .with("where", "capture")
            }
            Notice::Down => Event::of(&name, "interface-down", "the interface went down, or is gone"),
            Notice::Back => Event::of(&name, "interface-back", "the interface gives packets again"),
            Notice::Replaced { incomplete } => {
                let cut = if *incomplete {
                    ", the last record of the old one is cut"
                } else {
                    ""
                };
                Event::of(&name, "rotation", format!("another file stands in its place{cut}"))
                    .with("incomplete", *incomplete)
            }
        };
        if self.teller.is_none() && *notice == Notice::Down {
            let first = watched.stream.packets();
            let remark =
                format!("the interface went down, or is gone, after {first} packets: what came before is here");
            errln!("warning: {name}: {remark}");
            watched.stream.remark(remark);
            watched.source.stop();
        }
        self.tell(&event)
    }

    pub(super) fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        let at = since_1970();
        // Queued first: after a kill here the event is delivered twice rather than never.
        if let (Some(teller), Some(delivery)) = (&self.teller, &self.delivery) {
            delivery.event(event, teller.upcoming(), at)?;
        }
        self.say(event, at)
    }

    /// Reports an event that is queued, reported at this time since 1970.
    pub(super) fn say(&mut self, event: &Event, at: Duration) -> Result<(), Failure> {
        debug_assert!(event::NAMES.contains(&event.name), "{}", event.name);
        *self.events.entry(event.name).or_default() += 1;
        if let Some(page) = &mut self.page {
            page.event(event, at);
        }
        match &mut self.teller {
            Some(teller) => {
                teller.advance();
                self.progress.aside(|| teller.tell(event, at))
            }
            None => Ok(()),
        }
    }

    /// Reports the fate of events on their way to a collector.
    pub(super) fn delivered(&mut self, last: bool) -> Result<(), Failure> {
        let (Some(delivery), Some(teller)) = (&self.delivery, &self.teller) else {
            return Ok(());
        };
        for remark in delivery.remarks() {
            self.progress.aside(|| errln!("warning: {remark}"));
        }
        let at = since_1970();
        match delivery.lost(last, teller.upcoming(), at)? {
            Some(event) => self.say(&event, at),
            None => Ok(()),
        }
    }

    /// Returns events about interfaces of the deployment file: not seen, or seen after all.
    pub(super) fn listed(&mut self, last: bool) -> Vec<Event> {
        let Some(deployment) = self.deployment else {
            return Vec::new();
        };
        let seen: BTreeSet<usize> = self
            .watched
            .iter()
            .flat_map(|watched| watched.tracker.listed())
            .copied()
            .collect();
        let late = last || self.begun.elapsed() >= self.args.live.grace;
        let mut events = Vec::new();
        for (place, listed) in deployment.interfaces().iter().enumerate() {
            let because = "in the deployment file, and not in the packets";
            let mut event = match (seen.contains(&place), self.unseen.contains(&place)) {
                (true, true) => {
                    self.unseen.remove(&place);
                    cleared(Concern::Unseen, because)
                }
                (false, false) if late => {
                    self.unseen.insert(place);
                    found(Concern::Unseen, because)
                }
                _ => continue,
            };
            event.link = Some(LinkName {
                ends: listed.between.clone().map(|node| node.to_string()),
                interface: Some(listed.kind.name()),
                service: None,
                path: None,
            });
            events.push(event);
        }
        events
    }
}
