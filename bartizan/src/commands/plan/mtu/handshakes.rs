//! Handshakes in packets and round trips.

use bartizan_budget::mtu::{
    Certificates, Exchange, Flight, IkeHandshake, Port, TlsHandshake, quic_datagrams, quic_room, quic_rounds, segment,
    tcp_rounds,
};
use bartizan_budget::overhead::{IpVersion, Protection};
use bartizan_budget::unit::Bytes;
use bartizan_page::grid;
use bartizan_page::sheet::Section;
use bartizan_registry::{Header, QUIC_INITIAL_LEAST};
use serde::Serialize;

use super::{Args, ike_methods};
use crate::Failure;

/// A handshake of TLS 1.3, over TCP and in QUIC.
#[derive(Serialize)]
pub(super) struct TlsRow {
    pub(super) group: &'static str,
    pub(super) signature: &'static str,
    pub(super) chain: u8,
    pub(super) client_hello: Flight,
    pub(super) server: Flight,
    pub(super) client: Flight,
    /// From the SYN to the first byte of an answer to the first request.
    pub(super) round_trips: u32,
    /// The same of QUIC, which has no SYN.
    pub(super) quic_round_trips: Option<u32>,
    /// Datagrams of QUIC's flights: the client's first, the server's, the client's second.
    pub(super) quic_datagrams: [u32; 3],
    /// Rounds of QUIC's server.
    pub(super) quic_rounds: u32,
}

/// A set-up of IKEv2.
#[derive(Serialize)]
pub(super) struct IkeRow {
    pub(super) key_exchange: String,
    pub(super) signature: &'static str,
    pub(super) chain: u8,
    pub(super) exchanges: Vec<Exchange>,
    /// One for each exchange.
    pub(super) round_trips: usize,
    pub(super) packets: u64,
}

fn certificates(args: &Args, chain: u8) -> Certificates {
    Certificates {
        chain,
        extra: args
            .certificate_extra
            .unwrap_or_else(|| Bytes::from(Certificates::CAPTURED_EXTRA)),
    }
}

pub(super) fn tls(args: &Args, mtu: Bytes) -> Result<Vec<TlsRow>, Failure> {
    let too_small = || Failure::usage(format!("an MTU of {mtu} leaves no room for a segment of TCP"));
    let segment = segment(mtu, IpVersion::V4).ok_or_else(too_small)?;
    let datagram = mtu.beyond(Bytes::from(Header::IPV4.bytes + Header::UDP.bytes));
    // A QUIC client never sends less, and most send no more until they have probed the path.
    let datagram = datagram.min(Bytes::from(QUIC_INITIAL_LEAST));
    let mut rows = Vec::new();
    for group in &args.group {
        for scheme in &args.signature {
            for chain in &args.chain {
                let handshake = TlsHandshake {
                    group,
                    scheme,
                    certificates: certificates(args, *chain),
                };
                let unknown = || Failure::usage(format!("the size of a handshake with {} is not known", scheme.name));
                let flight = |bytes: Bytes| tcp_rounds(bytes, segment).ok_or_else(too_small);
                let server = handshake.server_flight().map_err(Failure::usage)?.ok_or_else(unknown)?;
                let client = handshake.client_flight().map_err(Failure::usage)?.ok_or_else(unknown)?;
                let (client_hello, server, client) =
                    (flight(handshake.client_hello())?, flight(server)?, flight(client)?);
                let messages = [
                    Some(handshake.client_hello()),
                    handshake.server_messages(),
                    handshake.client_messages(),
                ];
                let datagrams = messages.map(|bytes| {
                    let pieces = bytes.and_then(|bytes| quic_datagrams(bytes, datagram)).unwrap_or(1);
                    u32::try_from(pieces).unwrap_or(u32::MAX)
                });
                let quic = handshake
                    .server_messages()
                    .and_then(|server| quic_rounds(handshake.client_hello(), server, datagram));
                let quic_client = handshake
                    .client_messages()
                    .and_then(|bytes| tcp_rounds(bytes, quic_room(datagram)));
                rows.push(TlsRow {
                    group: group.name,
                    signature: scheme.name,
                    chain: *chain,
                    // The SYN's, the handshake's with the request behind it, and one for each time a window holds a flight up.
                    round_trips: 1 + client_hello.rounds + (server.rounds - 1) + client.rounds,
                    quic_round_trips: quic.zip(quic_client).map(|(server, client)| server + client.rounds),
                    quic_datagrams: datagrams,
                    quic_rounds: quic.unwrap_or(1),
                    client_hello,
                    server,
                    client,
                });
            }
        }
    }
    Ok(rows)
}

pub(super) fn ike(args: &Args, mtu: Bytes) -> Result<Vec<IkeRow>, Failure> {
    let mut rows = Vec::new();
    for group in &args.group {
        // A group that IKEv2 has no method for has no row.
        let Some(methods) = ike_methods(group) else { continue };
        for scheme in &args.signature {
            for chain in &args.chain {
                let handshake = IkeHandshake {
                    key_exchanges: methods.clone(),
                    scheme,
                    certificates: certificates(args, *chain),
                    fragment_size: Some(Bytes::from(IkeHandshake::FRAGMENT_SIZE)),
                    // ESP in UDP is on the port that IKE moves to behind NAT.
                    port: if args.within.iter().any(Protection::is_in_udp) {
                        Port::P4500
                    } else {
                        Port::P500
                    },
                    ip: IpVersion::V4,
                };
                let Some(exchanges) = handshake.exchanges(mtu) else {
                    continue;
                };
                let names: Vec<&str> = methods.iter().map(|method| method.name).collect();
                rows.push(IkeRow {
                    key_exchange: names.join(", "),
                    signature: scheme.name,
                    chain: *chain,
                    round_trips: exchanges.len(),
                    packets: exchanges.iter().map(Exchange::packets).sum(),
                    exchanges,
                });
            }
        }
    }
    Ok(rows)
}

pub(super) fn section(tls: &[TlsRow], ike: &[IkeRow]) -> Section {
    let mut section = Section::new("handshakes in packets and round trips");
    let caption = "TLS 1.3, both ends with certificates: bytes and packets of each flight; round trips to the first byte of an answer, TCP's SYN among them, and of QUIC";
    section.tables.push(grid! { caption, row in tls;
        "group": row.group,
        "signature": row.signature,
        "#chain": row.chain.to_string(),
        "#ClientHello": row.client_hello.bytes.value().to_string(),
        "#packets": row.client_hello.segments.to_string(),
        "#server": row.server.bytes.value().to_string(),
        "#packets": row.server.segments.to_string(),
        "#client": row.client.bytes.value().to_string(),
        "#packets": row.client.segments.to_string(),
        "#round trips": row.round_trips.to_string(),
        "#of QUIC": row.quic_round_trips.map_or_else(|| "-".to_owned(), |trips| trips.to_string()),
    });
    let caption = "IKEv2 as strongSwan sends it: bytes of the largest message of each exchange, IKE fragments and packets in both directions";
    section.tables.push(grid! { caption, row in ike, {
            let of = |name: &'static str| row.exchanges.iter().filter(move |exchange| exchange.name == name);
            let largest = |name: &'static str| {
                let bytes = of(name).map(|exchange| exchange.request.bytes.max(exchange.response.bytes).value()).max();
                bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string())
            };
            let packets: u64 = of("IKE_SA_INIT").map(Exchange::packets).sum();
            let fragments: u64 = of("IKE_AUTH").map(|exchange| exchange.request.ike_fragments).sum();
        };
        "key exchanges": row.key_exchange.clone(),
        "signature": row.signature,
        "#chain": row.chain.to_string(),
        "#IKE_SA_INIT": largest("IKE_SA_INIT"),
        "#packets": packets.to_string(),
        "#IKE_INTERMEDIATE": largest("IKE_INTERMEDIATE"),
        "#IKE_AUTH": largest("IKE_AUTH"),
        "#IKE fragments": fragments.to_string(),
        "#all packets": row.packets.to_string(),
        "#round trips": row.round_trips.to_string(),
    });
    section
}
