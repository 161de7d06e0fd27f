//! Runs a program in a guest kernel and ends as it ended: `guest PROGRAM [ARGUMENT...]`.

use std::process::ExitCode;
use std::time::Duration;

use bartizan_host::{Error, Guest, LabRoot};

/// How long the program may take.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(name) = arguments.next() else {
        eprintln!("usage: guest PROGRAM [ARGUMENT...]");
        return ExitCode::from(64);
    };
    let run = || -> Result<ExitCode, Error> {
        let root = LabRoot::sid()?.ensure(&mut |_| {})?;
        let program = Guest::of(&root)?.program(name).arguments(arguments);
        let finished = program.start()?.finish(LIMIT)?;
        print!("{}", finished.text());
        eprint!("{}", String::from_utf8_lossy(&finished.stderr));
        let code = finished.status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(2)))
    };
    run().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        if let Some(hint) = error.hint() {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(2)
    })
}
