//! Commands to a running controller: a Unix socket in a directory of root's, one line of JSON each
//! way.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::{Error, FileLock, connect_unix, private_directory};
use serde::{Deserialize, Serialize};

use crate::link::Status;

/// Time limit of either end: both are on this host.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit of a question. A controller does not wait for a client that connects and sends
/// nothing.
const LINE: Duration = Duration::from_millis(200);
/// Wait before a question that came too late is asked again.
const PAUSE: Duration = Duration::from_millis(10);
/// Octets of a question.
const QUESTION: u64 = 4096;

/// A command's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// State of the links.
    Status,
    /// Another key for each; with `fresh`, by another exchange.
    Rekey {
        /// True if by another exchange.
        fresh: bool,
    },
    /// To end, and to take the links down.
    End,
}

/// The controller's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The links, in the order of the file.
    pub links: Vec<Status>,
}

/// The socket of a controller. There is one of it: a second one finds the directory locked.
#[derive(Debug)]
pub struct Control {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    _lock: FileLock,
}

impl Control {
    /// Opens it in a directory. None if another controller has it.
    ///
    /// # Errors
    ///
    /// Fails if the directory is not private to this user, or cannot be made.
    pub fn open(directory: &Path) -> Result<Option<Self>, Error> {
        private_directory(directory)?;
        // The lock of one that was killed is free.
        let Some(lock) = FileLock::take(&directory.join("lock"), Duration::ZERO, || ())? else {
            return Ok(None);
        };
        let path = socket(directory);
        let _ = std::fs::remove_file(&path);
        let failed = |source| Error::Io {
            action: format!("listening on {}", path.display()),
            source,
        };
        let listener = UnixListener::bind(&path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Some(Self {
            listener,
            path: path.clone(),
            _lock: lock,
        }))
    }

    /// Answers a client that asks now, and returns its question.
    pub(crate) fn answer(&self, answer: &mut dyn FnMut(Question) -> Answer) -> Option<Question> {
        let (stream, _) = self.listener.accept().ok()?;
        serve(&stream, answer).ok()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(mut stream: &UnixStream, answer: &mut dyn FnMut(Question) -> Answer) -> io::Result<Question> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LINE))?;
    stream.set_write_timeout(Some(LINE))?;
    let mut line = String::new();
    BufReader::new(stream.take(QUESTION)).read_line(&mut line)?;
    let question = serde_json::from_str(&line)?;
    let mut text = serde_json::to_vec(&answer(question))?;
    text.push(b'\n');
    stream.write_all(&text)?;
    Ok(question)
}

/// Asks the controller of this directory. None if none runs.
///
/// # Errors
///
/// Fails if it does not answer.
pub fn ask(directory: &Path, question: Question) -> io::Result<Option<Answer>> {
    let begun = Instant::now();
    loop {
        match ask_once(directory, question) {
            // A controller closes a connection whose question is late, as of a process that did not run meanwhile: it has not heard it.
            Err(error) if is_unheard(&error) && begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            asked => return asked,
        }
    }
}

/// Returns true if a connection was closed without an answer.
fn is_unheard(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn ask_once(directory: &Path, question: Question) -> io::Result<Option<Answer>> {
    let mut stream = match connect_unix(&socket(directory), PATIENCE) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(&question)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("control")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_is_answered_and_a_second_controller_is_kept_out() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("odu");
        assert_eq!(ask(&place, Question::Status).unwrap(), None);
        let control = Control::open(&place).unwrap().unwrap();
        assert!(Control::open(&place).unwrap().is_none());
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| ask(&place, Question::Rekey { fresh: true }).unwrap());
            let question = loop {
                if let Some(question) = control.answer(&mut |_| Answer { links: Vec::new() }) {
                    break question;
                }
            };
            assert_eq!(question, Question::Rekey { fresh: true });
            assert_eq!(asked.join().unwrap(), Some(Answer { links: Vec::new() }));
        });
        drop(control);
        assert!(Control::open(&place).unwrap().is_some());
    }

    #[test]
    fn question_that_was_too_late_is_asked_again() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(socket(directory.path())).unwrap();
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| ask(directory.path(), Question::Status).unwrap());
            // As one that was waited for in vain.
            drop(listener.accept().unwrap());
            while serve(&listener.accept().unwrap().0, &mut |_| Answer { links: Vec::new() }).is_err() {}
            assert_eq!(asked.join().unwrap(), Some(Answer { links: Vec::new() }));
        });
    }

    #[test]
    fn whoever_says_nothing_or_nonsense_gets_no_answer() {
        let directory = tempfile::tempdir().unwrap();
        let control = Control::open(directory.path()).unwrap().unwrap();
        let mut silent = UnixStream::connect(socket(directory.path())).unwrap();
        assert_eq!(control.answer(&mut |_| unreachable!()), None);
        silent.write_all(b"x").unwrap_err();
        let mut other = UnixStream::connect(socket(directory.path())).unwrap();
        other.write_all(b"{\"ask\":\"everything\"}\n").unwrap();
        assert_eq!(control.answer(&mut |_| unreachable!()), None);
    }
}
