//! A replay across a cable. Without root it fails and says so; `-- --skip as_root` leaves it out.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::net::TcpListener;
    use std::time::Duration;

    use bartizan_host::{Namespace, Program};
    use bartizan_testing::{Capture, Direction, Port, connect};
    use bartizan_workbench::Exchange;
    use bartizan_workbench::stand_in::replay::{Behaviour, Idle, Responder, Speed, Think, play};

    const LONG: Duration = bartizan_testing::PATIENCE;

    #[test]
    fn replay_between_two_namespaces_shows_the_eavesdropper_what_the_recording_has() {
        let callers = Namespace::create("callers").expect("NOT RUN: this test needs root");
        let called = Namespace::create("called").unwrap();
        let mut server_side = Port::new(&called, "eth0");
        let exchange = Exchange::two_registrations();
        let servers = exchange.servers();
        for (number, _) in servers.iter().enumerate() {
            server_side = server_side.address(&format!("10.78.0.{}/24", 10 + number)).unwrap();
        }
        connect(
            &Port::new(&callers, "eth0").address("10.78.0.1/24").unwrap(),
            &server_side,
            1500,
        )
        .unwrap();

        // Sockets belong to the namespace they are bound in, wherever they are served.
        let listeners = called
            .enter(|| {
                let bind = |(number, server): (usize, &&str)| {
                    (
                        (*server).to_owned(),
                        TcpListener::bind(format!("10.78.0.{}:8000", 10 + number)).unwrap(),
                    )
                };
                servers.iter().enumerate().map(bind).collect()
            })
            .unwrap();
        let behaviour = Behaviour {
            think: Think::None,
            idle: Idle::Keep,
        };
        let responder = Responder::start(&exchange, listeners, behaviour).unwrap();

        let directory = tempfile::tempdir().unwrap();
        let capture = Capture::start(
            Some(&called),
            "eth0",
            directory.path().join("wire.pcap"),
            Direction::Both,
        )
        .unwrap();
        let outcome = callers
            .enter(|| play(&exchange, responder.addresses(), Speed::AsFastAsPossible))
            .unwrap()
            .unwrap();
        let file = capture.path().to_owned();
        assert!(capture.stop().unwrap().complete());
        assert_eq!(outcome.faults, []);
        assert_eq!(outcome.requests.len(), 59);

        let count = |filter: &str| {
            let tshark = Program::new("tshark")
                .package("tshark")
                .arguments(["-n", "-d", "tcp.port==8000,http2", "-r"]);
            tshark
                .argument(&file)
                .arguments(["-Y", filter])
                .run(LONG)
                .unwrap()
                .text()
                .lines()
                .count()
        };
        assert_eq!(count("tcp.flags.syn == 1 && tcp.flags.ack == 0"), 65);
        assert_eq!(count("http2.headers.method"), 59);
        assert_eq!(count("http2.headers.path contains \"imsi-208930000000001\""), {
            let named = |path: &str| path.contains("imsi-208930000000001");
            exchange
                .requests()
                .filter(|(_, r)| r.answer.is_some() && named(r.path.as_str()))
                .count()
        });
    }
}
