//! Builds the lab root if it is not there, and prints where it is and what is in it.

use std::process::ExitCode;

use bartizan_host::{Error, LabRoot, Progress};

fn main() -> ExitCode {
    match run() {
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

fn run() -> Result<(), Error> {
    let root = LabRoot::trixie()?.ensure(&mut |progress| match progress {
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
        println!("  {program}: {}", root.version(program)?);
    }
    println!("  {} packages", root.packages().count());
    Ok(())
}
