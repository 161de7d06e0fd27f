//! `bartizan inspect --merge`: the report of captures from the evidence of all their parts.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use bartizan_inspect::evidence::{
    Apart, Damaged, Item, Joint, MAGIC, Manifest, Reader, Refusal, Set, Source, is_counted,
};
use bartizan_wire::{CapturePart, Packet};
use flate2::bufread::GzDecoder;

use super::packets::Ended;
use super::part::{DIGEST, Digest, program};
use super::read::{Given, Taking, progress};
use bartizan_terminal::Failure;

type Evidence = Reader<BufReader<GzDecoder<BufReader<Take<File>>>>>;

/// A file of evidence that was read once, and is whole. It is opened again when its turn comes: there may be more parts than a process may
/// have files.
struct Checked {
    path: PathBuf,
    length: u64,
    digest: [u8; DIGEST],
}

/// The evidence of all parts, as far as it was taken.
pub struct Merge {
    /// Remaining parts, the next one last.
    parts: Vec<Checked>,
    /// The part that is read.
    open: Option<(PathBuf, Evidence)>,
    files: Vec<Source>,
    next: usize,
}

impl Merge {
    /// Evidence that is whole, and of all parts of the same captures; a folder stands for what is in it.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                files.extend(within(path)?);
            } else {
                files.push(path.clone());
            }
        }
        let refused = |refusal: Refusal| {
            let names: Vec<_> = files.iter().map(|path| path.display()).collect();
            Failure::new(refusal.named(&names).to_string())
                .hint("give the evidence of every part once, all written with the same FILEs, N and version")
        };
        let (mut parts, mut set) = (Vec::new(), Set::default());
        for path in &files {
            let (checked, manifest) = checked(path)?;
            parts.push(Some(checked));
            set.add(manifest).map_err(refused)?;
        }
        let (order, Manifest { files, .. }) = set.in_order().map_err(refused)?;
        let mut parts: Vec<_> = order.into_iter().filter_map(|place| parts[place].take()).collect();
        parts.reverse();
        Ok(Self {
            parts,
            open: None,
            files,
            next: 0,
        })
    }

    /// Names of the captures in reports, in order.
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Gives all of the next capture.
    pub fn give(&mut self, taking: &mut Taking<'_>) -> Result<Given, Failure> {
        let file = self.next;
        self.next += 1;
        let source = &self.files[file];
        let mut joint = Joint::default();
        loop {
            let (path, evidence) = match &mut self.open {
                Some(open) => open,
                none => match self.parts.pop() {
                    Some(next) => none.insert((next.path.clone(), again(&next)?)),
                    None => break,
                },
            };
            match evidence.next_item().map_err(|error| unreadable(path, &error))? {
                None => self.open = None,
                Some(Item::Begin(begin)) => joint.begin(begin, file).map_err(|Apart| foreign(path, &source.name))?,
                Some(Item::Packet(..)) if !joint.is_within() => return Err(damaged(path, "a packet of no capture")),
                Some(Item::Packet(packet, holes)) => {
                    if !is_counted(&taking.observer, &packet, holes) {
                        return Err(depended_on(path, &packet));
                    }
                    taking.take(CapturePart::Packet(packet));
                }
                Some(Item::End(end)) => {
                    let end = joint.end(end, source.bytes);
                    if let Some(end) = end.map_err(|Apart| damaged(path, "the end of no slice"))? {
                        return Ok(Given {
                            ended: Ended {
                                damage: end.damage.clone().map(Into::into),
                                dropped_at_capture: end.dropped,
                                about: Vec::new(),
                            },
                            sha256: end.file_sha256.clone(),
                        });
                    }
                }
            }
        }
        Err(Failure::new(format!("{}: its evidence ends too early", source.name)).hint(HINT))
    }
}

const HINT: &str = "write it anew: `bartizan inspect --part K/N FILE... > part.evidence`";

/// File name extension of evidence in a folder.
const ENDING: &str = "evidence";

/// The evidence in a folder.
fn within(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", folder.display())).hint(HINT);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(
            Failure::new(format!("{}: no evidence is in this folder", folder.display()))
                .hint(format!("its files that end in .{ENDING} are read")),
        );
    }
    Ok(files)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display())).hint("evidence is what `bartizan inspect --part` writes")
}

/// Returns the contents of an evidence file once all of it was read.
fn checked(path: &Path) -> Result<(Checked, Manifest), Failure> {
    let failed = |error: io::Error| failed(path, &error);
    // Before it is opened: a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Failure::new(format!("{}: it is no file", path.display()))
            .hint("evidence is read twice: write what comes from elsewhere into a file"));
    }
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut magic = Vec::new();
    (&mut file)
        .take(MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(failed)?;
    if magic != MAGIC {
        return Err(Failure::new(format!(
            "{}: it is no evidence of a part that this version reads",
            path.display()
        ))
        .hint("evidence is what `bartizan inspect --part` of the same version writes"));
    }
    let rest = length.saturating_sub((MAGIC.len() + DIGEST) as u64);
    let progress = progress(path, length);
    let mut digest = Digest::new(io::sink());
    digest.context.update(&magic);
    io::copy(&mut progress.wrap_read((&mut file).take(rest)), &mut digest).map_err(failed)?;
    progress.finish_and_clear();
    let mut said = Vec::new();
    file.read_to_end(&mut said).map_err(failed)?;
    let wrong = || damaged(path, "its checksum is not that of what it holds");
    if said != digest.context.finish().as_ref() {
        return Err(wrong());
    }
    let checked = Checked {
        path: path.to_owned(),
        length,
        digest: said.try_into().map_err(|_| wrong())?,
    };
    let (_, manifest) = read(path, file, length)?;
    let ours = program();
    if manifest.program != ours {
        return Err(Failure::new(format!(
            "{}: written by {}, and this is {ours}",
            path.display(),
            manifest.program
        ))
        .hint("write all parts and merge them with one version: another may look at other bytes"));
    }
    Ok((checked, manifest))
}

/// The same evidence once more, from its beginning.
fn again(checked: &Checked) -> Result<Evidence, Failure> {
    let path = &checked.path;
    let failed = |error: io::Error| failed(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let mut digest = [0; DIGEST];
    let end = file.metadata().map_err(failed)?.len();
    if end == checked.length {
        file.seek(SeekFrom::Start(end - DIGEST as u64)).map_err(failed)?;
        file.read_exact(&mut digest).map_err(failed)?;
    }
    if (end, digest) != (checked.length, checked.digest) {
        return Err(damaged(path, "it became another file while parts before it were read"));
    }
    read(path, file, end).map(|(evidence, _)| evidence)
}

/// Reads evidence of this length, its checksum excepted, from its beginning.
fn read(path: &Path, mut file: File, length: u64) -> Result<(Evidence, Manifest), Failure> {
    file.seek(SeekFrom::Start(MAGIC.len() as u64))
        .map_err(|error| failed(path, &error))?;
    let rest = file.take(length.saturating_sub((MAGIC.len() + DIGEST) as u64));
    let packed = GzDecoder::new(BufReader::with_capacity(64 << 10, rest));
    Reader::new(BufReader::with_capacity(64 << 10, packed)).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &Damaged) -> Failure {
    match error {
        Damaged::Read(error) => damaged(path, &error.to_string()),
        Damaged::Wrong(what) => damaged(path, what),
    }
}

fn damaged(path: &Path, what: &str) -> Failure {
    Failure::new(format!("{}: the evidence is cut or damaged: {what}", path.display())).hint(HINT)
}

/// A part of another capture of the same name and size.
fn foreign(path: &Path, name: &str) -> Failure {
    Failure::new(format!(
        "{}: what it has of {name} does not follow what the part before has: the file was another, or was changed between",
        path.display()
    ))
    .hint("write all parts anew from the same files")
}

/// Something of what was left out matters.
fn depended_on(path: &Path, packet: &Packet<'_>) -> Failure {
    Failure::new(format!(
        "{}: data of packet {} was left out, and the report depends on it",
        path.display(),
        packet.number
    ))
    .hint("write the parts with --whole: keys, lost segments at a cut and too little --memory make data matter")
}
