//! Standard output and standard error: the one place of this binary that writes to them.
//!
//! A reader that closes the pipe has seen enough: what comes after is dropped, and the exit code is that of the work. Anything else
//! that keeps standard output from being written is a failure: it is kept until the command ends, and then exit code 2.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use crate::outcome::Failure;

/// What kept standard output from being written, of what was written by macro.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to standard output, as `print!` does, and never panics.
#[cfg(feature = "full")]
macro_rules! out {
    ($($text:tt)*) => { $crate::output::write_out(format_args!($($text)*)) };
}

/// The same with a line's end.
#[cfg(feature = "full")]
macro_rules! outln {
    ($($text:tt)*) => { $crate::output::write_out(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard error, as `eprint!` does, and never panics.
#[cfg(feature = "full")]
macro_rules! err {
    ($($text:tt)*) => { $crate::output::write_err(format_args!($($text)*)) };
}

/// The same with a line's end.
macro_rules! errln {
    () => { $crate::output::write_err(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::write_err(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use errln;
#[cfg(feature = "full")]
pub(crate) use {err, out, outln};

#[cfg(feature = "full")]
pub(crate) fn write_out(text: Arguments<'_>) {
    if let Err(error) = io::stdout().lock().write_fmt(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        FAILED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }
}

pub(crate) fn write_err(text: Arguments<'_>) {
    // There is no other place to say that nothing can be said.
    let _ = io::stderr().lock().write_fmt(text);
}

/// Writes a text to standard output, and says at once where that fails.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    said(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What came of writing to standard output: a closed pipe is the reader's choice.
pub(crate) fn said(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes out what waits, and says what could not be written since the command began.
pub(crate) fn finish() -> Result<(), Failure> {
    if let Some(error) = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return said(Err(error));
    }
    said(io::stdout().lock().flush())
}

/// Whether what goes there is coloured: to a terminal, unless NO_COLOR is set (<https://no-color.org>).
pub(crate) fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
