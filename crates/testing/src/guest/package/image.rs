//! The kernel itself, out of the file that would decompress itself in the guest: at emulated speed that takes seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Error, Program};

/// A frame of Zstandard begins with this (RFC 8878, section 3.1.1).
const ZSTANDARD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// Time limit of decompressing: it takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// The file that QEMU loads: the kernel itself, or, where it could not be decompressed, the file
/// that does so in the guest.
pub(super) fn in_directory(directory: &Path) -> PathBuf {
    let image = directory.join("vmlinux");
    if image.exists() {
        return image;
    }
    directory.join("vmlinuz")
}

/// Writes `vmlinux` next to the one file `vmlinuz...`, which becomes `vmlinuz`; where there is no
/// `zstd`, or it is compressed by another program, that one alone.
pub(super) fn decompress(place: &Path) -> Result<(), Error> {
    let missing = || Error::LabRoot {
        place: place.display().to_string(),
        reason: "its package has no kernel".to_owned(),
    };
    let mut entries = fs::read_dir(place).map_err(Error::io(format!("reading {}", place.display())))?;
    let packed = entries
        .find_map(|entry| {
            let entry = entry.ok()?;
            entry.file_name().to_str()?.starts_with("vmlinuz").then(|| entry.path())
        })
        .ok_or_else(missing)?;
    let image = place.join("vmlinuz");
    fs::rename(&packed, &image).map_err(Error::io(format!("moving {}", packed.display())))?;
    let bytes = fs::read(&image).map_err(Error::io(format!("reading {}", image.display())))?;
    let Some(frame) = payload(&bytes).filter(|payload| payload.starts_with(&ZSTANDARD)) else {
        return Ok(());
    };
    let (compressed, plain) = (place.join("vmlinux.zst"), place.join("vmlinux"));
    fs::write(&compressed, frame).map_err(Error::io(format!("writing {}", compressed.display())))?;
    let done = Program::new("zstd")
        .package("zstd")
        .arguments(["--decompress", "--force", "--quiet", "-o"])
        .argument(&plain)
        .argument(&compressed)
        .run(PATIENCE);
    if done.is_err() {
        // It may be half of it, or none.
        let _ = fs::remove_file(&plain);
    }
    fs::remove_file(&compressed).map_err(Error::io(format!("removing {}", compressed.display())))
}

/// The compressed kernel in a file that a boot loader takes (Documentation/arch/x86/boot.rst:
/// `setup_sects`, `payload_offset`, `payload_length`), without the four bytes at its end that say
/// how long it is decompressed.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let code = (usize::from(*image.get(0x1f1)?) + 1) * 512;
    let begin = code.checked_add(number(0x248)?)?;
    let end = begin.checked_add(number(0x24c)?.checked_sub(4)?)?;
    image.get(begin..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn payload_of_a_kernel_is_what_its_header_says() {
        let mut image = vec![0; 4096];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&9_u32.to_le_bytes());
        image[1040..1045].copy_from_slice(b"frame");
        assert_eq!(payload(&image), Some(&b"frame"[..]));
        image[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload(&image), None);
    }

    #[test]
    fn kernel_that_nobody_can_decompress_here_is_booted_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        decompress(directory.path()).unwrap_err();
        fs::write(directory.path().join("vmlinuz-0.0"), "another compression").unwrap();
        decompress(directory.path()).unwrap();
        assert_eq!(in_directory(directory.path()), directory.path().join("vmlinuz"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(mut image: Vec<u8>, fields: [u8; 8]) {
            let _ = payload(&image);
            image.resize(image.len().max(0x250), 0);
            image[0x202..0x206].copy_from_slice(b"HdrS");
            image[0x248..0x250].copy_from_slice(&fields);
            let _ = payload(&image);
        }
    }
}
