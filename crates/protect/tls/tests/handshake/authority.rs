//! Certificates for tests, made by rcgen: right ones and every kind of wrong one.

use std::net::IpAddr;

use bartizan_tls::Credentials;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber,
    SignatureAlgorithm,
};
use time::{Duration, OffsetDateTime};

/// A root, or an intermediate under one.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    algorithm: &'static SignatureAlgorithm,
    root: String,
    /// Certificates that follow the leaf in its file.
    above: String,
}

/// A leaf and its key.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) serial: SerialNumber,
}

/// Contents of a leaf to be issued.
pub(crate) struct Wanted {
    pub(crate) names: Vec<SanType>,
    pub(crate) algorithm: Option<&'static SignatureAlgorithm>,
    pub(crate) not_before: OffsetDateTime,
    pub(crate) not_after: OffsetDateTime,
    pub(crate) usages: Vec<KeyUsagePurpose>,
    pub(crate) purposes: Vec<ExtendedKeyUsagePurpose>,
}

pub(crate) fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

pub(crate) fn ip(address: &str) -> SanType {
    SanType::IpAddress(address.parse::<IpAddr>().unwrap())
}

pub(crate) fn uri(uri: &str) -> SanType {
    SanType::URI(uri.try_into().unwrap())
}

impl Wanted {
    pub(crate) fn named(names: impl IntoIterator<Item = SanType>) -> Self {
        let now = OffsetDateTime::now_utc();
        Self {
            names: names.into_iter().collect(),
            algorithm: None,
            not_before: now - Duration::days(1),
            not_after: now + Duration::days(365 * 20),
            usages: vec![KeyUsagePurpose::DigitalSignature],
            purposes: vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        }
    }
}

impl Authority {
    pub(crate) fn root(name: &str, algorithm: &'static SignatureAlgorithm) -> Self {
        Self::root_until(name, algorithm, OffsetDateTime::now_utc() + Duration::days(365 * 30))
    }

    pub(crate) fn root_until(name: &str, algorithm: &'static SignatureAlgorithm, not_after: OffsetDateTime) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let issuer = CertifiedIssuer::self_signed(authority(name, not_after), key).unwrap();
        Self {
            root: issuer.pem(),
            issuer,
            algorithm,
            above: String::new(),
        }
    }

    pub(crate) fn intermediate(&self, name: &str, algorithm: &'static SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let not_after = OffsetDateTime::now_utc() + Duration::days(365 * 25);
        let issuer = CertifiedIssuer::signed_by(authority(name, not_after), key, &self.issuer).unwrap();
        Self {
            root: self.root.clone(),
            above: issuer.pem() + &self.above,
            issuer,
            algorithm,
        }
    }

    pub(crate) fn issue(&self, wanted: Wanted) -> Issued {
        let key = KeyPair::generate_for(wanted.algorithm.unwrap_or(self.algorithm)).unwrap();
        self.issue_for(wanted, key)
    }

    /// Another certificate for the key of one; rcgen cannot read ML-DSA keys.
    pub(crate) fn reissue(&self, wanted: Wanted, of: &Issued) -> Issued {
        self.issue_for(wanted, KeyPair::from_pem(&of.key).unwrap())
    }

    fn issue_for(&self, wanted: Wanted, key: KeyPair) -> Issued {
        let mut serial = [0; 16];
        aws_lc_rs::rand::fill(&mut serial).unwrap();
        serial[0] = 0x10 | serial[0] & 0x0f;
        let serial = SerialNumber::from_slice(&serial);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.subject_alt_names = wanted.names;
        params.not_before = wanted.not_before;
        params.not_after = wanted.not_after;
        params.key_usages = wanted.usages;
        params.extended_key_usages = wanted.purposes;
        params.serial_number = Some(serial.clone());
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        Issued {
            certificate: leaf.pem() + &self.above,
            key: key.serialize_pem(),
            serial,
        }
    }

    pub(crate) fn list(&self, revoked: &[&Issued], next_update: OffsetDateTime) -> String {
        let now = OffsetDateTime::now_utc();
        CertificateRevocationListParams {
            this_update: now - Duration::hours(1),
            next_update,
            crl_number: SerialNumber::from_slice(&[1]),
            issuing_distribution_point: None,
            revoked_certs: revoked
                .iter()
                .map(|issued| RevokedCertParams {
                    serial_number: issued.serial.clone(),
                    revocation_time: now - Duration::hours(1),
                    reason_code: None,
                    invalidity_date: None,
                })
                .collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        }
        .signed_by(&self.issuer)
        .unwrap()
        .pem()
        .unwrap()
    }

    /// The root's certificate, PEM.
    pub(crate) fn trusted(&self) -> &str {
        &self.root
    }

    /// Credentials of a node of this authority with these names.
    pub(crate) fn node(&self, name: &str) -> Credentials {
        self.credentials(&self.issue(Wanted::named([dns(name)])), None)
    }

    pub(crate) fn credentials(&self, issued: &Issued, crl: Option<&str>) -> Credentials {
        let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
        Credentials::from_pem(certificate, key, self.root.as_bytes(), crl.map(str::as_bytes)).unwrap()
    }
}

fn authority(name: &str, not_after: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = OffsetDateTime::now_utc() - Duration::days(365);
    params.not_after = not_after;
    params.use_authority_key_identifier_extension = true;
    params
}
