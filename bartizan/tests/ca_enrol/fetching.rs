//! Revocation lists that services of a node fetch from `ca serve`: IPsec and MACsec, and mistakes.

use std::fs;

use super::{Serving, bartizan};
use crate::authority::{Place, Said};

/// An authority, certificates for both ends of an IPsec link and of a MACsec link, and a file of
/// them whose lists are fetched.
fn network(url: &str, list: &str) -> Place {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    for (profile, name) in [("nf", "odu"), ("ipsec", "cu")] {
        place.ca_works(&format!(
            "issue --dir ca --profile {profile} --name {name} --dns {name} --out pki --key-algorithm ml-dsa-65"
        ));
    }
    write(&place, url, list);
    place
}

fn write(place: &Place, url: &str, list: &str) {
    let own = |name: &str| format!("certificate: pki/{name}.crt.pem, key: pki/{name}.key.pem");
    let text = format!(
        "trust: {{ roots: pki/ca.crt.pem, crl: {{ url: \"{url}\", file: {list} }} }}\n\
         nodes:\n  \
         odu: {{ function: O-DU, address: 10.0.0.1, {odu} }}\n  \
         oru: {{ function: O-RU, address: 10.0.0.2, {oru} }}\n  \
         cu: {{ function: O-CU-CP, address: 10.0.0.3, ipsec: {{ engine: bartizan, {cu} }} }}\n  \
         ric: {{ function: near-RT RIC, address: 10.0.0.4, ipsec: {{ engine: bartizan, {ric} }} }}\n\
         interfaces:\n  \
         - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ port: {{ odu: absent0, oru: absent1 }} }} }}\n  \
         - {{ kind: E2, between: [cu, ric], with: ipsec }}\n",
        odu = own("odu"),
        cu = own("cu"),
        oru = own("oru"),
        ric = own("ric"),
    );
    fs::write(place.path("ran.yaml"), text).unwrap();
}

/// Each ends where the link itself would begin: the port, or charon's socket, is not there.
fn up(place: &Place, node: &str) -> Said {
    let of_link = match node {
        "cu" => "--vici absent.vici",
        _ => "--directory run",
    };
    bartizan(place, &format!("up ran.yaml --node {node} --no-guard {of_link}"))
}

#[test]
fn up_fetches_the_lists_that_are_not_there_for_ipsec_and_macsec() {
    let place = network("http://127.0.0.1:1/", "state/crl.pem");
    fs::create_dir(place.path("state")).unwrap();
    let serving = Serving::start(&place, "");
    write(&place, &format!("http://{}/crl.pem", serving.address), "state/crl.pem");
    for node in ["cu", "odu"] {
        let said = bartizan(&place, &format!("check ran.yaml --node {node}"));
        let text = &said.out;
        assert!(text.contains("state/crl.pem: No such file"), "{said:?}");
        assert!(
            text.contains("the node's service fetches it from http://127.0.0.1:"),
            "{said:?}"
        );
        let said = up(&place, node);
        assert_ne!(said.code, 0, "{said:?}");
        let lists = place.text("state/crl.pem");
        assert_eq!(lists.matches("BEGIN X509 CRL").count(), 2, "{said:?}");
        assert_eq!(lists.matches("BEGIN CERTIFICATE").count(), 2, "the issuers: {lists}");
        let said = bartizan(&place, &format!("check ran.yaml --node {node}"));
        assert!(!said.out.contains("crl.pem: "), "{said:?}");
        assert!(said.out.contains(", fetched from http://127.0.0.1:"), "{said:?}");
        fs::remove_file(place.path("state/crl.pem")).unwrap();
    }
}

#[test]
fn a_list_that_cannot_be_fetched_names_the_server_or_the_file() {
    let place = network("http://127.0.0.1:1/", "crl.pem");
    let serving = Serving::start(&place, "");
    let address = serving.address;
    let foreign = Place::new();
    foreign.ca_works("init --dir ca --algorithm ecdsa-p256");
    let of_others = Serving::start(&foreign, "");
    for (url, list, causes) in [
        (
            "http://127.0.0.1:1/crl.pem".to_owned(),
            "crl.pem",
            ["Connection refused", "`bartizan ca crl` writes them too"],
        ),
        (
            format!("http://{address}/crls.pem"),
            "crl.pem",
            ["HTTP status 404", "is `bartizan ca serve` running"],
        ),
        (
            format!("http://{address}/ca.crt.pem"),
            "crl.pem",
            ["holds no revocation list", "/ca.crt.pem"],
        ),
        (
            format!("http://{address}/crl.pem"),
            "absent/crl.pem",
            ["No such file", "absent/"],
        ),
        (
            format!("http://{}/crl.pem", of_others.address),
            "crl.pem",
            ["no authority that is trusted here has signed the list of", "/crl.pem"],
        ),
    ] {
        write(&place, &url, list);
        for node in ["cu", "odu"] {
            let said = up(&place, node);
            assert_ne!(said.code, 0, "{url}: {said:?}");
            for cause in causes {
                assert!(said.err.contains(cause), "{url}, {cause}: {said:?}");
            }
            assert!(!place.path(list).exists(), "{url}");
        }
    }
    for (url, cause) in [
        ("https://ca.5gc/crl.pem", "write http://: the content is signed itself"),
        ("ca.5gc/crl.pem", "is no URL such as"),
        ("http://ca.5gc:70000/", "its port is a number from 1 to 65535"),
    ] {
        write(&place, url, "crl.pem");
        let said = bartizan(&place, "check ran.yaml");
        assert_eq!(said.code, 64, "{said:?}");
        assert!(said.err.contains("ran.yaml:1:") && said.err.contains(cause), "{said:?}");
    }
}
