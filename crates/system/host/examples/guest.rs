//! Runs a program in a guest kernel and ends as it ended: `guest [--debian] [PROGRAM
//! [ARGUMENT...]]`; without a program it fetches the kernel and says which it is.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use bartizan_host::Error;
use bartizan_testing::{Guest, GuestKernel, Progress};

/// Time limit of the program.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let debian = arguments.first().is_some_and(|first| first == "--debian");
    let kernel = if debian {
        GuestKernel::Debian
    } else {
        GuestKernel::UserMode
    };
    arguments.drain(..usize::from(debian));
    run(kernel, &arguments).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        if let Some(hint) = error.hint() {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(2)
    })
}

fn run(kernel: GuestKernel, arguments: &[OsString]) -> Result<ExitCode, Error> {
    let guest = Guest::ensure(kernel, &mut |progress| match progress {
        Progress::Waiting => eprintln!("another process fetches it: waiting"),
        Progress::Building { directory, .. } => eprintln!("building {}", directory.display()),
        Progress::Step(step) => eprintln!("  {step}"),
        _ => {}
    })?;
    let Some((name, arguments)) = arguments.split_first() else {
        println!("{kernel} {}", guest.release());
        return Ok(ExitCode::SUCCESS);
    };
    let finished = guest.program(name).arguments(arguments).start()?.finish(LIMIT)?;
    print!("{}", finished.text());
    eprint!("{}", String::from_utf8_lossy(&finished.stderr));
    let code = finished.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}
