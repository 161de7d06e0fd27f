//! Protocols as CycloneDX describes them: what two ends agreed on.

mod ipsec;

use bartizan_registry::{CipherSuite, NamedGroup, SignatureScheme};
use bartizan_wire::ssh::Ssh;
use bartizan_wire::tls::Version;
use serde_json::{Map, Value, json};

use super::algorithm::Algorithm;

pub(super) use ipsec::{Additional, Agreement};

/// A protocol as a component of the document.
pub(super) struct Protocol {
    pub(super) reference: String,
    pub(super) name: String,
    /// `protocolProperties`.
    pub(super) properties: Value,
    /// Algorithms agreed on, each with its evidence.
    pub(super) algorithms: Vec<(Algorithm, Seen)>,
}

/// Evidence that an algorithm is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The message that made the choice.
    InHello,
    /// The evidence of the server's authentication.
    ByServer,
    /// The evidence of the client's authentication.
    ByClient,
}

/// The choices of a TLS or DTLS handshake, as far as they are known.
pub(super) struct Agreed {
    pub(super) kind: &'static str,
    pub(super) version: Version,
    pub(super) suite: CipherSuite,
    pub(super) group: Option<NamedGroup>,
    /// The server's scheme and the client's.
    pub(super) schemes: [Option<SignatureScheme>; 2],
}

impl Protocol {
    pub(super) fn tls(agreed: &Agreed) -> Self {
        let Agreed {
            kind,
            version,
            suite,
            group,
            schemes,
        } = agreed;
        let in_hello = |algorithm| (algorithm, Seen::InHello);
        let mut algorithms: Vec<_> = group.iter().map(|&group| in_hello(Algorithm::group(group))).collect();
        let of_suite = Algorithm::of_suite(*suite);
        let references: Vec<&str> = of_suite.iter().map(|algorithm| algorithm.reference.as_str()).collect();
        let [high, low] = suite.0.to_be_bytes().map(|byte| format!("0x{byte:02X}"));
        let mut described = Map::new();
        described.insert("name".into(), json!(suite.to_string()));
        described.insert("algorithms".into(), json!(references));
        described.insert("identifiers".into(), json!([high, low]));
        if let Some(group) = group {
            described.insert("tlsGroups".into(), json!([group.to_string()]));
        }
        let mut named: Vec<String> = schemes.iter().flatten().map(ToString::to_string).collect();
        named.dedup();
        if !named.is_empty() {
            described.insert("tlsSignatureSchemes".into(), json!(named));
        }
        for (scheme, by) in schemes.iter().zip([Seen::ByServer, Seen::ByClient]) {
            algorithms.extend(scheme.map(|scheme| (Algorithm::scheme(scheme), by)));
        }
        algorithms.extend(of_suite.into_iter().map(in_hello));
        let code = |code: Option<u16>| code.map_or_else(|| "-".to_owned(), |code| format!("0x{code:04x}"));
        let [server, client] = schemes.map(|scheme| code(scheme.map(|scheme| scheme.0)));
        let group_name = group.map_or_else(String::new, |group| format!(", {group}"));
        let title = version.to_string();
        Self {
            reference: format!(
                "protocol/{kind}/0x{:04x}/0x{:04x}/{}/{server}/{client}",
                version.0,
                suite.0,
                code(group.map(|group| group.0))
            ),
            name: format!("{title}{group_name}, {suite}"),
            properties: json!({
                "type": kind,
                "version": title.split_once(' ').map_or(title.as_str(), |(_, number)| number),
                "cipherSuites": [described],
            }),
            algorithms,
        }
    }

    /// The choices of both ends of SSH; none before they had made them.
    pub(super) fn ssh(ssh: &Ssh) -> Option<Self> {
        let method = ssh.key_exchange().filter(|_| ssh.established())?;
        let mut algorithms = vec![(Algorithm::ssh_key_exchange(method), Seen::InHello)];
        let signature = ssh.host_key.as_ref().map(|seen| seen.value.signature.as_str());
        algorithms.extend(signature.map(|name| (Algorithm::ssh_signature(name), Seen::ByServer)));
        let references: Vec<&str> = algorithms.iter().map(|(known, _)| known.reference.as_str()).collect();
        let properties = json!({
            "type": "ssh",
            "version": "2.0",
            "cipherSuites": [{ "name": method, "algorithms": references }],
        });
        let signed = signature.unwrap_or("-");
        Some(Self {
            reference: format!("protocol/ssh/{method}/{signed}"),
            name: format!("SSH 2.0, {method}, {signed}"),
            properties,
            algorithms,
        })
    }
}
