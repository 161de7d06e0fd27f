//! Standard output and standard error: the one place of a command line that writes to them.
//!
//! A reader that closes the pipe has seen enough: what comes after is dropped, and the exit code is
//! that of the work. Anything else that keeps standard output from being written is a failure: it
//! is kept until the command ends, and then exit code 2.

use std::fmt::Arguments;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Failure;

/// The first error of writing to standard output by macro.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to standard output, as `print!` does, and never panics.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::output::write_out(format_args!($($text)*)) };
}

/// The same with a line's end.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::output::write_out(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard error, as `eprint!` does, and never panics.
#[macro_export]
macro_rules! err {
    ($($text:tt)*) => { $crate::output::write_err(format_args!($($text)*)) };
}

/// The same with a line's end.
#[macro_export]
macro_rules! errln {
    () => { $crate::output::write_err(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::write_err(format_args!("{}\n", format_args!($($text)*))) };
}

pub use crate::{err, errln, out, outln};

/// Writes to standard output; a failure is kept for [`finish`].
pub fn write_out(text: Arguments<'_>) {
    if let Err(error) = io::stdout().lock().write_fmt(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        FAILED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }
}

/// Writes to standard error. Messages name files and peers, which must not control a terminal.
pub fn write_err(text: Arguments<'_>) {
    let harmless = |character: char| match character {
        '\n' | '\t' => character,
        _ if character.is_control() => '?',
        _ => character,
    };
    let text: String = text.to_string().chars().map(harmless).collect();
    // There is no other place to say that nothing can be said.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a text to standard output, and says at once where that fails.
///
/// # Errors
/// When it cannot be written; a closed pipe is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    said(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes to standard output piece by piece, buffered: for texts that are too long to be held.
///
/// # Errors
/// When it cannot be written; a closed pipe is no failure.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    said(write(&mut out).and_then(|()| out.flush()))
}

/// The outcome of writing to standard output: a closed pipe is the reader's choice.
///
/// # Errors
/// Any other error of `written`.
pub fn said(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes out what waits, and reports what could not be written since the command began.
///
/// # Errors
/// The first error since then.
pub fn finish() -> Result<(), Failure> {
    if let Some(error) = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return said(Err(error));
    }
    said(io::stdout().lock().flush())
}

/// Returns true if what goes there is coloured: to a terminal, unless NO_COLOR is set
/// (<https://no-color.org>).
pub fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Makes a folder and those above it.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))
}

fn replace_file(path: &Path, text: &str) -> Result<(), Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    // A file made anew: another user's link of that name, in /tmp say, would lead elsewhere.
    let _ = fs::remove_file(&part);
    let written = File::create_new(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // A file that cannot be written may be there in part.
        let _ = fs::remove_file(&part);
    }
    written.map_err(|error| not_written(path, &error))
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("writing {}: {error}", path.display()))
        .hint("name a file in a folder that exists and may be written to")
}

/// Writes a document where its user wants it: a whole file or none, or to a device or a pipe as it
/// comes. It replaces only what [`replaces`] lets it.
///
/// # Errors
/// When it may not replace what is there, or when it cannot be written.
pub fn write_document(path: &Path, text: &str) -> Result<(), Failure> {
    replaces(path, text.get(..2).unwrap_or(text))?;
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => fs::write(path, text).map_err(|error| not_written(path, &error)),
        // A link keeps its place.
        _ => replace_file(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), text),
    }
}

/// Lets a document with this beginning replace an empty file or one that begins alike. A capture, a
/// deployment file or a certificate whose name was given by mistake begins otherwise and stays.
///
/// # Errors
/// When the file begins otherwise or cannot be read; when the path is `-`, which names no file.
pub fn replaces(path: &Path, beginning: impl AsRef<[u8]>) -> Result<(), Failure> {
    let beginning = beginning.as_ref();
    if path.as_os_str() == "-" {
        return Err(Failure::usage("`-` is no file here").hint("/dev/stdout is standard output"));
    }
    if !fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return Ok(());
    }
    let mut present = Vec::new();
    File::open(path)
        .and_then(|file| file.take(beginning.len() as u64).read_to_end(&mut present))
        .map_err(|error| Failure::new(format!("reading {}: {error}", path.display())))?;
    if present.is_empty() || present == beginning {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is another kind of file and is not replaced",
        path.display()
    ))
    .hint("name a file that does not exist, or remove this one first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_replaces_its_own_kind_alone_and_keeps_links() {
        let folder = std::env::temp_dir().join(format!("bartizan-documents-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (page, link) = (folder.join("page"), folder.join("link"));
        for present in ["", "<!doctype html>"] {
            fs::write(&page, present).unwrap();
            write_document(&page, "<!doctype html>new").unwrap();
        }
        std::os::unix::fs::symlink(&page, &link).unwrap();
        // A link in the place of the unfinished file is not written through.
        let (other, part) = (folder.join("other"), folder.join("page.part"));
        std::os::unix::fs::symlink(&other, &part).unwrap();
        write_document(&link, "<!doctype html>newer").unwrap();
        assert!(!other.exists());
        assert_eq!(fs::read_to_string(&page).unwrap(), "<!doctype html>newer");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        for other in [
            "\u{a}\u{d}\u{d}\u{a}",
            "nodes:\n",
            "{\"format\":1}",
            "-----BEGIN CERTIFICATE-----",
        ] {
            fs::write(&page, other).unwrap();
            for text in ["<!doctype html>", "{\n}\n"] {
                write_document(&page, text).unwrap_err();
            }
            replaces(&page, "-----BEGIN X509 CRL").unwrap_err();
            assert_eq!(fs::read_to_string(&page).unwrap(), other);
        }
        write_document(Path::new("-"), "{\n}\n").unwrap_err();
        write_document(Path::new("/dev/null"), "{\n}\n").unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
