//! The file that says what a lab root is; a directory without it is not finished.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Its name in the root.
const FILE: &str = "bartizan-root.json";

/// The request for a root, and its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stamp {
    pub(super) suite: String,
    /// Version of our recipe, not of Debian.
    pub(super) version: u32,
    /// Packages that were asked for by name, sorted.
    pub(super) asked: Vec<String>,
    /// Mirror of the packages; `None` is the default of debootstrap.
    pub(super) mirror: Option<String>,
    /// All packages, each with its version.
    packages: BTreeMap<String, String>,
}

impl Stamp {
    pub(super) fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.packages
            .iter()
            .map(|(name, version)| (name.as_str(), version.as_str()))
    }

    /// The stamp in a root; `None` when there is none that can be read.
    pub(super) fn read(root: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(root.join(FILE)).ok()?).ok()
    }

    /// Writes the stamp of a root that has just been unpacked, from what its package manager says
    /// and what was unpacked besides; durable before it returns.
    pub(super) fn write(
        root: &Path,
        suite: &str,
        version: u32,
        asked: &[&str],
        besides: BTreeMap<String, String>,
        mirror: Option<String>,
    ) -> Result<Self, Error> {
        let unusable = |reason: String| Error::LabRoot {
            place: root.display().to_string(),
            reason,
        };
        let status = fs::read_to_string(root.join("var/lib/dpkg/status"))
            .map_err(|error| unusable(format!("its package list cannot be read: {error}")))?;
        let mut packages = installed(&status);
        packages.extend(besides);
        if let Some(missing) = asked.iter().find(|name| !packages.contains_key(**name)) {
            return Err(unusable(format!("the package {missing} is not installed in it")));
        }
        let asked = asked.iter().copied().map(str::to_owned).collect();
        let stamp = Self {
            suite: suite.to_owned(),
            version,
            asked,
            mirror,
            packages,
        };
        let text = serde_json::to_string_pretty(&stamp).map_err(|error| unusable(error.to_string()))?;
        let path = root.join(FILE);
        let mut file = File::create(&path).map_err(Error::io(format!("writing {}", path.display())))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Error::io(format!("writing {}", path.display())))?;
        Ok(stamp)
    }
}

/// Packages that `/var/lib/dpkg/status` calls installed, with their versions.
fn installed(status: &str) -> BTreeMap<String, String> {
    status
        .split("\n\n")
        .filter_map(|paragraph| {
            let field = |name: &str| {
                paragraph
                    .lines()
                    .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()))
            };
            (field("Status")? == "install ok installed").then_some(())?;
            Some((field("Package")?, field("Version")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATUS: &str = "Package: openssl\nStatus: install ok installed\nVersion: 3.5.7-1\nDescription: tools\n \
        Package: not-this\n\nPackage: half\nStatus: install ok half-configured\nVersion: 1\n";

    #[test]
    fn only_fully_installed_packages_count() {
        let packages = installed(STATUS);
        assert_eq!(
            packages.into_iter().collect::<Vec<_>>(),
            [("openssl".to_owned(), "3.5.7-1".to_owned())]
        );
    }

    #[test]
    fn stamp_is_refused_when_a_package_that_was_asked_for_is_missing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("var/lib/dpkg")).unwrap();
        fs::write(root.path().join("var/lib/dpkg/status"), STATUS).unwrap();
        let error = Stamp::write(root.path(), "trixie", 1, &["openssl", "half"], BTreeMap::new(), None).unwrap_err();
        assert!(
            error.to_string().ends_with("the package half is not installed in it"),
            "{error}"
        );
        assert_eq!(Stamp::read(root.path()), None);
        let besides = BTreeMap::from([("libreswan".to_owned(), "5.2-2.5".to_owned())]);
        let stamp = Stamp::write(root.path(), "trixie", 1, &["openssl", "libreswan"], besides, None).unwrap();
        assert!(stamp.packages().eq([("libreswan", "5.2-2.5"), ("openssl", "3.5.7-1")]));
        assert_eq!(Stamp::read(root.path()), Some(stamp));
    }

    proptest! {
        #[test]
        fn no_status_file_makes_the_reader_panic(status: String) {
            installed(&status);
        }
    }
}
