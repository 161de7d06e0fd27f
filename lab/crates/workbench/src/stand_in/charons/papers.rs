//! An authority of the trial and a certificate for either end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_ipsec::vici::Section;
use bartizan_pki::{Algorithm, Authority, Certificate, InitOptions, Leaf, Overwrite, PrivateKey, Profile};

use crate::Error;

/// Certificates and keys of both charons.
pub(crate) struct Papers {
    /// Algorithm of all keys and signatures.
    algorithm: Algorithm,
    /// Folder with `NAME.crt.pem`, `NAME.key.pem` and `ca.crt.pem`.
    folder: PathBuf,
    /// Names in the ends' certificates; unique across authorities.
    names: [String; 2],
    authority: Vec<u8>,
    /// Certificate and key, in PEM.
    ends: [(Vec<u8>, zeroize::Zeroizing<Vec<u8>>); 2],
}

impl Papers {
    /// A new authority in the folder, and a certificate of this profile for each end.
    pub(crate) fn issue(folder: &Path, algorithm: &str, ends: [&str; 2], profile: Profile) -> Result<Self, Error> {
        let kind = Algorithm::ALL.into_iter().find(|one| one.name() == algorithm);
        let kind = kind.ok_or_else(|| Error::Configuration(format!("`{algorithm}` is not known here")))?;
        let folder = folder.join(format!("papers-{algorithm}"));
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let now = SystemTime::now();
        let mut authority = Authority::init(&folder.join("ca"), InitOptions::new(kind), now)?;
        let read = |name: String| {
            let path = folder.join(name);
            fs::read(&path).map_err(Error::file(path))
        };
        let mut issue = |end: &str| {
            let name = format!("{end}-{algorithm}");
            let leaf = Leaf::new(&name)?.dns(&name)?.profile(profile).algorithm(kind);
            authority.issue(&leaf, now)?.write_to(&folder, Overwrite::Replace)?;
            let certificate = read(format!("{name}.crt.pem"))?;
            Ok::<_, Error>((certificate, read(format!("{name}.key.pem"))?.into()))
        };
        let names = ends.map(|end| format!("{end}-{algorithm}"));
        let ends = [issue(ends[0])?, issue(ends[1])?];
        let authority = read("ca.crt.pem".to_owned())?;
        Ok(Self {
            algorithm: kind,
            folder,
            names,
            authority,
            ends,
        })
    }

    /// Name in the certificate of this end.
    pub(crate) fn identity(&self, end: usize) -> &str {
        &self.names[end]
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The authority's certificate, in PEM.
    pub(crate) fn root(&self) -> &[u8] {
        &self.authority
    }

    /// Certificate and key of the end of this number, in PEM.
    pub(crate) fn of(&self, end: usize) -> (&[u8], &[u8]) {
        let (certificate, key) = &self.ends[end];
        (certificate, key)
    }

    /// Certificate of the end of this number, and of the authority, in DER.
    pub(crate) fn der(&self, end: usize) -> Result<[Vec<u8>; 2], Error> {
        let read = |text: &[u8], name: &str| Certificate::from_pem(text, name).map(|read| read.der().to_vec());
        Ok([read(&self.ends[end].0, &self.names[end])?, read(&self.authority, "ca")?])
    }

    /// The signature that both ends prove who they are by, as policies name it.
    pub(crate) fn signature(&self) -> &'static str {
        match self.algorithm {
            Algorithm::EcdsaP256 => "ecdsa_secp256r1_sha256",
            Algorithm::EcdsaP384 => "ecdsa_secp384r1_sha384",
            other => other.name(),
        }
    }

    /// Contents of the VICI messages of [`Self::load`] in DER, for Bartizan's engine.
    pub(crate) fn load_der(&self, end: usize) -> Result<[(&'static str, Section); 3], Error> {
        let certificate = |data: Vec<u8>| ("load-cert", Section::new().with("type", "X509").with("data", data));
        let [own, authority] = self.der(end)?;
        let key = PrivateKey::from_pem(&self.ends[end].1, None)?;
        let key = Section::new().with("type", "any").with("data", key.to_pkcs8());
        Ok([certificate(authority), certificate(own), ("load-key", key)])
    }

    /// Commands that give the end of this number what it needs.
    pub(crate) fn load(&self, end: usize) -> [(&'static str, Section); 3] {
        let certificate = |flag: &str, data: &[u8]| {
            let section = Section::new()
                .with("type", "X509")
                .with("flag", flag)
                .with("data", data);
            ("load-cert", section)
        };
        let (own, key) = &self.ends[end];
        [
            certificate("CA", &self.authority),
            certificate("NONE", own),
            ("load-key", Section::new().with("type", "any").with("data", key)),
        ]
    }
}
