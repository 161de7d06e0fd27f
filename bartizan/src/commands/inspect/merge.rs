//! `bartizan inspect --merge`: the report of captures from the evidence of all their parts.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use bartizan_inspect::evidence::{Apart, Damaged, Item, Joint, MAGIC, Manifest, Reader, Source, in_order, is_counted};
use bartizan_wire::{CapturePart, Packet};
use flate2::bufread::GzDecoder;

use super::packets::Ended;
use super::part::{DIGEST, Digest, program};
use super::read::{Given, Taking, progress};
use crate::Failure;

type Evidence = Reader<BufReader<GzDecoder<BufReader<Take<File>>>>>;

/// The evidence of all parts, as far as it was taken.
pub(super) struct Merge {
    /// What is left, the next one last.
    parts: Vec<(PathBuf, Evidence)>,
    files: Vec<Source>,
    next: usize,
}

impl Merge {
    /// Evidence that is whole, and of all parts of the same captures; a folder stands for what is in it.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                files.extend(within(path)?);
            } else {
                files.push(path.clone());
            }
        }
        let (mut parts, mut manifests) = (Vec::new(), Vec::new());
        for path in &files {
            let (evidence, manifest) = open(path)?;
            parts.push(Some((path.clone(), evidence)));
            manifests.push(manifest);
        }
        let names: Vec<_> = files.iter().map(|path| path.display()).collect();
        let order = in_order(&manifests).map_err(|refusal| {
            Failure::new(refusal.named(&names).to_string())
                .hint("give the evidence of every part once, all written with the same FILEs, N and version")
        })?;
        let mut parts: Vec<_> = order.into_iter().filter_map(|place| parts[place].take()).collect();
        parts.reverse();
        let files = manifests.swap_remove(0).files;
        Ok(Self { parts, files, next: 0 })
    }

    /// What reports call the captures, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Gives all of the next capture.
    pub(super) fn give(&mut self, taking: &mut Taking<'_>) -> Result<Given, Failure> {
        let file = self.next;
        self.next += 1;
        let source = &self.files[file];
        let mut joint = Joint::default();
        while let Some((path, evidence)) = self.parts.last_mut() {
            match evidence.next_item().map_err(|error| unreadable(path, &error))? {
                None => {
                    self.parts.pop();
                }
                Some(Item::Begin(begin)) => joint.begin(begin, file).map_err(|Apart| foreign(path, &source.name))?,
                Some(Item::Packet(..)) if !joint.is_within() => return Err(damaged(path, "a packet of no capture")),
                Some(Item::Packet(packet, holes)) => {
                    if !is_counted(taking.observer(), &packet, holes) {
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

/// How the names of evidence in a folder end.
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

/// The evidence in a file that is whole, and what it is of.
fn open(path: &Path) -> Result<(Evidence, Manifest), Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display())).hint("evidence is what `bartizan inspect --part` writes")
    };
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
    if said != digest.context.finish().as_ref() {
        return Err(damaged(path, "its checksum is not that of what it holds"));
    }
    file.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(failed)?;
    let packed = GzDecoder::new(BufReader::with_capacity(64 << 10, file.take(rest)));
    let read = Reader::new(BufReader::with_capacity(64 << 10, packed));
    let (evidence, manifest) = read.map_err(|error| unreadable(path, &error))?;
    let ours = program();
    if manifest.program != ours {
        return Err(Failure::new(format!(
            "{}: written by {}, and this is {ours}",
            path.display(),
            manifest.program
        ))
        .hint("write all parts and merge them with one version: another may look at other bytes"));
    }
    Ok((evidence, manifest))
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
