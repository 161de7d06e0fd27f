//! Tests that only root can run. Without root each of these fails and says so; `make test` runs
//! them as root, and `-- --skip as_root` leaves them out (cargo then counts them as filtered out).

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    mod feed;
    mod frames;

    use std::collections::BTreeSet;
    use std::env;
    use std::fs;
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::net::{IpAddr, SocketAddr, UdpSocket};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use bartizan_host::{Error, Facts, LabRoot, Namespace, Program, clock, sweep};
    use bartizan_testing::Listening as _;
    use bartizan_testing::{Build as _, RootPrograms as _};
    use bartizan_testing::{Capture, Direction, Port, connect};

    const LONG: Duration = Duration::from_secs(240);

    /// Two namespaces, a cable between them with this MTU, and the addresses of their ends.
    struct Pair {
        left: Namespace,
        right: Namespace,
    }

    impl Pair {
        fn new(mtu: u16) -> Self {
            bartizan_testing::needs_root();
            let pair = Self {
                left: Namespace::create("left").unwrap(),
                right: Namespace::create("right").unwrap(),
            };
            let port = |namespace, number: u8| {
                Port::new(namespace, "eth0")
                    .address(&format!("10.77.0.{number}/24"))
                    .unwrap()
                    .address(&format!("fd77::{number}/64"))
                    .unwrap()
            };
            connect(&port(&pair.left, 1), &port(&pair.right, 2), mtu).unwrap();
            pair
        }
    }

    #[test]
    fn http_crosses_a_cable_over_both_families() {
        let pair = Pair::new(1500);
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("hello"), "across the cable").unwrap();
        for (address, url) in [
            ("10.77.0.2", "http://10.77.0.2:8080"),
            ("fd77::2", "http://[fd77::2]:8080"),
        ] {
            let mut server = Program::new("nghttpd")
                .arguments(["--no-tls", "--address", address, "--htdocs"])
                .argument(directory.path())
                .argument("8080")
                .inside(&pair.right)
                .start()
                .unwrap();
            let ip: IpAddr = address.parse().unwrap();
            server.wait_for_port((ip, 8080).into(), LONG).unwrap();
            let got = Program::new("curl")
                .arguments(["--silent", "--show-error", "--http2-prior-knowledge"])
                .argument(format!("{url}/hello"))
                .inside(&pair.left)
                .run(LONG)
                .unwrap();
            assert_eq!(got.text(), "across the cable");
            server.terminate(LONG).unwrap();
        }
    }

    #[test]
    fn mtu_is_that_of_the_cable_at_both_ends() {
        let pair = Pair::new(1280);
        for namespace in [&pair.left, &pair.right] {
            let shown = Program::new("ip")
                .arguments(["link", "show", "eth0"])
                .inside(namespace)
                .run(LONG)
                .unwrap();
            assert!(shown.text().contains(" mtu 1280 "), "{}", shown.text());
        }
    }

    #[test]
    fn dropped_namespace_is_gone_with_what_ran_in_it() {
        let pair = Pair::new(1500);
        let process = Program::new("sleep")
            .argument("1000")
            .inside(&pair.left)
            .start()
            .unwrap();
        let (name, id) = (pair.left.name().to_owned(), process.id());
        // The namespace goes first: the process must not keep it.
        drop(pair);
        assert!(!Path::new("/run/netns").join(name).exists());
        drop(process);
        assert!(!runs(id));
    }

    /// It ran in the namespace of the machine: `nft` started by a thread that had entered another
    /// changed the machine's own rules.
    #[test]
    fn program_runs_in_the_namespace_of_the_thread_that_starts_it() {
        let pair = Pair::new(1500);
        let where_it_runs = || {
            let shown = Program::new("readlink").argument("/proc/self/ns/net").run(LONG);
            shown.unwrap().text().trim().to_owned()
        };
        let of_thread = || fs::read_link("/proc/thread-self/ns/net").unwrap().display().to_string();
        let own = of_thread();
        assert_eq!(where_it_runs(), own);
        let (left, there) = pair.left.enter(|| (of_thread(), where_it_runs())).unwrap();
        assert_ne!(left, own);
        assert_eq!(there, left);
        // One that is named goes before the thread's.
        let right = pair.right.enter(of_thread).unwrap();
        let inside = || {
            Program::new("readlink")
                .argument("/proc/self/ns/net")
                .inside(&pair.right)
                .run(LONG)
        };
        assert_eq!(pair.left.enter(inside).unwrap().unwrap().text().trim(), right);
        assert_eq!(where_it_runs(), own);
    }

    #[test]
    fn what_a_killed_run_leaves_is_swept_and_nothing_else() {
        if env::var_os(OWNER).is_some() {
            return own_two_namespaces_until_killed();
        }
        let pair = Pair::new(1500);
        let bystander = Program::new("sleep")
            .argument("1000")
            .inside(&pair.left)
            .start()
            .unwrap();
        // The run to be killed is this very test in a process of its own.
        let mut owner = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "as_root::what_a_killed_run_leaves_is_swept_and_nothing_else",
                "--nocapture",
            ])
            .env(OWNER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut names, mut processes) = (Vec::new(), BTreeSet::new());
        for line in BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap) {
            match line.split_once(": ") {
                Some(("namespace", name)) => names.push(name.to_owned()),
                Some(("processes", ids)) => processes.extend(ids.split(' ').map(|id| id.parse::<u32>().unwrap())),
                Some(("ready", _)) => break,
                _ => {}
            }
        }
        assert_eq!((names.len(), processes.len()), (2, 4));
        assert!(processes.iter().all(|&id| runs(id)));

        owner.kill().unwrap();
        owner.wait().unwrap();
        assert!(
            names.iter().all(|name| Path::new("/run/netns").join(name).exists()),
            "nothing to sweep"
        );
        // Another test, or another run, may sweep at the same time; what counts is what is left.
        sweep().unwrap();
        let begun = Instant::now();
        while processes.iter().any(|&id| runs(id))
            || names.iter().any(|name| Path::new("/run/netns").join(name).exists())
        {
            assert!(begun.elapsed() < LONG, "left: {names:?} {processes:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(runs(bystander.id()), "a process of a living run was swept");
        assert!(Path::new("/run/netns").join(pair.left.name()).exists());
    }

    /// Set in the environment of the run that is to be killed.
    const OWNER: &str = "BARTIZAN_TEST_OWNER";

    fn own_two_namespaces_until_killed() {
        let pair = Pair::new(1500);
        // Each child starts a grandchild of its own, which does not hear of our death.
        let script = || Program::new("sh").arguments(["-c", "sleep 1000 & echo $$ $!; wait"]);
        let mut children = [script().inside(&pair.left).start().unwrap(), script().start().unwrap()];
        println!("\nnamespace: {}\nnamespace: {}", pair.left.name(), pair.right.name());
        for child in &mut children {
            child.wait_for_line("\n", LONG).unwrap();
            println!("processes: {}", child.stdout().trim());
        }
        println!("ready: yes");
        // Until killed, or until the test that started it is gone and the pipe with it.
        let _ = std::io::stdin().read(&mut [0]);
    }

    #[test]
    fn capture_has_exactly_the_packets_that_tcpdump_has() {
        let pair = Pair::new(1500);
        let directory = tempfile::tempdir().unwrap();
        let ours = directory.path().join("ours.pcap");
        let theirs = directory.path().join("theirs.pcap");
        let mut tcpdump = Program::new("tcpdump")
            .arguments(["-i", "eth0", "-U", "-s", "256", "-w"])
            .argument(&theirs)
            .argument("udp")
            .inside(&pair.left)
            .start()
            .unwrap();
        tcpdump.wait_for_line("listening on", LONG).unwrap();
        let start = |file: &Path, direction| Capture::start(Some(&pair.left), "eth0", file, direction).unwrap();
        let both = start(&ours, Direction::Both);
        let inbound = start(&directory.path().join("in.pcap"), Direction::Inbound);
        let outbound = start(&directory.path().join("out.pcap"), Direction::Outbound);
        exchange(&pair, 300, 200);
        // tcpdump writes what it has met when it is asked to end, not what still waits in its socket.
        let begun = Instant::now();
        while fs::metadata(&theirs).unwrap().len() < 24 + 500 * (16 + 44) && begun.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (both, inbound, outbound) = (both.stop().unwrap(), inbound.stop().unwrap(), outbound.stop().unwrap());
        assert!(both.complete() && inbound.complete() && outbound.complete());
        tcpdump.terminate(LONG).unwrap();

        let read = |file: &Path| {
            let mut packets: Vec<String> = Program::new("tshark")
                .arguments([
                    "-n",
                    "-Y",
                    "udp.port == 7000",
                    "-T",
                    "fields",
                    "-e",
                    "ip.id",
                    "-e",
                    "udp.payload",
                    "-r",
                ])
                .argument(file)
                .run(LONG)
                .unwrap()
                .text()
                .lines()
                .map(str::to_owned)
                .collect();
            packets.sort();
            packets
        };
        let packets = read(&ours);
        assert_eq!(packets.len(), 500);
        let others = read(&theirs);
        assert!(
            packets == others,
            "tcpdump has {} packets, we have {}",
            others.len(),
            packets.len()
        );
        assert_eq!(read(&directory.path().join("out.pcap")).len(), 300);
        assert_eq!(read(&directory.path().join("in.pcap")).len(), 200);
        // Every packet in the file is counted, not only ours.
        let all = Program::new("tshark")
            .arguments(["-n", "-r"])
            .argument(&ours)
            .run(LONG)
            .unwrap();
        assert_eq!(all.text().lines().count() as u64, both.packets);
    }

    #[test]
    fn packets_of_loopback_are_captured_once() {
        let pair = Pair::new(1500);
        let directory = tempfile::tempdir().unwrap();
        let capture = Capture::start(
            Some(&pair.left),
            "lo",
            directory.path().join("lo.pcap"),
            Direction::Both,
        )
        .unwrap();
        pair.left
            .enter(|| {
                let receiver = UdpSocket::bind("127.0.0.1:7000").unwrap();
                for _ in 0..7 {
                    UdpSocket::bind("127.0.0.1:0")
                        .unwrap()
                        .send_to(b"x", "127.0.0.1:7000")
                        .unwrap();
                    receiver.recv(&mut [0; 4]).unwrap();
                }
            })
            .unwrap();
        assert_eq!(capture.stop().unwrap().packets, 7);
    }

    #[test]
    fn a_capture_ends_while_packets_never_cease() {
        let pair = Pair::new(1500);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lo.pcap");
        let capture = Capture::start(Some(&pair.left), "lo", file, Direction::Both).unwrap();
        let ended = AtomicBool::new(false);
        let captured = std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = pair.left.enter(|| UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
                while !ended.load(Ordering::Relaxed) {
                    // No program listens there (RFC 863), which may be reported with the next one.
                    let _ = sender.send_to(b"x", "127.0.0.1:9");
                }
            });
            let (done, stopped) = mpsc::channel();
            scope.spawn(move || done.send(capture.stop()));
            let captured = stopped.recv_timeout(LONG);
            ended.store(true, Ordering::Relaxed);
            captured
        });
        assert!(captured.expect("it ends by itself").unwrap().packets > 0);
    }

    #[test]
    fn capture_of_an_interface_that_is_not_there_is_refused_by_name() {
        let pair = Pair::new(1500);
        let directory = tempfile::tempdir().unwrap();
        let error = Capture::start(
            Some(&pair.left),
            "eth9",
            directory.path().join("x.pcap"),
            Direction::Both,
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("capturing on the interface eth9: No such device"),
            "{error}"
        );
    }

    #[test]
    fn everything_is_permitted_to_root_here() {
        drop(Pair::new(1500));
        let facts = Facts::gather();
        assert!(
            facts.namespaces.granted() && facts.veth.granted() && facts.capture.granted(),
            "{facts:?}"
        );
    }

    #[test]
    fn label_that_could_leave_its_directory_is_refused() {
        drop(Pair::new(1500));
        for label in ["", "../x", "a b", &"x".repeat(65)] {
            assert!(matches!(Namespace::create(label), Err(Error::Unfit { .. })), "{label}");
        }
    }

    #[test]
    fn openssl_of_the_lab_root_is_3_5_and_knows_ml_kem_and_ml_dsa() {
        drop(Pair::new(1500));
        let root = LabRoot::trixie()
            .unwrap()
            .ensure(&mut |progress| eprintln!("{progress:?}"))
            .unwrap();
        let version = root.version("openssl").unwrap();
        assert!(version.starts_with("OpenSSL 3.5."), "{version}");
        assert!(
            root.packages()
                .any(|(name, version)| name == "openssl" && version.starts_with("3.5."))
        );
        let lists = [("-kem-algorithms", "MLKEM768"), ("-signature-algorithms", "ML-DSA-65")];
        for program in [root.command("openssl").unwrap(), root.chroot("openssl")] {
            let (list, wanted) = lists[0];
            let listed = program.arguments(["list", list]).run(LONG).unwrap();
            assert!(listed.text().contains(wanted), "{}", listed.text());
        }
        let (list, wanted) = lists[1];
        let listed = root
            .command("openssl")
            .unwrap()
            .arguments(["list", list])
            .run(LONG)
            .unwrap();
        assert!(listed.text().contains(wanted), "{}", listed.text());
    }

    #[test]
    fn program_of_the_lab_root_reads_a_file_of_this_machine() {
        drop(Pair::new(1500));
        let root = LabRoot::trixie()
            .unwrap()
            .ensure(&mut |progress| eprintln!("{progress:?}"))
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("message");
        fs::write(&file, "abc").unwrap();
        let digest = root
            .command("openssl")
            .unwrap()
            .arguments(["dgst", "-sha256", "-r"])
            .argument(&file)
            .run(LONG)
            .unwrap();
        // SHA-256 of "abc": FIPS 180-4, example B.1.
        assert!(
            digest
                .text()
                .starts_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        for program in ["curl", "nginx", "nghttpd", "h2load", "nghttpx", "tshark", "tcpdump"] {
            assert!(!root.version(program).unwrap().is_empty(), "{program}");
        }
        assert!(matches!(root.command("no-such-program"), Err(Error::LabRoot { .. })));
    }

    /// A time namespace whose clock of the kernel's start is a day ahead stands for a machine that
    /// has slept for a day.
    #[test]
    fn the_clock_of_deadlines_counts_while_the_machine_sleeps() {
        const INSIDE: &str = "BARTIZAN_CLOCK_TEST";
        const DAY: Duration = Duration::from_secs(86_400);
        if env::var_os(INSIDE).is_some() {
            let (unaware, aware) = (Instant::now(), clock::now());
            assert!(
                aware.duration_since(unaware) >= DAY,
                "{:?}",
                aware.duration_since(unaware)
            );
            assert!(clock::now().duration_since(aware) < DAY);
            return;
        }
        let finished = Command::new("unshare")
            .args(["--time", "--fork", "--boottime", "86400"])
            .arg(env::current_exe().unwrap())
            .args([
                "--exact",
                "as_root::the_clock_of_deadlines_counts_while_the_machine_sleeps",
            ])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&finished.stdout);
        assert!(finished.status.success() && text.contains("1 passed"), "{finished:?}");
    }

    /// Sends `out` datagrams from left to right and `back` the other way.
    fn exchange(pair: &Pair, out: u16, back: u16) {
        let bind =
            |namespace: &Namespace, address: &str| namespace.enter(|| UdpSocket::bind(address).unwrap()).unwrap();
        let left = bind(&pair.left, "10.77.0.1:7000");
        let right = bind(&pair.right, "10.77.0.2:7000");
        let send = |from: &UdpSocket, to: &UdpSocket, count: u16| {
            to.set_read_timeout(Some(LONG)).unwrap();
            let destination: SocketAddr = to.local_addr().unwrap();
            let mut buffer = [0; 64];
            for number in 0..count {
                from.send_to(&number.to_be_bytes(), destination).unwrap();
                assert_eq!(to.recv(&mut buffer).unwrap(), 2);
            }
        };
        send(&left, &right, out);
        send(&right, &left, back);
    }

    fn runs(pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }
}
