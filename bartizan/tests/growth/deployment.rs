//! Deployment files: nodes of a hub, sites with IPsec, and a mesh.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::process::Command;

use super::capture::connections;
use super::stage::{grows, grows_with};

/// Exit codes of a check: without and with findings.
const CHECKED: &[i32] = &[0, 1];
const HEAD: &str = "policy: hybrid\ntrust: { roots: ca.crt.pem, crl: ca.crl.pem }\nnodes:\n";

/// Sites of a gateway.
const OF_A_GATEWAY: usize = 250;
/// Number of the first gateway's address.
const GATEWAYS: usize = 10_000_000;

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001 + u32::try_from(number).unwrap())
}

fn names(letter: char, count: usize) -> String {
    let names: Vec<_> = (0..count).map(|number| format!("{letter}{number}")).collect();
    names.join(", ")
}

fn functions(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for number in 0..count {
        let at = address(number);
        let inbound = format!("listen: '{at}:8443', forward: '127.0.0.1:8000', service: '{at}:8000'");
        let listeners = format!("inbound: [{{ {inbound} }}], outbound: [{{ listen: '127.0.0.1:8002' }}]");
        let files = "certificate: n.crt.pem, key: n.key.pem";
        let names = format!("names: {{ dns: [nf.5gc.example, n{number}.5gc.example] }}");
        writeln!(
            text,
            "  n{number}: {{ function: AMF, address: {at}, {names}, {files}, sidecar: {{ {listeners} }} }}"
        )
        .unwrap();
    }
    text
}

fn hub(count: usize) -> String {
    let functions = functions(count);
    let clients = names('n', count);
    let clients = clients.trim_start_matches("n0, ");
    format!("{functions}interfaces:\n  - {{ kind: SBI, between: [n0, [{clients}]], with: sidecar }}\n")
}

fn mesh(links: usize) -> String {
    let count = (1..).find(|count| count * (count - 1) / 2 >= links).unwrap();
    let (functions, names) = (functions(count), names('n', count));
    format!("{functions}interfaces:\n  - {{ kind: SBI, among: [{names}], with: sidecar }}\n")
}

fn sites(count: usize) -> String {
    let ipsec = "ipsec: { certificate: n.crt.pem, key: n.key.pem, roots: ca.crt.pem }";
    let gateways = count.div_ceil(OF_A_GATEWAY);
    let mut text = HEAD.to_owned();
    for number in 0..gateways {
        let at = address(GATEWAYS + number);
        writeln!(text, "  g{number}: {{ function: O-CU-CP, address: {at}, {ipsec} }}").unwrap();
    }
    for number in 0..count {
        let at = address(number);
        writeln!(text, "  s{number}: {{ function: O-DU, address: {at}, {ipsec} }}").unwrap();
    }
    text.push_str("interfaces:\n");
    for number in 0..count {
        let gateway = number % gateways;
        writeln!(
            text,
            "  - {{ kind: F1-C, between: [s{number}, g{gateway}], with: ipsec }}"
        )
        .unwrap();
    }
    text
}

/// Spokes behind which one network is, each reached from an address of its own.
fn spokes(count: usize) -> String {
    let ipsec = "ipsec: { certificate: n.crt.pem, key: n.key.pem, roots: ca.crt.pem }";
    let mut text = HEAD.to_owned();
    writeln!(
        text,
        "  hub: {{ function: O-CU-CP, address: {}, {ipsec} }}",
        address(GATEWAYS)
    )
    .unwrap();
    for number in 0..count {
        let at = address(number);
        writeln!(text, "  s{number}: {{ function: O-DU, address: {at}, {ipsec} }}").unwrap();
    }
    text.push_str("interfaces:\n");
    for number in 0..count {
        let inner = format!("inner: {{ hub: ['fd00::{number:x}'], s{number}: ['fd01::/64'] }}");
        writeln!(
            text,
            "  - {{ kind: F1-C, between: [s{number}, hub], with: ipsec, ipsec: {{ {inner} }} }}"
        )
        .unwrap();
    }
    text
}

fn checked(what: &str, n: usize, options: &[&str], file: impl Fn(usize) -> String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("core.yaml");
    grows_with(what, n, CHECKED, |size| {
        std::fs::write(&path, file(size)).unwrap();
        let fixed = ["check", path.to_str().unwrap()];
        fixed.iter().chain(options).map(ToString::to_string).collect()
    });
}

#[test]
fn check_of_functions_at_a_hub_grows_with_their_number() {
    checked("check of a hub", 250, &[], hub);
}

#[test]
fn check_of_a_mesh_grows_with_its_links() {
    checked("check of a mesh", 1_250, &[], mesh);
}

#[test]
fn check_of_sites_grows_with_their_number() {
    checked("check of sites", 250, &[], sites);
}

#[test]
fn check_of_spokes_with_one_network_behind_them_grows_with_their_number() {
    checked("check of spokes", 250, &[], spokes);
}

#[test]
fn check_of_sites_against_standards_grows_with_their_number() {
    checked(
        "check --interfaces --migrate",
        250,
        &["--interfaces", "--migrate"],
        sites,
    );
}

/// A hub whose first node is redirected.
fn redirected(count: usize) -> String {
    let listener = "listen: '127.0.0.1:8002'";
    hub(count).replacen(listener, "listen: '127.0.0.1:15001', transparent: true", 1)
}

mod as_root {
    use super::*;

    /// Each step once more finds what it wants to be there.
    const STEPS: &str = "set -e
        ip link set lo up
        ip address add 10.0.0.1/32 dev lo
        for step in install install show; do
            \"$1\" sidecar redirect $step \"$2\" --node n0 --user nobody
        done
        \"$1\" sidecar redirect remove";

    #[test]
    fn redirect_is_installed_compared_and_removed_in_time_that_grows_with_its_peers() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("core.yaml");
        grows("redirect install, show and remove", 125, &[0], |size| {
            std::fs::write(&path, redirected(size)).unwrap();
            let mut command = Command::new("unshare");
            let shell = ["--net", "sh", "-c", STEPS, "sh", env!("CARGO_BIN_EXE_bartizan")];
            command.args(shell).arg(&path);
            command
        });
    }
}

#[test]
fn rules_of_a_redirect_grow_with_its_peers() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("core.yaml");
    grows_with("redirect install --dry-run", 250, &[0], |size| {
        std::fs::write(&path, redirected(size)).unwrap();
        let command = "sidecar redirect install FILE --node n0 --user nobody --dry-run";
        let words = command
            .split(' ')
            .map(|word| if word == "FILE" { path.to_str().unwrap() } else { word });
        words.map(str::to_owned).collect()
    });
}

#[test]
fn inspect_by_a_deployment_file_grows_with_its_sites() {
    let place = tempfile::tempdir().unwrap();
    let [file, capture] = ["core.yaml", "sites.pcap"].map(|name| place.path().join(name));
    grows_with("inspect --deployment", 250, CHECKED, |size| {
        std::fs::write(&file, sites(size)).unwrap();
        let gateways = size.div_ceil(OF_A_GATEWAY);
        let ends = (0..size).map(|number| [address(number), address(GATEWAYS + number % gateways)]);
        std::fs::write(&capture, connections(ends)).unwrap();
        let [file, capture] = [&file, &capture].map(|path| path.to_str().unwrap());
        ["inspect", capture, "--deployment", file].map(str::to_owned).to_vec()
    });
}
