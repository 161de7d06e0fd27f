//! One module per command: its arguments, and a `run` that builds the parts and prints what they say.

mod accept;
pub(crate) mod algorithms;
#[cfg(feature = "full")]
pub(crate) mod ca;
pub(crate) mod check;
#[cfg(feature = "full")]
pub(crate) mod completions;
#[cfg(feature = "full")]
pub(crate) mod controller;
mod deployment_file;
#[cfg(feature = "full")]
pub(crate) mod doctor;
#[cfg(feature = "full")]
pub(crate) mod enrol;
mod exchange;
mod fetching;
#[cfg(feature = "full")]
pub(crate) mod guard;
#[cfg(feature = "full")]
pub(crate) mod init;
#[cfg(feature = "full")]
pub(crate) mod inspect;
#[cfg(feature = "full")]
pub(crate) mod ipsec;
#[cfg(feature = "full")]
pub(crate) mod ledger;
mod log;
#[cfg(feature = "full")]
pub(crate) mod macsec;
#[cfg(feature = "full")]
pub(crate) mod man;
pub(crate) mod pasted;
#[cfg(feature = "full")]
pub(crate) mod plan;
#[cfg(feature = "full")]
pub(crate) mod probe;
#[cfg(feature = "full")]
mod sarif;
#[cfg(feature = "full")]
pub(crate) mod schema;
mod severity;
pub(crate) mod sidecar;
mod watched;
#[cfg(feature = "webhook")]
pub(crate) mod webhook;

/// Prints a report as JSON or as text, and says whether all is well.
#[cfg(feature = "full")]
fn show(
    report: &impl serde::Serialize,
    json: bool,
    text: impl FnOnce() -> String,
    well: bool,
) -> Result<crate::Outcome, crate::Failure> {
    let text = match json {
        true => serde_json::to_string_pretty(report).map_err(crate::Failure::new)? + "\n",
        false => pasted::complete(&text()),
    };
    crate::output::print(&text)?;
    Ok(if well {
        crate::Outcome::Clean
    } else {
        crate::Outcome::Finding
    })
}

/// A line about what goes on, at the foot of the terminal; nothing where standard error is none.
#[cfg(feature = "full")]
fn spinner() -> indicatif::ProgressBar {
    if !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new_spinner();
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    bar
}

/// Binds an endpoint to the address of this option.
#[cfg(feature = "full")]
fn bind(option: &str, address: std::net::SocketAddr) -> Result<bartizan_server::Endpoint, crate::Failure> {
    bartizan_server::Endpoint::bind(address).map_err(|error| {
        crate::Failure::new(format!("{option} {address}: {error}")).hint("choose a free port of this host")
    })
}
