//! Output of evidence: packed, behind its mark and with a SHA-256 of everything at its end, so that
//! a part of it is no evidence.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use bartizan_inspect::evidence::MAGIC;
use flate2::Compression;
use flate2::write::GzEncoder;

use bartizan_terminal::Failure;
use bartizan_terminal::output::replaces;

/// Bytes of the SHA-256 at the end.
pub(crate) const DIGEST: usize = 32;

bartizan_registry::made! {
    /// SHA-256 of what passes.
    pub(crate) struct Digest<W>,
    /// Nothing written yet.
    pub(crate) new(inner: W) {
        /// Destination.
        pub(crate) inner: W,
        /// Digest so far.
        pub(crate) context: Context = Context::new(&SHA256),
    }
}

impl<W: Write> Write for Digest<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(bytes)?;
        self.context.update(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writer of evidence.
pub(super) type Output<'a> = BufWriter<GzEncoder<Digest<&'a mut dyn Write>>>;

/// Writes evidence to a file, whole or not at all, or to standard output, a device or a pipe.
pub(super) fn write(
    path: Option<&Path>,
    evidence: impl FnOnce(Output<'_>) -> Result<Output<'_>, Failure>,
) -> Result<(), Failure> {
    let Some(path) = path else {
        let mut output = io::stdout().lock();
        if output.is_terminal() {
            return Err(Failure::usage("evidence is no text")
                .hint("write it into a file: `> part.evidence`, or `--evidence part.evidence`"));
        }
        return to(&mut output, evidence);
    };
    replaces(path, MAGIC)?;
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("name a file in a folder that exists and may be written to")
    };
    // A device or a pipe is written to: a file that took its place would be there for every program of the host.
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        return to(&mut file, evidence);
    }
    // Nor does it take the place of a link to a file.
    let target = there.map(|_| path.canonicalize()).transpose().map_err(failed)?;
    let path = target.as_deref().unwrap_or(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // As any file: less what the umask takes.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let file = builder.prefix(".evidence").permissions(permissions);
    let mut file = file.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    to(file.as_file_mut(), evidence)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn to(output: &mut dyn Write, evidence: impl FnOnce(Output<'_>) -> Result<Output<'_>, Failure>) -> Result<(), Failure> {
    let mut digest = Digest::new(output);
    digest.write_all(MAGIC).map_err(failed)?;
    let packed = GzEncoder::new(digest, Compression::fast());
    let written = evidence(BufWriter::with_capacity(64 << 10, packed))?;
    let packed = written.into_inner().map_err(|error| failed(error.into_error()))?;
    let Digest { inner, context } = packed.finish().map_err(failed)?;
    inner.write_all(context.finish().as_ref()).map_err(failed)?;
    inner.flush().map_err(failed)
}

pub(super) fn failed(error: io::Error) -> Failure {
    Failure::new(format!("the evidence cannot be written: {error}")).hint("is there room for it?")
}
