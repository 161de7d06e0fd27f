//! Documents in files: bill of materials, page, SARIF and OSCAL.

use std::time::SystemTime;

use bartizan_deployment::Deployment;
use bartizan_inspect::Report;
use bartizan_inspect::text::printable;
use bartizan_page::cbom::{Inventory, Version};

use super::accepted::Settled;
use super::{Args, oscal, output, page, sarif};
use crate::Failure;
use crate::output::write_document;

/// Writes the requested ones, each into a file of its own. Each names captures that could not
/// be read to their end.
pub(super) fn write(
    args: &Args,
    reports: &[Report],
    inventory: Option<&Inventory>,
    deployment: Option<&Deployment>,
    settled: &Settled<'_>,
    unread: &[Failure],
) -> Result<(), Failure> {
    let outputs = [&args.cbom, &args.html, &args.sarif, &args.oscal];
    let mut outputs: Vec<_> = outputs.into_iter().flatten().collect();
    outputs.sort();
    if let Some(pair) = outputs.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(
            Failure::usage(format!("two documents are to be written to {}", pair[0].display()))
                .hint("give each a file of its own"),
        );
    }
    if let (Some(path), Some(inventory)) = (&args.cbom, inventory) {
        let version = match args.cbom_version.as_deref() {
            Some("1.6") => Version::V1_6,
            _ => Version::V1_7,
        };
        let unread = unread.iter().map(|failure| printable(&failure.message));
        let limits = reports.iter().flat_map(output::limits).chain(unread);
        write_document(path, &format!("{:#}\n", version.write(inventory.document(limits))))?;
    }
    if let Some(path) = &args.html {
        write_document(path, &page::render(reports, deployment, settled, unread))?;
    }
    if let Some(path) = &args.sarif {
        write_document(path, &sarif::render(reports, settled, unread)?)?;
    }
    if let Some(path) = &args.oscal {
        write_document(path, &oscal::render(reports, unread, SystemTime::now())?)?;
    }
    Ok(())
}
