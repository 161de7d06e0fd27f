//! The daemon without a network: what it takes by VICI, what it refuses, and what it keeps within its bounds.

mod children;
mod deleted;
mod moved;
mod reauthentication;
mod unauthenticated;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bartizan_deployment::{Deployment, IkeEngine, day_of};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Profile};
use tempfile::TempDir;

use super::*;
use bartizan_ipsec::render::{Credentials, Means, connections};
use bartizan_ipsec::vici::{Client, Error as Vici, Message, Section, Value};

const PATIENCE: Duration = Duration::from_secs(60);

/// Credentials and the connection of an E2 link, as `up` renders them for a node whose engine this is.
struct Rendered {
    directory: TempDir,
    credentials: Vec<(&'static str, Message)>,
    connection: Message,
    /// The same of the peer.
    peer: (Vec<(&'static str, Message)>, Message),
}

fn rendered() -> Rendered {
    let directory = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let options = InitOptions::new(Algorithm::MlDsa65).with_intermediate(Algorithm::MlDsa65);
    let mut authority = Authority::init(&directory.path().join("ca"), options, now).unwrap();
    for name in ["cu", "ric"] {
        let leaf = Leaf::new(name).unwrap().dns(name).unwrap();
        let issued = authority
            .issue(&leaf.profile(Profile::Ipsec).algorithm(Algorithm::MlDsa65), now)
            .unwrap();
        let key = directory.path().join(format!("{name}.key.pem"));
        for (file, text) in [
            (directory.path().join(format!("{name}.crt.pem")), issued.chain_pem()),
            (key.clone(), issued.key_pem().unwrap().to_string()),
            (directory.path().join("ca.crt.pem"), issued.root_pem()),
        ] {
            std::fs::write(file, text).unwrap();
        }
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let text = "policy: { profile: hybrid, ipsec: { authentication: post-quantum } }\ntrust: { roots: ca.crt.pem }\nnodes:\n  \
                cu: { function: O-CU-CP, address: 10.200.0.1, ipsec: { engine: bartizan, certificate: cu.crt.pem, key: cu.key.pem } }\n  \
                ric: { function: near-RT RIC, address: 10.200.0.2, ipsec: { engine: bartizan, certificate: ric.crt.pem, key: ric.key.pem } }\ninterfaces:\n  - { kind: E2, between: [cu, ric], with: ipsec }\n";
    let deployment = Deployment::parse(text, "e2.yaml", directory.path()).unwrap();
    let of = |node: &str| {
        let files = deployment.node(node).unwrap().ipsec.clone().unwrap();
        let credentials = Credentials::read(&files).unwrap();
        let means = Means::of(IkeEngine::Bartizan);
        let all = connections(&deployment, node, &credentials, means, day_of(now)).unwrap();
        (credentials.load(), all[0].load())
    };
    let (credentials, connection) = of("cu");
    Rendered {
        credentials,
        connection,
        peer: of("ric"),
        directory,
    }
}

impl Rendered {
    /// A daemon that has the connection, and accepts IKE_SAs of it, without its sockets.
    fn daemon(&self) -> Daemon {
        let mut daemon = Daemon::start(self.options()).unwrap();
        let connection = self.connection_of(self.section());
        let between = (connection.ends.local.ip(), connection.ends.remote.ip());
        daemon.endpoint.accept(between, connection.config.clone(), &mut random);
        daemon.connections.push(connection);
        daemon
    }

    fn connection_of(&self, section: &Section) -> Connection {
        let connection = Connection::read("cu--ric", section, &self.store(), &self.options());
        connection.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The connection at the peer.
    fn peer(&self) -> Connection {
        let (credentials, connection) = &self.peer;
        let section = connection.sections().next().unwrap().1;
        let connection = Connection::read("ric--cu", section, &Self::stored(credentials), &self.options());
        connection.unwrap_or_else(|error| panic!("{error}"))
    }

    fn options(&self) -> Options {
        Options {
            directory: self.directory.path().to_owned(),
            peers: 1,
            fragment_size: 1280,
            userspace: None,
        }
    }

    fn store(&self) -> Store {
        Self::stored(&self.credentials)
    }

    fn stored(credentials: &[(&'static str, Message)]) -> Store {
        let mut store = Store::default();
        for (command, message) in credentials {
            let taken = match *command {
                "load-cert" => store.certificate(message),
                _ => store.key(message),
            };
            taken.unwrap();
        }
        store
    }

    fn section(&self) -> &Section {
        self.connection.sections().next().unwrap().1
    }
}

/// The same section with another value, where there is one in it or in one of its sections.
fn changed(section: &Section, name: &str, value: &Value) -> Section {
    let mut other = Section::new();
    for (known, old) in section.entries() {
        other.push(
            known,
            match old {
                _ if known == name => value.clone(),
                Value::Section(inner) => Value::Section(changed(inner, name, value)),
                old => old.clone(),
            },
        );
    }
    other
}

fn text(value: &str) -> Value {
    Value::Data(zeroize::Zeroizing::new(value.as_bytes().to_vec()))
}

fn list(values: &[&str]) -> Value {
    Value::List(values.iter().map(|value| value.as_bytes().to_vec()).collect())
}

#[test]
fn a_connection_is_read_as_it_was_rendered_with_the_whole_chain_and_refused_where_it_asks_for_more_than_there_is() {
    let rendered = rendered();
    let (section, store) = (rendered.section(), rendered.store());
    let read = |section: &Section, store: &Store| Connection::read("cu--ric", section, store, &rendered.options());
    let connection = read(section, &store).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(connection.config.certificates.len(), 2, "its own and the intermediate");
    assert_eq!(connection.identities, ["cu", "ric"]);
    assert_eq!(connection.config.longest, 1280 - 20 - 8, "over IPv4");
    let [child] = &connection.children[..] else {
        panic!("one CHILD_SA is rendered");
    };
    assert_eq!(child.again, [true, true]);
    assert!(child.is_covered([&child.local, &child.remote]));
    assert!(!child.is_covered([&[], &[]]));
    for (name, value, complaint) in [
        ("remote_addrs", list(&["0.0.0.0/0"]), "follows no peer behind a NAT"),
        ("copy_dscp", text("in"), "DSCP"),
        (
            "proposals",
            list(&["aes256gcm16-prfsha384-modp3072"]),
            "has no modp3072",
        ),
        ("esp_proposals", list(&["aes256ctr-x25519"]), "has no aes256ctr"),
        (
            "signatures",
            list(&["rsa_pss_rsae_sha256"]),
            "no signatures of rsa_pss_rsae_sha256",
        ),
        ("signatures", list(&[]), "no signatures are named"),
        (
            "chain_signatures",
            list(&["rsa_pss_rsae_sha256"]),
            "no signatures of rsa_pss_rsae_sha256",
        ),
        ("local_ts", list(&["dynamic"]), "no selector dynamic"),
        ("children", Value::Section(Section::new()), "1 to 64 CHILD_SAs, not 0"),
        ("mode", text("beet"), "no mode beet"),
    ] {
        let error = read(&changed(section, name, &value), &store).err();
        let error = error.unwrap_or_else(|| panic!("{name} is taken"));
        assert!(error.contains(complaint), "{name}: {error}");
    }
    let error = read(section, &Store::default()).err().expect("there is no key");
    assert!(error.contains("no private key"), "{error}");

    // A pre-shared key has to be there before the connection that names it.
    let mut store = store;
    let mut with_ppk = section.clone();
    with_ppk.set("ppk_id", "e2-2026");
    with_ppk.set("ppk_required", "yes");
    let error = read(&with_ppk, &store).err().expect("there is no such key");
    assert!(error.contains("no pre-shared key e2-2026 was loaded"), "{error}");
    let shared = |kind: &str| Section::new().with("type", kind).with("data", [7; 32]);
    for (message, complaint) in [(shared("IKE"), "type ppk"), (shared("PPK"), "no owners")] {
        let error = store.shared(&message).expect_err(complaint);
        assert!(error.contains(complaint), "{error}");
    }
    for secret in [[7; 32], [8; 32]] {
        let message = Section::new().with("type", "PPK").with("data", secret);
        store.shared(&message.with_list("owners", ["e2-2026"])).expect("a key");
    }
    // A node may have one for each of its links, and they are all loaded before the first connection.
    for link in 0..200 {
        let message = Section::new().with("type", "PPK").with("data", [9; 32]);
        let message = message.with_list("owners", [format!("link-{link}").as_str()]);
        store.shared(&message).expect("a key");
    }
    let connection = read(&with_ppk, &store).expect("a connection");
    let ppk = connection.config.ppk.as_ref().expect("a key");
    // The newer one of the name.
    assert_eq!((&ppk.identity[..], &ppk.secret[..]), (&b"e2-2026"[..], &[8; 32][..]));
    assert!(ppk.required);
}

#[test]
fn commands_are_answered_and_what_is_no_vici_ends_its_own_connection_alone() {
    let rendered = rendered();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let daemon = scope.spawn(|| run(rendered.options(), &|| ended.load(Ordering::Relaxed)));
        let socket = rendered.directory.path().join("charon.vici");
        let begun = clock::now();
        let mut client = loop {
            match Client::connect(&socket, PATIENCE) {
                Ok(client) => break client,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        };
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for (command, message) in &rendered.credentials {
            client.command(command, message.clone()).unwrap();
        }
        // No address of this host: it is refused with the reason, and not loaded.
        let refused = client.command("load-conn", rendered.connection.clone()).unwrap_err();
        assert!(
            matches!(&refused, Vici::Refused { reason, .. } if reason.contains("500 and 4500 of 10.200.0.1 cannot be used")),
            "{refused}"
        );
        assert_eq!(client.streamed("list-conns", "list-conn", Section::new()).unwrap(), []);
        assert_eq!(client.streamed("list-sas", "list-sa", Section::new()).unwrap(), []);
        let version = client.request("version", Section::new()).unwrap();
        assert_eq!(version.text("daemon"), Some("bartizan"));
        for (command, message) in [
            ("load-key", Section::new().with("type", "any").with("data", "no key")),
            (
                "load-cert",
                Section::new().with("type", "X509").with("data", "no certificate"),
            ),
            (
                "load-cert",
                Section::new().with("type", "X509_CRL").with("data", "no list"),
            ),
            ("unload-conn", Section::new().with("name", "nobody")),
            ("initiate", Section::new().with("child", "nobody").with("timeout", "1")),
            ("terminate", Section::new().with("ike-id", "1")),
            ("rekey", Section::new().with("child-id", "1")),
        ] {
            let refused = client.command(command, message).unwrap_err();
            assert!(matches!(refused, Vici::Refused { .. }), "{command}: {refused}");
        }
        let unknown = client.request("install", Section::new()).unwrap_err();
        assert!(matches!(unknown, Vici::Unknown { .. }), "{unknown}");
        assert!(matches!(client.register("nothing").unwrap_err(), Vici::Unknown { .. }));

        let mut wrong = UnixStream::connect(&socket).unwrap();
        wrong.write_all(&[0xff; 64]).unwrap();
        assert_eq!(wrong.read(&mut [0; 8]).unwrap_or(0), 0, "it is closed");
        client.request("stats", Section::new()).unwrap();
        // More clients than there may be: the surplus is closed, and those that are there go on.
        let mut all: Vec<_> = (0..80).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        client.request("stats", Section::new()).unwrap();
        let last = all.last_mut().expect("there are some");
        last.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(last.read(&mut [0; 8]).unwrap_or(0), 0, "it is closed");
        ended.store(true, Ordering::Relaxed);
        daemon.join().expect("no panic").unwrap();
    });
    // The log has no key in it.
    let log = std::fs::read(rendered.directory.path().join("charon.log")).unwrap();
    assert!(!log.windows(11).any(|window| window == b"PRIVATE KEY"));
}

/// Lists of an authority, and the certificate of `ric` that is on the last of them.
fn lists() -> (Vec<u8>, [Vec<u8>; 2], Vec<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let options = InitOptions::new(Algorithm::MlDsa65);
    let mut authority = Authority::init(&directory.path().join("ca"), options, now).unwrap();
    let leaf = Leaf::new("ric").unwrap().dns("ric").unwrap();
    let issued = authority.issue(&leaf.profile(Profile::Ipsec).algorithm(Algorithm::MlDsa65), now);
    let ders = |text: &str| pem::parse_many(text).unwrap().into_iter().map(pem::Pem::into_contents);
    let ric = ders(&issued.unwrap().chain_pem()).collect();
    let before = ders(&authority.crl().unwrap()).next().unwrap();
    authority
        .revoke("ric", bartizan_pki::Reason::KeyCompromise, now)
        .unwrap();
    let after = ders(&authority.crl().unwrap()).next().unwrap();
    (authority.root().der().to_vec(), [before, after], ric)
}

fn loaded(kind: &str, der: &[u8]) -> Message {
    Section::new().with("type", kind).with("data", der)
}

#[test]
fn a_list_that_cannot_be_used_or_is_older_is_refused_and_not_left_out() {
    let (root, [before, after], _) = lists();
    let mut store = Store::default();
    store.certificate(&loaded("X509", &root)).unwrap();
    let error = store.certificate(&loaded("X509_CRL", &before[..40])).unwrap_err();
    assert!(
        error.starts_with("the list of revoked certificates cannot be used: "),
        "{error}"
    );
    for list in [&before, &after, &after] {
        store.certificate(&loaded("X509_CRL", list)).unwrap();
    }
    let error = store.certificate(&loaded("X509_CRL", &before)).unwrap_err();
    assert!(
        error.contains("(number 1 of ") && error.contains("(number 2 of "),
        "{error}"
    );
    assert_eq!(store.lists().len(), 1);
}

#[test]
fn an_ike_sa_whose_peer_a_newly_loaded_list_has_revoked_ends_at_once_and_others_stay() {
    let (root, [before, after], ric) = lists();
    let rendered = rendered();
    let mut daemon = Daemon::start(rendered.options()).unwrap();
    daemon.store = rendered.store();
    let roots = Value::List(vec![root]);
    let section = changed(rendered.section(), "cacerts", &roots);
    let load = |daemon: &mut Daemon, list: &[u8]| {
        daemon.store.certificate(&loaded("X509_CRL", list)).unwrap();
        let read = Connection::read("cu--ric", &section, &daemon.store, &rendered.options());
        daemon.connections = vec![read.unwrap_or_else(|error| panic!("{error}"))];
        daemon.judge_again("cu--ric");
        daemon.sas.len()
    };
    load(&mut daemon, &before);
    let ids = [0, 1].map(|_| daemon.begin("cu--ric", None, None).unwrap());
    for sa in daemon.sas.values_mut() {
        sa.established = Some(clock::now());
    }
    daemon.sas.get_mut(&ids[0]).unwrap().proven = ric.into();
    assert_eq!(load(&mut daemon, &before), 2, "none is revoked");
    // The other has not said yet who it is.
    assert_eq!(load(&mut daemon, &after), 1);
    assert!(!daemon.sas.contains_key(&ids[0]) && daemon.endpoint.sa(ids[0]).is_none());
    let log = std::fs::read_to_string(rendered.directory.path().join("charon.log")).unwrap();
    assert!(log.contains("certificate was revoked"), "{log}");
}

#[test]
fn a_peer_has_a_bounded_number_of_ike_sas_and_the_oldest_go() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    let begun: Vec<SaId> = (0..30).map(|_| daemon.begin("cu--ric", None, None).unwrap()).collect();
    assert_eq!(daemon.endpoint.count().0, 30);
    daemon.bound("cu--ric", begun[29]);
    daemon.settle();
    let left: Vec<SaId> = daemon.sas.keys().copied().collect();
    assert_eq!(left, begun[22..]);
    assert_eq!(daemon.endpoint.count().0, 8);
    // SAs of another connection stay.
    daemon.bound("other", begun[29]);
    assert_eq!(daemon.sas.len(), 8);
}

#[test]
fn a_connection_has_a_child_sa_for_each_kind_of_packets_and_none_for_those_of_another_connection() {
    let rendered = rendered();
    let (store, section) = (rendered.store(), rendered.section());
    let (name, child) = section.section("children").unwrap().sections().next().unwrap();
    let other = changed(
        &changed(child, "local_ts", &list(&["10.200.0.1/32[17/2152]"])),
        "reqid",
        &text("77"),
    );
    let both = Section::new()
        .with_section(name, child.clone())
        .with_section("N3", other);
    let several = changed(section, "children", &Value::Section(both));
    let connection =
        Connection::read("cu--ric", &several, &store, &rendered.options()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        [name, "N3", "N2"].map(|child| connection.place(child)),
        [Some(0), Some(1), None]
    );
    assert_eq!(connection.config.more.len(), 1);
    assert_eq!(connection.children[1].path.reqid, 77);

    let mut daemon = Daemon::start(rendered.options()).unwrap();
    daemon.store = store;
    let gone = &connection.children[0];
    assert_eq!(daemon.unneeded(gone).len(), gone.pairs().count());
    let held = Connection::read("held", section, &daemon.store, &rendered.options());
    daemon.connections.push(held.unwrap_or_else(|error| panic!("{error}")));
    // Traffic of both stays when one of them goes; traffic of that one alone does not.
    assert!(daemon.unneeded(gone).is_empty());
    assert_eq!(daemon.unneeded(&connection.children[1]).len(), 1);
    // Under another name, and from another address, it is refused: the kernel would have one policy for both.
    let elsewhere = changed(section, "local_addrs", &list(&["10.200.0.9"]));
    let refused = daemon
        .load(&Section::new().with_section("cu--ric", elsewhere))
        .unwrap_err();
    assert!(
        refused.contains("held is between") && refused.contains("the same packets"),
        "{refused}"
    );
}

#[test]
fn what_a_peer_deletes_again_and_again_is_begun_again_a_few_times_and_then_slowly() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    let begun = clock::now();
    let at = |seconds| begun + Duration::from_secs(seconds);
    let may = (0..50).filter(|_| daemon.may_begin_again("cu--ric", begun)).count();
    assert_eq!(may, 4);
    daemon.begin_overdue(at(1));
    assert!(daemon.sas.is_empty());
    daemon.begin_overdue(at(6));
    assert_eq!(daemon.sas.len(), 1);
    // It is under way.
    assert!(!daemon.may_begin_again("cu--ric", at(6)));
    daemon.begin_overdue(at(60));
    assert_eq!(daemon.sas.len(), 1);
}

#[test]
fn what_others_send_by_the_spis_of_an_ike_sa_fills_no_log() {
    let rendered = rendered();
    let mut daemon = rendered.daemon();
    let id = daemon.begin("cu--ric", None, None).unwrap();
    daemon.settle();
    let length = || {
        std::fs::metadata(rendered.directory.path().join("charon.log"))
            .unwrap()
            .len()
    };
    let before = length();
    assert!(before > 0);
    let sa = &daemon.sas[&id];
    let (ends, spi) = (sa.ends, sa.spis.0);
    // A response to IKE_SA_INIT with no payload in it, and one that is cut off (RFC 7296, section 3.1).
    let mut message = [
        &spi.to_be_bytes()[..],
        &[7; 8],
        &[0, 0x20, 34, 0x20],
        &[0; 4],
        &28_u32.to_be_bytes(),
    ]
    .concat();
    for length in [28, 29] {
        message.resize(length, 0);
        for _ in 0..100 {
            assert_eq!(daemon.of_datagram(&message), Some(id));
            daemon.received(ends, &message);
            daemon.settle();
        }
    }
    assert_eq!(length(), before);
    assert!(daemon.sas.contains_key(&id));
}
