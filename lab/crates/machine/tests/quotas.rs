//! Quotas of threads in a guest kernel. The test needs root for the lab root; without it it fails
//! and says so.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::env;
    use std::path::Path;
    use std::time::Duration;

    use bartizan_host::{LabRoot, Program};
    use bartizan_machine::{Quotas, threads_of};
    use bartizan_testing::Build as _;
    use bartizan_testing::Guest;
    use bartizan_testing::until;

    /// A guest boots in a few seconds; here twenty of them may be waiting for two processors.
    const LONG: Duration = Duration::from_secs(480);
    /// In the environment of a test that runs itself in a guest.
    const INSIDE: &str = "BARTIZAN_TEST_IN_GUEST";

    fn root() -> LabRoot {
        bartizan_testing::needs_root();
        LabRoot::sid()
            .unwrap()
            .ensure(&mut |progress| eprintln!("{progress:?}"))
            .unwrap()
    }

    /// The machine's own kernel may have the processor controller in groups of version 1; this one
    /// has it in those of version 2.
    #[test]
    fn threads_have_their_share_and_no_more_by_control_groups_of_version_2() {
        const NAME: &str = "as_root::threads_have_their_share_and_no_more_by_control_groups_of_version_2";
        if env::var_os(INSIDE).is_some() {
            return bound_a_thread();
        }
        let finished = Guest::of(&root())
            .unwrap()
            .program(env::current_exe().unwrap())
            .arguments(["--exact", NAME, "--nocapture"])
            .environment(INSIDE, "1")
            .run(LONG)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(finished.text().contains("1 passed"), "{}", finished.text());
    }

    fn bound_a_thread() {
        let mount = Program::new("mount").arguments(["-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]);
        mount.run(LONG).unwrap_or_else(|error| panic!("{error}"));
        // Another process than the one that bounds it: it moves.
        let busy = Program::new("sh")
            .arguments(["-c", "while :; do :; done"])
            .start()
            .unwrap();
        let threads = threads_of(&busy).unwrap();
        let [thread] = &*threads else {
            panic!("{threads:?}");
        };
        let spent = || {
            let before = thread.cpu().unwrap();
            std::thread::sleep(Duration::from_secs(1));
            thread.cpu().unwrap() - before
        };
        // Single seconds are measured: one in which the guest itself did not run is counted as the
        // thread's, or was too short for it.
        until("it is not bounded", || spent() > Duration::from_millis(400));
        let quotas = Quotas::of(&[thread], Duration::from_millis(10), Duration::from_millis(100));
        let quotas = quotas.unwrap_or_else(|error| panic!("{error}"));
        until("it is bounded", || {
            let bounded = spent();
            println!("{bounded:?}");
            bounded > Duration::ZERO && bounded < Duration::from_millis(300)
        });
        drop(quotas);
        assert!(!Path::new(&format!("/sys/fs/cgroup/bartizan-{}", busy.id())).exists());
        until("it is not bounded any more", || spent() > Duration::from_millis(400));
    }
}
