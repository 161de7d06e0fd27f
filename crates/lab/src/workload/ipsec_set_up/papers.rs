//! An authority of the trial and a certificate for either end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_ipsec::vici::Section;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};

use crate::workload::Error;

/// Names of the ends.
pub(super) const ENDS: [&str; 2] = ["initiator", "responder"];

/// What both charons are given.
pub(super) struct Papers {
    /// By which certificates and keys of several authorities are told apart.
    algorithm: String,
    /// Where everything of it is in files: `ca.crt.pem`, and `IDENTITY.crt.pem` and `IDENTITY.key.pem` of either end.
    folder: PathBuf,
    authority: Vec<u8>,
    /// Certificate and key, in PEM.
    ends: [(Vec<u8>, zeroize::Zeroizing<Vec<u8>>); 2],
}

impl Papers {
    pub(super) fn issue(folder: &Path, algorithm: &str) -> Result<Self, Error> {
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
            let leaf = Leaf::new(&name)?.dns(&name)?;
            authority.issue(&leaf, now)?.write_to(&folder, Overwrite::Replace)?;
            let certificate = read(format!("{name}.crt.pem"))?;
            Ok::<_, Error>((certificate, read(format!("{name}.key.pem"))?.into()))
        };
        let ends = [issue(ENDS[0])?, issue(ENDS[1])?];
        Ok(Self {
            algorithm: algorithm.to_owned(),
            folder: folder.clone(),
            authority: read("ca.crt.pem".to_owned())?,
            ends,
        })
    }

    /// What the end of this number is called in its certificate.
    pub(super) fn identity(&self, end: usize) -> String {
        format!("{}-{}", ENDS[end], self.algorithm)
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The authority's certificate, in PEM.
    pub(super) fn root(&self) -> &[u8] {
        &self.authority
    }

    /// Certificate and key of the end of this number, in PEM.
    pub(super) fn of(&self, end: usize) -> (&[u8], &[u8]) {
        let (certificate, key) = &self.ends[end];
        (certificate, key)
    }

    /// Commands that give the end of this number what it needs.
    pub(super) fn load(&self, end: usize) -> [(&'static str, Section); 3] {
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
