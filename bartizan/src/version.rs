//! `bartizan --version --verbose`: what this binary was built from.

use std::ffi::OsString;

use crate::Failure;
use crate::outcome::Outcome;
use crate::output::print;

/// Returns true if these arguments ask for the long version, in either order.
pub(crate) fn is_asked_for(arguments: &[OsString]) -> bool {
    let is = |names: &[&str], argument: &OsString| names.iter().any(|name| argument == name);
    let [one, other] = arguments else { return false };
    let version = ["--version", "-V"];
    (is(&version, one) && is(&["--verbose"], other)) || (is(&["--verbose"], one) && is(&version, other))
}

/// Prints version, commit, features, target, compiler, cryptographic module and the libraries that matter.
pub(crate) fn run() -> Result<Outcome, Failure> {
    print(&text())?;
    Ok(Outcome::Clean)
}

fn text() -> String {
    let commit = match (
        option_env!("BARTIZAN_BUILD_COMMIT"),
        option_env!("BARTIZAN_BUILD_NO_COMMIT"),
    ) {
        (Some(commit), _) => match env!("BARTIZAN_BUILD_MODIFIED") {
            "yes" => format!("{commit}, and the sources differ from it"),
            "no" => commit.to_owned(),
            _ => format!("{commit}, as the builder said"),
        },
        (None, Some(reason)) => format!("unknown: {reason}"),
        (None, None) => "unknown".to_owned(),
    };
    let list = |words: &str| {
        words
            .split(',')
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let features = match env!("BARTIZAN_BUILD_FEATURES") {
        "" => "none: the sidecar alone".to_owned(),
        features => list(features),
    };
    let rows = [
        ("commit", commit),
        ("features", features),
        ("target", env!("BARTIZAN_BUILD_TARGET").to_owned()),
        (
            "profile",
            format!(
                "{}, opt-level {}",
                env!("BARTIZAN_BUILD_PROFILE"),
                env!("BARTIZAN_BUILD_OPTIMISED")
            ),
        ),
        ("compiler", env!("BARTIZAN_BUILD_COMPILER").to_owned()),
        ("cryptographic module", bartizan_tls::module().to_owned()),
        ("pkcs#11", tokens().to_owned()),
        ("libraries", list(env!("BARTIZAN_BUILD_LIBRARIES"))),
    ];
    let rows = rows.iter().map(|(name, value)| format!("{name:<20}  {value}\n"));
    format!("bartizan {}\n{}", env!("CARGO_PKG_VERSION"), rows.collect::<String>())
}

/// Support of keys in tokens, or the reason against it.
#[cfg(feature = "full")]
fn tokens() -> &'static str {
    if bartizan_pki::PKCS11 {
        "yes: modules of tokens can be loaded"
    } else {
        "no: a static build cannot load modules of tokens"
    }
}

#[cfg(not(feature = "full"))]
fn tokens() -> &'static str {
    "no: this build has no certificate authority"
}
