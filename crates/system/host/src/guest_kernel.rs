//! Debian's kernel for guests, under the cache.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, cache};

/// A kernel that is to be fetched, and where it belongs.
#[derive(Debug, Clone)]
pub struct KernelBlueprint {
    directory: PathBuf,
}

bartizan_registry::made! {
    /// A kernel that is there.
    #[derive(Debug, Clone)]
    pub struct KernelPackage,
    /// The kernel in a directory; `None` without a stamp that can be read.
    #[must_use]
    pub read(directory: &Path) -> Option<Self> {
        let stamp = serde_json::from_slice(&fs::read(directory.join(KernelStamp::FILE)).ok()?).ok()?;
        directory: PathBuf = directory.to_owned(),
        stamp: KernelStamp,
    }
}

/// The release of a kernel and its packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelStamp {
    /// As `uname -r` prints it.
    pub release: String,
    /// File names of the packages, which have their versions.
    pub packages: Vec<String>,
}

impl KernelStamp {
    /// The file that says what is there; a directory without it is not finished.
    pub const FILE: &str = "bartizan-kernel.json";
}

impl KernelBlueprint {
    /// The newest kernel of Debian 13, for x86-64.
    ///
    /// # Errors
    ///
    /// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where to keep it;
    /// [`Error::Unfit`] on other processors than x86-64.
    pub fn debian() -> Result<Self, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Unfit {
                what: "the kernel of a guest".to_owned(),
                reason: format!("there is none for {}, only for x86_64", std::env::consts::ARCH),
            });
        }
        // The number is the version of our recipe.
        Ok(Self {
            directory: cache()?.join("kernels/debian-1"),
        })
    }

    /// Directory of the kernel, fetched or not.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The kernel, when it is there.
    pub fn present(&self) -> Option<KernelPackage> {
        KernelPackage::read(&self.directory)
    }
}

impl KernelPackage {
    /// The release, as `uname -r` prints it.
    pub fn release(&self) -> &str {
        &self.stamp.release
    }

    /// File names of the packages that were fetched; they have their versions.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.stamp.packages.iter().map(String::as_str)
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
