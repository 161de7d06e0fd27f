//! Nodes with TLS of their own and no sidecar.

use std::path::Path;

use bartizan_deployment::{Deployment, Error, InterfaceKind};

fn parse(udm: &str, smf: &str, interfaces: &str) -> Result<Deployment, Error> {
    let text = format!(
        "
trust: {{ roots: ca.pem }}
nodes:
  amf:
    function: AMF
    address: 10.0.0.1
    certificate: a
    key: b
    sidecar: {{ outbound: [{{ listen: '127.0.0.1:1', to: udm, interface: SBI }}] }}
  udm: {{ function: UDM, address: 10.0.0.2, tls: {udm} }}
  smf: {{ function: SMF, address: 10.0.0.3, tls: {smf} }}
interfaces:
  - {{ kind: SBI, among: [amf, udm, smf], with: sidecar }}
{interfaces}"
    );
    Deployment::parse(&text, "core.yaml", Path::new("/"))
}

/// The certificate of such a node is no file of this one.
#[test]
fn a_node_with_tls_of_its_own_is_called_where_it_says_and_needs_no_certificate_here() {
    let o1 = "  - { kind: O1, between: [amf, udm], with: sidecar }\n";
    let udm = "[{ listen: '0.0.0.0:443', service: '10.0.9.9:80', interface: SBI }, \
               { listen: '[::ffff:10.0.0.9]:830', interface: O1 }]";
    let deployment = parse(udm, "[]", o1).unwrap();
    let udm = deployment.node("udm").unwrap();
    let all = udm.inbound().iter();
    let all = all.map(|one| (one.listen.to_string(), one.service.to_string(), one.interface));
    assert_eq!(
        all.collect::<Vec<_>>(),
        [
            ("10.0.0.2:443".into(), "10.0.9.9:80".into(), InterfaceKind::Sbi),
            ("10.0.0.9:830".into(), "10.0.0.9:830".into(), InterfaceKind::O1),
        ]
    );
    assert!(udm.files.is_none() && udm.sidecar.is_none());
    let client = deployment.node("smf").unwrap();
    assert!(client.inbound().is_empty() && client.tls.is_some());
    // No function is called where TLS is accepted, at whichever address.
    let called_at = udm.called_at(&udm.inbound()[0]);
    assert!(called_at.len() == 2 && called_at.iter().all(|address| address.port() == 80));
}

#[test]
fn a_listener_of_own_tls_belongs_to_one_interface_over_tcp() {
    let o1 = "  - { kind: O1, between: [amf, udm], with: sidecar }\n";
    let alone = "  - { kind: O1, between: [amf, smf], with: nothing }\n";
    for (udm, smf, interfaces, refusal) in [
        (
            "[{ listen: '0.0.0.0:443' }]",
            "[]",
            o1,
            "nodes.udm.tls[0]: it cannot be determined",
        ),
        (
            "[{ listen: '0.0.0.0:443', interface: N3 }]",
            "[]",
            alone,
            "nodes.udm.tls[0].interface: no N3",
        ),
        (
            "[{ listen: '0.0.0.0:443', interface: SBI }]",
            "[{ listen: '0.0.0.0:1', service: '10.0.0.8:1' }, { listen: '0.0.0.0:2', service: '10.0.0.8:1', interface: O1 }]",
            "  - { kind: O1, between: [amf, smf], with: sidecar }\n",
            "nodes.smf.tls[0]: it cannot be determined",
        ),
        (
            "[{ listen: '0.0.0.0:443', interface: SBI }]",
            "[]",
            "  - { kind: N2, between: [amf, smf], with: gateway }\n",
            "interfaces[1].with: a gateway carries SCTP between two sidecars, and smf has TLS of its own",
        ),
    ] {
        let error = parse(udm, smf, interfaces).unwrap_err();
        assert!(error.to_string().contains(refusal), "{error}");
        assert!(error.hint().is_some());
    }
    // No interface joins it yet, so that none speaks against a name.
    let unjoined =
        "nodes: { udm: { function: UDM, address: 10.0.0.2, tls: [{ listen: '0.0.0.0:1', interface: N3 }] } }";
    let error = Deployment::parse(unjoined, "core.yaml", Path::new("/")).unwrap_err();
    assert!(
        error.to_string().contains("TLS runs over TCP, and N3 does not"),
        "{error}"
    );
}
