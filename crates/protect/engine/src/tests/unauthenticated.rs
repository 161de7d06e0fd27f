//! IKE_SAs whose peer is not authenticated are in no decision about the connection between their
//! addresses.

use bartizan_ike::Failure;

use super::*;
use crate::control::ClientId;

/// A reason of this end to begin.
type Begin = fn(&mut Daemon);

/// First requests from these ports of the peer's address, by a sender that knows the algorithms of
/// the node and nothing else.
fn forge(daemon: &mut Daemon, ports: std::ops::Range<u16>) {
    let (ends, config) = (daemon.connections[0].ends, daemon.connections[0].config.clone());
    let forged = Ends {
        local: ends.remote,
        remote: ends.local,
    };
    for port in ports {
        let mut sa = IkeSa::initiate(config.clone(), forged, &mut random, clock::now()).unwrap();
        let first = sa.poll_transmit().unwrap().datagram;
        let from = Ends {
            local: ends.local,
            remote: (ends.remote.ip(), port).into(),
        };
        daemon.received(from, &first);
        daemon.settle();
    }
}

fn begun(daemon: &Daemon) -> Vec<SaId> {
    let begun = daemon.sas.iter().filter(|(_, sa)| sa.initiator);
    begun.map(|(id, _)| *id).collect()
}

#[test]
fn a_forged_first_request_keeps_no_link_from_being_begun() {
    let causes: [(&str, Begin); 3] = [
        ("a command", |daemon| {
            let child = daemon.connections[0].children[0].name.clone();
            let message = Section::new().with("ike", "cu--ric").with("timeout", "-1");
            daemon.initiate(ClientId(7), &message.with("child", child));
        }),
        ("what a peer deleted", |daemon| {
            daemon.connections[0].overdue = true;
            daemon.begin_overdue(clock::now());
        }),
        ("what was lost", |daemon| {
            let lost = daemon.begin("cu--ric", None, None).unwrap();
            daemon.sas.get_mut(&lost).unwrap().established = Some(clock::now());
            let ended = &Failure::Unanswered;
            daemon.closed(clock::now(), lost, ended);
        }),
    ];
    for (cause, begin) in causes {
        let rendered = rendered();
        let mut daemon = rendered.daemon();
        forge(&mut daemon, 40_000..40_001);
        assert_eq!((daemon.sas.len(), begun(&daemon).len()), (1, 0), "{cause}");
        assert_eq!(daemon.ike_sa_of("cu--ric"), None, "{cause}");
        begin(&mut daemon);
        assert_eq!(begun(&daemon).len(), 1, "{cause}");
        let mut shown: Vec<_> = daemon.sas.values().map(|sa| (sa.connection(), sa.state())).collect();
        shown.sort_unstable();
        assert_eq!(
            shown,
            [("(unnamed)", "CONNECTING"), ("cu--ric", "CONNECTING")],
            "{cause}"
        );
    }
}

#[test]
fn forged_first_requests_use_up_nothing_of_the_peer_and_do_not_outlive_its_connection() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    let established = daemon.begin("cu--ric", None, None).unwrap();
    daemon.sas.get_mut(&established).unwrap().established = Some(clock::now());
    forge(&mut daemon, 40_000..40_020);
    let successor = daemon.begin("cu--ric", None, Some(established)).unwrap();
    daemon.bound("cu--ric", successor);
    daemon.settle();
    assert_eq!((daemon.sas.len(), begun(&daemon)), (22, vec![established, successor]));
    // Attempts of this end go before what is established does.
    let attempts: Vec<SaId> = (0..8).map(|_| daemon.begin("cu--ric", None, None).unwrap()).collect();
    daemon.bound("cu--ric", attempts[7]);
    daemon.settle();
    let left = begun(&daemon);
    assert_eq!((left.len(), left[0], left[1]), (8, established, attempts[1]));

    let message = Section::new().with("name", "cu--ric");
    daemon.unload(&message).unwrap();
    assert!(daemon.sas.values().all(|sa| sa.initiator));
}

#[test]
fn an_ike_sa_belongs_to_its_connection_once_the_peer_is_authenticated() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    forge(&mut daemon, 40_000..40_001);
    let id = *daemon.sas.keys().next().unwrap();
    let identity = |daemon: &Daemon| {
        let section = daemon.section(id, clock::now());
        section.text("remote-id").map(str::to_owned)
    };
    assert_eq!(identity(&daemon).as_deref(), Some("%any"));
    daemon.report(
        clock::now(),
        bartizan_ike::Report::Event(id, bartizan_ike::Event::InitialContact),
    );
    assert_eq!(identity(&daemon).as_deref(), Some("ric"));
    assert_eq!(daemon.ike_sa_of("cu--ric"), Some((id, false)));
}
