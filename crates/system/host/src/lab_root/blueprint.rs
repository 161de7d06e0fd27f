//! Contents and place of a lab root.

use std::path::PathBuf;

use super::LabRoot;

/// Contents and place of a lab root. `bartizan lab root` builds it.
#[derive(Debug, Clone)]
pub struct Blueprint {
    /// The release of Debian.
    pub suite: &'static str,
    /// Part of its folder's name: two roots of one suite have unlike names.
    pub name: &'static str,
    /// Version of our recipe.
    pub version: u32,
    /// Packages that are installed.
    pub packages: &'static [&'static str],
    /// Packages whose files are unpacked over the others', with what they depend on: for those that
    /// conflict with one of the others in Debian and share no file with it. They are not
    /// configured.
    pub besides: &'static [&'static str],
    /// The cache.
    pub cache: PathBuf,
}

impl Blueprint {
    /// Packages that it names, in the order of a stamp.
    pub fn asked(&self) -> impl Iterator<Item = &'static str> {
        self.packages.iter().chain(self.besides).copied()
    }

    /// Directory of the root, built or not.
    pub fn directory(&self) -> PathBuf {
        self.cache.join("roots").join(format!("{}-{}", self.name, self.version))
    }

    /// The root, when it is there and is what this blueprint says.
    pub fn present(&self) -> Option<LabRoot> {
        let root = LabRoot::read(&self.directory())?;
        let stamp = &root.stamp;
        let fits = stamp.suite == self.suite && stamp.version == self.version && stamp.asked.iter().eq(self.asked());
        fits.then_some(root)
    }
}
