//! Programs of lab roots, for tests and workloads.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use bartizan_host::{Blueprint, Error, LabRoot, cache};

/// Time limit of a program that prints its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The newest TLS stacks that Debian sid has, for the page that says which of them reach a
/// sidecar. Their programs run by [`LabRoot::chroot`]. Its packages are unpacked, not configured.
///
/// # Errors
///
/// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where to keep it.
pub fn stacks() -> Result<Blueprint, Error> {
    const STACKS: &[&str] = &[
        "gnutls-bin",
        "golang-1.27-go",
        "libnss3-tools",
        "nodejs",
        "openjdk-27-jdk-headless",
        "openjdk-28-jdk-headless",
        "python3.15",
    ];
    Ok(Blueprint {
        suite: "sid",
        name: "stacks",
        version: 1,
        packages: &["ca-certificates", "openssl"],
        besides: STACKS,
        cache: cache()?,
    })
}

/// Versions and scripts of a root's programs.
pub trait RootPrograms {
    /// Writes a shell script that runs a program of the root as [`LabRoot::command`] does, for
    /// callers that start programs by their path alone.
    ///
    /// # Errors
    ///
    /// Those of [`LabRoot::command`], and where the file cannot be written.
    fn write_script(&self, program: &str, file: &Path) -> Result<(), Error>;

    /// The first line of what a program says about its version.
    ///
    /// # Errors
    ///
    /// When the root has no such program or it says nothing.
    fn version(&self, program: &str) -> Result<String, Error>;
}

impl RootPrograms for LabRoot {
    fn write_script(&self, program: &str, file: &Path) -> Result<(), Error> {
        let path = self.find(program)?;
        let (loader, libraries) = self.loader()?;
        let [loader, libraries, path] = [&loader, &libraries, &path].map(|path| path.display());
        let text = format!("#!/bin/sh\nexec {loader} --argv0 {program} --library-path {libraries} {path} \"$@\"\n");
        let failed = || Error::io(format!("writing {}", file.display()));
        fs::write(file, text).map_err(failed())?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(failed())
    }

    fn version(&self, program: &str) -> Result<String, Error> {
        let argument = match program {
            "openssl" => "version",
            "nginx" | "haproxy" => "-v",
            "stunnel4" => "-version",
            "ip" => "-V",
            _ => "--version",
        };
        let finished = self.command(program)?.argument(argument).run(VERSION_TIMEOUT)?;
        let text = [finished.stdout, finished.stderr]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .next()
            .map(|line| line.trim().to_owned())
            .ok_or_else(|| Error::LabRoot {
                place: self.directory().display().to_string(),
                reason: format!("`{program} {argument}` says nothing"),
            })
    }
}
