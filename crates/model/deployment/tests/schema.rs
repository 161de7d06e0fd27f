//! The JSON schema of the deployment file: what the parser accepts it accepts, and both refuse what no field is called.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use bartizan_deployment::Deployment;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Pages whose first block is a whole file; between them they have every part of one.
const PAGES: [&str; 2] = [
    include_str!("../../../../docs/deployment-file.md"),
    include_str!("../../../../docs/macsec.md"),
];

/// Fields that the pages' files leave out.
const MORE: &str = r#"
policy:
  profile: transition
  post-quantum: allow
  groups: [X25519MLKEM768, x25519]
  signatures: [mldsa65, ed25519]
  chain-signatures: [mldsa65, ed25519]
  reason: the vendor delivers in May
  owner: core team
  expires: 2027-06-30
  resumption: off
  revocation: require
  module: any
  ipsec: { key-exchanges: [x25519-ke1_mlkem768], ciphers: [aes256], prfs: [prfsha384], integrity: [sha384], authentication: classical-accepted, signatures: [ed25519], breach: report }
trust: { roots: ca.crt.pem, state: /var/lib/bartizan, crl: { url: 'http://ca.5gc:8829/crl.pem', file: /var/lib/bartizan/crl.pem } }
nodes:
  a:
    function: gNB
    address: 10.0.0.1
    names: { dns: [a.ran], ip: [10.0.0.1], uri: ["urn:a:b"] }
    certificate: a.crt.pem
    key: a.key.pem
    ipsec: { engine: bartizan, data-path: kernel, offload: crypto, certificate: a.crt.pem, key: a.key.pem, crl: l.pem, external: any, ledger: { file: l, size: 1MiB, keep: 3 } }
    sidecar:
      inbound: [{ listen: 10.0.0.1:1, forward: 127.0.0.1:2, interface: sbi, path: http2, x-forwarded-client-cert: yes }]
      limits: { connections: 1, streams: 2, requests-per-connection: 3, header-bytes: 2048, idle: 1h }
      allow: [{ name: DNS, to: 10.0.0.53, protocol: udp, port: 53 }]
  b: { function: gNB, address: 10.0.0.2, ipsec: { certificate: b.crt.pem, key: b.key.pem, external: 192.0.2.1 } }
  c: { function: NRF, address: 10.0.0.3 }
  f: { function: UDM, address: 10.0.0.6, tls: [{ listen: 0.0.0.0:443, service: 10.0.0.6:80, interface: sbi }] }
  g: { function: SMF, address: 10.0.0.7, tls: [] }
  d: { function: O-DU, address: 10.0.0.4, certificates: [{ certificate: d.crt.pem, key: d.key.pem }, { certificate: e.crt.pem, key: e.key.pem }] }
interfaces:
  - { kind: SBI, among: [a, c, f, g], with: sidecar }
  - kind: xn
    between: [[a], b]
    with: ipsec
    ipsec: { mode: tunnel, initiator: a, outer: { a: 10.1.0.1 }, external: { a: any }, selectors: [{ protocol: udp, port: 2152, at: b }], esn: true, ppk: { id: e2-2026, file: e2.ppk, required: false }, replay-window: 64, ike-dscp: 46, copy-dscp: no, rekey-bytes: 1000, rekey-packets: 1000, rekey-ike: never, reauth: 1h, dpd: 5s, ike-fragments: true, mtu: 1400, start: trap }
  - { kind: N4, between: [b, c], with: nothing }
  - { kind: N2, between: [a, c], with: gateway, carrier: quic, patience: 90s }
  - kind: FH
    between: [d, a]
    with: macsec
    macsec: { port: { d: eth1, a: eth2 }, device: { d: m0 }, initiator: a, cipher: gcm-aes-xpn-256, confidentiality: integrity, keying: direct, rekey: 30m, rekey-packets: 5000, keys-per-exchange: 4, unencrypted: [ptp] }
  - { kind: FH, between: [d, c], with: macsec, macsec: { port: { d: eth3 }, device: { d: m1 }, keying: mka, cak: { d: fh.cak } } }
"#;

fn files() -> Vec<String> {
    let blocks = PAGES.map(|page| {
        let (_, rest) = page.split_once("```yaml\n").unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    });
    blocks.into_iter().chain([MORE.to_owned()]).collect()
}

fn value(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap()
}

fn validator() -> &'static jsonschema::Validator {
    static VALIDATOR: LazyLock<jsonschema::Validator> =
        LazyLock::new(|| jsonschema::draft7::new(&Deployment::schema()).unwrap());
    &VALIDATOR
}

fn refusal(file: &Value) -> Option<String> {
    // JSON is YAML.
    let parsed = Deployment::parse(&file.to_string(), "core.yaml", Path::new("/"));
    parsed.err().map(|error| error.to_string())
}

/// Every place in a value, as a JSON pointer.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(inner, &format!("{here}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                places(inner, &format!("{here}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Maps whose keys are fields, and not names of nodes.
fn has_fields(place: &str, value: &Value) -> bool {
    let last = place.rsplit('/').next().unwrap_or_default();
    let by_node = ["nodes", "outer", "external", "inner", "port", "device", "cak"];
    value.is_object() && !by_node.contains(&last)
}

#[test]
fn files_with_every_field_are_accepted_by_both() {
    let validator = validator();
    let mut named = BTreeSet::new();
    for yaml in files() {
        let file = value(&yaml);
        // As it is written, and as JSON.
        assert!(Deployment::parse(&yaml, "core.yaml", Path::new("/")).is_ok(), "{yaml}");
        let faults: Vec<_> = validator
            .iter_errors(&file)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:?}");
        let mut all = Vec::new();
        places(&file, "", &mut all);
        named.extend(
            all.iter()
                .filter_map(|place| Some(place.rsplit_once('/')?.1.to_owned())),
        );
    }
    // The property below can change only fields that these files have.
    let schema = Deployment::schema();
    let definitions = schema["definitions"].as_object().unwrap().values();
    let mut missing = BTreeSet::new();
    for definition in definitions.chain([&schema]) {
        for (field, described) in definition["properties"].as_object().into_iter().flatten() {
            if !named.contains(field) {
                missing.insert(field.clone());
            }
            let text = described["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "an editor shows nothing of `{field}`: {described}");
        }
    }
    let left_out = [
        "among",
        "connect",
        "connections-per-address",
        "handshake",
        "handshakes-per-address",
        "lab",
        "service",
        "stall",
    ];
    let unexpected: Vec<_> = missing
        .iter()
        .filter(|field| !left_out.contains(&field.as_str()))
        .collect();
    assert!(unexpected.is_empty(), "add them to MORE: {unexpected:?}");
}

#[test]
fn yaml_s_spellings_of_a_value_are_accepted_by_both() {
    let validator = validator();
    for yaml in [
        "nodes: ~",
        "nodes:\ninterfaces:\npolicy:\n",
        "nodes: { 5: { function: 5, address: 10.0.0.1 } }",
        "nodes: { a: { function: 1.5, address: '10.0.0.1', names: { dns: ~, ip: [10.0.0.1] } } }",
        "nodes: { a: { function: true, address: 10.0.0.1, names: ~ } }",
        "nodes: {}\npolicy: { profile: classical, lab: 'true' }",
        "nodes: {}\npolicy: { profile: classical, lab: yes }",
        "nodes: {}\npolicy: { profile: classical, lab: On }",
        "nodes: {}\npolicy: { profile: hybrid, resumption: off, groups: ~ }",
        "nodes: {}\npolicy: { profile: transition, reason: 5, expires: 2030-01-01 }",
        "trust: { roots: 5 }\nnodes: { a: { function: x, address: 10.0.0.1, key: 5, certificate: 6, sidecar: { outbound: [{ listen: '127.0.0.1:5', warm: '4' }], limits: ~, allow: ~, ledger: ~ } } }",
        "trust: { roots: r }\nnodes: { a: { function: x, address: 10.0.0.1, key: k, certificate: c, sidecar: { outbound: [{ listen: 127.0.0.1:5, warm: 0x4 }] } } }",
        "trust: { roots: r }\nnodes: { a: { function: x, address: 10.0.0.1, key: k, certificate: c, sidecar: { outbound: [{ listen: 127.0.0.1:5, warm: 1_0 }] } } }",
    ] {
        let parsed = Deployment::parse(yaml, "core.yaml", Path::new("/"));
        assert!(parsed.is_ok(), "{yaml}: {parsed:?}");
        let file = value(yaml);
        assert!(validator.is_valid(&file), "{yaml}: {:?}", validator.validate(&file));
    }
}

#[test]
fn what_the_schema_offers_is_known_to_the_parser() {
    let schema = Deployment::schema();
    let offered = |definition: &str, field: &str| -> Vec<String> {
        fn listed(schema: &Value) -> Option<&Value> {
            match schema {
                Value::Object(map) => map.get("enum").or_else(|| map.values().find_map(listed)),
                Value::Array(list) => list.iter().find_map(listed),
                _ => None,
            }
        }
        let field_schema = &schema["definitions"][definition]["properties"][field];
        let words = listed(field_schema).and_then(Value::as_array);
        let words: Vec<_> = words
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        assert!(!words.is_empty(), "{definition}.{field}");
        words
    };
    let mut tried = 0;
    let mut known = |policy: String| {
        tried += 1;
        let text = format!("nodes: {{}}\npolicy: {policy}\n");
        if let Err(error) = Deployment::parse(&text, "core.yaml", Path::new("/")) {
            // It may not go with the profile, and is no unknown word.
            let said = error.to_string();
            assert!(
                !said.contains("not known") && !said.contains("is not a"),
                "{text}{said}"
            );
        }
    };
    for field in ["groups", "signatures", "chain-signatures"] {
        for word in offered("RawPolicyMap", field) {
            known(format!("{{ {field}: [{word}] }}"));
        }
    }
    for field in ["key-exchanges", "ciphers", "prfs", "integrity", "signatures"] {
        for word in offered("RawIpsecPolicy", field) {
            known(format!("{{ ipsec: {{ {field}: [{word}] }} }}"));
        }
    }
    for word in offered("RawPolicyMap", "resumption") {
        known(format!("{{ resumption: {word} }}"));
    }
    assert!(tried > 60, "{tried}");
    let macsec = |settings: String| {
        let text = format!(
            "trust: {{ roots: r }}\nnodes:\n  a: {{ function: O-DU, address: 10.0.0.1, certificate: a, key: a }}\n  b: {{ function: O-RU, address: 10.0.0.2, certificate: b, key: b }}\n\
             interfaces: [{{ kind: FH, between: [a, b], with: macsec, macsec: {{ port: {{ a: x, b: y }}, {settings} }} }}]\n"
        );
        let parsed = Deployment::parse(&text, "core.yaml", Path::new("/"));
        assert!(parsed.is_ok(), "{text}{parsed:?}");
    };
    for word in offered("RawMacsecLink", "cipher") {
        macsec(format!("cipher: {word}"));
    }
    for word in offered("RawMacsecLink", "keying") {
        macsec(format!("keying: {word}"));
    }
    for word in offered("RawMacsecLink", "unencrypted") {
        macsec(format!("unencrypted: [{word}]"));
    }
}

/// Values that a field of another kind may have.
fn replacement() -> impl Strategy<Value = Value> {
    let words = [
        "a",
        "nrf",
        "http2",
        "splice",
        "hybrid",
        "cnsa2",
        "off",
        "no",
        "yes",
        "true",
        "5s",
        "never",
        "any",
        "tcp",
        "x25519",
        "mldsa65",
        "10.0.0.9",
        "10.0.0.9:80",
        "64MiB",
        "5",
        "0x5",
        "2030-01-01",
        "e2",
        "SBI",
        "ipsec",
        "nothing",
        "",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u32..100_000).prop_map(Value::from),
        (-2i32..2).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        prop::sample::select(words.to_vec()).prop_map(|word| json!([word])),
        Just(json!([])),
        Just(json!({})),
        // Control characters are not YAML.
        "[ -~]{0,12}".prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn what_the_parser_accepts_the_schema_accepts(
        file in prop::sample::select(files()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.7, replacement())), 0..3),
    ) {
        let mut file = value(&file);
        for (at, instead) in changes {
            let mut all = Vec::new();
            places(&file, "", &mut all);
            let place = all[at.index(all.len())].clone();
            match instead {
                Some(instead) => *file.pointer_mut(&place).unwrap() = instead,
                // A field, or an entry of a list, is left out.
                None => {
                    let Some((outer, last)) = place.rsplit_once('/') else { continue };
                    match file.pointer_mut(outer) {
                        Some(Value::Object(map)) => drop(map.remove(last)),
                        Some(Value::Array(list)) => drop(list.remove(last.parse().unwrap())),
                        _ => {}
                    }
                }
            }
        }
        if refusal(&file).is_none() {
            let validator = validator();
            let faults: Vec<_> = validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect();
            prop_assert!(faults.is_empty(), "{:?} of {}", faults, file);
        }
    }

    #[test]
    fn an_unknown_field_is_refused_by_both_wherever_it_stands(
        file in prop::sample::select(files()),
        at in any::<prop::sample::Index>(),
        field in "[a-z]{1,12}",
        instead in replacement(),
    ) {
        let mut file = value(&file);
        let mut all = Vec::new();
        places(&file, "", &mut all);
        all.retain(|place| has_fields(place, file.pointer(place).unwrap()));
        let place = &all[at.index(all.len())];
        let map: &mut Map<String, Value> = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
        // No field begins like this.
        map.insert(format!("q-{field}"), instead);
        let said = refusal(&file);
        prop_assert!(said.as_ref().is_some_and(|said| said.contains("unknown field")), "{:?}", said);
        prop_assert!(!validator().is_valid(&file), "{}", file);
    }
}
