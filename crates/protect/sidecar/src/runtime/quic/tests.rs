use std::future::{Future, poll_fn};
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    ClientConfig, ConnectionError, Dir, EndpointConfig, IdleTimeout, ServerConfig, StreamId, TransportConfig, VarInt,
};
use quinn_udp::RecvMeta;
use tokio::sync::oneshot;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::socket::Socket;
use super::*;
use crate::dialling::quic::resettable;
use crate::runtime::thread::{Thread, spawn};
use tokio::runtime::Handle;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

fn thread() -> Thread {
    spawn("test", 0, || ()).unwrap()
}

/// Runs this on a thread with an event loop.
fn run<F: Future<Output = ()> + Send + 'static>(work: impl FnOnce(Handle) -> F) {
    let thread = thread();
    let (done, finished) = oneshot::channel();
    let handle = thread.handle().clone();
    let work = work(handle.clone());
    thread.handle().spawn(async move {
        let in_time = timeout(PATIENCE, work).await.is_ok();
        done.send(in_time).unwrap();
    });
    assert!(finished.blocking_recv().expect("the work does not panic"), "in time");
}

fn transport(silence: Duration) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(IdleTimeout::try_from(silence).ok());
    Arc::new(transport)
}

fn configurations(silence: Duration) -> (ServerConfig, ClientConfig) {
    let own = rcgen::generate_simple_self_signed(["peer.test".to_owned()]).unwrap();
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let transport = transport(silence);
    let mut server = ServerConfig::with_single_cert(vec![certificate], key).unwrap();
    server.transport_config(Arc::clone(&transport));
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    client.transport_config(transport);
    (server, client)
}

fn endpoint(server: Option<ServerConfig>, handle: &Handle) -> (Endpoint, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let endpoint = Endpoint::new(EndpointConfig::default(), server, socket, handle).unwrap();
    (endpoint, address)
}

/// A connection at both its ends, and their endpoints.
async fn pair(handle: &Handle) -> ([Endpoint; 2], [Connection; 2]) {
    let (server, client) = configurations(PATIENCE);
    let (there, address) = endpoint(Some(server.clone()), handle);
    let (here, _) = endpoint(None, handle);
    let one = here.connect(client, address, "peer.test").unwrap();
    // As a listener does: the address is shown to be the peer's first.
    let mut retries = 0;
    let other = loop {
        let incoming = there.accept().await.unwrap();
        if incoming.remote_address_validated() {
            break incoming.accept_with(Arc::new(server)).unwrap();
        }
        incoming.retry();
        retries += 1;
    };
    assert!(retries > 0);
    poll_fn(|context| other.poll_established(context)).await.unwrap();
    poll_fn(|context| one.poll_answered(context)).await;
    poll_fn(|context| one.poll_established(context)).await.unwrap();
    ([here, there], [one, other])
}

async fn write(connection: &Connection, stream: StreamId, mut octets: &[u8]) {
    while !octets.is_empty() {
        let written = poll_fn(|context| connection.poll_write(stream, octets, context))
            .await
            .unwrap();
        octets = &octets[written..];
    }
}

async fn read_to_end(connection: &Connection, stream: StreamId) -> Vec<u8> {
    let (mut all, mut room) = (Vec::new(), vec![0; 10_000]);
    loop {
        let read = poll_fn(|context| connection.poll_read(stream, &mut room, context))
            .await
            .unwrap();
        if read == 0 {
            return all;
        }
        all.extend_from_slice(&room[..read]);
    }
}

#[test]
fn octets_pass_in_both_directions_and_the_end_of_streams_and_connections_is_seen() {
    run(|handle| async move {
        let ([_here, there], [one, other]) = pair(&handle).await;
        // More than a window, so that both ends wait for the other.
        let octets: Arc<[u8]> = (0..2_000_000_u32).map(|number| (number / 7) as u8).collect();
        let sent = Arc::clone(&octets);
        let (done, echoed) = oneshot::channel();
        handle.spawn(async move {
            let stream = poll_fn(|context| other.poll_accept(Dir::Bi, context)).await.unwrap();
            let received = read_to_end(&other, stream).await;
            write(&other, stream, &received).await;
            assert!(other.finish(stream));
            poll_fn(|context| other.poll_finished(stream, context)).await;
            assert!(done.send(received == *sent).is_ok());
        });
        let stream = poll_fn(|context| one.poll_open(Dir::Bi, context)).await.unwrap();
        write(&one, stream, &octets).await;
        assert!(one.finish(stream));
        assert!(read_to_end(&one, stream).await == *octets);
        assert!(echoed.await.unwrap());
        // The other end was dropped.
        let ended = poll_fn(|context| one.poll_ended(context)).await;
        assert!(matches!(ended, ConnectionError::ApplicationClosed(_)), "{ended}");
        let refused = poll_fn(|context| one.poll_open(Dir::Uni, context)).await;
        assert!(refused.is_err());
        there.until_idle().await;
    });
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

#[test]
fn a_peer_that_is_there_gives_a_sign_of_life_and_one_that_was_started_anew_resets_the_connection() {
    let server = thread();
    let served = server.handle().clone();
    run(|handle| async move {
        let (configuration, client) = configurations(PATIENCE);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let there = |configuration, socket, handle: &Handle| {
            Endpoint::new(resettable(Arc::new(Key)), Some(configuration), socket, handle).unwrap()
        };
        let before = there(configuration.clone(), socket, &served);
        let (here, _) = endpoint(None, &handle);
        let one = here.connect(client, address, "peer.test").unwrap();
        let other = loop {
            let incoming = before.accept().await.unwrap();
            if incoming.remote_address_validated() {
                break incoming.accept_with(Arc::new(configuration.clone())).unwrap();
            }
            incoming.retry();
        };
        poll_fn(|context| one.poll_established(context)).await.unwrap();
        for _ in 0..3 {
            let (acknowledged, _) = one.send_ping();
            assert!(poll_fn(|context| one.poll_life(acknowledged, context)).await);
        }
        // The process is killed: it says nothing.
        drop(server);
        poll_fn(|context| other.poll_ended(context)).await;
        drop((before, other));
        let again = loop {
            match UdpSocket::bind(address) {
                Ok(socket) => break socket,
                Err(_) => std::thread::yield_now(),
            }
        };
        let _after = there(configuration, again, &handle);
        let (acknowledged, _) = one.send_ping();
        assert!(!poll_fn(|context| one.poll_life(acknowledged, context)).await);
        let ended = poll_fn(|context| one.poll_ended(context)).await;
        assert!(matches!(ended, ConnectionError::Reset), "{ended}");
    });
}

#[test]
fn a_stream_that_is_given_up_is_void_at_the_other_end() {
    run(|handle| async move {
        let (_endpoints, [one, other]) = pair(&handle).await;
        let reset = poll_fn(|context| one.poll_open(Dir::Uni, context)).await.unwrap();
        let stopped = poll_fn(|context| one.poll_open(Dir::Uni, context)).await.unwrap();
        write(&one, reset, b"void").await;
        write(&one, stopped, b"void").await;
        one.reset(reset, VarInt::from_u32(1));
        let mut seen = 0;
        for _ in 0..2 {
            let stream = poll_fn(|context| other.poll_accept(Dir::Uni, context)).await.unwrap();
            if stream == stopped {
                other.stop(stream, VarInt::from_u32(1));
                seen += 1;
            } else {
                let read = poll_fn(|context| other.poll_read(stream, &mut [0; 9], context)).await;
                assert!(matches!(read, Err(StreamError::Void)), "{read:?}");
                seen += 1;
            }
        }
        assert_eq!(seen, 2);
        loop {
            match poll_fn(|context| one.poll_write(stopped, b"void", context)).await {
                Ok(_) => assert!(
                    timeout(Duration::from_millis(1), std::future::pending::<()>())
                        .await
                        .is_err()
                ),
                Err(error) => {
                    assert!(matches!(error, StreamError::Void), "{error:?}");
                    break;
                }
            }
        }
    });
}

#[test]
fn packets_wait_for_room_and_are_sent_then() {
    run(|handle| async move {
        let ([here, _there], [one, other]) = pair(&handle).await;
        for refusals in [1, 3, 20] {
            here.shared.socket.refusals.store(refusals, Ordering::SeqCst);
            let stream = poll_fn(|context| one.poll_open(Dir::Uni, context)).await.unwrap();
            write(&one, stream, &[7; 40_000]).await;
            assert!(one.finish(stream));
            let stream = poll_fn(|context| other.poll_accept(Dir::Uni, context)).await.unwrap();
            assert!(read_to_end(&other, stream).await == [7; 40_000]);
            assert_eq!(here.shared.socket.refusals.load(Ordering::SeqCst), 0);
        }
    });
}

#[test]
fn a_peer_that_is_silent_is_noticed_and_a_refused_one_learns_it() {
    run(|handle| async move {
        const SHORT: Duration = Duration::from_secs(1);
        let (_, hasty) = configurations(SHORT);
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (here, _) = endpoint(None, &handle);
        let one = here.connect(hasty, silent.local_addr().unwrap(), "peer.test").unwrap();
        poll_fn(|context| one.poll_answered(context)).await;
        let ended = poll_fn(|context| one.poll_established(context)).await;
        assert!(matches!(ended, Err(ConnectionError::TimedOut)), "{ended:?}");

        let (server, mut client) = configurations(PATIENCE / 2);
        let (there, address) = endpoint(Some(server), &handle);
        let one = here.connect(client.clone(), address, "peer.test").unwrap();
        there.accept().await.unwrap().refuse();
        let ended = poll_fn(|context| one.poll_established(context)).await;
        assert!(matches!(ended, Err(ConnectionError::ConnectionClosed(_))), "{ended:?}");

        there.refuse_more();
        // It is not answered.
        client.transport_config(transport(SHORT));
        let one = here.connect(client, address, "peer.test").unwrap();
        let ended = poll_fn(|context| one.poll_established(context)).await;
        assert!(ended.is_err(), "{ended:?}");
    });
}

#[test]
fn connections_end_with_the_loop() {
    let thread = thread();
    let (done, paired) = oneshot::channel();
    let handle = thread.handle().clone();
    thread.handle().spawn(async move {
        let _ = done.send(pair(&handle).await);
    });
    let (endpoints, [one, other]) = paired.blocking_recv().unwrap();
    drop(thread);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    for connection in [&one, &other] {
        let ended = poll_fn(|context| connection.poll_ended(context));
        let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, ended).await });
        assert!(matches!(ended, Ok(ConnectionError::LocallyClosed)), "{ended:?}");
    }
    for endpoint in endpoints {
        assert!(runtime.block_on(endpoint.accept()).is_none());
        runtime.block_on(endpoint.until_idle());
    }
}

#[test]
fn every_packet_is_received_however_many_come_at_once() {
    run(|handle| async move {
        let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = here.local_addr().unwrap();
        let socket = Socket::new(here, &handle).unwrap();
        let (mut buffers, mut meta) = ([[0; 100]; 4], [RecvMeta::default(); 4]);
        for burst in [1, 4, 9, 0, 3] {
            for _ in 0..burst {
                there.send_to(b"packet", to).unwrap();
            }
            let mut received = 0;
            while received < burst {
                received += poll_fn(|context| {
                    let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
                    socket.poll_receive(context, &mut slices, &mut meta)
                })
                .await
                .unwrap();
            }
            assert_eq!(received, burst);
        }
    });
}
