//! `bartizan inspect --part`: evidence of a part of some captures, for a report of the whole.

mod number;
mod output;
mod walk;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bartizan_inspect::evidence::{Begin, Damage, End, Manifest, Reducer, Section, Source, Writer, sections};
use bartizan_wire::{Before, CaptureError, Limits};

use super::input::Input;
use super::unpack::{is_packed, unpacked};
use super::{damage, read};
use bartizan_terminal::{Failure, Outcome};

pub use number::Number;
pub(crate) use output::{DIGEST, Digest};
use walk::Walk;

/// Program name and version in evidence: protocols outside this version leave holes.
pub(crate) fn program() -> String {
    format!("bartizan {}", env!("CARGO_PKG_VERSION"))
}

/// Requested evidence and its form.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The part.
    pub number: Number,
    /// Packets are kept as they are.
    pub whole: bool,
    /// Bounds of memory.
    pub limits: Limits,
    /// Standard output where there is none.
    pub out: Option<&'a Path>,
}

/// Writes the evidence of a part of these captures.
pub fn run(files: &[PathBuf], asked: Asked<'_>) -> Result<Outcome, Failure> {
    let sources: Vec<Source> = files.iter().map(|file| source(file)).collect::<Result<_, _>>()?;
    let Number { part, parts } = asked.number;
    let here = sections(&sources, part, parts);
    let manifest = Manifest {
        program: program(),
        part,
        parts,
        whole: asked.whole,
        files: sources,
    };
    output::write(asked.out, |output| {
        let mut writer = Writer::new(output, &manifest).map_err(output::failed)?;
        for section in here {
            let packed = manifest.files[section.file].packed;
            self::section(&files[section.file], section, packed, asked, &mut writer)?;
        }
        writer.finish().map_err(output::failed)
    })?;
    Ok(Outcome::Clean)
}

/// Describes a capture before it is read.
fn source(path: &Path) -> Result<Source, Failure> {
    let unreadable = |error: io::Error| unreadable(path, &error);
    let is_file = path.as_os_str() != "-" && std::fs::metadata(path).map_err(unreadable)?.is_file();
    if !is_file {
        return Err(
            Failure::new(format!("{}: it is no file of a known size", read::name(path)))
                .hint("parts are slices of files: write what comes from elsewhere into one"),
        );
    }
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(4).read_to_end(&mut head))
        .map_err(unreadable)?;
    Ok(Source {
        name: read::name(path),
        bytes: std::fs::metadata(path).map_err(unreadable)?.len(),
        packed: is_packed(&head),
    })
}

/// Writes the evidence of a slice of one capture, which is read from its beginning.
fn section(
    path: &Path,
    section: Section,
    packed: bool,
    asked: Asked<'_>,
    writer: &mut Writer<impl Write>,
) -> Result<(), Failure> {
    let unreadable = |error: io::Error| unreadable(path, &error);
    let progress = read::progress(path, section.to);
    let file = File::open(path).map_err(unreadable)?;
    // For an unpacked capture, the walk computes the same digest.
    let mut input = Input::of(file, packed);
    let mut walk = Walk::new(path, unpacked(progress.wrap_read(&mut input)).map_err(unreadable)?);
    walk.to(Some(section.from), |_| Ok(()))?;
    writer
        .begin(&Begin {
            file: section.file,
            from: section.from,
            to: section.to,
            packets: walk.packets(),
            sha256: walk.sha256(),
        })
        .map_err(output::failed)?;
    let before = if section.from == 0 { Before::All } else { Before::Some };
    let mut reducer = (!asked.whole).then(|| Reducer::new(asked.limits, before));
    walk.to((!section.last).then_some(section.to), |packet| {
        let holes = reducer.as_mut().map_or(&[][..], |reducer| reducer.holes(packet));
        writer.packet(packet, holes).map_err(output::failed)
    })?;
    let ended = walk.finish(section, packed)?;
    let error = ended.damage.filter(|_| section.last);
    let damaged = error
        .as_ref()
        .map(|error| named(path, error, ended.packets))
        .transpose()?;
    let sha256 = ended.sha256;
    let file_sha256 = match (section.last && damaged.is_none(), packed) {
        (false, _) => None,
        (true, false) => Some(sha256.clone()),
        (true, true) => input.finish().map_err(unreadable)?,
    };
    progress.finish_and_clear();
    let end = End {
        packets: ended.packets,
        sha256,
        dropped: ended.dropped,
        damage: damaged,
        file_sha256,
    };
    writer.end(&end).map_err(output::failed)
}

/// Returns the damage that ends a capture early. A file that is no capture at all is an error.
fn named(path: &Path, error: &CaptureError, packets: u64) -> Result<Damage, Failure> {
    let nothing = || {
        damage::damaged(path.display(), error, 0).hint("a capture that cannot be read has no evidence: leave it out")
    };
    Damage::of(error).filter(|_| packets > 0).ok_or_else(nothing)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint("captures are made with `tcpdump -w FILE`")
}
