//! Clients without a valid certificate at an endpoint.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use bartizan_deployment::{InterfaceKind, Policy};
use bartizan_tls::{Answer, Credentials, Reason, probe};
use rcgen::PKCS_ML_DSA_65;

use crate::authority::Authority;
use crate::wire::{Judged, deployment, nrf};

/// The client's answer, and the endpoint's record.
pub(crate) fn attempt(authority: &Authority, client: Option<&Credentials>) -> (Answer, Judged) {
    let endpoint = nrf(authority.node("nrf"), &deployment("hybrid"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client connects");
        let accepting = endpoint.accept_any(InterfaceKind::Sbi);
        let mut connection = rustls::ServerConnection::new(accepting.config).expect("a configuration");
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(&mut stream) {
                return Err(accepting.watch.failed(&error));
            }
        }
        let judged = accepting.watch.finish_server(&connection);
        if judged.is_ok() {
            connection.writer().write_all(b"come in").expect("buffered");
            connection.complete_io(&mut stream).expect("sent");
        }
        // The client's own end closes first.
        let _ = stream.read(&mut [0; 1024]);
        judged
    });
    let mut stream = TcpStream::connect(address).expect("connected");
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .expect("a timeout");
    let name = rustls::pki_types::ServerName::try_from("nrf.5gc").expect("a name");
    let answer = probe(&mut stream, name, &Policy::hybrid(), client).expect("an answer");
    drop(stream);
    (answer, server.join().expect("the endpoint lives"))
}

#[test]
fn who_shows_no_certificate_is_refused_and_hears_why() {
    let authority = Authority::root("core", &PKCS_ML_DSA_65);
    let (answer, judged) = attempt(&authority, None);
    assert_eq!(answer, Answer::Refused("CertificateRequired".into()));
    assert_eq!(judged.expect_err("refused").reason, Reason::NoCertificate);
}

#[test]
fn who_shows_the_certificate_of_another_authority_is_refused_and_hears_why() {
    let authority = Authority::root("core", &PKCS_ML_DSA_65);
    let foreign = Authority::root("foreign", &PKCS_ML_DSA_65).node("amf");
    let (answer, judged) = attempt(&authority, Some(&foreign));
    assert_eq!(answer, Answer::Refused("UnknownCA".into()));
    assert_eq!(judged.expect_err("refused").reason, Reason::UnknownCa);
}

#[test]
fn who_belongs_there_is_let_in() {
    let authority = Authority::root("core", &PKCS_ML_DSA_65);
    let (answer, judged) = attempt(&authority, Some(&authority.node("amf")));
    assert_eq!(answer, Answer::Admitted);
    assert_eq!(judged.expect("let in").peer.as_str(), "amf");
}
