//! The first root of a kernel under QEMU, until it has this machine's files: a shell, and the
//! modules that reach them.

use std::fs;
use std::path::Path;

use super::initramfs::Initramfs;
use bartizan_host::Error;

/// The first process in the guest.
const INIT: &str = include_str!("init.sh");
/// Modules that must be loaded before this machine's files can be mounted.
const EARLY: [&str; 2] = ["9pnet_virtio", "9p"];

/// Writes `initramfs` in the directory of a kernel.
pub(super) fn write(place: &Path, release: &str) -> Result<(), Error> {
    let content = |path: &Path| fs::read(path).map_err(Error::io(format!("reading {}", path.display())));
    let modules = place.join("lib/modules").join(release);
    let mut archive = Initramfs::default();
    for directory in ["bin", "modules", "proc", "root"] {
        archive.directory(directory);
    }
    archive.file("bin/busybox", &content(&place.join("busybox"))?);
    archive.file("init", INIT.as_bytes());
    let dependencies = content(&modules.join("modules.dep"))?;
    let dependencies = String::from_utf8_lossy(&dependencies);
    let files = in_order(&dependencies, &EARLY).map_err(|reason| Error::LabRoot {
        place: place.display().to_string(),
        reason,
    })?;
    for (number, module) in files.into_iter().enumerate() {
        let name = module.rsplit('/').next().unwrap_or(module);
        // A shell lists them in this order.
        archive.file(&format!("modules/{number:02}-{name}"), &content(&modules.join(module))?);
    }
    let path = place.join("initramfs");
    fs::write(&path, archive.finish()).map_err(Error::io(format!("writing {}", path.display())))
}

/// Files of these modules and of all that they need, each after what it needs, by the text of
/// `modules.dep` (modules.dep(5)).
fn in_order<'a>(dependencies: &'a str, wanted: &[&str]) -> Result<Vec<&'a str>, String> {
    let mut files: Vec<&str> = Vec::new();
    for wanted in wanted {
        let mut lines = dependencies.lines().filter_map(|line| line.split_once(':'));
        let (file, needs) = lines
            .find(|(file, _)| file.rsplit('/').next() == Some(&format!("{wanted}.ko")))
            .ok_or_else(|| format!("its kernel has no module {wanted}"))?;
        // The last one listed needs none of the others.
        for file in needs.split_ascii_whitespace().rev().chain([file]) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEPENDENCIES: &str = "kernel/fs/netfs/netfs.ko:\nkernel/net/9p/9pnet.ko: kernel/fs/netfs/netfs.ko\n\
        kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs/netfs.ko\n\
        kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs/netfs.ko\n";

    #[test]
    fn modules_come_after_what_they_need_and_once() {
        assert_eq!(
            in_order(DEPENDENCIES, &EARLY).unwrap(),
            [
                "kernel/fs/netfs/netfs.ko",
                "kernel/net/9p/9pnet.ko",
                "kernel/net/9p/9pnet_virtio.ko",
                "kernel/fs/9p/9p.ko"
            ]
        );
        assert_eq!(
            in_order(DEPENDENCIES, &["veth"]).unwrap_err(),
            "its kernel has no module veth"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = in_order(&text, &EARLY);
        }
    }
}
