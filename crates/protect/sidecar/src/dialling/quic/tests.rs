use std::future::pending;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use bartizan_deployment::{Carrier, InterfaceKind, Path};
use bartizan_tls::Reason;
use quinn::crypto::{CryptoError, HmacKey};
use quinn::{
    ClientConfig, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime, TransportConfig,
};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::reset::resettable;
use super::{Dialler, QuicChannel, accept, connect, endpoint, is_acknowledged, listening};
use crate::Running;
use crate::answers::failure::{Failure, Why};
use crate::routing::peers::Upstream;
use crate::runtime::thread::spawn;
use crate::tests::stage::{Stage, run, shared, until};

const PATIENCE: Duration = Duration::from_secs(120);

fn configurations() -> (ServerConfig, ClientConfig) {
    let own = rcgen::generate_simple_self_signed(["peer.test".to_owned()]).unwrap();
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let mut server = ServerConfig::with_single_cert(vec![certificate], key).unwrap();
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(IdleTimeout::try_from(PATIENCE).ok());
    let transport = Arc::new(transport);
    server.transport_config(Arc::clone(&transport));
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    client.transport_config(transport);
    (server, client)
}

/// A key that is the same in the next process.
struct Key;

impl HmacKey for Key {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let octets = data.iter().cycle();
        signature_out
            .iter_mut()
            .zip(octets)
            .for_each(|(to, octet)| *to = octet ^ 0x5a);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
}

/// A listener of a process, which holds what it accepts.
fn listen(socket: UdpSocket, server: ServerConfig, process: &Handle) {
    let _context = process.enter();
    let key = resettable(Arc::new(Key));
    let endpoint = Endpoint::new(key, Some(server), socket, Arc::new(TokioRuntime)).unwrap();
    process.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if !incoming.remote_address_validated() {
                incoming.retry().unwrap();
                continue;
            }
            let _connection = incoming.accept().unwrap().await.unwrap();
            return pending().await;
        }
    });
}

fn bind_again(address: SocketAddr) -> UdpSocket {
    loop {
        match UdpSocket::bind(address) {
            Ok(socket) => return socket,
            Err(_) => std::thread::yield_now(),
        }
    }
}

#[tokio::test]
async fn a_peer_that_is_there_acknowledges_and_one_that_was_started_anew_resets_the_connection() {
    let (server, client) = configurations();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let process = spawn("server", 0, || ()).unwrap();
    listen(socket, server.clone(), &process.handle);
    let own = UdpSocket::bind("127.0.0.1:0").unwrap();
    let here = Endpoint::new(EndpointConfig::default(), None, own, Arc::new(TokioRuntime)).unwrap();
    let connection = here.connect_with(client, address, "peer.test").unwrap();
    let connection = timeout(PATIENCE, connection).await.unwrap().unwrap();
    for _ in 0..3 {
        assert!(timeout(PATIENCE, is_acknowledged(&connection)).await.unwrap());
    }
    // The process is killed: it says nothing.
    drop(process);
    listen(bind_again(address), server, &Handle::current());
    assert!(!timeout(PATIENCE, is_acknowledged(&connection)).await.unwrap());
    let ended = timeout(PATIENCE, connection.closed()).await.unwrap();
    assert!(matches!(ended, ConnectionError::Reset), "{ended}");
}

/// A relay to `to` that holds what the server sends until `go_on`: neither end completes its
/// handshake before. `seen` gets a word when a datagram waits.
fn holding_relay(to: SocketAddr, seen: Sender<()>, go_on: Receiver<()>) -> SocketAddr {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, far) = (bind(), bind());
    let address = near.local_addr().unwrap();
    far.connect(to).unwrap();
    let (asks, asked) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let (learns, learned) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Ok((length, from)) = asks.recv_from(&mut bytes) {
            let _ = learns.send(from);
            let _ = asked.send(&bytes[..length]);
        }
    });
    thread::spawn(move || {
        let mut bytes = [0; 2048];
        let client = learned.recv().unwrap();
        let mut length = far.recv(&mut bytes).unwrap();
        seen.send(()).unwrap();
        go_on.recv().unwrap();
        loop {
            let _ = near.send_to(&bytes[..length], client);
            length = far.recv(&mut bytes).unwrap();
        }
    });
    address
}

/// A connection of `amf` to `nrf`, which relays datagrams once `meanwhile` is done.
async fn connected(
    stage: &mut Stage,
    meanwhile: impl AsyncFnOnce(&mut Stage, [&Running; 2]),
) -> (Result<QuicChannel, Failure>, Option<QuicChannel>) {
    let nodes = [stage.start("amf").await, stage.start("nrf").await];
    let [client, server] = nodes.each_ref().map(|node| Arc::clone(shared(node)));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listening_at = socket.local_addr().unwrap();
    let ((seen, sees), (release, go_on)) = (channel(), channel());
    let upstream = Upstream {
        peer: client.endpoint.endpoint().peers()[0].node.clone(),
        interface: InterfaceKind::Sbi,
        carrier: Carrier::Quic,
        own_tls: false,
        address: holding_relay(listening_at, seen, go_on),
    };
    let config = listening();
    let carriers = server.carriers.quic().unwrap();
    let listener = endpoint(&server, socket, Some(config.clone()), &carriers).unwrap();
    let accepted = async {
        let incoming = listener.accept().await.unwrap();
        accept(&server, incoming, &config, listening_at, InterfaceKind::Sbi).await
    };
    let dialler = Dialler::default();
    let dialled = connect(&client, &dialler, &upstream, Path::Sctp);
    let reloads = async {
        until("a flight of the server", || sees.try_recv().is_ok()).await;
        meanwhile(stage, nodes.each_ref()).await;
        release.send(()).unwrap();
    };
    let (dialled, accepted, ()) = timeout(PATIENCE, async { tokio::join!(dialled, accepted, reloads) })
        .await
        .unwrap();
    (dialled, accepted)
}

#[test]
fn a_peer_that_is_revoked_during_its_handshake_carries_nothing_over_quic_either() {
    for revoked in [None, Some("nrf"), Some("amf")] {
        let mut stage = Stage::new();
        run(async {
            let meanwhile = async |stage: &mut Stage, nodes: [&Running; 2]| {
                let Some(revoked) = revoked else { return };
                stage.revoke(revoked);
                let judges = nodes.iter().find(|node| node.node() != revoked).unwrap();
                judges.reload(&Arc::new(stage.deployment())).await.unwrap();
            };
            let (dialled, accepted) = connected(&mut stage, meanwhile).await;
            let by_client = dialled.err().map(|failure| failure.why);
            let of_server = (revoked == Some("nrf")).then_some(Why::Peer(Reason::Revoked));
            assert_eq!(by_client, of_server);
            assert_eq!(accepted.is_none(), revoked == Some("amf"));
        });
    }
}

/// The private key of the start was kept for as long as the process.
#[test]
fn a_listener_keeps_no_key_that_a_reload_has_replaced() {
    let stage = Stage::new();
    run(async {
        let running = stage.start("nrf").await;
        let shared = shared(&running);
        let carriers = shared.carriers.quic().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let _listener = endpoint(shared, socket, Some(listening()), &carriers).unwrap();
        let of_before = Arc::downgrade(&shared.endpoint.endpoint().credentials().reset_key());
        running.reload(&Arc::new(stage.deployment())).await.unwrap();
        until("the credentials of before are gone", || of_before.upgrade().is_none()).await;
    });
}
