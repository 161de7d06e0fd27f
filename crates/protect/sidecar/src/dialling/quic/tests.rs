use std::future::pending;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::{CryptoError, HmacKey};
use quinn::{
    ClientConfig, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime, TransportConfig,
};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::is_acknowledged;
use super::reset::resettable;
use crate::runtime::thread::spawn;

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
    listen(socket, server.clone(), process.handle());
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
