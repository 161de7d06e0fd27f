//! Commands and files of docs/kubernetes.md.

use std::fs;
use std::path::Path;

pub(crate) fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The one fenced block of a kind that contains a text.
fn block(kind: &str, contains: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/kubernetes.md")).unwrap();
    let mut blocks = page.split("\n```").skip(1).step_by(2);
    let found = blocks.find_map(|block| {
        let (head, text) = block.split_once('\n')?;
        (head == kind && text.contains(contains)).then(|| text.to_owned())
    });
    found.unwrap_or_else(|| panic!("docs/kubernetes.md has no {kind} block with `{contains}`"))
}

/// The commands of the block that contains a text, as a script.
pub(crate) fn commands(contains: &str) -> String {
    let mut script = String::from("set -euo pipefail\n");
    for line in block("console", contains).lines() {
        script.push_str(line.strip_prefix("$ ").unwrap_or(line));
        script.push('\n');
    }
    script
}

/// The page's deployment file.
pub(crate) fn deployment() -> String {
    block("yaml", "nodes:")
}
