//! Processes that end with us.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::Error;
use crate::output::{Output, Stream};

/// Time that a process may take to end after SIGTERM when its owner is dropped.
const DROP_GRACE: Duration = Duration::from_secs(2);

/// Time that the readers may take to reach the end of the pipes of a program that has ended.
/// Milliseconds, unless the machine is overloaded or something that the program started in the
/// background holds the pipes open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Interval at which a state without an event is polled.
const POLL: Duration = Duration::from_millis(5);

bartizan_registry::made! {
    /// A process that we started and that ends with us.
    ///
    /// It leads a process group of its own: the signals below go to it and to what it has started.
    /// Dropping it sends SIGTERM, after two seconds SIGKILL.
    #[derive(Debug)]
    pub struct Process,
    /// A child that leads its process group, with the reader of what it writes; messages name it as
    /// `shown`.
    pub(crate) new(child: Child, shown: String, output: Output) {
        child: Child,
        shown: String,
        output: Output,
        ended: Option<ExitStatus> = None,
    }
}

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// All of its standard output where it was run to its end
    /// ([`Program::run`](crate::Program::run)), otherwise the last 256 KiB.
    pub stdout: Vec<u8>,
    /// The last 256 KiB of its standard error.
    pub stderr: Vec<u8>,
    /// Bytes that it wrote to standard output.
    pub(crate) printed: usize,
    program: String,
    tail: String,
}

impl Finished {
    /// [`Error::TooLong`].
    pub(crate) fn into_too_long(self) -> Error {
        Error::TooLong {
            program: self.program,
            printed: self.printed,
            kept: self.stdout.len(),
        }
    }

    /// Its standard output as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// [`Error::Failed`] with the last lines it wrote.
    #[must_use]
    pub fn into_error(self) -> Error {
        Error::Failed {
            program: self.program,
            status: self.status,
            tail: self.tail,
        }
    }
}

impl Process {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The last lines it wrote, at most a dozen: of standard error, or of standard output when that
    /// is empty. The last words of a process that is known to have ended are among them.
    pub fn tail(&self) -> String {
        self.hear_last_words();
        self.output.last_lines()
    }

    /// Everything it wrote to standard output so far, at most the last 256 KiB; bytes that are not
    /// UTF-8 are replaced. The last words of a process that is known to have ended are in it.
    pub fn stdout(&self) -> String {
        self.hear_last_words();
        String::from_utf8_lossy(&self.output.bytes(Stream::Standard)).into_owned()
    }

    /// The same for standard error.
    pub fn stderr(&self) -> String {
        self.hear_last_words();
        String::from_utf8_lossy(&self.output.bytes(Stream::Error)).into_owned()
    }

    fn hear_last_words(&self) {
        if self.ended.is_some() {
            self.read_to_the_end();
        }
    }

    /// Its exit status, or `None` while it runs.
    ///
    /// # Errors
    ///
    /// When the kernel does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        if self.ended.is_none() && self.has_ended()? {
            // Processes that it has started go with it. The group cannot be another one as long as
            // its leader is not waited for: afterwards the number is free to be taken, and must not
            // be signalled any more.
            self.signal(Signal::SIGKILL);
            self.ended = Some(self.child.wait().map_err(Error::io(self.waiting()))?);
        }
        Ok(self.ended)
    }

    /// Returns true if it is a zombie, which it stays.
    fn has_ended(&self) -> Result<bool, Error> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.group()), flags) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(errno) => Err(Error::errno(self.waiting())(errno)),
        }
    }

    fn waiting(&self) -> String {
        format!("waiting for `{}`", self.shown)
    }

    /// It leads its group: the number is its own.
    fn group(&self) -> Pid {
        // The kernel's process ids are at most 2^22.
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits until this text is in what it writes.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] when it ends without, [`Error::Late`] when the time is over.
    pub fn wait_for_line(&mut self, wanted: &str, timeout: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + timeout;
        if self.output.wait_for(wanted, deadline) {
            return Ok(());
        }
        self.wait_until(
            &format!("write `{wanted}`"),
            deadline.saturating_duration_since(Instant::now()),
            |process| process.output.wait_for(wanted, Instant::now()),
        )
    }

    /// Waits until it is ready; `what` it is to do stands in the error.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] when it ends instead, [`Error::Late`] when the time is over.
    pub fn wait_until(&mut self, what: &str, timeout: Duration, ready: impl Fn(&Self) -> bool) -> Result<(), Error> {
        let deadline = Instant::now() + timeout;
        loop {
            let ended = self.ended()?;
            if ready(self) {
                return Ok(());
            }
            if let Some(status) = ended {
                return Err(Error::Failed {
                    program: self.shown.clone(),
                    status,
                    tail: self.tail(),
                });
            }
            if Instant::now() >= deadline {
                return Err(Error::Late {
                    program: self.shown.clone(),
                    what: what.to_owned(),
                    within: timeout,
                    tail: self.tail(),
                });
            }
            thread::sleep(POLL);
        }
    }

    /// Waits for its end, at most this long, and hands over each line of its standard output as it comes.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] when it was killed because the time was over.
    pub fn follow(mut self, timeout: Duration, line: &mut dyn FnMut(&str)) -> Result<Finished, Error> {
        let deadline = Instant::now() + timeout;
        let (mut seen, mut unfinished) = (0, Vec::new());
        loop {
            let over = self.ended()?.is_some() || Instant::now() >= deadline;
            if over {
                self.read_to_the_end();
            }
            let (new, total) = self.output.since(Stream::Standard, seen);
            seen = total;
            unfinished.extend(new);
            while let Some(end) = unfinished.iter().position(|&byte| byte == b'\n') {
                line(&String::from_utf8_lossy(&unfinished[..end]));
                unfinished.drain(..=end);
            }
            if over {
                return self.finish(Duration::ZERO);
            }
            self.output.wait_for_end(Instant::now() + Duration::from_millis(50));
        }
    }

    /// Waits for its end, at most this long, and takes what it wrote; whatever its status.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] when it was killed because the time was over.
    pub fn finish(mut self, timeout: Duration) -> Result<Finished, Error> {
        let Some(status) = self.wait_for_end(timeout)? else {
            self.signal(Signal::SIGKILL);
            self.read_to_the_end();
            return Err(Error::Late {
                program: self.shown.clone(),
                what: "end".to_owned(),
                within: timeout,
                tail: self.tail(),
            });
        };
        self.read_to_the_end();
        Ok(Finished {
            status,
            stdout: self.output.bytes(Stream::Standard),
            printed: self.output.since(Stream::Standard, 0).1,
            stderr: self.output.bytes(Stream::Error),
            program: self.shown.clone(),
            tail: self.tail(),
        })
    }

    /// Asks it to end (SIGTERM), kills it (SIGKILL) when it does not within `grace`, and says how it ended.
    ///
    /// # Errors
    ///
    /// When the kernel does not say how.
    pub fn terminate(mut self, grace: Duration) -> Result<ExitStatus, Error> {
        self.stop(grace)
    }

    /// Sends a signal to it and what it has started; nothing happens when it has ended.
    pub fn send(&mut self, signal: i32) {
        if let (Ok(signal), Ok(None)) = (Signal::try_from(signal), self.ended()) {
            self.signal(signal);
        }
    }

    fn stop(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        if let Some(status) = self.ended()? {
            return Ok(status);
        }
        self.signal(Signal::SIGTERM);
        // A stopped process does not act on SIGTERM until it continues.
        self.signal(Signal::SIGCONT);
        if let Some(status) = self.wait_for_end(grace)? {
            return Ok(status);
        }
        self.signal(Signal::SIGKILL);
        let status = self.child.wait().map_err(Error::io(self.waiting()))?;
        self.ended = Some(status);
        Ok(status)
    }

    /// To the whole group, which must still be ours: the leader is not waited for.
    fn signal(&self, signal: Signal) {
        // A group of zombies cannot be signalled and need not be.
        let _ = killpg(self.group(), signal);
    }

    fn wait_for_end(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(Some(status));
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(None);
            }
            // Its pipes close when it ends, which wakes without delay; unless it closed them early, or a process it
            // started holds them.
            if self.output.wait_for_end(deadline.min(now + POLL)) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Gives the readers time for what is still in the pipes.
    fn read_to_the_end(&self) {
        self.output.wait_for_end(Instant::now() + LAST_WORDS);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be reported here; what survives SIGKILL is found by the next sweep.
        let _ = self.stop(DROP_GRACE);
    }
}

#[cfg(test)]
mod tests;
