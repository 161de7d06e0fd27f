//! Peers that refuse this sidecar: asked again after pauses, not by each request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answers::failure::Failure;

/// Refusals in a row without a pause: as many as there are while both ends of a link are given new policies one after the other.
const AT_ONCE: u32 = 8;
/// The pause after these. It doubles with each refusal that follows.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause: a peer that was set right serves again within it.
const LONGEST: Duration = Duration::from_secs(2);

/// The refusals that are in effect, by peer and interface: as many as a deployment file names.
#[derive(Debug, Default)]
pub(crate) struct Refusing(Mutex<HashMap<(String, &'static str), Pause>>);

#[derive(Debug)]
struct Pause {
    failure: Failure,
    /// That of the endpoint that was refused: a reload may have set right what was wrong.
    generation: u64,
    until: Instant,
    /// In a row, whatever the reasons: two sidecars at one address may have one each, and a peer
    /// may alternate.
    refusals: u32,
    /// An attempt was made since the last refusal: connections that are refused together lengthen a pause once.
    tried: bool,
}

impl Refusing {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, &'static str), Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks whether a peer may be dialled now. After a pause one attempt is made.
    ///
    /// # Errors
    /// The refusal that is in effect.
    pub(crate) fn may_dial(
        &self,
        peer: &str,
        interface: &'static str,
        generation: u64,
        now: Instant,
    ) -> Result<(), Failure> {
        let mut refusing = self.lock();
        // Mostly there is none, and nothing is to be looked up.
        if refusing.is_empty() {
            return Ok(());
        }
        let Some(pause) = refusing.get_mut(&(peer.to_owned(), interface)) else {
            return Ok(());
        };
        if pause.generation != generation {
            return Ok(());
        }
        if now < pause.until {
            return Err(pause.failure.clone());
        }
        // Others wait for its outcome, and not for long where there is none, as from a peer that cannot be reached.
        if pause.refusals >= AT_ONCE {
            pause.until = now + FIRST;
        }
        pause.tried = true;
        Ok(())
    }

    /// A peer refused the endpoint of this generation, or was refused by it.
    pub(crate) fn refused(&self, interface: &'static str, generation: u64, failure: Failure, now: Instant) {
        let mut refusing = self.lock();
        let place = (failure.peer.clone(), interface);
        let before = refusing.get(&place).filter(|pause| pause.generation == generation);
        let refusals = before.map_or(1, |pause| pause.refusals.saturating_add(u32::from(pause.tried)));
        let length = match refusals.checked_sub(AT_ONCE) {
            None => Duration::ZERO,
            Some(more) => FIRST.saturating_mul(1 << more.min(8)).min(LONGEST),
        };
        let pause = Pause {
            failure,
            generation,
            until: now + length,
            refusals,
            tried: false,
        };
        refusing.insert(place, pause);
    }

    /// A peer has sent something over a connection, or was admitted with one of its own: it admits this sidecar.
    pub(crate) fn admitted(&self, peer: &str, interface: &'static str) {
        let mut refusing = self.lock();
        if !refusing.is_empty() {
            refusing.remove(&(peer.to_owned(), interface));
        }
    }
}

#[cfg(test)]
mod tests {
    use bartizan_tls::Reason;

    use super::*;
    use crate::answers::failure::Why;

    const SBI: &str = "SBI";

    fn refusal(why: Reason) -> Failure {
        Failure {
            peer: "nrf".to_owned(),
            why: Why::Peer(why),
            detail: String::new(),
            hint: String::new(),
        }
    }

    /// Dials a peer until it is no longer allowed at that time.
    fn exhaust(refusing: &Refusing, now: Instant) -> u32 {
        exhaust_for(refusing, now, &mut std::iter::repeat(Reason::PeerRefused))
    }

    fn exhaust_for(refusing: &Refusing, now: Instant, reasons: &mut dyn Iterator<Item = Reason>) -> u32 {
        let mut dials = 0;
        while refusing.may_dial("nrf", SBI, 0, now).is_ok() {
            refusing.refused(SBI, 0, refusal(reasons.next().unwrap()), now);
            dials += 1;
        }
        dials
    }

    #[test]
    fn a_peer_that_refuses_is_dialled_ever_more_seldom_however_many_ask() {
        let (refusing, began) = (Refusing::default(), Instant::now());
        assert_eq!(exhaust(&refusing, began), AT_ONCE);
        let dials: u32 = (0..60_000)
            .map(|milliseconds| exhaust(&refusing, began + Duration::from_millis(milliseconds)))
            .sum();
        // After 250, 750 and 1750 milliseconds, and then every two seconds.
        assert_eq!(dials, 3 + 29);
    }

    /// Two sidecars behind one address that refused for different reasons ended each other's
    /// pauses.
    #[test]
    fn a_peer_that_refuses_for_changing_reasons_is_dialled_as_seldom() {
        let (refusing, began) = (Refusing::default(), Instant::now());
        let mut reasons = [Reason::PeerRefused, Reason::Policy].into_iter().cycle();
        let dials: u32 = (0..60_000)
            .map(|milliseconds| exhaust_for(&refusing, began + Duration::from_millis(milliseconds), &mut reasons))
            .sum();
        assert_eq!(dials, AT_ONCE + 3 + 29);
    }

    #[test]
    fn connections_refused_together_are_one_refusal_and_a_pause_has_one_attempt() {
        let (refusing, began) = (Refusing::default(), Instant::now());
        for _ in 0..20 {
            refusing.refused(SBI, 0, refusal(Reason::PeerRefused), began);
        }
        assert_eq!(exhaust(&refusing, began), AT_ONCE - 1);
        let later = began + FIRST;
        assert!(refusing.may_dial("nrf", SBI, 0, later).is_ok());
        assert!(
            refusing.may_dial("nrf", SBI, 0, later).is_err(),
            "one attempt after a pause"
        );
    }

    #[test]
    fn a_peer_that_admits_and_a_reload_end_a_pause_and_others_have_none() {
        let (refusing, now) = (Refusing::default(), Instant::now());
        exhaust(&refusing, now);
        assert!(refusing.may_dial("smf", SBI, 0, now).is_ok());
        assert!(refusing.may_dial("nrf", "N32", 0, now).is_ok());
        assert!(refusing.may_dial("nrf", SBI, 1, now).is_ok(), "after a reload");
        assert!(refusing.may_dial("nrf", SBI, 0, now).is_err());
        refusing.admitted("nrf", SBI);
        assert!(refusing.may_dial("nrf", SBI, 0, now).is_ok());
    }
}
