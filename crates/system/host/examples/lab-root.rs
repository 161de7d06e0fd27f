//! Builds a lab root (`trixie`, or `sid`) if it is not there, and prints where it is and what is in it.

use std::process::ExitCode;

use bartizan_host::{Blueprint, Error, LabRoot};
use bartizan_testing::Progress;
use bartizan_testing::{Build as _, RootPrograms as _};

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    let root = match wanted.as_deref() {
        None | Some("trixie") => LabRoot::trixie(),
        Some("sid") => LabRoot::sid(),
        Some(_) => {
            eprintln!("usage: lab-root [trixie|sid]");
            return ExitCode::from(64);
        }
    };
    match root.and_then(|root| run(&root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

fn run(blueprint: &Blueprint) -> Result<(), Error> {
    let root = blueprint.ensure(&mut |progress| match progress {
        Progress::Waiting => eprintln!("another process builds it: waiting"),
        Progress::Building { directory, mirror } => {
            let mirror = mirror.as_deref().unwrap_or("the default mirror");
            eprintln!("building {} from {mirror}", directory.display());
        }
        Progress::Step(step) => eprintln!("  {step}"),
        Progress::Built => eprintln!("built"),
        _ => {}
    })?;
    println!("{}", root.directory().display());
    for program in [
        "openssl", "curl", "nginx", "nghttp", "nghttpd", "nghttpx", "h2load", "tshark", "tcpdump", "ip",
    ] {
        // The roots differ in what they have.
        if let Ok(version) = root.version(program) {
            println!("  {program}: {version}");
        }
    }
    println!("  {} packages", root.packages().count());
    Ok(())
}
