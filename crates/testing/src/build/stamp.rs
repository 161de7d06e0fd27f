//! The stamp of a root that has just been unpacked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use bartizan_host::{Blueprint, Error, RootStamp};

/// Writes the stamp of a root that has just been unpacked, from what its package manager says
/// and what was unpacked besides; durable before it returns.
pub(super) fn stamp(
    root: &Path,
    blueprint: &Blueprint,
    besides: BTreeMap<String, String>,
    mirror: Option<String>,
) -> Result<(), Error> {
    let unusable = |reason: String| Error::LabRoot {
        place: root.display().to_string(),
        reason,
    };
    let status = fs::read_to_string(root.join("var/lib/dpkg/status"))
        .map_err(|error| unusable(format!("its package list cannot be read: {error}")))?;
    let mut packages = installed(&status);
    packages.extend(besides);
    if let Some(missing) = blueprint.asked().find(|name| !packages.contains_key(*name)) {
        return Err(unusable(format!("the package {missing} is not installed in it")));
    }
    let stamp = RootStamp {
        suite: blueprint.suite.to_owned(),
        version: blueprint.version,
        asked: blueprint.asked().map(str::to_owned).collect(),
        mirror,
        packages,
    };
    let text = serde_json::to_string_pretty(&stamp).map_err(|error| unusable(error.to_string()))?;
    let path = root.join(RootStamp::FILE);
    let mut file = File::create(&path).map_err(Error::io(format!("writing {}", path.display())))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(Error::io(format!("writing {}", path.display())))
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
mod tests;
