//! Effects of charon's events on the watch.

use bartizan_ledger::{Cause, Why};

use super::{ALERT, LOG, Notice, Watch};
use crate::sa::{self, IkeSa};
use crate::vici::Event;

impl Watch<'_> {
    /// Handles one event: its SAs are recorded, judged, or closed.
    pub(super) fn hear(&mut self, event: &Event, notice: &mut dyn FnMut(Notice<'_>)) {
        let message = &event.message;
        match event.name.as_str() {
            LOG => {
                self.logged.hear(message);
                self.overheard(message);
            }
            ALERT => self.alert(message, notice),
            "ike-updown" => {
                let up = message.is_yes("up");
                for sa in IkeSa::of_row(message) {
                    if up {
                        let cause = self.tracked.cause_of(&sa);
                        self.ike(&sa, cause, None, notice);
                    } else {
                        self.gone(sa.id, None, notice);
                    }
                }
            }
            "ike-rekey" => {
                for (old, new) in sa::rekeyed_ike_sas(message) {
                    self.logged.carry_on(old.id, new.id);
                    self.ike(&new, Cause::Rekey, Some(&old), notice);
                    self.tracked.hand_over(old.id, new.id);
                    if let Some(overdue) = self.overdue {
                        overdue.rekeyed(old.id, new.id);
                    }
                    self.condemned
                        .retain(|condemned| condemned.ike != old.id || condemned.child.is_some());
                    for condemned in self.condemned.iter_mut().filter(|condemned| condemned.ike == old.id) {
                        condemned.ike = new.id;
                    }
                    self.closed(old.id, None, Why::Replaced);
                }
            }
            "child-updown" => {
                let up = message.is_yes("up");
                for sa in IkeSa::of_row(message) {
                    for child in &sa.children {
                        if up {
                            let cause = self.tracked.cause_of(&sa);
                            self.child(&sa, child, cause, None, notice);
                        } else {
                            self.tracked.count(sa.id, child);
                            self.gone(sa.id, Some(child.id), notice);
                        }
                    }
                }
            }
            "child-rekey" => {
                for (sa, old, new) in sa::rekeyed_child_sas(message) {
                    self.child(&sa, &new, Cause::Rekey, Some(&old), notice);
                    self.tracked.count(sa.id, &old);
                    self.closed(sa.id, Some(old.id), Why::Replaced);
                }
            }
            _ => {}
        }
    }
}
