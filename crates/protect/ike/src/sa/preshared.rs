//! Post-quantum pre-shared keys: mixed in by IKE_AUTH (RFC 8784) or, before it, by the last
//! IKE_INTERMEDIATE (RFC 9867).

use aws_lc_rs::constant_time;
use bartizan_wire::ike::{Body, Message, NotifyType};

use super::{Abilities, IkeSa};
use crate::config::Ppk;
use crate::error::Failure;

/// Type of a pre-shared key's identity that both ends were configured with (RFC 8784, section 5.1).
const PPK_ID_FIXED: u8 = 2;
/// Octets of the proof that the initiator has the key (RFC 9867, section 3.1).
const CONFIRMATION: usize = 8;
const NOT_USED: Failure = Failure::Authentication("it does not use the pre-shared key");

/// Exchange in which a pre-shared key is mixed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Auth,
    Intermediate,
}

impl By {
    /// Notification by which a responder announces it.
    pub(super) fn announced(self) -> NotifyType {
        match self {
            Self::Auth => NotifyType::USE_PPK,
            Self::Intermediate => NotifyType::USE_PPK_INT,
        }
    }
}

/// Identifier of a pre-shared key in messages.
pub(super) fn named(ppk: &Ppk) -> Vec<u8> {
    [&[PPK_ID_FIXED], &ppk.identity[..]].concat()
}

impl IkeSa {
    /// Returns true if a peer without the pre-shared key is refused.
    pub(super) fn requires_ppk(&self) -> bool {
        self.config.ppk.as_ref().is_some_and(|ppk| ppk.required)
    }

    /// Exchange in which a pre-shared key is mixed in, as far as both ends announced support in
    /// IKE_SA_INIT.
    pub(super) fn ppk_by(&self) -> Option<By> {
        self.ppk_with(&self.peer)
    }

    /// The same with a peer of these abilities.
    pub(super) fn ppk_with(&self, peer: &Abilities) -> Option<By> {
        let ppk = self.config.ppk.as_ref()?;
        if ppk.early && peer.early_ppk && peer.intermediate {
            Some(By::Intermediate)
        } else {
            peer.ppk.then_some(By::Auth)
        }
    }

    /// IKE_INTERMEDIATE exchanges of an initiator: one for each additional key exchange, or one for
    /// the pre-shared key where there is none of these.
    pub(super) fn exchanges(&self) -> usize {
        let security = self.security.as_ref();
        let additional = security.map_or(0, |security| security.agreed.additional.len());
        additional.max(usize::from(self.ppk_by() == Some(By::Intermediate)))
    }

    /// Returns true if an initiator names the pre-shared key in the exchange of this place: the
    /// last one.
    pub(super) fn names_ppk(&self, index: usize) -> bool {
        self.ppk_by() == Some(By::Intermediate) && index + 1 == self.exchanges()
    }

    /// Name and proof of having it.
    pub(super) fn named_ppk(&self) -> Option<Vec<u8>> {
        let ppk = self.config.ppk.as_ref()?;
        let mut all = named(ppk);
        all.extend(self.confirmation(ppk)?);
        Some(all)
    }

    fn confirmation(&self, ppk: &Ppk) -> Option<Vec<u8>> {
        let security = self.security.as_ref()?;
        let nonces = &security.nonces;
        let parts = [&nonces.initiator[..], &nonces.responder, &nonces.spis];
        let proof = security.keys.prf.prf(&ppk.secret, &parts);
        Some(proof[..CONFIRMATION].to_vec())
    }

    /// A responder's answer to an exchange that may name pre-shared keys: the name of its own key,
    /// if the initiator named and proved that one.
    pub(super) fn ppk_named(&mut self, index: usize, message: &Message<'_>) -> Result<Option<Vec<u8>>, Failure> {
        if self.ppk_by() != Some(By::Intermediate) {
            return Ok(None);
        }
        let mut all = message.payloads.iter().filter_map(|payload| match payload.body {
            Body::Notify { kind, data, .. } if kind == NotifyType::PPK_IDENTITY_KEY => Some(data),
            _ => None,
        });
        let first = all.next();
        let is_last = self.additional(index + 1).is_none();
        let Some(first) = first.filter(|_| is_last) else {
            // One that has no key exchange is for this alone.
            return match self.additional(index) {
                Some(_) => Ok(None),
                None => Err(Failure::Incomplete("an IKE_INTERMEDIATE too many")),
            };
        };
        self.transcript.named = true;
        let known = self
            .config
            .ppk
            .as_ref()
            .and_then(|ppk| Some((named(ppk), self.confirmation(ppk)?)));
        let found = known.and_then(|(name, proof)| {
            let is_ours = |said: &[u8]| {
                let split = said
                    .len()
                    .checked_sub(CONFIRMATION)
                    .and_then(|at| said.split_at_checked(at));
                split.is_some_and(|(their_name, their_proof)| {
                    their_name == name && constant_time::verify_slices_are_equal(their_proof, &proof).is_ok()
                })
            };
            std::iter::once(first).chain(all).any(is_ours).then_some(name)
        });
        match found {
            None if self.requires_ppk() => Err(NOT_USED),
            found => Ok(found),
        }
    }

    /// The responder has said whether it has the pre-shared key that was named.
    pub(super) fn ppk_answered(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        let name = self.config.ppk.as_ref().map(named);
        let is_shared = message.payloads.iter().any(|payload| {
            matches!(payload.body, Body::Notify { kind, data, .. } if kind == NotifyType::PPK_IDENTITY && Some(data) == name.as_deref())
        });
        if is_shared {
            self.mix_early()
        } else if self.requires_ppk() {
            Err(NOT_USED)
        } else {
            Ok(())
        }
    }

    /// Mixes it into all keys of the IKE_SA.
    pub(super) fn mix_early(&mut self) -> Result<(), Failure> {
        let config = self.config.clone();
        let Some(ppk) = &config.ppk else {
            return Ok(());
        };
        self.secure_by(|security| {
            security
                .keys
                .mixed(security.agreed.suite, &ppk.secret, &security.nonces)
        })?;
        if let Some(security) = &mut self.security {
            security.agreed.ppk = true;
        }
        Ok(())
    }

    /// Mixes it into the keys of what follows IKE_AUTH, and of the proofs in it. An initiator keeps
    /// those without it as long as the responder may not have it.
    pub(super) fn mix(&mut self) {
        let may_be_undone = self.is_initiator() && !self.requires_ppk();
        if let (Some(ppk), Some(security)) = (&self.config.ppk, &mut self.security) {
            security.unmixed = may_be_undone.then(|| Box::new(security.keys.clone()));
            security.keys.mix(&ppk.secret);
            security.agreed.ppk = true;
        }
    }

    /// The responder has said in IKE_AUTH whether it has mixed the pre-shared key in.
    pub(super) fn mixed_or_not(&mut self, is_mixed: bool) -> Result<(), Failure> {
        let is_required = self.requires_ppk();
        let Some(security) = &mut self.security else {
            return Ok(());
        };
        match security.unmixed.take() {
            _ if is_mixed => Ok(()),
            Some(keys) => {
                security.keys = *keys;
                security.agreed.ppk = false;
                Ok(())
            }
            None if is_required => Err(NOT_USED),
            None => Ok(()),
        }
    }

    /// The pre-shared key as this end's IKE_AUTH is to name it, and by which it is mixed in then.
    pub(super) fn ppk_of_auth(&self) -> Option<Vec<u8>> {
        let by_auth = self.ppk_by() == Some(By::Auth);
        self.config.ppk.as_ref().filter(|_| by_auth).map(named)
    }

    /// Returns true if a responder mixes in the pre-shared key that the initiator's IKE_AUTH names.
    pub(super) fn mixes(&self, said: Option<&[u8]>) -> Result<bool, Failure> {
        let is_mixed_early = self.security.as_ref().is_some_and(|security| security.agreed.ppk);
        let known = self.ppk_of_auth();
        let is_same = known.is_some() && known.as_deref() == said;
        if !is_same && !is_mixed_early && self.requires_ppk() {
            return Err(NOT_USED);
        }
        Ok(is_same)
    }
}
