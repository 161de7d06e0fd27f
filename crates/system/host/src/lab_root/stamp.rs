//! The file that says what a lab root is; a directory without it is not finished.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The request for a root, and its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootStamp {
    /// The release of Debian.
    pub suite: String,
    /// Version of our recipe, not of Debian.
    pub version: u32,
    /// Packages that were asked for by name, sorted.
    pub asked: Vec<String>,
    /// Mirror of the packages; `None` is the default of debootstrap.
    pub mirror: Option<String>,
    /// All packages, each with its version.
    pub packages: BTreeMap<String, String>,
}

impl RootStamp {
    /// Its name in the root.
    pub const FILE: &str = "bartizan-root.json";

    /// The stamp in a root; `None` when there is none that can be read.
    pub(super) fn read(root: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(root.join(Self::FILE)).ok()?).ok()
    }
}
