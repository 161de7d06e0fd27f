//! Captures compressed with gzip or zstd, read as they come.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Upper bound of bytes per compressed byte. Captures of real traffic become two to ten times
/// smaller; one of nothing but empty TCP segments forty times.
const EXPANSION: u64 = 400;
/// Bytes that any file may become.
const FREE: u64 = 64 << 20;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The input, unpacked if it begins as gzip or zstd do. One that expands beyond any capture is an error.
pub(crate) fn unpacked<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::with_capacity(ZSTD.len());
    (&mut input).take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(input);
    if !is_packed(&head) {
        return Ok(Box::new(whole));
    }
    let is_gzip = head.starts_with(&GZIP);
    let taken = Rc::new(Cell::new(0));
    let source = BufReader::new(Counted {
        input: whole,
        taken: Rc::clone(&taken),
    });
    Ok(if is_gzip {
        Box::new(Bounded::new(MultiGzDecoder::new(source), taken))
    } else {
        Box::new(Bounded::new(Zstd::Between(source), taken))
    })
}

/// Returns true if a file with this beginning is packed.
pub(crate) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(&GZIP) || head.starts_with(&ZSTD)
}

/// Counts what is read of the compressed file.
struct Counted<R> {
    input: R,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(bytes)?;
        self.taken.set(self.taken.get() + length as u64);
        Ok(length)
    }
}

bartizan_registry::made! {
    /// Refuses to go on where what comes out is out of all proportion to what went in.
    struct Bounded<D>, new(decoder: D, taken: Rc<Cell<u64>>) {
        decoder: D,
        taken: Rc<Cell<u64>>,
        given: u64 = 0,
    }
}

impl<D: Read> Read for Bounded<D> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.decoder.read(bytes)?;
        self.given += length as u64;
        if self.given > FREE + EXPANSION.saturating_mul(self.taken.get()) {
            let what = format!("it becomes more than {EXPANSION} times larger when it is unpacked: no capture does");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(length)
    }
}

/// zstd, frame by frame: a file may be several, and skippable ones between them. The decoder refuses frames that ask
/// for more than 100 MiB of window.
enum Zstd<R> {
    /// At the beginning of a frame, or at the end.
    Between(R),
    Within(R, Box<FrameDecoder>),
    /// After an error.
    Gone,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !bytes.is_empty() {
            match std::mem::replace(self, Self::Gone) {
                Self::Gone => return Ok(0),
                Self::Between(mut source) => {
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    *self = next_frame(source)?;
                }
                Self::Within(mut source, mut decoder) => {
                    while decoder.can_collect() == 0 && !decoder.is_finished() {
                        let some = BlockDecodingStrategy::UptoBytes(bytes.len());
                        decoder.decode_blocks(&mut source, some).map_err(damaged)?;
                    }
                    let length = decoder.read(bytes)?;
                    if length > 0 {
                        *self = Self::Within(source, decoder);
                        return Ok(length);
                    }
                    *self = Self::Between(source);
                }
            }
        }
        Ok(0)
    }
}

fn next_frame<R: BufRead>(mut source: R) -> io::Result<Zstd<R>> {
    let mut decoder = Box::new(FrameDecoder::new());
    match decoder.init(&mut source) {
        Ok(()) => Ok(Zstd::Within(source, decoder)),
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
            let skipped = io::copy(&mut (&mut source).take(length.into()), &mut io::sink())?;
            if skipped < u64::from(length) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(Zstd::Between(source))
        }
        Err(error) => Err(damaged(error)),
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "capture" as `gzip` and `zstd` write it.
    const PACKED: [&[u8]; 2] = [
        b"\x1f\x8b\x08\0\0\0\0\0\x02\x03KN,()-J\x05\0\xe5\xa6\xfe\x8b\x07\0\0\0",
        b"\x28\xb5\x2f\xfd\x04\x58\x39\0\0capture\xa1\x81\xa1\x03",
    ];

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        unpacked(bytes)?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn what_is_not_packed_passes_as_it_is() {
        for bytes in [&b""[..], b"\x1f", b"abc", b"a capture"] {
            assert_eq!(unpack(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn what_gzip_and_zstd_write_is_unpacked() {
        for packed in PACKED {
            assert_eq!(unpack(packed).unwrap(), b"capture");
        }
        let twice = [PACKED[0], PACKED[0]].concat();
        assert_eq!(unpack(&twice).unwrap(), b"capturecapture");
    }

    #[test]
    fn several_zstd_frames_and_skippable_ones_are_one_file() {
        let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let bytes = [PACKED[1], &skippable[..], PACKED[1], PACKED[1]].concat();
        assert_eq!(unpack(&bytes).unwrap(), b"capturecapturecapture");
    }

    #[test]
    fn a_packed_file_cut_anywhere_is_an_error_or_shorter_and_never_a_panic() {
        for packed in PACKED {
            for cut in 4..packed.len() {
                if let Ok(bytes) = unpack(&packed[..cut]) {
                    assert!(bytes.len() <= 7);
                }
            }
        }
    }

    #[test]
    fn what_becomes_out_of_all_proportion_larger_is_refused() {
        // A zstd frame of one block that repeats a zero 128 KiB long, two hundred thousand times.
        let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
        let block = (1u32 << 1 | (128 << 10) << 3).to_le_bytes();
        for _ in 0..200_000 {
            bomb.extend([block[0], block[1], block[2], 0]);
        }
        let mut input = unpacked(&bomb[..]).unwrap();
        let mut given = 0u64;
        let mut bytes = vec![0; 1 << 20];
        let error = loop {
            match input.read(&mut bytes) {
                Ok(0) => panic!("it was unpacked: {given} bytes"),
                Ok(length) => given += length as u64,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(given < 512 << 20);
    }
}
