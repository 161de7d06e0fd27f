//! First requests: admitted, refused, or asked to come again with a cookie (RFC 7296, section 2.6).

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use aws_lc_rs::{constant_time, hmac};
use bartizan_wire::ike::{Body, ExchangeType, Flags, Header, Message, NotifyType, Payload, PayloadType, Transform};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::error::Failure;
use crate::proposal::{self, IKE};
use crate::random::Random;
use crate::sa::{Ends, IkeSa, Init, encode, unknown_critical};

/// Bytes of the secret that cookies are made with.
const SECRET: usize = 32;
/// Period of a cookie secret. Its cookies are taken in the next period too (RFC 7296, section
/// 2.6).
const PERIOD: Duration = Duration::from_secs(60);

/// Result of a first request.
pub enum Admission {
    /// An IKE_SA, whose answer waits to be sent.
    Admitted(Box<IkeSa>),
    /// This datagram is the answer, and nothing is kept.
    Answered(Vec<u8>),
    /// The same about data of a key exchange that cannot be used: as much work as an IKE_SA.
    Refused(Vec<u8>),
    /// Nothing.
    Ignored,
}

/// Answers first requests without keeping anything of those that it does not admit.
pub struct Acceptor {
    config: Arc<Config>,
    cookies: Cookies,
}

/// The secret of cookies. An endpoint has one for all of its peers: a cookie names the address that
/// it is for.
#[derive(Clone)]
pub(crate) struct Cookies(Arc<Secrets>);

struct Secrets {
    /// Key that the secret of each period is derived from.
    drawn: hmac::Key,
    /// Start of the first period.
    since: OnceLock<Instant>,
}

impl Cookies {
    pub(crate) fn new(random: &mut dyn Random) -> Self {
        let mut secret = Zeroizing::new([0; SECRET]);
        random.fill(&mut secret[..]);
        Self(Arc::new(Secrets {
            drawn: hmac::Key::new(hmac::HMAC_SHA256, &secret[..]),
            since: OnceLock::new(),
        }))
    }

    fn period(&self, now: Instant) -> u64 {
        let since = self.0.since.get_or_init(|| now);
        now.saturating_duration_since(*since).as_secs() / PERIOD.as_secs()
    }

    fn secret(&self, period: u64) -> hmac::Key {
        let secret = hmac::sign(&self.0.drawn, &period.to_be_bytes());
        hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref())
    }
}

impl Acceptor {
    /// One for IKE_SAs of this configuration.
    pub fn new(config: Arc<Config>, random: &mut dyn Random) -> Self {
        Self::with(config, Cookies::new(random))
    }

    pub(crate) fn with(config: Arc<Config>, cookies: Cookies) -> Self {
        Self { config, cookies }
    }

    /// A datagram that belongs to no IKE_SA. `must_return` demands a cookie: many IKE_SAs are half
    /// open, and who comes from an address that is not its own does not see it.
    pub fn admit(
        &self,
        ends: Ends,
        datagram: &[u8],
        must_return: bool,
        random: &mut dyn Random,
        now: Instant,
    ) -> Admission {
        let Ok(header) = Header::read(datagram) else {
            return Admission::Ignored;
        };
        let is_first = header.major == 2
            && header.length as usize == datagram.len()
            && header.exchange == ExchangeType::IKE_SA_INIT
            && header.flags.is_from_initiator()
            && !header.flags.is_response()
            && header.message_id == 0
            && header.responder_spi == 0;
        let message = Message::read(header.next, &datagram[Header::LENGTH..]);
        let (true, Ok(message)) = (is_first, message) else {
            return Admission::Ignored;
        };
        if let Some(unknown) = unknown_critical(&message) {
            return answered(&header, NotifyType::UNSUPPORTED_CRITICAL_PAYLOAD, &[unknown.0]);
        }
        let Ok(init) = Init::of(&message) else {
            return answered(&header, NotifyType::INVALID_SYNTAX, &[]);
        };
        let period = self.cookies.period(now);
        if must_return && !self.returns(&message, &header, ends, (init.nonce, period)) {
            let cookie = self.cookie(&header, ends, (init.nonce, period));
            return answered(&header, NotifyType::COOKIE, cookie.as_ref());
        }
        let Some(chosen) = proposal::choose(init.proposals, &self.config.proposals, IKE) else {
            return answered(&header, NotifyType::NO_PROPOSAL_CHOSEN, &[]);
        };
        let wanted = chosen
            .transforms
            .iter()
            .find(|transform| transform.kind == Transform::KE);
        let wanted = wanted.and_then(|transform| transform.key_exchange());
        if let Some(wanted) = wanted.filter(|wanted| *wanted != init.key_exchange.0) {
            return answered(&header, NotifyType::INVALID_KE_PAYLOAD, &wanted.0.to_be_bytes());
        }
        let config = Arc::clone(&self.config);
        match IkeSa::respond(config, ends, random, now, (&header, datagram), (&init, &chosen)) {
            Ok(sa) => Admission::Admitted(Box::new(sa)),
            Err(Failure::KeyExchange(_)) => {
                answer(&header, NotifyType::INVALID_SYNTAX, &[]).map_or(Admission::Ignored, Admission::Refused)
            }
            Err(Failure::Incomplete(_)) => answered(&header, NotifyType::INVALID_SYNTAX, &[]),
            Err(_) => answered(&header, NotifyType::NO_PROPOSAL_CHOSEN, &[]),
        }
    }

    /// A digest of what comes again unchanged, under a secret: nothing needs to be kept to know it.
    fn cookie(&self, header: &Header, ends: Ends, (nonce, period): (&[u8], u64)) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.cookies.secret(period));
        context.update(&header.initiator_spi.to_be_bytes());
        context.update(ends.remote.to_string().as_bytes());
        context.update(nonce);
        context.sign()
    }

    /// Checks that a request brings a cookie of this period or of the one before.
    fn returns(&self, message: &Message<'_>, header: &Header, ends: Ends, (nonce, period): (&[u8], u64)) -> bool {
        let brought = message.payloads.iter().find_map(|payload| match payload.body {
            Body::Notify { kind, data, .. } if kind == NotifyType::COOKIE => Some(data),
            _ => None,
        });
        let is_of = |brought: &[u8], period: u64| {
            let cookie = self.cookie(header, ends, (nonce, period));
            constant_time::verify_slices_are_equal(brought, cookie.as_ref()).is_ok()
        };
        let mut periods = std::iter::once(period).chain(period.checked_sub(1));
        brought.is_some_and(|brought| periods.any(|period| is_of(brought, period)))
    }
}

/// An answer about a request of which nothing is kept: the responder has no SPI (RFC 7296, section 2.6).
fn answered(request: &Header, kind: NotifyType, data: &[u8]) -> Admission {
    answer(request, kind, data).map_or(Admission::Ignored, Admission::Answered)
}

fn answer(request: &Header, kind: NotifyType, data: &[u8]) -> Option<Vec<u8>> {
    let header = Header {
        next: PayloadType::NONE,
        flags: Flags(Flags::RESPONSE),
        length: 0,
        ..*request
    };
    let body = Body::Notify {
        protocol: 0,
        spi: &[],
        kind,
        data,
    };
    let payload = Payload {
        kind: PayloadType::NOTIFY,
        critical: false,
        body,
    };
    encode(header, vec![payload]).ok()
}
