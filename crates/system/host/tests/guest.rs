//! A guest kernel: what it can do, how it ends, what it leaves. The tests need root for the lab
//! root and so that all of them run alike; without it each fails and says so.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::env;
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::{Shutdown, UdpSocket};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use bartizan_host::{Error, Facts, Feature, LabRoot, Namespace, Support};
    use bartizan_testing::until;
    use bartizan_testing::{Build as _, Wiring as _};
    use bartizan_testing::{Guest, GuestKernel, Impairment, Port, connect};

    /// A guest boots in a few seconds; here twenty of them may be waiting for two processors.
    const LONG: Duration = Duration::from_secs(480);
    /// In the environment of the run that is to be killed.
    const OWNER: &str = "BARTIZAN_TEST_GUEST_OWNER";
    /// In the environment of a test that runs itself in a guest.
    const INSIDE: &str = "BARTIZAN_TEST_IN_GUEST";

    fn root() -> LabRoot {
        bartizan_testing::needs_root();
        LabRoot::sid()
            .unwrap()
            .ensure(&mut |progress| eprintln!("{progress:?}"))
            .unwrap()
    }

    fn guest(kernel: GuestKernel) -> Guest {
        root();
        Guest::ensure(kernel, &mut |progress| eprintln!("{progress:?}")).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn sctp_esp_macsec_and_netem_work_between_two_namespaces_of_a_guest() {
        let root = root();
        let guest = Guest::of(&root).unwrap();
        let finished = guest
            .program("sh")
            .arguments(["-euc", include_str!("guest/protocols.sh"), "protocols"])
            .argument(root.directory())
            .run(LONG)
            .unwrap();
        let text = finished.text();
        let value = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        };
        let number = |name: &str| value(name).parse::<f64>().unwrap();
        assert_eq!(value("release"), guest.release());
        assert_eq!(number("sctp associations accepted"), 1.0);
        assert!(number("sctp data chunks received") >= 1.0, "{text}");
        assert!(value("esp cipher").contains("rfc4106(gcm(aes))"), "{text}");
        assert_eq!(number("esp packets each way"), 4.0);
        assert_eq!(value("pings over macsec"), "4 received");
        assert!(number("macsec frames that were in order") >= 4.0, "{text}");
        // 25 ms each way: what is delayed is never early.
        assert!(number("shortest round trip under netem, ms") >= 50.0, "{text}");
        assert_eq!(value("pings without netem"), "3 received");
    }

    #[test]
    fn impairments_routes_and_mtu_of_a_cable_hold_in_a_guest() {
        if bartizan_testing::in_a_guest(&[]) {
            return;
        }
        let names = ["left", "middle", "right"];
        let [left, middle, right] = names.map(|name| Namespace::create(name).unwrap());
        for (one, other, interface, network) in [(&left, &middle, "west", 1), (&middle, &right, "east", 2)] {
            let port = |namespace, end: u8| {
                Port::new(namespace, interface)
                    .address(&format!("10.77.{network}.{end}/24"))
                    .unwrap()
            };
            connect(&port(one, 1), &port(other, 2), 1500).unwrap();
        }
        let network = |text: &str| text.parse().unwrap();
        left.add_route(network("10.77.2.0/24"), Some("10.77.1.2".parse().unwrap()), "west")
            .unwrap();
        right
            .add_route(network("0.0.0.0/0"), Some("10.77.2.1".parse().unwrap()), "east")
            .unwrap();
        let forward = middle.enter(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
        forward.unwrap().unwrap();
        left.set_mtu("west", 1400).unwrap();
        let mtu = |namespace: &Namespace, interface: &str| {
            let path = format!("/proc/sys/net/ipv6/conf/{interface}/mtu");
            namespace.enter(|| fs::read_to_string(path).unwrap()).unwrap()
        };
        assert_eq!(
            (mtu(&left, "west").trim(), mtu(&middle, "west").trim()),
            ("1400", "1500")
        );

        let socket =
            |namespace: &Namespace, address: &str| namespace.enter(|| UdpSocket::bind(address).unwrap()).unwrap();
        let (asks, answers) = (socket(&left, "10.77.1.1:7000"), socket(&right, "10.77.2.2:7000"));
        asks.connect("10.77.2.2:7000").unwrap();
        let round_trip = |patience: Duration| {
            let began = Instant::now();
            asks.send(b"ping").unwrap();
            let mut buffer = [0; 8];
            answers.set_read_timeout(Some(patience)).unwrap();
            let (length, from) = answers.recv_from(&mut buffer).ok()?;
            answers.send_to(&buffer[..length], from).unwrap();
            asks.set_read_timeout(Some(patience)).unwrap();
            asks.recv(&mut buffer).ok()?;
            Some(began.elapsed())
        };
        assert!(round_trip(LONG).is_some(), "across two cables");
        let delay = Duration::from_millis(15);
        let delayed = Impairment {
            delay,
            ..Impairment::default()
        };
        left.impair("west", &delayed).unwrap();
        right.impair("east", &delayed).unwrap();
        // Delayed packets are never early.
        assert!(round_trip(LONG).unwrap() >= 2 * delay);
        let lossy = Impairment {
            loss_percent: 100.0,
            ..delayed
        };
        left.impair("west", &lossy).unwrap();
        assert_eq!(round_trip(Duration::from_millis(300)), None);
        left.impair("west", &Impairment::default()).unwrap();
        assert!(round_trip(LONG).is_some(), "nothing is lost any more");
        let error = left.impair("north", &delayed).unwrap_err();
        assert!(error.to_string().contains("north"), "{error}");
    }

    #[test]
    fn impairment_works_here_or_says_that_the_kernel_lacks_it() {
        assert!(Facts::gather().root, "NOT RUN: this test needs root");
        let namespace = Namespace::create("impair").unwrap();
        let loss = Impairment {
            loss_percent: 1.0,
            ..Impairment::default()
        };
        match (Feature::Netem.tried(), namespace.impair("lo", &loss)) {
            (Support::Present, done) => done.unwrap(),
            (_, Err(error @ Error::KernelLacks { .. })) => assert!(error.hint().unwrap().contains("--kernel guest")),
            (tried, done) => panic!("{tried:?} {done:?}"),
        }
    }

    #[test]
    fn program_in_a_guest_has_its_arguments_environment_directory_files_and_status() {
        let directory = tempfile::tempdir().unwrap();
        let finished = Guest::of(&root())
            .unwrap()
            .memory(256 << 20)
            .program("sh")
            .arguments([
                "-c",
                "printf '%s|' \"$@\" \"$WORD\" \"$PWD\"; echo gone >&2; echo kept > file; exit 7",
            ])
            .arguments(["sh", "one two", "", "it's\n$three"])
            .environment("WORD", "a \"b\"\nc")
            // The kernel looks for a place for its memory there, and finds one elsewhere.
            .environment("TMPDIR", directory.path())
            .directory(directory.path())
            .start()
            .unwrap()
            .finish(LONG)
            .unwrap();
        let place = directory.path().display();
        assert_eq!(finished.text(), format!("one two||it's\n$three|a \"b\"\nc|{place}|"));
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert_eq!(said.trim_end(), "gone");
        assert_eq!(finished.status.code(), Some(7));
        assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "kept\n");
    }

    #[test]
    fn line_carries_every_byte_in_both_directions_and_ends_when_it_is_closed() {
        a_line_carries_every_byte_and_ends(GuestKernel::UserMode);
    }

    fn a_line_carries_every_byte_and_ends(kernel: GuestKernel) {
        let (program, mut stream) = guest(kernel).program_with_line("sh").unwrap();
        let process = program.arguments(["-c", "cat; echo closed >&2"]).start().unwrap();
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
        writer.join().unwrap().shutdown(Shutdown::Both).unwrap();
        let finished = process.finish(LONG).unwrap();
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert_eq!((said.trim_end(), finished.status.code()), ("closed", Some(0)));
    }

    #[test]
    fn every_feature_that_user_mode_linux_is_said_to_have_is_there() {
        its_features_are_those_it_is_said_to_have(GuestKernel::UserMode);
    }

    fn its_features_are_those_it_is_said_to_have(kernel: GuestKernel) {
        if env::var_os(INSIDE).is_some() {
            for feature in &Feature::ALL {
                let mut tried = feature.try_now();
                // A try that took too long proves nothing; its modules are loaded after it.
                for _ in 0..10 {
                    if let Support::Unknown(_) = tried {
                        tried = feature.try_now();
                    }
                }
                println!("{feature}: {tried:?}");
            }
            assert!(Guest::is_here());
            return;
        }
        let test = std::thread::current().name().unwrap().to_owned();
        let program = guest(kernel).program(env::current_exe().unwrap());
        let finished = program
            .arguments(["--exact", &test, "--nocapture"])
            .environment(INSIDE, "1")
            .run(LONG);
        let text = finished.unwrap_or_else(|error| panic!("{error}")).text();
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

    /// The kernel of most machines, ten to thirty times as slow.
    mod full {
        use super::*;

        #[test]
        fn every_feature_that_debian_s_kernel_is_said_to_have_is_there() {
            its_features_are_those_it_is_said_to_have(GuestKernel::Debian);
        }

        #[test]
        fn line_to_debian_s_kernel_carries_every_byte_in_both_directions_and_ends_when_it_is_closed() {
            a_line_carries_every_byte_and_ends(GuestKernel::Debian);
        }

        #[test]
        fn killed_run_leaves_no_guest_of_debian_s_kernel_behind() {
            a_killed_run_leaves_no_guest_behind(GuestKernel::Debian);
        }
    }

    #[test]
    fn killed_run_leaves_no_guest_behind() {
        a_killed_run_leaves_no_guest_behind(GuestKernel::UserMode);
    }

    fn a_killed_run_leaves_no_guest_behind(kernel: GuestKernel) {
        let guest = guest(kernel);
        if let Some(directory) = env::var_os(OWNER) {
            let _process = guest
                .program("sh")
                .arguments(["-c", "ip netns add left; echo up > up; sleep 1000"])
                .directory(directory)
                .start()
                .unwrap();
            std::thread::sleep(LONG);
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        // The run to be killed is this very test in a process of its own.
        let test = std::thread::current().name().unwrap().to_owned();
        let mut owner = Command::new(env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(OWNER, directory.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mark = format!("{OWNER}={}", directory.path().display());
        let began = Instant::now();
        while !directory.path().join("up").exists() {
            assert!(owner.try_wait().unwrap().is_none(), "the run has ended");
            assert!(began.elapsed() < LONG, "the guest is not up");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(marked(&mark) >= 3, "owner, wrapper, kernel");
        owner.kill().unwrap();
        owner.wait().unwrap();
        until("everything of the guest is gone", || marked(&mark) == 0);
        assert!(!Path::new("/run/netns/left").exists());
        let root = LabRoot::sid().unwrap().present().unwrap();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(
            !mounts.contains(&*root.directory().join("mnt").to_string_lossy()),
            "{mounts}"
        );
        assert_eq!(fs::read_dir(root.directory().join("dev/shm")).unwrap().count(), 0);
    }

    /// Processes with this variable in their environment.
    fn marked(variable: &str) -> usize {
        fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|entry| {
                fs::read(entry.path().join("environ")).is_ok_and(|environment| {
                    environment
                        .split(|&byte| byte == 0)
                        .any(|one| one == variable.as_bytes())
                })
            })
            .count()
    }
}
