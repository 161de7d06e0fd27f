//! Posture of a negotiation with a proxy: it is plaintext, and data after it may be encrypted.

use bartizan_wire::proxy::{Hop, Place, Secret, Stage};
use bartizan_wire::{Connection, Seen};

use crate::hole::{Hole, HoleKind};
use crate::{Judgement, Source, Verdict};

/// A connection that ends with a negotiation, or of which nothing behind it is read.
pub(crate) fn confidentiality(connection: &Connection, hop: &Hop) -> Judgement {
    let name = hop.protocol.name();
    let source = hop
        .span
        .map_or_else(|| Source::all(connection), |(first, last)| Source::between(first, last));
    let unread = |because: String| Judgement::new(Verdict::NotObservable, because, vec![source.clone()]);
    let because = match hop.stage {
        Stage::Missing => {
            return unread(format!(
                "bytes of {name} are missing from the capture: what is behind it is not read"
            ));
        }
        Stage::TooLong => {
            return unread(format!(
                "{name} is longer than what is read: what is behind it is not read"
            ));
        }
        Stage::Malformed => {
            return unread(format!(
                "{name} that does not follow its standard: what is behind it is not read"
            ));
        }
        Stage::Method(1) => {
            return unread(format!(
                "{name} with GSSAPI, which is not read: it may protect all behind it"
            ));
        }
        Stage::Method(other) => {
            return unread(format!(
                "{name} with authentication method {other}, which is not read: it may protect all behind it"
            ));
        }
        Stage::Relay => {
            let relay = hop.bound.as_ref().and_then(Place::port);
            let relay = relay.map_or_else(String::new, |port| format!(" at UDP port {port} of the proxy"));
            return unread(format!(
                "{name} UDP ASSOCIATE: what goes by the relay{relay} is not read on its own"
            ));
        }
        Stage::Refused(code) => format!("sent unencrypted: {name}, which the proxy refused ({code})"),
        Stage::Unanswered => format!("sent unencrypted: {name} without an answer of the proxy"),
        Stage::Open => format!("sent unencrypted: {name}, with nothing behind it"),
    };
    let sent = |traffic: &bartizan_wire::Traffic| traffic.stream.sent().saturating_sub(traffic.stream.bytes);
    let missing = sent(&connection.from_client) + sent(&connection.from_server);
    if hop.unread > 0 {
        return unread(format!("{because}; what is behind it is not read"));
    }
    if missing > 0 {
        return unread(format!("{because}; what else was sent is missing from the capture"));
    }
    Judgement::new(Verdict::ReadableNow, because, vec![source])
}

/// Negotiations that leave room for doubt of what is behind them.
pub(crate) fn doubted(connection: &Connection) -> Option<(String, Source)> {
    let hop = connection.proxies.iter().find(|hop| hop.is_beyond_comparison())?;
    let because = format!(
        "{} of {} bytes: segments behind it that contradict others are not detected",
        hop.protocol.name(),
        hop.bytes.iter().sum::<u64>()
    );
    Some((because, Source::all(connection)))
}

/// Credentials that clients send to proxies in plaintext.
pub(crate) fn secrets(connection: &Connection) -> impl Iterator<Item = Hole> {
    connection
        .negotiations()
        .filter_map(|hop| Some((hop, hop.secret.as_ref()?)))
        .map(|(hop, secret)| Hole {
            kind: HoleKind::ProxyCredentials,
            count: 1,
            judgement: exposed(hop, secret),
        })
}

fn exposed(hop: &Hop, secret: &Seen<Secret>) -> Judgement {
    let name = hop.protocol.name();
    let (verdict, because) = match &secret.value {
        Secret::UserPassword => (
            Verdict::ReadableNow,
            format!("{name} with user and password: an attacker who records it can use the proxy as this client"),
        ),
        Secret::Http(scheme) if scheme.eq_ignore_ascii_case("basic") || scheme.eq_ignore_ascii_case("bearer") => (
            Verdict::ReadableNow,
            format!("{name} with {scheme} credentials: an attacker who records it can use the proxy as this client"),
        ),
        Secret::Http(scheme) => (
            Verdict::NotObservable,
            format!("{name} with credentials of the scheme {scheme}: what they give away is not judged"),
        ),
    };
    Judgement::new(verdict, because, vec![Source::seen(secret)])
}
