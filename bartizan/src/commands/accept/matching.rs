//! Texts of entries next to lines and links of reports.

/// Returns true if a line begins with an entry's text, at whose end no name or number goes on: the
/// entry of `SBI amf -- nrf` accepts nothing of `nrf2`.
pub(super) fn begins_with(line: &str, text: &str) -> bool {
    const JOINTS: [char; 3] = ['-', '_', '.'];
    let is_whole = !text.ends_with(|last: char| last.is_alphanumeric() || JOINTS.contains(&last));
    let goes_on = |rest: &str| rest.trim_start_matches(JOINTS).starts_with(char::is_alphanumeric);
    line.strip_prefix(text).is_some_and(|rest| is_whole || !goes_on(rest))
}

/// Returns true if a person who writes this means the link of this name: its interface, its ends in
/// either order, or both.
pub(super) fn is_link(name: &str, written: &str) -> bool {
    let (interface, ends) = match name.split_once(" -- ") {
        Some((first, other)) => match first.rsplit_once(' ') {
            Some((interface, one)) => (Some(interface), [one, other]),
            None => (None, [first, other]),
        },
        None => return name == written,
    };
    let [one, other] = ends;
    let ends = [format!("{one} -- {other}"), format!("{other} -- {one}")];
    let is_ends = |written: &str| ends.iter().any(|ends| ends == written);
    let behind = interface.and_then(|interface| written.strip_prefix(interface));
    let by_interface = behind.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(' ').is_some_and(is_ends));
    is_ends(written) || by_interface
}
