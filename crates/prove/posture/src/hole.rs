//! Exposure above the transport: unencrypted SUCIs and tokens. They are judged by themselves, and
//! are never part of the verdicts on the connection that carries them.

use std::fmt;

use bartizan_registry::{Safety, jws_algorithm, suci_scheme};
use bartizan_wire::exposed::{Exposed, Sighting, Sightings};
use bartizan_wire::{Connection, Moment};

use crate::requests::Tunnel;
use crate::{Judgement, Source, Verdict};

bartizan_registry::named! {
    /// Kind of exposure, which decides the remedy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum HoleKind, as_str {
        /// A concealed or unconcealed identifier of a subscriber.
        Suci = "suci",
        /// A JSON web token.
        Token = "token",
        /// Credentials of a client for a proxy.
        ProxyCredentials = "proxy-credentials",
        /// Streams through a proxy, within a connection.
        Tunnel = "tunnel",
        /// Connections that continue behind a proxy that is reached by TLS.
        BehindProxy = "behind-proxy",
    }
}

impl fmt::Display for HoleKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

bartizan_registry::made! {
    /// Something exposed above the transport.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Hole,
    /// Exposure of a connection behind a proxy that is reached by TLS, judged by its content.
    pub(crate) behind(judgement: &Judgement, connection: &Connection) {
        let names: Vec<&str> = connection.negotiations().map(|hop| hop.protocol.name()).collect();
        let because = format!("behind {} within TLS: {}", names.join(" and "), judgement.because());
        /// Kind of exposure.
        pub kind: HoleKind = HoleKind::BehindProxy,
        /// Number of sightings.
        pub count: u64 = 1,
        /// For a SUCI, the judgement on harvesting the subscriber's identifier now and decrypting
        /// it later; for a token, the judgement on forging one.
        pub judgement: Judgement = Judgement::new(judgement.judged(), because, judgement.sources().to_vec()),
    }
}

impl Hole {
    /// Streams that go through a proxy to one destination within a connection of HTTP/2 (RFC 9113, section 8.5), or carry another
    /// protocol (RFC 8441).
    pub(crate) fn tunnels(tunnel: &Tunnel, count: u64, first: Moment) -> Self {
        let because = format!("{tunnel}: what is in its streams is not read on its own");
        Self {
            kind: HoleKind::Tunnel,
            count,
            judgement: Judgement::new(Verdict::NotObservable, because, vec![Source::between(first, first)]),
        }
    }

    pub(crate) fn all(sightings: &Sightings) -> Vec<Self> {
        sightings.all().iter().map(Self::of).collect()
    }

    /// Exposures that protection of the transport does not close: a forger of tokens need not read
    /// one.
    pub(crate) fn tokens(sightings: &Sightings) -> Vec<Self> {
        let all = sightings.all().iter();
        all.filter(|seen| matches!(seen.what, Exposed::Token(_)))
            .map(Self::of)
            .collect()
    }

    fn of(seen: &Sighting) -> Self {
        let (kind, (verdict, because)) = match &seen.what {
            Exposed::Suci(scheme) => (HoleKind::Suci, suci(*scheme)),
            Exposed::Token(algorithm) => (HoleKind::Token, token(algorithm)),
        };
        // The first alone: others lie between it and the last without being next to each other.
        let sources = vec![Source::between(seen.first, seen.first)];
        Self {
            kind,
            count: seen.count,
            judgement: Judgement::new(verdict, because, sources),
        }
    }
}

fn suci(code: u8) -> (Verdict, String) {
    match suci_scheme(code) {
        Some(known) => match known.recording {
            None => {
                let because = format!("SUCI with the {}: it is the subscriber's identifier itself", known.name);
                (Verdict::ReadableNow, because)
            }
            Some(Safety::Vulnerable) => {
                let because = format!(
                    "SUCI with {}: classical, an attacker who records it reads the identifier later",
                    known.name
                );
                (Verdict::Vulnerable, because)
            }
            Some(Safety::QuantumSafe) => (Verdict::QuantumSafe, format!("SUCI with {}", known.name)),
        },
        None => {
            let because = format!("SUCI with scheme {code}, which the registry does not know");
            (Verdict::NotObservable, because)
        }
    }
}

fn token(algorithm: &str) -> (Verdict, String) {
    match jws_algorithm(algorithm).map(|known| known.forgery) {
        Some(Some(Safety::Vulnerable)) if algorithm == "none" => (
            Verdict::Vulnerable,
            "JSON web token that nobody signed (none)".to_owned(),
        ),
        Some(Some(Safety::Vulnerable)) => {
            let because =
                format!("JSON web token signed with {algorithm}: classical, a forger grants himself access later");
            (Verdict::Vulnerable, because)
        }
        Some(Some(Safety::QuantumSafe)) => (Verdict::QuantumSafe, format!("JSON web token signed with {algorithm}")),
        Some(None) => {
            let because = format!("JSON web token with {algorithm}: as hard to forge as its shared key is to learn");
            (Verdict::NotObservable, because)
        }
        None => {
            let because = format!("JSON web token signed with {algorithm}, which the registry does not know");
            (Verdict::NotObservable, because)
        }
    }
}
