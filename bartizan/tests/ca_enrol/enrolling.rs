//! `bartizan enrol`, at our own authority and at OpenSSL's.

use super::*;

#[test]
fn a_function_enrols_renews_in_time_and_runs_again_after_a_broken_attempt() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    let serving = Serving::start(&place, &format!("--listen {}", free_port()));
    let server = format!("--server http://{} --name amf --out amf", serving.address);
    place.ca_works("invite --dir ca --name amf --dns amf.5gc --nf-type AMF --days 20 --secret-file amf.secret");
    let open: Value = serde_json::from_str(&place.ca_works("invitations --dir ca --json")).unwrap();
    let reference = open["invitations"][0]["reference"].as_str().unwrap().to_owned();
    assert_eq!(open["invitations"][0]["state"], "open");

    // No server listens: a clear error, and the key of this attempt is the one of the next.
    let nowhere = free_port();
    let said = enrol(
        &place,
        &format!("--server http://{nowhere} --name amf --out amf --reference {reference} --secret-file amf.secret"),
    );
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("ca serve"), "{said:?}");
    let pending = place.text("amf/.amf.key.pem.pending.partial");
    let out = enrols(
        &place,
        &format!("{server} --reference {reference} --secret-file amf.secret"),
    );
    assert!(out.contains("enrolled amf: ml-dsa-65, DNS:amf.5gc"), "{out}");
    assert_eq!(place.text("amf/amf.key.pem"), pending);
    assert!(!place.path("amf/.amf.key.pem.pending.partial").exists());
    let mode = fs::metadata(place.path("amf/amf.key.pem"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let verify =
        "verify -x509_strict -purpose sslclient -CAfile amf/ca.crt.pem -untrusted amf/amf.crt.pem amf/amf.crt.pem";
    place.openssl_works(verify);
    let closed: Value = serde_json::from_str(&place.ca_works("invitations --dir ca --json")).unwrap();
    assert_eq!(closed["invitations"][0]["state"], "closed");

    let said = enrol(
        &place,
        &format!("{server} --reference {reference} --secret-file amf.secret"),
    );
    assert_eq!(said.code, 2, "nothing is overwritten: {said:?}");
    let before = place.text("amf/amf.crt.pem");
    assert!(enrols(&place, &format!("{server} --renew --within 10")).contains("left as it is"));
    assert_eq!(place.text("amf/amf.crt.pem"), before);
    let out = enrols(&place, &format!("{server} --renew --within 30"));
    assert!(out.contains("renewed amf"), "{out}");
    assert_ne!(place.text("amf/amf.crt.pem"), before);
    assert_ne!(place.text("amf/amf.key.pem"), pending);
    place.openssl_works(verify);
    let shown: Value = serde_json::from_str(&place.ca_works("show --dir ca amf --json")).unwrap();
    assert_eq!(shown["state"], "valid", "{shown}");

    // The authority goes away during a renewal and comes back: the run that failed is run again.
    let address = serving.address;
    drop(serving);
    assert_eq!(enrol(&place, &format!("{server} --renew")).code, 2);
    place.openssl_works(verify);
    let serving = Serving::start(&place, &format!("--listen {address}"));
    assert_eq!(serving.address, address);
    enrols(&place, &format!("{server} --renew"));
    place.openssl_works(verify);
}

/// The certificate of an attempt before was revoked, as its receiver was not known to have it: each
/// later attempt asked for the same key, and was refused.
#[test]
fn a_key_whose_certificate_was_revoked_before_it_arrived_is_given_up() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let serving = Serving::start(&place, &format!("--listen {}", free_port()));
    let server = format!("--server http://{} --name amf --out amf", serving.address);
    let (reference, secret) = invite(&place, "--name amf --dns amf.5gc");
    fs::write(place.path("amf.secret"), secret).unwrap();
    let key = "--key-algorithm ed25519";
    enrols(
        &place,
        &format!("{server} {key} --reference {reference} --secret-file amf.secret"),
    );
    let shown: Value = serde_json::from_str(&place.ca_works("show --dir ca amf --json")).unwrap();
    fs::copy(place.path("amf/amf.key.pem"), place.path("waiting")).unwrap();
    enrols(&place, &format!("{server} --renew"));
    place.ca_works(&format!("revoke --dir ca {}", shown["serial"].as_str().unwrap()));
    fs::rename(place.path("waiting"), place.path("amf/.amf.key.pem.pending.partial")).unwrap();
    let said = enrol(&place, &format!("{server} --renew"));
    assert!(said.code == 2 && said.err.contains("run it again"), "{said:?}");
    enrols(&place, &format!("{server} --renew"));
}

#[test]
fn a_function_is_renewed_early_where_the_authority_has_another_root_and_once() {
    for options in ["--intermediate", ""] {
        let place = Place::with_openssl();
        place.ca_works(&format!("init --dir ca --algorithm ml-dsa-65 {options}"));
        let serving = Serving::start(&place, "");
        let server = format!("--server http://{} --name amf --out amf", serving.address);
        let (reference, secret) = invite(&place, "--name amf --dns amf.5gc");
        fs::write(place.path("secret"), secret).unwrap();
        enrols(
            &place,
            &format!("{server} --reference {reference} --secret-file secret"),
        );
        let old = place.text("amf/ca.crt.pem");
        let again = || enrols(&place, &format!("{server} --renew --within 30"));
        assert!(again().contains("left as it is"));
        // Times in certificates are in whole seconds.
        thread::sleep(Duration::from_millis(1100));
        place.ca_works("rollover publish-root --dir ca");
        assert!(again().contains("renewed amf"));
        let both = place.text("amf/ca.crt.pem");
        assert!(both.starts_with(&old) && both.len() > old.len());
        assert!(again().contains("left as it is"));
        // Every function has it, so that the next step need not wait for the end of their certificates.
        place.ca_works("rollover activate-root --dir ca");
        assert!(again().contains("left as it is"));

        // No server answers: nothing is wrong yet.
        drop(serving);
        let said = enrol(&place, &format!("{server} --renew --within 30"));
        assert_eq!(said.code, 0);
        assert!(said.err.contains("note: the authority was not asked"), "{said:?}");
        assert!(said.out.contains("left as it is"), "{said:?}");
    }
}

/// A thief with the directory of an issuing host, and a list that tells of it.
#[test]
fn an_authority_that_the_list_next_to_the_certificate_revokes_is_not_believed() {
    let (place, _serving, server) = enrolled_next_to_a_copy();
    fs::write(place.path("amf/ca.crl.pem"), place.text("mine/crl.pem")).unwrap();
    enrols(&place, &format!("{server} --renew"));
    place.ca_works("revoke --dir mine intermediate --reason ca-compromise");
    fs::write(place.path("amf/ca.crl.pem"), place.text("mine/crl.pem")).unwrap();
    let before = place.text("amf/amf.crt.pem");
    for more in ["--renew", "--renew --within 1000"] {
        let said = enrol(&place, &format!("{server} {more}"));
        assert!(said.code == 2 && said.err.contains("was revoked"), "{said:?}");
    }
    assert_eq!(place.text("amf/amf.crt.pem"), before);
}

/// A function that has enrolled with an intermediate's authority, and a copy of that, which lists what
/// the one that answers does not know to be revoked.
fn enrolled_next_to_a_copy() -> (Place, Serving, String) {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519 --intermediate");
    let serving = Serving::start(&place, "");
    let server = format!("--server http://{} --name amf --out amf", serving.address);
    let (reference, secret) = invite(&place, "--name amf --dns amf.5gc --allow-classical");
    fs::write(place.path("secret"), secret).unwrap();
    let first = format!("{server} --reference {reference} --secret-file secret --key-algorithm ed25519");
    enrols(&place, &first);
    fs::create_dir(place.path("mine")).unwrap();
    for file in fs::read_dir(place.path("ca")).unwrap().flatten() {
        fs::copy(file.path(), place.path("mine").join(file.file_name())).unwrap();
    }
    place.ca_works("crl --dir mine");
    (place, serving, server)
}

/// A list of a full disk stopped each renewal until the certificate ended.
#[test]
fn a_spoilt_list_next_to_the_certificate_is_named_and_the_others_are_obeyed() {
    let (place, _serving, server) = enrolled_next_to_a_copy();
    let whole = place.text("mine/crl.pem");
    let cut = &whole[..whole.len() / 4];
    let renewed = |lists: &str| {
        fs::write(place.path("amf/ca.crl.pem"), lists).unwrap();
        enrol(&place, &format!("{server} --renew"))
    };
    let hint = "fetch it again (`bartizan ca serve` gives it at /crl.pem), or remove it";
    for none in ["", cut, "-----BEGIN X509 CRL-----\n!\n-----END X509 CRL-----\n"] {
        let said = renewed(none);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.err.contains("cannot use amf/ca.crl.pem") && said.err.contains(hint),
            "{said:?}"
        );
    }
    for some in [
        format!("{whole}{cut}"),
        format!("-----BEGIN X509 CRL-----\n!\n-----END X509 CRL-----\n{whole}"),
    ] {
        let said = renewed(&some);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            said.err.contains("it is left out") && said.err.contains(hint),
            "{said:?}"
        );
    }
    place.ca_works("revoke --dir mine intermediate --reason ca-compromise");
    let said = renewed(&format!("{cut}{}", place.text("mine/crl.pem")));
    assert!(said.code == 2 && said.err.contains("was revoked"), "{said:?}");
}

/// The files are written before the authority is notified of it: a confirmation that is lost costs nothing.
#[test]
fn a_confirmation_that_is_lost_leaves_the_certificate_and_its_invitation_open_for_the_same_key() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let serving = Serving::start(&place, "");
    let (reference, secret) = invite(&place, "--name amf --dns amf.5gc");
    fs::write(place.path("secret"), secret).unwrap();
    // A path that carries one exchange and no second.
    let path = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = path.local_addr().unwrap();
    let carried = thread::spawn({
        let to = serving.address;
        move || {
            let (mut client, _) = path.accept().unwrap();
            drop(path);
            let mut server = TcpStream::connect(to).unwrap();
            let (mut request, mut onward) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut request, &mut onward));
            std::io::copy(&mut server, &mut client).unwrap();
            client.shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
    let said = enrol(
        &place,
        &format!("--server http://{address} --name amf --out amf --reference {reference} --secret-file secret"),
    );
    carried.join().unwrap();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("its confirmation did not arrive"), "{said:?}");
    place.openssl_works("verify -CAfile amf/ca.crt.pem -untrusted amf/amf.crt.pem amf/amf.crt.pem");
    let listed: Value = serde_json::from_str(&place.ca_works("invitations --dir ca --json")).unwrap();
    assert_eq!(listed["invitations"][0]["state"], "issued");
    // A crash between key and certificate: the next run gets the same certificate.
    let before = place.text("amf/amf.crt.pem");
    fs::remove_file(place.path("amf/amf.crt.pem")).unwrap();
    fs::copy(
        place.path("amf/amf.key.pem"),
        place.path("amf/.amf.key.pem.pending.partial"),
    )
    .unwrap();
    let server = format!("--server http://{} --name amf --out amf", serving.address);
    enrols(
        &place,
        &format!("{server} --reference {reference} --secret-file secret"),
    );
    assert_eq!(place.text("amf/amf.crt.pem"), before);
    assert!(!place.path("amf/.amf.key.pem.pending.partial").exists());
}

/// OpenSSL is the authority: its own test server, which gives one certificate to any client.
#[test]
fn a_function_enrols_at_openssls_server() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ecdsa-p256");
    for algorithm in ["ml-dsa-65", "ecdsa-p384"] {
        let port = free_port().port();
        // A first attempt, without a server, leaves the key for which the server has its
        // certificate.
        let out = format!("out-{algorithm}");
        let attempt = format!(
            "--server http://127.0.0.1:{port}/pkix/ --name gnb --out {out} --key-algorithm {algorithm} --reference r"
        );
        fs::write(place.path("secret"), "s3cret\n").unwrap();
        assert_eq!(enrol(&place, &format!("{attempt} --secret-file secret")).code, 2);
        let pending = format!("{out}/.gnb.key.pem.pending.partial");
        place.openssl_works(&format!("req -new -key {pending} -subj /CN=gnb -out {out}.csr"));
        place.ca_works(&format!(
            "sign --dir ca --csr {out}.csr --name gnb --dns gnb.ran --out signed-{algorithm}"
        ));
        let openssl = place.openssl_in_background(&format!(
            "cmp -port {port} -max_msgs 2 -srv_ref r -srv_secret pass:s3cret \
             -rsp_cert signed-{algorithm}/gnb.crt.pem -rsp_capubs ca/root.crt.pem"
        ));
        until("OpenSSL's server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let said = enrol(&place, &format!("{attempt} --secret-file secret"));
        drop(openssl);
        assert_eq!(said.code, 0, "{algorithm}: {said:?}");
        assert_eq!(
            place.text(&format!("{out}/gnb.crt.pem")),
            place.text(&format!("signed-{algorithm}/gnb.crt.pem"))
        );
    }
}
