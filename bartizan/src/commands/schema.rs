//! `bartizan schema`.

use bartizan_deployment::Deployment;

use crate::output::print;
use crate::{Failure, Outcome};

/// Print the JSON schema of the deployment file, for editors.
///
/// An editor that has it completes fields and words, shows what each is, and marks what `bartizan check` would refuse as unknown or of a wrong type. The schema is
/// of draft 7, generated from the types that the file is read into. `bartizan init` writes it next to the file that it makes.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan schema > bartizan.schema.json\n\n\
    First line of the deployment file:\n  \
    # yaml-language-server: $schema=bartizan.schema.json")]
pub(crate) struct Args {}

/// The file that `init` writes and that the first line of a deployment file names.
pub(crate) const FILE: &str = "bartizan.schema.json";

pub(crate) fn run(_: &Args) -> Result<Outcome, Failure> {
    print(&text()?)?;
    Ok(Outcome::Clean)
}

/// The schema as a file has it.
pub(crate) fn text() -> Result<String, Failure> {
    let schema = serde_json::to_string_pretty(&Deployment::schema());
    schema
        .map(|text| text + "\n")
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))
}
