//! The webhook's own certificate, read again where its files have changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bartizan_registry::{Safety, signature};
use bartizan_tls::AdmissionServer;
use tokio_rustls::rustls::ServerConfig;

use crate::Failure;

/// The two files and what was read of them.
pub(super) struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    server: AdmissionServer,
    /// The files as they were when they were last read well.
    files: [Option<Stamp>; 2],
    /// Why they could not be read since; logged once.
    failed: Option<String>,
}

/// By which a file is known to be another: volumes of Secrets are replaced by links, so its inode is too.
type Stamp = (u64, u64, i64, i64);

impl Identity {
    pub(super) fn load(certificate: PathBuf, key: PathBuf) -> Result<Self, Failure> {
        let files = [stamp(&certificate), stamp(&key)];
        let server = AdmissionServer::load(&certificate, &key)
            .map_err(|error| Failure::usage(&error).with_hints(error.hint()))?;
        announce(&server);
        Ok(Self {
            certificate,
            key,
            current: Mutex::new(Current {
                server,
                files,
                failed: None,
            }),
        })
    }

    /// For a connection.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .server
            .config()
    }

    /// Why no API server can take the certificate any more.
    pub(super) fn flaw(&self, now: SystemTime) -> Option<&'static str> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        (current.server.not_after() <= now).then_some("the certificate has ended")
    }

    /// Reads files that have changed, each time until it succeeds: the cause may end without
    /// another change. One that is half written leaves what was there, and is logged.
    pub(super) fn refresh(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let files = [stamp(&self.certificate), stamp(&self.key)];
        if files == current.files {
            return;
        }
        match AdmissionServer::load(&self.certificate, &self.key) {
            Ok(server) => {
                (current.files, current.failed) = (files, None);
                if !server.shows_the_same_as(&current.server) {
                    announce(&server);
                    current.server = server;
                }
            }
            Err(error) => {
                let cause = error.to_string();
                if current.failed.as_ref() != Some(&cause) {
                    let hint = error.hint().unwrap_or_default();
                    tracing::error!(%error, hint, "the changed certificate cannot be used: the one before is kept");
                    current.failed = Some(cause);
                }
            }
        }
    }
}

fn announce(server: &AdmissionServer) {
    let scheme = server.scheme();
    tracing::info!(%scheme, "certificate");
    if signature(scheme).is_some_and(|known| known.forgery == Safety::QuantumSafe) {
        tracing::warn!(
            hint = "issue an ECDSA certificate for the webhook: `bartizan ca init --algorithm ecdsa-p256` in a folder of its own",
            "an API server built with Go 1.26 or earlier verifies no ML-DSA, and refuses this certificate"
        );
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt as _;

    use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf};

    use super::*;

    /// A failure whose cause ended without another change of the files, as a full table of
    /// descriptors does, kept the certificate of before until it ended.
    #[test]
    fn a_changed_certificate_that_could_not_be_read_is_read_again() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let options = InitOptions::new(Algorithm::EcdsaP256);
        let mut authority = Authority::init(&folder.path().join("ca"), options, now).unwrap();
        let [certificate, key] = ["tls.crt", "tls.key"].map(|name| folder.path().join(name));
        let write = |file: &Path, text: &str, at: SystemTime| {
            fs::write(file, text).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
            File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_modified(at)
                .unwrap();
        };
        let mut issue = || {
            let leaf = Leaf::new("webhook").unwrap().dns("webhook.test").unwrap();
            let issued = authority.issue(&leaf, now).unwrap();
            (issued.chain_pem(), issued.key_pem().unwrap())
        };
        let (chain, private) = issue();
        write(&certificate, &chain, now);
        write(&key, &private, now);
        let later = now + std::time::Duration::from_secs(1);
        let identity = Identity::load(certificate.clone(), key.clone()).unwrap();
        let (chain, private) = issue();
        write(&certificate, &chain, later);
        write(&key, &"-".repeat(private.len()), later);
        identity.refresh();
        let is_new = || {
            let new = AdmissionServer::load(&certificate, &key).unwrap();
            identity.current.lock().unwrap().server.shows_the_same_as(&new)
        };
        // The same stamp: nothing but another attempt finds it.
        let before = [stamp(&certificate), stamp(&key)];
        write(&key, &private, later);
        assert_eq!([stamp(&certificate), stamp(&key)], before);
        assert!(!is_new());
        identity.refresh();
        assert!(is_new());
    }
}
