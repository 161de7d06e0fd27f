//! `bartizan inspect --ike-keys` on what two strongSwans sent. Their keys stand in charon's log at
//! its highest level, which only a wrapper of this test asks for; tshark is given the same.

#[allow(dead_code, reason = "each test program uses its own part")]
mod cyclonedx;
#[allow(dead_code, reason = "each test program uses its own part")]
#[path = "../../crates/protect/ipsec/tests/stage/mod.rs"]
mod stage;

mod as_root {
    use std::net::UdpSocket;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Output};

    use bartizan_host::LabRoot;
    use bartizan_ipsec::Engine;
    use bartizan_ipsec::vici::{Client, Section};
    use bartizan_testing::Build as _;
    use bartizan_testing::Tshark;
    use bartizan_testing::{Capture, Direction};
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use crate::cyclonedx;
    use crate::stage::{HYBRID, Stage, eventually};

    /// Asks charon for all it can log of IKE, and runs the lab root's with its directory at its own
    /// place. The mounts go with it.
    const WRAPPER: &str = r#"#!/bin/sh
set -e
directory=$(dirname "$STRONGSWAN_CONF")
sed -i 's/default = 1$/default = 1\n    ike = 4/' "$STRONGSWAN_CONF"
exec unshare --mount --propagation private sh -c '
set -e
mount --rbind /dev "$1/dev"
mount --rbind /proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs -o mode=755 tmpfs "$1/tmp"
mkdir -p "$1$2"
mount --bind "$2" "$1$2"
exec chroot "$1" /usr/sbin/charon-systemd' sh ROOT "$directory"
"#;

    /// A set-up and rekeys, captured, and the keys of it.
    struct Recorded {
        folder: TempDir,
    }

    impl Recorded {
        /// Sets up with AES-256-GCM and this key exchange, then makes both rekeys.
        fn of(ike: &str, esp: &str) -> Self {
            Self::with("AES-GCM-256 with 16 octet ICV [RFC5282]", "NONE [RFC4306]", ike, esp)
        }

        /// The same with a whole proposal, whose cipher and integrity algorithm Wireshark calls so.
        fn with(cipher: &str, integrity: &str, ike: &str, esp: &str) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let root = LabRoot::sid()
                .expect("a cache directory")
                .ensure(&mut |_| {})
                .expect("a lab root");
            let wrapper = folder.path().join("charon");
            let text = WRAPPER.replace("ROOT", &root.directory().display().to_string());
            std::fs::write(&wrapper, text).expect("a file");
            std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("a program");
            let stage = Stage::set_up_with(Engine::Installed(wrapper));
            stage.load(ike, esp);
            let capture = folder.path().join("e2.pcap");
            let capture = Capture::start(Some(&stage.near.space), "v0", &capture, Direction::Both).expect("a capture");
            let mut client = stage.near.client();
            client
                .command("initiate", Section::new().with("child", "e2"))
                .expect("up");
            let first = ike_spis(&mut client);
            assert_eq!(first.len(), 1);
            let child = child_spi(&mut client);
            client
                .command("rekey", Section::new().with("child", "e2"))
                .expect("rekeyed");
            eventually("another CHILD_SA", || {
                (child_spi(&mut client)? != *child.as_ref()?).then_some(())
            });
            say_something(&stage);
            eventually("a packet in the tunnel", || {
                let sas = list(&mut client);
                let mut children = sas.first()?.section("child-sas")?.sections();
                let sent = |child: &Section| child.number("packets-out").is_some_and(|out| out > 0);
                children.any(|(_, child)| sent(child)).then_some(())
            });
            client
                .command("rekey", Section::new().with("ike", "e2"))
                .expect("rekeyed");
            let second = eventually("another IKE_SA", || {
                let spis = ike_spis(&mut client);
                (spis.len() == 1 && spis != first).then_some(spis)
            });
            client
                .command("terminate", Section::new().with("ike", "e2"))
                .expect("down");
            let captured = capture.stop().expect("a capture");
            assert!(captured.complete());
            let log = std::fs::read_to_string(stage.near.charon.as_ref().expect("it runs").log()).expect("a log");
            let keys = keys(&log);
            // The last is that of the rekeyed IKE_SA; those before it follow each other in the first.
            let (last, before) = keys.split_last().expect("keys");
            assert_eq!(before.len(), 1 + usize::from(ike.contains("-ke1")), "sets of keys");
            let line = |[initiator, responder]: &[String; 2], [ei, er, ai, ar]: &[String; 4]| {
                format!("{initiator},{responder},{ei},{er},\"{cipher}\",{ai},{ar},\"{integrity}\"\n")
            };
            let lines = before.iter().map(|keys| line(&first[0], keys));
            let table: String = lines.chain([line(&second[0], last)]).collect();
            std::fs::write(folder.path().join("ike.keys"), table).expect("a file");
            // Wireshark has one line for each IKE_SA: that of its IKE_AUTH.
            let newest = before.last().expect("keys");
            std::fs::write(folder.path().join("tshark.keys"), line(&first[0], newest)).expect("a file");
            Self { folder }
        }

        fn inspect(&self, arguments: &[&str]) -> Output {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
            let command = command
                .env("COLUMNS", "400")
                .arg("inspect")
                .args(arguments)
                .current_dir(self.folder.path());
            command.output().expect("bartizan runs")
        }

        fn json(&self, arguments: &[&str]) -> Value {
            let output = self.inspect(&[&["--json", "e2.pcap"], arguments].concat());
            serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
        }

        /// The values of a field in what tshark opens with the same table.
        fn tshark(&self, filter: &str, field: &str) -> Vec<String> {
            let home = self.folder.path().join("home");
            let place = home.join(".config/wireshark");
            std::fs::create_dir_all(&place).expect("a folder");
            let table = self.folder.path().join("tshark.keys");
            std::fs::copy(table, place.join("ikev2_decryption_table")).expect("a file");
            let capture = self.folder.path().join("e2.pcap");
            Tshark::new().home(&home).values(&capture, filter, field)
        }
    }

    /// Sends a datagram between the two inner addresses.
    fn say_something(stage: &Stage) {
        let (from, to) = (stage.near.inner(), stage.far.inner());
        let send = || UdpSocket::bind((from, 0))?.send_to(b"something", (to, 9));
        stage.near.space.enter(send).expect("a namespace").expect("it was sent");
    }

    fn list(client: &mut Client) -> Vec<Section> {
        let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("a list");
        rows.iter()
            .flat_map(|row| row.sections().map(|(_, sa)| sa.clone()))
            .collect()
    }

    fn ike_spis(client: &mut Client) -> Vec<[String; 2]> {
        let spis = |sa: &Section| {
            Some([
                sa.text("initiator-spi")?.to_owned(),
                sa.text("responder-spi")?.to_owned(),
            ])
        };
        list(client).iter().filter_map(spis).collect()
    }

    /// The SPI by which the newest CHILD_SA is received.
    fn child_spi(client: &mut Client) -> Option<String> {
        let sas = list(client);
        let mut children = sas.first()?.section("child-sas")?.sections();
        let installed = children.find(|(_, child)| child.text("state") == Some("INSTALLED"))?;
        Some(installed.1.text("spi-in")?.to_owned())
    }

    /// SK_ei, SK_er, SK_ai and SK_ar in the order they were made, from a log of level 4; the latter
    /// two empty with an AEAD.
    fn keys(log: &str) -> Vec<[String; 4]> {
        const NAMES: [&str; 4] = ["Sk_ei secret", "Sk_er secret", "Sk_ai secret", "Sk_ar secret"];
        let mut lines = log.lines().peekable();
        let mut found: [Vec<String>; 4] = Default::default();
        while let Some(line) = lines.next() {
            let Some(of) = NAMES.iter().position(|name| line.contains(name)) else {
                continue;
            };
            let mut hex = String::new();
            while let Some(dump) = lines.next_if(|line| is_dump(line)) {
                let (_, bytes) = after_offset(dump).expect("a line of a dump");
                let bytes = bytes.split(' ').take(16).take_while(|byte| byte.len() == 2);
                bytes.for_each(|byte| hex.push_str(&byte.to_ascii_lowercase()));
            }
            found[of].push(hex);
        }
        let of = |kind: usize, place: usize| found[kind].get(place).cloned().unwrap_or_default();
        (0..found[0].len())
            .map(|place| [0, 1, 2, 3].map(|kind| of(kind, place)))
            .collect()
    }

    fn is_dump(line: &str) -> bool {
        after_offset(line).is_some()
    }

    /// `   16: 8A 5C ...` behind time and thread.
    fn after_offset(line: &str) -> Option<(usize, &str)> {
        let (before, bytes) = line.split_once(": ")?;
        let offset = before.rsplit(' ').next()?.parse().ok()?;
        Some((offset, bytes))
    }

    fn of_kind<'a>(document: &'a Value, member: &str) -> Vec<&'a Value> {
        let connections = document["files"][0]["connections"].as_array().unwrap();
        connections
            .iter()
            .filter(|connection| !connection[member].is_null())
            .collect()
    }

    #[test]
    fn proofs_and_rekeys_of_a_hybrid_link_are_what_charon_did_and_tshark_sees() {
        let recorded = Recorded::of(HYBRID, HYBRID);
        let document = recorded.json(&["--ike-keys", "ike.keys"]);
        let sas = of_kind(&document, "ike");
        assert_eq!(sas.len(), 2, "the first and the one that its rekey made");
        let opened = &sas[0]["ike"]["opened"];
        assert_eq!(opened["messages_not_opened"], 0, "{opened}");
        let methods = |made: &Value| -> Vec<String> {
            let all = made["key_exchanges"].as_array().unwrap();
            all.iter()
                .map(|method| method["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let made = opened["made"].as_array().unwrap();
        let reported: Vec<(&str, &str, bool)> = made
            .iter()
            .map(|made| {
                (
                    made["by"].as_str().unwrap(),
                    made["protocol"].as_str().unwrap(),
                    made["rekey"] == true,
                )
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("IKE_AUTH", "ESP", false),
                ("CREATE_CHILD_SA", "ESP", true),
                ("CREATE_CHILD_SA", "IKE", true),
            ]
        );
        for rekey in &made[1..] {
            assert_eq!(methods(rekey), ["Curve25519", "ml-kem-768"]);
        }
        // ECDSA on P-256, whether by a method of its own or as a digital signature.
        for end in ["initiator", "responder"] {
            assert!(!opened[end]["certificates"].as_array().unwrap().is_empty());
        }
        let theirs = recorded.tshark("isakmp.typepayload == 39", "isakmp.auth.method");
        let ours = ["initiator", "responder"].map(|end| opened[end]["method"]["code"].to_string());
        assert_eq!(theirs, ours, "the method of both AUTH payloads, by tshark");
        for sa in &sas {
            assert_eq!(sa["confidentiality"]["verdict"], "quantum-safe");
            assert_eq!(sa["authenticity"]["verdict"], "vulnerable", "{}", sa["authenticity"]);
            assert_eq!(sa["questions"]["server_authenticated"]["answer"], "yes");
        }
        let stayed = &sas[0]["questions"]["stayed"];
        assert_eq!(stayed["answer"], "yes");
        assert!(stayed["because"].as_str().unwrap().contains("as the keys given show"));
        // The first datagram went through the CHILD_SA that was rekeyed with an exchange of its own.
        let esp = of_kind(&document, "esp");
        let because = esp[0]["confidentiality"]["because"].as_str().unwrap();
        assert_eq!(because, "Curve25519 + ml-kem-768 of its own, as the keys given show");
        let because = sas[1]["confidentiality"]["because"].as_str().unwrap();
        assert!(
            because.contains("made by a rekey with Curve25519 + ml-kem-768"),
            "{because}"
        );
        assert_listed(&recorded, opened);
    }

    /// Decrypted content is in the bill of materials: the proofs and certificates of both ends, the
    /// cipher of ESP, the rekey.
    fn assert_listed(recorded: &Recorded, opened: &Value) {
        recorded.inspect(&["e2.pcap", "--ike-keys", "ike.keys", "--cbom", "cbom.json"]);
        let document = std::fs::read(recorded.folder.path().join("cbom.json")).expect("a document");
        let document: Value = serde_json::from_slice(&document).expect("JSON");
        cyclonedx::assert_published(&document);
        for end in ["initiator", "responder"] {
            let sha256 = opened[end]["certificates"][0]["sha256"].as_str().unwrap();
            let certificate = cyclonedx::component(&document, &format!("certificate/{sha256}"));
            let (_, detail) = cyclonedx::places(certificate)[0];
            assert!(detail.ends_with(", opened by the keys given"), "{detail}");
        }
        let protocols: Vec<&Value> = cyclonedx::assets(&document, "protocol").collect();
        let of_kind = |kind: &str| -> Vec<&Value> {
            let properties = |protocol: &Value| protocol["cryptoProperties"]["protocolProperties"]["type"] == kind;
            protocols
                .iter()
                .copied()
                .filter(|protocol| properties(protocol))
                .collect()
        };
        let esp = of_kind("ipsec");
        let with_keys = |protocol: &&Value| {
            protocol["name"]
                .as_str()
                .unwrap()
                .starts_with("ESP, ENCR_AES_GCM_16-256, ")
        };
        assert!(!esp.is_empty() && esp.iter().all(with_keys), "{esp:#?}");
        let proven = |protocol: &&&Value| {
            let types = &protocol["cryptoProperties"]["protocolProperties"]["ikev2TransformTypes"];
            types["auth"].is_array()
        };
        assert_eq!(
            of_kind("ike").iter().filter(proven).count(),
            1,
            "the IKE_SA with an IKE_AUTH"
        );
    }

    #[test]
    fn a_classical_rekey_inside_is_a_regression_that_keys_prove() {
        let recorded = Recorded::of(HYBRID, "curve25519");
        let document = recorded.json(&["--ike-keys", "ike.keys"]);
        let stayed = &of_kind(&document, "ike")[0]["questions"]["stayed"];
        assert_eq!(stayed["answer"], "no");
        let because = stayed["because"].as_str().unwrap();
        assert!(
            because.contains("rekeyed with Curve25519, as the keys given show"),
            "{because}"
        );
        let output = recorded.inspect(&["e2.pcap", "--ike-keys", "ike.keys"]);
        assert_eq!(output.status.code(), Some(1));
    }

    #[test]
    fn every_cipher_that_is_opened_is_opened() {
        for (cipher, integrity, proposal) in [
            (
                "AES-CBC-256 [RFC3602]",
                "HMAC_SHA2_256_128 [RFC4868]",
                "aes256-sha256-x25519-ke1_mlkem768",
            ),
            (
                "AES-CBC-128 [RFC3602]",
                "HMAC_SHA2_512_256 [RFC4868]",
                "aes128-sha512-x25519-ke1_mlkem768",
            ),
            (
                "AES-GCM-128 with 16 octet ICV [RFC5282]",
                "NONE [RFC4306]",
                "aes128gcm16-prfsha256-x25519-ke1_mlkem768",
            ),
            (
                "AES-CCM-256 with 16 octet ICV [RFC5282]",
                "NONE [RFC4306]",
                "aes256ccm16-prfsha256-x25519-ke1_mlkem768",
            ),
            (
                "AES-CCM-128 with 8 octet ICV [RFC5282]",
                "NONE [RFC4306]",
                "aes128ccm8-prfsha256-x25519-ke1_mlkem768",
            ),
            (
                "ChaCha20-Poly1305 [RFC7634]",
                "NONE [RFC4306]",
                "chacha20poly1305-prfsha256-x25519-ke1_mlkem768",
            ),
        ] {
            let recorded = Recorded::with(cipher, integrity, proposal, HYBRID);
            let document = recorded.json(&["--ike-keys", "ike.keys"]);
            let sas = of_kind(&document, "ike");
            for sa in &sas {
                let opened = &sa["ike"]["opened"];
                assert_eq!(opened["messages_not_opened"], 0, "{proposal}: {opened}");
            }
            assert_eq!(sas[0]["questions"]["stayed"]["answer"], "yes", "{proposal}");
        }
    }

    #[test]
    fn wrong_keys_are_a_contradiction_by_line_and_a_bad_line_is_reported_by_number() {
        let recorded = Recorded::of(HYBRID, HYBRID);
        let place = recorded.folder.path().join("ike.keys");
        let table = std::fs::read_to_string(&place).expect("a table");
        let line = table.lines().next().expect("a line").to_owned();
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        let secret = fields[2][..16].to_owned();
        fields[2] = "00".repeat(36);
        fields[3] = "00".repeat(36);
        let write = |text: &str| std::fs::write(Path::new(&place), text).expect("a file");
        write(&format!("\n{}\n", fields.join(",")));
        let document = recorded.json(&["--ike-keys", "ike.keys"]);
        let wrong = json!(["the keys in line 2 of ike.keys open none of its messages"]);
        assert_eq!(of_kind(&document, "ike")[0]["contradictions"], wrong);
        write(&format!("{line}\n{}\n", &line[..60]));
        let output = recorded.inspect(&["e2.pcap", "--ike-keys", "ike.keys"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("warning: ike.keys: line 2: not eight fields"), "{said}");
        assert!(!said.contains(&secret), "a key was printed");
        write(&line[..60]);
        let output = recorded.inspect(&["e2.pcap", "--ike-keys", "ike.keys"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("hint: "));
    }
}
