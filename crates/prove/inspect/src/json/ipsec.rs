//! IKE_SAs, ESP and SCTP in the report for programs.

use bartizan_posture::{KeyExchangeClass, Posture};
use bartizan_registry::object;
use bartizan_wire::esp::{Carrier, EspSa};
use bartizan_wire::ike::{Exchange, Half, IkeSa, Notified, PartyTraffic, Proposal, Retry};
use bartizan_wire::sctp::{Association, Sent};
use serde::Serialize;

use super::dtls::dtls_facts;
use super::ike_opened::ike_opened_facts;
use super::phase_1::negotiated_facts;
use super::{at_packet, code, list};

pub(super) fn ike_facts(sa: &IkeSa, posture: &Posture) -> impl Serialize {
    let data = |data: bartizan_wire::ike::KeyExchangeData| {
        object!(Data {
            code: data.method.0,
            name: data.method.to_string(),
            bytes: data.length,
        })
    };
    let notified = |end| {
        let of = sa
            .notified
            .first
            .iter()
            .filter(move |notified: &&Notified| notified.from == end);
        list(of, |notified| code(notified.kind.0, notified.kind))
    };
    let first = sa.first_offer.as_deref();
    object!(Ike {
        initiator_spi: format!("{:016x}", sa.initiator_spi),
        responder_spi: format!("{:016x}", sa.responder_spi),
        version: format!("{}.{}", sa.version.0, sa.version.1),
        origin: match sa.origin {
            bartizan_wire::ike::Origin::Resumed => "resumed",
            bartizan_wire::ike::Origin::Init => "init",
            bartizan_wire::ike::Origin::Rekey => "rekey",
            bartizan_wire::ike::Origin::Midstream => "midstream",
        },
        proposals_offered: list(sa.offered.iter().flat_map(|seen| &seen.value), offer),
        key_exchange_offered: sa.offered_key_exchange.map(data),
        first_proposals_offered: list(first.iter().flat_map(|first| &first.proposals.value), offer),
        first_key_exchange_offered: first.and_then(|first| first.key_exchange).map(data),
        chosen: sa.chosen.as_ref().map(|seen| offer(&seen.value)),
        key_exchange_chosen: sa.chosen_key_exchange.map(data),
        key_exchanges: list(&posture.key_exchanges, |method| code(method.0, method)),
        key_exchange_class: posture.key_exchange_class().map(KeyExchangeClass::name),
        retries: list(&sa.retries.first, |seen| match seen.value {
            Retry::Cookie => "cookie".to_owned(),
            Retry::KeyExchange(method) => format!("key exchange {method}"),
        }),
        refused: sa.refused.as_ref().map(|seen| seen.value.to_string()),
        notified_by_initiator: notified(bartizan_wire::ike::Party::Initiator),
        notified_by_responder: notified(bartizan_wire::ike::Party::Responder),
        exchanges: list(sa.exchanges.iter(), |one| exchange(&one)),
        exchanges_not_listed: sa.exchanges.omitted,
        informational: sa.informational,
        rekeys: sa.rekeys,
        refused_rekeys: sa.refused_rekeys,
        incomplete_rekeys: sa.unseen_rekeys,
        set_up_ns: sa.set_up(),
        from_initiator: party(&sa.from_initiator),
        from_responder: party(&sa.from_responder),
        nat_traversal: sa.encapsulated,
        faults: list(&sa.faults.first, at_packet),
        #[serde(flatten)]
        phase_1: sa.phase_1.as_deref().map(|seen| object!(Phase1 {
            phase_1: negotiated_facts(seen)
        })),
        #[serde(flatten)]
        opened: sa.opened.as_deref().map(|seen| object!(Opened {
            opened: ike_opened_facts(seen)
        })),
    })
}

fn offer(proposal: &Proposal) -> impl Serialize {
    let transform = |transform: &bartizan_wire::ike::Transform| {
        object!(Transform {
            r#type: transform.kind,
            code: transform.id,
            key_bits: transform.key_length,
            name: transform.to_string(),
        })
    };
    object!(Offer {
        number: proposal.number,
        transforms: list(&proposal.transforms, transform),
    })
}

fn exchange(exchange: &Exchange) -> impl Serialize + use<> {
    let half = |half: Half| {
        object!(Half {
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
        })
    };
    object!(Exchange {
        exchange: exchange.kind.to_string(),
        code: exchange.kind.0,
        message_id: exchange.message_id,
        requester: exchange.requester.to_string(),
        duration_ns: exchange.duration(),
        request: exchange.request.map(half),
        response: exchange.response.map(half),
    })
}

fn party(traffic: &PartyTraffic) -> impl Serialize {
    object!(Party {
        packets: traffic.packets,
        ip_bytes: traffic.ip_bytes,
        ip_fragments: traffic.ip_fragments,
        ike_fragments: traffic.ike_fragments,
        retransmissions: traffic.repeated,
    })
}

pub(super) fn esp_facts(sa: &EspSa) -> impl Serialize {
    object!(Esp {
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
    })
}

pub(super) fn sctp_facts(association: &Association, posture: &Posture) -> impl Serialize {
    let names = |addresses: &[std::net::IpAddr]| list(addresses, ToString::to_string);
    let tag = |tag: Option<u32>| tag.map(|tag| format!("{tag:08x}"));
    let dtls = association.dtls.as_ref();
    object!(Sctp {
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
        dtls: dtls.map(|dtls| {
            let client = dtls.client.map(|end| if end == 0 { "initiator" } else { "responder" });
            dtls_facts(dtls, posture, client)
        }),
    })
}

fn sent(sent: &Sent) -> impl Serialize {
    let delays = sent.acknowledged_after;
    object!(Sent {
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
        payload_protocols: list(&sent.payload_protocols, |&(payload_protocol, chunks)| {
            object!(Protocol {
                payload_protocol,
                chunks
            })
        }),
        acknowledged_after: object!(Delays {
            count: delays.count,
            least_ns: delays.least,
            most_ns: delays.most,
            total_ns: delays.total,
        }),
    })
}
