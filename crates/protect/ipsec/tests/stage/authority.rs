//! A certificate authority of this test: ECDSA, what released strongSwan can verify.

use bartizan_ipsec::vici::Section;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, "stage CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        Self { issuer }
    }

    /// `load-cert` of its own certificate.
    pub(crate) fn load(&self) -> Section {
        certificate("CA", self.issuer.der())
    }

    /// `load-cert` and `load-key` of a fresh certificate for `NAME.test`.
    pub(crate) fn issue(&self, name: &str) -> (Section, Section) {
        let mut params = CertificateParams::new([format!("{name}.test")]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let leaf = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = Section::new().with("type", "any").with("data", key.serialize_der());
        (certificate("NONE", leaf.der()), key)
    }
}

fn certificate(flag: &str, der: &[u8]) -> Section {
    Section::new().with("type", "X509").with("flag", flag).with("data", der)
}
