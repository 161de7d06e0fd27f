//! TLS over TCP.

use std::collections::HashSet;
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use bartizan_registry::{CIPHERS, CipherSuite, GROUPS, NamedGroup, Safety, TlsVersion};
use bartizan_tls::{Asking, Shown};
use bartizan_wire::tls::{ServerHello, Version};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Stream};

use crate::answer::eliminate;
use crate::handshake::{answers, by_safety, safety};
use crate::hello::{Offer, Reply, ask as hello};
use crate::{Answer, Error, Session};

const VERSIONS: [Version; 4] = [Version::TLS13, Version::TLS12, Version::TLS11, Version(0x0301)];
/// Cipher suites without forward secrecy or without an AEAD, which the registry does not list.
const OLD: [(u16, &str); 16] = [
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
];
/// Protocols that ordinary clients offer.
const PROTOCOLS: [&str; 2] = ["h2", "http/1.1"];
/// Wait for a server that does not close after the client has.
const CLOSING: Duration = Duration::from_secs(2);

/// More of TLS 1.2 and before, by their numbers: DHE and ECDHE with CBC and 3DES, CCM, Camellia, ARIA.
const OLDER: [RangeInclusive<u16>; 12] = [
    0x0016..=0x0016,
    0x0033..=0x0033,
    0x0041..=0x0041,
    0x0045..=0x0045,
    0x0067..=0x0067,
    0x006b..=0x006b,
    0x0084..=0x0084,
    0x0088..=0x0088,
    0x00ba..=0x00c5,
    0xc008..=0xc012,
    0xc050..=0xc063,
    0xc072..=0xc0af,
];

fn suites(version: Version) -> Vec<CipherSuite> {
    let newest = version == Version::TLS13;
    let of = |known: TlsVersion| (known == TlsVersion::Tls13) == newest;
    let known = CIPHERS.iter().filter(|known| of(known.version)).map(|known| known.code);
    let numbered = OLDER.into_iter().flatten();
    let old = OLD.iter().map(|&(code, _)| code).chain(numbered);
    let mut all: Vec<_> = known.chain(old.map(CipherSuite).filter(|_| !newest)).collect();
    let mut asked = HashSet::new();
    all.retain(|suite| asked.insert(suite.0));
    all
}

fn name(suite: CipherSuite) -> String {
    let old = OLD.iter().find(|(code, _)| *code == suite.0);
    old.map_or_else(|| suite.to_string(), |(_, name)| (*name).to_owned())
}

pub(crate) fn ask(session: &mut Session<'_>) -> Result<Vec<Answer>, Error> {
    let groups = by_safety(GROUPS.iter().map(|known| known.code));
    let choose = |session: &mut Session<'_>, version: Version, ciphers: &[CipherSuite], groups: &[NamedGroup]| {
        let question = format!("{version}: {} suites, {} groups", ciphers.len(), groups.len());
        let offer = Offer {
            version,
            ciphers,
            groups,
        };
        let chosen = |hello: &ServerHello| hello.version == version;
        hello(session, &question, offer).map(|reply| match reply {
            Reply::Chosen(hello) if chosen(&hello) => Ok(hello),
            Reply::Chosen(hello) => Err(hello.version.to_string()),
            Reply::Refused(because) => Err(because),
        })
    };
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for version in VERSIONS {
        match choose(session, version, &suites(version), &groups)? {
            Ok(_) => accepted.push(version),
            Err(because) => refused.push(because),
        }
    }
    let implemented: Vec<_> = by_safety(Asking::groups());
    let ciphers = suites(Version::TLS13);
    let mut all = Vec::new();
    let mut found = if accepted.contains(&Version::TLS13) {
        let found = eliminate(&groups, |left| {
            let hello = choose(session, Version::TLS13, &ciphers, left)?;
            Ok::<_, Error>(hello.ok().and_then(|hello| Some(hello.key_share?.group)))
        })?;
        // The same offer in the reverse order: a server with an order of its own chooses alike.
        if let [first, _, ..] = found[..] {
            let reversed: Vec<_> = found.iter().rev().copied().collect();
            let hello = choose(session, Version::TLS13, &ciphers, &reversed)?.ok();
            let is_own = hello.and_then(|hello| Some(hello.key_share?.group)) == Some(first);
            let end = if is_own { "the server" } else { "the client" };
            all.push(Answer::new("group chosen by", [end]));
        }
        let suites = eliminate(&ciphers, |left| {
            let hello = choose(session, Version::TLS13, left, &groups)?;
            Ok::<_, Error>(hello.ok().map(|hello| CipherSuite(hello.cipher_suite)))
        })?;
        all.push(Answer::new("suites of TLS 1.3", suites));
        found
    } else {
        // A server may refuse a hello without a key share.
        let place = session.tape.place();
        let found = eliminate(&implemented, |left| {
            handshake(session, "a hello with a key share", left).map(|(shown, _)| shown.group)
        })?;
        session.tape.forget(place);
        found
    };
    if found.iter().all(|&code| safety(code) == Some(Safety::QuantumSafe)) {
        // A server may refuse a classical hello for want of a key share, and admit the client.
        let mut classical = implemented.clone();
        classical.retain(|&code| safety(code) != Some(Safety::QuantumSafe));
        let place = session.tape.place();
        let admitted = handshake(session, "a classical handshake", &classical)?.0.group;
        session.tape.forget(place);
        found.extend(admitted);
    }
    if !found.is_empty() {
        accepted.retain(|version| *version != Version::TLS13);
        accepted.insert(0, Version::TLS13);
        all.splice(0..0, Answer::exchanges("groups", &found, safety));
    }
    if accepted.is_empty() {
        return Err(match refused.iter().all(|because| because == "closed") {
            true => Error::Closed,
            false => Error::Foreign(format!("refuses every version of TLS: {}", refused.join(", "))),
        });
    }
    let old = accepted.iter().any(|version| *version < Version::TLS13);
    let versions = Answer::new("versions", &accepted);
    all.insert(
        0,
        versions.finding(old, "versions before TLS 1.3 have no post-quantum group"),
    );
    if accepted.contains(&Version::TLS12) {
        let suites = eliminate(&suites(Version::TLS12), |left| {
            let hello = choose(session, Version::TLS12, left, &groups)?;
            Ok::<_, Error>(hello.ok().map(|hello| CipherSuite(hello.cipher_suite)))
        })?;
        all.push(Answer::new("suites of TLS 1.2", suites.into_iter().map(name)));
    }
    found.retain(|code| implemented.contains(code));
    if !found.is_empty() {
        let (shown, refused) = handshake(session, "a whole handshake", &found)?;
        all.extend(answers(&shown, refused));
        let count = found.len();
        found.retain(|&code| safety(code) != Some(Safety::QuantumSafe));
        if !found.is_empty() && found.len() < count {
            // The downgrade as packets, for the inspector.
            let _ = handshake(session, "a classical handshake", &found)?;
        }
    }
    Ok(all)
}

/// A handshake that is recorded up to the end of the connection: values shown, and the reason for
/// which it failed.
fn handshake(
    session: &mut Session<'_>,
    question: &str,
    groups: &[NamedGroup],
) -> Result<(Shown, Option<String>), Error> {
    let ours = |error: &dyn ToString| Error::Ours(error.to_string());
    let asking = Asking::new(groups, &PROTOCOLS, session.tape.secrets()).map_err(|error| ours(&error))?;
    let watch = asking.watch();
    let name = match &session.name {
        Some(name) => ServerName::try_from(name.clone()).map_err(|error| ours(&error))?,
        None => session.server.ip().into(),
    };
    let mut client = ClientConnection::new(Arc::new(asking.config), name).map_err(|error| ours(&error))?;
    let mut connection = session.connect(question, true)?;
    while client.is_handshaking() {
        if let Err(error) = client.complete_io(&mut connection) {
            return Ok((watch(), Some(error.to_string())));
        }
    }
    client.send_close_notify();
    connection.hurry(CLOSING);
    // Tickets come before the answer to the end, an alert in place of both.
    let mut tls = Stream::new(&mut client, &mut connection);
    let mut buffer = vec![0; 4096];
    loop {
        match tls.read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if is_of_tls(&error) => {
                return Ok((watch(), Some(error.to_string())));
            }
            Ok(0) | Err(_) => return Ok((watch(), None)),
        }
    }
}

/// Returns true if an error is one of TLS, and not of the connection below.
fn is_of_tls(error: &io::Error) -> bool {
    let inner = error.get_ref();
    inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
}
