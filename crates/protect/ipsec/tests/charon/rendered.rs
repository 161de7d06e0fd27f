//! Real charons load the configuration rendered from a deployment file.

use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::{Deployment, day_of};
use bartizan_host::{Error as HostError, LabRoot, Program};
use bartizan_ipsec::lint::{self, Severity};
use bartizan_ipsec::render::{Connection, Credentials, Means, connections};
use bartizan_ipsec::vici::{Error, Section};
use bartizan_ipsec::{Charon, TrafficSelector};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Profile, Reason};
use bartizan_testing::Build as _;

use time::Date;

use super::list_sas;
use crate::stage::{End, PATIENCE, Stage, eventually};

/// An authority and, for each end, files and the deployment that names them.
struct Network {
    directory: tempfile::TempDir,
    authority: Authority,
    deployment: Deployment,
}

impl Network {
    fn new(stage: &Stage, policy: &str, link: &str, algorithm: Algorithm) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let now = SystemTime::now();
        let options = InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::EcdsaP256);
        let authority = Authority::init(&directory.path().join("ca"), options, now).expect("an authority");
        let (near, far) = (&stage.near, &stage.far);
        let node = |end: &End, function: &str| {
            let (name, address) = (end.name, end.address());
            format!(
                "  {name}: {{ function: {function}, address: {address}, names: {{ dns: [{name}.test] }}, \
                 ipsec: {{ certificate: {name}.crt.pem, key: {name}.key.pem }} }}\n"
            )
        };
        let text = format!(
            "policy: {policy}\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n  \
             - {{ kind: E2, between: [near, far], with: ipsec, ipsec: {{ inner: {{ near: [{}], far: [{}] }}, {link} }} }}\n",
            node(near, "O-CU-CP"),
            node(far, "near-RT RIC"),
            near.inner(),
            far.inner(),
        );
        let deployment = Deployment::parse(&text, "e2.yaml", directory.path()).expect("a deployment");
        let mut network = Self {
            directory,
            authority,
            deployment,
        };
        for end in [near, far] {
            network.issue(end.name, algorithm);
        }
        network
    }

    /// A fresh certificate for an end, and the list of now.
    fn issue(&mut self, name: &str, algorithm: Algorithm) {
        let leaf = Leaf::new(name)
            .expect("a name")
            .dns(&format!("{name}.test"))
            .expect("a name");
        let issued = self
            .authority
            .issue(&leaf.profile(Profile::Ipsec).algorithm(algorithm), SystemTime::now())
            .expect("a certificate");
        let write = |file: String, text: &str| std::fs::write(self.path().join(file), text).expect("a file");
        write(format!("{name}.crt.pem"), &issued.chain_pem());
        let (file, key) = (
            self.path().join(format!("{name}.key.pem")),
            issued.key_pem().expect("a key"),
        );
        bartizan_pki::write_secret_file(&file, key.as_bytes()).expect("a file");
        write("ca.crt.pem".into(), &issued.root_pem());
        std::fs::copy(self.path().join("ca/crl.pem"), self.path().join("ca.crl.pem")).expect("lists");
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Asks an end's charon what it can do, which must suffice for the file.
    fn lint(&self, end: &End, today: Date) -> Means {
        let charon = Charon::ask(&mut end.client()).expect("an answer");
        for (_, interface, link) in self.deployment.ipsec_links(end.name) {
            let remarks = lint::link(interface, link, &charon, today);
            let refused = remarks.iter().find(|remark| remark.severity == Severity::Refused);
            assert!(refused.is_none(), "{refused:?}");
        }
        charon.means()
    }

    /// Loads an end's part of the file into its charon.
    fn load(&self, end: &End) -> Vec<Connection> {
        let node = self.deployment.node(end.name).expect("a node");
        let credentials = Credentials::read(node.ipsec.as_ref().expect("files")).expect("credentials");
        let today = day_of(SystemTime::now());
        let means = self.lint(end, today);
        let connections = connections(&self.deployment, end.name, &credentials, means, today).expect("rendered");
        let mut client = end.client();
        for (command, message) in credentials.load() {
            client
                .command(command, message)
                .unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        for connection in &connections {
            client.command("load-conn", connection.load()).expect("charon takes it");
        }
        connections
    }
}

/// Asks for the first child of the first connection.
fn initiate(end: &End, connections: &[Connection]) -> Result<(), Error> {
    let message = Section::new()
        .with("ike", &connections[0].name)
        .with("child", &connections[0].children[0].name)
        .with("timeout", "60000");
    end.client().command("initiate", message).map(drop)
}

#[test]
fn a_link_of_the_file_comes_up_hybrid_and_protects_what_the_file_says() {
    let stage = Stage::set_up();
    for algorithm in [Algorithm::EcdsaP256, Algorithm::EcdsaP384, Algorithm::Ed25519] {
        let network = Network::new(&stage, "hybrid", "esn: true", algorithm);
        let loaded = network.load(&stage.near);
        network.load(&stage.far);
        assert!(loaded[0].initiates);
        initiate(&stage.near, &loaded).unwrap_or_else(|error| panic!("{algorithm}: {error}"));
        let mut client = stage.near.client();
        let sas = list_sas(&mut client);
        let sa = &sas[0];
        assert_eq!(
            (sa.text("dh-group"), sa.text("ake1")),
            (Some("CURVE_25519"), Some("ML_KEM_768"))
        );
        assert_eq!(sa.text("prf-alg"), Some("PRF_HMAC_SHA2_384"));
        let child = sa
            .section("child-sas")
            .and_then(|children| children.sections().next())
            .expect("a child")
            .1;
        assert_eq!(child.text("encr-alg"), Some("AES_GCM_16"));
        assert_eq!(child.text("encr-keysize"), Some("256"));
        // A system with /etc/protocols has a name for 132.
        let selector = |text: &str| TrafficSelector::parse(text).unwrap_or_else(|| panic!("no selector {text}"));
        let selectors = |name: &str| child.list(name).map(selector).collect::<Vec<_>>();
        assert_eq!(selectors("local-ts"), [selector("10.78.0.1/32[132]")], "{child:?}");
        let port = match Charon::ask(&mut client).expect("an answer").means().sctp_ports {
            true => "/36421",
            false => "",
        };
        let remote = selector(&format!("10.78.0.2/32[132{port}]"));
        assert_eq!(selectors("remote-ts"), [remote], "{child:?}");
        for end in [&stage.near, &stage.far] {
            let mut client = end.client();
            client.command("unload-conn", loaded[0].unload()).expect("unloaded");
            // The other end's deletion may have been there first.
            let _ = client.command(
                "terminate",
                Section::new().with("ike", &loaded[0].name).with("force", "yes"),
            );
            eventually("no SA is left", || list_sas(&mut client).is_empty().then_some(()));
            client.command("clear-creds", Section::new()).expect("cleared");
        }
    }
}

#[test]
fn a_peer_whose_signature_the_policy_does_not_accept_gets_no_link() {
    let stage = Stage::set_up();
    let policy = "{ ipsec: { signatures: [ed25519] } }";
    let mut network = Network::new(&stage, policy, "start: trap", Algorithm::Ed25519);
    network.issue("near", Algorithm::EcdsaP256);
    let loaded = network.load(&stage.near);
    network.load(&stage.far);
    let refused = initiate(&stage.near, &loaded).expect_err("the peer refuses");
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert!(list_sas(&mut stage.far.client()).is_empty());
}

#[test]
fn a_peer_whose_certificate_was_revoked_gets_no_link() {
    let stage = Stage::set_up();
    let mut network = Network::new(&stage, "hybrid", "start: trap", Algorithm::EcdsaP256);
    network
        .authority
        .revoke("near", Reason::KeyCompromise, SystemTime::now())
        .expect("revoked");
    std::fs::copy(network.path().join("ca/crl.pem"), network.path().join("ca.crl.pem")).expect("lists");
    let loaded = network.load(&stage.near);
    network.load(&stage.far);
    let refused = initiate(&stage.near, &loaded).expect_err("the peer refuses");
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert!(list_sas(&mut stage.far.client()).is_empty());
}

#[test]
fn pki_of_strongswan_verifies_an_endpoint_s_certificate_and_finds_a_revoked_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let now = SystemTime::now();
    let options = InitOptions::new(Algorithm::EcdsaP384).with_intermediate(Algorithm::Ed25519);
    let mut authority = Authority::init(&directory.path().join("ca"), options, now).expect("an authority");
    for name in ["good", "bad"] {
        let leaf = Leaf::new(name).expect("a name").dns(name).expect("a name");
        let leaf = leaf.profile(Profile::Ipsec).algorithm(Algorithm::EcdsaP256);
        let issued = authority.issue(&leaf, now).expect("a certificate");
        std::fs::write(directory.path().join(name), issued.chain_pem()).expect("a file");
    }
    authority.revoke("bad", Reason::KeyCompromise, now).expect("revoked");
    // The program reads one list from a file.
    let lists = std::fs::read_to_string(directory.path().join("ca/crl.pem")).expect("lists");
    let (first, second) = lists.split_once("-----END X509 CRL-----\n").expect("two lists");
    std::fs::write(
        directory.path().join("1.crl"),
        format!("{first}-----END X509 CRL-----\n"),
    )
    .expect("a file");
    std::fs::write(directory.path().join("2.crl"), second).expect("a file");
    let good = verified(directory.path(), "good").expect("strongSwan trusts it");
    assert!(
        good.contains("certificate trusted, lifetimes valid, certificate not revoked"),
        "{good}"
    );
    let bad = verified(directory.path(), "bad").expect_err("strongSwan does not trust it");
    assert!(
        matches!(&bad, HostError::Failed { tail, .. } if tail.contains("certificate was revoked")),
        "{bad}"
    );
}

/// Output of strongSwan's `pki --verify` for a certificate.
fn verified(directory: &Path, name: &str) -> Result<String, HostError> {
    const IN_ROOT: &str = r#"mount --bind "$2" "$1/mnt" && exec chroot "$1" /usr/bin/pki --verify --in "/mnt/$3" \
        --cacert /mnt/ca/root.crt.pem --cacert /mnt/ca/intermediate.crt.pem --crl /mnt/1.crl --crl /mnt/2.crl"#;
    let root = LabRoot::sid()
        .expect("a cache directory")
        .ensure(&mut |_| {})
        .expect("a lab root");
    let finished = Program::new("unshare")
        .package("util-linux")
        .arguments(["--mount", "--propagation", "private", "sh", "-c", IN_ROOT, "pki"])
        .argument(root.directory())
        .argument(directory)
        .argument(name)
        .run(PATIENCE)?;
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}
