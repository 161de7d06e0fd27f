//! A peer with the certificate of another node, in each role, over each carrier of associations.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use bartizan_deployment::{Carrier, InterfaceKind, Path};
use bartizan_tls::Reason;
use tokio::net;
use tokio::time::timeout;

use crate::Running;
use crate::answers::failure::{Failure, Why};
use crate::dialling::{handshake, quic};
use crate::metrics::Side;
use crate::routing::peers::Upstream;
use crate::tests::stage::{PATIENCE, Stage, run, shared, until};

/// Results of a connection of `amf` to `nrf`, by each: the dialler's failure, and whether the
/// listener has a connection.
async fn connected(nodes: &[Running; 2], carrier: Carrier) -> (Option<Failure>, bool) {
    let [client, server] = nodes.each_ref().map(|node| Arc::clone(shared(node)));
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let upstream = |address: SocketAddr| Upstream {
        peer: client.endpoint.endpoint().peers()[0].node.clone(),
        interface: InterfaceKind::Sbi,
        carrier,
        own_tls: false,
        address,
    };
    let both = async {
        match carrier {
            Carrier::Tls => {
                let listener = TcpListener::bind(loopback).unwrap();
                listener.set_nonblocking(true).unwrap();
                let upstream = upstream(listener.local_addr().unwrap());
                let listener = net::TcpListener::from_std(listener).unwrap();
                let accepted = async {
                    let (stream, from) = listener.accept().await.unwrap();
                    handshake::accept(&server, stream, from, InterfaceKind::Sbi, Path::Sctp).await
                };
                let dialled = handshake::connect(&client, &upstream, Path::Sctp);
                let (dialled, accepted) = tokio::join!(dialled, accepted);
                (dialled.err(), accepted.is_some())
            }
            Carrier::Quic => {
                let socket = UdpSocket::bind(loopback).unwrap();
                let address = socket.local_addr().unwrap();
                let config = quic::listening();
                let carriers = server.carriers.quic().unwrap();
                let listener = quic::endpoint(&server, socket, Some(config.clone()), &carriers).unwrap();
                let accepted = async {
                    let incoming = listener.accept().await.unwrap();
                    quic::accept(&server, incoming, &config, address, InterfaceKind::Sbi).await
                };
                let (dialler, upstream) = (quic::Dialler::default(), upstream(address));
                let dialled = quic::connect(&client, &dialler, &upstream, Path::Sctp);
                let (dialled, accepted) = tokio::join!(dialled, accepted);
                (dialled.err(), accepted.is_some())
            }
        }
    };
    timeout(PATIENCE, both).await.unwrap()
}

#[test]
fn a_certificate_of_another_node_of_the_same_authority_carries_no_association_in_either_role() {
    for carrier in [Carrier::Tls, Carrier::Quic] {
        for wrong in [None, Some("amf"), Some("nrf")] {
            let stage = Stage::new();
            run(async {
                let start = async |node: &str| match wrong == Some(node) {
                    true => stage.start_as_udm(node).await,
                    false => stage.start(node).await,
                };
                let nodes = [start("amf").await, start("nrf").await];
                let (failure, accepted) = connected(&nodes, carrier).await;
                let why = failure.map(|failure| failure.why);
                let of_server = (wrong == Some("nrf")).then_some(Why::Peer(Reason::WrongName));
                if wrong != Some("amf") {
                    assert_eq!(why, of_server, "{carrier:?} {wrong:?}");
                }
                let refused = |node: &Running, side, peer| {
                    shared(node)
                        .metrics
                        .failed_handshakes(side, peer, Reason::WrongName.as_str())
                };
                let [amf, nrf] = &nodes;
                let by_dialler = refused(amf, Side::Outbound, "nrf");
                assert_eq!(by_dialler, u64::from(wrong == Some("nrf")), "{carrier:?} {wrong:?}");
                if wrong == Some("amf") {
                    assert!(!accepted, "{carrier:?}");
                    until("a refusal", || refused(nrf, Side::Inbound, "unknown") == 1).await;
                }
            });
        }
    }
}
