//! DTLS: what tshark reads of it over UDP, and we of the same records in SCTP.

use std::path::Path;

use serde_json::Value;

use crate::certificates;
use crate::tshark::{Row, list, numbers, rows};

/// Our reading of an association agrees with tshark's of the datagrams of this UDP port that its
/// records came from. Says how many certificates the two ends showed.
pub(crate) fn agree(datagrams: &Path, port: u16, ours: &Value) -> usize {
    let dtls = &ours["sctp"]["dtls"];
    let decode = format!("udp.port=={port},dtls");
    let of = |filter: &str, fields: &[&str]| -> Vec<Row> {
        let filter = format!("udp.port == {port} && {filter}");
        rows(datagrams, &["-d", &decode], &filter, fields)
    };
    // The last of two ClientHellos is the one that counts.
    let fields = [
        "dtls.handshake.random",
        "dtls.handshake.ciphersuite",
        "dtls.handshake.extensions_supported_group",
        "dtls.handshake.sig_hash_alg",
        "dtls.handshake.extensions.supported_version",
    ];
    let hellos = of("dtls.handshake.type == 1 && dtls.handshake.random", &fields);
    let row = hellos.last().expect("a ClientHello");
    assert_eq!(dtls["client_random"], row["dtls.handshake.random"][0]);
    let suites: Vec<u64> = serde_json::from_value(dtls["cipher_suites_offered"].clone()).unwrap();
    assert_eq!(suites, numbers(&row["dtls.handshake.ciphersuite"]));
    for (ours, theirs) in [
        ("groups_offered", "dtls.handshake.extensions_supported_group"),
        ("signature_schemes_offered", "dtls.handshake.sig_hash_alg"),
        ("versions_offered", "dtls.handshake.extensions.supported_version"),
    ] {
        assert_eq!(list(&dtls[ours], "code"), numbers(&row[theirs]), "{ours}");
    }
    let fields = ["dtls.handshake.version", "dtls.handshake.ciphersuite"];
    let row = &of("dtls.handshake.type == 2 && dtls.handshake.random", &fields)[0];
    assert_eq!(
        vec![ours["sctp"]["dtls_version"].as_u64().unwrap()],
        numbers(&row["dtls.handshake.version"])
    );
    assert_eq!(
        vec![dtls["cipher_suite"].as_u64().unwrap()],
        numbers(&row["dtls.handshake.ciphersuite"])
    );
    let row = &of(
        "dtls.handshake.type == 12 && dtls.handshake.server_named_curve",
        &["dtls.handshake.server_named_curve"],
    )[0];
    assert_eq!(
        dtls["group"]["code"].as_u64().unwrap(),
        numbers(&row["dtls.handshake.server_named_curve"])[0]
    );
    signatures(dtls, &of);
    let mut shown = 0;
    for (from, member) in [("src", "server_certificates"), ("dst", "client_certificates")] {
        let filter = format!("udp.{from}port == {port} && dtls.handshake.certificates_length");
        let messages = of(&filter, &["dtls.handshake.certificate", certificates::ALGORITHMS]);
        assert_eq!(messages.is_empty(), dtls[member].is_null(), "{member}");
        shown += messages.first().map_or(0, |row| {
            certificates::agree(&dtls[member], row, "dtls.handshake.certificate")
        });
    }
    shown
}

/// The first of several schemes in a packet is the signature's: a CertificateRequest, which lists
/// the server's schemes, stands behind it.
fn signatures(dtls: &Value, of: &impl Fn(&str, &[&str]) -> Vec<Row>) {
    for (kind, member) in [(12, "server_signature"), (15, "client_signature")] {
        let filter = format!("dtls.handshake.type == {kind} && dtls.handshake.sig_hash_alg");
        let theirs = of(&filter, &["dtls.handshake.sig_hash_alg"]);
        let theirs = theirs
            .first()
            .map(|row| numbers(&row["dtls.handshake.sig_hash_alg"])[0]);
        assert_eq!(dtls[member]["code"].as_u64(), theirs, "{member}");
    }
}
