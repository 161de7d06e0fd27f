//! Messages of deployments, as charon gets them.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bartizan_deployment::{Deployment, Policy};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf};
use time::macros::date;

use super::*;

const KERNEL: Means = Means::KERNEL;

const TODAY: Date = date!(2026 - 11 - 21);

/// Files of a node in a directory of their own, issued by an authority of the test.
fn files(algorithm: Algorithm) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let mut authority = Authority::init(
        &directory.path().join("ca"),
        InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::EcdsaP256),
        now,
    )
    .unwrap();
    let leaf = Leaf::new("cu").unwrap().dns("cu").unwrap().algorithm(algorithm);
    let issued = authority.issue(&leaf, now).unwrap();
    std::fs::write(directory.path().join("cu.crt.pem"), issued.chain_pem()).unwrap();
    let key = directory.path().join("cu.key.pem");
    std::fs::write(&key, issued.key_pem().unwrap()).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::write(directory.path().join("ca.crt.pem"), issued.root_pem()).unwrap();
    std::fs::copy(directory.path().join("ca/crl.pem"), directory.path().join("ca.crl.pem")).unwrap();
    directory
}

fn deployment(base: &Path, policy: &str, interfaces: &str) -> Deployment {
    Deployment::parse(&file(policy, interfaces), "core.yaml", base).unwrap()
}

fn file(policy: &str, interfaces: &str) -> String {
    format!(
        "policy: {policy}\n\
         trust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\n\
         nodes:\n\
         \x20 cu: {{ function: O-CU-CP, address: 10.200.0.1, ipsec: {{ certificate: cu.crt.pem, key: cu.key.pem }} }}\n\
         \x20 ric: {{ function: near-RT RIC, address: 10.200.0.2, names: {{ ip: [10.200.0.2] }} }}\n\
         \x20 du: {{ function: O-DU, address: \"fd00::3\" }}\n\
         \x20 mu: {{ function: O-DU, address: 192.168.1.2 }}\n\
         interfaces:\n{interfaces}"
    )
}

/// A message with a line for each value; certificates by their length alone, which differs from key to key.
fn shown(section: &Section, depth: usize, text: &mut String) {
    for (name, value) in section.entries() {
        let margin = "  ".repeat(depth);
        match value {
            Value::Section(section) => {
                writeln!(text, "{margin}{name}").unwrap();
                shown(section, depth + 1, text);
            }
            Value::List(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| std::str::from_utf8(item).unwrap_or("<DER>").to_owned())
                    .collect();
                writeln!(text, "{margin}{name} = [{}]", items.join(", ")).unwrap();
            }
            Value::Data(data) => writeln!(text, "{margin}{name} = {}", String::from_utf8_lossy(data)).unwrap(),
        }
    }
}

fn rendered(node: &str, policy: &str, interfaces: &str, means: Means) -> String {
    let files = files(Algorithm::EcdsaP256);
    let deployment = deployment(files.path(), policy, interfaces);
    let credentials = Credentials::read(deployment.node("cu").unwrap().ipsec.as_ref().unwrap()).unwrap();
    let mut text = String::new();
    for connection in connections(&deployment, node, &credentials, means, TODAY).unwrap() {
        let children: Vec<_> = connection.children.iter().map(|child| child.name.as_str()).collect();
        let initiates = if connection.initiates { "initiates" } else { "waits" };
        writeln!(
            text,
            "# {} to {}, {initiates}: {}",
            connection.name,
            connection.peer,
            children.join(" ")
        )
        .unwrap();
        shown(&connection.load(), 0, &mut text);
    }
    text
}

const E2: &str =
    "  - { kind: E2, between: [cu, ric], with: ipsec, ipsec: { inner: { cu: [10.78.1.1], ric: [10.78.2.1] } } }\n";

#[test]
fn e2_is_configured_at_both_ends() {
    insta::assert_snapshot!("e2_cu", rendered("cu", "hybrid", E2, KERNEL));
    insta::assert_snapshot!("e2_ric", rendered("ric", "hybrid", E2, KERNEL));
}

#[test]
fn every_setting_reaches_charon() {
    let e2 = "  - kind: E2\n    between: [cu, ric]\n    with: ipsec\n    \
              ipsec: { mode: transport, initiator: ric, start: trap, esn: false, replay-window: 0, ike-dscp: 46, ike-fragments: false, \
              rekey-ike: never, rekey-child: 30s, rekey-bytes: 1000000, rekey-packets: 2000, reauth: never, dpd: never, \
              ppk: { id: e2-2026, file: e2.ppk, required: false } }\n";
    let policy =
        "{ profile: cnsa2, revocation: require, ipsec: { ciphers: [aes256], authentication: classical-accepted } }";
    insta::assert_snapshot!(rendered("cu", policy, e2, KERNEL));
}

#[test]
fn two_interfaces_between_the_same_nodes_share_a_connection_and_others_do_not() {
    let interfaces = "  - { kind: Xn, between: [ric, cu], with: ipsec, ipsec: { initiator: cu } }\n  \
                      - { kind: E1, between: [cu, ric], with: ipsec }\n  \
                      - { kind: O1, between: [du, cu], with: ipsec, ipsec: { outer: { cu: \"fd00::1\" } } }\n";
    insta::assert_snapshot!(rendered("cu", "hybrid", interfaces, KERNEL));
}

#[test]
fn of_two_connections_to_one_peer_none_makes_room_for_the_other() {
    let with = |[cu, ric]: [&str; 2]| {
        let o1 = format!(
            "  - {{ kind: O1, between: [cu, ric], with: ipsec, ipsec: {{ outer: {{ cu: '{cu}', ric: '{ric}' }}, \
             inner: {{ cu: [10.79.1.1], ric: [10.79.2.1] }} }} }}\n"
        );
        let text = rendered("cu", "hybrid", &format!("{E2}{o1}"), KERNEL);
        ["never", "no"].map(|word| text.matches(&format!("unique = {word}\n")).count())
    };
    assert_eq!(with(["10.201.0.1", "10.201.0.2"]), [2, 0]);
    // charon distinguishes the families.
    assert_eq!(with(["fd00::1", "fd00::2"]), [0, 2]);
}

#[test]
fn a_card_is_asked_for_where_the_node_says_so() {
    let files = files(Algorithm::EcdsaP256);
    for (word, asked) in [("", false), (", offload: no", false), (", offload: crypto", true)] {
        let text = file("hybrid", E2).replacen("key: cu.key.pem }", &format!("key: cu.key.pem{word} }}"), 1);
        let deployment = Deployment::parse(&text, "core.yaml", files.path()).unwrap();
        let credentials = Credentials::read(deployment.node("cu").unwrap().ipsec.as_ref().unwrap()).unwrap();
        let text = |node: &str| {
            let connections = connections(&deployment, node, &credentials, KERNEL, TODAY).unwrap();
            let mut text = String::new();
            shown(&connections[0].load(), 0, &mut text);
            text
        };
        // Cards are each node's own.
        let found = ["cu", "ric"].map(|node| text(node).contains("hw_offload = crypto\n"));
        assert_eq!(found, [asked, false], "{word}");
        assert!(asked || !text("cu").contains("hw_offload"));
    }
}

/// Two elements of which NATs hide the addresses, and a RIC to which one forwards the ports of IKE.
const BEHIND_NAT: &str = "  - { kind: E2, between: [cu, ric], with: ipsec, ipsec: { inner: { cu: [10.78.1.1] }, external: { cu: any, ric: 203.0.113.7 } } }\n  \
                          - { kind: F1-C, between: [ric, mu], with: ipsec, ipsec: { inner: { mu: [10.78.1.2] }, external: { mu: any, ric: 203.0.113.7 } } }\n";

#[test]
fn behind_nat_each_end_receives_its_own_address_and_where_it_reaches_the_other() {
    let lines = |node: &str| -> Vec<String> {
        let text = rendered(node, "hybrid", BEHIND_NAT, KERNEL);
        let words = [
            "#",
            "local_addrs",
            "remote_addrs",
            "mobike",
            "encap",
            "local_ts",
            "remote_ts",
        ];
        let actions = ["start_action", "close_action", "dpd_action"];
        let wanted = |line: &&str| words.iter().chain(&actions).any(|word| line.trim().starts_with(word));
        text.lines().filter(wanted).map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(
        lines("cu"),
        [
            "# cu--ric to ric, initiates: E2",
            "local_addrs = [10.200.0.1]",
            "remote_addrs = [203.0.113.7]",
            "mobike = yes",
            "encap = yes",
            "start_action = trap",
            "close_action = start",
            "dpd_action = start",
            "local_ts = [10.78.1.1/32[132]]",
            "remote_ts = [10.200.0.2/32[132/36421]]",
        ]
    );
    // Both may come from the same address: each has its connection all the same, and neither can be called.
    let ric = lines("ric");
    assert_eq!(
        ric[..9],
        [
            "# cu--ric to cu, waits: E2",
            "local_addrs = [10.200.0.2]",
            "remote_addrs = [0.0.0.0/0]",
            "mobike = yes",
            "encap = yes",
            "start_action = none",
            "close_action = none",
            "dpd_action = clear",
            "local_ts = [10.200.0.2/32[132/36421]]",
        ]
    );
    assert!(
        ric.contains(&"# ric--mu to mu, waits: F1-C F1-C-2".to_owned()),
        "{ric:?}"
    );
    // If a NAT is before one end alone, the other follows the addresses that it hears.
    let one = BEHIND_NAT.replace(", ric: 203.0.113.7", "");
    assert!(rendered("cu", "hybrid", &one, KERNEL).contains("mobike = no\n"));
}

/// The peer's kernel accepts a packet only in the CHILD_SA in which this end sends it.
#[test]
fn of_children_that_are_of_the_same_packet_both_ends_ask_the_same_first() {
    let interfaces = "  - { kind: N4, between: [ric, cu], with: ipsec }\n";
    let of = |node: &str| -> Vec<String> {
        let text = rendered(node, "hybrid", interfaces, KERNEL);
        let lines = text.lines().map(str::trim);
        lines
            .filter_map(|line| line.strip_prefix("priority = ").map(str::to_owned))
            .collect()
    };
    let cu = of("cu");
    assert_eq!(cu.len(), 2);
    assert_ne!(cu[0], cu[1]);
    assert_eq!(cu, of("ric"));
    let listened = rendered(
        "cu",
        "hybrid",
        "  - { kind: E2, between: [ric, cu], with: ipsec }\n",
        KERNEL,
    );
    assert!(!listened.contains("priority"), "{listened}");
}

#[test]
fn both_ends_give_children_the_same_names_for_the_same_packets() {
    let interfaces = "  - { kind: Xn, between: [ric, cu], with: ipsec }\n";
    let lines = |text: String, wanted: &str| -> Vec<String> {
        let found = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(wanted).map(str::to_owned));
        found.collect()
    };
    let [cu, ric] = ["cu", "ric"].map(|node| rendered(node, "hybrid", interfaces, KERNEL));
    assert_eq!(lines(cu.clone(), "local_ts"), lines(ric.clone(), "remote_ts"));
    assert_eq!(lines(cu.clone(), "remote_ts"), lines(ric.clone(), "local_ts"));
    let names = |text: &str| text.lines().next().unwrap().rsplit(": ").next().unwrap().to_owned();
    assert_eq!(names(&cu), "Xn Xn-2 Xn-3 Xn-4");
    assert_eq!(names(&cu), names(&ric));
}

#[test]
fn an_exception_s_end_takes_the_classical_proposals_away() {
    let policy = |expires| format!("{{ profile: transition, reason: r, expires: {expires} }}");
    let proposals = |expires| {
        let text = rendered("cu", &policy(expires), E2, KERNEL);
        text.lines()
            .filter(|line| line.contains("proposals = "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let during = proposals("2026-11-21");
    assert!(
        during[0].contains("prfsha384-x25519-ke1_mlkem768, aes256gcm16-prfsha384-x25519, "),
        "{during:?}"
    );
    let after = proposals("2026-11-20");
    assert_eq!(
        after.iter().map(|line| line.trim()).collect::<Vec<_>>(),
        [
            "proposals = [aes256gcm16-prfsha384-x25519-ke1_mlkem768]",
            "esp_proposals = [aes256gcm16-x25519-ke1_mlkem768-esn]"
        ]
    );
}

#[test]
fn a_kernel_that_counts_32_bits_gets_no_esn_and_a_bound_of_packets() {
    let means = Means::LIBIPSEC;
    let text = rendered("cu", "hybrid", E2, means);
    assert!(
        text.contains("esp_proposals = [aes256gcm16-x25519-ke1_mlkem768-noesn]"),
        "{text}"
    );
    assert!(text.contains("rekey_packets = 2147483648\n"), "{text}");
}

#[test]
fn a_link_that_nobody_can_authenticate_for_is_refused() {
    let files = files(Algorithm::EcdsaP256);
    let deployment = deployment(files.path(), "cnsa2", E2);
    let credentials = Credentials::read(deployment.node("cu").unwrap().ipsec.as_ref().unwrap()).unwrap();
    let error = connections(&deployment, "cu", &credentials, KERNEL, TODAY).unwrap_err();
    let expected = "E2 cu -- ric: no released strongSwan makes a signature its policy accepts (mldsa87)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_peers_may_prove_themselves_by_fits_what_charon_reads_of_it() {
    let hybrid = Policy::hybrid().ipsec.signatures;
    assert_eq!(
        authentication(&hybrid).unwrap(),
        "ike:ecdsa-256-sha256-sha384-ike:ed25519-identity"
    );
    assert!(authentication(&hybrid).unwrap().len() <= 63);
    assert_eq!(
        authentication(&[SignatureScheme::ED25519]).unwrap(),
        "ike:ed25519-identity"
    );
    assert_eq!(authentication(&[SignatureScheme::MLDSA65]), None);
}

#[test]
fn credentials_go_to_charon_root_first_and_the_key_last() {
    let files = files(Algorithm::Ed25519);
    let deployment = deployment(files.path(), "hybrid", E2);
    let credentials = Credentials::read(deployment.node("cu").unwrap().ipsec.as_ref().unwrap()).unwrap();
    let reported: Vec<_> = credentials
        .load()
        .into_iter()
        .map(|(command, message)| {
            let text = |name| message.text(name).unwrap_or_default().to_owned();
            format!("{command} {} {}", text("type"), text("flag"))
        })
        .collect();
    // Two lists: the intermediate's and the root's.
    let expected = [
        "load-cert X509 CA",
        "load-cert X509 NONE",
        "load-cert X509_CRL NONE",
        "load-cert X509_CRL NONE",
        "load-cert X509 NONE",
        "load-key any ",
    ];
    assert_eq!(reported, expected);
    assert_eq!(
        format!("{credentials:?}"),
        "Credentials { 1 intermediates, 1 roots, 2 lists }"
    );
}

#[test]
fn pre_shared_keys_follow_by_name_and_their_files_are_read_with_care() {
    let files = files(Algorithm::EcdsaP256);
    let file = files.path().join("e2.ppk");
    let link = E2.replacen("ipsec: {", "ipsec: { ppk: { id: e2-2026, file: e2.ppk },", 1);
    let deployment = deployment(files.path(), "hybrid", &link);
    let read = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let own = deployment.node("cu").unwrap().ipsec.as_ref().unwrap();
        let credentials = Credentials::read(own).unwrap().with_ppks(&deployment, "cu");
        credentials.map_err(|error| error.to_string().replace(&format!("{}/", files.path().display()), ""))
    };
    let digits = format!("{}\n{}\n", "0F".repeat(16), "a1".repeat(16));
    let loaded = read(&digits, 0o600).unwrap().load();
    let (command, message) = loaded.last().unwrap();
    let secret = [[15; 16], [0xa1; 16]].concat();
    assert_eq!(
        (*command, message.text("type"), message.data("data")),
        ("load-shared", Some("PPK"), Some(&secret[..]))
    );
    assert_eq!(message.list("owners").collect::<Vec<_>>(), ["e2-2026"]);
    // Neither the file nor what is wrong with it is shown.
    let short = "0f".repeat(31);
    for (text, mode, said) in [
        (
            digits.as_str(),
            0o640,
            "e2.ppk: has mode 640, and others than its owner can use it: chmod 600",
        ),
        (
            "the secret of E2",
            0o600,
            "e2.ppk: holds something else than hexadecimal digits: `openssl rand -hex 32` writes a key",
        ),
        (
            &short,
            0o600,
            "e2.ppk: holds 31 octets: a pre-shared key has 32 to 256, `openssl rand -hex 32` writes one",
        ),
        (
            &"0f".repeat(600),
            0o600,
            "e2.ppk: holds more than a key of 256 octets has",
        ),
    ] {
        assert_eq!(read(text, mode).unwrap_err(), said);
    }
    std::fs::remove_file(&file).unwrap();
    let own = deployment.node("cu").unwrap().ipsec.as_ref().unwrap();
    let missing = Credentials::read(own).unwrap().with_ppks(&deployment, "cu");
    assert!(matches!(missing, Err(CredentialsError::Read { path, .. }) if path == file));
}

#[test]
fn files_that_charon_cannot_use_are_refused_by_name() {
    let refused = |algorithm, spoil: &dyn Fn(&Path)| {
        let files = files(algorithm);
        spoil(files.path());
        let deployment = deployment(files.path(), "hybrid", E2);
        let error = Credentials::read(deployment.node("cu").unwrap().ipsec.as_ref().unwrap()).unwrap_err();
        error.to_string().replace(&format!("{}/", files.path().display()), "")
    };
    let p256 = Algorithm::EcdsaP256;
    let write = |name: &'static str, text: &'static str| move |at: &Path| std::fs::write(at.join(name), text).unwrap();
    assert_eq!(
        refused(Algorithm::MlDsa65, &|_| ()),
        "cu.crt.pem: its key is ml-dsa-65, which no released strongSwan can use: `bartizan ca issue --profile ipsec --dns NAME` makes one it can, and `engine: bartizan` can use this one where both ends have it"
    );
    assert_eq!(
        refused(p256, &write("cu.crt.pem", "")),
        "cu.crt.pem: holds no certificate in PEM"
    );
    assert_eq!(
        refused(p256, &write("ca.crl.pem", "")),
        "ca.crl.pem: holds no revocation list in PEM"
    );
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(
        refused(p256, &write("cu.key.pem", encrypted)),
        "cu.key.pem: the key is encrypted, and nobody is there to be asked"
    );
    let gone = refused(p256, &|at| std::fs::remove_file(at.join("ca.crt.pem")).unwrap());
    assert_eq!(gone, "ca.crt.pem: No such file or directory (os error 2)");
    let large = |at: &Path| std::fs::write(at.join("ca.crt.pem"), vec![b'a'; 17 << 20]).unwrap();
    assert_eq!(refused(p256, &large), "ca.crt.pem: is larger than 16777216 octets");
}
