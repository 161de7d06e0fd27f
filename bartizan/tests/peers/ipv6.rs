//! Both legs of both sidecars over IPv6.

use bartizan_testing::Listening as _;
use std::net::{Ipv6Addr, SocketAddr};

use bartizan_ledger::Verdict;

use crate::go;
use crate::stage::{By, PATIENCE, Pair, Ports, Running, Stage, ask};

fn over_ipv6(address: SocketAddr) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::LOCALHOST, address.port()))
}

#[test]
fn curl_is_answered_through_two_sidecars_over_ipv6_alone() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        let mut pair = Pair::new(by, by);
        let Ports {
            function,
            outbound,
            inbound,
            ..
        } = pair.ports;
        pair.ports.function = over_ipv6(function);
        pair.ports.outbound = over_ipv6(outbound);
        pair.ports.inbound = over_ipv6(inbound);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let text = std::fs::read_to_string(&file).expect("the file");
        std::fs::write(&file, text.replace("address: 127.0.0.1", "address: '::1'")).expect("the file");
        let mut producer = go::program("h2c-server")
            // curl takes a connection that ends as soon as it is idle for an error.
            .arguments(["-listen", &pair.ports.function.to_string(), "-idle", "1m"])
            .start()
            .expect("the Go server starts");
        producer
            .wait_for_port(pair.ports.function, PATIENCE)
            .expect("it listens");
        let running = Running {
            nrf: stage.start(&file, "nrf", pair.ports.nrf_admin),
            amf: stage.start(&file, "amf", pair.ports.amf_admin),
            ports: pair.ports,
        };
        let url = format!("http://{}/id/7", running.ports.outbound);
        let (status, _, body) = ask(&["--http2-prior-knowledge", "--globoff", "--data", "six", &url]);
        assert_eq!((status, body.as_str()), (200, "7 six"), "{by:?}");
        for node in [&running.amf, &running.nrf] {
            let handshakes = node.handshakes(|handshake| handshake.verdict == Verdict::Accepted);
            for handshake in handshakes {
                assert_eq!(handshake.local_address.ip(), Ipv6Addr::LOCALHOST);
                assert_eq!(handshake.peer_address.ip(), Ipv6Addr::LOCALHOST);
                assert_eq!(handshake.negotiated.expect("what was negotiated").group.code, 0x11ec);
            }
        }
    }
}
