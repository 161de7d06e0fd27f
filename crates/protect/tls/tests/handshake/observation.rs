//! A watch shows the bytes on its own wire, whatever happens on others.

use bartizan_deployment::InterfaceKind;
use bartizan_ledger::Key;
use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_tls::{Endpoint, Reason, peers};
use rcgen::{PKCS_ML_DSA_65, PKCS_ML_DSA_87};

use crate::authority::{Authority, Wanted, dns};
use crate::wire::{amf, client_end, converse, deployment, nrf, server_end, shake, under};

#[test]
fn the_key_is_the_client_random_on_the_wire_at_both_ends() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let (client, server) = (outcome.client.unwrap(), outcome.server.unwrap());
    let Some(Key::Tls { client_random }) = client.key else {
        panic!("no key")
    };
    assert_eq!(client_random.0, outcome.client_hello[11..43]);
    assert_eq!(server.key, client.key);
}

#[test]
fn bytes_are_those_on_the_wire_until_the_end_of_the_handshake() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let client = amf(authority.node("amf"), &deployment("hybrid"));
    let server = nrf(authority.node("nrf"), &deployment("hybrid"));
    let (mut client, mut server) = (
        client_end(client.connect("nrf", InterfaceKind::Sbi).unwrap()),
        server_end(server.accept_any(InterfaceKind::Sbi)),
    );
    let outcome = converse(&mut client, &mut server);
    let (ours, theirs) = (outcome.client.unwrap().bytes, outcome.server.unwrap().bytes);
    assert_eq!((ours.sent, ours.received), (outcome.to_server, outcome.to_client));
    assert_eq!((theirs.received, theirs.sent), (outcome.to_server, outcome.to_client));
    // ML-DSA-65 leaves of 5.5 kB and signatures of 3.3 kB: no hello of a few hundred bytes passes for that.
    assert!(ours.sent > 9_000 && ours.received > 9_000);
    client.watch.sent(&[0; 1000]);
    let later = client.watch.failed(&std::io::ErrorKind::ConnectionReset.into());
    assert_eq!(later.bytes, ours);
}

#[test]
fn a_hello_retry_request_is_seen_at_both_ends_and_keeps_the_first_random() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let server = nrf(
        authority.node("nrf"),
        &deployment("{ profile: hybrid, groups: [MLKEM1024] }"),
    );
    let both = under(peers(&deployment("hybrid"), "amf"), |policy| {
        policy.groups = vec![NamedGroup::SECP384R1MLKEM1024, NamedGroup::MLKEM1024];
    });
    let client = Endpoint::new(authority.node("amf"), both).unwrap();
    let outcome = shake(
        client.connect("nrf", InterfaceKind::Sbi).unwrap(),
        server.accept_any(InterfaceKind::Sbi),
    );
    let (client, server) = (outcome.client.unwrap(), outcome.server.unwrap());
    assert!(client.negotiated.hello_retry && server.negotiated.hello_retry);
    assert_eq!(client.negotiated.group.code, NamedGroup::MLKEM1024.0);
    let Some(Key::Tls { client_random }) = client.key else {
        panic!("no key")
    };
    assert_eq!(client_random.0, outcome.client_hello[11..43]);
    assert_eq!(server.key, client.key);
}

#[test]
fn a_hello_retry_request_before_a_resumption_is_not_forgotten() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let policy = "{ profile: hybrid, groups: [MLKEM1024], resumption: 10m }";
    let server = nrf(authority.node("nrf"), &deployment(policy));
    let both = under(peers(&deployment(policy), "amf"), |policy| {
        policy.groups = vec![NamedGroup::MLKEM768, NamedGroup::MLKEM1024];
    });
    let client = Endpoint::new(authority.node("amf"), both).unwrap();
    for resumed in [false, true] {
        let outcome = shake(
            client.connect("nrf", InterfaceKind::Sbi).unwrap(),
            server.accept_any(InterfaceKind::Sbi),
        );
        for end in [outcome.client, outcome.server] {
            let negotiated = end.unwrap().negotiated;
            assert_eq!((negotiated.resumed, negotiated.hello_retry), (resumed, true));
        }
    }
}

#[test]
fn interleaved_handshakes_of_one_endpoint_are_observed_each_on_its_own() {
    // One listener, four kinds of clients at once, every step of one between the steps of the others.
    let good = Authority::root("root", &PKCS_ML_DSA_65);
    let strong = good.intermediate("strong", &PKCS_ML_DSA_87);
    let foreign = Authority::root("foreign", &PKCS_ML_DSA_65);
    let text = "policy: { profile: hybrid, groups: [X25519MLKEM768, MLKEM1024], signatures: [mldsa65, mldsa87] }\n\
        nodes:\n  amf: { function: AMF, address: 10.0.0.1 }\n  smf: { function: SMF, address: 10.0.0.3 }\n\
        \x20 nrf: { function: NRF, address: 10.0.0.2 }\n\
        interfaces:\n  - { kind: SBI, between: [amf, nrf], with: sidecar }\n\
        \x20 - { kind: SBI, between: [smf, nrf], with: sidecar }\n";
    let deployment = bartizan_deployment::Deployment::parse(text, "test.yaml", std::path::Path::new("/")).unwrap();
    let server = nrf(good.node("nrf"), &deployment);
    let node = |name: &str, credentials, group: NamedGroup| {
        let peers = under(peers(&deployment, name), |policy| policy.groups = vec![group]);
        Endpoint::new(credentials, peers).unwrap()
    };
    let issued = foreign.issue(Wanted::named([dns("amf")]));
    let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
    let intruder = bartizan_tls::Credentials::from_pem(certificate, key, good.trusted().as_bytes(), None).unwrap();
    let clients = [
        node("amf", good.node("amf"), NamedGroup::X25519MLKEM768),
        node("smf", strong.node("smf"), NamedGroup::MLKEM1024),
        node("amf", intruder, NamedGroup::X25519MLKEM768),
        node("smf", good.node("udm"), NamedGroup::MLKEM1024),
    ];
    let mut ends: Vec<_> = clients
        .iter()
        .map(|client| {
            (
                client_end(client.connect("nrf", InterfaceKind::Sbi).unwrap()),
                server_end(server.accept_any(InterfaceKind::Sbi)),
            )
        })
        .collect();
    let hellos: Vec<_> = ends.iter_mut().map(|(client, _)| client.speak()).collect();
    // Byte by byte, in turn.
    let longest = hellos.iter().map(Vec::len).max().unwrap();
    for position in 0..longest {
        for ((_, server), hello) in ends.iter_mut().zip(&hellos) {
            if let Some(byte) = hello.get(position) {
                server.hear(std::slice::from_ref(byte));
            }
        }
    }
    let flights: Vec<_> = ends.iter_mut().map(|(_, server)| server.speak()).collect();
    for ((client, _), flight) in ends.iter_mut().zip(&flights).rev() {
        client.hear(flight);
    }
    let judged: Vec<_> = ends
        .iter_mut()
        .map(|(client, server)| converse(client, server).server)
        .collect();
    let shown = |index: usize| {
        let established = judged[index].as_ref().unwrap_or_else(|error| panic!("{error}"));
        let negotiated = &established.negotiated;
        let signature = negotiated.peer_signature.as_ref().unwrap().code;
        let names = established.chain[0].names.clone();
        (
            established.peer.to_string(),
            negotiated.group.code,
            signature,
            names,
            established.chain.len(),
        )
    };
    let (hybrid, alone) = (NamedGroup::X25519MLKEM768.0, NamedGroup::MLKEM1024.0);
    let (level3, level5) = (SignatureScheme::MLDSA65.0, SignatureScheme::MLDSA87.0);
    assert_eq!(shown(0), ("amf".into(), hybrid, level3, vec!["dns:amf".to_owned()], 1));
    assert_eq!(shown(1), ("smf".into(), alone, level5, vec!["dns:smf".to_owned()], 2));
    let reasons = [2, 3].map(|index| judged[index].as_ref().unwrap_err().reason);
    assert_eq!(reasons, [Reason::UnknownCa, Reason::WrongName]);
    for ((judged, hello), index) in judged.iter().zip(&hellos).zip(0..) {
        let key = match judged {
            Ok(established) => established.key,
            Err(refused) => refused.key,
        };
        let Some(Key::Tls { client_random }) = key else {
            panic!("no key for {index}")
        };
        assert_eq!(client_random.0, hello[11..43], "{index}");
    }
}
