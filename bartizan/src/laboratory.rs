//! Commands of `bartizan-lab`, which `bartizan` executes as if they were its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::{Failure, Outcome};

/// The program of the laboratory: looked for in the folder of this one, then on PATH.
const PROGRAM: &str = "bartizan-lab";

/// Arguments that the program gets as they are.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Passed {
    /// Options of `bartizan-lab`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

/// Directions to the program.
pub(crate) const HINT: &str = "this command belongs to the laboratory: `make lab` in a checkout builds bartizan-lab; put it into the folder of bartizan or on PATH";

/// The program: that of the same folder, else that of PATH.
pub(crate) fn program() -> PathBuf {
    let own = std::env::current_exe().ok().map(|path| path.with_file_name(PROGRAM));
    own.filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(PROGRAM))
}

/// Becomes `bartizan-lab WORDS ARGUMENTS`.
pub(crate) fn run(words: &str, arguments: &[OsString]) -> Result<Outcome, Failure> {
    let program = program();
    let words = words.split(' ').filter(|word| !word.is_empty()).map(OsStr::new);
    let error = Command::new(&program).args(words).args(arguments).exec();
    Err(Failure::new(format!("{}: {error}", program.display())).hint(HINT))
}
