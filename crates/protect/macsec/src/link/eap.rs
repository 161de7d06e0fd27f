//! EAP at the port of a link: this end asks as the authenticator, or its wpa_supplicant answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_host::FrameSocket;
use bartizan_registry::ethertype;
use bartizan_tls::{Endpoint, Refused};

use super::keyer::Keyer;
use super::{FIRST_AGAIN, FRAMES, Link, record};
use crate::Error;
use crate::eap::{Authenticated, Authenticator, Happened};

/// Time between two runs that the other end asks for: any host on the wire can ask.
const ASKED: Duration = Duration::from_secs(1);

bartizan_registry::made! {
    /// EAP at a port of which this end is the authenticator.
    #[derive(Debug)]
    pub(super) struct EapPort,
    pub(super) open(port: &str, address: [u8; 6], endpoint: &Endpoint) -> Result<Self, Error> {
        pub(super) socket: FrameSocket = FrameSocket::open(port, address, ethertype::EAPOL)?,
        pub(super) endpoint: Endpoint = endpoint.clone(),
        authenticator: Authenticator = Authenticator::new(address),
        /// The other end has asked to be authenticated.
        asked: bool = false,
        began: Option<Instant> = None,
    }
}

impl EapPort {
    pub(super) fn wake(&self) -> Option<Instant> {
        self.authenticator.wake()
    }
}

impl Link {
    /// Takes the frames of EAPOL that have arrived; what is of MKA among them is wpa_supplicant's, which gets its own.
    pub(super) fn take_eapol(&mut self, now: Instant) -> Result<(), Error> {
        for _ in 0..FRAMES {
            let Some(port) = &mut self.eap else { break };
            let Some(frame) = port.socket.receive_from()? else {
                break;
            };
            if let Some(happened) = port.authenticator.receive(frame.source, frame.payload) {
                self.happened(happened, now);
            }
        }
        Ok(())
    }

    /// Begins a run where one is wanted, and sends what is to be sent.
    pub(super) fn authenticate(&mut self, now: Instant) -> Result<(), Error> {
        self.begin_run(now);
        let Some(port) = &mut self.eap else {
            return Ok(());
        };
        let mut failed = None;
        let happened = port.authenticator.poll(now, &mut |frame| {
            if let Err(error) = port.socket.send(frame) {
                failed = Some(error);
            }
        });
        if let Some(happened) = happened {
            self.happened(happened, now);
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// When a run is to begin; none where none is wanted.
    pub(super) fn run_at(&self) -> Option<Instant> {
        let (Some(port), Keyer::Mka(mka)) = (&self.eap, &self.keyer) else {
            return None;
        };
        if port.authenticator.is_busy() || self.removal.is_some() {
            return None;
        }
        // While a key is in use, any host on the wire could interrupt the link by asking.
        if port.asked && !mka.rotation.is_agreed() {
            return Some(port.began.map_or(self.dial_at, |began| began + ASKED));
        }
        let wanted = self.seen.wants_exchange || !mka.rotation.connected;
        wanted.then_some(self.dial_at)
    }

    fn begin_run(&mut self, now: Instant) {
        if self.run_at().is_none_or(|at| at > now) {
            return;
        }
        let Some(port) = &mut self.eap else { return };
        let accepting = match self.setting.accept(&port.endpoint) {
            Ok(accepting) => accepting,
            Err(error) => {
                self.seen.trouble(&error.to_string());
                return self.back_off(now);
            }
        };
        let asked = std::mem::take(&mut port.asked);
        port.began = Some(now);
        port.authenticator.begin(accepting, now);
        self.seen.wants_exchange = false;
        if let Keyer::Mka(mka) = &mut self.keyer
            && asked
        {
            // The run that it orders has begun.
            let _ = mka.rotation.peer_asks(now);
        }
    }

    fn happened(&mut self, happened: Happened, now: Instant) {
        match happened {
            Happened::Asked => {
                if let Some(port) = &mut self.eap {
                    port.asked = true;
                }
            }
            Happened::Authenticated(authenticated) => self.authenticated(*authenticated, now),
            Happened::Refused(refused) => self.refused(&refused, now),
            Happened::Silent => {
                self.seen
                    .trouble("the peer does not answer EAP: does wpa_supplicant run at the other end?");
                self.back_off(now);
            }
        }
    }

    /// MKA begins at this end before the peer hears of its success: it waits for six seconds, and no longer.
    fn authenticated(&mut self, authenticated: Authenticated, now: Instant) {
        let Authenticated {
            established,
            cak,
            began,
            frames,
        } = authenticated;
        tracing::info!(
            link = %self.setting.name, group = %established.negotiated.group.name, ckn = %cak.ckn, frames, "the peer was authenticated by EAP-TLS"
        );
        let established = Arc::new(established);
        self.seen.exchanged(&established, began, now);
        self.again = FIRST_AGAIN;
        self.proven_by(Arc::clone(&established), now);
        let Keyer::Mka(mka) = &mut self.keyer else { return };
        mka.origin = Some(established);
        let orders = mka.rotation.connected(cak, "", "", now);
        self.follow(orders, now);
        if let Some(port) = &mut self.eap {
            port.authenticator.succeed();
        }
    }

    fn refused(&mut self, refused: &Refused, now: Instant) {
        self.count_refused(refused, now);
        self.seen.trouble(&refused.detail);
        self.back_off(now);
    }

    /// Takes what wpa_supplicant has written since the last look. Frames do not say how
    /// authentication ended: any host on the wire can send them.
    pub(super) fn take_log(&mut self, now: Instant) {
        let Keyer::Eap(eap) = &mut self.keyer else { return };
        let [succeeded, failed] = eap.supplicant.ends_of_eap();
        if failed && !eap.authentication.is_agreed() {
            self.seen.trouble(
                "the authenticator refused this end, or this end the authenticator: wpa_supplicant's log and the other end's ledger say why",
            );
        }
        if !succeeded {
            return;
        }
        eap.authentication.succeeded(now);
        self.seen.authenticated();
    }

    /// wpa_supplicant begins anew, and with it authentication and MKA. What the one before installed goes, as where a CAK is replaced.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        let Keyer::Eap(eap) = &mut self.keyer else { return };
        eap.supplicant.stop();
        self.seen.gone();
        match self.secy.flush().and_then(|()| eap.start()) {
            Ok(()) => {
                eap.authentication.started(now);
                self.keep(now);
                tracing::info!(link = %self.setting.name, "wpa_supplicant waits to be authenticated");
            }
            Err(error) => {
                eap.authentication.not_started(now);
                let hint = error.hint().unwrap_or_default();
                tracing::error!(link = %self.setting.name, %error, hint, "no keys are distributed");
                self.seen.trouble(&error.to_string());
            }
        }
    }

    /// That authentication did not change the key.
    pub(super) fn not_rekeyed(&mut self, an: crate::An, key: crate::KeyId) {
        self.recorder.record(record::not_rekeyed(&self.setting, an, key));
        tracing::error!(
            link = %self.setting.name, key_id = %key,
            hint = "authentication alone does not change what protects frames: have the authenticator begin MKA anew as well",
            "the authenticator had this end authenticated again, and the key stayed the same: this end begins anew"
        );
        self.seen
            .trouble("this end was authenticated again, and the key stayed the same");
    }
}
