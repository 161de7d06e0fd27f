use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bartizan_pki::{Authority, InitOptions, Leaf, Lifetime, Reason};

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

/// The files of `cu` in a directory, an authority and another one.
struct Place {
    directory: tempfile::TempDir,
    authority: Authority,
    other: Authority,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let begun = SystemTime::now() - DAY * 60;
        let authority = |name: &str| {
            let options = InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::EcdsaP256);
            Authority::init(&directory.path().join(name), options, begun).unwrap()
        };
        let (authority, other) = (authority("ca"), authority("other"));
        let mut place = Self {
            directory,
            authority,
            other,
        };
        place.issue("cu", "cu.test", SystemTime::now(), Algorithm::EcdsaP256);
        place.write("ca.crt.pem", &place.authority.root().to_pem());
        place.publish();
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// A certificate as of `then`, valid for thirty days.
    fn issue(&mut self, name: &str, dns: &str, then: SystemTime, algorithm: Algorithm) {
        let leaf = Leaf::new(name).unwrap().dns(dns).unwrap().algorithm(algorithm);
        let issued = self.authority.issue(&leaf.lifetime(Lifetime::Days(30)), then).unwrap();
        self.write("cu.crt.pem", &issued.chain_pem());
        let key = issued.key_pem().unwrap();
        bartizan_pki::write_secret_file(&self.directory.path().join("cu.key.pem"), key.as_bytes()).unwrap();
    }

    fn publish(&mut self) {
        let lists = self.authority.refresh_lists(7, SystemTime::now()).unwrap();
        self.write("ca.crl.pem", &lists);
    }

    fn deployment(&self, policy: &str, crl: &str) -> Deployment {
        let text = format!(
            "policy: {policy}\ntrust: {{ roots: ca.crt.pem{crl} }}\nnodes:\n  \
             cu: {{ function: O-CU-CP, address: 10.0.0.1, names: {{ dns: [cu.test] }}, \
             ipsec: {{ certificate: cu.crt.pem, key: cu.key.pem }} }}\n  \
             ric: {{ function: near-RT RIC, address: 10.0.0.2 }}\ninterfaces:\n  \
             - {{ kind: E2, between: [cu, ric], with: ipsec }}\n"
        );
        Deployment::parse(&text, "e2.yaml", self.directory.path()).unwrap()
    }

    /// Flaws under this policy, with `crl` naming the list.
    fn flaws_with(&self, policy: &str, crl: &str) -> Vec<Flaw> {
        let deployment = self.deployment(policy, crl);
        let node = deployment.node("cu").unwrap();
        let files = node.ipsec.as_ref().unwrap();
        let credentials = Credentials::read(files).unwrap();
        credentials.flaws(files, &deployment, node, SystemTime::now())
    }

    fn flaws(&self) -> Vec<Flaw> {
        self.flaws_with("hybrid", ", crl: ca.crl.pem")
    }
}

/// The one flaw there is: its file, what follows from it, and what is wrong.
fn one(flaws: &[Flaw]) -> (&str, Weight, &str) {
    let [flaw] = flaws else { panic!("{flaws:#?}") };
    let file = flaw.file.file_name().and_then(|name| name.to_str()).unwrap();
    (file, flaw.weight, &flaw.cause)
}

#[test]
fn files_in_order_have_no_flaw() {
    assert_eq!(Place::new().flaws(), []);
}

#[test]
fn a_folder_of_keys_that_every_user_may_write_in_is_warned_of() {
    let place = Place::new();
    let folder = place.directory.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let flaws = place.flaws();
    let [flaw] = &flaws[..] else { panic!("{flaws:#?}") };
    assert_eq!((flaw.file.as_path(), flaw.weight), (folder, Weight::Warning));
    assert!(flaw.cause.contains("0777"), "{}", flaw.cause);
}

#[test]
fn another_nodes_certificate_and_another_key_let_nothing_be_loaded() {
    let mut place = Place::new();
    let key = fs::read_to_string(place.directory.path().join("cu.key.pem")).unwrap();
    place.issue("cu-2", "cu.test", SystemTime::now(), Algorithm::EcdsaP256);
    place.write("cu.key.pem", &key);
    let flaws = place.flaws();
    let (file, weight, cause) = one(&flaws);
    assert_eq!((file, weight), ("cu.key.pem", Weight::Fatal));
    assert!(cause.starts_with("is not the key of "), "{cause}");

    place.issue("ric", "ric.test", SystemTime::now(), Algorithm::EcdsaP256);
    let flaws = place.flaws();
    assert_eq!(
        one(&flaws),
        (
            "cu.crt.pem",
            Weight::Fatal,
            "carries DNS:ric.test, and peers know cu as cu.test: it is another node's"
        )
    );
}

#[test]
fn dates_are_reported_before_they_pass_and_after() {
    let mut place = Place::new();
    let now = SystemTime::now();
    for (then, words) in [(now - DAY * 50, "ended with "), (now - DAY * 20, "ends with ")] {
        place.issue("cu", "cu.test", then, Algorithm::EcdsaP256);
        let flaws = place.flaws();
        let (file, weight, cause) = one(&flaws);
        assert_eq!((file, weight), ("cu.crt.pem", Weight::Warning));
        assert!(cause.starts_with(words), "{cause}");
    }
    place.issue("cu", "cu.test", now + DAY * 2, Algorithm::EcdsaP256);
    let flaws = place.flaws();
    assert!(one(&flaws).2.starts_with("begins with "), "{flaws:?}");
}

#[test]
fn roots_outside_their_dates_point_to_the_clock_first() {
    let place = Place::new();
    let deployment = place.deployment("hybrid", ", crl: ca.crl.pem");
    let node = deployment.node("cu").unwrap();
    let files = node.ipsec.as_ref().unwrap();
    let credentials = Credentials::read(files).unwrap();
    let at = |now: SystemTime| {
        let flaws = credentials.flaws(files, &deployment, node, now);
        let of_roots = flaws.into_iter().find(|flaw| flaw.file.ends_with("ca.crt.pem"));
        of_roots.map(|flaw| (flaw.cause, flaw.hint))
    };
    assert_eq!(at(SystemTime::now()), None);
    let (cause, hint) = at(SystemTime::now() - DAY * 365).unwrap();
    assert!(cause.starts_with("no root is valid yet"), "{cause}");
    assert!(hint.starts_with("correct the clock"), "{hint}");
    let (cause, hint) = at(SystemTime::now() + DAY * 20 * 365).unwrap();
    assert!(cause.starts_with("every root has ended"), "{cause}");
    assert!(hint.starts_with("check the clock"), "{hint}");
}

#[test]
fn a_leaf_among_the_roots_is_given_to_no_daemon_and_reported() {
    let place = Place::new();
    let chain = fs::read_to_string(place.directory.path().join("cu.crt.pem")).unwrap();
    place.write("ca.crt.pem", &(place.authority.root().to_pem() + &chain));
    let flaws = place.flaws();
    let (file, weight, cause) = one(&flaws);
    assert_eq!((file, weight), ("ca.crt.pem", Weight::Warning));
    assert_eq!(
        cause,
        "O=Bartizan, CN=cu is no authority's certificate: it is not trusted as one"
    );
    let deployment = place.deployment("hybrid", "");
    let files = deployment.node("cu").unwrap().ipsec.as_ref().unwrap();
    assert_eq!(
        Credentials::read(files).unwrap().roots.len(),
        2,
        "root and intermediate"
    );

    let end = "-----END CERTIFICATE-----\n";
    place.write("ca.crt.pem", &chain[..chain.find(end).unwrap() + end.len()]);
    let error = Credentials::read(files).unwrap_err().to_string();
    assert!(
        error.ends_with("holds no certificate of an authority, only O=Bartizan, CN=cu"),
        "{error}"
    );
}

#[test]
fn a_root_of_this_node_that_has_ended_next_to_another_that_has_not_is_reported() {
    let place = Place::new();
    let later = SystemTime::now() + DAY * 5 * 365;
    let options = InitOptions::new(Algorithm::EcdsaP256);
    let later = Authority::init(&place.directory.path().join("later"), options, later).unwrap();
    place.write(
        "ca.crt.pem",
        &(place.authority.root().to_pem() + &later.root().to_pem()),
    );
    let deployment = place.deployment("hybrid", "");
    let node = deployment.node("cu").unwrap();
    let files = node.ipsec.as_ref().unwrap();
    let flaws = Credentials::read(files)
        .unwrap()
        .flaws(files, &deployment, node, SystemTime::now() + DAY * 12 * 365);
    let of_roots = flaws.iter().filter(|flaw| flaw.file.ends_with("ca.crt.pem"));
    let causes: Vec<_> = of_roots.map(|flaw| flaw.cause.as_str()).collect();
    let [cause] = causes[..] else { panic!("{flaws:#?}") };
    assert!(
        cause.ends_with("leads to is outside its dates: peers refuse this node"),
        "{cause}"
    );
}

#[test]
fn roots_of_another_authority_and_a_chain_without_its_intermediate_are_reported() {
    let place = Place::new();
    let chain = fs::read_to_string(place.directory.path().join("cu.crt.pem")).unwrap();
    let end = "-----END CERTIFICATE-----\n";
    let leaf = chain.find(end).unwrap() + end.len();
    place.write("cu.crt.pem", &chain[..leaf]);
    let flaws = place.flaws();
    let roots = |flaws: &[Flaw]| {
        let mut causes = flaws.iter().filter(|flaw| flaw.file.ends_with("ca.crt.pem"));
        causes.any(|flaw| flaw.cause.starts_with("holds no root that the chain of "))
    };
    assert!(roots(&flaws), "{flaws:?}");
    // Its intermediate among the roots is an anchor too.
    let both = place.authority.root().to_pem() + &place.authority.intermediate().unwrap().to_pem();
    place.write("ca.crt.pem", &both);
    assert_eq!(place.flaws(), []);

    place.write("cu.crt.pem", &chain);
    place.write("ca.crt.pem", &place.other.root().to_pem());
    assert!(roots(&place.flaws()));
}

#[test]
fn lists_of_nobody_too_old_or_with_this_certificate_on_them_are_reported() {
    let mut place = Place::new();
    let lists = place.other.refresh_lists(7, SystemTime::now()).unwrap();
    place.write("ca.crl.pem", &lists);
    let flaws = place.flaws();
    assert_eq!(flaws.len(), 2, "of its root and of its intermediate: {flaws:?}");
    assert!(
        flaws[0].cause.contains("is of no authority that is trusted here"),
        "{flaws:?}"
    );

    let old = place.authority.refresh_lists(7, SystemTime::now() - DAY * 30).unwrap();
    place.write("ca.crl.pem", &old);
    let flaws = place.flaws();
    assert!(flaws[0].cause.starts_with("was due to be replaced by "), "{flaws:?}");

    place
        .authority
        .revoke("cu", Reason::KeyCompromise, SystemTime::now())
        .unwrap();
    place.publish();
    let flaws = place.flaws();
    let (file, weight, cause) = one(&flaws);
    assert_eq!((file, weight), ("ca.crl.pem", Weight::Warning));
    assert!(
        cause.starts_with("has revoked ") && cause.ends_with("peers refuse this node"),
        "{cause}"
    );
}

#[test]
fn what_a_policy_asks_of_signatures_and_lists_is_reported() {
    let mut place = Place::new();
    let ed25519 = "{ profile: hybrid, ipsec: { signatures: [ed25519] } }";
    let flaws = place.flaws_with(ed25519, ", crl: ca.crl.pem");
    assert_eq!(
        one(&flaws),
        (
            "cu.crt.pem",
            Weight::Warning,
            "signs by ecdsa-p256; E2 cu -- ric accepts ed25519"
        )
    );
    place.issue("cu", "cu.test", SystemTime::now(), Algorithm::Ed25519);
    assert_eq!(place.flaws_with(ed25519, ", crl: ca.crl.pem"), []);

    assert_eq!(place.flaws_with("hybrid", ""), []);
    let flaws = place.flaws_with("{ profile: hybrid, revocation: require }", "");
    assert!(
        one(&flaws)
            .2
            .starts_with("no revocation list is named, and E2 cu -- ric requires one"),
        "{flaws:?}"
    );
}
