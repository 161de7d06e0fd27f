//! Handshakes in QUIC, over loopback: judged as those over TCP, and closed where they are refused.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use bartizan_deployment::{Deployment, InterfaceKind};
use bartizan_ledger::Key;
use bartizan_tls::{Credentials, Endpoint, Established, QuicHandshake, Reason, Refused};
use quinn::{Connection, ConnectionError, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};
use rcgen::PKCS_ML_DSA_65;

use crate::authority::Authority;
use crate::wire::{amf, deployment, nrf};

/// Results of a handshake at both ends.
pub(crate) struct Outcome {
    pub(crate) client: Option<Result<Established, Box<Refused>>>,
    pub(crate) server: Option<Result<Established, Box<Refused>>>,
    /// The client's error where the server refuses it after the client has ended.
    later: Option<Box<Refused>>,
}

fn root() -> Authority {
    Authority::root("root", &PKCS_ML_DSA_65)
}

fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

fn endpoint(server: Option<ServerConfig>) -> quinn::Endpoint {
    quinn::Endpoint::new(EndpointConfig::default(), server, socket(), Arc::new(TokioRuntime)).unwrap()
}

/// The alert with which a peer closed a connection.
fn alert(error: &ConnectionError) -> u8 {
    match error {
        ConnectionError::ConnectionClosed(close) => (u64::from(close.error_code) & 0xff) as u8,
        other => panic!("{other}"),
    }
}

/// A chain of ML-DSA is more than quinn keeps by default where packets overtake each other.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.crypto_buffer_size(64 * 1024);
    Arc::new(transport)
}

async fn shake(client: &Endpoint, server: &Endpoint) -> Outcome {
    let accepting = server.accept_any_quic(InterfaceKind::Sbi);
    let mut config = ServerConfig::with_crypto(accepting.config);
    config.transport_config(transport());
    let listening = endpoint(Some(config));
    let connecting = client.connect_quic("nrf", InterfaceKind::Sbi).unwrap();
    let mut config = quinn::ClientConfig::new(connecting.config);
    config.transport_config(transport());
    let dialling = endpoint(None);
    let dialled = dialling
        .connect_with(config, listening.local_addr().unwrap(), "nrf")
        .unwrap();
    let answered = async {
        // The second Initial carries the token of the Retry.
        let first = listening.accept().await.unwrap();
        assert!(!first.remote_address_validated());
        first.retry().unwrap();
        let second = listening.accept().await.unwrap();
        assert!(second.remote_address_validated());
        // A hello that fits a packet is judged there and then.
        second.accept()?.await
    };
    let both = async { tokio::join!(dialled, answered) };
    let (dialled, answered) = tokio::time::timeout(Duration::from_secs(120), both).await.unwrap();
    let later = learns(&dialled, &answered, &connecting.handshake).await;
    Outcome {
        client: connecting.handshake.judged(),
        server: accepting.handshake.judged(),
        later,
    }
}

async fn learns(
    dialled: &Result<Connection, ConnectionError>,
    answered: &Result<Connection, ConnectionError>,
    handshake: &QuicHandshake,
) -> Option<Box<Refused>> {
    match (dialled, answered) {
        (Ok(connection), Err(_)) => Some(handshake.refused_by(alert(&connection.closed().await))),
        (Err(error), Err(_)) if handshake.judged().is_none() => Some(handshake.refused_by(alert(error))),
        _ => None,
    }
}

fn between((client, by_client): (Credentials, Deployment), (server, by_server): (Credentials, Deployment)) -> Outcome {
    between_endpoints(&amf(client, &by_client), &nrf(server, &by_server))
}

pub(crate) fn between_endpoints(client: &Endpoint, server: &Endpoint) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(shake(client, server))
}

#[test]
fn both_ends_negotiate_and_judge_what_they_would_over_tcp() {
    let authority = root();
    let hybrid = || deployment("hybrid");
    let outcome = between((authority.node("amf"), hybrid()), (authority.node("nrf"), hybrid()));
    let [client, server] = [outcome.client, outcome.server].map(|end| end.expect("judged").expect("accepted"));
    assert_eq!((client.peer.as_str(), server.peer.as_str()), ("nrf", "amf"));
    for end in [&client, &server] {
        assert_eq!(end.negotiated.group.name, "X25519MLKEM768");
        for signature in [&end.negotiated.local_signature, &end.negotiated.peer_signature] {
            assert_eq!(signature.as_ref().unwrap().name, "mldsa65");
        }
        assert!(!end.negotiated.resumed && !end.negotiated.hello_retry);
        assert_eq!(end.chain.len(), 1);
        // ML-DSA-65 leaves of 5.5 kB and signatures of 3.3 kB.
        assert!(end.bytes.sent > 9_000 && end.bytes.received > 9_000, "{:?}", end.bytes);
    }
    assert_eq!(
        (client.bytes.sent, client.bytes.received),
        (server.bytes.received, server.bytes.sent)
    );
    assert!(matches!(client.key, Some(Key::Tls { .. })) && client.key == server.key);
}

#[test]
fn a_client_that_has_only_classical_groups_is_refused_with_the_reason() {
    let authority = root();
    let classical =
        "{ profile: classical, lab: true, groups: [x25519], signatures: [mldsa65], chain-signatures: [mldsa65] }";
    let outcome = between(
        (authority.node("amf"), deployment(classical)),
        (authority.node("nrf"), deployment("hybrid")),
    );
    let refused = outcome.server.unwrap().unwrap_err();
    assert_eq!(refused.reason, Reason::NoCommonGroup, "{refused}");
    assert!(outcome.client.is_none());
    assert_eq!(outcome.later.unwrap().reason, Reason::PeerRefused);
}

#[test]
fn a_certificate_of_another_authority_is_refused_at_either_end_before_a_stream_is_open() {
    let (authority, other) = (root(), root());
    let hybrid = || deployment("hybrid");
    let outcome = between((other.node("amf"), hybrid()), (authority.node("nrf"), hybrid()));
    // The client does not trust the server either, and is the first to see a certificate.
    assert_eq!(outcome.client.unwrap().unwrap_err().reason, Reason::UnknownCa);
    assert!(outcome.server.is_none());
}

#[test]
fn another_node_of_the_same_authority_is_refused_at_either_end() {
    let authority = root();
    let node = |name| (authority.node(name), deployment("hybrid"));
    let by_server = between(node("smf"), node("nrf")).server;
    let by_client = between(node("amf"), node("smf")).client;
    for judged in [by_server, by_client] {
        assert_eq!(judged.unwrap().unwrap_err().reason, Reason::WrongName);
    }
}
