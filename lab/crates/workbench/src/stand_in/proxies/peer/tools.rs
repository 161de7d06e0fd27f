//! Programs of a run, and hints how to get missing ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{LabRoot, Program};

use super::{Ends, Link, bartizan, envoy, ghostunnel, haproxy, nghttpx, nginx, program, stunnel};
use crate::Error;
use crate::stand_in::proxies::Proxy;

/// Time limit for a program to print its version.
const ANSWER: Duration = Duration::from_secs(20);

/// Path at which `scripts/peers` installs it. Each name has the version that was tested.
const ENVOY: &str = "peers/envoy-1.40.0/envoy";
const GHOSTUNNEL: &str = "peers/ghostunnel-1.8.4-1/ghostunnel";

/// Programs of a run.
#[derive(Debug, Clone)]
pub struct Tools {
    /// The laboratory's binary: the server behind every route.
    pub own: PathBuf,
    /// The `bartizan` whose sidecars and IKE engine are measured.
    pub sidecar: PathBuf,
    /// Another build that is measured in the same run.
    pub other: Option<PathBuf>,
    /// Programs of a newer Debian; absent when it was never built.
    pub root: Option<LabRoot>,
    /// Programs of Debian sid; absent when it was never built.
    pub sid: Option<LabRoot>,
    /// Envoy; absent when it is not there.
    pub envoy: Option<PathBuf>,
    /// Ghostunnel as `scripts/peers` builds it; absent when it is not there.
    pub ghostunnel: Option<PathBuf>,
}

/// A proxy that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The proxy.
    pub proxy: Proxy,
    /// Reason for its absence.
    pub reason: String,
    /// Hint how to get it.
    pub hint: String,
}

/// The `bartizan` next to the laboratory's binary; where there is none, that of PATH.
#[must_use]
pub fn product(own: &Path) -> PathBuf {
    const PROGRAM: &str = "bartizan";
    let sibling = own.with_file_name(PROGRAM);
    if sibling.is_file() {
        return sibling;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    found.find(|program| program.is_file()).unwrap_or(sibling)
}

impl Tools {
    /// Looks where `scripts/peers` and the lab roots are. `sidecar` is the `bartizan` that is
    /// measured; without it the one next to `own`, else that of PATH.
    ///
    /// # Errors
    /// Fails if the place of the cache is unknown, or the working directory is gone.
    pub fn find(own: PathBuf, sidecar: Option<&Path>) -> Result<Self, Error> {
        let cache = bartizan_host::cache()?;
        let there = |place: &str| Some(cache.join(place)).filter(|path| path.is_file());
        // Processes of a run are started elsewhere: a path must not depend on where this one was.
        let sidecar = sidecar.map(|path| std::path::absolute(path).map_err(Error::file(path)));
        let sidecar = sidecar.transpose()?;
        Ok(Self {
            sidecar: sidecar.unwrap_or_else(|| product(&own)),
            own,
            other: None,
            root: LabRoot::trixie()?.present(),
            sid: LabRoot::sid()?.present(),
            envoy: there(ENVOY),
            ghostunnel: there(GHOSTUNNEL),
        })
    }

    /// With another build of ours that is measured in the same run.
    ///
    /// # Errors
    /// Fails if the working directory is gone.
    pub fn with_other(mut self, other: Option<&Path>) -> Result<Self, Error> {
        let absolute = other.map(|path| std::path::absolute(path).map_err(Error::file(path)));
        self.other = absolute.transpose()?;
        Ok(self)
    }

    /// Reason why this proxy cannot be run; `None` if it can.
    #[must_use]
    pub fn missing(&self, proxy: Proxy) -> Option<Missing> {
        let missing = |reason: String, hint: &str| {
            Some(Missing {
                proxy,
                reason,
                hint: hint.to_owned(),
            })
        };
        const ROOTS: &str = "as root: bartizan lab root";
        let there = |path: &PathBuf| path.is_file();
        let (kind, root) = match proxy {
            Proxy::SpliceOther | Proxy::Http2Other if self.other.as_ref().is_some_and(there) => return None,
            Proxy::SpliceOther | Proxy::Http2Other => {
                let reason = match &self.other {
                    Some(path) => format!("there is no file {}", path.display()),
                    None => "no other build is given".to_owned(),
                };
                return missing(reason, "--compare-with takes another build of bartizan");
            }
            Proxy::Splice | Proxy::Http2 if self.sidecar.is_file() => return None,
            Proxy::Splice | Proxy::Http2 => {
                return missing(
                    format!("there is no file {}", self.sidecar.display()),
                    "--binary takes a bartizan, for example target/release/bartizan",
                );
            }
            Proxy::Envoy if self.envoy.is_some() => return None,
            Proxy::Envoy => return missing("there is no envoy".to_owned(), "from a checkout: scripts/peers envoy"),
            Proxy::Ghostunnel if self.ghostunnel.is_some() => return None,
            Proxy::Ghostunnel => {
                return missing(
                    "there is no ghostunnel".to_owned(),
                    "from a checkout: scripts/peers ghostunnel",
                );
            }
            Proxy::NginxHttp2 => ("nginx 1.30", &self.sid),
            Proxy::NginxStream | Proxy::NginxGrpc | Proxy::Haproxy | Proxy::Stunnel | Proxy::Nghttpx => {
                ("OpenSSL 3.5", &self.root)
            }
        };
        let Some(root) = root else {
            return missing(format!("there is no lab root with {kind}"), ROOTS);
        };
        let error = program(root, name_of(proxy)).err()?;
        let hint = format!("remove {}, then {ROOTS}", root.directory().display());
        missing(error.to_string(), &hint)
    }

    /// Name and version of the program of a proxy.
    pub(crate) fn version(&self, proxy: Proxy) -> Option<String> {
        let said = |path: &Path| Program::new(path).argument("--version").run(ANSWER).ok();
        match proxy {
            Proxy::Splice | Proxy::Http2 => Some(said(&self.sidecar)?.text().trim().to_owned()),
            Proxy::SpliceOther | Proxy::Http2Other => {
                let other = self.other.as_ref()?;
                Some(format!(
                    "other build: {} ({})",
                    said(other)?.text().trim(),
                    other.display()
                ))
            }
            Proxy::NginxStream | Proxy::NginxGrpc => package(self.root.as_ref()?, "nginx"),
            Proxy::NginxHttp2 => package(self.sid.as_ref()?, "nginx"),
            Proxy::Haproxy => package(self.root.as_ref()?, "haproxy"),
            Proxy::Stunnel => package(self.root.as_ref()?, "stunnel4"),
            Proxy::Nghttpx => package(self.root.as_ref()?, "nghttp2-proxy"),
            Proxy::Envoy => {
                // A line such as `/usr/bin/envoy  version: 9e55.../1.40.0/Clean/RELEASE/BoringSSL`.
                let text = said(self.envoy.as_ref()?)?.text();
                let version = text.lines().find_map(|line| line.split_once("version: "))?.1;
                Some(format!("envoy {}", version.trim()))
            }
            Proxy::Ghostunnel => {
                // A line such as `rev 1.8.4-edited-1 built with go1.27.3`, on standard error.
                let finished = said(self.ghostunnel.as_ref()?)?;
                let text = [finished.stdout, finished.stderr].concat();
                let text = String::from_utf8_lossy(&text);
                let version = text.lines().find_map(|line| line.strip_prefix("rev "))?;
                Some(format!("ghostunnel {}", version.trim()))
            }
        }
    }

    /// Writes the configuration of both ends and says how to start them.
    pub(in crate::stand_in::proxies) fn ends(&self, proxy: Proxy, link: &Link<'_>) -> Result<Ends, Error> {
        let there = |path: &Option<PathBuf>| {
            let missing = || Error::Configuration(format!("no {}", proxy.name()));
            path.clone().ok_or_else(missing)
        };
        match proxy {
            Proxy::Splice => bartizan::ends(&self.sidecar, link, "splice"),
            Proxy::Http2 => bartizan::ends(&self.sidecar, link, "http2"),
            Proxy::SpliceOther => bartizan::ends(&there(&self.other)?, link, "splice"),
            Proxy::Http2Other => bartizan::ends(&there(&self.other)?, link, "http2"),
            Proxy::NginxStream => nginx::stream(self.root()?, link),
            Proxy::NginxGrpc => nginx::grpc(self.root()?, link),
            Proxy::NginxHttp2 => {
                let root = self.sid.as_ref();
                nginx::http2(
                    root.ok_or_else(|| Error::Configuration("no lab root sid".to_owned()))?,
                    link,
                )
            }
            Proxy::Haproxy => haproxy::ends(self.root()?, link),
            Proxy::Stunnel => stunnel::ends(self.root()?, link),
            Proxy::Nghttpx => nghttpx::ends(self.root()?, link),
            Proxy::Envoy => envoy::ends(&there(&self.envoy)?, link),
            Proxy::Ghostunnel => ghostunnel::ends(&there(&self.ghostunnel)?, link),
        }
    }

    fn root(&self) -> Result<&LabRoot, Error> {
        self.root
            .as_ref()
            .ok_or_else(|| Error::Configuration("no lab root".to_owned()))
    }
}

fn name_of(proxy: Proxy) -> &'static str {
    match proxy {
        Proxy::Splice | Proxy::Http2 | Proxy::SpliceOther | Proxy::Http2Other => "bartizan",
        Proxy::NginxStream | Proxy::NginxGrpc | Proxy::NginxHttp2 => "nginx",
        Proxy::Haproxy => "haproxy",
        Proxy::Stunnel => "stunnel4",
        Proxy::Nghttpx => "nghttpx",
        Proxy::Envoy => "envoy",
        Proxy::Ghostunnel => "ghostunnel",
    }
}

fn package(root: &LabRoot, name: &str) -> Option<String> {
    let (_, version) = root.packages().find(|(package, _)| *package == name)?;
    Some(format!("{name} {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proxy_that_is_not_there_is_missing_with_a_hint_that_gets_it() {
        let tools = Tools {
            own: PathBuf::new(),
            sidecar: PathBuf::new(),
            other: None,
            root: None,
            sid: None,
            envoy: None,
            ghostunnel: None,
        };
        for proxy in Proxy::ALL {
            let missing = tools.missing(proxy).unwrap();
            let expected = match proxy {
                Proxy::Splice | Proxy::Http2 => "--binary",
                Proxy::Envoy | Proxy::Ghostunnel => "scripts/peers ",
                // Part of a lab root, which the binary builds itself.
                _ => "bartizan lab root",
            };
            assert!(missing.hint.contains(expected), "{missing:?}");
        }
    }

    #[test]
    fn the_script_that_fetches_peers_puts_them_where_they_are_looked_for() {
        let script = include_str!("../../../../../../../scripts/peers");
        let set = |name: &str| {
            let line = script.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
            line.unwrap_or_default().to_owned()
        };
        assert_eq!(ENVOY, format!("peers/envoy-{}/envoy", set("envoy")));
        let folder = format!("ghostunnel-{}-{}", set("ghostunnel"), set("edits"));
        assert_eq!(GHOSTUNNEL, format!("peers/{folder}/ghostunnel"));
    }
}
