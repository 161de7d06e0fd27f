//! Interfaces by name, and why one cannot be read.

use std::io;

use bartizan_deployment::nearest;
use bartizan_host::{Error, interfaces};

use bartizan_terminal::Failure;

/// Names reported at most where one is not known.
const SHOWN: usize = 12;

/// Why an interface cannot be captured on, and what to do about it.
pub(crate) fn failed(name: &str, error: Error) -> Failure {
    let refused = match &error {
        Error::NotPermitted(_) => true,
        Error::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    };
    if refused {
        return Failure::new(format!("capturing on {name} is not permitted: this needs CAP_NET_RAW"))
            .hint("run it as root, for example with sudo")
            .hint("or give the program that one right: setcap cap_net_raw+ep $(command -v bartizan)")
            .hint("a service has it by AmbientCapabilities=CAP_NET_RAW (deploy/systemd/bartizan-follow@.service)");
    }
    let known = interfaces().unwrap_or_default();
    if known.iter().any(|one| one == name) {
        return Failure::new(error);
    }
    let mut failure = Failure::new(format!("there is no interface `{name}` here"));
    if let Some(meant) = nearest(name, known.iter().map(String::as_str)) {
        failure = failure.hint(format!("did you mean `{meant}`?"));
    }
    let listed: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
    let more = known.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    failure.hint(format!("this network namespace has {}{more}", listed.join(", ")))
}
