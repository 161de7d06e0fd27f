use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, CrlDistributionPoint,
    CrlIssuingDistributionPoint, CrlScope, IsCa, KeyIdMethod, KeyPair, SerialNumber,
};

use super::*;

fn der(part: Option<CrlScope>) -> Vec<u8> {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let begins = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
    let list = CertificateRevocationListParams {
        this_update: begins,
        next_update: begins + Duration::from_secs(86_400),
        crl_number: SerialNumber::from(300),
        issuing_distribution_point: part.map(|scope| CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint {
                uris: vec!["http://ca.test/crl".to_owned()],
            },
            scope: Some(scope),
        }),
        revoked_certs: Vec::new(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(&authority).unwrap().der().to_vec()
}

/// An element: the octets of its header, and those behind it.
fn element(der: &[u8]) -> (usize, usize) {
    match der[1] {
        length @ ..=0x7f => (2, length.into()),
        0x81 => (3, der[2].into()),
        _ => (4, usize::from(u16::from_be_bytes([der[2], der[3]]))),
    }
}

fn sequence(contents: &[u8]) -> Vec<u8> {
    let length = u16::try_from(contents.len()).unwrap().to_be_bytes();
    [&[0x30, 0x82], &length[..], contents].concat()
}

/// The same list as `openssl ca -gencrl` writes it without `crlnumber`: no version, no extensions.
fn of_version_1(list: &[u8]) -> Vec<u8> {
    let (outer, _) = element(list);
    let (header, length) = element(&list[outer..]);
    let (tbs, rest) = list[outer + header..].split_at(length);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tbs.len() {
        let (header, length) = element(&tbs[at..]);
        if !matches!(tbs[at], 0x02 | 0xa0) {
            kept.extend_from_slice(&tbs[at..at + header + length]);
        }
        at += header + length;
    }
    sequence(&[&sequence(&kept)[..], rest].concat())
}

#[test]
fn a_list_is_read_with_its_number_and_one_that_webpki_does_not_take_is_refused_with_the_reason() {
    let whole = der(None);
    let list = RevocationList::from_der(&whole).unwrap();
    assert_eq!(list.named(), "number 300 of 2023-11-14");
    assert!(list.is_overdue(SystemTime::now()) && !list.is_of_the_future(SystemTime::now()));

    let old = of_version_1(&whole);
    assert!(super::list(&old).is_some(), "x509-parser reads it");
    let error = RevocationList::from_der(&old).unwrap_err();
    assert!(error.starts_with("it is of version 1"), "{error}");

    let part = der(Some(CrlScope::UserCertsOnly));
    assert!(!RevocationList::from_der(&part).unwrap().replaces(&list));
    // onlyContainsUserCerts becomes indirectCRL (RFC 5280, section 5.2.5).
    let at = part.windows(3).position(|octets| octets == [0x81, 0x01, 0xff]).unwrap();
    let mut indirect = part;
    indirect[at] = 0x84;
    let error = RevocationList::from_der(&indirect).unwrap_err();
    assert!(error.starts_with("it is an indirect one"), "{error}");
    let pem = pem::encode(&pem::Pem::new(LABEL, indirect));
    let error = RevocationList::read(pem.as_bytes()).unwrap_err();
    assert!(error.starts_with("list 1 cannot be used: "), "{error}");
}

#[test]
fn numbers_are_compared_as_numbers() {
    let number = |text: &str| Number(text.to_owned());
    assert!(number("10") > number("9") && number("9") > number("") && number("300") == number("300"));
}
