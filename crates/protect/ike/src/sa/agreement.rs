//! An agreement by CREATE_CHILD_SA, until all its key exchanges are made (RFC 7296, section 1.3;
//! RFC 9370, section 2.2.4).

use std::time::Instant;

use bartizan_wire::ike::{Body, KeyExchangeMethod, Message, NotifyType, Party, Payload, PayloadType, Proposal};

use super::child::Made;
use super::init::payload;
use super::replacing::{Done, Successor};
use super::{IkeSa, Security, State};
use crate::error::Failure;
use crate::event::Requester;
use crate::key_exchange::Secret;
use crate::proposal::Agreed;
use crate::protection::Protection;
use crate::random::{self, Chance};
use crate::schedule::Nonces;

/// Subject of an exchange: the SA that it is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A CHILD_SA of this place in the configuration that replaces none.
    New(usize),
    /// One that replaces that by which this end receives with this SPI.
    Child(u32),
    /// An IKE_SA that replaces this one.
    Ike,
}

/// The SA in the making, with the SPIs of both ends.
pub(super) enum Target {
    Child {
        made: Made,
        own: u32,
    },
    /// SPIs of the end that asks and of the other.
    Ike {
        agreed: Agreed,
        spis: [u64; 2],
        chosen: Proposal,
    },
}

impl Target {
    pub(super) fn chosen(&self) -> &Proposal {
        match self {
            Self::Child { made, .. } => &made.chosen,
            Self::Ike { chosen, .. } => chosen,
        }
    }
}

pub(super) struct Agreement {
    pub(super) subject: Subject,
    pub(super) target: Target,
    pub(super) requester: Requester,
    /// Nonces of requester and responder.
    pub(super) nonces: [Vec<u8>; 2],
    /// Secrets of the key exchange of CREATE_CHILD_SA, if there was one, and of the additional ones
    /// so far.
    pub(super) secrets: Vec<Secret>,
    pub(super) additional: Vec<KeyExchangeMethod>,
}

impl Agreement {
    /// The additional key exchange that comes next.
    pub(super) fn next(&self) -> Option<KeyExchangeMethod> {
        let made = self.secrets.len().checked_sub(1)?;
        self.additional.get(made).copied()
    }
}

/// Content of CREATE_CHILD_SA and IKE_FOLLOWUP_KE besides proposals and traffic.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) nonce: Option<&'a [u8]>,
    pub(super) key_exchange: Option<(KeyExchangeMethod, &'a [u8])>,
    /// The SPI by which the sender receives in the CHILD_SA that it replaces.
    pub(super) replaces: Option<u32>,
    /// Data that links the next key exchange to this one (ADDITIONAL_KEY_EXCHANGE).
    pub(super) link: Option<&'a [u8]>,
    pub(super) error: Option<(NotifyType, &'a [u8])>,
}

impl<'a> Said<'a> {
    pub(super) fn of(message: &'a Message<'a>) -> Self {
        let mut said = Self::default();
        for payload in &message.payloads {
            match &payload.body {
                // RFC 7296, section 3.9.
                Body::Nonce(nonce) if (16..=256).contains(&nonce.len()) => said.nonce = Some(nonce),
                Body::KeyExchange { method, data } => said.key_exchange = Some((*method, data)),
                Body::Notify { kind, spi, .. } if *kind == NotifyType::REKEY_SA => {
                    // An SPI of another length names none of ESP.
                    let spi = <[u8; 4]>::try_from(*spi).map_or(0, u32::from_be_bytes);
                    said.replaces = Some(spi);
                }
                Body::Notify { kind, data, .. } if *kind == NotifyType::ADDITIONAL_KEY_EXCHANGE => {
                    said.link = Some(data);
                }
                Body::Notify { kind, data, .. } if kind.is_error() => said.error = said.error.or(Some((*kind, data))),
                _ => {}
            }
        }
        said
    }
}

pub(super) fn key_exchange_payload(method: KeyExchangeMethod, data: &[u8]) -> Payload<'_> {
    payload(PayloadType::KE, Body::KeyExchange { method, data })
}

impl IkeSa {
    /// Makes what was agreed on: all its key exchanges are made.
    pub(super) fn complete(&mut self, now: Instant, agreement: Agreement) -> Result<(), Failure> {
        let Agreement {
            subject,
            target,
            requester,
            nonces,
            secrets,
            ..
        } = agreement;
        let mut gone = None;
        let successor = match target {
            Target::Child { made, own } => {
                let security = self.security.as_ref().ok_or(Failure::Cryptography)?;
                let both = [&nonces[0][..], &nonces[1]];
                let keys = security.keys.child(made.suite, both, &secrets);
                let replaces = match subject {
                    Subject::Child(old) => Some(old),
                    Subject::New(_) | Subject::Ike => None,
                };
                if requester == Requester::ThisEnd && self.deleted_early.contains(&made.theirs) {
                    gone = Some(own);
                }
                self.keep_child(now, made, own, keys, (requester, replaces));
                Successor::Child(own)
            }
            Target::Ike { agreed, spis, .. } => {
                let sa = self.successor(now, (agreed, spis), requester, (&nonces, &secrets))?;
                Successor::Ike(Box::new(sa))
            }
        };
        let [one, other] = nonces;
        let lowest = one.min(other);
        self.replaced(now, subject, requester, Done { lowest, successor })?;
        if let Some(inbound) = gone {
            self.child_deleted(inbound);
        }
        Ok(())
    }

    /// An IKE_SA that takes the place of this one, without its CHILD_SAs.
    fn successor(
        &mut self,
        now: Instant,
        (mut agreed, spis): (Agreed, [u64; 2]),
        requester: Requester,
        (nonces, secrets): (&[Vec<u8>; 2], &[Secret]),
    ) -> Result<Self, Failure> {
        let role = match requester {
            Requester::ThisEnd => Party::Initiator,
            Requester::Peer => Party::Responder,
        };
        let nonces = Nonces::new([&nonces[0], &nonces[1]], spis);
        let security = self.security.as_ref().ok_or(Failure::Cryptography)?;
        agreed.ppk = security.agreed.ppk;
        agreed.full_transcript = security.agreed.full_transcript;
        let (keys, cipher) = security.keys.replaced(agreed.prf, agreed.suite, secrets, &nonces);
        let protection = Protection::new(agreed.suite, &cipher, role == Party::Initiator)?;
        let chance = Chance::new(&mut self.chance);
        let state = (State::Established, chance);
        let mut sa = Self::new(self.config.clone(), role, self.ends, (spis, 0), state, now);
        sa.peer = self.peer.clone();
        (sa.proofs, sa.proof) = (self.proofs.clone(), self.proof);
        sa.asked = self.asked;
        sa.security = Some(Security {
            agreed,
            keys,
            unmixed: None,
            protection,
            nonces,
        });
        sa.begin(now, Vec::new());
        Ok(sa)
    }

    /// Checks a nonce against the PRF of this IKE_SA, and against that of the IKE_SA to be made.
    pub(super) fn is_long_enough(&self, nonce: &[u8], target: &Target) -> bool {
        let own = self.security.as_ref().map(|security| security.agreed.prf);
        let made = match target {
            Target::Ike { agreed, .. } => Some(agreed.prf),
            Target::Child { .. } => None,
        };
        own.into_iter()
            .chain(made)
            .all(|prf| nonce.len() >= prf.shortest_nonce())
    }

    /// An SPI of ESP that this IKE_SA does not use.
    pub(super) fn new_spi(&mut self) -> u32 {
        loop {
            let spi = random::esp_spi(&mut self.chance);
            if self.child(spi).is_none() {
                return spi;
            }
        }
    }
}
