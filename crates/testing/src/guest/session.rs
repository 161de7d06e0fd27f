//! Several jobs in one boot: a guest that stays on until it is stopped.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Guest;
use bartizan_host::{Error, Process};

/// Runs in the guest: takes jobs, starts each, reports how it ended.
const AGENT: &str = include_str!("session/agent.bash");
/// Interval at which a silent guest is checked to be still running.
const POLL: Duration = Duration::from_millis(200);
/// The longest answer of the agent, in bytes: a word and a number.
const ANSWER: u64 = 64;

/// A guest that was booted and takes jobs, one after the other. Dropping it turns the guest off and
/// loses nothing that was written.
#[derive(Debug)]
pub struct Session {
    process: Process,
    line: BufReader<UnixStream>,
    folder: PathBuf,
}

/// A program to run in a guest.
#[derive(Debug, Clone)]
pub struct Job {
    name: String,
    arguments: Vec<OsString>,
}

/// Outcome of a job, and the files of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnded {
    /// Its exit status; 128 and the signal's number where one killed it, 127 where there is no such program.
    pub status: u8,
    /// The file with its standard output.
    pub stdout: PathBuf,
    /// The file with its standard error.
    pub stderr: PathBuf,
}

impl Job {
    /// A program by its name in `PATH` or by its path. `name` names its output: letters, digits,
    /// hyphens and underscores.
    #[must_use]
    pub fn new(name: &str, program: impl AsRef<OsStr>) -> Self {
        Self {
            name: name.to_owned(),
            arguments: vec![program.as_ref().to_owned()],
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }
}

impl JobEnded {
    /// Its standard output as text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn text(&self) -> Result<String, Error> {
        let bytes = fs::read(&self.stdout).map_err(Error::io(format!("reading {}", self.stdout.display())))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Guest {
    /// Boots a guest that takes jobs, and waits until it is ready. Jobs run in `folder`, of this
    /// machine, and their output goes there as `NAME.stdout` and `NAME.stderr`, with whatever files
    /// they write there themselves, captures for example.
    ///
    /// # Errors
    ///
    /// Those of [`bartizan_host::Program::start`]; [`Error::Failed`] with the console's last lines
    /// where the guest ends, [`Error::Late`] when the time is over.
    pub fn boot(&self, folder: &Path, patience: Duration) -> Result<Session, Error> {
        let folder = std::path::absolute(folder).map_err(Error::io(format!("finding {}", folder.display())))?;
        fs::create_dir_all(&folder).map_err(Error::io(format!("making {}", folder.display())))?;
        let (loader, libraries) = self.root().loader()?;
        let (program, stream) = self.program_with_line(&loader)?;
        let process = program
            .argument("--library-path")
            .argument(&libraries)
            .argument(self.root().directory().join("usr/bin/bash"))
            .arguments(["-c", AGENT, "agent"])
            .directory(&folder)
            .start()?;
        stream
            .set_read_timeout(Some(POLL))
            .map_err(Error::io("waiting for a guest"))?;
        let mut session = Session {
            process,
            line: BufReader::new(stream),
            folder,
        };
        session.answer("ready", "boot", patience)?;
        Ok(session)
    }
}

impl Session {
    /// Runs a job to its end, at most this long. Processes that it leaves running go on during the
    /// next job.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for a name that cannot name a file; [`Error::Late`] when the time is over:
    /// the job runs on, and the session is of no more use; [`Error::Failed`] with the console's
    /// last lines where the guest has ended.
    pub fn run(&mut self, job: &Job, timeout: Duration) -> Result<JobEnded, Error> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if job.name.is_empty() || !job.name.chars().all(fits) {
            return Err(Error::Unfit {
                what: format!("the name `{}` of a job", job.name),
                reason: "it names files: letters, digits, hyphens and underscores".to_owned(),
            });
        }
        let [stdout, stderr] = ["stdout", "stderr"].map(|stream| self.folder.join(format!("{}.{stream}", job.name)));
        let mut order = format!("{}\0", job.arguments.len()).into_bytes();
        let words = [stdout.as_os_str(), stderr.as_os_str()];
        for word in words.into_iter().chain(job.arguments.iter().map(OsString::as_os_str)) {
            if word.as_bytes().contains(&0) {
                return Err(Error::Unfit {
                    what: format!("an argument of the job `{}`", job.name),
                    reason: "it has a NUL byte".to_owned(),
                });
            }
            order.extend(word.as_bytes());
            order.push(0);
        }
        if self.line.get_mut().write_all(&order).is_err() {
            return Err(self.ended());
        }
        let status = self.answer("ended", &format!("run the job `{}`", job.name), timeout)?;
        Ok(JobEnded {
            status: status.parse().unwrap_or(u8::MAX),
            stdout,
            stderr,
        })
    }

    /// Ends the guest in order; everything that was written is there afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] when it was killed because the time was over, [`Error::Failed`] where it did not end in order.
    pub fn end(mut self, timeout: Duration) -> Result<(), Error> {
        // A guest that is gone says so by its status.
        let _ = self.line.get_mut().write_all(b"0\0");
        let finished = self.process.finish(timeout)?;
        if finished.status.success() {
            return Ok(());
        }
        Err(finished.into_error())
    }

    /// The text behind this word in the agent's next line.
    fn answer(&mut self, word: &str, what: &str, patience: Duration) -> Result<String, Error> {
        let deadline = Instant::now() + patience;
        let mut line = Vec::new();
        loop {
            let left = ANSWER.saturating_sub(line.len() as u64);
            match self.line.by_ref().take(left).read_until(b'\n', &mut line) {
                Ok(0) => return Err(self.ended()),
                Ok(_) if line.ends_with(b"\n") => break,
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) =>
                {
                    if Instant::now() >= deadline {
                        return Err(Error::Late {
                            program: "the guest".to_owned(),
                            what: what.to_owned(),
                            within: patience,
                            tail: self.process.tail(),
                        });
                    }
                }
                Err(_) => return Err(self.ended()),
            }
        }
        let line = String::from_utf8_lossy(&line);
        match line.trim_end().strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => Err(self.ended()),
        }
    }

    /// Reason why it does not speak any more.
    fn ended(&mut self) -> Error {
        let deadline = Instant::now() + POLL * 25;
        loop {
            match self.process.ended() {
                Ok(Some(status)) => {
                    return Error::Failed {
                        program: "the guest".to_owned(),
                        status,
                        tail: self.process.tail(),
                    };
                }
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                Ok(None) => {
                    return Error::Late {
                        program: "the guest".to_owned(),
                        what: "end, though its line was closed".to_owned(),
                        within: POLL * 25,
                        tail: self.process.tail(),
                    };
                }
                Err(error) => return error,
            }
        }
    }
}
