//! Errors of the YAML reader for the file's author: place, cause, the line itself, and a
//! suggestion.

use crate::error::Error;
use crate::nearest::nearest;
use crate::place::{Place, Places};
use crate::raw::TOO_MANY_NODES;

/// Values of a file at most.
const MOST_VALUES: usize = 3_000_000;
/// Values that the aliases of a file may repeat.
const MOST_REPEATED: usize = 1_000_000;
/// Cause where a text has more values.
const TOO_LARGE: &str = "it has more than 3,000,000 values";
/// Cause where aliases repeat more.
const TOO_MANY: &str = "its aliases (`*name`) repeat more than 1,000,000 values";

/// Reads a text whose length its caller bounds. It has no more values than bytes, but for those that aliases repeat.
pub(crate) fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MOST_VALUES,
            max_events: usize::MAX,
            max_aliases: usize::MAX,
            max_anchors: usize::MAX,
            max_merge_keys: usize::MAX,
            enforce_alias_anchor_ratio: false,
            max_recorded_anchor_events: MOST_REPEATED,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_REPEATED,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// Longer lines are cut in messages.
const LONGEST_SHOWN: usize = 120;

/// The YAML reader's error about `text`, of a deployment file or of another that people write.
pub fn error(error: &serde_saphyr::Error, text: &str, file: &str) -> Error {
    let location = error.location();
    let (line, column) = location.map_or((0, 0), |at| (at.line(), at.column()));
    let message = error.without_snippet().to_string();
    let cause = cause(&message);
    let mut detail = cause.to_owned();
    if cause.starts_with("missing field") && line > 0 {
        let path = Places::of(text).map(|places| places.path_to(Place { line, column }));
        if let Some(path) = path.filter(|path| !path.is_empty()) {
            detail = format!("{path}: {cause}");
        }
    }
    let whole = usize::try_from(line)
        .ok()
        .and_then(|line| text.lines().nth(line.checked_sub(1)?));
    if let Some(shown) = usize::try_from(line).ok().and_then(|line| excerpt(text, line, column)) {
        detail.push_str(&shown);
    }
    Error::Syntax {
        file: if line == 0 {
            file.to_owned()
        } else {
            format!("{file}:{line}:{column}")
        },
        hint: hint(cause, whole.unwrap_or_default()),
        detail,
    }
}

/// The message without the place, which stands in front of ours, and without advice for programmers.
fn cause(message: &str) -> &str {
    // The reader's bounds: its words have the names of its settings.
    if ["alias replay", "budget breached"]
        .iter()
        .any(|words| message.contains(words))
    {
        return match message.contains("Nodes") {
            true => TOO_LARGE,
            false => TOO_MANY,
        };
    }
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = match message.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((place, cause)) if place.contains("column") => cause,
        _ => message,
    };
    let message = message.split(" at line ").next().unwrap_or(message);
    let message = message.split(", set ").next().unwrap_or(message);
    message.split("; use ").next().unwrap_or(message)
}

/// The line of a file with a mark under the column, both from 1; begins with a line feed.
pub fn excerpt(text: &str, line: usize, column: impl TryInto<usize>) -> Option<String> {
    let shown = text.lines().nth(line.checked_sub(1)?)?;
    let column = column.try_into().ok()?.checked_sub(1)?;
    if column > LONGEST_SHOWN || shown.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let cut: String = shown.chars().take(LONGEST_SHOWN).collect();
    // Tabs stay tabs, so that the mark stands under its column however wide they are.
    let before = cut.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' });
    let mark: String = before.chain(['^']).collect();
    let margin = " ".repeat(line.to_string().len());
    Some(format!("\n {line} | {cut}\n {margin} | {mark}"))
}

const BEGIN: &str = "a deployment file has `nodes:` and `interfaces:`; `bartizan init` writes a first one";

fn hint(cause: &str, line: &str) -> Option<String> {
    if has_bare_ipv6(line) {
        return Some("an address of IPv6 with a port stands in quotes: \"[::1]:8001\"".to_owned());
    }
    if let Some((wrong, known)) = unknown_field(cause) {
        let meant = nearest(wrong, known.iter().copied());
        return meant.map(|meant| format!("did you mean `{meant}`?"));
    }
    let hints = [
        (
            "invalid socket address",
            "write an address and a port, 127.0.0.1:8001 or \"[::1]:8001\" in quotes; names are not looked up",
        ),
        (
            "invalid IP address",
            "write an address such as 10.100.200.2; names are not looked up",
        ),
        (TOO_LARGE, "describe each region in a file of its own"),
        (TOO_MANY_NODES, "describe each region in a file of its own"),
        (
            TOO_MANY,
            "name a policy by its profile and join several nodes by one entry, instead of repeating by aliases",
        ),
        (
            "did not find expected key",
            "begin each field of a node or an interface in the same column as those next to it",
        ),
        ("unexpected end of input", BEGIN),
        ("expected mapping start", BEGIN),
        ("duplicate mapping key", "remove one of the two"),
        ("invalid u64", "write a whole number"),
        ("invalid u32", "write a whole number"),
        ("expected sequence start", "write a list: [ONE, ANOTHER]"),
        ("invalid boolean", "write true or false"),
        (
            "cannot deserialize null into string",
            "write a word; in quotes where the word is null",
        ),
        (
            "missing field `roots`",
            "name the file of trusted roots: trust: { roots: ca.crt.pem }",
        ),
        ("missing field `function`", "say what the node is: function: NRF"),
        (
            "missing field `address`",
            "give the address that others know it by: address: 10.100.200.2",
        ),
        ("missing field `kind`", "say which interface it is: kind: SBI"),
        (
            "missing field `between`",
            "name the nodes it joins: between: [amf, nrf]",
        ),
        (
            "missing field `with`",
            "say what protects it, with: sidecar, ipsec or macsec, or nothing",
        ),
        (
            "missing field `nodes`",
            "name the network functions: nodes: { nrf: { ... } }",
        ),
        (
            "multiple YAML documents",
            "a deployment file is one document: remove what begins with `---`",
        ),
        ("tab", "YAML is indented by spaces"),
    ];
    let found = hints.iter().find(|(part, _)| cause.contains(part));
    found.map(|(_, hint)| (*hint).to_owned())
}

/// The field of "unknown field `a`, expected one of b, c", and those expected.
fn unknown_field(cause: &str) -> Option<(&str, Vec<&str>)> {
    let rest = cause.strip_prefix("unknown field `")?;
    let (wrong, rest) = rest.split_once('`')?;
    let known = rest.split_once("one of ").map_or(rest, |(_, known)| known);
    Some((wrong, known.split(", ").map(|name| name.trim_matches('`')).collect()))
}

/// Returns true if a line has an unquoted IPv6 address with a port: to YAML its bracket begins a
/// list.
fn has_bare_ipv6(line: &str) -> bool {
    line.match_indices('[').any(|(at, _)| {
        let is_quoted = line[..at].ends_with(['"', '\'']);
        let parts = line[at + 1..].split_once(']');
        !is_quoted
            && parts.is_some_and(|(address, rest)| {
                let port = rest
                    .strip_prefix(':')
                    .is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
                port && address.parse::<std::net::Ipv6Addr>().is_ok()
            })
    })
}
