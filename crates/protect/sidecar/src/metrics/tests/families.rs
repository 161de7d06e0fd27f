//! The names of all families, asked of the families themselves: what has no sample yet is not exported by a running sidecar.

use std::collections::BTreeSet;

use bartizan_ledger::{Code, Negotiated};

use super::super::labels::{
    AssociationLabels, BytesLabels, ClientErrorLabels, LimitLabels, LocalLabels, PeerReasonLabels, RequestLabels,
    ResultLabels, RulesLabels, ServiceLabels, Side, SideLabels, SidePeerLabels,
};
use super::super::{Metrics, Registry};

const SIDE: Side = Side::Inbound;

/// Gives every family of labels one sample. A family that is missing here does not compile.
fn touch(metrics: &Metrics) {
    let Metrics {
        handshakes: _,
        handshake_failures,
        handshake_seconds,
        hello_retry_requests,
        requests,
        requests_in_flight,
        request_seconds,
        request_own_seconds,
        problems,
        retries,
        bytes,
        local_connections,
        limits_reached,
        rules_installed,
        reloads,
        client_errors,
        dismissed,
        associations,
        takeovers,
        association_messages,
        unacknowledged,
        refusals: _,
    } = metrics;
    metrics.handshake(SIDE, "nrf", &negotiated(), false, 0.001);
    let service = ServiceLabels {
        side: SIDE,
        consumer: "amf".to_owned(),
        producer: "nrf".to_owned(),
        service: "nnrf-nfm".to_owned(),
    };
    let _ = handshake_failures.get_or_create(&PeerReasonLabels::new(SIDE, "nrf", "reason"));
    let _ = handshake_seconds.get_or_create(&SideLabels { side: SIDE });
    let _ = hello_retry_requests.get_or_create(&SidePeerLabels::new(SIDE, "nrf"));
    let _ = requests.get_or_create(&RequestLabels::of(&service, "200".to_owned()));
    let _ = requests_in_flight.get_or_create(&SidePeerLabels::new(SIDE, "nrf"));
    let _ = request_seconds.get_or_create(&service);
    let _ = request_own_seconds.get_or_create(&service);
    let _ = problems.get_or_create(&PeerReasonLabels::new(SIDE, "nrf", "reason"));
    let _ = retries.get_or_create(&PeerReasonLabels::new(SIDE, "nrf", "reason"));
    let _ = bytes.get_or_create(&BytesLabels::new(SIDE, "nrf", "received"));
    let _ = local_connections.get_or_create(&LocalLabels {
        side: SIDE,
        path: "http2",
    });
    let _ = limits_reached.get_or_create(&LimitLabels { limit: "streams" });
    let _ = rules_installed.get_or_create(&RulesLabels { rules: "all" });
    let _ = reloads.get_or_create(&ResultLabels { result: "done" });
    let _ = client_errors.get_or_create(&ClientErrorLabels {
        side: SIDE,
        reason: "reason",
    });
    let _ = dismissed.get_or_create(&PeerReasonLabels::new(SIDE, "nrf", "reason"));
    let _ = associations.get_or_create(&AssociationLabels::new(SIDE, "amf", "shutdown"));
    let _ = takeovers.get_or_create(&PeerReasonLabels::new(SIDE, "amf", "taken"));
    let _ = association_messages.get_or_create(&BytesLabels::new(SIDE, "amf", "received"));
    let _ = unacknowledged.get_or_create(&SidePeerLabels::new(SIDE, "amf"));
}

fn negotiated() -> Negotiated {
    let code = |code, name: &str| Code {
        code,
        name: name.to_owned(),
    };
    Negotiated {
        version: "TLS 1.3".to_owned(),
        cipher: code(0x1302, "TLS_AES_256_GCM_SHA384"),
        group: code(0x11ec, "X25519MLKEM768"),
        local_signature: None,
        peer_signature: None,
        resumed: true,
        hello_retry: false,
    }
}

#[test]
fn names_of_all_families_are_those_of_the_list_that_the_documents_are_compared_with() {
    let mut registry = Registry::default();
    touch(&Metrics::new(&mut registry, "1", "module"));
    crate::traces::tracer(0.0).0.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    let exported: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let listed: BTreeSet<&str> = include_str!("../families.txt").lines().collect();
    assert_eq!(
        exported, listed,
        "crates/protect/sidecar/src/metrics/families.txt names other families than are registered"
    );
}
