//! The guard at a port of this machine's kernel that is renamed, and at one that goes and comes back.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use bartizan_deployment::Deployment;
    use bartizan_host::{FrameSocket, Namespace, Program, device_program};
    use bartizan_macsec::guard::{Guard, GuardState, keep};
    use bartizan_registry::ethertype::{ECPRI, MACSEC};
    use bartizan_testing::{Capture, Direction, Port, connect};
    use bartizan_wire::CaptureReader;

    const LONG: Duration = Duration::from_secs(60);
    const FILE: &str = "policy: hybrid\ntrust: { roots: root.pem }\nnodes:\n  \
        odu: { function: O-DU, address: 10.77.0.1, certificate: odu.pem, key: odu.key }\n  \
        oru: { function: O-RU, address: 10.77.0.2, certificate: oru.pem, key: oru.key }\ninterfaces:\n  \
        - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: eth0, oru: eth0 } } }\n";

    fn ip(host: &Namespace, words: &str) {
        let ip = Program::new("ip").arguments(words.split(' ')).inside(host);
        ip.run(LONG).unwrap_or_else(|error| panic!("{words}: {error}"));
    }

    /// EtherTypes of what arrives at the peer's port while one of MACsec and one of eCPRI are sent by this interface, and the stack sends what it likes.
    fn passes(hosts: &[Namespace; 2], interface: &str, place: &Path) -> Vec<u16> {
        let file = place.join("port.pcap");
        let capture = Capture::start(Some(&hosts[1]), "eth0", &file, Direction::Inbound).unwrap();
        let send = || {
            for kind in [MACSEC, ECPRI] {
                let mut socket = FrameSocket::open(interface, [2, 0, 0, 0, 7, 7], kind).unwrap();
                // A drop by a guard is an error here.
                let _ = socket.send(&[0; 100]);
            }
        };
        hosts[0].enter(send).unwrap();
        thread::sleep(Duration::from_millis(100));
        assert!(capture.stop().unwrap().complete());
        kinds_of(&file)
    }

    /// EtherTypes of what was captured.
    fn kinds_of(file: &Path) -> Vec<u16> {
        let mut reader = CaptureReader::new();
        reader.push(&std::fs::read(file).unwrap());
        let mut kinds = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            kinds.push(u16::from_be_bytes([packet.data[12], packet.data[13]]));
        }
        kinds
    }

    fn until_installed(host: &Namespace, guard: &Guard, ports: usize) {
        let deadline = Instant::now() + LONG;
        loop {
            let state = host.enter(|| guard.state()).unwrap().unwrap();
            match &state {
                GuardState::Installed(dropped) if dropped.len() == ports => return,
                _ => assert!(Instant::now() < deadline, "{state:?}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn guard_follows_a_port_that_is_renamed_and_waits_for_one_that_is_gone() {
        let hosts = ["odu", "oru"].map(|name| Namespace::create(name).expect("NOT RUN: this test needs root"));
        let cable = |name: &str| connect(&Port::new(&hosts[0], name), &Port::new(&hosts[1], "eth0"), 1600).unwrap();
        cable("eth0");
        let place = tempfile::tempdir().unwrap();
        let deployment = Deployment::parse(FILE, "fh.yaml", place.path()).unwrap();
        let guard = Guard::of(&deployment, "odu");
        assert!(
            passes(&hosts, "eth0", place.path()).contains(&ECPRI),
            "what is looked for is seen"
        );
        hosts[0].enter(|| guard.close()).unwrap().unwrap();
        assert_eq!(passes(&hosts, "eth0", place.path()), [MACSEC]);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let keeping = || keep(&guard, &|| over.load(Ordering::Relaxed));
                hosts[0].enter(keeping).unwrap();
            });
            let ended = Ended(&over);
            for (before, now) in [("eth0", "eth9"), ("eth9", "eth0")] {
                // The rules may or may not go with the name, by the kernel; they are back within a
                // turn.
                ip(&hosts[0], &format!("link set {before} name {now}"));
                let since = Instant::now();
                until_installed(&hosts[0], &guard, 1);
                println!("{before} is {now}: its rules are installed after {:?}", since.elapsed());
                assert_eq!(passes(&hosts, now, place.path()), [MACSEC], "{now}");
            }
            // Gone, and another one of its name.
            ip(&hosts[0], "link delete eth0");
            until_installed(&hosts[0], &guard, 0);
            cable("eth0");
            until_installed(&hosts[0], &guard, 1);
            assert_eq!(passes(&hosts, "eth0", place.path()), [MACSEC]);
            // Renamed, and another one in its place: both are the port.
            ip(&hosts[0], "link set eth0 name eth8");
            until_installed(&hosts[0], &guard, 1);
            ip(&hosts[0], "link add eth0 type veth peer name other0");
            until_installed(&hosts[0], &guard, 1);
            assert_eq!(passes(&hosts, "eth8", place.path()), [MACSEC]);
            drop(ended);
        });
        hosts[0].enter(|| guard.open()).unwrap().unwrap();
        assert!(passes(&hosts, "eth8", place.path()).contains(&ECPRI));
    }

    #[test]
    fn port_passes_nothing_while_it_is_renamed_and_when_all_rules_are_flushed_and_nothing_of_ours_runs() {
        assert!(
            device_program::is_taken(),
            "NOT RUN: this test needs root and a kernel with programs at devices (6.6)"
        );
        let hosts = ["odu", "oru"].map(|name| Namespace::create(name).expect("NOT RUN: this test needs root"));
        connect(&Port::new(&hosts[0], "eth0"), &Port::new(&hosts[1], "eth0"), 1600).unwrap();
        let place = tempfile::tempdir().unwrap();
        let deployment = Deployment::parse(FILE, "fh.yaml", place.path()).unwrap();
        let guard = Guard::of(&deployment, "odu");
        let send_all_the_time = |over: &AtomicBool| {
            let mut sockets = [MACSEC, ECPRI].map(|kind| FrameSocket::open("eth0", [2, 0, 0, 0, 7, 7], kind).unwrap());
            let mut sent = 0_u64;
            while !over.load(Ordering::Relaxed) {
                for socket in &mut sockets {
                    let _ = socket.send(&[0; 100]);
                }
                sent += 1;
                thread::sleep(Duration::from_micros(50));
            }
            sent
        };
        let renaming = |name: &str| {
            let file = place.path().join(name);
            let capture = Capture::start(Some(&hosts[1]), "eth0", &file, Direction::Inbound).unwrap();
            let over = AtomicBool::new(false);
            let sent = thread::scope(|scope| {
                let sender = scope.spawn(|| hosts[0].enter(|| send_all_the_time(&over)).unwrap());
                let ended = Ended(&over);
                for turn in 0..20 {
                    thread::sleep(Duration::from_millis(5));
                    let (before, now) = [("eth0", "eth9"), ("eth9", "eth0")][turn % 2];
                    ip(&hosts[0], &format!("link set {before} name {now}"));
                }
                drop(ended);
                sender.join().unwrap()
            });
            assert!(capture.stop().unwrap().complete());
            let kinds = kinds_of(&file);
            println!("{name}: {sent} frames of each kind sent, {} arrived", kinds.len());
            assert!(kinds.contains(&MACSEC));
            kinds.contains(&ECPRI)
        };
        assert!(renaming("open"), "what is looked for is seen");
        hosts[0].enter(|| guard.close()).unwrap().unwrap();
        assert!(!renaming("guarded"), "unencrypted frames passed");
        let dropped = |guard: &Guard| match hosts[0].enter(|| guard.state()).unwrap().unwrap() {
            GuardState::Installed(dropped) => dropped[0].leaving,
            state => panic!("{state:?}"),
        };
        assert!(dropped(&guard) > 0);

        let flush = Program::new("nft").arguments(["flush", "ruleset"]).inside(&hosts[0]);
        flush.run(LONG).unwrap();
        assert_eq!(passes(&hosts, "eth0", place.path()), [MACSEC]);
        let state = hosts[0].enter(|| guard.state()).unwrap().unwrap();
        assert!(
            matches!(&state, GuardState::Damaged(why) if why.contains("were removed")),
            "{state:?}"
        );
        // Another file's guard of the node lets PTP pass, and nothing is open in between.
        let other = Deployment::parse(
            &FILE.replace("macsec: { port:", "macsec: { unencrypted: [ptp], port:"),
            "fh.yaml",
            place.path(),
        );
        let other = Guard::of(&other.unwrap(), "odu");
        hosts[0].enter(|| other.close()).unwrap().unwrap();
        assert_eq!(passes(&hosts, "eth0", place.path()), [MACSEC]);
        let state = hosts[0].enter(|| guard.state()).unwrap().unwrap();
        assert!(matches!(&state, GuardState::Damaged(_)), "{state:?}");
        assert!(dropped(&other) > 0);
        hosts[0].enter(|| other.open()).unwrap().unwrap();
        assert!(passes(&hosts, "eth0", place.path()).contains(&ECPRI));
        assert_eq!(hosts[0].enter(|| other.state()).unwrap().unwrap(), GuardState::Absent);
    }

    /// Names, numbers and comments of rules were compared, and what they do was not.
    #[test]
    fn every_way_to_switch_the_table_off_is_noticed_and_mended() {
        let host = Namespace::create("odu").expect("NOT RUN: this test needs root");
        ip(&host, "link add eth0 type veth peer name other0");
        let place = tempfile::tempdir().unwrap();
        let deployment = Deployment::parse(FILE, "fh.yaml", place.path()).unwrap();
        let guard = Guard::of(&deployment, "odu");
        let state = || host.enter(|| guard.state()).unwrap().unwrap();
        let close = || host.enter(|| guard.close()).unwrap().unwrap();
        let nft_with = |arguments: &[&str]| {
            let nft = Program::new("nft").arguments(arguments.iter().copied()).inside(&host);
            nft.run(LONG)
                .unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
                .text()
        };
        let nft = |line: &str| nft_with(&[line]);
        const TABLE: &str = "netdev bartizan-macsec-odu";
        const CHAIN: &str = "netdev bartizan-macsec-odu leaving-0";
        close();
        assert!(matches!(state(), GuardState::Installed(_)), "{:?}", state());
        let handle_of_the_drop = || {
            let listed = nft_with(&["-a", &format!("list chain {CHAIN}")]);
            let line = listed.lines().find(|line| line.contains("leaving-0 drop"));
            line.and_then(|line| line.rsplit(' ').next()).unwrap().to_owned()
        };
        type Change<'a> = (&'a str, &'a dyn Fn() -> String);
        let changes: [Change<'_>; 6] = [
            ("flag dormant", &|| format!("add table {TABLE} {{ flags dormant; }}")),
            ("leaving-0", &|| {
                let drop = handle_of_the_drop();
                format!("replace rule {CHAIN} handle {drop} accept comment \"bartizan-macsec leaving-0 drop\"")
            }),
            ("has policy", &|| format!("chain {CHAIN} {{ policy accept; }}")),
            ("another rule", &|| format!("insert rule {CHAIN} accept")),
            ("lacks its rule", &|| format!("flush chain {CHAIN}")),
            ("has prio", &|| {
                let listed = nft(&format!("list table {TABLE}"));
                format!(
                    "delete table {TABLE}; {}",
                    listed.replacen("priority 500", "priority 400", 1)
                )
            }),
        ];
        for (said, change) in changes {
            nft(&change());
            let after = state();
            assert!(
                matches!(&after, GuardState::Damaged(why) if why.contains(said)),
                "{said}: {after:?}"
            );
            close();
            assert!(matches!(state(), GuardState::Installed(_)), "{said}: {:?}", state());
        }
    }

    /// The order of a host's start: the guard first, then the port, then its first frame.
    #[test]
    fn guard_that_is_installed_before_its_port_is_there_leaves_no_frame_of_it_open() {
        let hosts = ["odu", "oru"].map(|name| Namespace::create(name).expect("NOT RUN: this test needs root"));
        let cable = || connect(&Port::new(&hosts[0], "eth0"), &Port::new(&hosts[1], "eth0"), 1600).unwrap();
        let place = tempfile::tempdir().unwrap();
        let deployment = Deployment::parse(FILE, "fh.yaml", place.path()).unwrap();
        let guard = Guard::of(&deployment, "odu");
        assert_eq!(hosts[0].enter(|| guard.unguarded()).unwrap().unwrap(), ["eth0"]);
        // Linux 6.16 and later take rules for a name; others have the guard wait for the port.
        match hosts[0].enter(|| guard.close_within(Duration::ZERO)).unwrap() {
            Ok(open) => assert!(open.is_empty(), "{open:?}"),
            Err(error) => println!("this kernel takes no rule for a port that is not there: {error}"),
        }
        let open = thread::scope(|scope| {
            let closing = scope.spawn(|| hosts[0].enter(|| guard.close_within(LONG)).unwrap().unwrap());
            cable();
            closing.join().unwrap()
        });
        assert!(open.is_empty(), "{open:?}");
        assert_eq!(passes(&hosts, "eth0", place.path()), [MACSEC]);
        // By the node's name alone, and again where nothing is left.
        for _ in 0..2 {
            hosts[0].enter(|| Guard::remove("odu")).unwrap().unwrap();
            assert_eq!(hosts[0].enter(|| guard.state()).unwrap().unwrap(), GuardState::Absent);
        }
        assert!(passes(&hosts, "eth0", place.path()).contains(&ECPRI));
    }

    /// Ends the keeper, also where the test fails.
    struct Ended<'a>(&'a AtomicBool);

    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
