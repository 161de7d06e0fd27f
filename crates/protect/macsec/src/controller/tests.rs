//! Memory of a controller, in a process of its own: resident memory, as an operator sees it.

use std::env;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_host::{Program, clock};
use bartizan_ledger::Ledger;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_testing::resident;
use bartizan_tls::{Credentials, Endpoint};

use super::{Controller, Slot};
use crate::link::{Link, Setting, endpoint};

/// Set in the process that measures.
const INSIDE: &str = "BARTIZAN_LINKS_TEST";
/// Number of links to build, if other than [`LINKS`].
const COUNT: &str = "BARTIZAN_LINKS";
/// Enough that what the process takes without them is nothing next to them.
const LINKS: usize = 400;
/// That 10,000 fit in 200 MB.
const MOST: u64 = 200_000_000 / 10_000;
/// For the handshakes of both ends of 10,000.
const LONG: Duration = Duration::from_secs(600);

const NODES: [&str; 2] = ["odu", "oru"];

#[test]
fn ten_thousand_links_of_a_controller_fit_in_200_megabytes() {
    if env::var_os(INSIDE).is_some() {
        return measure();
    }
    let name = "controller::tests::ten_thousand_links_of_a_controller_fit_in_200_megabytes";
    let program = Program::new(env::current_exe().unwrap())
        .arguments(["--exact", name, "--nocapture"])
        .environment(INSIDE, "1");
    let finished = program.run(LONG).unwrap_or_else(|error| panic!("{error}"));
    let text = finished.text();
    assert!(text.contains("1 passed"), "{text}");
    for line in text.lines().filter(|line| line.contains("bytes each")) {
        println!("{line}");
    }
}

fn measure() {
    let count = env::var(COUNT)
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(LINKS);
    let place = tempfile::tempdir().unwrap();
    let deployment = deployment(place.path());
    let [(own, endpoint), (of_peer, peers)] = NODES.map(|node| end(&deployment, node));
    let recorder = Ledger::none().recorder();
    let link = |number: usize| {
        let mut setting = own.clone();
        (setting.port, setting.device) = (format!("ens{number}"), format!("macsec{number}"));
        let link = Link::simulated(setting, &endpoint, (&of_peer, &peers), &recorder, clock::now());
        Slot::Open {
            link: Box::new(link),
            next: clock::now(),
        }
    };
    let mut controller = Controller {
        // Allocations that handshakes leave behind happen before the count.
        links: (0..20).map(&link).collect(),
        endpoint: Some(endpoint.clone()),
        reloaded: None,
        recorder: recorder.clone(),
    };
    let before = resident(std::process::id());
    controller.links.reserve(count);
    controller.links.extend((0..count).map(&link));
    let after = resident(std::process::id());
    let statuses = controller.status();
    assert_eq!(statuses.len(), count + 20);
    assert!(
        statuses
            .iter()
            .all(|status| status.up && status.peer_answers && status.keys == 3)
    );
    let each = after.saturating_sub(before) / count as u64;
    println!(
        "{count} links take {each} bytes each, {} MB for 10,000 of them",
        each / 100
    );
    assert!(each > 1000, "they were built: {each}");
    assert!(each <= MOST, "{each} bytes");
}

fn deployment(place: &Path) -> Deployment {
    let now = SystemTime::now();
    let mut authority = Authority::init(&place.join("ca"), InitOptions::new(Algorithm::MlDsa65), now).unwrap();
    for node in NODES {
        let leaf = Leaf::new(node)
            .unwrap()
            .dns(node)
            .unwrap()
            .algorithm(Algorithm::MlDsa65);
        let issued = authority.issue(&leaf, now).unwrap();
        issued.write_to(&place.join(node), Overwrite::Replace).unwrap();
    }
    let text = "policy: hybrid\ntrust: { roots: ca/root.crt.pem }\nnodes:\n  \
        odu: { function: O-DU, address: 10.0.0.1, certificate: odu/odu.crt.pem, key: odu/odu.key.pem }\n  \
        oru: { function: O-RU, address: 10.0.0.2, certificate: oru/oru.crt.pem, key: oru/oru.key.pem }\ninterfaces:\n  \
        - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: eth0, oru: eth0 } } }\n";
    Deployment::parse(text, "ran.yaml", place).unwrap_or_else(|error| panic!("{error}"))
}

fn end(deployment: &Deployment, node: &str) -> (Setting, Endpoint) {
    let files = deployment.node(node).unwrap().files.as_ref().unwrap();
    let credentials = Credentials::load(files).unwrap_or_else(|error| panic!("{error}"));
    let endpoint = endpoint(deployment, node, credentials).unwrap_or_else(|error| panic!("{error}"));
    (Setting::all(deployment, node).remove(0), endpoint)
}
