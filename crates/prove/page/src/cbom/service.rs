//! Links as CycloneDX describes services, those in plaintext included: a bill of materials that
//! lists cryptography only is silent where there is none.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bartizan_posture::{Answer, Posture};
use serde_json::{Map, Value, json};

/// Links to one end that are alike in what they are and in both verdicts.
#[derive(Debug)]
pub(super) struct Service {
    name: String,
    endpoint: String,
    kind: String,
    interface: Option<&'static str>,
    confidentiality: (&'static str, String),
    authenticity: (&'static str, String),
    client_authenticated: Answer,
    links: u64,
    first: u64,
    last: u64,
    capture: usize,
}

impl Service {
    /// Returns the key of a link to `server`, and its service.
    pub(super) fn new(
        scheme: &str,
        server: &str,
        posture: &Posture,
        capture: usize,
        (first, last): (u64, u64),
    ) -> (String, Self) {
        let verdict =
            |judgement: &bartizan_posture::Judgement| (judgement.verdict().name(), judgement.because().to_owned());
        let service = Self {
            name: server.to_owned(),
            endpoint: endpoint(scheme, server),
            kind: posture.kind.name(),
            interface: posture.interface.map(|interface| interface.name),
            confidentiality: verdict(&posture.confidentiality),
            authenticity: verdict(&posture.authenticity),
            client_authenticated: posture.client_authenticated.answer(),
            links: 1,
            first,
            last,
            capture,
        };
        let reference = format!(
            "link/{}/{}/{}/{}/{}",
            capture + 1,
            service.endpoint,
            service.kind,
            service.confidentiality.0,
            service.authenticity.0
        );
        (reference, service)
    }

    /// One more of the same.
    pub(super) fn take(&mut self, other: &Self) {
        self.links += other.links;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        if self.client_authenticated == Answer::Yes {
            self.client_authenticated = other.client_authenticated;
        }
    }

    /// As the document writes it.
    pub(super) fn document(&self, reference: &str, captures: &[String]) -> Value {
        let mut service = Map::new();
        service.insert("bom-ref".into(), json!(reference));
        service.insert("name".into(), json!(self.name));
        service.insert("endpoints".into(), json!([self.endpoint]));
        match self.client_authenticated {
            Answer::Yes => drop(service.insert("authenticated".into(), json!(true))),
            Answer::No => drop(service.insert("authenticated".into(), json!(false))),
            Answer::NotObservable | Answer::NotSeen => {}
        }
        let capture = captures.get(self.capture).map_or("a capture", String::as_str);
        let mut properties = vec![
            property("kind", &self.kind),
            property("confidentiality", self.confidentiality.0),
            property("confidentiality:because", &self.confidentiality.1),
            property("authenticity", self.authenticity.0),
            property("authenticity:because", &self.authenticity.1),
            property("connections", &self.links.to_string()),
            property("evidence", &format!("{capture}, packets {}-{}", self.first, self.last)),
        ];
        if let Some(interface) = self.interface {
            properties.push(property("interface", interface));
        }
        service.insert("properties".into(), Value::Array(properties));
        Value::Object(service)
    }
}

/// The end as a URI (RFC 3986) that validators take: an IPv6 address without `::`, which some of
/// them refuse, and of what has no IP address its station.
fn endpoint(scheme: &str, server: &str) -> String {
    let in_full = |address: Ipv6Addr| address.segments().map(|group| format!("{group:x}")).join(":");
    if let Ok(SocketAddr::V6(socket)) = server.parse() {
        return format!("{scheme}://[{}]:{}", in_full(*socket.ip()), socket.port());
    }
    let bare = server.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return format!("{scheme}://[{}]", in_full(address));
    }
    match server.parse::<SocketAddr>().is_ok() || server.parse::<IpAddr>().is_ok() {
        true => format!("{scheme}://{server}"),
        false => format!("ethernet://{}", server.replace(':', "-")),
    }
}

/// A property in this project's name space.
pub(super) fn property(name: &str, value: &str) -> Value {
    json!({ "name": format!("bartizan:{name}"), "value": value })
}

#[cfg(test)]
mod tests {
    use super::endpoint;

    #[test]
    fn an_endpoint_is_a_uri_that_common_validators_take() {
        // cyclonedx-python-lib 11.12 refuses `tcp://[::1]:81` and takes the same address without `::`.
        for (scheme, server, uri) in [
            ("tcp", "[::1]:81", "tcp://[0:0:0:0:0:0:0:1]:81"),
            ("sctp", "[2001:db8::5]:38412", "sctp://[2001:db8:0:0:0:0:0:5]:38412"),
            ("esp", "[fd00::1]", "esp://[fd00:0:0:0:0:0:0:1]"),
            ("udp", "fd00::1", "udp://[fd00:0:0:0:0:0:0:1]"),
            ("tcp", "10.0.0.1:80", "tcp://10.0.0.1:80"),
            ("esp", "10.0.0.1", "esp://10.0.0.1"),
            ("udp", "02:00:00:00:00:01", "ethernet://02-00-00-00-00-01"),
        ] {
            assert_eq!(endpoint(scheme, server), uri);
        }
    }
}
