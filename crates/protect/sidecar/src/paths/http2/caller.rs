//! The peer that sent a request, named to the network function: to it, every connection is its own sidecar's.

use std::fmt::Write;
use std::rc::Rc;

use bartizan_http2::{Fields, Indexing};
use bartizan_ledger::Certificate;

/// The header that is written. Envoy's, since frameworks read it, and since the certificate itself (RFC 9440) is 5 kB and more with ML-DSA.
const HEADER: &[u8] = b"x-forwarded-client-cert";
/// Headers by which a proxy vouches for a client. From a peer they are worth nothing, and what a function may take for ours must not pass: also
/// where none is written, and with underscores, which many servers make of hyphens (RFC 9440, section 4; RFC 3875, section 4.1.18).
const VOUCHING: [&[u8]; 3] = [HEADER, b"client-cert", b"client-cert-chain"];

/// Sender of a connection's requests.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// Our own network function: what it sends is its own matter, and is taken out at the other end.
    Function,
    /// A peer, with the header's value that names it, where it is named.
    Peer(Option<Rc<[u8]>>),
}

impl Caller {
    /// A peer that proved to have this certificate, named to the network function.
    pub(crate) fn named(certificate: Option<&Certificate>) -> Self {
        Self::Peer(certificate.map(|certificate| value(certificate).into_bytes().into()))
    }

    /// Makes the head of a request name the peer, or nothing.
    pub(super) fn name_in(&self, head: &mut Fields) {
        self.strip(head);
        if let Self::Peer(Some(value)) = self {
            head.push(HEADER, value, Indexing::Kept);
        }
    }

    /// Takes out what vouches for a client.
    pub(super) fn strip(&self, fields: &mut Fields) {
        if matches!(self, Self::Peer(_)) {
            fields.remove(is_vouching);
        }
    }
}

fn is_vouching(name: &[u8]) -> bool {
    let same = |(one, known): (&u8, &u8)| one == known || (*one == b'_' && *known == b'-');
    VOUCHING
        .iter()
        .any(|known| known.len() == name.len() && name.iter().zip(*known).all(same))
}

/// Envoy's form: `Hash=...;Subject="...";URI=...;DNS=...`, the last two for each name of the certificate.
fn value(certificate: &Certificate) -> String {
    let mut value = format!("Hash={};Subject=", certificate.sha256);
    quote(&mut value, &certificate.subject);
    for name in &certificate.names {
        let (key, name) = match name.split_once(':') {
            Some(("dns", name)) => ("DNS", name),
            Some(("uri", name)) => ("URI", name),
            _ => continue,
        };
        let _ = write!(value, ";{key}=");
        // Characters that would end the value are quoted.
        if name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b",;=\"\\".contains(&byte))
        {
            value.push_str(name);
        } else {
            quote(&mut value, name);
        }
    }
    value
}

/// Text in quotes, whatever it has in it; what a field cannot hold is percent-encoded.
fn quote(into: &mut String, text: &str) {
    into.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => into.extend(['\\', char::from(byte)]),
            b' '..=b'~' => into.push(char::from(byte)),
            _ => {
                let _ = write!(into, "%{byte:02X}");
            }
        }
    }
    into.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn certificate(subject: &str, names: &[&str]) -> Certificate {
        Certificate {
            subject: subject.to_owned(),
            serial: "1".to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            public_key: "mldsa65".to_owned(),
            signature: "mldsa65".to_owned(),
            not_after: 0,
            sha256: "ab12".to_owned(),
        }
    }

    fn head(names: &[&str]) -> Fields {
        let mut head = Fields::new();
        for name in names {
            head.push(name.as_bytes(), b"forged", Indexing::Plain);
        }
        head
    }

    #[test]
    fn a_peer_is_named_as_envoy_does_it_and_what_it_says_itself_is_taken_out() {
        let peer = certificate(
            "CN=amf, O=\"Operator\"",
            &["dns:amf.5gc", "ip:10.0.0.1", "uri:urn:uuid:4947", "uri:x:a;b"],
        );
        let mut named = head(&[
            ":path",
            "x-forwarded-client-cert",
            "X",
            "client-cert",
            "client_cert_chain",
            "x_forwarded-client_cert",
            "client-certs",
        ]);
        Caller::named(Some(&peer)).name_in(&mut named);
        let names: Vec<_> = named.iter().map(|(name, _, _)| String::from_utf8_lossy(name)).collect();
        assert_eq!(names, [":path", "X", "client-certs", "x-forwarded-client-cert"]);
        let value = named.value(HEADER).map(String::from_utf8_lossy).unwrap();
        assert_eq!(
            value,
            r#"Hash=ab12;Subject="CN=amf, O=\"Operator\"";DNS=amf.5gc;URI=urn:uuid:4947;URI="x:a;b""#
        );
        let mut unnamed = head(&["x-forwarded-client-cert", "accept"]);
        Caller::Peer(None).name_in(&mut unnamed);
        assert_eq!(unnamed.len(), 1);
        let mut own = head(&["x-forwarded-client-cert"]);
        Caller::Function.name_in(&mut own);
        assert_eq!(own.len(), 1);
    }

    proptest! {
        #[test]
        fn no_name_of_a_certificate_adds_to_the_header(subject in ".{0,40}", name in ".{0,40}") {
            let value = value(&certificate(&subject, &[&format!("dns:{name}")]));
            prop_assert!(value.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            let mut quoted = false;
            let mut escaped = false;
            let ends = value.bytes().filter(|&byte| {
                let is_end = !quoted && (byte == b';' || byte == b',');
                quoted ^= byte == b'"' && !escaped;
                escaped = quoted && byte == b'\\' && !escaped;
                is_end
            });
            prop_assert_eq!(ends.count(), 2);
        }
    }
}
