//! Limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit in effect to the highest allowed. The former is 1024 by default, for programs
/// that use select(2): less than the connections of one listener, and without descriptors none
/// accepts any.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_files_as_are_allowed_may_be_open() {
        let allowed = getrlimit(Resource::Nofile);
        let lower = Rlimit {
            current: allowed.maximum.map(|most| most - 1),
            ..allowed
        };
        setrlimit(Resource::Nofile, lower).unwrap();
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, allowed.maximum);
    }
}
