//! End of a run: its last event and the reports.

use std::io;

use bartizan_follow::delivery::Delivery;
use bartizan_follow::event_writer::since_1970;
use bartizan_follow::read::Known;
use bartizan_inspect::follow::Event;
use bartizan_inspect::{Report, json};

use super::{Reason, Run};
use crate::commands::inspect::output::show;
use crate::commands::inspect::{conclude, together};
use crate::output::{errln, said};
use crate::{Failure, Outcome};

impl Run<'_> {
    pub(super) fn end(mut self, reason: Reason) -> Result<Outcome, Failure> {
        self.progress.finish();
        let open_findings = self.open_findings();
        if self.teller.is_some() {
            let count: u64 = open_findings.values().sum();
            let words = format!("{}; {count} findings stand", reason.name());
            let event = Event::new("end", words)
                .with("reason", reason.name())
                .with("open", serde_json::json!(open_findings));
            self.tell(&event)?;
        }
        let numbers = self.numbers();
        if let Some(page) = &mut self.page {
            page.publish(&numbers);
        }
        let known = Known {
            ledgers: &self.ledgers,
            deployment: self.deployment,
            keys: &self.keys,
        };
        let mut inventory = self.inventory;
        if let Some(inventory) = &mut inventory {
            self.growing.reported(inventory);
        }
        let reports = self
            .watched
            .into_iter()
            .map(|watched| watched.stream.finish(known, inventory.as_mut()));
        let mut reports: Vec<Report> = reports.collect();
        let mut failures = self.failures;
        // A failure to write the page must not cost the report, which cannot be made again.
        let (settled, written) = conclude(
            self.args,
            &mut reports,
            inventory.as_ref(),
            self.deployment,
            &self.accepted,
            &failures,
        );
        failures.extend(written.err());
        let at = since_1970();
        if let Some(teller) = &mut self.teller {
            let sequence = teller.advance();
            if let Some(delivery) = &self.delivery {
                delivery.report(&json::document(&reports), sequence, at);
            }
        }
        let shown = match (&mut self.teller, self.args.json) {
            (Some(teller), json) => {
                match json {
                    true => teller.report(&json::document(&reports), at),
                    false => teller.put(|out| show(self.args, &reports, self.deployment, (&settled, None), out)),
                }
                teller.left()
            }
            (None, _) => {
                let out = &mut io::stdout().lock();
                said(show(self.args, &reports, self.deployment, (&settled, None), out)).err()
            }
        };
        if let Some(left) = self.delivery.and_then(Delivery::finish) {
            errln!("warning: {left}");
        }
        failures.extend(shown);
        together(failures)?;
        let finding = match self.teller {
            Some(_) => !open_findings.is_empty(),
            None => settled.finds(&reports, self.args.fail_on),
        };
        Ok(if finding { Outcome::Finding } else { Outcome::Clean })
    }
}
