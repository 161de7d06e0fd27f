//! Listeners that fail: nothing is accepted, and an orchestrator has to learn it.

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

use bartizan_deployment::{InterfaceKind, Path};

use crate::listening::handshake_threads::{HandshakeThreads, InboundListener};
use crate::listening::quic::{QuicListener, QuicListeners};
use crate::tests::stage::{Stage, run, shared, until};
use crate::worker::listeners::of_peers;

/// A descriptor that is no socket.
fn no_socket() -> OwnedFd {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open("/dev/null").unwrap().into()
}

#[test]
fn a_listener_that_fails_turns_ready_to_503() {
    for failing in ["tls", "quic"] {
        let stage = Stage::new();
        run(async {
            let running = stage.start("nrf").await;
            assert_eq!(running.ready(), Ok(()));
            let shared = shared(&running);
            let bounds = of_peers(&shared.limits, Path::Http2);
            let quic = |socket| {
                let listener = QuicListener {
                    socket,
                    name: failing.to_owned(),
                    bounds,
                    interface: InterfaceKind::Sbi,
                    forward: SocketAddr::from(([127, 0, 0, 1], 9)),
                };
                QuicListeners::start(shared, vec![listener]).unwrap()
            };
            let (mut by_tcp, mut by_udp) = (None, None);
            match failing {
                "tls" => {
                    let listener = TcpListener::from(no_socket());
                    let of = (InterfaceKind::Sbi, Path::Http2);
                    let (listener, _) = InboundListener::new(listener, failing.to_owned(), bounds, of, None);
                    by_tcp = Some(HandshakeThreads::start(shared, vec![listener]).unwrap());
                }
                _ => by_udp = Some(quic(no_socket().into())),
            }
            until(failing, || running.ready().is_err()).await;
            assert_eq!(
                running.ready().unwrap_err(),
                format!("{failing}: nothing is accepted; the log has the cause")
            );
            drop((by_tcp, by_udp));
        });
    }
}
