//! TLS: what clients ask for, what servers choose and how they sign where it can be seen.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::certificates;
use crate::tshark::{ENDS, Row, by_ends, ends, list, numbers, rows};

/// Value of `random` in a HelloRetryRequest (RFC 8446, section 4.1.3).
const HELLO_RETRY_REQUEST: &str = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c";

/// Number of matching items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Last ClientHellos of connections.
    pub(crate) client_hellos: usize,
    /// Further ClientHellos before them.
    pub(crate) earlier_hellos: usize,
    pub(crate) server_hellos: usize,
    pub(crate) retries: usize,
    pub(crate) curves: usize,
    pub(crate) signatures: usize,
    pub(crate) alerts: usize,
    pub(crate) certificates: usize,
}

fn handshakes(file: &Path, filter: &str, fields: &[&str]) -> Vec<Row> {
    rows(file, &[], filter, &[&ENDS[..], fields].concat())
}

fn plain(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_u64().unwrap())
        .collect()
}

/// Both read the same code points out of every handshake of `file`, which `document` is our reading of.
pub(crate) fn agree(file: &Path, document: &Value) -> Agreed {
    let mut agreed = Agreed::default();
    client_hellos(file, document, &mut agreed);
    server_hellos(file, document, &mut agreed);
    signatures(file, document, &mut agreed);
    alerts(file, document, &mut agreed);
    certificates(file, document, &mut agreed);
    agreed
}

fn client_hellos(file: &Path, document: &Value, agreed: &mut Agreed) {
    let fields = [
        "tls.handshake.random",
        "tls.handshake.ciphersuite",
        "tls.handshake.extension.type",
        "tls.handshake.extensions_supported_group",
        "tls.handshake.extensions_key_share_group",
        "tls.handshake.extensions_key_share_key_exchange_length",
        "tls.handshake.extensions.supported_version",
        "tls.handshake.sig_hash_alg",
        "tls.handshake.extensions_server_name",
        "tls.handshake.extensions_alpn_str",
        "tls.handshake.length",
    ];
    const EARLY_DATA: u64 = 42;
    let ours = by_ends(document);
    // A second ClientHello replaces the first: ours tells of the one that counts.
    let mut theirs = BTreeMap::new();
    for row in handshakes(file, "tls.handshake.type == 1", &fields) {
        agreed.earlier_hellos += usize::from(theirs.insert(ends(&row), row).is_some());
    }
    agreed.client_hellos = theirs.len();
    for (ends, row) in theirs {
        let tls = &ours[&ends]["tls"];
        let number = |field: &str| numbers(&row[field]);
        assert_eq!(tls["client_random"].as_str().unwrap(), row["tls.handshake.random"][0]);
        assert_eq!(
            tls["server_name"].as_str(),
            row["tls.handshake.extensions_server_name"].first().map(String::as_str)
        );
        let alpn: Vec<&str> = tls["alpn"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(alpn, row["tls.handshake.extensions_alpn_str"]);
        assert_eq!(
            plain(&tls["cipher_suites_offered"]),
            number("tls.handshake.ciphersuite")
        );
        for (ours, field, theirs) in [
            ("groups_offered", "code", "tls.handshake.extensions_supported_group"),
            ("key_shares", "code", "tls.handshake.extensions_key_share_group"),
            (
                "key_shares",
                "bytes",
                "tls.handshake.extensions_key_share_key_exchange_length",
            ),
            ("versions_offered", "code", "tls.handshake.extensions.supported_version"),
            ("signature_schemes_offered", "code", "tls.handshake.sig_hash_alg"),
        ] {
            assert_eq!(list(&tls[ours], field), number(theirs), "{ends:?} {ours}");
        }
        let early = number("tls.handshake.extension.type").contains(&EARLY_DATA);
        assert_eq!(tls["early_data"].as_bool().unwrap(), early, "{ends:?}");
        let header = 4;
        assert_eq!(
            tls["client_hello_bytes"].as_u64().unwrap(),
            number("tls.handshake.length")[0] + header
        );
    }
}

fn server_hellos(file: &Path, document: &Value, agreed: &mut Agreed) {
    let fields = [
        "tls.handshake.random",
        "tls.handshake.version",
        "tls.handshake.extensions.supported_version",
        "tls.handshake.ciphersuite",
        "tls.handshake.extensions_key_share_group",
        "tls.handshake.extensions_key_share_selected_group",
        "tls.handshake.extensions.psk.identity.selected",
    ];
    let ours = by_ends(document);
    let mut chosen = BTreeMap::new();
    for row in handshakes(file, "tls.handshake.type == 2", &fields) {
        let (server, client) = ends(&row);
        let connection = &ours[&(client, server)];
        let tls = &connection["tls"];
        let number = |field: &str| numbers(&row[field]);
        if row["tls.handshake.random"][0] == HELLO_RETRY_REQUEST {
            agreed.retries += 1;
            let asked = number("tls.handshake.extensions_key_share_selected_group");
            assert_eq!(tls["hello_retry_request"]["group"]["code"].as_u64().unwrap(), asked[0]);
            continue;
        }
        agreed.server_hellos += 1;
        assert_eq!(
            vec![tls["cipher_suite"].as_u64().unwrap()],
            number("tls.handshake.ciphersuite")
        );
        let selected = number("tls.handshake.extensions.supported_version");
        let version = selected.first().copied().unwrap_or(number("tls.handshake.version")[0]);
        let names = BTreeMap::from([
            (0x0301, "TLS 1.0"),
            (0x0302, "TLS 1.1"),
            (0x0303, "TLS 1.2"),
            (0x0304, "TLS 1.3"),
        ]);
        assert_eq!(connection["kind"], names[&version], "{client}");
        if version == 0x0304 {
            let resumed = !row["tls.handshake.extensions.psk.identity.selected"].is_empty();
            assert_eq!(tls["resumed"].as_bool().unwrap(), resumed, "{client}");
        }
        chosen.insert(
            (client, server),
            number("tls.handshake.extensions_key_share_group").first().copied(),
        );
    }
    // TLS 1.3 names the group in the ServerHello, TLS 1.2 the curve in the ServerKeyExchange behind it.
    for row in handshakes(
        file,
        "tls.handshake.server_named_curve",
        &["tls.handshake.server_named_curve"],
    ) {
        let (server, client) = ends(&row);
        agreed.curves += 1;
        let curve = numbers(&row["tls.handshake.server_named_curve"])[0];
        assert_eq!(chosen.insert((client, server), Some(curve)), Some(None), "{client}");
    }
    for (ends, connection) in ours.iter().filter(|(_, connection)| connection["tls"].is_object()) {
        // None of a pre-shared key alone, of what was refused, of RSA and of finite fields before TLS 1.3.
        let theirs = chosen.get(ends).copied().flatten();
        assert_eq!(connection["tls"]["group"]["code"].as_u64(), theirs, "{ends:?}");
    }
}

/// TLS 1.2 shows by what its two ends signed.
fn signatures(file: &Path, document: &Value, agreed: &mut Agreed) {
    let ours = by_ends(document);
    // A CertificateRequest in the same packet lists schemes in the same field.
    let by_server = "tls.handshake.type == 12 && !(tls.handshake.type == 13) && tls.handshake.sig_hash_alg";
    let by_client = "tls.handshake.type == 15 && tls.handshake.sig_hash_alg";
    for (filter, member) in [(by_server, "server_signature"), (by_client, "client_signature")] {
        for row in handshakes(file, filter, &["tls.handshake.sig_hash_alg"]) {
            let (from, to) = ends(&row);
            let connection = ours.get(&(from, to)).or(ours.get(&(to, from))).expect("a connection");
            let theirs = numbers(&row["tls.handshake.sig_hash_alg"])[0];
            assert_eq!(
                connection["tls"][member]["code"].as_u64(),
                Some(theirs),
                "{member} {from}"
            );
            agreed.signatures += 1;
        }
    }
}

/// Before TLS 1.3 both ends show their certificates.
fn certificates(file: &Path, document: &Value, agreed: &mut Agreed) {
    let ours = by_ends(document);
    let mut seen = 0;
    for row in handshakes(
        file,
        "tls.handshake.type == 11",
        &["tls.handshake.certificate", certificates::ALGORITHMS],
    ) {
        let (from, to) = ends(&row);
        let (connection, member) = match ours.get(&(from, to)) {
            Some(connection) => (connection, "client_certificates"),
            None => (&ours[&(to, from)], "server_certificates"),
        };
        agreed.certificates += certificates::agree(&connection["tls"][member], &row, "tls.handshake.certificate");
        seen += 1;
    }
    let members = ["server_certificates", "client_certificates"];
    let shown = ours
        .values()
        .flat_map(|one| members.map(|member| one["tls"][member].is_array()));
    assert_eq!(shown.filter(|is| *is).count(), seen, "none that tshark does not see");
}

/// Fatal alerts in plaintext: ours names the end and the alert. Behind a NULL cipher's
/// ChangeCipherSpec, tshark reads on; to us the records are protected by that cipher, and the
/// connection is reported as unencrypted for it.
fn alerts(file: &Path, document: &Value, agreed: &mut Agreed) {
    let ours = by_ends(document);
    for row in handshakes(file, "tls.alert_message.level == 2", &["tls.alert_message.desc"]) {
        let (from, to) = ends(&row);
        let (connection, side) = match ours.get(&(from, to)) {
            Some(connection) => (connection, "client"),
            None => (&ours[&(to, from)], "server"),
        };
        let alerts = connection["tls"]["alerts"].as_array().unwrap();
        for theirs in numbers(&row["tls.alert_message.desc"]) {
            let name = bartizan_wire::tls::alert_name(u8::try_from(theirs).unwrap()).unwrap();
            let is = |alert: &&Value| {
                let alert = alert.as_str().unwrap();
                alert.contains(side) && alert.contains(name)
            };
            assert!(
                alerts.iter().any(|alert| is(&alert)),
                "{from}: {name} of the {side} in {alerts:?}"
            );
            agreed.alerts += 1;
        }
    }
}
