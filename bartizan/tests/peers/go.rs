//! Programs written in Go, built once per run into the folder for tests' temporary files, or where
//! that belongs to another user into one of this user's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use bartizan_host::Program;

/// A program of this folder's Go module: by its folder, or by its package where it is written elsewhere.
pub(crate) fn program(package: &str) -> Program {
    Program::new(built().join(package.rsplit('/').next().expect("a name")))
}

/// The folder of all three.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
        let writable = |folder: &PathBuf| {
            std::fs::create_dir_all(folder).is_ok() && tempfile::tempfile_in(folder).is_ok()
        };
        let own = || std::env::temp_dir().join(format!("bartizan-peers-{}", nix::unistd::geteuid()));
        let folder = if writable(&folder) { folder } else { own() };
        assert!(writable(&folder), "{} cannot be written", folder.display());
        let mut build = Command::new("go");
        // Stamping asks git, which may refuse a checkout of another user.
        build.args(["build", "-buildvcs=false", "-o"]).arg(&folder).args([
            "./h2c-server",
            "./h2c-client",
            "github.com/summerwind/h2spec/cmd/h2spec",
        ]);
        let built = match build.current_dir(&module).output() {
            Ok(built) => built,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                panic!("go is not here; hint: `scripts/setup test` installs it, or take it from https://go.dev/dl (1.19 or later)")
            }
            Err(error) => panic!("go: {error}"),
        };
        assert!(
            built.status.success(),
            "go build in {}:\n{}hint: modules of go.mod come from the module proxy the first time",
            module.display(),
            String::from_utf8_lossy(&built.stderr)
        );
        folder
    })
}
