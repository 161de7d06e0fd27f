//! Removal of all keys of a link, repeated until the kernel has done it.

use std::time::Instant;

use super::{FIRST_AGAIN, LOOK, Link};

bartizan_registry::made! {
    /// A removal that is not done.
    #[derive(Debug)]
    pub(super) struct Removal, pub(super) new(said: &str, now: Instant) {
        /// Reason for it.
        said: String = said.to_owned(),
        at: Instant = now,
        failed: bool = false,
    }
}

impl Link {
    /// Removes the keys of both directions. The peer may prove itself again at once.
    pub(super) fn cease(&mut self, said: &str, now: Instant) {
        if let Some(supplicant) = self.keyer.supplicant() {
            supplicant.stop();
        }
        (self.current, self.proven, self.left) = (None, None, None);
        self.kept.forget(&self.setting);
        self.seen.gone();
        self.seen.lost(said);
        self.removal = Some(Box::new(Removal::new(said, now)));
        self.remove_keys(now);
    }

    /// Removes keys that are still to be removed; the time of the next attempt, where one is
    /// needed. Nothing else is done before: an exchange would install others next to them.
    pub(super) fn removes(&mut self, now: Instant) -> Option<Instant> {
        if self.removal.as_ref()?.at <= now {
            self.remove_keys(now);
        }
        self.removal.as_ref().map(|removal| removal.at)
    }

    pub(super) fn remove_keys(&mut self, now: Instant) {
        let Some(removal) = &mut self.removal else { return };
        let (link, peer) = (&self.setting.name, &self.setting.peer);
        match self.secy.flush().or_else(|_| self.secy.remove()) {
            Ok(()) => {
                let said = removal.said.as_str();
                tracing::error!(%link, %peer, said, "all keys are removed: no frame passes until the peer has proven itself again");
                self.seen.trouble(said);
                (self.again, self.dial_at) = (FIRST_AGAIN, now);
                self.removal = None;
            }
            Err(error) => {
                let said = format!("{}; KEYS STAY IN THE KERNEL: {error}", removal.said);
                self.seen.trouble(&said);
                removal.at = now + LOOK;
                if !std::mem::replace(&mut removal.failed, true) {
                    tracing::error!(%link, %peer, said, hint = "it is tried again each second; `bartizan down` removes the device", "keys are not removed");
                }
            }
        }
        self.seen.keys_stay = self.removal.is_some();
    }
}
