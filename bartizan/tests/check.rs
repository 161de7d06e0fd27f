//! `bartizan check` as its user meets it.

#[path = "check/files.rs"]
mod files;
#[path = "check/ipsec.rs"]
mod ipsec;
#[path = "check/macsec.rs"]
mod macsec;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use bartizan_pki::{Authority, Leaf, Lifetime};

/// A directory with a deployment file and, where asked for, a CA's files.
struct Place(tempfile::TempDir);

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

const NETWORK: &str = "\
trust: { roots: out/ca.crt.pem, crl: out/ca.crl.pem }
nodes:
  nrf:
    function: NRF
    address: 10.0.0.2
    certificate: out/nrf.crt.pem
    key: out/nrf.key.pem
    sidecar:
      inbound: [{ listen: 10.0.0.2:8443, forward: 127.0.0.1:8000 }]
      admin: 127.0.0.1:9100
  amf:
    function: AMF
    address: 10.0.0.1
    certificate: out/amf.crt.pem
    key: out/amf.key.pem
    sidecar:
      outbound: [{ listen: 127.0.0.1:8001, to: nrf }]
      ledger: amf.ledger
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
";

impl Place {
    fn new(network: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write(network);
        place
    }

    fn write(&self, network: &str) {
        std::fs::write(self.path("core.yaml"), network).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn bartizan(&self, arguments: &str) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .env_remove("BARTIZAN_CA_PASSPHRASE")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    fn works(&self, arguments: &str) -> Said {
        let said = self.bartizan(arguments);
        assert_eq!(said.code, Some(0), "{arguments}: {}{}", said.out, said.err);
        said
    }

    /// A CA with certificates of both nodes and a list.
    fn with_files(algorithm: &str) -> Self {
        let place = Self::new(NETWORK);
        place.works(&format!("ca init --dir ca --algorithm {algorithm}"));
        for node in ["nrf", "amf"] {
            place.works(&format!("ca issue --dir ca --name {node} --dns {node} --out out"));
        }
        place.list();
        place
    }

    fn list(&self) {
        self.works("ca crl --dir ca --file out/ca.crl.pem");
    }

    /// Findings as JSON, with the exit code that goes with them.
    fn findings(&self, arguments: &str) -> Vec<String> {
        let said = self.bartizan(&format!("check core.yaml --json {arguments}"));
        let report: serde_json::Value =
            serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.err));
        assert_eq!(report["schema"], "bartizan-check/1");
        let findings: Vec<_> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                format!(
                    "{}: {}",
                    finding["about"].as_str().unwrap(),
                    finding["finding"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(said.code, Some(i32::from(!findings.is_empty())), "{findings:?}");
        findings
    }
}

/// The text with today's date taken out.
fn timeless(place: &Place, text: &str) -> String {
    let report: serde_json::Value = serde_json::from_str(&place.bartizan("check core.yaml --json").out).unwrap();
    let mut text = text.replace(report["day"].as_str().unwrap(), "TODAY");
    for interface in report["interfaces"].as_array().unwrap() {
        if let Some(days) = interface["policy"]["exception"]["days_left"]
            .as_i64()
            .filter(|days| *days > 0)
        {
            text = text.replace(&format!("{days} days"), "N days");
        }
    }
    text
}

/// Before, each such node was to have a sidecar.
#[test]
fn a_node_with_tls_of_its_own_needs_no_sidecar_and_two_of_them_are_judged_by_none() {
    let place = Place::new(NETWORK);
    let own = |smf: &str, more: &str| {
        let nodes = format!(
            "  udm: {{ function: UDM, address: 10.0.0.3, tls: [{{ listen: 10.0.0.3:443, service: 10.0.0.3:80 }}] }}\n  \
             smf: {{ function: SMF, address: 10.0.0.4{smf} }}\ninterfaces:\n  \
             - {{ kind: SBI, between: [[udm, smf], [amf, nrf]], with: sidecar }}\n{more}"
        );
        let outbound = "to: nrf }, { listen: 127.0.0.1:8003 }]";
        place.write(&NETWORK.replace("interfaces:\n", &nodes).replace("to: nrf }]", outbound));
    };
    own(", tls: []", "");
    assert_eq!(
        place.findings(""),
        ["SBI smf -- amf: no inbound listener at either end belongs to SBI: nothing can be connected"]
    );
    let said = place.bartizan("check core.yaml").out;
    for line in [
        "own TLS           10.0.0.3:443 (SBI), known as 10.0.0.3:80",
        "own TLS           as a client",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&said).contains(&words(line)), "{line}: {said}");
    }
    own(", tls: [{ listen: 0.0.0.0:443 }]", "");
    assert_eq!(place.findings(""), [""; 0]);
    own(
        ", tls: [{ listen: 0.0.0.0:443 }]",
        "  - { kind: SBI, between: [udm, smf], with: sidecar }\n",
    );
    assert_eq!(
        place.findings(""),
        ["SBI udm -- smf: both ends have TLS of their own: no sidecar holds either to the policy"]
    );
    let network = place.bartizan("check core.yaml --interfaces --json").out;
    let network: serde_json::Value = serde_json::from_str(&network).unwrap();
    let about = |link: &&serde_json::Value| link["about"] == "SBI udm -- smf";
    let link = network["links"].as_array().unwrap().iter().find(about).unwrap();
    assert!(
        [&link["recording"], &link["forgery"]]
            .iter()
            .all(|given| **given == "unknown"),
        "{link}"
    );
    own("", "");
    assert_eq!(
        place.findings(""),
        ["nodes.smf: has no sidecar, and its links to amf, nrf are to be protected by one"]
    );
    own(", tls: [{ listen: 0.0.0.0:443 }]", "");
    let text = std::fs::read_to_string(place.path("core.yaml")).unwrap();
    place.write(&text.replace(
        "to: nrf },",
        "to: nrf }, { listen: 127.0.0.1:8002, to: udm, path: splice },",
    ));
    let said = place.works("check core.yaml").out;
    assert!(
        said.contains("requests of SBI to udm, which has TLS of its own, keep `:scheme http`"),
        "{said}"
    );
}

/// Before, `--fail-on` was refused without a report against the standards, and with `--node`.
#[test]
fn exit_code_is_that_of_findings_as_severe_as_asked_in_each_form_of_check() {
    let transition = "policy: { profile: transition, reason: a test, expires: 2099-12-31 }";
    let nothing = format!("{NETWORK}  - {{ kind: N2, between: [amf, nrf], with: nothing }}\n");
    // Its listener is for no interface.
    let forgotten = NETWORK.replace(
        "interfaces:\n",
        "  smf: { function: SMF, address: 10.0.0.4, certificate: smf.pem, key: smf.key, \
         sidecar: { inbound: [{ listen: '10.0.0.4:8443', forward: '127.0.0.1:8000' }] } }\ninterfaces:\n",
    );
    let levels = ["critical", "high", "medium", "low"];
    let mut worst = Vec::new();
    for network in [
        NETWORK.to_owned(),
        nothing,
        format!("{transition}\n{NETWORK}"),
        forgotten,
    ] {
        let place = Place::new(&network);
        for form in ["", "--node nrf"] {
            let said = place.bartizan(&format!("check core.yaml {form} --json"));
            let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            let found = report["findings"].as_array().unwrap().iter();
            let found: Vec<_> = found.map(|finding| finding["severity"].as_str().unwrap()).collect();
            let notes = report["notes"].as_array().unwrap();
            assert!(notes.iter().all(|note| note["severity"].is_null()), "{notes:?}");
            for (at, asked) in levels.iter().enumerate() {
                let finds = found.iter().any(|severity| levels[..=at].contains(severity));
                let said = place.bartizan(&format!("check core.yaml {form} --quiet --fail-on {asked}"));
                assert_eq!(said.code, Some(i32::from(finds)), "{form} {asked}: {found:?}");
                assert_eq!(said.out, "");
            }
            worst.push(levels.iter().position(|level| found.contains(level)));
        }
    }
    // Files of nrf are missing in each.
    let expected = [None, Some(1), Some(0), Some(0), Some(1), Some(1), Some(3), Some(1)];
    assert_eq!(worst, expected);
    let place = Place::new(NETWORK);
    let connections = "connections { ric { proposals = aes256gcm16-prfsha384-x25519\n } }\n";
    std::fs::write(place.path("swanctl.conf"), connections).unwrap();
    for (asked, code) in [("critical", 0), ("high", 1), ("low", 1)] {
        let said = place.bartizan(&format!("check --swanctl swanctl.conf -q --fail-on {asked}"));
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(code), ""),
            "{asked}: {}",
            said.err
        );
    }
}

/// Before, the whole network was printed, with notes on every other node.
/// The token of a request was readable behind the sidecar, and no finding said so.
#[test]
fn what_leaves_the_host_in_the_clear_by_the_file_is_found() {
    let place = Place::new(&NETWORK.replace("forward: 127.0.0.1:8000", "forward: 10.0.0.9:8000"));
    let finding =
        "nodes.nrf.sidecar.inbound[0].forward: hands decrypted requests to 10.0.0.9:8000, which may be on another host";
    assert!(place.findings("").contains(&finding.to_owned()));
    // The node's own addresses are on its host.
    let own = "forward: 10.0.0.9:8000 }]\n    names: { dns: [nrf], ip: [10.0.0.9] }";
    place.write(
        &NETWORK
            .replace("forward: 127.0.0.1:8000 }]", own)
            .replace("\n      admin: 127.0.0.1:9100", ""),
    );
    assert!(!place.findings("").iter().any(|finding| finding.contains("decrypted")));

    // Nothing takes what goes to an IPv6 `service`: `redirect` refuses the file.
    let transparent = NETWORK.replace(
        "listen: 127.0.0.1:8001, to: nrf",
        "listen: 127.0.0.1:8001, transparent: true",
    );
    place.write(&transparent.replace(
        "forward: 127.0.0.1:8000",
        "forward: 127.0.0.1:8000, service: '[fd00::2]:8000'",
    ));
    let finding =
        "nodes.amf.sidecar.outbound: no rules can be installed: nothing takes what goes to [fd00::2]:8000 (nrf)";
    assert!(place.findings("--node amf").contains(&finding.to_owned()));
    place.write(&transparent);
    assert!(
        !place
            .findings("--node amf")
            .iter()
            .any(|finding| finding.contains("rules"))
    );
}

#[test]
fn check_of_a_node_is_about_it_and_its_links_and_says_how_much_is_left_out() {
    let place = Place::new(&NETWORK.replace(
        "interfaces:\n",
        "  smf: { function: SMF, address: 10.0.0.4 }\n  upf: { function: UPF, address: 10.0.0.5 }\n\
         interfaces:\n  - { kind: N4, between: [smf, upf], with: nothing }\n  \
         - { kind: SBI, between: [smf, nrf], with: sidecar }\n",
    ));
    let of = |node: &str| {
        let said = place.bartizan(&format!("check core.yaml --json {node}"));
        let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let about = |list: &str| -> Vec<String> {
            let list = report[list].as_array().unwrap().iter();
            list.map(|one| one["about"].as_str().unwrap().to_owned()).collect()
        };
        let shown = (
            report["nodes"].as_array().unwrap().len(),
            report["interfaces"].as_array().unwrap().len(),
        );
        (shown, about("findings"), report["left_out"].clone())
    };
    let (shown, all, left_out) = of("");
    assert_eq!((shown, &left_out), ((4, 3), &serde_json::Value::Null));
    assert_eq!(all, ["N4 smf -- upf", "nodes.smf"]);
    // The other end of a link of nrf lacks its sidecar, and N4 is no business of nrf.
    let (shown, findings, left_out) = of("--node nrf");
    assert_eq!(shown, (1, 2));
    assert!(findings.contains(&"nodes.smf".to_owned()), "{findings:?}");
    assert!(!findings.iter().any(|about| about.starts_with("N4")), "{findings:?}");
    assert_eq!(
        left_out,
        serde_json::json!({ "nodes": 3, "interfaces": 1, "findings": 1 })
    );
    let (shown, findings, left_out) = of("--node upf");
    assert_eq!((shown, &findings[0]), ((1, 1), &all[0]));
    assert_eq!(left_out["findings"], 1);
    let text = place.bartizan("check core.yaml --node nrf").out;
    assert!(
        text.starts_with("core.yaml: nrf and 2 interfaces, as in effect on "),
        "{text}"
    );
    assert!(
        text.contains(
            "\nleft out: 3 other nodes, 1 interface and 1 finding that do not concern it; without --node all of it is checked, but no files\n"
        ),
        "{text}"
    );
    assert!(
        !text.contains("\nN4 ") && !text.contains("upf") && !text.contains("amf (AMF)"),
        "{text}"
    );
}

/// Before, `check` said nothing, the sidecar warned, and IPsec refused where the engine was ours.
#[test]
fn a_key_that_every_user_can_read_is_refused_alike_by_check_sidecar_ipsec_and_macsec() {
    let place = Place::with_files("ecdsa-p256");
    place.works("ca issue --dir ca --name odu --dns odu --out out");
    place.write(
        "\
trust: { roots: out/ca.crt.pem, crl: out/ca.crl.pem }
policy: { profile: transition, reason: a test, expires: DAY }
nodes:
  nrf:
    { function: NRF, address: 127.0.0.1, certificate: out/nrf.crt.pem, key: out/nrf.key.pem, sidecar: { inbound: [{ listen: 127.0.0.1:0, forward: 127.0.0.1:8000 }] } }
  amf: { function: AMF, address: 127.0.0.2, ipsec: { certificate: out/amf.crt.pem, key: out/amf.key.pem } }
  odu: { function: O-DU, address: 127.0.0.3, certificate: out/odu.crt.pem, key: out/odu.key.pem }
  oru: { function: O-RU, address: 127.0.0.4, certificate: out/oru.crt.pem, key: out/oru.key.pem }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: N2, between: [amf, nrf], with: ipsec }
  - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: lo, oru: lo } } }
",
    );
    let text = std::fs::read_to_string(place.path("core.yaml")).unwrap();
    let day = bartizan_deployment::day_of(SystemTime::now() + Duration::from_secs(30 * 86_400));
    let text = text.replace("DAY", &day.to_string());
    place.write(&text);
    // Without root `up` ends before it reads anything.
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    for mode in [0o644, 0o604, 0o662] {
        for node in ["nrf", "amf", "odu"] {
            let key = place.path(&format!("out/{node}.key.pem"));
            std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        let cause = format!("has mode {mode:04o}: every user of this host can use the key");
        let commands = [
            "check core.yaml --node nrf",
            "sidecar core.yaml --node nrf",
            "check core.yaml --node amf",
            "check core.yaml --node odu",
            "up core.yaml --node amf --no-guard",
            "up core.yaml --node odu --no-guard",
        ];
        for command in commands
            .into_iter()
            .filter(|command| is_root || !command.starts_with("up"))
        {
            let said = place.bartizan(command);
            assert_ne!(said.code, Some(0), "{command}");
            assert!((said.out + &said.err).contains(&cause), "{command}: {}", said.err);
        }
    }
    // The advice was to `chmod` a certificate that was named as key.
    for node in ["nrf", "amf", "odu"] {
        let file = std::fs::read_to_string(place.path("core.yaml")).unwrap();
        let key = format!("key: out/{node}.key.pem");
        place.write(&file.replace(&key, &format!("key: out/{node}.crt.pem")));
        let said = place.bartizan(&format!("check core.yaml --node {node}")).out;
        let cause = format!("out/{node}.crt.pem: holds a certificate and no private key");
        assert!(said.contains(&cause) && said.contains("NAME.key.pem"), "{said}");
        place.write(&file);
    }
    // A group is the owner's business.
    for node in ["nrf", "amf", "odu"] {
        let key = place.path(&format!("out/{node}.key.pem"));
        std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    }
    assert!(
        !place
            .bartizan("check core.yaml")
            .out
            .contains("every user of this host")
    );
}

#[test]
fn a_network_of_every_kind_of_link_is_shown_with_what_is_wrong() {
    let place = Place::new(
        "\
nodes:
  amf: { function: AMF, address: 10.0.0.1 }
  nrf: { function: NRF, address: 10.0.0.2, names: { dns: [nrf.5gc], ip: [10.0.0.2], uri: [\"urn:uuid:1\"] } }
  smf: { function: SMF, address: 10.0.0.3 }
  upf: { function: UPF, address: 10.0.0.4 }
  gnb: { function: gNB, address: 10.0.0.5 }
  odu: { function: O-DU, address: 10.0.0.6 }
  oru: { function: O-RU, address: 10.0.0.7 }
  old: { function: UDM, address: 10.0.0.8 }
  lab: { function: UDR, address: 10.0.0.9 }
  out: { function: NEF, address: 10.0.0.10 }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar, policy: cnsa2 }
  - { kind: SBI, between: [smf, nrf], with: sidecar, policy: { profile: transition, reason: old SMF, expires: 2099-12-31, resumption: 10m } }
  - { kind: SBI, between: [old, nrf], with: sidecar, policy: { profile: transition, reason: old UDM, expires: 2020-12-31, revocation: require } }
  - { kind: SBI, between: [lab, nrf], with: sidecar, policy: { profile: classical, lab: true } }
  - { kind: SBI, between: [lab, amf], with: sidecar, policy: { groups: [MLKEM512], lab: true } }
  - { kind: N4, between: [smf, upf], with: ipsec }
  - { kind: N3, between: [gnb, upf], with: nothing }
  - { kind: FH, between: [odu, oru], with: macsec }
",
    );
    let said = place.bartizan("check core.yaml");
    assert_eq!(said.code, Some(1));
    assert_eq!(said.err, "");
    insta::assert_snapshot!(timeless(&place, &said.out));
}

#[test]
fn the_links_that_an_entry_for_several_nodes_makes_are_listed_and_a_mistake_has_its_line() {
    let network = NETWORK.replace(
        "interfaces:\n",
        "  smf: { function: SMF, address: 10.0.0.3 }\ninterfaces:\n",
    );
    let network = network.replace(
        "between: [amf, nrf], with: sidecar }",
        "between: [nrf, [amf, smf]], with: nothing }",
    );
    let network = network.replace("      outbound: [{ listen: 127.0.0.1:8001, to: nrf }]\n", "");
    let place = Place::new(&network);
    let said = place.bartizan("check core.yaml");
    assert_eq!(said.code, Some(1), "{}", said.err);
    for link in ["SBI nrf -- amf", "SBI nrf -- smf"] {
        assert!(said.out.contains(link), "{}", said.out);
    }
    place.write(&network.replace("[nrf, [amf, smf]]", "[nrf, [amf, smf, nrf]]"));
    let said = place.bartizan("check core.yaml");
    let line = network.lines().position(|line| line.contains("kind: SBI")).unwrap() + 1;
    assert_eq!(said.code, Some(64));
    let expected = format!("error: core.yaml:{line}:18: interfaces[0].between: joins nrf to itself");
    assert!(said.err.starts_with(&expected), "{}", said.err);
}

/// Requests of the AMF went to the NRF's own address, and the link was reported as in order.
#[test]
fn a_link_whose_ends_call_neither_other_is_found() {
    let outbound = "\n      outbound: [{ listen: 127.0.0.1:8001, to: nrf }]";
    assert!(NETWORK.contains(outbound));
    let place = Place::new(&NETWORK.replace(outbound, ""));
    let found = "SBI amf -- nrf: no outbound listener at either end leads to SBI of the other: what calls goes past it";
    assert_eq!(place.findings(""), [found]);
    place.write(&NETWORK.replace("to: nrf }", "transparent: true }"));
    assert_eq!(place.findings(""), [""; 0]);
    place.write(NETWORK);
    assert_eq!(place.findings(""), [""; 0]);
}

#[test]
fn a_file_that_protects_nothing_is_a_finding() {
    let place = Place::new("{\"nodes\":{}}");
    assert_eq!(
        place.findings(""),
        ["nodes: the file names no node: it protects nothing"]
    );
    place.write("nodes: { nrf: { function: NRF, address: 10.0.0.1 } }");
    assert_eq!(
        place.findings(""),
        ["interfaces: the file names no interface: it protects nothing"]
    );
}

#[test]
fn a_mistyped_function_and_files_that_services_cannot_write_are_reported() {
    let place = Place::with_files("ml-dsa-65");
    let network = std::fs::read_to_string(place.path("core.yaml")).unwrap();
    place.write(&network.replace("function: AMF", "function: AFM"));
    assert_eq!(
        place.findings(""),
        ["nodes.amf.function: AFM is no function that is known here"]
    );
    let with_ledger = |ledger: &str| network.replace("ledger: amf.ledger", &format!("ledger: {ledger}"));
    place.write(&with_ledger("away/amf.ledger"));
    // Another host may have the folder: no finding.
    assert_eq!(place.findings("--node amf"), Vec::<String>::new());
    let said = place.bartizan("check core.yaml --node amf").out;
    assert!(
        said.contains("away: is not on this host") && said.contains("`install -d -m 750 -o bartizan -g bartizan away`"),
        "{said}"
    );
    std::os::unix::fs::symlink("core.yaml", place.path("link")).unwrap();
    place.write(&with_ledger("link"));
    assert_eq!(
        place.findings("--node amf"),
        ["link: is a symbolic link: services append to files alone, and follow no links"]
    );
    // Fetched lists make their folder writable for the confined sidecar.
    let fetched = "crl: { url: 'http://10.0.0.9:1', file: out/ca.crl.pem }";
    place.write(&network.replace("crl: out/ca.crl.pem", fetched));
    let cause = "the confined sidecar, which writes the list, can replace that too";
    assert_eq!(
        place.findings("--node amf"),
        [format!("out/ca.crl.pem: is in the folder of out/amf.crt.pem: {cause}")]
    );
    std::fs::copy(place.path("out/ca.crl.pem"), place.path("crl.pem")).unwrap();
    place.write(&network.replace(
        "crl: out/ca.crl.pem",
        "crl: { url: 'http://10.0.0.9:1', file: crl.pem }",
    ));
    assert_eq!(
        place.findings("--node amf"),
        [format!("crl.pem: is in the folder of core.yaml: {cause}")]
    );
}

/// It advised IPsec for frames without IP.
#[test]
fn hint_for_an_interface_that_nothing_protects_names_what_can() {
    let text = "nodes:\n  one: { function: a, address: 10.0.0.1 }\n  two: { function: b, address: 10.0.0.2 }\n\
        interfaces: [{ kind: KIND, between: [one, two], with: nothing }]\n";
    for (kind, wanted) in [
        ("FH", "write `with: macsec`;"),
        ("SBI", "write `with: sidecar`, or `with: ipsec`;"),
        ("E2", "write `with: gateway`, or `with: ipsec`;"),
        ("N3", "write `with: ipsec`;"),
    ] {
        let place = Place::new(&text.replace("KIND", kind));
        let said = place.bartizan("check core.yaml").out;
        assert!(said.contains(wanted), "{kind}: {said}");
    }
}

#[test]
fn a_list_is_required_where_the_policy_says_so() {
    let place = Place::with_files("ml-dsa-65");
    let required = NETWORK.replace(", crl: out/ca.crl.pem", "");
    place.write(&format!("policy: {{ revocation: require }}\n{required}"));
    let expected = ["trust.crl: SBI to amf requires a revocation list, and none is named"];
    assert_eq!(place.findings("--node nrf"), expected);
}

#[test]
fn what_the_user_mistypes_ends_with_64_and_a_hint() {
    let place = Place::new(NETWORK);
    let said = |arguments: &str| {
        let said = place.bartizan(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(64), ""), "{arguments}");
        said.err
    };
    assert_eq!(
        said("check core.yml"),
        "error: core.yml: No such file or directory (os error 2)\nhint: give the path of a deployment file\n"
    );
    assert_eq!(
        said("check core.yaml --node nfr"),
        "error: core.yaml: no node is called `nfr`\nhint: nodes are amf, nrf\n"
    );
    assert!(said("check").contains("<FILE>"));
    place.write(&NETWORK.replace("to: nrf", "to: nfr"));
    assert_eq!(
        said("check core.yaml"),
        "error: core.yaml:17:44: nodes.amf.sidecar.outbound[0].to: no node is called `nfr`\nhint: did you mean `nrf`?\n"
    );
    place.write(&NETWORK.replace("  amf:\n    function", "  amf:\n    funktion"));
    let error = said("check core.yaml");
    assert!(
        error.starts_with("error: core.yaml:12:5: unknown field `funktion`"),
        "{error}"
    );
    assert!(error.ends_with("hint: did you mean `function`?\n"), "{error}");
}

#[test]
fn a_full_disk_is_a_failure_and_a_closed_pipe_is_none() {
    let place = Place::new(NETWORK);
    let to = |target: &Path| {
        let file = std::fs::File::options().write(true).open(target).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        command
            .args(["check", "core.yaml"])
            .current_dir(place.0.path())
            .stdout(file);
        command.stderr(std::process::Stdio::null()).status().unwrap().code()
    };
    assert_eq!(to(Path::new("/dev/full")), Some(2));
    let mut child = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["check", "core.yaml"])
        .current_dir(place.0.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_page_s_example_passes() {
    let page = include_str!("../../docs/deployment-file.md");
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let place = Place::new(example);
    let found = place.findings("");
    assert_eq!(found.len(), 2, "{found:?}");
}

/// The first interface in the output of `check --json`.
fn first_interface(place: &Place) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_str(&place.bartizan("check core.yaml --json").out).unwrap();
    report["interfaces"][0].clone()
}
