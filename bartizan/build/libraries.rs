//! Versions of the libraries that take time in what is measured, as Cargo.lock has them.

/// Cryptography, TLS and HTTP/2.
const MATTER: [&str; 7] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "h2",
    "rustls",
    "rustls-webpki",
    "tokio",
    "tokio-rustls",
];

/// `name version` of each, in the order of the lock file.
pub(crate) fn versions(lock: &str) -> Vec<String> {
    let mut versions = Vec::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"')) else {
            continue;
        };
        let version = lines
            .next()
            .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
        if let Some(version) = version.filter(|_| MATTER.contains(&name)) {
            versions.push(format!("{name} {version}"));
        }
    }
    versions
}
