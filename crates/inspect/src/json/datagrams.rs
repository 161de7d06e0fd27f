//! GTP-U, PFCP and GTPv2-C in the report for programs.

use std::borrow::Cow;

use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct DatagramFacts {
    protocol: Cow<'static, str>,
    messages: Vec<OfType>,
    messages_of_other_types: u64,
    endpoints_at_server: Vec<Endpoint>,
    endpoints_at_client: Vec<Endpoint>,
    messages_for_other_endpoints_at_server: u64,
    messages_for_other_endpoints_at_client: u64,
    user_packets: u64,
    user_packets_in_clear: u64,
    controlled_by: Option<String>,
}

/// Messages of one type.
#[derive(Serialize)]
struct OfType {
    r#type: u8,
    from_client: u64,
    from_server: u64,
}

/// A tunnel or session, by the number that the end gave it where it is.
#[derive(Serialize)]
struct Endpoint {
    number: String,
    messages: u64,
}

impl DatagramFacts {
    pub(super) fn new(datagrams: &Datagrams) -> Self {
        let seen = &datagrams.messages;
        let digits = match datagrams.protocol {
            DatagramProtocol::Pfcp => 16,
            _ => 8,
        };
        let endpoint = |&(number, messages): &(u64, u64)| Endpoint {
            number: format!("{number:0digits$x}"),
            messages,
        };
        let endpoints = |from: usize| seen.endpoints[from].iter().map(endpoint).collect();
        let types = seen.types.iter();
        Self {
            protocol: datagrams.protocol.name(),
            messages: types
                .map(|&(kind, [from_client, from_server])| OfType {
                    r#type: kind,
                    from_client,
                    from_server,
                })
                .collect(),
            messages_of_other_types: seen.other_types,
            // Whoever sends names an endpoint of the other.
            endpoints_at_server: endpoints(0),
            endpoints_at_client: endpoints(1),
            messages_for_other_endpoints_at_server: seen.other_endpoints[0],
            messages_for_other_endpoints_at_client: seen.other_endpoints[1],
            user_packets: datagrams.user_packets,
            user_packets_in_clear: datagrams.user_packets_in_clear,
            controlled_by: datagrams.controlled_by.map(|side| side.to_string()),
        }
    }
}
