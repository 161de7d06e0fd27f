//! IKE_SAs, ESP and SCTP in the report for programs.

use bartizan_posture::{KeyExchangeClass, Posture};
use bartizan_wire::esp::{Carrier, EspSa};
use bartizan_wire::ike::{Exchange, Half, IkeSa, KeyExchangeMethod, Notified, PartyTraffic, Proposal, Retry};
use bartizan_wire::sctp::{Association, Sent};
use serde::Serialize;

use super::ike_opened::IkeOpened;
use super::phase_1;
use super::{Code, dtls};

#[derive(Serialize)]
pub(super) struct Ike {
    initiator_spi: String,
    responder_spi: String,
    version: String,
    origin: &'static str,
    proposals_offered: Vec<Offer>,
    key_exchange_offered: Option<Data>,
    first_proposals_offered: Vec<Offer>,
    first_key_exchange_offered: Option<Data>,
    chosen: Option<Offer>,
    key_exchange_chosen: Option<Data>,
    key_exchanges: Vec<Code>,
    key_exchange_class: Option<&'static str>,
    retries: Vec<String>,
    refused: Option<String>,
    notified_by_initiator: Vec<Code>,
    notified_by_responder: Vec<Code>,
    exchanges: Vec<ExchangeFacts>,
    exchanges_not_listed: u64,
    informational: u64,
    rekeys: u64,
    refused_rekeys: u64,
    incomplete_rekeys: u64,
    set_up_ns: Option<u64>,
    from_initiator: PartyFacts,
    from_responder: PartyFacts,
    nat_traversal: bool,
    faults: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase_1: Option<phase_1::Negotiated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<IkeOpened>,
}

#[derive(Serialize)]
struct Offer {
    number: u8,
    transforms: Vec<TransformFacts>,
}

#[derive(Serialize)]
struct TransformFacts {
    r#type: u8,
    code: u16,
    key_bits: Option<u16>,
    name: String,
}

#[derive(Serialize)]
struct Data {
    code: u16,
    name: String,
    bytes: usize,
}

#[derive(Serialize)]
struct ExchangeFacts {
    exchange: String,
    code: u8,
    message_id: u32,
    requester: String,
    duration_ns: Option<u64>,
    request: Option<HalfFacts>,
    response: Option<HalfFacts>,
}

#[derive(Serialize)]
struct HalfFacts {
    first_packet: u64,
    last_packet: u64,
    first_ns: u64,
    last_ns: u64,
    complete: bool,
    packets: u32,
    ip_fragments: u32,
    ike_fragments: u16,
    ike_bytes: u64,
    ip_bytes: u64,
    retransmissions: u32,
}

#[derive(Serialize)]
struct PartyFacts {
    packets: u64,
    ip_bytes: u64,
    ip_fragments: u64,
    ike_fragments: u64,
    retransmissions: u64,
}

impl Ike {
    pub(super) fn new(sa: &IkeSa, posture: &Posture) -> Self {
        let data = |data: bartizan_wire::ike::KeyExchangeData| Data {
            code: data.method.0,
            name: data.method.to_string(),
            bytes: data.length.into(),
        };
        let notified = |end| {
            let of = sa
                .notified
                .first
                .iter()
                .filter(move |notified: &&Notified| notified.from == end);
            of.map(|notified| Code {
                code: notified.kind.0,
                name: notified.kind.to_string(),
            })
            .collect()
        };
        let first = sa.first_offer.as_deref();
        Self {
            initiator_spi: format!("{:016x}", sa.initiator_spi),
            responder_spi: format!("{:016x}", sa.responder_spi),
            version: format!("{}.{}", sa.version.0, sa.version.1),
            origin: match sa.origin {
                bartizan_wire::ike::Origin::Resumed => "resumed",
                bartizan_wire::ike::Origin::Init => "init",
                bartizan_wire::ike::Origin::Rekey => "rekey",
                bartizan_wire::ike::Origin::Midstream => "midstream",
            },
            proposals_offered: sa.offered.iter().flat_map(|seen| &seen.value).map(offer).collect(),
            key_exchange_offered: sa.offered_key_exchange.map(data),
            first_proposals_offered: first
                .map_or_else(Vec::new, |first| first.proposals.value.iter().map(offer).collect()),
            first_key_exchange_offered: first.and_then(|first| first.key_exchange).map(data),
            chosen: sa.chosen.as_ref().map(|seen| offer(&seen.value)),
            key_exchange_chosen: sa.chosen_key_exchange.map(data),
            key_exchanges: posture.key_exchanges.iter().copied().map(method).collect(),
            key_exchange_class: posture.key_exchange_class().map(KeyExchangeClass::name),
            retries: sa
                .retries
                .first
                .iter()
                .map(|seen| match seen.value {
                    Retry::Cookie => "cookie".into(),
                    Retry::KeyExchange(method) => format!("key exchange {method}"),
                })
                .collect(),
            refused: sa.refused.as_ref().map(|seen| seen.value.to_string()),
            notified_by_initiator: notified(bartizan_wire::ike::Party::Initiator),
            notified_by_responder: notified(bartizan_wire::ike::Party::Responder),
            exchanges: sa.exchanges.iter().map(|one| exchange(&one)).collect(),
            exchanges_not_listed: sa.exchanges.omitted,
            informational: sa.informational,
            rekeys: sa.rekeys,
            refused_rekeys: sa.refused_rekeys,
            incomplete_rekeys: sa.unseen_rekeys,
            set_up_ns: sa.set_up(),
            from_initiator: party(&sa.from_initiator),
            from_responder: party(&sa.from_responder),
            nat_traversal: sa.encapsulated,
            faults: sa
                .faults
                .first
                .iter()
                .map(|seen| format!("{} (packet {})", seen.value, seen.last.packet))
                .collect(),
            phase_1: sa.phase_1.as_deref().map(phase_1::Negotiated::new),
            opened: sa.opened.as_deref().map(IkeOpened::new),
        }
    }
}

fn method(method: KeyExchangeMethod) -> Code {
    Code {
        code: method.0,
        name: method.to_string(),
    }
}

fn offer(proposal: &Proposal) -> Offer {
    let transform = |transform: &bartizan_wire::ike::Transform| TransformFacts {
        r#type: transform.kind,
        code: transform.id,
        key_bits: transform.key_length,
        name: transform.to_string(),
    };
    Offer {
        number: proposal.number,
        transforms: proposal.transforms.iter().map(transform).collect(),
    }
}

fn exchange(exchange: &Exchange) -> ExchangeFacts {
    let half = |half: Half| HalfFacts {
        first_packet: half.first.packet,
        last_packet: half.last.packet,
        first_ns: half.first.time.0,
        last_ns: half.last.time.0,
        complete: half.is_complete(),
        packets: half.packets,
        ip_fragments: half.ip_fragments,
        ike_fragments: half.fragments,
        ike_bytes: half.bytes,
        ip_bytes: half.ip_bytes,
        retransmissions: half.repeated,
    };
    ExchangeFacts {
        exchange: exchange.kind.to_string(),
        code: exchange.kind.0,
        message_id: exchange.message_id,
        requester: exchange.requester.to_string(),
        duration_ns: exchange.duration(),
        request: exchange.request.map(half),
        response: exchange.response.map(half),
    }
}

fn party(traffic: &PartyTraffic) -> PartyFacts {
    PartyFacts {
        packets: traffic.packets,
        ip_bytes: traffic.ip_bytes,
        ip_fragments: traffic.ip_fragments,
        ike_fragments: traffic.ike_fragments,
        retransmissions: traffic.repeated,
    }
}

#[derive(Serialize)]
pub(super) struct Esp {
    spi: String,
    in_udp: bool,
    packets: u64,
    bytes: u64,
    first_sequence: u32,
    highest_sequence: u32,
    wrapped: u32,
    missing: u64,
    repeated: u64,
    late: u64,
    null_encryption: bool,
}

impl Esp {
    pub(super) fn new(sa: &EspSa) -> Self {
        Self {
            spi: format!("{:08x}", sa.spi),
            in_udp: matches!(sa.carrier, Carrier::Udp { .. }),
            packets: sa.packets,
            bytes: sa.bytes,
            first_sequence: sa.first_sequence,
            highest_sequence: sa.highest_sequence,
            wrapped: sa.wrapped,
            missing: sa.missing,
            repeated: sa.repeated,
            late: sa.late,
            null_encryption: sa.in_plaintext().is_some(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Sctp {
    initiator_addresses: Vec<String>,
    responder_addresses: Vec<String>,
    initiator_tag: Option<String>,
    responder_tag: Option<String>,
    established: bool,
    from_initiator: SentFacts,
    from_responder: SentFacts,
    plain_messages: u64,
    dtls_messages: u64,
    dtls_version: Option<u16>,
    dtls: Option<dtls::DtlsFacts>,
}

#[derive(Serialize)]
struct SentFacts {
    packets: u64,
    chunks: u64,
    bytes: u64,
    messages: u64,
    fragmented_messages: u64,
    longest_message: u64,
    repeated_chunks: u64,
    missing_chunks: u64,
    corrupt_packets: u64,
    heartbeats: u64,
    payload_protocols: Vec<Protocol>,
    acknowledged_after: Delays,
}

#[derive(Serialize)]
struct Protocol {
    payload_protocol: u32,
    chunks: u64,
}

#[derive(Serialize)]
struct Delays {
    count: u64,
    least_ns: u64,
    most_ns: u64,
    total_ns: u64,
}

impl Sctp {
    pub(super) fn new(association: &Association, posture: &Posture) -> Self {
        let names = |addresses: &[std::net::IpAddr]| addresses.iter().map(ToString::to_string).collect();
        let tag = |tag: Option<u32>| tag.map(|tag| format!("{tag:08x}"));
        let dtls = association.dtls.as_ref();
        Self {
            initiator_addresses: names(&association.initiator_addresses),
            responder_addresses: names(&association.responder_addresses),
            initiator_tag: tag(association.initiator_tag),
            responder_tag: tag(association.responder_tag),
            established: association.established,
            from_initiator: sent(&association.from_initiator),
            from_responder: sent(&association.from_responder),
            plain_messages: association.plain_messages,
            dtls_messages: dtls.map_or(0, |dtls| dtls.messages),
            dtls_version: dtls.and_then(|dtls| Some(dtls.server_hello.as_ref()?.value.version.0)),
            dtls: dtls.map(|dtls| dtls::DtlsFacts::new(dtls, posture)),
        }
    }
}

fn sent(sent: &Sent) -> SentFacts {
    let delays = sent.acknowledged_after;
    SentFacts {
        packets: sent.packets,
        chunks: sent.chunks,
        bytes: sent.bytes,
        messages: sent.messages,
        fragmented_messages: sent.fragmented,
        longest_message: sent.longest,
        repeated_chunks: sent.repeated,
        missing_chunks: sent.missing,
        corrupt_packets: sent.corrupt,
        heartbeats: sent.heartbeats,
        payload_protocols: sent
            .payload_protocols
            .iter()
            .map(|&(payload_protocol, chunks)| Protocol {
                payload_protocol,
                chunks,
            })
            .collect(),
        acknowledged_after: Delays {
            count: delays.count,
            least_ns: delays.least,
            most_ns: delays.most,
            total_ns: delays.total,
        },
    }
}
