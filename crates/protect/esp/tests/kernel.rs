//! Linux's own ESP at the other end: it opens our packets and answers them, and we open its answers.

mod packets;

mod as_root {
    use std::fs;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use bartizan_esp::{Inbound, Outbound, SequenceNumbers, Suite, tunnel};
    use bartizan_host::{Feature, Namespace, Program};
    use bartizan_registry::{TransformKind, transform_named};
    use bartizan_testing::Wiring as _;
    use bartizan_testing::{Capture, Direction, Port, connect};
    use bartizan_testing::{PATIENCE, eventually};
    use bartizan_wire::capture::CaptureReader;
    use bartizan_wire::ip::{ESP, ICMP};
    use data_encoding::HEXLOWER;
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};

    use crate::packets::{echo, ipv4, keys, outer, sealed};

    const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
    const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
    const ETHERNET: usize = 14;
    /// Pings of each suite.
    const MANY: u16 = 4;

    /// ENCR, bits of its key, INTEG, and what the kernel calls both.
    type Algorithms = (
        &'static str,
        Option<u16>,
        Option<&'static str>,
        &'static str,
        &'static str,
    );
    const SUITES: [Algorithms; 11] = [
        ("ENCR_AES_GCM_16", Some(128), None, "rfc4106(gcm(aes))", ""),
        ("ENCR_AES_GCM_16", Some(256), None, "rfc4106(gcm(aes))", ""),
        ("ENCR_AES_CCM_16", Some(128), None, "rfc4309(ccm(aes))", ""),
        ("ENCR_AES_CCM_16", Some(256), None, "rfc4309(ccm(aes))", ""),
        ("ENCR_AES_CCM_12", Some(256), None, "rfc4309(ccm(aes))", ""),
        ("ENCR_AES_CCM_8", Some(192), None, "rfc4309(ccm(aes))", ""),
        (
            "ENCR_CHACHA20_POLY1305",
            None,
            None,
            "rfc7539esp(chacha20,poly1305)",
            "",
        ),
        (
            "ENCR_AES_CBC",
            Some(128),
            Some("AUTH_HMAC_SHA2_256_128"),
            "cbc(aes)",
            "hmac(sha256)",
        ),
        (
            "ENCR_AES_CBC",
            Some(192),
            Some("AUTH_HMAC_SHA2_256_128"),
            "cbc(aes)",
            "hmac(sha256)",
        ),
        (
            "ENCR_AES_CBC",
            Some(256),
            Some("AUTH_HMAC_SHA2_384_192"),
            "cbc(aes)",
            "hmac(sha384)",
        ),
        (
            "ENCR_AES_CBC",
            Some(256),
            Some("AUTH_HMAC_SHA2_512_256"),
            "cbc(aes)",
            "hmac(sha512)",
        ),
    ];

    fn suite((encryption, bits, integrity, ..): Algorithms) -> Suite {
        let id = |kind, name| transform_named(kind, name).expect("registered").id;
        let integrity = integrity.map(|name| id(TransformKind::Integrity, name));
        Suite::of(id(TransformKind::Encryption, encryption), bits, integrity).expect("implemented")
    }

    fn ip(space: &Namespace, arguments: &str, more: &[&str]) {
        let program = Program::new("ip").arguments(["-n", space.name()]);
        let program = program.arguments(arguments.split_whitespace()).arguments(more);
        let finished = program.run(PATIENCE).expect("ip runs");
        assert!(
            finished.status.success(),
            "ip {arguments} {more:?}: {}",
            String::from_utf8_lossy(&finished.stderr)
        );
    }

    /// First numbers of both directions: so that they pass 2^32 where they are extended.
    fn start(numbers: SequenceNumbers) -> u64 {
        match numbers {
            SequenceNumbers::Bits32 => 0,
            SequenceNumbers::Extended => (1 << 32) - 3,
        }
    }

    /// Gives the kernel an SA in each direction, and policies that ask for them.
    fn install(space: &Namespace, of: Algorithms, numbers: SequenceNumbers) {
        let (name, bits, _, cipher, proof) = of;
        let suite = suite(of);
        for (spi, [from, to], counts) in [(0x1001_u32, [0, 1], "seq"), (0x2002, [1, 0], "oseq")] {
            let keys = keys(suite.key_material(), spi as u8);
            let hexadecimal = |bytes: &[u8]| format!("0x{}", HEXLOWER.encode(bytes));
            let (key, proved) = keys.split_at(if proof.is_empty() {
                keys.len()
            } else {
                usize::from(bits.unwrap()) / 8
            });
            let (key, proved) = (hexadecimal(key), hexadecimal(proved));
            let icv = match (name, proof) {
                ("ENCR_AES_CCM_8", _) => "64",
                ("ENCR_AES_CCM_12", _) => "96",
                (_, "hmac(sha384)") => "192",
                (_, "hmac(sha512)") => "256",
                _ => "128",
            };
            let algorithms: Vec<&str> = if proof.is_empty() {
                vec!["aead", cipher, &key, icv]
            } else {
                vec!["auth-trunc", proof, &proved, icv, "enc", cipher, &key]
            };
            let extended = match numbers {
                SequenceNumbers::Bits32 => String::new(),
                SequenceNumbers::Extended => format!("flag esn replay-{counts} {}", start(numbers)),
            };
            let state = format!(
                "xfrm state add src {} dst {} proto esp spi {spi} reqid 7 mode tunnel replay-window 64 {extended}",
                OUTER[from], OUTER[to]
            );
            ip(space, &state, &algorithms);
            let direction = if from == 0 { "in" } else { "out" };
            let policy = format!(
                "xfrm policy add src {}/32 dst {}/32 proto icmp dir {direction} tmpl src {} dst {} proto esp reqid 7 mode tunnel",
                INNER[from], INNER[to], OUTER[from], OUTER[to]
            );
            ip(space, &policy, &[]);
        }
    }

    /// IPv4 packets of ESP in a capture, without their link's header.
    fn esp_packets(file: &Path) -> Vec<Vec<u8>> {
        let mut reader = CaptureReader::new();
        reader.push(&fs::read(file).expect("a capture"));
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().expect("whole") {
            if packet.data.get(12..14) == Some(&[0x08, 0x00]) && packet.data.get(23) == Some(&ESP) {
                packets.push(packet.data[ETHERNET..].to_vec());
            }
        }
        packets
    }

    /// Pings the kernel through an SA, and opens what it answers.
    fn pings(spaces: [&Namespace; 2], of: Algorithms, numbers: SequenceNumbers, file: &Path) {
        let [ours, kernel] = spaces;
        install(kernel, of, numbers);
        let suite = suite(of);
        let sealing = keys(suite.key_material(), 0x01);
        let opening = keys(suite.key_material(), 0x02);
        let sender = Outbound::new(0x1001, suite, &sealing, numbers).expect("an SA");
        let mut sender = sender.starting_after(start(numbers));
        let receiver = Inbound::new(0x2002, suite, &opening, numbers, 64).expect("an SA");
        let mut receiver = receiver.starting_after(start(numbers));

        let open = || {
            socket(
                AddressFamily::Inet,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::Raw,
            )
        };
        let socket = ours.enter(open).expect("a namespace").expect("a socket");
        let capture = Capture::start(Some(ours), "v0", file, Direction::Inbound).expect("a capture");
        let [source, destination] = OUTER.map(IpAddr::from);
        for sequence in 1..=MANY {
            let packet = ipv4(INNER[0], INNER[1], ICMP, &echo(8, sequence, usize::from(sequence) * 7));
            // Two of them look longer than they are.
            let esp = sealed(&mut sender, &packet, if sequence > 2 { 400 } else { 0 });
            let packet = outer(source, destination, false, &esp);
            let to = SockaddrIn::new(10, 77, 0, 2, 0);
            sendto(socket.as_raw_fd(), &packet, &to, MsgFlags::empty()).expect("it is sent");
        }
        let counted = |space: &Namespace| {
            let program = Program::new("ip").arguments(["-n", space.name(), "-s", "xfrm", "state"]);
            program.run(PATIENCE).expect("ip runs").text()
        };
        // The file is complete once the capture has ended; the kernel's counters say when.
        let sent = format!("{MANY}(packets)");
        eventually("the kernel has opened and answered all", || {
            (counted(kernel).matches(&sent).count() == 2).then_some(())
        });
        assert!(capture.stop().expect("a capture").complete());

        let answers = esp_packets(file);
        assert_eq!(answers.len(), usize::from(MANY), "{of:?}: {}", counted(kernel));
        for (mut answer, sequence) in answers.into_iter().zip(1..) {
            let opened = tunnel::open(&mut receiver, &mut answer[20..], 0);
            let opened = opened.unwrap_or_else(|error| panic!("{of:?} {numbers:?}: {error}"));
            assert_eq!(
                (&opened[12..16], &opened[16..20]),
                (&INNER[1].octets()[..], &INNER[0].octets()[..])
            );
            assert_eq!(opened[20..], echo(0, sequence, usize::from(sequence) * 7), "{of:?}");
        }
        assert_eq!(receiver.highest(), start(numbers) + u64::from(MANY));
        ip(kernel, "xfrm state flush", &[]);
        ip(kernel, "xfrm policy flush", &[]);
    }

    #[test]
    fn linux_answers_pings_in_esp_of_every_suite_and_length_of_numbers() {
        if bartizan_testing::in_a_guest(&[Feature::Esp]) {
            return;
        }
        let [ours, kernel] = ["ours", "kernel"].map(|name| Namespace::create(name).expect("a namespace"));
        connect(
            &Port::new(&ours, "v0").address("10.77.0.1/24").expect("an address"),
            &Port::new(&kernel, "v0").address("10.77.0.2/24").expect("an address"),
            1500,
        )
        .expect("a veth pair");
        kernel
            .add_address("lo", "10.78.0.2/32".parse().expect("an address"))
            .expect("an address");
        ip(&kernel, "route add 10.78.0.1/32 via 10.77.0.1 src 10.78.0.2", &[]);
        let place = tempfile::tempdir().expect("a directory");
        let mut run = 0;
        for of in SUITES {
            for numbers in [SequenceNumbers::Bits32, SequenceNumbers::Extended] {
                run += 1;
                let file = place.path().join(format!("{run}.pcap"));
                pings([&ours, &kernel], of, numbers, &file);
            }
        }
        assert_eq!(run, SUITES.len() * 2);
    }
}
