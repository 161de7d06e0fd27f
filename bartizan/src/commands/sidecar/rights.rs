//! Giving up rights between opening the ports and serving.

use bartizan_confine::{self as confine, Confinement, Outcome, User};
use bartizan_deployment::Files;
use bartizan_tls::Credentials;

use crate::Failure;

/// The user to become.
pub(super) fn user(name: &str) -> Result<User, Failure> {
    User::find(name).map_err(|error| {
        Failure::usage(format!("--user {name}: {error}")).hint(
            "`useradd --system --shell /usr/sbin/nologin bartizan` makes one; numbers, ID:GROUP, work without an entry",
        )
    })
}

/// Gives up everything but what is to be kept, and logs every step; without it, warns.
pub(super) fn give_up(kept: Option<&Confinement>, files: &Files) -> Result<(), Failure> {
    let Some(kept) = kept else {
        tracing::warn!(
            hint = "leave --no-confine out, unless something else confines it",
            "keeps every right it was started with"
        );
        return Ok(());
    };
    let report = confine::apply(kept);
    for step in &report.steps {
        let (name, outcome, detail) = (step.name, step.outcome.word(), step.outcome.detail());
        match step.outcome {
            Outcome::Done(_) => tracing::info!(step = name, detail, "confined"),
            _ => tracing::warn!(step = name, outcome, detail, "not fully confined"),
        }
    }
    if let Some(step) = report.failed() {
        return Err(Failure::new(format!(
            "cannot give up rights: {}: {}",
            step.name,
            step.outcome.detail()
        ))
        .hint("where something else confines it (systemd, a container), start it with --no-confine"));
    }
    // Files that are readable with more rights must be readable without: otherwise the first
    // renewal would fail.
    if let Err(error) = Credentials::load(files) {
        tracing::warn!(
            %error, hint = "give the sidecar's user the right to read certificate, key, roots and revocation lists",
            "a renewed certificate could not be read: reloading will be refused"
        );
    }
    Ok(())
}
