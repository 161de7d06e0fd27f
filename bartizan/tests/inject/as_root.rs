//! Pods of two nodes, injected by the webhook and started from what it made of them, on two hosts
//! with a cable between them.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::until;
use serde_json::{Value, json};

use crate::AMF;
use crate::authority::Place;
use crate::pod::Pod;
use crate::redirect_stage::{LONG, NRF, Seen, Stage};
use crate::webhook::Webhook;

/// As a ConfigMap has it: no address of a pod but the one others call it by, and each pod's own identity next to it.
const DEPLOYMENT: &str = "
trust: { roots: ca.crt }
nodes:
  amf:
    function: AMF
    address: 10.88.0.1
    certificate: tls.crt
    key: tls.key
    sidecar:
      inbound: [ { listen: '0.0.0.0:7443', forward: '127.0.0.1:8000' } ]
      outbound: [ { listen: '127.0.0.1:15001', transparent: true } ]
      admin: '0.0.0.0:15090'
      ledger: LEDGER/amf.ledger
  nrf:
    function: NRF
    address: 10.88.0.2
    certificate: tls.crt
    key: tls.key
    sidecar:
      inbound: [ { listen: '0.0.0.0:7443', forward: '127.0.0.1:8000' } ]
      outbound: [ { listen: '127.0.0.1:15001', transparent: true } ]
      admin: '0.0.0.0:15090'
      ledger: LEDGER/nrf.ledger
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
";

/// The review of a node's pod.
fn review(node: &str) -> Value {
    let mut review: Value = serde_json::from_str(AMF).unwrap();
    review["request"]["object"]["metadata"]["annotations"] = json!({ "bartizan/node": node });
    review
}

/// The pod of a node, its ConfigMap and its Secret.
fn pod<'a>(stage: &'a Stage, webhook: &Webhook, node: &str) -> Pod<'a> {
    pod_named(stage, webhook, node, &format!("pod-{node}"))
}

/// The same by a name of its own, where a node has one after the other.
fn pod_named<'a>(stage: &'a Stage, webhook: &Webhook, node: &str, name: &str) -> Pod<'a> {
    let (namespace, address) = match node {
        "amf" => (&stage.amf, "10.88.0.1"),
        _ => (&stage.nrf, "10.88.0.2"),
    };
    let folder = stage.path(name);
    fs::create_dir(&folder).unwrap();
    let binary = folder.join("bartizan");
    if fs::hard_link(env!("CARGO_BIN_EXE_bartizan"), &binary).is_err() {
        bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan"), &binary);
    }
    let ledger = folder.join("bartizan-ledger");
    let file = |name: &str, key: &str| {
        let issued = |file: &str| Some(fs::read(stage.path(&format!("{node}/{file}"))).unwrap());
        match (name, key) {
            ("bartizan", "deployment.yaml") => {
                Some(DEPLOYMENT.replace("LEDGER", &ledger.display().to_string()).into_bytes())
            }
            (_, "tls.crt") if name == format!("bartizan-{node}") => issued(&format!("{node}.crt.pem")),
            (_, "tls.key") => issued(&format!("{node}.key.pem")),
            (_, "ca.crt") => issued("ca.crt.pem"),
            _ => None,
        }
    };
    Pod::new(
        &webhook.injected(&review(node)),
        namespace,
        address,
        folder.clone(),
        &file,
    )
}

#[test]
fn injected_pods_ask_each_other_protected_and_nothing_leaves_before_at_restart_or_after() {
    let stage = Stage::new();
    stage.certify();
    fs::write(stage.path("index.html"), "the NRF").unwrap();
    let webhook = Webhook::start(Place::new(), &[]);
    let (amf, nrf) = (pod(&stage, &webhook, "amf"), pod(&stage, &webhook, "nrf"));
    // The NRF's pod, with its function on every address, as its chart has it.
    let (_nrf_rules, _nrf_sidecar) = (nrf.start(0), nrf.start(1));
    let _function = stage.function(&stage.nrf, "0.0.0.0");
    let ask = || stage.ask(NRF[0]);
    // The AMF's pod between its first container and its second: requests are refused, and nothing
    // leaves.
    let amf_rules = amf.start(0);
    let seen = stage.watch(|| {
        ask().unwrap_err();
    });
    assert_eq!(seen, Seen::default());
    // The second, and then the pod's own init container, whose command is the chart's: it ends when
    // the NRF has answered it.
    let sidecar = amf.start(1);
    let seen = stage.watch(|| {
        let wait = words(&review("amf")["request"]["object"]["spec"]["initContainers"][0]["command"]);
        Program::new(&wait[0])
            .arguments(&wait[1..])
            .environment("DEPENDENCIES", NRF[0])
            .inside(&stage.amf)
            .run(LONG)
            .unwrap();
        assert_eq!(stage.ask_patiently(NRF[0]).unwrap(), "the function itself");
    });
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0), "{seen:?}");
    assert!(seen.protected > 0, "{seen:?}");
    for (place, probe) in [(0, "livenessProbe"), (1, "readinessProbe"), (1, "livenessProbe")] {
        assert!(amf.answers(amf.container(place), probe), "{place} {probe}");
    }
    until("a handshake in the ledger, which is written in batches", || {
        let ledger = fs::read_to_string(stage.path("pod-amf/bartizan-ledger/amf.ledger")).unwrap();
        ledger.contains("X25519MLKEM768") && ledger.contains("mldsa65")
    });
    rights(&amf_rules, &sidecar, &stage);
    // A crash and the start after it, as a kubelet does.
    let seen = stage.watch(|| {
        killed(sidecar);
        assert!(!amf.answers(amf.container(1), "livenessProbe"));
        ask().unwrap_err();
        let sidecar = amf.start(1);
        assert_eq!(stage.ask_patiently(NRF[0]).unwrap(), "the function itself");
        // Its end, when the pod is deleted: sidecars end after the function, the rules at last, with the namespace.
        let status = sidecar.terminate(LONG).unwrap();
        assert!(status.success(), "{status:?}");
        ask().unwrap_err();
    });
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0), "{seen:?}");
}

/// The network function asks without end, and takes no notice of what happens to its pod.
fn asks_on(stage: &Stage, ended: &AtomicBool) -> [usize; 2] {
    let mut counted = [0; 2];
    while !ended.load(Ordering::Relaxed) {
        counted[usize::from(stage.ask(NRF[0]).is_err())] += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    counted
}

/// Ends as a kubelet ends a container: SIGTERM, and SIGKILL at the end of the grace period.
fn ended(process: Process) {
    let status = process.terminate(LONG).unwrap();
    assert!(status.success(), "{status:?}");
}

#[test]
fn nothing_leaves_unencrypted_while_pods_are_rolled_out_evicted_and_killed_and_their_functions_ask_on() {
    let stage = Stage::new();
    stage.certify();
    let webhook = Webhook::start(Place::new(), &[]);
    let (amf, nrf) = (pod(&stage, &webhook, "amf"), pod(&stage, &webhook, "nrf"));
    let (nrf_rules, nrf_sidecar) = (nrf.start(0), nrf.start(1));
    let function = stage.function(&stage.nrf, "0.0.0.0");
    let (amf_rules, amf_sidecar) = (amf.start(0), amf.start(1));
    until("the first answer", || stage.ask(NRF[0]).is_ok());
    let over = AtomicBool::new(false);
    let mut asked = [0; 2];
    let seen = stage.watch(|| {
        asked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| asks_on(&stage, &over));
            // An eviction of the NRF's pod: its function, then native sidecars from the last to the first.
            drop(function);
            ended(nrf_sidecar);
            ended(nrf_rules);
            // A rollout: the next pod of the template, with what the webhook makes of it now.
            let nrf = pod_named(&stage, &webhook, "nrf", "pod-nrf-2");
            let (_rules, _sidecar) = (nrf.start(0), nrf.start(1));
            let _function = stage.function(&stage.nrf, "0.0.0.0");
            until("an answer of the new pod", || stage.ask(NRF[0]).is_ok());
            // The AMF's own pod evicted without grace: all containers of ours at once, the rules
            // first, and its function a little later.
            killed(amf_rules);
            killed(amf_sidecar);
            for _ in 0..10 {
                stage.ask(NRF[0]).unwrap_err();
            }
            // And its next.
            let amf = pod_named(&stage, &webhook, "amf", "pod-amf-2");
            let (_rules, _sidecar) = (amf.start(0), amf.start(1));
            until("an answer to the new pod", || stage.ask(NRF[0]).is_ok());
            over.store(true, Ordering::Relaxed);
            asking.join().unwrap()
        });
    });
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0), "{seen:?}");
    assert!(seen.protected > 0, "{seen:?}");
    let [answered, refused] = asked;
    assert!(answered > 0 && refused > 0, "{asked:?}");
}

fn killed(mut process: Process) {
    process.send(libc::SIGKILL);
    until("it is dead", || process.ended().unwrap().is_some());
}

fn words(list: &Value) -> Vec<String> {
    let all = list.as_array().unwrap().iter();
    all.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The container of the rules holds one capability, the sidecar none, and no other user reads its
/// key.
fn rights(rules: &Process, sidecar: &Process, stage: &Stage) {
    let held = |process: &Process| {
        let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
        let row = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .trim()
                .to_owned()
        };
        let user = row("Uid:").split('\t').next().unwrap().to_owned();
        [user, row("CapEff:"), row("CapBnd:"), row("NoNewPrivs:")]
    };
    // CAP_NET_ADMIN is bit 12.
    assert_eq!(held(rules), ["0", "0000000000001000", "0000000000001000", "1"]);
    assert_eq!(held(sidecar), ["10101", "0000000000000000", "0000000000000000", "1"]);
    // The key belongs to root with mode 0440: the sidecar reads it as a member of the group, and
    // does not warn of others who could.
    assert!(!sidecar.stderr().contains("can read the key"), "{}", sidecar.stderr());
    let other = Command::new("setpriv")
        .args(["--reuid", "1000", "--regid", "1000", "--clear-groups", "cat"])
        .arg(stage.path("pod-amf/bartizan-identity/tls.key"))
        .output()
        .unwrap();
    assert!(!other.status.success());
}
