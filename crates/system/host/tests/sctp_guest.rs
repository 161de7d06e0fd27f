//! SCTP's sockets as a gateway needs them, on a kernel that has SCTP, in a guest.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::net::SocketAddr;
    use std::time::{Duration, Instant};

    use bartizan_host::sctp::{Association, ErrorCause, Event, Listener, Notification, Opening, Ordering, Streams};
    use bartizan_host::{Namespace, Program};
    use bartizan_testing::{GuestKernel, GuestTests, Port, Results, connect};

    const PATIENCE: Duration = Duration::from_secs(120);

    static TESTS: GuestTests = GuestTests {
        kernel: GuestKernel::UserMode,
        tests: &["as_root::"],
        needs: &[],
        without: None,
        at_once: "1",
        results: Results::new(),
    };

    /// True outside of the guest.
    fn in_a_guest() -> bool {
        if !TESTS.is_here() {
            return true;
        }
        let up = Program::new("ip").arguments(["link", "set", "lo", "up"]);
        up.run(PATIENCE).unwrap();
        false
    }

    fn opening(outbound: u16, inbound: u16) -> Opening {
        Opening {
            outbound_streams: outbound,
            inbound_streams: inbound,
            ..Opening::default()
        }
    }

    /// A piece of a message, kept.
    #[derive(Debug, PartialEq, Eq)]
    enum Seen {
        Message(u16, u32, Ordering, Vec<u8>),
        Notification(Notification),
        End,
        Broken,
    }

    /// The next message or notification that is of interest, and of how many pieces it was.
    fn next(association: &Association) -> (Seen, usize) {
        let (mut buffer, mut whole, mut pieces) = (Vec::new(), Vec::new(), 0);
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "nothing came");
            let seen = match association.next_event(&mut buffer) {
                Ok(Event::Nothing) => {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                }
                Ok(Event::Piece {
                    stream,
                    payload_protocol,
                    ordering,
                    bytes,
                    last,
                }) => {
                    whole.extend_from_slice(bytes);
                    pieces += 1;
                    if !last {
                        continue;
                    }
                    Seen::Message(stream, payload_protocol, ordering, whole)
                }
                Ok(Event::Notification(Notification::Path { .. } | Notification::Up(_))) => {
                    continue;
                }
                Ok(Event::Notification(notification)) => Seen::Notification(notification),
                Ok(Event::End) => Seen::End,
                Err(_) => Seen::Broken,
            };
            return (seen, pieces);
        }
    }

    /// Two ends of an association over the loopback interface, neither of which blocks.
    fn pair(here: Opening, there: Opening) -> (Association, Association) {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), there).unwrap();
        listener.subscribe().unwrap();
        let client = Association::begin("127.0.0.1:0".parse().unwrap(), listener.address().unwrap(), here).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.subscribe().unwrap();
        server.set_nonblocking(true).unwrap();
        let began = Instant::now();
        while let Err(error) = client.outcome() {
            assert!(began.elapsed() < PATIENCE, "{error}");
            std::thread::sleep(Duration::from_millis(2));
        }
        (client, server)
    }

    #[test]
    fn streams_ppids_order_flags_and_large_messages_pass_as_they_were_sent() {
        if in_a_guest() {
            return;
        }
        let (client, server) = pair(opening(30, 5), opening(64, 20));
        // Each way the smaller of what one asks for and the other allows.
        let (from_client, from_server) = (20, 5);
        assert_eq!(
            client.streams().unwrap(),
            Streams {
                outbound: from_client,
                inbound: from_server
            }
        );
        assert_eq!(
            server.streams().unwrap(),
            Streams {
                outbound: from_server,
                inbound: from_client
            }
        );
        for (stream, protocol, ordering, length) in [
            (0, 60, Ordering::Ordered, 165),
            (19, 0, Ordering::Unordered, 2809),
            (3, u32::MAX, Ordering::Ordered, 1),
            (1, 70, Ordering::Ordered, 200_000),
        ] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| at as u8).collect();
            client.set_room(212_992).unwrap();
            client.send_with(stream, protocol, ordering, &bytes).unwrap();
            let (seen, pieces) = next(&server);
            assert_eq!(seen, Seen::Message(stream, protocol, ordering, bytes));
            // A message larger than the receiver's room is delivered in part (RFC 6458, section
            // 3.1.4).
            assert_eq!(pieces > 1, length > 65_536, "{pieces} pieces of {length} octets");
        }
        assert!(client.send_with(20, 0, Ordering::Ordered, b"beyond").is_err());
        let began = Instant::now();
        while !client.is_acknowledged().unwrap() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_is_not_acknowledged_is_known() {
        if in_a_guest() {
            return;
        }
        let (client, _server) = pair(Opening::default(), Opening::default());
        assert!(client.is_acknowledged().unwrap());
        // The receiver's window closes when no reader takes from it.
        let sent = (0..).take_while(|_| client.send_with(0, 0, Ordering::Ordered, &[0; 60_000]).is_ok());
        assert!(sent.count() > 2);
        assert!(!client.is_acknowledged().unwrap());
    }

    #[test]
    fn the_peer_learns_the_cause_of_an_abort_and_a_shutdown() {
        if in_a_guest() {
            return;
        }
        let (client, server) = pair(Opening::default(), Opening::default());
        client.send_with(0, 60, Ordering::Ordered, b"before").unwrap();
        client.abort().unwrap();
        assert!(matches!(next(&server).0, Seen::Message(..)));
        let lost = ErrorCause {
            code: 12,
            reason: String::new(),
        };
        assert_eq!(next(&server).0, Seen::Notification(Notification::Lost(lost)));

        let (client, server) = pair(Opening::default(), Opening::default());
        client.send_with(0, 60, Ordering::Ordered, b"last").unwrap();
        client.finish().unwrap();
        assert!(matches!(next(&server).0, Seen::Message(..)));
        assert_eq!(next(&server).0, Seen::Notification(Notification::ShutDown));
        assert_eq!(next(&client).0, Seen::Notification(Notification::ShutDownComplete));
        let end = next(&server).0;
        assert!(
            matches!(end, Seen::End | Seen::Notification(Notification::ShutDownComplete)),
            "{end:?}"
        );
    }

    #[test]
    fn a_peer_that_does_not_listen_refuses() {
        if in_a_guest() {
            return;
        }
        let nobody: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let association = Association::begin("127.0.0.1:0".parse().unwrap(), nobody, Opening::default()).unwrap();
        let began = Instant::now();
        let error = loop {
            match association.outcome() {
                Err(error) if error.kind() != std::io::ErrorKind::NotConnected => break error,
                _ => assert!(began.elapsed() < PATIENCE),
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_restart_of_an_established_association_is_a_notification_with_its_stream_counts() {
        if in_a_guest() {
            return;
        }
        let [here, there] = ["restart-a", "restart-b"].map(|name| Namespace::create(name).unwrap());
        let port = |namespace, number: u8| {
            let address = format!("10.99.0.{number}/24");
            Port::new(namespace, "link0").address(&address).unwrap()
        };
        connect(&port(&here, 1), &port(&there, 2), 1500).unwrap();
        let at: SocketAddr = "10.99.0.2:38412".parse().unwrap();
        let from: SocketAddr = "10.99.0.1:40000".parse().unwrap();
        let listener = there.enter(|| Listener::bind(at, Opening::default())).unwrap().unwrap();
        listener.subscribe().unwrap();
        let first = here
            .enter(|| Association::connect(from, at, opening(30, 5)))
            .unwrap()
            .unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let link = |state| {
            let set = Program::new("ip").arguments(["link", "set", "link0", state]);
            set.inside(&here).run(PATIENCE).unwrap();
        };
        // Its ABORT never arrives: for the server the association stands.
        link("down");
        first.abort().unwrap();
        link("up");
        let _second = here
            .enter(|| Association::connect(from, at, opening(2, 2)))
            .unwrap()
            .unwrap();
        let restarted = Streams {
            outbound: 2,
            inbound: 2,
        };
        assert_eq!(next(&server).0, Seen::Notification(Notification::Restarted(restarted)));
    }
}
