//! Images of containers, built by buildah and run by it: without a container engine's cgroups, in
//! the network of this host.

#[path = "sidecar/stage.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod stage;

#[test]
fn where_the_target_is_elsewhere_its_binary_is_looked_for_there() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/images");
    let output = std::process::Command::new(script)
        .args(["--engine", "buildah", "sidecar"])
        .env("CARGO_TARGET_DIR", "/elsewhere")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: no binary /elsewhere/dist/"), "{said}");
}

/// Building takes root, or what a user without rights has seldom.
mod as_root {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use bartizan_host::{Process, Program};
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use crate::stage::{By, PATIENCE, Pair, Stage, until};

    /// Long enough to build images on a machine that does much else.
    const LONG: Duration = Duration::from_secs(600);
    const USER: u32 = 10101;

    /// Storage for images that ends with the test.
    struct Builder {
        folder: tempfile::TempDir,
    }

    impl Builder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name).display().to_string();
            let storage = format!(
                "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
                at("images"),
                at("run")
            );
            fs::write(folder.path().join("storage.conf"), storage).unwrap();
            Self { folder }
        }

        fn program(&self, name: impl AsRef<Path>) -> Program {
            Program::new(name.as_ref())
                .package("buildah")
                .environment("CONTAINERS_STORAGE_CONF", self.folder.path().join("storage.conf"))
                .environment("BUILDAH_ISOLATION", "chroot")
                .environment("SOURCE_DATE_EPOCH", "1700000000")
        }

        fn buildah<const N: usize>(&self, arguments: [&str; N]) -> String {
            let finished = self.program("buildah").arguments(arguments).run(LONG);
            finished
                .unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
                .text()
                .trim()
                .to_owned()
        }

        /// Builds images of this program, without what only a debugger wants.
        fn build(&self, images: &[&str]) {
            let binary = self.folder.path().join("bartizan");
            let strip = Program::new("strip")
                .argument("-o")
                .argument(&binary)
                .argument(env!("CARGO_BIN_EXE_bartizan"));
            strip.run(LONG).unwrap_or_else(|error| panic!("{error}"));
            let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/images"));
            // Built with a umask under which no other user may read the files.
            let built = self
                .program("sh")
                .arguments(["-c", "umask 077; exec \"$@\"", "sh"])
                .argument(script)
                .arguments(["--engine", "buildah", "--binary"])
                .argument(&binary);
            built
                .arguments(images)
                .run(LONG)
                .unwrap_or_else(|error| panic!("{error}"));
        }

        /// Runs the command of the sidecar's image for a node of this file, whose folder it has at the same place.
        fn sidecar(&self, file: &Path, node: &str) -> Process {
            let container = self.buildah(["from", "bartizan-sidecar"]);
            let folder = file.parent().unwrap().display();
            let program = self
                .program("buildah")
                .arguments(["run", "--volume", &format!("{folder}:{folder}")]);
            let program = program
                .argument(&container)
                .arguments(["--", "/usr/bin/bartizan", "sidecar"]);
            let mut process = program
                .argument(file)
                .arguments(["--node", node])
                .start()
                .expect("it starts");
            if let Err(error) = process.wait_for_line("ready", LONG) {
                panic!("{error}\n{}", process.stderr());
            }
            process
        }
    }

    /// Ends what a container runs, which outlives the `buildah run` that began it.
    struct Ending<'a>(&'a Path);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            for node in ["amf", "nrf"] {
                if let Some((pid, _)) = serving(self.0, node) {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
            }
        }
    }

    /// The process of a container that serves this node, and its user.
    fn serving(file: &Path, node: &str) -> Option<(i32, u32)> {
        let wanted = format!("/usr/bin/bartizan\0sidecar\0{}\0--node\0{node}\0", file.display());
        let mut all = fs::read_dir("/proc").unwrap().flatten();
        all.find_map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let user = status
                .lines()
                .find_map(|line| line.strip_prefix("Uid:"))?
                .split_whitespace()
                .next()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            (line == wanted).then_some((pid, user.parse().ok()?))
        })
    }

    fn owned_by_user(folder: &Path) {
        chown(folder, Some(USER), Some(USER)).unwrap();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_name() != "ca" {
                chown(entry.path(), Some(USER), Some(USER)).unwrap();
            }
        }
    }

    #[test]
    fn two_sidecars_from_the_image_serve_as_a_user_of_their_own_and_end_in_order() {
        let builder = Builder::new();
        builder.build(&["sidecar", "controller"]);
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        stage.write("hello", "served");
        let _function = stage.nghttpd(pair.ports.function, &[]);
        owned_by_user(file.parent().unwrap());
        let _ending = Ending(&file);
        let nodes = ["nrf", "amf"].map(|node| (node, builder.sidecar(&file, node)));
        let url = format!("http://{}/hello", pair.ports.outbound);
        let asked = Program::new("curl").arguments(["--silent", "--max-time", "50", "--http2-prior-knowledge", &url]);
        assert_eq!(asked.run(PATIENCE).expect("an answer").text(), "served");
        for (node, process) in nodes {
            let (pid, user) = serving(&file, node).expect("it runs");
            assert_eq!(user, USER, "{node}");
            kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
            let ended = process.finish(PATIENCE).expect("it ends");
            assert_eq!(
                ended.status.code(),
                Some(0),
                "{node}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
            until("it is gone", || serving(&file, node).is_none());
        }
        // Nothing but the program, what it is linked with, and the folder of the ledger.
        let container = builder.buildah(["from", "bartizan-controller"]);
        let entry = builder.buildah([
            "inspect",
            "--format",
            "{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.User}}",
            &container,
        ]);
        assert_eq!(entry, "[/usr/bin/bartizan controller] 10101:10101");
        let shown = builder.buildah([
            "run",
            &container,
            "--",
            "/usr/bin/bartizan",
            "controller",
            "--print-crds",
        ]);
        assert!(shown.contains("kind: CustomResourceDefinition"), "{shown}");
    }

    #[test]
    fn archives_are_the_same_bytes_each_time_and_name_the_processor() {
        let builder = Builder::new();
        let binary = builder.folder.path().join("binary");
        fs::write(&binary, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/images");
        let archive = |out: &str| {
            let out = builder.folder.path().join(out);
            let made = builder.program(script).arguments(["--engine", "buildah", "--binary"]);
            let made = made.argument(&binary).argument("--oci").argument(&out);
            let made = made.arguments(["--machine", "aarch64", "--tag", "1.2", "controller"]);
            made.run(LONG).unwrap_or_else(|error| panic!("{error}"));
            out.join("bartizan-controller-1.2-aarch64.oci.tar")
        };
        let (one, other) = (archive("one"), archive("other"));
        assert!(fs::read(&one).unwrap() == fs::read(&other).unwrap());
        let from = format!("oci-archive:{}:1.2", one.display());
        let pulled = builder.buildah(["pull", &from]);
        let processor = "{{.OCIv1.Architecture}}";
        let said = builder.buildah(["inspect", "--type", "image", "--format", processor, &pulled]);
        assert_eq!(said, "arm64");
    }

    #[test]
    fn built_twice_the_layers_are_the_same_and_what_is_asked_wrongly_is_said() {
        let builder = Builder::new();
        let layers = || {
            builder.build(&["sidecar"]);
            builder.buildah([
                "inspect",
                "--type",
                "image",
                "--format",
                "{{.OCIv1.RootFS.DiffIDs}}",
                "bartizan-sidecar",
            ])
        };
        let first = layers();
        assert!(first.contains("sha256:"), "{first}");
        assert_eq!(first, layers());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/images");
        for (arguments, code, said) in [
            (&["--engine", "cargo"][..], 64, "none of buildah, podman, docker"),
            (&["--binary", "/nowhere"], 2, "hint: make dist"),
            (&["--tag"], 64, "has no value"),
            (&["everything"], 64, "not known"),
        ] {
            let refused = std::process::Command::new(script).args(arguments).output().unwrap();
            let error = String::from_utf8_lossy(&refused.stderr);
            assert_eq!(refused.status.code(), Some(code), "{arguments:?}: {error}");
            assert!(error.contains(said), "{arguments:?}: {error}");
        }
    }
}
