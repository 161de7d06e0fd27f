//! Requests in plaintext: their interface, the functions of server and client, and unencrypted data
//! in their header fields.

use std::collections::BTreeSet;
use std::fmt;

use bartizan_http2::{Decoder, Fields};
use bartizan_registry::{NETWORK_DOMAIN, SBI_HEADER, http_api, network_function_named, network_function_of};
use bartizan_wire::exposed::Sightings;
use bartizan_wire::http1::Http1;
use bartizan_wire::http2::Http2;
use bartizan_wire::{Moment, Seen};

use crate::hole::Hole;
use crate::{Hint, Interface};

/// Bytes of a decompressed list of header fields that are looked at: a table makes long lists of short blocks.
const LIST: usize = 16 << 10;
/// Segments of a path among which the API's name is looked for: a deployment may put some before it (TS 29.501, clause 4.4.1).
const SEGMENTS: usize = 4;
/// Characters of a tunnel's destination that are shown: the longest name (RFC 1035, section 2.3.4) and a port.
const DESTINATION: usize = 261;

/// Target of a request with CONNECT, in the words of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tunnel {
    /// The destination; empty where the request has none.
    destination: String,
    /// The protocol of an extended CONNECT (RFC 8441).
    protocol: Option<String>,
}

impl Tunnel {
    /// From a request's fields; none if its method is another.
    fn of(fields: &Fields) -> Option<Self> {
        let value = |wanted: &[u8]| {
            fields
                .iter()
                .find(|(name, ..)| *name == wanted)
                .map(|(_, value, _)| value)
        };
        let shown = |text: &[u8]| {
            let shown = |byte: &u8| {
                if byte.is_ascii_graphic() {
                    char::from(*byte)
                } else {
                    '?'
                }
            };
            text.iter().take(DESTINATION).map(shown).collect::<String>()
        };
        (value(b":method") == Some(b"CONNECT")).then(|| Self {
            destination: value(b":authority").map(shown).unwrap_or_default(),
            protocol: value(b":protocol").map(shown),
        })
    }
}

impl fmt::Display for Tunnel {
    /// `CONNECT over HTTP/2 to nrf.example:443`, `CONNECT over HTTP/2 to scp.example for websocket`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CONNECT over HTTP/2")?;
        if !self.destination.is_empty() {
            write!(f, " to {}", self.destination)?;
        }
        match &self.protocol {
            Some(protocol) => write!(f, " for {protocol}"),
            None => Ok(()),
        }
    }
}

/// Findings from the requests of a connection.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The interface, by the strongest hint, with the packet of the first request that gives it.
    pub(crate) interface: Option<(Interface, Moment)>,
    /// Functions of the client and of the server.
    pub(crate) functions: [BTreeSet<&'static str>; 2],
    /// Unencrypted secrets in header fields of HTTP/2.
    pub(crate) sightings: Sightings,
    /// Requests for tunnels through a proxy, by what they ask for.
    pub(crate) tunnels: Vec<Hole>,
}

impl Shown {
    /// By the header blocks that were kept. They may not be the connection's first: what refers to earlier ones is left out.
    pub(crate) fn by_http2(http2: &Http2) -> Self {
        let mut shown = Self::by_http1_head(http2.upgrade.as_ref());
        let mut decoder = Decoder::for_bystander();
        let mut tunnels: Vec<(Tunnel, u64, Moment)> = Vec::new();
        for block in &http2.requests {
            let mut fields = Fields::new();
            let whole = decoder.decode(&block.bytes, LIST, &mut fields).is_ok();
            for (_, value, _) in fields.iter() {
                shown.sightings.text(value, block.at);
            }
            if let Some(tunnel) = Tunnel::of(&fields) {
                match tunnels.iter_mut().find(|(known, ..)| *known == tunnel) {
                    Some((_, count, _)) => *count += 1,
                    None => tunnels.push((tunnel, 1, block.at)),
                }
            }
            shown.request(fields.iter().map(|(name, value, _)| (name, value)), block.at);
            if !whole {
                // The table of those that follow is not known.
                break;
            }
        }
        let holes = tunnels
            .iter()
            .map(|(tunnel, count, first)| Hole::tunnels(tunnel, *count, *first));
        shown.tunnels = holes.collect();
        shown
    }

    /// By the head of the first request.
    pub(crate) fn by_http1(http1: &Http1) -> Self {
        Self::by_http1_head(http1.request.as_ref())
    }

    fn by_http1_head(head: Option<&Seen<Box<[u8]>>>) -> Self {
        let mut shown = Self::default();
        if let Some(Seen { value: head, last, .. }) = head {
            let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            let line = lines.next().unwrap_or_default();
            let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let fields: Vec<(Vec<u8>, &[u8])> = lines
                .filter_map(|line| {
                    let colon = line.iter().position(|byte| *byte == b':')?;
                    Some((line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii()))
                })
                .collect();
            let fields = fields.iter().map(|(name, value)| (name.as_slice(), *value));
            shown.request(std::iter::once((&b":path"[..], target)).chain(fields), *last);
        }
        shown
    }

    fn request<'a>(&mut self, fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone, at: Moment) {
        let value = |wanted: &str| {
            let mut fields = fields.clone();
            let found = fields.find(|(name, _)| *name == wanted.as_bytes());
            found.and_then(|(_, value)| std::str::from_utf8(value).ok())
        };
        if let Some(target) = value(":path") {
            self.path(target, at);
        }
        let is_sbi = |(name, _): (&[u8], _)| name.starts_with(SBI_HEADER.as_bytes());
        if fields.clone().any(is_sbi) {
            self.name("SBI", Hint::RequestHeader, at);
        }
        // The network function's type, alone or before a hyphen (TS 29.500, clause 5.2.2.2).
        let agent = value("user-agent").and_then(|agent| {
            let name = agent.split(['-', ' ', '/']).next()?;
            network_function_named(name)
        });
        if let Some(agent) = agent {
            self.name("SBI", Hint::RequestHeader, at);
            self.functions[0].insert(agent.name);
        }
        if let Some(name) = value(":authority").or_else(|| value("host")) {
            let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
            self.server_name(host, at);
        }
    }

    fn path(&mut self, target: &str, at: Moment) {
        // A proxy is given the whole URI (RFC 9112, section 3.2.2).
        let path = match target.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
            None => target,
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut segments = path.split('/').filter(|segment| !segment.is_empty()).peekable();
        for _ in 0..SEGMENTS {
            let Some(segment) = segments.next() else { return };
            if let Some(api) = http_api(segment) {
                self.name(api.interface, Hint::RequestPath, at);
                self.functions[0].insert(api.client);
                self.functions[1].insert(api.server);
                return;
            }
            let versioned = segments.peek().is_some_and(|next| is_version(next));
            if let Some(function) = network_function_of(segment).filter(|_| versioned) {
                self.name("SBI", Hint::RequestPath, at);
                self.functions[1].insert(function.name);
                // A client of an NRF names its own type (TS 29.510, clause 6.2.3.2.3.1).
                let asks = query
                    .split('&')
                    .find_map(|part| part.strip_prefix("requester-nf-type="));
                if let Some(function) = asks.and_then(network_function_named) {
                    self.functions[0].insert(function.name);
                }
                return;
            }
        }
    }

    /// By the name that the server is asked for.
    pub(crate) fn server_name(&mut self, name: &str, at: Moment) {
        let Some((interface, function)) = named_server(name) else {
            return;
        };
        self.name(interface, Hint::ServerName, at);
        self.functions[1].extend(function);
    }

    /// The stronger hint counts; of equal ones the first.
    fn name(&mut self, name: &'static str, by: Hint, at: Moment) {
        if self.interface.is_none_or(|(known, _)| by < known.by) {
            self.interface = Some((Interface { name, by }, at));
        }
    }
}

/// `v1`, `v2`.
fn is_version(segment: &str) -> bool {
    segment
        .strip_prefix('v')
        .is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

/// The interface on which a host of this name is asked, and what it is: names of network functions (TS 23.003, clause 28.3.2),
/// of which a SEPP's are those on N32 (clause 28.3.2.5).
fn named_server(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    let name = name.to_ascii_lowercase();
    let network = name.strip_suffix(NETWORK_DOMAIN)?;
    let mut labels = network.rsplit('.');
    let (country, code, core) = (labels.next()?, labels.next()?, labels.next()?);
    let numbered = |label: &str, prefix| {
        label
            .strip_prefix(prefix)
            .is_some_and(|rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !numbered(country, "mcc") || !numbered(code, "mnc") || core != "5gc" {
        return None;
    }
    let function = |label: &str| {
        let plain = label.trim_end_matches(|last: char| last.is_ascii_digit());
        network_function_of(&format!("n{plain}-x")).map(|known| known.name)
    };
    let functions: Vec<&'static str> = labels.filter_map(function).collect();
    if functions.contains(&"SEPP") {
        return Some(("N32", Some("SEPP")));
    }
    Some(("SBI", functions.first().copied()))
}

#[cfg(test)]
mod tests {
    use bartizan_wire::Timestamp;

    use super::*;

    const AT: Moment = Moment {
        packet: 12,
        time: Timestamp(0),
    };

    fn shown(fields: &[(&str, &str)]) -> (Option<(&'static str, Hint)>, [Vec<&'static str>; 2]) {
        let mut shown = Shown::default();
        shown.request(
            fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())),
            AT,
        );
        let interface = shown.interface.map(|(interface, _)| (interface.name, interface.by));
        (
            interface,
            shown.functions.map(|functions| functions.into_iter().collect()),
        )
    }

    #[test]
    fn a_path_names_the_interface_and_who_serves() {
        let path = |path: &str| shown(&[(":path", path)]);
        let by_path = |name| Some((name, Hint::RequestPath));
        assert_eq!(
            path("/nudm-sdm/v2/imsi-1/am-data"),
            (by_path("SBI"), [vec![], vec!["UDM"]])
        );
        assert_eq!(
            path("/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF"),
            (by_path("SBI"), [vec!["AMF"], vec!["NRF"]])
        );
        assert_eq!(path("/core/one/nsmf-pdusession/v1/sm-contexts").0, by_path("SBI"));
        assert_eq!(path("http://scp.example/nausf-auth/v1/x").0, by_path("SBI"));
        assert_eq!(path("/n32c-handshake/v1/exchange-capability").0, by_path("N32"));
        assert_eq!(
            path("/a1mediator/A1-P/v2/policytypes"),
            (by_path("A1"), [vec!["non-RT RIC"], vec!["near-RT RIC"]])
        );
        assert_eq!(path("/o2ims-infrastructureInventory/v1").0, by_path("O2"));
        assert_eq!(path("/eventListener/v7").0, by_path("O1"));
    }

    #[test]
    fn what_is_like_a_service_and_is_none_names_nothing() {
        for path in [
            "/",
            "",
            "*",
            "/nginx-status/v1",
            "/nnrf-disc",
            "/nnrf-disc/metrics",
            "/a/b/c/d/nnrf-disc/v1",
            "//",
        ] {
            assert_eq!(shown(&[(":path", path)]).0, None, "{path}");
        }
    }

    #[test]
    fn a_path_counts_more_than_a_header_field_and_that_more_than_a_name() {
        let host = (":authority", "amf1.amf.5gc.mnc093.mcc208.3gppnetwork.org:8000");
        let header = ("3gpp-sbi-callback", "Nudm_SDM_Notification");
        assert_eq!(shown(&[host]).0, Some(("SBI", Hint::ServerName)));
        assert_eq!(
            shown(&[host, header, (":path", "/x")]).0,
            Some(("SBI", Hint::RequestHeader))
        );
        assert_eq!(
            shown(&[host, header, (":path", "/n32f-forward/v1")]).0,
            Some(("N32", Hint::RequestPath))
        );
        assert_eq!(
            shown(&[("user-agent", "AMF-54804518-4191-46b3-955c-ac631f953ed8")]),
            (Some(("SBI", Hint::RequestHeader)), [vec!["AMF"], vec![]])
        );
        assert_eq!(shown(&[("user-agent", "AMFoo/1.0")]).0, None);
    }

    #[test]
    fn a_server_is_named_as_the_numbering_plan_says_or_not_at_all() {
        assert_eq!(
            named_server("nrf.5gc.mnc093.mcc208.3gppnetwork.org"),
            Some(("SBI", Some("NRF")))
        );
        assert_eq!(
            named_server("SEPP2.5gc.mnc01.mcc001.3gppnetwork.org"),
            Some(("N32", Some("SEPP")))
        );
        assert_eq!(named_server("x.5gc.mnc01.mcc001.3gppnetwork.org"), Some(("SBI", None)));
        for other in [
            "nrf.5gc",
            "nrf.5gc.mnc.mcc001.3gppnetwork.org",
            "ims.mnc001.mcc001.3gppnetwork.org",
            "",
        ] {
            assert_eq!(named_server(other), None, "{other}");
        }
    }
}
