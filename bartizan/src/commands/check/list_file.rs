//! Hints about a node's file of revocation lists.

use std::path::Path;

use bartizan_deployment::HttpUrl;

use super::findings::Finding;
use crate::commands::pasted::quoted;

const LISTS: &str = "`bartizan ca crl`";

/// A node's file of revocation lists, and the URL that they are fetched from.
pub(super) type ListFile<'a> = (Option<&'a Path>, Option<&'a HttpUrl>);

/// Command that writes the lists to this file, or to the place where they are fetched.
pub(super) fn lists(file: ListFile<'_>) -> String {
    match file {
        (_, Some(url)) => format!("{LISTS} of the authority that serves {url}"),
        (Some(file), None) => format!("`bartizan ca crl --file {}`", quoted(file)),
        (None, None) => LISTS.to_owned(),
    }
}

/// A finding whose hint names the command that renews the node's lists.
pub(super) fn with_list_file(mut finding: Finding, file: ListFile<'_>) -> Finding {
    finding.hint = finding.hint.replace(LISTS, &lists(file));
    if let (Some(path), Some(url)) = file
        && finding.about == path.display().to_string()
        && path.try_exists().is_ok_and(|there| !there)
    {
        finding.hint = format!("the node's service fetches it from {url} when it starts");
    }
    finding
}
