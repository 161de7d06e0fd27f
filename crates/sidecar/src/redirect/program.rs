//! Running `nft` and `ip`.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use super::Error;

/// A program of the system, which lies in `sbin`: not everybody has that in `PATH`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) package: &'static str,
}

pub(super) const NFT: Program = Program {
    name: "nft",
    path: "/usr/sbin/nft",
    package: "nftables",
};

pub(super) const IP: Program = Program {
    name: "ip",
    path: "/sbin/ip",
    package: "iproute2",
};

impl Program {
    /// Runs it with `input` and gives what it printed.
    pub(super) fn run(self, arguments: &[&str], input: &str) -> Result<String, Error> {
        let output = self.output(arguments, input)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // One line: the programs repeat the offending line of the script under each complaint.
        let said = said
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("no reason given");
        let (program, said) = (self.name, said.to_owned());
        if said.contains("Operation not permitted") || said.contains("Permission denied") {
            Err(Error::NotPermitted { program, said })
        } else {
            Err(Error::Refused { program, said })
        }
    }

    fn output(self, arguments: &[&str], input: &str) -> Result<Output, Error> {
        let start = |name| {
            Command::new(name)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::MissingProgram {
                program: self.name,
                package: self.package,
            },
            _ => Error::Run {
                program: self.name,
                source,
            },
        };
        let mut child = match start(self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => start(self.path),
            started => started,
        }
        .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ended early says why on its standard error.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().map_err(failed)
    }
}
