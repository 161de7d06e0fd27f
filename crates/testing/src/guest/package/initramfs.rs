//! The archive that a kernel unpacks into its first root: cpio in the "newc" format
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive under way.
#[derive(Debug, Default)]
pub(super) struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

impl Initramfs {
    /// Adds a directory; those above it come first.
    pub(super) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, &[]);
    }

    /// Adds a file that may be executed.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, content);
    }

    /// The archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let [size, name] = [content.len(), path.len() + 1].map(|length| u32::try_from(length).unwrap_or(u32::MAX));
        // inode, mode, owner, group, links, time, size, device (2), special device (2), length of
        // the name, checksum (none).
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_contents_are_where_the_format_has_them() {
        let mut archive = Initramfs::default();
        archive.directory("bin");
        archive.file("bin/one", b"first");
        let text = String::from_utf8(archive.finish()).unwrap();
        // 110 bytes of fields, then the name and the content, each padded to four.
        let (directory, rest) = text.split_at(116);
        assert_eq!(&directory[..22], "07070100000001000041ed");
        assert_eq!(&directory[94..], "0000000400000000bin\0\0\0");
        let (file, trailer) = rest.split_at(128);
        assert_eq!(&file[6..22], "00000002000081ed");
        assert_eq!(&file[54..62], "00000005");
        assert_eq!(&file[94..], "0000000800000000bin/one\0\0\0first\0\0\0");
        assert!(trailer.ends_with("TRAILER!!!\0\0\0\0") && trailer.len() == 124);
    }
}
