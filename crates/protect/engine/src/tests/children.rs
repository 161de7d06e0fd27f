//! CHILD_SAs as the daemon keeps and reports them.

use std::sync::Arc;

use bartizan_esp::{SequenceNumbers, Suite};
use bartizan_ike::{Child, Mode, Requester};
use bartizan_wire::ike::NotifyType;

use super::*;
use crate::control::ClientId;

/// It waited until its time was over, and the log blamed the peer.
#[test]
fn a_command_learns_that_its_child_sa_is_refused_whichever_end_began_the_ike_sa() {
    for initiator in [true, false] {
        let rendered = rendered();
        let mut daemon = rendered.daemon();
        let id = daemon.begin("cu--ric", None, None).unwrap();
        daemon.sas.get_mut(&id).unwrap().initiator = initiator;
        let child = daemon.connections[0].children[0].name.clone();
        let message = Section::new().with("child", child).with("timeout", "60000");
        assert!(daemon.initiate(ClientId(7), &message).is_none());
        daemon.child_refused(id, 0, Requester::Peer, NotifyType::TS_UNACCEPTABLE);
        assert!(daemon.is_waited_for("cu--ric"));
        daemon.child_refused(id, 0, Requester::ThisEnd, NotifyType::TEMPORARY_FAILURE);
        assert!(!daemon.is_waited_for("cu--ric"), "{initiator}");
    }
}

/// The other connection's was forgotten, and its SAs removed.
#[test]
fn of_two_child_sas_with_one_spi_that_of_the_ike_sa_is_forgotten() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    let id = daemon.begin("cu--ric", None, None).unwrap();
    let of = &daemon.connections[0].children[0];
    let child = Child {
        place: 0,
        transforms: Vec::new(),
        suite: Suite::of(20, Some(256), None).unwrap(),
        numbers: SequenceNumbers::Extended,
        mode: Mode::Tunnel,
        inbound: (1000, Vec::new().into()),
        outbound: (2000, Vec::new().into()),
        local: of.local.clone(),
        remote: of.remote.clone(),
        in_udp: false,
        requester: Requester::Peer,
        replaces: None,
    };
    let now = clock::now();
    let made = |connection| ChildSa::new(1, (connection, Arc::clone(of)), (&child, 4500), now);
    let both = ["other", "cu--ric"].map(made);
    daemon.children.extend(both);
    let forgotten = daemon.forget_child(id, 1000, now).unwrap();
    assert_eq!((forgotten.connection.as_str(), daemon.children.len()), ("cu--ric", 1));
    assert!(daemon.forget_child(id, 1000, now).is_none());
}

/// A new list of revoked certificates is loaded with each connection again.
#[test]
fn a_node_with_as_many_connections_as_there_may_be_loads_them_again() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    daemon.store = rendered.store();
    let known = rendered.connection_of(rendered.section());
    while daemon.connections.len() < commands::CONNECTIONS {
        daemon.connections.push(Connection {
            name: daemon.connections.len().to_string(),
            config: Arc::clone(&known.config),
            identities: known.identities.clone(),
            children: Vec::new(),
            wanted: Default::default(),
            loaded: false,
            ..known
        });
    }
    let load = |daemon: &mut Daemon, name: &str| {
        let message = Section::new().with_section(name, rendered.section().clone());
        daemon.load(&message).unwrap_err()
    };
    // This host has no such address, which is asked for behind that.
    let again = load(&mut daemon, "cu--ric");
    assert!(again.contains("cannot be used for ESP"), "{again}");
    daemon.connections[0].loaded = false;
    assert_eq!(load(&mut daemon, "new"), "too many connections");
}
