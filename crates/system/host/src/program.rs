//! Programs we run.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::output::{Output, Stream};
use crate::spawner::{self, Belongs};
use crate::{Error, Finished, Namespace, Process};

/// Bytes of standard output of a program that is run to its end: the guard of a thousand IPsec
/// links takes nine million in JSON.
const WHOLE: usize = 256 << 20;

/// A program to run: what, with which arguments and environment, and where.
#[derive(Debug, Default)]
#[must_use]
pub struct Program {
    name: OsString,
    shown: String,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    package: Option<&'static str>,
    namespace: Option<Result<File, Error>>,
    directory: Option<PathBuf>,
    log: Option<PathBuf>,
    input: Option<OwnedFd>,
    kept: usize,
    /// Number of first arguments that messages leave out.
    hidden: usize,
}

impl Program {
    /// A program by its name in `PATH` or by its path.
    pub fn new(name: impl AsRef<OsStr>) -> Self {
        Self {
            name: name.as_ref().to_owned(),
            shown: name.as_ref().to_string_lossy().into_owned(),
            ..Self::default()
        }
    }

    /// A program of the system by its name, also where the user's `PATH` leaves out the folders of
    /// administrators' programs.
    pub fn of_system(name: &str) -> Self {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let in_path = std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
        let elsewhere = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(name));
        match elsewhere.into_iter().find(|place| place.is_file()) {
            Some(place) if !in_path => Self::new(place).shown_as(name),
            _ => Self::new(name),
        }
    }

    /// The Debian package that has it, for the hint when it is missing.
    pub fn package(mut self, package: &'static str) -> Self {
        self.package = Some(package);
        self
    }

    /// Adds one argument.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment; the rest is inherited.
    pub fn environment(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it inside a network namespace, instead of that of the thread that starts it.
    pub fn inside(mut self, namespace: &Namespace) -> Self {
        self.namespace = Some(namespace.handle());
        self
    }

    /// Runs it in a directory.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Copies standard output and standard error, as they come, to a file made for it (an older one is emptied).
    pub fn log(mut self, file: impl AsRef<Path>) -> Self {
        self.log = Some(file.as_ref().to_owned());
        self
    }

    /// Sets its standard input, instead of nothing.
    pub fn input(mut self, input: OwnedFd) -> Self {
        self.input = Some(input);
        self
    }

    /// Sets its standard input to this text.
    ///
    /// # Errors
    ///
    /// When the kernel gives no memory for it.
    pub fn text(self, text: &str) -> Result<Self, Error> {
        let name = c"bartizan";
        let file = memfd_create(name, MFdFlags::MFD_CLOEXEC).map_err(Error::errno("making a file in memory"))?;
        let mut file = File::from(file);
        file.write_all(text.as_bytes())
            .and_then(|()| file.rewind())
            .map_err(Error::io("writing a file in memory"))?;
        Ok(self.input(file.into()))
    }

    /// Sets its name in messages, for a program whose name alone says too little (one run through a
    /// loader).
    pub fn shown_as(mut self, shown: &str) -> Self {
        shown.clone_into(&mut self.shown);
        self
    }

    /// Leaves the first arguments out of messages: those of a wrapper that are not the program's own.
    pub fn hide_arguments(mut self, count: usize) -> Self {
        self.hidden = count;
        self
    }

    /// Starts it and returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::MissingProgram`] when it is not there, [`Error::NotPermitted`] or [`Error::Io`]
    /// when the kernel refuses.
    pub fn start(self) -> Result<Process, Error> {
        let (child, shown, output) = self.spawn(Belongs::ToUs)?;
        Ok(Process::new(child, shown, output))
    }

    /// The child with its command line and the reader of what it writes.
    pub(crate) fn spawn(self, belongs: Belongs) -> Result<(Child, String, Output), Error> {
        let shown = self.to_string();
        let log = match &self.log {
            Some(path) => {
                let place = || format!("writing the log {}", path.display());
                let file = File::create(path).map_err(Error::io(place()))?;
                let copy = file.try_clone().map_err(Error::io(place()))?;
                (Some(file), Some(copy))
            }
            None => (None, None),
        };
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).envs(self.environment);
        command
            .stdin(self.input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut child = spawner::spawn(command, self.namespace.transpose()?, belongs).map_err(|error| {
            // A missing working directory is reported as NotFound as well.
            let directory_is_there = self.directory.as_ref().is_none_or(|directory| directory.is_dir());
            if error.kind() == io::ErrorKind::NotFound && directory_is_there {
                Error::MissingProgram {
                    program: self.shown.clone(),
                    package: self.package,
                }
            } else {
                Error::io(format!("starting `{shown}`"))(error)
            }
        })?;
        let output = Output::keeping(self.kept);
        if let Some(stdout) = child.stdout.take() {
            output.follow(Stream::Standard, stdout, log.0);
        }
        if let Some(stderr) = child.stderr.take() {
            output.follow(Stream::Error, stderr, log.1);
        }
        Ok((child, shown, output))
    }

    /// Runs it to its end, at most this long. All of its standard output is kept: a part of a
    /// listing is worth nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Program::start`]; [`Error::Failed`] unless it ends with status 0, [`Error::Late`] when it was killed
    /// because the time was over, [`Error::TooLong`] where it printed more than 256 MiB.
    pub fn run(self, timeout: Duration) -> Result<Finished, Error> {
        self.run_within(timeout, WHOLE)
    }

    fn run_within(mut self, timeout: Duration, kept: usize) -> Result<Finished, Error> {
        self.kept = kept;
        let finished = self.start()?.finish(timeout)?;
        match (finished.status.success(), finished.printed > finished.stdout.len()) {
            (true, false) => Ok(finished),
            (true, true) => Err(finished.into_too_long()),
            (false, _) => Err(finished.into_error()),
        }
    }
}

impl std::fmt::Display for Program {
    /// The command line as a shell would take it, except for quoting.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)?;
        self.arguments
            .iter()
            .skip(self.hidden)
            .try_for_each(|argument| write!(f, " {}", argument.to_string_lossy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `redirect show` read the last 256 KiB of a listing in JSON.
    #[test]
    fn output_is_whole_or_an_error_and_never_a_part() {
        let print = |bytes: usize| Program::new("head").arguments(["-c", &bytes.to_string(), "/dev/zero"]);
        let long = Duration::from_secs(60);
        let whole = print(1 << 20).run(long).unwrap();
        assert_eq!(whole.stdout.len(), 1 << 20);
        let kept = 300 * 1024;
        assert_eq!(print(kept).run_within(long, kept).unwrap().stdout.len(), kept);
        let cut = print(kept + 1).run_within(long, kept).unwrap_err();
        assert!(
            matches!(cut, Error::TooLong { printed, kept: bound, .. } if printed == kept + 1 && bound == kept),
            "{cut}"
        );
    }
}
