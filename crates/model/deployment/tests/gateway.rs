//! Interfaces over SCTP that sidecars carry: what is accepted, and what would leave a host unencrypted.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::path::Path;

use bartizan_deployment::{Carrier, Deployment, Error, InterfaceKind, Path as DataPath, Protection};

const LISTENS: &str = "listen: '127.0.0.1:38412', to: amf, path: sctp";
const FORWARDS: &str = "listen: '10.80.0.2:38413', forward: '127.0.0.5:38412', path: sctp";
const INTERFACE: &str = "kind: N2, between: [gnb, amf], with: gateway";

fn parse(outbound: &str, inbound: &str, interface: &str) -> Result<Deployment, Error> {
    let text = format!(
        "trust: {{ roots: root.pem }}\nnodes:\n  \
         gnb: {{ function: gNB, address: 10.80.0.1, certificate: gnb.pem, key: gnb.key, sidecar: {{ outbound: [{{ {outbound} }}] }} }}\n  \
         amf: {{ function: AMF, address: 10.80.0.2, certificate: amf.pem, key: amf.key, sidecar: {{ inbound: [{{ {inbound} }}] }} }}\n\
         interfaces: [{{ {interface} }}]\n"
    );
    Deployment::parse(&text, "ran.yaml", Path::new("."))
}

fn refused(outbound: &str, inbound: &str, interface: &str) -> String {
    parse(outbound, inbound, interface)
        .expect_err("it is refused")
        .to_string()
}

#[test]
fn listeners_of_sctp_belong_to_the_interface_that_a_gateway_carries() {
    let deployment = parse(LISTENS, FORWARDS, INTERFACE).expect("a file");
    let interface = &deployment.interfaces()[0];
    assert_eq!(interface.protection, Protection::Gateway);
    let outbound = &deployment.node("gnb").unwrap().sidecar.as_ref().unwrap().outbound[0];
    let inbound = &deployment.node("amf").unwrap().sidecar.as_ref().unwrap().inbound[0];
    assert_eq!(
        (outbound.interface, inbound.interface),
        (Some(InterfaceKind::N2), InterfaceKind::N2)
    );
    assert_eq!((outbound.path, inbound.path), (DataPath::Sctp, DataPath::Sctp));
    assert_eq!(deployment.sidecar_peers("gnb").count(), 1);
    // A node's own address is on its host.
    let own = "listen: '10.80.0.1:38412', to: amf, path: sctp";
    assert!(parse(own, FORWARDS, INTERFACE).is_ok());
}

#[test]
fn a_file_by_which_sctp_could_leave_or_enter_a_host_unencrypted_is_refused() {
    for listen in ["0.0.0.0:38412", "10.80.0.9:38412", "'[::]:38412'"] {
        let outbound = format!("listen: {listen}, to: amf, path: sctp");
        let refused = refused(&outbound, FORWARDS, INTERFACE);
        assert!(
            refused.contains("outbound[0].listen") && refused.contains("not encrypted"),
            "{refused}"
        );
    }
    let elsewhere = "listen: '10.80.0.2:38413', forward: '10.80.0.3:38412', path: sctp";
    let refused = refused(LISTENS, elsewhere, INTERFACE);
    assert!(
        refused.contains("inbound[0].forward") && refused.contains("not encrypted"),
        "{refused}"
    );
}

#[test]
fn sctp_and_tcp_are_not_carried_by_each_other_s_paths() {
    let by_requests = "listen: '127.0.0.1:38412', to: amf";
    let why = refused(by_requests, FORWARDS, INTERFACE);
    assert!(
        why.contains("outbound[0].path") && why.contains("N2 runs over SCTP"),
        "{why}"
    );
    let why = refused(LISTENS, FORWARDS, "kind: SBI, between: [gnb, amf], with: sidecar");
    assert!(why.contains("SBI does not run over it"), "{why}");
    let why = refused(LISTENS, FORWARDS, "kind: SBI, between: [gnb, amf], with: gateway");
    assert!(why.contains("a gateway carries SCTP"), "{why}");
    let why = refused(LISTENS, FORWARDS, "kind: N2, between: [gnb, amf], with: sidecar");
    assert!(why.contains("a sidecar carries TCP"), "{why}");
    let why = refused(
        "listen: '127.0.0.1:38412', transparent: true, path: sctp",
        FORWARDS,
        INTERFACE,
    );
    assert!(why.contains("outbound[0].transparent"), "{why}");
    let why = refused("listen: '127.0.0.1:38412', path: sctp", FORWARDS, INTERFACE);
    assert!(why.contains("needs one peer"), "{why}");
}

#[test]
fn what_carries_sctp_is_chosen_by_interface_and_opened_by_its_listeners() {
    let carried = |interface: &str| {
        let deployment = parse(LISTENS, FORWARDS, interface).expect("a file");
        let inbound = &deployment.node("amf").unwrap().sidecar.as_ref().unwrap().inbound[0];
        (
            deployment.interfaces()[0].carrier,
            inbound.carriers.iter().copied().collect::<Vec<_>>(),
        )
    };
    assert_eq!(carried(INTERFACE), (Carrier::Tls, vec![Carrier::Tls]));
    let quic = format!("{INTERFACE}, carrier: quic");
    assert_eq!(carried(&quic), (Carrier::Quic, vec![Carrier::Quic]));
    let why = refused(LISTENS, FORWARDS, &format!("{INTERFACE}, carrier: dtls"));
    assert!(why.contains("interfaces[0].carrier: `dtls` is not known"), "{why}");
    let why = refused(
        LISTENS,
        FORWARDS,
        "kind: N2, between: [gnb, amf], with: ipsec, carrier: quic",
    );
    assert!(
        why.contains("interfaces[0].carrier: stands next to `with: ipsec`"),
        "{why}"
    );
}

#[test]
fn an_association_waits_as_long_as_sctp_does_unless_the_file_says_otherwise() {
    let patience = |interface: &str| parse(LISTENS, FORWARDS, interface).expect("a file").interfaces()[0].patience;
    assert_eq!(patience(INTERFACE).as_secs(), 63);
    assert_eq!(patience(&format!("{INTERFACE}, patience: 2m")).as_secs(), 120);
    for wrong in ["0s", "2h", "long"] {
        let why = refused(LISTENS, FORWARDS, &format!("{INTERFACE}, patience: {wrong}"));
        assert!(
            why.contains("interfaces[0].patience") && why.contains("1s to 1h"),
            "{why}"
        );
    }
    let ipsec = "kind: N2, between: [gnb, amf], with: ipsec, patience: 9s";
    let why = refused(LISTENS, FORWARDS, ipsec);
    assert!(
        why.contains("interfaces[0].patience: stands next to `with: ipsec`"),
        "{why}"
    );
}
