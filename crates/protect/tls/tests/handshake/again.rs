//! An open connection is judged again as if its handshake ended now: at both ends, by everything that judges a handshake.

use bartizan_deployment::{InterfaceKind, Policy};
use bartizan_ledger::{Direction, Negotiated, Verdict};
use bartizan_registry::NamedGroup;
use bartizan_tls::{Credentials, Endpoint, Peer, Reason, SessionFacts, peers};
use rcgen::PKCS_ML_DSA_65;
use time::{Duration, OffsetDateTime};

use crate::authority::{Authority, Issued, Wanted, dns};
use crate::wire::{Clock, deployment, now, shake, under};

const YEAR: Duration = Duration::days(365);

/// The two ends of an open connection.
struct Open {
    authority: Authority,
    issued: [Issued; 2],
    peers: [Vec<Peer>; 2],
    clock: std::sync::Arc<Clock>,
    /// Facts of the client about the server, and of the server about the client.
    facts: [SessionFacts; 2],
    negotiated: [Negotiated; 2],
}

const NODES: [&str; 2] = ["amf", "nrf"];
/// The peer of each of `NODES`.
const OTHERS: [&str; 2] = ["nrf", "amf"];

fn open(policy: &str, lasting: [Duration; 2], connections: usize) -> Open {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let deployment = deployment(policy);
    let clock = Clock::at(now());
    let issued = [0, 1].map(|end| {
        authority.issue(Wanted {
            not_after: OffsetDateTime::now_utc() + lasting[end],
            ..Wanted::named([dns(NODES[end])])
        })
    });
    let peers = NODES.map(|node| peers(&deployment, node));
    let [client, server] = [0, 1].map(|end| {
        let credentials = authority.credentials(&issued[end], None);
        Endpoint::with_clock(credentials, peers[end].clone(), clock.clone()).unwrap()
    });
    let mut facts = None;
    for _ in 0..connections {
        let connecting = client.connect("nrf", InterfaceKind::Sbi).unwrap();
        let outcome = shake(connecting, server.accept_any(InterfaceKind::Sbi));
        facts = Some([outcome.client, outcome.server].map(|end| end.unwrap()));
    }
    let established = facts.unwrap();
    Open {
        authority,
        issued,
        peers,
        clock,
        facts: established.each_ref().map(|end| end.facts.clone()),
        negotiated: established.map(|end| end.negotiated),
    }
}

impl Open {
    fn new() -> Self {
        open("hybrid", [YEAR; 2], 1)
    }

    fn credentials(&self, end: usize) -> Credentials {
        self.authority.credentials(&self.issued[end], None)
    }

    /// The verdict of an end on its peer once the end has these credentials and peers.
    fn judged(&self, end: usize, credentials: Credentials, peers: Vec<Peer>) -> Result<Verdict, Reason> {
        let endpoint = Endpoint::with_clock(credentials, peers, self.clock.clone()).unwrap();
        let facts = &self.facts[end];
        let judged = endpoint.judge_again(facts).map_err(|refusal| {
            assert!(!refusal.detail.is_empty() && !refusal.hint.is_empty());
            refusal.reason
        });
        if !self.negotiated[end].resumed {
            // A successor of the process has a record of the same.
            let chain: Vec<_> = facts.chain().map(<[u8]>::to_vec).collect();
            let began = [Direction::Outbound, Direction::Inbound][end];
            let peer = (OTHERS[end], InterfaceKind::Sbi);
            let recorded = endpoint.judge_recorded(peer, began, &chain, Some(&self.negotiated[end]));
            assert_eq!(
                recorded.err().map(|refusal| refusal.reason),
                judged.as_ref().err().copied()
            );
        }
        judged
    }

    /// The same with a change of its peers alone.
    fn with(&self, end: usize, change: impl Fn(&mut Peer)) -> Result<Verdict, Reason> {
        let mut peers = self.peers[end].clone();
        peers.iter_mut().for_each(change);
        self.judged(end, self.credentials(end), peers)
    }
}

#[test]
fn what_has_not_changed_is_admitted_again() {
    let open = Open::new();
    for end in [0, 1] {
        assert_eq!(open.with(end, |_| {}), Ok(Verdict::Accepted));
    }
}

#[test]
fn a_peer_that_the_file_no_longer_joins_is_refused() {
    let open = Open::new();
    for end in [0, 1] {
        let none = open.judged(end, open.credentials(end), Vec::new());
        assert_eq!(none, Err(Reason::WrongName));
        // Another interface between the two, with the same policy, is not the one it was admitted by.
        assert_eq!(
            open.with(end, |peer| peer.interface = InterfaceKind::O1),
            Err(Reason::WrongName)
        );
    }
}

#[test]
fn a_peer_whose_names_are_another_nodes_by_now_is_refused() {
    let open = Open::new();
    for (end, other) in OTHERS.into_iter().enumerate() {
        // The certificate still carries the names of a peer: of `smf`, not of who it was admitted as.
        let text = format!(
            "nodes:\n  {other}: {{ function: X, address: 10.0.0.1, names: {{ dns: [new] }} }}\n  here: {{ function: Y, address: 10.0.0.2 }}\n\
             \x20 smf: {{ function: SMF, address: 10.0.0.3, names: {{ dns: [{other}] }} }}\n\
             interfaces:\n  - {{ kind: SBI, between: [{other}, here], with: sidecar }}\n  - {{ kind: SBI, between: [smf, here], with: sidecar }}\n"
        );
        let deployment =
            bartizan_deployment::Deployment::parse(&text, "moved.yaml", std::path::Path::new("/")).unwrap();
        let judged = open.judged(end, open.credentials(end), peers(&deployment, "here"));
        assert_eq!(judged, Err(Reason::WrongName), "{other}");
    }
}

#[test]
fn a_root_that_was_replaced_a_list_that_names_it_and_an_end_are_noticed() {
    let open = open("hybrid", [YEAR, YEAR], 1);
    let elsewhere = Authority::root("root", &PKCS_ML_DSA_65);
    for end in [0, 1] {
        let moved = elsewhere.node(NODES[end]);
        assert_eq!(open.judged(end, moved, open.peers[end].clone()), Err(Reason::UnknownCa));
        let list = open
            .authority
            .list(&[&open.issued[1 - end]], OffsetDateTime::now_utc() + YEAR);
        let listed = open.authority.credentials(&open.issued[end], Some(&list));
        assert_eq!(open.judged(end, listed, open.peers[end].clone()), Err(Reason::Revoked));
    }
    open.clock.set(now() + 366 * 86_400);
    for end in [0, 1] {
        assert_eq!(open.with(end, |_| {}), Err(Reason::Expired));
    }
    open.clock.set(None);
    assert_eq!(open.with(1, |_| {}), Err(Reason::Ours));
}

#[test]
fn a_policy_that_was_narrowed_is_held_against_what_was_negotiated() {
    let open = Open::new();
    for end in [0, 1] {
        let group = |peer: &mut Peer| peer.policy.groups = vec![NamedGroup::SECP256R1MLKEM768];
        assert_eq!(open.with(end, group), Err(Reason::Policy));
        let wider = |peer: &mut Peer| peer.policy.groups.push(NamedGroup::SECP256R1MLKEM768);
        assert_eq!(open.with(end, wider), Ok(Verdict::Accepted));
        let list = |peer: &mut Peer| peer.policy.revocation = bartizan_deployment::Revocation::Require;
        let without = Endpoint::new(open.credentials(end), {
            let mut peers = open.peers[end].clone();
            peers.iter_mut().for_each(list);
            peers
        });
        assert!(
            without.is_err(),
            "a policy that requires a list does not start without one"
        );
    }
}

#[test]
fn an_exception_that_ended_ends_what_it_excused() {
    // 2040-06-30T23:59:59Z, the last second of the exception.
    const LAST_SECOND: u64 = 2_224_713_599;
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let deployment = deployment("{ profile: transition, reason: the old SMF, expires: 2040-06-30 }");
    let clock = Clock::at(LAST_SECOND);
    let server = Endpoint::with_clock(authority.node("nrf"), peers(&deployment, "nrf"), clock.clone()).unwrap();
    let classical = under(peers(&deployment, "amf"), |policy| {
        *policy = Policy {
            signatures: Policy::hybrid().signatures,
            chain_signatures: Policy::hybrid().chain_signatures,
            ..Policy::classical()
        };
    });
    let client = Endpoint::with_clock(authority.node("amf"), classical, clock.clone()).unwrap();
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let facts = outcome.server.unwrap().facts;
    assert!(matches!(server.judge_again(&facts), Ok(Verdict::Excepted { .. })));
    clock.set(LAST_SECOND + 1);
    assert_eq!(server.judge_again(&facts).unwrap_err().reason, Reason::Policy);
}

#[test]
fn a_resumed_connection_is_judged_by_the_chain_of_its_first_handshake() {
    let open = open("{ profile: hybrid, resumption: 10m }", [YEAR; 2], 2);
    for end in [0, 1] {
        assert_eq!(open.with(end, |_| {}), Ok(Verdict::Accepted));
        let off = |peer: &mut Peer| peer.policy.resumption = bartizan_deployment::Resumption::Off;
        assert_eq!(open.with(end, off), Err(Reason::Policy));
        let list = open
            .authority
            .list(&[&open.issued[1 - end]], OffsetDateTime::now_utc() + YEAR);
        let listed = open.authority.credentials(&open.issued[end], Some(&list));
        assert_eq!(open.judged(end, listed, open.peers[end].clone()), Err(Reason::Revoked));
    }
    // A ticket is good for ten minutes; a connection that was made with it has no such bound.
    open.clock.set(now() + 3600);
    assert_eq!(open.with(0, |_| {}), Ok(Verdict::Accepted));
}
