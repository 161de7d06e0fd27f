//! Certificates of the nodes of a stage, by our own authority.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_deployment::{CertificateFiles, Deployment, Files};
use bartizan_pki::{Algorithm, Authority as Ca, InitOptions, Leaf, Overwrite};
use bartizan_tls::{Credentials, Endpoint, peers};

use super::Error;

/// Authority of the nodes' certificates, and its algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// ECDSA P-256 throughout, and X25519.
    Classical,
    /// Nodes with ML-DSA-65 and X25519MLKEM768, certified by an authority with ML-DSA-44.
    MlDsa44,
    /// The same by one with ML-DSA-65.
    MlDsa65,
    /// The same by one with ML-DSA-87.
    MlDsa87,
}

impl Authority {
    /// The post-quantum ones: levels of the factor `ca`.
    pub const LEVELS: [&'static str; 3] = ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"];

    /// The post-quantum one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87]
            .into_iter()
            .zip(Self::LEVELS)
            .find_map(|(authority, level)| (level == name).then_some(authority))
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::MlDsa44 => "ml-dsa-44",
            Self::MlDsa65 => "ml-dsa-65",
            Self::MlDsa87 => "ml-dsa-87",
        }
    }

    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Classical => Algorithm::EcdsaP256,
            Self::MlDsa44 => Algorithm::MlDsa44,
            Self::MlDsa65 => Algorithm::MlDsa65,
            Self::MlDsa87 => Algorithm::MlDsa87,
        }
    }

    const fn of_nodes(self) -> Algorithm {
        match self {
            Self::Classical => Algorithm::EcdsaP256,
            _ => Algorithm::MlDsa65,
        }
    }

    /// The policy of the deployment file: certificates are checked against a revocation list, which must be there.
    pub(super) fn policy(self, group: Option<&str>) -> String {
        let profile = match (self, group) {
            (Self::Classical, None) => "profile: classical, lab: true".to_owned(),
            (Self::Classical, Some(group)) => format!("profile: classical, lab: true, groups: [{group}]"),
            (_, None) => "profile: hybrid".to_owned(),
            (_, Some(group)) => {
                format!("profile: classical, lab: true, groups: [{group}], signatures: [mldsa65]")
            }
        };
        let chain = match self {
            Self::Classical => "",
            Self::MlDsa44 => ", chain-signatures: [mldsa44]",
            Self::MlDsa65 => ", chain-signatures: [mldsa65]",
            Self::MlDsa87 => ", chain-signatures: [mldsa87]",
        };
        format!("{{ {profile}{chain}, revocation: require }}")
    }

    /// The group as OpenSSL calls it.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::Classical => "X25519",
            _ => "X25519MLKEM768",
        }
    }
}

/// Keys, certificates and revocation list of the nodes of a stage.
#[derive(Debug, Clone)]
pub struct Papers {
    folder: PathBuf,
    /// The issuing authority.
    pub authority: Authority,
}

impl Papers {
    /// Makes an authority in a folder of its own within `folder`, and has it certify these nodes, each as `NODE.5gc`.
    ///
    /// # Errors
    /// Fails if files cannot be written.
    pub fn make(folder: &Path, authority: Authority, nodes: &[&str]) -> Result<Self, Error> {
        let folder = folder.join(authority.folder());
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let now = SystemTime::now();
        let mut ca = Ca::init(&folder.join("ca"), InitOptions::new(authority.algorithm()), now)?;
        for node in nodes {
            let leaf = Leaf::new(node)?
                .dns(&format!("{node}.5gc"))?
                .algorithm(authority.of_nodes());
            ca.issue(&leaf, now)?.write_to(&folder, Overwrite::Replace)?;
        }
        let papers = Self { folder, authority };
        let list = papers.revocations();
        fs::write(&list, ca.crl()?).map_err(Error::file(&list))?;
        Ok(papers)
    }

    /// A node's chain.
    #[must_use]
    pub fn certificate(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.crt.pem"))
    }

    /// A node's key.
    #[must_use]
    pub fn key(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.key.pem"))
    }

    /// The root.
    #[must_use]
    pub fn roots(&self) -> PathBuf {
        self.folder.join("ca.crt.pem")
    }

    fn revocations(&self) -> PathBuf {
        self.folder.join("ca.crl.pem")
    }

    /// The beginning of a deployment file: policy, with one group alone if that is wanted, and trust.
    pub(crate) fn preamble(&self, group: Option<&str>) -> String {
        format!(
            "policy: {}\ntrust: {{ roots: \"{}\", crl: \"{}\" }}\n",
            self.authority.policy(group),
            self.roots().display(),
            self.revocations().display()
        )
    }

    /// The lines of a node that name its files.
    pub(crate) fn files(&self, node: &str) -> String {
        format!(
            "certificate: \"{}\", key: \"{}\"",
            self.certificate(node).display(),
            self.key(node).display()
        )
    }

    /// Endpoint shared by the handshakes of a node of this deployment file.
    ///
    /// # Errors
    /// Fails if the file or the credentials are refused.
    pub fn endpoint(&self, deployment: &str, node: &str) -> Result<Endpoint, Error> {
        let parsed = Deployment::parse(deployment, "lab", &self.folder);
        let parsed = parsed.map_err(|error| Error::Configuration(error.to_string()))?;
        let files = Files {
            certificates: vec![CertificateFiles {
                certificate: self.certificate(node),
                key: self.key(node),
            }],
            roots: self.roots(),
            crl: Some(self.revocations()),
            crl_url: None,
            known_lists: None,
        };
        Ok(Endpoint::new(Credentials::load(&files)?, peers(&parsed, node))?)
    }
}
