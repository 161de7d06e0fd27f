//! The programs that scripts/kubernetes builds.

use std::path::PathBuf;

/// As in scripts/kubernetes.
const NAME: &str = "kubernetes-1.36.3-2";

pub(crate) fn folder() -> PathBuf {
    let folder = bartizan_host::cache()
        .expect("a cache directory")
        .join("kubernetes")
        .join(NAME);
    assert!(
        folder.join("kube-apiserver").is_file(),
        "{} is not there: `make test-kubernetes` builds it",
        folder.display()
    );
    folder
}

/// `PATH` with them, and with the binary under test, in front.
pub(crate) fn path() -> String {
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_bartizan"));
    format!(
        "{}:{}:{}",
        folder().display(),
        ours.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    )
}
