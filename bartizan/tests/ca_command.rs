//! `bartizan ca` as its user meets it: what it says, what it refuses, how it ends.

mod authority;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use authority::Place;
use serde_json::Value;

const NRF: &str = "--name nrf --dns nrf.5gc";

#[test]
fn the_three_fixed_files_are_written_and_the_key_is_its_owners() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let reported = place.ca_works("issue --dir ca --name nrf --dns nrf.5gc --ip 10.0.0.2 --uri urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64 --out out");
    for file in ["out/nrf.crt.pem", "out/nrf.key.pem", "out/ca.crt.pem"] {
        assert!(reported.contains(file), "{reported}");
        assert!(place.path(file).exists(), "{file}");
    }
    let mode = |file: &str| fs::metadata(place.path(file)).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode("out/nrf.key.pem"), 0o600);
    assert_eq!(mode("ca/root.key.pem"), 0o600);
    assert_eq!(mode("ca"), 0o700);
    assert_eq!(place.text("out/ca.crt.pem"), place.text("ca/root.crt.pem"));
}

/// Root's renewal took the key from the service whose folder it is.
#[test]
fn a_renewal_keeps_the_mode_of_the_files_that_it_replaces() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    place.ca_works("issue --dir ca --name nrf --dns nrf.5gc --out out");
    for (file, mode) in [("out/nrf.key.pem", 0o640), ("out/nrf.crt.pem", 0o440)] {
        fs::set_permissions(place.path(file), fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let before = place.text("out/nrf.key.pem");
    place.ca_works("renew --dir ca nrf --out out --crl");
    assert_ne!(place.text("out/nrf.key.pem"), before);
    let mode = |file: &str| fs::metadata(place.path(file)).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode("out/nrf.key.pem"), mode("out/nrf.crt.pem")), (0o640, 0o440));
}

#[test]
fn a_mode_that_gives_the_key_to_everybody_and_an_owner_whom_nobody_knows_are_refused() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    for (flag, why) in [
        ("--mode 644", "a key is not for everybody"),
        ("--mode 040", "its owner could not read it"),
        ("--mode rw", "three octal digits"),
        (
            "--owner nobody-is-called-this",
            "no user is called `nobody-is-called-this`",
        ),
        (
            "--owner 0:nobody-is-called-this",
            "no group is called `nobody-is-called-this`",
        ),
        (
            "--owner nobody-is-called-this:0",
            "no user is called `nobody-is-called-this`",
        ),
    ] {
        let refused = place.ca(&format!("issue --dir ca {NRF} --out out {flag}"));
        assert_eq!(refused.code, 64, "{refused:?}");
        assert!(refused.err.contains(why), "{refused:?}");
    }
    assert!(!place.path("out").exists());
}

mod as_root {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// A renewal by root for a service that is not root, in a folder that the service has yet to get.
    /// Files of /proc about a process that cannot be traced belong to root.
    #[test]
    fn commands_that_have_keys_cannot_be_traced_by_their_own_user() {
        let mut waiting = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["ca", "revoke", "--dir", "none", "--file", "-"])
            .uid(65_534)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let shown = format!("/proc/{}/environ", waiting.id());
        bartizan_testing::until("it is root's", || {
            std::fs::metadata(&shown).expect("it runs").uid() == 0
        });
        drop(waiting.stdin.take());
        waiting.wait().expect("it ends");
    }

    #[test]
    fn files_belong_to_whom_the_flags_name_and_the_key_has_their_mode() {
        bartizan_testing::needs_root();
        let place = Place::new();
        place.ca_works("init --dir ca --algorithm ml-dsa-65");
        let found = |file: &str| {
            let found = fs::metadata(place.path(file)).expect("a file");
            (found.uid(), found.gid(), found.mode() & 0o777)
        };
        place.ca_works(&format!(
            "issue --dir ca {NRF} --out out --crl --owner 10101:10102 --mode 640"
        ));
        for (file, mode) in [
            ("out", 0o700),
            ("out/nrf.key.pem", 0o640),
            ("out/nrf.crt.pem", 0o644),
            ("out/ca.crt.pem", 0o644),
        ] {
            assert_eq!(found(file), (10101, 10102, mode), "{file}");
        }
        // Without the flags as they are, with them as they say; names are names.
        place.ca_works("renew --dir ca nrf --out out --force");
        assert_eq!(found("out/nrf.key.pem"), (10101, 10102, 0o640));
        place.ca_works("renew --dir ca nrf --out out --force --owner daemon:root --mode 600");
        let (user, group, mode) = found("out/nrf.key.pem");
        assert_eq!((group, mode), (0, 0o600));
        assert_eq!(
            Some(user),
            nix::unistd::User::from_name("daemon")
                .unwrap()
                .map(|user| user.uid.as_raw())
        );
    }
}

#[test]
fn an_ipsec_endpoint_s_certificate_is_asked_to_be_classical() {
    let place = Place::new();
    place.ca_works("init --dir pq --algorithm ml-dsa-65");
    let refused = place.ca("issue --dir pq --name cu --dns cu --profile ipsec --out out");
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(
        refused
            .err
            .contains("the root's key is ml-dsa-65, which no released strongSwan verifies")
            && refused
                .err
                .contains("bartizan ca init --dir ipsec-ca --algorithm ecdsa-p384"),
        "{refused:?}"
    );
    // For the engine of Bartizan it is asked for.
    let said = place.ca("issue --dir pq --name cu --dns cu --profile ipsec --key-algorithm ml-dsa-65 --out pq-out");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("have `engine: bartizan`"), "{said:?}");
    let page = place.ca_works("show --dir pq cu");
    assert!(
        page.contains("an end of IPsec links, ML-DSA, for `engine: bartizan`\n"),
        "{page}"
    );
    place.ca_works("init --dir ca --algorithm ecdsa-p384");
    let said = place.ca("issue --dir ca --name cu --dns cu --profile ipsec --out out --json");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("note: ecdsa-p384 is classical"), "{said:?}");
    let reported: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(reported["profile"], "ipsec");
    let page = place.ca_works("show --dir ca cu");
    assert!(
        page.contains("profile           ipsec: an end of IPsec links, classical\n"),
        "{page}"
    );
    let shown: Value = serde_json::from_str(&place.ca_works("show --dir ca cu --json")).expect("JSON");
    assert_eq!(shown["profile"], "ipsec");
}

#[test]
fn mistakes_in_the_arguments_are_usage_errors() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    for (arguments, message) in [
        ("init --dir other", "--algorithm"),
        ("init --dir other --algorithm rsa-2048", "unknown algorithm"),
        (
            "init --dir other --algorithm ed25519 --country Sweden",
            "two capital letters",
        ),
        ("issue --dir ca --name nrf --out out", "no DNS name, IP address or URI"),
        ("issue --dir ca --name ../nrf --dns nrf.5gc --out out", "name"),
        ("issue --dir ca --name nrf --dns *.5gc --out out", "wildcard"),
        ("issue --dir ca --name nrf --ip 10.0.0 --out out", "neither an IPv4"),
        ("issue --dir ca --name nrf --uri urn:uuid:nrf --out out", "UUID"),
        ("issue --dir ca --name nrf --dns nrf.5gc --days 0 --out out", "0"),
        (
            "issue --dir ca --name nrf --dns nrf.5gc --days 400 --out out",
            "--allow-long",
        ),
        (
            "issue --dir ca --name nrf --dns nrf.5gc --days 4000 --allow-long --out out",
            "the issuer's own certificate ends",
        ),
        (
            "issue --dir ca --name nrf --dns nrf.5gc --profile tls --out out",
            "unknown profile",
        ),
        (
            "issue --dir ca --name cu --uri https://cu.test/ --profile ipsec --out out",
            "give --dns or --ip",
        ),
        (
            "issue --dir ca --name cu --dns cu --profile ipsec --key-algorithm ml-dsa-65 --out out",
            "--key-algorithm ecdsa-p256",
        ),
        ("revoke --dir ca nrf --reason boredom", "reason"),
        ("crl --dir ca --days 0", "0"),
        ("renwe --dir ca nrf", "renew"),
    ] {
        let said = place.ca(arguments);
        assert_eq!(said.code, 64, "{arguments}: {said:?}");
        assert!(said.err.contains(message), "{arguments}: {said:?}");
    }
    assert!(
        !place.path("out").exists() && !place.path("other").exists(),
        "nothing was made"
    );
}

#[test]
fn what_is_missing_or_in_the_way_is_named_with_a_hint() {
    let place = Place::new();
    let said = place.ca(&format!("issue --dir none {NRF} --out out"));
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("hint: make one: `bartizan ca init --dir none"),
        "{said:?}"
    );

    place.ca_works("init --dir ca --algorithm ed25519");
    let said = place.ca("init --dir ca --algorithm ed25519");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("holds a certificate authority already"), "{said:?}");

    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    let key = place.text("out/nrf.key.pem");
    let said = place.ca(&format!("issue --dir ca {NRF} --out out"));
    assert_eq!(said.code, 2);
    assert!(said.err.contains("hint: --force replaces it"), "{said:?}");
    let again = "`bartizan ca renew nrf --out out --force --dir ca`";
    assert!(said.err.contains(again), "{said:?}");
    // The directory of the call is in each command that a hint names.
    fs::rename(place.path("ca"), place.path("ca#2")).unwrap();
    let said = place.ca("show --dir ca#2 smf");
    assert!(said.err.contains("`bartizan ca list --dir 'ca#2'`"), "{said:?}");
    fs::rename(place.path("ca#2"), place.path("ca")).unwrap();
    let said = place.ca("revoke --dir ca nrf --reason bogus");
    assert_eq!(said.code, 64);
    assert!(
        said.err.contains("cessation-of-operation, privilege-withdrawn"),
        "{said:?}"
    );
    assert_eq!(place.text("out/nrf.key.pem"), key);
    place.ca_works(&format!("issue --dir ca {NRF} --out out --force"));
    assert_ne!(place.text("out/nrf.key.pem"), key);

    for arguments in [
        "show --dir ca smf",
        "revoke --dir ca smf",
        "renew --dir ca smf --out out",
    ] {
        let said = place.ca(arguments);
        assert_eq!(said.code, 2, "{arguments}");
        assert!(said.err.contains("bartizan ca list"), "{arguments}: {said:?}");
    }
    for arguments in [
        "sign --dir ca --csr none.csr --out out",
        "init --dir x --root-key none.key",
    ] {
        let said = place.ca(arguments);
        assert_eq!(said.code, 2, "{arguments}");
        assert!(said.err.contains("cannot read none"), "{arguments}: {said:?}");
    }
}

#[test]
fn two_certificates_of_one_name_are_distinguished_by_serial_number() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    place.ca_works("renew --dir ca nrf --out out");
    let said = place.ca("revoke --dir ca nrf");
    assert_eq!(said.code, 2);
    let serials: Vec<&str> = said
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("hint: ")?.split_once(", issued "))
        .map(|(serial, _)| serial)
        .collect();
    assert_eq!(serials.len(), 2, "{said:?}");
    place.ca_works(&format!("revoke --dir ca {}", serials[0]));
    place.ca_works("revoke --dir ca nrf");
}

#[test]
fn the_list_says_what_became_of_each_certificate() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519 --intermediate ml-dsa-44");
    place.ca_works(&format!("issue --dir ca {NRF} --ip 10.0.0.2 --days 30 --out out"));
    place.ca_works("issue --dir ca --name amf --dns amf.5gc --out out --json");
    place.ca_works("revoke --dir ca amf --reason keyCompromise");

    let table = place.ca_works("list --dir ca");
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = table.lines().map(columns).collect();
    assert_eq!(
        lines[0],
        ["NAME", "STATE", "ALGORITHM", "NOT", "AFTER", "DAYS", "SERIAL", "NAMES"]
    );
    // The next to end stands first.
    assert_eq!(lines[1][..3], ["nrf", "valid", "ml-dsa-44"]);
    assert_eq!(lines[1][4], "29");
    assert_eq!(lines[1][6..], ["DNS:nrf.5gc", "IP:10.0.0.2"]);
    assert_eq!(lines[2][..3], ["amf", "revoked", "ml-dsa-44"]);
    assert_eq!(lines[3][..3], ["intermediate", "valid", "ml-dsa-44"]);
    assert_eq!(lines[4][..3], ["root", "valid", "ed25519"]);

    let json: Value = serde_json::from_str(&place.ca_works("list --dir ca --json")).expect("JSON");
    let rows = json["certificates"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["reason"], "key-compromise");
    assert_eq!(rows[0]["names"], serde_json::json!(["DNS:nrf.5gc", "IP:10.0.0.2"]));
    assert_eq!(rows[0]["issuer_serial"], rows[2]["serial"]);

    let page = place.ca_works("show --dir ca amf");
    assert!(page.contains("(key-compromise)"), "{page}");
    let one: Value = serde_json::from_str(&place.ca_works("show --dir ca nrf --json")).expect("JSON");
    assert_eq!(&one, &rows[0]);
}

/// Hints such as `bartizan ca issue --dns nrf` and `bartizan ca crl` can be typed as they are.
#[test]
fn directory_folder_and_name_have_defaults() {
    let place = Place::new();
    let run = |arguments: &str, directory: Option<&str>| {
        let mut command = place.command(arguments);
        match directory {
            Some(directory) => command.env("BARTIZAN_CA", directory),
            None => command.env_remove("BARTIZAN_CA"),
        };
        let output = command.output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
        String::from_utf8(output.stdout).expect("text")
    };
    run("init --algorithm ed25519", None);
    run("init --algorithm ed25519", Some("authority"));
    assert!(place.path("ca/ca.sqlite").exists() && place.path("authority/ca.sqlite").exists());
    run("issue --dns nrf.5gc --dns other.5gc", Some("authority"));
    assert_eq!(place.text("ca.crt.pem"), place.text("authority/root.crt.pem"));
    let before = place.text("nrf.5gc.key.pem");
    run("renew --name nrf.5gc", Some("authority"));
    run("renew nrf.5gc", Some("authority"));
    assert_ne!(place.text("nrf.5gc.key.pem"), before);
    run("crl", Some("authority"));
    assert!(run("list", Some("authority")).contains("nrf.5gc"));
    assert!(!run("list", None).contains("nrf.5gc"));
    let said = place.ca("renew --dir ca nrf --name nrf");
    assert_eq!(said.code, 64, "{said:?}");
}

#[test]
fn a_certificate_is_written_again_from_the_records() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519 --intermediate");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    let chain = place.text("out/nrf.crt.pem");
    assert_eq!(place.ca_works("show --dir ca nrf --pem"), chain);
    fs::remove_file(place.path("out/nrf.crt.pem")).expect("removed");
    place.ca_works("show --dir ca nrf --out out");
    assert_eq!(place.text("out/nrf.crt.pem"), chain);
}

#[test]
fn the_passphrase_comes_from_a_file_or_the_environment() {
    let place = Place::new();
    fs::write(place.path("pass"), "correct horse\r\nanother line\n").expect("written");
    place.ca_works("init --dir ca --algorithm ed25519 --encrypt --passphrase-file pass");
    assert!(place.text("ca/root.key.pem").contains("ENCRYPTED PRIVATE KEY"));

    let none = place.ca(&format!("issue --dir ca {NRF} --out out"));
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("--passphrase-file"), "{none:?}");

    let with_variable = |value: &str, arguments: &str| {
        let mut command = place.command(arguments);
        command
            .env("BARTIZAN_CA_PASSPHRASE", value)
            .output()
            .expect("the binary runs")
    };
    let wrong = with_variable("battery staple", &format!("issue --dir ca {NRF} --out out"));
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("wrong passphrase"));
    assert!(!place.path("out").exists());
    let right = with_variable("correct horse", &format!("issue --dir ca {NRF} --out out"));
    assert_eq!(right.status.code(), Some(0), "{right:?}");

    // Reading needs no passphrase.
    assert!(place.ca_works("list --dir ca").contains("nrf"));
    fs::write(place.path("short"), "short\n").expect("written");
    let short = place.ca("init --dir other --algorithm ed25519 --passphrase-file short");
    assert_eq!(short.code, 2);
    assert!(
        short.err.contains("8 characters") && !short.err.contains("short\n"),
        "{short:?}"
    );
}

#[test]
fn a_passphrase_is_never_an_argument() {
    let place = Place::new();
    for command in ["init", "issue", "sign", "renew", "revoke", "crl"] {
        let help = place.ca_works(&format!("{command} --help"));
        assert!(help.contains("--passphrase-file <FILE>"), "{help}");
        assert!(!help.contains("--passphrase <"), "{help}");
    }
}

#[test]
fn the_roots_key_may_be_taken_away() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519 --intermediate");
    fs::rename(place.path("ca/root.key.pem"), place.path("safe")).expect("moved");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    place.ca_works("revoke --dir ca nrf");
    place.ca_works("crl --dir ca --file lists.pem");
    assert_eq!(place.text("lists.pem").matches("BEGIN X509 CRL").count(), 2);
    let said = place.ca("revoke --dir ca intermediate");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("root.key.pem is not here"), "{said:?}");
}

#[test]
fn commands_at_the_same_time_wait_for_each_other() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let started: Vec<_> = (0..8)
        .map(|number| {
            place
                .command(&format!(
                    "issue --dir ca --name nf{number} --dns nf{number}.5gc --out out"
                ))
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("the binary starts")
        })
        .collect();
    for mut child in started {
        assert!(child.wait().expect("a child").success());
    }
    let json: Value = serde_json::from_str(&place.ca_works("list --dir ca --json")).expect("JSON");
    let rows = json["certificates"].as_array().expect("rows");
    assert_eq!(rows.iter().filter(|row| row["state"] == "valid").count(), 9);
}

/// `ca list` called `valid` what every peer refuses.
#[test]
fn what_a_revoked_intermediate_issued_is_said_to_end_with_it() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519 --intermediate");
    place.ca_works(&format!("issue --dir ca {NRF} --out out"));
    let said = place.ca_works("revoke --dir ca intermediate --reason ca-compromise");
    assert!(said.contains("1 valid certificates below it"), "{said}");
    let json: Value = serde_json::from_str(&place.ca_works("show --dir ca nrf --json")).expect("JSON");
    assert_eq!(json["state"], "issuer revoked");
    assert!(place.ca_works("list --dir ca").contains("issuer revoked"));
    // It is in the way of no succession.
    place.ca_works("rollover publish-root --dir ca");
    place.ca_works("rollover activate-root --dir ca");
}

/// The invitation was recorded, and its secret was lost.
#[test]
fn an_invitation_whose_secret_cannot_be_written_is_not_recorded() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let invite = |file: &str| place.ca(&format!("invite --dir ca --name x --dns x.test --secret-file {file}"));
    for file in ["none/secret", "/dev/full", "ca"] {
        let said = invite(file);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(place.ca_works("invitations --dir ca").contains("no invitations"));
    }
    assert_eq!(
        place
            .ca("invite --dir none --name x --dns x.test --secret-file secret")
            .code,
        2
    );
    assert!(!place.path("secret").exists());
    assert_eq!(invite("secret").code, 0);
    let secret = place.text("secret");
    assert!(secret.len() == 33 && secret.ends_with('\n'), "{secret:?}");
    let mode = fs::metadata(place.path("secret")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A script whose first step had failed took it for done.
#[test]
fn a_revocation_of_nothing_is_a_mistake() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    for empty in ["", "\n \n"] {
        fs::write(place.path("empty"), empty).expect("written");
        let said = place.ca("revoke --dir ca --file empty");
        assert!(said.code == 64 && said.err.contains("names no certificate"), "{said:?}");
    }
}

#[test]
fn an_authority_without_its_records_is_not_made_anew() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    fs::remove_file(place.path("ca/ca.sqlite")).expect("removed");
    for arguments in ["init --dir ca --algorithm ed25519", "list --dir ca"] {
        let said = place.ca(arguments);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("hint: restore ca.sqlite from a backup"), "{said:?}");
    }
    assert!(place.path("ca/root.key.pem").exists());
}

#[test]
fn damaged_records_are_an_error_and_not_a_crash() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let whole = fs::read(place.path("ca/ca.sqlite")).expect("records");
    for damage in [&b"not a database"[..], &[], &whole[..whole.len() / 2]] {
        fs::write(place.path("ca/ca.sqlite"), damage).expect("written");
        let said = place.ca("list --dir ca");
        assert_eq!(said.code, 2, "{} octets: {said:?}", damage.len());
        assert!(said.err.starts_with("error: records"), "{said:?}");
    }
}
