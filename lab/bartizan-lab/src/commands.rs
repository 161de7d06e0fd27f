//! One module per command: its arguments, and a `run` that builds the parts and prints what they say.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod plan;

use std::path::PathBuf;

use bartizan_workbench::stand_in::proxies;

use crate::Failure;

/// The path of this program.
fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(format!("where this program lies: {error}")))
}

/// The `bartizan` next to this program, else that of PATH.
fn product() -> Result<PathBuf, Failure> {
    let program = proxies::product(&own()?);
    if program.is_file() {
        return Ok(program);
    }
    Err(Failure::new(format!("there is no file {}", program.display()))
        .hint("install the package bartizan, or in a checkout: make build"))
}
