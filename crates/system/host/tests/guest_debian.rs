//! Debian's kernel in a guest: what it can do, several jobs in one boot, what comes out of it, what
//! it leaves. The tests need root; without it each fails and says so. Two boots are all they take.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::collections::BTreeMap;
    use std::env;
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::sync::LazyLock;
    use std::time::Duration;

    use bartizan_host::{Facts, Feature, LabRoot};
    use bartizan_testing::until;
    use bartizan_testing::{Guest, GuestKernel, Job};

    /// Ten seconds where nothing else runs; code in it is up to thirty times slower than here, and
    /// others may be waiting for the processors.
    const LONG: Duration = Duration::from_secs(300);
    /// In the environment of the run that is to be killed.
    const OWNER: &str = "BARTIZAN_TEST_DEBIAN_OWNER";
    /// In the environment of a test that runs itself in a guest.
    const INSIDE: &str = "BARTIZAN_TEST_IN_GUEST";

    fn guest(kernel: GuestKernel) -> Guest {
        assert!(
            Facts::gather().root,
            "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
        );
        Guest::ensure(kernel, &mut |progress| eprintln!("{progress:?}")).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Output of the jobs of one boot. A static is never dropped, so all of it is in memory and
    /// nothing in a folder.
    struct Booted {
        folder: PathBuf,
        release: String,
        jobs: BTreeMap<&'static str, Done>,
        refused: String,
        capture: Vec<u8>,
        kept: String,
    }

    struct Done {
        status: u8,
        output: String,
        errors: String,
    }

    impl Booted {
        fn text(&self, job: &str) -> &str {
            let Done { status, output, errors } = &self.jobs[job];
            assert_eq!(*status, 0, "{job}: {output}{errors}");
            output
        }
    }

    static BOOTED: LazyLock<Booted> = LazyLock::new(|| {
        let guest = guest(GuestKernel::Debian);
        let root = LabRoot::sid().unwrap().present().unwrap();
        let root = root.directory().to_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut session = guest
            .boot(folder.path(), LONG)
            .unwrap_or_else(|error| panic!("{error}"));
        let shell = |name, script: &str| Job::new(name, "sh").arguments(["-euc", script, name, root]);
        let own = env::current_exe().unwrap();
        let jobs = [
            ("protocols", shell("protocols", include_str!("guest/protocols.sh"))),
            ("filter", shell("filter", include_str!("guest/filter.sh"))),
            (
                "features",
                Job::new("features", "env").arguments([
                    format!("{INSIDE}=1").as_str(),
                    own.to_str().unwrap(),
                    "--exact",
                    "as_root::every_feature_that_a_guests_kernel_is_said_to_have_is_there",
                    "--nocapture",
                ]),
            ),
            (
                "words",
                shell(
                    "words",
                    "printf '%s|' \"$@\" \"$PWD\" \"$TMPDIR\"; echo gone >&2; echo kept >file; exit 7",
                )
                .arguments(["one two", "", "it's\n$three"]),
            ),
            ("missing", Job::new("missing", "no-such-program")),
            ("killed", shell("killed", "kill -9 $$")),
        ];
        let jobs = jobs.map(|(name, job)| {
            let ended = session
                .run(&job, LONG)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let done = Done {
                status: ended.status,
                output: ended.text().unwrap(),
                errors: fs::read_to_string(&ended.stderr).unwrap(),
            };
            (name, done)
        });
        let refused = session.run(&Job::new("../x", "true"), LONG).unwrap_err().to_string();
        session.end(LONG).unwrap_or_else(|error| panic!("{error}"));
        Booted {
            release: guest.release().to_owned(),
            jobs: jobs.into(),
            refused,
            capture: fs::read(folder.path().join("wire.pcap")).unwrap(),
            kept: fs::read_to_string(folder.path().join("file")).unwrap(),
            folder: folder.path().to_owned(),
        }
    });

    #[test]
    fn sctp_esp_macsec_and_netem_work_in_an_unmodified_kernel_with_two_processors() {
        let text = BOOTED.text("protocols");
        let value = |name: &str| {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        };
        assert_eq!(value("release"), BOOTED.release);
        assert_eq!(value("sctp associations accepted"), "1");
        assert!(value("esp cipher").contains("rfc4106(gcm(aes))"), "{text}");
        assert_eq!(value("esp packets each way"), "4");
        assert_eq!(value("pings over macsec"), "4 received");
        let shortest: f64 = value("shortest round trip under netem, ms").parse().unwrap();
        // 25 ms each way: what is delayed is never early.
        assert!(shortest >= 50.0, "{text}");
    }

    #[test]
    fn nftables_sees_what_kernel_esp_protects_and_a_capture_comes_out() {
        let text = BOOTED.text("filter");
        let counted = |name: &str| -> u64 {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        assert_eq!(counted("processors"), 2);
        assert_eq!(counted("answers through esp"), 3);
        assert_eq!(counted("sent under an sa"), 3);
        assert_eq!(counted("received under an sa"), 3);
        assert_eq!(counted("sent without"), 0);
        // Ethernet and raw capture headers are of no interest here: three requests and three
        // answers of ESP are in the file.
        assert!(BOOTED.capture.len() > 24 + 6 * 100, "{} bytes", BOOTED.capture.len());
    }

    #[test]
    fn job_has_its_arguments_directory_output_files_and_status() {
        let words = &BOOTED.jobs["words"];
        assert_eq!(words.status, 7);
        let root = LabRoot::sid().unwrap().directory();
        let expected = format!(
            "{}|one two||it's\n$three|{}|/run/bartizan/tmp|",
            root.display(),
            BOOTED.folder.display()
        );
        assert_eq!(words.output, expected);
        assert_eq!(words.errors, "gone\n");
        assert_eq!(BOOTED.kept, "kept\n");
        assert!(!BOOTED.folder.exists(), "the boot's folder is left");
        assert_eq!(BOOTED.jobs["missing"].status, 127);
        assert_eq!(BOOTED.jobs["killed"].status, 128 + 9);
        assert_eq!(
            BOOTED.refused,
            "the name `../x` of a job: it names files: letters, digits, hyphens and underscores"
        );
    }

    #[test]
    fn every_feature_that_a_guests_kernel_is_said_to_have_is_there() {
        if env::var_os(INSIDE).is_some() {
            for feature in &Feature::ALL {
                println!("{feature}: {:?}", feature.try_now());
            }
            assert!(Guest::is_here());
            return;
        }
        let in_user_mode = guest(GuestKernel::UserMode)
            .program(env::current_exe().unwrap())
            .arguments([
                "--exact",
                "as_root::every_feature_that_a_guests_kernel_is_said_to_have_is_there",
                "--nocapture",
            ])
            .environment(INSIDE, "1")
            .run(LONG)
            .unwrap_or_else(|error| panic!("{error}"))
            .text();
        let texts = [
            (GuestKernel::UserMode, in_user_mode.as_str()),
            (GuestKernel::Debian, BOOTED.text("features")),
        ];
        for (kernel, text) in texts {
            assert!(text.contains("1 passed"), "{text}");
            for feature in &Feature::ALL {
                let present = text.contains(&format!("{feature}: Present"));
                assert_eq!(
                    present,
                    !kernel.lacks().contains(feature),
                    "{kernel}, {feature}: {text}"
                );
            }
        }
    }

    #[test]
    fn line_carries_every_byte_in_both_directions_and_a_killed_run_leaves_no_guest_behind() {
        if let Some(directory) = env::var_os(OWNER) {
            let (program, mut stream) = guest(GuestKernel::Debian).program_with_line("cat").unwrap();
            let _process = program.start().unwrap();
            let mut reader = stream.try_clone().unwrap();
            // Every value of a byte, and more than any buffer on the way has.
            let sent: Vec<u8> = (0..500_000_u32)
                .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
                .collect();
            let expected = sent.clone();
            let writer = std::thread::spawn(move || {
                stream.write_all(&sent).unwrap();
                stream
            });
            let mut received = vec![0; expected.len()];
            reader.read_exact(&mut received).unwrap();
            assert!(received == expected, "the bytes differ");
            let _stream = writer.join().unwrap();
            fs::write(std::path::Path::new(&directory).join("up"), "").unwrap();
            std::thread::sleep(LONG);
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        // The run to be killed is this very test in a process of its own.
        let mut owner = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "as_root::line_carries_every_byte_in_both_directions_and_a_killed_run_leaves_no_guest_behind",
                "--nocapture",
            ])
            .env(OWNER, directory.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mark = format!("{OWNER}={}", directory.path().display());
        until("the bytes have come back", || {
            assert!(owner.try_wait().unwrap().is_none(), "the run has ended");
            directory.path().join("up").exists()
        });
        assert!(marked(&mark) >= 3, "owner, wrapper, emulator");
        owner.kill().unwrap();
        owner.wait().unwrap();
        until("everything of the guest is gone", || marked(&mark) == 0);
        let root = LabRoot::sid().unwrap().directory();
        assert_eq!(fs::read_dir(root.join("dev/shm")).unwrap().count(), 0);
    }

    /// Processes with this variable in their environment.
    fn marked(variable: &str) -> usize {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let of_it = processes.filter(|entry| {
            fs::read(entry.path().join("environ")).is_ok_and(|environment| {
                environment
                    .split(|&byte| byte == 0)
                    .any(|one| one == variable.as_bytes())
            })
        });
        of_it.count()
    }
}
