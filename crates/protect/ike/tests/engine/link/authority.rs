//! Certificates for ends, of every kind of key that signs.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_ED25519,
    PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_ML_DSA_87, PKCS_RSA_SHA256, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// Kinds of keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Algorithm {
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    Ed25519,
    MlDsa44,
    MlDsa65,
    MlDsa87,
    Rsa,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 8] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Ed25519,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
        Self::Rsa,
    ];

    fn generate(self) -> KeyPair {
        let algorithm = match self {
            Self::EcdsaP256 => &PKCS_ECDSA_P256_SHA256,
            Self::EcdsaP384 => &PKCS_ECDSA_P384_SHA384,
            Self::EcdsaP521 => &PKCS_ECDSA_P521_SHA512,
            Self::Ed25519 => &PKCS_ED25519,
            Self::MlDsa44 => &PKCS_ML_DSA_44,
            Self::MlDsa65 => &PKCS_ML_DSA_65,
            Self::MlDsa87 => &PKCS_ML_DSA_87,
            Self::Rsa => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
                let document = pair.as_der().expect("PKCS#8");
                let document = document.as_ref().to_vec();
                let document = rustls_pki_types::PrivatePkcs8KeyDer::from(document);
                return KeyPair::from_pkcs8_der_and_sign_algo(&document, &PKCS_RSA_SHA256).expect("a key");
            }
        };
        KeyPair::generate_for(algorithm).expect("a key")
    }
}

/// An authority that issues certificates of its own kind.
pub(crate) struct Authority {
    algorithm: Algorithm,
    issuer: Issuer<'static, KeyPair>,
    certificate: Vec<u8>,
}

impl Authority {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let key = algorithm.generate();
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "engine test CA");
        let certificate = params.self_signed(&key).expect("a certificate").der().to_vec();
        Self {
            algorithm,
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// The holder of a certificate of this authority that signs others, as an authority that the
    /// certificate says it is, or is not.
    pub(crate) fn below(&self, algorithm: Algorithm, is_ca: bool) -> Self {
        let key = algorithm.generate();
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params
            .distinguished_name
            .push(DnType::CommonName, "below the engine test CA");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Self {
            algorithm,
            certificate: certificate.der().to_vec(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Another certificate of the same key and name, which ends with this year.
    pub(crate) fn certificate_until(&self, year: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "engine test CA");
        params.not_after = date_time_ymd(year, 12, 31);
        params
            .self_signed(self.issuer.key())
            .expect("a certificate")
            .der()
            .to_vec()
    }

    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.certificate.clone()
    }

    /// A list with the certificates of these names on it, in DER, due to be replaced in a year that
    /// is far away or long gone.
    pub(crate) fn list(&self, revoked: &[&str], due: i32) -> Vec<u8> {
        let entry = |name: &&str| RevokedCertParams {
            serial_number: SerialNumber::from_slice(name.as_bytes()),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(due, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).expect("a list").der().to_vec()
    }

    /// Certificate and PKCS#8 key of an end with this DNS name, in DER.
    pub(crate) fn issue(&self, name: &str) -> (Vec<u8>, Vec<u8>) {
        let key = self.algorithm.generate();
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        // Serial number by which a list names it.
        params.serial_number = Some(SerialNumber::from_slice(name.as_bytes()));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 17])];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.der().to_vec(), key.serialize_der())
    }
}
