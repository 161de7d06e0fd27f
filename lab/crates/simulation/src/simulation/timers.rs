//! Timers of engines as shipped or configured: retransmission of requests, retry of set-ups,
//! admission by gateways.

use super::scenario::{Admission, Retransmission, Retry, SECOND};

/// Engine with its timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// strongSwan's defaults.
    StrongSwan,
    /// The configuration of strongSwan that Bartizan writes.
    Bartizan,
    /// TCP's, for TLS.
    Tcp,
}

/// COOKIE notification (RFC 7296, section 3.10.1) with strongSwan's cookie, a time of 4 bytes and a
/// SHA-1, and the headers of an answer that has nothing else.
const COOKIE: u64 = 8 + 4 + 20;
const HEADERS: u64 = 20 + 8 + 28;

impl Timers {
    /// As flags name them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StrongSwan => "strongswan",
            Self::Bartizan => "bartizan",
            Self::Tcp => "tcp",
        }
    }

    /// By their name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::StrongSwan, Self::Bartizan, Self::Tcp]
            .into_iter()
            .find(|timers| timers.name() == name)
    }

    /// Publication of the timers.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::StrongSwan => {
                "strongSwan's defaults (strongswan.conf: retransmit_timeout, retransmit_base, retransmit_tries, cookie_threshold, half_open_timeout)"
            }
            Self::Bartizan => {
                "the settings that Bartizan writes for strongSwan (retransmit_*, retry_initiate_interval, cookie_threshold by peers)"
            }
            Self::Tcp => {
                "RFC 6298, sections 2 and 5 (1 s, doubled); Linux' six retransmissions of a SYN (tcp_syn_retries)"
            }
        }
    }

    /// Retransmission of requests.
    #[must_use]
    pub const fn retransmission(self) -> Retransmission {
        match self {
            Self::StrongSwan => Retransmission {
                first_ns: 4 * SECOND,
                factor_percent: 180,
                // None: the last wait of five sendings is 76 s.
                longest_ns: 3_600 * SECOND,
                tries: 5,
                jitter_percent: 0,
            },
            Self::Bartizan => Retransmission {
                first_ns: SECOND,
                factor_percent: 180,
                longest_ns: 4 * SECOND,
                tries: 6,
                jitter_percent: 10,
            },
            Self::Tcp => Retransmission {
                first_ns: SECOND,
                factor_percent: 200,
                longest_ns: 120 * SECOND,
                tries: 6,
                jitter_percent: 0,
            },
        }
    }

    /// Retry of a site: strongSwan with `keyingtries = 0` retries at once, taken as a second; with
    /// `retry_initiate_interval` after that interval.
    #[must_use]
    pub const fn retry(self) -> Retry {
        let pause = match self {
            Self::StrongSwan | Self::Tcp => SECOND,
            Self::Bartizan => 5 * SECOND,
        };
        Retry {
            first_ns: pause,
            longest_ns: pause,
            jitter_percent: 0,
        }
    }

    /// Admission by a gateway with this number of sites.
    #[must_use]
    pub fn admission(self, sites_per_gateway: u64) -> Admission {
        Admission {
            cookies_from: match self {
                Self::StrongSwan => Some(30),
                Self::Bartizan => Some(sites_per_gateway.saturating_mul(2).max(30)),
                Self::Tcp => None,
            },
            queue: None,
            half_open_ns: 30 * SECOND,
            cookie_answer_bytes: HEADERS + COOKIE,
            cookie_request_bytes: COOKIE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongswan_gives_up_after_165_seconds_and_bartizans_settings_after_22() {
        let seconds = |timers: Timers| timers.retransmission().patience() as f64 / 1e9;
        assert!((seconds(Timers::StrongSwan) - 165.06).abs() < 0.01);
        // 1 + 1.8 + 3.24 + 4 x 4.
        assert!((seconds(Timers::Bartizan) - 22.04).abs() < 0.01);
        assert_eq!(Timers::named("tcp"), Some(Timers::Tcp));
        assert_eq!(Timers::named("udp"), None);
    }

    #[test]
    fn bartizans_threshold_lets_all_peers_begin_at_once() {
        assert_eq!(Timers::Bartizan.admission(250).cookies_from, Some(500));
        assert_eq!(Timers::StrongSwan.admission(250).cookies_from, Some(30));
    }
}
