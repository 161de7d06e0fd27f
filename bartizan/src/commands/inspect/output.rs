//! Width of the table.

/// Characters in a line of standard output: what COLUMNS says, else of the terminal, else 80.
pub(super) fn width() -> usize {
    const PIPED: usize = 80;
    let reported = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    reported
        .or_else(|| terminal().map(|(width, _)| usize::from(width.0)))
        .filter(|width| *width > 0)
        .unwrap_or(PIPED)
}
