//! Files of the queue on disk: a mark, what the process that wrote it said of itself, and records, each in a frame.
//!
//! A frame is the length of its text (32 bits, little endian), a checksum (CRC-32 of the record's number, 64 bits, little endian, and the
//! text), and the text. The number is that of the file's name, and one more for each record: a frame in another place is no frame. A frame that is cut, or
//! whose checksum is wrong, ends the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bartizan_ledger::state;
use flate2::Crc;

use super::{LARGEST, TOGETHER};

const MARK: &[u8; 16] = b"bartizan-queue/1";
const SUFFIX: &str = ".segment";
/// Digits of the number in a file name.
const DIGITS: usize = 20;
/// Length and checksum.
const BEFORE: usize = 8;
/// The number of what comes before the first record.
const HEAD: u64 = 0;

/// A file with the records `first..end`.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    pub(super) head: Arc<str>,
    pub(super) first: u64,
    pub(super) end: u64,
    /// Number behind the last frame that was there when it was opened, those after a damaged one included, which are cut off.
    pub(super) found: u64,
    /// Bytes of the file as far as it is whole.
    pub(super) length: u64,
    /// Offset of the first record.
    pub(super) body: u64,
}

/// Size of a record in a file.
pub(super) fn framed(text: &str) -> u64 {
    (BEFORE + text.len()) as u64
}

impl Segment {
    /// A new file whose first record will be `first`, and the file to write to.
    pub(super) fn create(folder: &Path, first: u64, head: &str) -> io::Result<(Self, Arc<File>)> {
        let path = folder.join(format!("{first:0DIGITS$}{SUFFIX}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut start = MARK.to_vec();
        start.extend(frame(HEAD, head));
        if let Err(error) = (&file).write_all(&start) {
            // It holds nothing yet.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let length = start.len() as u64;
        let segment = Self {
            path,
            head: head.into(),
            first,
            end: first,
            found: first,
            length,
            body: length,
        };
        Ok((segment, Arc::new(file)))
    }

    /// The first record's number by the name of a file, where that is a name of ours.
    pub(super) fn number(path: &Path) -> Option<u64> {
        let name = path.file_name()?.to_str()?;
        let digits = name.strip_suffix(SUFFIX).filter(|digits| digits.len() == DIGITS)?;
        digits.parse().ok()
    }

    /// Reads the records of an earlier process' file; none if even its header is incomplete. Cuts
    /// off bytes behind the last whole record.
    pub(super) fn open(path: &Path, first: u64) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut file = state::open(path, OpenOptions::new().read(true).write(true))?;
        file.read_to_end(&mut bytes)?;
        let Some(head) = bytes.strip_prefix(MARK).and_then(|rest| unframe(HEAD, rest)) else {
            return Ok(None);
        };
        let body = MARK.len() + BEFORE + head.len();
        let (mut at, mut end) = (body, first);
        while let Some(text) = unframe(end, &bytes[at..]) {
            at += BEFORE + text.len();
            end += 1;
        }
        let (mut behind, mut found) = (at, end);
        while let Some(frame) = extent(&bytes[behind..]) {
            behind += frame;
            found += 1;
        }
        if at < bytes.len() {
            file.set_len(at as u64)?;
        }
        Ok(Some(Self {
            path: path.to_owned(),
            head: head.into(),
            first,
            end,
            found,
            length: at as u64,
            body: body as u64,
        }))
    }

    /// Adds a record, whole or not at all.
    pub(super) fn append(&mut self, mut file: &File, text: &str) -> io::Result<()> {
        let frame = frame(self.end, text);
        if let Err(error) = file.write_all(&frame) {
            // If that fails too, the torn frame ends the file.
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.end += 1;
        self.length += frame.len() as u64;
        Ok(())
    }

    /// At most so many records from number `next` on, which is at this offset, and [`TOGETHER`] bytes or a single one; and the offset behind them.
    pub(super) fn read(&self, next: u64, offset: u64, records: usize) -> io::Result<(Vec<String>, u64)> {
        let wanted = self.length.saturating_sub(offset).min((BEFORE + LARGEST) as u64);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or_default()];
        File::open(&self.path)?.read_exact_at(&mut bytes, offset)?;
        let (mut read, mut at, mut together) = (Vec::new(), 0, 0);
        while read.len() < records && next + (read.len() as u64) < self.end {
            let Some(text) = unframe(next + read.len() as u64, &bytes[at..]) else {
                break;
            };
            together += text.len();
            if together > TOGETHER && !read.is_empty() {
                break;
            }
            at += BEFORE + text.len();
            read.push(text.to_owned());
        }
        Ok((read, offset + at as u64))
    }

    /// Returns the offset of the record with this number.
    pub(super) fn offset(&self, number: u64) -> io::Result<u64> {
        let mut at = (self.first, self.body);
        while at.0 < number.min(self.end) {
            let left = usize::try_from(number - at.0).unwrap_or(usize::MAX);
            let (read, offset) = self.read(at.0, at.1, left)?;
            if read.is_empty() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            at = (at.0 + read.len() as u64, offset);
        }
        Ok(at.1)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

fn checksum(number: u64, text: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&number.to_le_bytes());
    crc.update(text);
    crc.sum()
}

fn frame(number: u64, text: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(BEFORE + text.len());
    frame.extend((text.len() as u32).to_le_bytes());
    frame.extend(checksum(number, text.as_bytes()).to_le_bytes());
    frame.extend(text.as_bytes());
    frame
}

/// Bytes of the frame at the beginning of these bytes, if it is there in full, whatever its text has become.
fn extent(bytes: &[u8]) -> Option<usize> {
    let length = usize::try_from(u32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let frame = BEFORE + length;
    ((1..=LARGEST).contains(&length) && frame <= bytes.len()).then_some(frame)
}

/// The text of the frame at the beginning of these bytes; none where it is not whole, or not the one with this number.
fn unframe(number: u64, bytes: &[u8]) -> Option<&str> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let text = rest.get(..length).filter(|text| (1..=LARGEST).contains(&text.len()))?;
    if checksum(number, text) != u32::from_le_bytes(*sum) {
        return None;
    }
    std::str::from_utf8(text).ok()
}
