//! Packages: the same bytes each time, and what becomes of keys, ledgers and settings when they are
//! installed, upgraded and removed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Packages that all tests of a run share: packing takes seconds.
struct Packed {
    /// The binary of this build without its symbols, which are most of it.
    binary: PathBuf,
    /// Packages of this version, for both kinds of distribution.
    of_now: PathBuf,
    /// Debian's of version 99.0.
    of_later: PathBuf,
}

static PACKED: LazyLock<Packed> = LazyLock::new(|| {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    // Those of the run before.
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    let [binary, of_now, of_later] = ["bartizan", "now", "later"].map(|name| place.join(name));
    said(
        "strip",
        &["-o", binary.to_str().unwrap(), env!("CARGO_BIN_EXE_bartizan")],
    );
    packed(&binary, &of_now, &["deb", "rpm"]);
    packed(&binary, &of_later, &["--version", "99.0", "deb"]);
    Packed {
        binary,
        of_now,
        of_later,
    }
});

fn package(binary: &Path, out: &Path, arguments: &[&str]) -> Output {
    let mut script = Command::new(repository().join("scripts/package"));
    script.arg("--binary").arg(binary).arg("--out").arg(out).args(arguments);
    // Packing need only be quick here.
    script.env("PACKAGE_COMPRESSION", "none").output().unwrap()
}

fn packed(binary: &Path, out: &Path, arguments: &[&str]) -> String {
    let output = package(binary, out, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one file in a folder with this ending.
fn file(folder: &Path, ending: &str) -> PathBuf {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut fitting = all.filter(|path| path.to_string_lossy().ends_with(ending));
    let first = fitting
        .next()
        .unwrap_or_else(|| panic!("no file that ends in {ending}"));
    assert_eq!(fitting.next(), None, "{ending}");
    first
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_same_binary_gives_packages_of_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = (place.path().join("one"), place.path().join("other"));
    let lab = place.path().join("lab");
    fs::write(&lab, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&lab, fs::Permissions::from_mode(0o700)).unwrap();
    let asked = ["deb", "rpm", "chart", "--lab", lab.to_str().unwrap()];
    packed(&PACKED.binary, &one, &asked);
    packed(&PACKED.binary, &other, &asked);
    let version = env!("CARGO_PKG_VERSION");
    let bill = format!("bartizan-{version}.cdx.json");
    let bill_of_lab = format!("bartizan-lab-{version}.cdx.json");
    for ending in [".deb", ".rpm", ".tgz", ".tar.gz", &bill, &bill_of_lab, "SHA256SUMS"] {
        let (one, other) = (file(&one, ending), file(&other, ending));
        assert_eq!(one.file_name(), other.file_name());
        assert!(
            fs::read(&one).unwrap() == fs::read(&other).unwrap(),
            "{}",
            one.display()
        );
    }
    let sums = said(
        "sh",
        &["-c", &format!("cd {} && sha256sum --check SHA256SUMS", one.display())],
    );
    assert_eq!(sums.lines().count(), 6, "{sums}");
    let listed = |ending: &str| said("tar", &["--list", "--file", file(&one, ending).to_str().unwrap()]);
    let chart = listed(".tgz");
    for path in ["Chart.yaml", "values.yaml", "crds/networks.yaml"] {
        let path = format!("bartizan/{path}");
        assert!(chart.lines().any(|listed| listed == path), "{path}: {chart}");
    }
    let lab = listed(".tar.gz");
    assert!(lab.lines().any(|path| path.ends_with("/usr/bin/bartizan-lab")), "{lab}");
    let bill = fs::read_to_string(file(&one, &bill_of_lab)).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&bill).unwrap()["metadata"]["component"]["name"],
        "bartizan-lab"
    );
}

#[test]
fn a_chart_of_another_version_and_a_tree_with_changes_are_not_released() {
    let place = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_bartizan"));
    let chart = package(binary, place.path(), &["--version", "9.9.9", "chart"]);
    assert_eq!(chart.status.code(), Some(2), "{chart:?}");
    assert!(
        String::from_utf8_lossy(&chart.stderr).contains("Chart.yaml"),
        "{chart:?}"
    );

    let scripts = place.path().join("tree/scripts");
    fs::create_dir_all(&scripts).unwrap();
    fs::copy(repository().join("scripts/release"), scripts.join("release")).unwrap();
    said("git", &["init", "--quiet", scripts.parent().unwrap().to_str().unwrap()]);
    let release = |arguments: &[&str]| {
        let output = Command::new(scripts.join("release")).args(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), error)
    };
    let (code, error) = release(&[]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("scripts/") && error.contains("hint: commit"), "{error}");
    let (code, error) = release(&["--machine", "pdp11"]);
    assert_eq!(code, Some(64), "{error}");
}

#[test]
fn packages_have_units_pages_completions_and_a_bill_of_materials() {
    let out = &PACKED.of_now;
    let deb = said("dpkg-deb", &["--contents", file(out, ".deb").to_str().unwrap()]);
    let mut of_deb: Vec<&str> = deb
        .lines()
        .filter(|line| line.starts_with('-'))
        .filter_map(|line| line.split_once(" ./").map(|(_, path)| path))
        .collect();
    let rpm = said("rpm", &["-qpl", "--nosignature", file(out, ".rpm").to_str().unwrap()]);
    let mut of_rpm: Vec<&str> = rpm.lines().map(|line| line.trim_start_matches('/')).collect();
    // The folder of zsh completions is the distribution's choice: Debian's has no site-functions,
    // others have nothing else.
    for (files, folder) in [(&mut of_deb, "vendor-completions"), (&mut of_rpm, "site-functions")] {
        let file = format!("usr/share/zsh/{folder}/_bartizan");
        let found = files.iter().position(|path| *path == file);
        files.remove(found.unwrap_or_else(|| panic!("no {file}: {files:?}")));
    }
    of_rpm.retain(|path| of_deb.contains(path));
    // An RPM has no file for what is the distribution's word on licences.
    of_deb.retain(|path| *path != "usr/share/doc/bartizan/copyright");
    of_deb.sort_unstable();
    of_rpm.sort_unstable();
    assert_eq!(of_deb, of_rpm);
    for unit in fs::read_dir(repository().join("deploy/systemd")).unwrap() {
        let unit = format!("usr/lib/systemd/system/{}", unit.unwrap().file_name().to_string_lossy());
        assert!(of_deb.contains(&unit.as_str()), "{unit}");
    }
    for path in [
        "usr/bin/bartizan",
        "usr/share/man/man1/bartizan-ca-issue.1.gz",
        "usr/share/bash-completion/completions/bartizan",
        "usr/share/doc/bartizan/up.md",
    ] {
        assert!(of_deb.contains(&path), "{path}");
    }

    let materials: Value = serde_json::from_slice(&fs::read(file(out, ".cdx.json")).unwrap()).unwrap();
    let components = materials["components"].as_array().unwrap();
    let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    for component in components {
        let (name, version) = (
            component["name"].as_str().unwrap(),
            component["version"].as_str().unwrap(),
        );
        assert!(
            lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")),
            "{name} {version}"
        );
        assert_eq!(component["purl"], format!("pkg:cargo/{name}@{version}"));
        assert_ne!(component["licenses"][0]["expression"], "", "{name}");
    }
    let names: Vec<&str> = components
        .iter()
        .filter_map(|component| component["name"].as_str())
        .collect();
    assert!(names.contains(&"rustls") && names.contains(&"aws-lc-sys"));
    assert!(!names.contains(&"ring") && !names.contains(&"proptest"), "{names:?}");
}

#[test]
fn what_is_not_asked_properly_or_not_built_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let missing = package(&place.path().join("none"), place.path(), &["deb"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&missing.stderr).contains("hint: make dist"),
        "{missing:?}"
    );
    let mistyped = package(Path::new("/bin/true"), place.path(), &["debian"]);
    assert_eq!(mistyped.status.code(), Some(64));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// They install into a Debian of their own; `-- --skip as_root` leaves them out.
mod as_root {
    use super::*;

    mod systemd;

    /// In a mount namespace, over the lab root: nothing of it changes.
    const INSTALL: &str = r#"
set -eu
root=$1 first=$2 second=$3 scratch=$4
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
cp "$first" "$scratch/root/first.deb"
cp "$second" "$scratch/root/second.deb"
mount -t proc proc "$scratch/root/proc"
exec chroot "$scratch/root" sh -eu -c '
step() { echo "== $*"; }
export DEBIAN_FRONTEND=noninteractive
dpkg --install first.deb
step installed
bartizan --version
stat -c "%a %U %G" /etc/bartizan /var/lib/bartizan
id -nG bartizan
echo secret >/etc/bartizan/amf.key.pem
chmod 0600 /etc/bartizan/amf.key.pem
chown bartizan: /etc/bartizan/amf.key.pem
chmod 0700 /etc/bartizan
echo record >/var/lib/bartizan/amf.ledger
dpkg --install second.deb
step upgraded
dpkg-query --show --showformat "\${Version}\n" bartizan
stat -c "%a %U %G" /etc/bartizan /etc/bartizan/amf.key.pem
dpkg --remove bartizan
step removed
cat /etc/bartizan/amf.key.pem /var/lib/bartizan/amf.ledger
ls /usr/bin/bartizan /usr/lib/systemd/system/bartizan-sidecar@.service 2>/dev/null || echo gone
dpkg --purge bartizan
step purged
cat /etc/bartizan/amf.key.pem /var/lib/bartizan/amf.ledger
rm /etc/bartizan/amf.key.pem /var/lib/bartizan/amf.ledger
dpkg --install first.deb
dpkg --remove bartizan
step empty
ls -d /etc/bartizan /var/lib/bartizan 2>/dev/null || echo gone
' 2>&1
"#;

    /// The same by RPM, whose own program is this machine's: the root has none.
    const INSTALL_RPM: &str = r#"
set -eu
root=$1 first=$2 second=$3 scratch=$4
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
mount -t proc proc "$scratch/root/proc"
exec 2>&1
# Debian's has to be asked for it, and knows of no packages that others need.
rpm_of() { rpm --root "$scratch/root" --dbpath /var/lib/rpm-of-test --force-debian "$@"; }
in_root() { chroot "$scratch/root" "$@"; }
step() { echo "== $*"; }
rpm_of --install --nodeps --nosignature "$first"
step installed
in_root bartizan --version
in_root stat -c "%a %U %G" /etc/bartizan /var/lib/bartizan
in_root id -nG bartizan
echo secret >"$scratch/root/etc/bartizan/amf.key.pem"
chmod 0600 "$scratch/root/etc/bartizan/amf.key.pem"
in_root chown bartizan: /etc/bartizan/amf.key.pem
chmod 0700 "$scratch/root/etc/bartizan"
echo record >"$scratch/root/var/lib/bartizan/amf.ledger"
rpm_of --upgrade --nodeps --nosignature "$second"
step upgraded
rpm_of --query --queryformat "%{VERSION}\n" bartizan
in_root stat -c "%a %U %G" /etc/bartizan /etc/bartizan/amf.key.pem
rpm_of --verify --nodeps bartizan
echo verified
rpm_of --erase bartizan
step removed
in_root cat /etc/bartizan/amf.key.pem /var/lib/bartizan/amf.ledger
in_root ls /usr/bin/bartizan /usr/lib/systemd/system/bartizan-sidecar@.service 2>/dev/null || echo gone
rm "$scratch/root/etc/bartizan/amf.key.pem" "$scratch/root/var/lib/bartizan/amf.ledger"
rpm_of --install --nodeps --nosignature "$first"
rpm_of --erase bartizan
step empty
in_root ls -d /etc/bartizan /var/lib/bartizan 2>/dev/null || echo gone
"#;

    /// Output of `script`, by its steps. It has a package of this version and one of 99.0.
    fn steps(script: &str, kind: &str) -> impl Fn(&str) -> String {
        bartizan_testing::needs_root();
        let place = tempfile::tempdir().unwrap();
        let scratch = place.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        let root = bartizan_testing::lab_root();
        let ending = format!(".{kind}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script, "install"]);
        command
            .arg(root.directory())
            .arg(file(&PACKED.of_now, &ending))
            .arg(file(&PACKED.of_later, &ending))
            .arg(&scratch);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        move |step| {
            let (_, rest) = text
                .split_once(&format!("== {step}\n"))
                .unwrap_or_else(|| panic!("no {step}: {text}"));
            rest.split("== ").next().unwrap().to_owned()
        }
    }

    fn assert_installed(after: &impl Fn(&str) -> String) {
        let installed = after("installed");
        assert!(
            installed.starts_with(&format!(
                "bartizan {}\n750 root bartizan\n750 bartizan bartizan\nbartizan\n",
                env!("CARGO_PKG_VERSION")
            )),
            "{installed}"
        );
        // The operator's own mode of a folder and of a key stays.
        let upgraded = after("upgraded");
        assert!(
            upgraded.starts_with("99.0\n700 root bartizan\n600 bartizan bartizan\n"),
            "{upgraded}"
        );
        // Rules that stay in the kernel are reported before the package is removed.
        assert!(upgraded.contains("bartizan guard remove --node NODE"), "{upgraded}");
        let removed = after("removed");
        assert!(removed.starts_with("secret\nrecord\ngone\n"), "{removed}");
        assert!(after("empty").contains("gone"), "{}", after("empty"));
    }

    #[test]
    fn an_rpm_is_installed_upgraded_and_removed_and_leaves_keys_and_ledgers() {
        packed(&PACKED.binary, &PACKED.of_later, &["--version", "99.0", "rpm"]);
        let after = steps(INSTALL_RPM, "rpm");
        assert_installed(&after);
        assert!(after("upgraded").contains("\nverified\n"), "{}", after("upgraded"));
    }

    #[test]
    fn a_debian_package_is_installed_upgraded_and_removed_and_leaves_keys_and_ledgers() {
        let after = steps(INSTALL, "deb");
        assert_installed(&after);
        let purged = after("purged");
        assert!(purged.starts_with("secret\nrecord\n"), "{purged}");
    }
}
