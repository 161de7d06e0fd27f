//! Limits of a deployment file, each reported in its own words with what to write instead.

use std::fmt::Write;
use std::path::Path;

use bartizan_deployment::{Deployment, Error};

fn parse(text: &str) -> Result<Deployment, Error> {
    Deployment::parse(text, "core.yaml", Path::new("/etc"))
}

/// The message and the hint of a text that is refused.
fn refused(text: &str) -> [String; 2] {
    let error = parse(text).unwrap_err();
    [error.to_string(), error.hint().unwrap_or_default().to_owned()]
}

fn nodes(count: usize) -> String {
    let mut text = "nodes:\n".to_owned();
    for number in 0..count {
        let address = std::net::Ipv4Addr::from(0x0a00_0001 + u32::try_from(number).unwrap());
        writeln!(text, "  n{number}: {{ function: AMF, address: {address} }}").unwrap();
    }
    text
}

fn mesh(count: usize) -> String {
    let names: Vec<_> = (0..count).map(|number| format!("n{number}")).collect();
    let names = names.join(", ");
    format!(
        "{}interfaces:\n  - {{ kind: SBI, among: [{names}], with: sidecar }}\n",
        nodes(count)
    )
}

#[test]
fn file_of_more_than_250_000_values_is_read() {
    assert_eq!(parse(&nodes(42_000)).unwrap().nodes().count(), 42_000);
}

#[test]
fn one_entry_joins_hundreds_of_functions_to_each_other() {
    let deployment = parse(&mesh(300)).unwrap();
    assert_eq!(deployment.interfaces().len(), 44_850);
    for name in ["n0", "n150", "n299"] {
        assert_eq!(deployment.sidecar_peers(name).count(), 299, "{name}");
    }
}

#[test]
fn file_of_more_than_a_million_links_is_refused_with_their_number() {
    let [message, hint] = refused(&mesh(1_415));
    assert!(
        message.ends_with("interfaces[0].among: makes 1000405 links, and the file may make 1000000 more"),
        "{message}"
    );
    assert!(hint.contains("a file of its own"), "{hint}");
}

#[test]
fn file_that_is_too_long_is_refused_before_it_is_read() {
    let [message, hint] = refused(&"#".repeat((32 << 20) + 1));
    assert_eq!(
        message,
        "core.yaml: has 33554433 bytes, and a deployment file may have 33554432"
    );
    assert_eq!(hint, "describe each region by a file of its own");
}

#[test]
fn file_of_too_many_nodes_or_values_is_refused_while_it_is_read() {
    let [message, hint] = refused(&nodes(200_001));
    assert!(message.contains("it has more than 200,000 nodes"), "{message}");
    assert_eq!(hint, "describe each region in a file of its own");
    let names = "a,".repeat(3_000_000);
    let [message, hint] = refused(&format!("nodes: {{ n: {{ names: {{ dns: [{names}a] }} }} }}"));
    assert!(message.contains("it has more than 3,000,000 values"), "{message}");
    assert_eq!(hint, "describe each region in a file of its own");
}

#[test]
fn aliases_that_multiply_are_refused_and_one_that_many_links_use_is_not() {
    let names = vec!["n0"; 1_000].join(", ");
    let first = format!("  - {{ kind: SBI, among: &all [{names}], with: sidecar }}\n");
    let others = "  - { kind: SBI, among: *all, with: sidecar }\n".repeat(1_001);
    let text = format!("nodes: {{}}\ninterfaces:\n{first}{others}");
    let [message, hint] = refused(&text);
    assert!(
        message.contains("its aliases (`*name`) repeat more than 1,000,000 values"),
        "{message}"
    );
    assert!(hint.starts_with("name a policy by its profile"), "{hint}");

    let mut text = format!("{}interfaces:\n", nodes(1_001));
    text.push_str("  - { kind: SBI, between: [n0, n1], with: sidecar, policy: &strict { profile: cnsa2 } }\n");
    for number in 2..=1_000 {
        let entry = format!("kind: SBI, between: [n0, n{number}], with: sidecar, policy: *strict");
        writeln!(text, "  - {{ {entry} }}").unwrap();
    }
    assert_eq!(parse(&text).unwrap().interfaces().len(), 1_000);
}

/// No packet is ever sent to these, and `check` had no word about them.
#[test]
fn address_that_no_host_has_is_refused_in_every_field() {
    let file = |address: &str, fields: &str| {
        format!(
            "trust: {{ roots: ca.pem }}\nnodes:\n  a: {{ function: AMF, address: {address}{fields} }}\n  b: {{ function: RIC, address: 10.0.0.2 }}\n\
             interfaces: [{{ kind: E2, between: [a, b], with: nothing }}]\n"
        )
    };
    for (address, of) in [
        ("0.0.0.0", "the unspecified address"),
        ("0.0.0.1", "0.0.0.0/8"),
        ("0.1.2.3", "0.0.0.0/8"),
        ("255.255.255.255", "the broadcast address"),
        ("224.0.0.1", "a multicast address"),
        ("fe80::1", "a link-local address"),
        ("ff02::1", "a multicast address"),
        ("::ffff:0.0.0.1", "0.0.0.0/8"),
    ] {
        let [message, hint] = refused(&file(&format!("'{address}'"), ""));
        assert!(message.contains(of) && !hint.is_empty(), "{message}");
        let with_port = match address.contains(':') {
            true => format!("'[{address}]:80'"),
            false => format!("'{address}:80'"),
        };
        let mut fields = vec![
            format!("names: {{ ip: ['{address}'] }}"),
            format!("tls: [{{ listen: '10.0.0.1:80', service: {with_port} }}]"),
            format!("ipsec: {{ certificate: a, key: b, external: '{address}' }}"),
        ];
        if address != "0.0.0.0" {
            fields.extend([
                format!("tls: [{{ listen: {with_port} }}]"),
                format!("sidecar: {{ admin: {with_port} }}"),
                format!("sidecar: {{ inbound: [{{ listen: {with_port}, forward: '127.0.0.1:80' }}] }}"),
                format!("sidecar: {{ inbound: [{{ listen: '10.0.0.1:80', forward: {with_port} }}] }}"),
                format!("sidecar: {{ outbound: [{{ listen: {with_port}, to: b }}] }}"),
            ]);
        }
        for field in fields {
            let [message, _] = refused(&file("10.0.0.1", &format!(", {field}")));
            assert!(message.contains(of), "{field}: {message}");
        }
    }
    // The number of an interface makes one of it.
    let [message, _] = refused(&file("10.0.0.1", ", sidecar: { admin: '[fe80::1%1]:80' }"));
    assert!(message.contains("no certificate"), "{message}");
}
