//! Certificates of the two ends of the link, by our own authority, one folder per mode.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_pki::{Authority, InitOptions, Leaf, Overwrite};

use crate::Error;
use crate::stand_in::proxies::Mode;

/// The node whose requests pass, and the one that answers.
pub(super) const CONSUMER: &str = "consumer";
pub(super) const PRODUCER: &str = "producer";
/// One that shares sidecars with them.
pub(super) const THIRD: &str = "third";
/// The name in the producer's certificate, which the consumer's side checks.
pub(super) const PRODUCER_NAME: &str = "producer.5gc";

/// Keys, certificates and revocation list of one mode.
#[derive(Debug)]
pub(crate) struct Papers {
    folder: PathBuf,
    pub(super) mode: Mode,
}

impl Papers {
    /// Makes an authority and has it issue.
    pub(crate) fn make(folder: &Path, mode: Mode) -> Result<Self, Error> {
        let folder = folder.join(mode.name());
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let papers = Self { folder, mode };
        let now = SystemTime::now();
        let mut authority = Authority::init(&papers.folder.join("ca"), InitOptions::new(mode.algorithm()), now)?;
        for node in [CONSUMER, PRODUCER, THIRD] {
            let leaf = Leaf::new(node)?.dns(&format!("{node}.5gc"))?;
            authority
                .issue(&leaf, now)?
                .write_to(&papers.folder, Overwrite::Replace)?;
            papers.write_combined(node)?;
        }
        let list = papers.revocations();
        fs::write(&list, authority.crl()?).map_err(Error::file(&list))?;
        Ok(papers)
    }

    /// Chain and key in one file, as HAProxy wants them.
    fn write_combined(&self, node: &str) -> Result<(), Error> {
        let read = |path: PathBuf| fs::read_to_string(&path).map_err(Error::file(&path));
        let both = read(self.certificate(node))? + &read(self.key(node))?;
        // The folder is the run's own and passes with it; the key inside is good for nothing else.
        fs::write(self.combined(node), both).map_err(Error::file(self.combined(node)))
    }

    pub(super) fn certificate(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.crt.pem"))
    }

    pub(super) fn key(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.key.pem"))
    }

    pub(super) fn combined(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.pem"))
    }

    pub(super) fn roots(&self) -> PathBuf {
        self.folder.join("ca.crt.pem")
    }

    pub(super) fn revocations(&self) -> PathBuf {
        self.folder.join("ca.crl.pem")
    }
}
