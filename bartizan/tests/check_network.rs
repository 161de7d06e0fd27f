//! `bartizan check --interfaces`, `--budget`, `--migrate`: a deployment file against the standards.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A small network: a core with sidecars, one of them classical for now, a RAN by IPsec, a
/// fronthaul that MACsec is to protect, O1 that nothing does.
const NETWORK: &str = r#"
policy: hybrid
trust: { roots: ca.pem }
nodes:
  nrf: { function: NRF, address: 10.0.0.2, names: { dns: [nrf.5gc] }, certificate: nrf.pem, key: nrf.key,
         sidecar: { inbound: [ { listen: "10.0.0.2:8443", forward: "127.0.0.1:8000" } ] } }
  amf: { function: AMF, address: 10.0.0.3, names: { dns: [amf.5gc] }, certificate: amf.pem, key: amf.key,
         sidecar: { outbound: [ { listen: "127.0.0.1:7000", to: nrf } ] } }
  gnb: { function: gNB, address: 10.1.0.2 }
  cu:  { function: O-CU-CP, address: 10.2.0.1 }
  du:  { function: O-DU, address: 10.2.0.3 }
  ru:  { function: O-RU, address: 10.2.0.4 }
  ric: { function: near-RT RIC, address: 10.2.0.2 }
  smo: { function: SMO, address: 10.3.0.1 }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
  - { kind: E2, between: [cu, ric], with: ipsec }
  - { kind: FH, between: [du, ru], with: macsec }
  - { kind: O1, between: [smo, du], with: nothing }
  - { kind: A1, between: [smo, cu], with: nothing }
"#;

fn check(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["check", "network.yaml"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn place(network: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("network.yaml"), network).unwrap();
    place
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = check(folder, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// The names in a JSON object, in order.
fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The rules that a link's findings are by.
fn rules(report: &Value, about: &str) -> Vec<String> {
    let findings = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["about"] == about);
    findings
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_link_is_held_against_its_clause_and_what_falls_short_is_found() {
    let place = place(NETWORK);
    let output = check(place.path(), &["--interfaces"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = json(place.path(), &["--interfaces"]);
    assert_eq!(report["schema"], "bartizan-check-network/1");
    assert_eq!(report["links"].as_array().unwrap().len(), 5);
    // Required, and left unprotected.
    assert_eq!(rules(&report, "O1 smo -- du"), ["unprotected"]);
    // A CU is no near-RT RIC.
    assert_eq!(rules(&report, "A1 smo -- cu"), ["unprotected", "wrong-ends"]);
    // ML-KEM is required, ML-DSA is not what strongSwan signs with.
    assert_eq!(rules(&report, "E2 cu -- ric"), ["forgery"]);
    assert_eq!(rules(&report, "FH du -- ru"), ["recording"]);
    assert_eq!(rules(&report, "SBI amf -- nrf"), Vec::<String>::new());
    // A gNB and an AMF without N2, a CU and a DU without F1-C.
    assert_eq!(rules(&report, "nodes.gnb"), ["missing"]);
    assert_eq!(rules(&report, "nodes.cu"), ["missing"]);
    for finding in report["findings"].as_array().unwrap() {
        assert!(
            !finding["source"].as_str().unwrap().is_empty() && !finding["hint"].as_str().unwrap().is_empty(),
            "{finding}"
        );
    }
    let e2 = &report["links"][1];
    assert_eq!(
        (e2["recording"].as_str(), e2["forgery"].as_str()),
        (Some("post-quantum"), Some("either"))
    );
    assert_eq!(e2["requirement"]["clause"], "SRCS, clause 5.2.4; E2GAP, clause 7");
}

#[test]
fn macsec_with_ports_is_judged_by_the_policy_that_its_keys_come_under() {
    let with = |macsec: &str| {
        let network = NETWORK.replace("with: macsec }", &format!("with: macsec, macsec: {macsec} }}"));
        let named = |network: String, node: &str| {
            let address = format!("function: O-{}, ", node.to_uppercase());
            network.replace(
                &address,
                &format!("{address}certificate: {node}.pem, key: {node}.key, "),
            )
        };
        let place = place(&named(named(network, "du"), "ru"));
        let report = json(place.path(), &["--interfaces"]);
        let link = report["links"]
            .as_array()
            .unwrap()
            .iter()
            .find(|link| link["interface"] == "FH")
            .unwrap();
        (
            link["recording"].as_str().unwrap().to_owned(),
            link["gives"][0].as_bool().unwrap(),
            rules(&report, "FH du -- ru"),
        )
    };
    let encrypting = with("{ port: { du: eth1, ru: eth2 } }");
    assert_eq!(encrypting, ("post-quantum".to_owned(), true, Vec::new()));
    let integrity = with("{ port: { du: eth1, ru: eth2 }, confidentiality: integrity }");
    assert_eq!(integrity, ("nothing".to_owned(), false, vec!["unprotected".to_owned()]));
}

#[test]
fn selectors_of_other_traffic_and_a_window_of_none_give_nothing_and_no_replay_protection() {
    let gives = |settings: &str| {
        let place = place(&format!(
            "nodes:\n  amf: {{ function: AMF, address: 10.0.0.1 }}\n  gnb: {{ function: gNB, address: 10.0.0.2 }}\n\
             interfaces:\n  - {{ kind: N2, between: [amf, gnb], with: ipsec, ipsec: {{ {settings} }} }}\n"
        ));
        let report = json(place.path(), &["--interfaces"]);
        (
            report["links"][0]["gives"].clone(),
            rules(&report, "N2 amf -- gnb").contains(&"unprotected".to_owned()),
        )
    };
    assert_eq!(gives(""), (serde_json::json!([true, true, true, true]), false));
    let other = gives("selectors: [{ protocol: tcp, port: 80 }]");
    assert_eq!(other, (serde_json::json!([false, false, false, false]), true));
    let replayed = gives("replay-window: 0, esn: false");
    assert_eq!(replayed, (serde_json::json!([true, true, true, false]), false));
    // Bartizan's own engine always has one.
    let own = "ipsec: { engine: bartizan, certificate: none.pem, key: none.key }";
    for (engines, is_given) in [([own, ""], false), ([own, own], true)] {
        let [amf, gnb] = engines;
        let place = place(&format!(
            "trust: {{ roots: ca.pem }}\nnodes:\n  amf: {{ function: AMF, address: 10.0.0.1, {amf} }}\n  \
             gnb: {{ function: gNB, address: 10.0.0.2, {gnb} }}\ninterfaces:\n  \
             - {{ kind: N2, between: [amf, gnb], with: ipsec, ipsec: {{ replay-window: 0, esn: false }} }}\n"
        ));
        let report = json(place.path(), &["--interfaces"]);
        assert_eq!(report["links"][0]["gives"][3], is_given, "{engines:?}");
    }
}

#[test]
fn a_network_that_meets_everything_is_clean() {
    let network = r#"
policy: hybrid
trust: { roots: ca.pem }
nodes:
  nrf: { function: NRF, address: 10.0.0.2, names: { dns: [nrf.5gc] }, certificate: nrf.pem, key: nrf.key,
         sidecar: { inbound: [ { listen: "10.0.0.2:8443", forward: "127.0.0.1:8000" } ] } }
  amf: { function: AMF, address: 10.0.0.3, names: { dns: [amf.5gc] }, certificate: amf.pem, key: amf.key,
         sidecar: { outbound: [ { listen: "127.0.0.1:7000", to: nrf } ] } }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
"#;
    let place = place(network);
    let output = check(place.path(), &["--interfaces", "--budget", "--migrate"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert!(text(&output.stdout).contains("Nothing is left to move."));
}

#[test]
fn a_fronthaul_too_long_passes_its_budget_and_a_short_one_does_not() {
    let place = place(NETWORK);
    let budget = |distance: &str| {
        let report = json(place.path(), &["--budget", "--distance", distance]);
        rules(&report, "FH du -- ru").contains(&"budget".to_owned())
    };
    assert!(!budget("5km"));
    // 399 us less MACsec's 192 and 6 of transmission are 40 km.
    assert!(budget("50km"));
    let refused = check(place.path(), &["--budget", "--distance", "-1m"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        text(&refused.stderr).contains("between 0 and 100000000 m"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn every_kind_of_link_has_a_clause_and_a_budget_or_the_reason_why_it_has_none() {
    let ends = [
        ("SBI", "nrf", "amf"),
        ("N2", "gnb", "amf"),
        ("N3", "gnb", "upf"),
        ("N4", "smf", "upf"),
        ("N9", "upf", "upf2"),
        ("N26", "amf", "mme"),
        ("N32", "sepp", "sepp2"),
        ("E1", "cu", "cuup"),
        ("E2", "cu", "ric"),
        ("F1-C", "cu", "du"),
        ("F1-U", "cuup", "du"),
        ("Xn", "gnb", "gnb2"),
        ("A1", "smo", "ric"),
        ("O1", "smo", "du"),
        ("O2", "smo", "cloud"),
        ("FH", "du", "ru"),
    ];
    let nodes = [
        ("nrf", "NRF"),
        ("amf", "AMF"),
        ("gnb", "gNB"),
        ("gnb2", "gNB"),
        ("upf", "UPF"),
        ("upf2", "UPF"),
        ("smf", "SMF"),
        ("mme", "MME"),
        ("sepp", "SEPP"),
        ("sepp2", "SEPP"),
        ("cu", "O-CU-CP"),
        ("cuup", "O-CU-UP"),
        ("du", "O-DU"),
        ("ru", "O-RU"),
        ("ric", "near-RT RIC"),
        ("smo", "SMO"),
        ("cloud", "O-Cloud"),
    ];
    let mut network = "policy: hybrid\nnodes:\n".to_owned();
    for (index, (name, function)) in nodes.iter().enumerate() {
        network += &format!("  {name}: {{ function: {function}, address: 10.9.0.{} }}\n", index + 1);
    }
    network += "interfaces:\n";
    for (kind, one, other) in ends {
        network += &format!("  - {{ kind: {kind}, between: [{one}, {other}], with: nothing }}\n");
    }
    let place = place(&network);
    let report = json(place.path(), &["--interfaces", "--budget"]);
    let links = report["links"].as_array().unwrap();
    assert_eq!(links.len(), ends.len());
    for (link, (kind, ..)) in links.iter().zip(ends) {
        assert_eq!(link["interface"], kind);
        assert!(
            link["requirement"]["clause"].as_str().unwrap().contains("clause"),
            "{link}"
        );
        let budget = &link["predicted"]["budget"];
        let missing = budget["packet_us"].is_null() || budget["set_up_us"].is_null();
        assert_eq!(
            missing,
            !budget["without"].as_str().unwrap().is_empty(),
            "{kind}: {budget}"
        );
        assert!(
            ["read", "as-cited"].contains(&budget["reading"].as_str().unwrap()),
            "{budget}"
        );
    }
    // A file names no delay categories: how many pairs of them allow the frame is said instead.
    let pairs = links[15]["predicted"]["category_pairs"].as_array().unwrap();
    assert!(pairs[0].as_u64().unwrap() > 12 && pairs[1] == 168, "{pairs:?}");
    assert!(links[0]["predicted"]["category_pairs"].is_null());
    // An unverified source is marked in the output.
    let said = text(&check(place.path(), &["--budget"]).stdout);
    assert!(
        said.contains("TS 23.501, table 5.7.4-1, notes on the CN PDB (as cited, the text was not read)"),
        "{said}"
    );
    assert!(
        said.contains("no text within reach has a figure for a packet"),
        "{said}"
    );
}

#[test]
fn the_first_lines_name_what_is_open_and_how_much_delay_is_left() {
    let place = place(NETWORK);
    let said = text(&check(place.path(), &["--interfaces", "--budget"]).stdout);
    let first: Vec<&str> = said
        .lines()
        .skip_while(|line| *line != "== in short")
        .skip(1)
        .take_while(|line| line.starts_with("- "))
        .collect();
    let expected = [
        "- readable today: 2 (O1 smo -- du, A1 smo -- cu): an attacker on the path",
        "- not known: FH du -- ru: nothing in the file shows how its keys are agreed on",
        "- forgeable later: E2 cu -- ric: what is recorded stays closed",
        "- delay: FH du -- ru comes closest to its budget, 298 us of 399 for its largest frame; 101 us are left.",
        "- missing or contradictory: 3 (A1 smo -- cu, nodes.gnb, nodes.cu)",
    ];
    assert_eq!(first.len(), expected.len(), "{said}");
    for (line, expected) in first.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    // The budget was not asked for: no delay is named.
    let said = text(&check(place.path(), &["--interfaces"]).stdout);
    assert!(!said.contains("- delay:"), "{said}");
}

#[test]
fn the_most_exposed_link_moves_first_and_what_only_waits_for_signatures_last() {
    let place = place(NETWORK);
    let report = json(place.path(), &["--migrate"]);
    let moves: Vec<(&str, &str)> = report["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["about"].as_str().unwrap(), step["exposure"].as_str().unwrap()))
        .collect();
    assert_eq!(
        moves,
        [
            ("O1 smo -- du", "readable"),
            ("A1 smo -- cu", "readable"),
            ("FH du -- ru", "unknown"),
            ("E2 cu -- ric", "forgeable"),
        ]
    );
}

#[test]
fn a_page_and_sarif_say_the_same_as_the_terminal() {
    let place = place(NETWORK);
    let output = check(place.path(), &["--html", "check.html", "--sarif", "check.sarif"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(place.path().join("check.html")).unwrap();
    let document = roxmltree::Document::parse(page.strip_prefix("<!DOCTYPE html>").unwrap()).unwrap();
    let words: String = document.descendants().filter_map(|node| node.text()).collect();
    let sarif: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("check.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    let first = text(&output.stdout);
    let answer = first.lines().nth(1).unwrap();
    // The first lines say how it stands and what to do first.
    assert!(
        answer.contains("2 are protected by nothing") && answer.contains("First: O1 smo -- du: write `with: sidecar`"),
        "{answer}"
    );
    assert!(first.contains("== by interface"), "{first}");
    // Required properties of each object in the schema of OASIS (SARIF 2.1.0, sections 3.13, 3.14,
    // 3.18, 3.19, 3.27, 3.28, 3.29, 3.49).
    assert_eq!(keys(&sarif), ["$schema", "runs", "version"]);
    assert_eq!(keys(run), ["results", "tool"]);
    // Another run is compared by these: the same for the same finding, and one for each.
    let fingerprints = |results: &[Value]| -> Vec<String> {
        let of = |result: &Value| {
            result["partialFingerprints"]["bartizan/v1"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        results.iter().map(of).collect()
    };
    let again = check(place.path(), &["--sarif", "again.sarif", "--quiet"]);
    assert!(again.stdout.is_empty());
    let again: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("again.sarif")).unwrap()).unwrap();
    let known = fingerprints(results);
    assert_eq!(known, fingerprints(again["runs"][0]["results"].as_array().unwrap()));
    assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), results.len());
    assert_eq!(
        keys(&run["tool"]["driver"]),
        ["name", "rules", "semanticVersion", "version"]
    );
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let mut ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rules.len(), "ids of rules are unique");
    for rule in rules {
        assert_eq!(keys(rule), ["id", "properties", "shortDescription"]);
        assert!(!rule["shortDescription"]["text"].as_str().unwrap().is_empty());
    }
    let report = json(place.path(), &["--interfaces", "--budget"]);
    assert_eq!(results.len(), report["findings"].as_array().unwrap().len());
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let of_result = [
            "level",
            "locations",
            "message",
            "partialFingerprints",
            "properties",
            "ruleId",
            "ruleIndex",
        ];
        assert_eq!(keys(result), of_result);
        // A rule's tags name the frameworks that each of its findings falls short of.
        let frameworks = result["properties"]["frameworks"].as_array().unwrap();
        let names: Vec<_> = frameworks.iter().map(|one| &one["name"]).collect();
        let tags: Vec<_> = rule["properties"]["tags"].as_array().unwrap().iter().collect();
        assert_eq!(names, tags);
        assert_eq!(
            names.is_empty(),
            !["recording", "forgery"].contains(&rule["id"].as_str().unwrap())
        );
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert_eq!(
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "network.yaml"
        );
        let about = result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
            .as_str()
            .unwrap();
        assert!(words.contains(about) && text(&output.stdout).contains(about), "{about}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
    }
    for clause in ["SRCS, clause 5.2.4", "TS 33.501", "Groen et al. 2024"] {
        assert!(words.contains(clause), "{clause}");
    }
}

#[test]
fn exit_code_is_that_of_findings_as_severe_as_asked() {
    // Its signatures are classical, and nothing else is wrong.
    let forgeable = "nodes:
  cu: { function: O-CU-CP, address: 10.2.0.1 }
  ric: { function: near-RT RIC, address: 10.2.0.2 }
interfaces:
  - { kind: E2, between: [cu, ric], with: ipsec }
";
    let mut codes = BTreeSet::new();
    for network in [NETWORK, forgeable] {
        let place = place(network);
        let said = check(place.path(), &["--interfaces", "--json"]);
        let report: Value = serde_json::from_slice(&said.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        for (asked, counted) in [
            ("critical", &["critical"][..]),
            ("high", &["critical", "high"]),
            ("medium", &["critical", "high", "medium"]),
            ("low", &["critical", "high", "medium", "low"]),
        ] {
            let finds = findings
                .iter()
                .any(|finding| counted.contains(&finding["severity"].as_str().unwrap()));
            let said = check(place.path(), &["--interfaces", "--quiet", "--fail-on", asked]);
            assert_eq!(said.status.code(), Some(i32::from(finds)), "{asked}");
            assert!(said.stdout.is_empty());
            codes.insert(finds);
        }
    }
    assert_eq!(codes, BTreeSet::from([false, true]));
}

/// An accepted finding stays in each document, and the exit code alone leaves it out.
#[test]
fn accepted_findings_are_marked_everywhere_and_end_with_their_day() {
    let place = place(NETWORK);
    let entry = |finding: &str, expires: &str| {
        format!("  - {{ finding: \"{finding}\", reason: a reason, expires: {expires} }}\n")
    };
    let all = |report: &Value| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter();
        let line = |finding: &Value| {
            format!(
                "{}: {}",
                finding["about"].as_str().unwrap(),
                finding["finding"].as_str().unwrap()
            )
        };
        findings.map(line).collect()
    };
    for form in [&["--interfaces"][..], &[]] {
        let report = json(place.path(), form);
        let findings = all(&report);
        assert!(findings.len() > 1, "{findings:?}");
        let file = |expires: &str, more: &str| {
            let entries: String = findings.iter().map(|line| entry(line, expires)).collect();
            std::fs::write(
                place.path().join("accepted.yaml"),
                format!("accepted:\n{entries}{more}"),
            )
            .unwrap();
        };
        let with = |more: &[&str]| check(place.path(), &[form, &["--accept", "accepted.yaml"], more].concat());
        file("2099-12-31", "");
        let said = with(&[]);
        assert_eq!(said.status.code(), Some(0), "{}", text(&said.stdout));
        let said = text(&said.stdout);
        assert_eq!(
            said.matches("accepted until 2099-12-31: a reason").count(),
            findings.len(),
            "{said}"
        );
        let accepted: Value = serde_json::from_slice(&with(&["--json"]).stdout).unwrap();
        assert_eq!(all(&accepted), findings);
        for finding in accepted["findings"].as_array().unwrap() {
            assert_eq!(finding["accepted"]["reason"], "a reason");
        }
        assert_eq!(accepted["links"], report["links"]);
        // One finding less is accepted.
        let one = entry(&findings[0], "2099-12-31");
        std::fs::write(place.path().join("accepted.yaml"), format!("accepted:\n{one}")).unwrap();
        assert_eq!(with(&[]).status.code(), Some(1));
        // Ended, and one that accepts nothing: findings of low severity.
        file("2020-12-31", "");
        assert_eq!(with(&["--fail-on", "low"]).status.code(), Some(1));
        let ended = text(&with(&[]).stdout);
        assert_eq!(
            ended.matches("ended with 2020-12-31").count(),
            findings.len(),
            "{ended}"
        );
        file("2099-12-31", &entry("E9 x -- y", "2099-12-31"));
        assert_eq!(with(&[]).status.code(), Some(1));
        assert!(text(&with(&[]).stdout).contains("accepts nothing: no finding begins with `E9 x -- y`"));
        assert_eq!(with(&["--fail-on", "medium"]).status.code(), Some(0));
        if form.is_empty() {
            continue;
        }
        let page = with(&["-q", "--html", "page.html", "--sarif", "found.sarif"]);
        assert_eq!(page.status.code(), Some(1), "{}", text(&page.stderr));
        let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
        assert_eq!(
            page.matches("accepted until 2099-12-31: a reason").count(),
            findings.len()
        );
        let sarif = std::fs::read_to_string(place.path().join("found.sarif")).unwrap();
        let sarif: Value = serde_json::from_str(&sarif).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), findings.len() + 1);
        let (of_entry, of_findings) = results.split_last().unwrap();
        for result in of_findings {
            assert_eq!(result["suppressions"][0]["status"], "accepted");
            assert_eq!(
                result["suppressions"][0]["justification"],
                "a reason (until 2099-12-31)"
            );
        }
        assert_eq!(
            (&of_entry["ruleId"], &of_entry["suppressions"]),
            (&"accepted".into(), &serde_json::json!([]))
        );
    }
    std::fs::write(
        place.path().join("accepted.yaml"),
        "accepted: [{ finding: x, reason: y }]\n",
    )
    .unwrap();
    let refused = check(place.path(), &["--accept", "accepted.yaml"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        text(&refused.stderr).contains("missing field `expires`"),
        "{}",
        text(&refused.stderr)
    );
}
